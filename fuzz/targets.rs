//! What is fuzzed: a function from any bytes for each target. `fuzz_targets/` hands them to
//! libFuzzer, `tests/fuzz_corpus.rs` replays the corpus through the same functions and changes
//! it a little in every test run. `docs/fuzzing.md` says what each of them holds.

mod blown;
mod disorder;
mod proof;
mod twins;

use dmadbg::bir::{Layout, exec, verify};
use dmadbg::check::{self, RingPair};
use dmadbg::diag::{Policy, Report, render};
use dmadbg::engine::lower::{self, Stage};
use dmadbg::engine::module_run::Initial;
use dmadbg::engine::program::{Blob, Program};
use dmadbg::engine::ring::machine;
use dmadbg::engine::session::Session;
use dmadbg::engine::validate::Reference;
use dmadbg::learn::progress::Progress;
use dmadbg::load::bir::{json_to_text, read_json, read_text, text_to_json, write_json, write_text};
use dmadbg::load::module::read_memory;
use dmadbg::load::{LoadOptions, Loaded, RingChoice, asm, container, disasm, hex, load_bytes, raw};
use dmadbg::script::filetest::{self, Grammar};
use dmadbg::script::runner::{self, Source};
use dmadbg::script::{Names, complete, parse_command, parse_expr, parse_loc, print};
use dmadbg::udma::{Generation, Profile};
use dmadbg::ui::arrange::Arrangement;
use dmadbg::ui::config::Config;
use dmadbg::ui::keymap::parse_keys;
use dmadbg::ui::update::{Message, update_all};
use dmadbg::ui::{Model, Theme, Title, view};
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Rect;
use std::ops::ControlFlow;
use std::sync::Arc;

/// A target: its name, what it is given, and whether it only reads, so that the memory that it
/// takes is in proportion to the bytes.
pub struct Target {
    pub name: &'static str,
    pub body: fn(&[u8]),
    #[allow(dead_code, reason = "the test asks, which counts memory; a fuzzer does not")]
    pub reads: bool,
}

const fn reads(name: &'static str, body: fn(&[u8])) -> Target {
    Target { name, body, reads: true }
}

const fn runs(name: &'static str, body: fn(&[u8])) -> Target {
    Target { name, body, reads: false }
}

/// All of them.
pub const TARGETS: &[Target] = &[
    runs("load", load),
    reads("raw", raw_image),
    reads("hex", hex_text),
    runs("container", image),
    reads("assembly", assembly),
    reads("bir_text", bir_text),
    reads("bir_json", bir_json),
    runs("lower", lower_module),
    reads("script", script),
    reads("expression", expression),
    runs("session", session),
    reads("config", config),
    reads("lesson", lesson),
    reads("file_test", file_test),
    reads("memory", memory),
    reads("keys", keys),
    reads("kept", kept),
    runs("screen", screen),
    runs("survey", twins::survey),
    runs("search", twins::search),
    runs("leap", twins::leap),
    runs("moves", twins::moves),
    runs("extents", twins::extents),
    runs("row", twins::row),
    runs("reload", twins::reload),
    runs("batches", proof::batches),
];

/// Runs the target of this name.
///
/// # Panics
/// Where what the target holds does not hold, and where there is no target of the name.
pub fn run_named(name: &str, bytes: &[u8]) {
    let target = TARGETS.iter().find(|t| t.name == name);
    (target.unwrap_or_else(|| panic!("no target {name}")).body)(bytes);
}

/// Events of a run that are looked at.
const EVENTS: u64 = 2000;
/// Reports of progress after which a command is cancelled.
const PATIENCE: u32 = 40;

fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

/// What would be shown of findings has nothing that steers a terminal.
fn shown(report: &Report, source: Option<&str>) {
    let (items, _) = report.shown(false);
    for d in items {
        let said = render::text(d, source, false);
        assert!(render::is_safe(&said), "{said:?}");
        let _ = render::to_json(d).to_string();
    }
}

/// Any bytes through detection and whatever loader they are for; a program that comes out is
/// run, walked through, and written down again.
fn load(bytes: &[u8]) {
    let blob = Blob::from_vec(bytes.to_vec());
    match load_bytes("input", blob, &LoadOptions::default()) {
        Ok(loaded) => {
            shown(&loaded.report, None);
            rings(&loaded);
            if let Some(p) = &loaded.program {
                run(p);
            }
        }
        Err(report) => shown(&report, text(bytes)),
    }
}

