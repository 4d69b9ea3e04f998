//! What an instruction does when its engine comes to it.

use super::action::{Action, Group};
use super::control::{Control, View};
use super::opaque;
use super::program::{Item, Program};
use super::register;
use super::resolve::{at, eval, resolve, whole};
use super::stream::{Next, Spot, Stream};
use crate::bir::memory::Read;
use crate::bir::module::{Axis, Body, DynamicLoop, Finding, Inst, Part};
use crate::bir::{Engine, Expr, Opcode};
use crate::udma::count_of;

impl Control {
    /// What an engine would do now, without doing it. Whether it may, [`Control::ready`] says.
    ///
    /// # Errors
    /// Whatever is wrong with the instruction.
    pub fn peek(&self, p: &Program, mem: &dyn Read, engine: Engine) -> Result<Action, Finding> {
        Ok(self.look(p, mem, engine)?.0)
    }

    /// Begins what an engine is at. Registers and branches are decided here, from the registers
    /// and the memory of this moment; what must be done to memory is returned, and
    /// [`Control::complete`] ends it.
    ///
    /// # Errors
    /// Whatever is wrong with the instruction; the engine stays where it is.
    pub fn fetch(
        &mut self,
        p: &Program,
        mem: &dyn Read,
        engine: Engine,
    ) -> Result<Action, Finding> {
        let (action, next) = self.look(p, mem, engine)?;
        if let Some(s) = self.streams.iter_mut().find(|s| s.engine == engine) {
            s.next = next;
        }
        Ok(action)
    }

    /// Says so where an engine is at a loop whose rounds cannot end within so many steps of all
    /// engines, so that nobody has to count them.
    pub fn exceeds(&self, p: &Program, engine: Engine, max_steps: u64) -> Option<Finding> {
        let s = self.stream(engine)?;
        let Spot::Item(item) = s.spot(p) else { return None };
        let entry = p.entry(item);
        let mut work = entry.work;
        if let Body::DynamicLoop(l) = &entry.inst.body {
            let trips = bounds(&entry.inst, l, &self.view(p, s)).ok()?.trips()?;
            work = trips.saturating_mul(work.saturating_sub(1));
        }
        (work > max_steps).then(|| {
            let text = format!(
                "its rounds take at least {work_steps}; there may be {max_steps}",
                work_steps = count_of(work, "step")
            );
            whole("B070", &entry.inst, text)
        })
    }

    fn look(
        &self,
        p: &Program,
        mem: &dyn Read,
        engine: Engine,
    ) -> Result<(Action, Option<Next>), Finding> {
        let Some(s) = self.stream(engine) else { return Ok((Action::Nothing, None)) };
        let view = self.view(p, s);
        match s.spot(p) {
            Spot::Done => Ok((Action::Nothing, None)),
            Spot::BlockEnd => {
                let next = if self.nothing_ahead(p, s) { Next::Quit } else { Next::BlockOn };
                Ok((Action::Nothing, Some(next)))
            }
            Spot::RoundEnd => Ok((Action::Nothing, Some(round_end(p, s, &view)?))),
            Spot::Item(item) => {
                let (action, next) = self.execute(p, mem, &view, item)?;
                Ok((action, Some(next)))
            }
        }
    }

    fn execute(
        &self,
        p: &Program,
        mem: &dyn Read,
        view: &View<'_>,
        item: Item,
    ) -> Result<(Action, Next), Finding> {
        let entry = p.entry(item);
        let inst = &*entry.inst;
        let nothing = |next| Ok((Action::Nothing, next));
        match &inst.body {
            Body::Loop(l) => nothing(enter(inst, &l.axis)?),
            Body::DynamicLoop(l) => nothing(enter(inst, &bounds(inst, l, view)?)?),
            Body::DoWhile(_) => nothing(Next::Enter { trips: u64::MAX, value: 0, stride: 0 }),
            Body::Jump(name) => match entry.on_true {
                Some(target) => nothing(Next::Goto(target)),
                None => Err(no_block(inst, name)),
            },
            Body::Branch(b) => {
                let holds = register::compare(inst, b.op, view, mem, p.layout())?;
                let (name, target) =
                    if holds { (&b.on_true, entry.on_true) } else { (&b.on_false, entry.on_false) };
                match (name, target) {
                    (None, _) => nothing(Next::On),
                    (_, Some(target)) => nothing(Next::Goto(target)),
                    (Some(name), None) => Err(no_block(inst, name)),
                }
            }
            Body::Trigger(_) => Ok((self.fire(p, mem, view, item)?, Next::On)),
            Body::DmaBlock(_) | Body::Descriptor(_) => {
                Err(whole("B085", inst, "it belongs into a queue, not into a function"))
            }
            _ if register::is_register(inst) => register::execute(inst, view, mem, p.layout()),
            _ if inst.opcode.is_dma() => {
                Ok((Action::Transfers(dma(p, mem, view, inst)?), Next::On))
            }
            _ if inst.opcode == Opcode::DmaTrigger => {
                Err(whole("B085", inst, "it names no queue and no block"))
            }
            _ if inst.opcode.is_descriptor() || inst.opcode.is_container() => {
                Err(whole("B085", inst, "it does not belong here, or lacks its keys"))
            }
            _ if inst.is_opaque() => {
                let visit = self.visit(inst.pos);
                Ok((opaque::execute(inst, visit, view, p.layout(), mem)?, Next::On))
            }
            _ => nothing(Next::On),
        }
    }

