//! Writing a program image. Equal programs give equal bytes.

use super::edits;
use super::{
    ENTRY_BYTES, HEADER_BYTES, MAGIC, QUEUE_ALLOCATABLE, QUEUE_RX, QUEUE_TX, SECTION_ALIGN,
    VERSION, fill, kind,
};
use crate::diag::{Diagnostic, Report};
use crate::engine::program::{Blob, HostOp, Program, QueueId, RegionKind, RingDecl, RingType};
use crate::load::{ops, validate};
use crate::udma::Generation;
use crate::udma::profile::{Platform, WaitKind};
use std::convert::Infallible;

/// The bytes of a program image.
///
/// # Errors
/// What [`validate::check`] finds; a program without findings can always be written, and
/// reads back as itself.
pub fn write(p: &Program) -> Result<Vec<u8>, Report> {
    let mut report = validate::report(p);
    for u in &p.unknown {
        if kind::ALL.contains(&u.kind) {
            let name = kind::name(u.kind);
            report.push(Diagnostic::new("D033", format!("section `{name}` is not an unknown one")));
        }
    }
    for op in &p.script {
        if op.note.len() > usize::from(u16::MAX) {
            report.push(Diagnostic::new("D025", "a remark is longer than 65535 bytes"));
        }
    }
    if report.has_errors() {
        return Err(report);
    }
    let mut data = Data::default();
    let contents = contents(p, &mut data);
    let script = script(p, &mut data);
    let mut sections = vec![
        (kind::HEAD, head(p)),
        (kind::QUEUES, queues(p)),
        (kind::REGIONS, regions(p)),
        (kind::CONTENTS, contents),
        (kind::REGISTERS, registers(p)),
        (kind::VARIABLES, variables(p)),
        (kind::SCRIPT, script),
    ];
    let edits = edits::write(p, &mut data);
    let minor = if edits.is_some() { VERSION.minor } else { 0 };
    sections.extend(edits.map(|bytes| (kind::EDITS, bytes)));
    sections.push((kind::DATA, data.bytes));
    sections.extend(p.unknown.iter().map(|u| (u.kind, u.bytes.bytes().to_vec())));
    Ok(assemble(&sections, minor))
}

/// Header, table and sections in one.
fn assemble(sections: &[(u32, Vec<u8>)], minor: u16) -> Vec<u8> {
    let mut offset = align(HEADER_BYTES + sections.len() * ENTRY_BYTES);
    let mut table = Vec::with_capacity(sections.len() * ENTRY_BYTES);
    for (kind, bytes) in sections {
        table.extend(kind.to_le_bytes());
        table.extend(0u32.to_le_bytes());
        table.extend((offset as u64).to_le_bytes());
        table.extend((bytes.len() as u64).to_le_bytes());
        table.extend(crc32fast::hash(bytes).to_le_bytes());
        table.extend(0u32.to_le_bytes());
        offset = align(offset + bytes.len());
    }
    let mut out = Vec::with_capacity(offset);
    out.extend(MAGIC);
    out.extend(VERSION.major.to_le_bytes());
    out.extend(minor.to_le_bytes());
    out.extend((sections.len() as u32).to_le_bytes());
    out.extend((offset as u64).to_le_bytes());
    out.extend(crc32fast::hash(&table).to_le_bytes());
    out.extend(crc32fast::hash(&out).to_le_bytes());
    out.extend(table);
    for (_, bytes) in sections {
        pad(&mut out);
        out.extend(bytes);
    }
    pad(&mut out);
    out
}

fn align(n: usize) -> usize {
    n.next_multiple_of(SECTION_ALIGN)
}

fn pad(out: &mut Vec<u8>) {
    out.resize(align(out.len()), 0);
}

/// The DATA section as it grows.
#[derive(Default)]
pub(super) struct Data {
    bytes: Vec<u8>,
}

impl Data {
    /// Appends bytes at the next multiple of 16 and gives (offset, length).
    pub(super) fn add(&mut self, blob: &Blob) -> (u64, u64) {
        pad(&mut self.bytes);
        let bytes = blob.bytes();
        let at = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        (at as u64, bytes.len() as u64)
    }
}

fn string(out: &mut Vec<u8>, s: &str) {
    // Lengths were checked before.
    out.extend((s.len().min(usize::from(u16::MAX)) as u16).to_le_bytes());
    out.extend(s.bytes());
}

fn count(n: usize) -> Vec<u8> {
    (n as u32).to_le_bytes().to_vec()
}

fn head(p: &Program) -> Vec<u8> {
    let arch = match p.arch {
        Generation::V2 => 2,
        Generation::V3 => 3,
        Generation::V4 => 4,
    };
    let platform = match p.platform {
        Platform::Silicon => 0,
        Platform::Qemu => 1,
        Platform::Emulator => 2,
    };
    let mut out = vec![arch, platform, 0, 0];
    out.extend(p.speed.ns_per_desc.to_le_bytes());
    out.extend(p.speed.bytes_per_ns.to_le_bytes());
    string(&mut out, p.profile.name);
    out
}

