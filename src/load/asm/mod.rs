//! The assembly: a program as text, one to one with [`Program`] (`docs/assembly.md`).
//!
//! [`lex`] makes statements of lines, [`value`] and [`data`] read words and blocks, this
//! module gives each statement its meaning. All errors of a text are reported; a program is
//! returned only where there are none. The inverse is [`super::disasm`].

pub mod data;
mod edit;
pub mod lex;
pub mod value;

use super::{ops, validate};
use crate::diag::{Diagnostic, Place, Report};
use crate::engine::program::{
    Blob, Content, Fill, Program, QueueDecl, QueueId, Region, RegionKind, RingDecl, RingType,
    ScriptOp, Start, UnknownSection, Variable,
};
use crate::limits::MAX_TEXT_BYTES;
use crate::udma::profile::{Platform, WaitKind};
use crate::udma::{Barrier, Dir, Generation, Profile};
use data::Blocks;
use lex::{Statement, Token};
use value::{Operands, Symbols, shown, uint, unknown};

/// The word that an assembly text begins with.
pub const HEADER: &str = "dma";
/// The version that follows it.
pub const VERSION: u64 = 1;
/// Platforms and their names.
pub const PLATFORMS: [(Platform, &str); 3] =
    [(Platform::Silicon, "silicon"), (Platform::Qemu, "qemu"), (Platform::Emulator, "emulator")];
/// Statements that declare something; the verbs of [`ops::VERBS`] come besides.
/// Statements that are not of the script.
pub const DECLARATIONS: [&str; 12] = [
    HEADER, "arch", "profile", "platform", "speed", "queue", "region", "variable", "register",
    "content", "section", "edit",
];

/// A program and the line of each operation of its script.
#[derive(Debug, Clone)]
pub struct Assembled {
    /// The program.
    pub program: Program,
    /// Line, from 1, of `program.script[i]`.
    pub lines: Vec<u32>,
}

/// Reads an assembly text.
///
/// # Errors
/// D050 to D054, D025, D040 and D042 with line and column: all that the text has.
pub fn assemble(text: &str) -> Result<Assembled, Report> {
    if text.len() as u64 > MAX_TEXT_BYTES {
        let why = format!("a text of {} bytes; at most {MAX_TEXT_BYTES}", text.len());
        return Err(Diagnostic::new("D025", why).into());
    }
    let mut report = Report::default();
    let statements = lex::statements(text, &mut report);
    let symbols = symbols(&statements);
    let mut a = Assembler {
        p: Program::new(Generation::V3, Profile::default_profile()),
        blocks: Blocks::new(&symbols),
        symbols: &symbols,
        lines: Lines::default(),
        seen: [false; 4],
    };
    match statements.split_first() {
        Some((first, rest)) => {
            if let Err(d) = header(first) {
                report.push(d);
            }
            for s in rest {
                a.statement(s, &mut report);
            }
        }
        None if report.is_empty() => {
            let d = Diagnostic::new("D050", "the text has no statement");
            report.push(d.at(Place::text(1, 1, 1)));
        }
        None => {}
    }
    a.finish(report)
}

fn header(s: &Statement<'_>) -> Result<(), Diagnostic> {
    if s.head.word() != Some(HEADER) {
        return Err(s.head.error("D050", format!("an assembly text begins with `{HEADER} 1`")));
    }
    let mut o = Operands::new(&s.head, &s.args);
    let v = o.bare("the version")?;
    if uint(v, u64::MAX)? != VERSION {
        return Err(v.error("D030", format!("version {} of the assembly; known: 1", shown(v))));
    }
    o.finish(&[]).into_iter().next().map_or(Ok(()), Err)
}

/// Regions and variables, so that they may be used before their lines.
fn symbols(statements: &[Statement<'_>]) -> Symbols {
    let mut out = Symbols::default();
    for s in statements.iter().filter(|s| matches!(s.head.word(), Some("region" | "variable"))) {
        let mut o = Operands::new(&s.head, &s.args);
        let Ok(name) = o.bare("a name").and_then(value::name) else { continue };
        match s.head.word() {
            Some("region") => {
                if let Some(Ok(base)) = o.named("base").map(|t| uint(t, u64::MAX)) {
                    out.regions.entry(name).or_insert(base);
                }
            }
            Some("variable") => {
                if let Some(Ok(id)) = o.named("id").map(|t| uint(t, u64::from(u32::MAX))) {
                    out.variables.entry(name).or_insert(id as u32);
                }
            }
            _ => {}
        }
    }
    out
}

/// Where each part was written.
#[derive(Default)]
struct Lines {
    queues: Vec<Place>,
    regions: Vec<Place>,
    contents: Vec<Place>,
    registers: Vec<Place>,
    variables: Vec<Place>,
    ops: Vec<Place>,
    edits: Vec<Place>,
}

struct Assembler<'s> {
    p: Program,
    blocks: Blocks<'s>,
    symbols: &'s Symbols,
    lines: Lines,
    /// Which of arch, profile, platform, speed were given.
    seen: [bool; 4],
}

