//! `.bir` text as JSON (`docs/bir-text.md`): statements and what they hold. Clauses of an
//! instruction are in [`super::clause`], words in [`super::lex`].
//!
//! A line that cannot be read is reported and passed over, so that one reading names many
//! problems. What comes out is JSON with a map from its values back to the text.

use super::json::quote;
use super::lex;
use super::print::{LITERALS, STATEMENTS};
use super::spans::{Fault, Mapped, Span};
use super::tape::unescape;
use crate::limits::{MAX_BIR_BYTES, MAX_BIR_DEPTH, MAX_DIAGNOSTICS};
use nom::IResult;
use std::borrow::Cow;

/// The word that a text begins with.
pub const HEADER: &str = "bir";

/// A value of the tree that the text stands for.
#[derive(Debug)]
pub(super) struct Node<'a> {
    pub span: Span,
    pub val: Val<'a>,
}

#[derive(Debug)]
pub(super) enum Val<'a> {
    /// JSON as it stands in the text.
    Raw,
    /// JSON that the text implies.
    Lit(String),
    /// A string of a word that needs no escapes, with something behind it.
    Word(&'a str, &'static str),
    Obj(Vec<Member<'a>>),
    Arr(Vec<Node<'a>>),
    /// The key is not there although the statement would imply it.
    Absent,
}

#[derive(Debug)]
pub(super) struct Member<'a> {
    pub key: Cow<'a, str>,
    pub at: Span,
    pub node: Node<'a>,
}

/// A string that the text says without its quotes: a word.
pub(super) fn string(word: &str, span: Span) -> Node<'_> {
    debug_assert!(word.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b)));
    Node { span, val: Val::Word(word, "") }
}

/// Any text as a string.
pub(super) fn quoted<'a>(text: &str, span: Span) -> Node<'a> {
    let mut out = String::with_capacity(text.len() + 2);
    quote(text, &mut out);
    Node { span, val: Val::Lit(out) }
}

/// A line cannot be read; the fault is already noted.
#[derive(Debug)]
pub(super) struct Stop;

/// Generated JSON, and what each part of it was made of.
pub(super) struct Text {
    pub json: String,
    pub map: Vec<Mapped>,
    /// Lines that could not be read; what they say is missing, or is there in part.
    pub faults: Vec<Fault>,
}

/// Where statements stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Context {
    Module,
    Function,
    Set,
    Blocks,
    Around,
}

pub(super) struct Parser<'a> {
    pub text: &'a str,
    pub at: usize,
    pub depth: usize,
    pub faults: Vec<Fault>,
}

/// Reads a text. What can be read of one with faults is there beside them.
///
/// # Errors
/// The faults of a text that is beyond a bound, of which nothing is there.
pub(super) fn parse(text: &str) -> Result<Text, Vec<Fault>> {
    if text.len() as u64 > MAX_BIR_BYTES {
        let why = format!("{} bytes of text; at most {MAX_BIR_BYTES}", text.len());
        return Err(vec![Fault::new("B015", Span::default(), why)]);
    }
    let at = if text.starts_with('\u{feff}') { 3 } else { 0 };
    let mut p = Parser { text, at, depth: 0, faults: Vec::new() };
    let mut root = p.file();
    if p.faults.iter().any(|f| f.code == "B003") || p.faults.len() >= MAX_DIAGNOSTICS {
        return Err(p.faults);
    }
    let faults = p.faults;
    let mut out = Text { json: String::with_capacity(text.len() * 2), map: Vec::new(), faults };
    out.emit(text, &mut root);
    if out.json.len() as u64 > MAX_BIR_BYTES {
        let why = format!("a text that unfolds to more than {MAX_BIR_BYTES} bytes");
        return Err(vec![Fault::new("B015", Span::default(), why)]);
    }
    Ok(out)
}

