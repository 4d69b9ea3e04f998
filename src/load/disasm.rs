//! A program as assembly text; the exact inverse of [`super::asm`] (`docs/assembly.md`).

use super::asm::{self, data::COPY, value::is_bare_name};
use super::{ops, validate};
use crate::diag::{Diagnostic, Report};
use crate::engine::edit::Change;
use crate::engine::program::{Blob, Fill, Program, QueueId, RingType, ScriptOp, Start};
use crate::limits::MAX_TEXT_BYTES;
use crate::udma::field::{self, Kind};
use crate::udma::profile::WaitKind;
use crate::udma::template::Template;
use crate::udma::{Barrier, DESC_BYTES, Desc, Dir, View, cause, field::Word};
use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt::Write as _;

/// A text and the line of each operation of the script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The assembly.
    pub text: String,
    /// Line, from 1, of `script[i]`.
    pub lines: Vec<u32>,
}

/// The assembly of a program.
///
/// # Errors
/// What [`validate::check`] finds, and D025 where the text would be larger than one that
/// can be read back.
pub fn disassemble(p: &Program) -> Result<Listing, Report> {
    let report = validate::report(p);
    if report.has_errors() {
        return Err(report);
    }
    let names = Names::new(p);
    let mut out = String::new();
    let platform = asm::PLATFORMS.iter().find(|(k, _)| *k == p.platform).map_or("", |(_, n)| n);
    let _ = writeln!(out, "{} {}", asm::HEADER, asm::VERSION);
    let _ = writeln!(out, "arch {}\nprofile {}", p.arch, p.profile.name);
    let _ = writeln!(out, "platform {platform}");
    let (ns, bytes) = (p.speed.ns_per_desc, p.speed.bytes_per_ns);
    let _ = writeln!(out, "speed ns_per_desc={ns} bytes_per_ns={bytes}");
    declarations(p, &names, &mut out);
    let mut lines = Vec::with_capacity(p.script.len());
    let mut counted = (0, 1u32);
    if !p.script.is_empty() {
        out.push('\n');
    }
    for s in &p.script {
        let (from, line) = counted;
        let added = out.get(from..).map_or(0, |t| t.bytes().filter(|b| *b == b'\n').count());
        counted = (out.len(), line + added as u32);
        lines.push(counted.1);
        match operation(s, &names, &mut out) {
            (Some(b), Some(dir)) => descriptors(b.bytes(), dir, &names, &mut out),
            (Some(b), None) => data(b.bytes(), &mut out),
            (None, _) => {}
        }
        out.push('\n');
        bound(&out)?;
    }
    edits(p, &names, &mut out);
    bound(&out)?;
    Ok(Listing { text: out, lines })
}

/// Operations of a program's script by their index, each as the line that the assembly has for
/// it; descriptors and bytes that stand below such a line are left out.
pub fn operations(p: &Program, which: std::ops::Range<usize>) -> Vec<String> {
    let names = Names::new(p);
    let line = |s: &ScriptOp| {
        let mut out = String::new();
        operation(s, &names, &mut out);
        out
    };
    p.script.get(which).unwrap_or_default().iter().map(line).collect()
}

/// Writes an operation; the block that belongs below it, and how that is read, are left.
fn operation(s: &ScriptOp, names: &Names<'_>, out: &mut String) -> (Option<Blob>, Option<Dir>) {
    let mut op = s.op.clone();
    out.push_str(op.verb());
    let mut w = OpWriter { out, names, view: None, block: None };
    let Ok(()) = ops::walk(&mut op, &mut w);
    let OpWriter { block, view, .. } = w;
    if !s.note.is_empty() {
        let _ = write!(out, " note={}", quoted(s.note.as_bytes()));
    }
    (block, view)
}

fn bound(out: &str) -> Result<(), Report> {
    if out.len() as u64 <= MAX_TEXT_BYTES {
        return Ok(());
    }
    let why = format!("the assembly would have more than {MAX_TEXT_BYTES} bytes");
    Err(Diagnostic::new("D025", why).help("keep it as a program image").into())
}

