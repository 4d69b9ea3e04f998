//! The assembly of a program on the screen, and what ties its lines to slots and events.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod ui_support;

use dmadbg::engine::session::Session;
use dmadbg::load::SourceText;
use dmadbg::load::asm::assemble;
use dmadbg::ui::layout::Texts;
use dmadbg::ui::{Model, Pane, Theme, Title};
use std::sync::Arc;
use ui_support::*;

const SIZES: [(u16, u16); 4] = [(80, 24), (120, 36), (160, 45), (200, 60)];

fn sample(name: &str, size: (u16, u16), typed: &str) -> Model {
    let text = std::fs::read_to_string(format!("sample-programs/{name}")).unwrap();
    let a = assemble(&text).unwrap();
    let source = Some(SourceText { text: text.into(), lines: a.lines });
    let title = Title { file: name.into(), source, ..Title::default() };
    let mut m = Model::new(Session::new(Arc::new(a.program)), title, Theme::default(), size);
    keys(&mut m, typed);
    m
}

#[test]
fn the_assembly_at_its_sizes() {
    for (moment, name, typed) in [("wrap", "wrap.dma", "ddee"), ("chain", "chain.dma", "dddb")] {
        for size in SIZES {
            let mut m = sample(name, size, typed);
            m.focus = Pane::Source;
            m.prepare();
            let name = format!("assembly_{moment}_{}x{}", size.0, size.1);
            insta::assert_snapshot!(name, styled(&draw(&m)));
        }
    }
    let mut m = plain(sample("chain.dma", (200, 60), "ddd"));
    insta::assert_snapshot!("assembly_no_colour_200x60", styled(&draw(&m)));
    m.theme.ascii = true;
    let shown = text(&draw(&m));
    assert!(shown.is_ascii(), "{shown}");
}

#[test]
fn it_takes_the_place_of_the_descriptor_while_it_has_the_focus() {
    let mut m = sample("wrap.dma", (160, 45), "");
    assert_eq!((m.focus, m.texts()), (Pane::Tx, Texts::Assembly));
    assert!(m.derived.areas.pane(Pane::Source).is_none());
    keys(&mut m, "<BackTab>");
    assert_eq!(m.focus, Pane::Source);
    assert!(m.derived.areas.pane(Pane::Inspector).is_none());
    assert!(text(&draw(&m)).contains("copy 1 of 8"));
    keys(&mut m, "<Tab>");
    assert!(m.derived.areas.pane(Pane::Inspector).is_some());
    // A text that is not of the program is not shown.
    let mut other = sample("wrap.dma", (160, 45), "");
    let source = other.title.source.clone();
    let title = Title { source, ..Title::default() };
    other = Model::new(Session::new(Arc::new(one_copy())), title, Theme::default(), (160, 45));
    assert_eq!(other.texts(), Texts::None);
}

fn line(m: &Model) -> String {
    m.assembly.text.as_ref().unwrap().lines[m.assembly.cursor].clone()
}

#[test]
fn the_cursor_follows_the_host_and_the_marks_tell_what_is_new() {
    let mut m = sample("wrap.dma", (200, 60), "");
    assert!(line(&m).starts_with("init e128.q0"), "{}", line(&m));
    for n in 1..=4 {
        keys(&mut m, "f");
        let said = format!("copy {n} of 8");
        let here = m.assembly.here.unwrap();
        let at = m.assembly.text.as_ref().unwrap().ops[here].start;
        assert_eq!(m.assembly.cursor, at);
        // The batch is over with its call.
        assert!(here == n || here == n + 1, "{here} {said}");
        assert!(m.assembly.changed.contains(&n) || m.assembly.here == Some(n));
    }
    keys(&mut m, "G");
    assert_eq!(m.assembly.here, None);
    assert!(text(&draw(&m)).contains("past its 9 operations"));
}

#[test]
fn a_slot_has_its_line_and_a_line_its_slot() {
    let mut m = sample("chain.dma", (200, 60), "G");
    m.focus = Pane::Source;
    keys(&mut m, "<Home>");
    let text_of = m.assembly.text.clone().unwrap();
    let first = text_of.lines.iter().position(|l| l.starts_with("copy_in e5.q0 ring=tx")).unwrap();
    for n in 0..3 {
        m.assembly.cursor = first + 1 + n;
        keys(&mut m, "<Enter>");
        assert_eq!(m.queue().unwrap().engine, 5);
        assert_eq!((m.selection.dir, m.selection.slot), (dmadbg::udma::Dir::Tx, n as u64));
        let (staged, done) = m.assembly.of_slot.unwrap();
        assert!(done);
        assert_eq!(text_of.op_at(first), Some(staged.op));
    }
    // Back: another slot is selected in the ring, the cursor goes to its line.
    m.focus = Pane::Tx;
    keys(&mut m, "<Up>");
    assert_eq!(m.assembly.cursor, first + 2);
    let shown = text(&pane(&m, Pane::Source, 70, 55));
    let marked: Vec<&str> = shown.lines().filter(|l| l.contains('◆')).collect();
    assert_eq!(marked.len(), 1, "{shown}");
    assert!(marked[0].contains("write_barrier"), "{}", marked[0]);
    // At the start nothing lies there yet: the mark says that it will.
    keys(&mut m, "ag");
    let shown = text(&pane(&m, Pane::Source, 70, 55));
    assert!(!shown.contains('◆') && shown.contains('◇'), "{shown}");
    // A comment belongs to nothing.
    m.focus = Pane::Source;
    keys(&mut m, "<Home>j<Enter>");
    assert!(m.said.as_ref().unwrap().text.starts_with("no operation"), "{:?}", m.said);
}

#[test]
fn an_event_has_its_line_and_a_breakpoint_stops_there() {
    let mut m = sample("wrap.dma", (200, 60), "G");
    m.focus = Pane::Source;
    let ops = m.assembly.text.as_ref().unwrap().ops.clone();
    m.assembly.cursor = ops[3].start;
    keys(&mut m, "gb");
    // The cursor followed the host to the start.
    m.assembly.cursor = ops[3].start;
    keys(&mut m, "b");
    assert_eq!(m.session.stops().len(), 2);
    let shown = text(&draw(&m));
    let marked: Vec<&str> = shown.lines().filter(|l| l.starts_with(" B")).collect();
    assert_eq!(marked.len(), 2, "{shown}");
    assert!(marked[1].contains(&format!("{} copy", ops[3].start + 1)), "{}", marked[1]);
    keys(&mut m, "cc");
    assert_eq!(m.assembly.here, Some(3));
    assert_eq!(m.session.position(), m.assembly.uses.events[&3].0);
    m.assembly.cursor = ops[3].start;
    keys(&mut m, "b");
    assert_eq!(m.session.stops().len(), 1);
    // An event of a later operation is selected: its line is marked.
    m.focus = Pane::Events;
    keys(&mut m, "<PgDn><PgDn><PgDn><PgDn>");
    assert_eq!(m.assembly.of_event, m.assembly.uses.of_event(m.event_cursor));
    assert!(m.assembly.of_event.is_some());
    assert_eq!(m.assembly.cursor, ops[m.assembly.of_event.unwrap()].start);
}
