//! From the tape to the module: functions, memory, blocks, queues. [`super::inst`] and
//! [`super::operand`] do what is below a block. The rules are in `docs/bir.md`.
//!
//! Nothing is given up at the first problem: what cannot be understood is reported and left
//! out, so that one reading names everything that is wrong.

use super::names::Names;
use super::near::{Misspelt, near};
use super::spans::{Fault, Named, Span, Spans};
use super::tape::Json;
use crate::bir::{
    Allocation, Arch, Block, Dtype, Extra, Function, Location, Module, Name, Queue, Space,
    StorageKind, TensorKind, Value,
};
use crate::limits::MAX_DIAGNOSTICS;
use std::collections::HashMap;
use std::sync::Arc;

/// The keys of what holds others, those among them that are only kept.
const MODULE_KEYS: [&str; 4] = ["version", "functions", "arch", "queues"];
const FUNCTION_KEYS: [&str; 3] = ["name", "allocations", "blocks"];
const ALLOCATION_KEYS: [&str; 6] =
    ["name", "Skind", "dtype", "kind", "tensor_shape", "memorylocations"];
const LOCATION_KEYS: [&str; 8] =
    ["name", "Skind", "type", "addr", "dims", "base", "bank", "tensor_id"];
const BLOCK_KEYS: [&str; 2] = ["name", "instructions"];
const QUEUE_KEYS: [&str; 2] = ["name", "blocks"];

/// What decoding has at hand.
pub(super) struct Decoder {
    /// Everything wrong so far, warnings among them.
    pub faults: Vec<Fault>,
    /// Where everything is.
    pub spans: Spans,
    /// Version of the module: how expressions are written.
    pub version: u32,
    names: Names,
    /// Words that look like known ones.
    pub misspelt: Misspelt,
}

/// An enumeration whose values files hold by name or by number.
pub(super) trait Words: Sized {
    /// What it is called in messages.
    const WHAT: &'static str;
    /// By name.
    fn name(text: &str) -> Option<Self>;
    /// By number.
    fn number(n: u32) -> Option<Self>;
    /// All names.
    fn names() -> Vec<&'static str>;
}

macro_rules! words {
    ($($type:ty: $what:literal,)*) => {
        $(impl Words for $type {
            const WHAT: &'static str = $what;
            fn name(text: &str) -> Option<Self> { <$type>::by_name(text) }
            fn number(n: u32) -> Option<Self> { <$type>::by_number(n) }
            fn names() -> Vec<&'static str> { <$type>::ALL.iter().map(|v| v.name()).collect() }
        })*
    };
}

words! {
    Arch: "generation", Dtype: "element type", Space: "location type", TensorKind: "tensor kind",
    crate::bir::Engine: "engine", crate::bir::DgeType: "DGE type", crate::bir::Mode: "copy mode",
    crate::bir::TransposeOp: "permutation", crate::bir::AluOp: "operation",
    crate::bir::BranchOp: "comparison", crate::bir::EdgeKind: "kind of dependency",
    crate::bir::QosClass: "priority",
}

/// A value of an enumeration; `None` where it is none of it.
pub(super) fn word<T: Words>(v: Json<'_>) -> Option<T> {
    if let Some(n) = v.as_num() {
        return T::number(n.parse().ok()?);
    }
    let text = v.as_str()?;
    T::name(&text).or_else(|| T::number(text.parse().ok()?))
}

/// Advice on a value that is none of an enumeration: the one that it looks like, or all.
pub(super) fn advice<T: Words>(v: Json<'_>) -> String {
    let all = T::names();
    let text = v.as_str().unwrap_or_default();
    match near(&text, all.iter().copied()) {
        Some(n) => format!("did you mean `{n}`?"),
        None => format!("known are {}", all.join(", ")),
    }
}

impl Decoder {
    pub fn new(spans: Spans) -> Decoder {
        let (names, misspelt) = (Names::new(), Misspelt::default());
        Decoder { faults: Vec::new(), spans, version: 2, names, misspelt }
    }

    /// Reports a problem.
    pub fn fault(&mut self, code: &'static str, at: Span, message: impl Into<String>) {
        self.report(Fault::new(code, at, message));
    }

    /// Reports a problem with all that is known of it.
    pub fn report(&mut self, fault: Fault) {
        if self.faults.len() < MAX_DIAGNOSTICS {
            self.faults.push(fault);
        }
    }

