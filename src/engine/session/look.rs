//! The verbs that look: `print`, `x`, `info`; pages of codes and faults.

use super::eval::queue_of;
use super::{EvalError, Outcome, Session};
use crate::bir::exec::Item;
use crate::bir::{Body, Pos};
use crate::diag::render::place;
use crate::diag::terms::term;
use crate::diag::{self, Diagnostic};
use crate::engine::command::{ExamineFormat, Form, Info};
use crate::engine::expr::{Expr, QueueRef};
use crate::engine::program::{Program, QueueId};
use crate::engine::ring::event::MarkerWord;
use crate::engine::ring::{Event, EventKind, Role, life};
use crate::limits::{MAX_EXAMINE_BYTES, MAX_RUN_SAME_CODE};
use crate::udma::profile::MARKER;
use crate::udma::{DESC_BYTES, Desc, Dir, Errno, Generation, cause, count_of, describe, reg};

/// An instruction as the loaded module has it; one that lowering added by its own name.
pub fn inst_words(p: &Program, pos: Pos, item: Item) -> String {
    let added = p.module.as_ref().filter(|_| pos == Pos::ADDED);
    match added.and_then(|m| m.exec.inst(item)) {
        Some(i) => format!("%{} {}", i.name, i.opcode),
        None => p.inst_text(pos),
    }
}

/// An event in one line, without its number and agent.
pub fn describe_event(p: &Program, e: &Event) -> String {
    let at = |a: u64| p.name_addr(a);
    match e.kind {
        EventKind::Call { op } => match p.script.get(op as usize) {
            Some(s) if !s.note.is_empty() => format!("call {}: {}", s.op.verb(), s.note),
            Some(s) => format!("call {}", s.op.verb()),
            None => "call".to_owned(),
        },
        EventKind::CallReturn { op, ret } => {
            let verb = p.script.get(op as usize).map_or("call", |s| s.op.verb());
            match ret {
                crate::engine::ring::Ret::Code(c) if c < -1 => {
                    format!("{verb} returns {c} ({})", Errno(c).name())
                }
                ret => format!("{verb} returns {ret}"),
            }
        }
        EventKind::Stage { role, src, dst, size, barrier_code, ret, tx, rx, .. } => {
            let what = if role == Role::Marker { "completion pair" } else { "pair" };
            let barrier = match barrier_code {
                0 => String::new(),
                code => match crate::udma::Barrier::from_code(code) {
                    Some(b) => format!(", {b}"),
                    None => format!(", barrier code {code}"),
                },
            };
            let text = format!(
                "stage {what} tx[{}] rx[{}] {size} B {} -> {}{barrier}",
                tx.slot,
                rx.slot,
                at(src),
                at(dst)
            );
            if ret == crate::engine::ring::Ret::OK {
                text
            } else {
                format!("{text}: refused, {ret}")
            }
        }
        EventKind::CopyIn { dir, slot, count, .. } => {
            format!(
                "copy in {count_descriptors} to {dir}[{slot}]",
                count_descriptors = count_of(count, "descriptor")
            )
        }
        EventKind::Inst { pos, item } => inst_words(p, pos, item),
        EventKind::InstDone { pos, item } => {
            let run = p.module.as_ref().and_then(|m| m.exec.inst(item));
            // Its body is run by instructions of their own, which come now.
            let holds_others = run.is_some_and(|i| {
                matches!(i.body, Body::Loop(_) | Body::DynamicLoop(_) | Body::DoWhile(_))
            });
            let what = if holds_others { "is entered" } else { "is complete" };
            format!("{} {what}", inst_words(p, pos, item))
        }
        EventKind::Blocked { pos } => format!("stands for ever at {}", p.inst_text(pos)),
        EventKind::Patch { dir, slot, addr, .. } => {
            format!("patch {dir}[{slot}]: its address is {}", at(addr))
        }
        EventKind::SemWait { id, value } => format!("semaphore {id} is at least {value}"),
        EventKind::SemUpdate { id, add } => format!("semaphore {id} += {add}"),
        EventKind::MarkerWrite { word, addr, value } => {
            let word = if word == MarkerWord::Src { "source" } else { "polled" };
            format!("marker {word} word {} := {value:#010x}", at(addr))
        }
        EventKind::Store { addr, len } => format!("store {len} B to {}", at(addr)),
        EventKind::Land { addr, len } => {
            format!("the store of {len} B to {} reaches memory", at(addr))
        }
        EventKind::CopyStart { m2s, s2m, .. } => format!("trigger tx {m2s} rx {s2m}"),
        EventKind::CopyStartReturn { ret, .. } => format!("trigger returns {ret}"),
        EventKind::CpuFence => "fence".to_owned(),
        EventKind::MmioWrite { offset, value, lost, .. } => {
            let lost = if lost { ", lost by the device" } else { "" };
            match reg::name_at(offset) {
                Some(r) if r.name == "drtp_inc" => {
                    let dir = r.queue.map_or("", |q| q.0.name());
                    format!("doorbell {dir} {value}{lost}")
                }
                Some(r) => format!("write {r} = {value:#x}{lost}"),
                None => format!("write {offset:#x} = {value:#x}{lost}"),
            }
        }
        EventKind::WaitBudget { count, first_us, following, asynchronous, .. } => {
            let kind = if asynchronous { "async " } else { "" };
            format!("{kind}wait for {count}: first {first_us} us, then {following}")
        }
        EventKind::Delay { us } => format!("sleep {us} us"),
        EventKind::Poll { addr, reads, value } => {
            let times = if reads == 1 {
                String::new()
            } else {
                format!(" {reads_times}", reads_times = count_of(reads, "time"))
            };
            format!("poll {}{times}: {value:#010x}", at(addr))
        }
        EventKind::PollIdle { reads, idle, .. } => {
            let times = if reads == 1 {
                String::new()
            } else {
                format!(" {reads_times}", reads_times = count_of(reads, "time"))
            };
            format!("poll the engine{times}: {}", if idle { "idle" } else { "busy" })
        }
        EventKind::Ack { dir, count, before, after, .. } => {
            format!("ack {dir} {count}: next_cdesc_idx {before} -> {after}")
        }
        EventKind::Device(d) => format!("scenario: {d:?}"),
        EventKind::Fetch { dir, slot, .. } => format!("fetch {dir}[{slot}]"),
        EventKind::Read { slot, addr, len } => format!("read tx[{slot}] {len} B from {}", at(addr)),
        EventKind::Visible { slot, addr, len } => {
            format!("visible rx[{slot}] {len} B at {}", at(addr))
        }
        EventKind::Retire { tx, rx, .. } => {
            let one = |dir, s: Option<u64>| s.map(|s| format!(" {dir}[{s}]")).unwrap_or_default();
            format!("retire{}{}", one("tx", tx), one("rx", rx))
        }
        EventKind::Fault { dir, bit, slot, addr, aborted, injected } => {
            let name = cause::by_bit(dir, bit).map_or("?", |c| c.name);
            let what = if injected { "injected fault" } else { "fault" };
            let end =
                if aborted { "the engine aborts (MODEL)" } else { "masked, it goes on (MODEL)" };
            format!("{what} {name} at {dir}[{slot}], address {addr:#x}: {end}")
        }
        EventKind::Stall { dir, slot, why } => {
            format!("stall at {dir}[{slot}]: {} (MODEL)", why.words())
        }
    }
}

