//! Events as a trace for Perfetto: track events with the field numbers of its public
//! definitions (`docs/export.md`, "Perfetto").
//!
//! A track for the host, for each sequencer, for each queue, and lanes below a queue for its
//! descriptors in flight.

use super::EventWriter;
use super::lanes::Lanes;
use super::proto::{fixed64, message, text, uint};
use crate::engine::edit::Edit;
use crate::engine::program::{Program, QueueId};
use crate::engine::ring::event::{Agent, Event, EventKind};
use crate::engine::ring::json::{hex_digits, push_bytes, push_digits};
use crate::engine::ring::keys::{Keys, Val, visit};
use crate::limits::{MAX_TRACE_FLOWS, MAX_TRACE_LANES};
use crate::udma::profile::MARKER;
use crate::udma::{Dir, reg};
use std::collections::{BTreeMap, BTreeSet};

/// What stands on the time axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Time {
    /// The number of the event, a microsecond each: order without duration.
    Events,
    /// Virtual time.
    Virtual,
}

impl Time {
    /// What fits a program: virtual time where its engine has a speed, else everything would
    /// happen at once.
    pub fn of(p: &Program) -> Time {
        let timed = p.speed.ns_per_desc > 0 || p.speed.bytes_per_ns > 0;
        if timed { Time::Virtual } else { Time::Events }
    }

    fn words(self) -> &'static str {
        match self {
            Time::Events => "time = event number, 1 us each; not a duration",
            Time::Virtual => "time = virtual ns of the model",
        }
    }
}

/// Field numbers of the format, by message.
mod number {
    pub(super) mod trace {
        pub const PACKET: u32 = 1;
    }
    pub(super) mod packet {
        pub const TIMESTAMP: u32 = 8;
        pub const SEQUENCE: u32 = 10;
        pub const TRACK_EVENT: u32 = 11;
        pub const SEQUENCE_FLAGS: u32 = 13;
        pub const TRACK_DESCRIPTOR: u32 = 60;
    }
    pub(super) mod track {
        pub const UUID: u32 = 1;
        pub const NAME: u32 = 2;
        pub const PROCESS: u32 = 3;
        pub const PARENT: u32 = 5;
        pub const CHILD_ORDERING: u32 = 11;
        pub const RANK: u32 = 12;
    }
    pub(super) mod process {
        pub const PID: u32 = 1;
        pub const NAME: u32 = 6;
    }
    pub(super) mod event {
        pub const ANNOTATION: u32 = 4;
        pub const TYPE: u32 = 9;
        pub const TRACK: u32 = 11;
        pub const CATEGORY: u32 = 22;
        pub const NAME: u32 = 23;
        pub const FLOW: u32 = 47;
        pub const FLOW_END: u32 = 48;
    }
    pub(super) mod annotation {
        pub const FLAG: u32 = 2;
        pub const UINT: u32 = 3;
        pub const INT: u32 = 4;
        pub const TEXT: u32 = 6;
        pub const POINTER: u32 = 7;
        pub const NAME: u32 = 10;
    }
}
use number::{annotation, event, packet, process, trace, track};

/// The one sequence of packets.
const SEQUENCE: u64 = 1;
/// What was known before the first packet is void.
const STATE_CLEARED: u64 = 1;
/// Children of a track are in the order of their ranks.
const EXPLICIT: u64 = 3;

const PROCESS: u64 = 1;
const HOST: u64 = 2;
const USER: u64 = 3;
const SEQUENCERS: u64 = 0x100;
const QUEUES: u64 = 0x1_0000_0000;

#[derive(Clone, Copy)]
#[repr(u64)]
enum Kind {
    Begin = 1,
    End = 2,
    Instant = 3,
}

/// What is open on the track of a CPU agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    Call,
    Inst,
    Wait,
}

#[derive(Default)]
struct QueueState {
    /// The batch that is worked on, and when it was last.
    batch: Option<(u64, u64)>,
    lanes: [Lanes; 2],
}