/// The lints over every ring.
fn rings(loaded: &Loaded) {
    struct View<'a>(&'a raw::RingView);
    impl check::RingView for View<'_> {
        fn len(&self) -> u64 {
            self.0.slots()
        }
        fn get(&self, i: u64) -> Option<dmadbg::udma::Desc> {
            self.0.get(i)
        }
    }
    for image in &loaded.images {
        let (tx, rx) = (image.tx.as_ref().map(View), image.rx.as_ref().map(View));
        let found = check::run(RingPair {
            tx: tx.as_ref().map(|v| v as &dyn check::RingView),
            rx: rx.as_ref().map(|v| v as &dyn check::RingView),
            arch: image.arch.unwrap_or(Generation::V3),
            profile: Profile::default_profile(),
            queue: None,
            start: None,
            cursors: [None; 2],
        });
        shown(&found, None);
    }
}

/// A run, its beginning; and back to the same text.
fn run(p: &Program) {
    let mut events = 0;
    machine::run(p, |_, _| {
        events += 1;
        events < EVENTS
    });
    if let Ok(listing) = disasm::disassemble(p) {
        let back = asm::assemble(&listing.text).map(|a| a.program);
        // Of a module only what the rings do is written.
        let bare = Program { module: None, ..p.clone() };
        assert!(back.is_ok_and(|b| b == bare), "what is written as assembly is read back");
    }
}

/// Ring images under every way to read them: the first byte chooses.
fn raw_image(bytes: &[u8]) {
    let Some((&how, bytes)) = bytes.split_first() else { return };
    let ring = [None, Some(RingChoice::Tx), Some(RingChoice::Rx), Some(RingChoice::Pairs)];
    let batch = ["marker", "all", "1", "7"];
    let opts = LoadOptions {
        ring: ring[usize::from(how & 3)],
        batch: batch[usize::from(how >> 2 & 3)].parse().ok(),
        start: (how & 16 != 0).then_some(u64::from(how >> 5)),
        slots: (how & 32 != 0).then_some((u64::from(how >> 6), 40)),
        ..LoadOptions::default()
    };
    match load_bytes("input.bin", Blob::from_vec(bytes.to_vec()), &opts) {
        Ok(loaded) => {
            shown(&loaded.report, None);
            rings(&loaded);
        }
        Err(report) => shown(&report, None),
    }
}

/// Hex text of any form: the bytes are no more than the text can stand for.
fn hex_text(bytes: &[u8]) {
    let Some(t) = text(bytes) else { return };
    match hex::parse(t) {
        Ok(dump) => {
            // A digit makes a word at most, but for what `*` stands for.
            assert!(t.contains('*') || dump.bytes.len() <= t.len() * 4);
        }
        Err(report) => shown(&report, Some(t)),
    }
}

/// A program image: what is read is written back to the same program. The bytes are an image, or
/// they are sections of one, of which an image with the right table and checksums is made: no
/// change of an image gets further than those.
fn image(bytes: &[u8]) {
    for bytes in [bytes.to_vec(), assembled(bytes)] {
        let Ok((p, report)) = container::read(&Blob::from_vec(bytes)) else { continue };
        shown(&report, None);
        if let Ok(again) = container::write(&p) {
            let back = container::read(&Blob::from_vec(again)).map(|r| r.0);
            assert!(back.is_ok_and(|b| b == p));
        }
        run(&p);
    }
}

/// Words of four letters that begin a section.
const SECTIONS: [&[u8; 4]; 10] =
    [b"HEAD", b"QUEU", b"REGN", b"CONT", b"REGS", b"VARS", b"SCRP", b"EDIT", b"DATA", b"ODD!"];

