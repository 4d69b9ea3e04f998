//! Random keys, mouse, sizes, pasted and typed text on programs of every kind: nothing panics,
//! nothing hangs, nothing is drawn that a terminal would obey, and what was done on the screen
//! is what the commands do that it stands for.
//!
//! `DMADBG_RANDOM` is how many messages there are in all. Long runs want an optimised build:
//! `DMADBG_RANDOM=200000 cargo test --profile soak --test ui_random`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod ui_support;

use crossterm::event::{
    KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind as Kind,
};
use dmadbg::bir::Pos;
use dmadbg::diag::Diagnostic;
use dmadbg::engine::program::Program;
use dmadbg::engine::session::{Effect as Outside, Session};
use dmadbg::ui::keymap::{KEYMAP, Key};
use dmadbg::ui::update::{Message, update_all};
use dmadbg::ui::{Fresh, Journal, Model, Notice, Title};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use ui_support::*;

/// Messages in all, where nobody asks for more.
const MESSAGES: u32 = 6000;
/// Most messages of one run.
const LONGEST: usize = 80;
/// After this time a message is taken to hang: many times what any needs, on any machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// The name of the file.
const FILE: &str = "some\u{1b}[2Jname";

/// How a program is made.
type Make = fn() -> Program;

const PROGRAMS: &[(&str, Make)] = &[
    ("one_copy", one_copy),
    ("wrap64", wrap64),
    ("faulting", faulting),
    ("stalled", stalled),
    ("two_queues", two_queues),
    ("odd", odd),
    ("one_direction", one_direction),
    ("copy.bir", || module("copy.bir")),
    ("gather.bir", || module("gather.bir")),
    ("loop.bir", || module("loop.bir")),
    ("semaphores.bir", || module("semaphores.bir")),
    ("lowered-loop.bir", || module("lowered-loop.bir")),
    ("scalar-offset.bir", || module("scalar-offset.bir")),
];

/// Typed on the command line; some of it is refused, most says something long.
const TYPED: &[&str] = &[
    "step 3 event",
    "step engine",
    "step 2 batch",
    "reverse-step 2 event",
    "goto 17",
    "goto nowhere",
    "mark here",
    "goto here",
    "set $n = event + 1",
    "goto $n",
    "goto end",
    "goto end - 3",
    "until event == end - 5",
    "until $none",
    "break tx[1]",
    "break tx[2] if q0.free < 40",
    "tbreak rx[0]",
    "break batch 2 after 1",
    "break dma_block_1",
    "watch 0x1000,4 access",
    "watch tx[3] write",
    "catch doorbell",
    "catch marker once",
    "catch fault",
    "commands 1 { print event }",
    "display event",
    "display tx[1].length",
    "undisplay 1",
    "tbreak event 40",
    "break event 21",
    "screenshot ./never.txt",
    "screenshot! ./never.svg 300x70",
    "screenshot never.png",
    "delete",
    "disable 1",
    "enable",
    "info queue q0",
    "info queue q1",
    "info breakpoints",
    "info budget",
    "info races",
    "info regs",
    "print/x event",
    "x/4wx 0",
    "why",
    "origin 0x1000",
    "last-write marker + 4",
    "explain tx[0]",
    "provenance tx[1]",
    "set tx[2].length = 64",
    "set tx[1].first = 0",
    "set marker = 1",
    "inject PKT_LEN",
    "inject PREFETCH_RING_ID at tx[0]",
    "undo",
    "redo",
    "order explore 2000",
    "order calm",
    "assert 0",
    "expect ret 0",
    "doorbell q1",
    "pass next",
    "pass diff",
    "pass set split off",
    "find tx length < 64",
    "find rx 1",
    "help step",
    "catch reload",
    "reload",
    "info reload",
    "source nothing",
    "echo \"a # b\"",
    "restart",
    "stpe",
    "reverse-until event < 9",
    "reverse-continue",
];