impl Text {
    fn emit(&mut self, text: &str, node: &mut Node<'_>) {
        let json = self.json.len() as u32;
        let verbatim = matches!(node.val, Val::Raw);
        self.map.push(Mapped { json, text: node.span, verbatim });
        match &mut node.val {
            Val::Raw => self.json.push_str(text.get(node.span.range()).unwrap_or_default()),
            Val::Word(word, behind) => {
                for part in ["\"", word, behind, "\""] {
                    self.json.push_str(part);
                }
            }
            Val::Lit(json) => self.json.push_str(json),
            Val::Absent => {}
            Val::Arr(items) => {
                self.json.push('[');
                for (n, item) in items.iter_mut().enumerate() {
                    self.json.push_str(if n > 0 { "," } else { "" });
                    self.emit(text, item);
                }
                self.json.push(']');
            }
            Val::Obj(members) => {
                members.retain(|m| !matches!(m.node.val, Val::Absent));
                members.sort_by(|a, b| a.key.cmp(&b.key));
                self.json.push('{');
                for (n, m) in members.iter_mut().enumerate() {
                    self.json.push_str(if n > 0 { "," } else { "" });
                    let json = self.json.len() as u32;
                    self.map.push(Mapped { json, text: m.at, verbatim: false });
                    quote(&m.key, &mut self.json);
                    self.json.push(':');
                    self.emit(text, &mut m.node);
                }
                self.json.push('}');
            }
        }
    }
}

impl<'a> Parser<'a> {
    pub fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub fn peek(&self) -> Option<char> {
        match self.text.as_bytes().get(self.at) {
            Some(b) if b.is_ascii() => Some(char::from(*b)),
            _ => self.rest().chars().next(),
        }
    }

    pub fn span(&self, from: usize) -> Span {
        Span { start: from as u32, end: self.at.max(from) as u32 }
    }

    /// Notes a fault at `from` up to here, or at what stands there.
    pub fn fail<T>(
        &mut self,
        code: &'static str,
        at: Span,
        message: impl Into<String>,
    ) -> Result<T, Stop> {
        if self.faults.len() < MAX_DIAGNOSTICS {
            self.faults.push(Fault::new(code, at, message));
        } else {
            self.at = self.text.len();
        }
        Err(Stop)
    }

    /// Something else than `wanted` stands here.
    pub fn wrong<T>(&mut self, wanted: &str) -> Result<T, Stop> {
        let found = lex::word_at(self.rest());
        let at = Span { start: self.at as u32, end: (self.at + found.len()) as u32 };
        let why = match found {
            "" => format!("{wanted} should stand here, where the line ends"),
            _ => format!("{wanted} should stand here, not `{found}`"),
        };
        self.fail("B034", at, why)
    }