/// An image of the sections that follow each other in some bytes.
fn assembled(bytes: &[u8]) -> Vec<u8> {
    const PART: usize = 32;
    let begins = |at: &usize| SECTIONS.iter().any(|s| bytes[*at..].starts_with(*s));
    let at: Vec<usize> = (0..bytes.len()).filter(begins).collect();
    let ends = at.iter().skip(1).copied().chain([bytes.len()]);
    // A word may begin inside of another one.
    let sections = at.iter().zip(ends).map(|(from, to)| &bytes[*from..to]);
    let sections: Vec<&[u8]> = sections.filter(|s| s.len() >= 4).collect();
    let (mut table, mut data) = (Vec::new(), Vec::new());
    for s in &sections {
        let (kind, s) = s.split_at(4);
        table.extend(kind);
        table.extend([0; 4]);
        table.extend(((1 + sections.len()) * PART + data.len()).to_le_bytes());
        table.extend(s.len().to_le_bytes());
        table.extend(crc32fast::hash(s).to_le_bytes());
        table.extend([0; 4]);
        data.extend(s);
        data.resize(data.len().next_multiple_of(container::SECTION_ALIGN), 0);
    }
    let mut out = container::MAGIC.to_vec();
    out.extend([1, 0, 1, 0]);
    out.extend((sections.len() as u32).to_le_bytes());
    out.extend((PART + table.len() + data.len()).to_le_bytes());
    out.extend(crc32fast::hash(&table).to_le_bytes());
    out.extend(crc32fast::hash(&out).to_le_bytes());
    [out, table, data].concat()
}

/// Assembly: what is read is printed and read back to the same program.
fn assembly(bytes: &[u8]) {
    let Some(t) = text(bytes) else { return };
    match asm::assemble(t) {
        Ok(a) => {
            if let Ok(listing) = disasm::disassemble(&a.program) {
                assert!(render::is_safe(&listing.text), "{:?}", listing.text);
                let back = asm::assemble(&listing.text).map(|b| b.program);
                assert!(back.is_ok_and(|b| b == a.program));
            }
        }
        Err(report) => shown(&report, Some(t)),
    }
    let _ = Policy::of_text(t, &[";", "#"]);
}

/// A module that was read is written, as JSON and as text, and read as the same.
fn module(loaded: dmadbg::load::bir::Loaded) {
    let json = write_json(&loaded.module);
    let Ok(again) = read_json("m", json.as_bytes()) else {
        panic!("a written module is not read: {json}")
    };
    assert_eq!(write_json(&again.module), json);
    let text = write_text(&again.module).text;
    assert!(read_text("m", &text).is_ok(), "{text}");
    // The tree that is made, and the one that is read.
    assert_eq!(json_to_text("m", json.as_bytes()).ok(), Some(text));
}

/// Modules as text.
fn bir_text(bytes: &[u8]) {
    let Some(t) = text(bytes) else { return };
    if let Ok(json) = text_to_json("m", t) {
        let again = json_to_text("m", json.as_bytes());
        assert!(again.is_ok(), "what is read as text is printed as text");
    }
    match read_text("m", t) {
        Ok(loaded) => module(loaded),
        Err(all) => shown(&all.into(), Some(t)),
    }
}

/// Modules as JSON; any JSON is text without loss.
fn bir_json(bytes: &[u8]) {
    if let Ok(t) = json_to_text("m", bytes) {
        let Ok(back) = text_to_json("m", &t) else { panic!("printed text is not read: {t}") };
        // Another reader of JSON finds the same in both.
        let plain = |b: &[u8]| serde_json::from_slice::<serde_json::Value>(b);
        if let (Ok(a), Ok(b)) = (plain(bytes), plain(back.as_bytes())) {
            assert_eq!(a, b, "{t}");
        }
        assert_eq!(json_to_text("m", back.as_bytes()).ok(), Some(t));
    }
    match read_json("m", bytes) {
        Ok(loaded) => module(loaded),
        Err(all) => shown(&all.into(), text(bytes)),
    }
}

/// Whatever can be read goes through every stage, and a sound module keeps its meaning.
fn lower_module(bytes: &[u8]) {
    let Some(t) = text(bytes) else { return };
    let Ok(loaded) = read_text("m", t) else { return };
    let module = Arc::new(loaded.module);
    let sound = !verify::has_errors(&verify::verify(&module, &Layout::new(&module)));
    let lowered = lower::lower(&module, &lower::Options::default(), Stage::LowerDma);
    let run = exec::Options { max_steps: 10_000, max_bytes: 1 << 22 };
    let Ok(reference) = Reference::new(module, &Initial::default(), &run) else { return };
    if !sound || !reference.complete || lowered.has_errors() {
        return;
    }
    // Lowering makes more instructions of one, each of which is a step.
    let more = exec::Options { max_steps: 1 << 20, max_bytes: 1 << 26 };
    for s in &lowered.snapshots {
        let v = reference.judge(&s.module, &more);
        assert!(v.is_good(), "{}: {}", s.stage, v.words());
    }
}