/// Writes a trace.
pub(super) struct Perfetto<'p> {
    file: &'p str,
    program: &'p Program,
    time: Time,
    tracks: BTreeSet<u64>,
    open: BTreeMap<Agent, Vec<Open>>,
    queues: BTreeMap<QueueId, QueueState>,
    /// Event of the doorbell that a batch waits for.
    rung: BTreeMap<(QueueId, u64), u64>,
    /// Event that made a word visible last.
    visible: BTreeMap<u64, u64>,
    now: u64,
}

fn queue_track(q: QueueId) -> u64 {
    QUEUES + (u64::from(q.engine) << 24 | u64::from(q.queue) << 16)
}

fn agent_track(a: Agent) -> u64 {
    match a {
        Agent::Host => HOST,
        Agent::Seq(e) => SEQUENCERS + e as u64,
        Agent::Engine(q) => queue_track(q),
    }
}

/// What an event of a track has beside its kind.
struct Body<'a> {
    name: &'a str,
    category: &'a str,
    flow: Option<u64>,
    flow_end: Option<u64>,
    of: Option<&'a Event>,
}

impl<'a> Body<'a> {
    fn new(name: &'a str, category: &'a str) -> Body<'a> {
        Body { name, category, flow: None, flow_end: None, of: None }
    }
}

