//! Two programs: what they declare, what their hosts do, what they put on rings, and what comes
//! of it.

use super::align::{self, gaps, settle};
use super::descs::{RingPair, Slots};
use super::record::{QueueRecord, Record, record};
use super::{Change, Diff, Entry, FieldChange, Part, descs, outcome};
use crate::engine::ops::{self, Operands};
use crate::engine::program::{
    Blob, Content, Fill, HostOp, Program, QueueDecl, QueueId, Region, RingType, ScriptOp,
};
use crate::engine::ring::digest::{hash_bytes, mix};
use crate::limits::{MAX_DIFF_EVENTS, MAX_DIFF_WORK};
use crate::udma::profile::WaitKind;
use crate::udma::{DESC_BYTES, Dir, count_of, reg};
use std::collections::BTreeMap;
use std::convert::Infallible;

/// Which parts of two programs are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sides {
    /// Everything.
    Whole,
    /// Only what comes of running them: what they are was compared elsewhere.
    Outcome,
}

/// Compares two programs and runs both. Programs that are equal are not run: a run is a function
/// of its program.
pub fn programs(a: &Program, b: &Program, sides: Sides, diff: &mut Diff) {
    programs_within(a, b, sides, MAX_DIFF_EVENTS, diff);
}

/// As [`programs`], each side run for at most so many events.
pub fn programs_within(a: &Program, b: &Program, sides: Sides, events: u64, diff: &mut Diff) {
    if a == b {
        return;
    }
    let (x, y) = (record(a, events), record(b, events));
    if sides == Sides::Whole {
        settings((a, b), diff);
        queues((a, b), diff);
        named((Part::Region, &a.regions, &b.regions), |r| r.name.clone(), region_fields, diff);
        contents((a, b), diff);
        registers((a, b), diff);
        named(
            (Part::Variable, &a.variables, &b.variables),
            |v| v.id,
            |v| {
                vec![
                    ("name".into(), v.name.clone()),
                    ("id".into(), v.id.to_string()),
                    ("address".into(), format!("{:#x}", v.addr)),
                ]
            },
            diff,
        );
        named(
            (Part::Section, &a.unknown, &b.unknown),
            |s| s.kind,
            |s| {
                let hash = hash_bytes(s.bytes.bytes());
                vec![
                    ("kind".into(), format!("{:#x}", s.kind)),
                    ("bytes".into(), format!("{} (digest {hash:016x})", s.bytes.len())),
                ]
            },
            diff,
        );
        calls((a, b), diff);
        staged((a, &x), (b, &y), diff);
    }
    outcome::compare((a, &x), (b, &y), sides == Sides::Whole, diff);
}

/// A thing as fields, its name first.
type Fields = Vec<(String, String)>;

/// Fields that are on one side only, or not the same.
pub(super) fn fields_between(a: &Fields, b: &Fields) -> Vec<FieldChange> {
    let find = |all: &Fields, name: &str| all.iter().find(|f| f.0 == name).map(|f| f.1.clone());
    let mut out = Vec::new();
    for (name, from) in a {
        let to = find(b, name);
        if to.as_ref() != Some(from) {
            out.push(FieldChange { name: name.clone(), from: Some(from.clone()), to });
        }
    }
    for (name, to) in b {
        if find(a, name).is_none() {
            out.push(FieldChange { name: name.clone(), from: None, to: Some(to.clone()) });
        }
    }
    // The same from either side.
    out.sort_unstable();
    out
}

