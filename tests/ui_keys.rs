//! Keys do what the commands that they stand for do; nothing breaks the screen.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod ui_support;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use dmadbg::engine::program::{Blob, HostOp, RingType};
use dmadbg::engine::session::Session;
use dmadbg::udma::{Desc, Dir, Generation};
use dmadbg::ui::keymap::{Does, KEYMAP, Keymap, When, markdown};
use dmadbg::ui::update::{Message, update_all};
use dmadbg::ui::{Pane, seams};
use std::sync::Arc;
use ui_support::*;

/// Commands that bring a session into the middle of things.
const MOMENTS: &[&str] = &["goto 0", "goto 30", "goto 61", "goto 150", "goto end"];

#[test]
fn each_key_does_what_the_command_that_it_stands_for_does() {
    let mut compared = 0;
    for b in KEYMAP.iter().filter(|b| b.when == When::Panes) {
        let Does::Command(text) = b.does else { continue };
        let command = seams::parse(text).unwrap();
        for key in b.keys {
            for moment in MOMENTS {
                let mut m = model(wrap64(), "wrap64.bin", (160, 45));
                let mut s = Session::new(Arc::new(wrap64()));
                let at = seams::parse(moment).unwrap();
                m.run(&at, &mut |_, _| std::ops::ControlFlow::Continue(())).unwrap();
                s.execute(&at).unwrap();
                let modifiers = if key.ctrl { KeyModifiers::CONTROL } else { KeyModifiers::NONE };
                let goes_on = update_all(&mut m, Message::Key(KeyEvent::new(key.code, modifiers)));
                // Nothing was changed yet that could be undone.
                let refused = matches!(text, "undo" | "redo");
                let outcome = s.execute(&command);
                assert_eq!(outcome.is_err(), refused, "{text}");
                assert_eq!(goes_on, !outcome.is_ok_and(|o| o.quit), "{text}");
                assert_eq!(m.session.position(), s.position(), "{text} at {moment}");
                assert_eq!(m.session.machine().digest(), s.machine().digest(), "{text}");
                assert_eq!(m.session.before().digest(), s.before().digest(), "{text}");
                compared += 1;
            }
        }
    }
    assert!(compared > 70, "{compared}");
}

#[test]
fn space_flips_the_bit_u_takes_it_back_and_the_lints_follow_at_once() {
    let mut m = model(one_copy(), "x", (160, 45));
    keys(&mut m, "f");
    let clean: Vec<_> = m.findings().cloned().collect();
    m.select_slot(Some(Dir::Tx), 0);
    m.focus = Pane::Inspector;
    (m.selection.word, m.selection.bit) = (0, 27);
    let (at, before) = (m.session.position(), m.session.machine().digest());
    keys(&mut m, " ");
    let desc = m.desc().unwrap().0;
    assert!(!desc.last(), "LAST is bit 27");
    assert_eq!(m.session.position(), at);
    let new: Vec<_> = m.findings().filter(|d| !clean.contains(d)).map(|d| d.code).collect();
    assert!(new.iter().any(|c| c.starts_with("D0")), "{new:?}");
    assert!(
        m.said.as_ref().unwrap().text.contains("len_ctrl: 0x0d001000 -> 0x05001000 (last: 1 -> 0)")
    );
    keys(&mut m, "u");
    assert_eq!(m.session.machine().digest(), before);
    assert!(m.findings().eq(&clean));
    keys(&mut m, "U");
    assert!(!m.desc().unwrap().0.last());
    keys(&mut m, "uu");
    let said = m.said.clone().unwrap();
    assert!(said.text.starts_with("error[S021]"), "{}", said.text);
}

#[test]
fn another_run_is_shown_as_soon_as_it_is_another() {
    let mut m = model(one_copy(), "x", (160, 45));
    let (end, events) = (m.session.end().unwrap(), m.derived.events.clone());
    keys(&mut m, ":inject PREFETCH_AXI_RESP<Enter>");
    // The end is known anew, and the window of events is that of the new run.
    assert_ne!(m.session.end(), Some(end));
    keys(&mut m, "G");
    assert!(m.session.machine().faults() == 1 && m.derived.events != events);
    keys(&mut m, "u");
    assert_eq!(m.session.end(), Some(end));
    assert_eq!(m.session.machine().faults(), 0);
}

