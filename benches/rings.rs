//! How fast the ring model, the timeline and the loaders are. `cargo bench --bench rings` prints
//! one line a measurement, by the time of one processor (`-- only=data` that of moving bytes);
//! nothing is asserted of time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;

use dmadbg::check::{self, ImageView, RingPair};
use dmadbg::engine::command::{Command, Goto, Unit, Who};
use dmadbg::engine::expr::Expr;
use dmadbg::engine::program::{Blob, Content, Program};
use dmadbg::engine::ring::machine;
use dmadbg::engine::session::Session;
use dmadbg::load::raw::to_program;
use dmadbg::load::{self, LoadOptions, RawImage, RingView};
use dmadbg::udma::{Dir, Generation, PairRequest, Profile, build_pair};
use std::hint::black_box;
use std::sync::Arc;
use support::{busy, copies, rate};

fn measure<T>(what: &str, unit: &str, count: u64, mut f: impl FnMut() -> T) -> f64 {
    black_box(f());
    let best = busy(3, f);
    rate(what, unit, count, best);
    best
}

/// Where the first byte is read and written.
const FROM: u64 = 0x4000_0000_0000;
const TO: u64 = 0x1000_0000;
const PAGE: usize = 4096;

/// The page that pair `k` of `n` (a power of two) writes, in order or strewn.
fn page(k: u64, n: u64, strewn: bool) -> u64 {
    if strewn { k.wrapping_mul(0x9e37_79b9) % n } else { k }
}

/// Pairs of 4 KiB each over `bytes`, as a raw image made a program. What they read is not known,
/// or what is given.
fn pages(bytes: u64, strewn: bool, data: Option<Blob>) -> Program {
    let [tx, rx] = images(bytes / PAGE as u64, strewn);
    let ring = |dir, bytes| Some(RingView::whole(dir, Blob::from_vec(bytes)));
    let image = RawImage::new("image", "", [ring(Dir::Tx, tx), ring(Dir::Rx, rx)]);
    let mut p = to_program(&image, &LoadOptions::default()).0.unwrap();
    p.contents.extend(data.map(|bytes| Content { addr: FROM, bytes }));
    p
}

/// With data: run to the end, and every byte that was moved read out where it came to lie; beside
/// a copy of as many bytes, page by page to the same places, by the machine's own `memcpy`. All of
/// it between buffers that were written before; of the larger ones hardly anything is in a cache.
fn data() {
    for mib in [16u64, 64, 256] {
        let bytes = mib << 20;
        let n = bytes / PAGE as u64;
        let mut out = vec![0u8; bytes as usize];
        let from: Vec<u8> = (0..bytes).map(|i| (i >> 3) as u8).collect();
        for strewn in [false, true] {
            let order = if strewn { "strewn" } else { "in order" };
            let limit =
                measure(&format!("memcpy of {mib} MiB, pages {order}"), "bytes", bytes, || {
                    for (k, page_from) in from.chunks_exact(PAGE).enumerate() {
                        let at = page(k as u64, n, strewn) as usize * PAGE;
                        out[at..at + PAGE].copy_from_slice(page_from);
                    }
                    black_box(&out);
                });
            let known = Some(Blob::from_vec(from.clone()));
            for (what, p) in [
                ("known bytes", pages(bytes, strewn, known)),
                ("unknown bytes", pages(bytes, strewn, None)),
            ] {
                let p = Arc::new(p);
                let told = |took: f64| println!("  {:.0} % of memcpy", limit / took * 100.0);
                let what = format!("  {mib} MiB, {order}, {what}");
                told(measure(&format!("{what}, plain steps"), "bytes", bytes, || {
                    machine::run(&p, |_, _| true).machine.n
                }));
                told(measure(&format!("{what}, with history"), "bytes", bytes, || {
                    let mut s = Session::new(p.clone());
                    s.execute(&Command::Goto(Goto::Mark("end".into()))).unwrap();
                    s.position()
                }));
                told(measure(&format!("{what}, with history, read out"), "bytes", bytes, || {
                    let mut s = Session::new(p.clone());
                    s.execute(&Command::Goto(Goto::Mark("end".into()))).unwrap();
                    s.machine().memory.read(TO, &mut out);
                    black_box(&out);
                }));
                if what.contains(" known") {
                    let k = n / 3;
                    let at = page(k, n, strewn) as usize * PAGE;
                    let (k, page) = (k as usize * PAGE, &out[at..at + PAGE]);
                    assert_eq!(page, &from[k..k + PAGE], "the bytes are those that were to come");
                }
            }
        }
    }
}

/// The two images of a ring with `n` pairs.
fn images(n: u64, strewn: bool) -> [Vec<u8>; 2] {
    let (mut tx, mut rx) = (Vec::new(), Vec::new());
    for i in 0..n {
        let req = PairRequest {
            src: FROM + i * 4096,
            dst: TO + page(i, n, strewn) * 4096,
            size: 4096,
            tx_ring_id: 1,
            rx_ring_id: 1,
            barrier_code: 0,
            set_dst_int: false,
        };
        let (t, r) = build_pair(Profile::default_profile(), Generation::V3, &req).unwrap();
        tx.extend(t.to_bytes());
        rx.extend(r.to_bytes());
    }
    [tx, rx]
}

fn main() {
    if std::env::args().any(|a| a == "only=data") {
        return data();
    }
    for chunks in [1u64 << 20, 1 << 22, 1 << 24] {
        let p = Arc::new(copies(1, chunks << 16));
        let what = format!("ring model with history, {chunks} pairs, control only");
        measure(&what, "descriptors", 2 * chunks, || {
            let mut s = Session::new(p.clone());
            s.execute(&Command::Goto(Goto::Mark("end".into()))).unwrap();
            s.position()
        });
    }
    data();
    let p = copies(20, 2032 * 65_536);
    let events = machine::run(&p, |_, _| true).machine.n;
    measure("ring model, 20 full batches of 64 KiB", "events", events, || {
        machine::run(&p, |_, _| true).machine.n
    });
    let mut s = Session::new(Arc::new(p));
    let end = Command::Goto(Goto::Mark("end".into()));
    s.execute(&end).unwrap();
    let goto = |n| Command::Goto(Goto::Event(Expr::Num(n)));
    measure("goto the middle and the end of that run", "jumps", 2, || {
        s.execute(&goto(events / 2)).unwrap();
        s.execute(&end).unwrap();
    });
    for (what, unit) in [("slot", Unit::Slot), ("batch", Unit::Batch)] {
        let back = Command::Step { count: 1, unit, who: Who::Any, back: true };
        s.execute(&end).unwrap();
        measure(&format!("reverse-step {what} from its end"), "steps", 1, || {
            s.execute(&end).unwrap();
            s.execute(&back).unwrap();
        });
    }
    let n = 1 << 20;
    let [tx, rx] = images(n, false);
    measure("check of a pair of images, 1 Mi slots each", "descriptors", 2 * n, || {
        let (tx, rx) = (ImageView::new(&tx), ImageView::new(&rx));
        check::run(RingPair {
            tx: Some(&tx),
            rx: Some(&rx),
            arch: Generation::V3,
            profile: Profile::default_profile(),
            queue: None,
            start: None,
            cursors: [None; 2],
        })
    });
    let blob = Blob::from_vec(tx);
    let browse = LoadOptions { browse: true, ..LoadOptions::default() };
    measure("open a raw image of 16 MiB for browsing", "opens", 1, || {
        load::load_bytes("ring.bin", blob.clone(), &browse).unwrap()
    });
}
