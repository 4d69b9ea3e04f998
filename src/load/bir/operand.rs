//! Operands and the expressions in them (`docs/bir.md`, "Operands" and "Expressions").

use super::decode::{Decoder, advice, word};
use super::spans::Fault;
use super::tape::Json;
use crate::bir::{
    Dtype, Expr, Extra, Form, Name, Operand, OperandKind, Pair, Pairs, Pattern, Reference, Value,
};
use crate::udma::count_of;

/// The keys of an operand, found once.
#[derive(Default)]
struct Keys<'t> {
    kind: Option<Json<'t>>,
    dtype: Option<Json<'t>>,
    ap: Option<Json<'t>>,
    offset: Option<Json<'t>>,
    memref: Option<Json<'t>>,
    memsetref: Option<Json<'t>>,
    addrs: Option<Json<'t>>,
    shape: Option<Json<'t>>,
    regref: Option<Json<'t>>,
    reg_offset: Option<Json<'t>>,
    value: Option<Json<'t>>,
    dynamic: Option<Json<'t>>,
    max_index: Option<Json<'t>>,
    reference: Option<Json<'t>>,
}

/// What [`Keys`] finds.
const SLOTS: [&str; 14] = [
    "kind",
    "dtype",
    "ap",
    "offset",
    "memref",
    "memsetref",
    "addrs",
    "access_shape",
    "regref",
    "reg_ap_offset",
    "value",
    "dynamic_ap_info",
    "indirect_dim_max_index",
    "reference",
];

impl<'t> Keys<'t> {
    fn slot(&mut self, key: &str) -> Option<&mut Option<Json<'t>>> {
        Some(match key {
            "kind" => &mut self.kind,
            "dtype" => &mut self.dtype,
            "ap" => &mut self.ap,
            "offset" => &mut self.offset,
            "memref" => &mut self.memref,
            "memsetref" => &mut self.memsetref,
            "addrs" => &mut self.addrs,
            "access_shape" => &mut self.shape,
            "regref" => &mut self.regref,
            "reg_ap_offset" => &mut self.reg_offset,
            "value" => &mut self.value,
            "dynamic_ap_info" => &mut self.dynamic,
            "indirect_dim_max_index" => &mut self.max_index,
            "reference" => &mut self.reference,
            _ => return None,
        })
    }
}

/// The dynamic part of a pattern.
#[derive(Default)]
struct Dynamic {
    start: Option<Expr>,
    offset: i64,
    max_index: Option<u64>,
}

impl Decoder {
    /// An operand. Where `strict`, what is not understood is reported; otherwise it is kept
    /// without a word.
    pub(super) fn operand(&mut self, v: Json<'_>, strict: bool) -> Operand {
        if !v.is_obj() {
            if strict {
                self.fault("B011", v.span(), "an operand should be an object");
            }
            let extra = vec![(self.intern(super::write::NO_OBJECT), v.to_value())];
            return Operand { dtype: None, kind: OperandKind::Other(self.intern("")), extra };
        }
        let faults = self.faults.len();
        let (kind, dtype, extra) = self.operand_parts(v);
        if strict && !extra.is_empty() {
            self.odd_keys(v);
        }
        if strict || self.faults.len() == faults {
            return Operand { dtype, kind, extra };
        }
        // Of an opaque instruction: all of it is kept, and nothing said.
        self.faults.truncate(faults);
        let kind = v.get("kind").and_then(Json::as_str).unwrap_or_default();
        let kind = self.intern(&kind);
        let mut extra = Vec::new();
        for (key, v) in v.members() {
            if !matches!(key.as_str().as_deref(), Some("kind")) || v.as_str().is_none() {
                self.keep(&mut extra, key, v);
            }
        }
        Operand { dtype: None, kind: OperandKind::Other(kind), extra }
    }

    /// Says which keys of an operand look misspelled.
    fn odd_keys(&mut self, v: Json<'_>) {
        for (key, _) in v.members() {
            let text = key.as_str().unwrap_or_default();
            if Keys::default().slot(&text).is_none() {
                let known = &mut SLOTS.iter().copied();
                self.misspelt(key.span(), ("operand", "the key"), &text, known);
            }
        }
    }

