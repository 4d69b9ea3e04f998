//! The engine's part: aborted, standing, not begun, not told, in work.

use super::{Chain, View};
use crate::diag::Diagnostic;
use crate::engine::ring::Ret;
use crate::engine::ring::device::{self, Work};
use crate::engine::ring::event::{EventKind, Stall};
use crate::udma::profile::MARKER;
use crate::udma::{Dir, Errno, count_of};

/// An event's number, for the reader.
fn at_event(d: &Diagnostic) -> String {
    d.place.event.map(|n| format!(", event {n}")).unwrap_or_default()
}

impl View<'_> {
    /// Why the engine has not written the marker.
    pub(super) fn engine(&self, chain: &mut Chain) {
        if self.was_set(chain) {
            return;
        }
        if self.m.aborted.contains(&self.id().engine) {
            self.aborted(chain);
        } else if let Some(stall) = self.q.stalled {
            self.stalled(stall, chain);
        } else if self.q.has_work() {
            self.posted(chain);
        } else if self.refused(chain) || self.not_told(chain) {
        } else {
            self.nothing_to_do(chain);
        }
    }

    /// The word is the marker, but no descriptor made it so: a poll sees it whatever was done.
    fn was_set(&self, chain: &mut Chain) -> bool {
        if !self.is_set() {
            return false;
        }
        let word = self.word_name();
        match self.past.word {
            Some(e) if matches!(e.kind, EventKind::Visible { .. }) => return false,
            Some(e) => chain.cause(format!(
                "{word} is the marker although no descriptor wrote it: event {} stored it; a poll sees it at once, whatever was done",
                e.n
            )),
            None => chain.cause(format!(
                "{word} was the marker before the run, and nobody seeded it; a poll sees it at once, whatever was done"
            )),
        }
        true
    }

    /// A fault has stopped the engine.
    fn aborted(&self, chain: &mut Chain) {
        let engine = self.id().engine;
        let found = self.m.findings.iter().find(|d| {
            d.code == "R001" && d.place.slot.and_then(|s| s.queue).is_some_and(|q| q.0 == engine)
        });
        if let Some(d) = found {
            let slot = d.place.slot.map(|s| s.to_string()).unwrap_or_default();
            let more = self.fault_words(d).map(|w| format!(": {w}")).unwrap_or_default();
            chain.cause(format!("{slot}: {}{more}{} (MODEL)", d.message, at_event(d)));
        }
        chain.cause(format!(
            "the cause is armed, engine e{engine} is in Abort (MODEL): none of its queues does anything"
        ));
        self.not_executed(chain);
    }

    /// What exactly is wrong with the slot of a fault.
    fn fault_words(&self, d: &Diagnostic) -> Option<String> {
        let slot = d.place.slot?;
        let (engine, queue) = slot.queue?;
        let id = crate::engine::program::QueueId { engine, queue };
        let q = self.m.queue(id)?;
        let name = d.message.split(':').next()?;
        let desc = |dir| {
            let held = if dir == Dir::Tx { &q.packet.tx } else { &q.packet.rx };
            held.iter().find(|x| q.hw(dir).slot(x.k) == slot.index).map(|x| x.desc)
        };
        let data = || q.packet.tx.iter().filter(|x| !x.desc.is_meta()).count();
        Some(match (name, slot.dir) {
            ("PREFETCH_RING_ID", dir) => {
                // The expected phase has moved on where the slot ends its lap.
                let hw = q.hw(dir);
                let moved = u8::from(hw.slot(hw.fetched) == 0);
                let expected = hw.ring_id.wrapping_sub(moved) & 3;
                format!("the slot carries phase {}, {expected} is expected", desc(dir)?.ring_id())
            }
            ("PKT_LEN", Dir::Rx) => {
                let (has, needs) = (q.packet.rx_bytes, q.packet.need);
                let what = if has < needs { "too short" } else { "too long" };
                format!(
                    "the packet gives {needs_bytes}, its Rx descriptors take {has}: {what}",
                    needs_bytes = count_of(needs, "byte")
                )
            }
            ("PKT_LEN", Dir::Tx) => {
                format!("its packet has {} so far", count_of(q.packet.tx_bytes, "byte"))
            }
            ("PREFETCH_MAX_DESC", _) => format!("it is number {} of its packet", q.packet.tx.len()),
            ("PREFETCH_FIRST", _) => {
                let has = if desc(Dir::Tx)?.first() { "has" } else { "has no" };
                format!("it {has} FIRST and is data descriptor {} of its packet", data())
            }
            ("PREFETCH_LAST", _) => {
                let d = desc(Dir::Tx)?;
                let both =
                    if d.last() { "both LAST and CONCAT" } else { "neither LAST nor CONCAT" };
                format!("it has {both}")
            }
            ("DATA_AXI_RESP", dir) => {
                let what = if dir == Dir::Tx { "source" } else { "destination" };
                format!("its {what} lies outside every region of memory")
            }
            ("PREFETCH_AXI_RESP", _) => "the slot's own memory is in no region".to_owned(),
            _ => return None,
        })
    }

    fn stalled(&self, stall: Stall, chain: &mut Chain) {
        let (tx, rx) = (self.q.hw(Dir::Tx), self.q.hw(Dir::Rx));
        let p = &self.q.packet;
        match stall {
            Stall::RxNotArmed => {
                let lost = self.past.bells[1].filter(|b| b.lost);
                let staged = self.unposted(Dir::Rx);
                let missing = p.need.saturating_sub(p.rx_bytes);
                if let Some(b) = lost {
                    chain.cause(format!(
                        "the device lost the RX doorbell of event {}, for {} (a scenario, MODEL)",
                        b.event,
                        count_of(b.value, "descriptor")
                    ));
                } else if staged > 0 {
                    let slots = self.slots(Dir::Rx, rx.posted, staged);
                    let rung = match self.past.bells[1] {
                        Some(b) => {
                            format!("the RX doorbell of event {} was for {}", b.event, b.value)
                        }
                        None => "RX was never rung".to_owned(),
                    };
                    chain.cause(format!("{slots} is written and not posted: {rung}"));
                } else if let Some(first) = p.rx.front() {
                    chain.cause(format!(
                        "{} takes {} of the packet's {}: too short, and no more Rx descriptor is written",
                        self.slots(Dir::Rx, first.k, p.rx.len() as u64),
                        p.rx_bytes,
                        count_of(p.need, "byte")));
                } else {
                    chain.cause(format!(
                        "no Rx descriptor is written beyond the {} posted ones",
                        rx.posted
                    ));
                }
                chain.cause(format!(
                    "RX is not armed for what TX streams: {missing_bytes} of the packet at {} without an Rx descriptor; the queue stalls (MODEL)",
                    self.slots(Dir::Tx, p.tx.front().map_or(tx.fetched, |x| x.k), 1), missing_bytes = count_of(missing, "byte")));
            }
            Stall::PacketIncomplete => {
                let from = p.tx.front().map_or(tx.fetched, |x| x.k);
                let staged = self.unposted(Dir::Tx);
                let last = self.slots(Dir::Tx, tx.fetched.saturating_sub(1), 1);
                if staged > 0 {
                    let rung = self.past.bells[0].map_or(0, |b| b.event);
                    chain.cause(format!(
                        "the TX doorbell of event {rung} ends inside a packet: {} is written and not posted",
                        self.slots(Dir::Tx, tx.posted, staged)
                    ));
                } else if p.tx.last().is_some_and(|x| x.desc.is_meta()) {
                    chain.cause(format!("{last} is META, and no data descriptor follows"));
                } else {
                    chain.cause(format!(
                        "{last} has CONCAT and not LAST, and no descriptor follows"
                    ));
                }
                chain.cause(format!(
                    "the packet that begins at {} has no LAST: the queue stalls (MODEL)",
                    self.slots(Dir::Tx, from, 1)
                ));
            }
            Stall::NotExecuted => {
                let from = p.tx.front().map_or(tx.fetched, |x| x.k);
                let why = match &p.work {
                    Work::Refused(r) => r.words(),
                    _ => stall.words().to_owned(),
                };
                chain.cause(format!(
                    "the model does not execute the packet at {}: {why}; the queue stalls (MODEL)",
                    self.slots(Dir::Tx, from, 1)
                ));
            }
            Stall::Unresolved => {
                let held =
                    p.tx.iter().map(|x| (Dir::Tx, x)).chain(p.rx.iter().map(|x| (Dir::Rx, x)));
                for (dir, x) in held {
                    if let Err(var) = device::resolve(self.p, x.desc.ptr) {
                        chain.cause(format!(
                            "{} names variable {var}, which the program does not have; the queue stalls (MODEL)",
                            self.slots(dir, x.k, 1)
                        ));
                        break;
                    }
                }
            }
        }
        self.not_executed(chain);
    }

    /// What is posted is not done: held back, due later, or in work.
    fn posted(&self, chain: &mut Chain) {
        let waits = self.q.hw(Dir::Tx).posted - self.q.hw(Dir::Tx).retired;
        let slots = self.slots(Dir::Tx, self.q.hw(Dir::Tx).retired, waits);
        match self.q.due {
            None if self.m.held => {
                chain.cause("the device is held: doorbells start no work (a scenario, MODEL)");
                chain.cause(format!("{slots} is posted and not begun"));
                self.not_executed(chain);
            }
            None => {
                chain.cause(
                    "the device was held when TX was rung; the next TX doorbell or a kick starts it (a scenario, MODEL)",
                );
                chain.cause(format!("{slots} is posted and not begun"));
                self.not_executed(chain);
            }
            Some(due) if due > self.m.now_ns => {
                self.budget(chain);
                let begun = !self.q.packet.is_empty();
                let what = match begun {
                    true => "the engine takes its time (PARAM: speed)",
                    false => "the device has a latency (a scenario, MODEL)",
                };
                chain.cause(format!(
                    "{what}: it acts at {}, now it is {}",
                    super::host::time(due),
                    super::host::time(self.m.now_ns)
                ));
                self.in_work(chain);
            }
            Some(_) => {
                self.budget(chain);
                self.in_work(chain);
            }
        }
    }

    /// The staging call answered with an error, and nothing was done since.
    fn refused(&self, chain: &mut Chain) -> bool {
        let Some(e) = self.past.staged else { return false };
        let EventKind::Stage { ret: Ret::Code(code), tx, rx, .. } = e.kind else { return false };
        if code == 0 {
            return false;
        }
        if code == Errno::NOMEM.0 {
            let (free_tx, free_rx) = (tx.avail_before, rx.avail_before);
            chain.cause(format!(
                "the ring is full: staging at event {} returned -12 (ENOMEM), {free_tx} of tx and {free_rx} of rx were free",
                e.n
            ));
            self.where_slots_went(chain);
        } else {
            chain.cause(format!("staging at event {} was refused: it returned {code}", e.n));
        }
        let staged = self.unposted(Dir::Tx);
        if staged > 0 {
            let slots = self.slots(Dir::Tx, self.q.hw(Dir::Tx).posted, staged);
            chain.cause(format!("nothing is rung: {slots} stays staged"));
        }
        self.stays(chain);
        true
    }

    /// What takes the slots of a ring that has none free.
    pub(super) fn where_slots_went(&self, chain: &mut Chain) {
        let (sw, hw) = (self.q.sw(Dir::Tx), self.q.hw(Dir::Tx));
        let taken = sw.staged.saturating_sub(sw.acked);
        let rung = hw.posted.saturating_sub(sw.acked).min(taken);
        let mut parts = Vec::new();
        if rung > 0 {
            let given_up =
                if self.gave_up().is_some() { ", a timed-out batch's among them" } else { "" };
            parts.push(format!("{rung} rung and not acked{given_up}"));
        }
        if taken > rung {
            parts.push(format!("{} staged and never rung", taken - rung));
        }
        chain.cause(format!(
            "of its {} {taken} are taken ({}), and the 16 before the ack cursor are never handed out",
            count_of(sw.size, "slot"),
            if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
        ));
    }

    /// Descriptors are staged that the engine does not know of.
    fn not_told(&self, chain: &mut Chain) -> bool {
        let staged = self.unposted(Dir::Tx);
        if staged == 0 {
            return self.rx_only(chain);
        }
        let slots = self.slots(Dir::Tx, self.q.hw(Dir::Tx).posted, staged);
        let newest = self.past.staged.map_or(0, |e| e.n);
        match self.past.bells[0].filter(|b| b.event > newest) {
            Some(b) if b.lost => chain.cause(format!(
                "the device lost the TX doorbell of event {}, for {} (a scenario, MODEL)",
                b.event,
                count_of(b.value, "descriptor")
            )),
            Some(b) => chain.cause(format!(
                "the TX doorbell of event {} was for {}: too few",
                b.event,
                count_of(b.value, "descriptor")
            )),
            None if self.ahead.bells[0].is_some() => {
                let n = self.ahead.bells[0].map_or(0, |e| e.n);
                chain.cause(format!(
                    "nothing is wrong yet: TX is not rung; the doorbell comes at event {n}"
                ));
            }
            None => {
                let rx = match self.past.bells[1].filter(|b| b.event > newest) {
                    Some(b) => format!("RX was rung at event {}, TX was not", b.event),
                    None => "neither ring was rung".to_owned(),
                };
                chain.cause(format!("no TX doorbell: {rx}"));
            }
        }
        chain.cause(format!("{slots} is staged and not posted; the engine does not know of it"));
        self.stays(chain);
        true
    }

    /// Rx is rung and nothing is written on Tx.
    fn rx_only(&self, chain: &mut Chain) -> bool {
        let armed = self.q.hw(Dir::Rx).posted - self.q.hw(Dir::Rx).fetched;
        // Every batch leaves a posted Rx descriptor or none; without Tx work none is fetched.
        if armed == 0 || self.is_set() {
            return false;
        }
        if let Some(b) = self.past.bells[0].filter(|b| b.lost) {
            chain.cause(format!(
                "the device lost the TX doorbell of event {}, for {} (a scenario, MODEL)",
                b.event,
                count_of(b.value, "descriptor")
            ));
        } else if self.ahead.bells[0].is_none() {
            chain.cause("no TX doorbell: no Tx descriptor is written, and none is posted");
        } else {
            return false;
        }
        chain.cause(format!(
            "{} is posted and waits for a packet",
            self.slots(Dir::Rx, self.q.hw(Dir::Rx).fetched, armed)
        ));
        self.stays(chain);
        true
    }

    /// All that is posted is done, and the word is not the marker, or it is.
    fn nothing_to_do(&self, chain: &mut Chain) {
        if !self.q.ready {
            let calm = if self.ahead.flip.is_some() { "nothing is wrong yet: " } else { "" };
            chain.cause(format!("{calm}{} is not initialised", self.id()));
            return;
        }
        let posted = self.q.hw(Dir::Tx).posted;
        if self.is_set() {
            let n = self.past.word.map_or(0, |e| e.n);
            chain.cause(format!(
                "the marker has flipped: event {n} wrote {} (`goto {n}`)",
                self.word_name()
            ));
            return;
        }
        if posted == 0 || !self.is_awaited() {
            return;
        }
        // A flip before the newest doorbell was another batch's.
        let rung = self.past.bells[0].map_or(0, |b| b.event);
        match self.past.flip.filter(|f| f.n > rung) {
            Some(f) if self.past.word.is_some_and(|w| w.n > f.n) => {
                let w = self.past.word.map_or(0, |w| w.n);
                chain.cause(format!(
                    "the marker flipped at event {} and was overwritten at event {w}",
                    f.n
                ));
            }
            _ => self.wrote_something_else(chain),
        }
        chain.cause("all that is posted is done; nothing is posted that would write the marker");
        self.stays(chain);
    }

    fn wrote_something_else(&self, chain: &mut Chain) {
        let value = self.m.memory.read_u32(self.word());
        match self.past.word {
            Some(e) if matches!(e.kind, EventKind::Visible { .. }) => {
                let source = self.m.memory.read_u32(self.q.marker);
                chain.cause(format!(
                    "event {} wrote {value:#010x} to {}, not {MARKER:#010x}; the source word {} holds {source:#010x}",
                    e.n,
                    self.word_name(),
                    self.p.name_addr(self.q.marker)
                ));
            }
            _ => chain.cause(self.elsewhere(Dir::Rx, self.q.hw(Dir::Rx).retired)),
        }
    }

    /// No descriptor below the `end`-th of a ring writes the polled word: what the last one, the
    /// place of a completion pair, does.
    pub(super) fn elsewhere(&self, dir: Dir, end: u64) -> String {
        let word = self.word_name();
        let Some((k, d)) = end.checked_sub(1).map(|k| (k, self.desc(dir, k))) else {
            return format!("no descriptor of what is written writes {word}");
        };
        format!(
            "no descriptor writes {word}: the last one, {}, writes {} to {}",
            self.slots(dir, k, 1),
            count_of(d.length(), "byte"),
            device::resolve(self.p, d.ptr).map_or_else(
                |var| format!("variable {var}, which the program does not have"),
                |addr| self.p.name_addr(addr)
            )
        )
    }

    /// The completion pair is not executed, and the word stays.
    pub(super) fn not_executed(&self, chain: &mut Chain) {
        match self.marker_rx() {
            Some((k, _)) => chain.cause(format!(
                "the completion pair at {} is not executed",
                self.slots(Dir::Rx, k, 1)
            )),
            None if self.written(Dir::Rx) > self.q.hw(Dir::Rx).retired => {
                chain.also.push(self.elsewhere(Dir::Rx, self.written(Dir::Rx)));
            }
            None => {}
        }
        self.stays(chain);
    }

    /// The word stays what it is.
    fn stays(&self, chain: &mut Chain) {
        let value = self.m.memory.read_u32(self.word());
        chain.cause(format!("{} stays {value:#010x}", self.word_name()));
    }

    /// What was found that keeps nothing from going on.
    pub(super) fn remarks(&self, chain: &mut Chain) {
        const TOLD: &[&str] = &["R018", "R008", "R006", "R007", "R016", "R014"];
        const MOST: usize = 6;
        let id = self.id();
        let own = |d: &&Diagnostic| {
            let queue = d.place.slot.and_then(|s| s.queue);
            TOLD.contains(&d.code) && queue.is_none_or(|q| q == (id.engine, id.queue))
        };
        let mut n = 0;
        for d in self.m.findings.iter().filter(own) {
            n += 1;
            if n > MOST {
                continue;
            }
            let slot = d.place.slot.map(|s| format!("{s}: ")).unwrap_or_default();
            let note = match d.code {
                "R018" => "masked, so it executes: not the cause (MODEL)",
                "R008" => "hardware may fetch an old slot; this run did not (MODEL)",
                _ => "told only",
            };
            chain.also.push(format!(
                "{}[{}] {slot}{}{}; {note}",
                d.severity,
                d.code,
                d.message,
                at_event(d)
            ));
        }
        if n > MOST {
            chain.also.push(format!("{} more of the kind; `info faults` lists them", n - MOST));
        }
    }
}