impl Session {
    pub(super) fn print(&mut self, expr: &Expr, form: Option<Form>) -> Result<Outcome, Diagnostic> {
        let text = printed(self.value(expr)?, form);
        Ok(Outcome::say(format!("{expr} = {text}")))
    }

    pub(super) fn examine(
        &mut self,
        format: ExamineFormat,
        addr: Option<&Expr>,
    ) -> Result<Outcome, Diagnostic> {
        let start = match addr {
            Some(e) => self.place_or_value(e)?,
            None => self.examine_next,
        };
        let width = u64::from(format.width.max(1));
        let bytes = format.count.saturating_mul(width);
        if bytes > MAX_EXAMINE_BYTES {
            let text = format!(
                "{bytes} are more than {MAX_EXAMINE_BYTES}",
                bytes = count_of(bytes, "byte")
            );
            return Err(Diagnostic::new("S003", text));
        }
        let per_line = if format.form == Form::Desc { 1 } else { (16 / width).max(1) };
        let mut lines = Vec::new();
        let mut at = start;
        let mut left = format.count;
        while left > 0 {
            let n = left.min(per_line);
            let mut line = format!("{:>18}", format!("{at:#x}"));
            if n == per_line || lines.is_empty() {
                let name = self.machine.memory.region_at(at).map_or("", |r| r.name.as_str());
                line = format!("{line} {name:<10}");
            }
            for i in 0..n {
                line.push(' ');
                line.push_str(&self.unit(at.wrapping_add(i * width), &format));
            }
            lines.push(line);
            at = at.wrapping_add(n * width);
            left -= n;
        }
        self.examine_next = at;
        Ok(Outcome::list(lines))
    }

