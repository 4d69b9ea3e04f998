//! Changing the run: `set`, `inject`, `undo`, `redo`, `save` (`docs/whatif.md`).
//!
//! An edit is made at the position and becomes part of the program; the run is then that of
//! the program with its edits, and what was known of it before the edit stays.

use super::Watch;
use super::eval::{SlotPart, part_of, queue_of};
use super::{Effect, EvalError, Outcome, Session};
use crate::diag::Diagnostic;
use crate::engine::command::{InjectAt, SaveFormat};
use crate::engine::edit::{Change, Cursor, Edit};
use crate::engine::expr::{Expr, QueueRef};
use crate::engine::module_run;
use crate::engine::program::{Blob, Program, QueueId};
use crate::engine::ring::machine::Finding;
use crate::limits::MAX_EDITS;
use crate::udma::field::{self, Field};
use crate::udma::{DESC_BYTES, Desc, Dir, cause, count_of, reg};
use imbl::Vector;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// One edit as it was made, and what it put away.
#[derive(Debug, Clone)]
pub(super) struct Made {
    pub edit: Edit,
    /// How many edits came before it.
    pub before: usize,
    /// Edits of later events, which belonged to another future.
    pub dropped: Vec<Edit>,
    /// Marks of later events.
    pub marks: BTreeMap<String, u64>,
}

/// Edits of the session that can be taken back or made again, the newest last.
#[derive(Debug, Clone, Default)]
pub(super) struct History {
    pub done: VecDeque<Made>,
    pub undone: Vec<Made>,
}

impl History {
    /// How many edits of a program its file brought: they come first, as far as no edit of the
    /// session put them away.
    pub fn own(&self, p: &Program) -> usize {
        let first = self.done.iter().map(|m| m.before).min();
        first.unwrap_or(p.edits.len()).min(p.edits.len())
    }
}

/// What an edit put away that belonged to events behind it.
#[derive(Default)]
struct Forgotten {
    marks: BTreeMap<String, u64>,
    /// Findings that an `expect` had named.
    expected: usize,
}

impl Forgotten {
    /// In words, to go on a line; nothing where there was nothing.
    fn words(&self) -> String {
        let mut out = gone("mark", self.marks.len());
        if self.expected > 0 {
            out.push_str("; what `expect` took of later findings is not expected any more");
        }
        out
    }
}

/// What `set` is about to change, and how it is told.
struct Wanted {
    change: Change,
    told: String,
}

fn refuse(text: impl Into<String>) -> Diagnostic {
    Diagnostic::new("S020", text)
}

impl Session {
    pub(super) fn set(&mut self, what: &Expr, value: &Expr) -> Result<Outcome, Diagnostic> {
        let value = self.value(value)?;
        let Wanted { change, told } = match what {
            Expr::Slot { queue, dir, index, path } => {
                let id = queue_of(self, queue).map_err(EvalError::into_diagnostic)?;
                let index = self.value(index)?;
                self.want_slot((id, *dir, index), path, value)?
            }
            Expr::Queue { queue, path } => {
                let id = queue_of(self, queue).map_err(EvalError::into_diagnostic)?;
                self.want_queue(id, path, value)?
            }
            Expr::Mem { width, addr } => {
                let addr = self.value(addr)?;
                self.want_memory(&what.to_string(), addr, *width, value)?
            }
            Expr::Reg { queue, offset } => {
                let id = queue_of(self, queue).map_err(EvalError::into_diagnostic)?;
                let offset = self.value(offset)?;
                self.want_register(id.engine, offset, value)?
            }
            Expr::Name(name) if name == "marker" => {
                let none = || Diagnostic::new("S005", "no queue is selected");
                self.want_marker(self.selected().ok_or_else(none)?, value)?
            }
            Expr::Name(name) => return Err(read_only(name)),
            Expr::Place(name) => {
                let text = format!("`{name}` is a place, no value that can be set");
                return Err(refuse(text).help(format!("`set mem32[{what}] = ..` sets bytes there")));
            }
            other => return Err(refuse(format!("`{other}` names nothing that can be set"))),
        };
        self.make(change, &told)
    }