fn queues(p: &Program) -> Vec<u8> {
    let mut out = count(p.queues.len());
    for q in &p.queues {
        out.extend(q.id.engine.to_le_bytes());
        out.extend(q.id.queue.to_le_bytes());
        let flags = q.tx.map_or(0, |_| QUEUE_TX)
            | q.rx.map_or(0, |_| QUEUE_RX)
            | if q.allocatable { QUEUE_ALLOCATABLE } else { 0 };
        let [tx, rx] = q.first;
        out.extend([flags, tx.ring_id, rx.ring_id, 0]);
        for (ring, first) in [(q.tx, tx), (q.rx, rx)] {
            let ring = ring.unwrap_or(RingDecl { base: 0, size: 0 });
            for v in [ring.base, ring.size, first.slot] {
                out.extend(v.to_le_bytes());
            }
        }
        out.extend(q.marker_area.to_le_bytes());
    }
    out
}

fn regions(p: &Program) -> Vec<u8> {
    let mut out = count(p.regions.len());
    for r in &p.regions {
        let kind = RegionKind::ALL.iter().position(|k| *k == r.kind).unwrap_or(0) as u8;
        let (code, arg) = fill::code(r.fill);
        out.extend([kind, code, arg, 0]);
        out.extend(r.base.to_le_bytes());
        out.extend(r.len.to_le_bytes());
        string(&mut out, &r.name);
    }
    out
}

fn contents(p: &Program, data: &mut Data) -> Vec<u8> {
    let mut out = count(p.contents.len());
    for c in &p.contents {
        let (at, len) = data.add(&c.bytes);
        for v in [c.addr, at, len] {
            out.extend(v.to_le_bytes());
        }
    }
    out
}

fn registers(p: &Program) -> Vec<u8> {
    let mut out = count(p.registers.len());
    for (engine, offset, value) in &p.registers {
        for v in [engine, offset, value] {
            out.extend(v.to_le_bytes());
        }
    }
    out
}

fn variables(p: &Program) -> Vec<u8> {
    let mut out = count(p.variables.len());
    for v in &p.variables {
        out.extend(v.id.to_le_bytes());
        out.extend(v.addr.to_le_bytes());
        string(&mut out, &v.name);
    }
    out
}

fn script(p: &Program, data: &mut Data) -> Vec<u8> {
    let mut w = OpWriter { out: count(p.script.len()), data };
    for op in &p.script {
        w.out.extend(ops::code(&op.op).to_le_bytes());
        string(&mut w.out, &op.note);
        let mut copy: HostOp = op.op.clone();
        let Ok(()) = ops::walk(&mut copy, &mut w);
    }
    w.out
}

/// Writes operands one after the other.
struct OpWriter<'a> {
    out: Vec<u8>,
    data: &'a mut Data,
}

type Written = Result<(), Infallible>;

impl OpWriter<'_> {
    fn put(&mut self, bytes: &[u8]) -> Written {
        self.out.extend_from_slice(bytes);
        Ok(())
    }
}

impl ops::Operands for OpWriter<'_> {
    type Err = Infallible;

    fn queue(&mut self, v: &mut QueueId) -> Written {
        self.put(&v.engine.to_le_bytes())?;
        self.put(&v.queue.to_le_bytes())
    }
    fn u64(&mut self, _: &'static str, v: &mut u64) -> Written {
        self.put(&v.to_le_bytes())
    }
    fn addr(&mut self, _: &'static str, v: &mut u64) -> Written {
        self.put(&v.to_le_bytes())
    }
    fn u32(&mut self, _: &'static str, v: &mut u32) -> Written {
        self.put(&v.to_le_bytes())
    }
    fn i32(&mut self, _: &'static str, v: &mut i32) -> Written {
        self.put(&v.to_le_bytes())
    }
    fn u8(&mut self, _: &'static str, v: &mut u8) -> Written {
        self.put(&[*v])
    }
    fn flag(&mut self, _: &'static str, v: &mut bool) -> Written {
        self.put(&[u8::from(*v)])
    }
    fn wait_kind(&mut self, _: &'static str, v: &mut WaitKind) -> Written {
        let code = ops::WAIT_KINDS.iter().position(|(k, _)| k == v).unwrap_or(0);
        self.put(&[code as u8])
    }
    fn ring_type(&mut self, _: &'static str, v: &mut RingType) -> Written {
        self.put(&ops::ring_type_code(*v).to_le_bytes())
    }
    fn bytes(&mut self, v: &mut Blob) -> Written {
        let (at, len) = self.data.add(v);
        self.put(&at.to_le_bytes())?;
        self.put(&len.to_le_bytes())
    }
    fn descs(&mut self, v: &mut Blob) -> Written {
        self.bytes(v)
    }
}