/// A script, and what it sources; every line is printed and read back.
fn script(bytes: &[u8]) {
    let Some(t) = text(bytes) else { return };
    let mut sourced = 0;
    let read = runner::parse("s.dbg", t, &mut |_, file| {
        sourced += 1;
        assert!(sourced <= 100_000, "reading a script ends");
        // Half of the names source the script itself, or one like it.
        Ok(Source { name: file.to_owned(), text: t.get(..t.len() / 2).unwrap_or(t).to_owned() })
    });
    match read {
        Ok(lines) => {
            for line in lines.iter().take(1000) {
                let said = print(&line.command);
                assert!(!said.contains('\n') || said.contains("commands"), "{said}");
            }
        }
        Err(report) => shown(&report, Some(t)),
    }
    for line in t.lines() {
        if let Ok(Some(c)) = parse_command(line) {
            assert_eq!(parse_command(&print(&c)), Ok(Some(c)), "{line}");
        }
    }
}

/// Expressions, places, and commands that hold one; completion at every byte.
fn expression(bytes: &[u8]) {
    let Some(t) = text(bytes) else { return };
    if let Err(d) = parse_expr(t) {
        shown(&d.into(), Some(t));
    }
    let _ = parse_loc(t);
    for verb in ["print", "find tx", "find rx", "break if", "x/4wx", "explain", "set", "assert"] {
        let line = format!("{verb} {t}");
        match parse_command(&line) {
            Ok(Some(c)) => assert_eq!(parse_command(&print(&c)), Ok(Some(c)), "{line}"),
            Ok(None) => {}
            Err(all) => shown(&all.into(), Some(&line)),
        }
    }
    let names = Names::default();
    for cursor in (0..=t.len().min(12)).chain([t.len()]) {
        let found = complete(t, cursor, &names);
        assert!(found.range.end <= t.len() && t.get(found.range.clone()).is_some());
    }
}

/// Samples that commands and keys are tried on.
const SAMPLES: [&str; 4] = [
    include_str!("../sample-programs/copy-4k.dma"),
    include_str!("../sample-programs/wrap.dma"),
    include_str!("../sample-programs/three-queues.dma"),
    include_str!("../sample-programs/race.dma"),
];

/// A sample by a byte.
fn sample(which: u8) -> Option<Program> {
    let text = SAMPLES[usize::from(which) % SAMPLES.len()];
    asm::assemble(text).ok().map(|a| a.program)
}

