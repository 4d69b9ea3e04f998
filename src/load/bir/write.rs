//! A module as JSON: names rather than numbers, defaults left out, unknown keys kept. Reading
//! it gives the same module (`docs/bir.md`, "Writing").

use super::json::Tree;
use crate::bir::{
    Allocation, AluOp, Block, Body, Dep, DgeType, Expr, Extra, Form, Function, Inst, Location,
    Mode, Module, Name, Operand, OperandKind, Pattern, QosClass, Queue, Reference, StorageKind,
    TransposeOp, Value,
};

/// An object that is being made.
struct Object<'m>(Vec<(&'m str, Tree<'m>)>);

impl<'m> Object<'m> {
    fn new() -> Object<'m> {
        Object(Vec::with_capacity(12))
    }

    /// With the keys that were kept.
    fn of(extra: &'m Extra) -> Object<'m> {
        let mut o = Object::new();
        o.0.extend(extra.iter().map(|(k, v)| (&**k, Tree::Kept(v))));
        o
    }

    /// Sets a key. What was kept of it goes first: rests of objects are united, and a value that
    /// was not understood stays as it was.
    fn put(&mut self, key: &'m str, value: Tree<'m>) -> &mut Object<'m> {
        match (self.0.iter_mut().find(|(k, _)| *k == key), value) {
            (Some((_, kept)), Tree::Obj(mut new)) => {
                if let Tree::Kept(Value::Obj(rest)) = kept {
                    new.extend(rest.iter().map(|(k, v)| (&**k, Tree::Kept(v))));
                    *kept = sorted(new);
                }
            }
            (Some(_), _) => {}
            (None, value) => self.0.push((key, value)),
        }
        self
    }

    fn put_if(
        &mut self,
        wanted: bool,
        key: &'m str,
        value: impl FnOnce() -> Tree<'m>,
    ) -> &mut Object<'m> {
        if wanted {
            self.put(key, value());
        }
        self
    }

    fn name(&mut self, key: &'m str, name: Option<&'m Name>) -> &mut Object<'m> {
        if let Some(name) = name {
            self.put(key, Tree::Text(name));
        }
        self
    }

    fn done(self) -> Tree<'m> {
        sorted(self.0)
    }
}

/// Keys in alphabetical order.
fn sorted<'m>(mut members: Vec<(&'m str, Tree<'m>)>) -> Tree<'m> {
    members.sort_by(|a, b| a.0.cmp(b.0));
    Tree::Obj(members)
}

fn object<'m, const N: usize>(members: [(&'m str, Tree<'m>); N]) -> Tree<'m> {
    sorted(members.into())
}

fn list<'m, T>(items: impl IntoIterator<Item = T>, one: impl FnMut(T) -> Tree<'m>) -> Tree<'m> {
    Tree::Arr(items.into_iter().map(one).collect())
}

fn int<'m>(n: impl Into<i128>) -> Tree<'m> {
    Tree::Int(n.into())
}

fn ints<'m>(items: &[u64]) -> Tree<'m> {
    list(items, |n| int(*n))
}

fn text(s: &str) -> Tree<'_> {
    Tree::Text(s)
}

/// The whole module.
pub(super) fn module(m: &Module) -> Tree<'_> {
    let mut o = Object::of(&m.extra);
    o.put("version", int(m.version));
    if let Some(arch) = m.arch {
        o.put("arch", text(arch.name()));
    }
    o.put("functions", list(&m.functions, function));
    o.put_if(!m.queues.is_empty(), "queues", || list(&m.queues, queue));
    o.done()
}

pub(super) fn function(f: &Function) -> Tree<'_> {
    let mut o = Object::of(&f.extra);
    o.put_if(!f.name.is_empty(), "name", || text(&f.name));
    o.put("allocations", list(&f.allocations, allocation));
    o.put("blocks", list(&f.blocks, block));
    o.done()
}

pub(super) fn queue(q: &Queue) -> Tree<'_> {
    let mut o = Object::of(&q.extra);
    o.put("name", text(&q.name));
    o.put("blocks", list(&q.blocks, block));
    o.done()
}

