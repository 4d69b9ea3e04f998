//! JSON as `.bir` text (`docs/bir-text.md`). The tree is what is printed, not the module: what
//! has exactly a known shape gets its syntax, everything else stands as `key=value`, so that
//! nothing is lost and [`super::parse`] gives the same tree back.

use super::json::{Tree, quote};
use super::node::Node;
use crate::bir::{Engine, Opcode};
use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether text may stand without quotes where a word or a name is expected.
pub(super) fn is_bare(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
}

/// Words that are values of their own and never strings without quotes.
pub(super) const LITERALS: [&str; 3] = ["true", "false", "null"];
/// Words that begin statements other than instructions; as opcodes they are spelled out.
pub(super) const STATEMENTS: [&str; 8] =
    ["block", "inst", "func", "queue", "set", "register", "location", "around"];
/// Words that begin a clause of an instruction and are no engine.
pub(super) const CLAUSES: [&str; 2] = ["for", "at"];

/// Whether an opcode and an engine, with nothing else on their line, are no instruction but a
/// line that went wrong; such an instruction is spelled out with `inst`.
pub(super) fn is_nothing(opcode: &str, engine: Option<&str>) -> bool {
    matches!(Opcode::by_name(opcode), Opcode::Other(_))
        && engine.is_none_or(|e| Engine::by_name(e).is_none())
}

/// Keys of an instruction that are printed in front of its operands, in this order.
const FIRST: [&str; 9] = [
    "queue",
    "dge_type",
    "mode",
    "op",
    "cce_op",
    "constants",
    "transpose_op",
    "block_id",
    "section_start",
];

/// The members of an object, by key, until they are printed.
struct Members<'t>(Vec<(Cow<'t, str>, Node<'t>)>);

impl<'t> Members<'t> {
    fn of(v: Node<'t>) -> Members<'t> {
        let mut all = v.members();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        Members(all)
    }

    fn get(&self, key: &str) -> Option<Node<'t>> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, v)| *v)
    }

    fn has(&self, keys: &[&str]) -> bool {
        self.0.len() == keys.len() && keys.iter().all(|k| self.get(k).is_some())
    }

    fn take_if(&mut self, key: &str, fits: impl Fn(Node<'t>) -> bool) -> Option<Node<'t>> {
        let at = self.0.iter().position(|(k, v)| k == key && fits(*v))?;
        Some(self.0.remove(at).1)
    }

    fn take_text(&mut self, key: &str) -> Option<Cow<'t, str>> {
        self.take_if(key, |v| v.as_str().is_some())?.as_str()
    }

    fn take_bare(&mut self, key: &str) -> Option<Cow<'t, str>> {
        self.take_if(key, |v| v.as_str().is_some_and(|t| is_bare(&t)))?.as_str()
    }

    /// A list that has at least one element, all of them objects.
    fn take_list(&mut self, key: &str) -> Option<Node<'t>> {
        self.take_if(key, |v| v.elements().next().is_some() && v.elements().all(Node::is_obj))
    }
}

