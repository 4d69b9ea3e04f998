//! Programs for the tests of the screen, and a picture of a buffer with its styles.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, dead_code)]

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use dmadbg::diag::Diagnostic;
use dmadbg::engine::program::*;
use dmadbg::engine::session::Session;
use dmadbg::script::runner::{self, End};
use dmadbg::udma::{Dir, Generation, Profile};
use dmadbg::ui::theme::Palette;
use dmadbg::ui::update::{Message, update_all};
use dmadbg::ui::{Fresh, Model, Notice, Theme, Title};
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use std::fmt::Write as _;
use std::sync::Arc;

pub const Q: QueueId = QueueId { engine: 128, queue: 0 };
const RINGS: u64 = 0x4000_7000_0000;
const HBM: u64 = 0x10_0000_0000;

pub fn region(name: &str, kind: RegionKind, base: u64, len: u64, fill: Fill) -> Region {
    Region { name: name.into(), kind, base, len, fill }
}

/// One queue of `size` slots, a host buffer with a pattern, device memory never written.
pub fn base(arch: Generation, size: u64) -> Program {
    let host = arch.host_base();
    let mut p = Program::new(arch, Profile::default_profile());
    p.queues.push(QueueDecl {
        id: Q,
        tx: Some(RingDecl { base: RINGS, size }),
        rx: Some(RingDecl { base: RINGS + 0x10_0000, size }),
        allocatable: true,
        marker_area: host + 0x6000_1000,
        first: [dmadbg::engine::program::Start::FRESH; 2],
    });
    p.regions = vec![
        region("host", RegionKind::Host, host + 0x100_0000, 16 << 20, Fill::Pattern(1)),
        region("marker", RegionKind::Host, host + 0x6000_1000, 64, Fill::Never),
        region("hbm", RegionKind::Device, HBM, 1 << 30, Fill::Never),
    ];
    p.sort_regions();
    p.script.push(HostOp::InitQueue { queue: Q }.into());
    p
}

fn copy(p: &mut Program, size: u64) {
    let src = p.arch.host_base() + 0x100_0000;
    p.script.push(HostOp::Copy { queue: Q, src, dst: HBM + 0x4000, size }.into());
}

/// One copy of 4 KiB.
pub fn one_copy() -> Program {
    let mut p = base(Generation::V3, 64);
    copy(&mut p, 4096);
    p
}

/// Copies until a ring of 64 has gone round and the phase has changed.
pub fn wrap64() -> Program {
    let mut p = base(Generation::V3, 64);
    for _ in 0..3 {
        copy(&mut p, 17 * 65_536 + 4096);
    }
    copy(&mut p, 16 * 65_536 + 100);
    p
}

/// A copy whose destination no region holds: the engine faults, the host times out.
pub fn faulting() -> Program {
    let mut p = base(Generation::V3, 64);
    copy(&mut p, 4096);
    let src = p.arch.host_base() + 0x100_0000;
    p.script.push(HostOp::Copy { queue: Q, src, dst: 0xdead_0000, size: 8192 }.into());
    p
}

/// Tx is rung, Rx is not.
pub fn stalled() -> Program {
    let mut p = base(Generation::V3, 32);
    let src = p.arch.host_base() + 0x100_0000;
    for i in 0..2 {
        let dst = HBM + i * 4096;
        p.script.push(
            HostOp::Stage { queue: Q, src, dst, size: 512, barrier_code: 0, set_dst_int: false }
                .into(),
        );
    }
    p.script.push(
        HostOp::RegWrite {
            engine: Q.engine,
            offset: dmadbg::udma::reg::queue_block(Dir::Tx, Q.queue) + 0x38,
            value: 2,
        }
        .into(),
    );
    p
}

/// Only the Tx ring of a queue is known, and nothing is run.
pub fn one_direction() -> Program {
    let mut p = odd();
    let staged = p.script.pop();
    p.script.clear();
    if let Some(ScriptOp { op: HostOp::CopyIn { descs, .. }, .. }) = staged {
        p.contents.push(Content { addr: RINGS, bytes: descs });
    }
    p.queues[0].rx = None;
    p
}

/// Two queues.
pub fn two_queues() -> Program {
    let mut p = one_copy();
    let mut q = p.queues[0];
    q.id.queue = 1;
    q.tx = Some(RingDecl { base: RINGS + 0x20_0000, size: 128 });
    q.rx = Some(RingDecl { base: RINGS + 0x30_0000, size: 128 });
    q.marker_area += 32;
    p.queues.push(q);
    p.script.push(HostOp::InitQueue { queue: q.id }.into());
    let src = p.arch.host_base() + 0x100_0000;
    p.script.push(HostOp::Copy { queue: q.id, src, dst: HBM, size: 100 }.into());
    p
}

