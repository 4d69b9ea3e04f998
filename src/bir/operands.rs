//! The operands of an instruction, shared among the instructions that are made of it.

use super::module::Operand;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Operands, in order. A copy shares them with what it was copied from until one of the two
/// changes its own; none take no memory.
#[derive(Clone, Default)]
pub struct Operands(Option<Arc<[Operand]>>);

impl Operands {
    /// All of them.
    pub fn as_slice(&self) -> &[Operand] {
        self
    }

    /// Adds one behind the others.
    pub fn push(&mut self, operand: Operand) {
        self.change(|all| all.push(operand));
    }

    /// Takes the last one away.
    pub fn pop(&mut self) -> Option<Operand> {
        self.change(Vec::pop)
    }

    /// Takes the one at a position away, if there is one.
    pub fn remove(&mut self, at: usize) -> Option<Operand> {
        self.change(|all| (at < all.len()).then(|| all.remove(at)))
    }

    /// Takes all of them away.
    pub fn clear(&mut self) {
        self.0 = None;
    }

    fn change<T>(&mut self, f: impl FnOnce(&mut Vec<Operand>) -> T) -> T {
        let mut all = self.to_vec();
        let out = f(&mut all);
        *self = all.into();
        out
    }
}

impl Deref for Operands {
    type Target = [Operand];

    fn deref(&self) -> &[Operand] {
        self.0.as_deref().unwrap_or_default()
    }
}

impl DerefMut for Operands {
    /// Those of this instruction alone from now on.
    fn deref_mut(&mut self) -> &mut [Operand] {
        self.0.as_mut().map(Arc::make_mut).unwrap_or_default()
    }
}

impl PartialEq for Operands {
    fn eq(&self, other: &Operands) -> bool {
        match (&self.0, &other.0) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b) || a == b,
            _ => self.is_empty() && other.is_empty(),
        }
    }
}

impl fmt::Debug for Operands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl From<Vec<Operand>> for Operands {
    fn from(all: Vec<Operand>) -> Operands {
        Operands((!all.is_empty()).then(|| all.into()))
    }
}

impl<const N: usize> From<[Operand; N]> for Operands {
    fn from(all: [Operand; N]) -> Operands {
        Operands((N > 0).then(|| all.into()))
    }
}

impl FromIterator<Operand> for Operands {
    fn from_iter<I: IntoIterator<Item = Operand>>(all: I) -> Operands {
        let mut all = all.into_iter();
        match (all.next(), all.next()) {
            (None, _) => Operands(None),
            (Some(one), None) => [one].into(),
            (Some(one), Some(two)) => [one, two].into_iter().chain(all).collect::<Vec<_>>().into(),
        }
    }
}

impl<'a> IntoIterator for &'a Operands {
    type Item = &'a Operand;
    type IntoIter = std::slice::Iter<'a, Operand>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a> IntoIterator for &'a mut Operands {
    type Item = &'a mut Operand;
    type IntoIter = std::slice::IterMut<'a, Operand>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}