/// Things that have a name: by it, several of one name in their order.
fn named<T, K: Ord>(
    (part, a, b): (Part, &[T], &[T]),
    key: impl Fn(&T) -> K,
    fields: impl Fn(&T) -> Fields,
    diff: &mut Diff,
) {
    let mut all: BTreeMap<(K, usize), [Option<&T>; 2]> = BTreeMap::new();
    for (side, items) in [a, b].into_iter().enumerate() {
        let mut times: BTreeMap<K, usize> = BTreeMap::new();
        for item in items {
            let n = times.entry(key(item)).or_default();
            all.entry((key(item), *n)).or_default()[side] = Some(item);
            *n += 1;
        }
    }
    for [x, y] in all.into_values() {
        let (change, changes) = match (x, y) {
            (Some(x), Some(y)) => {
                let changes = fields_between(&fields(x), &fields(y));
                if changes.is_empty() {
                    continue;
                }
                (Change::Changed, changes)
            }
            (Some(_), None) => (Change::Removed, Vec::new()),
            _ => (Change::Added, Vec::new()),
        };
        let shown = x.or(y).map(&fields).unwrap_or_default();
        let name = shown.first().map(|f| f.1.clone()).unwrap_or_default();
        let more = || {
            let rest = shown.iter().skip(1).map(|(n, v)| format!("{n} {v}"));
            std::iter::once(name.clone()).chain(rest).collect::<Vec<_>>().join(", ")
        };
        let name = if change == Change::Changed { name } else { more() };
        diff.push(Entry { part, change, name, at: [None, None], fields: changes });
    }
}

fn settings((a, b): (&Program, &Program), diff: &mut Diff) {
    let of = |p: &Program| -> Fields {
        vec![
            ("generation".into(), p.arch.to_string()),
            ("profile".into(), p.profile.name.to_owned()),
            ("platform".into(), format!("{:?}", p.platform).to_lowercase()),
            ("speed, nanoseconds for each descriptor".into(), p.speed.ns_per_desc.to_string()),
            ("speed, bytes in a nanosecond".into(), p.speed.bytes_per_ns.to_string()),
        ]
    };
    for f in fields_between(&of(a), &of(b)) {
        diff.push(Entry {
            part: Part::Setting,
            change: Change::Changed,
            name: f.name.clone(),
            at: [None, None],
            fields: vec![f],
        });
    }
}

fn queue_name(p: &Program, id: QueueId) -> String {
    let name = p.module.as_ref().and_then(|m| m.queue_name(id));
    name.map_or_else(|| id.to_string(), |n| n.to_string())
}

fn queues((a, b): (&Program, &Program), diff: &mut Diff) {
    let all = |p: &Program| -> Vec<(String, QueueDecl)> {
        p.queues.iter().map(|q| (queue_name(p, q.id), *q)).collect()
    };
    let (x, y) = (all(a), all(b));
    named((Part::Queue, &x, &y), |q| q.0.clone(), |q| queue_fields(&q.0, &q.1), diff);
}

fn queue_fields(name: &str, q: &QueueDecl) -> Fields {
    let mut out: Fields = vec![("name".into(), name.to_owned()), ("id".into(), q.id.to_string())];
    for dir in Dir::BOTH {
        if let Some(r) = q.ring(dir) {
            out.push((format!("{dir} base"), format!("{:#x}", r.base)));
            out.push((format!("{dir} slots"), r.size.to_string()));
        }
        let start = q.start(dir);
        out.push((format!("{dir} first slot"), start.slot.to_string()));
        out.push((format!("{dir} first phase"), start.ring_id.to_string()));
    }
    out.push(("marker area".into(), format!("{:#x}", q.marker_area)));
    out.push(("allocatable".into(), (if q.allocatable { "yes" } else { "no" }).into()));
    out
}

fn region_fields(r: &Region) -> Fields {
    let fill = match r.fill {
        Fill::Never => "never written".to_owned(),
        Fill::Zero => "zero".to_owned(),
        Fill::Byte(b) => format!("byte {b:#04x}"),
        Fill::Pattern(s) => format!("pattern {s}"),
        Fill::Unknown => "unknown".to_owned(),
    };
    vec![
        ("name".into(), r.name.clone()),
        ("kind".into(), r.kind.name().into()),
        ("base".into(), format!("{:#x}", r.base)),
        ("bytes".into(), format!("{:#x}", r.len)),
        ("holds".into(), fill),
    ]
}