/// Descriptors of other classes, copied in and never rung: META, an ambiguous compute word,
/// reserved bits.
pub fn odd() -> Program {
    use dmadbg::udma::Desc;
    let mut p = base(Generation::V4, 32);
    p.queues[0].allocatable = false;
    let copy_word = 0x0108_0003;
    let descs = [
        Desc::new_meta(1, copy_word, 7, 1.5f32.to_bits()),
        Desc { len_ctrl: 0x0d00_0100, word1: 0x0200_a002, ptr: HBM },
        Desc { len_ctrl: 0x0d7f_0100, word1: 0x00a0_0003, ptr: 0x2000_0010_0000_0020 },
    ];
    let bytes: Vec<u8> = descs.iter().flat_map(|d| d.to_bytes()).collect();
    let ring = RingType::Dir(Dir::Tx);
    p.script.push(HostOp::CopyIn { queue: Q, ring, at: 0, descs: Blob::from_vec(bytes) }.into());
    p
}

pub fn model(p: Program, file: &str, size: (u16, u16)) -> Model {
    let title = Title { file: file.into(), ..Title::default() };
    Model::new(Session::new(Arc::new(p)), title, Theme::default(), size)
}

pub fn plain(mut m: Model) -> Model {
    m.theme = Theme { palette: Palette::Plain, ..Theme::default() };
    m
}

/// Keys by name: a letter is itself, `<Tab>` and the like are the others, `^c` is Ctrl-c.
pub fn keys(m: &mut Model, text: &str) -> bool {
    let mut rest = text;
    let mut on = true;
    while let Some(c) = rest.chars().next() {
        let (code, modifiers, n) =
            if let Some((name, _)) = rest.strip_prefix('<').and_then(|r| r.split_once('>')) {
                let code = match name {
                    "Tab" => KeyCode::Tab,
                    "BackTab" => KeyCode::BackTab,
                    "Enter" => KeyCode::Enter,
                    "Esc" => KeyCode::Esc,
                    "Up" => KeyCode::Up,
                    "Down" => KeyCode::Down,
                    "Left" => KeyCode::Left,
                    "Right" => KeyCode::Right,
                    "PgDn" => KeyCode::PageDown,
                    "PgUp" => KeyCode::PageUp,
                    "Home" => KeyCode::Home,
                    "End" => KeyCode::End,
                    "Bs" => KeyCode::Backspace,
                    other => panic!("{other}"),
                };
                (code, KeyModifiers::NONE, name.len() + 2)
            } else if c == '^' {
                let c = rest.chars().nth(1).unwrap();
                (KeyCode::Char(c), KeyModifiers::CONTROL, 1 + c.len_utf8())
            } else {
                (KeyCode::Char(c), KeyModifiers::NONE, c.len_utf8())
            };
        on &= update_all(m, Message::Key(KeyEvent::new(code, modifiers)));
        rest = &rest[n..];
    }
    on
}

/// Enters a line of the command language.
pub fn typed(m: &mut Model, line: &str) {
    keys(m, ":");
    update_all(m, Message::Paste(line.to_owned()));
    keys(m, "<Enter>");
}

/// The newest answer.
pub fn said(m: &Model) -> String {
    m.said.as_ref().map(|s| s.text.clone()).unwrap_or_default()
}

/// The files hold another program now.
pub fn reload(m: &mut Model, p: Program) {
    let title = Title { file: m.title.file.clone(), ..Title::default() };
    let fresh = Fresh { program: Arc::new(p), title };
    let notice = Notice::Loaded { fresh, same: false, asked: false };
    assert!(update_all(m, Message::Files(notice)));
}

pub fn draw(m: &Model) -> Buffer {
    let mut buf = Buffer::empty(Rect::new(0, 0, m.size.0, m.size.1));
    dmadbg::ui::view::draw(m, &mut buf);
    buf
}

