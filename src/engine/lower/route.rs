//! What a transfer needs before it can be lowered and may lack: an engine, a queue, the right
//! DGE type (`docs/lowering.md`, "Routes").

use super::context::{Context, Refusal};
use super::family::{BadDynamic, Dynamic, Family, NoFamily, Side, dynamic, family};
use crate::bir::{Body, DgeType, Engine, Inst, Module, Name, Part, Queue};
use crate::udma::count_of;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Queues that the module lacks and a transfer now uses.
#[derive(Debug, Default)]
pub(super) struct NewQueues(BTreeSet<Name>);

impl NewQueues {
    /// Adds them to a module.
    pub(super) fn add_to(self, module: &mut Arc<Module>) {
        if self.0.is_empty() {
            return;
        }
        let module = Arc::make_mut(module);
        for name in self.0 {
            if module.queue(&name).is_none() {
                module.queues.push(Queue { name, blocks: Vec::new(), extra: Vec::new() });
            }
        }
    }
}

/// The code of a fault in a dynamic part, with the part.
pub(super) fn bad_dynamic(bad: BadDynamic) -> Refusal {
    match bad {
        BadDynamic::BothSides => {
            ("L004", Part::Whole, "both sides are dynamic; only one may be".into())
        }
        BadDynamic::BothKinds => {
            let text = "one address has a scalar and a vector offset";
            ("L005", Part::Whole, text.into())
        }
        BadDynamic::NeitherKind => {
            let text = "a dynamic address has neither a scalar nor a vector offset";
            ("L005", Part::Whole, text.into())
        }
        BadDynamic::Index(text) => ("L006", Part::Whole, text),
    }
}

/// The family and the dynamic side of a transfer that the passes work on.
///
/// # Errors
/// It belongs to none, or its dynamic part is not understood.
pub(super) fn classify(inst: &Inst) -> Result<(Family, Dynamic), Refusal> {
    let family = family(inst).map_err(|e| match e {
        NoFamily::NoRule(why) => {
            let op = &inst.opcode;
            ("L020", Part::Whole, format!("`{}` stays {op}: {why}", inst.name))
        }
        NoFamily::Unclear(text) => ("L019", Part::Whole, text),
    })?;
    if inst.outs.len() != 1 || inst.ins.is_empty() {
        let (i, o) = (inst.ins.len(), inst.outs.len());
        let text = format!(
            "{i_sources} and {o} destinations; at least one and one are needed",
            i_sources = count_of(i, "source")
        );
        return Err(("L019", Part::Whole, text));
    }
    Ok((family, dynamic(inst).map_err(bad_dynamic)?))
}

/// The transfer with engine, queue and DGE type as the passes need them; `None` where it has
/// them.
///
/// # Errors
/// A dynamic address without a DGE, or a queue that does not exist.
pub(super) fn route(
    cx: &mut Context<'_>,
    module: &Module,
    queues: &mut NewQueues,
    inst: &Inst,
    family: Family,
    dynamic: Dynamic,
) -> Result<Option<Arc<Inst>>, Refusal> {
    let Some(dma) = inst.dma() else {
        return Err(("L019", Part::Whole, "it has no keys of a transfer".into()));
    };
    let runtime = dynamic != Dynamic::No || has_reference(inst);
    if dma.dge == DgeType::None && runtime && !has_reference(inst) {
        let text = "DGE must be enabled when dynamic access in DMA is used; dge_type is None";
        return Err(("L003", Part::Key("dge_type"), text.into()));
    }
    let stays = matches!(dynamic, Dynamic::Vector(..)) && dma.dge == DgeType::Hwdge;
    let forced = (runtime && !stays && !has_reference(inst)) || family == Family::Transpose;
    let dge = if forced { DgeType::Swdge } else { dma.dge };
    if forced && dma.dge == DgeType::Hwdge {
        let what = if runtime { "a scalar-dynamic address" } else { "a transpose" };
        let text = format!("HWDGE is overridden with SWDGE: {what} is never HWDGE");
        cx.say("L002", inst.pos, Part::Key("dge_type"), text);
    }
    let has_stream = Engine::STREAMS.contains(&inst.engine);
    let engine = if has_stream { inst.engine } else { Engine::Pool };
    let queue = match &dma.queue {
        Some(q) if module.queue(q).is_none() => {
            let text = format!("there is no queue `{q}`");
            return Err(("L026", Part::Key("queue"), text));
        }
        Some(q) => q.clone(),
        None => format!("dmadbg_q_{engine}_{}", dma.qos).into(),
    };
    if !has_stream || dma.queue.is_none() {
        let text = match (has_stream, dma.queue.is_some()) {
            (false, true) => format!("engine {} issues nothing: {engine} is used", inst.engine),
            (true, _) => format!("it has no queue: `{queue}` is used"),
            (false, false) => format!("it has neither engine nor queue: {engine}, `{queue}`"),
        };
        cx.say("L001", inst.pos, Part::Whole, text);
        queues.0.insert(queue.clone());
    }
    if dge == dma.dge && has_stream && dma.queue.is_some() {
        return Ok(None);
    }
    let mut new = inst.clone();
    new.engine = engine;
    if let Body::Dma(d) = &mut new.body {
        d.dge = dge;
        d.queue = Some(queue);
    }
    Ok(Some(Arc::new(new)))
}

/// Whether an operand reads its base when a trigger fires: it was unrolled already.
pub(super) fn has_reference(inst: &Inst) -> bool {
    let sides = (0..inst.ins.len()).map(Side::In).chain([Side::Out]);
    let operands = sides.filter_map(|s| s.of(inst));
    operands.filter_map(|o| o.as_pattern()).any(|p| p.reference.is_some())
}
