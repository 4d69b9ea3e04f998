//! Where each pane lies, as a function of the size and the focus.
//!
//! From 120x30 on all panes are shown; narrower, from 80x36 on, most of them in a stack
//! ([`super::stacked`]). Below, down to 80x24, one pane has the screen between the header and the
//! status lines; the two rings share a table there and a summary of the
//! selected descriptor lies below it. Smaller still, the header goes first, then the status.
//!
//! The timeline, the budget and the stops share the bottom where there are rows enough; where
//! not, the one with the focus takes the place of the descriptor, and the timeline is one line,
//! the scrubber.
//!
//! A module has a pane for its text: the left third where there is much room, else above the
//! rings.

use super::arrange::{Arrangement, Border, Edge};
use super::stacked::{STACKED, stacked};
use crate::udma::Dir;
use ratatui::layout::Rect;

/// A pane that can have the focus, in the order in which Tab visits them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Pane {
    /// The Tx ring.
    Tx,
    /// The Rx ring.
    Rx,
    /// The bits of the selected descriptor.
    Inspector,
    /// The marker word.
    Marker,
    /// The events.
    Events,
    /// Memory behind the selected descriptor.
    Memory,
    /// Findings.
    Checks,
    /// The text of a module.
    Source,
    /// Who did what, when.
    Timeline,
    /// What is used up of what there is.
    Budget,
    /// Breakpoints, watchpoints, catchpoints, displays.
    Stops,
    /// Its stages, and what the selected one changed.
    Passes,
}

/// What texts a program has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Texts {
    /// None.
    None,
    /// An assembly.
    Assembly,
    /// A module: its text after every stage, and its passes.
    Module,
}

impl Texts {
    /// The panes that show them.
    pub fn panes(self) -> &'static [Pane] {
        match self {
            Texts::None => &[],
            Texts::Assembly => &[Pane::Source],
            Texts::Module => &[Pane::Source, Pane::Passes],
        }
    }
}

impl Pane {
    /// The panes of rings, in order; those of texts come before them.
    pub const ALL: [Pane; 10] = [
        Pane::Tx,
        Pane::Rx,
        Pane::Inspector,
        Pane::Marker,
        Pane::Events,
        Pane::Memory,
        Pane::Checks,
        Pane::Timeline,
        Pane::Budget,
        Pane::Stops,
    ];
    /// Those that share a place.
    pub const TABS: [Pane; 3] = [Pane::Timeline, Pane::Budget, Pane::Stops];

    /// Its title.
    pub fn name(self) -> &'static str {
        match self {
            Pane::Tx => "TX",
            Pane::Rx => "RX",
            Pane::Inspector => "descriptor",
            Pane::Marker => "marker",
            Pane::Events => "events",
            Pane::Memory => "memory",
            Pane::Checks => "checks",
            Pane::Source => "source",
            Pane::Timeline => "timeline",
            Pane::Budget => "budget",
            Pane::Stops => "stops",
            Pane::Passes => "passes",
        }
    }

    /// Whether it shares a place with others of [`Pane::TABS`].
    pub fn is_tab(self) -> bool {
        Pane::TABS.contains(&self)
    }

    /// Whether it shows a ring.
    pub fn is_ring(self) -> bool {
        matches!(self, Pane::Tx | Pane::Rx)
    }

    /// The pane of a ring.
    pub fn of_ring(dir: Dir) -> Pane {
        match dir {
            Dir::Tx => Pane::Tx,
            Dir::Rx => Pane::Rx,
        }
    }

    /// The panes that there are, in order.
    pub fn all(texts: Texts) -> impl Iterator<Item = Pane> {
        texts.panes().iter().copied().chain(Pane::ALL)
    }

    /// The pane `by` places after it, going round. The two rings are one stop: `ring`.
    #[must_use]
    pub fn step(self, by: isize, ring: Pane, texts: Texts) -> Pane {
        let stops: Vec<Pane> = Pane::all(texts).filter(|p| *p != Pane::Rx).collect();
        let here = if self == Pane::Rx { Pane::Tx } else { self };
        let at = stops.iter().position(|p| *p == here).unwrap_or(0) as isize;
        match stops[(at + by).rem_euclid(stops.len() as isize) as usize] {
            Pane::Tx => ring,
            pane => pane,
        }
    }
}

