//! How fast large images are opened, judged, searched and printed, beside the limit that memory
//! sets: the sequential read of the same mapping by the same number of threads. `cargo bench
//! --bench images` prints a line a measurement for three sizes, the largest `DMADBG_BENCH_MIB`
//! (1024); nothing is asserted of time. `DMADBG_BENCH_NO_ROWS` leaves out the rows of decode and
//! export.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;

use dmadbg::check::{self, ImageView, RingPair, Survey};
use dmadbg::cli::args::RingOpts;
use dmadbg::cli::check::survey;
use dmadbg::cli::inputs::Depth;
use dmadbg::cli::inputs::load_options;
use dmadbg::engine::expr::{BinOp, Expr};
use dmadbg::engine::session::Session;
use dmadbg::load::module::ModuleOptions;
use dmadbg::load::raw::browse_program;
use dmadbg::load::{self, source};
use dmadbg::udma::{Dir, Generation, PairRequest, Profile, build_pair};
use dmadbg::ui::{Model, Theme, Title};
use fearless_simd::{Level, Simd, dispatch, prelude::*, u8x64, u64x8};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::fs::File;
use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Instant;
use support::{best, busy, resident};

const RUNS: usize = 5;

/// Writes an image of pairs as a driver stages them: pages, a completion pair after every 63.
fn image(path: &Path, bytes: u64, turns: bool) {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path).unwrap());
    let host = Generation::V3.host_base();
    let mut one = |i: u64| {
        let marker = i % 64 == 63;
        let (src, dst, size) = match marker {
            true => (host + 0x1000, host + 0x1004, 4),
            false => (host + 0x1000_0000 + i * 4096, 0x1_0000_0000 + i * 4096, 4096),
        };
        let (tx_ring_id, rx_ring_id) = (1, 1);
        let req = PairRequest {
            src,
            dst,
            size,
            tx_ring_id,
            rx_ring_id,
            barrier_code: 0,
            set_dst_int: false,
        };
        let (t, r) = build_pair(Profile::default_profile(), Generation::V3, &req).unwrap();
        out.write_all(&t.to_bytes()).unwrap();
        if turns {
            out.write_all(&r.to_bytes()).unwrap();
        }
    };
    let each = if turns { 32 } else { 16 };
    (0..bytes / each).for_each(&mut one);
    out.flush().unwrap();
}

/// Adds up every word, in registers as wide as the processor has: what is looked at faster than
/// this does not come from memory.
fn sum(part: &[u8]) -> u64 {
    #[inline(always)]
    fn wide<S: Simd>(s: S, lines: &[[u8; 64]]) -> u64 {
        let mut sums = [u64x8::splat(s, 0); 4];
        let (fours, rest) = lines.as_chunks::<4>();
        let load = |line| -> u64x8<S> { u8x64::from_slice(s, line).bitcast() };
        for four in fours {
            sums.iter_mut().zip(four).for_each(|(sum, line)| *sum += load(line));
        }
        rest.iter().for_each(|line| sums[0] += load(line));
        sums.into_iter().fold(u64x8::splat(s, 0), |a, b| a + b).reduce_sum()
    }
    let (lines, rest) = part.as_chunks::<64>();
    let words = rest.as_chunks::<8>().0.iter();
    let rest = words.fold(0u64, |s, w| s.wrapping_add(u64::from_le_bytes(*w)));
    dispatch!(Level::new(), s => wide(s, lines)).wrapping_add(rest)
}

/// Reads all of it, as many words at once as threads.
fn read(bytes: &[u8], threads: usize) -> u64 {
    let part = bytes.len().div_ceil(threads).next_multiple_of(8);
    thread::scope(|s| {
        let all: Vec<_> = bytes.chunks(part).map(|p| s.spawn(move || sum(p))).collect();
        all.into_iter().map(|t| t.join().unwrap()).fold(0, u64::wrapping_add)
    })
}

fn row(what: &str, bytes: u64, seconds: f64, limit: f64) {
    let (ms, rate) = (seconds * 1e3, bytes as f64 / 1e9 / seconds);
    let of = limit / seconds * 100.0;
    println!("  {what:<52} {ms:>9.2} ms {rate:>7.2} GB/s {of:>5.0} % of reading");
}

/// Opens an image as the screen does and draws it once.
fn first_frame(path: &Path) -> (f64, u64) {
    let before = resident();
    let begin = Instant::now();
    let (rings, module) = (RingOpts::default(), ModuleOptions::default());
    let (session, title) = open(path, &rings, &module);
    let size = (200, 60);
    let mut model = Model::new(session, title, Theme::default(), size);
    model.prepare();
    let mut buf = Buffer::empty(Rect::new(0, 0, size.0, size.1));
    dmadbg::ui::view::draw(&model, &mut buf);
    black_box(&buf);
    (begin.elapsed().as_secs_f64(), resident().saturating_sub(before))
}

