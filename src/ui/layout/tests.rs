//! Sizes, borders and tabs: what the places of panes keep to.

use super::*;

#[test]
fn every_size_gives_areas_inside_the_screen_that_do_not_overlap() {
    for w in (1..=260).step_by(3) {
        for h in 1..=90 {
            for (focus, texts) in [
                (Pane::Tx, Texts::None),
                (Pane::Inspector, Texts::None),
                (Pane::Source, Texts::Module),
                (Pane::Passes, Texts::Module),
                (Pane::Source, Texts::Assembly),
                (Pane::Rx, Texts::Module),
                (Pane::Inspector, Texts::Module),
                (Pane::Timeline, Texts::None),
                (Pane::Stops, Texts::Module),
            ] {
                let lesson = if w % 2 == 0 { 0 } else { 5 };
                let a = areas_with((w, h), focus, texts, &Arrangement::default(), lesson);
                let mut all: Vec<Rect> = a.panes.iter().map(|p| p.1).collect();
                all.extend([a.header, a.phases, a.lesson, a.summary, a.status, a.hints]);
                all.push(a.scrubber);
                let screen = Rect::new(0, 0, w, h);
                let area: u32 = all.iter().map(|r| r.area()).sum();
                assert!(area <= screen.area(), "{w}x{h}");
                for r in &all {
                    assert_eq!(r.intersection(screen).area(), r.area(), "{w}x{h} {r:?}");
                }
                assert!(a.pane(focus).is_some_and(|r| !r.is_empty()), "{w}x{h}");
            }
        }
    }
}

#[test]
fn wherever_borders_are_moved_every_pane_keeps_its_room() {
    for (w, h) in [(120, 30), (140, 36), (160, 45), (200, 60), (250, 80)] {
        for texts in [Texts::None, Texts::Assembly, Texts::Module] {
            for by in [-400, -60, -9, 9, 60, 400] {
                for edge in Edge::ALL {
                    let mut moved = Arrangement::default();
                    moved.set(edge, by);
                    for other in Edge::ALL {
                        moved.set(other, if other == edge { by } else { -by });
                        let a = areas((w, h), Pane::Tx, texts, &moved);
                        let before = areas((w, h), Pane::Tx, texts, &Arrangement::default());
                        let names = |a: &Areas| a.panes.iter().map(|p| p.0).collect::<Vec<_>>();
                        assert_eq!(names(&a), names(&before), "{w}x{h} {moved:?}");
                        let sum = |a: &Areas| {
                            a.summary.area() + a.panes.iter().map(|p| p.1.area()).sum::<u32>()
                        };
                        assert_eq!(sum(&a), sum(&before), "{w}x{h} {moved:?}");
                        assert!(
                            a.panes.iter().all(|p| p.1.height >= 3 && p.1.width >= 15),
                            "{w}x{h} {:?}",
                            a.panes
                        );
                    }
                }
            }
        }
    }
    let mut zoom = Arrangement::default();
    zoom.zoom = true;
    let a = areas((200, 60), Pane::Memory, Texts::Module, &zoom);
    assert_eq!(a.panes.len(), 1);
}

#[test]
fn tab_visits_every_pane() {
    let mut p = Pane::Tx;
    for _ in 1..Pane::ALL.len() {
        p = p.step(1, Pane::Rx, Texts::None);
    }
    assert_eq!(p, Pane::Rx);
    assert_eq!(Pane::Rx.step(1, Pane::Rx, Texts::None), Pane::Inspector);
    assert_eq!(Pane::Rx.step(-1, Pane::Rx, Texts::None), Pane::Stops);
    assert_eq!(Pane::Rx.step(-1, Pane::Rx, Texts::Module), Pane::Passes);
    assert_eq!(Pane::Source.step(1, Pane::Rx, Texts::Module), Pane::Passes);
    assert_eq!(Pane::Source.step(-1, Pane::Rx, Texts::Module), Pane::Stops);
}

#[test]
fn the_tabs_share_the_bottom_or_the_place_of_the_descriptor() {
    let of = |size, focus, tab| {
        let mut arrangement = Arrangement::default();
        arrangement.tab = tab;
        areas(size, focus, Texts::None, &arrangement)
    };
    for tab in Pane::TABS {
        for size in [(120, 40), (160, 45), (200, 60), (250, 80)] {
            let a = of(size, Pane::Tx, tab);
            assert!(a.pane(tab).is_some_and(|r| r.width == size.0), "{size:?}");
            assert!(a.pane(Pane::Inspector).is_some() && a.scrubber.is_empty());
            let shown = a.panes.iter().filter(|p| p.0.is_tab()).count();
            assert_eq!((shown, of(size, tab, Pane::Budget).pane(tab).is_some()), (1, true));
        }
        for size in [(120, 30), (120, 36)] {
            let a = of(size, Pane::Tx, tab);
            assert!(a.pane(tab).is_none() && a.scrubber.width == size.0);
            let a = of(size, tab, tab);
            assert!(a.pane(tab).is_some() && a.pane(Pane::Inspector).is_none());
            assert_eq!(a.scrubber.is_empty(), tab == Pane::Timeline);
        }
    }
}