    /// Keeps a key that is not understood, and says so where it looks like one of `known`, the
    /// keys of `holder`.
    fn odd(
        &mut self,
        extra: &mut Extra,
        (key, v): (Json<'_>, Json<'_>),
        holder: &str,
        known: &[&'static str],
    ) {
        let text = key.as_str().unwrap_or_default();
        let known = &mut known.iter().copied();
        self.misspelt(key.span(), (holder, "the key"), &text, known);
        self.keep(extra, key, v);
    }

    /// A name, shared with all that are equal.
    pub fn intern(&mut self, text: &str) -> Name {
        self.names.get(text)
    }

    /// Keeps a key that is not understood.
    pub fn keep(&mut self, extra: &mut Extra, key: Json<'_>, value: Json<'_>) {
        let key = key.as_str().unwrap_or_default();
        self.stow(extra, &key, value.to_value());
    }

    /// Puts a value where its key belongs: extra keys are in alphabetical order.
    pub fn stow(&mut self, extra: &mut Extra, key: &str, value: Value) {
        let key = self.intern(key);
        let at = extra.partition_point(|(k, _)| *k <= key);
        extra.insert(at, (key, value));
    }

    /// A string; anything else is reported.
    pub fn name(&mut self, v: Json<'_>, what: &str) -> Option<Name> {
        match v.as_str() {
            Some(text) => Some(self.intern(&text)),
            None => {
                self.fault("B008", v.span(), format!("{what} should be a string"));
                None
            }
        }
    }

    /// A reference by name; `null` is none.
    pub fn reference(&mut self, v: Json<'_>, what: &str) -> Option<Name> {
        if v.is_null() { None } else { self.name(v, what) }
    }

    /// A whole number in the range of `T`; anything else is reported.
    pub fn int<T: TryFrom<i128>>(&mut self, v: Json<'_>, what: &str) -> Option<T> {
        let Some(text) = v.as_num() else {
            self.fault("B008", v.span(), format!("{what} should be a whole number"));
            return None;
        };
        // Nearly all are short; the rest is looked at closely.
        let short = if text.len() <= 18 { text.parse::<i64>().ok() } else { None };
        if let Some(n) = short.and_then(|n| T::try_from(i128::from(n)).ok()) {
            return Some(n);
        }
        if text.contains(['.', 'e', 'E']) {
            self.fault("B008", v.span(), format!("{what} should be a whole number, not {text}"));
            return None;
        }
        let n = text.parse::<i128>().ok().and_then(|n| T::try_from(n).ok());
        if n.is_none() {
            self.fault("B005", v.span(), format!("{what} is out of range"));
        }
        n
    }

    /// `true` or `false`; anything else is reported.
    pub fn flag(&mut self, v: Json<'_>, what: &str) -> Option<bool> {
        if v.as_bool().is_none() {
            self.fault("B008", v.span(), format!("{what} should be true or false"));
        }
        v.as_bool()
    }

    /// The elements of an array; `null` is an empty one, anything else is reported.
    pub fn list<'t>(
        &mut self,
        v: Json<'t>,
        what: &str,
    ) -> impl Iterator<Item = Json<'t>> + use<'t> {
        if !v.is_arr() && !v.is_null() {
            self.fault("B008", v.span(), format!("{what} should be an array"));
        }
        v.elements()
    }

    /// What `one` makes of the elements of an array; room for just as many.
    pub fn each<'t, T>(
        &mut self,
        v: Json<'t>,
        what: &str,
        mut one: impl FnMut(&mut Decoder, Json<'t>) -> Option<T>,
    ) -> Vec<T> {
        let items = self.list(v, what);
        let mut out = Vec::with_capacity(v.elements().count());
        for i in items {
            out.extend(one(self, i));
        }
        out
    }

    /// Whole numbers of an array.
    pub fn ints<T: TryFrom<i128>>(&mut self, v: Json<'_>, what: &str) -> Vec<T> {
        self.each(v, what, |d, i| d.int(i, what))
    }

    /// Whether it is an object; anything else is reported.
    pub fn object(&mut self, v: Json<'_>, what: &str) -> bool {
        if !v.is_obj() {
            self.fault("B008", v.span(), format!("{what} should be an object"));
        }
        v.is_obj()
    }

