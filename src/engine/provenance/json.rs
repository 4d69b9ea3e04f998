//! The way from source to slots as JSON objects, a line each (`docs/json.md`, "provenance").

use super::bits::{self, BitCause};
use super::{Found, Provenance, SlotAt, desc_in};
use crate::bir::Pos;
use crate::engine::lower::provenance as paths;
use crate::engine::program::QueueId;
use crate::engine::ring::Machine;
use crate::udma::describe::FieldRow;
use crate::udma::{Dir, Generation, describe};
use serde_json::{Value, json};

/// Objects of one answer; what is beyond is told by a last one.
const MOST: usize = 65_536;

/// Names of one stage; how many there are is told beside them.
const MOST_NAMES: usize = 1024;

fn hex(v: u64) -> Value {
    json!(format!("{v:#018x}"))
}

fn slot(s: &SlotAt) -> Value {
    json!({
        "link": "slot", "engine": s.queue.engine, "queue": s.queue.queue,
        "ring": s.dir.name(), "slot": s.slot, "pos": s.origin.inst.0,
        "descriptor": s.origin.descriptor, "fire": s.origin.block.map(|b| b.1),
    })
}

/// A field with its value and the rule that set it.
pub(super) fn field(row: &FieldRow, why: &[String]) -> Value {
    let rule = bits::rule(row.name);
    json!({
        "link": "field", "word": row.word.name(), "field": row.name, "hi": row.hi, "lo": row.lo,
        "value": row.value, "words": row.words, "reading": row.class, "from": rule.from,
        "stage": rule.stage, "options": rule.options, "why": why,
    })
}

impl Provenance<'_> {
    /// The links of what was found, source first; of a slot the fields of its descriptor, all or
    /// those that `keep` says.
    pub fn json(
        &self,
        m: &Machine,
        found: &Found,
        arch: Generation,
        keep: &dyn Fn(&FieldRow) -> bool,
    ) -> Vec<Value> {
        let mut out = Vec::new();
        match found {
            Found::Insts(all) => all.iter().for_each(|pos| self.json_inst(m, *pos, &mut out)),
            Found::Block(queue, position) => {
                let triggers: Vec<String> = self
                    .module()
                    .queue(queue)
                    .and_then(|q| q.dma_blocks().nth(*position as usize))
                    .map(|b| self.triggers(queue, &b.name))
                    .unwrap_or_default()
                    .iter()
                    .map(|t| t.name.to_string())
                    .collect();
                out.push(json!({
                    "link": "block", "queue_name": queue.to_string(), "position": position,
                    "triggers": triggers,
                }));
                out.extend(self.slots_of_block(m, queue, *position).iter().map(slot));
            }
            Found::Queue(name) => {
                let id = self.run.queue(name).map(|q| q.id);
                let blocks = self.module().queue(name).map_or(0, |q| q.dma_blocks().count());
                out.push(json!({
                    "link": "queue", "queue_name": name.to_string(), "blocks": blocks,
                    "engine": id.map(|i| i.engine), "queue": id.map(|i| i.queue),
                }));
            }
            Found::Bytes(name, addr) => {
                let l = self.run.exec.layout().at(*addr);
                out.push(json!({
                    "link": "address", "addr": hex(*addr), "location": name.to_string(),
                    "byte": l.and_then(|l| l.position(*addr)),
                }));
            }
            Found::Slot(id, dir, index) => {
                self.json_slot(m, (*id, *dir, *index), arch, keep, &mut out);
            }
        }
        if out.len() > MOST {
            let rest = out.len() - MOST;
            out.truncate(MOST);
            out.push(json!({ "link": "omitted", "count": rest }));
        }
        out
    }

    fn json_inst(&self, m: &Machine, pos: Pos, out: &mut Vec<Value>) {
        self.json_source(pos, out);
        let mut of = None;
        let mut triggers: Vec<String> = Vec::new();
        // Those of a block follow each other: its triggers are looked up once.
        for d in self.descriptors(pos).into_iter().take(MOST) {
            if of.as_ref() != Some(&(d.queue.clone(), d.position)) {
                let all = self.triggers(&d.queue, &d.block);
                triggers = all.iter().map(|t| t.name.to_string()).collect();
                of = Some((d.queue.clone(), d.position));
            }
            out.push(json!({
                "link": "descriptor", "queue_name": d.queue.to_string(), "position": d.position,
                "block": d.block.to_string(), "descriptor": d.descriptor, "triggers": triggers,
            }));
        }
        out.extend(self.slots(m, pos).iter().map(slot));
    }

    fn json_source(&self, pos: Pos, out: &mut Vec<Value>) {
        out.push(match self.source(pos) {
            Some(i) => json!({
                "link": "source", "pos": pos.0, "text": i.text, "file": i.place.file,
                "line": i.place.line, "column": i.place.column,
            }),
            None => json!({ "link": "source", "pos": null, "text": "added by lowering" }),
        });
        for (s, at) in self.run.lowered.snapshots.iter().zip(self.stages(pos)) {
            let names: Vec<String> = at
                .paths
                .iter()
                .take(MOST_NAMES)
                .filter_map(|p| Some(paths::at(&s.module, p)?.name.to_string()))
                .collect();
            out.push(json!({
                "link": "stage", "stage": s.stage.name(), "count": at.paths.len(), "insts": names,
            }));
        }
    }

    fn json_slot(
        &self,
        m: &Machine,
        (id, dir, index): (QueueId, Dir, u64),
        arch: Generation,
        keep: &dyn Fn(&FieldRow) -> bool,
        out: &mut Vec<Value>,
    ) {
        let origin = self.of_slot(m, id, dir, index);
        let name = self.run.queue_name(id).map(|n| n.to_string());
        match origin {
            Some(origin) => {
                out.push(slot(&SlotAt { queue: id, dir, slot: index, origin }));
                self.json_source(origin.inst, out);
            }
            None => out.push(json!({
                "link": "slot", "engine": id.engine, "queue": id.queue, "ring": dir.name(),
                "slot": index, "pos": null,
            })),
        }
        if let (Some((position, fire)), Some(queue)) = (origin.and_then(|o| o.block), name) {
            out.push(json!({
                "link": "block", "queue_name": queue, "position": position, "fire": fire,
            }));
        }
        let Some(desc) = desc_in(m, id, dir, index) else { return };
        let cause = BitCause { run: self.run, machine: m, queue: id, dir, slot: index };
        for row in describe::explain(desc, dir, arch).iter().filter(|r| keep(r)) {
            out.push(field(row, &cause.why(row)));
        }
    }
}
