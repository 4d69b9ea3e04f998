//! What memory holds before a module runs: a file of it, or what stands for one
//! (`docs/validation.md`).

use crate::bir::memory::from_hex;
use crate::bir::{
    Body, Dtype, Expr, Inst, Layout, Mode, Module, Name, Opcode, Operand, Pattern, Placed,
    TensorKind,
};
use crate::diag::{Diagnostic, Place};
use crate::engine::module_run::Initial;
use crate::engine::ring::memory::pattern_byte;
use crate::limits::{MAX_DEFAULT_MEMORY_BYTES, MAX_DIAGNOSTICS};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

/// The members of one object as they stand there, names that stand twice among them.
struct Members(Vec<(String, serde_json::Value)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Members, D::Error> {
        struct Of;
        impl<'de> Visitor<'de> for Of {
            type Value = Members;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of location names and hex")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut all = Vec::new();
                while let Some(member) = map.next_entry()? {
                    all.push(member);
                }
                Ok(Members(all))
            }
        }
        d.deserialize_map(Of)
    }
}

/// Reads a file of memory: one object, location name to hex of its bytes, row-major.
///
/// # Errors
/// S012 for everything in it that is not that; what makes it no JSON with its place.
pub fn read_memory(bytes: &[u8]) -> Result<Initial, Vec<Diagnostic>> {
    let wrong = |text: String| Diagnostic::new("S012", text);
    let Members(file) = serde_json::from_slice(bytes).map_err(|e| {
        // Where it is stands in the place.
        let said = e.to_string();
        let why = said.rsplit_once(" at line ").map_or(&*said, |(why, _)| why);
        let place = Place::text(e.line() as u64, e.column().max(1) as u64, 1);
        vec![wrong(format!("no object of location names and hex: {why}")).at(place)]
    })?;
    let (mut given, mut faults) = (BTreeMap::new(), Vec::new());
    for (name, hex) in file {
        let fault = match hex.as_str().and_then(from_hex) {
            None => wrong(format!("what stands for `{name}` is no row of hex bytes")),
            Some(_) if given.contains_key(&name) => wrong(format!("`{name}` a second time")),
            Some(bytes) => {
                given.insert(name, bytes);
                continue;
            }
        };
        if faults.len() < MAX_DIAGNOSTICS {
            faults.push(fault);
        }
    }
    if faults.is_empty() { Ok(Initial { given, file: None }) } else { Err(faults) }
}

/// What memory holds where nothing is given (MODEL): inputs and constants a pattern that differs
/// from one to the next; lists of indices, and what is copied into them, numbers that are in
/// range, also where they are no inputs but nothing in the module writes them.
pub fn default_memory(module: &Module, layout: &Layout) -> Initial {
    let mut given = BTreeMap::new();
    let mut room = MAX_DEFAULT_MEMORY_BYTES;
    let lists = Lists::of(module, layout);
    for (seed, (set, loc)) in module.locations().enumerate() {
        let input = matches!(
            set.kind,
            Some(
                TensorKind::ExternalInput
                    | TensorKind::ExternalInputParameter
                    | TensorKind::Input
                    | TensorKind::Const
            )
        );
        let wanted = input || lists.are_given(&loc.name);
        let Some(placed) = layout.location(&loc.name).filter(|p| wanted && p.bytes() <= room)
        else {
            continue;
        };
        room -= placed.bytes();
        let mut bytes: Vec<u8> = (0..placed.bytes()).map(|i| pattern_byte(seed as u8, i)).collect();
        lists.fill(&loc.name, &mut bytes);
        given.insert(loc.name.to_string(), bytes);
    }
    Initial { given, file: None }
}

/// Locations that hold indices.
#[derive(Default)]
struct Lists {
    /// The first index that is out of range for somebody.
    ends: HashMap<Name, u64>,
    /// Locations that an instruction writes.
    written: BTreeSet<Name>,
}