/// A whole number as spelled.
fn whole(v: Node<'_>) -> Option<Cow<'_, str>> {
    v.is_whole().then(|| v.number())
}

/// Text, and the lines of it that instructions begin on.
pub(super) struct Printer {
    /// The text.
    pub out: String,
    /// Lines, from 1, on which instructions begin; without what an opaque one holds.
    pub insts: Vec<usize>,
    /// Opaque instructions around.
    opaque: usize,
    line: usize,
    depth: usize,
}

impl Printer {
    pub fn new() -> Printer {
        Printer { out: String::new(), insts: Vec::new(), opaque: 0, line: 1, depth: 0 }
    }

    fn end(&mut self) {
        self.out.push('\n');
        self.line += 1;
    }

    fn begin(&mut self, word: &str) {
        self.out.extend(std::iter::repeat_n("  ", self.depth));
        self.out.push_str(word);
    }

    fn name(&mut self, text: &str) {
        if is_bare(text) {
            self.out.push_str(text);
        } else {
            quote(text, &mut self.out);
        }
    }

    fn head_name(&mut self, m: &mut Members<'_>) -> bool {
        let Some(name) = m.take_text("name") else { return false };
        self.out.push(' ');
        self.name(&name);
        true
    }

    fn value(&mut self, v: Node<'_>) {
        match v.as_str() {
            Some(text) if is_bare(&text) && !LITERALS.contains(&&*text) => self.out.push_str(&text),
            _ => v.inline(&mut self.out),
        }
    }

    fn attr(&mut self, key: &str, v: Node<'_>) {
        self.name(key);
        self.out.push('=');
        self.value(v);
    }

    fn attrs(&mut self, m: Members<'_>) {
        for (key, v) in m.0 {
            self.out.push(' ');
            self.attr(&key, v);
        }
    }

    /// A key whose value the statement implies: nothing where it is that, `!key` where it is
    /// absent, and any other value as an attribute.
    fn implied(&mut self, m: &mut Members<'_>, key: &str, value: &str) -> bool {
        m.take_if(key, |v| v.as_str().as_deref() == Some(value)).is_some() || m.get(key).is_some()
    }

    /// Lines inside braces.
    fn braces(&mut self, content: impl FnOnce(&mut Printer)) {
        self.out.push_str(" {");
        self.end();
        self.depth += 1;
        content(self);
        self.depth -= 1;
        self.begin("}");
    }

    /// A whole file. `around` is the wrapper, where there is one.
    pub fn file(&mut self, module: Node<'_>, around: Option<Node<'_>>) {
        let mut m = Members::of(module);
        self.out.push_str("bir");
        if let Some(v) = m.take_if("version", |v| v.is_num()) {
            let _ = write!(self.out, " {}", v.number());
        }
        if let Some(arch) = m.take_bare("arch") {
            let _ = write!(self.out, " {arch}");
        }
        self.end();
        let functions = m.take_list("functions");
        let queues = m.take_list("queues");
        for (key, v) in m.0 {
            self.attr(&key, v);
            self.end();
        }
        for f in functions.into_iter().flat_map(Node::elements) {
            self.end();
            self.function(f);
        }
        for (n, q) in queues.into_iter().flat_map(Node::elements).enumerate() {
            if n == 0 {
                self.end();
            }
            self.queue(q);
        }
        if let Some(around) = around {
            self.end();
            self.begin("around");
            self.braces(|p| {
                let all = Members::of(around).0;
                for (key, v) in all.into_iter().filter(|(k, _)| k != "module") {
                    p.begin("");
                    p.attr(&key, v);
                    p.end();
                }
            });
            self.end();
        }
    }

    fn function(&mut self, v: Node<'_>) {
        let mut m = Members::of(v);
        self.begin("func");
        self.head_name(&mut m);
        let allocations = m.take_list("allocations");
        let blocks = m.take_list("blocks");
        self.attrs(m);
        if allocations.is_some() || blocks.is_some() {
            self.braces(|p| {
                for a in allocations.into_iter().flat_map(Node::elements) {
                    p.allocation(a);
                }
                p.blocks(blocks);
            });
        }
        self.end();
    }

    fn allocation(&mut self, v: Node<'_>) {
        let mut m = Members::of(v);
        let storage = m.take_if("Skind", |v| {
            matches!(v.as_str().as_deref(), Some("memory_location_set" | "register"))
        });
        let register = storage.and_then(Node::as_str).as_deref() == Some("register");
        self.begin(if register { "register" } else { "set" });
        let named = self.head_name(&mut m);
        if let Some(dtype) = m.take_bare("dtype") {
            let _ = write!(self.out, " : {dtype}");
            if let Some(shape) = m.take_if("tensor_shape", Node::is_arr) {
                shape.inline(&mut self.out);
            }
        }
        if named && let Some(kind) = m.take_bare("kind") {
            let _ = write!(self.out, " {kind}");
        }
        if storage.is_none() && m.get("Skind").is_none() {
            self.out.push_str(" !Skind");
        }
        let locations = m.take_list("memorylocations");
        self.attrs(m);
        if let Some(locations) = locations {
            self.braces(|p| locations.elements().for_each(|l| p.location(l)));
        }
        self.end();
    }

    fn location(&mut self, v: Node<'_>) {
        let mut m = Members::of(v);
        self.begin("location");
        if self.head_name(&mut m)
            && let Some(space) = m.take_bare("type")
        {
            let _ = write!(self.out, " {space}");
        }
        if let Some(dims) = m.take_if("dims", Node::is_arr) {
            self.out.push(' ');
            dims.inline(&mut self.out);
        }
        if !self.implied(&mut m, "Skind", "memory_location") {
            self.out.push_str(" !Skind");
        }
        self.attrs(m);
        self.end();
    }

    fn queue(&mut self, v: Node<'_>) {
        let mut m = Members::of(v);
        self.begin("queue");
        self.head_name(&mut m);
        let blocks = m.take_list("blocks");
        self.attrs(m);
        if blocks.is_some() {
            self.braces(|p| p.blocks(blocks));
        }
        self.end();
    }

    fn blocks(&mut self, blocks: Option<Node<'_>>) {
        for v in blocks.into_iter().flat_map(Node::elements) {
            let mut m = Members::of(v);
            self.begin("block");
            self.head_name(&mut m);
            let insts = m.take_list("instructions");
            self.attrs(m);
            self.out.push(':');
            self.end();
            self.depth += 1;
            for i in insts.into_iter().flat_map(Node::elements) {
                self.inst(i);
            }
            self.depth -= 1;
        }
    }

    fn inst(&mut self, v: Node<'_>) {
        if let Node::Made(Tree::Inst(i)) = v {
            return self.inst(Node::Made(&super::write::inst(i)));
        }
        let mut m = Members::of(v);
        if self.opaque == 0 {
            self.insts.push(self.line);
        }
        self.begin("");
        let text = |key| m.get(key).and_then(Node::as_str);
        let alone = text("name").is_none()
            && m.0.iter().all(|(k, _)| k == "opcode" || k == "engine")
            && text("opcode").is_some_and(|o| is_nothing(&o, text("engine").as_deref()));
        if let Some(name) = m.take_text("name") {
            self.out.push('%');
            self.name(&name);
            self.out.push_str(" = ");
        }
        let opcode = m.take_if("opcode", |v| {
            !alone && v.as_str().is_some_and(|t| is_bare(&t) && !STATEMENTS.contains(&&*t))
        });
        self.out.push_str(&opcode.and_then(Node::as_str).unwrap_or("inst".into()));
        let engine = m.take_if("engine", |v| {
            v.as_str().is_some_and(|t| is_bare(&t) && !CLAUSES.contains(&&*t))
        });
        if let Some(engine) = engine.and_then(Node::as_str) {
            let _ = write!(self.out, " {engine}");
        }
        self.axis(&mut m);
        for key in FIRST {
            if let Some(v) = m.take_if(key, |_| true) {
                self.out.push(' ');
                self.attr(key, v);
            }
        }
        for key in ["ins", "outs"] {
            if let Some(v) = m.take_if(key, Node::is_arr) {
                self.list(key, v.elements(), Printer::operand);
            }
        }
        let fires = m.take_if("dma_blocks", |v| {
            v.elements().next().is_some() && v.elements().all(|n| n.as_str().is_some())
        });
        if let Some(v) = fires {
            self.list("fires", v.elements(), |p, n| p.name(&n.as_str().unwrap_or_default()));
        }
        for (word, key) in [("after", "dependencies"), ("carried", "loop_carried_dependencies")] {
            let deps = m
                .take_if(key, |v| v.elements().next().is_some() && v.elements().all(is_dependency));
            if let Some(v) = deps {
                self.list(word, v.elements(), Printer::dependency);
            }
        }
        self.sync(&mut m);
        let blocks = m.take_list("blocks");
        let debug = m.take_if("debug", is_debug);
        self.attrs(m);
        if let Some(d) = debug {
            self.debug(d);
        }
        if blocks.is_some() {
            let known = opcode.and_then(Node::as_str).map(|o| Opcode::by_name(&o));
            let opaque = usize::from(!known.is_some_and(|o| o.is_container()));
            self.opaque += opaque;
            self.braces(|p| p.blocks(blocks));
            self.opaque -= opaque;
        }
        self.end();
    }

    fn list<'t>(
        &mut self,
        word: &str,
        items: impl Iterator<Item = Node<'t>>,
        mut item: impl FnMut(&mut Printer, Node<'t>),
    ) {
        let _ = write!(self.out, " {word}(");
        for (n, v) in items.enumerate() {
            self.out.push_str(if n > 0 { ", " } else { "" });
            item(self, v);
        }
        self.out.push(')');
    }

    fn axis(&mut self, m: &mut Members<'_>) {
        let fits = |v: Node<'_>| {
            let a = Members::of(v);
            let text = |key: &str| a.get(key).and_then(Node::as_str).is_some();
            let number = |key: &str| a.get(key).is_some_and(Node::is_whole);
            a.has(&["name", "lb", "ub", "stride"])
                && text("name")
                && number("lb")
                && number("ub")
                && number("stride")
        };
        let Some(axis) = m.take_if("LoopAxis", fits) else { return };
        let part = |key: &str| axis.get(key).map(Node::number).unwrap_or_default();
        self.out.push_str(" for ");
        self.name(&axis.get("name").and_then(Node::as_str).unwrap_or_default());
        let _ = write!(self.out, " in {}..{} step {}", part("lb"), part("ub"), part("stride"));
    }

    fn dependency(&mut self, v: Node<'_>) {
        if let Some(name) = v.as_str() {
            return self.name(&name);
        }
        let mut parts = v.elements();
        if let Some(name) = parts.next().and_then(Node::as_str) {
            self.name(&name);
        }
        if let Some(kind) = parts.next() {
            self.out.push(':');
            self.value(kind);
        }
    }

    fn sync(&mut self, m: &mut Members<'_>) {
        let fits = |v: Node<'_>| {
            let s = Members::of(v);
            let known = |(key, v): &(Cow<'_, str>, Node<'_>)| {
                let value = match &**key {
                    "on_wait" => "wait_value",
                    "on_update" => "update_value",
                    _ => return false,
                };
                v.elements().next().is_some() && v.elements().all(|w| is_semaphore(w, value))
            };
            v.is_obj() && !s.0.is_empty() && s.0.iter().all(known)
        };
        let Some(sync) = m.take_if("sync_info", fits) else { return };
        if let Some(waits) = sync.get("on_wait") {
            self.list("wait", waits.elements(), |p, w| p.semaphore(w, "wait_value", " >= "));
        }
        if let Some(updates) = sync.get("on_update") {
            self.list("update", updates.elements(), |p, u| {
                p.semaphore(u, "update_value", " += ");
            });
        }
    }

    fn semaphore(&mut self, v: Node<'_>, value: &str, sign: &str) {
        let mut m = Members::of(v);
        let mut number = |key: &str| m.take_if(key, |_| true).map(Node::number).unwrap_or_default();
        let _ = write!(self.out, "sem {}{sign}{}", number("id"), number(value));
        if value == "wait_value"
            && let Some(from) = m.take_text("from")
        {
            self.out.push_str(" from ");
            self.name(&from);
        }
        self.suffix(m, None);
    }

    /// What is left of an operand or a semaphore, in braces.
    fn suffix(&mut self, m: Members<'_>, absent: Option<&str>) {
        if m.0.is_empty() && absent.is_none() {
            return;
        }
        self.out.push_str(" {");
        let mut first = true;
        if let Some(key) = absent {
            let _ = write!(self.out, "!{key}");
            first = false;
        }
        for (key, v) in m.0 {
            self.out.push_str(if first { "" } else { " " });
            first = false;
            self.attr(&key, v);
        }
        self.out.push('}');
    }

    fn debug(&mut self, v: Node<'_>) {
        let text = |key: &str| v.get(key).and_then(Node::as_str);
        self.out.push_str(" at ");
        self.name(&text("filename").unwrap_or_default());
        let _ = write!(self.out, ":{}", v.get("lineno").map(Node::number).unwrap_or_default());
        if let Some(op) = text("op_name") {
            self.out.push_str(" (");
            self.name(&op);
            self.out.push(')');
        }
    }

    fn operand(&mut self, v: Node<'_>) {
        let mut m = Members::of(v);
        let kind = m.get("kind").and_then(Node::as_str);
        let text = |key: &str| m.get(key).is_some_and(|v| v.as_str().is_some());
        let array = |key: &str| m.get(key).is_some_and(Node::is_arr);
        let mut absent = None;
        match kind.as_deref() {
            Some("physical_ap") if text("memref") && array("ap") => {
                let name = m.take_text("memref").unwrap_or_default();
                self.pattern(&mut m, &name);
                if !self.implied(&mut m, "memsetref", &format!("{name}_set")) {
                    absent = Some("memsetref");
                }
                self.offset(&mut m, "offset");
            }
            Some("symbolic_ap") if text("memsetref") && array("ap") && array("addrs") => {
                let name = m.take_text("memsetref").unwrap_or_default();
                self.pattern(&mut m, &name);
                if let Some(addrs) = m.take_if("addrs", |_| true) {
                    self.list("at", addrs.elements(), Printer::expr);
                }
            }
            Some("register_ap") if text("memsetref") && array("ap") && text("regref") => {
                let name = m.take_text("memsetref").unwrap_or_default();
                self.pattern(&mut m, &name);
                let register = m.take_text("regref").unwrap_or_default();
                self.out.push_str(" by(");
                self.name(&register);
                self.out.push(')');
                self.offset(&mut m, "reg_ap_offset");
            }
            Some("register_access") if text("regref") => {
                let register = m.take_text("regref").unwrap_or_default();
                self.out.push_str("reg ");
                self.name(&register);
            }
            Some("imm_value") if m.get("value").is_some() => {
                self.out.push_str("imm ");
                if let Some(v) = m.take_if("value", |_| true) {
                    v.inline(&mut self.out);
                }
            }
            _ => return v.inline(&mut self.out),
        }
        m.take_text("kind");
        if let Some(dtype) = m.take_bare("dtype") {
            let _ = write!(self.out, " : {dtype}");
        }
        self.suffix(m, absent);
    }

    fn pattern(&mut self, m: &mut Members<'_>, name: &str) {
        self.name(name);
        if let Some(ap) = m.take_if("ap", |_| true) {
            ap.inline(&mut self.out);
        }
    }

    fn offset(&mut self, m: &mut Members<'_>, key: &str) {
        if let Some(n) = m.take_if(key, Node::is_whole).and_then(whole) {
            let _ = match n.strip_prefix('-') {
                Some(n) => write!(self.out, " -{n}"),
                None => write!(self.out, " +{n}"),
            };
        }
    }

    fn expr(&mut self, v: Node<'_>) {
        if v.is_num() {
            self.out.push_str(&v.number());
            return;
        }
        let m = Members::of(v);
        let number = |key: &str| m.get(key).filter(|v| v.is_num());
        let text = |key: &str| m.get(key).and_then(Node::as_str);
        let kind = text("kind");
        match kind.as_deref() {
            Some("AffIVKind") if m.has(&["kind", "axis"]) && text("axis").is_some() => {
                self.out.push('$');
                self.name(&text("axis").unwrap_or_default());
            }
            Some("IntRuntimeValueKind")
                if m.has(&["kind", "regref"]) && text("regref").is_some() =>
            {
                self.out.push_str("reg(");
                self.name(&text("regref").unwrap_or_default());
                self.out.push(')');
            }
            Some("IndirectArgId") if m.has(&["kind", "arg_id"]) && number("arg_id").is_some() => {
                let n = number("arg_id").map(Node::number).unwrap_or_default();
                let _ = write!(self.out, "arg({n})");
            }
            Some("AffExprKind") if is_affine(&m) => {
                let terms = m.get("terms").into_iter().flat_map(Node::elements);
                self.affine(terms, m.get("c"));
            }
            Some("SumKind")
                if m.has(&["kind", "terms"]) && m.get("terms").is_some_and(Node::is_arr) =>
            {
                let terms = m.get("terms").into_iter().flat_map(Node::elements);
                self.call("sum", terms);
            }
            Some("MultKind") if m.has(&["kind", "var", "scale"]) && number("scale").is_some() => {
                self.call("mul", m.get("var").into_iter().chain(number("scale")));
            }
            Some("FloorDivKind") if m.has(&["kind", "numer", "denom"]) => {
                self.call("div", m.get("numer").into_iter().chain(m.get("denom")));
            }
            Some("ModuloKind") if m.has(&["kind", "numer", "denom"]) => {
                self.call("mod", m.get("numer").into_iter().chain(m.get("denom")));
            }
            _ => v.inline(&mut self.out),
        }
    }

    fn call<'t>(&mut self, word: &str, args: impl Iterator<Item = Node<'t>>) {
        self.out.push_str(word);
        self.out.push('(');
        for (n, v) in args.enumerate() {
            self.out.push_str(if n > 0 { ", " } else { "" });
            self.expr(v);
        }
        self.out.push(')');
    }

    fn affine<'t>(&mut self, terms: impl Iterator<Item = Node<'t>>, c: Option<Node<'t>>) {
        self.out.push('(');
        let mut first = true;
        for t in terms {
            self.out.push_str(if first { "" } else { " + " });
            first = false;
            let _ = write!(self.out, "{}*", t.get("coeff").map(Node::number).unwrap_or_default());
            if let Some(idx) = t.get("idx") {
                self.expr(idx);
            }
        }
        if let Some(c) = c.map(Node::number) {
            let _ = match (first, c.strip_prefix('-')) {
                (true, _) => write!(self.out, "{c}"),
                (false, Some(c)) => write!(self.out, " - {c}"),
                (false, None) => write!(self.out, " + {c}"),
            };
        }
        self.out.push(')');
    }
}

