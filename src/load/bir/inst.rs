//! One instruction. Which keys it has depends on its opcode; of those that steer the program
//! or move data nothing is guessed, any other instruction is kept as it is.

use super::decode::{Decoder, Words, advice, word};
use super::keys::Key;
use super::near;
use super::spans::{Fault, Span};
use super::tape::Json;
use crate::bir::{
    AluOp, Axis, Body, Branch, BranchOp, Debug, Dep, Descriptor, DgeType, Dma, DmaBlock, DoWhile,
    DynamicLoop, EdgeKind, Engine, Expr, Extra, Inst, Loop, Mode, Name, Opcode, Operands, Part,
    QosClass, TransposeOp, Trigger, Update, Wait,
};

/// Keys that only some opcodes have, as far as they were there.
#[derive(Default)]
struct Fields<'t> {
    queue: Option<Name>,
    dge: Option<DgeType>,
    mode: Option<Mode>,
    oob_is_err: Option<bool>,
    transpose: Option<TransposeOp>,
    constants: Option<Vec<f32>>,
    op: Option<AluOp>,
    can_read_uninit: bool,
    qos: Option<QosClass>,
    ids: Vec<u64>,
    names: Vec<Name>,
    block_id: Option<u64>,
    flag: bool,
    trigger: Option<Name>,
    axis: Option<Json<'t>>,
    lb: Option<Json<'t>>,
    ub: Option<Json<'t>>,
    stride: Option<Json<'t>>,
    cond: Option<Json<'t>>,
    comparison: Option<BranchOp>,
    on_true: Option<Name>,
    on_false: Option<Name>,
    blocks: Option<Json<'t>>,
}

/// Whether an opcode has a key of its own.
fn has(opcode: &Opcode, key: Key) -> bool {
    use crate::bir::Opcode;
    use Key::*;
    match opcode {
        o if o.is_dma() => matches!(
            key,
            Queue
                | DgeType
                | Mode
                | OobIsErr
                | TransposeOp
                | Constants
                | CceOp
                | CanReadUninit
                | DmaQos
                | RemoteNotification
        ),
        o if o.is_descriptor() => {
            matches!(key, OobIsErr | TransposeOp | Constants | Op | CanReadUninit)
        }
        Opcode::DmaTrigger => matches!(key, Queue | DgeType | DmaQos | DmaBlocks),
        Opcode::DmaBlock => {
            matches!(key, BlockId | SectionStart | DmaTrigger | RemoteNotifications | Blocks)
        }
        Opcode::Loop => matches!(key, LoopAxis | Blocks),
        Opcode::DynamicForLoop => {
            matches!(key, LoopAxis | DynamicAxis | Lb | Ub | Stride | Blocks)
        }
        Opcode::DoWhile => matches!(key, Cond | Blocks),
        Opcode::CompareAndBranch => {
            matches!(key, CompOp | OnTrue | OnTrueOld | OnFalse | OnFalseOld)
        }
        Opcode::UnconditionalBranch => matches!(key, Target),
        Opcode::RegisterAlu => matches!(key, Op | Is64bit),
        Opcode::GroupResetSemaphores => matches!(key, SemaGroup),
        _ => false,
    }
}