impl Lists {
    fn of(module: &Module, layout: &Layout) -> Lists {
        let mut lists = Lists::default();
        // What a copy of indices writes, and what it reads.
        let mut copies: Vec<(Name, Name)> = Vec::new();
        let at = |o: &Operand| layout.of(o.as_pattern()?).ok().map(|p| p.name.clone());
        module.visit(&mut |inst| {
            lists.written.extend(inst.outs.iter().filter_map(at));
            copies.extend(copied(inst).and_then(|(from, to)| at(to).zip(at(from))));
            for op in inst.ins.iter().chain(&inst.outs) {
                let Some((pattern, dtype)) = op.as_pattern().zip(op.dtype) else { continue };
                let Some(Expr::Index(arg)) = &pattern.start else { continue };
                let list = inst.ins.get(*arg as usize).filter(|l| is_index(l.dtype));
                let Some(name) = list.and_then(at) else { continue };
                let rows = rows(pattern, dtype, layout);
                lists.end(name, pattern.max_index.map_or(rows, |m| m.min(rows)).max(1));
            }
        });
        lists.go_back(&copies);
        lists
    }

    /// What is copied into a list is one: of all ends that copies lead to the least. Those come
    /// first, so that each location is looked at once.
    fn go_back(&mut self, copies: &[(Name, Name)]) {
        if self.ends.is_empty() {
            return;
        }
        let mut into: HashMap<&Name, Vec<&Name>> = HashMap::new();
        copies.iter().for_each(|(to, from)| into.entry(to).or_default().push(from));
        let mut known: Vec<(u64, Name)> =
            self.ends.drain().map(|(name, end)| (end, name)).collect();
        known.sort_unstable();
        for (end, name) in known {
            let mut next = vec![&name];
            while let Some(name) = next.pop() {
                if !self.ends.contains_key(name) {
                    self.ends.insert(name.clone(), end);
                    next.extend(into.get(name).into_iter().flatten());
                }
            }
        }
    }

    fn end(&mut self, name: Name, end: u64) {
        let known = self.ends.entry(name).or_insert(u64::MAX);
        *known = end.min(*known);
    }

    /// Whether a location has indices that nothing in the module puts there.
    fn are_given(&self, name: &str) -> bool {
        self.ends.contains_key(name) && !self.written.contains(name)
    }

    fn fill(&self, name: &str, bytes: &mut [u8]) {
        let Some(end) = self.ends.get(name) else { return };
        for (k, chunk) in bytes.chunks_exact_mut(4).enumerate() {
            let value = ((k as u64 * 7 + 3) % end) as u32;
            chunk.copy_from_slice(&value.to_le_bytes());
        }
    }
}

fn is_index(dtype: Option<Dtype>) -> bool {
    matches!(dtype, Some(Dtype::I32 | Dtype::U32))
}

/// Source and destination of what moves indices as they are.
fn copied(inst: &Inst) -> Option<(&Operand, &Operand)> {
    let plain = match &inst.body {
        Body::Dma(d) => matches!(d.mode, Mode::Copy | Mode::Dynamic | Mode::Replicate),
        _ => matches!(inst.opcode, Opcode::DescriptorCopy | Opcode::DescriptorReplicate),
    };
    let (from, to) = (inst.ins.first()?, inst.outs.first()?);
    (plain && from.dtype == to.dtype && is_index(to.dtype)).then_some((from, to))
}