/// Initial contents: by address.
fn contents((a, b): (&Program, &Program), diff: &mut Diff) {
    let mut all: BTreeMap<(u64, usize), [Option<&Content>; 2]> = BTreeMap::new();
    for (side, p) in [a, b].into_iter().enumerate() {
        let mut times: BTreeMap<u64, usize> = BTreeMap::new();
        for c in &p.contents {
            let n = times.entry(c.addr).or_default();
            all.entry((c.addr, *n)).or_default()[side] = Some(c);
            *n += 1;
        }
    }
    for ((addr, _), [x, y]) in all {
        if let (Some(x), Some(y)) = (x, y)
            && x.bytes == y.bytes
        {
            continue;
        }
        let (change, fields) = match (x, y) {
            (Some(x), Some(y)) => (Change::Changed, bytes_between(&x.bytes, &y.bytes)),
            (Some(_), None) => (Change::Removed, Vec::new()),
            _ => (Change::Added, Vec::new()),
        };
        let p = if x.is_some() { a } else { b };
        let len = x.or(y).map_or(0, |c| c.bytes.len());
        diff.push(Entry {
            part: Part::Content,
            change,
            name: format!("{} at {}", count_of(len, "byte"), p.name_addr(addr)),
            at: [x.map(|_| a.name_addr(addr)), y.map(|_| b.name_addr(addr))],
            fields,
        });
    }
}

/// Length, the first byte that differs, and how many do.
fn bytes_between(a: &Blob, b: &Blob) -> Vec<FieldChange> {
    let (x, y) = (a.bytes(), b.bytes());
    let mut out = Vec::new();
    if x.len() != y.len() {
        out.push(FieldChange::new("bytes", x.len().to_string(), y.len().to_string()));
    }
    let differ = || x.iter().zip(y).enumerate().filter(|(_, (p, q))| p != q);
    if let Some((at, (p, q))) = differ().next() {
        let n = differ().count();
        let text = |b: &u8| format!("{b:#04x}");
        let name = format!("byte {at:#x}, the first of {n}");
        out.push(FieldChange::new(name, text(p), text(q)));
    }
    out
}

fn registers((a, b): (&Program, &Program), diff: &mut Diff) {
    let name = |r: &(u32, u32, u32)| {
        let known = reg::name_at(r.1).map(|p| match p.queue {
            Some((dir, queue)) => format!(" {} of {dir} queue {queue}", p.name),
            None => format!(" {}", p.name),
        });
        format!("engine {} offset {:#x}{}", r.0, r.1, known.unwrap_or_default())
    };
    named(
        (Part::Register, &a.registers, &b.registers),
        |r| (r.0, r.1),
        |r| vec![("register".into(), name(r)), ("value".into(), format!("{:#010x}", r.2))],
        diff,
    );
}

/// An operation of a script as named values.
struct Call {
    key: u64,
    verb: &'static str,
    fields: Fields,
    line: String,
}

struct Reader<'p> {
    program: &'p Program,
    fields: Fields,
}

impl Reader<'_> {
    fn put(&mut self, name: &str, value: String) -> Result<(), Infallible> {
        self.fields.push((name.to_owned(), value));
        Ok(())
    }

    fn blob(&mut self, name: &str, len: usize, bytes: &Blob) -> Result<(), Infallible> {
        const SHOWN: usize = 16;
        let all = bytes.bytes();
        let text = if all.len() <= SHOWN {
            all.iter().map(|b| format!("{b:02x}")).collect()
        } else {
            format!("{len} (digest {:016x})", hash_bytes(all))
        };
        self.put(name, text)
    }
}

