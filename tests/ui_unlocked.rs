//! Rings that are unlocked: each moves alone, and keeps its place (`docs/screen.md`, "Unlocked
//! rings").
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod ui_support;

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use dmadbg::engine::program::{Program, QueueId};
use dmadbg::udma::Dir;
use dmadbg::ui::folding::RingLine;
use dmadbg::ui::update::{Message, update_all};
use dmadbg::ui::{Model, Pane};
use proptest::prelude::*;
use ui_support::*;

const WIDE: (u16, u16) = (160, 45);

/// Cursors of Tx and Rx.
fn at(m: &Model) -> (u64, u64) {
    (m.cursor_of(Dir::Tx), m.cursor_of(Dir::Rx))
}

/// First lines of Tx and Rx.
fn tops(m: &Model) -> [Option<RingLine>; 2] {
    Dir::BOTH.map(|d| m.lines_of(d).first().copied())
}

fn resize(m: &mut Model, (w, h): (u16, u16)) {
    update_all(m, Message::Resize(w, h));
}

/// In the middle of the second lap, nothing followed, every slot shown, both rings at slot 20.
fn middle(size: (u16, u16)) -> Model {
    let mut m = model(wrap64(), "wrap64.bin", size);
    keys(&mut m, "fffdssaz<Home>");
    assert_eq!(m.focus, Pane::Tx);
    (0..20).for_each(|_| _ = keys(&mut m, "j"));
    assert_eq!(at(&m), (20, 20));
    m
}

/// The line of a slot in a ring's pane, as it is drawn.
fn line_of(m: &Model, dir: Dir, slot: u64) -> Option<String> {
    let pane = if dir == Dir::Tx { Pane::Tx } else { Pane::Rx };
    let nth = m.lines_of(dir).iter().position(|l| *l == RingLine::Slot(slot))?;
    let area = m.derived.areas.pane(pane)?;
    let rows = dmadbg::ui::view::pane_rows(m, pane, area.width, area.height);
    Some(rows[nth + 1].to_text())
}

fn titles(m: &Model) -> [String; 2] {
    let shown = text(&draw(m));
    let line = shown.lines().find(|l| l.contains("TX")).unwrap().to_owned();
    let at = line.find("RX").unwrap_or(line.len());
    [line[..at].to_owned(), line[at..].to_owned()]
}

#[test]
fn locked_rings_have_one_cursor_and_the_same_lines() {
    let mut m = middle(WIDE);
    keys(&mut m, "jjl<PgDn>k");
    assert_eq!(at(&m).0, at(&m).1);
    assert_eq!(m.lines_of(Dir::Tx), m.lines_of(Dir::Rx));
    assert!(titles(&m).iter().all(|t| !t.contains("unlocked")));
}

#[test]
fn an_unlocked_ring_moves_alone_and_the_same_key_brings_the_other_one() {
    for size in [(120, 36), WIDE, (200, 60)] {
        let mut m = middle(size);
        keys(&mut m, "O");
        assert_eq!(said(&m), "the rings are unlocked: tx moves alone");
        let there = tops(&m)[1];
        assert!(titles(&m).iter().all(|t| t.contains("unlocked")), "{:?}", titles(&m));
        keys(&mut m, "<End>");
        assert_eq!((at(&m), tops(&m)[1]), ((63, 20), there));
        assert_ne!(tops(&m)[0], there);
        // The other ring, at its place; back, at the one that was left.
        let top = tops(&m)[0];
        for (to, back, focus) in [("l", "h", Pane::Rx), ("<Tab>", "h", Pane::Inspector)] {
            keys(&mut m, to);
            if focus == Pane::Rx {
                assert_eq!((m.focus, m.selection.dir, m.selection.slot), (focus, Dir::Rx, 20));
                keys(&mut m, "kkjj");
            }
            assert_eq!((at(&m), tops(&m)), ((63, 20), [top, there]), "{to}");
            keys(&mut m, back);
        }
        m.focus = Pane::Tx;
        keys(&mut m, "hlj");
        assert_eq!(at(&m), (63, 21));
        keys(&mut m, "hO");
        assert_eq!((at(&m), said(&m)), ((63, 63), "the rings are locked, at tx[63]".into()));
        assert_eq!(m.lines_of(Dir::Tx), m.lines_of(Dir::Rx));
        keys(&mut m, "Olkk<Home>O");
        assert_eq!((at(&m), said(&m)), ((0, 0), "the rings are locked, at rx[0]".into()));
    }
}