    /// The module.
    pub fn module(&mut self, root: Json<'_>) -> Module {
        let (version, arch, extra) = (2, None, Vec::new());
        let mut m = Module { version, arch, functions: Vec::new(), queues: Vec::new(), extra };
        let (mut functions, mut queues, mut version) = (None, None, None);
        for (key, v) in root.members() {
            let text = key.as_str().unwrap_or_default();
            let name = self.intern(&text);
            self.spans.module_key(name, v.span());
            match &*text {
                "version" => version = Some(v),
                "functions" => functions = Some(v),
                "queues" => queues = Some(v),
                "arch" => {
                    m.arch = word(v);
                    if m.arch.is_none() {
                        if !v.is_null() {
                            let why = format!("a generation that is not known: {}", v.raw());
                            let fault = Fault::new("B016", v.span(), why);
                            self.report(fault.help(advice::<Arch>(v)));
                        }
                        self.keep(&mut m.extra, key, v);
                    }
                }
                _ => self.odd(&mut m.extra, (key, v), "module", &MODULE_KEYS),
            }
        }
        match version.map(|v| (v, v.raw())) {
            Some((_, "1")) => m.version = 1,
            Some((_, "2")) => {}
            Some((v, text)) => {
                let what = if v.as_num().is_some() { "known" } else { "known, as numbers" };
                self.fault("B007", v.span(), format!("version {text}; 1 and 2 are {what}"));
            }
            None => {
                let at = Span { start: root.span().start, end: root.span().start + 1 };
                self.fault("B016", at, "a module without version: read as version 2");
            }
        }
        self.version = m.version;
        match functions {
            Some(v) => {
                m.functions = self.each(v, "`functions`", Decoder::function);
            }
            None => {
                let at = Span { start: root.span().start, end: root.span().start + 1 };
                self.fault("B006", at, "no module: it has no `functions`");
            }
        }
        if let Some(v) = queues {
            m.queues = self.each(v, "`queues`", Decoder::queue);
        }
        m
    }

    fn function(&mut self, v: Json<'_>) -> Option<Function> {
        if !self.object(v, "a function") {
            return None;
        }
        let (allocations, blocks, extra) = (Vec::new(), Vec::new(), Vec::new());
        let mut f = Function { name: self.intern(""), allocations, blocks, extra };
        let mut blocks = None;
        for (key, v) in v.members() {
            match key.as_str().as_deref() {
                Some("name") => f.name = self.name(v, "`name`").unwrap_or(f.name),
                Some("allocations") => {
                    f.allocations = self.each(v, "`allocations`", Decoder::allocation);
                }
                Some("blocks") => blocks = Some(v),
                _ => self.odd(&mut f.extra, (key, v), "function", &FUNCTION_KEYS),
            }
        }
        if let Some(v) = blocks {
            f.blocks = self.blocks(v);
        }
        Some(f)
    }

    fn allocation(&mut self, v: Json<'_>) -> Option<Allocation> {
        if !self.object(v, "an allocation") {
            return None;
        }
        let name = self.intern("");
        let mut a = Allocation {
            storage: StorageKind::Memory,
            name,
            dtype: None,
            kind: None,
            shape: Vec::new(),
            locations: Vec::new(),
            extra: Vec::new(),
        };
        for (key, v) in v.members() {
            match key.as_str().as_deref() {
                Some("name") => {
                    a.name = self.name(v, "`name`").unwrap_or(a.name);
                    self.spans.named(Named::Set, &a.name, v.span());
                }
                Some("Skind") => {
                    let name = self.name(v, "`Skind`");
                    a.storage = match name.as_deref() {
                        Some("memory_location_set") | None => StorageKind::Memory,
                        Some("register") => StorageKind::Register,
                        Some(other) => StorageKind::Other(self.intern(other)),
                    };
                }
                Some("dtype") => {
                    // It plays no part in addresses: one that is not known is only kept.
                    a.dtype = word(v);
                    if a.dtype.is_none() {
                        let text = v.as_str().unwrap_or_default();
                        let known = &mut Dtype::ALL.iter().map(|d| d.name());
                        self.misspelt(v.span(), ("dtype", "the element type"), &text, known);
                        self.keep(&mut a.extra, key, v);
                    }
                }
                Some("kind") => {
                    a.kind = word(v);
                    if a.kind.is_none() {
                        if !v.is_null() {
                            let why =
                                format!("tensor kind {} is not known: taken for internal", v.raw());
                            let fault = Fault::new("B016", v.span(), why);
                            self.report(fault.help(advice::<TensorKind>(v)));
                        }
                        self.keep(&mut a.extra, key, v);
                    }
                }
                Some("tensor_shape") => {
                    let sizes: Option<Vec<u64>> =
                        v.elements().map(|n| n.as_num()?.parse().ok()).collect();
                    match sizes.filter(|_| v.is_arr()) {
                        Some(shape) => a.shape = shape,
                        None => self.keep(&mut a.extra, key, v),
                    }
                }
                Some("memorylocations") => {
                    a.locations = self.each(v, "`memorylocations`", Decoder::location);
                }
                _ => self.odd(&mut a.extra, (key, v), "allocation", &ALLOCATION_KEYS),
            }
        }
        if a.name.is_empty() {
            self.fault("B008", v.span(), "an allocation without a name");
        }
        Some(a)
    }