/// Something that happens.
#[derive(Debug, Clone)]
enum Act {
    Say(Message),
    /// A line typed whole on the command line.
    Typed(&'static str),
    /// The mouse pressed at the first place, moved to the others, let go at the last.
    Drag(Vec<(u16, u16)>),
    /// The files hold another of the programs now, or one of another kind.
    Reload(usize),
    /// They cannot be read.
    Broken,
}

/// What is told of files that hold this program now.
fn loaded(p: Program) -> Message {
    let title = Title { file: FILE.into(), ..Title::default() };
    let fresh = Fresh { program: Arc::new(p), title };
    Message::Files(Notice::Loaded { fresh, same: false, asked: false })
}

fn pressed(key: Key) -> Message {
    let modifiers = if key.ctrl { KeyModifiers::CONTROL } else { KeyModifiers::NONE };
    Message::Key(KeyEvent::new(key.code, modifiers))
}

fn place() -> impl Strategy<Value = (u16, u16)> {
    prop_oneof![4 => (0u16..130, 0u16..40), 1 => (0u16..260, 0u16..90), 1 => (any::<u16>(), any::<u16>())]
}

fn at(kind: Kind, (column, row): (u16, u16)) -> Message {
    Message::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE })
}

fn act() -> impl Strategy<Value = Act> {
    // Every key that means something anywhere, and some that do not.
    let bound: Vec<Key> = KEYMAP.iter().flat_map(|b| b.keys).copied().collect();
    let key = select(bound).prop_map(pressed);
    let other = prop_oneof![
        any::<char>().prop_map(KeyCode::Char),
        any::<u8>().prop_map(KeyCode::F),
        select(vec![KeyCode::Insert, KeyCode::Null, KeyCode::CapsLock, KeyCode::Menu]),
    ];
    let mods = select(vec![
        KeyModifiers::NONE,
        KeyModifiers::SHIFT,
        KeyModifiers::ALT,
        KeyModifiers::CONTROL | KeyModifiers::ALT,
    ]);
    let other = (other, mods).prop_map(|(c, m)| Message::Key(KeyEvent::new(c, m)));
    let kind = select(vec![
        Kind::Down(MouseButton::Left),
        Kind::Down(MouseButton::Left),
        Kind::Down(MouseButton::Right),
        Kind::Up(MouseButton::Left),
        Kind::Drag(MouseButton::Left),
        Kind::Moved,
        Kind::ScrollUp,
        Kind::ScrollDown,
        Kind::ScrollLeft,
    ]);
    let mouse = (kind, place()).prop_map(|(k, p)| at(k, p));
    let size = prop_oneof![
        2 => (0u16..12, 0u16..12),
        3 => (60u16..130, 1u16..40),
        2 => (120u16..260, 30u16..90)
    ]
    .prop_map(|(w, h)| Message::Resize(w, h));
    let paste = "[a-z0-9\\[\\] \u{1}é中🤦]{0,12}".prop_map(Message::Paste);
    prop_oneof![
        14 => key.prop_map(Act::Say),
        1 => other.prop_map(Act::Say),
        4 => mouse.prop_map(Act::Say),
        3 => size.prop_map(Act::Say),
        1 => paste.prop_map(Act::Say),
        4 => select(TYPED.to_vec()).prop_map(Act::Typed),
        2 => proptest::collection::vec(place(), 2..5).prop_map(Act::Drag),
    ]
}

fn messages(act: &Act, m: &mut Model) -> Vec<Message> {
    match act {
        Act::Say(message) => vec![message.clone()],
        Act::Typed(line) => {
            (m.popup, m.line, m.palette, m.grid) = (None, None, None, None);
            let press = |code| Message::Key(KeyEvent::from(code));
            vec![
                press(KeyCode::Char(':')),
                Message::Paste((*line).to_owned()),
                press(KeyCode::Enter),
                press(KeyCode::Esc),
            ]
        }
        Act::Drag(places) => {
            let (first, last) = (places[0], places[places.len() - 1]);
            let moves = places[1..].iter().map(|p| at(Kind::Drag(MouseButton::Left), *p));
            let first = at(Kind::Down(MouseButton::Left), first);
            let last = at(Kind::Up(MouseButton::Left), last);
            std::iter::once(first).chain(moves).chain([last]).collect()
        }
        Act::Reload(which) => vec![loaded(PROGRAMS[*which].1())],
        Act::Broken => {
            let d = Diagnostic::new("D050", "`\u{1b}[2J` is not a statement");
            vec![Message::Files(Notice::Broken(d.into()))]
        }
    }
}