#[test]
fn saving_is_asked_of_whoever_shows_the_screen() {
    let mut m = model(one_copy(), "x", (120, 36));
    keys(&mut m, ":set tx[0].dmb = 1<Enter>:save no-such-folder/a.dma<Enter>");
    let effect = m.asked.pop().unwrap();
    let d = dmadbg::load::save::carry_out(&mut m.session, "x", &effect).unwrap_err();
    assert_eq!(d.code, "D007");
    assert!(m.line.is_none());
}

#[test]
fn a_typed_command_does_the_same_as_the_key() {
    let mut by_key = model(wrap64(), "x", (120, 36));
    let mut typed = by_key.clone();
    keys(&mut by_key, "dsssS");
    keys(&mut typed, ":doorbell<Enter>:step 3<Enter>:reverse-step<Enter>");
    assert_eq!(by_key.session.machine().digest(), typed.session.machine().digest());
    assert_eq!(typed.history, ["doorbell", "step 3", "reverse-step"]);
    assert!(typed.line.is_none());
}

#[test]
fn b_sets_a_breakpoint_and_takes_it_away_and_c_stops_there() {
    let mut m = model(one_copy(), "x", (120, 36));
    keys(&mut m, "<Down>b");
    assert_eq!(m.session.stops().len(), 1);
    keys(&mut m, "c");
    assert!(m.said.as_ref().is_some_and(|s| s.text.contains("breakpoint 1")), "{:?}", m.said);
    keys(&mut m, "b");
    assert_eq!(m.session.stops().len(), 0);
}

#[test]
fn w_watches_the_bytes_of_the_selected_slot_and_takes_it_away() {
    let mut m = model(one_copy(), "x", (120, 36));
    keys(&mut m, "w");
    assert_eq!(m.session.stops()[0].title(), "watchpoint 1");
    let screen = styled(&draw(&m));
    assert!(screen.lines().any(|l| l.contains("0 W ")), "{screen}");
    keys(&mut m, "c");
    let said = m.said.as_ref().unwrap().text.clone();
    assert!(said.starts_with("watchpoint 1, tx[0]: at +0x0 old = 0x00000000, new = 0x0"), "{said}");
    // A breakpoint beside it is marked before it, and each key takes away its own.
    keys(&mut m, "b");
    assert!(styled(&draw(&m)).lines().any(|l| l.contains("0*B ")));
    keys(&mut m, "w");
    assert_eq!(m.session.stops().iter().map(|s| s.title()).collect::<Vec<_>>(), ["breakpoint 2"]);
    keys(&mut m, "b");
    assert!(m.session.stops().is_empty());
}

#[test]
fn w_in_the_memory_pane_watches_what_the_descriptor_names() {
    let mut m = model(one_copy(), "x", (120, 36));
    keys(&mut m, "s");
    m.focus = Pane::Memory;
    keys(&mut m, "w");
    assert!(m.said.as_ref().unwrap().text.contains("(4096 bytes at"), "{:?}", m.said);
    keys(&mut m, "w");
    assert!(m.session.stops().is_empty());
}

#[test]
fn values_and_the_commands_of_a_stop_are_shown_at_it() {
    let mut m = model(one_copy(), "x", (120, 36));
    keys(&mut m, ":display q0.free<Enter>:break marker<Enter>c");
    let said = |m: &dmadbg::ui::Model| {
        m.said.as_ref().map(|s| s.text.clone()).unwrap_or(format!("{:?} {:?}", m.line, m.popup))
    };
    assert_eq!(said(&m), "breakpoint 1, marker");
    let last = |m: &dmadbg::ui::Model| text(&draw(m)).lines().last().unwrap().to_owned();
    assert!(last(&m).starts_with(" 1: q0.free = 46 (0x2e)"), "{}", last(&m));
    keys(&mut m, "g:commands 1 silent; print marker<Enter>c");
    assert_eq!(said(&m), "marker = 2882400001 (0xabcdef01)");
    keys(&mut m, "g:commands 1 silent; continue<Enter>c");
    assert_eq!(Some(m.session.position()), m.session.end());
    keys(&mut m, "g:commands 1 print marker; print event<Enter>c");
    assert!(styled(&draw(&m)).contains("event = "), "over the screen");
    keys(&mut m, "<Esc>g:commands 1 print tx[64].dmb<Enter>c");
    let screen = text(&draw(&m));
    assert!(screen.contains("error[S005]: `print tx[64].dmb`: `tx[64]` is not in"), "{screen}");
    assert!(screen.contains("breakpoint 1, marker"), "what came before it is not lost: {screen}");
    assert_eq!(m.session.stops()[0].hits, 5);
}