pub(super) fn allocation(a: &Allocation) -> Tree<'_> {
    let mut o = Object::of(&a.extra);
    let kind = match &a.storage {
        StorageKind::Memory => "memory_location_set",
        StorageKind::Register => "register",
        StorageKind::Other(name) => name,
    };
    o.put("Skind", text(kind)).put("name", text(&a.name));
    if let Some(dtype) = a.dtype {
        o.put("dtype", text(dtype.name()));
    }
    if let Some(kind) = a.kind {
        o.put("kind", text(kind.name()));
    }
    o.put_if(!a.shape.is_empty(), "tensor_shape", || ints(&a.shape));
    o.put_if(!a.locations.is_empty(), "memorylocations", || list(&a.locations, location));
    o.done()
}

pub(super) fn location(l: &Location) -> Tree<'_> {
    let mut o = Object::of(&l.extra);
    o.put("Skind", text("memory_location"));
    o.put("name", text(&l.name));
    o.put("type", text(l.space.name()));
    o.put("addr", int(l.addr));
    o.put("dims", ints(&l.dims));
    o.put_if(l.base != 0, "base", || int(l.base));
    if let Some(bank) = l.bank {
        o.put("bank", int(bank));
    }
    if let Some(id) = l.tensor_id {
        o.put("tensor_id", int(id));
    }
    o.done()
}

pub(super) fn block(b: &Block) -> Tree<'_> {
    let mut o = Object::of(&b.extra);
    o.name("name", b.name.as_ref());
    o.put("instructions", list(&b.insts, |i| Tree::Inst(i)));
    o.done()
}

pub(super) fn inst(i: &Inst) -> Tree<'_> {
    let mut o = Object::of(&i.extra);
    o.put_if(!i.name.is_empty(), "name", || text(&i.name));
    o.put("opcode", text(i.opcode.name()));
    o.put("engine", text(i.engine.name()));
    // Loops have no operands, and real files leave the lists out.
    let is_loop = matches!(i.body, Body::Loop(_) | Body::DynamicLoop(_) | Body::DoWhile(_));
    o.put_if(!is_loop || !i.ins.is_empty(), "ins", || list(&i.ins, operand));
    o.put_if(!is_loop || !i.outs.is_empty(), "outs", || list(&i.outs, operand));
    o.put_if(!i.deps.is_empty(), "dependencies", || list(&i.deps, dependency));
    o.put_if(!i.loop_deps.is_empty(), "loop_carried_dependencies", || {
        list(&i.loop_deps, dependency)
    });
    sync(i, &mut o);
    if let Some(d) = &i.debug {
        let mut debug = Object::of(&d.extra);
        debug.name("filename", d.filename.as_ref()).name("op_name", d.op_name.as_ref());
        if let Some(line) = d.lineno {
            debug.put("lineno", int(line));
        }
        o.put("debug", debug.done());
    }
    body(i, &mut o);
    o.done()
}

fn dependency(d: &Dep) -> Tree<'_> {
    Tree::Arr(vec![text(&d.name), text(d.kind.name())])
}

fn sync<'m>(i: &'m Inst, o: &mut Object<'m>) {
    let mut sync = Object::new();
    sync.put_if(!i.waits.is_empty(), "on_wait", || {
        list(&i.waits, |w| {
            let mut o = Object::of(&w.extra);
            o.name("from", w.from.as_ref());
            o.put("id", int(w.id)).put("wait_value", int(w.value));
            o.done()
        })
    });
    sync.put_if(!i.updates.is_empty(), "on_update", || {
        list(&i.updates, |u| {
            let mut o = Object::of(&u.extra);
            o.put("id", int(u.id)).put("update_value", int(u.value));
            o.done()
        })
    });
    if !sync.0.is_empty() {
        o.put("sync_info", sync.done());
    }
}

fn floats(constants: &[f32]) -> Tree<'_> {
    list(constants, |c| match c {
        c if c.is_nan() => text("nan"),
        c if c.is_infinite() => text(if *c > 0.0 { "inf" } else { "-inf" }),
        c => Tree::Num(format!("{c:?}")),
    })
}