    fn operand_parts(&mut self, v: Json<'_>) -> (OperandKind, Option<Dtype>, Extra) {
        let mut k = Keys::default();
        let mut extra = Vec::new();
        for (key, v) in v.members() {
            match k.slot(&key.as_str().unwrap_or_default()) {
                Some(slot) => *slot = Some(v),
                None => self.keep(&mut extra, key, v),
            }
        }
        let mut dtype = None;
        if let Some(d) = k.dtype.filter(|d| !d.is_null()) {
            dtype = word(d);
            if dtype.is_none() {
                let why = format!("element type {} is not known", d.raw());
                self.report(Fault::new("B010", d.span(), why).help(advice::<Dtype>(d)));
            }
        }
        let text = k.kind.and_then(Json::as_str).unwrap_or_default();
        let form = match &*text {
            "physical_ap" => Some(Form::Physical),
            "symbolic_ap" | "symbolic_pwap" => Some(Form::Symbolic),
            "register_ap" => Some(Form::Register),
            _ => None,
        };
        let kind = match (form, &*text) {
            (Some(form), _) => {
                self.keep_rest(&k, &mut extra, &PATTERN_KEYS);
                let pattern = self.pattern(form, &k, &mut extra, v);
                return (OperandKind::Pattern(pattern), dtype, extra);
            }
            (None, "register_access") => {
                self.keep_rest(&k, &mut extra, &["kind", "dtype", "regref"]);
                match k.regref.and_then(|r| self.reference(r, "`regref`")) {
                    Some(name) => OperandKind::Register(name),
                    None => {
                        self.fault("B011", v.span(), "a register operand without `regref`");
                        OperandKind::Other(self.intern("register_access"))
                    }
                }
            }
            (None, "imm_value") => {
                self.keep_rest(&k, &mut extra, &["kind", "dtype", "value"]);
                OperandKind::Imm(k.value.map_or(Value::Null, Json::to_value))
            }
            (None, other) => {
                let at = k.kind.map_or(v.span(), Json::span);
                let why = match k.kind {
                    Some(k) => format!("operand kind {} is not understood", k.raw()),
                    None => "an operand without `kind`".to_owned(),
                };
                self.fault("B011", at, why);
                OperandKind::Other(self.intern(other))
            }
        };
        (kind, dtype, extra)
    }

    /// Keeps the found keys that this kind does not have.
    fn keep_rest(&mut self, k: &Keys<'_>, extra: &mut Extra, has: &[&str]) {
        let all = [
            ("ap", k.ap),
            ("offset", k.offset),
            ("memref", k.memref),
            ("memsetref", k.memsetref),
            ("addrs", k.addrs),
            ("access_shape", k.shape),
            ("regref", k.regref),
            ("reg_ap_offset", k.reg_offset),
            ("value", k.value),
            ("dynamic_ap_info", k.dynamic),
            ("indirect_dim_max_index", k.max_index),
            ("reference", k.reference),
        ];
        let found = all.into_iter().filter_map(|(key, v)| Some((key, v?)));
        for (key, v) in found.filter(|(key, _)| !has.contains(key)) {
            self.stow(extra, key, v.to_value());
        }
    }

