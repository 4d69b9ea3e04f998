//! Cutting a transfer into transfers of the same family that do the same together
//! (`docs/lowering.md`, "Cutting").

use super::cut::{Grid, take};
use super::family::Family;
use crate::bir::{Operand, Pair, Pairs, TransposeOp};
use crate::limits::MAX_LOWERED_INSTS;

/// A part of a transfer.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    /// Its sources; whatever is no data is left out.
    pub(super) ins: Vec<Operand>,
    /// Its destination.
    pub(super) out: Operand,
    /// Its first element in the order in which the transfer is cut.
    pub(super) start: u64,
}

/// A transfer to be cut. Every operand is an access pattern with an element type.
#[derive(Debug)]
pub(super) struct Cutter<'a> {
    /// Its family.
    pub(super) family: Family,
    /// The permutation of a transpose.
    pub(super) transpose: TransposeOp,
    /// Its sources, and whether each lies on chip.
    pub(super) ins: Vec<(&'a Operand, bool)>,
    /// Its destination, and whether it lies on chip.
    pub(super) out: (&'a Operand, bool),
    /// Pairs that a piece may have.
    pub(super) max_pairs: Option<usize>,
    /// Pieces that there may be.
    pub(super) most: u64,
}

/// Why a transfer cannot be cut; in words.
pub(super) type Uncut = String;

fn pairs(o: &Operand) -> &[Pair] {
    o.as_pattern().map_or(&[], |p| &p.pairs)
}

fn shifted(o: &Operand, delta: i64, pairs: Pairs) -> Result<Operand, Uncut> {
    let mut new = o.clone();
    if let Some(p) = new.as_pattern_mut() {
        p.offset = p.offset.checked_add(delta).ok_or("an offset does not fit 64 bits")?;
        p.pairs = pairs;
    }
    Ok(new)
}

impl Cutter<'_> {
    /// How many elements there are to cut: of the destination.
    pub(super) fn count(&self) -> Option<u64> {
        self.out.0.as_pattern().and_then(|p| p.count())
    }

    /// Pieces in ascending order; `cap` tells for the first element of a piece how many it may
    /// have.
    ///
    /// # Errors
    /// A pattern cannot be cut where it must be, or there would be too many pieces.
    pub(super) fn cut(&self, cap: &mut dyn FnMut(u64) -> u64) -> Result<Vec<Piece>, Uncut> {
        let total = self.count().ok_or("it has more elements than can be counted")?;
        let (mut at, mut out) = (0, Vec::new());
        let grids = self.grids()?;
        let too_many = || {
            let text = "lowering would make more than";
            Err(format!("{text} {MAX_LOWERED_INSTS} instructions"))
        };
        // The first piece may have about as many as any other: what is hopeless is not tried.
        if total > 0 && total / cap(0).max(1) / 2 > self.most {
            return too_many();
        }
        while at < total {
            let most = cap(at).max(1);
            let (piece, len) = match self.family {
                Family::Transpose => self.transposed(&grids, at, most)?,
                Family::Replicate => self.replicated(&grids, at, most)?,
                _ => self.in_order(&grids, at, most)?,
            };
            out.push(piece);
            at += len;
            if out.len() as u64 > self.most {
                return too_many();
            }
        }
        Ok(out)
    }

    /// Grids of the sources, then of the destination.
    fn grids(&self) -> Result<Vec<Grid>, Uncut> {
        let max_pairs = match self.family {
            Family::Transpose | Family::Replicate => None,
            _ => self.max_pairs,
        };
        let all = self.ins.iter().chain([&self.out]);
        let grids: Option<Vec<_>> =
            all.map(|(o, on_chip)| Grid::new(pairs(o), *on_chip, max_pairs)).collect();
        grids.ok_or_else(|| "it has more elements than can be counted".into())
    }

    fn in_order(&self, grids: &[Grid], at: u64, most: u64) -> Result<(Piece, u64), Uncut> {
        let differ = || "its sides have different counts".to_owned();
        let len = take(grids, at, most).ok_or_else(differ)?;
        let part = |k: usize, o: &Operand| {
            let (delta, pairs) = grids[k].part(at, len).ok_or_else(differ)?;
            shifted(o, delta, if pairs_of_none(o) { Pairs::new() } else { pairs })
        };
        let ins = self.ins.iter().enumerate().map(|(k, (o, _))| part(k, o));
        let ins = ins.collect::<Result<Vec<_>, Uncut>>()?;
        let out = part(self.ins.len(), self.out.0)?;
        Ok((Piece { ins, out, start: at }, len))
    }

    /// A transpose is cut in source order, along whole dimensions; the destination has each of
    /// them at another place.
    fn transposed(&self, grids: &[Grid], at: u64, most: u64) -> Result<(Piece, u64), Uncut> {
        let [source, _] = grids else { return Err("a transpose has one source".into()) };
        let (from, to) = (pairs(self.ins[0].0), pairs(self.out.0));
        let order = self.transpose.order();
        let fits = |d: usize| to[d].num == from[order[d]].num;
        if from.len() != 4 || to.len() != 4 || !(0..4).all(fits) {
            return Err("the sides of the transpose are not 4-D with permuted counts".into());
        }
        let len = take(std::slice::from_ref(source), at, most).ok_or("it cannot be cut")?;
        let (level, steps) = source.find(at, len).ok_or("it cannot be cut")?;
        // Which stretch of each source dimension it is.
        let stretch = |dim: usize| match dim.cmp(&level) {
            std::cmp::Ordering::Less => (source.index(dim, at), 1),
            std::cmp::Ordering::Equal => (source.index(dim, at), steps),
            std::cmp::Ordering::Greater => (0, from[dim].num),
        };
        let part = |o: &Operand, of: &dyn Fn(usize) -> usize| {
            let mut delta = 0i128;
            let mut new = Pairs::new();
            for (d, p) in pairs(o).iter().enumerate() {
                let (first, num) = stretch(of(d));
                delta += i128::from(p.step) * i128::from(first);
                new.push(Pair { step: p.step, num });
            }
            let delta = i64::try_from(delta).map_err(|_| "an offset does not fit 64 bits")?;
            shifted(o, delta, new)
        };
        let ins = vec![part(self.ins[0].0, &|d| d)?];
        let out = part(self.out.0, &|d| order[d])?;
        Ok((Piece { ins, out, start: at }, len))
    }

    /// Destination row p takes source row p mod rows, so that a piece is whole rounds of the
    /// source rows, or a part of one round.
    fn replicated(&self, grids: &[Grid], at: u64, most: u64) -> Result<(Piece, u64), Uncut> {
        let [_, dest] = grids else { return Err("a replicate has one source".into()) };
        let (&[rows, cols], &[p, c]) = (pairs(self.ins[0].0), pairs(self.out.0)) else {
            return Err("the sides of the replicate are not 2-D".into());
        };
        if rows.num == 0 || cols.num != c.num {
            return Err("the rows of the replicate differ in length".into());
        }
        let len = take(std::slice::from_ref(dest), at, most).ok_or("it cannot be cut")?;
        let row = at / c.num;
        let round = row % rows.num;
        let (first, col) = (round, at % c.num);
        let (n, width) = if len < c.num { (1, len) } else { (len / c.num, c.num) };
        let n = match (round, n) {
            (0, n) if n >= rows.num => n / rows.num * rows.num,
            (_, n) => n.min(rows.num - round),
        };
        let part = |o: &Operand, pairs: [Pair; 2], row: u64, n: u64| {
            let delta = i128::from(pairs[0].step) * i128::from(row)
                + i128::from(pairs[1].step) * i128::from(col);
            let delta = i64::try_from(delta).map_err(|_| "an offset does not fit 64 bits")?;
            let pair = |k: usize, num| Pair { step: pairs[k].step, num };
            shifted(o, delta, [pair(0, n), pair(1, width)].into())
        };
        let ins = vec![part(self.ins[0].0, [rows, cols], first, n.min(rows.num))?];
        let out = part(self.out.0, [p, c], row, n)?;
        Ok((Piece { ins, out, start: at }, n * width))
    }
}

fn pairs_of_none(o: &Operand) -> bool {
    pairs(o).is_empty()
}
