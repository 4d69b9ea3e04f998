//! What the screen makes of files that changed: the place is kept by what is there, what is new
//! is marked, what is broken is told. Real files are in `reload.rs`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod ui_support;

use dmadbg::diag::{Diagnostic, Place, Report};
use dmadbg::engine::diff::Change;
use dmadbg::engine::program::Program;
use dmadbg::load::asm;
use dmadbg::udma::Dir;
use dmadbg::ui::build::Ended;
use dmadbg::ui::update::{Message, update_all};
use dmadbg::ui::{Fresh, Model, Notice};
use proptest::prelude::*;
use std::fmt::Write as _;
use ui_support::*;

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 36), (200, 60)];

/// Copies of 64 bytes in one block; each has its number as its name and its place.
fn bir(numbers: &[u64]) -> Program {
    let mut text = "bir 2 gen3\n\nfunc main {\n  set x_set : uint8 ExternalInput {\n    location x DRAM [8192] addr=0\n  }\n  \
        set y_set : uint8 ExternalOutput {\n    location y DRAM [8192] addr=0\n  }\n  block Block1:\n"
        .to_owned();
    for i in numbers {
        let at = i * 64;
        writeln!(
            text,
            "    %I-{i} = DMACopy SP queue=qSP dge_type=None ins(x[[1, 64]] +{at} : uint8) outs(y[[1, 64]] +{at} : uint8)"
        )
        .unwrap();
    }
    text += "}\n\nqueue qSP blocks=[]\n";
    module_of("m.bir", &text)
}

/// Copies; each is of its number times 16 bytes.
fn dma(numbers: &[u64]) -> Program {
    let mut text = "dma 1\narch v3\nprofile dkms-2.26\n\
        queue e128.q0 tx=0x400040041000 tx_size=64 rx=0x400040021000 rx_size=64 marker=marker allocatable=yes\n\
        region hbm kind=device base=0x10000000 len=0x40000 fill=zero\n\
        region marker kind=host base=0x400040061000 len=24 fill=zero\n\
        region buffer kind=host base=0x4000400a3000 len=0x40000 fill=pattern:13\n\
        init e128.q0\n"
        .to_owned();
    for n in numbers {
        let (at, size) = (n * 0x1000, n * 16);
        writeln!(
            text,
            "copy e128.q0 src=buffer+{at:#x} dst=hbm+{at:#x} size={size} note=\"copy {n}\""
        )
        .unwrap();
    }
    asm::assemble(&text).unwrap().program
}

fn files(m: &mut Model, notice: Notice) {
    assert!(update_all(m, Message::Files(notice)));
}

/// The line with the cursor.
fn line(m: &Model) -> String {
    m.listing().unwrap().lines[m.source.cursor].text.clone()
}

/// All that is drawn but for the newest answer, and for what changed since the last stop: a
/// reload is a stop.
fn picture(m: &Model) -> String {
    let mut m = m.clone();
    m.said = None;
    text(&draw(&m)).replace('*', " ")
}

fn upto(n: u64) -> Vec<u64> {
    (1..=n).collect()
}

fn number_of(text: &str) -> &str {
    text.trim_start().split(' ').next().unwrap()
}

#[test]
fn a_module_with_instructions_above_the_cursor_shows_the_same_lines() {
    for stages in ["", ">", ">>>>>"] {
        let mut m = model(bir(&upto(40)), "m.bir", (120, 36));
        typed(&mut m, "goto 60");
        keys(&mut m, stages);
        keys(&mut m, "a");
        let at = m.listing().unwrap().lines.iter().position(|l| l.text.contains("%I-20")).unwrap();
        m.source.cursor = at;
        m.prepare();
        keys(&mut m, "<Enter>");
        keys(&mut m, "<Right>");
        let before = (number_of(&line(&m)).to_owned(), m.source.cursor - m.source.top);
        let (drawn, shift) = (picture(&m), m.source.shift);
        let mut more = vec![101, 102, 103];
        more.extend(upto(40));
        reload(&mut m, bir(&more));
        assert!(said(&m).starts_with("reloaded: +3 instructions"), "{}", said(&m));
        let after = (number_of(&line(&m)).to_owned(), m.source.cursor - m.source.top);
        assert_eq!(before, after, "{stages}");
        assert_eq!(m.source.shift, shift);
        assert!(m.source.cursor > at, "{stages}");
        // The new ones are marked.
        let new = m.listing().unwrap().lines.iter().position(|l| l.text.contains("%I-102"));
        let pos = m.listing().unwrap().lines[new.unwrap()].pos.unwrap();
        assert_eq!(m.session.inst_news(pos), Some(Change::Added));
        // And back: everything is as it was.
        reload(&mut m, bir(&upto(40)));
        assert_eq!(drawn, picture(&m), "{stages}");
    }
}