    fn pattern(&mut self, form: Form, k: &Keys<'_>, extra: &mut Extra, v: Json<'_>) -> Pattern {
        fn there(v: Option<Json<'_>>) -> Option<Json<'_>> {
            v.filter(|v| !v.is_null())
        }
        let mut p = Pattern {
            form,
            pairs: Pairs::new(),
            location: k.memref.and_then(|m| self.reference(m, "`memref`")),
            set: k.memsetref.and_then(|m| self.reference(m, "`memsetref`")),
            offset: 0,
            start: None,
            dynamic_info: false,
            max_index: None,
            reference: None,
        };
        match there(k.ap) {
            Some(ap) => p.pairs = self.pairs(ap),
            None => self.fault("B014", v.span(), "an access pattern without `ap`"),
        }
        let mut starts = Vec::new();
        match there(k.offset) {
            // An expression may stand wherever a number may.
            Some(o) if o.is_obj() => starts.push(self.expr(o, true)),
            Some(o) => p.offset = self.int(o, "`offset`").unwrap_or(0),
            None => {}
        }
        match form {
            Form::Register => {
                if let Some(r) = there(k.regref)
                    && let Some(name) = self.name(r, "`regref`")
                {
                    starts.push(Expr::Register(name));
                }
                if let Some(o) = there(k.reg_offset) {
                    let more: i64 = self.int(o, "`reg_ap_offset`").unwrap_or(0);
                    p.offset = self.sum(p.offset, more, o);
                }
            }
            _ => self.keep_rest(
                &Keys { regref: k.regref, reg_offset: k.reg_offset, ..Keys::default() },
                extra,
                &[],
            ),
        }
        if let Some(a) = there(k.addrs) {
            starts.extend(self.addrs(a, k.shape));
        }
        if let Some(d) = there(k.dynamic) {
            let outer = p.pairs.first().map_or(0, |p| p.step);
            let dynamic = self.dynamic(d, k.ap, outer, extra);
            p.dynamic_info = true;
            p.offset = self.sum(p.offset, dynamic.offset, d);
            p.max_index = dynamic.max_index;
            starts.extend(dynamic.start);
        }
        if let Some(m) = there(k.max_index) {
            p.max_index = self.int(m, "`indirect_dim_max_index`");
        }
        if let Some(r) = there(k.reference) {
            p.reference = self.base(r);
            if p.reference.is_none() {
                self.stow(extra, "reference", r.to_value());
            }
        }
        p.start = match starts.len() {
            0 | 1 => starts.pop(),
            _ => Some(Expr::Sum(starts)),
        };
        p
    }

    fn sum(&mut self, a: i64, b: i64, at: Json<'_>) -> i64 {
        a.checked_add(b).unwrap_or_else(|| {
            self.fault("B005", at.span(), "an offset beyond 64 bits");
            0
        })
    }

    fn pairs(&mut self, ap: Json<'_>) -> Pairs {
        if !ap.is_arr() {
            self.fault("B014", ap.span(), "`ap` should be an array of steps and counts");
            return Pairs::new();
        }
        let mut pairs = Pairs::new();
        for p in ap.elements() {
            let mut parts = p.elements();
            let (step, num) = match (parts.next(), parts.next(), parts.next()) {
                (Some(step), Some(num), None) => (step, num),
                _ => match (p.get("step"), p.get("num")) {
                    (Some(step), Some(num)) => (step, num),
                    _ => {
                        self.fault("B014", p.span(), "a step and a count should stand here");
                        continue;
                    }
                },
            };
            if let (Some(step), Some(num)) = (self.int(step, "a step"), self.int(num, "a count")) {
                pairs.push(Pair { step, num });
            }
        }
        pairs
    }

    /// `addrs`: one start offset, or row-major indices into `access_shape`.
    fn addrs(&mut self, v: Json<'_>, shape: Option<Json<'_>>) -> Option<Expr> {
        let items: Vec<Json<'_>> = self.list(v, "`addrs`").collect();
        let mut exprs: Vec<Expr> = items.iter().map(|e| self.expr(*e, true)).collect();
        if exprs.len() < 2 {
            return exprs.pop();
        }
        let sizes: Vec<i64> = shape.map(|s| self.ints(s, "`access_shape`")).unwrap_or_default();
        if sizes.len() != exprs.len() {
            let why = format!(
                "{} in `addrs`, {} in `access_shape`",
                count_of(exprs.len(), "index"),
                count_of(sizes.len(), "size")
            );
            self.fault("B012", v.span(), why);
            return None;
        }
        let mut weight = 1i64;
        let mut terms = Vec::new();
        for (e, size) in exprs.into_iter().zip(sizes).rev() {
            terms.push(if weight == 1 { e } else { Expr::Mul(Box::new(e), weight) });
            weight = weight.checked_mul(size).unwrap_or_else(|| {
                self.fault("B005", v.span(), "sizes of `access_shape` beyond 64 bits");
                1
            });
        }
        terms.reverse();
        Some(Expr::Sum(terms))
    }

    /// `dynamic_ap_info`. How it is nested is not public; MODEL: a flat object of `aff_expr`
    /// (a list of an expression and its factor), `c`, `offset_expr` and the index's bound.
    fn dynamic(
        &mut self,
        v: Json<'_>,
        ap: Option<Json<'_>>,
        outer: i64,
        extra: &mut Extra,
    ) -> Dynamic {
        const KNOWN: [&str; 4] = ["aff_expr", "c", "offset_expr", "indirect_dim_max_index"];
        let mut out = Dynamic::default();
        if !self.object(v, "`dynamic_ap_info`") {
            return out;
        }
        let mut terms: Vec<(Expr, i64)> = Vec::new();
        for (key, v) in v.members().filter(|(_, v)| !v.is_null()) {
            match key.as_str().as_deref() {
                Some("aff_expr") => {
                    for t in self.list(v, "`aff_expr`") {
                        let t = self.dynamic_term(t);
                        terms.extend(t);
                    }
                }
                Some("c") => out.offset = self.int(v, "`c`").unwrap_or(0),
                Some("offset_expr") => terms.push((self.expr(v, true), 1)),
                Some("indirect_dim_max_index") => {
                    out.max_index = self.int(v, "`indirect_dim_max_index`");
                }
                Some("actual_ap") if ap.is_some_and(|ap| ap.to_value() != v.to_value()) => {
                    let why = "`actual_ap` differs from `ap`: what that means is not public";
                    self.fault("B013", v.span(), why);
                }
                _ => {}
            }
        }
        let along = v.get("indirect_dim").filter(|d| !d.is_null());
        if let Some(d) = along.filter(|d| d.as_str().as_deref() != Some("W") && d.raw() != "0")
            && terms.iter().any(|(e, _)| !e.indices().is_empty())
        {
            self.fault("B013", d.span(), "an index along another dimension than W");
        }
        if let Some(rest) = self.rest(v, &KNOWN) {
            self.stow(extra, "dynamic_ap_info", rest);
        }
        out.start = match terms.as_mut_slice() {
            [] => None,
            // The index counts steps of the outermost pair; its factor says so once more.
            [(Expr::Index(n), coef)] if *coef == 1 || *coef == outer => Some(Expr::Index(*n)),
            [(_, 1)] => terms.pop().map(|t| t.0),
            _ => {
                Some(Expr::Sum(terms.into_iter().map(|(e, c)| Expr::Mul(Box::new(e), c)).collect()))
            }
        };
        out
    }

    fn dynamic_term(&mut self, t: Json<'_>) -> Option<(Expr, i64)> {
        let mut parts = t.elements();
        let (e, c) = match (parts.next(), parts.next(), parts.next()) {
            (Some(e), Some(c), None) => (e, c),
            _ => match (t.get("expr"), t.get("coef").or_else(|| t.get("coeff"))) {
                (Some(e), Some(c)) => (e, c),
                _ => {
                    self.fault("B013", t.span(), "an expression and its factor should stand here");
                    return None;
                }
            },
        };
        Some((self.expr(e, true), self.int(c, "a factor")?))
    }

    /// Our key `reference`; `None` where it is somebody else's.
    fn base(&mut self, v: Json<'_>) -> Option<Reference> {
        let scale = v.get("scale").filter(|s| s.as_num().is_some())?;
        if let Some(r) = v.get("register").filter(|r| r.as_str().is_some()) {
            let register = self.name(r, "`register`")?;
            return Some(Reference::Register { register, scale: self.int(scale, "`scale`")? });
        }
        let (list, element) = (v.get("list")?, v.get("element")?);
        let list = Box::new(self.operand(list, true));
        let element = self.int(element, "`element`")?;
        let scale = self.int(scale, "`scale`")?;
        let max_index = match v.get("max_index") {
            Some(m) => Some(self.int(m, "`max_index`")?),
            None => None,
        };
        Some(Reference::Index { list, element, scale, max_index })
    }

    /// An expression of either version. Where `strict`, what is not understood is reported.
    pub(super) fn expr(&mut self, v: Json<'_>, strict: bool) -> Expr {
        if v.as_num().is_some() {
            return Expr::Const(self.int(v, "a constant").unwrap_or(0));
        }
        let kind = v.get("kind").and_then(Json::as_str);
        let Some(kind) = kind else {
            return self.old_expr(v, strict).unwrap_or_else(|| self.no_expr(v, "", strict));
        };
        let e = match &*kind {
            "AffExprKind" => self.affine(v, strict),
            "AffIVKind" => self.text_of(v, "axis").map(Expr::Axis),
            "IntRuntimeValueKind" => self.text_of(v, "regref").map(Expr::Register),
            "IndirectArgId" => {
                let n = v.get("arg_id").filter(|n| n.as_num().is_some());
                // One that is out of range was said to be that.
                n.map(|n| match self.int(n, "`arg_id`") {
                    Some(n) => Expr::Index(n),
                    None => Expr::Unknown(self.intern(&kind)),
                })
            }
            "SumKind" => v
                .get("terms")
                .filter(|t| t.is_arr())
                .map(|terms| Expr::Sum(terms.elements().map(|t| self.expr(t, strict)).collect())),
            "MultKind" => match (v.get("var"), v.get("scale")) {
                (Some(var), Some(scale)) if scale.as_num().is_some() => {
                    let scale = self.int(scale, "`scale`").unwrap_or(1);
                    Some(Expr::Mul(Box::new(self.expr(var, strict)), scale))
                }
                _ => None,
            },
            "FloorDivKind" | "ModuloKind" => match (v.get("numer"), v.get("denom")) {
                (Some(a), Some(b)) => {
                    let a = Box::new(self.expr(a, strict));
                    let b = Box::new(self.expr(b, strict));
                    let divide = kind == "FloorDivKind";
                    Some(if divide { Expr::FloorDiv(a, b) } else { Expr::Mod(a, b) })
                }
                _ => None,
            },
            _ => None,
        };
        e.unwrap_or_else(|| self.no_expr(v, &kind, strict))
    }

    fn no_expr(&mut self, v: Json<'_>, kind: &str, strict: bool) -> Expr {
        if strict {
            let why = if kind.is_empty() {
                "an expression that is not understood".to_owned()
            } else {
                let keys: Vec<_> = v.members().filter_map(|(k, _)| k.as_str()).collect();
                let keys = keys.join("`, `");
                format!("an expression of kind `{kind}` with `{keys}` that is not understood")
            };
            self.fault("B012", v.span(), why);
        }
        Expr::Unknown(self.intern(kind))
    }

    fn text_of(&mut self, v: Json<'_>, key: &str) -> Option<Name> {
        let text = v.get(key)?.as_str()?;
        Some(self.intern(&text))
    }

    /// Terms with factors, and a constant, which comes last.
    fn affine(&mut self, v: Json<'_>, strict: bool) -> Option<Expr> {
        let mut sum = Vec::new();
        for t in v.get("terms").into_iter().flat_map(Json::elements) {
            let e = self.expr(t.get("idx")?, strict);
            let factor = t.get("coeff").or_else(|| t.get("coef"))?;
            sum.push(Expr::Mul(Box::new(e), self.int(factor, "`coeff`").unwrap_or(0)));
        }
        let c = v.get("c").filter(|c| !c.is_null());
        let c = c.map_or(Some(0), |c| self.int(c, "`c`")).unwrap_or(0);
        sum.push(Expr::Const(c));
        Some(Expr::Sum(sum))
    }

    /// Version 1: `{terms, c, op, op_param}`; a term is an axis label and a factor. MODEL: `op`
    /// is applied to the sum.
    fn old_expr(&mut self, v: Json<'_>, strict: bool) -> Option<Expr> {
        if !v.is_obj() || (v.get("terms").is_none() && v.get("op").is_none()) {
            return None;
        }
        let param = v.get("op_param").filter(|p| !p.is_null());
        let op = v.get("op").filter(|o| !o.is_null());
        if op.is_some_and(|o| o.as_str().as_deref() == Some("IndirectArgId")) {
            return Some(Expr::Index(self.int(param?, "`op_param`")?));
        }
        let mut sum = Vec::new();
        for t in v.get("terms").into_iter().flat_map(Json::elements) {
            let mut parts = t.elements();
            let (label, factor) = match (parts.next(), parts.next(), parts.next()) {
                (Some(label), Some(factor), None) => (label, factor),
                _ => {
                    let label = ["axis", "idx", "label", "name"].iter().find_map(|k| t.get(k));
                    (label?, t.get("coef").or_else(|| t.get("coeff"))?)
                }
            };
            let axis = match label.as_str() {
                Some(text) => Expr::Axis(self.intern(&text)),
                None => self.expr(label, strict),
            };
            sum.push(Expr::Mul(Box::new(axis), self.int(factor, "`coef`").unwrap_or(0)));
        }
        let c = v.get("c").filter(|c| !c.is_null());
        sum.push(Expr::Const(c.map_or(Some(0), |c| self.int(c, "`c`")).unwrap_or(0)));
        let sum = Expr::Sum(sum);
        let Some(op) = op else { return Some(sum) };
        let divide = match op.as_str().as_deref() {
            Some("Div") => true,
            Some("Mod") => false,
            _ => {
                let why = format!("an expression whose `op` {} is not understood", op.raw());
                let fault = Fault::new("B012", op.span(), why);
                if strict {
                    self.report(fault.help("known are Div, Mod, IndirectArgId"));
                }
                return Some(Expr::Unknown(self.intern("")));
            }
        };
        let by = Box::new(self.expr(param?, strict));
        let sum = Box::new(sum);
        Some(if divide { Expr::FloorDiv(sum, by) } else { Expr::Mod(sum, by) })
    }
}

const PATTERN_KEYS: [&str; 11] = [
    "ap",
    "offset",
    "memref",
    "memsetref",
    "addrs",
    "regref",
    "reg_ap_offset",
    "dynamic_ap_info",
    "indirect_dim_max_index",
    "reference",
    "kind",
];
