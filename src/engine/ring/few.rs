//! A list that mostly holds one entry or none, as the descriptors of a packet: that one costs no
//! allocation, and copies of the list share all the others.

use imbl::Vector;

/// The list.
#[derive(Debug, Clone, Hash, PartialEq, Eq)]
pub struct Few<T: Clone> {
    first: Option<T>,
    /// All behind the first; none where there is no first.
    rest: Vector<T>,
}

impl<T: Clone> Default for Few<T> {
    fn default() -> Few<T> {
        Few { first: None, rest: Vector::new() }
    }
}

impl<T: Clone> Few<T> {
    /// How many there are.
    pub fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.rest.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// One of them.
    pub fn get(&self, k: usize) -> Option<&T> {
        match k.checked_sub(1) {
            None => self.first.as_ref(),
            Some(k) => self.rest.get(k),
        }
    }

    /// The first.
    pub fn front(&self) -> Option<&T> {
        self.first.as_ref()
    }

    /// The last.
    pub fn last(&self) -> Option<&T> {
        self.rest.last().or(self.first.as_ref())
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(self.rest.iter())
    }

    /// Adds one behind the last.
    pub fn push_back(&mut self, new: T) {
        match self.first {
            None => self.first = Some(new),
            Some(_) => self.rest.push_back(new),
        }
    }

    /// Adds one before the first.
    pub fn push_front(&mut self, new: T) {
        if let Some(second) = self.first.replace(new) {
            self.rest.push_front(second);
        }
    }

    /// Takes the first out.
    pub fn pop_front(&mut self) -> Option<T> {
        let first = self.first.take();
        self.first = self.rest.pop_front();
        first
    }
}

impl<T: Clone> FromIterator<T> for Few<T> {
    fn from_iter<I: IntoIterator<Item = T>>(all: I) -> Few<T> {
        let mut out = Few::default();
        all.into_iter().for_each(|one| out.push_back(one));
        out
    }
}

impl<T: Clone> std::ops::Index<usize> for Few<T> {
    type Output = T;

    fn index(&self, k: usize) -> &T {
        match (&self.first, k) {
            (Some(first), 0) => first,
            _ => &self.rest[k.wrapping_sub(1)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// It is a list.
        #[test]
        fn it_is_a_list(ops in prop::collection::vec((0u8..4, any::<u8>()), 0..40)) {
            let (mut few, mut plain) = (Few::default(), VecDeque::new());
            for (op, n) in ops {
                match op {
                    0 | 1 => {
                        few.push_back(n);
                        plain.push_back(n);
                    }
                    2 => {
                        few.push_front(n);
                        plain.push_front(n);
                    }
                    _ => prop_assert_eq!(few.pop_front(), plain.pop_front()),
                }
                prop_assert_eq!(few.len(), plain.len());
                prop_assert_eq!(few.is_empty(), plain.is_empty());
                prop_assert_eq!((few.front(), few.last()), (plain.front(), plain.back()));
                prop_assert!(few.iter().eq(plain.iter()));
                prop_assert!((0..plain.len() + 1).all(|k| few.get(k) == plain.get(k)));
            }
        }
    }
}