impl Operands for Reader<'_> {
    type Err = Infallible;

    fn queue(&mut self, v: &mut QueueId) -> Result<(), Infallible> {
        self.put("queue", v.to_string())
    }
    fn u64(&mut self, name: &'static str, v: &mut u64) -> Result<(), Infallible> {
        self.put(name, v.to_string())
    }
    fn addr(&mut self, name: &'static str, v: &mut u64) -> Result<(), Infallible> {
        let named = self.program.name_addr(*v);
        let plain = format!("{v:#x}");
        self.put(name, if named == plain { plain } else { format!("{plain} ({named})") })
    }
    fn u32(&mut self, name: &'static str, v: &mut u32) -> Result<(), Infallible> {
        match name {
            "offset" | "value" => self.put(name, format!("{v:#x}")),
            _ => self.put(name, v.to_string()),
        }
    }
    fn i32(&mut self, name: &'static str, v: &mut i32) -> Result<(), Infallible> {
        self.put(name, v.to_string())
    }
    fn u8(&mut self, name: &'static str, v: &mut u8) -> Result<(), Infallible> {
        self.put(name, format!("{v:#04x}"))
    }
    fn flag(&mut self, name: &'static str, v: &mut bool) -> Result<(), Infallible> {
        self.put(name, (if *v { "yes" } else { "no" }).to_owned())
    }
    fn wait_kind(&mut self, name: &'static str, v: &mut WaitKind) -> Result<(), Infallible> {
        let known = ops::WAIT_KINDS.iter().find(|(k, _)| k == v);
        self.put(name, known.map_or("", |(_, n)| *n).to_owned())
    }
    fn ring_type(&mut self, name: &'static str, v: &mut RingType) -> Result<(), Infallible> {
        let text = match v {
            RingType::Dir(dir) => dir.to_string(),
            RingType::Other(n) => n.to_string(),
        };
        self.put(name, text)
    }
    fn bytes(&mut self, v: &mut Blob) -> Result<(), Infallible> {
        let v = v.clone();
        self.blob("bytes", v.len(), &v)
    }
    fn descs(&mut self, v: &mut Blob) -> Result<(), Infallible> {
        // What they are is told of the ring.
        let n = v.len() / DESC_BYTES;
        self.put("descriptors", n.to_string())
    }
}

/// What a script operation is as named values, its note last.
fn call(p: &Program, s: &ScriptOp) -> Call {
    let mut op: HostOp = s.op.clone();
    let verb = op.verb();
    let mut r = Reader { program: p, fields: Vec::new() };
    let Ok(()) = ops::walk(&mut op, &mut r);
    if !s.note.is_empty() {
        r.fields.push(("note".into(), s.note.clone()));
    }
    let mut key = hash_bytes(verb.as_bytes());
    for (name, value) in &r.fields {
        key = mix(mix(key, hash_bytes(name.as_bytes())), hash_bytes(value.as_bytes()));
    }
    let rest = r.fields.iter().map(|(n, v)| format!(" {n}={v}")).collect::<String>();
    Call { key, verb, line: format!("{verb}{rest}"), fields: r.fields }
}

/// A number by which an operation of a script is known: what it does and its note.
pub(in crate::engine) fn call_key(p: &Program, s: &ScriptOp) -> u64 {
    call(p, s).key
}

fn calls((a, b): (&Program, &Program), diff: &mut Diff) {
    let x: Vec<Call> = a.script.iter().map(|s| call(a, s)).collect();
    let y: Vec<Call> = b.script.iter().map(|s| call(b, s)).collect();
    let keys = |all: &[Call]| all.iter().map(|c| c.key).collect::<Vec<u64>>();
    let (ka, kb) = (keys(&x), keys(&y));
    let mut work = MAX_DIFF_WORK;
    let found = align::align(&ka, &kb, &mut work);
    if found.bounded {
        diff.bound("host script: the bound on work is reached; some calls are compared by place");
    }
    let unlike = |i: usize, j: usize| {
        let (p, q) = (&x[i], &y[j]);
        if p.verb != q.verb {
            return None;
        }
        let differ = fields_between(&p.fields, &q.fields).len() as u32;
        let all = p.fields.len().max(q.fields.len()).max(1) as u32;
        Some((differ * 1000 / all).min(999))
    };
    let s = settle((&ka, &kb), &gaps(&found.runs, (x.len(), y.len())), &unlike);
    let mut out: Vec<(usize, Entry)> = Vec::new();
    let at = |i: &usize| Some(format!("call {i}"));
    let entry = |change, i: Option<&usize>, j: Option<&usize>, fields| {
        let shown = i.map(|i| &x[*i]).or_else(|| j.map(|j| &y[*j]));
        let name = shown.map(|c| c.line.clone()).unwrap_or_default();
        Entry { part: Part::Call, change, name, at: [i.and_then(at), j.and_then(at)], fields }
    };
    for i in &s.removed {
        out.push((*i, entry(Change::Removed, Some(i), None, Vec::new())));
    }
    for j in &s.added {
        out.push((*j, entry(Change::Added, None, Some(j), Vec::new())));
    }
    for (i, j) in &s.moved {
        out.push((*i, entry(Change::Moved, Some(i), Some(j), Vec::new())));
    }
    for (i, j) in &s.changed {
        let fields = fields_between(&x[*i].fields, &y[*j].fields);
        out.push((*i, entry(Change::Changed, Some(i), Some(j), fields)));
    }
    out.sort_unstable_by(|p, q| (p.0, &p.1).cmp(&(q.0, &q.1)));
    out.into_iter().for_each(|(_, e)| diff.push(e));
}