    fn location(&mut self, v: Json<'_>) -> Option<Location> {
        if !self.object(v, "a memory location") {
            return None;
        }
        let mut l = Location {
            name: self.intern(""),
            space: Space::Unallocated,
            addr: 0,
            dims: Vec::new(),
            base: 0,
            bank: None,
            tensor_id: None,
            extra: Vec::new(),
        };
        for (key, v) in v.members() {
            match key.as_str().as_deref() {
                Some("name") => {
                    l.name = self.name(v, "`name`").unwrap_or(l.name);
                    self.spans.named(Named::Location, &l.name, v.span());
                }
                Some("Skind") if v.as_str().as_deref() == Some("memory_location") => {}
                Some("type") if !v.is_null() => match word(v) {
                    Some(space) => l.space = space,
                    None => {
                        let why = format!("location type {} is not known", v.raw());
                        let fault = Fault::new("B009", v.span(), why);
                        self.report(fault.help(advice::<Space>(v)));
                    }
                },
                Some("addr") if !v.is_null() => {
                    l.addr = self.int(v, "`addr`").unwrap_or(0);
                }
                Some("dims") => l.dims = self.ints(v, "`dims`"),
                Some("base") if !v.is_null() => l.base = self.int(v, "`base`").unwrap_or(0),
                // The bank may be -1 for none.
                Some("bank") => match v.as_num().and_then(|n| n.parse().ok()) {
                    Some(bank) => l.bank = Some(bank),
                    None => self.keep(&mut l.extra, key, v),
                },
                Some("tensor_id") => match v.as_num().and_then(|n| n.parse().ok()) {
                    Some(id) => l.tensor_id = Some(id),
                    None => self.keep(&mut l.extra, key, v),
                },
                _ => self.odd(&mut l.extra, (key, v), "location", &LOCATION_KEYS),
            }
        }
        if l.name.is_empty() {
            self.fault("B008", v.span(), "a memory location without a name");
        }
        Some(l)
    }

    /// An array of blocks.
    pub fn blocks(&mut self, v: Json<'_>) -> Vec<Block> {
        let mut names: HashMap<Name, Span> = HashMap::new();
        let mut blocks = Vec::new();
        for b in self.list(v, "`blocks`") {
            let Some(block) = self.block(b) else { continue };
            // Blocks are named among those that they stand with.
            if let (Some(name), Some(v)) = (&block.name, b.get("name")) {
                if let Some(first) = names.get(name).copied() {
                    let why = format!("a second block named `{name}`");
                    self.faults
                        .push(Fault::new("B030", v.span(), why).label(first, "the first one"));
                } else {
                    names.insert(name.clone(), v.span());
                }
            }
            blocks.push(block);
        }
        blocks
    }

    fn block(&mut self, v: Json<'_>) -> Option<Block> {
        if !self.object(v, "a block") {
            return None;
        }
        let mut b = Block { name: None, insts: Vec::new(), extra: Vec::new() };
        let mut insts = None;
        for (key, v) in v.members() {
            match key.as_str().as_deref() {
                Some("name") => {
                    b.name = self.reference(v, "`name`");
                    if let Some(name) = &b.name {
                        self.spans.named(Named::Block, name, v.span());
                    }
                }
                Some("instructions") => insts = Some(v),
                _ => self.odd(&mut b.extra, (key, v), "block", &BLOCK_KEYS),
            }
        }
        if let Some(v) = insts {
            b.insts = self.each(v, "`instructions`", |d, i| Some(Arc::new(d.inst(i)?)));
        }
        Some(b)
    }

    fn queue(&mut self, v: Json<'_>) -> Option<Queue> {
        if !self.object(v, "a queue") {
            return None;
        }
        let (blocks, extra) = (Vec::new(), Vec::new());
        let mut q = Queue { name: self.intern(""), blocks, extra };
        let mut blocks = None;
        for (key, v) in v.members() {
            match key.as_str().as_deref() {
                Some("name") => {
                    q.name = self.name(v, "`name`").unwrap_or(q.name);
                    self.spans.named(Named::Queue, &q.name, v.span());
                }
                Some("blocks") => blocks = Some(v),
                _ => self.odd(&mut q.extra, (key, v), "queue", &QUEUE_KEYS),
            }
        }
        if q.name.is_empty() {
            self.fault("B008", v.span(), "a queue without a name");
        }
        if let Some(v) = blocks {
            q.blocks = self.blocks(v);
        }
        Some(q)
    }

    /// What is left of an object after its understood keys, if anything.
    pub fn rest(&mut self, v: Json<'_>, known: &[&str]) -> Option<Value> {
        let mut rest: Vec<(Name, Value)> = v
            .members()
            .filter(|(k, _)| !known.contains(&&*k.as_str().unwrap_or_default()))
            .map(|(k, v)| (k.to_name(), v.to_value()))
            .collect();
        rest.sort_by(|a, b| a.0.cmp(&b.0));
        (!rest.is_empty()).then_some(Value::Obj(rest))
    }
}
