//! Two memories side by side: what has the same source is the same without a look at its bytes.

use super::{Memory, Source};

/// Bytes that are read at a time.
const CHUNK: u64 = 1 << 16;

/// What a byte is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cell {
    /// Nobody ever wrote it.
    Never,
    /// Its content is not known.
    Unknown,
    /// Its value.
    Value(u8),
}

impl std::fmt::Display for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Cell::Never => f.write_str("never written"),
            Cell::Unknown => f.write_str("unknown"),
            Cell::Value(b) => write!(f, "{b:#04x}"),
        }
    }
}

/// How two stretches differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Difference {
    /// Offset of the first byte that differs, and what it is on either side.
    pub first: Option<(u64, Cell, Cell)>,
    /// How many bytes differ.
    pub count: u64,
    /// Not all of it was compared: the bound on work was reached.
    pub bounded: bool,
}

impl Difference {
    fn add(&mut self, at: u64, cells: (Cell, Cell), count: u64) {
        self.first.get_or_insert((at, cells.0, cells.1));
        self.count = self.count.saturating_add(count);
    }
}

/// A stretch of one source, or of nothing, by its offset.
struct Piece {
    at: u64,
    len: u64,
    source: Option<Source>,
}

impl Memory {
    /// Compares `len` bytes from `at` on with as many of another memory from `theirs` on; `work`
    /// counts down by the bytes that have to be looked at.
    pub fn difference(
        &self,
        at: u64,
        (other, theirs): (&Memory, u64),
        len: u64,
        work: &mut u64,
    ) -> Difference {
        let mut out = Difference::default();
        let len = len.min(u64::MAX - at).min(u64::MAX - theirs);
        let (a, b) = (self.pieces(at, len), other.pieces(theirs, len));
        let (mut i, mut j, mut done) = (0, 0, 0);
        while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
            let end = (x.at + x.len).min(y.at + y.len);
            let (left, right) = (at_offset(x, done), at_offset(y, done));
            if !both(&mut out, done, end - done, (left, right), work) {
                out.bounded = true;
                return out;
            }
            done = end;
            i += usize::from(x.at + x.len == end);
            j += usize::from(y.at + y.len == end);
        }
        out
    }

    fn pieces(&self, at: u64, len: u64) -> Vec<Piece> {
        let mut out: Vec<Piece> = Vec::new();
        let mut done = 0;
        self.each(at, at + len, |start, source, n| {
            let from = start - at;
            if from > done {
                out.push(Piece { at: done, len: from - done, source: None });
            }
            out.push(Piece { at: from, len: n, source: Some(source.clone()) });
            done = from + n;
        });
        if done < len {
            out.push(Piece { at: done, len: len - done, source: None });
        }
        out
    }
}

fn at_offset(p: &Piece, at: u64) -> Option<Source> {
    p.source.as_ref().map(|s| s.at(at - p.at))
}

/// Compares two stretches of one source each; false where the work is used up.
fn both(
    out: &mut Difference,
    at: u64,
    len: u64,
    (a, b): (Option<Source>, Option<Source>),
    work: &mut u64,
) -> bool {
    if len == 0 {
        return true;
    }
    match (state(a.as_ref()), state(b.as_ref())) {
        // Known on both sides.
        (None, None) => {}
        (Some(Cell::Unknown), Some(Cell::Unknown)) => {
            // Unknown bytes are the same where they come from the same place.
            let same =
                matches!((&a, &b), (Some(Source::Unknown(x)), Some(Source::Unknown(y))) if x == y);
            if !same {
                out.add(at, (Cell::Unknown, Cell::Unknown), len);
            }
            return true;
        }
        (Some(x), Some(y)) => {
            if x != y {
                out.add(at, (x, y), len);
            }
            return true;
        }
        (x, y) => {
            let first = |s: &Option<Source>| Cell::Value(one_byte(s.as_ref()));
            out.add(at, (x.unwrap_or_else(|| first(&a)), y.unwrap_or_else(|| first(&b))), len);
            return true;
        }
    }
    let (Some(a), Some(b)) = (a, b) else { return true };
    match (&a, &b) {
        (Source::Byte(x), Source::Byte(y)) => {
            if x != y {
                out.add(at, (Cell::Value(*x), Cell::Value(*y)), len);
            }
            return true;
        }
        (Source::Pattern(s, o), Source::Pattern(t, p)) if (s, o) == (t, p) => return true,
        _ => {}
    }
    let (mut x, mut y) = (vec![0; CHUNK.min(len) as usize], vec![0; CHUNK.min(len) as usize]);
    let mut done = 0;
    while done < len {
        let n = CHUNK.min(len - done);
        let Some(left) = work.checked_sub(n) else { return false };
        *work = left;
        let (x, y) = (&mut x[..n as usize], &mut y[..n as usize]);
        a.at(done).fill(x);
        b.at(done).fill(y);
        if x != y {
            let differ = x.iter().zip(y.iter()).filter(|(p, q)| p != q).count() as u64;
            let first = x.iter().zip(y.iter()).position(|(p, q)| p != q).unwrap_or(0);
            let cells = (Cell::Value(x[first]), Cell::Value(y[first]));
            out.add(at + done + first as u64, cells, differ);
        }
        done += n;
    }
    true
}

