//! How fast runs and rings are exported and compared. `cargo bench --bench export` prints one
//! line a measurement; nothing is asserted.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;

use dmadbg::engine::command::ExportForm;
use dmadbg::engine::diff::{Diff, rings};
use dmadbg::engine::program::Blob;
use dmadbg::engine::ring::{Event, machine};
use dmadbg::load::RawImage;
use dmadbg::load::export::{CsvTable, events, write_events, write_image};
use dmadbg::load::raw::{RingView, as_pair, in_order};
use dmadbg::udma::{Dir, Generation, PairRequest, Profile, build_pair};
use std::hint::black_box;
use std::io;
use support::{best, copies, rate};

fn measure<T>(what: &str, unit: &str, count: u64, mut f: impl FnMut() -> T) {
    black_box(f());
    rate(what, unit, count, best(3, f));
}

/// An image of `n` pairs; one is left out where `without` says so.
fn image(n: u64, without: Option<u64>) -> RawImage {
    let (mut tx, mut rx) = (Vec::new(), Vec::new());
    for i in (0..n).filter(|i| Some(*i) != without) {
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
    let ring = |dir, bytes| Some(RingView::whole(dir, Blob::from_vec(bytes)));
    RawImage::new("image", "", [ring(Dir::Tx, tx), ring(Dir::Rx, rx)])
}

fn main() {
    let p = copies(4000, 1 << 20);
    let mut run: Vec<Event> = Vec::new();
    machine::run(&p, |_, e| {
        run.push(*e);
        true
    });
    for form in [ExportForm::Events, ExportForm::EventsCsv, ExportForm::Perfetto] {
        let what = format!("events as {}", form.name());
        measure(&what, "events", run.len() as u64, || {
            let mut w = events(form, "bench", &p, None).unwrap();
            let each = &mut |f: &mut dyn FnMut(&Event) -> bool| {
                let _ = run.iter().all(f);
            };
            write_events(&mut *w, &p, &mut io::sink(), each).unwrap();
        });
    }
    let n = 1 << 20;
    let a = image(n, None);
    measure("descriptors as csv", "rows", 2 * n, || {
        let mut sink = io::sink();
        write_image(&a, None, &mut CsvTable::new(&mut sink)).unwrap();
    });
    for (what, without) in
        [("diff: a ring against itself", None), ("diff: one pair less in the middle", Some(n / 2))]
    {
        let b = image(n, without);
        let (x, y) = (in_order(&a, None), in_order(&b, None));
        measure(what, "descriptors", 2 * n, || {
            let mut diff = Diff::default();
            rings("", (as_pair(&x), as_pair(&y)), Generation::V3, &mut diff);
            assert_eq!(diff.entries.len(), usize::from(without.is_some()));
        });
    }
}