#[test]
fn the_descriptor_is_that_of_the_ring_that_is_looked_at() {
    let mut m = middle(WIDE);
    keys(&mut m, "Ojjj");
    let title = |m: &Model| text(&draw(m)).lines().any(|l| l.contains("rx[20]"));
    assert_eq!(m.desc(), m.slot(Dir::Tx, 23));
    assert!(!title(&m));
    keys(&mut m, "l");
    assert_eq!(m.desc(), m.slot(Dir::Rx, 20));
    assert!(title(&m));
}

#[test]
fn the_other_slot_of_the_pair_is_marked_where_it_is_in_sight() {
    let mut m = middle(WIDE);
    let mark = m.theme.linked();
    assert!(!line_of(&m, Dir::Rx, 20).unwrap().contains(mark));
    keys(&mut m, "Okkk");
    let mut seen = 0;
    for slot in 0..64 {
        let marked = |dir| line_of(&m, dir, slot).map(|line| line.contains(mark));
        seen += usize::from(marked(Dir::Rx).is_some());
        assert!(marked(Dir::Rx).is_none_or(|its| its == (slot == 17)), "{slot}");
        assert!(!marked(Dir::Tx).unwrap_or_default(), "{slot}");
    }
    assert!(seen > 10 && line_of(&m, Dir::Rx, 17).is_some());
    // `o` takes the cursor of the other ring to it.
    keys(&mut m, "o");
    assert_eq!((at(&m), m.selection.dir), ((17, 17), Dir::Rx));
    // In a fold too.
    keys(&mut m, "zgh<End>");
    let folds = m.lines_of(Dir::Rx).iter();
    let fold = folds.filter_map(|l| if let RingLine::Fold(f) = l { Some(*f) } else { None });
    let fold = fold.into_iter().find(|f| (f.first..f.end()).contains(&m.selection.slot));
    let nth = m.lines_of(Dir::Rx).iter().position(|l| *l == RingLine::Fold(fold.unwrap()));
    let rows = dmadbg::ui::view::pane_rows(&m, Pane::Rx, 60, 40);
    let row = rows[nth.unwrap() + 1].to_text();
    assert!(row.contains(mark), "{row}");
}

#[test]
fn each_ring_folds_its_own_slots() {
    let mut m = middle(WIDE);
    keys(&mut m, "O");
    let folds = |m: &Model, dir| m.lines_of(dir).iter().any(|l| matches!(l, RingLine::Fold(_)));
    assert!(!folds(&m, Dir::Tx) && !folds(&m, Dir::Rx));
    keys(&mut m, "l<End>z");
    assert_eq!(said(&m), "equal slots of rx are folded");
    assert!(!folds(&m, Dir::Tx) && folds(&m, Dir::Rx));
    keys(&mut m, "h");
    assert!(!folds(&m, Dir::Tx) && folds(&m, Dir::Rx), "as each was left");
    // A breakpoint keeps its own ring's slot out of a fold, and not the other's.
    let mut m = model(wrap64(), "wrap64.bin", WIDE);
    keys(&mut m, "aO");
    typed(&mut m, "break rx[30]");
    let has = |m: &Model, dir| m.lines_of(dir).contains(&RingLine::Slot(30));
    assert!(has(&m, Dir::Rx) && !has(&m, Dir::Tx));
    keys(&mut m, "O");
    assert!(has(&m, Dir::Rx) && has(&m, Dir::Tx));
}

#[test]
fn a_search_goes_through_the_ring_that_is_looked_at() {
    let mut m = middle(WIDE);
    typed(&mut m, "find length == 4");
    let both = said(&m);
    assert!(both.contains(" of 8;"), "{both}");
    keys(&mut m, "hO<Home>");
    let there = at(&m).1;
    let mut seen = Vec::new();
    for _ in 0..5 {
        keys(&mut m, "m");
        assert!(said(&m).contains(" of 4 in tx;"), "{}", said(&m));
        seen.push(m.selection.slot);
        assert_eq!((m.selection.dir, at(&m).1), (Dir::Tx, there));
    }
    assert!(seen[..4].windows(2).all(|w| w[0] != w[1]) && seen[0] == seen[4], "{seen:?}");
    keys(&mut m, "M");
    assert_eq!(m.selection.slot, seen[3]);
    // Only what was found, each ring its own and its cursor.
    keys(&mut m, "x");
    for dir in Dir::BOTH {
        let left = m.lines_of(dir).iter().filter(|l| matches!(l, RingLine::Slot(_))).count();
        assert!((4..=5).contains(&left), "{:?}", m.lines_of(dir));
    }
    // A ring without a match leaves the search to the other one.
    keys(&mut m, "x");
    let here = at(&m).0;
    typed(&mut m, "find rx length == 4");
    assert_eq!((m.selection.dir, at(&m).0), (Dir::Rx, here));
}