fn declarations(p: &Program, names: &Names<'_>, out: &mut String) {
    for q in &p.queues {
        let _ = write!(out, "queue {}", q.id);
        for dir in Dir::BOTH {
            if let Some(r) = q.ring(dir) {
                let _ = write!(out, " {dir}={:#x} {dir}_size={}", r.base, r.size);
            }
            let Start { slot, ring_id } = q.start(dir);
            if slot != Start::FRESH.slot {
                let _ = write!(out, " {dir}_first={slot}");
            }
            if ring_id != Start::FRESH.ring_id {
                let _ = write!(out, " {dir}_phase={ring_id}");
            }
        }
        let allocatable = yes_no(q.allocatable);
        let _ = writeln!(out, " marker={} allocatable={allocatable}", names.address(q.marker_area));
    }
    for r in &p.regions {
        let fill = match r.fill {
            Fill::Never => "never".to_owned(),
            Fill::Zero => "zero".to_owned(),
            Fill::Unknown => "unknown".to_owned(),
            Fill::Byte(b) => format!("byte:{b:#04x}"),
            Fill::Pattern(s) => format!("pattern:{s}"),
        };
        let (name, kind) = (name(&r.name), r.kind.name());
        let _ = writeln!(
            out,
            "region {name} kind={kind} base={:#x} len={:#x} fill={fill}",
            r.base, r.len
        );
    }
    for v in &p.variables {
        let addr = names.address(v.addr);
        let _ = writeln!(out, "variable {} id={} addr={addr}", name(&v.name), v.id);
    }
    for (engine, offset, value) in &p.registers {
        let _ = writeln!(out, "register engine={engine} offset={offset:#x} value={value:#x}");
    }
    for c in &p.contents {
        let _ = write!(out, "content addr={}", names.address(c.addr));
        data(c.bytes.bytes(), out);
        out.push('\n');
    }
    for u in &p.unknown {
        let _ = write!(out, "section kind={:#x}", u.kind);
        data(u.bytes.bytes(), out);
        out.push('\n');
    }
}

fn edits(p: &Program, names: &Names<'_>, out: &mut String) {
    if !p.edits.is_empty() {
        out.push('\n');
    }
    for e in &p.edits {
        let _ = write!(out, "edit {}", e.change.name());
        if let Some(id) = e.change.queue() {
            let _ = write!(out, " {id}");
        }
        let _ = write!(out, " at={}", e.at);
        match &e.change {
            Change::Store { addr, bytes } => {
                let _ = write!(out, " addr={}", names.address(*addr));
                data(bytes.bytes(), out);
            }
            Change::Register { engine, offset, value } => {
                let _ = write!(out, " engine={engine} offset={offset:#x} value={value:#x}");
            }
            Change::Cursor { dir, cursor, value, .. } => {
                let _ = write!(out, " ring={dir} name={cursor} value={value}");
            }
            Change::Inject { dir, bit, slot, .. } => {
                let name = cause::by_bit(*dir, *bit).map_or("", |c| c.name);
                let _ = write!(out, " ring={dir} fault={name}");
                if let Some(slot) = slot {
                    let _ = write!(out, " slot={slot}");
                }
            }
        }
        out.push('\n');
    }
}

fn yes_no(b: bool) -> &'static str {
    if b { "yes" } else { "no" }
}

fn name(n: &str) -> String {
    if is_bare_name(n) { n.to_owned() } else { quoted(n.as_bytes()) }
}

/// A string in quotes; bytes outside printable ASCII as escapes.
fn quoted(bytes: &[u8]) -> String {
    let mut out = String::from("\"");
    for &b in bytes {
        match b {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            0x20..=0x7e => out.push(char::from(b)),
            _ => {
                let _ = write!(out, "\\x{b:02x}");
            }
        }
    }
    out.push('"');
    out
}

/// How addresses are written.
struct Names<'p> {
    p: &'p Program,
    variables: HashMap<u32, &'p str>,
}