impl<'p> Perfetto<'p> {
    pub(super) fn new(file: &'p str, program: &'p Program, time: Option<Time>) -> Perfetto<'p> {
        Perfetto {
            file,
            program,
            time: time.unwrap_or_else(|| Time::of(program)),
            tracks: BTreeSet::new(),
            open: BTreeMap::new(),
            queues: BTreeMap::new(),
            rung: BTreeMap::new(),
            visible: BTreeMap::new(),
            now: 0,
        }
    }

    fn stamp(&self, e: &Event) -> u64 {
        match self.time {
            Time::Events => e.n.saturating_mul(1000),
            Time::Virtual => e.t_ns,
        }
    }

    /// Says what a track is, before its first event.
    fn describe(&mut self, uuid: u64, parent: u64, name: &str, rank: u64, out: &mut Vec<u8>) {
        if !self.tracks.insert(uuid) {
            return;
        }
        message(out, trace::PACKET, |o| {
            uint(o, packet::SEQUENCE, SEQUENCE);
            message(o, packet::TRACK_DESCRIPTOR, |o| {
                uint(o, track::UUID, uuid);
                uint(o, track::PARENT, parent);
                text(o, track::NAME, name);
                uint(o, track::CHILD_ORDERING, EXPLICIT);
                uint(o, track::RANK, rank);
            });
        });
    }

    fn put(&self, kind: Kind, on: u64, at: u64, body: &Body<'_>, out: &mut Vec<u8>) {
        message(out, trace::PACKET, |o| {
            uint(o, packet::TIMESTAMP, at);
            uint(o, packet::SEQUENCE, SEQUENCE);
            message(o, packet::TRACK_EVENT, |o| {
                uint(o, event::TYPE, kind as u64);
                uint(o, event::TRACK, on);
                if !matches!(kind, Kind::End) {
                    text(o, event::CATEGORY, body.category);
                    text(o, event::NAME, body.name);
                }
                if let Some(id) = body.flow {
                    fixed64(o, event::FLOW, id);
                }
                if let Some(id) = body.flow_end {
                    fixed64(o, event::FLOW_END, id);
                }
                if let Some(e) = body.of {
                    let mut a = Annotations { out: o, outer: None };
                    a.key("t_ns", Val::Num(e.t_ns));
                    visit(self.program, e, &mut a);
                }
            });
        });
    }

    fn end_of(&self, on: u64, at: u64, out: &mut Vec<u8>) {
        self.put(Kind::End, on, at, &Body::new("", ""), out);
    }

    /// The track of an agent or a queue, described.
    fn track(&mut self, agent: Agent, out: &mut Vec<u8>) -> u64 {
        let uuid = agent_track(agent);
        if self.tracks.contains(&uuid) {
            return uuid;
        }
        match agent {
            Agent::Host => self.describe(uuid, PROCESS, "host", 0, out),
            Agent::Seq(e) => {
                self.describe(uuid, PROCESS, &format!("sequencer {e}"), 1 + e as u64, out);
            }
            Agent::Engine(q) => {
                let name = self.program.module.as_ref().and_then(|m| m.queue_name(q));
                let name = match name {
                    Some(n) => format!("{q} ({n})"),
                    None => q.to_string(),
                };
                // Behind the host and the sequencers.
                let rank = 0x100 + u64::from(q.engine) * 16 + u64::from(q.queue);
                self.describe(uuid, PROCESS, &name, rank, out);
            }
        }
        uuid
    }

    /// Of the host or a sequencer.
    fn cpu(&mut self, e: &Event, out: &mut Vec<u8>) {
        let (on, at) = (self.track(e.agent, out), self.stamp(e));
        let waits = matches!(
            e.kind,
            EventKind::WaitBudget { .. }
                | EventKind::Delay { .. }
                | EventKind::Poll { .. }
                | EventKind::PollIdle { .. }
        );
        let top = self.open.get(&e.agent).and_then(|o| o.last()).copied();
        if top == Some(Open::Wait) && !waits {
            self.close(e.agent, Open::Wait, at, out);
        }
        if waits && top != Some(Open::Wait) {
            self.begin(e, Open::Wait, "wait", "wait", out);
        }
        let flow_end = self.seen(e);
        let mut body = Body { of: Some(e), flow_end, ..Body::new(e.kind.name(), "cpu") };
        match e.kind {
            EventKind::Call { op } => {
                let script = self.program.script.get(op as usize);
                let name = script.map_or("call", |s| s.op.verb());
                return self.begin(e, Open::Call, name, "call", out);
            }
            EventKind::Inst { pos, .. } => {
                let name = self.program.module.as_ref().and_then(|m| m.inst(pos));
                let name = name.map_or_else(|| "instruction".to_owned(), |i| i.text);
                return self.begin(e, Open::Inst, &name, "instruction", out);
            }
            EventKind::CallReturn { .. } => {
                self.put(Kind::Instant, on, at, &body, out);
                return self.close(e.agent, Open::Call, at, out);
            }
            EventKind::InstDone { .. } => {
                self.put(Kind::Instant, on, at, &body, out);
                return self.close(e.agent, Open::Inst, at, out);
            }
            EventKind::MmioWrite { .. } => {
                if let Some((dir, queue)) = doorbell(e) {
                    body.name = if dir == Dir::Tx { "doorbell tx" } else { "doorbell rx" };
                    body.category = "doorbell";
                    if dir == Dir::Tx && self.rung.len() < MAX_TRACE_FLOWS {
                        self.rung.insert((queue, e.batch), e.n);
                        body.flow = Some(e.n);
                    }
                }
            }
            EventKind::WaitBudget { .. } | EventKind::Poll { .. } | EventKind::PollIdle { .. } => {
                body.category = "wait";
            }
            _ => {}
        }
        self.put(Kind::Instant, on, at, &body, out);
    }

    fn begin(&mut self, e: &Event, what: Open, name: &str, category: &str, out: &mut Vec<u8>) {
        let body = Body { of: Some(e), ..Body::new(name, category) };
        self.put(Kind::Begin, agent_track(e.agent), self.stamp(e), &body, out);
        self.open.entry(e.agent).or_default().push(what);
    }

    /// Closes the innermost slice where it is of this sort, and those inside of it.
    fn close(&mut self, agent: Agent, what: Open, at: u64, out: &mut Vec<u8>) {
        let open = self.open.entry(agent).or_default();
        let Some(from) = open.iter().rposition(|o| *o == what) else { return };
        let n = open.len() - from;
        open.truncate(from);
        for _ in 0..n {
            self.end_of(agent_track(agent), at, out);
        }
    }

    /// The event that made the word visible which a successful read sees.
    fn seen(&mut self, e: &Event) -> Option<u64> {
        match e.kind {
            EventKind::Poll { addr, value: MARKER, .. } => self.visible.remove(&addr),
            _ => None,
        }
    }

    /// Of an engine's queue.
    fn engine(&mut self, q: QueueId, e: &Event, out: &mut Vec<u8>) {
        let (on, at) = (self.track(e.agent, out), self.stamp(e));
        self.batch(q, e, out);
        let mut body = Body { of: Some(e), ..Body::new(e.kind.name(), "engine") };
        match e.kind {
            EventKind::Fetch { dir, slot, .. } => return self.fetch(q, (dir, slot), e, out),
            EventKind::Retire { tx, rx, .. } => {
                for (dir, slot) in [(Dir::Tx, tx), (Dir::Rx, rx)] {
                    let Some(slot) = slot else { continue };
                    let lanes = self.queues.entry(q).or_default();
                    if let Some(lane) = lanes.lanes[side(dir)].end(slot) {
                        self.end_of(lane_track(q, dir, lane), at, out);
                    }
                }
            }
            // Only words are waited for; of larger pieces none ends a wait.
            EventKind::Visible { addr, len, .. }
                if len <= 8 && self.visible.len() < MAX_TRACE_FLOWS =>
            {
                self.visible.insert(addr, e.n);
                body.flow = Some(e.n);
            }
            EventKind::Fault { .. } | EventKind::Stall { .. } => body.category = "fault",
            _ => {}
        }
        self.put(Kind::Instant, on, at, &body, out);
    }

    /// Opens the slice of a batch with its first event, and closes the one before.
    fn batch(&mut self, q: QueueId, e: &Event, out: &mut Vec<u8>) {
        let (on, at) = (queue_track(q), self.stamp(e));
        let state = self.queues.entry(q).or_default();
        let before = state.batch;
        if e.batch > 0 {
            state.batch = Some((e.batch, at));
        }
        if e.batch == 0 || before.is_some_and(|b| b.0 == e.batch) {
            return;
        }
        if let Some((_, last)) = before {
            self.end_of(on, last, out);
        }
        let flow_end = self.rung.remove(&(q, e.batch));
        let name = format!("batch {}", e.batch);
        let body = Body { flow_end, ..Body::new(&name, "batch") };
        self.put(Kind::Begin, on, at, &body, out);
    }

    fn fetch(&mut self, q: QueueId, (dir, slot): (Dir, u64), e: &Event, out: &mut Vec<u8>) {
        let at = self.stamp(e);
        let name = format!("{dir}[{slot}]");
        let body = Body { of: Some(e), ..Body::new(&name, "descriptor") };
        let lanes = &mut self.queues.entry(q).or_default().lanes[side(dir)];
        match lanes.begin(slot, MAX_TRACE_LANES) {
            Some(lane) => {
                let on = lane_track(q, dir, lane.number);
                if lane.new {
                    let rank =
                        side(dir) as u64 * u64::from(MAX_TRACE_LANES) + u64::from(lane.number);
                    self.describe(on, queue_track(q), &format!("{dir} in flight"), rank, out);
                }
                self.put(Kind::Begin, on, at, &body, out);
            }
            None => self.put(Kind::Instant, queue_track(q), at, &body, out),
        }
    }
}

