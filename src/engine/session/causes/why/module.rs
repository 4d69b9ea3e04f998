//! Sequencers of a module that stand: their waits come before anything of a queue.

use super::{Chain, View};
use crate::bir::exec::{Item, Why};
use crate::bir::{Body, Engine};
use crate::diag::Place;
use crate::engine::module_run::ModuleRun;
use crate::engine::provenance::Provenance;
use crate::engine::ring::seq::Sequencer;
use crate::engine::session::inst_words;

/// Updaters of a semaphore that are named.
const NAMED: usize = 3;

/// Blocks of a queue whose triggers are looked up.
const LOOKED_AT: usize = 64;

/// A sequencer that stands.
struct Stands<'a> {
    seq: &'a Sequencer,
    item: Option<Item>,
    why: Why,
}

/// A place as file, line and column.
fn line_of(place: &Place) -> String {
    crate::diag::render::place(&Place { offset: None, ..place.clone() })
}

impl View<'_> {
    /// Why the instructions that would use the queue do not begin: the sequencer that would use
    /// it next, then what that waits for, and so on. Other sequencers that stand are told
    /// beside it.
    pub(super) fn module(&self, chain: &mut Chain) {
        let Some(run) = &self.p.module else { return };
        if self.q.has_work() {
            return;
        }
        for d in self.m.findings.iter().filter(|d| matches!(d.code, "R025" | "B070")) {
            chain.cause(format!("a sequencer has failed: {}", d.message));
        }
        let mut left: Vec<Stands<'_>> = self.m.seqs.iter().filter_map(|s| self.stands(s)).collect();
        let own = left.iter().position(|s| self.uses_queue(run, s));
        let Some(first) = own.or_else(|| (!left.is_empty()).then_some(0)) else { return };
        let mut told: Vec<Engine> = Vec::new();
        let mut next = Some(left.swap_remove(first));
        while let Some(s) = next.take() {
            told.push(s.seq.engine);
            let text = self.stands_words(run, &s);
            if told.len() == 1 {
                chain.cause(text)
            } else {
                chain.because(text)
            }
            if s.seq.failed {
                chain.because(format!(
                    "seq {} stands for ever: nobody does what it waits for",
                    s.seq.engine
                ));
            }
            let Why::Semaphore { id, .. } = s.why else { break };
            let (text, engines) = self.who_updates(run, id);
            chain.because(text);
            if engines.iter().any(|e| told.contains(e)) {
                chain.because("they wait for each other");
            }
            let at = left.iter().position(|s| engines.contains(&s.seq.engine));
            next = at.map(|at| left.swap_remove(at));
        }
        for s in &left {
            chain.also.push(self.stands_words(run, s));
        }
    }

    /// Whether a sequencer waits with its next instruction, and for what.
    fn stands<'a>(&self, seq: &'a Sequencer) -> Option<Stands<'a>> {
        let run = self.p.module.as_ref()?;
        let control = self.m.control.as_ref()?;
        if !seq.host.stack.is_empty() {
            return None;
        }
        let why = control.ready(&run.exec, seq.engine).err()?;
        let item = control.current(&run.exec, seq.engine);
        (!matches!(why, Why::Done | Why::Busy)).then_some(Stands { seq, item, why })
    }

    /// Whether its next instruction goes through the queue.
    fn uses_queue(&self, run: &ModuleRun, s: &Stands<'_>) -> bool {
        let named = match s.item.and_then(|i| run.exec.inst(i)).map(|i| &i.body) {
            Some(Body::Dma(d)) => d.queue.clone(),
            Some(Body::Trigger(t)) => t.queue.clone(),
            _ => None,
        };
        named.and_then(|n| run.queue(&n)).is_some_and(|at| at.id == self.id())
    }

    fn stands_words(&self, run: &ModuleRun, s: &Stands<'_>) -> String {
        let inst = s.item.and_then(|i| Some((run.exec.inst(i)?.pos, i)));
        let at = match (inst, &self.m.control) {
            (Some((pos, item)), _) => {
                let place = run.inst(pos).map(|i| line_of(&i.place));
                let place = place.filter(|p| !p.is_empty()).map(|p| format!(" ({p})"));
                format!("{}{}", inst_words(self.p, pos, item), place.unwrap_or_default())
            }
            (None, Some(control)) => control.place(&run.exec, s.seq.engine).to_string(),
            (None, None) => String::new(),
        };
        format!("seq {} stands at {at}: it {}", s.seq.engine, s.why)
    }

    /// What updates a semaphore, and the sequencers by which it does.
    fn who_updates(&self, run: &ModuleRun, id: u64) -> (String, Vec<Engine>) {
        let module = run.exec.module();
        let prov = Provenance::of(run);
        let (mut names, mut engines) = (Vec::new(), Vec::new());
        module.visit(&mut |i| {
            let updates = i.updates.iter().any(|u| u.id == id);
            if updates && !matches!(i.body, Body::DmaBlock(_)) {
                names.push(format!("%{} on {}", i.name, i.engine));
                engines.push(i.engine);
            }
        });
        for q in &module.queues {
            let own = q.dma_blocks().filter(|b| b.updates.iter().any(|u| u.id == id));
            for block in own.take(LOOKED_AT) {
                let triggers = prov.triggers(&q.name, &block.name);
                engines.extend(triggers.iter().map(|t| t.engine));
                let by: Vec<String> =
                    triggers.iter().map(|t| format!("%{} on {}", t.name, t.engine)).collect();
                let by = if by.is_empty() { "nothing".to_owned() } else { by.join(", ") };
                names.push(format!("block {} of {}, which {by} fires", block.name, q.name));
            }
        }
        let text = match names.len() {
            0 => format!("nothing in the module updates semaphore {id}"),
            n => {
                let more =
                    if n > NAMED { format!(", and {} more", n - NAMED) } else { String::new() };
                names.truncate(NAMED);
                format!("semaphore {id} is updated by {}{more}", names.join("; "))
            }
        };
        (text, engines)
    }
}
