//! Equal names shared: a file says the same names over and over.

use crate::bir::Name;
pub(super) use crate::bir::quick::Quick;
use crate::bir::quick::mix;

/// A table of names seen lately, each at the place that its text says. Where two fight for a
/// place the later one has it, so that no input makes a look-up slow; a name that was pushed
/// out is simply made once more.
pub(super) struct Names {
    slots: Vec<Option<Name>>,
}

const SLOTS: usize = 1 << 12;

impl Names {
    pub fn new() -> Names {
        Names { slots: vec![None; SLOTS] }
    }

    /// The name of a text.
    pub fn get(&mut self, text: &str) -> Name {
        let slot = (mix(0, text.as_bytes()) >> 52) as usize & (SLOTS - 1);
        match self.slots.get_mut(slot) {
            Some(Some(name)) if **name == *text => name.clone(),
            Some(slot) => slot.insert(text.into()).clone(),
            None => text.into(),
        }
    }
}