/// Text lines without trailing blanks.
pub fn text(buf: &Buffer) -> String {
    let mut out = String::new();
    for y in buf.area.top()..buf.area.bottom() {
        let line: String =
            (buf.area.left()..buf.area.right()).map(|x| buf[(x, y)].symbol()).collect();
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

fn style_name(s: Style) -> String {
    let mut parts = Vec::new();
    let colour = |c: Color| c.to_string().to_lowercase();
    if let Some(c) = s.fg.filter(|c| *c != Color::Reset) {
        parts.push(colour(c));
    }
    if let Some(c) = s.bg.filter(|c| *c != Color::Reset) {
        parts.push(format!("on {}", colour(c)));
    }
    for (name, m) in [
        ("bold", Modifier::BOLD),
        ("dim", Modifier::DIM),
        ("italic", Modifier::ITALIC),
        ("underlined", Modifier::UNDERLINED),
        ("reversed", Modifier::REVERSED),
    ] {
        if s.add_modifier.contains(m) {
            parts.push(name.into());
        }
    }
    parts.join(" ")
}

/// What a cell's style shows: how a blank is coloured does only where it has a background or a
/// modifier.
pub fn shown_style(cell: &Cell) -> String {
    let name = style_name(cell.style());
    let seen = ["on ", "re", "underlined"].iter().any(|part| name.contains(part));
    if cell.symbol() == " " && !seen { String::new() } else { name }
}

/// The text, then for each line the runs of cells that do not look plain.
pub fn styled(buf: &Buffer) -> String {
    let mut out = text(buf);
    out.push_str("---- styles: line: columns style\n");
    for y in buf.area.top()..buf.area.bottom() {
        let mut runs: Vec<(u16, u16, String)> = Vec::new();
        for x in buf.area.left()..buf.area.right() {
            let name = shown_style(&buf[(x, y)]);
            match runs.last_mut() {
                Some((_, end, last)) if *last == name => *end = x,
                _ => runs.push((x, x, name)),
            }
        }
        let runs: Vec<String> = runs
            .into_iter()
            .filter(|r| !r.2.is_empty())
            .map(|(a, b, s)| if a == b { format!("{a} {s}") } else { format!("{a}-{b} {s}") })
            .collect();
        if !runs.is_empty() {
            let _ = writeln!(out, "{y}: {}", runs.join(" | "));
        }
    }
    out
}

/// One pane alone.
pub fn pane(m: &Model, pane: dmadbg::ui::Pane, w: u16, h: u16) -> Buffer {
    // Away from the left edge, so that the line beside it is drawn.
    let mut buf = Buffer::empty(Rect::new(0, 0, w + 1, h));
    dmadbg::ui::view::draw_pane(m, pane, Rect::new(1, 0, w, h), &mut buf);
    buf
}

/// A module of `sample-programs/` on rings, with bytes in its inputs.
pub fn module(name: &str) -> Program {
    let path = format!("{}/sample-programs/{name}", env!("CARGO_MANIFEST_DIR"));
    module_of(name, &std::fs::read_to_string(path).unwrap())
}

/// A module by its text, lowered, with numbers in its inputs.
pub fn module_of(name: &str, text: &str) -> Program {
    use dmadbg::engine::lower::{self, Stage};
    use dmadbg::engine::module_run::{self, Initial, Options};
    let loaded = dmadbg::load::bir::read_text(name, text).unwrap();
    let lowered = lower::lower(&loaded.module, &lower::Options::default(), Stage::LowerDma);
    let mut initial = Initial::default();
    for (set, location) in loaded.module.locations() {
        if set.kind == Some(dmadbg::bir::TensorKind::ExternalInput) {
            let n: u64 = location.dims.iter().product();
            let bytes = (0..n).map(|i| i as u8).collect();
            initial.given.insert(location.name.to_string(), bytes);
        }
    }
    let place = |pos| loaded.spans.place(&dmadbg::bir::At::Inst(pos, dmadbg::bir::Part::Whole));
    module_run::program(&lowered, &place, &initial, &Options::new(Generation::V3)).unwrap()
}

/// A session in which the lines were run as a script.
pub fn replayed(p: Program, lines: &[String]) -> Session {
    let none = |_: &str, _: &str| Err(Diagnostic::new("S009", "nothing is sourced"));
    let text = format!("dbg 1\n{}\n", lines.join("\n"));
    let script = runner::parse("r.dbg", &text, &mut none.clone()).unwrap();
    let mut session = Session::new(Arc::new(p));
    let end = runner::run(&mut session, &script, &mut |_| {});
    assert_eq!(end, End::Done, "{text}");
    session
}

/// The script comes to where the screen is, with all that it was told.
pub fn same(m: &Model, s: &Session, lines: &[String]) {
    let here = &m.session;
    assert_eq!(here.position(), s.position(), "{lines:#?}");
    assert_eq!(here.machine().digest(), s.machine().digest(), "{lines:#?}");
    assert_eq!((here.marks(), here.vars()), (s.marks(), s.vars()), "{lines:#?}");
    let stops = |s: &Session| {
        s.stops().iter().map(|s| (s.number, s.text(), s.enabled, s.hits)).collect::<Vec<_>>()
    };
    assert_eq!(stops(here), stops(s), "{lines:#?}");
}