    /// A word, a field or a phase of a slot.
    fn want_slot(
        &self,
        (id, dir, index): (QueueId, Dir, u64),
        path: &[String],
        value: u64,
    ) -> Result<Wanted, Diagnostic> {
        let Some(q) = self.machine.queue(id) else { return Err(refuse(format!("no queue {id}"))) };
        let ring = q.ring(dir);
        if index >= ring.size {
            let text =
                format!("{dir}[{index}] is not in a ring of {}", count_of(ring.size, "slot"));
            return Err(Diagnostic::new("S005", text));
        }
        let slot = ring.slot_addr(index);
        let mut bytes = [0; DESC_BYTES];
        self.machine.memory.read(slot, &mut bytes);
        let desc = Desc::from_bytes(&bytes);
        let view = desc.view(dir);
        let part = part_of(view, path).map_err(EvalError::into_diagnostic)?;
        let name = format!("{id}.{dir}[{index}].{}", path.join("."));
        let (word, field) = match part {
            SlotPart::Addr | SlotPart::Life => return Err(read_only(&path.join("."))),
            SlotPart::Word(w) => (w, None),
            SlotPart::Field(f) => (f.word, Some(f)),
            SlotPart::Phase | SlotPart::Length => {
                let own = if matches!(part, SlotPart::Phase) { "ring_id" } else { "length" };
                let Some(f) = field::find(view, own) else {
                    let text = format!("{name}: a META descriptor has no {own}");
                    return Err(refuse(text).help("set its word, `len_ctrl`, as a whole"));
                };
                (f.word, Some(f))
            }
        };
        let known = self.machine.memory.known(slot + word.offset() as u64, word.bytes() as u64);
        if let (Some(at), Some(_)) = (known.unknown, field) {
            let text = format!("{name}: the other bits of its word, at {at:#x}, are unknown");
            return Err(refuse(text).help(format!("set {} as a whole", word.name())));
        }
        let (old, new) = match field {
            None => {
                fits(&name, word.bits(), value)?;
                (desc.word(word), desc.with_word(word, value))
            }
            Some(f) if matches!(part, SlotPart::Length) => match value {
                1..=65_536 => (desc.length(), desc.with(f, value & 0xffff)),
                _ => {
                    let text = format!("{name}: a descriptor moves 1 to 65536 bytes, not {value}");
                    return Err(refuse(text).help("the bare bits are at `.len_ctrl.length`"));
                }
            },
            Some(f) => {
                fits(&name, f.width, value)?;
                (desc.get(f), desc.with(f, value))
            }
        };
        let at = word.offset();
        let stored = new.to_bytes()[at..at + word.bytes()].to_vec();
        let change = Change::Store { addr: slot + at as u64, bytes: Blob::from_vec(stored) };
        let (a, b, w) = (desc.word(word), new.word(word), usize::from(word.bits() / 4) + 2);
        let words = format!("{a:#0w$x} -> {b:#0w$x}");
        let mut told = match field {
            Some(_) => {
                format!("{name}: {} -> {} ({} {words})", shown(old), shown(value), word.name())
            }
            None => {
                // What it means, where that is not much.
                let of = |f: &&Field| desc.get(f) != new.get(f);
                let changed: Vec<_> = field::fields_of(view, word).filter(of).collect();
                let one = |f: &&Field| {
                    format!("{}: {} -> {}", f.name, shown(desc.get(f)), shown(new.get(f)))
                };
                match changed.len() {
                    1..=3 => {
                        let list: Vec<_> = changed.iter().map(one).collect();
                        format!("{name}: {words} ({})", list.join(", "))
                    }
                    _ => format!("{name}: {words}"),
                }
            }
        };
        let held = match dir {
            Dir::Tx => &q.packet.tx,
            Dir::Rx => &q.packet.rx,
        };
        if held.iter().any(|x| q.hw(dir).slot(x.k) == index) {
            told.push_str("; the engine has fetched it and works with what it got (MODEL)");
        }
        Ok(Wanted { change, told })
    }