fn side(dir: Dir) -> usize {
    usize::from(dir == Dir::Rx)
}

fn lane_track(q: QueueId, dir: Dir, lane: u32) -> u64 {
    queue_track(q) + 1 + side(dir) as u64 * 0x8000 + u64::from(lane)
}

/// The ring whose doorbell a register write is.
fn doorbell(e: &Event) -> Option<(Dir, QueueId)> {
    let EventKind::MmioWrite { engine, offset, lost: false, .. } = e.kind else { return None };
    let place = reg::name_at(offset).filter(|p| p.name == "drtp_inc")?;
    let (dir, queue) = place.queue?;
    Some((dir, QueueId { engine, queue }))
}

impl EventWriter for Perfetto<'_> {
    fn begin(&mut self, out: &mut Vec<u8>) {
        message(out, trace::PACKET, |o| {
            uint(o, packet::SEQUENCE, SEQUENCE);
            uint(o, packet::SEQUENCE_FLAGS, STATE_CLEARED);
            message(o, packet::TRACK_DESCRIPTOR, |o| {
                uint(o, track::UUID, PROCESS);
                message(o, track::PROCESS, |o| {
                    uint(o, process::PID, 1);
                    let name = format!("dmadbg {} ({})", self.file, self.time.words());
                    text(o, process::NAME, &name);
                });
                uint(o, track::CHILD_ORDERING, EXPLICIT);
            });
        });
        self.tracks.insert(PROCESS);
        self.track(Agent::Host, out);
    }

    fn event(&mut self, e: &Event, out: &mut Vec<u8>) {
        self.now = self.stamp(e);
        match e.agent {
            Agent::Engine(q) => self.engine(q, e, out),
            _ => self.cpu(e, out),
        }
    }

    fn edit(&mut self, e: &Edit, _: u64, out: &mut Vec<u8>) {
        // Behind all else.
        self.describe(USER, PROCESS, "user", i32::MAX as u64, out);
        let text = e.change.words(self.program);
        self.put(Kind::Instant, USER, self.now, &Body::new(&text, "edit"), out);
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        let now = self.now;
        for (agent, open) in std::mem::take(&mut self.open) {
            open.iter().for_each(|_| self.end_of(agent_track(agent), now, out));
        }
        for (q, state) in std::mem::take(&mut self.queues) {
            if let Some((_, last)) = state.batch {
                self.end_of(queue_track(q), last, out);
            }
            for (lanes, dir) in state.lanes.iter().zip(Dir::BOTH) {
                lanes.held().for_each(|lane| self.end_of(lane_track(q, dir, lane), now, out));
                if lanes.without > 0 {
                    let name = format!(
                        "{} {dir} descriptors in flight have no track of their own",
                        lanes.without
                    );
                    let body = Body::new(&name, "note");
                    self.put(Kind::Instant, queue_track(q), now, &body, out);
                }
            }
        }
    }
}