    /// The descriptors of the block whose turn it is.
    fn fire(
        &self,
        p: &Program,
        mem: &dyn Read,
        view: &View<'_>,
        item: Item,
    ) -> Result<Action, Finding> {
        let inst = &*p.entry(item).inst;
        let Some((fired, block)) = self.armed(p, item) else {
            return Err(missing_block(p, inst, self.fires(p, item)));
        };
        let Body::DmaBlock(b) = &block.body else {
            return Err(whole("B085", inst, format!("`{}` is no DMA block", block.name)));
        };
        let mut groups = Vec::new();
        for (k, d) in (0u32..).zip(b.descriptors()) {
            if !d.opcode.is_descriptor() {
                let text = format!("`{}` holds `{}`, which is no descriptor", block.name, d.name);
                return Err(whole("B085", d, text));
            }
            let found = resolve(d, view, p.layout(), mem)?;
            groups.push(Group {
                pos: d.pos,
                descriptor: k,
                fired: Some(fired),
                transfers: found.transfers,
                unwritten_index: found.unwritten_index,
            });
        }
        Ok(Action::Transfers(groups))
    }
}

fn dma(p: &Program, mem: &dyn Read, view: &View<'_>, inst: &Inst) -> Result<Vec<Group>, Finding> {
    let found = resolve(inst, view, p.layout(), mem)?;
    let group = |transfers| Group {
        pos: inst.pos,
        descriptor: 0,
        fired: None,
        transfers,
        unwritten_index: found.unwritten_index,
    };
    if found.one_by_one {
        return Ok(found.transfers.into_iter().map(|t| group(vec![t])).collect());
    }
    Ok(vec![group(found.transfers)])
}

fn missing_block(p: &Program, inst: &Inst, count: u64) -> Finding {
    let Body::Trigger(t) = &inst.body else { return whole("B085", inst, "no trigger") };
    let key = |k| Part::Key(k);
    let Some(queue) = &t.queue else {
        return at("B085", inst, Part::Whole, "it names no queue");
    };
    if !p.blocks().has_queue(queue) {
        return at("B085", inst, key("queue"), format!("there is no queue `{queue}`"));
    }
    let which = count.checked_rem(t.dma_blocks.len() as u64);
    match which.and_then(|w| t.dma_blocks.get(w as usize)) {
        None => at("B085", inst, Part::Whole, "it names no block"),
        Some(name) => {
            let text = format!("queue `{queue}` has no block `{name}`");
            at("B085", inst, key("dma_blocks"), text)
        }
    }
}

fn no_block(inst: &Inst, name: &str) -> Finding {
    whole("B073", inst, format!("there is no block `{name}` to go to"))
}

fn enter(inst: &Inst, axis: &Axis) -> Result<Next, Finding> {
    let trips = axis.trips().ok_or_else(|| {
        let text = format!("the stride {} of axis `{}` leads nowhere", axis.stride, axis.name);
        whole("B087", inst, text)
    })?;
    Ok(Next::Enter { trips, value: axis.lb, stride: axis.stride })
}

fn bounds(inst: &Inst, l: &DynamicLoop, view: &View<'_>) -> Result<Axis, Finding> {
    let value = |e: &Expr| eval(inst, Part::Whole, e, view);
    let (lb, ub, stride) = (value(&l.lb)?, value(&l.ub)?, value(&l.stride)?);
    Ok(Axis { name: l.axis.clone(), lb, ub, stride })
}

/// The condition of a loop after a round.
fn round_end(p: &Program, s: &Stream, view: &View<'_>) -> Result<Next, Finding> {
    let region = s.frames.last().map(|f| p.region(f.region));
    let Some(owner) = region.and_then(|r| r.owner) else { return Ok(Next::Quit) };
    let inst = &*p.entry(owner).inst;
    let Body::DoWhile(l) = &inst.body else { return Ok(Next::Leave) };
    let again = eval(inst, Part::Whole, &l.cond, view)? != 0;
    if again && l.cond.as_const().is_some() && region.is_some_and(|r| !r.branches) {
        return Err(whole("B070", inst, "its condition always holds: the loop never ends"));
    }
    Ok(if again { Next::Round } else { Next::Leave })
}