#[test]
fn history_is_walked_and_the_line_being_typed_is_kept() {
    let mut m = model(one_copy(), "x", (80, 24));
    keys(&mut m, ":step<Enter>:where<Enter><Esc>:ne<Up><Up><Down>");
    assert_eq!(m.line.as_ref().unwrap().input.value(), "where");
    keys(&mut m, "<Down>");
    assert_eq!(m.line.as_ref().unwrap().input.value(), "ne");
}

#[test]
fn a_refused_line_stays_open_with_carets_under_the_word() {
    let mut m = model(one_copy(), "x", (80, 24));
    keys(&mut m, ":break tz[3]<Enter>");
    let line = m.line.as_ref().unwrap();
    let place = &line.error.as_ref().unwrap().place;
    assert_eq!((place.column, place.width), (Some(7), Some(2)));
    let shown = text(&draw(&m));
    assert!(shown.contains("\n: break tz[3]\n        ^^\n"), "{shown}");
    keys(&mut m, "<Bs>");
    assert!(m.line.as_ref().unwrap().error.is_none());
}

#[test]
fn enter_on_an_event_goes_there() {
    let mut m = model(wrap64(), "x", (160, 45));
    keys(&mut m, "nn");
    m.focus = Pane::Events;
    let here = m.session.position();
    keys(&mut m, "<Down><Down><Down><Enter>");
    assert_eq!(m.session.position(), here + 3);
}

#[test]
fn brackets_walk_the_queues() {
    let mut m = model(two_queues(), "x", (120, 36));
    keys(&mut m, "]");
    assert_eq!(m.queue().unwrap().queue, 1);
    assert_eq!(m.slots(), 128);
    // The answer stands on the status line, so that the next key goes on.
    assert!(m.popup.is_none());
    assert!(m.said.as_ref().is_some_and(|s| s.text.contains("queue e128.q1")), "{:?}", m.said);
    keys(&mut m, "[");
    assert_eq!(m.queue().unwrap().queue, 0);
}

#[test]
fn a_ring_of_rx_alone_is_selected_and_nothing_is_said_of_a_run() {
    let mut p = one_direction();
    p.queues[0].rx = p.queues[0].tx.take();
    let m = model(p, "ring.rx.bin", (120, 36));
    assert_eq!((m.selection.dir, m.focus), (Dir::Rx, Pane::Rx));
    let shown = text(&draw(&m));
    for part in ["no marker: nothing is run", "opened to be read", "rx[0] not run"] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
}

#[test]
fn empty_slots_of_an_image_are_one_line() {
    let mut p = base(Generation::V3, 64);
    p.queues[0].allocatable = false;
    let one = Desc { len_ctrl: 0x0d00_0040, word1: 0x0108_0003, ptr: 0x4000_0100_0000 };
    for dir in Dir::BOTH {
        let mut bytes = one.to_bytes().to_vec();
        bytes.resize(64 * 16, 0);
        let (ring, descs) = (RingType::Dir(dir), Blob::from_vec(bytes));
        p.script.push(HostOp::CopyIn { queue: Q, ring, at: 0, descs }.into());
    }
    let mut m = model(p, "image.bin", (120, 36));
    keys(&mut m, "Ga<Home>");
    let shown = text(&draw(&m));
    assert_eq!(shown.matches("63 never written").count(), 2, "{shown}");
}

#[test]
fn a_marker_that_came_is_not_waited_for_any_more() {
    let mut m = model(one_copy(), "x", (120, 36));
    assert!(text(&draw(&m)).contains("want  0xabcd_ef01"));
    keys(&mut m, "G");
    assert!(text(&draw(&m)).contains("want  nothing: batch 1 is over"));
    // One that did not come is.
    let mut m = model(faulting(), "x", (120, 36));
    keys(&mut m, "G");
    assert!(text(&draw(&m)).contains("want  0xabcd_ef01"));
}

