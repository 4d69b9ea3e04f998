//! The head of an instruction in `.bir` text: operands, expressions, dependencies, semaphores.

use super::lex;
use super::near;
use super::parse::{Member, Node, Parser, Stop, Val, quoted, string};
use super::print::{CLAUSES, LITERALS, is_nothing};
use super::spans::Span;
use crate::limits::MAX_BIR_DEPTH;
use std::borrow::Cow;

fn member<'a>(key: &'a str, node: Node<'a>) -> Member<'a> {
    Member { key: key.into(), at: node.span, node }
}

impl<'a> Parser<'a> {
    /// `%name = Opcode Engine clauses`
    pub(super) fn inst_head(&mut self, m: &mut Vec<Member<'a>>) -> Result<(), Stop> {
        let start = self.at;
        let named = self.sign("%");
        if named {
            let from = self.at - 1;
            let (_, mut node) = self.name("a name")?;
            if let Val::Word(..) = node.val {
                node.span = self.span(from);
            }
            m.push(member("name", node));
            self.expect("=")?;
            self.blank();
        }
        let mut bare = None;
        match self.eat(lex::bare) {
            Some(("inst", _)) => {}
            Some((text, span)) => {
                bare = Some(text).filter(|_| !named);
                m.push(member("opcode", string(text, span)));
            }
            None => return self.wrong("an opcode"),
        }
        self.blank();
        if let Ok((rest, word)) = lex::bare(self.rest())
            && !rest.starts_with(['=', '('])
            && !CLAUSES.contains(&word)
            && let Some((text, span)) = self.eat(lex::bare)
        {
            m.push(member("engine", string(text, span)));
        }
        if let Some(opcode) = bare
            && let Some(why) = self.nothing(opcode, m)
        {
            return self.fail("B035", self.span(start), why);
        }
        loop {
            self.blank();
            match self.peek() {
                None | Some('\n' | '{' | '}') => return Ok(()),
                _ if self.at_key() => self.attr(m)?,
                _ => self.clause(m)?,
            }
        }
    }

    /// Why a line is no instruction that begins with an opcode and has neither a name nor
    /// anything behind its engine: the opcode is not known, and the engine is none.
    fn nothing(&mut self, opcode: &str, m: &[Member<'a>]) -> Option<String> {
        self.blank();
        let engine = m.iter().find(|x| x.key == "engine").map(|x| x.node.span.range());
        let engine = engine.map(|r| self.text.get(r).unwrap_or_default());
        if !matches!(self.peek(), None | Some('\n' | '}')) || !is_nothing(opcode, engine) {
            return None;
        }
        let hint = match near::opcode(opcode) {
            Some(like) => format!("did you mean `{like}`?"),
            None => format!("an opaque instruction without operands is `inst opcode={opcode}`"),
        };
        Some(format!("no statement, and `{opcode}` is no instruction that is known; {hint}"))
    }

    fn clause(&mut self, m: &mut Vec<Member<'a>>) -> Result<(), Stop> {
        let from = self.at;
        let word = self.eat(lex::bare).map_or("", |(w, _)| w);
        match (word, self.peek()) {
            ("for", _) => self.axis(m),
            ("at", _) => self.debug(m),
            ("ins" | "outs", Some('(')) => {
                let node = self.list(Parser::operand)?;
                m.push(member(word, node));
                Ok(())
            }
            ("fires", Some('(')) => {
                let node = self.list(|p| Ok(p.name("a block's name")?.1))?;
                m.push(member("dma_blocks", node));
                Ok(())
            }
            ("after", Some('(')) => {
                let node = self.list(Parser::dependency)?;
                m.push(member("dependencies", node));
                Ok(())
            }
            ("carried", Some('(')) => {
                let node = self.list(Parser::dependency)?;
                m.push(member("loop_carried_dependencies", node));
                Ok(())
            }
            ("wait", Some('(')) => {
                let node = self.list(|p| p.semaphore("wait_value", ">="))?;
                self.sync(m, "on_wait", node)
            }
            ("update", Some('(')) => {
                let node = self.list(|p| p.semaphore("update_value", "+="))?;
                self.sync(m, "on_update", node)
            }
            _ => {
                self.at = from;
                self.wrong("a clause or a `key=value`")
            }
        }
    }

    fn sync(
        &mut self,
        m: &mut Vec<Member<'a>>,
        key: &'static str,
        node: Node<'a>,
    ) -> Result<(), Stop> {
        let at = node.span;
        let ours = m.iter_mut().find(|x| x.key == "sync_info");
        match ours.map(|x| &mut x.node.val) {
            Some(Val::Obj(members)) => members.push(member(key, node)),
            Some(_) => return self.fail("B034", at, "semaphores beside `sync_info=`"),
            None => {
                let val = Val::Obj(vec![member(key, node)]);
                m.push(member("sync_info", Node { span: at, val }));
            }
        }
        Ok(())
    }

    /// `( item , item .. )`
    fn list(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<Node<'a>, Stop>,
    ) -> Result<Node<'a>, Stop> {
        let from = self.at;
        self.expect("(")?;
        let mut items = Vec::new();
        if !self.sign(")") {
            loop {
                self.blank();
                items.push(item(self)?);
                if self.sign(")") {
                    break;
                }
                if !self.sign(",") {
                    return self.wrong("`,` or `)`");
                }
            }
        }
        Ok(Node { span: self.span(from), val: Val::Arr(items) })
    }

