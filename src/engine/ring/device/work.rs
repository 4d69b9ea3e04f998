//! What a packet does with its stream, by its class and its META words.
//!
//! MODEL: which bytes a compute packet streams follows `docs/wire.md`, "Packets"; what it
//! computes is told by META words that are this project's own (`docs/author.md`, "META
//! payload"). A packet whose words are any others is not executed.

use super::super::memory::Content;
use super::Packet;
use crate::bir::compute;
use crate::bir::{AluOp, Dtype, TransposeOp};
use crate::udma::payload::{self, NotKnown, Payload, SubOp};
use crate::udma::{Desc, class};
use std::sync::Arc;

/// What is done with the bytes that Tx streams.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Work {
    /// They are written as they come.
    #[default]
    Copy,
    /// They are written so often.
    Replicate(u64),
    /// They are computed on once all of them are there.
    Compute(Arc<Payload>),
    /// The packet is not executed.
    Refused(Refusal),
}

/// Why a packet is not executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// What it computes is not known.
    Payload(NotKnown),
    /// Its descriptors name more than one operation.
    Mixed,
    /// It is to be written zero times.
    NoCopies,
    /// Its lengths are no whole number of elements for every source.
    Lengths,
    /// The operation does not work on its element types.
    Types,
}

impl Refusal {
    /// In words.
    pub fn words(self) -> String {
        match self {
            Refusal::Payload(why) => why.to_string(),
            Refusal::Mixed => "its descriptors name more than one operation".to_owned(),
            Refusal::NoCopies => "its replication count is 0".to_owned(),
            Refusal::Lengths => {
                "its lengths do not divide into the elements that its META words tell of".to_owned()
            }
            Refusal::Types => {
                "its operation does not work on the element types in its META words".to_owned()
            }
        }
    }
}

/// What a complete packet does, and how many bytes that gives for Rx.
pub fn judge(p: &Packet) -> (Work, u64) {
    let Some(word) = p.data().next().map(|x| x.desc.word1) else {
        return (Work::Refused(Refusal::Payload(NotKnown::Absent)), 0);
    };
    // One operation a packet: what it does with some bytes it does with all.
    let all = |like: &dyn Fn(u32) -> bool| p.data().all(|x| like(x.desc.word1));
    if class::is_copy(word) && all(&class::is_copy) {
        return (Work::Copy, p.tx_bytes);
    }
    let found = match class::readings(word).as_slice() {
        [c] if c.name == "copy" => Err(Refusal::Mixed),
        [c] if c.name == "replicate" && !all(&|w| (w ^ word) & !payload::BARRIER == 0) => {
            Err(Refusal::Mixed)
        }
        [c] if c.name == "replicate" => {
            match c.fields.first().map_or(0, |f| f.get(u64::from(word))) {
                0 => Err(Refusal::NoCopies),
                n => Ok((Work::Replicate(n), p.tx_bytes.saturating_mul(n))),
            }
        }
        _ => computed(p, word),
    };
    // A refused packet waits for as many bytes as it streams.
    found.unwrap_or_else(|why| (Work::Refused(why), p.tx_bytes))
}

fn computed(p: &Packet, word: u32) -> Result<(Work, u64), Refusal> {
    let front = p.tx.iter().take_while(|x| x.desc.is_meta()).count();
    let metas: Vec<Desc> = p.tx.iter().map(|x| x.desc).filter(|d| d.is_meta()).collect();
    if front < metas.len() {
        return Err(Refusal::Payload(NotKnown::Foreign));
    }
    let payload = payload::read(&metas, word).map_err(Refusal::Payload)?;
    // Every descriptor carries the word; a barrier is each one's own.
    if p.data().any(|x| x.desc.word1 & !payload::BARRIER != payload.word()) {
        return Err(Refusal::Mixed);
    }
    let need = rx_bytes(&payload, p.tx_bytes)?;
    Ok((Work::Compute(Arc::new(payload)), need))
}

