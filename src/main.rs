//! The `dmadbg` program. For the time being it shows a built-in sample on the screen.

use dmadbg::diag::render;
use dmadbg::engine::program::{
    Fill, HostOp, Program, QueueDecl, QueueId, Region, RegionKind, RingDecl,
};
use dmadbg::engine::session::Session;
use dmadbg::udma::{Generation, Profile};
use dmadbg::ui::{Options, ScreenError, Title};
use std::process::ExitCode;
use std::sync::Arc;

/// Four copies on a ring of 64: it goes round, and the phase changes.
fn sample() -> Program {
    let arch = Generation::V3;
    let host = arch.host_base();
    let queue = QueueId { engine: 128, queue: 0 };
    let mut p = Program::new(arch, Profile::default_profile());
    p.queues.push(QueueDecl {
        id: queue,
        tx: Some(RingDecl { base: host + 0x7000_0000, size: 64 }),
        rx: Some(RingDecl { base: host + 0x7010_0000, size: 64 }),
        allocatable: true,
        marker_area: host + 0x6000_1000,
        first_ring_id: 1,
    });
    let region =
        |name: &str, kind, base, len, fill| Region { name: name.into(), kind, base, len, fill };
    p.regions = vec![
        region("host", RegionKind::Host, host + 0x100_0000, 16 << 20, Fill::Pattern(1)),
        region("marker", RegionKind::Host, host + 0x6000_1000, 64, Fill::Never),
        region("hbm", RegionKind::Device, 0x10_0000_0000, 1 << 30, Fill::Never),
    ];
    p.sort_regions();
    p.script.push(HostOp::InitQueue { queue }.into());
    for i in 0..4 {
        let (src, dst) = (host + 0x100_0000, 0x10_0000_0000 + i * 0x20_0000);
        p.script.push(HostOp::Copy { queue, src, dst, size: 17 * 65_536 + 4096 }.into());
    }
    p
}

fn main() -> ExitCode {
    let session = Session::new(Arc::new(sample()));
    let title = Title { file: "sample".to_owned(), notes: Vec::new() };
    match dmadbg::ui::run(session, title, Options::from_env()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(ScreenError::Refused(d)) => {
            eprint!("{}", render::text(&d, None, false));
            ExitCode::from(2)
        }
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}