fn open(path: &Path, rings: &RingOpts, module: &ModuleOptions) -> (Session, Title) {
    let options = load_options(rings, module, Depth::Look);
    let loaded = load::open(&[path.to_owned()], &options).unwrap();
    let program = loaded.program.clone().unwrap_or_else(|| {
        let opts = load_options(rings, module, Depth::Browse);
        Arc::new(browse_program(&loaded.images, &opts))
    });
    let title = Title { file: loaded.name, notes: loaded.report.items, ..Title::default() };
    (Session::new(program), title)
}

fn pair<'a>(tx: &'a ImageView<'a>, rx: Option<&'a ImageView<'a>>) -> RingPair<'a> {
    RingPair {
        tx: Some(tx),
        rx: rx.map(|r| r as _),
        arch: Generation::V3,
        profile: Profile::default_profile(),
        queue: None,
        start: None,
        cursors: [None; 2],
    }
}

/// What the real program takes for a command on a file, its output thrown away.
fn program(args: &[&str], path: &Path) -> f64 {
    best(RUNS, || {
        let mut c = Command::new(env!("CARGO_BIN_EXE_dmadbg"));
        let done = c.args(args).arg(path).stdout(Stdio::null()).stderr(Stdio::null()).status();
        assert!(done.is_ok());
    })
}

fn main() {
    let largest = std::env::var("DMADBG_BENCH_MIB").ok().and_then(|t| t.parse().ok());
    let largest: u64 = largest.unwrap_or(1024) << 20;
    let dir = tempfile::tempdir().unwrap();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    // The growth of the process is told first, while it is small.
    let sizes = [largest / 16, largest / 4, largest];
    let paths: Vec<(u64, [PathBuf; 2])> = sizes
        .into_iter()
        .map(|n| {
            let path = |kind: &str| dir.path().join(format!("{n}.{kind}.bin"));
            let paths = [path("tx"), path("pairs")];
            image(&paths[0], n, false);
            image(&paths[1], n, true);
            (n, paths)
        })
        .collect();
    for (n, paths) in &paths {
        for path in paths {
            let (seconds, grown) = first_frame(path);
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            println!(
                "{:>5} MiB, first frame of {name}: {:.2} ms, resident {grown} KiB more",
                n >> 20,
                seconds * 1e3
            );
        }
    }
    for (n, [tx, turns]) in &paths {
        println!("{} MiB, {threads} threads", n >> 20);
        let s = source::open(turns).unwrap();
        s.in_order();
        let bytes = s.blob.bytes();
        let limit = best(RUNS, || read(bytes, threads));
        row("sequential read of the mapping", *n, limit, limit);
        let one = busy(RUNS, || sum(bytes));
        row("the same, time of one processor", *n, one, one);
        let (t, r) = (ImageView::interleaved(bytes, false), ImageView::interleaved(bytes, true));
        let p = pair(&t, Some(&r));
        row("check of pairs", *n, best(RUNS, || check::run_surveyed(p, &survey(&p))), limit);
        row("check of pairs, one thread", *n, busy(RUNS, || check::run(p)), one);
        let alone = source::open(tx).unwrap();
        alone.in_order();
        let all = ImageView::new(alone.blob.bytes());
        let p = pair(&all, None);
        row("the survey of one ring, one thread", *n, busy(RUNS, || Survey::of(&p)), one);
        let (session, _) = open(tx, &RingOpts::default(), &ModuleOptions::default());
        let here = |name: &str| Box::new(Expr::Here(vec![name.into()]));
        let short = Expr::Binary(BinOp::Eq, here("length"), Box::new(Expr::Num(77)));
        let odd = Expr::Binary(BinOp::Ne, here("phase"), Box::new(Expr::Num(1)));
        let far = Expr::Binary(BinOp::Gt, here("buf_ptr"), Box::new(Expr::Num(1 << 50)));
        let both = Expr::Binary(BinOp::LogOr, Box::new(odd.clone()), Box::new(far));
        let go_on = &mut |_| ControlFlow::Continue(());
        for (what, e) in
            [("length == 77", short), ("phase != 1", odd), ("phase != 1 || buf_ptr > ..", both)]
        {
            let seconds = busy(RUNS, || session.slots_found(Some(Dir::Tx), &e, go_on).unwrap());
            row(&format!("find {what}, one thread"), *n, seconds, one);
        }
        row("dmadbg check (process and all)", *n, program(&["check"], turns), limit);
        for args in
            [&["decode"][..], &["decode", "--format", "json"], &["export", "--as", "descriptors"]]
        {
            for path in [tx, turns] {
                if std::env::var_os("DMADBG_BENCH_NO_ROWS").is_some() {
                    continue;
                }
                let seconds = program(args, path);
                let name = path.extension().and(path.file_stem()).unwrap_or_default();
                println!(
                    "  {:<52} {:>9.2} ms {:>7.2} M descriptors/s",
                    format!("dmadbg {} {}", args.join(" "), name.to_string_lossy()),
                    seconds * 1e3,
                    *n as f64 / 16e6 / seconds
                );
            }
        }
    }
    let word = program(&["decode", "0x0d001000"], Path::new("0x01080003"));
    let version = program(&["--version"], Path::new("x"));
    println!("decode of two words {:.2} ms, --version {:.2} ms", word * 1e3, version * 1e3);
}