/// What a stretch is where it has no value.
fn state(s: Option<&Source>) -> Option<Cell> {
    match s {
        None | Some(Source::Unwritten) => Some(Cell::Never),
        Some(Source::Unknown(_)) => Some(Cell::Unknown),
        Some(_) => None,
    }
}

fn one_byte(s: Option<&Source>) -> u8 {
    let mut b = [0];
    if let Some(s) = s {
        s.fill(&mut b);
    }
    b[0]
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::engine::program::{Fill, Program, Region, RegionKind};
    use crate::udma::{Generation, Profile};
    use proptest::prelude::*;

    fn memory(fill: Fill) -> Memory {
        let mut p = Program::new(Generation::V3, Profile::default_profile());
        let region = |name: &str, base, fill| Region {
            name: name.into(),
            kind: RegionKind::Device,
            base,
            len: 100,
            fill,
        };
        p.regions = vec![region("a", 1000, fill), region("b", 1100, Fill::Never)];
        Memory::new(&p)
    }

    fn cell(m: &Memory, at: u64) -> Cell {
        let mut b = [0];
        let known = m.read(at, &mut b);
        match (known.never_written, known.unknown) {
            (Some(_), _) => Cell::Never,
            (_, Some(_)) => Cell::Unknown,
            _ => Cell::Value(b[0]),
        }
    }

    fn fills() -> impl Strategy<Value = Fill> {
        prop_oneof![
            Just(Fill::Zero),
            Just(Fill::Never),
            Just(Fill::Unknown),
            (0u8..3).prop_map(Fill::Byte),
            (0u8..3).prop_map(Fill::Pattern),
        ]
    }

    /// Where, how many bytes, which; 3 copies, 4 writes descriptors in a row.
    type Write = (u64, u64, u8);

    fn writes() -> impl Strategy<Value = Vec<Write>> {
        prop::collection::vec((1000u64..1190, 1u64..60, 0u8..5), 0..6)
    }

    fn written(fill: Fill, writes: &[Write]) -> Memory {
        let mut m = memory(fill);
        for &(at, len, b) in writes {
            let len = len.min(1200 - at);
            match b {
                // A copy from elsewhere in the memory.
                3 => m.put_content(at, m.take(1010, len)),
                4 => {
                    let first = crate::udma::Desc { len_ctrl: 1, word1: 2, ptr: at % 4 };
                    m.write_row(at, super::super::Row { first, step: 2, count: len / 16 });
                }
                b => m.write(at, &vec![b; len as usize]),
            }
        }
        m
    }

    proptest! {
        #[test]
        fn it_is_the_difference_byte_by_byte(
            (f, g) in (fills(), fills()),
            (x, y) in (writes(), writes()),
            (from, len) in (0u64..50, 0u64..150),
        ) {
            let (a, b) = (written(f, &x), written(g, &y));
            let got = a.difference(1000 + from, (&b, 1000 + from), len, &mut { u64::MAX });
            let mut want = Difference::default();
            for i in 0..len {
                let (p, q) = (cell(&a, 1000 + from + i), cell(&b, 1000 + from + i));
                // Of two unknown bytes this test cannot tell whether they are one.
                prop_assume!(p != Cell::Unknown || q != Cell::Unknown);
                if p != q {
                    want.add(i, (p, q), 1);
                }
            }
            prop_assert_eq!(got, want);
            prop_assert_eq!(a.difference(1000, (&a, 1000), 200, &mut { u64::MAX }).count, 0);
        }
    }

    #[test]
    fn where_the_work_ends_it_is_said() {
        let (a, b) = (written(Fill::Zero, &[(1000, 40, 1)]), written(Fill::Pattern(1), &[]));
        assert!(a.difference(1000, (&b, 1000), 100, &mut 10).bounded);
    }
}
