//! The passes of a module side by side, and the list of places that were left by jumps.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod ui_support;

use dmadbg::engine::lower::Stage;
use dmadbg::ui::aligned::{Kind, Shown};
use dmadbg::ui::layout::Texts;
use dmadbg::ui::passes::Proof;
use dmadbg::ui::{Model, Pane};
use proptest::prelude::*;
use ui_support::*;

const SIZES: [(u16, u16); 5] = [(80, 24), (120, 36), (160, 45), (200, 60), (250, 80)];

fn at(size: (u16, u16), typed: &str, name: &str) -> Model {
    let mut m = model(module(name), name, size);
    keys(&mut m, typed);
    m
}

#[test]
fn the_passes_at_their_sizes() {
    for (moment, typed, name) in [
        ("strided_peel", ">", "strided-load.bir"),
        ("gather_unroll", ">>", "gather.bir"),
        ("gather_lowered", "ssssss>>>>>", "gather.bir"),
    ] {
        for size in SIZES {
            let mut m = at(size, typed, name);
            m.focus = Pane::Passes;
            m.prepare();
            let name = format!("passes_{moment}_{}x{}", size.0, size.1);
            insta::assert_snapshot!(name, styled(&draw(&m)));
        }
    }
}

#[test]
fn the_passes_without_colours_and_in_ascii() {
    let mut m = plain(at((160, 45), ">>v", "loop.bir"));
    insta::assert_snapshot!("passes_no_colour_160x45", styled(&draw(&m)));
    m.theme.ascii = true;
    let shown = text(&draw(&m));
    assert!(shown.is_ascii(), "{shown}");
}

#[test]
fn the_passes_stand_where_there_is_room_and_else_in_place_of_the_text() {
    let m = at((200, 60), "", "gather.bir");
    assert!(m.derived.areas.pane(Pane::Source).is_some());
    assert!(m.derived.areas.pane(Pane::Passes).is_some());
    let mut m = at((120, 36), "", "gather.bir");
    assert!(m.derived.areas.pane(Pane::Passes).is_none());
    keys(&mut m, "v");
    assert_eq!(m.focus, Pane::Passes);
    assert!(m.derived.areas.pane(Pane::Source).is_none());
    // It stays there while another pane has the focus.
    keys(&mut m, "<Tab>");
    assert_eq!(m.focus, Pane::Tx);
    assert!(m.derived.areas.pane(Pane::Passes).is_some());
    keys(&mut m, "vv");
    assert_eq!(m.focus, Pane::Source);
    assert!(m.derived.areas.pane(Pane::Passes).is_none());
    // Rings alone have none, and no key for them.
    let mut rings = model(one_copy(), "x.dma", (160, 45));
    assert!(!Pane::all(rings.texts()).any(|p| p == Pane::Passes));
    let before = text(&draw(&rings));
    keys(&mut rings, "vV");
    assert_eq!(text(&draw(&rings)), before);
    assert_eq!(Pane::all(Texts::Module).filter(|p| *p == Pane::Passes).count(), 1);
}

#[test]
fn equal_lines_are_folded_and_opened() {
    let mut m = at((200, 60), ">>", "loop.bir");
    keys(&mut m, "<Tab>");
    assert_eq!(m.focus, Pane::Passes);
    let folds = |m: &Model| {
        let all = m.passes.rows.iter().enumerate();
        all.filter_map(|(n, r)| matches!(r, Shown::Fold(..)).then_some(n)).collect::<Vec<_>>()
    };
    let pairs = m.passes.view.as_ref().unwrap().aligned.pairs.len();
    let (first, n) = (folds(&m)[0], folds(&m).len());
    let Shown::Fold(_, hidden) = m.passes.rows[first] else { panic!() };
    assert!(hidden > 1);
    assert!(text(&draw(&m)).contains(&format!("{hidden} equal lines")));
    // Enter opens the one with the cursor, z all of them, and folds them again.
    keys(&mut m, "<Home>");
    for _ in 0..first {
        keys(&mut m, "j");
    }
    let rows = m.passes.rows.len();
    keys(&mut m, "<Enter>");
    assert_eq!((folds(&m).len(), m.passes.rows.len()), (n - 1, rows + hidden - 1));
    keys(&mut m, "z");
    assert!(folds(&m).is_empty());
    let changed = m.passes.view.as_ref().unwrap().aligned.count(Kind::Changed);
    // 66 columns have no room for both texts.
    assert_eq!(m.passes.rows.len(), pairs + changed);
    keys(&mut m, "z");
    assert_eq!(folds(&m).len(), n);
    // The slots of the rings are still folded.
    assert!(m.fold);
}

#[test]
fn the_cursor_of_the_passes_is_that_of_the_text() {
    let mut m = at((200, 60), "ssssss>>>>>", "gather.bir");
    for _ in 0..30 {
        let line = m.source.cursor;
        let view = m.passes.view.clone().unwrap();
        let shown = m.passes.rows[m.passes.row];
        let has = (0..view.aligned.pairs.len())
            .any(|n| shown.has(n) && view.aligned.pairs[n].right == Some(line));
        assert!(has, "{shown:?} {line}");
        keys(&mut m, "j");
    }
    m.focus = Pane::Passes;
    keys(&mut m, "<Home>jjjjjjjj");
    let pair = m.passes.view.as_ref().unwrap().aligned.pairs[m.passes.rows[m.passes.row].pair()];
    assert_eq!(pair.right.unwrap_or(m.source.cursor), m.source.cursor);
}

