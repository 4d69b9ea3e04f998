//! Reading a program image that nobody vouches for.
//!
//! Order of the checks: magic, version, header checksum, length, table, table checksum, each
//! section's place and checksum, then the records. A count is compared with the bytes that
//! are there before anything is allocated for it; contents stay slices of the input.

use super::edits;
use super::{
    ENTRY_BYTES, HEADER_BYTES, MAGIC, MAX_SECTIONS, QUEUE_ALLOCATABLE, QUEUE_RX, QUEUE_TX,
    SECTION_ALIGN, VERSION, fill, kind,
};
use crate::diag::{Diagnostic, Place, Report};
use crate::engine::program::{
    Blob, Content, Program, QueueDecl, QueueId, Region, RegionKind, RingDecl, RingType, ScriptOp,
    Speed, Start, UnknownSection, Variable,
};
use crate::limits::{
    MAX_CONTENTS, MAX_EDITS, MAX_HOST_OPS, MAX_NAME_BYTES, MAX_QUEUES, MAX_REGIONS, MAX_REGISTERS,
    MAX_VARIABLES,
};
use crate::load::{ops, validate};
use crate::udma::profile::{Platform, WaitKind};
use crate::udma::{Generation, Profile, count_of};
use nom::bytes::complete::tag;
use nom::multi::length_data;
use nom::number::complete::{le_i32, le_u8, le_u16, le_u32, le_u64};
use nom::{IResult, Parser};

pub(super) type In<'a> = &'a [u8];
pub(super) type Res<'a, T> = IResult<In<'a>, T>;

/// Reads a program image.
///
/// # Errors
/// D030 to D033 and D025 with the byte offset where it shows, D051 to D054 where the program
/// contradicts itself.
pub fn read(blob: &Blob) -> Result<(Program, Report), Report> {
    let sections = sections(blob).map_err(Report::from)?;
    let find = |k: u32| sections.iter().find(|s| s.kind == k);
    let mut report = Report::default();
    let Some(head) = find(kind::HEAD) else {
        return Err(damaged(HEADER_BYTES, "there is no HEAD section").into());
    };
    let mut program = records(head, head_record).map_err(Report::from)?;
    let data = find(kind::DATA).map(|s| s.bytes.clone()).unwrap_or(Blob::from_vec(Vec::new()));
    for s in &sections {
        let parsed = match s.kind {
            kind::QUEUES => list(s, MAX_QUEUES, 68, queue).map(|v| program.queues = v),
            kind::REGIONS => list(s, MAX_REGIONS, 22, region).map(|v| program.regions = v),
            kind::CONTENTS => {
                list(s, MAX_CONTENTS, 24, |i| content(i, &data)).map(|v| program.contents = v)
            }
            kind::REGISTERS => list(s, MAX_REGISTERS, 12, |i| (le_u32, le_u32, le_u32).parse(i))
                .map(|v| program.registers = v),
            kind::VARIABLES => list(s, MAX_VARIABLES, 14, variable).map(|v| program.variables = v),
            kind::SCRIPT => {
                list(s, MAX_HOST_OPS, 4, |i| script_op(i, &data)).map(|v| program.script = v)
            }
            kind::EDITS => list(s, MAX_EDITS, edits::LEAST, |i| edits::read(i, &data))
                .map(|v| program.edits = v),
            kind::HEAD | kind::DATA => Ok(()),
            other => {
                let name = kind::name(other);
                report.push(
                    Diagnostic::new("D034", format!("section `{name}` is kept unread"))
                        .at(Place::offset(s.offset as u64)),
                );
                program.unknown.push(UnknownSection { kind: other, bytes: s.bytes.clone() });
                Ok(())
            }
        };
        if let Err(d) = parsed {
            report.push(d);
        }
    }
    if !report.has_errors() {
        for (part, d) in validate::check(&program) {
            let k = match part {
                validate::Part::Whole => kind::HEAD,
                validate::Part::Queue(_) => kind::QUEUES,
                validate::Part::Region(_) => kind::REGIONS,
                validate::Part::Content(_) => kind::CONTENTS,
                validate::Part::Register(_) => kind::REGISTERS,
                validate::Part::Variable(_) => kind::VARIABLES,
                validate::Part::Op(_) => kind::SCRIPT,
                validate::Part::Edit(_) => kind::EDITS,
            };
            let d = d.at(Place::offset(find(k).map_or(0, |s| s.offset as u64)));
            // Operations have no place of their own here: one queue that is missing is said
            // once, not for each of them.
            if report.items.last() != Some(&d) {
                report.push(d);
            }
        }
    }
    if report.has_errors() { Err(errors_only(report)) } else { Ok((program, report)) }
}

