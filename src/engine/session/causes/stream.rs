//! From the bytes that a packet delivers to the bytes that it read: where in the stream, and in
//! which Tx descriptor (`docs/causes.md`, "Through a packet").

use super::access::Span;
use crate::bir::{Dtype, TransposeOp};
use crate::engine::ring::Machine;
use crate::engine::ring::device::{Packet, Work};
use crate::engine::ring::few::Few;
use crate::engine::ring::queue::Held;
use crate::udma::count_of;
use crate::udma::payload::Payload;

/// What a packet streamed, and what was done with it.
#[derive(Debug, Clone)]
pub(super) struct Stream {
    tx: Few<Held>,
    work: Work,
    bytes: u64,
}

/// Bytes of one Tx descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    /// Which descriptor since reset.
    pub k: u64,
    /// Its address field.
    pub ptr: u64,
    /// First byte in it.
    pub at: u64,
    /// Bytes.
    pub len: u64,
}

impl Stream {
    /// Of the packet in work.
    pub fn of(p: &Packet) -> Stream {
        Stream { tx: p.tx.clone(), work: p.work.clone(), bytes: p.tx_bytes }
    }

    /// What was done, in words; nothing where the bytes were copied as they are.
    pub fn computes(&self) -> Option<String> {
        match &self.work {
            Work::Copy | Work::Refused(_) => None,
            Work::Replicate(n) => {
                Some(format!("replicate, {n_times}", n_times = count_of(n, "time")))
            }
            Work::Compute(payload) => Some(match &**payload {
                Payload::Transpose { .. } => "transpose".to_owned(),
                Payload::Cast { .. } => "cast".to_owned(),
                Payload::Sum { sources, .. } => {
                    format!("{} of {}", payload.class(), count_of(sources.len(), "source"))
                }
            }),
        }
    }

    /// The Tx bytes of which the delivered bytes from `at` on are made, at most `most` parts.
    pub fn sources(&self, at: u64, len: u64, most: usize) -> Vec<Part> {
        let spans = match &self.work {
            Work::Copy | Work::Refused(_) => vec![(at, len)],
            Work::Replicate(_) => repeated(at, len, self.bytes, most),
            Work::Compute(payload) => computed(payload, self.bytes, (at, len), most),
        };
        let mut out = Vec::new();
        for span in spans {
            self.split(span, &mut out);
            if out.len() >= most {
                out.truncate(most);
                break;
            }
        }
        out
    }

    /// A stretch of the stream by the descriptors that it lies in.
    fn split(&self, (at, len): Span, out: &mut Vec<Part>) {
        let end = at.saturating_add(len);
        let mut from = 0;
        for x in self.tx.iter().filter(|x| !x.desc.is_meta()) {
            let to = from + x.desc.length();
            let (a, b) = (at.max(from), end.min(to));
            if a < b {
                out.push(Part { k: x.k, ptr: x.desc.ptr, at: a - from, len: b - a });
            }
            from = to;
        }
    }
}

/// The stream is written over and over.
fn repeated(mut at: u64, mut len: u64, bytes: u64, most: usize) -> Vec<Span> {
    let mut out = Vec::new();
    while len > 0 && bytes > 0 && out.len() < most {
        let n = (bytes - at % bytes).min(len);
        out.push((at % bytes, n));
        (at, len) = (at + n, len - n);
    }
    out
}

fn computed(payload: &Payload, bytes: u64, (at, len): Span, most: usize) -> Vec<Span> {
    let size = |n: u8| Dtype::by_number(n.into()).map_or(1, |d| d.bytes());
    match payload {
        Payload::Sum { sources, to, .. } => {
            let sizes: Vec<u64> = sources.iter().map(|s| size(s.dtype)).collect();
            let count = bytes / sizes.iter().sum::<u64>().max(1);
            let (first, end) = elements(at, len, size(*to));
            let mut base = 0;
            let mut out = Vec::new();
            for s in sizes {
                out.push((base + first * s, (end - first) * s));
                base += count * s;
            }
            out
        }
        Payload::Cast { from, to } => {
            let (first, end) = elements(at, len, size(*to));
            vec![(first * size(*from), (end - first) * size(*from))]
        }
        Payload::Transpose { order, elem, dims } => {
            let Some(op) = TransposeOp::by_number((*order).into()) else { return Vec::new() };
            transposed(op, u64::from(*elem), dims.map(u64::from), (at, len), most)
        }
    }
}

/// Elements of `size` bytes that the bytes from `at` on lie in: the first, and the one behind the
/// last.
fn elements(at: u64, len: u64, size: u64) -> (u64, u64) {
    (at / size, at.saturating_add(len).div_ceil(size))
}

/// Where the bytes of a permutation were: runs, each as long as it goes.
fn transposed(
    op: TransposeOp,
    elem: u64,
    dims: [u64; 4],
    (at, len): Span,
    most: usize,
) -> Vec<Span> {
    let order = op.order();
    let steps = [dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1];
    let source = |mut e: u64| {
        let mut from = 0;
        for k in order.into_iter().rev() {
            let n = dims[k].max(1);
            from += (e % n) * steps[k];
            e /= n;
        }
        from
    };
    let elem = elem.max(1);
    let mut out: Vec<Span> = Vec::new();
    let end = at.saturating_add(len);
    let mut at = at;
    while at < end {
        let n = (elem - at % elem).min(end - at);
        let from = source(at / elem) * elem + at % elem;
        let full = out.len() >= most;
        match out.last_mut() {
            Some(last) if last.0 + last.1 == from => last.1 += n,
            _ if full => break,
            _ => out.push((from, n)),
        }
        at += n;
    }
    out
}

/// The packet in work of the queue that made the newest event, and how many bytes it had
/// delivered before the last `len` of them.
pub(super) fn delivered(m: &Machine, queue: usize, len: u64) -> (Stream, u64) {
    let p = &m.queues[queue].packet;
    (Stream::of(p), p.delivered.saturating_sub(len))
}
