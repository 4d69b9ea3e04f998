//! An answer of the explorer as text, and a counterexample as steps and as a script.

use super::fix::{Fix, FixAnswer};
use super::observe::{Break, Names};
use super::{Explored, Found, Proof, Verdict};
use crate::engine::order::step::Step;
use crate::engine::program::{Program, QueueId};
use crate::engine::ring::Machine;
use crate::engine::schedule::{BarrierEdit, CpuAct, EngineAct, Moment, Schedule};
use crate::engine::session::describe_event;
use crate::udma::{Dir, count_of};
use std::collections::BTreeSet;

/// Steps that are shown at most.
const SHOWN: usize = 40;

impl Explored {
    /// The answer, line by line.
    pub fn lines(&self, p: &Program) -> Vec<String> {
        let r = self.readings;
        match &self.verdict {
            Verdict::Proved(Proof::NoRace) => vec![format!(
                "no allowed order breaks the program: nothing races in its {}, so every \
                 order shows the same ({r})",
                count_of(self.events, "event")
            )],
            Verdict::Proved(Proof::EveryOrder { states }) => vec![format!(
                "no allowed order breaks the program: every order was walked, {states} states and \
                 {}; its {} change nothing ({r})",
                count_of(self.steps, "event"),
                count_of(self.races.len(), "race")
            )],
            Verdict::Open(why) => vec![
                format!("neither proved nor broken: {why}"),
                format!(
                    "{} in {}; {} of other orders were looked at ({r})",
                    count_of(self.races.len(), "race"),
                    count_of(self.events, "event"),
                    count_of(self.steps, "event")
                ),
            ],
            Verdict::Broken(found) => self.broken(p, found),
        }
    }

    fn broken(&self, p: &Program, found: &Found) -> Vec<String> {
        let mut out = vec![format!("an allowed order breaks the program ({})", self.readings)];
        out.push(format!("  {}", found.broken.words(p)));
        if let Some(race) = &found.race {
            out.push(format!("  {}: it holds {}", race.kind, race.holds.words()));
        }
        if found.schedule.holds.is_empty() {
            out.push("the calm order is one that does".to_owned());
        } else {
            out.push("the order: calm, but for".to_owned());
            out.extend(found.schedule.holds.iter().map(|h| format!("  order {h}")));
        }
        out.push(format!("it shows at event {} of that order:", found.event));
        out.extend(found.steps(p).into_iter().map(|l| format!("  {l}")));
        out.extend(found.fix.lines());
        out.push("`order replay` runs in that order, `order explore > FILE` saves it".to_owned());
        out
    }
}

impl FixAnswer {
    /// The answer, line by line; nothing where nobody looked.
    pub fn lines(&self) -> Vec<String> {
        match self {
            FixAnswer::NotSought => Vec::new(),
            FixAnswer::NoBarrier(why) => vec![format!("fix: no barrier: {why}")],
            FixAnswer::One(fix) => fix.lines(),
        }
    }
}

impl Fix {
    fn lines(&self) -> Vec<String> {
        let BarrierEdit { queue, barrier, .. } = self.edit;
        let at = format!("{queue}.{}[{}]", barrier.dir(), self.slot);
        let proof = if self.proved {
            "proved: no allowed order breaks the program then".to_owned()
        } else {
            format!(
                "proved: nothing races with it there then; {} elsewhere are left",
                count_of(self.left, "race")
            )
        };
        vec![
            format!("fix: {} on {at}, {}", barrier.mode(), self.role.words()),
            format!("  {proof}"),
            format!("  order {}", self.edit),
            format!("  set {at}.{} = 1", barrier.field()),
        ]
    }
}

impl Found {
    /// The events of the order that matter, with how many lie between.
    pub fn steps(&self, p: &Program) -> Vec<String> {
        let mut q = p.clone();
        q.schedule = self.schedule.clone();
        let p = &q;
        let mut key: BTreeSet<Moment> = BTreeSet::new();
        for h in &p.schedule.holds {
            key.extend([h.what, h.until]);
        }
        let mut marker = None;
        if let Break::Overtaken { poll, late, .. } = &self.broken {
            key.extend([*poll, late.0]);
            marker = queue_of(late.0);
        }
        // A write is read of with the reads that it comes from.
        let reads: Vec<Moment> = key.iter().filter_map(|m| read_of(*m)).collect();
        key.extend(reads);
        let mut names = Names::new(p, p.schedule.readings);
        let mut m = Machine::new(p);
        let mut out = Vec::new();
        let mut between = 0;
        let mut shown: Vec<(u64, String)> = Vec::new();
        while m.n < self.event
            && let Some(step) = m.step(p)
        {
            let e = step.event;
            let all = names.take(&m, &e);
            let bell = all
                .iter()
                .any(|x| matches!(x.moment, Some(Moment::Cpu { act: CpuAct::Doorbell, .. })));
            let mark = |s: &Step| match (s, marker) {
                (Step::Visible { queue, len, .. }, Some(id)) => {
                    *len <= 8 && p.queues.get(*queue as usize).is_some_and(|q| q.id == id)
                }
                _ => false,
            };
            let hit =
                all.iter().any(|x| x.moment.is_some_and(|x| key.contains(&x)) || mark(&x.step));
            if hit || bell || e.n == self.event {
                let name = all.iter().find_map(|x| x.moment.filter(|x| key.contains(x)));
                let name = name.map(|n| format!(" ({n})")).unwrap_or_default();
                let text = describe_event(p, &e);
                shown.push((between, format!("event {}: {}: {text}{name}", e.n, e.agent)));
                between = 0;
            } else {
                between += 1;
            }
        }
        let skip = shown.len().saturating_sub(SHOWN);
        let cut: u64 = shown.iter().take(skip).map(|s| s.0 + 1).sum();
        let mut gap = cut;
        for (before, text) in shown.into_iter().skip(skip) {
            gap += before;
            if gap > 0 {
                out.push(format!(".. {gap_events}", gap_events = count_of(gap, "event")));
            }
            gap = 0;
            out.push(text);
        }
        out
    }

    /// The order as a script that runs in it up to where it shows.
    pub fn script(&self, p: &Program) -> String {
        let mut out = String::from("dbg 1\n");
        out.push_str(&format!("# {}\n", self.broken.words(p)));
        out.push_str(
            "# Found by `order explore`; `run FILE --script` or `order replay` replays it.\n",
        );
        out.push_str("order calm\n");
        out.push_str(&format!("order reading {}\n", self.schedule.readings));
        let plain = Schedule { readings: Default::default(), ..self.schedule.clone() };
        for line in plain.lines() {
            out.push_str(&format!("order {line}\n"));
        }
        out.push_str(&format!("goto {}\n", self.event));
        out
    }
}

fn queue_of(x: Moment) -> Option<QueueId> {
    match x {
        Moment::Engine { queue, .. } => Some(queue),
        Moment::Cpu { .. } => None,
    }
}

/// The read of the same count as a write: in copies of one descriptor a packet that is its own.
fn read_of(x: Moment) -> Option<Moment> {
    match x {
        Moment::Engine { queue, k, act: EngineAct::Write, .. } => {
            Some(Moment::Engine { queue, dir: Dir::Tx, k, act: EngineAct::Read })
        }
        _ => None,
    }
}