/// How many bytes a computation makes of `tx_bytes`.
///
/// # Errors
/// The types cannot be computed on, or the bytes are no whole number of elements.
pub fn rx_bytes(payload: &Payload, tx_bytes: u64) -> Result<u64, Refusal> {
    match payload {
        Payload::Sum { sources, to, .. } => {
            let types: Option<Vec<Dtype>> = sources.iter().map(|s| dtype(s.dtype)).collect();
            let (types, to) = types.zip(dtype(*to)).ok_or(Refusal::Types)?;
            if !types.iter().chain([&to]).all(|d| compute::is_cce_dtype(*d)) {
                return Err(Refusal::Types);
            }
            Ok(elements(tx_bytes, types.iter().map(|d| d.bytes()).sum())? * to.bytes())
        }
        Payload::Cast { from, to } => {
            let (from, to) = dtype(*from).zip(dtype(*to)).ok_or(Refusal::Types)?;
            if !compute::can_cast(from, to) {
                return Err(Refusal::Types);
            }
            Ok(elements(tx_bytes, from.bytes())? * to.bytes())
        }
        Payload::Transpose { elem, dims, .. } => {
            let count = dims.iter().fold(1, |n: u64, d| n.saturating_mul(u64::from(*d)));
            if count.saturating_mul(u64::from(*elem)) != tx_bytes {
                return Err(Refusal::Lengths);
            }
            Ok(tx_bytes)
        }
    }
}

fn dtype(number: u8) -> Option<Dtype> {
    Dtype::by_number(number.into())
}

fn elements(bytes: u64, unit: u64) -> Result<u64, Refusal> {
    if unit == 0 || !bytes.is_multiple_of(unit) { Err(Refusal::Lengths) } else { Ok(bytes / unit) }
}

/// What a computation makes of its stream. A result that hangs on bytes whose value is not
/// known is not known either; a transpose moves the knowledge with the bytes.
pub fn compute(payload: &Payload, stream: &Content) -> Content {
    let (bytes, unsure) = stream.flatten();
    let out = match payload {
        Payload::Sum { op, sources, to } => {
            let Some(to) = dtype(*to) else { return Content::default() };
            let op = match op {
                SubOp::Add => AluOp::Add,
                SubOp::Max => AluOp::Max,
                SubOp::Min => AluOp::Min,
            };
            let types: Vec<(Dtype, f32)> = sources
                .iter()
                .filter_map(|s| Some((dtype(s.dtype)?, f32::from_bits(s.scale))))
                .collect();
            let unit: u64 = types.iter().map(|t| t.0.bytes()).sum();
            let count = bytes.len() as u64 / unit.max(1);
            let mut rest = bytes.as_slice();
            let mut parts = Vec::new();
            for (t, scale) in types {
                let (part, after) = rest.split_at((count * t.bytes()) as usize);
                parts.push((part, t, scale));
                rest = after;
            }
            compute::cce(op, &parts, to)
        }
        Payload::Cast { from, to } => match dtype(*from).zip(dtype(*to)) {
            Some((from, to)) => compute::cast(&bytes, from, to),
            None => return Content::default(),
        },
        Payload::Transpose { order, elem, dims } => {
            let Some(order) = TransposeOp::by_number((*order).into()) else {
                return Content::default();
            };
            let dims = dims.map(u64::from);
            let turned = |b: &[u8]| compute::transpose(b, (*elem).into(), dims, order);
            return Content::of(turned(&bytes), unsure.map(|u| turned(&u)));
        }
    };
    let unsure = unsure.map(|u| spread(payload, &u, out.len()));
    Content::of(out, unsure)
}

/// Which bytes of a result of `len` bytes hang on bytes whose value is not known. Bytes that
/// nobody wrote are reported where they are read; what is computed from them counts as written.
fn spread(payload: &Payload, unsure: &[u8], len: usize) -> Vec<u8> {
    let size = |n: u8| dtype(n).map_or(1, |d| d.bytes() as usize);
    let (sources, to): (Vec<usize>, usize) = match payload {
        Payload::Sum { sources, to, .. } => {
            (sources.iter().map(|s| size(s.dtype)).collect(), size(*to))
        }
        Payload::Cast { from, to } => (vec![size(*from)], size(*to)),
        Payload::Transpose { .. } => return unsure.to_vec(),
    };
    let count = len / to;
    let mut out = vec![Content::KNOWN; len];
    let mut rest = unsure;
    for bytes in sources {
        let (part, after) = rest.split_at((count * bytes).min(rest.len()));
        for (element, o) in part.chunks(bytes).zip(out.chunks_mut(to)) {
            if element.contains(&Content::UNKNOWN) {
                o.fill(Content::UNKNOWN);
            }
        }
        rest = after;
    }
    out
}