/// Commands line by line on a sample: whatever they say is safe to show, and going to where it
/// was is going there.
fn session(bytes: &[u8]) {
    let Some((&which, rest)) = bytes.split_first() else { return };
    let (Some(t), Some(p)) = (text(rest), sample(which)) else { return };
    let mut s = Session::new(Arc::new(p));
    for line in t.lines().take(50) {
        let Ok(Some(command)) = parse_command(line) else { continue };
        let mut left = PATIENCE;
        let done = s.execute_with(&command, &mut |_| {
            left -= 1;
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        match done {
            Ok(outcome) => {
                for line in outcome.into_text() {
                    let _ = render::printable(&line);
                }
            }
            Err(d) => shown(&d.into(), Some(line)),
        }
    }
}

/// A configuration: what is read is printed and read back.
fn config(bytes: &[u8]) {
    let Some(t) = text(bytes) else { return };
    match Config::parse(t) {
        Ok(c) => {
            let printed = c.to_toml();
            assert_eq!(Config::parse(&printed).ok(), Some(c), "{printed}");
        }
        Err(report) => shown(&report, Some(t)),
    }
}

/// A lesson, and the programs that it holds.
fn lesson(bytes: &[u8]) {
    let Some(t) = text(bytes) else { return };
    match dmadbg::learn::read("l", "l.toml", t) {
        Ok(lesson) => {
            let absent = |_: &str| Err(dmadbg::diag::Diagnostic::new("D007", "not there"));
            if let Err(report) = dmadbg::learn::prepare(lesson, &mut { absent }) {
                shown(&report, None);
            }
        }
        Err(report) => shown(&report, Some(t)),
    }
}

/// What the comments of a file say that is a test; the first byte chooses the grammar.
fn file_test(bytes: &[u8]) {
    let Some((&which, rest)) = bytes.split_first() else { return };
    let Some(t) = text(rest) else { return };
    let name = ["x.bir", "x.dma", "x.dbg", "x.hex"][usize::from(which) % 4];
    let Some(grammar) = Grammar::of(name) else { return };
    if let Err(report) = filetest::parse(name, grammar, t) {
        shown(&report, Some(t));
    }
    let _ = Policy::of_text(t, &[&grammar.sign().to_string()]);
}

/// A file of memory.
fn memory(bytes: &[u8]) {
    if let Err(d) = read_memory(bytes) {
        shown(&d.into(), text(bytes));
    }
}

/// Keys by their names.
fn keys(bytes: &[u8]) {
    let Some(t) = text(bytes) else { return };
    match parse_keys(t) {
        Ok(keys) => assert!(keys.len() <= t.len()),
        Err(why) => drop(render::printable(&why)),
    }
}

/// What is kept from one time to the next: nothing in it is an error, and it is written back.
fn kept(bytes: &[u8]) {
    let Some(t) = text(bytes) else { return };
    let panes = Arrangement::from_text(t);
    assert_eq!(Arrangement::from_text(&panes.to_text()), panes);
    let mut progress = Progress::from_text(t);
    assert_eq!(Progress::from_text(&progress.to_text()), progress);
    progress.add("words", &[true, false, true]);
    assert!(progress.solved("words", 3)[0]);
}

/// Keys of an input, so that one takes some milliseconds.
const KEYS: usize = 24;

/// Keys on the screen of a sample, of any size: every cell is safe to show.
fn screen(bytes: &[u8]) {
    let [which, w, h, keys @ ..] = bytes else { return };
    let Some(p) = sample(*which) else { return };
    let size = (u16::from(*w % 120) + 1, u16::from(*h % 40) + 1);
    let title = Title { file: "a\u{1b}[31m\u{202e}b\u{200b}.dma".to_owned(), ..Title::default() };
    let mut m = Model::new(Session::new(Arc::new(p)), title, Theme::default(), size);
    m.prepare();
    look(&m);
    for &b in keys.iter().take(KEYS) {
        let ctrl = KeyModifiers::CONTROL;
        let plain = KeyModifiers::NONE;
        let key = match b {
            b'\n' | b'\r' => KeyEvent::new(KeyCode::Enter, plain),
            b'\t' => KeyEvent::new(KeyCode::Tab, plain),
            0x1b => KeyEvent::new(KeyCode::Esc, plain),
            0x7f => KeyEvent::new(KeyCode::Backspace, plain),
            0..=0x1f => KeyEvent::new(KeyCode::Char(char::from(b | 0x60)), ctrl),
            0x80..=0x8f => {
                const MORE: [KeyCode; 16] = [
                    KeyCode::Up,
                    KeyCode::Down,
                    KeyCode::Left,
                    KeyCode::Right,
                    KeyCode::PageUp,
                    KeyCode::PageDown,
                    KeyCode::Home,
                    KeyCode::End,
                    KeyCode::BackTab,
                    KeyCode::Delete,
                    KeyCode::F(1),
                    KeyCode::F(5),
                    KeyCode::F(10),
                    KeyCode::Insert,
                    KeyCode::Null,
                    KeyCode::Char('\u{202e}'),
                ];
                KeyEvent::new(MORE[usize::from(b & 15)], plain)
            }
            0x90..=0x9f => {
                let size = (u16::from(b & 15) * 13 + 1, u16::from(b & 15) * 4 + 1);
                update_all(&mut m, Message::Resize(size.0, size.1));
                continue;
            }
            0xa0..=0xaf => {
                let text = "step 3\u{1b}[2Jabc\u{202e}\n".to_owned();
                update_all(&mut m, Message::Paste(text));
                continue;
            }
            b => KeyEvent::new(KeyCode::Char(char::from(b)), plain),
        };
        if !update_all(&mut m, Message::Key(key)) {
            break;
        }
    }
    look(&m);
}

/// Draws it and looks at every cell.
fn look(m: &Model) {
    let mut buf = Buffer::empty(Rect::new(0, 0, m.size.0, m.size.1));
    view::draw(m, &mut buf);
    for cell in buf.content() {
        assert!(render::is_safe(cell.symbol()), "{:?}", cell.symbol());
    }
}
