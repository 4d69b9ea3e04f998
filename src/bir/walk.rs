//! A concrete access: where each element of a pattern lies, in element order.

/// One dimension of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dim {
    /// Bytes from one element to the next; may be zero or negative.
    pub step: i64,
    /// How many.
    pub num: u64,
}

/// Flat byte addresses `start + sum i_k * step_k`, the first dimension slowest, `elem` bytes at
/// each. Built by [`super::Layout::walk`], which has checked that all of them lie inside their
/// location, so that the arithmetic here cannot overflow.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Walk {
    /// Address of the first element.
    pub start: u64,
    /// Dimensions, outermost first.
    pub dims: Vec<Dim>,
    /// Bytes of an element.
    pub elem: u64,
}

impl Walk {
    /// How many elements there are.
    pub fn count(&self) -> u64 {
        self.dims.iter().map(|d| d.num).product()
    }

    /// How many bytes they are, each counted as often as it is visited.
    pub fn bytes(&self) -> u64 {
        self.count() * self.elem
    }

    /// The lowest address and the one after the highest byte; equal where there is no element.
    pub fn span(&self) -> (u64, u64) {
        if self.count() == 0 {
            return (self.start, self.start);
        }
        let (mut lo, mut hi) = (self.start, self.start);
        for d in &self.dims {
            let reach = d.step.wrapping_mul((d.num - 1) as i64);
            if reach < 0 {
                lo = lo.wrapping_add(reach as u64);
            } else {
                hi = hi.wrapping_add(reach as u64);
            }
        }
        (lo, hi + self.elem)
    }

    /// Address of element `k` in element order.
    pub fn address(&self, mut k: u64) -> u64 {
        let mut at = self.start;
        for d in self.dims.iter().rev() {
            let i = k % d.num.max(1);
            k /= d.num.max(1);
            at = at.wrapping_add(d.step.wrapping_mul(i as i64) as u64);
        }
        at
    }

    /// Addresses of all elements.
    pub fn addresses(&self) -> impl Iterator<Item = u64> + '_ {
        Odometer::new(self.start, &self.dims)
    }

    /// Maximal contiguous ascending byte runs `(address, bytes)`, in element order.
    pub fn runs(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        // Inner dimensions that continue each other are one run; the rest is walked.
        let mut unit = self.elem;
        let mut outer = self.dims.len();
        while let Some(d) = outer.checked_sub(1).map(|i| self.dims[i]) {
            if d.num != 1 && d.step != unit as i64 {
                break;
            }
            unit *= d.num;
            outer -= 1;
        }
        let unit = if self.count() == 0 { 0 } else { unit };
        let mut starts = Odometer::new(self.start, &self.dims[..outer]).peekable();
        std::iter::from_fn(move || {
            let at = starts.next()?;
            let mut len = unit;
            while starts.peek().is_some_and(|next| *next == at + len) {
                starts.next();
                len += unit;
            }
            Some((at, len))
        })
        .filter(|r| r.1 > 0)
    }

    /// Whether it shares a byte with another walk. Exact where either side has at most
    /// `limit` runs, otherwise it may say yes for patterns that interleave.
    pub fn overlaps(&self, other: &Walk, limit: usize) -> bool {
        let (a, b) = (self.span(), other.span());
        if a.0 >= b.1 || b.0 >= a.1 {
            return false;
        }
        let take = |w: &Walk| {
            let runs: Vec<_> = w.runs().take(limit + 1).collect();
            (runs.len() <= limit).then_some(runs)
        };
        let (Some(mut x), Some(mut y)) = (take(self), take(other)) else { return true };
        x.sort_unstable();
        y.sort_unstable();
        let (mut i, mut j) = (0, 0);
        let mut reach = 0;
        // Runs of one side may overlap each other: what was passed reaches to `reach`.
        let mut last_side = 0;
        while i < x.len() || j < y.len() {
            let from_x = j >= y.len() || (i < x.len() && x[i].0 <= y[j].0);
            let (at, len) = if from_x { x[i] } else { y[j] };
            let side = if from_x { 1 } else { 2 };
            if last_side != side && last_side != 0 && at < reach {
                return true;
            }
            if last_side == side {
                reach = reach.max(at + len);
            } else {
                // Earlier runs of this side end before `at`, or an overlap was found above.
                reach = at + len;
                last_side = side;
            }
            if from_x {
                i += 1;
            } else {
                j += 1;
            }
        }
        false
    }
}

struct Odometer<'a> {
    dims: &'a [Dim],
    counters: Vec<u64>,
    at: u64,
    done: bool,
}

impl Odometer<'_> {
    fn new(start: u64, dims: &[Dim]) -> Odometer<'_> {
        let done = dims.iter().any(|d| d.num == 0);
        Odometer { dims, counters: vec![0; dims.len()], at: start, done }
    }
}

impl Iterator for Odometer<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        if self.done {
            return None;
        }
        let at = self.at;
        self.done = true;
        for (c, d) in self.counters.iter_mut().zip(self.dims).rev() {
            *c += 1;
            self.at = self.at.wrapping_add(d.step as u64);
            if *c < d.num {
                self.done = false;
                break;
            }
            self.at = self.at.wrapping_sub(d.step.wrapping_mul(d.num as i64) as u64);
            *c = 0;
        }
        Some(at)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn walks() -> impl Strategy<Value = Walk> {
        let dim = (-40i64..40, 0u64..6).prop_map(|(step, num)| Dim { step, num });
        (prop::collection::vec(dim, 0..4), 1u64..5, 900u64..1100)
            .prop_map(|(dims, elem, start)| Walk { start, dims, elem })
    }

    fn bytes(w: &Walk) -> Vec<u64> {
        w.addresses().flat_map(|a| a..a + w.elem).collect()
    }

    proptest! {
        #[test]
        fn runs_are_the_bytes_of_the_elements_in_order(w in walks()) {
            let runs: Vec<u64> = w.runs().flat_map(|(a, n)| a..a + n).collect();
            prop_assert_eq!(&runs, &bytes(&w));
            let by_number: Vec<u64> = (0..w.count()).map(|k| w.address(k)).collect();
            prop_assert_eq!(by_number, w.addresses().collect::<Vec<_>>());
            let mut last = None;
            for (at, n) in w.runs() {
                prop_assert!(n > 0 && last != Some(at), "runs are maximal");
                last = Some(at + n);
            }
        }

        #[test]
        fn overlap_is_exact_and_the_span_is_tight(a in walks(), b in walks()) {
            let (x, y) = (bytes(&a), bytes(&b));
            prop_assert_eq!(a.overlaps(&b, 1000), x.iter().any(|k| y.contains(k)));
            if let (Some(lo), Some(hi)) = (x.iter().min(), x.iter().max()) {
                prop_assert_eq!(a.span(), (*lo, hi + 1));
            }
        }
    }
}
