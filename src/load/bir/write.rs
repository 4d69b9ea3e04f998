//! A module as JSON: names rather than numbers, defaults left out, unknown keys kept. Reading
//! it gives the same module (`docs/bir.md`, "Writing").

use crate::bir::{
    AluOp, Block, Body, Dep, DgeType, Expr, Extra, Form, Inst, Mode, Module, Name, Operand,
    OperandKind, Pattern, QosClass, Reference, StorageKind, TransposeOp, Value,
};
use std::collections::BTreeMap;

/// An object that is being made; keys come out in alphabetical order.
struct Object(BTreeMap<Name, Value>);

impl Object {
    /// With the keys that were kept.
    fn of(extra: &Extra) -> Object {
        Object(extra.iter().cloned().collect())
    }

    /// Sets a key. What was kept of it goes first: rests of objects are united, and a value that
    /// was not understood stays as it was.
    fn put(&mut self, key: &str, value: Value) -> &mut Object {
        match (self.0.remove(key), value) {
            (Some(Value::Obj(mut kept)), Value::Obj(new)) => {
                kept.extend(new);
                kept.sort_by(|a, b| a.0.cmp(&b.0));
                self.0.insert(key.into(), Value::Obj(kept));
            }
            (Some(kept), _) => {
                self.0.insert(key.into(), kept);
            }
            (None, value) => {
                self.0.insert(key.into(), value);
            }
        }
        self
    }

    fn put_if(&mut self, wanted: bool, key: &str, value: impl FnOnce() -> Value) -> &mut Object {
        if wanted {
            self.put(key, value());
        }
        self
    }

    fn name(&mut self, key: &str, name: Option<&Name>) -> &mut Object {
        self.put_if(name.is_some(), key, || Value::Str(name.cloned().unwrap_or_else(|| "".into())))
    }

    fn done(self) -> Value {
        Value::Obj(self.0.into_iter().collect())
    }
}

fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    let mut o = Object(BTreeMap::new());
    for (key, value) in members {
        o.put(key, value);
    }
    o.done()
}

fn list<T>(items: impl IntoIterator<Item = T>, one: impl FnMut(T) -> Value) -> Value {
    Value::Arr(items.into_iter().map(one).collect())
}

fn ints(items: &[u64]) -> Value {
    list(items, |n| Value::int(*n))
}

fn text(s: &str) -> Value {
    Value::str(s)
}

/// The whole module.
pub(super) fn module(m: &Module) -> Value {
    let mut o = Object::of(&m.extra);
    o.put("version", Value::int(m.version));
    if let Some(arch) = m.arch {
        o.put("arch", text(arch.name()));
    }
    o.put(
        "functions",
        list(&m.functions, |f| {
            let mut o = Object::of(&f.extra);
            o.put_if(!f.name.is_empty(), "name", || Value::Str(f.name.clone()));
            o.put("allocations", list(&f.allocations, allocation));
            o.put("blocks", list(&f.blocks, block));
            o.done()
        }),
    );
    o.put_if(!m.queues.is_empty(), "queues", || {
        list(&m.queues, |q| {
            let mut o = Object::of(&q.extra);
            o.put("name", Value::Str(q.name.clone()));
            o.put("blocks", list(&q.blocks, block));
            o.done()
        })
    });
    o.done()
}

