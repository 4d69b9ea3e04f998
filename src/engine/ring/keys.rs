//! The keys of an event and their values (`docs/json.md`, "events"), once, for every form in
//! which events leave: JSON lines, CSV, traces.

use super::event::{Agent, Event, EventKind, MarkerWord, Ret, Role, SlotTaken};
use crate::bir::Pos;
use crate::bir::exec::Item;
use crate::engine::program::{Program, QueueId};
use crate::udma::{Desc, cause, reg};

/// The value of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Val {
    /// A number.
    Num(u64),
    /// A number that may be negative.
    Int(i64),
    /// A 32-bit word: `0x` and eight digits.
    Word(u32),
    /// An address: `0x` and sixteen digits.
    Addr(u64),
    /// An offset: `0x` and as many digits as it needs.
    Offset(u32),
    /// A name or a sentence of ours; never anything from a file ([`Keys::name`]).
    Text(&'static str),
    /// Yes or no.
    Flag(bool),
    /// A descriptor: 32 digits in memory order.
    Desc(Desc),
    /// Nothing.
    Null,
}

/// Takes the keys of an event, in order.
pub trait Keys {
    /// A key and its value.
    fn key(&mut self, name: &'static str, value: Val);

    /// A key and a name that a file gave, with any characters.
    fn name(&mut self, key: &'static str, name: &str);

    /// The keys up to the matching [`Keys::close`] belong to an object of this name.
    fn open(&mut self, name: &'static str);

    /// See [`Keys::open`].
    fn close(&mut self);
}

/// Visits every key of an event of a program's run; keys are only ever added.
pub fn visit(p: &Program, e: &Event, to: &mut impl Keys) {
    to.key("n", Val::Num(e.n));
    to.key("t_us", Val::Num(e.t_us()));
    let agent = match e.agent {
        Agent::Host => "host",
        Agent::Seq(_) => "seq",
        Agent::Engine(_) => "engine",
    };
    to.key("agent", Val::Text(agent));
    to.key("kind", Val::Text(e.kind.name()));
    if let Agent::Seq(engine) = e.agent {
        to.key("seq", Val::Text(engine.name()));
    }
    if let EventKind::MmioWrite { engine, offset, value, lost } = e.kind {
        to.key("engine", Val::Num(engine.into()));
        batch(e, to);
        return mmio(offset, value, lost, to);
    }
    if let Some(QueueId { engine, queue }) = e.queue() {
        to.key("engine", Val::Num(engine.into()));
        to.key("queue", Val::Num(queue.into()));
    }
    batch(e, to);
    own(p, &e.kind, to);
}

fn batch(e: &Event, to: &mut impl Keys) {
    if e.batch > 0 {
        to.key("batch", Val::Num(e.batch));
    }
}

fn ret(r: Ret) -> Val {
    match r {
        Ret::Code(c) => Val::Int(c),
        Ret::Bug => Val::Text("BUG"),
    }
}

fn num(n: impl Into<u64>) -> Val {
    Val::Num(n.into())
}

fn slot_or_null(slot: Option<u64>) -> Val {
    slot.map_or(Val::Null, Val::Num)
}

fn taken(name: &'static str, s: SlotTaken, to: &mut impl Keys) {
    to.open(name);
    to.key("slot", Val::Num(s.slot));
    to.key("ring_id", num(s.ring_id));
    to.key("avail_after", num(s.avail_after));
    to.key("next_desc_idx", num(s.next_desc_idx));
    to.key("desc_ring_id", num(s.desc_ring_id));
    to.key("desc", s.desc.map_or(Val::Null, Val::Desc));
    to.close();
}

fn place(ring: &'static str, slot: u64, len: u64, addr: u64, to: &mut impl Keys) {
    to.key("ring", Val::Text(ring));
    to.key("slot", Val::Num(slot));
    to.key("addr", Val::Addr(addr));
    to.key("len", Val::Num(len));
}

/// What a kind has of its own.
fn own(p: &Program, kind: &EventKind, to: &mut impl Keys) {
    match *kind {
        EventKind::Call { op } => to.key("op", num(op)),
        EventKind::CallReturn { op, ret: r } => {
            to.key("op", num(op));
            to.key("ret", ret(r));
        }
        EventKind::Stage { role, src, dst, size, barrier_code, ret: r, tx, rx, .. } => {
            to.key("role", Val::Text(if role == Role::Marker { "marker" } else { "data" }));
            to.key("src", Val::Addr(src));
            to.key("dst", Val::Addr(dst));
            to.key("len", Val::Num(size));
            to.key("barrier_code", num(barrier_code));
            to.key("ret", ret(r));
            to.key("slot", Val::Num(tx.slot));
            taken("tx", tx, to);
            taken("rx", rx, to);
        }
        EventKind::CopyIn { dir, slot, count, .. } => {
            to.key("ring", Val::Text(dir.name()));
            to.key("slot", Val::Num(slot));
            to.key("count", Val::Num(count));
        }
        EventKind::Inst { pos, item } | EventKind::InstDone { pos, item } => {
            inst(p, pos, Some(item), to);
        }
        EventKind::Blocked { pos } => inst(p, pos, None, to),
        EventKind::Patch { dir, slot, at, addr, .. } => {
            place(dir.name(), slot, 8, addr, to);
            to.key("at", Val::Addr(at));
        }
        EventKind::SemWait { id, value } => {
            to.key("sem", Val::Num(id));
            to.key("value", Val::Num(value));
        }
        EventKind::SemUpdate { id, add } => {
            to.key("sem", Val::Num(id));
            to.key("value", Val::Num(add));
        }
        EventKind::MarkerWrite { word, addr, value } => {
            to.key("word", Val::Text(if word == MarkerWord::Src { "src" } else { "dst" }));
            to.key("addr", Val::Addr(addr));
            to.key("len", Val::Num(4));
            to.key("value", Val::Word(value));
        }
        EventKind::Store { addr, len } | EventKind::Land { addr, len } => {
            to.key("addr", Val::Addr(addr));
            to.key("len", Val::Num(len));
        }
        EventKind::CopyStart { m2s, s2m, .. } => {
            to.key("m2s_count", num(m2s));
            to.key("s2m_count", num(s2m));
        }
        EventKind::CopyStartReturn { ret: r, .. } => to.key("ret", ret(r)),
        EventKind::WaitBudget { count, asynchronous, first_us, following, .. } => {
            to.key("count", num(count));
            to.key("asynchronous", Val::Flag(asynchronous));
            to.key("first_wait_us", Val::Num(first_us));
            to.key("following_wait", Val::Num(following));
        }
        EventKind::Delay { us } => to.key("us", Val::Num(us)),
        EventKind::Poll { addr, reads, value } => {
            to.key("addr", Val::Addr(addr));
            to.key("len", Val::Num(4));
            to.key("reads", Val::Num(reads));
            to.key("value", Val::Word(value));
        }
        EventKind::PollIdle { reads, idle, .. } => {
            to.key("reads", Val::Num(reads));
            to.key("idle", Val::Flag(idle));
        }
        EventKind::Ack { dir, count, before, after, available, .. } => {
            to.key("ring", Val::Text(dir.name()));
            to.key("count", num(count));
            to.key("next_cdesc_idx_before", num(before));
            to.key("next_cdesc_idx_after", num(after));
            to.key("available_after", num(available));
        }
        EventKind::Device(d) => to.key("what", Val::Text(d.verb())),
        EventKind::Fetch { dir, slot, desc } => {
            place(dir.name(), slot, desc.length(), desc.ptr, to);
        }
        EventKind::Read { slot, addr, len } => place("tx", slot, len, addr, to),
        EventKind::Visible { slot, addr, len } => place("rx", slot, len, addr, to),
        EventKind::Retire { tx, rx, packet_end } => {
            to.key("slot", slot_or_null(tx.or(rx)));
            to.key("tx_slot", slot_or_null(tx));
            to.key("rx_slot", slot_or_null(rx));
            to.key("packet_end", Val::Flag(packet_end));
        }
        EventKind::Fault { dir, bit, slot, addr, aborted, injected } => {
            to.key("ring", Val::Text(dir.name()));
            to.key("slot", Val::Num(slot));
            to.key("addr", Val::Addr(addr));
            to.key("bit", num(bit));
            to.key("aborted", Val::Flag(aborted));
            let name = cause::by_bit(dir, bit).map(|c| c.name);
            to.key("fault", name.map_or(Val::Null, Val::Text));
            if injected {
                to.key("injected", Val::Flag(true));
            }
        }
        EventKind::Stall { dir, slot, why } => {
            to.key("ring", Val::Text(dir.name()));
            to.key("slot", Val::Num(slot));
            to.key("why", Val::Text(why.words()));
        }
        EventKind::CpuFence | EventKind::MmioWrite { .. } => {}
    }
}

/// The instruction of the loaded module, null for what lowering added; what it is called, as that
/// module or else as the one that is run has it; its line.
fn inst(p: &Program, pos: Pos, item: Option<Item>, to: &mut impl Keys) {
    let loaded = Some(pos).filter(|pos| *pos != Pos::ADDED);
    to.key("inst", loaded.map_or(Val::Null, |pos| num(pos.0)));
    let Some(run) = p.module.as_ref() else { return };
    let info = loaded.and_then(|pos| run.inst(pos));
    let name = info.as_ref().map(|i| &*i.name).or_else(|| Some(&*run.exec.inst(item?)?.name));
    if let Some(name) = name.filter(|n| !n.is_empty()) {
        to.name("inst_name", name);
    }
    if let Some(line) = info.and_then(|i| i.place.line) {
        to.key("line", Val::Num(line));
    }
}

fn mmio(offset: u32, value: u32, lost: bool, to: &mut impl Keys) {
    let place = reg::name_at(offset);
    if let Some((dir, queue)) = place.as_ref().and_then(|p| p.queue) {
        to.key("queue", num(queue));
        to.key("ring", Val::Text(dir.name()));
        to.key("q_off", Val::Offset(offset - reg::queue_block(dir, queue)));
    }
    if let Some(p) = place {
        to.key("reg", Val::Text(p.name));
    }
    to.key("unit_off", Val::Offset(offset));
    to.key("value", Val::Word(value));
    if lost {
        to.key("lost", Val::Flag(true));
    }
}