/// The keys of an event as annotations.
struct Annotations<'a> {
    out: &'a mut Vec<u8>,
    outer: Option<&'static str>,
}

impl Keys for Annotations<'_> {
    fn key(&mut self, name: &'static str, value: Val) {
        if value == Val::Null {
            return;
        }
        let outer = self.outer;
        message(self.out, event::ANNOTATION, |o| {
            match outer {
                Some(outer) => text(o, annotation::NAME, &format!("{outer}.{name}")),
                None => text(o, annotation::NAME, name),
            }
            match value {
                Val::Num(n) => uint(o, annotation::UINT, n),
                Val::Int(n) => uint(o, annotation::INT, n as u64),
                Val::Addr(a) => uint(o, annotation::POINTER, a),
                Val::Word(w) => hex(o, w.into(), 8),
                Val::Offset(a) => hex(o, a.into(), hex_digits(a.into())),
                Val::Text(t) => text(o, annotation::TEXT, t),
                Val::Flag(b) => uint(o, annotation::FLAG, b.into()),
                Val::Desc(d) => message(o, annotation::TEXT, |o| push_bytes(o, d)),
                Val::Null => {}
            }
        });
    }

    fn name(&mut self, key: &'static str, name: &str) {
        message(self.out, event::ANNOTATION, |o| {
            text(o, annotation::NAME, key);
            text(o, annotation::TEXT, name);
        });
    }

    fn open(&mut self, name: &'static str) {
        self.outer = Some(name);
    }

    fn close(&mut self) {
        self.outer = None;
    }
}

fn hex(out: &mut Vec<u8>, value: u64, digits: u32) {
    message(out, annotation::TEXT, |o| {
        o.extend_from_slice(b"0x");
        push_digits(o, value, digits);
    });
}