#[test]
fn what_changes_the_marker_is_about_the_word_that_is_shown() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/sample-programs/double-buffer.dma");
    let loaded = dmadbg::load::open(&[path.into()], &Default::default()).unwrap();
    let p = Arc::unwrap_or_clone(loaded.program.unwrap());
    // Its words alternate: the second batch polls another than the third.
    let mut m = model(p, "x", (120, 36));
    keys(&mut m, "ddd");
    let shown = text(&draw(&m));
    assert!(shown.contains("at    marker+0xc") && shown.contains(" flips it"), "{shown}");
}

#[test]
fn a_small_screen_says_that_something_is_wrong() {
    let mut m = model(faulting(), "x", (80, 24));
    assert!(!text(&draw(&m)).contains("E3"));
    keys(&mut m, "G");
    assert!(text(&draw(&m)).contains("E3"), "{}", text(&draw(&m)));
}

#[test]
fn a_pair_in_two_files_is_named_by_both() {
    let file = "a/long/way/to/some/images/run.tx.bin + a/long/way/to/some/images/run.rx.bin";
    let shown = text(&draw(&model(one_copy(), file, (120, 36))));
    assert!(shown.contains("  run.tx.bin + rx.bin  "), "{shown}");
}

#[test]
fn a_key_that_an_answer_has_no_use_for_does_what_it_does_without_one() {
    let mut m = model(one_copy(), "one_copy.bin", (160, 45));
    keys(&mut m, "d:info queue<Enter>");
    let (rung, shown) = (m.session.position(), m.popup.clone());
    assert!(shown.is_some());
    // One of its own, and one that means nothing anywhere.
    keys(&mut m, "j");
    assert!(m.popup.is_some());
    keys(&mut m, "^j");
    assert!(m.popup.is_some());
    keys(&mut m, "s");
    assert!(m.popup.is_none());
    assert!(m.session.position() > rung);
    keys(&mut m, "?");
    assert!(m.popup.is_some());
    keys(&mut m, ":where");
    assert!(m.popup.is_none());
    assert_eq!(m.line.as_ref().unwrap().input.value(), "where");
}

#[test]
fn leaving_asks_twice_where_edits_would_be_lost() {
    let mut m = model(one_copy(), "one_copy.bin", (160, 45));
    assert!(!keys(&mut m.clone(), "q"));
    keys(&mut m, "d:set tx[0].last = 0<Enter>");
    for leave in ["q", "^c"] {
        let mut m = m.clone();
        assert!(keys(&mut m, leave));
        assert!(m.said.as_ref().unwrap().text.contains(":save"), "{:?}", m.said);
        assert!(!keys(&mut m.clone(), leave));
        // Something else came between.
        assert!(keys(&mut m, "s"));
        assert!(keys(&mut m, leave));
        assert!(!keys(&mut m, leave));
    }
    // What is typed is meant; what is taken back, saved or recorded is not lost.
    assert!(!keys(&mut m.clone(), ":quit<Enter>"));
    let mut undone = m.clone();
    assert!(!keys(&mut undone, "uq"));
    let mut saved = m.clone();
    saved.saved = saved.session.program().edits.clone();
    assert!(!keys(&mut saved, "q"));
    m.journal = Some(dmadbg::ui::Journal::new(&m.session));
    assert!(!keys(&mut m, "q"));
}

#[test]
fn vi_s_keys_in_the_descriptor_stay_in_the_word() {
    let mut m = model(one_copy(), "one_copy.bin", (160, 45));
    m.keys = Arc::new(Keymap { vi: true, own: Vec::new() });
    keys(&mut m, "d<Tab>");
    assert_eq!(m.focus, Pane::Inspector);
    keys(&mut m, "$");
    let (word, bit) = m.bit();
    assert_eq!((word.name(), bit), ("len_ctrl", 0));
    keys(&mut m, "$0");
    assert_eq!((m.bit().0.name(), m.bit().1), ("len_ctrl", 31));
    keys(&mut m, "0j$");
    assert_eq!((m.bit().0.name(), m.bit().1), ("meta_ctrl", 0));
}