    /// Where `x` begins: at what an expression says, at the word that a marker is, or at a slot.
    fn place_or_value(&mut self, e: &Expr) -> Result<u64, Diagnostic> {
        let queue = match e {
            Expr::Name(n) if n == "marker" => QueueRef::Selected,
            Expr::Queue { queue, path } if path.len() == 1 && path[0] == "marker" => *queue,
            Expr::Slot { queue, dir, index, path } if path.is_empty() => {
                let (queue, dir, index) = (*queue, *dir, index.clone());
                return self.value(&Expr::Slot {
                    queue,
                    dir,
                    index,
                    path: vec!["addr".to_owned()],
                });
            }
            _ => return self.value(e),
        };
        let id = queue_of(self, &queue).map_err(EvalError::into_diagnostic)?;
        Ok(self.machine.queue(id).map_or(0, |q| q.marker.wrapping_add(4)))
    }

    /// One unit of memory as `x` shows it.
    fn unit(&self, addr: u64, format: &ExamineFormat) -> String {
        let width = usize::from(format.width.clamp(1, 16));
        let digits = value_text(0, format.width, format.form).chars().count();
        let blank = |c: char| c.to_string().repeat(digits.min(18));
        let mem = &self.machine.memory;
        if mem.outside(addr, width as u64).is_some() {
            return blank('.');
        }
        let mut bytes = [0; DESC_BYTES];
        let known = mem.read(addr, &mut bytes[..width]);
        if known.never_written.is_some() {
            return blank('-');
        }
        if known.unknown.is_some() {
            return blank('?');
        }
        if format.form == Form::Desc {
            let d = Desc::from_bytes(&bytes);
            return format!("{:08x} {:08x} {:016x}", d.len_ctrl, d.word1, d.ptr);
        }
        let mut low = [0; 8];
        low.copy_from_slice(&bytes[..8]);
        value_text(u64::from_le_bytes(low), format.width, format.form)
    }

    pub(super) fn info(
        &mut self,
        what: Info,
        queue: Option<&QueueRef>,
    ) -> Result<Outcome, Diagnostic> {
        let id = match queue {
            Some(q) => Some(queue_of(self, q).map_err(EvalError::into_diagnostic)?),
            None => self.selected(),
        };
        if what == Info::Queue
            && let Some(id) = id
        {
            self.select(id);
        }
        let none = || Diagnostic::new("S005", "the program has no queue");
        Ok(Outcome::list(match what {
            Info::Rings => self.info_rings(),
            Info::Queue => self.info_queue(id.ok_or_else(none)?),
            Info::Regs => self.info_regs(id.ok_or_else(none)?),
            Info::Marker => self.info_marker(id.ok_or_else(none)?),
            Info::Memory => self.info_memory(),
            Info::Breakpoints => self.info_breakpoints(),
            Info::Faults => self.info_faults(),
            Info::Batches => self.info_batches(),
            Info::Races => self.info_races(),
            Info::Budget => self.info_budget()?,
            Info::Edits => self.info_edits(),
            // Text that the caller makes.
            Info::Checks => id.map(|_| Vec::new()).ok_or_else(none)?,
            Info::Display => self.info_display(),
            Info::Reload => self.info_reload(),
        }))
    }

    fn info_rings(&self) -> Vec<String> {
        let mut out = vec![format!(
            "{:<10} {:<3} {:>18} {:>8} {:>8} {:>8} {:>8} {:>8}",
            "queue", "dir", "base", "slots", "free", "posted", "retired", "phase"
        )];
        for q in &self.machine.queues {
            for dir in Dir::BOTH {
                let (sw, hw) = (q.sw(dir), q.hw(dir));
                out.push(format!(
                    "{:<10} {:<3} {:>18} {:>8} {:>8} {:>8} {:>8} {:>8}",
                    q.id().to_string(),
                    dir.name(),
                    format!("{:#x}", q.ring(dir).base),
                    sw.size,
                    q.free(dir).map_or("-".to_owned(), |n| n.to_string()),
                    hw.posted,
                    hw.retired,
                    sw.desc_ring_id
                ));
            }
        }
        out
    }