fn body<'m>(i: &'m Inst, o: &mut Object<'m>) {
    let flag = |b: bool| move || Tree::Flag(b);
    match &i.body {
        Body::None => {}
        Body::Dma(d) => {
            o.name("queue", d.queue.as_ref());
            o.put_if(d.dge != DgeType::Unassigned, "dge_type", || text(d.dge.name()));
            o.put_if(d.mode != Mode::Copy, "mode", || text(d.mode.name()));
            o.put_if(!d.oob_is_err, "oob_is_err", flag(false));
            o.put_if(d.transpose != TransposeOp::None, "transpose_op", || text(d.transpose.name()));
            o.put_if(d.constants.is_some(), "constants", || {
                floats(d.constants.as_deref().unwrap_or_default())
            });
            o.put_if(d.cce_op != AluOp::Bypass, "cce_op", || text(d.cce_op.name()));
            o.put_if(d.can_read_uninit, "can_read_uninit", flag(true));
            o.put_if(d.qos != QosClass::Unassigned, "dma_qos", || text(d.qos.name()));
            o.put_if(!d.remote_notification.is_empty(), "remote_notification", || {
                ints(&d.remote_notification)
            });
        }
        Body::Trigger(t) => {
            o.name("queue", t.queue.as_ref());
            o.put("dma_blocks", list(&t.dma_blocks, |n| text(n)));
            o.put_if(t.dge != DgeType::Unassigned, "dge_type", || text(t.dge.name()));
            o.put_if(t.qos != QosClass::Unassigned, "dma_qos", || text(t.qos.name()));
        }
        Body::DmaBlock(b) => {
            if let Some(id) = b.block_id {
                o.put("block_id", int(id));
            }
            o.put_if(b.section_start, "section_start", flag(true));
            o.name("dma_trigger", b.trigger.as_ref());
            o.put_if(!b.remote_notifications.is_empty(), "remote_notifications", || {
                ints(&b.remote_notifications)
            });
        }
        Body::Descriptor(d) => {
            o.put_if(d.constants.is_some(), "constants", || {
                floats(d.constants.as_deref().unwrap_or_default())
            });
            if let Some(op) = d.op {
                o.put("op", text(op.name()));
            }
            if let Some(op) = d.transpose {
                o.put("transpose_op", text(op.name()));
            }
            o.put_if(d.can_read_uninit, "can_read_uninit", flag(true));
            o.put_if(!d.oob_is_err, "oob_is_err", flag(false));
        }
        Body::Loop(l) => {
            let a = &l.axis;
            let axis = object([
                ("name", text(&a.name)),
                ("lb", int(a.lb)),
                ("ub", int(a.ub)),
                ("stride", int(a.stride)),
            ]);
            o.put("LoopAxis", axis);
        }
        Body::DynamicLoop(l) => {
            let axis = object([
                ("name", text(&l.axis)),
                ("lb", expr(&l.lb)),
                ("ub", expr(&l.ub)),
                ("stride", expr(&l.stride)),
            ]);
            o.put("DynamicForLoopAxis", axis);
        }
        Body::DoWhile(l) => {
            o.put("cond", expr(&l.cond));
        }
        Body::Branch(b) => {
            o.put("comp_op", text(b.op.name()));
            o.name("on_true", b.on_true.as_ref()).name("on_false", b.on_false.as_ref());
        }
        Body::Jump(target) => {
            o.put("target", text(target));
        }
        Body::RegisterAlu { op, wide } => {
            o.put("op", text(op.name())).put_if(*wide, "is_64bit", flag(true));
        }
        Body::ResetSemaphores(ids) => {
            o.put("sema_group", ints(ids));
        }
    }
    let blocks = i.blocks();
    o.put_if(!blocks.is_empty(), "blocks", || list(blocks, block));
}

fn operand(x: &Operand) -> Tree<'_> {
    if let [(key, value)] = x.extra.as_slice()
        && &**key == NO_OBJECT
        && !matches!(value, Value::Obj(_))
        && matches!(&x.kind, OperandKind::Other(name) if name.is_empty())
    {
        return Tree::Kept(value);
    }
    let mut o = Object::of(&x.extra);
    if let Some(dtype) = x.dtype {
        o.put("dtype", text(dtype.name()));
    }
    match &x.kind {
        OperandKind::Register(name) => {
            o.put("kind", text("register_access")).put("regref", text(name));
        }
        OperandKind::Imm(value) => {
            o.put("kind", text("imm_value")).put("value", Tree::Kept(value));
        }
        OperandKind::Other(name) => {
            o.put_if(!name.is_empty(), "kind", || text(name));
        }
        OperandKind::Pattern(p) => pattern(p, &mut o),
    }
    o.done()
}

