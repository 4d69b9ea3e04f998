//! The instructions of the loaded module, for telling of them: what each is called, and where it
//! is. There may be millions, of which few are ever told of: each is kept in a few bytes.

use crate::bir::{Inst, Module, Name, Pos};
use crate::diag::Place;
use std::collections::BTreeMap;
use std::sync::Arc;

/// An instruction of the loaded module, for telling of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstInfo {
    /// Its name; empty where it has none.
    pub name: Name,
    /// Name and opcode.
    pub text: String,
    /// Where it is in its file.
    pub place: Place,
}

/// No number.
const NONE: u32 = u32::MAX;

/// Line, column, width and offset of a place; nothing where it has more than that, or larger
/// numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Short([u32; 4]);

impl Short {
    const NOWHERE: Short = Short([NONE; 4]);

    fn of(p: &Place) -> Option<Short> {
        let small = |n: Option<u64>| match n {
            None => Some(NONE),
            Some(n) => u32::try_from(n).ok().filter(|n| *n != NONE),
        };
        let all = [small(p.line)?, small(p.column)?, small(p.width)?, small(p.offset)?];
        (p.slot.is_none() && p.event.is_none()).then_some(Short(all))
    }

    fn place(self, file: Option<&String>) -> Place {
        let [line, column, width, offset] = self.0.map(|n| (n != NONE).then_some(u64::from(n)));
        Place { file: file.cloned(), line, column, width, offset, ..Place::default() }
    }
}

/// Instructions by position.
#[derive(Debug, Default)]
pub(super) struct Insts {
    all: Vec<(Option<Arc<Inst>>, Short)>,
    /// The file that the first one is in.
    file: Option<String>,
    /// Places that are not in it, or are not short.
    odd: BTreeMap<Pos, Place>,
}

impl Insts {
    /// Of a module; `place` says where each is.
    pub(super) fn of(module: &Module, place: &dyn Fn(Pos) -> Place) -> Insts {
        let (mut insts, mut first) = (Insts::default(), true);
        module.visit(&mut |i| {
            // What was added to a module before it came here is in no file.
            if i.pos == Pos::ADDED {
                return;
            }
            let at = i.pos.0 as usize;
            if insts.all.len() <= at {
                insts.all.resize(at + 1, (None, Short::NOWHERE));
            }
            let place = place(i.pos);
            if first {
                insts.file.clone_from(&place.file);
            }
            first = false;
            let short = Short::of(&place).filter(|_| place.file == insts.file);
            insts.all[at] = (Some(i.clone()), short.unwrap_or(Short::NOWHERE));
            if short.is_none() {
                insts.odd.insert(i.pos, place);
            }
        });
        insts
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// The line of one.
    pub(super) fn line(&self, pos: Pos) -> Option<u64> {
        let (_, short) = self.all.get(pos.0 as usize)?;
        match self.odd.get(&pos) {
            Some(place) => place.line,
            None => short.place(None).line,
        }
    }

    /// One of them.
    pub(super) fn get(&self, pos: Pos) -> Option<InstInfo> {
        let (inst, short) = self.all.get(pos.0 as usize)?;
        let Some(i) = inst else { return Some(InstInfo::default()) };
        let name = if i.name.is_empty() { String::new() } else { format!("%{} ", i.name) };
        let place = self.odd.get(&pos).cloned();
        Some(InstInfo {
            name: i.name.clone(),
            text: format!("{name}{}", i.opcode),
            place: place.unwrap_or_else(|| short.place(self.file.as_ref())),
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::bir::generate;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_kept_of_an_instruction_is_what_was_said(
            seed in 0u64..20,
            numbers in prop::collection::vec(
                prop::option::of(prop_oneof![0u64..9, u64::from(u32::MAX) - 2..1 << 33]), 8),
            files in prop::collection::vec(prop::option::of("[ab]"), 3),
        ) {
            let module = generate::module(seed, &generate::Options::default()).module;
            let place = |pos: Pos| {
                let n = |k: u32| numbers[((pos.0 + k) % 8) as usize];
                let file = files[pos.0 as usize % 3].clone();
                let (line, column, width) = (n(0), n(1), n(2));
                let event = n(3).filter(|n| *n < 3);
                Place { file, line, column, width, offset: n(4), event, slot: None }
            };
            let kept = Insts::of(&module, &place);
            module.visit(&mut |i| {
                let info = kept.get(i.pos).unwrap();
                let name = if i.name.is_empty() { String::new() } else { format!("%{} ", i.name) };
                assert_eq!(info.text, format!("{name}{}", i.opcode));
                assert_eq!(info.name, i.name);
                assert_eq!(info.place, place(i.pos));
                assert_eq!(kept.line(i.pos), place(i.pos).line);
            });
            prop_assert!(kept.get(Pos(kept.len() as u32)).is_none());
        }
    }
}
