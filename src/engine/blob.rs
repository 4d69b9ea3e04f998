//! Bytes that are shared and never copied where they need not be.

use crate::udma::{DESC_BYTES, count_of};
use std::fmt;
use std::sync::{Arc, OnceLock};

/// Bytes shared between a program, the files they came from and the memory model.
#[derive(Clone)]
pub struct Blob {
    data: Data,
    start: usize,
    len: usize,
}

/// Where they are.
#[derive(Clone)]
enum Data {
    /// Side by side.
    Whole(Arc<dyn AsRef<[u8]> + Send + Sync>),
    /// In pieces.
    Turns(Arc<Turns>),
}

/// Every `step`th descriptor of other bytes, from one on.
struct Turns {
    of: Blob,
    first: usize,
    step: usize,
    count: usize,
    /// Their copy, once somebody must have them side by side.
    whole: OnceLock<Vec<u8>>,
}

impl Turns {
    /// Copies bytes from `at` on; answers how many there were.
    fn read(&self, at: usize, out: &mut [u8]) -> usize {
        let slots = self.of.bytes().as_chunks::<DESC_BYTES>().0;
        let most = (self.count * DESC_BYTES).saturating_sub(at).min(out.len());
        let (mut done, mut at) = (0, at);
        let from = self.first + at / DESC_BYTES * self.step;
        for slot in slots.get(from..).unwrap_or_default().iter().step_by(self.step.max(1)) {
            let skip = at % DESC_BYTES;
            let n = (DESC_BYTES - skip).min(most - done);
            if n == 0 {
                break;
            }
            out[done..done + n].copy_from_slice(&slot[skip..skip + n]);
            (done, at) = (done + n, at + n);
        }
        done
    }

    fn whole(&self) -> &[u8] {
        self.whole.get_or_init(|| {
            let mut bytes = vec![0; self.count * DESC_BYTES];
            let there = self.read(0, &mut bytes);
            bytes.truncate(there);
            bytes
        })
    }
}

impl Blob {
    /// Bytes that this program owns.
    pub fn from_vec(bytes: Vec<u8>) -> Blob {
        Blob::shared(Arc::new(bytes))
    }

    /// Bytes kept elsewhere, such as a mapped file.
    pub fn shared(data: Arc<dyn AsRef<[u8]> + Send + Sync>) -> Blob {
        let len = (*data).as_ref().len();
        Blob { data: Data::Whole(data), start: 0, len }
    }

    /// Every `step`th descriptor of `of` from the `first` on, `count` of them or as many as
    /// there are. They stay where they are: [`Blob::read`] gathers what is asked for,
    /// [`Blob::bytes`] makes a copy of all of them the first time that it is called.
    pub fn turns(of: Blob, first: usize, step: usize, count: usize) -> Blob {
        let there = (of.len() / DESC_BYTES).saturating_sub(first).div_ceil(step.max(1));
        let count = count.min(there);
        let turns = Turns { of, first, step: step.max(1), count, whole: OnceLock::new() };
        Blob { data: Data::Turns(Arc::new(turns)), start: 0, len: count * DESC_BYTES }
    }

    /// A part; clamped to what there is.
    #[must_use]
    pub fn slice(&self, start: usize, len: usize) -> Blob {
        let start = start.min(self.len);
        Blob { data: self.data.clone(), start: self.start + start, len: len.min(self.len - start) }
    }

    /// The bytes, side by side.
    pub fn bytes(&self) -> &[u8] {
        // The source may have shrunk (a file under a mapping): never slice beyond it.
        let all = match &self.data {
            Data::Whole(data) => (**data).as_ref(),
            Data::Turns(turns) => turns.whole(),
        };
        let start = self.start.min(all.len());
        &all[start..(self.start + self.len).min(all.len())]
    }

    /// Copies bytes from `at` on; answers how many there were.
    pub fn read(&self, at: usize, out: &mut [u8]) -> usize {
        let most = self.len.saturating_sub(at).min(out.len());
        let out = &mut out[..most];
        match &self.data {
            Data::Turns(turns) => turns.read(self.start + at, out),
            Data::Whole(_) => {
                let bytes = self.bytes().get(at..).unwrap_or_default();
                let n = bytes.len().min(most);
                out[..n].copy_from_slice(&bytes[..n]);
                n
            }
        }
    }

    /// Descriptors from the one at byte `at` on where they lie, and how many apart: the bytes
    /// begin with that one and may go on behind the last. `None` where `at` is inside of one that
    /// lies in turn with others, or nothing lies anywhere yet.
    pub fn lying(&self, at: usize) -> Option<(&[u8], usize)> {
        match &self.data {
            Data::Whole(_) => Some((self.bytes().get(at..)?, 1)),
            Data::Turns(turns) => {
                let at = self.start + at;
                let Data::Whole(_) = turns.of.data else { return None };
                let slot = turns.first + at / DESC_BYTES * turns.step;
                let bytes = turns.of.bytes().get(slot * DESC_BYTES..)?;
                at.is_multiple_of(DESC_BYTES).then_some((bytes, turns.step))
            }
        }
    }

    /// How many bytes there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl fmt::Debug for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Blob({})", count_of(self.len, "byte"))
    }
}

impl PartialEq for Blob {
    fn eq(&self, other: &Blob) -> bool {
        self.bytes() == other.bytes()
    }
}
impl Eq for Blob {}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Gathering, slicing and the copy say the same.
        #[test]
        fn turns_are_every_other_descriptor(
            n in 0usize..80, first in 0usize..3, step in 1usize..4, count in 0usize..50,
            part in (0usize..300, 0usize..300), at in 0usize..300, len in 0usize..300,
        ) {
            let bytes: Vec<u8> = (0..n).map(|i| i as u8).cycle().take(n * 11 % 997).collect();
            let plain: Vec<u8> = bytes
                .as_chunks::<DESC_BYTES>().0
                .iter()
                .skip(first)
                .step_by(step)
                .take(count)
                .flatten()
                .copied()
                .collect();
            let whole = Blob::from_vec(plain);
            let turns = Blob::turns(Blob::from_vec(bytes), first, step, count);
            prop_assert_eq!(turns.len(), whole.len());
            let (turns, whole) = (turns.slice(part.0, part.1), whole.slice(part.0, part.1));
            let (mut a, mut b) = (vec![0xee; len], vec![0xee; len]);
            prop_assert_eq!(turns.read(at, &mut a), whole.read(at, &mut b));
            prop_assert_eq!(a, b);
            prop_assert_eq!(turns.bytes(), whole.bytes());
        }
    }
}