impl<'p> Names<'p> {
    fn new(p: &'p Program) -> Names<'p> {
        let bare = p.variables.iter().filter(|v| is_bare_name(&v.name));
        Names { p, variables: bare.map(|v| (v.id, v.name.as_str())).collect() }
    }

    fn address(&self, addr: u64) -> String {
        if let Some(t) = Template::parse(addr)
            && t.to_ptr() == addr
            && let Some(v) = self.variables.get(&t.var)
        {
            return match t.offset {
                0 => format!("${v}"),
                n => format!("${v}+{n:#x}"),
            };
        }
        match self.p.region_at(addr) {
            Some(r) if is_bare_name(&r.name) => self.p.name_addr(addr),
            _ => format!("{addr:#x}"),
        }
    }
}

/// Prints operands one after the other.
struct OpWriter<'a, 'p> {
    out: &'a mut String,
    names: &'a Names<'p>,
    /// Direction of the descriptors in the block.
    view: Option<Dir>,
    block: Option<Blob>,
}

type Done = Result<(), Infallible>;

impl OpWriter<'_, '_> {
    fn put(&mut self, name: &str, value: impl std::fmt::Display) -> Done {
        let _ = write!(self.out, " {name}={value}");
        Ok(())
    }
}

impl ops::Operands for OpWriter<'_, '_> {
    type Err = Infallible;