    fn axis(&mut self, m: &mut Vec<Member<'a>>) -> Result<(), Stop> {
        let from = self.at;
        let (_, name) = self.name("an axis")?;
        self.word("in")?;
        let lb = self.number("the first value")?;
        self.expect("..")?;
        let ub = self.number("the end")?;
        self.word("step")?;
        let stride = self.number("the step")?;
        let members = vec![
            member("lb", lb),
            member("name", name),
            member("stride", stride),
            member("ub", ub),
        ];
        let node = Node { span: self.span(from), val: Val::Obj(members) };
        m.push(member("LoopAxis", node));
        Ok(())
    }

    fn word(&mut self, word: &str) -> Result<(), Stop> {
        self.blank();
        match lex::bare(self.rest()) {
            Ok((_, found)) if found == word => {
                self.at += word.len();
                Ok(())
            }
            _ => self.wrong(&format!("`{word}`")),
        }
    }

    fn debug(&mut self, m: &mut Vec<Member<'a>>) -> Result<(), Stop> {
        let from = self.at;
        let (_, file) = self.name("a file name")?;
        self.expect(":")?;
        let line = self.number("a line")?;
        let mut members = vec![member("filename", file), member("lineno", line)];
        if self.sign("(") {
            let (_, op) = self.name("an operation")?;
            self.expect(")")?;
            members.push(member("op_name", op));
        }
        let node = Node { span: self.span(from), val: Val::Obj(members) };
        m.push(member("debug", node));
        Ok(())
    }

