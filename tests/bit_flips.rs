//! Every bit of every kind of descriptor, flipped alone in a small complete program: what finds
//! it out. The result is `docs/bit-flips.md`; `DMADBG_BLESS=1` rewrites it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod bit_flips {
    pub mod kinds;
}
mod golden_support;

use bit_flips::kinds::{Kind, all};
use dmadbg::check::{DescView, RingPair, RingView};
use dmadbg::diag::{Diagnostic, Severity};
use dmadbg::engine::order::{Checker, Readings};
use dmadbg::engine::program::{Blob, HostOp, Program, RingType};
use dmadbg::engine::ring::Machine;
use dmadbg::udma::field::fields_of;
use dmadbg::udma::{Desc, Dir, Field, Word};
use golden_support::{Compared, golden, load_json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// What a flip is found out by, the first that does.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Catch {
    /// The rings as they lie: codes of `check`.
    Check(BTreeSet<&'static str>),
    /// The calm run: codes.
    Run(BTreeSet<&'static str>),
    /// The order of accesses: codes.
    Order(BTreeSet<&'static str>),
    /// Other bytes in memory at the end.
    Memory,
    /// Nothing but the bit itself: the same bytes in memory.
    Same,
}

impl Catch {
    fn words(&self) -> String {
        let list = |c: &BTreeSet<&str>| c.iter().copied().collect::<Vec<_>>().join(", ");
        match self {
            Catch::Check(c) => format!("check: {}", list(c)),
            Catch::Run(c) => format!("run: {}", list(c)),
            Catch::Order(c) => format!("order: {}", list(c)),
            Catch::Memory => "outcome: memory differs".to_owned(),
            Catch::Same => "outcome: the same".to_owned(),
        }
    }
}

/// All that is seen of a program: findings as sets, and the bytes of its regions at the end.
struct Seen {
    check: BTreeSet<(&'static str, String)>,
    run: BTreeSet<(&'static str, String)>,
    order: BTreeSet<(&'static str, String)>,
    memory: Vec<Vec<u8>>,
}

fn told<'a>(all: impl Iterator<Item = &'a Diagnostic>) -> BTreeSet<(&'static str, String)> {
    // What is new is told by its message, whatever its event number; numbers of events are cut.
    let text = |d: &Diagnostic| match d.place.slot {
        Some(s) => format!("{s} {}", d.message),
        None => d.message.clone(),
    };
    all.map(|d| (d.code, text(d))).collect()
}

fn see(p: &Program, slots: &[Vec<Desc>; 2]) -> Seen {
    let (tx, rx) = (DescView(&slots[0]), DescView(&slots[1]));
    let report = dmadbg::check::run(RingPair {
        tx: Some(&tx as &dyn RingView),
        rx: Some(&rx as &dyn RingView),
        arch: p.arch,
        profile: p.profile,
        queue: None,
        start: None,
        cursors: [None; 2],
    });
    let mut m = Machine::new(p);
    let mut checker = Checker::new(p, Readings::default());
    while let Some(step) = m.step(p) {
        checker.event(&m, &step.event);
    }
    let races = checker.finish().diagnostics(p);
    let memory = p.regions.iter().map(|r| {
        let mut bytes = vec![0; r.len as usize];
        m.memory.read(r.base, &mut bytes);
        bytes
    });
    Seen {
        check: told(report.items.iter()),
        run: told(m.findings.iter()),
        order: told(races.iter().filter(|d| d.severity == Severity::Error)),
        memory: memory.collect(),
    }
}

/// The codes of what `b` says and `a` does not, or the other way round.
fn news(
    a: &BTreeSet<(&'static str, String)>,
    b: &BTreeSet<(&'static str, String)>,
) -> BTreeSet<&'static str> {
    a.symmetric_difference(b).map(|f| f.0).collect()
}

fn slots(kind: &Kind) -> [Vec<Desc>; 2] {
    [kind.tx.clone(), kind.rx.clone()]
}

/// The program with these slots.
fn program(kind: &Kind, slots: &[Vec<Desc>; 2]) -> Program {
    let mut p = kind.program.clone();
    for op in &mut p.script {
        if let HostOp::CopyIn { ring: RingType::Dir(dir), descs, .. } = &mut op.op {
            let list = &slots[usize::from(*dir == Dir::Rx)];
            *descs = Blob::from_vec(list.iter().flat_map(|d| d.to_bytes()).collect());
        }
    }
    p
}

fn catch(base: &Seen, kind: &Kind, slots: &[Vec<Desc>; 2]) -> Catch {
    let now = see(&program(kind, slots), slots);
    let check = news(&base.check, &now.check);
    if !check.is_empty() {
        return Catch::Check(check);
    }
    let run = news(&base.run, &now.run);
    if !run.is_empty() {
        return Catch::Run(run);
    }
    let order = news(&base.order, &now.order);
    if !order.is_empty() {
        return Catch::Order(order);
    }
    if base.memory == now.memory { Catch::Same } else { Catch::Memory }
}

/// The field that a bit of the sixteen bytes belongs to: word, its bit, field.
fn field(d: Desc, dir: Dir, bit: usize) -> (Word, u8, &'static str) {
    let mut at = 0;
    for &word in Word::of(d.view(dir)) {
        let n = usize::from(word.bits());
        if bit < at + n {
            let k = (bit - at) as u8;
            let holds = |f: &&Field| f.word == word && (f.lo..=f.hi()).contains(&k);
            let inside = dmadbg::udma::payload::fields(d).filter(|_| dir == Dir::Tx);
            let mut all = inside.into_iter().flatten().chain(fields_of(d.view(dir), word));
            return (word, k, all.find(holds).map_or("-", |f| f.name));
        }
        at += n;
    }
    panic!("bit {bit}")
}

/// What catches each bit of a descriptor.
struct Row {
    word: Word,
    bit: u8,
    field: &'static str,
    catch: Catch,
}

fn flips(kind: &Kind) -> Vec<Row> {
    let whole = slots(kind);
    let base = see(&program(kind, &whole), &whole);
    let errors: Vec<_> = base.run.iter().chain(&base.order).collect();
    assert!(errors.is_empty(), "{}: the program itself is wrong: {errors:?}", kind.name);
    let (dir, slot) = kind.flipped;
    let side = usize::from(dir == Dir::Rx);
    let desc = whole[side][slot];
    let one = |bit: usize| {
        let mut bytes = desc.to_bytes();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let mut other = whole.clone();
        other[side][slot] = Desc::from_bytes(&bytes);
        let (word, k, field) = field(desc, dir, bit);
        Row { word, bit: k, field, catch: catch(&base, kind, &other) }
    };
    (0..128).map(one).collect()
}

/// Neighbouring bits of one field with the same catch, as lines of a table.
fn table(rows: &[Row]) -> String {
    let mut out = "| word | bits | field | found by |\n|---|---|---|---|\n".to_owned();
    let mut i = 0;
    while i < rows.len() {
        let a = &rows[i];
        let same = |b: &Row| (b.word, b.field, &b.catch) == (a.word, a.field, &a.catch);
        let n = rows[i..].iter().take_while(|b| same(b)).count();
        let (lo, hi) = (a.bit, a.bit + n as u8 - 1);
        let bits = if lo == hi { lo.to_string() } else { format!("{hi}:{lo}") };
        let found = a.catch.words();
        writeln!(out, "| `{}` | {bits} | `{}` | {found} |", a.word.name(), a.field).unwrap();
        i += n;
    }
    out
}

/// Fields whose flip changes no byte and breaks no rule: what they ask for beside the bytes is
/// nothing that a memory can show.
const SILENT: &[(&str, &str)] = &[
    ("int_en", "an interrupt, by which nothing is awaited"),
    ("dmb", "an order more"),
    ("write_barrier", "an order more"),
    ("strong_order", "an order more"),
    ("notification", "a notification, on v4"),
    ("from", "float32r in place of float32: another name, the same arithmetic"),
];

#[test]
fn every_flip_is_found_out() {
    let mut out = String::new();
    let mut silent: BTreeMap<&str, u64> = BTreeMap::new();
    for kind in all() {
        let rows = flips(&kind);
        for row in rows.iter().filter(|r| r.catch == Catch::Same) {
            let type_name = row.field == "from";
            let known = SILENT.iter().any(|s| s.0 == row.field)
                && (!type_name || row.bit == field_low(row.field));
            assert!(known, "{}: {} bit {} goes unnoticed", kind.name, row.word.name(), row.bit);
            *silent.entry(row.field).or_default() += 1;
        }
        writeln!(out, "## {}\n\n{}\n\n{}", kind.name, kind.words, table(&rows)).unwrap();
    }
    let without: Vec<_> = SILENT.iter().filter(|s| !silent.contains_key(s.0)).collect();
    assert!(without.is_empty(), "{without:?}");
    let mut head = "| field | what it asks for |\n|---|---|\n".to_owned();
    for (field, what) in SILENT {
        writeln!(head, "| `{field}` | {what} |").unwrap();
    }
    page(&[("silent", head), ("flips", out)]);
}

/// The lowest bit of an element type in the META words, by which float32 and float32r differ.
fn field_low(name: &str) -> u8 {
    let table = dmadbg::udma::payload::COMPUTE;
    table.iter().find(|f| f.name == name).unwrap().lo
}

fn page(parts: &[(&str, String)]) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/bit-flips.md");
    let old = std::fs::read_to_string(path).unwrap();
    let mut new = old.clone();
    for (name, text) in parts {
        let open = format!("<!-- generated: {name} -->\n");
        let from = new.find(&open).unwrap_or_else(|| panic!("no {open}")) + open.len();
        let to = from + new[from..].find("<!-- end -->").unwrap();
        new.replace_range(from..to, text);
    }
    if std::env::var_os("DMADBG_BLESS").is_some() {
        std::fs::write(path, new).unwrap();
    } else {
        assert!(old == new, "docs/bit-flips.md: DMADBG_BLESS=1 cargo test --test bit_flips");
    }
}

/// A barrier on which an order hangs, cleared: the race analysis finds it.
#[test]
fn a_cleared_barrier_is_a_race() {
    let mut n = 0;
    for kind in all().iter().filter(|k| k.barrier.is_some()) {
        let bit = kind.barrier.unwrap();
        let rows = flips(kind);
        assert!(matches!(rows[bit].catch, Catch::Order(_)), "{}: {:?}", kind.name, rows[bit].catch);
        n += 1;
    }
    assert_eq!(n, 3, "DMB, write barrier, SOW");
}

/// Flags and second word: what makes a kind.
fn kind_of(d: Desc, dir: Dir) -> (Dir, u32, u32) {
    (dir, d.len_ctrl & !0x0300_ffff, d.word1)
}

#[test]
fn golden_descriptors_are_all_of_a_kind_that_is_flipped() {
    let Some(folder) = golden() else { return };
    let mut known = BTreeSet::new();
    for k in all() {
        let (dir, slot) = k.flipped;
        let d = if dir == Dir::Tx { k.tx[slot] } else { k.rx[slot] };
        known.insert(format!("{:x?}", kind_of(d, dir)));
    }
    let mut n = Compared::new();
    let mut see = |bytes: &[u8], dir| {
        let d = Desc::from_bytes(bytes.try_into().unwrap());
        if !d.is_zero() {
            let kind = format!("{:x?}", kind_of(d, dir));
            assert!(known.contains(&kind), "{kind} is no kind that is flipped");
            n.one();
        }
    };
    for case in load_json("descriptors.json").unwrap()["cases"].as_array().unwrap() {
        for (key, dir) in [("tx", Dir::Tx), ("rx", Dir::Rx)] {
            if let Some(text) = case[key].as_str() {
                see(&golden_support::desc_bytes(text), dir);
            }
        }
    }
    for run in load_json("rings/index.json").unwrap()["runs"].as_array().unwrap() {
        let name = run["name"].as_str().unwrap();
        for dir in Dir::BOTH {
            let file = folder.join("rings").join(format!("{name}.{dir}.bin"));
            std::fs::read(file).unwrap().chunks_exact(16).for_each(|b| see(b, dir));
        }
    }
    n.finish("descriptors, each of a kind that is flipped");
}