#[test]
fn selecting_in_the_passes_selects_the_slots() {
    let mut m = at((200, 60), "aG>>>>>", "copy.bir");
    m.focus = Pane::Passes;
    keys(&mut m, "<Home>");
    let view = m.passes.view.clone().unwrap();
    let descriptor = view
        .aligned
        .pairs
        .iter()
        .position(|p| {
            p.kind == Kind::Added
                && p.right.is_some_and(|r| {
                    m.listing().unwrap().part_at(r).is_some_and(|q| q.descriptor.is_some())
                })
        })
        .unwrap();
    let row = m.passes.rows.iter().position(|s| s.has(descriptor)).unwrap();
    for _ in 0..row {
        keys(&mut m, "j");
    }
    keys(&mut m, "<Enter>");
    assert!(m.source.selected.is_some());
    assert!(m.said.as_ref().unwrap().text.contains("x["), "{:?}", m.said);
    assert_eq!(m.slot_origin().map(|o| o.inst), m.source.selected);
}

#[test]
fn every_stage_is_proved_or_said_not_to_be() {
    let m = at((200, 60), ">", "gather.bir");
    let Some(Proof::Done(all)) = &m.passes.proof else { panic!("{:?}", m.passes.proof) };
    assert_eq!(all.len(), Stage::ALL.len());
    assert!(all.iter().all(|s| s.1.is_good()), "{all:?}");
    let shown = text(&draw(&m));
    assert_eq!(shown.matches(" same").count(), Stage::ALL.len(), "{shown}");
    // Without the pane nothing is run; the key runs it in any case.
    let mut m = at((120, 36), ">", "gather.bir");
    assert!(m.passes.proof.is_none());
    keys(&mut m, "V");
    assert!(matches!(&m.passes.proof, Some(Proof::Done(_))));
    assert_eq!(m.said.as_ref().unwrap().text, "every stage leaves the same memory");
    // An edit of the run is no fault of lowering.
    keys(&mut m, "G:set tx[0].length = 3<Enter>V");
    assert_eq!(m.said.as_ref().unwrap().text, "every stage leaves the same memory");
}

#[test]
fn what_the_rings_take_is_what_the_run_copies_in() {
    let m = at((200, 60), "", "copy.bir");
    let (n, bytes) = m.passes.on_rings.unwrap();
    assert!(n > 0 && bytes == n * 16);
    assert!(text(&draw(&m)).contains(&format!("{n:>5}{bytes:>6}")));
}

#[test]
fn back_and_forward_through_time_slots_and_stages() {
    let mut m = at((160, 45), "", "gather.bir");
    let start = m.spot();
    keys(&mut m, "(");
    assert_eq!(m.spot(), start);
    assert_eq!(m.said.as_ref().unwrap().text, "no place was left by a jump");
    keys(&mut m, "G");
    let end = m.spot();
    keys(&mut m, ">>>>>");
    let lowered = m.spot();
    assert_eq!(m.jumps.len(), (6, 0));
    keys(&mut m, ":goto 40<Enter>");
    let forty = m.spot();
    keys(&mut m, "(");
    assert_eq!(m.spot(), lowered);
    keys(&mut m, "^o((((");
    assert_eq!(m.spot(), end);
    keys(&mut m, "(");
    assert_eq!(m.spot(), start);
    keys(&mut m, "))))))))))))");
    assert_eq!(m.spot(), forty);
    // A step is no jump; a jump after going back forgets what was ahead.
    keys(&mut m, "(sS");
    assert_eq!(m.jumps.len().1, 1);
    keys(&mut m, ":goto 3<Enter>");
    assert_eq!(m.jumps.len().1, 0);
    // The list, and going to one of it.
    keys(&mut m, "J");
    let shown = text(&draw(&m));
    assert!(shown.contains("places") && shown.contains("Enter goes there"), "{shown}");
    insta::assert_snapshot!("places_160x45", styled(&draw(&m)));
    keys(&mut m, "<Home><Enter>");
    assert!(m.popup.is_none());
    assert_eq!(m.spot(), start);
    keys(&mut m, "J<End><Enter>");
    assert_eq!(m.session.position(), 3);
    // A refused command leaves nothing behind.
    let n = m.jumps.len();
    keys(&mut m, ":goto nomark<Enter><Esc>");
    assert_eq!(m.jumps.len(), n);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn back_after_a_jump_is_where_it_began_and_forward_where_it_led(
        before in "[sSedjk\\]>oa]{0,6}",
        jump in prop::sample::select(vec![
            "g", "G", ">", "<", "]", ":goto 33<Enter>", ":find length > 0<Enter>", "m", "M", "c",
            "<Tab><Enter>",
        ]),
        rings: bool,
    ) {
        let p = if rings { two_queues() } else { module("gather.bir") };
        let mut m = model(p, "x", (160, 45));
        keys(&mut m, "dds");
        keys(&mut m, &before);
        m.said = None;
        let (from, n) = (m.spot(), m.jumps.len().0);
        keys(&mut m, jump);
        if m.popup.is_some() || m.line.is_some() {
            keys(&mut m, "<Esc>");
        }
        let to = m.spot();
        if m.jumps.len().0 == n + 1 {
            keys(&mut m, "(");
            let back = m.spot();
            // The focus may have moved before the jump.
            prop_assert_eq!((back.event, back.queue, back.selection.slot, back.stage, back.inst),
                (from.event, from.queue, from.selection.slot, from.stage, from.inst));
            keys(&mut m, ")");
            prop_assert_eq!(m.spot(), to);
            keys(&mut m, "(");
            prop_assert_eq!(m.spot(), back);
        } else {
            prop_assert!(from.is_near(&to) || m.jumps.len().0 == n, "{from:?} {to:?}");
        }
    }
}
