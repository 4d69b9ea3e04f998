//! Where the parts of a module stand in their file: byte spans, and lines and columns made of
//! them only when something is said about them.

use super::keys::Key;
use crate::bir::{At, Finding, Name, Part, Pos};
use crate::diag::{Diagnostic, Place};
use std::collections::HashMap;
use std::ops::Range;

/// A stretch of bytes of the text that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// The one after the last.
    pub end: u32,
}

impl Span {
    /// For slicing.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// Something wrong with a text, before line and column are known.
#[derive(Debug, Clone)]
pub struct Fault {
    /// Its code.
    pub code: &'static str,
    /// What.
    pub message: String,
    /// Where.
    pub at: Span,
    /// Where else, and why that matters.
    pub labels: Vec<(Span, String)>,
    /// What to do about it.
    pub help: Option<String>,
}

impl Fault {
    /// With the severity that its code has.
    pub fn new(code: &'static str, at: Span, message: impl Into<String>) -> Fault {
        Fault { code, message: message.into(), at, labels: Vec::new(), help: None }
    }

    /// With a further place.
    #[must_use]
    pub fn label(mut self, at: Span, why: impl Into<String>) -> Fault {
        self.labels.push((at, why.into()));
        self
    }

    /// With advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Fault {
        self.help = Some(help.into());
        self
    }
}

/// Where lines begin, and which bytes begin no character: enough for columns without the text.
#[derive(Debug, Clone, Default)]
pub struct Lines {
    starts: Vec<u32>,
    inner: Vec<u32>,
    len: u32,
}

impl Lines {
    /// Of a text. Bytes that are no UTF-8 count as one character each.
    pub fn of(bytes: &[u8]) -> Lines {
        const ONES: u64 = 0x0101_0101_0101_0101;
        const HIGH: u64 = 0x8080_8080_8080_8080;
        let mut starts = vec![0];
        let mut chunks = bytes.chunks_exact(8);
        let mut at = 0u32;
        for c in &mut chunks {
            let x = c.first_chunk::<8>().map_or(0, |c| u64::from_le_bytes(*c));
            let x = x ^ (ONES * u64::from(b'\n'));
            // The high bit of each byte that is a line end, exactly.
            let mut ends = !(((x & !HIGH).wrapping_add(!HIGH)) | x | !HIGH);
            while ends != 0 {
                starts.push(at + ends.trailing_zeros() / 8 + 1);
                ends &= ends - 1;
            }
            at += 8;
        }
        let rest = chunks.remainder().iter().enumerate();
        starts.extend(rest.filter(|(_, b)| **b == b'\n').map(|(n, _)| at + n as u32 + 1));
        let inner = if bytes.is_ascii() {
            Vec::new()
        } else {
            let inside = |(i, b): (usize, &u8)| (*b & 0xc0 == 0x80).then_some(i as u32);
            bytes.iter().enumerate().filter_map(inside).collect()
        };
        Lines { starts, inner, len: bytes.len() as u32 }
    }

    /// Line, from 1, of a byte.
    pub fn line(&self, offset: u32) -> u32 {
        self.starts.partition_point(|s| *s <= offset) as u32
    }

    /// Characters that begin in a stretch.
    fn chars(&self, from: u32, to: u32) -> u64 {
        let below = |x: u32| self.inner.partition_point(|i| *i < x) as u64;
        u64::from(to.saturating_sub(from)) - (below(to) - below(from))
    }

    /// Line, column and width of a span; the part of it that is on its first line.
    pub fn place(&self, span: Span) -> Place {
        let line = self.line(span.start).max(1);
        let start = self.starts.get(line as usize - 1).copied().unwrap_or(0);
        let next = self.starts.get(line as usize).map_or(self.len, |s| s - 1);
        let column = self.chars(start, span.start) + 1;
        let width = self.chars(span.start, span.end.min(next));
        Place { offset: Some(u64::from(span.start)), ..Place::text(u64::from(line), column, width) }
    }
}