    fn dependency(&mut self) -> Result<Node<'a>, Stop> {
        let from = self.at;
        let (_, name) = self.name("an instruction's name")?;
        if !self.sign(":") {
            return Ok(name);
        }
        let kind = self.value()?;
        Ok(Node { span: self.span(from), val: Val::Arr(vec![name, kind]) })
    }

    fn semaphore(&mut self, value: &'static str, sign: &str) -> Result<Node<'a>, Stop> {
        let from = self.at;
        self.word("sem")?;
        let id = self.number("a semaphore")?;
        self.expect(sign)?;
        let amount = self.number("a value")?;
        let mut members = vec![member("id", id), member(value, amount)];
        self.blank();
        if lex::bare(self.rest()).is_ok_and(|(_, w)| w == "from") {
            self.word("from")?;
            members.push(member("from", self.name("an instruction's name")?.1));
        }
        self.suffix(&mut members)?;
        Ok(Node { span: self.span(from), val: Val::Obj(members) })
    }

    /// `{key=value ..}` after an operand or a semaphore.
    fn suffix(&mut self, m: &mut Vec<Member<'a>>) -> Result<(), Stop> {
        if !self.sign("{") {
            return Ok(());
        }
        self.absent(m)?;
        while !self.sign("}") {
            self.attr(m)?;
        }
        Ok(())
    }

    fn operand(&mut self) -> Result<Node<'a>, Stop> {
        let from = self.at;
        let mut m = Vec::new();
        let word = lex::bare(self.rest());
        let named = word.clone().or_else(|_| lex::quoted(self.rest()));
        if named.is_ok_and(|(rest, _)| rest.starts_with('[')) {
            return self.pattern(from);
        }
        // What is in quotes and no location is a string, whatever it says.
        match word {
            Ok((_, "reg")) => {
                self.word("reg")?;
                m.push(member("regref", self.name("a register")?.1));
                m.push(member("kind", string("register_access", self.span(from))));
            }
            Ok((_, "imm")) => {
                self.word("imm")?;
                m.push(member("value", self.json()?));
                m.push(member("kind", string("imm_value", self.span(from))));
            }
            Ok((rest, name)) if !LITERALS.contains(&name) => {
                self.at = self.text.len() - rest.len();
                return self.wrong(&format!("`[[step, count], ..]` behind `{name}`"));
            }
            _ => return self.json(),
        }
        self.dtype(&mut m)?;
        self.suffix(&mut m)?;
        if let Some(x) = m.iter().find(|x| matches!(x.node.val, Val::Absent)) {
            return self.fail("B034", x.at, "nothing is implied here that could be absent");
        }
        Ok(Node { span: self.span(from), val: Val::Obj(m) })
    }

    fn dtype(&mut self, m: &mut Vec<Member<'a>>) -> Result<(), Stop> {
        if self.sign(":") {
            self.blank();
            match self.eat(lex::bare) {
                Some((text, span)) => m.push(member("dtype", string(text, span))),
                None => return self.wrong("an element type"),
            }
        }
        Ok(())
    }

    fn pattern(&mut self, from: usize) -> Result<Node<'a>, Stop> {
        let mut m = Vec::with_capacity(8);
        let (name, node) = self.name("a location")?;
        let here = node.span;
        m.push(member("ap", self.json()?));
        self.blank();
        let (kind, offset) = match lex::bare(self.rest()) {
            Ok((_, "at")) => {
                self.word("at")?;
                m.push(member("memsetref", node));
                m.push(member("addrs", self.list(Parser::expr)?));
                ("symbolic_ap", None)
            }
            Ok((_, "by")) => {
                self.word("by")?;
                m.push(member("memsetref", node));
                self.expect("(")?;
                m.push(member("regref", self.name("a register")?.1));
                self.expect(")")?;
                ("register_ap", Some("reg_ap_offset"))
            }
            _ => {
                m.push(member("memref", node));
                ("physical_ap", Some("offset"))
            }
        };
        m.push(member("kind", string(kind, here)));
        self.blank();
        if let Some(key) = offset {
            let at = self.at;
            let sign = self.peek();
            if self.sign("+") || self.sign("-") {
                let node = self.number("an offset")?;
                let raw = self.text.get(node.span.range()).unwrap_or_default();
                let json = if sign == Some('-') { format!("-{raw}") } else { raw.to_owned() };
                m.push(member(key, Node { span: self.span(at), val: Val::Lit(json) }));
            }
        }
        self.dtype(&mut m)?;
        self.suffix(&mut m)?;
        match kind {
            "physical_ap" => {
                let set = match name {
                    Cow::Borrowed(word) => Val::Word(word, "_set"),
                    Cow::Owned(text) => quoted(&format!("{text}_set"), here).val,
                };
                self.imply(here.start as usize, &mut m, "memsetref", set)
            }
            _ => {
                if let Some(x) = m.iter().find(|x| matches!(x.node.val, Val::Absent)) {
                    return self.fail("B034", x.at, "nothing is implied here that could be absent");
                }
            }
        }
        Ok(Node { span: self.span(from), val: Val::Obj(m) })
    }

    fn expr(&mut self) -> Result<Node<'a>, Stop> {
        self.depth += 1;
        let e = self.expr_inside();
        self.depth -= 1;
        e
    }

    fn expr_inside(&mut self) -> Result<Node<'a>, Stop> {
        self.blank();
        let from = self.at;
        if self.depth > MAX_BIR_DEPTH {
            let at = Span { start: from as u32, end: from as u32 + 1 };
            return self.fail("B003", at, format!("nested deeper than {MAX_BIR_DEPTH}"));
        }
        if self.sign("$") {
            let (_, axis) = self.name("an axis")?;
            return Ok(self.kind(from, "AffIVKind", vec![member("axis", axis)]));
        }
        if self.peek() == Some('(') {
            return self.affine(from);
        }
        let call = lex::bare(self.rest()).ok().filter(|(rest, _)| rest.starts_with('('));
        let Some((_, word)) = call else { return self.json() };
        self.at += word.len();
        match word {
            "reg" => {
                self.expect("(")?;
                let (_, name) = self.name("a register")?;
                self.expect(")")?;
                Ok(self.kind(from, "IntRuntimeValueKind", vec![member("regref", name)]))
            }
            "arg" => {
                self.expect("(")?;
                let n = self.number("an argument's position")?;
                self.expect(")")?;
                Ok(self.kind(from, "IndirectArgId", vec![member("arg_id", n)]))
            }
            "sum" => {
                let terms = self.list(Parser::expr)?;
                Ok(self.kind(from, "SumKind", vec![member("terms", terms)]))
            }
            "mul" | "div" | "mod" => {
                self.expect("(")?;
                let a = self.expr()?;
                self.expect(",")?;
                let b = self.expr()?;
                self.expect(")")?;
                let (kind, first, second) = match word {
                    "mul" => ("MultKind", "var", "scale"),
                    "div" => ("FloorDivKind", "numer", "denom"),
                    _ => ("ModuloKind", "numer", "denom"),
                };
                Ok(self.kind(from, kind, vec![member(first, a), member(second, b)]))
            }
            _ => {
                self.at = from;
                self.wrong("an expression")
            }
        }
    }

    fn kind(&self, from: usize, kind: &'static str, mut members: Vec<Member<'a>>) -> Node<'a> {
        let span = self.span(from);
        members.push(member("kind", string(kind, span)));
        Node { span, val: Val::Obj(members) }
    }

    /// `(2*$i + 3*$j - 4)`: terms, then the constant.
    fn affine(&mut self, from: usize) -> Result<Node<'a>, Stop> {
        self.expect("(")?;
        let (mut terms, mut c) = (Vec::new(), None);
        while !self.sign(")") {
            if c.is_some() {
                return self.wrong("`)`, since the constant comes last");
            }
            let first = terms.is_empty();
            if !first && self.sign("-") {
                let at = self.at - 1;
                let n = self.number("a constant")?;
                let raw = self.text.get(n.span.range()).unwrap_or_default();
                let val = Val::Lit(format!("-{raw}"));
                c = Some(Node { span: self.span(at), val });
                continue;
            }
            if !first {
                self.expect("+")?;
            }
            let n = self.number("a factor or a constant")?;
            if !self.sign("*") {
                c = Some(n);
                continue;
            }
            let start = n.span.start as usize;
            let idx = self.expr()?;
            let val = Val::Obj(vec![member("coeff", n), member("idx", idx)]);
            terms.push(Node { span: self.span(start), val });
        }
        let span = self.span(from);
        let mut members = vec![member("terms", Node { span, val: Val::Arr(terms) })];
        members.extend(c.map(|c| member("c", c)));
        Ok(self.kind(from, "AffExprKind", members))
    }
}