#[test]
fn a_table_in_a_popup_keeps_its_columns() {
    let mut m = model(one_copy(), "x", (80, 24));
    keys(&mut m, ":info memory<Enter>");
    let shown = text(&draw(&m));
    let at: Vec<usize> = shown
        .lines()
        .filter(|l| l.contains(" .. 0x"))
        .map(|l| l.find(" host ").or(l.find(" device ")).unwrap())
        .collect();
    assert!(at.len() > 3 && at.iter().all(|a| *a == at[0]), "{shown}");
}

fn click(m: &mut dmadbg::ui::Model, x: u16, y: u16) {
    let e = MouseEvent {
        kind: MouseEventKind::Down(MouseButton::Left),
        column: x,
        row: y,
        modifiers: KeyModifiers::NONE,
    };
    update_all(m, Message::Mouse(e));
}

/// Where a text is on the screen.
fn find(m: &dmadbg::ui::Model, what: &str) -> (u16, u16) {
    let shown = text(&draw(m));
    for (y, line) in shown.lines().enumerate() {
        if let Some(at) = line.find(what) {
            return (line[..at].chars().count() as u16, y as u16);
        }
    }
    panic!("{what} is not on the screen:\n{shown}");
}

#[test]
fn a_click_selects_what_is_under_it() {
    let mut m = model(one_copy(), "x", (160, 45));
    keys(&mut m, "n");
    // A bit: FIRST of len_ctrl.
    let (x, y) = find(&m, "INT LAST FIRST PHASE");
    click(&mut m, x + 9, y);
    assert_eq!(m.focus, Pane::Inspector);
    assert_eq!(m.bit(), (dmadbg::udma::Word::LenCtrl, 26));
    // A slot of the Rx ring.
    let area = m.derived.areas.pane(Pane::Rx).unwrap();
    click(&mut m, area.x + 8, area.y + 3);
    assert_eq!((m.selection.dir, m.selection.slot), (dmadbg::udma::Dir::Rx, 1));
    // An event, twice: there.
    let area = m.derived.areas.pane(Pane::Events).unwrap();
    click(&mut m, area.x + 8, area.y + 2);
    let at = m.event_cursor;
    click(&mut m, area.x + 8, area.y + 2);
    assert_eq!(m.session.position(), at);
}

#[test]
fn a_long_run_is_told_of_and_can_be_cancelled() {
    let mut p = base(dmadbg::udma::Generation::V3, 4096);
    let src = p.arch.host_base() + 0x100_0000;
    // An engine that takes its time is not leapt over.
    p.speed.ns_per_desc = 1;
    for _ in 0..40 {
        let op = dmadbg::engine::program::HostOp::Copy {
            queue: Q,
            src,
            dst: 0x10_0000_0000,
            size: 16 << 20,
        };
        p.script.push(op.into());
    }
    let mut m = model(p, "long", (80, 24));
    let mut told = 0;
    let command = seams::parse("goto end").unwrap();
    m.run(&command, &mut |seen, progress| {
        told += 1;
        assert_eq!(seen.session.position(), 0, "the picture is the one from before");
        assert!(progress.event > 0);
        let mut picture = seen.clone();
        picture.running = Some(progress);
        assert!(text(&draw(&picture)).contains("cancels"));
        std::ops::ControlFlow::Break(())
    })
    .unwrap();
    assert_eq!(told, 1);
    assert!(m.session.position() > 0 && m.session.end().is_none());
    assert_eq!(m.said.as_ref().map(|s| s.text.as_str()), Some("cancelled"));
}

#[test]
fn a_ring_of_a_million_slots_is_browsed_to_its_end() {
    let mut m = model(base(dmadbg::udma::Generation::V3, 1 << 20), "large", (200, 60));
    keys(&mut m, "G<PgDn><PgDn><End><PgUp><Home>z<End><Up>");
    draw(&m);
    assert_eq!(m.selection.slot, (1 << 20) - 2);
}

#[test]
fn tab_completes_as_far_as_it_is_clear_and_lists_the_rest() {
    let mut m = model(one_copy(), "x", (80, 24));
    keys(&mut m, ":doo<Tab>");
    assert_eq!(m.line.as_ref().unwrap().input.value(), "doorbell ");
    keys(&mut m, "<Esc>:reverse-s<Tab>");
    assert_eq!(m.line.as_ref().unwrap().input.value(), "reverse-step ");
    keys(&mut m, "<Esc>:e<Tab>");
    let line = m.line.as_ref().unwrap();
    assert!(line.candidates.iter().any(|c| c == "explain"), "{:?}", line.candidates);
    assert!(text(&draw(&m)).contains("explain"));
}

