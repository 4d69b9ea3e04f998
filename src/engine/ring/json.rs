//! Events as JSON objects (`docs/json.md`, "events"): what applies of `engine`, `queue`,
//! `ring`, `slot`, `addr`, `len`, `value`, `batch`, and what a kind has of its own.

use super::event::{Agent, Event, EventKind, MarkerWord, Ret, Role};
use crate::engine::edit::{Change, Edit};
use crate::engine::program::{Program, QueueId};
use crate::udma::{cause, reg};
use serde_json::{Map, Value, json};

fn addr(a: u64) -> Value {
    json!(format!("{a:#018x}"))
}

fn word(w: u32) -> Value {
    json!(format!("{w:#010x}"))
}

fn ret(r: Ret) -> Value {
    match r {
        Ret::Code(c) => json!(c),
        Ret::Bug => json!("BUG"),
    }
}

/// One event as an object; keys are only ever added.
pub fn event_json(e: &Event) -> Value {
    let mut o = Map::new();
    o.insert("n".into(), json!(e.n));
    o.insert("t_us".into(), json!(e.t_us()));
    let agent = match e.agent {
        Agent::Host => "host",
        Agent::Seq(_) => "seq",
        Agent::Engine(_) => "engine",
    };
    o.insert("agent".into(), json!(agent));
    o.insert("kind".into(), json!(e.kind.name()));
    if let Agent::Seq(engine) = e.agent {
        o.insert("seq".into(), json!(engine.name()));
    }
    if let Some(QueueId { engine, queue }) = e.queue() {
        o.insert("engine".into(), json!(engine));
        o.insert("queue".into(), json!(queue));
    }
    if e.batch > 0 {
        o.insert("batch".into(), json!(e.batch));
    }
    if let Value::Object(more) = own(&e.kind) {
        o.extend(more);
    }
    Value::Object(o)
}

/// An edit as an object in a stream of events: `n` is the number of the event that it follows,
/// whose time `t_us` it has.
pub fn edit_json(p: &Program, e: &Edit, t_us: u64) -> Value {
    let mut o = Map::new();
    o.insert("n".into(), json!(e.at));
    o.insert("t_us".into(), json!(t_us));
    o.insert("agent".into(), json!("user"));
    o.insert("kind".into(), json!("edit"));
    o.insert("edit".into(), json!(e.change.name()));
    o.insert("text".into(), json!(e.change.words(p)));
    if let Some(QueueId { engine, queue }) = e.change.queue() {
        o.insert("engine".into(), json!(engine));
        o.insert("queue".into(), json!(queue));
    }
    let more = match &e.change {
        Change::Store { addr: a, bytes } => {
            let hex = bytes.bytes().iter().map(|b| format!("{b:02x}")).collect::<String>();
            json!({ "addr": addr(*a), "len": bytes.len(), "bytes": hex })
        }
        Change::Register { engine, offset, value } => mmio(*engine, *offset, *value, false),
        Change::Cursor { dir, cursor, value, .. } => {
            json!({ "ring": dir.name(), "cursor": cursor.name(), "value": value })
        }
        Change::Inject { dir, bit, slot, .. } => json!({ "ring": dir.name(), "bit": bit,
            "slot": slot, "fault": cause::by_bit(*dir, *bit).map(|c| c.name) }),
    };
    if let Value::Object(more) = more {
        o.extend(more);
    }
    Value::Object(o)
}