    fn want_memory(
        &self,
        name: &str,
        addr: u64,
        width: u8,
        value: u64,
    ) -> Result<Wanted, Diagnostic> {
        fits(name, width.saturating_mul(8), value)?;
        let n = usize::from(width.clamp(1, 8));
        let mem = &self.machine.memory;
        let mut bytes = [0; 8];
        let known = mem.read(addr, &mut bytes[..n]);
        let old = match (known.never_written, known.unknown) {
            (Some(_), _) => "never written".to_owned(),
            (_, Some(_)) => "unknown".to_owned(),
            _ => shown(u64::from_le_bytes(bytes)),
        };
        let bytes = Blob::from_vec(value.to_le_bytes()[..n].to_vec());
        let at = self.program().name_addr(addr);
        let told = format!("{name} at {at}: {old} -> {}", shown(value));
        Ok(Wanted { change: Change::Store { addr, bytes }, told })
    }

    fn want_marker(&self, id: QueueId, value: u64) -> Result<Wanted, Diagnostic> {
        let marker = self.machine.queue(id).map_or(0, |q| q.marker);
        self.want_memory(&format!("marker of {id}"), marker.wrapping_add(4), 4, value)
    }

    /// A cursor, a register, or the marker of a queue.
    fn want_queue(&self, id: QueueId, path: &[String], value: u64) -> Result<Wanted, Diagnostic> {
        let names: Vec<&str> = path.iter().map(String::as_str).collect();
        let (dir, name) = match names.as_slice() {
            ["marker"] => return self.want_marker(id, value),
            ["tx", name] => (Dir::Tx, *name),
            ["rx", name] => (Dir::Rx, *name),
            [name] => (Dir::Tx, *name),
            _ => return Err(refuse("a queue as a whole cannot be set").help(SETTABLE)),
        };
        let whole = format!("{id}.{dir}.{name}");
        if let Some(cursor) = Cursor::by_name(name) {
            let change = Change::Cursor { queue: id, dir, cursor, value };
            let path = vec![dir.name().to_owned(), name.to_owned()];
            let queue = QueueRef::Exact(id);
            let old = self.value(&Expr::Queue { queue, path })?;
            let model = if matches!(cursor, Cursor::Head | Cursor::Tail) { " (MODEL)" } else { "" };
            let told = format!("{whole}: {old} -> {value}{model}");
            return Ok(Wanted { change, told });
        }
        let Some(register) = reg::queue_reg(dir, name) else { return Err(read_only(name)) };
        let offset = reg::queue_block(dir, id.queue) + register.offset;
        self.want_register(id.engine, offset.into(), value)
    }

    /// A register of an engine.
    fn want_register(&self, engine: u32, offset: u64, value: u64) -> Result<Wanted, Diagnostic> {
        let inside = u32::try_from(offset).ok().filter(|o| *o < reg::ENGINE_BLOCK_BYTES);
        let Some(at) = inside.filter(|o| o % 4 == 0) else {
            return Err(refuse(format!("no register lies at {offset:#x} of an engine's block")));
        };
        let known = reg::name_at(at);
        let of_queue = known.as_ref().and_then(|r| Some((r.name, r.queue?)));
        let (name, old) = match of_queue {
            Some((name @ ("drhp" | "drtp"), _)) => return Err(read_only(name)),
            Some((name, (dir, queue))) => {
                let id = QueueId { engine, queue };
                (format!("{id}.{dir}.{name}"), self.machine.queue_reg(id, dir, name))
            }
            None => {
                let words = known.as_ref().map_or(String::new(), |r| format!(" {r}"));
                let old = self.machine.regs.get(&(engine, at)).copied();
                (format!("register {at:#x} of e{engine}{words}"), old)
            }
        };
        let bits = match known.map(|r| r.fields) {
            Some([all]) if all.lo == 0 => all.hi + 1,
            _ => 32,
        };
        fits(&name, bits, value)?;
        let told = match (of_queue, old) {
            (Some(("drtp_inc", (dir, queue))), _) => {
                format!("doorbell e{engine}.q{queue}.{dir} {value}, rung by the debugger")
            }
            (_, Some(old)) => format!("{name}: {old:#010x} -> {value:#010x}"),
            (_, None) => format!("{name}: never written -> {value:#010x}"),
        };
        let change = Change::Register { engine, offset: at, value: value as u32 };
        Ok(Wanted { change, told })
    }

