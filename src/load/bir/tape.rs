//! JSON as an index over its bytes: one node per value, in file order, each with its span.
//!
//! One pass without recursion; strings and numbers are checked here and decoded by whoever
//! needs them. What it refuses is listed in `docs/bir.md`, "JSON". Spans are byte offsets, so
//! that every later finding can point into the file.

use super::spans::{Fault, Span};
use crate::bir::{Name, Value};
use crate::limits::{MAX_BIR_BYTES, MAX_BIR_DEPTH, MAX_DIAGNOSTICS};
use std::borrow::Cow;

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `null`
    Null,
    /// `true`
    True,
    /// `false`
    False,
    /// A number, as spelled.
    Num,
    /// A string without escapes.
    Str,
    /// A string with escapes.
    Escaped,
    /// An object: its nodes are keys and values in turn.
    Obj,
    /// An array.
    Arr,
}

const KINDS: [Kind; 8] = [
    Kind::Null,
    Kind::True,
    Kind::False,
    Kind::Num,
    Kind::Str,
    Kind::Escaped,
    Kind::Obj,
    Kind::Arr,
];
/// Bits of `Node::meta` that count nodes; the rest is the kind.
const AFTER_BITS: u32 = 29;
const _: () = assert!(MAX_BIR_BYTES <= 1 << AFTER_BITS);

#[derive(Debug, Clone, Copy)]
struct Node {
    start: u32,
    end: u32,
    /// Kind in the high bits; below it the number of the node after this one and its content.
    meta: u32,
}

/// The index of a text.
#[derive(Debug)]
pub struct Tape<'a> {
    text: &'a str,
    nodes: Vec<Node>,
}

/// One value of a tape.
#[derive(Debug, Clone, Copy)]
pub struct Json<'t> {
    tape: &'t Tape<'t>,
    at: u32,
}

impl<'t> Json<'t> {
    fn node(self) -> Node {
        // Every `Json` comes out of its own tape.
        self.tape.nodes.get(self.at as usize).copied().unwrap_or(Node { start: 0, end: 0, meta: 0 })
    }

    /// What it is.
    pub fn kind(self) -> Kind {
        KINDS[(self.node().meta >> AFTER_BITS) as usize]
    }

    /// Where it is.
    pub fn span(self) -> Span {
        let n = self.node();
        Span { start: n.start, end: n.end }
    }

    /// As it is written.
    pub fn raw(self) -> &'t str {
        self.tape.text.get(self.span().range()).unwrap_or_default()
    }

    /// Whether it is `null`.
    pub fn is_null(self) -> bool {
        self.kind() == Kind::Null
    }

    /// Whether it is an object.
    pub fn is_obj(self) -> bool {
        self.kind() == Kind::Obj
    }

    /// Whether it is an array.
    pub fn is_arr(self) -> bool {
        self.kind() == Kind::Arr
    }

    /// The text of a string.
    pub fn as_str(self) -> Option<Cow<'t, str>> {
        let inner = |raw: &'t str| raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default();
        match self.kind() {
            Kind::Str => Some(Cow::Borrowed(inner(self.raw()))),
            Kind::Escaped => Some(Cow::Owned(unescape(inner(self.raw())))),
            _ => None,
        }
    }

    /// The spelling of a number.
    pub fn as_num(self) -> Option<&'t str> {
        (self.kind() == Kind::Num).then(|| self.raw())
    }

    /// `true` or `false`.
    pub fn as_bool(self) -> Option<bool> {
        match self.kind() {
            Kind::True => Some(true),
            Kind::False => Some(false),
            _ => None,
        }
    }

    /// Keys and values of an object, in file order; nothing where it is none.
    pub fn members(self) -> impl Iterator<Item = (Json<'t>, Json<'t>)> {
        let mut nodes = Nodes::of(self, Kind::Obj);
        std::iter::from_fn(move || Some((nodes.next()?, nodes.next()?)))
    }

    /// Elements of an array; nothing where it is none.
    pub fn elements(self) -> Nodes<'t> {
        Nodes::of(self, Kind::Arr)
    }

    /// The value of a key of an object.
    pub fn get(self, key: &str) -> Option<Json<'t>> {
        self.members().find(|(k, _)| k.as_str().as_deref() == Some(key)).map(|(_, v)| v)
    }

    /// As a tree of its own. Nesting is bounded by the tape.
    pub fn to_value(self) -> Value {
        match self.kind() {
            Kind::Null => Value::Null,
            Kind::True => Value::Bool(true),
            Kind::False => Value::Bool(false),
            Kind::Num => Value::Num(self.raw().into()),
            Kind::Str | Kind::Escaped => Value::Str(self.to_name()),
            Kind::Arr => Value::Arr(self.elements().map(Json::to_value).collect()),
            Kind::Obj => {
                Value::Obj(self.members().map(|(k, v)| (k.to_name(), v.to_value())).collect())
            }
        }
    }

    /// A string as a name of its own; empty where it is none.
    pub fn to_name(self) -> Name {
        self.as_str().as_deref().unwrap_or_default().into()
    }
}

