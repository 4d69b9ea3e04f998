//! What the measurements share: times, memory, and the production ring.
#![allow(dead_code, clippy::unwrap_used, missing_docs)]

use dmadbg::engine::program::{HostOp, Program};
use dmadbg::load::asm;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// The system counts in ticks: long enough for many of them.
const LONG: Duration = Duration::from_millis(200);

/// Seconds that this thread had of a processor, as far as the system tells.
fn on_cpu() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse::<u64>().ok().map(|n| n as f64 / 1e9)
}

/// What a call takes of this thread's processor, in seconds: what others do beside it counts less
/// than by the clock. By the clock where the system does not tell.
pub fn timed<T>(f: impl FnOnce() -> T) -> f64 {
    let (busy, begin) = (on_cpu(), Instant::now());
    black_box(f());
    let clock = begin.elapsed().as_secs_f64();
    busy.zip(on_cpu()).map(|(a, b)| b - a).filter(|t| *t > 0.0).unwrap_or(clock)
}

/// The same of one of so many calls that they take long, the best of `runs` times.
pub fn busy<T>(runs: usize, mut f: impl FnMut() -> T) -> f64 {
    let one = |_| {
        let (begin, mut times) = (Instant::now(), 0u32);
        let took = timed(|| {
            while begin.elapsed() < LONG {
                black_box(f());
                times += 1;
            }
        });
        took / f64::from(times)
    };
    (0..runs).map(one).fold(f64::INFINITY, f64::min)
}

/// Seconds of a call by the clock, the best of `runs` times.
pub fn best<T>(runs: usize, mut f: impl FnMut() -> T) -> f64 {
    let one = |_| {
        let begin = Instant::now();
        black_box(f());
        begin.elapsed().as_secs_f64()
    };
    (0..runs).map(one).fold(f64::INFINITY, f64::min)
}

/// Says how many of something a second there are.
pub fn rate(what: &str, unit: &str, count: u64, seconds: f64) {
    let per_us = count as f64 / seconds / 1e6;
    println!("{what:<52} {:>9.3} ms  {per_us:>10.3} M {unit}/s", seconds * 1e3);
}

/// Memory that the process holds, in KiB; 0 where the system does not tell.
pub fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|l| l.starts_with("VmRSS:"));
    line.and_then(|l| l.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}

/// The production queue between two buffers of 1 TiB, whose bytes are known by their rule alone.
pub fn production() -> Program {
    let text = "dma 1\narch v2\nprofile dkms-2.24\n\
        queue e32.q0 tx=0x100040041000 tx_size=8192 rx=0x100040021000 rx_size=8192 marker=marker allocatable=yes\n\
        region hbm kind=device base=0x10000000 len=0x10000000000 fill=zero\n\
        region marker kind=host base=0x100040061000 len=24 fill=zero\n\
        region buffer kind=host base=0x1000400a3000 len=0x10000000000 fill=pattern:1\n\
        init e32.q0\n";
    asm::assemble(text).unwrap().program
}

/// A copy from the one to the other, so many bytes in.
pub fn copy(p: &Program, at: u64, size: u64) -> HostOp {
    let queue = p.queues[0].id;
    HostOp::Copy { queue, src: 0x1000_400a_3000 + at, dst: 0x1000_0000 + at, size }
}

/// Copies of `size` bytes, `n` of them, from one place to another.
pub fn copies(n: usize, size: u64) -> Program {
    let mut p = production();
    for _ in 0..n {
        let op = copy(&p, 0, size);
        p.script.push(op.into());
    }
    p
}