    pub(super) fn inject(&mut self, fault: &str, at: &InjectAt) -> Result<Outcome, Diagnostic> {
        let id = queue_of(self, &at.queue).map_err(EvalError::into_diagnostic)?;
        let has = |dir: &Dir| cause::by_name(*dir, fault).is_some();
        let dirs: Vec<Dir> = Dir::BOTH.into_iter().filter(has).collect();
        let both = if at.dir.is_none() && dirs.len() > 1 {
            format!("; rx has a {fault} too: `inject {fault} at rx`")
        } else {
            String::new()
        };
        let found = at.dir.or(dirs.first().copied());
        let Some(cause) = found.and_then(|dir| cause::by_name(dir, fault)) else {
            let ring = at.dir.map_or("no ring", Dir::name);
            return Err(refuse(format!("{fault} is no cause of {ring}")));
        };
        let (dir, bit) = (cause.dir, cause.bit);
        let change = Change::Inject { queue: id, dir, bit, slot: at.slot };
        let engine = if cause::armed(self.program().arch, id.engine, cause) {
            "armed: the engine will abort"
        } else {
            "masked: its bit will be set and the descriptor executes"
        };
        let place = match at.slot {
            Some(slot) => format!("{id}.{dir}[{slot}]"),
            None => format!("the next {dir} descriptor of {id} that can have it"),
        };
        self.make(change, &format!("{fault} waits for {place}; {engine} (MODEL){both}"))
    }

    /// Makes an edit at the position.
    fn make(&mut self, change: Change, told: &str) -> Result<Outcome, Diagnostic> {
        let p = self.program().clone();
        self.machine.can_edit(&p, &change).map_err(|why| {
            refuse(format!("{why}: {}", change.words(&p))).help("`docs/whatif.md`")
        })?;
        let n = self.machine.n;
        let kept = p.edits.partition_point(|e| e.at <= n);
        if kept >= MAX_EDITS {
            return Err(refuse(format!("there are {MAX_EDITS} edits already")));
        }
        let mut edits = p.edits[..kept].to_vec();
        let dropped = p.edits[kept..].to_vec();
        let edit = Edit { at: n, change };
        edits.push(edit.clone());
        let before = self.machine.clone();
        let program = Arc::new(Program { edits, ..(*p).clone() });
        self.timeline = self.timeline.with_edits(program.clone(), n);
        // What follows goes on from what is known of the line.
        let start = self.timeline.start().clone();
        self.timeline.state_at(n, &start);
        self.machine.edit(&program, &edit.change);
        self.timeline.close(&mut self.machine);
        let lost = self.forget_after(n, before.findings_so_far());
        self.before = before;
        self.recount(n);
        let mut line = format!("{told}, at event {n}");
        line.push_str(&gone("edit", dropped.len()));
        line.push_str(&lost.words());
        let marks = lost.marks;
        self.history.done.push_back(Made { edit, before: kept, dropped, marks });
        self.history.undone.clear();
        if self.history.done.len() > MAX_EDITS {
            self.history.done.pop_front();
        }
        Ok(Outcome::say(line))
    }

    /// Forgets what belongs to events after `n`, up to which `found` was found: marks, and what
    /// was expected of findings behind it.
    fn forget_after(&mut self, n: u64, found: &Vector<Finding>) -> Forgotten {
        let before = self.expected.len();
        self.expected.retain(|i| *i < found.len());
        let aborts = self.expected.iter().filter_map(|i| found.get(*i));
        let aborts = aborts.filter(|d| d.code == "R001");
        self.expected_aborts = aborts.filter_map(|d| Some(d.place.slot?.queue?.0)).collect();
        let gone = |at: &u64| *at > n;
        let marks = self.marks.iter().filter(|m| gone(m.1)).map(|(k, v)| (k.clone(), *v)).collect();
        self.marks.retain(|_, at| !gone(at));
        Forgotten { marks, expected: before - self.expected.len() }
    }