/// How much is shown at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// One pane and little else.
    Tiny,
    /// One pane between header and status.
    Compact,
    /// Panes above one another, on a narrow screen with many rows.
    Stacked,
    /// All panes.
    Full,
}

/// The places of everything. A part that has no room has an empty area.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Areas {
    /// How much is shown.
    pub class: Class,
    /// Both rings are in one table, which is the area of the one with the focus, or of Tx.
    pub shared: bool,
    /// File, generation, event, next.
    pub header: Rect,
    /// The five phases.
    pub phases: Rect,
    /// The lesson, where one is taken.
    pub lesson: Rect,
    /// The timeline in one line, where its pane is not shown.
    pub scrubber: Rect,
    /// Panes, title line included.
    pub panes: Vec<(Pane, Rect)>,
    /// Below the rings of a compact screen: the selected descriptor in short.
    pub summary: Rect,
    /// The newest answer, or the marker.
    pub status: Rect,
    /// Keys.
    pub hints: Rect,
    /// Borders that can be moved.
    pub borders: Vec<Border>,
}

impl Areas {
    /// The area of a pane, where it is shown.
    pub fn pane(&self, pane: Pane) -> Option<Rect> {
        self.panes.iter().find(|(p, _)| *p == pane).map(|(_, r)| *r)
    }

    /// The pane at a place.
    pub fn at(&self, x: u16, y: u16) -> Option<Pane> {
        self.panes.iter().find(|(_, r)| r.contains((x, y).into())).map(|(p, _)| *p)
    }

    /// The inside of a pane: without its title line and the line to its left.
    pub fn inner(area: Rect) -> Rect {
        let left = u16::from(area.width > 1);
        let top = u16::from(area.height > 1);
        Rect::new(area.x + left, area.y + top, area.width - left, area.height - top)
    }

    /// Rows inside a pane; 0 where it is not shown.
    pub fn rows(&self, pane: Pane) -> usize {
        self.pane(pane).map_or(0, |r| usize::from(Areas::inner(r).height))
    }
}

/// Smallest size with a header and status lines.
pub const COMPACT: (u16, u16) = (80, 24);
/// Smallest size with all panes.
pub const FULL: (u16, u16) = (120, 30);
/// Rows of panes from which some at the bottom are for the timeline and its tabs.
const WITH_BOTTOM: u16 = 36;
/// Rows of panes that are left above them, however much the border is moved.
const ABOVE_BOTTOM: u16 = FULL.1 - 4;
/// Rows of panes from which one is for the scrubber.
const WITH_SCRUBBER: u16 = 24;

/// Cuts `n` rows off the top of an area.
pub(super) fn cut_top(area: &mut Rect, n: u16) -> Rect {
    let n = n.min(area.height);
    let top = Rect { height: n, ..*area };
    area.y += n;
    area.height -= n;
    top
}

/// Cuts `n` rows off the bottom of an area.
pub(super) fn cut_bottom(area: &mut Rect, n: u16) -> Rect {
    let n = n.min(area.height);
    area.height -= n;
    Rect { y: area.y + area.height, height: n, ..*area }
}

/// The places for a screen of a size, with the texts of a program.
///
/// `arrangement` moves borders where all panes are shown, each only so far that every pane
/// keeps some room; zoomed, the pane with the focus has the screen as on a small one.
pub fn areas(size: (u16, u16), focus: Pane, texts: Texts, arrangement: &Arrangement) -> Areas {
    areas_with(size, focus, texts, arrangement, 0)
}

