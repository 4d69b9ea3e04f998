//! `explain`: a slot with every bit, a place, a queue, a register, a code or a fault in words
//! (`docs/causes.md`, "explain").

use super::super::look::{explain_code, explain_desc};
use super::super::stops;
use super::{Swept, initial, words};
use crate::diag::Diagnostic;
use crate::diag::terms::term;
use crate::engine::command::{COMMANDS, Explain, Loc, Subject};
use crate::engine::program::QueueId;
use crate::engine::ring::{Event, EventKind, Life, Machine};
use crate::engine::session::{EvalError, Outcome, Session, Watch, describe_event, queue_of};
use crate::udma::profile::MARKER;
use crate::udma::{Dir, count_of, reg};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// Lines of one answer; what is beyond is counted in words.
const MOST_LINES: usize = 4096;

impl Session {
    pub(in crate::engine::session) fn explain(
        &mut self,
        what: &Explain,
        watch: Watch<'_>,
    ) -> Result<Outcome, Diagnostic> {
        let mut cancelled = false;
        let watch: Watch<'_> = &mut |p| {
            let go_on = watch(p);
            cancelled |= go_on.is_break();
            go_on
        };
        let mut lines = match what {
            Explain::Code(name) => return explain_code(name, self.program().arch),
            Explain::Register(name) => self.explain_register(name),
            Explain::Queue(queue) | Explain::Loc(Loc::Queue(queue)) => {
                let id = queue_of(self, queue).map_err(EvalError::into_diagnostic)?;
                self.explain_queue(id)
            }
            Explain::Loc(Loc::Slots { queue, dir, first, last }) => {
                let id = queue_of(self, queue).map_err(EvalError::into_diagnostic)?;
                self.explain_slots(id, *dir, (*first, *last), watch)?
            }
            Explain::Loc(Loc::Marker) => self.explain_marker(watch)?,
            Explain::Loc(Loc::Doorbell(_)) => self.explain_register("drtp_inc"),
            Explain::Loc(Loc::Fault) => self.explain_faults(),
            Explain::Loc(Loc::Batch(n)) => self.explain_batch(*n, watch)?,
            Explain::Loc(Loc::Event(n)) => self.explain_event(*n, watch)?,
            Explain::Loc(Loc::Addr(addr)) => self.explain_addr(*addr, watch)?,
            Explain::Loc(Loc::Inst(name)) => {
                return self.provenance(&Subject::Inst(name.clone()), watch);
            }
            Explain::Loc(Loc::Name(name)) if self.program().module.is_none() => {
                let Some(area) = self.area_named(name) else {
                    if term(name).is_some() {
                        return explain_code(name, self.program().arch);
                    }
                    let usage =
                        COMMANDS.iter().find(|c| c.name == "explain").map_or("", |c| c.usage);
                    let d = Diagnostic::new("S003", format!("`{name}` is no code, fault or place"));
                    return Err(d.help(format!("usage: explain {usage}")));
                };
                self.explain_addr(area.addr, watch)?
            }
            Explain::Loc(Loc::Name(name)) => {
                let known = self.provenance(&Subject::Name(name.clone()), watch);
                return match term(name) {
                    // What the module has of that name comes first.
                    Some(_) if known.is_err() => explain_code(name, self.program().arch),
                    _ => known,
                };
            }
            Explain::Loc(Loc::Within(name, offset)) => {
                let text = || format!("no location or region is named `{name}`");
                let area = self.area_named(name).ok_or_else(|| Diagnostic::new("S005", text()))?;
                self.explain_addr(area.addr.wrapping_add(*offset), watch)?
            }
            Explain::Loc(Loc::Line(n)) => {
                let text = "a line of a file has no bits";
                return Err(
                    Diagnostic::new("S003", text).help(format!("`break line {n}` stops at it"))
                );
            }
            Explain::Loc(Loc::Pass(stage)) => {
                let text = "a stage has no bits";
                return Err(Diagnostic::new("S003", text).help(format!("`pass {stage}` shows it")));
            }
        };
        if cancelled {
            lines.push("cancelled: not every event was looked at".to_owned());
        }
        Ok(Outcome::list(lines))
    }

    fn explain_slots(
        &mut self,
        id: QueueId,
        dir: Dir,
        (first, last): (u64, u64),
        watch: Watch<'_>,
    ) -> Result<Vec<String>, Diagnostic> {
        let size = self.machine.queue(id).map_or(0, |q| q.ring(dir).size);
        if last >= size {
            let text = format!("{id}.{dir}[{last}] is not in the ring, which has {size}");
            return Err(Diagnostic::new("S005", text));
        }
        // More slots than lines are never shown.
        let shown = last.min(first.saturating_add(MOST_LINES as u64));
        let touched = self.touched(id, dir, (first, shown), watch);
        let mut lines = Vec::new();
        for index in first..=last {
            let Some((desc, life)) = self.slot(id, dir, index) else { continue };
            let Some(q) = self.machine.queue(id) else { continue };
            lines.push(format!("{id}.{dir}[{index}], {}", words::life(life, q, dir)));
            lines.extend(self.slot_edits(id, dir, index));
            if let Some(e) = touched.get(&index) {
                let batch =
                    if e.batch == 0 { String::new() } else { format!("batch {}, ", e.batch) };
                let text = describe_event(self.program(), e);
                lines.push(format!("  {batch}newest event {}, {}: {text}", e.n, e.agent));
            } else if life != Life::NeverWritten {
                lines.push("  no event has touched it".to_owned());
            }
            lines.extend(explain_desc(desc, dir, self.program().arch));
            if lines.len() > MOST_LINES {
                lines.push(format!(".. and {} more slots", last - index));
                break;
            }
        }
        Ok(lines)
    }

    /// The newest event that touched each slot of a range.
    fn touched(
        &mut self,
        id: QueueId,
        dir: Dir,
        (first, last): (u64, u64),
        watch: Watch<'_>,
    ) -> BTreeMap<u64, Event> {
        let mut found = BTreeMap::new();
        let note = &mut |_: &Machine, e: &Event| {
            let hits: Vec<(u64, u64)> = stops::slots(e)
                .into_iter()
                .flatten()
                .filter(|s| (s.0, s.1) == (id, dir))
                .filter_map(|s| super::shared((s.2, s.3), (first, last - first + 1)))
                .collect();
            (!hits.is_empty()).then_some((*e, hits))
        };
        let from = self.position();
        let all = (last - first).saturating_add(1);
        let _ = self.find_back(from, watch, note, &mut |_, (e, hits)| {
            for (slot, n) in hits {
                for s in slot..slot + n {
                    found.entry(s).or_insert(e);
                }
            }
            if found.len() as u64 == all {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        found
    }

    fn explain_marker(&mut self, watch: Watch<'_>) -> Result<Vec<String>, Diagnostic> {
        let word = self.marker_word()?;
        let Some(id) = self.selected() else { return Ok(Vec::new()) };
        let mut lines = vec![
            format!(
                "the marker of {id}: completion is a 4-byte copy, the last pair of a batch, from the source word to the polled word"
            ),
            format!(
                "the CPU seeds {MARKER:#010x} and 0 before the batch, polls for {MARKER:#010x}, then writes 0 and {MARKER:#010x} again and acks"
            ),
        ];
        lines.extend(self.info_marker(id));
        let (writers, _) = self.writers(self.position(), (word, 4), watch);
        for (part, event) in writers {
            match event {
                Some(e) => lines.extend(self.writer_lines(part, &e)),
                None => {
                    let memory = self.timeline.start().memory.clone();
                    for (s, from) in initial::of(self.program(), &memory, part) {
                        let words = from.words(self.program(), &memory, s.0);
                        lines.push(format!("{}: no event wrote it; {words}", self.span_words(s)));
                    }
                }
            }
        }
        lines.push("`why` tells what keeps it from flipping".to_owned());
        Ok(lines)
    }

    fn explain_faults(&self) -> Vec<String> {
        let mut lines = vec![
            "a fault is a cause that the engine finds: armed it aborts the engine, masked it is only recorded (MODEL)".to_owned(),
        ];
        if self.machine.causes.is_empty() {
            lines.push("no cause was found up to here".to_owned());
        }
        for (id, dir, bit, slot) in self.machine.causes.iter().take(MOST_LINES) {
            let Some(c) = crate::udma::cause::by_bit(*dir, *bit) else { continue };
            let armed = crate::udma::cause::armed(self.program().arch, id.engine, c);
            let end = if armed { "armed" } else { "masked" };
            lines.push(format!("{id}.{dir}[{slot}]: {}, {end}: {}", c.name, c.meaning));
        }
        lines
    }

    /// A batch of the selected queue, from the events up to here.
    fn explain_batch(&mut self, n: u64, watch: Watch<'_>) -> Result<Vec<String>, Diagnostic> {
        let none = || Diagnostic::new("S005", "the program has no queue");
        let id = self.selected().ok_or_else(none)?;
        let mut events: Vec<Event> = Vec::new();
        let from = self.position();
        let note = &mut |m: &Machine, e: &Event| {
            let kind = !matches!(e.kind, EventKind::Inst { .. } | EventKind::InstDone { .. });
            let marker = m.queue(id).map_or(0, |q| q.marker);
            let mine = match e.kind {
                // These name no queue, but its marker.
                EventKind::Poll { addr, .. } | EventKind::MarkerWrite { addr, .. } => {
                    super::shared((addr, 4), (marker, 8)).is_some()
                }
                _ => e.queue() == Some(id),
            };
            (kind && mine && e.batch == n && n > 0).then_some(*e)
        };
        let _ = self.find_back(from, watch, note, &mut |_, e| {
            events.push(e);
            ControlFlow::<()>::Continue(())
        });
        events.reverse();
        let named = events.iter().any(|e| e.queue() == Some(id));
        if !named {
            let text = format!("no event up to here is of batch {n} of {id}");
            let has = self.machine.queue(id).map_or(0, |q| q.batches);
            return Err(Diagnostic::new("S005", text)
                .help(format!("{} rung in all", count_of(has, "batch"))));
        }
        Ok(self.batch_lines(id, n, &events))
    }

    fn batch_lines(&self, id: QueueId, n: u64, events: &[Event]) -> Vec<String> {
        let first = |fits: &dyn Fn(&EventKind) -> bool| events.iter().find(|e| fits(&e.kind));
        let count =
            |fits: &dyn Fn(&EventKind) -> bool| events.iter().filter(|e| fits(&e.kind)).count();
        let mut out = vec![format!(
            "batch {n} of {id}: events {} to {}",
            events.first().map_or(0, |e| e.n),
            events.last().map_or(0, |e| e.n)
        )];
        let pairs = count(
            &|k| matches!(k, EventKind::Stage { ret, .. } if *ret == crate::engine::ring::Ret::OK),
        );
        let refused = count(
            &|k| matches!(k, EventKind::Stage { ret, .. } if *ret != crate::engine::ring::Ret::OK),
        );
        let copied: u64 = events
            .iter()
            .filter_map(|e| match e.kind {
                EventKind::CopyIn { count, .. } => Some(count),
                _ => None,
            })
            .sum();
        let bytes: u64 = events
            .iter()
            .filter_map(|e| match e.kind {
                EventKind::Visible { len, .. } => Some(len),
                _ => None,
            })
            .sum();
        out.push(format!(
            "  staged: {pairs}, {copied_descriptors} copied in{}",
            if refused > 0 { format!(", {refused} refused") } else { String::new() },
            pairs = count_of(pairs, "pair"),
            copied_descriptors = count_of(copied, "descriptor")
        ));
        let mut stage = |name: &str, e: Option<&Event>| {
            out.push(match e {
                Some(e) => {
                    let text = describe_event(self.program(), e);
                    format!("  {name}: event {}, {} us: {text}", e.n, e.t_us())
                }
                None => format!("  {name}: not yet"),
            });
        };
        let bell = |k: &EventKind, want: Dir| {
            let EventKind::MmioWrite { offset, .. } = k else { return false };
            reg::name_at(*offset)
                .is_some_and(|r| r.name == "drtp_inc" && r.queue.is_some_and(|q| q.0 == want))
        };
        stage("RX doorbell", first(&|k| bell(k, Dir::Rx)));
        stage("TX doorbell", first(&|k| bell(k, Dir::Tx)));
        stage("first fetch", first(&|k| matches!(k, EventKind::Fetch { .. })));
        let last = events.iter().rev().find(|e| matches!(e.kind, EventKind::Visible { .. }));
        stage("last visible", last);
        let seen = |k: &EventKind| {
            matches!(
                k,
                EventKind::Poll { value: MARKER, .. } | EventKind::PollIdle { idle: true, .. }
            )
        };
        stage("marker seen", first(&seen));
        stage("acked", first(&|k| matches!(k, EventKind::Ack { dir: Dir::Tx, .. })));
        for fault in events
            .iter()
            .filter(|e| matches!(e.kind, EventKind::Fault { .. } | EventKind::Stall { .. }))
        {
            let text = describe_event(self.program(), fault);
            out.push(format!("  event {}: {text}", fault.n));
        }
        out.push(format!("  {bytes} made visible so far", bytes = count_of(bytes, "byte")));
        let start = format!("batch {n} timed out");
        let late = self.machine.findings.iter().find(|d| d.message.starts_with(&start));
        if let Some(d) = late {
            let event = d.place.event.unwrap_or(0);
            out.push(format!("  event {event}: {}; it is never acked", d.message));
        }
        out
    }

    fn explain_event(&mut self, n: u64, watch: Watch<'_>) -> Result<Vec<String>, Diagnostic> {
        if n == 0 {
            return Ok(vec!["event 0: the state before anything has happened".to_owned()]);
        }
        let here = self.position();
        let found = if n <= here {
            self.events(n, n.saturating_add(1)).into_iter().next()
        } else {
            let ask = &mut |_: &Machine, e: &Event| (e.n == n).then_some(*e);
            match self.find_forward(here, n - here, watch, ask) {
                Swept::Found(e, _) => Some(e),
                Swept::Cancelled => return Ok(Vec::new()),
                Swept::End(_) | Swept::Limit(_) => None,
            }
        };
        let Some(e) = found else {
            let end = self.end().map(|e| format!("; the last one is {e}")).unwrap_or_default();
            return Err(Diagnostic::new("S005", format!("the run has no event {n}{end}")));
        };
        let p = self.program().clone();
        let batch = if e.batch == 0 { String::new() } else { format!(", batch {}", e.batch) };
        let mut out = vec![
            format!(
                "event {n}, {}.{:03} us, {}{batch}: {}",
                e.t_us(),
                e.t_ns % 1000,
                e.agent,
                describe_event(&p, &e)
            ),
            format!("  {}: {}", e.kind.name(), words::event(&e.kind)),
        ];
        let after = self.state_at(n);
        for s in super::access::writes(&after, &e) {
            out.push(format!("  writes {}", self.span_words(s)));
        }
        let before = self.state_at(n - 1);
        for s in super::access::reads(&p, before.control.as_deref(), &after, &e) {
            out.push(format!("  reads {}", self.span_words(s)));
        }
        if let EventKind::Fetch { dir, desc, .. } = e.kind {
            out.extend(explain_desc(desc, dir, p.arch));
        }
        if let EventKind::Fault { dir, bit, .. } = e.kind
            && let Some(c) = crate::udma::cause::by_bit(dir, bit)
        {
            out.push(format!("  {}: {}; {}", c.name, c.meaning, c.arises));
        }
        out.extend(self.inst_line(&after, &e).map(|i| format!("  instruction {i}")));
        for d in after.findings.iter().filter(|d| d.place.event == Some(n)) {
            out.push(format!("  {}[{}]: {}", d.severity, d.code, d.message));
        }
        Ok(out)
    }

    fn explain_addr(&mut self, addr: u64, watch: Watch<'_>) -> Result<Vec<String>, Diagnostic> {
        let mut out = Vec::new();
        let m = self.machine.clone();
        let slot = self.slot_at(&m, addr);
        match initial::kind_words(&m.memory, addr) {
            Some(region) => {
                out.push(format!("{addr:#x} is {} in {region}", self.program().name_addr(addr)));
            }
            None => {
                out.push(format!("no memory is known at {addr:#x}"));
                return Ok(out);
            }
        }
        if let Some(l) = self.program().module.as_ref().and_then(|r| r.exec.layout().at(addr)) {
            let byte = l.position(addr).map(|b| format!(", byte {b}")).unwrap_or_default();
            out.push(format!("  memory location `{}` of the module{byte}", l.name));
        }
        let known = m.memory.known(addr, 1);
        let mut byte = [0];
        m.memory.read(addr, &mut byte);
        out.push(match (known.never_written, known.unknown) {
            (Some(_), _) => "  its byte was never written".to_owned(),
            (_, Some(_)) => "  its byte is not known".to_owned(),
            _ => format!("  its byte is {:#04x}", byte[0]),
        });
        for q in &m.queues {
            for (word, at) in [("source", q.marker), ("polled", q.marker.wrapping_add(4))] {
                if super::shared((addr, 1), (at, 4)).is_some() {
                    out.push(format!("  the {word} word of the marker of {}", q.id()));
                }
            }
        }
        let (writers, _) = self.writers(self.position(), (addr, 1), watch);
        for (part, event) in writers {
            match event {
                Some(e) => out.extend(self.writer_lines(part, &e)),
                None => {
                    let memory = self.timeline.start().memory.clone();
                    for (s, from) in initial::of(self.program(), &memory, part) {
                        let words = from.words(self.program(), &memory, s.0);
                        out.push(format!("  no event wrote it; {words}"));
                    }
                }
            }
        }
        if let Some((id, dir, slot)) = slot {
            out.extend(self.explain_slots(id, dir, (slot, slot), watch)?);
        }
        Ok(out)
    }

    fn explain_queue(&self, id: QueueId) -> Vec<String> {
        let mut out = self.info_queue(id);
        let Some(q) = self.machine.queue(id) else { return out };
        for dir in Dir::BOTH {
            let (sw, hw) = (q.sw(dir), q.hw(dir));
            let driver = match q.decl.allocatable {
                true => format!(
                    "the driver writes slot {} next with phase {}; ",
                    sw.next_desc_idx, sw.desc_ring_id
                ),
                false => String::new(),
            };
            let text = format!(
                "  {dir}: {driver}the engine fetches slot {} next and expects phase {} (MODEL); {} posted and not fetched, {} written and not posted",
                hw.slot(hw.fetched),
                hw.ring_id,
                hw.posted - hw.fetched,
                sw.staged.saturating_sub(hw.posted)
            );
            out.push(text);
        }
        out.push(format!(
            "  {} rung, {} acked or given up; the marker's polled word is {}",
            count_of(q.batches, "batch"),
            q.ledger.done(),
            self.program().name_addr(q.marker.wrapping_add(4))
        ));
        out.push("  `why` tells what it waits for".to_owned());
        out
    }

    fn explain_register(&self, name: &str) -> Vec<String> {
        let mut out = Vec::new();
        for dir in Dir::BOTH {
            let Some(r) = reg::queue_reg(dir, name) else { continue };
            let guard = if r.guarded { "; user space may not write it" } else { "" };
            out.push(format!(
                "{dir} {name}, at {:#x} of a queue's block: {}{guard}",
                r.offset, r.meaning
            ));
            let value = self.selected().and_then(|id| {
                let v = self.machine.queue_reg(id, dir, name)?;
                Some((id, v))
            });
            match value {
                Some((id, v)) => {
                    out.push(format!("  {id}: {v:#010x}"));
                    out.extend(fields(r.fields, Some(v)));
                }
                None => {
                    out.push("  not written yet in the selected queue".to_owned());
                    out.extend(fields(r.fields, None));
                }
            }
        }
        if let Some(r) = reg::engine_reg(name) {
            let many = if r.count > 1 { format!(", {} of them", r.count) } else { String::new() };
            out.push(format!(
                "{name}, at {:#x} of an engine's block{many}: {}",
                r.offset, r.meaning
            ));
            let engine = self.selected().map(|id| id.engine);
            for i in 0..r.count {
                let at = r.offset + i * r.stride;
                let value = engine.and_then(|e| self.machine.regs.get(&(e, at)).copied());
                if let Some(v) = value {
                    out.push(format!("  {at:#x}: {v:#010x}"));
                    out.extend(fields(r.fields, Some(v)));
                }
            }
            if out.len() == 1 {
                out.push("  not written in this run".to_owned());
                out.extend(fields(r.fields, None));
            }
        }
        out
    }
}

/// The bits of a register, with their values where it has one.
fn fields(table: &[reg::RegField], value: Option<u32>) -> Vec<String> {
    let line = |f: &reg::RegField| {
        let bits = if f.hi == f.lo { f.hi.to_string() } else { format!("{}:{}", f.hi, f.lo) };
        let value = value.map(|v| format!(" = {}", f.get(v))).unwrap_or_default();
        format!("    {bits:>5}  {}{value}: {}", f.name, f.meaning)
    };
    table.iter().map(line).collect()
}
