//! Events as CSV: one set of columns for all kinds; what has no column of its own stands in the
//! last one (`docs/export.md`, "Events as CSV").

use super::EventWriter;
use crate::diag::render::printable;
use crate::engine::edit::Edit;
use crate::engine::program::Program;
use crate::engine::ring::Event;
use crate::engine::ring::json::{
    edit_json, hex_digits, push_bytes, push_hex, push_number, push_signed,
};
use crate::engine::ring::keys::{Keys, Val, visit};
use serde_json::Value;

/// The columns, in order.
pub const EVENT_COLUMNS: [&str; 16] = [
    "n", "t_ns", "agent", "seq", "kind", "engine", "queue", "batch", "ring", "slot", "addr", "len",
    "value", "count", "ret", "more",
];

/// How many have a key of their own: all but `more`.
const OWN: usize = EVENT_COLUMNS.len() - 1;

/// Writes events as CSV.
pub(super) struct Csv<'p> {
    program: &'p Program,
    more: Vec<u8>,
}

impl Csv<'_> {
    pub(super) fn new(program: &Program) -> Csv<'_> {
        Csv { program, more: Vec::new() }
    }
}

struct Cells<'a> {
    cells: [Option<Val>; OWN],
    more: &'a mut Vec<u8>,
    inside: Option<&'static str>,
}

/// The column of a key.
fn column(key: &str) -> Option<usize> {
    // In the order of how often they come.
    Some(match key {
        "n" => 0,
        "agent" => 2,
        "kind" => 4,
        "engine" => 5,
        "queue" => 6,
        "batch" => 7,
        "ring" => 8,
        "slot" => 9,
        "addr" => 10,
        "len" => 11,
        "value" => 12,
        "count" => 13,
        "ret" => 14,
        "seq" => 3,
        _ => return None,
    })
}

impl Keys for Cells<'_> {
    #[inline]
    fn key(&mut self, name: &'static str, value: Val) {
        if self.inside.is_none() {
            if name == "t_us" {
                return;
            }
            if let Some(cell) = column(name).and_then(|c| self.cells.get_mut(c)) {
                *cell = Some(value);
                return;
            }
        }
        if !self.more.is_empty() {
            self.more.push(b';');
        }
        if let Some(outer) = self.inside {
            self.more.extend_from_slice(outer.as_bytes());
            self.more.push(b'.');
        }
        self.more.extend_from_slice(name.as_bytes());
        self.more.push(b'=');
        push(self.more, value);
    }

    fn name(&mut self, key: &'static str, name: &str) {
        if !self.more.is_empty() {
            self.more.push(b';');
        }
        self.more.extend_from_slice(key.as_bytes());
        self.more.push(b'=');
        self.more.extend_from_slice(printable(name).as_bytes());
    }

    fn open(&mut self, name: &'static str) {
        self.inside = Some(name);
    }

    fn close(&mut self) {
        self.inside = None;
    }
}

fn push(out: &mut Vec<u8>, value: Val) {
    match value {
        Val::Num(n) => push_number(out, n),
        Val::Int(n) => push_signed(out, n),
        Val::Word(w) => push_hex(out, w.into(), 8),
        Val::Addr(a) => push_hex(out, a, 16),
        Val::Offset(a) => push_hex(out, a.into(), hex_digits(a.into())),
        Val::Text(t) => out.extend_from_slice(t.as_bytes()),
        Val::Flag(b) => out.extend_from_slice(if b { b"true" } else { b"false" }),
        Val::Desc(d) => push_bytes(out, d),
        Val::Null => {}
    }
}

/// What stands in the last column; quoted where its characters ask for that.
fn finish(more: &[u8], out: &mut Vec<u8>) {
    // Of what stands there only sentences and names of a file could have such characters.
    if more.iter().any(|b| matches!(b, b',' | b'"')) {
        out.push(b'"');
        for b in more {
            if *b == b'"' {
                out.push(b'"');
            }
            out.push(*b);
        }
        out.push(b'"');
    } else {
        out.extend_from_slice(more);
    }
    out.push(b'\n');
}

impl EventWriter for Csv<'_> {
    fn begin(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(EVENT_COLUMNS.join(",").as_bytes());
        out.push(b'\n');
    }

    fn event(&mut self, e: &Event, out: &mut Vec<u8>) {
        self.more.clear();
        let mut cells = Cells { cells: [None; OWN], more: &mut self.more, inside: None };
        visit(self.program, e, &mut cells);
        cells.cells[1] = Some(Val::Num(e.t_ns));
        for value in cells.cells {
            if let Some(value) = value {
                push(out, value);
            }
            out.push(b',');
        }
        finish(&self.more, out);
    }

    fn edit(&mut self, e: &Edit, t_ns: u64, out: &mut Vec<u8>) {
        let mut cells: [String; OWN] = std::array::from_fn(|_| String::new());
        cells[1] = t_ns.to_string();
        self.more.clear();
        let told = edit_json(self.program, e, 0);
        for (key, value) in told.as_object().into_iter().flatten().filter(|(k, _)| *k != "t_us") {
            let value = match value {
                Value::String(s) => printable(s),
                Value::Null => String::new(),
                other => other.to_string(),
            };
            if let Some(cell) = column(key).and_then(|c| cells.get_mut(c)) {
                *cell = value;
                continue;
            }
            let between = if self.more.is_empty() { "" } else { ";" };
            self.more.extend_from_slice(format!("{between}{key}={value}").as_bytes());
        }
        for cell in cells {
            out.extend_from_slice(cell.as_bytes());
            out.push(b',');
        }
        finish(&self.more, out);
    }

    fn end(&mut self, _: &mut Vec<u8>) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_but_two_is_that_of_its_key() {
        for (i, name) in EVENT_COLUMNS.iter().enumerate() {
            let want = if matches!(*name, "t_ns" | "more") { None } else { Some(i) };
            assert_eq!(column(name), want, "{name}");
        }
    }
}