fn errors_only(mut r: Report) -> Report {
    r.items.retain(|d| d.severity == crate::diag::Severity::Error);
    r
}

/// One section, its checksum verified.
struct Section {
    kind: u32,
    offset: usize,
    bytes: Blob,
}

fn damaged(at: usize, what: impl Into<String>) -> Diagnostic {
    Diagnostic::new("D033", what).at(Place::offset(at as u64))
}

fn truncated(have: usize, want: u64) -> Diagnostic {
    Diagnostic::new(
        "D031",
        format!(
            "the program image has {have} of {want_bytes}",
            want_bytes = count_of(want, "byte")
        ),
    )
    .at(Place::offset(have as u64))
}

fn checksum(at: usize, what: &str, bytes: &[u8], want: u32) -> Result<(), Diagnostic> {
    let got = crc32fast::hash(bytes);
    if got == want {
        return Ok(());
    }
    Err(Diagnostic::new("D032", format!("checksum of {what} is {got:#010x}, not {want:#010x}"))
        .at(Place::offset(at as u64)))
}

struct Header {
    major: u16,
    sections: u32,
    total: u64,
    table_crc: u32,
    own_crc: u32,
}

fn header(i: In<'_>) -> Res<'_, Header> {
    let (i, _) = tag(&MAGIC[..]).parse(i)?;
    let (i, (major, _minor)) = (le_u16, le_u16).parse(i)?;
    let (i, (sections, total, table_crc, own_crc)) = (le_u32, le_u64, le_u32, le_u32).parse(i)?;
    Ok((i, Header { major, sections, total, table_crc, own_crc }))
}

struct Entry {
    kind: u32,
    offset: u64,
    len: u64,
    crc: u32,
    spare: u32,
}

fn entry(i: In<'_>) -> Res<'_, Entry> {
    let (i, (kind, flags, offset, len, crc, spare)) =
        (le_u32, le_u32, le_u64, le_u64, le_u32, le_u32).parse(i)?;
    Ok((i, Entry { kind, offset, len, crc, spare: spare | flags }))
}

/// Header and table, and every section's place and checksum.
fn sections(blob: &Blob) -> Result<Vec<Section>, Diagnostic> {
    let all = blob.bytes();
    if !all.starts_with(&MAGIC) {
        return Err(Diagnostic::new("D003", "not a program image").at(Place::offset(0)));
    }
    let Ok((rest, head)) = header(all) else {
        return Err(truncated(all.len(), HEADER_BYTES as u64));
    };
    if head.major != VERSION.major {
        return Err(Diagnostic::new(
            "D030",
            format!("program image version {}; this build reads {}", head.major, VERSION.major),
        )
        .at(Place::offset(8)));
    }
    checksum(28, "the header", all.get(..28).unwrap_or_default(), head.own_crc)?;
    if (all.len() as u64) < head.total {
        return Err(truncated(all.len(), head.total));
    }
    if all.len() as u64 > head.total {
        return Err(damaged(head.total as usize, "bytes follow the end of the program image"));
    }
    let n = head.sections as usize;
    if n > MAX_SECTIONS {
        return Err(Diagnostic::new("D025", format!("{n} sections; at most {MAX_SECTIONS}"))
            .at(Place::offset(12)));
    }
    let Some(mut table) = rest.get(..n * ENTRY_BYTES) else {
        return Err(damaged(12, format!("a table of {n} sections does not fit")));
    };
    checksum(HEADER_BYTES, "the section table", table, head.table_crc)?;
    let mut out: Vec<Section> = Vec::with_capacity(n);
    let mut end = HEADER_BYTES + n * ENTRY_BYTES;
    for i in 0..n {
        let at = HEADER_BYTES + i * ENTRY_BYTES;
        let Ok((after, e)) = entry(table) else {
            return Err(damaged(at, "a table entry is cut"));
        };
        table = after;
        let start = gap(all, end)?;
        let name = kind::name(e.kind);
        if e.offset != start as u64 || e.spare != 0 {
            return Err(damaged(at, format!("section `{name}` is not where the one before ends")));
        }
        let bytes = usize::try_from(e.len).ok().and_then(|len| all.get(start..)?.get(..len));
        let Some(bytes) = bytes else {
            return Err(damaged(
                at + 16,
                format!("section `{name}` of {} does not fit", count_of(e.len, "byte")),
            ));
        };
        checksum(start, &format!("section `{name}`"), bytes, e.crc)?;
        if kind::ALL.contains(&e.kind) && out.iter().any(|s| s.kind == e.kind) {
            return Err(damaged(at, format!("section `{name}` is there twice")));
        }
        end = start + bytes.len();
        out.push(Section { kind: e.kind, offset: start, bytes: blob.slice(start, bytes.len()) });
    }
    if gap(all, end)? != all.len() {
        return Err(damaged(end, "bytes that belong to no section"));
    }
    Ok(out)
}

/// The next multiple of the alignment; what lies between must be zero.
fn gap(all: &[u8], end: usize) -> Result<usize, Diagnostic> {
    let start = end.next_multiple_of(SECTION_ALIGN);
    match all.get(end..start) {
        Some(pad) if pad.iter().all(|b| *b == 0) => Ok(start),
        Some(_) => Err(damaged(end, "padding is not zero")),
        None => Err(damaged(end, "padding is missing")),
    }
}

/// Parses a whole section with `parser`.
fn records<T>(s: &Section, mut parser: impl FnMut(In<'_>) -> Res<'_, T>) -> Result<T, Diagnostic> {
    let all = s.bytes.bytes();
    let name = kind::name(s.kind);
    let at = |rest: In<'_>| s.offset + all.len() - rest.len();
    match parser(all) {
        Ok(([], v)) => Ok(v),
        Ok((rest, _)) => Err(damaged(at(rest), format!("section `{name}` has bytes left over"))),
        Err(nom::Err::Incomplete(_)) => Err(damaged(s.offset, format!("section `{name}` is cut"))),
        Err(nom::Err::Error(e) | nom::Err::Failure(e)) => {
            let why = match e.code {
                nom::error::ErrorKind::Eof | nom::error::ErrorKind::Complete => "ends in a record",
                nom::error::ErrorKind::TooLarge => "refers to bytes that are not there",
                _ => "has a value that stands for nothing",
            };
            Err(damaged(at(e.input), format!("section `{name}` {why}")))
        }
    }
}

/// Parses a section that is a count and so many records of at least `least` bytes.
fn list<T>(
    s: &Section,
    most: usize,
    least: usize,
    mut parser: impl FnMut(In<'_>) -> Res<'_, T>,
) -> Result<Vec<T>, Diagnostic> {
    let name = kind::name(s.kind);
    let n = match le_u32::<_, nom::error::Error<In<'_>>>(s.bytes.bytes()) {
        Ok((rest, n)) if n as usize <= rest.len() / least => n as usize,
        Ok((_, n)) => {
            return Err(damaged(
                s.offset,
                format!("section `{name}` says {n} records and is too short"),
            ));
        }
        Err(_) => return Err(damaged(s.offset, format!("section `{name}` has no count"))),
    };
    if n > most {
        return Err(Diagnostic::new(
            "D025",
            format!("section `{name}`: {n} records; at most {most}"),
        )
        .at(Place::offset(s.offset as u64)));
    }
    records(s, |i| {
        let (mut i, _) = le_u32(i)?;
        let mut out = Vec::with_capacity(n);
        for _ in 0..n {
            let (rest, v) = parser(i)?;
            out.push(v);
            i = rest;
        }
        Ok((i, out))
    })
}

/// A value that stands for nothing.
pub(super) fn bad<T>(at: In<'_>) -> Res<'_, T> {
    Err(nom::Err::Error(nom::error::Error::new(at, nom::error::ErrorKind::Verify)))
}

fn string(i: In<'_>) -> Res<'_, String> {
    let (rest, bytes) = length_data(le_u16).parse(i)?;
    match std::str::from_utf8(bytes) {
        Ok(s) => Ok((rest, s.to_owned())),
        Err(_) => bad(i),
    }
}

fn label(i: In<'_>) -> Res<'_, String> {
    let (rest, s) = string(i)?;
    if s.is_empty() || s.len() > MAX_NAME_BYTES { bad(i) } else { Ok((rest, s)) }
}

fn head_record(i: In<'_>) -> Res<'_, Program> {
    let (rest, (arch, platform, spare)) = (le_u8, le_u8, le_u16).parse(i)?;
    let arch = match arch {
        2 => Generation::V2,
        3 => Generation::V3,
        4 => Generation::V4,
        _ => return bad(i),
    };
    let platform = match platform {
        0 => Platform::Silicon,
        1 => Platform::Qemu,
        2 => Platform::Emulator,
        _ => return bad(i),
    };
    if spare != 0 {
        return bad(i);
    }
    let (rest, (ns_per_desc, bytes_per_ns)) = (le_u64, le_u64).parse(rest)?;
    let (end, name) = label(rest)?;
    // By its exact name: what is written back must be the same bytes.
    let Some(profile) = Profile::find(&name).ok().filter(|p| p.name == name) else {
        return bad(rest);
    };
    let mut p = Program::new(arch, profile);
    p.platform = platform;
    p.speed = Speed { ns_per_desc, bytes_per_ns };
    Ok((end, p))
}

pub(super) fn queue_id(i: In<'_>) -> Res<'_, QueueId> {
    let (i, (engine, queue)) = (le_u32, le_u32).parse(i)?;
    Ok((i, QueueId { engine, queue }))
}

fn queue(i: In<'_>) -> Res<'_, QueueDecl> {
    let (rest, id) = queue_id(i)?;
    let (rest, (flags, tx_id, rx_id, spare)) = (le_u8, le_u8, le_u8, le_u8).parse(rest)?;
    if flags & !(QUEUE_TX | QUEUE_RX | QUEUE_ALLOCATABLE) != 0 || spare != 0 {
        return bad(i);
    }
    let (rest, (tx, tx_slot)) = ring(rest, flags & QUEUE_TX != 0)?;
    let (rest, (rx, rx_slot)) = ring(rest, flags & QUEUE_RX != 0)?;
    let (rest, marker_area) = le_u64(rest)?;
    let first = [Start { slot: tx_slot, ring_id: tx_id }, Start { slot: rx_slot, ring_id: rx_id }];
    let allocatable = flags & QUEUE_ALLOCATABLE != 0;
    Ok((rest, QueueDecl { id, tx, rx, allocatable, marker_area, first }))
}

/// Base, size, first slot; base and size are zero where there is no ring.
fn ring(i: In<'_>, present: bool) -> Res<'_, (Option<RingDecl>, u64)> {
    let (rest, (base, size, slot)) = (le_u64, le_u64, le_u64).parse(i)?;
    match present {
        true => Ok((rest, (Some(RingDecl { base, size }), slot))),
        false if base == 0 && size == 0 => Ok((rest, (None, slot))),
        false => bad(i),
    }
}

fn region(i: In<'_>) -> Res<'_, Region> {
    let (rest, (code, fill_code, fill_arg, spare)) = (le_u8, le_u8, le_u8, le_u8).parse(i)?;
    let (rest, (base, len)) = (le_u64, le_u64).parse(rest)?;
    let (rest, name) = label(rest)?;
    match (RegionKind::ALL.get(usize::from(code)), fill::of_code(fill_code, fill_arg), spare) {
        (Some(&kind), Some(fill), 0) => Ok((rest, Region { name, kind, base, len, fill })),
        _ => bad(i),
    }
}

fn variable(i: In<'_>) -> Res<'_, Variable> {
    let (i, (id, addr)) = (le_u32, le_u64).parse(i)?;
    let (i, name) = label(i)?;
    Ok((i, Variable { id, name, addr }))
}

/// Offset and length in DATA.
pub(super) fn reference<'a>(i: In<'a>, data: &Blob) -> Res<'a, Blob> {
    let (rest, (at, len)) = (le_u64, le_u64).parse(i)?;
    match at.checked_add(len) {
        Some(end) if end <= data.len() as u64 => Ok((rest, data.slice(at as usize, len as usize))),
        _ => Err(nom::Err::Error(nom::error::Error::new(i, nom::error::ErrorKind::TooLarge))),
    }
}

fn content<'a>(i: In<'a>, data: &Blob) -> Res<'a, Content> {
    let (i, addr) = le_u64(i)?;
    let (i, bytes) = reference(i, data)?;
    Ok((i, Content { addr, bytes }))
}

fn script_op<'a>(i: In<'a>, data: &Blob) -> Res<'a, ScriptOp> {
    let (rest, code) = le_u16(i)?;
    let (rest, note) = string(rest)?;
    let Some(mut op) = ops::verb_of_code(code).and_then(ops::blank) else { return bad(i) };
    let mut r = OpReader { rest, data };
    ops::walk(&mut op, &mut r)?;
    Ok((r.rest, ScriptOp { op, note }))
}

/// Reads operands one after the other.
struct OpReader<'a, 'd> {
    rest: In<'a>,
    data: &'d Blob,
}

type Read<'a> = Result<(), nom::Err<nom::error::Error<In<'a>>>>;

impl<'a> OpReader<'a, '_> {
    fn next<T>(&mut self, value: &mut T, parser: impl FnOnce(In<'a>) -> Res<'a, T>) -> Read<'a> {
        let (rest, v) = parser(self.rest)?;
        *value = v;
        self.rest = rest;
        Ok(())
    }
}

impl<'a> ops::Operands for OpReader<'a, '_> {
    type Err = nom::Err<nom::error::Error<In<'a>>>;

    fn queue(&mut self, v: &mut QueueId) -> Read<'a> {
        self.next(v, queue_id)
    }
    fn u64(&mut self, _: &'static str, v: &mut u64) -> Read<'a> {
        self.next(v, le_u64)
    }
    fn addr(&mut self, _: &'static str, v: &mut u64) -> Read<'a> {
        self.next(v, le_u64)
    }
    fn u32(&mut self, _: &'static str, v: &mut u32) -> Read<'a> {
        self.next(v, le_u32)
    }
    fn i32(&mut self, _: &'static str, v: &mut i32) -> Read<'a> {
        self.next(v, le_i32)
    }
    fn u8(&mut self, _: &'static str, v: &mut u8) -> Read<'a> {
        self.next(v, le_u8)
    }
    fn flag(&mut self, _: &'static str, v: &mut bool) -> Read<'a> {
        self.next(v, |i| match le_u8(i)? {
            (rest, b @ 0..=1) => Ok((rest, b == 1)),
            _ => bad(i),
        })
    }
    fn wait_kind(&mut self, _: &'static str, v: &mut WaitKind) -> Read<'a> {
        self.next(v, |i| {
            let (rest, code) = le_u8(i)?;
            match ops::WAIT_KINDS.get(usize::from(code)) {
                Some((kind, _)) => Ok((rest, *kind)),
                None => bad(i),
            }
        })
    }
    fn ring_type(&mut self, _: &'static str, v: &mut RingType) -> Read<'a> {
        self.next(v, |i| le_u32.map(ops::ring_type_of_code).parse(i))
    }
    fn bytes(&mut self, v: &mut Blob) -> Read<'a> {
        let data = self.data;
        self.next(v, |i| reference(i, data))
    }
    fn descs(&mut self, v: &mut Blob) -> Read<'a> {
        self.bytes(v)
    }
}