fn is_affine(m: &Members<'_>) -> bool {
    let term = |t: Node<'_>| {
        let m = Members::of(t);
        m.has(&["coeff", "idx"]) && m.get("coeff").is_some_and(|c| c.is_num())
    };
    let keys = match m.get("c") {
        Some(c) => m.has(&["kind", "terms", "c"]) && c.is_num(),
        None => m.has(&["kind", "terms"]),
    };
    keys && m.get("terms").is_some_and(|t| t.is_arr() && t.elements().all(term))
}

fn is_dependency(v: Node<'_>) -> bool {
    if v.as_str().is_some() {
        return true;
    }
    let mut parts = v.elements();
    let kind = |k: Node<'_>| k.is_num() || k.as_str().is_some();
    parts.next().is_some_and(|n| n.as_str().is_some())
        && parts.next().is_some_and(kind)
        && parts.next().is_none()
}

fn is_semaphore(v: Node<'_>, value: &str) -> bool {
    let number = |key: &str| v.get(key).is_some_and(|n| n.is_num());
    number("id") && number(value)
}

fn is_debug(v: Node<'_>) -> bool {
    let m = Members::of(v);
    let text = |key: &str| m.get(key).is_some_and(|v| v.as_str().is_some());
    let keys = m.has(&["filename", "lineno", "op_name"]) && text("op_name")
        || m.has(&["filename", "lineno"]);
    keys && text("filename") && m.get("lineno").is_some_and(Node::is_whole)
}