fn allocation(a: &crate::bir::Allocation) -> Value {
    let mut o = Object::of(&a.extra);
    let kind = match &a.storage {
        StorageKind::Memory => "memory_location_set",
        StorageKind::Register => "register",
        StorageKind::Other(name) => name,
    };
    o.put("Skind", text(kind)).put("name", Value::Str(a.name.clone()));
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

fn location(l: &crate::bir::Location) -> Value {
    let mut o = Object::of(&l.extra);
    o.put("Skind", text("memory_location"));
    o.put("name", Value::Str(l.name.clone()));
    o.put("type", text(l.space.name()));
    o.put("addr", Value::int(l.addr));
    o.put("dims", ints(&l.dims));
    o.put_if(l.base != 0, "base", || Value::int(l.base));
    if let Some(bank) = l.bank {
        o.put("bank", Value::int(bank));
    }
    if let Some(id) = l.tensor_id {
        o.put("tensor_id", Value::int(id));
    }
    o.done()
}

fn block(b: &Block) -> Value {
    let mut o = Object::of(&b.extra);
    o.name("name", b.name.as_ref());
    o.put("instructions", list(&b.insts, |i| inst(i)));
    o.done()
}

fn inst(i: &Inst) -> Value {
    let mut o = Object::of(&i.extra);
    o.put_if(!i.name.is_empty(), "name", || Value::Str(i.name.clone()));
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
            debug.put("lineno", Value::int(line));
        }
        o.put("debug", debug.done());
    }
    body(i, &mut o);
    o.done()
}

fn dependency(d: &Dep) -> Value {
    Value::Arr(vec![Value::Str(d.name.clone()), text(d.kind.name())])
}

fn sync(i: &Inst, o: &mut Object) {
    let mut sync = Object(BTreeMap::new());
    sync.put_if(!i.waits.is_empty(), "on_wait", || {
        list(&i.waits, |w| {
            let mut o = Object::of(&w.extra);
            o.name("from", w.from.as_ref());
            o.put("id", Value::int(w.id)).put("wait_value", Value::int(w.value));
            o.done()
        })
    });
    sync.put_if(!i.updates.is_empty(), "on_update", || {
        list(&i.updates, |u| {
            let mut o = Object::of(&u.extra);
            o.put("id", Value::int(u.id)).put("update_value", Value::int(u.value));
            o.done()
        })
    });
    if !sync.0.is_empty() {
        o.put("sync_info", sync.done());
    }
}

fn floats(constants: &[f32]) -> Value {
    list(constants, |c| match c {
        c if c.is_nan() => text("nan"),
        c if c.is_infinite() => text(if *c > 0.0 { "inf" } else { "-inf" }),
        c => Value::Num(format!("{c:?}").into()),
    })
}