#[test]
fn the_wheel_moves_the_ring_under_it() {
    let wheel = |m: &mut Model, pane: Pane| {
        let a = m.derived.areas.pane(pane).unwrap();
        let kind = MouseEventKind::ScrollDown;
        let (column, row) = (a.x + 5, a.y + 4);
        update_all(
            m,
            Message::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }),
        );
    };
    let mut m = middle(WIDE);
    keys(&mut m, "O");
    wheel(&mut m, Pane::Rx);
    assert_eq!((at(&m), m.focus, m.selection.dir), ((20, 23), Pane::Tx, Dir::Tx));
    wheel(&mut m, Pane::Tx);
    assert_eq!((at(&m), m.focus), ((23, 23), Pane::Tx));
    (0..30).for_each(|_| wheel(&mut m, Pane::Rx));
    assert_eq!(at(&m), (23, 63), "no farther than the last slot");
    assert!(line_of(&m, Dir::Rx, 63).is_some(), "in sight");
    keys(&mut m, "O");
    wheel(&mut m, Pane::Rx);
    assert_eq!((at(&m), m.focus), ((26, 26), Pane::Tx), "locked rings move together");
}

#[test]
fn a_click_selects_in_its_ring_alone() {
    let mut m = middle(WIDE);
    keys(&mut m, "O");
    let a = m.derived.areas.pane(Pane::Rx).unwrap();
    let RingLine::Slot(first) = m.lines_of(Dir::Rx)[0] else { panic!() };
    let kind = MouseEventKind::Down(MouseButton::Left);
    let (column, row) = (a.x + 8, a.y + 2 + 3);
    let click = MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE };
    update_all(&mut m, Message::Mouse(click));
    assert_eq!((at(&m), m.selection.dir, m.focus), ((20, first + 3), Dir::Rx, Pane::Rx));
}

#[test]
fn the_newest_event_moves_the_rings_that_it_is_about() {
    use dmadbg::ui::ties::slots_of;
    let mut m = model(wrap64(), "wrap64.bin", WIDE);
    keys(&mut m, "O");
    let mut moved = [0; 3];
    for key in "dssnseeeeeeeeeeefSEEEEEEEEEEEE".chars() {
        let before = at(&m);
        keys(&mut m, &key.to_string());
        let here = m.session.position();
        let events = m.session.events(here.saturating_sub(64), here + 1);
        let about = events.iter().rev().map(slots_of).find(|s| !s.is_empty()).unwrap_or_default();
        for (dir, was) in [(Dir::Tx, before.0), (Dir::Rx, before.1)] {
            let want = about.iter().find(|s| s.0 == dir).map_or(was, |s| s.1);
            assert_eq!(m.cursor_of(dir), want, "{key} {dir} {about:?}");
        }
        moved[about.len()] += 1;
    }
    assert!(moved[1] > 3 && moved[2] > 0, "{moved:?}");
    // Held, neither moves.
    keys(&mut m, "a");
    let before = at(&m);
    keys(&mut m, "sssEEEfg");
    assert_eq!(at(&m), before);
}

#[test]
fn places_stay_over_moves_and_sizes() {
    let mut m = middle(WIDE);
    keys(&mut m, "O<End>l<Home>h");
    let (there, shown) = (at(&m), tops(&m));
    assert_eq!(there, (63, 0));
    for moves in ["s", "S", "g", "G", "fFeE", "c"] {
        keys(&mut m, moves);
        assert_eq!(at(&m), there, "{moves}");
    }
    for size in [(80, 24), (100, 40), (119, 60), (60, 20), (20, 5), (1, 1), (200, 60)] {
        resize(&mut m, size);
        assert_eq!(at(&m), there, "{size:?}");
        resize(&mut m, WIDE);
        assert_eq!((at(&m), tops(&m)), (there, shown), "{size:?}");
    }
    keys(&mut m, "Z");
    keys(&mut m, "l");
    assert_eq!((m.selection.dir, m.selection.slot), (Dir::Rx, 0));
    keys(&mut m, "hZ");
    assert_eq!(at(&m), there);
}