/// Values in a row.
pub struct Nodes<'t> {
    tape: &'t Tape<'t>,
    at: u32,
    end: u32,
}

impl<'t> Nodes<'t> {
    fn of(json: Json<'t>, kind: Kind) -> Nodes<'t> {
        let end = if json.kind() == kind { json.node().after() } else { 0 };
        Nodes { tape: json.tape, at: json.at + 1, end }
    }
}

impl<'t> Iterator for Nodes<'t> {
    type Item = Json<'t>;

    fn next(&mut self) -> Option<Json<'t>> {
        if self.at >= self.end {
            return None;
        }
        let json = Json { tape: self.tape, at: self.at };
        self.at = json.node().after();
        Some(json)
    }
}

impl Node {
    fn after(self) -> u32 {
        self.meta & ((1 << AFTER_BITS) - 1)
    }
}

impl<'a> Tape<'a> {
    /// Reads a text.
    ///
    /// # Errors
    /// B001 to B004 and B015: the first place where it is no JSON, and every repeated key
    /// before that.
    pub fn read(bytes: &'a [u8]) -> Result<Tape<'a>, Vec<Fault>> {
        if bytes.len() as u64 > MAX_BIR_BYTES {
            let why = format!("{} bytes of text; at most {MAX_BIR_BYTES}", bytes.len());
            return Err(vec![Fault::new("B015", Span::default(), why)]);
        }
        let text = std::str::from_utf8(bytes).map_err(|e| {
            let at = e.valid_up_to() as u32;
            vec![Fault::new("B002", Span { start: at, end: at + 1 }, "a byte that is no UTF-8")]
        })?;
        let mut reader = Reader {
            b: bytes,
            i: if text.starts_with('\u{feff}') { 3 } else { 0 },
            nodes: Vec::with_capacity(bytes.len() / 12 + 4),
            stack: Vec::new(),
            faults: Vec::new(),
            text,
        };
        match reader.run() {
            Ok(()) if reader.faults.is_empty() => Ok(Tape { text, nodes: reader.nodes }),
            Ok(()) => Err(reader.faults),
            Err(f) => {
                reader.faults.push(f);
                Err(reader.faults)
            }
        }
    }

    /// The outermost value.
    pub fn root(&'a self) -> Json<'a> {
        Json { tape: self, at: 0 }
    }
}

struct Frame {
    node: u32,
    object: bool,
    /// Last key, as its place in the text.
    key: Span,
    /// Keys do not ascend (or hold escapes): they must be compared with one another.
    mixed: bool,
}

struct Reader<'a> {
    text: &'a str,
    b: &'a [u8],
    i: usize,
    nodes: Vec<Node>,
    stack: Vec<Frame>,
    faults: Vec<Fault>,
}

enum Want {
    Value,
    Key,
    After,
}

impl Reader<'_> {
    fn run(&mut self) -> Result<(), Fault> {
        let mut want = Want::Value;
        loop {
            self.space();
            let here = self.b.get(self.i).copied();
            want = match (want, here) {
                (Want::After, None) if self.stack.is_empty() => return Ok(()),
                (_, None) => return Err(self.cut()),
                (Want::Value, Some(c)) => self.value(c)?,
                (Want::Key, Some(b'"')) => {
                    self.key()?;
                    Want::Value
                }
                (Want::Key, Some(_)) => return Err(self.wrong("a key in quotes")),
                (Want::After, Some(c)) => match (self.stack.last().map(|f| f.object), c) {
                    (None, _) => return Err(self.wrong("the end of the file")),
                    (Some(object), b',') => {
                        self.i += 1;
                        if object { Want::Key } else { Want::Value }
                    }
                    (Some(true), b'}') | (Some(false), b']') => {
                        self.close();
                        Want::After
                    }
                    (Some(true), _) => return Err(self.wrong("`,` or `}`")),
                    (Some(false), _) => return Err(self.wrong("`,` or `]`")),
                },
            };
        }
    }

    fn value(&mut self, c: u8) -> Result<Want, Fault> {
        let start = self.i;
        let kind = match c {
            b'{' | b'[' => return self.open(c == b'{'),
            b'"' => self.string()?,
            b'-' | b'0'..=b'9' => self.number()?,
            b't' => self.word("true", Kind::True)?,
            b'f' => self.word("false", Kind::False)?,
            b'n' => self.word("null", Kind::Null)?,
            _ => return Err(self.wrong("a value")),
        };
        self.push(kind, start, self.i);
        Ok(Want::After)
    }

