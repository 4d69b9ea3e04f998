//! How long a frame takes at 200x60: random keys, the update and the drawing told apart.
//! `cargo bench --bench frame` prints them for the samples with the most to show and for an
//! image of a GiB (`DMADBG_BENCH_MIB`); nothing is asserted.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use dmadbg::cli::args::{ModuleOpts, RingOpts};
use dmadbg::cli::{Cli, browse};
use dmadbg::engine::session::Session;
use dmadbg::ui::update::{Message, update_all};
use dmadbg::ui::{Model, Theme};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

const SIZE: (u16, u16) = (200, 60);
const KEYS: usize = 4000;

/// Keys that step, scroll and look around; none that runs to the end or asks for a text.
fn key(r: u64) -> (KeyCode, KeyModifiers) {
    let none = KeyModifiers::NONE;
    match r % 16 {
        0 | 1 => (KeyCode::Char('s'), none),
        2 => (KeyCode::Char('n'), none),
        3 => (KeyCode::Char('S'), none),
        4 | 5 => (KeyCode::Down, none),
        6 => (KeyCode::Up, none),
        7 | 8 => (KeyCode::PageDown, none),
        9 => (KeyCode::PageUp, none),
        10 => (KeyCode::End, none),
        11 => (KeyCode::Home, none),
        12 => (KeyCode::Tab, none),
        13 => (KeyCode::BackTab, KeyModifiers::SHIFT),
        14 => (KeyCode::Left, none),
        _ => (KeyCode::Right, none),
    }
}

/// How often this thread was sent off its processor so far; 0 where the system does not tell.
fn sent_off() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix("nonvoluntary_ctxt_switches:"));
    line.and_then(|n| n.trim().parse().ok()).unwrap_or(0)
}

/// Seconds of a call; none where something else had the processor meanwhile, which says nothing
/// of the call. How many those were is printed.
fn timed(f: impl FnOnce()) -> Option<f64> {
    let (before, begin) = (sent_off(), Instant::now());
    f();
    let took = begin.elapsed().as_secs_f64();
    (sent_off() == before).then_some(took)
}

fn told(what: &str, times: Vec<Option<f64>>) {
    let left_out = times.iter().filter(|t| t.is_none()).count();
    let mut times: Vec<f64> = times.into_iter().flatten().collect();
    if times.is_empty() {
        return println!("  {what:<8} no call had the processor for itself");
    }
    times.sort_by(f64::total_cmp);
    let at = |part: f64| times[((times.len() - 1) as f64 * part) as usize] * 1e3;
    println!(
        "  {what:<8} p50 {:>7.3}  p99 {:>7.3}  max {:>7.3} ms, {left_out} of {} interrupted",
        at(0.5),
        at(0.99),
        at(1.0),
        times.len() + left_out
    );
}

fn measure(path: &Path) {
    use clap::Parser as _;
    let cli = Cli::parse_from([std::ffi::OsStr::new("dmadbg"), path.as_os_str()]);
    let (rings, module): (&RingOpts, &ModuleOpts) = (&cli.open.rings, &cli.open.module);
    let Ok((program, title)) = browse(&[path.to_owned()], rings, module, false) else {
        return println!("{}: not read", path.display());
    };
    println!("{}", path.file_name().unwrap_or_default().to_string_lossy());
    let session = Session::new(program);
    let mut model = Model::new(session, title, Theme::default(), SIZE);
    let mut buf = Buffer::empty(Rect::new(0, 0, SIZE.0, SIZE.1));
    let (mut updates, mut draws) = (Vec::new(), Vec::new());
    let mut r = 0x9e37_79b9_7f4a_7c15u64;
    for _ in 0..KEYS {
        r ^= r << 13;
        r ^= r >> 7;
        r ^= r << 17;
        let (code, modifiers) = key(r >> 20);
        updates.push(timed(|| {
            update_all(&mut model, Message::Key(KeyEvent::new(code, modifiers)));
        }));
        draws.push(timed(|| {
            buf.reset();
            dmadbg::ui::view::draw(&model, &mut buf);
        }));
    }
    told("update", updates);
    told("draw", draws);
}

fn main() {
    let mut samples: Vec<PathBuf> =
        std::env::args().skip(1).filter(|a| !a.starts_with('-')).map(PathBuf::from).collect();
    let dir = tempfile::tempdir().unwrap();
    if samples.is_empty() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("sample-programs");
        let mut all: Vec<(u64, PathBuf)> = std::fs::read_dir(root)
            .unwrap()
            .flatten()
            .filter_map(|e| Some((e.metadata().ok().filter(|m| m.is_file())?.len(), e.path())))
            .collect();
        all.sort();
        samples.extend(all.into_iter().rev().take(6).map(|f| f.1));
        let mib: u64 =
            std::env::var("DMADBG_BENCH_MIB").ok().and_then(|t| t.parse().ok()).unwrap_or(1024);
        let path = dir.path().join("large.tx.bin");
        let mut out = BufWriter::with_capacity(1 << 20, std::fs::File::create(&path).unwrap());
        for i in 0..mib << 16 {
            let ptr = 0x4000_1000_0000u64 + i * 4096;
            out.write_all(&0x0d00_1000u32.to_le_bytes()).unwrap();
            out.write_all(&0x0108_0003u32.to_le_bytes()).unwrap();
            out.write_all(&ptr.to_le_bytes()).unwrap();
        }
        out.flush().unwrap();
        samples.push(path);
    }
    samples.iter().for_each(|p| measure(p));
}