/// The same with so many rows for a lesson below the phases; fewer on a small screen.
pub fn areas_with(
    (width, height): (u16, u16),
    focus: Pane,
    texts: Texts,
    arrangement: &Arrangement,
    lesson: u16,
) -> Areas {
    let room = width >= FULL.0 && height >= FULL.1.saturating_add(lesson);
    let class = if room && !arrangement.zoom {
        Class::Full
    } else if width >= STACKED.0
        && width < FULL.0
        && height >= STACKED.1.saturating_add(lesson)
        && !arrangement.zoom
    {
        Class::Stacked
    } else if width >= COMPACT.0 && height >= COMPACT.1 {
        Class::Compact
    } else {
        Class::Tiny
    };
    let mut main = Rect::new(0, 0, width, height);
    let mut out = Areas {
        class,
        shared: class != Class::Full && width >= COMPACT.0,
        header: Rect::ZERO,
        phases: Rect::ZERO,
        lesson: Rect::ZERO,
        scrubber: Rect::ZERO,
        panes: Vec::new(),
        summary: Rect::ZERO,
        status: Rect::ZERO,
        hints: Rect::ZERO,
        borders: Vec::new(),
    };
    if class == Class::Tiny {
        if height >= 6 {
            out.header = cut_top(&mut main, 1);
        }
        if height >= 10 {
            out.phases = cut_top(&mut main, 1);
            out.lesson = cut_top(&mut main, lesson.min(height / 3));
        }
        if height >= 4 {
            out.status = cut_bottom(&mut main, 1);
        }
        out.panes.push((focus, main));
        return out;
    }
    out.header = cut_top(&mut main, 1);
    out.phases = cut_top(&mut main, 1);
    out.hints = cut_bottom(&mut main, 1);
    out.status = cut_bottom(&mut main, 1);
    let lesson = lesson.min(main.height / 2);
    out.lesson = cut_top(&mut main, lesson);
    let rows = main.height;
    let bottom = class >= Class::Stacked && rows >= WITH_BOTTOM;
    if focus != Pane::Timeline && !bottom && rows >= WITH_SCRUBBER {
        out.scrubber = cut_bottom(&mut main, 1);
    }
    if class == Class::Compact {
        if focus.is_ring() {
            // The rings keep a few slots beside a lesson.
            let summary = SUMMARY.min(main.height.saturating_sub(RINGS));
            out.summary = cut_bottom(&mut main, summary);
        }
        out.panes.push((focus, main));
        return out;
    }
    if bottom {
        let natural = (rows / 5).clamp(7, 16);
        let most = rows - ABOVE_BOTTOM;
        let area = cut_bottom(&mut main, arrangement.size(Edge::Bottom, natural, LEAST.1, most));
        out.panes.push((if focus.is_tab() { focus } else { arrangement.tab }, area));
        level(&mut out, Edge::Bottom, area, -1, (natural, area.height));
    }
    // Without a place of their own they have the one of the descriptor.
    let stands = if focus.is_tab() && !bottom { focus } else { Pane::Inspector };
    if class == Class::Stacked {
        stacked(main, rows, texts, (focus, stands), arrangement, &mut out);
        return out;
    }
    match texts {
        Texts::Module => with_source(main, rows, (focus, stands), arrangement, &mut out),
        Texts::Assembly => with_assembly(main, rows, (focus, stands), arrangement, &mut out),
        Texts::None => full(main, (focus, stands), arrangement, &mut out),
    }
    out
}

/// Smallest width and height of a pane whose border is moved.
pub(super) const LEAST: (u16, u16) = (24, 3);
/// The inspector needs a little more for its first ruler.
pub(super) const LEAST_INSPECTOR: u16 = 6;

/// A border that is moved up and down: the title of the pane below it.
pub(super) fn level(out: &mut Areas, edge: Edge, below: Rect, grows: i16, sizes: (u16, u16)) {
    let area = Rect { height: 1, ..below };
    out.borders.push(Border { edge, area, level: true, grows, sizes });
}

/// A border that is moved sideways: the line on the left of the pane right of it.
pub(super) fn upright(out: &mut Areas, edge: Edge, right: Rect, grows: i16, sizes: (u16, u16)) {
    let area = Rect { width: 1, ..right };
    out.borders.push(Border { edge, area, level: false, grows, sizes });
}