impl Decoder {
    /// An instruction with all that it holds.
    pub(super) fn inst(&mut self, v: Json<'_>) -> Option<Inst> {
        if !self.object(v, "an instruction") {
            return None;
        }
        let pos = self.spans.begin(v.span());
        let opcode = self.opcode(v);
        let empty = self.intern("");
        let mut i = Inst { name: empty, ..Inst::new(pos, "", opcode, Engine::Unassigned) };
        let strict = !i.is_opaque();
        let mut fields = Fields::default();
        let mut head = None;
        for (key, v) in v.members() {
            let id = Key::of(&key.as_str().unwrap_or_default());
            if id != Key::Unknown {
                self.spans.key(id, v.span());
            }
            if v.is_null() && !matches!(id, Key::Unknown) {
                // A reference or a list that is not there.
                if !has(&i.opcode, id) && !common(id) {
                    self.keep(&mut i.extra, key, v);
                }
                continue;
            }
            match id {
                Key::Opcode => head = head.or(Some(v.span())),
                Key::Name => {
                    head = Some(v.span());
                    i.name = self.name(v, "`name`").unwrap_or(i.name);
                }
                Key::Engine => match word(v) {
                    Some(engine) => i.engine = engine,
                    None if strict => self.not_known::<Engine>(v),
                    None => {
                        let text = v.as_str().unwrap_or_default();
                        let known = &mut Engine::ALL.iter().map(|e| e.name());
                        self.misspelt(v.span(), ("engine", "the engine"), &text, known);
                        self.keep(&mut i.extra, key, v);
                    }
                },
                Key::Ins => i.ins = self.operands(v, strict, Part::In),
                Key::Outs => i.outs = self.operands(v, strict, Part::Out),
                Key::Dependencies => i.deps = self.deps(v),
                Key::LoopDependencies => i.loop_deps = self.deps(v),
                Key::SyncInfo => self.sync(&mut i, v),
                Key::Debug => match self.debug(v) {
                    Some(d) => i.debug = Some(d.into()),
                    None => self.keep(&mut i.extra, key, v),
                },
                _ if has(&i.opcode, id) => self.field(&mut fields, &mut i.extra, id, key, v),
                Key::Blocks => {
                    let why = format!("the blocks of `{}` are not looked into", i.opcode);
                    self.fault("B016", v.span(), why);
                    self.keep(&mut i.extra, key, v);
                }
                _ => {
                    let text = key.as_str().unwrap_or_default();
                    let own = Key::ALL.iter().filter(|(_, k)| has(&i.opcode, *k) || common(*k));
                    let holder = i.opcode.name();
                    let known = &mut own.map(|(text, _)| *text);
                    self.misspelt(key.span(), (holder, "the key"), &text, known);
                    self.keep(&mut i.extra, key, v);
                }
            }
        }
        self.spans.sealed(pos);
        let first = Span { start: v.span().start, end: v.span().start + 1 };
        self.spans.head(pos, head.unwrap_or(first));
        i.body = self.body(&mut i, fields, head.unwrap_or(first));
        Some(i)
    }

    fn opcode(&mut self, v: Json<'_>) -> Opcode {
        let unnamed = |d: &mut Decoder| Opcode::Other(d.intern(""));
        let Some(op) = v.get("opcode").filter(|o| !o.is_null()) else {
            let first = Span { start: v.span().start, end: v.span().start + 1 };
            self.fault("B008", first, "an instruction without `opcode`");
            return unnamed(self);
        };
        if let Some(text) = op.as_str() {
            return match Opcode::by_name(&text) {
                Opcode::Other(_) => {
                    self.odd_opcode(op, &text);
                    Opcode::Other(self.intern(&text))
                }
                known => known,
            };
        }
        match op.as_num() {
            // A number that nobody knows is an opaque instruction, too.
            Some(n) => n
                .parse()
                .ok()
                .and_then(Opcode::by_number)
                .unwrap_or_else(|| Opcode::Other(self.intern(n))),
            None => {
                self.fault("B008", op.span(), "`opcode` should be a name or a number");
                unnamed(self)
            }
        }
    }

    fn odd_opcode(&mut self, op: Json<'_>, text: &str) {
        if let Some(like) = near::opcode(text) {
            let why = format!("the opcode `{text}` is not known: an opaque instruction");
            let fault = Fault::new("B017", op.span(), why);
            self.tell(fault.help(format!("did you mean `{like}`?")));
        }
    }

    fn not_known<T: Words>(&mut self, v: Json<'_>) {
        let why = format!("{} {} is not known", T::WHAT, v.raw());
        self.report(Fault::new("B009", v.span(), why).help(advice::<T>(v)));
    }

    fn word<T: Words>(&mut self, v: Json<'_>) -> Option<T> {
        let w = word(v);
        if w.is_none() {
            self.not_known::<T>(v);
        }
        w
    }