/// A stretch of generated JSON and the stretch of the text that it was made of.
#[derive(Debug, Clone, Copy)]
pub struct Mapped {
    /// Where the JSON value begins.
    pub json: u32,
    /// What it was made of.
    pub text: Span,
    /// Whether it is that text, byte for byte.
    pub verbatim: bool,
}

/// A file that spans point into.
#[derive(Debug, Clone, Default)]
pub struct Origin {
    /// Its name.
    pub file: String,
    /// Its lines.
    pub lines: Lines,
    /// For text that is not JSON itself: what its generated JSON was made of, ascending.
    pub map: Option<Vec<Mapped>>,
}

impl Origin {
    /// A span of the file itself.
    pub fn source(&self, span: Span) -> Span {
        let Some(map) = &self.map else { return span };
        let at = map.partition_point(|m| m.json <= span.start).saturating_sub(1);
        let Some(m) = map.get(at) else { return Span::default() };
        let (from, to) = (span.start.saturating_sub(m.json), span.end.saturating_sub(m.json));
        if m.verbatim && m.text.start + to <= m.text.end {
            return Span { start: m.text.start + from, end: m.text.start + to };
        }
        m.text
    }

    /// The place of a span.
    pub fn place(&self, span: Span) -> Place {
        self.lines.place(self.source(span)).in_file(&self.file)
    }

    /// A fault as a diagnostic.
    pub fn diagnostic(&self, fault: Fault) -> Diagnostic {
        let mut d = Diagnostic::new(fault.code, fault.message).at(self.place(fault.at));
        for (at, why) in fault.labels {
            d = d.label(self.place(at), why);
        }
        d.help = fault.help;
        d
    }
}

/// What a name is a name of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Named {
    Set,
    Location,
    Queue,
    Block,
}

#[derive(Debug, Clone, Copy)]
struct InstSpan {
    whole: Span,
    /// What stands for all of it: its name, else its opcode.
    head: Span,
    parts: (u32, u32),
}

/// Where everything in a module stands in its file.
#[derive(Debug, Clone, Default)]
pub struct Spans {
    /// The file.
    pub origin: Origin,
    insts: Vec<InstSpan>,
    parts: Vec<(u32, Span)>,
    named: HashMap<(Named, Name), Vec<Span>>,
    module: Vec<(Name, Span)>,
    root: Span,
}

const IN: u32 = 1 << 30;
const OUT: u32 = 2 << 30;

impl Spans {
    pub(super) fn new(origin: Origin, root: Span) -> Spans {
        Spans { origin, root, ..Spans::default() }
    }

    /// An instruction begins; its parts follow until [`Spans::sealed`].
    pub(super) fn begin(&mut self, whole: Span) -> Pos {
        let n = self.parts.len() as u32;
        let head = Span { start: whole.start, end: whole.start + 1 };
        self.insts.push(InstSpan { whole, head, parts: (n, n) });
        Pos(self.insts.len() as u32 - 1)
    }

    pub(super) fn head(&mut self, pos: Pos, head: Span) {
        if let Some(i) = self.insts.get_mut(pos.0 as usize) {
            i.head = head;
        }
    }

    pub(super) fn key(&mut self, key: Key, at: Span) {
        self.parts.push((key as u32, at));
    }

    pub(super) fn operand(&mut self, part: Part, at: Span) {
        match part {
            Part::In(n) => self.parts.push((IN | n, at)),
            Part::Out(n) => self.parts.push((OUT | n, at)),
            _ => {}
        }
    }

    pub(super) fn sealed(&mut self, pos: Pos) {
        let n = self.parts.len() as u32;
        if let Some(i) = self.insts.get_mut(pos.0 as usize) {
            i.parts.1 = n;
        }
    }