    pub(super) fn undo(&mut self, watch: Watch<'_>) -> Result<Outcome, Diagnostic> {
        let Some(made) = self.history.done.pop_back() else {
            return Err(Diagnostic::new("S021", "there is no edit of this session to take back"));
        };
        let mut edits = self.program().edits.clone();
        edits.pop();
        edits.extend(made.dropped.iter().cloned());
        let mut line = format!("undone: {}", self.edit_words(&made.edit));
        let (why, lost) = self.rerun(edits, made.edit.at, watch);
        for (name, at) in &made.marks {
            self.marks.entry(name.clone()).or_insert(*at);
        }
        line.push_str(&back("edit", made.dropped.len()));
        line.push_str(&back("mark", made.marks.len()));
        line.push_str(&lost.words());
        line.push_str(&why);
        self.history.undone.push(made);
        Ok(Outcome::say(line))
    }

    pub(super) fn redo(&mut self, watch: Watch<'_>) -> Result<Outcome, Diagnostic> {
        let Some(made) = self.history.undone.pop() else {
            return Err(Diagnostic::new("S021", "there is no edit to make again"));
        };
        let mut edits = self.program().edits.clone();
        edits.truncate(edits.partition_point(|e| e.at <= made.edit.at));
        edits.push(made.edit.clone());
        let mut line = format!("redone: {}", self.edit_words(&made.edit));
        let (why, lost) = self.rerun(edits, made.edit.at, watch);
        line.push_str(&gone("edit", made.dropped.len()));
        line.push_str(&lost.words());
        line.push_str(&why);
        self.history.done.push_back(Made { marks: lost.marks, ..made });
        Ok(Outcome::say(line))
    }

    /// Goes on with other edits, the same up to event `from`, at the event at which it stands:
    /// why it came no further, and what it forgot.
    fn rerun(&mut self, edits: Vec<Edit>, from: u64, watch: Watch<'_>) -> (String, Forgotten) {
        let n = self.machine.n;
        let program = Arc::new(Program { edits, ..(**self.program()).clone() });
        self.timeline = self.timeline.with_edits(program, from);
        let mut why = String::new();
        let start = self.timeline.start().clone();
        let there = self.timeline.state_at(from, &start);
        let found = there.findings_so_far().clone();
        if n >= from {
            self.before = std::mem::replace(&mut self.machine, there);
            // One that would go on too long has gone there once already.
            why = self.goto(n, watch).unwrap_or_else(|d| d.message);
        }
        let lost = self.forget_after(from, &found);
        self.recount(from);
        (if why.is_empty() { why } else { format!("; {why}") }, lost)
    }

    pub(super) fn save(
        &self,
        file: &str,
        format: SaveFormat,
        over: bool,
    ) -> Result<Outcome, Diagnostic> {
        let p = self.program();
        if !p.schedule.is_calm() {
            let text = "the run follows an order that no program file holds";
            let help =
                "`order calm` first; `order` tells the lines that a script needs for this order";
            return Err(Diagnostic::new("S022", text).help(help));
        }
        let program = match (&p.module, p.edits.is_empty()) {
            (None, _) => p.clone(),
            (Some(_), true) => {
                let aside = p.aside.clone();
                Arc::new(Program { aside, ..module_run::record(p)? })
            }
            (Some(_), false) => {
                let text = "a module is saved as the record of its run, whose events are others than those at which the edits are made";
                let help =
                    "take the edits back with `undo`, save, and make them in the saved program";
                return Err(Diagnostic::new("S022", text).help(help));
            }
        };
        let effect = Effect::Save { file: file.to_owned(), format, over, program };
        Ok(Outcome { effect: Some(effect), ..Outcome::default() })
    }

    pub(super) fn info_edits(&self) -> Vec<String> {
        let p = self.program();
        let mut lines: Vec<String> = Vec::new();
        let own = self.history.own(p);
        for (i, e) in p.edits.iter().enumerate() {
            let from = if i < own { ", from the file" } else { "" };
            lines.push(format!("{}: {}{from}", i + 1, self.edit_words(e)));
        }
        if lines.is_empty() {
            lines.push("the run is as the program has it: no edits".to_owned());
        }
        for f in &self.machine.injected {
            let Some(q) = self.machine.queues.get(f.queue) else { continue };
            let name = cause::by_bit(f.dir, f.bit).map_or("?", |c| c.name);
            let slot = f.slot.map(|s| format!("[{s}]")).unwrap_or_default();
            lines.push(format!("{name} waits at {}.{}{slot}", q.id(), f.dir));
        }
        let (done, undone) = (self.history.done.len(), self.history.undone.len());
        lines.push(format!("{done} can be undone, {undone} can be made again"));
        lines
    }

