//! The places of the panes on a narrow and tall screen: the rings and what is selected in them
//! above, the marker, the checks and the events below (`docs/screen.md`, "Sizes").

use super::arrange::{Arrangement, Edge};
use super::layout::{
    Areas, LEAST, LEAST_INSPECTOR, Pane, RINGS, SUMMARY, Texts, cut_bottom, cut_top, level,
    text_and_rings, upright,
};
use ratatui::layout::Rect;

/// Smallest size with panes in a stack; from [`super::layout::FULL`]'s columns on they are side by
/// side.
pub const STACKED: (u16, u16) = (80, 36);
/// Rows of panes from which the text of a module lies above the rings.
const WITH_TEXT: u16 = 44;
/// Rows of panes from which the descriptor has a place of its own with its rulers, and so has
/// memory.
const TALL: u16 = 50;
/// Rows of the descriptor: a narrow screen breaks the longest ruler in two.
const INSPECTOR: u16 = 18;
/// Columns of the marker and the checks.
const NARROW: u16 = 34;

/// Stacks all panes that have room in `main`. Which those are follows from `rows`, those that were
/// there before the bottom was cut off, so that moving a border takes none away; the ones without a
/// place take that of the descriptor while they have the focus. `stands` has that place.
pub(super) fn stacked(
    main: Rect,
    rows: u16,
    texts: Texts,
    (focus, stands): (Pane, Pane),
    a: &Arrangement,
    out: &mut Areas,
) {
    let tall = rows >= TALL;
    let natural = (main.height / 3).clamp(9, 22);
    let mut upper = main;
    // A text, the rings and a descriptor in short are left above it.
    let most = main.height.saturating_sub(2 * LEAST.1 + SUMMARY);
    let strip = cut_bottom(&mut upper, a.size(Edge::Checks, natural, 2 * LEAST.1, most));
    let stands = if focus == Pane::Memory && !tall { focus } else { stands };
    let text = focus == Pane::Source || focus == Pane::Passes;
    match texts {
        Texts::Module if rows >= WITH_TEXT => {
            text_and_rings(upper, false, (focus, stands), a, out);
        }
        Texts::Module if !focus.is_ring() && focus != stands => {
            let passes = focus == Pane::Passes || (!text && a.passes);
            out.panes.push((if passes { Pane::Passes } else { Pane::Source }, upper));
        }
        _ => {
            let stands = if text { focus } else { stands };
            rings_and_selected(upper, tall, (focus, stands), a, out);
        }
    }
    below(strip, tall, a, out);
    level(out, Edge::Checks, strip, -1, (natural, strip.height));
}

/// The rings in one table, and below it what is selected in them: in full where there are rows for
/// it, else in short, or in full in place of both while it has the focus.
fn rings_and_selected(
    mut upper: Rect,
    tall: bool,
    (focus, stands): (Pane, Pane),
    a: &Arrangement,
    out: &mut Areas,
) {
    if !tall && focus == stands {
        out.panes.push((stands, upper));
        return;
    }
    if tall {
        let most = upper.height.saturating_sub(LEAST.1);
        let rows = a.size(Edge::Inspector, INSPECTOR, LEAST_INSPECTOR, most);
        let selected = cut_bottom(&mut upper, rows);
        out.panes.push((stands, selected));
        level(out, Edge::Inspector, selected, -1, (INSPECTOR, selected.height));
    } else {
        let summary = SUMMARY.min(upper.height.saturating_sub(RINGS));
        out.summary = cut_bottom(&mut upper, summary);
    }
    out.panes.push((if focus == Pane::Rx { Pane::Rx } else { Pane::Tx }, upper));
}