    /// All is there: room for more is given back.
    pub(super) fn seal(&mut self) {
        self.insts.shrink_to_fit();
        self.parts.shrink_to_fit();
        if let Some(map) = &mut self.origin.map {
            map.shrink_to_fit();
        }
    }

    pub(super) fn named(&mut self, kind: Named, name: &Name, at: Span) {
        self.named.entry((kind, name.clone())).or_default().push(at);
    }

    pub(super) fn module_key(&mut self, name: Name, at: Span) {
        self.module.push((name, at));
    }

    /// All places where something of this kind has this name, in file order.
    pub(super) fn all(&self, kind: Named, name: &Name) -> &[Span] {
        self.named.get(&(kind, name.clone())).map_or(&[], Vec::as_slice)
    }

    /// How many instructions there are.
    pub fn len(&self) -> usize {
        self.insts.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.insts.is_empty()
    }

    /// The span that stands for something: of a whole instruction its name (else its opcode).
    /// What the file does not spell out is what holds it.
    pub fn span(&self, at: &At) -> Span {
        let named = |kind, name: &Name| self.all(kind, name).first().copied().unwrap_or(self.root);
        match at {
            At::Storage(name) => match self.all(Named::Location, name) {
                [first, ..] => *first,
                [] => named(Named::Set, name),
            },
            At::Queue(name) => named(Named::Queue, name),
            At::Block(name) => named(Named::Block, name),
            At::Module(key) => {
                self.module.iter().find(|(k, _)| &**k == *key).map_or(self.root, |(_, s)| *s)
            }
            At::Inst(pos, part) => {
                let Some(i) = self.insts.get(pos.0 as usize) else { return self.root };
                let wanted = match part {
                    Part::Whole => return i.head,
                    Part::In(n) => IN | n,
                    Part::Out(n) => OUT | n,
                    Part::Key(k) => match Key::of(k) {
                        Key::Unknown => return i.head,
                        key => key as u32,
                    },
                };
                let parts = self.parts.get(i.parts.0 as usize..i.parts.1 as usize);
                let found = parts.unwrap_or_default().iter().find(|(code, _)| *code == wanted);
                found.map_or(i.head, |(_, s)| *s)
            }
        }
    }

    /// Line, column, width and offset of something.
    pub fn place(&self, at: &At) -> Place {
        self.origin.place(self.span(at))
    }

    /// All of an instruction, in bytes of the file.
    pub fn whole(&self, pos: Pos) -> Option<Range<u64>> {
        let s = self.origin.source(self.insts.get(pos.0 as usize)?.whole);
        Some(u64::from(s.start)..u64::from(s.end))
    }

    /// Lines, from 1, that an instruction is on, its content included.
    pub fn lines(&self, pos: Pos) -> Option<Range<u64>> {
        let s = self.whole(pos)?;
        let line = |x: u64| u64::from(self.origin.lines.line(x as u32));
        Some(line(s.start)..line(s.end.saturating_sub(1).max(s.start)) + 1)
    }

    /// The innermost instruction that has something on a line (from 1).
    pub fn at_line(&self, line: u64) -> Option<Pos> {
        let starts = &self.origin.lines.starts;
        let index = usize::try_from(line.checked_sub(1)?).ok()?;
        let from = *starts.get(index)?;
        let to = starts.get(index + 1).copied().unwrap_or(u32::MAX);
        let holds = |i: &InstSpan| {
            let s = self.origin.source(i.whole);
            s.start < to && s.end > from
        };
        // Positions ascend with nesting, so that the last one that holds the line is innermost.
        self.insts.iter().rposition(holds).map(|n| Pos(n as u32))
    }

    /// A finding with its place.
    pub fn diagnostic(&self, finding: &Finding) -> Diagnostic {
        let mut d = finding.diag.clone();
        if let Some(at) = &finding.at {
            let place = self.place(at);
            d.place = Place { slot: d.place.slot, event: d.place.event, ..place };
        }
        d
    }
}