fn body(i: &Inst, o: &mut Object) {
    let flag = |b: bool| move || Value::Bool(b);
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
            o.put("dma_blocks", list(&t.dma_blocks, |n| Value::Str(n.clone())));
            o.put_if(t.dge != DgeType::Unassigned, "dge_type", || text(t.dge.name()));
            o.put_if(t.qos != QosClass::Unassigned, "dma_qos", || text(t.qos.name()));
        }
        Body::DmaBlock(b) => {
            if let Some(id) = b.block_id {
                o.put("block_id", Value::int(id));
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
                ("name", Value::Str(a.name.clone())),
                ("lb", Value::int(a.lb)),
                ("ub", Value::int(a.ub)),
                ("stride", Value::int(a.stride)),
            ]);
            o.put("LoopAxis", axis);
        }
        Body::DynamicLoop(l) => {
            let axis = object([
                ("name", Value::Str(l.axis.clone())),
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
            o.put("target", Value::Str(target.clone()));
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

fn operand(x: &Operand) -> Value {
    if let [(key, value)] = x.extra.as_slice()
        && &**key == NO_OBJECT
        && !matches!(value, Value::Obj(_))
        && matches!(&x.kind, OperandKind::Other(name) if name.is_empty())
    {
        return value.clone();
    }
    let mut o = Object::of(&x.extra);
    if let Some(dtype) = x.dtype {
        o.put("dtype", text(dtype.name()));
    }
    match &x.kind {
        OperandKind::Register(name) => {
            o.put("kind", text("register_access")).put("regref", Value::Str(name.clone()));
        }
        OperandKind::Imm(value) => {
            o.put("kind", text("imm_value")).put("value", value.clone());
        }
        OperandKind::Other(name) => {
            o.put_if(!name.is_empty(), "kind", || Value::Str(name.clone()));
        }
        OperandKind::Pattern(p) => pattern(p, &mut o),
    }
    o.done()
}

/// The key under which an operand that is no object is kept.
pub(super) const NO_OBJECT: &str = "operand";

fn pattern(p: &Pattern, o: &mut Object) {
    let kind = match p.form {
        Form::Physical => "physical_ap",
        Form::Symbolic => "symbolic_ap",
        Form::Register => "register_ap",
    };
    o.put("kind", text(kind));
    o.put("ap", list(&p.pairs, |p| Value::Arr(vec![Value::int(p.step), Value::int(p.num)])));
    o.name("memref", p.location.as_ref()).name("memsetref", p.set.as_ref());
    let mut start = p.start.as_ref();
    match p.form {
        Form::Physical => {
            o.put("offset", Value::int(p.offset));
        }
        Form::Symbolic => {
            o.put_if(p.offset != 0, "offset", || Value::int(p.offset));
        }
        Form::Register => {
            o.put("reg_ap_offset", Value::int(p.offset));
            if let Some(Expr::Register(name)) = start {
                o.put("regref", Value::Str(name.clone()));
                start = None;
            }
        }
    }
    let dynamic_start = p.dynamic_info && p.form == Form::Physical;
    if let (Some(e), false) = (start, dynamic_start) {
        o.put("addrs", Value::Arr(vec![expr(e)]));
    }
    if p.dynamic_info {
        let mut info = Object(BTreeMap::new());
        if let (Some(e), true) = (start, dynamic_start) {
            let term = object([("expr", expr(e)), ("coef", Value::int(1))]);
            info.put("aff_expr", Value::Arr(vec![term]));
        }
        if let Some(max) = p.max_index {
            info.put("indirect_dim_max_index", Value::int(max));
        }
        o.put("dynamic_ap_info", info.done());
    } else if let Some(max) = p.max_index {
        o.put("indirect_dim_max_index", Value::int(max));
    }
    if let Some(r) = &p.reference {
        o.put("reference", reference(r));
    }
}

fn reference(r: &Reference) -> Value {
    match r {
        Reference::Register { register, scale } => {
            object([("register", Value::Str(register.clone())), ("scale", Value::int(*scale))])
        }
        Reference::Index { list, element, scale, max_index } => {
            let mut o = Object(BTreeMap::new());
            o.put("list", operand(list)).put("element", Value::int(*element));
            o.put("scale", Value::int(*scale));
            if let Some(max) = max_index {
                o.put("max_index", Value::int(*max));
            }
            o.done()
        }
    }
}

fn expr(e: &Expr) -> Value {
    let of = |kind: &str, members: [(&str, Value); 1]| {
        let [(key, value)] = members;
        object([("kind", text(kind)), (key, value)])
    };
    match e {
        Expr::Const(c) => Value::int(*c),
        Expr::Axis(name) => of("AffIVKind", [("axis", Value::Str(name.clone()))]),
        Expr::Register(name) => of("IntRuntimeValueKind", [("regref", Value::Str(name.clone()))]),
        Expr::Index(n) => of("IndirectArgId", [("arg_id", Value::int(*n))]),
        Expr::Sum(terms) => match terms.split_last() {
            Some((Expr::Const(c), products))
                if products.iter().all(|t| matches!(t, Expr::Mul(..))) =>
            {
                let term = |t: &Expr| match t {
                    Expr::Mul(e, by) => object([("idx", expr(e)), ("coeff", Value::int(*by))]),
                    other => expr(other),
                };
                object([
                    ("kind", text("AffExprKind")),
                    ("terms", list(products, term)),
                    ("c", Value::int(*c)),
                ])
            }
            _ => of("SumKind", [("terms", list(terms, expr))]),
        },
        Expr::Mul(e, by) => {
            object([("kind", text("MultKind")), ("var", expr(e)), ("scale", Value::int(*by))])
        }
        Expr::FloorDiv(a, b) | Expr::Mod(a, b) => {
            let divide = matches!(e, Expr::FloorDiv(..));
            object([
                ("kind", text(if divide { "FloorDivKind" } else { "ModuloKind" })),
                ("numer", expr(a)),
                ("denom", expr(b)),
            ])
        }
        Expr::Unknown(kind) => object([("kind", Value::Str(kind.clone()))]),
    }
}