/// The key under which an operand that is no object is kept.
pub(super) const NO_OBJECT: &str = "operand";

fn pattern<'m>(p: &'m Pattern, o: &mut Object<'m>) {
    let kind = match p.form {
        Form::Physical => "physical_ap",
        Form::Symbolic => "symbolic_ap",
        Form::Register => "register_ap",
    };
    o.put("kind", text(kind));
    o.put("ap", list(&p.pairs, |p| Tree::Arr(vec![int(p.step), int(p.num)])));
    o.name("memref", p.location.as_ref()).name("memsetref", p.set.as_ref());
    let mut start = p.start.as_ref();
    match p.form {
        Form::Physical => {
            o.put("offset", int(p.offset));
        }
        Form::Symbolic => {
            o.put_if(p.offset != 0, "offset", || int(p.offset));
        }
        Form::Register => {
            o.put("reg_ap_offset", int(p.offset));
            if let Some(Expr::Register(name)) = start {
                o.put("regref", text(name));
                start = None;
            }
        }
    }
    let dynamic_start = p.dynamic_info && p.form == Form::Physical;
    if let (Some(e), false) = (start, dynamic_start) {
        o.put("addrs", Tree::Arr(vec![expr(e)]));
    }
    if p.dynamic_info {
        let mut info = Object::new();
        if let (Some(e), true) = (start, dynamic_start) {
            let term = object([("expr", expr(e)), ("coef", int(1))]);
            info.put("aff_expr", Tree::Arr(vec![term]));
        }
        if let Some(max) = p.max_index {
            info.put("indirect_dim_max_index", int(max));
        }
        o.put("dynamic_ap_info", info.done());
    } else if let Some(max) = p.max_index {
        o.put("indirect_dim_max_index", int(max));
    }
    if let Some(r) = &p.reference {
        o.put("reference", reference(r));
    }
}

fn reference(r: &Reference) -> Tree<'_> {
    match r {
        Reference::Register { register, scale } => {
            object([("register", text(register)), ("scale", int(*scale))])
        }
        Reference::Index { list, element, scale, max_index } => {
            let mut o = Object::new();
            o.put("list", operand(list)).put("element", int(*element));
            o.put("scale", int(*scale));
            if let Some(max) = max_index {
                o.put("max_index", int(*max));
            }
            o.done()
        }
    }
}

fn expr(e: &Expr) -> Tree<'_> {
    fn of<'m>(kind: &'m str, member: (&'m str, Tree<'m>)) -> Tree<'m> {
        object([("kind", text(kind)), member])
    }
    match e {
        Expr::Const(c) => int(*c),
        Expr::Axis(name) => of("AffIVKind", ("axis", text(name))),
        Expr::Register(name) => of("IntRuntimeValueKind", ("regref", text(name))),
        Expr::Index(n) => of("IndirectArgId", ("arg_id", int(*n))),
        Expr::Sum(terms) => match terms.split_last() {
            Some((Expr::Const(c), products))
                if products.iter().all(|t| matches!(t, Expr::Mul(..))) =>
            {
                fn term(t: &Expr) -> Tree<'_> {
                    match t {
                        Expr::Mul(e, by) => object([("idx", expr(e)), ("coeff", int(*by))]),
                        other => expr(other),
                    }
                }
                object([
                    ("kind", text("AffExprKind")),
                    ("terms", list(products, term)),
                    ("c", int(*c)),
                ])
            }
            _ => of("SumKind", ("terms", list(terms, expr))),
        },
        Expr::Mul(e, by) => {
            object([("kind", text("MultKind")), ("var", expr(e)), ("scale", int(*by))])
        }
        Expr::FloorDiv(a, b) | Expr::Mod(a, b) => {
            let divide = matches!(e, Expr::FloorDiv(..));
            object([
                ("kind", text(if divide { "FloorDivKind" } else { "ModuloKind" })),
                ("numer", expr(a)),
                ("denom", expr(b)),
            ])
        }
        Expr::Unknown(kind) => object([("kind", text(kind))]),
    }
}