/// What must hold of a screen, whatever was done.
fn sound(m: &Model) -> Result<(), TestCaseError> {
    let buf = draw(m);
    let control = buf.content().iter().any(|c| c.symbol().chars().any(char::is_control));
    prop_assert!(!control, "a control character is drawn");
    prop_assert!(m.selection.slot < m.slots().max(1), "{:?}", m.selection);
    if let Some(end) = m.session.end() {
        prop_assert!(m.session.position() <= end);
    }
    if let Some(listing) = m.listing() {
        prop_assert!(m.source.cursor < listing.lines.len());
        prop_assert_ne!(m.source.selected, Some(Pos::ADDED));
    }
    Ok(())
}

/// When the message began that is being dealt with.
static BEGAN: Mutex<Option<Instant>> = Mutex::new(None);

/// Ends the test where a message hangs: nothing else would.
fn watch_over() {
    std::thread::spawn(|| {
        loop {
            std::thread::sleep(Duration::from_secs(5));
            if BEGAN.lock().unwrap().is_some_and(|b| b.elapsed() > PATIENCE) {
                eprintln!("a message has hung for {PATIENCE:?}; the case stands above");
                std::process::abort();
            }
        }
    });
}

/// The same bytes again are nothing at all.
fn again(m: &mut Model) -> Result<(), TestCaseError> {
    m.said = None;
    let before = text(&draw(m));
    let p = (**m.session.loaded()).clone();
    let broken = m.files.broken.is_some();
    update_all(m, loaded(p));
    if !broken {
        prop_assert_eq!(before, text(&draw(m)));
    }
    Ok(())
}

fn case((which, acts): (usize, Vec<Act>)) -> Result<(), TestCaseError> {
    let program = PROGRAMS[which].1;
    let mut m = model(program(), FILE, (120, 36));
    m.journal = Some(Journal::new(&Session::new(m.session.program().clone())));
    for act in &acts {
        for message in messages(act, &mut m) {
            *BEGAN.lock().unwrap() = Some(Instant::now());
            update_all(&mut m, message);
            sound(&m)?;
        }
    }
    // A drag along the timeline is a command once it ends.
    update_all(&mut m, at(Kind::Up(MouseButton::Left), (0, 0)));
    again(&mut m)?;
    // A script is run on one program.
    if acts.iter().any(|a| matches!(a, Act::Reload(_))) {
        *BEGAN.lock().unwrap() = None;
        return Ok(());
    }
    // Pictures are asked for and not drawn here, nor where this is done again.
    let mut lines = m.take_journal();
    let pictures = |l: &String| l.starts_with("screenshot");
    let drawn = |e: &&Outside| matches!(e, Outside::Screenshot { .. });
    let written = lines.iter().filter(|l| pictures(l)).count();
    let asked = m.asked.iter().filter(drawn).count();
    prop_assert_eq!(written, asked, "{:#?}", lines);
    lines.retain(|l| !pictures(l));
    let s = replayed(program(), &lines);
    *BEGAN.lock().unwrap() = None;
    same(&m, &s, &lines);
    Ok(())
}

#[test]
fn whatever_is_done_the_screen_stands_and_is_what_its_commands_do() {
    let asked = std::env::var("DMADBG_RANDOM").ok().map(|n| n.parse().expect("a number"));
    let cases = asked.unwrap_or(MESSAGES).div_ceil(LONGEST as u32 / 2);
    watch_over();
    let mut runner = TestRunner::new(Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 2000,
        ..Config::default()
    });
    let files = prop_oneof![
        2 => (0..PROGRAMS.len()).prop_map(Act::Reload),
        1 => Just(Act::Broken),
    ];
    let reloads = prop_oneof![12 => act(), 1 => files];
    let acts = prop_oneof![
        proptest::collection::vec(act(), 1..LONGEST),
        proptest::collection::vec(reloads, 1..LONGEST),
    ];
    let all = (0..PROGRAMS.len(), acts);
    if let Err(e) = runner.run(&all, case) {
        panic!("{e}");
    }
}
