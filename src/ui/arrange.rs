//! How the user has arranged the panes: borders that were moved, one pane alone
//! (`docs/screen.md`, "Arranging"). The places follow from it in [`super::layout`].

use super::layout::Pane;
use crate::udma::Dir;
use ratatui::layout::Rect;

/// A border that can be moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Edge {
    /// Between the wide column and the narrow one: the width of the narrow one.
    Side,
    /// Over the inspector: its height.
    Inspector,
    /// Between the rings: the width of Tx.
    Rings,
    /// Right of a module's text: its width.
    Source,
    /// Below a module's text: the height of the rings under it.
    Text,
    /// Below the marker: its height.
    Marker,
    /// Over the memory: its height.
    Memory,
    /// Over the checks: their height.
    Checks,
    /// Over the timeline and what shares its place: its height.
    Bottom,
    /// Between a module's text and its passes: the height of the passes.
    Passes,
}

impl Edge {
    /// All of them.
    pub const ALL: [Edge; 10] = [
        Edge::Side,
        Edge::Inspector,
        Edge::Rings,
        Edge::Source,
        Edge::Text,
        Edge::Marker,
        Edge::Memory,
        Edge::Checks,
        Edge::Bottom,
        Edge::Passes,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Edge::Side => "side",
            Edge::Inspector => "inspector",
            Edge::Rings => "rings",
            Edge::Source => "source",
            Edge::Text => "text",
            Edge::Marker => "marker",
            Edge::Memory => "memory",
            Edge::Checks => "checks",
            Edge::Bottom => "bottom",
            Edge::Passes => "passes",
        }
    }
}

/// A border on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Border {
    /// Which.
    pub edge: Edge,
    /// Its cells, one thick.
    pub area: Rect,
    /// It is moved up and down, not sideways.
    pub level: bool,
    /// 1 where moving it down or right makes what it measures larger, else -1.
    pub grows: i16,
    /// What it measures by itself, and as it was moved.
    pub sizes: (u16, u16),
}

/// How far a border may be moved, in cells.
const FARTHEST: i16 = 400;

/// What the user has arranged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrangement {
    /// The pane with the focus has the screen to itself.
    pub zoom: bool,
    /// Which of [`Pane::TABS`] is shown where they share a place and none has the focus.
    pub tab: Pane,
    /// Where there is room for one of them, a module's passes stand in the place of its text.
    pub passes: bool,
    /// The only ring of the selected queue: it has nearly all the room for rings. Not kept.
    pub lone: Option<Dir>,
    moved: [i16; Edge::ALL.len()],
}

impl Default for Arrangement {
    fn default() -> Arrangement {
        Arrangement::of([0; 10])
    }
}

/// Arrangements by the key that takes them.
pub const PRESETS: [(&str, Arrangement); 3] = [
    ("as it comes", Arrangement::of([0; 10])),
    ("much text", Arrangement::of([0, -4, 0, 24, -8, 0, 0, 0, -2, 0])),
    ("much on the right", Arrangement::of([18, 0, 0, -10, 0, 0, 6, 2, 0, 0])),
];

/// What a line that names the shown tab begins with.
const TAB: &str = "tab";

impl Arrangement {
    const fn of(moved: [i16; Edge::ALL.len()]) -> Arrangement {
        Arrangement { zoom: false, tab: Pane::Timeline, passes: false, lone: None, moved }
    }

    /// How far a border was moved.
    pub fn moved(&self, edge: Edge) -> i16 {
        self.moved[edge as usize]
    }

    /// Moves a border.
    pub fn set(&mut self, edge: Edge, by: i16) {
        self.moved[edge as usize] = by.clamp(-FARTHEST, FARTHEST);
    }

    /// What a border measures: its natural size as it was moved, within bounds.
    pub fn size(&self, edge: Edge, natural: u16, least: u16, most: u16) -> u16 {
        let moved = natural.saturating_add_signed(self.moved(edge));
        moved.clamp(least.min(most), most)
    }

    /// Takes back what cannot be seen: a border that stands at its bound is not farther away.
    pub fn settle(&mut self, border: &Border) {
        let (natural, shown) = border.sizes;
        self.set(border.edge, i16::try_from(i32::from(shown) - i32::from(natural)).unwrap_or(0));
    }

    /// As lines of names and numbers.
    pub fn to_text(&self) -> String {
        let moved = Edge::ALL.into_iter().filter(|e| self.moved(*e) != 0);
        let moved = moved.map(|e| format!("{} {}\n", e.name(), self.moved(e)));
        let other = self.tab != Arrangement::default().tab;
        moved.chain(other.then(|| format!("{TAB} {}\n", self.tab.name()))).collect()
    }

    /// From such lines; what is none is passed over.
    pub fn from_text(text: &str) -> Arrangement {
        let mut out = Arrangement::default();
        for line in text.lines().take(64) {
            let Some((name, by)) = line.split_once(' ') else { continue };
            let tab = Pane::TABS.into_iter().find(|p| p.name() == by.trim());
            if let (TAB, Some(tab)) = (name, tab) {
                out.tab = tab;
            }
            let edge = Edge::ALL.into_iter().find(|e| e.name() == name);
            if let (Some(edge), Ok(by)) = (edge, by.trim().parse()) {
                out.set(edge, by);
            }
        }
        out
    }
}

/// The borders that make a pane wider and taller, and in which direction each is moved for it.
pub fn edges(pane: Pane, module: bool) -> [(Edge, i16); 2] {
    match pane {
        Pane::Tx if module => [(Edge::Rings, 1), (Edge::Text, 1)],
        Pane::Tx => [(Edge::Rings, 1), (Edge::Inspector, -1)],
        Pane::Rx if module => [(Edge::Rings, -1), (Edge::Text, 1)],
        Pane::Rx => [(Edge::Rings, -1), (Edge::Inspector, -1)],
        Pane::Inspector => [(Edge::Side, -1), (Edge::Inspector, 1)],
        Pane::Marker => [(Edge::Side, 1), (Edge::Marker, 1)],
        Pane::Events => [(Edge::Side, 1), (Edge::Memory, -1)],
        Pane::Memory => [(Edge::Side, 1), (Edge::Memory, 1)],
        Pane::Checks => [(Edge::Side, 1), (Edge::Checks, 1)],
        Pane::Source => [(Edge::Source, 1), (Edge::Text, -1)],
        // They are as wide as the screen.
        Pane::Timeline | Pane::Budget | Pane::Stops => [(Edge::Bottom, 0), (Edge::Bottom, 1)],
        Pane::Passes => [(Edge::Source, 1), (Edge::Passes, 1)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arrangement_is_written_and_read_back() {
        let mut a = Arrangement::default();
        a.set(Edge::Side, 7);
        a.set(Edge::Checks, -3);
        a.tab = Pane::Stops;
        assert_eq!(Arrangement::from_text(&a.to_text()), a);
        for text in ["side x", "nothing 5", "side 99999999", "", "\u{0}", "side  -4 "] {
            let _ = Arrangement::from_text(text);
        }
        assert_eq!(Arrangement::from_text("side -4000").moved(Edge::Side), -FARTHEST);
    }

    #[test]
    fn edges_are_in_the_order_of_their_numbers() {
        assert!(Edge::ALL.iter().enumerate().all(|(i, e)| *e as usize == i));
    }
}
