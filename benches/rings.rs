//! How fast the ring model, the timeline and the loaders are. `cargo bench --bench rings`
//! prints one line a measurement; nothing is asserted.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use dmadbg::check::{self, ImageView, RingPair};
use dmadbg::engine::command::{Command, Goto, Unit, Who};
use dmadbg::engine::expr::Expr;
use dmadbg::engine::program::{Blob, HostOp, Program};
use dmadbg::engine::ring::machine;
use dmadbg::engine::session::Session;
use dmadbg::load::{self, LoadOptions, asm};
use dmadbg::udma::{Generation, PairRequest, Profile, build_pair};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

fn measure<T>(what: &str, unit: &str, count: u64, mut f: impl FnMut() -> T) {
    black_box(f());
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let begin = Instant::now();
        black_box(f());
        best = best.min(begin.elapsed().as_secs_f64());
    }
    println!("{what:<52} {:>9.3} ms  {:>10.3} M {unit}/s", best * 1e3, count as f64 / best / 1e6);
}

/// Copies of `size` bytes, `n` of them, on the production ring.
fn copies(n: usize, size: u64) -> Program {
    let text = "dma 1\narch v2\nprofile dkms-2.24\n\
        queue e32.q0 tx=0x100040041000 tx_size=8192 rx=0x100040021000 rx_size=8192 marker=marker allocatable=yes\n\
        region hbm kind=device base=0x10000000 len=0x10000000 fill=zero\n\
        region marker kind=host base=0x100040061000 len=24 fill=zero\n\
        region buffer kind=host base=0x1000400a3000 len=0x10000000 fill=pattern:1\n\
        init e32.q0\n";
    let mut p = asm::assemble(text).unwrap().program;
    let queue = p.queues[0].id;
    for _ in 0..n {
        p.script.push(HostOp::Copy { queue, src: 0x1000_400a_3000, dst: 0x1000_0000, size }.into());
    }
    p
}

/// The two images of a ring with `n` pairs.
fn images(n: u64) -> [Vec<u8>; 2] {
    let (mut tx, mut rx) = (Vec::new(), Vec::new());
    for i in 0..n {
        let req = PairRequest {
            src: 0x4000_0000_0000 + i * 4096,
            dst: 0x1000_0000 + i * 4096,
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
    let p = copies(20, 2032 * 65_536);
    let events = machine::run(&p, |_, _| true).machine.n;
    measure("ring model, 20 full batches of 64 KiB", "events", events, || {
        machine::run(&p, |_, _| true).machine.n
    });
    let mut s = Session::new(Arc::new(p));
    s.execute(&Command::Goto(Goto::Mark("end".into()))).unwrap();
    let goto = |n| Command::Goto(Goto::Event(Expr::Num(n)));
    measure("goto the middle and the end of that run", "jumps", 2, || {
        s.execute(&goto(events / 2)).unwrap();
        s.execute(&goto(u64::MAX)).unwrap();
    });
    for (what, unit) in [("slot", Unit::Slot), ("batch", Unit::Batch)] {
        let back = Command::Step { count: 1, unit, who: Who::Any, back: true };
        s.execute(&goto(u64::MAX)).unwrap();
        measure(&format!("reverse-step {what} from its end"), "steps", 1, || {
            s.execute(&goto(u64::MAX)).unwrap();
            s.execute(&back).unwrap();
        });
    }
    let n = 1 << 20;
    let [tx, rx] = images(n);
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