/// What both runs put on their rings, queue by queue.
fn staged((a, x): (&Program, &Record), (b, y): (&Program, &Record), diff: &mut Diff) {
    if !(x.complete && y.complete) {
        diff.bound("descriptors: a run stages more than are kept; the rest is not compared");
    }
    let of = |p: &Program, r: &Record| -> Vec<(String, QueueId)> {
        let ids = p.queues.iter().map(|q| q.id).filter(|id| r.queues.contains_key(id));
        ids.map(|id| (queue_name(p, id), id)).collect()
    };
    let mut all: BTreeMap<String, [Option<QueueId>; 2]> = BTreeMap::new();
    for (side, list) in [of(a, x), of(b, y)].into_iter().enumerate() {
        for (name, id) in list {
            all.entry(name).or_default()[side] = Some(id);
        }
    }
    let nothing = QueueRecord::default();
    for (name, [p, q]) in all {
        let left = p.and_then(|id| x.queues.get(&id)).unwrap_or(&nothing);
        let right = q.and_then(|id| y.queues.get(&id)).unwrap_or(&nothing);
        batches(&name, (&left.batches, &right.batches), diff);
        let rings = (ring_pair(left), ring_pair(right));
        descs::rings(&format!("{name} "), rings, a.arch, diff);
    }
}

fn ring_pair(r: &QueueRecord) -> RingPair<'_> {
    let [tx, rx] = &r.staged;
    RingPair { tx: Some(tx as &dyn Slots), rx: Some(rx as &dyn Slots) }
}

type Counts = (u32, u32);

fn batches(name: &str, (a, b): (&[Counts], &[Counts]), diff: &mut Diff) {
    let keys = |all: &[Counts]| {
        all.iter().map(|(tx, rx)| u64::from(*tx) << 32 | u64::from(*rx)).collect::<Vec<u64>>()
    };
    let (ka, kb) = (keys(a), keys(b));
    let mut work = MAX_DIFF_WORK;
    let found = align::align(&ka, &kb, &mut work);
    if found.bounded {
        diff.bound(format!("{name}: the bound on work is reached; batches are compared by number"));
    }
    // Batches have nothing to know them by but their counts and their order.
    let alike = |_: usize, _: usize| Some(500);
    let gaps = gaps(&found.runs, (a.len(), b.len()));
    for g in &gaps {
        let s = settle((&ka, &kb), std::slice::from_ref(g), &alike);
        let pairs = s.moved.iter().chain(&s.changed).map(|(i, j)| (Some(*i), Some(*j)));
        let lone = s.removed.iter().map(|i| (Some(*i), None));
        let lone = lone.chain(s.added.iter().map(|j| (None, Some(*j))));
        for (i, j) in pairs.chain(lone) {
            let at = |n: usize| format!("batch {}", n + 1);
            let words = |c: Counts| format!("{} tx, {} rx", c.0, c.1);
            let (x, y) = (i.map(|i| words(a[i])), j.map(|j| words(b[j])));
            let change = match (&x, &y) {
                (Some(_), Some(_)) => Change::Changed,
                (Some(_), None) => Change::Removed,
                _ => Change::Added,
            };
            let fields = if change == Change::Changed {
                vec![FieldChange { name: "descriptors".into(), from: x.clone(), to: y.clone() }]
            } else {
                Vec::new()
            };
            let place = |n: usize| format!("{name} {}", at(n));
            diff.push(Entry {
                part: Part::Batch,
                change,
                name: x.or(y).unwrap_or_default(),
                at: [i.map(place), j.map(place)],
                fields,
            });
        }
    }
}