#[test]
fn a_cursor_that_is_on_no_instruction_stays_where_it_is() {
    let mut m = model(bir(&upto(5)), "m.bir", (120, 36));
    m.source.cursor = 2;
    m.prepare();
    let (first, end) = (line(&m), m.listing().unwrap().lines.len() - 1);
    reload(&mut m, bir(&[9, 1, 2, 3, 4, 5]));
    assert_eq!((line(&m), m.source.cursor), (first, 2));
    m.source.cursor = end + 1;
    m.prepare();
    let last = line(&m);
    reload(&mut m, bir(&upto(5)));
    assert_eq!((line(&m), m.source.cursor), (last, end));
    // Its instruction goes: the one before it, as many lines below.
    m.source.cursor =
        m.listing().unwrap().lines.iter().position(|l| l.text.contains("%I-4")).unwrap();
    m.prepare();
    reload(&mut m, bir(&[1, 2, 3, 5]));
    assert!(line(&m).contains("%I-5"), "{}", line(&m));
}

#[test]
fn a_selected_slot_is_that_of_its_descriptor_wherever_it_lies_now() {
    let mut m = model(dma(&upto(12)), "p.dma", (120, 36));
    keys(&mut m, "G");
    keys(&mut m, "za");
    m.select_slot(Some(Dir::Tx), 18);
    m.prepare();
    let length = m.desc().unwrap().0.length();
    let above = m.selection.slot - m.ring_top;
    let drawn = picture(&m);
    keys(&mut m, ":");
    update_all(&mut m, Message::Paste("break tx".into()));
    let mut more = vec![20];
    more.extend(upto(12));
    reload(&mut m, dma(&more));
    assert_eq!(m.selection.slot, 20);
    assert_eq!(m.desc().unwrap().0.length(), length);
    assert_eq!(m.selection.slot - m.ring_top, above);
    assert_eq!(m.slot_news(Dir::Tx, 0), Some(Change::Added));
    assert_eq!(m.slot_news(Dir::Tx, 20), None);
    assert!(said(&m).contains("reloaded: +"), "{}", said(&m));
    // What is being typed is still there.
    assert_eq!(m.line.as_ref().unwrap().input.value(), "break tx");
    keys(&mut m, "<Esc>");
    reload(&mut m, dma(&upto(12)));
    assert_eq!(drawn, picture(&m));
}

/// What a user may have done before files change: an event, keys, the selected slot, the first
/// one shown, the line of the source.
type Look = (u64, &'static str, u64, u64, usize);

fn at_place(p: Program, (event, typed_keys, slot, top, cursor): Look) -> Model {
    let mut m = model(p, "f", (120, 36));
    typed(&mut m, &format!("goto {event}"));
    keys(&mut m, typed_keys);
    m.select_slot(Some(Dir::Rx), slot);
    (m.ring_top, m.source.cursor) = (top, cursor);
    m.prepare();
    m
}

/// Everything about the place, as text; not what is marked as new.
fn place(m: &Model) -> String {
    let s = &m.source;
    // What is new is not folded and needs room: there the first slot shown may be another.
    let rings = (m.selection, (!m.fold).then_some(m.ring_top), m.focus);
    let events = (m.session.position(), m.event_cursor, m.event_top);
    let source = (s.cursor, s.top, s.shift, s.selected, m.session.stage());
    format!("{rings:?} {events:?} {source:?} {:?}", m.session.machine().digest())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..Default::default() })]

    #[test]
    fn there_and_back_is_the_same_place(
        is_module in any::<bool>(),
        (a, b) in (
            prop::sample::subsequence(upto(12), 1..12),
            prop::sample::subsequence(upto(12), 1..12),
        ),
        event in 0u64..400,
        typed_keys in prop::sample::select(vec!["", "z", "a", "zaZ", ">>", ">>>>>", "<Tab><Tab>"]),
        (slot, top) in (0u64..26, 0u64..26),
        cursor in 0usize..40,
    ) {
        let make = if is_module { bir } else { dma };
        let mut m = at_place(make(&a), (event, typed_keys, slot, top, cursor));
        let (drawn, before) = (picture(&m), place(&m));
        // The same bytes again.
        reload(&mut m, make(&a));
        prop_assert_eq!(&drawn, &picture(&m));
        // Others, and back.
        reload(&mut m, make(&b));
        draw(&m);
        reload(&mut m, make(&a));
        prop_assert_eq!(&before, &place(&m));
        prop_assert_eq!(m.session.pending(), 0);
    }
}