    fn field<'t>(
        &mut self,
        f: &mut Fields<'t>,
        extra: &mut Extra,
        id: Key,
        key: Json<'t>,
        v: Json<'t>,
    ) {
        match id {
            Key::Queue => f.queue = self.name(v, "`queue`"),
            Key::DgeType => f.dge = self.word(v),
            Key::Mode => f.mode = self.word(v),
            Key::OobIsErr => f.oob_is_err = self.flag(v, "`oob_is_err`"),
            Key::TransposeOp => f.transpose = self.word(v),
            Key::Constants => f.constants = Some(self.floats(v)),
            Key::CceOp | Key::Op => f.op = self.word(v),
            Key::CanReadUninit => {
                f.can_read_uninit = self.flag(v, "`can_read_uninit`").unwrap_or(false);
            }
            Key::DmaQos => f.qos = self.word(v),
            Key::RemoteNotification => f.ids = self.ints(v, "`remote_notification`"),
            Key::RemoteNotifications => f.ids = self.ints(v, "`remote_notifications`"),
            Key::SemaGroup => f.ids = self.ints(v, "`sema_group`"),
            Key::DmaBlocks => f.names = self.block_names(v),
            Key::BlockId => f.block_id = self.int(v, "`block_id`"),
            Key::SectionStart => f.flag = self.flag(v, "`section_start`").unwrap_or(false),
            Key::Is64bit => f.flag = self.flag(v, "`is_64bit`").unwrap_or(false),
            // What this key holds in real files is not public; a name is understood.
            Key::DmaTrigger => match v.as_str() {
                Some(text) => f.trigger = Some(self.intern(&text)),
                None => self.keep(extra, key, v),
            },
            Key::LoopAxis | Key::DynamicAxis => {
                const KNOWN: [&str; 4] = ["name", "lb", "ub", "stride"];
                f.axis = Some(v);
                if let Some(rest) = self.rest(v, &KNOWN) {
                    self.stow(extra, &key.as_str().unwrap_or_default(), rest);
                }
            }
            Key::Lb => f.lb = Some(v),
            Key::Ub => f.ub = Some(v),
            Key::Stride => f.stride = Some(v),
            Key::Cond => f.cond = Some(v),
            Key::CompOp => f.comparison = self.word(v),
            Key::OnTrue | Key::OnTrueOld => f.on_true = self.name(v, "`on_true`"),
            Key::OnFalse | Key::OnFalseOld => f.on_false = self.name(v, "`on_false`"),
            Key::Target => f.on_true = self.name(v, "`target`"),
            Key::Blocks => f.blocks = Some(v),
            _ => self.keep(extra, key, v),
        }
    }

    fn body(&mut self, i: &mut Inst, f: Fields<'_>, at: Span) -> Body {
        let blocks = |d: &mut Decoder| f.blocks.map(|b| d.blocks(b)).unwrap_or_default();
        match &i.opcode {
            o if o.is_dma() => Body::Dma(Dma {
                queue: f.queue,
                dge: f.dge.unwrap_or(DgeType::Unassigned),
                mode: f.mode.unwrap_or(Mode::Copy),
                oob_is_err: f.oob_is_err.unwrap_or(true),
                transpose: f.transpose.unwrap_or(TransposeOp::None),
                constants: f.constants,
                cce_op: f.op.unwrap_or(AluOp::Bypass),
                can_read_uninit: f.can_read_uninit,
                qos: f.qos.unwrap_or(QosClass::Unassigned),
                remote_notification: f.ids,
            }),
            o if o.is_descriptor() => Body::Descriptor(Descriptor {
                constants: f.constants,
                op: f.op,
                transpose: f.transpose,
                can_read_uninit: f.can_read_uninit,
                oob_is_err: f.oob_is_err.unwrap_or(true),
            }),
            Opcode::DmaTrigger => Body::Trigger(Trigger {
                queue: f.queue,
                dma_blocks: f.names,
                dge: f.dge.unwrap_or(DgeType::Unassigned),
                qos: f.qos.unwrap_or(QosClass::Unassigned),
            }),
            Opcode::DmaBlock => Body::DmaBlock(DmaBlock {
                block_id: f.block_id,
                section_start: f.flag,
                trigger: f.trigger,
                remote_notifications: f.ids,
                blocks: blocks(self),
            }),
            Opcode::Loop => {
                let axis = self.axis(f.axis, at);
                Body::Loop(Loop { axis, blocks: blocks(self) })
            }
            Opcode::DynamicForLoop => {
                let axis = f.axis.filter(|a| a.is_obj());
                let name = match (f.axis, axis) {
                    (_, Some(a)) => a.get("name"),
                    (a, None) => a,
                };
                let name = match name {
                    Some(n) => self.name(n, "the axis").unwrap_or_else(|| self.intern("")),
                    None => {
                        self.fault("B008", at, "a loop without an axis");
                        self.intern("")
                    }
                };
                let mut bound = |key: &str, own: Option<Json<'_>>| {
                    let v = own.or_else(|| axis?.get(key)).filter(|v| !v.is_null());
                    v.map_or(Expr::Const(0), |v| self.expr(v, true))
                };
                let (lb, ub) = (bound("lb", f.lb), bound("ub", f.ub));
                let stride = bound("stride", f.stride);
                let blocks = blocks(self);
                Body::DynamicLoop(DynamicLoop { axis: name, lb, ub, stride, blocks }.into())
            }
            Opcode::DoWhile => {
                let cond = match f.cond {
                    Some(v) if v.as_str().is_some() => Expr::Register(v.to_name()),
                    Some(v) => self.expr(v, true),
                    None => {
                        self.fault("B008", at, "a DoWhile without `cond`");
                        Expr::Const(0)
                    }
                };
                Body::DoWhile(DoWhile { cond, blocks: blocks(self) })
            }
            Opcode::CompareAndBranch => {
                if f.comparison.is_none() {
                    self.fault("B008", at, "a branch without a `comp_op` that is known");
                }
                let op = f.comparison.unwrap_or(BranchOp::Unsupported);
                Body::Branch(Branch { op, on_true: f.on_true, on_false: f.on_false })
            }
            Opcode::UnconditionalBranch => Body::Jump(f.on_true.unwrap_or_else(|| {
                self.fault("B008", at, "a jump without `target`");
                self.intern("")
            })),
            Opcode::RegisterAlu => {
                if f.op.is_none() {
                    self.fault("B008", at, "register arithmetic without an `op` that is known");
                }
                Body::RegisterAlu { op: f.op.unwrap_or(AluOp::Bypass), wide: f.flag }
            }
            Opcode::GroupResetSemaphores => Body::ResetSemaphores(f.ids),
            _ => Body::None,
        }
    }

    fn axis(&mut self, v: Option<Json<'_>>, at: Span) -> Axis {
        let mut axis = Axis { name: self.intern(""), lb: 0, ub: 0, stride: 0 };
        let Some(v) = v else {
            self.fault("B008", at, "a Loop without `LoopAxis`");
            return axis;
        };
        if !self.object(v, "`LoopAxis`") {
            return axis;
        }
        for (key, v) in v.members() {
            match key.as_str().as_deref() {
                Some("name") => axis.name = self.name(v, "the axis").unwrap_or(axis.name),
                Some("lb") if !v.is_null() => axis.lb = self.int(v, "`lb`").unwrap_or(0),
                Some("ub") if !v.is_null() => axis.ub = self.int(v, "`ub`").unwrap_or(0),
                Some("stride") if !v.is_null() => {
                    axis.stride = self.int(v, "`stride`").unwrap_or(0);
                }
                _ => {}
            }
        }
        axis
    }

    fn operands(&mut self, v: Json<'_>, strict: bool, part: fn(u32) -> Part) -> Operands {
        let all = (0..).zip(self.list(v, "operands"));
        all.map(|(n, v)| {
            self.spans.operand(part(n), v.span());
            self.operand(v, strict)
        })
        .collect()
    }

    fn block_names(&mut self, v: Json<'_>) -> Vec<Name> {
        if let Some(one) = v.as_str() {
            // Files of early 2025 hold a single name.
            return vec![self.intern(&one)];
        }
        self.each(v, "`dma_blocks`", |d, n| d.name(n, "a block's name"))
    }

    fn floats(&mut self, v: Json<'_>) -> Vec<f32> {
        self.each(v, "`constants`", Decoder::float)
    }

    fn float(&mut self, v: Json<'_>) -> Option<f32> {
        let n = match v.as_str().as_deref() {
            Some("nan") => return Some(f32::NAN),
            Some("inf") => return Some(f32::INFINITY),
            Some("-inf") => return Some(f32::NEG_INFINITY),
            _ => v.as_num().and_then(|n| n.parse::<f32>().ok()),
        };
        match n {
            Some(n) if n.is_finite() => return Some(n),
            Some(_) => self.fault("B005", v.span(), "a constant beyond 32-bit floats"),
            None => self.fault("B008", v.span(), "a constant should be a number"),
        }
        None
    }

    fn deps(&mut self, v: Json<'_>) -> Vec<Dep> {
        self.each(v, "dependencies", Decoder::dep)
    }

    fn dep(&mut self, v: Json<'_>) -> Option<Dep> {
        if v.as_str().is_some() {
            return Some(Dep { name: self.name(v, "a dependency")?, kind: EdgeKind::Flow });
        }
        let mut parts = v.elements();
        let (Some(name), kind, None) = (parts.next(), parts.next(), parts.next()) else {
            let why = "a dependency should be a name, or a name and a kind";
            self.fault("B008", v.span(), why);
            return None;
        };
        let name = self.name(name, "a dependency")?;
        let kind = match kind {
            None => EdgeKind::Flow,
            Some(k) => word(k).unwrap_or_else(|| {
                // Whatever its kind, it holds the instruction until the other is complete.
                let why = format!("kind of dependency {} is not known: taken as Ordered", k.raw());
                self.fault("B016", k.span(), why);
                EdgeKind::Ordered
            }),
        };
        Some(Dep { name, kind })
    }

    fn sync(&mut self, i: &mut Inst, v: Json<'_>) {
        if !self.object(v, "`sync_info`") {
            return;
        }
        let mut rest = false;
        for (key, v) in v.members() {
            match key.as_str().as_deref() {
                Some("on_wait") => {
                    self.spans.key(Key::OnWait, v.span());
                    i.waits = self.each(v, "`on_wait`", Decoder::wait);
                }
                Some("on_update") => {
                    self.spans.key(Key::OnUpdate, v.span());
                    i.updates = self.each(v, "`on_update`", Decoder::update);
                }
                _ => rest = true,
            }
        }
        if rest && let Some(rest) = self.rest(v, &["on_wait", "on_update"]) {
            self.stow(&mut i.extra, "sync_info", rest);
        }
    }

    fn wait(&mut self, v: Json<'_>) -> Option<Wait> {
        let mut extra = Vec::new();
        let mut from = None;
        let (id, value) = self.semaphore(v, "wait_value", |d, key, v| {
            match (key.as_str().as_deref(), v.as_str()) {
                (Some("from"), Some(name)) => from = Some(d.intern(&name)),
                (Some("from"), None) if v.is_null() => {}
                _ => d.keep(&mut extra, key, v),
            }
        })?;
        Some(Wait { from, id, value, extra })
    }

    fn update(&mut self, v: Json<'_>) -> Option<Update> {
        let mut extra = Vec::new();
        let (id, value) =
            self.semaphore(v, "update_value", |d, key, v| d.keep(&mut extra, key, v))?;
        Some(Update { id, value, extra })
    }

    /// `id` and the value of a wait or an update; all other keys go to `other`.
    fn semaphore<'t>(
        &mut self,
        v: Json<'t>,
        value: &str,
        mut other: impl FnMut(&mut Decoder, Json<'t>, Json<'t>),
    ) -> Option<(u64, u64)> {
        if !self.object(v, "a semaphore") {
            return None;
        }
        let (mut id, mut amount) = (None, None);
        for (key, v) in v.members() {
            match key.as_str().as_deref() {
                Some("id") => id = Some(v),
                Some(k) if k == value => amount = Some(v),
                _ => other(self, key, v),
            }
        }
        let (Some(id), Some(amount)) = (id, amount) else {
            let why = format!("a semaphore should have `id` and `{value}`");
            self.fault("B008", v.span(), why);
            return None;
        };
        Some((self.int(id, "`id`")?, self.int(amount, value)?))
    }

    fn debug(&mut self, v: Json<'_>) -> Option<Debug> {
        if !v.is_obj() {
            return None;
        }
        let extra = Vec::new();
        let mut d = Debug { filename: None, lineno: None, op_name: None, extra };
        for (key, v) in v.members() {
            let text = v.as_str();
            match (key.as_str().as_deref(), text) {
                (Some("filename"), Some(t)) => d.filename = Some(self.intern(&t)),
                (Some("op_name"), Some(t)) => d.op_name = Some(self.intern(&t)),
                (Some("lineno"), None) if v.as_num().is_some_and(|n| n.parse::<u64>().is_ok()) => {
                    d.lineno = v.as_num().and_then(|n| n.parse().ok());
                }
                (Some("filename" | "op_name" | "lineno"), _) if v.is_null() => {}
                _ => self.keep(&mut d.extra, key, v),
            }
        }
        Some(d)
    }
}

/// Keys that every instruction has.
fn common(key: Key) -> bool {
    use Key::*;
    matches!(
        key,
        Name | Opcode | Engine | Ins | Outs | Dependencies | LoopDependencies | SyncInfo | Debug
    )
}