/// The marker above the checks, and right of them the events, with memory below them where there
/// are rows for it.
fn below(strip: Rect, tall: bool, a: &Arrangement, out: &mut Areas) {
    let natural = strip.width - NARROW;
    let most = strip.width.saturating_sub(LEAST.0);
    let width = a.size(Edge::Side, natural, LEAST.0, most);
    let mut left = Rect { width: strip.width - width, ..strip };
    let mut right = Rect { x: left.right(), width, ..strip };
    upright(out, Edge::Side, right, -1, (natural, width));
    let natural = strip.height.saturating_sub(LEAST.1 + 1).min(7);
    let most = strip.height.saturating_sub(LEAST.1);
    let marker = cut_top(&mut left, a.size(Edge::Marker, natural, LEAST.1, most));
    out.panes.push((Pane::Marker, marker));
    level(out, Edge::Marker, left, 1, (natural, marker.height));
    out.panes.push((Pane::Checks, left));
    if tall {
        let natural = strip.height / 3;
        let memory = cut_bottom(&mut right, a.size(Edge::Memory, natural, LEAST.1, most));
        level(out, Edge::Memory, memory, -1, (natural, memory.height));
        out.panes.push((Pane::Memory, memory));
    }
    out.panes.push((Pane::Events, right));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::layout::{Class, FULL, areas, areas_with};

    const TEXTS: [Texts; 3] = [Texts::None, Texts::Assembly, Texts::Module];

    #[test]
    fn narrow_and_tall_screens_are_full_and_every_pane_is_reached() {
        for w in STACKED.0..FULL.0 {
            for h in STACKED.1..100 {
                for texts in TEXTS {
                    for focus in Pane::all(texts) {
                        let a = areas((w, h), focus, texts, &Arrangement::default());
                        assert_eq!(a.class, Class::Stacked);
                        assert!(a.pane(focus).is_some_and(|r| r.height > 3), "{w}x{h} {focus:?}");
                        for pane in [Pane::Marker, Pane::Events, Pane::Checks] {
                            assert!(a.pane(pane).is_some(), "{w}x{h} {focus:?} {pane:?}");
                        }
                        // Nothing is left over, and nothing is there twice.
                        let others = [a.header, a.phases, a.scrubber, a.summary, a.status, a.hints];
                        let all = a.panes.iter().map(|p| p.1).chain(others);
                        let sum: u32 = all.map(|r| r.area()).sum();
                        assert_eq!(sum, u32::from(w) * u32::from(h), "{w}x{h} {focus:?} {a:?}");
                        let mut names: Vec<Pane> = a.panes.iter().map(|p| p.0).collect();
                        names.sort();
                        names.dedup();
                        assert_eq!(names.len(), a.panes.len());
                        assert!(a.shared);
                    }
                }
            }
        }
        // Shorter, or beside a lesson, it is the small screen; wider, all side by side.
        let of = |size, lesson| {
            areas_with(size, Pane::Tx, Texts::None, &Arrangement::default(), lesson).class
        };
        assert_eq!([of((119, 35), 0), of((119, 60), 0)], [Class::Compact, Class::Stacked]);
        assert_eq!([of((100, 40), 5), of((100, 41), 5)], [Class::Compact, Class::Stacked]);
        assert_eq!([of((120, 36), 0), of((79, 60), 0)], [Class::Full, Class::Tiny]);
        let mut zoom = Arrangement::default();
        zoom.zoom = true;
        assert_eq!(areas((100, 60), Pane::Tx, Texts::None, &zoom).panes.len(), 1);
    }

    #[test]
    fn with_more_rows_more_has_a_place_of_its_own() {
        let of = |h, focus, texts| areas((100, h), focus, texts, &Arrangement::default());
        let has = |a: &Areas, pane| a.pane(pane).is_some();
        let a = of(40, Pane::Tx, Texts::None);
        assert!(has(&a, Pane::Tx) && has(&a, Pane::Timeline) && !has(&a, Pane::Memory));
        assert!(!has(&a, Pane::Inspector) && a.summary.height == SUMMARY);
        let a = of(40, Pane::Inspector, Texts::None);
        assert!(a.rows(Pane::Inspector) >= usize::from(INSPECTOR) - 1, "{a:?}");
        let a = of(60, Pane::Memory, Texts::None);
        assert!(has(&a, Pane::Tx) && has(&a, Pane::Inspector) && has(&a, Pane::Memory));
        assert_eq!(a.rows(Pane::Inspector), usize::from(INSPECTOR) - 1);
        assert!(a.rows(Pane::Tx) >= 8 && a.rows(Pane::Events) >= 8, "{a:?}");
        for focus in [Pane::Source, Pane::Events] {
            let a = of(40, focus, Texts::Module);
            assert!(has(&a, Pane::Source) && !has(&a, Pane::Tx));
            let a = of(60, focus, Texts::Module);
            assert!(has(&a, Pane::Source) && has(&a, Pane::Tx) && !a.summary.is_empty());
        }
        assert!(has(&of(40, Pane::Rx, Texts::Module), Pane::Rx));
    }

    #[test]
    fn wherever_borders_are_moved_every_pane_keeps_its_room() {
        for (w, h) in [(80, 36), (100, 40), (119, 54), (100, 60), (90, 80)] {
            for texts in TEXTS {
                for (by, edge) in [-400, -9, 9, 400]
                    .into_iter()
                    .flat_map(|by| Edge::ALL.into_iter().map(move |edge| (by, edge)))
                {
                    let mut moved = Arrangement::default();
                    for other in Edge::ALL {
                        moved.set(other, if other == edge { by } else { -by });
                        for focus in [Pane::Tx, Pane::Inspector, Pane::Events] {
                            let a = areas((w, h), focus, texts, &moved);
                            let before = areas((w, h), focus, texts, &Arrangement::default());
                            let names = |a: &Areas| a.panes.iter().map(|p| p.0).collect::<Vec<_>>();
                            assert_eq!(names(&a), names(&before), "{w}x{h} {moved:?}");
                            assert!(
                                a.panes.iter().all(|p| p.1.height >= 3 && p.1.width >= 24),
                                "{w}x{h} {focus:?} {moved:?} {:?}",
                                a.panes
                            );
                        }
                    }
                }
            }
        }
    }
}