    /// An edit and its event, in words.
    fn edit_words(&self, e: &Edit) -> String {
        format!("{} at event {}", e.change.words(self.program()), e.at)
    }

    /// What was stored in a slot by edits up to the position, the newest few.
    pub(super) fn slot_edits(&self, id: QueueId, dir: Dir, index: u64) -> Vec<String> {
        const SHOWN: usize = 8;
        let p = self.program();
        let Some(slot) = self.machine.queue(id).map(|q| q.ring(dir).slot_addr(index)) else {
            return Vec::new();
        };
        let hits = |e: &&Edit| match &e.change {
            Change::Store { addr, bytes } => {
                *addr < slot.saturating_add(DESC_BYTES as u64)
                    && slot < addr.saturating_add(bytes.len() as u64)
            }
            _ => false,
        };
        let upto = p.edits.partition_point(|e| e.at <= self.machine.n);
        let newest = p.edits[..upto].iter().rev().filter(hits).take(SHOWN);
        newest.map(|e| format!("  edited: {}", self.edit_words(e))).collect()
    }

    /// What was changed right after the event at which the session stands.
    pub(super) fn edited_here(&self) -> Vec<String> {
        let p = self.program();
        p.edits_at(self.machine.n)
            .iter()
            .map(|e| format!("edited: {}", e.change.words(p)))
            .collect()
    }
}

/// A number of things that went; nothing where it is 0.
fn gone(what: &str, n: usize) -> String {
    match n {
        0 => String::new(),
        1 => format!("; a later {what} went with it"),
        n => format!("; {n} later {what}s went with it"),
    }
}

/// A number of things that came back.
fn back(what: &str, n: usize) -> String {
    match n {
        0 => String::new(),
        1 => format!("; a later {what} is back"),
        n => format!("; {n} later {what}s are back"),
    }
}

/// A value in decimal where that is short, else in hex.
fn shown(v: u64) -> String {
    if v < 1 << 16 { v.to_string() } else { format!("{v:#x}") }
}

/// Refuses a value of more bits than there are.
fn fits(name: &str, bits: u8, value: u64) -> Result<(), Diagnostic> {
    let most = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
    if value <= most {
        return Ok(());
    }
    let bits = if bits == 1 { "1 bit".to_owned() } else { count_of(bits, "bit") };
    let text = format!("{} does not fit {name}, which has {bits}", shown(value));
    Err(refuse(text).help(format!("0 to {}", shown(most))))
}

/// What can be set, as advice.
const SETTABLE: &str = "a word or field of a slot, memory, the marker, a register of a ring, or one of next_desc_idx, next_cdesc_idx, desc_ring_id, head, tail";

/// Why something that has a value cannot be set, and what can instead.
fn read_only(name: &str) -> Diagnostic {
    let (why, help) = match name {
        "addr" | "base" => (
            "it is where the ring lies",
            "the engine's base is in the registers drbp_low and drbp_high",
        ),
        "life" => ("it follows from the cursors", "set a cursor or ring a doorbell"),
        "size" => ("it is how the ring was made", "the engine's length is in the register drl"),
        "free" => ("it follows from the cursors", "set next_desc_idx or next_cdesc_idx"),
        "posted" | "drtp" => {
            ("it is what doorbells have posted", "set `tail`, or ring with the register drtp_inc")
        }
        "fetched" | "visible" | "retired" | "drhp" => {
            ("the engine moves it", "set `head`, where the engine goes on")
        }
        "staged" => ("it counts what was staged", "set next_desc_idx"),
        "acked" => ("it counts what was acked", "set next_cdesc_idx"),
        "event" => ("it is where the session stands", "`goto` moves it"),
        "end" | "time" | "batch" | "phase" | "ret" | "faults" | "findings" | "timeouts"
        | "batches" => ("it tells what happened", "change what leads to it"),
        _ => ("nothing can be stored there", SETTABLE),
    };
    refuse(format!("`{name}` cannot be set: {why}")).help(help)
}

#[cfg(test)]
mod tests;