/// The rings, what is selected in them, and the narrow column. `stands` has the place of the
/// descriptor; an assembly that has no place of its own takes it while it has the focus.
fn full(main: Rect, (focus, stands): (Pane, Pane), a: &Arrangement, out: &mut Areas) {
    let (left, right) = columns(main, a, out);
    // A narrow screen breaks the longest ruler in two.
    let more = if main.width < 140 { 2 } else { 0 };
    let natural = ((main.height / 2).clamp(16, 20) + more).min(main.height - 6);
    let most = left.height.saturating_sub(LEAST.1);
    let mut rings = left;
    let inspector = cut_bottom(&mut rings, a.size(Edge::Inspector, natural, LEAST_INSPECTOR, most));
    both_rings(rings, a, out);
    let source = focus == Pane::Source && out.pane(Pane::Source).is_none();
    out.panes.push((if source { Pane::Source } else { stands }, inspector));
    level(out, Edge::Inspector, inspector, -1, (natural, inspector.height));
    side(right, a, out);
}

/// All panes with an assembly: on the left where there is much room. `rows` were there before
/// the bottom was cut off, so that moving its border never takes a pane away.
fn with_assembly(
    main: Rect,
    rows: u16,
    (focus, stands): (Pane, Pane),
    a: &Arrangement,
    out: &mut Areas,
) {
    if main.width < WIDE.0 || rows < WIDE.1 {
        return full(main, (focus, stands), a, out);
    }
    let natural = main.width / 3;
    let most = main.width.saturating_sub(FULL.0);
    let source = Rect { width: a.size(Edge::Source, natural, LEAST.0, most), ..main };
    out.panes.push((Pane::Source, source));
    let rest = Rect { x: source.right(), width: main.width - source.width, ..main };
    upright(out, Edge::Source, rest, 1, (natural, source.width));
    full(rest, (focus, stands), a, out);
}

/// The rings side by side. Tx has more to show than Rx.
fn both_rings(rings: Rect, a: &Arrangement, out: &mut Areas) {
    let natural = match a.lone {
        Some(Dir::Tx) => rings.width.saturating_sub(LEAST.0),
        Some(Dir::Rx) => LEAST.0,
        None => rings.width * 52 / 100,
    };
    let most = rings.width.saturating_sub(LEAST.0);
    let tx_width = a.size(Edge::Rings, natural, LEAST.0, most);
    out.panes.push((Pane::Tx, Rect { width: tx_width, ..rings }));
    let rx = Rect { x: rings.x + tx_width, width: rings.width - tx_width, ..rings };
    out.panes.push((Pane::Rx, rx));
    upright(out, Edge::Rings, rx, 1, (natural, tx_width));
}

/// The wide column and the narrow one to its right.
fn columns(main: Rect, a: &Arrangement, out: &mut Areas) -> (Rect, Rect) {
    let natural = (main.width / 4).clamp(34, 52);
    let most = main.width.saturating_sub(2 * LEAST.0);
    let right_width = a.size(Edge::Side, natural, LEAST.0, most);
    let left = Rect { width: main.width - right_width, ..main };
    let right = Rect { x: left.right(), width: right_width, ..main };
    upright(out, Edge::Side, right, -1, (natural, right_width));
    (left, right)
}

/// The panes of the narrow column.
fn side(mut right: Rect, a: &Arrangement, out: &mut Areas) {
    let height = right.height;
    let three = 3 * LEAST.1;
    let marker = a.size(Edge::Marker, 7, LEAST.1, height.saturating_sub(three));
    out.panes.push((Pane::Marker, cut_top(&mut right, marker)));
    let natural = ((height / 5).max(5), (height / 4).max(5));
    let most = right.height.saturating_sub(2 * LEAST.1);
    let checks = cut_bottom(&mut right, a.size(Edge::Checks, natural.0, LEAST.1, most));
    let most = right.height.saturating_sub(LEAST.1);
    let memory = cut_bottom(&mut right, a.size(Edge::Memory, natural.1, LEAST.1, most));
    level(out, Edge::Marker, right, 1, (7, marker));
    level(out, Edge::Memory, memory, -1, (natural.1, memory.height));
    level(out, Edge::Checks, checks, -1, (natural.0, checks.height));
    out.panes.push((Pane::Events, right));
    out.panes.push((Pane::Memory, memory));
    out.panes.push((Pane::Checks, checks));
}