    pub(super) fn info_queue(&self, id: QueueId) -> Vec<String> {
        let Some(q) = self.machine.queue(id) else { return Vec::new() };
        let arch = self.program().arch;
        let place = if reg::engine_base(arch, id.engine).is_none() {
            format!(", on an engine that {arch} does not have")
        } else if arch.is_reserved_queue(id.engine, id.queue) {
            ", kept for the firmware".to_owned()
        } else {
            String::new()
        };
        let mut out = vec![format!(
            "queue {id}{place}, {}, {}",
            if q.ready { "initialised" } else { "not initialised" },
            if q.decl.allocatable {
                "slots are handed out by the driver"
            } else {
                "authored elsewhere"
            }
        )];
        for dir in Dir::BOTH {
            let (sw, hw) = (q.sw(dir), q.hw(dir));
            out.push(format!(
                "  {dir}: {} at {:#x}{}, next_desc_idx {}, next_cdesc_idx {}, phase {}",
                count_of(sw.size, "slot"),
                q.ring(dir).base,
                q.free(dir).map_or(String::new(), |n| format!(", {n} free")),
                sw.next_desc_idx,
                sw.next_cdesc_idx,
                sw.desc_ring_id
            ));
            out.push(format!(
                "      staged {}, posted {}, fetched {}, visible {}, retired {}, acked {}; engine expects phase {} (MODEL)",
                sw.staged, hw.posted, hw.fetched, hw.visible, hw.retired, sw.acked, hw.ring_id
            ));
        }
        if let Some(stall) = q.stalled {
            out.push(format!("  stalled (MODEL): {}", stall.words()));
        }
        if self.machine.aborted.contains(&id.engine) {
            out.push("  the engine has aborted".to_owned());
        }
        out
    }

    fn info_regs(&self, id: QueueId) -> Vec<String> {
        let mut out = Vec::new();
        for dir in Dir::BOTH {
            for r in reg::QUEUE_REGS.iter().filter(|r| r.has(dir)) {
                let Some(v) = self.machine.queue_reg(id, dir, r.name) else { continue };
                let rows: Vec<String> = reg::describe(r.fields, v)
                    .iter()
                    .map(|f| match f.hi - f.lo {
                        // Addresses, and parts of them.
                        24.. => format!("{} {:#x}", f.name, f.value),
                        _ => format!("{} {}", f.name, f.value),
                    })
                    .collect();
                out.push(format!(
                    "{dir} {:<12} {:#07x} {v:#010x}  {}",
                    r.name,
                    reg::queue_block(dir, id.queue) + r.offset,
                    rows.join(", ")
                ));
            }
        }
        out
    }

    pub(super) fn info_marker(&self, id: QueueId) -> Vec<String> {
        let Some(q) = self.machine.queue(id) else { return Vec::new() };
        let p = self.program();
        let mem = &self.machine.memory;
        let mut out: Vec<String> = [("source", q.marker), ("polled", q.marker.wrapping_add(4))]
            .into_iter()
            .map(|(name, addr)| {
                let known = mem.known(addr, 4);
                let value = match (mem.outside(addr, 4), known.never_written, known.unknown) {
                    (Some(_), ..) => "outside every region".to_owned(),
                    (_, Some(_), _) => "never written".to_owned(),
                    (_, _, Some(_)) => "unknown".to_owned(),
                    _ => format!("{:#010x}", mem.read_u32(addr)),
                };
                format!("{name} word {} ({addr:#x}): {value}", p.name_addr(addr))
            })
            .collect();
        out.push(format!("the host waits for {MARKER:#010x} in the polled word"));
        if let Some(poll) = self.machine.cpu().poll {
            out.push(format!(
                "polling: {} made, {} left",
                count_of(poll.told + poll.untold, "read"),
                poll.left
            ));
        }
        out
    }

    fn info_memory(&self) -> Vec<String> {
        self.machine
            .memory
            .regions()
            .iter()
            .map(|r| {
                format!(
                    "{:#018x} .. {:#018x} {:>12} B {:<8} {}",
                    r.base,
                    r.base.saturating_add(r.len),
                    r.len,
                    r.kind.name(),
                    diag::render::printable(&r.name)
                )
            })
            .collect()
    }

    fn info_faults(&self) -> Vec<String> {
        if self.machine.findings.is_empty() {
            return vec!["nothing found up to here".to_owned()];
        }
        let line = |d: &Diagnostic| {
            format!("{}[{}] {}: {}", d.severity, d.code, place(&d.place), d.message)
        };
        let mut lines: Vec<String> = self.machine.findings.iter().map(line).collect();
        for (code, n) in &self.machine.finding_counts {
            if *n > MAX_RUN_SAME_CODE {
                lines.push(format!("{} more of {code}", n - MAX_RUN_SAME_CODE));
            }
        }
        lines
    }