#[test]
fn in_one_table_both_cursors_have_their_rows() {
    let mut m = middle((80, 24));
    keys(&mut m, "O");
    assert!(m.derived.areas.shared && m.is_unlocked() && !m.is_apart());
    keys(&mut m, "jjj");
    assert_eq!(at(&m), (23, 20));
    assert!(titles(&m)[0].contains("unlocked, rx at 20:"), "{:?}", titles(&m));
    for slot in [20, 23] {
        assert!(m.derived.ring.contains(&RingLine::Slot(slot)), "{slot} {:?}", m.derived.ring);
    }
    // Neither is folded away, and one comes back to each.
    let top = m.ring_top;
    keys(&mut m, "l");
    assert_eq!((m.selection.dir, m.selection.slot, m.ring_top), (Dir::Rx, 20, top));
    keys(&mut m, "z<Home>h");
    assert_eq!(at(&m), (23, 0));
    assert!(m.derived.ring.contains(&RingLine::Slot(0)) || m.ring_top > 0);
    resize(&mut m, WIDE);
    assert_eq!(at(&m), (23, 0));
    assert!(m.is_apart());
    keys(&mut m, "O");
    assert_eq!(at(&m), (23, 23));
}

#[test]
fn each_queue_is_unlocked_by_itself() {
    let q = |m: &Model| m.queue().unwrap();
    let mut m = model(two_queues(), "two.dma", WIDE);
    keys(&mut m, "GaO<Home>jjjl<End>");
    let (first, there, shown) = (q(&m), at(&m), tops(&m));
    assert_eq!(there.0, 3);
    keys(&mut m, "]");
    assert_ne!(q(&m), first);
    assert!(!m.is_unlocked());
    keys(&mut m, "<Home>j");
    assert_eq!(at(&m), (1, 1));
    keys(&mut m, "Ohjj");
    let second = at(&m);
    assert_eq!(second, (3, 1));
    keys(&mut m, "[");
    assert_eq!((q(&m), m.is_unlocked(), at(&m), tops(&m)), (first, true, there, shown));
    keys(&mut m, "]");
    assert_eq!(at(&m), second);
    typed(&mut m, &format!("info queue {first}"));
    assert_eq!(at(&m), there);
    // A jump comes to the slot that was left, the other ring to its own place.
    keys(&mut m, "<Esc>(");
    assert_eq!(at(&m), second);
    // Events that are followed select queues; the rings of each stay apart.
    keys(&mut m, "agO");
    let other = q(&m);
    assert!(other != first && !m.is_unlocked());
    let mut seen = std::collections::BTreeSet::<(QueueId, bool)>::new();
    for _ in 0..80 {
        keys(&mut m, "e");
        seen.insert((q(&m), m.is_unlocked()));
    }
    assert_eq!(seen, [(first, true), (other, false)].into());
}

#[test]
fn how_rings_are_folded_does_not_come_along_to_another_queue() {
    let mut m = model(two_queues(), "two.dma", WIDE);
    keys(&mut m, "GaOz");
    assert!(!m.fold);
    keys(&mut m, "]");
    assert!(m.fold && !m.is_unlocked());
    keys(&mut m, "[");
    assert!(!m.fold && m.is_unlocked());
}

#[test]
fn a_queue_with_one_ring_has_nothing_to_unlock() {
    let mut m = model(one_direction(), "odd.tx.bin", WIDE);
    let before = m.clone();
    keys(&mut m, "O");
    assert_eq!(said(&m), "there is no rx ring to unlock from");
    assert!(!m.is_unlocked());
    keys(&mut m, "<Esc>");
    assert_eq!(text(&draw(&m)), text(&draw(&before)));
}

/// Copies; each is of its number times 16 bytes.
fn copies(numbers: &[u64]) -> Program {
    let mut text = "dma 1\narch v3\nprofile dkms-2.26\n\
        queue e128.q0 tx=0x400040041000 tx_size=64 rx=0x400040021000 rx_size=64 marker=marker allocatable=yes\n\
        region hbm kind=device base=0x10000000 len=0x40000 fill=zero\n\
        region marker kind=host base=0x400040061000 len=24 fill=zero\n\
        region buffer kind=host base=0x4000400a3000 len=0x40000 fill=pattern:13\n\
        init e128.q0\n"
        .to_owned();
    for n in numbers {
        let (at, size) = (n * 0x1000, n * 16);
        text.push_str(&format!(
            "copy e128.q0 src=buffer+{at:#x} dst=hbm+{at:#x} size={size} note=\"copy {n}\"\n"
        ));
    }
    dmadbg::load::asm::assemble(&text).unwrap().program
}