    fn push(&mut self, kind: Kind, start: usize, end: usize) {
        let after = self.nodes.len() as u32 + 1;
        let meta = (kind as u32) << AFTER_BITS | after;
        self.nodes.push(Node { start: start as u32, end: end as u32, meta });
    }

    fn open(&mut self, object: bool) -> Result<Want, Fault> {
        if self.stack.len() >= MAX_BIR_DEPTH {
            let why = format!("nested deeper than {MAX_BIR_DEPTH}");
            return Err(Fault::new("B003", self.span(1), why));
        }
        let node = self.nodes.len() as u32;
        self.stack.push(Frame { node, object, key: Span::default(), mixed: false });
        self.push(if object { Kind::Obj } else { Kind::Arr }, self.i, self.i + 1);
        self.i += 1;
        self.space();
        let end = if object { b'}' } else { b']' };
        if self.b.get(self.i) == Some(&end) {
            self.close();
            return Ok(Want::After);
        }
        Ok(if object { Want::Key } else { Want::Value })
    }

    fn close(&mut self) {
        self.i += 1;
        let Some(frame) = self.stack.pop() else { return };
        let after = self.nodes.len() as u32;
        if let Some(node) = self.nodes.get_mut(frame.node as usize) {
            node.end = self.i as u32;
            node.meta = node.meta >> AFTER_BITS << AFTER_BITS | after;
        }
        if frame.mixed {
            self.repeated(frame.node);
        }
    }

    fn key(&mut self) -> Result<(), Fault> {
        let start = self.i;
        let kind = self.string()?;
        self.push(kind, start, self.i);
        let key = Span { start: start as u32, end: self.i as u32 };
        if let Some(frame) = self.stack.last_mut() {
            let before = &self.b[frame.key.range()];
            frame.mixed |= kind == Kind::Escaped || !ascends(before, &self.b[key.range()]);
            frame.key = key;
        }
        self.space();
        if self.b.get(self.i) != Some(&b':') {
            return Err(if self.i >= self.b.len() { self.cut() } else { self.wrong("`:`") });
        }
        self.i += 1;
        Ok(())
    }