type Many<T> = Result<T, Vec<Diagnostic>>;

fn one(d: Diagnostic) -> Vec<Diagnostic> {
    vec![d]
}

fn finish(o: Operands<'_, '_>, known: &[&str]) -> Many<()> {
    let left = o.finish(known);
    if left.is_empty() { Ok(()) } else { Err(left) }
}

impl Assembler<'_> {
    fn statement(&mut self, s: &Statement<'_>, report: &mut Report) {
        let word = s.head.word().unwrap_or_default();
        let done = match word {
            "arch" => self.once(0, s, |a, t| {
                let names = Generation::ALL.map(Generation::name);
                a.p.arch = t
                    .word()
                    .and_then(|w| w.parse().ok())
                    .ok_or_else(|| unknown(t, "D051", "generation", names.into_iter()))?;
                Ok(())
            }),
            "profile" => self.once(1, s, |a, t| {
                let found = t.word().and_then(|w| Profile::find(w).ok());
                a.p.profile = found.ok_or_else(|| {
                    let names = crate::udma::profile::PROFILES.iter().map(|p| p.name);
                    unknown(t, "D051", "profile", names)
                })?;
                Ok(())
            }),
            "platform" => self.once(2, s, |a, t| {
                let found = PLATFORMS.iter().find(|(_, n)| t.word() == Some(n));
                a.p.platform = found.map(|(p, _)| *p).ok_or_else(|| {
                    unknown(t, "D051", "platform", PLATFORMS.iter().map(|(_, n)| *n))
                })?;
                Ok(())
            }),
            "speed" => self.speed(s),
            "queue" => self.queue(s),
            "region" => self.region(s),
            "variable" => self.variable(s),
            "register" => self.register(s),
            "content" => self.content(s, report),
            "section" => self.section(s, report),
            "edit" => self.edit(s, report),
            HEADER => Err(one(s.head.error("D053", "the header is there twice"))),
            _ => match ops::blank(word) {
                Some(op) => self.op(s, op, report),
                None => {
                    let names = DECLARATIONS.into_iter().chain(ops::VERBS);
                    Err(one(unknown(&s.head, "D050", "statement", names)))
                }
            },
        };
        for d in done.err().into_iter().flatten() {
            report.push(d);
        }
        let takes_block = matches!(word, "content" | "section" | "store" | "copy_in" | "edit");
        if s.block.is_some() && !takes_block {
            report.push(s.head.error("D050", format!("`{word}` takes no block")));
        }
    }

    fn mark(&mut self, index: usize, t: &Token<'_>) -> Many<()> {
        match self.seen.get_mut(index) {
            Some(true) => Err(one(t.error("D053", format!("{} is there twice", shown(t))))),
            Some(seen) => {
                *seen = true;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// A statement with one bare operand that may stand once.
    fn once(
        &mut self,
        index: usize,
        s: &Statement<'_>,
        set: impl FnOnce(&mut Self, &Token<'_>) -> Result<(), Diagnostic>,
    ) -> Many<()> {
        self.mark(index, &s.head)?;
        let mut o = Operands::new(&s.head, &s.args);
        let t = o.bare("the value").map_err(one)?;
        set(self, t).map_err(one)?;
        finish(o, &[])
    }

    fn speed(&mut self, s: &Statement<'_>) -> Many<()> {
        self.mark(3, &s.head)?;
        let mut o = Operands::new(&s.head, &s.args);
        let mut get = |name| o.named(name).map_or(Ok(0), |t| uint(t, u64::MAX)).map_err(one);
        self.p.speed.ns_per_desc = get("ns_per_desc")?;
        self.p.speed.bytes_per_ns = get("bytes_per_ns")?;
        finish(o, &["ns_per_desc", "bytes_per_ns"])
    }

    fn queue(&mut self, s: &Statement<'_>) -> Many<()> {
        const KNOWN: [&str; 10] = [
            "tx",
            "tx_size",
            "tx_first",
            "tx_phase",
            "rx",
            "rx_size",
            "rx_first",
            "rx_phase",
            "marker",
            "allocatable",
        ];
        let mut o = Operands::new(&s.head, &s.args);
        let id = o.bare("the queue").and_then(value::queue_id).map_err(one)?;
        let (tx, tx_start) = self.ring(&mut o, ["tx", "tx_size", "tx_first", "tx_phase"])?;
        let (rx, rx_start) = self.ring(&mut o, ["rx", "rx_size", "rx_first", "rx_phase"])?;
        let marker = o.named("marker").map_or(Ok(0), |t| self.symbols.address(t));
        let allocatable = o.named("allocatable").map_or(Ok(false), value::yes_no);
        self.p.queues.push(QueueDecl {
            id,
            tx,
            rx,
            allocatable: allocatable.map_err(one)?,
            marker_area: marker.map_err(one)?,
            first: [tx_start, rx_start],
        });
        self.lines.queues.push(s.head.place());
        finish(o, &KNOWN)
    }

    fn ring(
        &self,
        o: &mut Operands<'_, '_>,
        [base, size, first, phase]: [&str; 4],
    ) -> Many<(Option<RingDecl>, Start)> {
        let decl = match o.named(base) {
            Some(t) => {
                let base = self.symbols.address(t).map_err(one)?;
                let size = o.need(size).and_then(|t| uint(t, u64::from(u32::MAX)));
                Some(RingDecl { base, size: size.map_err(one)? })
            }
            None => None,
        };
        let mut start = Start::FRESH;
        if let Some(t) = o.named(first) {
            start.slot = uint(t, u64::MAX).map_err(one)?;
        }
        if let Some(t) = o.named(phase) {
            start.ring_id = uint(t, 3).map_err(one)? as u8;
        }
        Ok((decl, start))
    }

    fn region(&mut self, s: &Statement<'_>) -> Many<()> {
        let mut o = Operands::new(&s.head, &s.args);
        let name = o.bare("the name").and_then(value::name).map_err(one)?;
        let kind = o.need("kind").map_err(one)?;
        let found = RegionKind::ALL.into_iter().find(|k| kind.word() == Some(k.name()));
        let names = RegionKind::ALL.map(RegionKind::name);
        let kind =
            found.ok_or_else(|| one(unknown(kind, "D051", "kind of memory", names.into_iter())))?;
        let base = o.need("base").and_then(|t| uint(t, u64::MAX)).map_err(one)?;
        let len = o.need("len").and_then(|t| uint(t, u64::MAX)).map_err(one)?;
        let fill = o.named("fill").map_or(Ok(Fill::Never), fill).map_err(one)?;
        self.p.regions.push(Region { name, kind, base, len, fill });
        self.lines.regions.push(s.head.place());
        finish(o, &["kind", "base", "len", "fill"])
    }

    fn variable(&mut self, s: &Statement<'_>) -> Many<()> {
        let mut o = Operands::new(&s.head, &s.args);
        let name = o.bare("the name").and_then(value::name).map_err(one)?;
        let id = o.need("id").and_then(|t| uint(t, u64::from(u32::MAX))).map_err(one)? as u32;
        let addr = o.need("addr").and_then(|t| self.symbols.address(t)).map_err(one)?;
        self.p.variables.push(Variable { id, name, addr });
        self.lines.variables.push(s.head.place());
        finish(o, &["id", "addr"])
    }

    fn register(&mut self, s: &Statement<'_>) -> Many<()> {
        let mut o = Operands::new(&s.head, &s.args);
        let mut get = |name| {
            o.need(name).and_then(|t| uint(t, u64::from(u32::MAX))).map(|v| v as u32).map_err(one)
        };
        let register = (get("engine")?, get("offset")?, get("value")?);
        self.p.registers.push(register);
        self.lines.registers.push(s.head.place());
        finish(o, &["engine", "offset", "value"])
    }

    fn block(&mut self, s: &Statement<'_>, report: &mut Report) -> Many<Blob> {
        match &s.block {
            Some(items) => Ok(Blob::from_vec(self.blocks.bytes(items, report))),
            None => Err(one(s.head.error("D050", NO_BLOCK))),
        }
    }

    fn content(&mut self, s: &Statement<'_>, report: &mut Report) -> Many<()> {
        let mut o = Operands::new(&s.head, &s.args);
        let addr = o.need("addr").and_then(|t| self.symbols.address(t)).map_err(one)?;
        let bytes = self.block(s, report)?;
        self.p.contents.push(Content { addr, bytes });
        self.lines.contents.push(s.head.place());
        finish(o, &["addr"])
    }

    fn section(&mut self, s: &Statement<'_>, report: &mut Report) -> Many<()> {
        let mut o = Operands::new(&s.head, &s.args);
        let kind = o.need("kind").and_then(|t| uint(t, u64::from(u32::MAX))).map_err(one)? as u32;
        let bytes = self.block(s, report)?;
        self.p.unknown.push(UnknownSection { kind, bytes });
        finish(o, &["kind"])
    }

    fn edit(&mut self, s: &Statement<'_>, report: &mut Report) -> Many<()> {
        let block = match s.block {
            Some(_) => Some(self.block(s, report)?),
            None => None,
        };
        self.p.edits.push(edit::edit(s, self.symbols, block)?);
        self.lines.edits.push(s.head.place());
        Ok(())
    }

    fn op(
        &mut self,
        s: &Statement<'_>,
        mut op: crate::engine::program::HostOp,
        report: &mut Report,
    ) -> Many<()> {
        let mut o = Operands::new(&s.head, &s.args);
        let note = o.named("note").map_or(Ok(String::new()), value::text).map_err(one)?;
        let block = match s.block {
            Some(_) => Some(self.block(s, report)?),
            None => None,
        };
        let (symbols, names, errors) = (self.symbols, vec!["note"], Vec::new());
        let mut reader = OpReader { head: &s.head, o, symbols, block, names, errors };
        let Ok(()) = ops::walk(&mut op, &mut reader);
        let OpReader { o, names, mut errors, .. } = reader;
        errors.extend(o.finish(&names));
        self.p.script.push(ScriptOp { op, note });
        self.lines.ops.push(s.head.place());
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    fn finish(mut self, mut report: Report) -> Result<Assembled, Report> {
        // Regions may be written in any order; the program keeps them by base.
        let mut regions: Vec<_> =
            self.p.regions.drain(..).zip(self.lines.regions.drain(..)).collect();
        regions.sort_by(|(a, _), (b, _)| (a.base, &a.name).cmp(&(b.base, &b.name)));
        (self.p.regions, self.lines.regions) = regions.into_iter().unzip();
        // So may edits; those of one event are made in the order written.
        let mut edits: Vec<_> = self.p.edits.drain(..).zip(self.lines.edits.drain(..)).collect();
        edits.sort_by_key(|(e, _)| e.at);
        (self.p.edits, self.lines.edits) = edits.into_iter().unzip();
        for (part, d) in validate::check(&self.p) {
            use validate::Part;
            let place = match part {
                Part::Whole => None,
                Part::Queue(i) => self.lines.queues.get(i),
                Part::Region(i) => self.lines.regions.get(i),
                Part::Content(i) => self.lines.contents.get(i),
                Part::Register(i) => self.lines.registers.get(i),
                Part::Variable(i) => self.lines.variables.get(i),
                Part::Op(i) => self.lines.ops.get(i),
                Part::Edit(i) => self.lines.edits.get(i),
            };
            report.push(d.at(place.cloned().unwrap_or_else(|| Place::text(1, 1, 1))));
        }
        if report.has_errors() {
            report.items.sort_by_key(|d| (d.place.line, d.place.column));
            return Err(report);
        }
        let lines = self.lines.ops.iter().map(|p| p.line.unwrap_or(0) as u32).collect();
        Ok(Assembled { program: self.p, lines })
    }
}

/// `never`, `zero`, `unknown`, `byte:N`, `pattern:N`
fn fill(t: &Token<'_>) -> Result<Fill, Diagnostic> {
    let word = t.word().unwrap_or_default();
    let byte = |text: &str| {
        let word = Token { kind: lex::Kind::Word(text), ..t.clone() };
        uint(&word, 255).map(|n| n as u8)
    };
    match (word, word.split_once(':')) {
        ("never", _) => Ok(Fill::Never),
        ("zero", _) => Ok(Fill::Zero),
        ("unknown", _) => Ok(Fill::Unknown),
        (_, Some(("byte", n))) => byte(n).map(Fill::Byte),
        (_, Some(("pattern", n))) => byte(n).map(Fill::Pattern),
        _ => Err(unknown(
            t,
            "D051",
            "fill",
            ["never", "zero", "unknown", "byte:N", "pattern:N"].into_iter(),
        )),
    }
}

/// Takes the operands of an operation from its statement.
struct OpReader<'s, 'a> {
    head: &'s Token<'a>,
    o: Operands<'s, 'a>,
    symbols: &'s Symbols,
    /// The bytes of its block.
    block: Option<Blob>,
    /// Names asked for, for suggestions.
    names: Vec<&'static str>,
    /// What is wrong with its operands.
    errors: Vec<Diagnostic>,
}

type Read = Result<(), std::convert::Infallible>;

impl OpReader<'_, '_> {
    fn set<T>(
        &mut self,
        name: &'static str,
        value: &mut T,
        optional: bool,
        read: impl FnOnce(&Token<'_>, &Symbols) -> Result<T, Diagnostic>,
    ) -> Read {
        self.names.push(name);
        let found = match self.o.named(name) {
            Some(t) => read(t, self.symbols),
            None if optional => return Ok(()),
            None => Err(self.head.error("D050", format!("operand `{name}=` is missing"))),
        };
        match found {
            Ok(v) => *value = v,
            Err(d) => self.errors.push(d),
        }
        Ok(())
    }
}

impl ops::Operands for OpReader<'_, '_> {
    type Err = std::convert::Infallible;

    fn queue(&mut self, v: &mut QueueId) -> Read {
        match self.o.bare("the queue").and_then(value::queue_id) {
            Ok(id) => *v = id,
            Err(d) => self.errors.push(d),
        }
        Ok(())
    }
    fn u64(&mut self, name: &'static str, v: &mut u64) -> Read {
        self.set(name, v, name == "at", |t, _| uint(t, u64::MAX))
    }
    fn addr(&mut self, name: &'static str, v: &mut u64) -> Read {
        self.set(name, v, false, |t, s| s.address(t))
    }
    fn u32(&mut self, name: &'static str, v: &mut u32) -> Read {
        let barrier = name == BARRIER;
        self.set(name, v, barrier, |t, _| match t.word().and_then(|w| w.parse::<Barrier>().ok()) {
            Some(b) if barrier => Ok(b.code()),
            _ => uint(t, u64::from(u32::MAX)).map(|n| n as u32),
        })
    }
    fn i32(&mut self, name: &'static str, v: &mut i32) -> Read {
        self.set(name, v, false, |t, _| value::int(t))
    }
    fn u8(&mut self, name: &'static str, v: &mut u8) -> Read {
        self.set(name, v, false, |t, _| uint(t, 255).map(|n| n as u8))
    }
    fn flag(&mut self, name: &'static str, v: &mut bool) -> Read {
        self.set(name, v, name == "dst_int", |t, _| value::yes_no(t))
    }
    fn wait_kind(&mut self, name: &'static str, v: &mut WaitKind) -> Read {
        self.set(name, v, true, |t, _| {
            let found = ops::WAIT_KINDS.iter().find(|(_, n)| t.word() == Some(n));
            found.map(|(k, _)| *k).ok_or_else(|| {
                unknown(t, "D051", "kind of wait", ops::WAIT_KINDS.iter().map(|(_, n)| *n))
            })
        })
    }
    fn ring_type(&mut self, name: &'static str, v: &mut RingType) -> Read {
        self.set(name, v, false, |t, _| match t.word() {
            Some("tx") => Ok(RingType::Dir(Dir::Tx)),
            Some("rx") => Ok(RingType::Dir(Dir::Rx)),
            _ => uint(t, u64::from(u32::MAX)).map(|n| ops::ring_type_of_code(n as u32)),
        })
    }
    fn bytes(&mut self, v: &mut Blob) -> Read {
        match self.block.take() {
            Some(b) => *v = b,
            None => self.errors.push(self.head.error("D050", NO_BLOCK)),
        }
        Ok(())
    }
    fn descs(&mut self, v: &mut Blob) -> Read {
        self.bytes(v)
    }
}

const NO_BLOCK: &str = "a block `{ .. }` of data is missing";

/// The operand that also takes the names of barriers.
pub const BARRIER: &str = "barrier";

#[cfg(test)]
mod tests;