    /// One token.
    pub fn eat<O>(&mut self, token: impl Fn(&'a str) -> IResult<&'a str, O>) -> Option<(O, Span)> {
        let from = self.at;
        let (rest, out) = token(self.rest()).ok()?;
        self.at = self.text.len() - rest.len();
        Some((out, self.span(from)))
    }

    /// Passes over blanks and a comment: what a line can end with.
    pub fn blank(&mut self) {
        self.pass(false);
    }

    /// Passes over blank lines.
    fn lines(&mut self) {
        self.pass(true);
    }

    fn pass(&mut self, lines: bool) {
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at) {
                Some(b' ' | b'\t' | b'\r') => self.at += 1,
                Some(b'\n') if lines => self.at += 1,
                Some(b';') => {
                    let comment = bytes.get(self.at..).unwrap_or_default();
                    self.at += comment.iter().position(|b| *b == b'\n').unwrap_or(comment.len());
                }
                _ => return,
            }
        }
    }

    /// Whether `sign` stands here; it is then passed over.
    pub fn sign(&mut self, sign: &str) -> bool {
        self.blank();
        let here =
            self.text.as_bytes().get(self.at..).is_some_and(|r| r.starts_with(sign.as_bytes()));
        self.at += if here { sign.len() } else { 0 };
        here
    }

    pub fn expect(&mut self, sign: &str) -> Result<(), Stop> {
        if self.sign(sign) { Ok(()) } else { self.wrong(&format!("`{sign}`")) }
    }

    /// A name, with or without quotes, as the text says it and as a node.
    pub fn name(&mut self, what: &str) -> Result<(Cow<'a, str>, Node<'a>), Stop> {
        self.blank();
        if let Some((text, span)) = self.eat(lex::bare) {
            return Ok((text.into(), string(text, span)));
        }
        if let Some((text, span)) = self.eat(lex::quoted) {
            return Ok((unescape(text).into(), Node { span, val: Val::Raw }));
        }
        self.wrong(what)
    }

    /// Whether a key with its `=` stands here.
    pub fn at_key(&self) -> bool {
        let after = lex::bare(self.rest()).or_else(|_| lex::quoted(self.rest()));
        after.is_ok_and(|(rest, _)| rest.starts_with('='))
    }

    /// `key=value`
    pub fn attr(&mut self, m: &mut Vec<Member<'a>>) -> Result<(), Stop> {
        let (key, node) = self.name("a key")?;
        self.expect("=")?;
        let at = node.span;
        let node = self.value()?;
        m.push(Member { key, at, node });
        Ok(())
    }

    /// JSON, or a word for a string.
    pub fn value(&mut self) -> Result<Node<'a>, Stop> {
        self.blank();
        if let Some((text, span)) = self.eat(lex::bare) {
            let literal = LITERALS.contains(&text);
            return Ok(if literal { Node { span, val: Val::Raw } } else { string(text, span) });
        }
        self.json()
    }

    /// JSON as it stands.
    pub fn json(&mut self) -> Result<Node<'a>, Stop> {
        self.blank();
        if let Some((_, span)) = self.eat(lex::json) {
            return Ok(Node { span, val: Val::Raw });
        }
        match self.peek() {
            Some('[' | '{') => {
                let at = Span { start: self.at as u32, end: self.at as u32 + 1 };
                self.fail("B035", at, "this bracket has no end on its line")
            }
            Some('"') => {
                let at = Span { start: self.at as u32, end: self.at as u32 + 1 };
                self.fail("B034", at, "this string has no end on its line")
            }
            _ => self.wrong("a value"),
        }
    }

    pub fn number(&mut self, what: &str) -> Result<Node<'a>, Stop> {
        self.blank();
        match self.eat(lex::number) {
            Some((_, span)) => Ok(Node { span, val: Val::Raw }),
            None => self.wrong(what),
        }
    }

    /// Attributes up to the end of a line, a brace, or a colon.
    fn attrs(&mut self, m: &mut Vec<Member<'a>>) -> Result<(), Stop> {
        loop {
            self.blank();
            match self.peek() {
                None | Some('\n' | '{' | '}' | ':') => return Ok(()),
                _ if self.at_key() => self.attr(m)?,
                _ => return self.wrong("a `key=value`"),
            }
        }
    }

    /// After the head of a statement: whether its braces open here. A head that could not be
    /// read is passed over first.
    fn opens(&mut self, head: Result<(), Stop>) -> Option<Span> {
        let from = self.at;
        let head = head.and_then(|()| {
            self.blank();
            match self.peek() {
                None | Some('\n' | '}' | '{') => Ok(()),
                _ => self.wrong("the end of the line"),
            }
        });
        if head.is_err() {
            let line = self.rest().split('\n').next().unwrap_or_default();
            let code = line.split(" ;").next().unwrap_or_default().trim_end();
            if !code.ends_with('{') {
                self.at += line.len();
                return None;
            }
            self.at += code.len() - 1;
        }
        debug_assert!(self.at >= from);
        if self.peek() == Some('{') {
            let at = self.at;
            self.at += 1;
            return Some(self.span(at));
        }
        None
    }

    fn file(&mut self) -> Node<'a> {
        let mut m = Vec::new();
        self.lines();
        let from = self.at;
        let head = self.header(&mut m);
        if self.opens(head).is_some() {
            let at = self.span(self.at - 1);
            let _: Result<(), Stop> = self.fail("B035", at, "a brace after the header");
        }
        let around = self.body(Context::Module, &mut m, None);
        let span = Span { start: from as u32, end: from as u32 + HEADER.len() as u32 };
        let module = Node { span, val: Val::Obj(m) };
        let Some((mut beside, at)) = around else { return module };
        beside.push(Member { key: "module".into(), at, node: module });
        Node { span: at, val: Val::Obj(beside) }
    }

    fn header(&mut self, m: &mut Vec<Member<'a>>) -> Result<(), Stop> {
        match self.eat(lex::bare) {
            Some((HEADER, _)) => {}
            _ => return self.fail("B034", self.span(self.at), "BIR text begins with `bir`"),
        }
        self.blank();
        if let Some((_, span)) = self.eat(lex::number) {
            m.push(Member { key: "version".into(), at: span, node: Node { span, val: Val::Raw } });
        }
        self.blank();
        if !self.at_key()
            && let Some((arch, span)) = self.eat(lex::bare)
        {
            m.push(Member { key: "arch".into(), at: span, node: string(arch, span) });
        }
        self.attrs(m)
    }

    /// Statements up to the closing brace, or to the end of the text. The result is what
    /// stands in `around`, and where.
    fn body(
        &mut self,
        context: Context,
        m: &mut Vec<Member<'a>>,
        open: Option<Span>,
    ) -> Option<(Vec<Member<'a>>, Span)> {
        let mut lists: [(&str, Vec<Node<'a>>); 5] =
            ["functions", "queues", "allocations", "memorylocations", "blocks"]
                .map(|k| (k, Vec::new()));
        let mut around = None;
        let mut block: Option<Block<'a>> = None;
        self.depth += 1;
        if self.depth > MAX_BIR_DEPTH {
            let at = open.unwrap_or_default();
            let why = format!("nested deeper than {MAX_BIR_DEPTH}");
            let _: Result<(), Stop> = self.fail("B003", at, why);
            self.at = self.text.len();
            self.depth -= 1;
            return None;
        }
        loop {
            self.lines();
            match (self.peek(), open) {
                (None, Some(open)) => {
                    let _: Result<(), Stop> = self.fail("B035", open, "this brace has no end");
                    break;
                }
                (None, None) => break,
                (Some('}'), Some(_)) => {
                    self.at += 1;
                    break;
                }
                (Some('}'), None) => {
                    self.at += 1;
                    let at = self.span(self.at - 1);
                    let _: Result<(), Stop> = self.fail("B035", at, "a brace that closes nothing");
                    continue;
                }
                _ => {}
            }
            if self.at_key() {
                let to = block.as_mut().map_or(&mut *m, |b| &mut b.members);
                let line = self.attrs(to);
                self.no_body(line);
                continue;
            }
            let from = self.at;
            let word = match lex::bare(self.rest()) {
                Ok((_, word)) => word,
                Err(_) => "",
            };
            let mut add = |key: &str, node: Node<'a>| {
                if let Some((_, list)) = lists.iter_mut().find(|(k, _)| *k == key) {
                    list.push(node);
                }
            };
            match (context, word) {
                (Context::Module, "func") => add("functions", self.function()),
                (Context::Module, "queue") => add("queues", self.queue()),
                (Context::Module, "around") => {
                    self.at += word.len();
                    let at = self.span(from);
                    let mut beside = Vec::new();
                    let inside = self.opens(Ok(()));
                    if inside.is_some() {
                        self.body(Context::Around, &mut beside, inside);
                    }
                    if around.is_some() {
                        let _: Result<(), Stop> = self.fail("B035", at, "a second `around`");
                    }
                    around = Some((beside, at));
                }
                (Context::Function, "set" | "register") => add("allocations", self.set()),
                (Context::Set, "location") => add("memorylocations", self.location()),
                (Context::Function | Context::Blocks, "block") => {
                    if let Some(done) = block.take() {
                        add("blocks", done.node());
                    }
                    block = Some(self.block());
                }
                _ if block.is_some()
                    && (self.peek() == Some('%') || word == "inst" || is_opcode(word)) =>
                {
                    let inst = self.inst();
                    if let Some(b) = &mut block {
                        b.insts.push(inst);
                    }
                }
                _ => {
                    let found = lex::word_at(self.rest());
                    self.at += found.len();
                    let at = self.span(from);
                    let why = format!("`{found}` may not stand here");
                    let stopped = self.fail("B035", at, why);
                    self.no_body(stopped);
                }
            }
        }
        if let Some(done) = block.take()
            && let Some((_, list)) = lists.last_mut()
        {
            list.push(done.node());
        }
        for (key, list) in lists.into_iter().filter(|(_, l)| !l.is_empty()) {
            let at = list.first().map_or(Span::default(), |n| n.span);
            let node = Node { span: at, val: Val::Arr(list) };
            m.push(Member { key: key.into(), at, node });
        }
        self.depth -= 1;
        around
    }

    /// Ends a statement that has no braces; what stands in braces all the same is passed over.
    fn no_body(&mut self, head: Result<(), Stop>) {
        let good = head.is_ok();
        if let Some(open) = self.opens(head) {
            if good {
                let _: Result<(), Stop> = self.fail("B035", open, "no braces may stand here");
            }
            // Read as what may hold anything; its own faults would only confuse.
            let faults = self.faults.len();
            self.body(Context::Blocks, &mut Vec::new(), Some(open));
            self.faults.truncate(faults);
        }
    }

    /// The word of a statement and the name after it.
    fn head(&mut self, m: &mut Vec<Member<'a>>) -> Result<bool, Stop> {
        self.eat(lex::bare);
        self.blank();
        let here = matches!(self.peek(), Some('"')) || lex::bare(self.rest()).is_ok();
        if !here || self.at_key() {
            return Ok(false);
        }
        let (_, node) = self.name("a name")?;
        m.push(Member { key: "name".into(), at: node.span, node });
        Ok(true)
    }

    fn function(&mut self) -> Node<'a> {
        let (from, mut m) = (self.at, Vec::new());
        let head = self.head(&mut m).and_then(|_| self.attrs(&mut m));
        if let Some(open) = self.opens(head) {
            self.body(Context::Function, &mut m, Some(open));
        }
        self.finish(from, m)
    }

    fn queue(&mut self) -> Node<'a> {
        let (from, mut m) = (self.at, Vec::new());
        let head = self.head(&mut m).and_then(|_| self.attrs(&mut m));
        if let Some(open) = self.opens(head) {
            self.body(Context::Blocks, &mut m, Some(open));
        }
        self.finish(from, m)
    }

    fn set(&mut self) -> Node<'a> {
        let (from, mut m) = (self.at, Vec::new());
        let register = self.rest().starts_with("register");
        let kind = if register { "register" } else { "memory_location_set" };
        let head = self.set_head(&mut m);
        self.imply(from, &mut m, "Skind", Val::Word(kind, ""));
        if let Some(open) = self.opens(head) {
            self.body(Context::Set, &mut m, Some(open));
        }
        self.finish(from, m)
    }

    fn set_head(&mut self, m: &mut Vec<Member<'a>>) -> Result<(), Stop> {
        self.head(m)?;
        if self.sign(":") {
            self.blank();
            match self.eat(lex::bare) {
                Some((text, at)) => {
                    m.push(Member { key: "dtype".into(), at, node: string(text, at) });
                }
                None => return self.wrong("an element type"),
            }
            if self.peek() == Some('[') {
                let node = self.json()?;
                m.push(Member { key: "tensor_shape".into(), at: node.span, node });
            }
        }
        self.word_or_attrs("kind", m)
    }

    /// A word for `key`, if one stands here; then `!key`s and attributes.
    fn word_or_attrs(&mut self, key: &'static str, m: &mut Vec<Member<'a>>) -> Result<(), Stop> {
        self.blank();
        if !self.at_key()
            && let Some((text, at)) = self.eat(lex::bare)
        {
            m.push(Member { key: key.into(), at, node: string(text, at) });
        }
        if key == "type" && self.sign("[") {
            self.at -= 1;
            let node = self.json()?;
            m.push(Member { key: "dims".into(), at: node.span, node });
        }
        self.absent(m)?;
        self.attrs(m)
    }

    /// `!key`: a key that would be implied is absent.
    pub fn absent(&mut self, m: &mut Vec<Member<'a>>) -> Result<(), Stop> {
        if self.sign("!") {
            let (key, node) = self.name("a key")?;
            let at = node.span;
            // Taken out again by `imply`.
            m.push(Member { key, at, node: Node { span: at, val: Val::Absent } });
        }
        Ok(())
    }

    /// Gives a key the value that the statement implies, unless it was given or denied.
    pub fn imply(
        &mut self,
        from: usize,
        m: &mut Vec<Member<'a>>,
        key: &'static str,
        value: Val<'a>,
    ) {
        let absent = |x: &Member<'_>| matches!(x.node.val, Val::Absent);
        let given = m.iter().any(|x| x.key == key);
        if let Some(other) = m.iter().find(|x| absent(x) && x.key != key) {
            let (at, why) = (other.at, format!("only `!{key}` may stand here"));
            let _: Result<(), Stop> = self.fail("B034", at, why);
        }
        m.retain(|x| !absent(x));
        if !given {
            let at = self.span(from);
            let at = Span { start: at.start, end: at.start + 1 };
            m.push(Member { key: key.into(), at, node: Node { span: at, val: value } });
        }
    }

    fn location(&mut self) -> Node<'a> {
        let (from, mut m) = (self.at, Vec::new());
        let head = self.head(&mut m).and_then(|_| self.word_or_attrs("type", &mut m));
        self.imply(from, &mut m, "Skind", Val::Word("memory_location", ""));
        self.no_body(head);
        self.finish(from, m)
    }

    fn block(&mut self) -> Block<'a> {
        let (from, mut members) = (self.at, Vec::new());
        let head = self.head(&mut members).and_then(|_| self.attrs(&mut members));
        match head {
            Ok(()) if self.sign(":") => {}
            Ok(()) => {
                let stopped = self.wrong("`:`");
                self.no_body(stopped);
            }
            Err(Stop) => self.no_body(head),
        }
        Block { members, insts: Vec::new(), span: self.span(from) }
    }

    fn inst(&mut self) -> Node<'a> {
        // As many keys as most have.
        let (from, mut m) = (self.at, Vec::with_capacity(8));
        let head = self.inst_head(&mut m);
        if let Some(open) = self.opens(head) {
            self.body(Context::Blocks, &mut m, Some(open));
        }
        self.finish(from, m)
    }

    fn finish(&self, from: usize, m: Vec<Member<'a>>) -> Node<'a> {
        Node { span: self.span(from), val: Val::Obj(m) }
    }
}

fn is_opcode(word: &str) -> bool {
    !word.is_empty() && !STATEMENTS.contains(&word)
}

struct Block<'a> {
    members: Vec<Member<'a>>,
    insts: Vec<Node<'a>>,
    span: Span,
}

impl<'a> Block<'a> {
    fn node(self) -> Node<'a> {
        let mut members = self.members;
        if let Some(first) = self.insts.first() {
            let at = first.span;
            let node = Node { span: at, val: Val::Arr(self.insts) };
            members.push(Member { key: "instructions".into(), at, node });
        }
        Node { span: self.span, val: Val::Obj(members) }
    }
}