/// What a kind has of its own.
fn own(kind: &EventKind) -> Value {
    match *kind {
        EventKind::Call { op } => json!({ "op": op }),
        EventKind::CallReturn { op, ret: r } => json!({ "op": op, "ret": ret(r) }),
        EventKind::Stage { role, src, dst, size, barrier_code, ret: r, tx, rx, .. } => {
            let slot = |s: super::event::SlotTaken| {
                let bytes = s.desc.map(|d| d.to_bytes().map(|b| format!("{b:02x}")).concat());
                json!({ "slot": s.slot, "ring_id": s.ring_id, "avail_after": s.avail_after,
                        "next_desc_idx": s.next_desc_idx, "desc_ring_id": s.desc_ring_id,
                        "desc": bytes })
            };
            json!({ "role": if role == Role::Marker { "marker" } else { "data" },
                    "src": addr(src), "dst": addr(dst), "len": size,
                    "barrier_code": barrier_code, "ret": ret(r), "slot": tx.slot,
                    "tx": slot(tx), "rx": slot(rx) })
        }
        EventKind::CopyIn { dir, slot, count, .. } => {
            json!({ "ring": dir.name(), "slot": slot, "count": count })
        }
        EventKind::Inst { pos, .. }
        | EventKind::InstDone { pos, .. }
        | EventKind::Blocked { pos } => json!({ "inst": pos.0 }),
        EventKind::Patch { dir, slot, at, addr: a, .. } => {
            json!({ "ring": dir.name(), "slot": slot, "at": addr(at), "len": 8, "addr": addr(a) })
        }
        EventKind::SemWait { id, value } => json!({ "sem": id, "value": value }),
        EventKind::SemUpdate { id, add } => json!({ "sem": id, "value": add }),
        EventKind::MarkerWrite { word: which, addr: a, value } => json!({
            "word": if which == MarkerWord::Src { "src" } else { "dst" },
            "addr": addr(a), "len": 4, "value": word(value) }),
        EventKind::Store { addr: a, len } | EventKind::Land { addr: a, len } => {
            json!({ "addr": addr(a), "len": len })
        }
        EventKind::CopyStart { m2s, s2m, .. } => json!({ "m2s_count": m2s, "s2m_count": s2m }),
        EventKind::CopyStartReturn { ret: r, .. } => json!({ "ret": ret(r) }),
        EventKind::CpuFence => json!({}),
        EventKind::MmioWrite { engine, offset, value, lost } => mmio(engine, offset, value, lost),
        EventKind::WaitBudget { count, asynchronous, first_us, following, .. } => json!({
            "count": count, "asynchronous": asynchronous, "first_wait_us": first_us,
            "following_wait": following }),
        EventKind::Delay { us } => json!({ "us": us }),
        EventKind::Poll { addr: a, reads, value } => {
            json!({ "addr": addr(a), "len": 4, "reads": reads, "value": word(value) })
        }
        EventKind::PollIdle { reads, idle, .. } => json!({ "reads": reads, "idle": idle }),
        EventKind::Ack { dir, count, before, after, available, .. } => json!({
            "ring": dir.name(), "count": count, "next_cdesc_idx_before": before,
            "next_cdesc_idx_after": after, "available_after": available }),
        EventKind::Device(d) => json!({ "what": d.verb() }),
        EventKind::Fetch { dir, slot, desc } => json!({ "ring": dir.name(), "slot": slot,
            "len": desc.length(), "addr": addr(desc.ptr) }),
        EventKind::Read { slot, addr: a, len } => {
            json!({ "ring": "tx", "slot": slot, "addr": addr(a), "len": len })
        }
        EventKind::Visible { slot, addr: a, len } => {
            json!({ "ring": "rx", "slot": slot, "addr": addr(a), "len": len })
        }
        EventKind::Retire { tx, rx, packet_end } => {
            json!({ "slot": tx.or(rx), "tx_slot": tx, "rx_slot": rx, "packet_end": packet_end })
        }
        EventKind::Fault { dir, bit, slot, addr: a, aborted, injected } => {
            let mut o = json!({ "ring": dir.name(), "slot": slot, "addr": addr(a), "bit": bit,
                "aborted": aborted, "fault": cause::by_bit(dir, bit).map(|c| c.name) });
            if injected {
                o["injected"] = json!(true);
            }
            o
        }
        EventKind::Stall { dir, slot, why } => {
            json!({ "ring": dir.name(), "slot": slot, "why": why.words() })
        }
    }
}

fn mmio(engine: u32, offset: u32, value: u32, lost: bool) -> Value {
    let mut o = json!({ "engine": engine, "unit_off": format!("{offset:#x}"),
        "value": word(value) });
    if let Some(place) = reg::name_at(offset) {
        o["reg"] = json!(place.name);
        if let Some((dir, queue)) = place.queue {
            o["queue"] = json!(queue);
            o["ring"] = json!(dir.name());
            o["q_off"] = json!(format!("{:#x}", offset - reg::queue_block(dir, queue)));
        }
    }
    if lost {
        o["lost"] = json!(true);
    }
    o
}
