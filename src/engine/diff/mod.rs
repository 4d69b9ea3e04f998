//! What differs between two programs, two rings or two modules, and whether the outcome does.
//!
//! Nothing is compared by its index: descriptors are aligned by content and by the instruction
//! that they are made of, everything that has a name by its name ([`align`]). Rules:
//! `docs/diff.md`.

pub mod align;
mod descs;
mod memory;
mod module;
mod outcome;
mod program;
mod record;
mod text;

pub(in crate::engine) use descs::without_phase;
pub use descs::{Ring, RingPair, Slots, rings};
pub use memory::between;
pub use module::{ModuleWords, modules};
pub use outcome::{MemoryChange, Outcome, Ran};
pub(in crate::engine) use program::call_key;
pub use program::{Sides, programs, programs_within};
pub use text::{lines, summary};

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;

use crate::limits::MAX_DIFF_ENTRIES;
use std::collections::BTreeMap;

/// What happened to a thing on the way from the left to the right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Change {
    /// Only the right has it.
    Added,
    /// Only the left has it.
    Removed,
    /// Both have it, at another place.
    Moved,
    /// Both have it, with another content.
    Changed,
}

impl Change {
    /// All of them.
    pub const ALL: [Change; 4] = [Change::Added, Change::Removed, Change::Moved, Change::Changed];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Change::Added => "added",
            Change::Removed => "removed",
            Change::Moved => "moved",
            Change::Changed => "changed",
        }
    }

    /// The same, seen from the right.
    #[must_use]
    pub fn inverse(self) -> Change {
        match self {
            Change::Added => Change::Removed,
            Change::Removed => Change::Added,
            other => other,
        }
    }
}

/// What sort of thing differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// Generation, profile, platform, speed; version and other keys of a module.
    Setting,
    /// A queue of the program or of the module.
    Queue,
    /// A ring as it lies in an image.
    Ring,
    /// A memory region.
    Region,
    /// What memory holds at the start.
    Content,
    /// A register that is set before the first event.
    Register,
    /// A variable of symbolic addresses.
    Variable,
    /// A section of a kind that this build does not know.
    Section,
    /// An operation of the host script.
    Call,
    /// What one pair of doorbells hands over.
    Batch,
    /// A descriptor, or a pair of them.
    Descriptor,
    /// A function of a module.
    Function,
    /// An allocation of a module.
    Allocation,
    /// A memory location of a module.
    Location,
    /// A block of a module.
    Block,
    /// An instruction of a module, a block of descriptors or a descriptor in it among them.
    Instruction,
}

impl Part {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Part::Setting => "setting",
            Part::Queue => "queue",
            Part::Ring => "ring",
            Part::Region => "region",
            Part::Content => "content",
            Part::Register => "register",
            Part::Variable => "variable",
            Part::Section => "section",
            Part::Call => "call",
            Part::Batch => "batch",
            Part::Descriptor => "descriptor",
            Part::Function => "function",
            Part::Allocation => "allocation",
            Part::Location => "location",
            Part::Block => "block",
            Part::Instruction => "instruction",
        }
    }
}

/// A field that has another value.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FieldChange {
    /// Its name.
    pub name: String,
    /// Its value on the left, in words; nothing where it has none.
    pub from: Option<String>,
    /// Its value on the right.
    pub to: Option<String>,
}

impl FieldChange {
    fn new(name: impl Into<String>, from: impl Into<String>, to: impl Into<String>) -> FieldChange {
        FieldChange { name: name.into(), from: Some(from.into()), to: Some(to.into()) }
    }
}

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Entry {
    /// What sort of thing.
    pub part: Part,
    /// What happened to it.
    pub change: Change,
    /// Its name, or what it is in words.
    pub name: String,
    /// Where it is on the left and on the right; nothing where it is not.
    pub at: [Option<String>; 2],
    /// What of it differs.
    pub fields: Vec<FieldChange>,
}

impl Entry {
    /// The same, seen from the right.
    #[must_use]
    pub fn inverse(self) -> Entry {
        let [left, right] = self.at;
        let mirror = |f: FieldChange| FieldChange { name: f.name, from: f.to, to: f.from };
        Entry {
            change: self.change.inverse(),
            at: [right, left],
            fields: self.fields.into_iter().map(mirror).collect(),
            ..self
        }
    }
}

/// All differences.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diff {
    /// They, in the order in which they are shown.
    pub entries: Vec<Entry>,
    /// How many more there are beyond [`MAX_DIFF_ENTRIES`], by what sort.
    pub more: BTreeMap<(Part, Change), u64>,
    /// What came of running both; nothing where they were not run.
    pub outcome: Option<Outcome>,
    /// Bounds that were reached: what that leaves unsaid.
    pub bounds: Vec<String>,
}

impl Diff {
    /// Whether nothing differs that can be told, neither in what is run nor in what comes of it.
    pub fn is_same(&self) -> bool {
        self.entries.is_empty()
            && self.more.is_empty()
            && self.outcome.as_ref().is_none_or(Outcome::is_same)
    }

    /// How many differences there are of each sort, those that are left out included.
    pub fn counts(&self) -> BTreeMap<(Part, Change), u64> {
        let mut out = self.more.clone();
        for e in &self.entries {
            *out.entry((e.part, e.change)).or_default() += 1;
        }
        out
    }

    /// The same, seen from the right.
    #[must_use]
    pub fn inverse(self) -> Diff {
        Diff {
            entries: self.entries.into_iter().map(Entry::inverse).collect(),
            more: self.more.into_iter().map(|((p, c), n)| ((p, c.inverse()), n)).collect(),
            outcome: self.outcome.map(Outcome::inverse),
            bounds: self.bounds,
        }
    }

    fn push(&mut self, entry: Entry) {
        if self.entries.len() < MAX_DIFF_ENTRIES {
            self.entries.push(entry);
        } else {
            self.count(entry.part, entry.change, 1);
        }
    }

    fn count(&mut self, part: Part, change: Change, n: u64) {
        if n > 0 {
            *self.more.entry((part, change)).or_default() += n;
        }
    }

    fn bound(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.bounds.contains(&text) {
            self.bounds.push(text);
        }
    }
}