#[test]
fn places_are_found_again_in_files_that_changed() {
    let mut m = model(copies(&[1, 2, 3, 4, 5, 6]), "copies.dma", WIDE);
    keys(&mut m, "Ga<Home>O");
    let words = |m: &Model| Dir::BOTH.map(|d| m.slot(d, m.cursor_of(d)).unwrap().0.length());
    keys(&mut m, "jjjjl<Home>jjh");
    let (there, before) = (at(&m), words(&m));
    assert_eq!(there, (4, 2));
    reload(&mut m, copies(&[9, 10, 1, 2, 3, 4, 5, 6]));
    assert!(m.is_unlocked());
    assert_eq!(words(&m), before);
    assert_ne!(at(&m).0, there.0);
    assert_ne!(at(&m).1, there.1);
    // And back.
    reload(&mut m, copies(&[1, 2, 3, 4, 5, 6]));
    assert_eq!((at(&m), words(&m)), (there, before));
}

#[test]
fn unlocked_rings_at_each_size() {
    for size in [(80, 24), (120, 36), (200, 60)] {
        let mut m = middle(size);
        keys(&mut m, "Ojjjl<PgDn>jz");
        let name = format!("unlocked_{}x{}", size.0, size.1);
        insta::assert_snapshot!(name, styled(&draw(&m)));
    }
    let mut m = plain(middle((120, 36)));
    keys(&mut m, "Ojjj");
    let coloured = middle((120, 36));
    insta::assert_snapshot!("unlocked_no_colour_120x36", styled(&draw(&m)));
    m.theme.ascii = true;
    let shown = text(&draw(&m));
    assert!(shown.is_ascii(), "{shown}");
    assert!(shown.contains("unlocked"));
    assert!(!text(&draw(&coloured)).contains("unlocked"));
}

/// Keys that move in rings, in time and between queues.
const KEYS: &[&str] = &[
    "O", "O", "j", "k", "<PgDn>", "<PgUp>", "<Home>", "<End>", "h", "l", "o", "<Tab>", "z", "x",
    "m", "M", "a", "]", "[", "s", "S", "e", "E", "f", "F", "d", "g", "G", "Z", "(", ")",
];
const SIZES: &[(u16, u16)] = &[(160, 45), (120, 36), (80, 24), (100, 40), (60, 20), (200, 60)];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Whatever is pressed: cursors are slots of their rings and in sight, lines go on without a
    /// gap, and while nothing is followed moving in one ring leaves the other where it is.
    #[test]
    fn cursors_are_in_sight_and_lines_have_no_gap(
        many in prop::collection::vec((0..KEYS.len(), 0..60usize), 1..60),
        two: bool,
    ) {
        let p = if two { two_queues() } else { wrap64() };
        let mut m = model(p, "some", WIDE);
        typed(&mut m, "find length == 4");
        for (key, size) in many {
            if let Some(size) = SIZES.get(size) {
                resize(&mut m, *size);
            }
            let (before, dir, q, apart) = (at(&m), m.selection.dir, m.queue(), m.is_unlocked());
            let key = KEYS[key];
            keys(&mut m, key);
            if apart && matches!(key, "j" | "k" | "<PgDn>" | "<PgUp>" | "<Home>" | "<End>")
                && m.queue() == q && m.focus.is_ring()
            {
                let other = if dir == Dir::Tx { (before.1, at(&m).1) } else { (before.0, at(&m).0) };
                prop_assert_eq!(other.0, other.1, "{}", key);
            }
            for dir in Dir::BOTH {
                let lines = m.lines_of(dir);
                let mut next = None;
                for line in lines {
                    let (first, end) = match *line {
                        RingLine::Slot(s) => (s, s + 1),
                        RingLine::Fold(f) => (f.first, f.end()),
                        RingLine::Hidden(s, n) => (s, s + n),
                    };
                    prop_assert!(first < end && next.is_none_or(|n| n == first), "{:?}", lines);
                    next = Some(end);
                }
                let cursor = m.cursor_of(dir);
                prop_assert!(cursor < m.slots().max(1));
                if m.slots() > 0 && (m.is_apart() || dir == m.selection.dir) {
                    prop_assert!(lines.contains(&RingLine::Slot(cursor)), "{} {:?}", cursor, lines);
                }
            }
            if !m.is_unlocked() {
                prop_assert_eq!(at(&m).0, at(&m).1);
                prop_assert_eq!(m.lines_of(Dir::Tx), m.lines_of(Dir::Rx));
            }
            draw(&m);
        }
    }
}
