//! Casts and scaled sums: packets of one contiguous run of elements in every side.

use super::{Out, Packet, Why, desc};
use crate::bir::compute::{can_cast, is_cce_dtype};
use crate::bir::{AluOp, Dtype, Pos, Side};
use crate::udma::Desc;
use crate::udma::payload::{MAX_SOURCES, Payload, Source, SubOp};
use crate::udma::profile::MAX_DESC_BYTES;

/// A copy between types, at most `most` elements a packet.
pub fn cast(s: &Side, d: &Side, from: Pos, most: u64, out: &mut Out) -> Result<(), Why> {
    if !can_cast(s.dtype, d.dtype) {
        return Err(Why::Cast(s.dtype, d.dtype));
    }
    let payload = Payload::Cast { from: number(s.dtype), to: number(d.dtype) };
    elementwise(std::slice::from_ref(s), d, &payload, from, most, out)
}

/// Sources scaled and added, or their largest or smallest.
pub fn sum(
    (op, constants): (AluOp, &[f32]),
    sources: &[Side],
    d: &Side,
    from: Pos,
    most: u64,
    out: &mut Out,
) -> Result<(), Why> {
    let op = match op {
        AluOp::Add => SubOp::Add,
        AluOp::Max => SubOp::Max,
        AluOp::Min => SubOp::Min,
        other => return Err(Why::Operation(other)),
    };
    if sources.is_empty() || sources.len() > MAX_SOURCES {
        return Err(Why::Sources(sources.len()));
    }
    if constants.len() != sources.len() {
        return Err(Why::Constants { constants: constants.len(), sources: sources.len() });
    }
    let types = sources.iter().chain([d]).map(|s| s.dtype);
    if let Some(bad) = types.into_iter().find(|t| !is_cce_dtype(*t)) {
        return Err(Why::Dtype(bad));
    }
    let scaled = sources.iter().zip(constants);
    let payload = Payload::Sum {
        op,
        sources: scaled
            .map(|(s, c)| Source { dtype: number(s.dtype), scale: c.to_bits() })
            .collect(),
        to: number(d.dtype),
    };
    elementwise(sources, d, &payload, from, most, out)
}

/// An element type as META words hold it.
fn number(d: Dtype) -> u8 {
    d.number() as u8
}

/// Runs of a side, taken element by element.
struct Elements<'a> {
    runs: Box<dyn Iterator<Item = (u64, u64)> + 'a>,
    rest: (u64, u64),
    bytes: u64,
}

impl<'a> Elements<'a> {
    fn of(side: &'a Side) -> Elements<'a> {
        Elements { runs: Box::new(side.walk.runs()), rest: (0, 0), bytes: side.walk.elem }
    }

    /// How many elements lie without a gap from here on, as far as one descriptor reaches.
    fn ready(&mut self) -> u64 {
        if self.rest.1 == 0 {
            self.rest = self.runs.next().unwrap_or((0, 0));
        }
        self.rest.1.min(MAX_DESC_BYTES) / self.bytes.max(1)
    }

    /// The descriptor of the next `n`, which are ready.
    fn take(&mut self, n: u64, word1: u32) -> Desc {
        let (at, len) = (self.rest.0, n * self.bytes);
        self.rest = (at.wrapping_add(len), self.rest.1.saturating_sub(len));
        desc(at, len, word1)
    }
}

fn elementwise(
    sources: &[Side],
    d: &Side,
    payload: &Payload,
    from: Pos,
    most: u64,
    out: &mut Out,
) -> Result<(), Why> {
    for s in sources {
        super::same_count(s.walk.count(), d.walk.count())?;
    }
    let (metas, word, class) = (payload.metas(), payload.word(), payload.class());
    let numbered = sources.iter().enumerate().filter(|(_, s)| s.patched);
    let patched_tx: Vec<u32> = numbered.map(|(i, _)| (metas.len() + i) as u32).collect();
    let mut ins: Vec<Elements<'_>> = sources.iter().map(Elements::of).collect();
    let mut dest = Elements::of(d);
    loop {
        let n = ins.iter_mut().fold(dest.ready().min(most), |n, s| n.min(s.ready()));
        if n == 0 {
            return Ok(());
        }
        let mut tx = Vec::with_capacity(metas.len() + ins.len());
        tx.extend_from_slice(&metas);
        tx.extend(ins.iter_mut().map(|s| s.take(n, word)));
        out.push(Packet {
            tx,
            rx: vec![dest.take(n, 0)],
            class,
            patched_tx: patched_tx.clone(),
            patched_rx: d.patched,
            from,
        })?;
    }
}