#[test]
fn a_program_without_queues_is_shown() {
    for size in [(1, 1), (80, 24), (160, 45)] {
        let p = dmadbg::engine::program::Program::new(
            dmadbg::udma::Generation::V2,
            dmadbg::udma::Profile::default_profile(),
        );
        let mut m = model(p, "empty", size);
        keys(&mut m, "sb<Tab><Tab>c<Down>]?");
        draw(&m);
    }
}

#[test]
fn the_table_of_keys_in_the_documentation_is_the_keymap() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/screen.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (begin, end) = ("<!-- keys: begin -->\n", "<!-- keys: end -->");
    let from = text.find(begin).unwrap() + begin.len();
    let to = text.find(end).unwrap();
    if std::env::var_os("DMADBG_BLESS").is_some() {
        let new = format!("{}\n{}\n{}", &text[..from], markdown(), &text[to..]);
        std::fs::write(path, new).unwrap();
        return;
    }
    assert_eq!(text[from..to].trim(), markdown().trim(), "DMADBG_BLESS=1 rewrites it");
}

#[test]
fn the_screen_goes_to_the_queue_that_something_happened_to() {
    let text = include_str!("../sample-programs/three-queues.dma");
    let p = dmadbg::load::asm::assemble(text).unwrap().program;
    let mut m = model(p, "three-queues.dma", (120, 36));
    let shown = |m: &dmadbg::ui::Model| m.session.selected().unwrap().to_string();
    assert_eq!(shown(&m), "e128.q0");
    for queue in ["e128.q0", "e128.q1", "e5.q3"] {
        keys(&mut m, "d");
        assert_eq!(shown(&m), queue);
    }
    keys(&mut m, "D");
    assert_eq!(shown(&m), "e128.q1");
}

#[test]
fn a_search_goes_from_match_to_match_round_the_ring() {
    let mut m = model(wrap64(), "x", (120, 36));
    keys(&mut m, "G/length == 4<Enter>");
    let first = (m.selection.dir, m.selection.slot);
    let all = dmadbg::engine::session::Session::slots_found(
        &m.session,
        None,
        &match seams::parse("find length == 4").unwrap() {
            dmadbg::engine::command::Command::Find { expr, .. } => expr,
            other => panic!("{other:?}"),
        },
        &mut |_| std::ops::ControlFlow::Continue(()),
    )
    .unwrap();
    let n = all.slots.len();
    assert!(n > 4 && all.slots.contains(&first), "{first:?} {all:?}");
    // Going on as often as there are matches comes round to the first, having been at each.
    let mut seen = Vec::new();
    for _ in 0..n {
        keys(&mut m, "m");
        seen.push((m.selection.dir, m.selection.slot));
    }
    assert_eq!(seen.last(), Some(&first));
    seen.sort_unstable();
    let mut want = all.slots.clone();
    want.sort_unstable();
    assert_eq!(seen, want);
    keys(&mut m, "mM");
    assert_eq!((m.selection.dir, m.selection.slot), first);
    assert!(m.said.as_ref().unwrap().text.contains(&format!("of {n}")));
}

#[test]
fn only_what_was_found_is_shown_on_demand() {
    let mut m = model(wrap64(), "x", (120, 36));
    keys(&mut m, "G/length == 4<Enter>x");
    let shown = text(&draw(&m));
    assert!(shown.contains("not found"), "{shown}");
    assert!(!shown.contains("64 KiB"), "{shown}");
    keys(&mut m, "x");
    assert!(text(&draw(&m)).contains("64 KiB"));
    // Without a search the keys say so.
    let mut m = model(one_copy(), "x", (120, 36));
    for key in ["m", "M", "x"] {
        keys(&mut m, key);
        assert!(m.said.as_ref().unwrap().text.contains("nothing is searched for"), "{key}");
    }
    keys(&mut m, "/lenth > 4<Enter>");
    assert!(text(&draw(&m)).contains("S005"));
}

