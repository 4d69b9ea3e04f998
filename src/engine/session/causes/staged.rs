//! `provenance` of a slot in a program without a module: what the staging call was asked for, or
//! who put the descriptor there otherwise (`docs/provenance.md`, "Rings without a module").

use super::super::module::is_of;
use super::{Span, Swept, Writer};
use crate::diag::Diagnostic;
use crate::engine::program::{HostOp, QueueId};
use crate::engine::ring::host::Frame;
use crate::engine::ring::json::event_json;
use crate::engine::ring::{Event, EventKind, Role};
use crate::engine::session::{Outcome, Session, Watch, describe_event};
use crate::udma::describe::{self, FieldRow};
use crate::udma::{Barrier, DESC_BYTES, Dir, count_of};
use serde_json::{Value, json};

fn row(label: &str, text: &str) -> String {
    format!("{label:<10} {text}")
}

impl Session {
    pub(in crate::engine::session) fn staged_provenance(
        &mut self,
        (id, dir, index): (QueueId, Dir, u64),
        path: &[String],
        watch: Watch<'_>,
    ) -> Result<Outcome, Diagnostic> {
        self.has_field((id, dir, index), path)?;
        let Some((desc, _)) = self.slot(id, dir, index) else { return Ok(Outcome::default()) };
        let Some(ring) = self.machine.queue(id).map(|q| q.ring(dir)) else {
            return Ok(Outcome::default());
        };
        let arch = self.program().arch;
        let mut out = vec![
            row("slot", &format!("{id}.{dir}[{index}]")),
            row("bits", &describe::sentence(desc, dir, arch)),
        ];
        let slot = (ring.slot_addr(index), DESC_BYTES as u64);
        let (writers, swept) = self.writers(self.position(), slot, watch);
        if swept == Swept::Cancelled {
            return Ok(Outcome::say("cancelled"));
        }
        for (part, event) in &writers {
            out.extend(self.writer_rows(*part, event.as_ref()));
        }
        for (r, why, _) in self.staged_fields((id, dir, index), path, &writers) {
            if path.is_empty() {
                out.push(row("", &format!("{:<8} {:<16} {}: {why}", r.bits(), r.name, r.words)));
            } else {
                crate::engine::provenance::field_row(&r, &mut out);
                out.push(row("because", &why));
            }
        }
        Ok(Outcome::list(out))
    }

    /// The same as JSON objects (`docs/json.md`, "provenance").
    pub(in crate::engine::session) fn staged_json(
        &mut self,
        at: (QueueId, Dir, u64),
        path: &[String],
    ) -> Result<Vec<Value>, Diagnostic> {
        self.has_field(at, path)?;
        let (id, dir, index) = at;
        let Some(ring) = self.machine.queue(id).map(|q| q.ring(dir)) else {
            return Ok(Vec::new());
        };
        let mut out = vec![json!({
            "link": "slot", "engine": id.engine, "queue": id.queue, "ring": dir.name(),
            "slot": index, "pos": null,
        })];
        let slot = (ring.slot_addr(index), DESC_BYTES as u64);
        let go_on = &mut |_| std::ops::ControlFlow::Continue(());
        let (writers, _) = self.writers(self.position(), slot, go_on);
        for e in writers.iter().filter_map(|w| w.1) {
            out.push(json!({ "link": "written", "event": event_json(self.program(), &e) }));
        }
        for (r, why, event) in self.staged_fields(at, path, &writers) {
            out.push(json!({
                "link": "field", "word": r.word.name(), "field": r.name, "hi": r.hi, "lo": r.lo,
                "value": r.value, "words": r.words, "reading": r.class, "why": [why],
                "event": event,
            }));
        }
        Ok(out)
    }

    /// The fields of a slot's descriptor, each with where it is from and the event that wrote it.
    fn staged_fields(
        &mut self,
        (id, dir, index): (QueueId, Dir, u64),
        path: &[String],
        writers: &[Writer],
    ) -> Vec<(FieldRow, String, Option<u64>)> {
        let arch = self.program().arch;
        let Some((desc, _)) = self.slot(id, dir, index) else { return Vec::new() };
        let base = self.machine.queue(id).map_or(0, |q| q.ring(dir).slot_addr(index));
        let rows = describe::explain(desc, dir, arch).into_iter().filter(|r| is_of(r, path));
        rows.map(|r| {
            let word = (base + r.word.offset() as u64, u64::from(r.word.bits() / 8));
            let by = writers.iter().find(|w| super::shared(w.0, word).is_some());
            let event = by.and_then(|w| w.1);
            let why = match event {
                Some(e) => self.field_source(&e, dir, &r),
                None => "it was there from the start".to_owned(),
            };
            (r, why, event.map(|e| e.n))
        })
        .collect()
    }