/// How many rows, from the first on, the outermost step of a pattern finds in its location.
fn rows(pattern: &Pattern, dtype: Dtype, layout: &Layout) -> u64 {
    let Some(outer) = pattern.pairs.first() else { return 1 };
    let step = outer.step.unsigned_abs().max(1).saturating_mul(dtype.bytes());
    let most = layout.of(pattern).map_or(1, |p: &Placed| p.bytes() / step);
    let mut row = pattern.pairs.clone();
    row[0].num = 1;
    let inside = |index: u64| {
        let at = i128::from(outer.step) * i128::from(index) + i128::from(pattern.offset);
        i64::try_from(at).is_ok_and(|at| layout.lies(pattern, dtype, &row, at))
    };
    if !inside(0) {
        return most;
    }
    let (mut good, mut bad) = (0, most.max(1));
    while good + 1 < bad {
        let middle = good + (bad - good) / 2;
        if inside(middle) { good = middle } else { bad = middle }
    }
    good + 1
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::load::bir::read_text;
    use proptest::prelude::*;

    /// A gather or scatter of rows whose list lies in SB.
    fn module(row: &str, before: &str) -> Module {
        let text = format!(
            "bir 2 gen3\nfunc f {{\n  set table_set : uint8[40] ExternalInput {{\n    location table DRAM [40]\n  }}\n  \
            set away_set : int32[5] ExternalInput {{\n    location away DRAM [20]\n  }}\n  \
            set list_set : int32[5] Internal {{\n    location list SB [5, 4]\n  }}\n  \
            set y_set : uint8[20] ExternalOutput {{\n    location y DRAM [20]\n  }}\n  block b:\n{before}\n    \
            %g = DMACopy Pool queue=q dge_type=SWDGE ins(table_set[[{row}, 5], [1, 4]] at(arg(1)) : uint8, list[[1, 5], [1, 1]] : int32) outs(y[[4, 5], [1, 4]] : uint8)\n}}\nqueue q blocks=[]\n"
        );
        read_text("m", &text).unwrap_or_else(|d| panic!("{d:#?}\n{text}")).module
    }

    fn indices(bytes: &[u8]) -> Vec<u32> {
        bytes.chunks_exact(4).map(|c| u32::from_le_bytes(c.try_into().unwrap())).collect()
    }

    #[test]
    fn lists_of_indices_are_in_range_wherever_they_come_from() {
        let load = "    %l = DMACopy Pool queue=q ins(away[[1, 5]] : int32) outs(list[[1, 5], [1, 1]] : int32)";
        // Rows that follow each other, rows that overlap.
        for (row, rows) in [("4", 10), ("1", 37), ("8", 5)] {
            for (before, name) in [("", "list"), (load, "away")] {
                let m = module(row, before);
                let given = default_memory(&m, &Layout::new(&m)).given;
                let found = indices(&given[name]);
                assert_eq!(found.len(), 5);
                assert!(found.iter().all(|i| *i < rows), "{row} {name}: {found:?}");
                assert_eq!(given.contains_key("list"), before.is_empty(), "{row} {name}");
                assert!(!given.contains_key("y"));
            }
        }
    }

    fn name(n: u32) -> Name {
        format!("l{n}").into()
    }

    proptest! {
        /// An end goes back over every copy, whatever their order and whether they go around.
        #[test]
        fn an_end_goes_back_over_all_copies(
            copies in prop::collection::vec((0u32..12, 0u32..12), 0..30),
            ends in prop::collection::btree_map(0u32..12, 1u64..6, 0..5),
        ) {
            let mut plain = ends.clone();
            for (to, from) in copies.iter().cycle().take(12 * copies.len()) {
                if let Some(end) = plain.get(to).copied() {
                    let known = plain.entry(*from).or_insert(end);
                    *known = end.min(*known);
                }
            }
            let mut lists = Lists::default();
            lists.ends.extend(ends.iter().map(|(n, end)| (name(*n), *end)));
            let copies: Vec<_> = copies.iter().map(|(to, from)| (name(*to), name(*from))).collect();
            lists.go_back(&copies);
            let plain: HashMap<Name, u64> = plain.iter().map(|(n, end)| (name(*n), *end)).collect();
            prop_assert_eq!(lists.ends, plain);
        }
    }

    /// Copies as they stand in a program, the list last: each is looked at once.
    #[test]
    fn a_long_chain_of_copies_is_gone_back_over_at_once() {
        let copies: Vec<_> = (0..50_000).map(|n| (name(n + 1), name(n))).collect();
        let mut lists = Lists::default();
        lists.end(name(50_000), 5);
        lists.go_back(&copies);
        assert_eq!((lists.ends.len(), lists.ends.get(&name(0))), (50_001, Some(&5)));
    }

    #[test]
    fn a_file_of_memory_is_told_all_that_is_wrong_with_it() {
        let said = |text: &str| {
            let found = read_memory(text.as_bytes()).unwrap_err();
            found.into_iter().map(|d| (d.code, d.place.line, d.message)).collect::<Vec<_>>()
        };
        let all = said(r#"{"a": "00", "b": "0", "c": 5, "a": "11", "d": "xy"}"#);
        let told: Vec<_> = all.iter().map(|(_, _, m)| m.split('`').nth(1).unwrap()).collect();
        assert_eq!(told, ["b", "c", "a", "d"]);
        let broken = said("{\n \"a\": \"00\",\n}");
        assert_eq!((broken[0].0, broken[0].1), ("S012", Some(3)));
        assert!(!broken[0].2.contains("line"), "{}", broken[0].2);
        assert_eq!(said("[]").len(), 1);
        let good = read_memory(br#"{"a": "00ff", "b": ""}"#).unwrap();
        assert_eq!((good.given["a"].len(), good.given["b"].len()), (2, 0));
    }
}
