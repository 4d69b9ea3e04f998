//! Events as JSON objects (`docs/json.md`, "events"), written without a formatter in between, so
//! that millions of them are no matter.

use super::event::{Agent, Event, EventKind};
use super::keys::{Keys, Val, visit};
use crate::diag::render::json_safe;
use crate::engine::edit::{Change, Edit};
use crate::engine::program::{Program, QueueId};
use crate::udma::{Desc, cause, digits};
use serde_json::{Map, Value, json};

/// Appends so many hex digits.
pub fn push_digits(out: &mut Vec<u8>, value: u64, digits: u32) {
    let all = digits::hex16(value);
    out.extend_from_slice(all.get(all.len() - digits.min(16) as usize..).unwrap_or_default());
}

/// Appends `0x` and so many hex digits.
pub fn push_hex(out: &mut Vec<u8>, value: u64, digits: u32) {
    out.extend_from_slice(b"0x");
    push_digits(out, value, digits);
}

/// Appends a decimal number.
pub fn push_number(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(digits::decimal(value, &mut [0; digits::MOST]));
}

/// Appends a decimal number with its sign.
pub fn push_signed(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    push_number(out, value.unsigned_abs());
}

/// Appends a descriptor's bytes in memory order, 32 digits.
pub fn push_bytes(out: &mut Vec<u8>, desc: Desc) {
    let both = u128::from_le_bytes(desc.to_bytes()).swap_bytes();
    push_digits(out, (both >> 64) as u64, 16);
    push_digits(out, both as u64, 16);
}

/// Digits that a number needs in hexadecimal.
pub fn hex_digits(value: u64) -> u32 {
    (64 - value.leading_zeros()).div_ceil(4).max(1)
}

struct Object<'a> {
    out: &'a mut Vec<u8>,
    first: bool,
}

impl Object<'_> {
    fn word(&mut self, name: &str) {
        if !self.first {
            self.out.push(b',');
        }
        self.first = false;
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
    }

    fn quoted(&mut self, f: impl FnOnce(&mut Vec<u8>)) {
        self.out.push(b'"');
        f(self.out);
        self.out.push(b'"');
    }
}

impl Keys for Object<'_> {
    #[inline]
    fn key(&mut self, name: &'static str, value: Val) {
        self.word(name);
        match value {
            Val::Num(n) => push_number(self.out, n),
            Val::Int(n) => push_signed(self.out, n),
            Val::Word(w) => self.quoted(|o| push_hex(o, w.into(), 8)),
            Val::Addr(a) => self.quoted(|o| push_hex(o, a, 16)),
            Val::Offset(a) => self.quoted(|o| push_hex(o, a.into(), hex_digits(a.into()))),
            // Text of ours needs no escapes; a test holds that.
            Val::Text(t) => self.quoted(|o| o.extend_from_slice(t.as_bytes())),
            Val::Flag(true) => self.out.extend_from_slice(b"true"),
            Val::Flag(false) => self.out.extend_from_slice(b"false"),
            Val::Desc(d) => self.quoted(|o| push_bytes(o, d)),
            Val::Null => self.out.extend_from_slice(b"null"),
        }
    }

    fn name(&mut self, key: &'static str, name: &str) {
        self.word(key);
        let text = Value::from(name).to_string();
        self.out.extend_from_slice(json_safe(&text).as_bytes());
    }

    fn open(&mut self, name: &'static str) {
        self.word(name);
        self.out.push(b'{');
        self.first = true;
    }

    fn close(&mut self) {
        self.out.push(b'}');
        self.first = false;
    }
}

/// Appends an event of a program's run as one line.
pub fn push_event(out: &mut Vec<u8>, p: &Program, e: &Event) {
    out.push(b'{');
    visit(p, e, &mut Object { out, first: true });
    out.extend_from_slice(b"}\n");
}

/// An event of a program's run as an object.
pub fn event_json(p: &Program, e: &Event) -> Value {
    let mut line = Vec::new();
    push_event(&mut line, p, e);
    // What is written above is JSON; were it not, the test of every sample would see `null`.
    serde_json::from_slice(&line).unwrap_or_default()
}

/// Appends an edit as one line; the time is that of the event that it follows.
pub fn push_edit(out: &mut Vec<u8>, p: &Program, e: &Edit, t_ns: u64) {
    let text = edit_json(p, e, t_ns / 1000).to_string();
    out.extend_from_slice(json_safe(&text).as_bytes());
    out.push(b'\n');
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
            json!({ "addr": format!("{a:#018x}"), "len": bytes.len(), "bytes": hex })
        }
        Change::Register { engine, offset, value } => {
            let (engine, offset, value) = (*engine, *offset, *value);
            let kind = EventKind::MmioWrite { engine, offset, value, lost: false };
            let mut as_event =
                event_json(p, &Event { n: e.at, t_ns: 0, agent: Agent::Host, batch: 0, kind });
            if let Value::Object(o) = &mut as_event {
                ["n", "t_us", "agent", "kind"].iter().for_each(|k| drop(o.remove(*k)));
            }
            as_event
        }
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