/// Smallest panes' area of which the text of a module takes the left third.
const WIDE: (u16, u16) = (180, 40);
/// Smallest width from which a module's passes stand beside its text, not below it.
const THREE: u16 = 240;
/// Rows of the inspector below the text of a module.
const INSPECTOR: u16 = 16;
/// Rows of the selected descriptor in short.
pub(super) const SUMMARY: u16 = 7;
/// Rows that the rings keep of a compact screen.
pub(super) const RINGS: u16 = 6;

/// All panes with the text of a module; `rows` were there before the bottom was cut off, and
/// `stands` has the place of the descriptor.
fn with_source(
    main: Rect,
    rows: u16,
    (focus, stands): (Pane, Pane),
    a: &Arrangement,
    out: &mut Areas,
) {
    if main.width >= WIDE.0 && rows >= WIDE.1 {
        let beside = main.width >= THREE;
        let natural = if beside { main.width - FULL.0 } else { main.width / 3 };
        let most = main.width.saturating_sub(FULL.0);
        let least = if beside { 2 * LEAST.0 } else { LEAST.0 };
        let texts = Rect { width: a.size(Edge::Source, natural, least, most), ..main };
        let rest = Rect { x: texts.right(), width: main.width - texts.width, ..main };
        upright(out, Edge::Source, rest, 1, (natural, texts.width));
        match beside {
            true => {
                let source = Rect { width: texts.width / 2, ..texts };
                out.panes.push((Pane::Source, source));
                let passes = Rect { x: source.right(), width: texts.width - source.width, ..texts };
                out.panes.push((Pane::Passes, passes));
            }
            false => {
                // So much that on 60 rows the table of the stages has room.
                let (mut source, natural) = (texts, texts.height * 5 / 9);
                let most = texts.height.saturating_sub(LEAST.1);
                let passes = cut_bottom(&mut source, a.size(Edge::Passes, natural, LEAST.1, most));
                out.panes.push((Pane::Source, source));
                out.panes.push((Pane::Passes, passes));
                level(out, Edge::Passes, passes, -1, (natural, passes.height));
            }
        }
        full(rest, (focus, stands), a, out);
        return;
    }
    let (left, right) = columns(main, a, out);
    text_and_rings(left, main.width >= 140, (focus, stands), a, out);
    side(right, a, out);
}

/// The text of a module above the rings, and below them what is selected; without `room` beside
/// one another the rings share a table, and what is selected is shown in short.
pub(super) fn text_and_rings(
    mut left: Rect,
    room: bool,
    (focus, stands): (Pane, Pane),
    a: &Arrangement,
    out: &mut Areas,
) {
    // Where the rulers have no room beside the rings they take their place on demand.
    let below = match (room, focus) {
        (true, _) => INSPECTOR,
        (false, _) if focus == stands => INSPECTOR + 2,
        (false, _) => SUMMARY,
    };
    let below = below.min(left.height.saturating_sub(LEAST.1));
    let below = match room {
        true => {
            let most = left.height.saturating_sub(2 * LEAST.1);
            let shown =
                cut_bottom(&mut left, a.size(Edge::Inspector, below, LEAST_INSPECTOR, most));
            level(out, Edge::Inspector, shown, -1, (below, shown.height));
            shown
        }
        false => cut_bottom(&mut left, below),
    };
    let rulers = room || focus == stands;
    if room || focus != stands {
        let natural = left.height - left.height * 14 / 25;
        let most = left.height.saturating_sub(LEAST.1);
        let rings = cut_bottom(&mut left, a.size(Edge::Text, natural, LEAST.1, most));
        out.shared = !room;
        level(out, Edge::Text, rings, -1, (natural, rings.height));
        if room {
            both_rings(rings, a, out);
        } else {
            out.panes.push((if focus == Pane::Rx { Pane::Rx } else { Pane::Tx }, rings));
        }
    }
    let passes = focus == Pane::Passes || (focus != Pane::Source && a.passes);
    out.panes.push((if passes { Pane::Passes } else { Pane::Source }, left));
    match rulers {
        true => out.panes.push((stands, below)),
        false => out.summary = below,
    }
}

#[cfg(test)]
mod tests;