#[test]
fn what_is_searched_for_is_looked_for_again() {
    let mut m = model(dma(&upto(6)), "p.dma", (120, 36));
    keys(&mut m, "d");
    let here = m.session.position();
    typed(&mut m, "find tx length == 16");
    keys(&mut m, "x");
    assert!(m.search.as_ref().unwrap().has(0, None));
    // The first copy is another one: at the same event nothing is found.
    reload(&mut m, dma(&[7, 2, 3, 4, 5, 6]));
    assert_eq!(m.session.position(), here);
    assert!(m.search.as_ref().unwrap().only);
    assert!(!m.search.as_ref().unwrap().has(0, None));
}

fn broken() -> Report {
    let line = |n, text: &str| {
        let place = Place { file: Some("work/p.dma".into()), line: Some(n), ..Place::default() };
        Diagnostic::new("D050", text.to_owned()).at(place)
    };
    let mut report = Report::default();
    report.push(line(9, "`cpy` is not a statement"));
    report.push(line(11, "`\u{1b}[2J` is not a statement"));
    report
}

/// A screen that was reloaded, one whose files are broken, one on which a command runs, and one
/// on which it failed.
fn moments(size: (u16, u16)) -> Vec<(&'static str, Model)> {
    let mut m = model(dma(&upto(6)), "p.dma", size);
    keys(&mut m, "fff");
    files(&mut m, Notice::Watching);
    let mut all = Vec::new();
    let mut building = m.clone();
    files(&mut building, Notice::Building);
    let mut failed = building.clone();
    let output: Vec<String> = (1..50).map(|n| format!("cc: note {n}\u{1b}[31m")).collect();
    let ended = Ended { well: false, words: "exit status 2".into(), output };
    files(&mut failed, Notice::Built(ended));
    let mut wrong = m.clone();
    files(&mut wrong, Notice::Broken(broken()));
    typed(&mut m, "break tx[2]");
    reload(&mut m, dma(&[9, 1, 4, 3]));
    all.extend([("reloaded", m), ("broken", wrong), ("building", building), ("failed", failed)]);
    all
}

#[test]
fn the_screen_after_a_reload_of_broken_files_and_with_a_command() {
    for size in SIZES {
        for (name, m) in moments(size) {
            let name = format!("{name}_{}x{}", size.0, size.1);
            insta::assert_snapshot!(name, styled(&draw(&m)));
        }
    }
    for (name, m) in moments((120, 36)) {
        let coloured = text(&draw(&m));
        let mut m = plain(m);
        assert_eq!(coloured, text(&draw(&m)), "{name}");
        m.theme.ascii = true;
        assert!(text(&draw(&m)).is_ascii(), "{name}");
    }
    let mut m = model(bir(&upto(6)), "m.bir", (200, 60));
    typed(&mut m, "goto 40");
    reload(&mut m, bir(&[1, 2, 8, 4, 5, 6]));
    insta::assert_snapshot!("reloaded_module_200x60", styled(&draw(&m)));
}

#[test]
fn broken_files_leave_the_last_good_program_running() {
    let mut m = model(dma(&upto(3)), "p.dma", (120, 36));
    keys(&mut m, "f");
    let here = m.session.position();
    let good = picture(&m);
    files(&mut m, Notice::Broken(broken()));
    assert_eq!(m.files.sign().unwrap().0, "BROKEN: 2 errors in p.dma");
    assert!(m.findings().take(2).all(|d| d.code == "D050"));
    keys(&mut m, "EEee");
    assert_eq!(m.session.position(), here);
    // The same bytes as before the trouble.
    let fresh = Fresh { program: m.session.loaded().clone(), title: m.title.clone() };
    files(&mut m, Notice::Loaded { fresh, same: true, asked: false });
    assert_eq!(said(&m), "the files are good again, and what they were");
    assert_eq!(m.files.sign(), None);
    assert_eq!(m.files.reloads, 0);
    keys(&mut m, "E");
    keys(&mut m, "e");
    assert_eq!(good.lines().nth(2), picture(&m).lines().nth(2));
}

#[test]
fn the_summary_is_told_where_the_user_still_reads_it() {
    let mut m = model(dma(&upto(3)), "p.dma", (120, 36));
    reload(&mut m, dma(&[1, 2, 3, 4]));
    assert!(
        said(&m).starts_with("reloaded: +2 descriptors, outcome in memory differs"),
        "{}",
        said(&m)
    );
    typed(&mut m, "info reload");
    let shown = text(&draw(&m));
    assert!(shown.contains("they changed once"), "{shown}");
    keys(&mut m, "<Esc>");
    // Of an older reload nothing is told any more.
    m.say("something else", None);
    let (summary, lines) = ("old".to_owned(), vec!["old".to_owned()]);
    files(&mut m, Notice::Compared { number: 0, summary, lines });
    assert_eq!(said(&m), "something else");
    assert!(!m.files.changes.contains(&"old".to_owned()));
}