#[test]
fn the_palette_does_what_the_key_or_command_does() {
    let mut by_key = model(wrap64(), "x", (120, 36));
    let mut chosen = by_key.clone();
    keys(&mut by_key, "dsz");
    keys(&mut chosen, "^pdoorbell<Enter>^pby N units<Enter>^pfold equal<Enter>");
    assert_eq!(by_key.session.machine().digest(), chosen.session.machine().digest());
    assert_eq!(by_key.fold, chosen.fold);
    assert!(chosen.palette.is_none());
    keys(&mut chosen, "^pdoorbell<Tab>");
    assert_eq!(chosen.line.as_ref().map(|l| l.input.value()), Some("doorbell "));
    keys(&mut chosen, "<Esc>^puntil<Enter>event == 99<Enter>");
    assert_eq!(chosen.session.position(), 99);
    keys(&mut chosen, "^pzzz<Enter>^p<Bs>");
    assert!(chosen.palette.is_none());
}

#[test]
fn a_user_s_own_keys_and_the_keymap_vi_hold() {
    let config =
        dmadbg::ui::Config::parse("keymap = \"vi\"\nfold = false\n[keys]\nX = \"goto 41\"\n");
    let mut m = model(wrap64(), "x", (120, 36));
    m.configure(&config.unwrap());
    assert!(!m.fold);
    keys(&mut m, "X");
    assert_eq!(m.session.position(), 41);
    let before = m.selection.slot;
    keys(&mut m, "^d");
    assert!(m.selection.slot > before + 2, "half a page down");
    keys(&mut m, ":X");
    assert_eq!(m.line.as_ref().map(|l| l.input.value()), Some("X"), "a letter in the line");
}

fn press(m: &mut dmadbg::ui::Model, kind: MouseEventKind, (column, row): (u16, u16)) {
    update_all(m, Message::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }));
}

#[test]
fn a_border_follows_the_mouse_as_far_as_it_goes() {
    use dmadbg::ui::arrange::Edge;
    let button = MouseButton::Left;
    for (w, h) in [(120, 36), (160, 45), (200, 60)] {
        for edge in
            [Edge::Side, Edge::Inspector, Edge::Rings, Edge::Marker, Edge::Memory, Edge::Checks]
        {
            let mut m = model(wrap64(), "x", (w, h));
            let of = |m: &dmadbg::ui::Model| {
                *m.derived.areas.borders.iter().find(|b| b.edge == edge).unwrap()
            };
            let b = of(&m);
            let from = (b.area.x, b.area.y);
            press(&mut m, MouseEventKind::Down(button), from);
            let to = if b.level { (from.0, from.1 - 2) } else { (from.0 - 3, from.1) };
            press(&mut m, MouseEventKind::Drag(button), to);
            let moved = of(&m);
            assert_eq!((moved.area.x, moved.area.y), to, "{edge:?} at {w}x{h}");
            // Off the screen and back: nothing was gathered beyond the bound.
            press(&mut m, MouseEventKind::Drag(button), (0, 0));
            press(&mut m, MouseEventKind::Drag(button), from);
            press(&mut m, MouseEventKind::Up(button), from);
            assert_eq!(of(&m).area, b.area, "{edge:?}");
            press(&mut m, MouseEventKind::Drag(button), to);
            assert_eq!(of(&m).area, b.area, "the button is up");
        }
    }
}

#[test]
fn keys_arrange_the_panes() {
    let mut m = model(wrap64(), "x", (160, 45));
    let width = |m: &dmadbg::ui::Model| m.derived.areas.pane(Pane::Tx).unwrap().width;
    let before = width(&m);
    let wider = KeyEvent::new(KeyCode::Right, KeyModifiers::CONTROL);
    update_all(&mut m, Message::Key(wider));
    assert_eq!(width(&m), before + 2);
    for _ in 0..200 {
        update_all(&mut m, Message::Key(wider));
    }
    let widest = width(&m);
    update_all(&mut m, Message::Key(KeyEvent::new(KeyCode::Left, KeyModifiers::CONTROL)));
    assert_eq!(width(&m), widest - 2, "what goes no farther does not count");
    keys(&mut m, "1");
    assert_eq!(width(&m), before);
    keys(&mut m, "Z");
    assert_eq!(m.derived.areas.panes.len(), 1);
    keys(&mut m, "Z");
    assert!(m.derived.areas.panes.len() > 1);
}