    /// Reports the repeated keys of an object.
    fn repeated(&mut self, node: u32) {
        let nodes = std::mem::take(&mut self.nodes);
        let tape = Tape { text: self.text, nodes };
        let object = Json { tape: &tape, at: node };
        let mut keys: Vec<(Cow<'_, str>, Span)> =
            object.members().filter_map(|(k, _)| Some((k.as_str()?, k.span()))).collect();
        keys.sort();
        for pair in keys.windows(2) {
            if let [(a, first), (b, again)] = pair
                && a == b
                && self.faults.len() < MAX_DIAGNOSTICS
            {
                let why = format!("the key `{b}` a second time in one object");
                let fault = Fault::new("B004", *again, why);
                self.faults.push(fault.label(*first, "the first one"));
            }
        }
        self.nodes = tape.nodes;
    }

    fn space(&mut self) {
        let b = self.b;
        let mut i = self.i;
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = b.get(i) {
            i += 1;
        }
        self.i = i;
    }

    /// Passes over a string, from its first quote.
    fn string(&mut self) -> Result<Kind, Fault> {
        const ONES: u64 = 0x0101_0101_0101_0101;
        const HIGH: u64 = 0x8080_8080_8080_8080;
        let zero = |x: u64| x.wrapping_sub(ONES) & !x & HIGH;
        let start = self.i;
        let b = self.b;
        let mut i = start + 1;
        let mut kind = Kind::Str;
        loop {
            if let Some(chunk) = b.get(i..).and_then(|rest| rest.first_chunk::<8>()) {
                let x = u64::from_le_bytes(*chunk);
                let control = x.wrapping_sub(ONES * 0x20) & !x & HIGH;
                let stop = zero(x ^ (ONES * 0x22)) | zero(x ^ (ONES * 0x5c)) | control;
                if stop == 0 {
                    i += 8;
                    continue;
                }
                i += (stop.trailing_zeros() / 8) as usize;
            }
            match b.get(i) {
                None => {
                    self.i = i;
                    let from = Span { start: start as u32, end: start as u32 + 1 };
                    return Err(self.cut().label(from, "this string has no end"));
                }
                Some(b'"') => {
                    self.i = i + 1;
                    return Ok(kind);
                }
                Some(b'\\') => {
                    kind = Kind::Escaped;
                    i = self.escape(i)?;
                }
                Some(0..0x20) => {
                    self.i = i;
                    return Err(Fault::new(
                        "B001",
                        self.span(1),
                        "a control character in a string; it is written as an escape",
                    ));
                }
                Some(_) => i += 1,
            }
        }
    }

    /// Passes over the escape at `at`.
    fn escape(&mut self, at: usize) -> Result<usize, Fault> {
        let unit = |at: usize| -> Option<u32> {
            let digits = self.b.get(at..at + 6)?;
            let hex = digits.strip_prefix(b"\\u")?;
            hex.iter().try_fold(0, |n, d| Some(n * 16 + char::from(*d).to_digit(16)?))
        };
        let end = match self.b.get(at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Some(at + 2),
            Some(b'u') => match (unit(at), unit(at + 6)) {
                (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => Some(at + 12),
                (Some(0xd800..0xe000) | None, _) => None,
                (Some(_), _) => Some(at + 6),
            },
            None => {
                self.i = self.b.len();
                return Err(self.cut());
            }
            _ => None,
        };
        end.ok_or_else(|| {
            self.i = at;
            Fault::new("B001", self.span(2), "an escape that JSON does not have")
        })
    }

    fn number(&mut self) -> Result<Kind, Fault> {
        let start = self.i;
        let b = self.b;
        let mut i = start + usize::from(b.get(start) == Some(&b'-'));
        let digits = |i: &mut usize| {
            let from = *i;
            while b.get(*i).is_some_and(u8::is_ascii_digit) {
                *i += 1;
            }
            *i - from
        };
        let zero = b.get(i) == Some(&b'0');
        let whole = digits(&mut i);
        let mut good = whole == 1 || (whole > 1 && !zero);
        if good && b.get(i) == Some(&b'.') {
            i += 1;
            good = digits(&mut i) > 0;
        }
        if good && matches!(b.get(i), Some(b'e' | b'E')) {
            i += 1;
            i += usize::from(matches!(b.get(i), Some(b'+' | b'-')));
            good = digits(&mut i) > 0;
        }
        self.i = i;
        if good {
            return Ok(Kind::Num);
        }
        if i >= b.len() {
            return Err(self.cut());
        }
        let at = Span { start: start as u32, end: i.max(start + 1) as u32 };
        Err(Fault::new("B001", at, "a number that JSON does not have"))
    }

    fn word(&mut self, word: &str, kind: Kind) -> Result<Kind, Fault> {
        let rest = self.b.get(self.i..).unwrap_or_default();
        if rest.starts_with(word.as_bytes()) {
            self.i += word.len();
            return Ok(kind);
        }
        if word.as_bytes().starts_with(rest) {
            self.i = self.b.len();
            return Err(self.cut());
        }
        Err(self.wrong("a value"))
    }

    fn span(&self, width: usize) -> Span {
        let end = (self.i + width).min(self.b.len());
        Span { start: self.i as u32, end: end as u32 }
    }

    /// The file ends too early.
    fn cut(&self) -> Fault {
        let end = self.b.len() as u32;
        let fault = Fault::new("B001", Span { start: end, end }, "the file ends in the middle");
        match self.stack.last().and_then(|f| self.nodes.get(f.node as usize)) {
            Some(n) => fault.label(Span { start: n.start, end: n.start + 1 }, "this has no end"),
            None => fault,
        }
    }

    /// Something else stands where `wanted` should.
    fn wrong(&self, wanted: &str) -> Fault {
        let found = self.text.get(self.i..).and_then(|t| t.chars().next());
        let found = found.map(|c| format!(", not `{c}`")).unwrap_or_default();
        let width =
            self.text.get(self.i..).and_then(|t| t.chars().next()).map_or(1, char::len_utf8);
        Fault::new("B001", self.span(width), format!("{wanted} should stand here{found}"))
    }
}

/// Whether the first of two keys in quotes (or none) comes before the second.
fn ascends(a: &[u8], b: &[u8]) -> bool {
    match (a, b) {
        // Most differ in their first letter.
        ([_, x, _, ..], [_, y, _, ..]) if x != y => x < y,
        _ => a < b,
    }
}

/// The text of a string's inside, its escapes being known to be whole.
pub fn unescape(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((plain, tail)) = rest.split_once('\\') {
        out.push_str(plain);
        let unit =
            |t: &str| t.get(1..5).and_then(|h| u32::from_str_radix(h, 16).ok()).unwrap_or(0xfffd);
        let (c, used) = match tail.as_bytes().first() {
            Some(b'b') => ('\u{8}', 1),
            Some(b'f') => ('\u{c}', 1),
            Some(b'n') => ('\n', 1),
            Some(b'r') => ('\r', 1),
            Some(b't') => ('\t', 1),
            Some(b'u') => match (unit(tail), tail.get(6..).map(unit)) {
                (high @ 0xd800..0xdc00, Some(low @ 0xdc00..0xe000)) => {
                    let c = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                    (char::from_u32(c).unwrap_or('\u{fffd}'), 11)
                }
                (c, _) => (char::from_u32(c).unwrap_or('\u{fffd}'), 5),
            },
            Some(c) if c.is_ascii() => (char::from(*c), 1),
            _ => ('\u{fffd}', 0),
        };
        out.push(c);
        rest = tail.get(used..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}