    fn info_batches(&self) -> Vec<String> {
        let line = |q: &crate::engine::ring::queue::Queue| {
            format!("{}: {} rung, {} acked or given up", q.id(), q.batches, q.ledger.done())
        };
        self.machine.queues.iter().map(line).collect()
    }

    /// The descriptor that lies in a slot now, and what the slot is at.
    pub fn slot(&self, id: QueueId, dir: Dir, index: u64) -> Option<(Desc, life::Life)> {
        let q = self.machine.queue(id)?;
        let ring = q.ring(dir);
        if index >= ring.size {
            return None;
        }
        let mut bytes = [0; DESC_BYTES];
        self.machine.memory.read(ring.slot_addr(index), &mut bytes);
        let desc = Desc::from_bytes(&bytes);
        Some((desc, life::of_program(self.program(), q, dir, index, !desc.is_zero())))
    }
}

/// A descriptor in words: the sentence, then every field of every word, one line each.
pub(super) fn explain_desc(desc: Desc, dir: Dir, arch: Generation) -> Vec<String> {
    let mut lines = vec![format!("  {}", describe::sentence(desc, dir, arch))];
    let mut above = None;
    for row in describe::explain(desc, dir, arch) {
        if above != Some((row.word, row.class)) {
            let digits = usize::from(row.word.bits() / 4);
            lines.push(match row.class {
                Some(class) => format!("  {} read as {class}", row.word.name()),
                None => {
                    format!("  {} = {:#0w$x}", row.word.name(), desc.word(row.word), w = digits + 2)
                }
            });
            above = Some((row.word, row.class));
        }
        lines.push(format!(
            "    {:>5}  {:<18} {:<28} {}",
            row.bits(),
            row.name,
            row.words,
            row.meaning
        ));
    }
    for note in describe::notes(desc, dir, arch) {
        lines.push(format!("  {}: {}", note.code, note.text));
    }
    lines
}

/// The page of a diagnostic code or of a fault.
///
/// # Errors
/// S005: it is neither.
pub(super) fn explain_code(name: &str, arch: Generation) -> Result<Outcome, Diagnostic> {
    if let Some(c) = diag::lookup(name) {
        return Ok(Outcome::list(vec![
            format!("{} ({}): {}", c.code, c.severity, c.title),
            c.meaning.to_owned(),
            format!("How it arises: {}", c.cause),
            format!("Example: {}", c.example()),
            format!("What to do: {}", c.fix),
        ]));
    }
    let mut lines = Vec::new();
    for c in cause::CAUSES.iter().filter(|c| c.name.eq_ignore_ascii_case(name)) {
        lines.push(format!("{} {} ({}, bit {}): {}", c.group(), c.name, c.dir, c.bit, c.meaning));
        lines.push(format!("  How it arises (MODEL): {}", c.arises));
        lines.push(format!("  What it does: {}", c.effect(arch)));
        lines.push(format!("  What to do: {}", c.fix));
    }
    if let (true, Some(t)) = (lines.is_empty(), term(name)) {
        lines = vec![t.heading(), t.meaning.to_owned(), format!("docs/{} tells more.", t.page)];
    }
    if lines.is_empty() {
        let text = format!("`{name}` is no code, no fault and no term");
        return Err(Diagnostic::new("S005", text));
    }
    Ok(Outcome::list(lines))
}

/// A value as `print` and `display` show it.
pub(super) fn printed(v: u64, form: Option<Form>) -> String {
    match form {
        None if v < 10 => v.to_string(),
        // What a call returned, or a difference below 0.
        None if v.cast_signed() < 0 && v.cast_signed() > -(1 << 32) => {
            format!("{v} ({v:#x}, signed {})", v.cast_signed())
        }
        None => format!("{v} ({v:#x})"),
        Some(form) => value_text(v, 8, form),
    }
}

/// A value in a form; hexadecimal and binary are as wide as its bytes.
fn value_text(v: u64, width: u8, form: Form) -> String {
    let bits = u32::from(width.clamp(1, 8)) * 8;
    let v = if bits == 64 { v } else { v & ((1 << bits) - 1) };
    match form {
        Form::Hex | Form::Desc => format!("{v:#0w$x}", w = bits as usize / 4 + 2),
        Form::Decimal => v.to_string(),
        Form::Binary => format!("{v:#0w$b}", w = bits as usize + 2),
        Form::Char => v
            .to_le_bytes()
            .iter()
            .take(bits as usize / 8)
            .map(|b| if b.is_ascii_graphic() || *b == b' ' { char::from(*b) } else { '.' })
            .collect(),
    }
}