/// What a key hands to the clipboard.
fn copied(m: &mut dmadbg::ui::Model, key: (KeyCode, KeyModifiers)) -> Option<String> {
    use dmadbg::ui::Effect;
    let effects = dmadbg::ui::update::update(m, Message::Key(KeyEvent::new(key.0, key.1)));
    effects.into_iter().find_map(|e| match e {
        Effect::Copy(text) => Some(text),
        _ => None,
    })
}

#[test]
fn what_is_selected_is_copied_in_four_forms() {
    const TEXT: (KeyCode, KeyModifiers) = (KeyCode::Char('y'), KeyModifiers::NONE);
    const HEX: (KeyCode, KeyModifiers) = (KeyCode::Char('Y'), KeyModifiers::NONE);
    const JSON: (KeyCode, KeyModifiers) = (KeyCode::Char('y'), KeyModifiers::CONTROL);
    const SCRIPT: (KeyCode, KeyModifiers) = (KeyCode::Char('s'), KeyModifiers::CONTROL);
    let mut m = model(wrap64(), "x", (160, 45));
    keys(&mut m, "db");
    for pane in Pane::ALL {
        m.focus = pane;
        m.prepare();
        let script = copied(&mut m, SCRIPT);
        // A line of a script is one: it is read, and what it asserts holds.
        if let Some(line) = &script {
            let command = seams::parse(line).unwrap_or_else(|d| panic!("{line}: {}", d.message));
            let mut s = m.session.clone();
            assert!(s.execute(&command).is_ok(), "{pane:?}: {line}");
        }
        if let Some(json) = copied(&mut m, JSON) {
            serde_json::from_str::<serde_json::Value>(&json).unwrap();
        }
        let text = copied(&mut m, TEXT);
        assert!(pane == Pane::Checks || (text.is_some() && script.is_some()), "{pane:?}");
        if let Some(hex) = copied(&mut m, HEX) {
            assert!(hex.bytes().all(|b| b.is_ascii_hexdigit()), "{pane:?}: {hex}");
        }
    }
    m.focus = Pane::Tx;
    let hex = copied(&mut m, HEX).unwrap();
    let (desc, _) = m.desc().unwrap();
    let bytes: String = desc.to_bytes().iter().map(|b| format!("{b:02x}")).collect();
    assert_eq!(hex, bytes);
    // An answer that lies over the screen: what it says, and the command that it answers.
    keys(&mut m, ":info queue<Enter>");
    let dmadbg::ui::model::Popup::Output(lines) = m.popup.clone().unwrap().0 else { panic!() };
    assert_eq!(copied(&mut m, TEXT).unwrap(), lines.join("\n"));
    let json: Vec<String> = serde_json::from_str(&copied(&mut m, JSON).unwrap()).unwrap();
    assert_eq!((&json, copied(&mut m, SCRIPT).as_deref()), (&lines, Some("info queue")));
    assert!(m.popup.is_some(), "it stays open");
    keys(&mut m, "<Esc>");
    // Where there is nothing it is said.
    m.focus = Pane::Checks;
    assert_eq!(copied(&mut m, HEX), None);
    assert!(m.said.as_ref().unwrap().text.contains("not copied"));
}

/// The verbs that trace work from the line of the screen, and leave the session where it is.
#[test]
fn causes_are_told_on_the_screen() {
    use dmadbg::ui::model::Popup;
    let mut m = model(one_copy(), "x", (120, 36));
    keys(&mut m, "d");
    let at = m.session.position();
    for line in ["why", "origin marker", "explain tx[0]", "explain marker", "provenance tx[0]"] {
        m.popup = None;
        keys(&mut m, &format!(":{line}<Enter>"));
        let told = match &m.popup {
            Some((Popup::Output(lines), _)) => lines.join("\n"),
            _ => m.said.as_ref().map(|s| s.text.clone()).unwrap_or_default(),
        };
        assert!(m.line.is_none() && told.len() > 20, "{line}: {told}");
        assert_eq!(m.session.position(), at);
        keys(&mut m, "<Esc>");
    }
}