    fn queue(&mut self, v: &mut QueueId) -> Done {
        let _ = write!(self.out, " {v}");
        Ok(())
    }
    fn u64(&mut self, name: &'static str, v: &mut u64) -> Done {
        self.put(name, *v)
    }
    fn addr(&mut self, name: &'static str, v: &mut u64) -> Done {
        let addr = self.names.address(*v);
        self.put(name, addr)
    }
    fn u32(&mut self, name: &'static str, v: &mut u32) -> Done {
        match (name, Barrier::from_code(*v)) {
            (asm::BARRIER, Some(b)) => self.put(name, b),
            ("offset" | "value", _) => self.put(name, format_args!("{:#x}", *v)),
            _ => self.put(name, *v),
        }
    }
    fn i32(&mut self, name: &'static str, v: &mut i32) -> Done {
        self.put(name, *v)
    }
    fn u8(&mut self, name: &'static str, v: &mut u8) -> Done {
        self.put(name, format_args!("{:#04x}", *v))
    }
    fn flag(&mut self, name: &'static str, v: &mut bool) -> Done {
        self.put(name, yes_no(*v))
    }
    fn wait_kind(&mut self, name: &'static str, v: &mut WaitKind) -> Done {
        let found = ops::WAIT_KINDS.iter().find(|(k, _)| k == v);
        self.put(name, found.map_or("", |(_, n)| n))
    }
    fn ring_type(&mut self, name: &'static str, v: &mut RingType) -> Done {
        match v {
            RingType::Dir(dir) => {
                self.view = Some(*dir);
                self.put(name, *dir)
            }
            RingType::Other(n) => self.put(name, *n),
        }
    }
    fn bytes(&mut self, v: &mut Blob) -> Done {
        self.block = Some(v.clone());
        Ok(())
    }
    fn descs(&mut self, v: &mut Blob) -> Done {
        self.bytes(v)
    }
}

/// Runs of one byte at least this long are written as such.
const RUN: usize = 32;
/// Blocks up to this size stand on the statement's line.
const SHORT: usize = 16;

/// A block of plain bytes: as text where all of it is, else as hex with runs shortened.
fn data(bytes: &[u8], out: &mut String) {
    let printable = |b: &u8| (0x20..=0x7e).contains(b) || matches!(b, b'\n' | b'\t');
    if bytes.len() >= 4 && bytes.len() <= 4096 && bytes.iter().all(printable) {
        let _ = write!(out, " {{ text {} }}", quoted(bytes));
        return;
    }
    if bytes.is_empty() {
        out.push_str(" { }");
        return;
    }
    if bytes.len() <= SHORT {
        out.push_str(" { ");
        hex(bytes, out);
        out.push_str(" }");
        return;
    }
    out.push_str(" {\n");
    let mut at = 0;
    let mut plain = 0;
    while let Some(&b) = bytes.get(at) {
        let run = bytes.iter().skip(at).take_while(|x| **x == b).count();
        if run >= RUN {
            hex_lines(bytes.get(plain..at).unwrap_or_default(), out);
            if b == 0 {
                let _ = writeln!(out, "  zero {run}");
            } else {
                let _ = writeln!(out, "  repeat {run} hex {b:02x}");
            }
            plain = at + run;
        }
        at += run;
    }
    hex_lines(bytes.get(plain..).unwrap_or_default(), out);
    out.push('}');
}

fn hex_lines(bytes: &[u8], out: &mut String) {
    const PER_LINE: usize = 32;
    for line in bytes.chunks(PER_LINE) {
        out.push_str("  ");
        hex(line, out);
        out.push('\n');
    }
}

fn hex(bytes: &[u8], out: &mut String) {
    out.push_str("hex");
    for group in bytes.chunks(4) {
        out.push(' ');
        for b in group {
            let _ = write!(out, "{b:02x}");
        }
    }
}

/// A block of descriptors, equal neighbours once with a count.
fn descriptors(bytes: &[u8], dir: Dir, names: &Names<'_>, out: &mut String) {
    let (slots, rest) = bytes.as_chunks::<DESC_BYTES>();
    if bytes.is_empty() {
        out.push_str(" { }");
        return;
    }
    out.push_str(" {\n");
    for same in slots.chunk_by(|a, b| a == b) {
        let Some(first) = same.first() else { continue };
        let desc = Desc::from_bytes(first);
        if desc.is_zero() {
            let _ = writeln!(out, "  empty {}", same.len());
            continue;
        }
        out.push_str("  ");
        if same.len() > 1 {
            let _ = write!(out, "repeat {} ", same.len());
        }
        descriptor(desc, dir, names, out);
        out.push('\n');
    }
    hex_lines(rest, out);
    out.push('}');
}

/// One descriptor by its fields; `raw` where reserved bits are set, since such words are
/// seldom what the fields say.
fn descriptor(d: Desc, dir: Dir, names: &Names<'_>, out: &mut String) {
    let view = d.view(dir);
    let fields = || Word::of(view).iter().flat_map(move |w| field::fields_of(view, *w));
    if fields().any(|f| f.kind == Kind::Reserved && d.get(f) != 0) {
        let _ = write!(out, "raw {:#010x} {:#010x} {:#018x}", d.len_ctrl, d.word1, d.ptr);
        return;
    }
    out.push_str(match view {
        View::Tx => "tx",
        View::Rx => "rx",
        View::Meta => "meta",
    });
    // `copy` stands for its four fields where all of them are as in a plain copy.
    let copy = view != View::Rx && d.word1 & copy_mask() == COPY;
    if copy {
        out.push_str(" copy");
    }
    for f in fields() {
        let mut value = d.get(f);
        if f.word == Word::MetaCtrl && copy {
            value = f.get(u64::from(d.word1 & !COPY));
        }
        match f.kind {
            // The keyword says it.
            Kind::Flag if f.name == "meta" => {}
            Kind::Flag if value == 0 => {}
            Kind::Flag => {
                let _ = write!(out, " {}", f.name);
            }
            Kind::Length => {
                let _ = write!(out, " {}={}", f.name, d.length());
            }
            Kind::Address => {
                let _ = write!(out, " {}={}", f.name, names.address(value));
            }
            _ if value == 0 => {}
            _ if f.width > 16 => {
                let _ = write!(out, " {}={value:#x}", f.name);
            }
            _ => {
                let _ = write!(out, " {}={value}", f.name);
            }
        }
    }
}

/// The bits of `meta_ctrl` in fields that a plain copy sets.
fn copy_mask() -> u32 {
    field::fields_of(View::Tx, Word::MetaCtrl)
        .filter(|f| f.get(u64::from(COPY)) != 0)
        .fold(0, |m, f| m | f.mask() as u32)
}