    /// Who wrote the slot, and by which call of the host's script.
    fn writer_rows(&mut self, part: Span, event: Option<&Event>) -> Vec<String> {
        let Some(e) = event else {
            return vec![row("written", &format!("{} by no event", self.span_words(part)))];
        };
        let text = describe_event(self.program(), e);
        let mut out = vec![row("written", &format!("event {}, {}: {text}", e.n, e.agent))];
        let after = self.state_at(e.n);
        let op = after.host.stack.iter().find_map(|f| match f {
            Frame::Op { op, .. } => Some(*op as usize),
            _ => None,
        });
        if let Some(op) = op.and_then(|op| Some((op, self.program().script.get(op)?))) {
            let note =
                if op.1.note.is_empty() { String::new() } else { format!(": {}", op.1.note) };
            out.push(row("call", &format!("{}, operation {}{note}", op.1.op.verb(), op.0)));
        }
        out
    }

    /// Where a field of a descriptor that an event wrote is from.
    fn field_source(&mut self, e: &Event, dir: Dir, r: &FieldRow) -> String {
        match e.kind {
            EventKind::Stage { .. } => self.stage_source(e, dir, r),
            EventKind::CopyIn { slot, .. } => {
                format!("authored elsewhere, copied in by event {} from {dir}[{slot}] on", e.n)
            }
            EventKind::Visible { .. } => {
                format!("a DMA wrote it at event {}; `origin` follows it back", e.n)
            }
            _ => format!("a store of event {}", e.n),
        }
    }

    fn stage_source(&mut self, e: &Event, dir: Dir, r: &FieldRow) -> String {
        let EventKind::Stage { role, src, dst, size, barrier_code, tx, rx, .. } = e.kind else {
            return String::new();
        };
        let taken = if dir == Dir::Tx { tx } else { rx };
        match r.name {
            "ring_id" => {
                format!("the driver's desc_ring_id was {} as it took the slot", taken.ring_id)
            }
            "length" if size == 0 => "size 0 was asked for, which stands for 65536".to_owned(),
            "length" => format!("{} asked for", count_of(size, "byte")),
            "buf_ptr" => {
                let (what, addr) =
                    if dir == Dir::Tx { ("source", src) } else { ("destination", dst) };
                format!("the {what} that was asked for, {}", self.program().name_addr(addr))
            }
            "first" | "last" => match dir {
                Dir::Tx => "the kernel's builder makes a packet of each Tx descriptor".to_owned(),
                Dir::Rx => "the kernel's builder sets no packet flag on Rx".to_owned(),
            },
            "concat" => "the kernel's builder never chains".to_owned(),
            "dmb" | "write_barrier" | "strong_order" => self.barrier_source(e, role, barrier_code),
            "int_en" if dir == Dir::Rx => "the caller's set_dst_int".to_owned(),
            "int_en" => "the staging call asks for an interrupt on Rx only".to_owned(),
            "buf2_ptr_lo" => "zero on a memory-to-memory queue".to_owned(),
            name if name.starts_with("reserved") => "reserved, zero".to_owned(),
            _ => "the driver stages plain copies only".to_owned(),
        }
    }

    /// The barrier that was asked for, and by what rule of its call.
    fn barrier_source(&mut self, e: &Event, role: Role, code: u32) -> String {
        let name = Barrier::from_code(code).map_or("none known", Barrier::name);
        let after = self.state_at(e.n);
        let op = after.host.op(self.program()).and_then(|op| self.program().script.get(op));
        let rule = match (op.map(|o| &o.op), role) {
            (Some(HostOp::Stage { .. } | HostOp::StageMarker { .. }), _) => {
                "as the program's own call says"
            }
            (Some(HostOp::ZeroCopy { .. }), Role::Marker) => {
                "from 2.25 on the last batch to the device has SOW on its marker, on v3 and later"
            }
            (Some(HostOp::ZeroCopy { .. }), Role::Data) => {
                "2.24 puts DMB on the last data descriptor of each batch, later ones on v2 a write barrier on that of the last batch to the device"
            }
            (_, Role::Marker) => "the chunked copy's completion pair has none",
            (_, Role::Data) => {
                "the chunked copy puts its barrier on the last data descriptor of every batch only"
            }
        };
        format!("barrier code {code} ({name}) was asked for: {rule}")
    }
}
