//! Which access is drawn as a grid: that of the selected instruction or descriptor, else the bytes
//! that the selected slots name (`docs/screen.md`, "Access grid").

use super::assembly::Staged;
use super::grid::{Grid, Shape, Side, Touch};
use super::layout::Pane;
use super::model::{LOOK_AHEAD, Model};
use crate::bir::exec::{Action, Group, Item};
use crate::bir::{Engine, Module, Placed, Pos, Walk};
use crate::engine::module_run::ModuleRun;
use crate::engine::ring::device::resolve;
use crate::engine::ring::{Agent, Event, EventKind};
use crate::limits::MAX_GRID_RUNS;
use crate::load::bir::listing::QueuePart;
use crate::udma::field::find;
use crate::udma::{Desc, Dir, View, count_of};

/// Bytes around the selected descriptor's within which those of its packet are drawn with it.
const NEAR: u64 = 1 << 24;
/// Executions of an instruction that are looked through for the wanted block.
const MAX_TRIED: usize = 64;
/// Bytes in a row where nothing else says how long one is.
const ROW: u64 = 64;
/// Descriptors of a packet that are gone through on either side of the selected one.
const MAX_PACKET: u64 = 256;

/// Dimensions in words, outermost first.
fn pattern(w: &Walk) -> String {
    let dims: Vec<String> = w.dims.iter().map(|d| format!("{} x {:+} B", d.num, d.step)).collect();
    let dims = if dims.is_empty() { "1".to_owned() } else { dims.join(", ") };
    format!("{} of {} B from {:#x}: {dims}", count_of(w.count(), "element"), w.elem, w.start)
}

/// How the bytes of a location are put into rows.
fn shape_of(module: &Module, placed: &Placed, walk: &Walk) -> Shape {
    let name = format!("{} in {}", placed.name, placed.space.name());
    let declared = module.functions.iter().flat_map(|f| &f.allocations);
    let declared = declared.flat_map(|a| a.locations.iter().map(move |l| (a, l)));
    let declared = declared.into_iter().find(|(_, l)| l.name == placed.name);
    if !placed.space.is_dram() {
        return Shape {
            name,
            row_name: "partition",
            base: placed.addr,
            stride: placed.stride,
            pitch: placed.pitch,
            rows: placed.partitions,
            elem: walk.elem,
            first: declared.map_or(0, |d| d.1.base),
        };
    }
    let bytes = placed.bytes();
    let by_shape = declared.and_then(|(a, _)| {
        let row = a.shape.last()?.checked_mul(a.dtype?.bytes())?;
        (a.shape.len() > 1 && row > 0 && row < bytes).then_some(row)
    });
    // One long row: what the largest step of the walk says.
    let steps = walk.dims.iter().filter(|d| d.num > 1).map(|d| d.step.unsigned_abs());
    let by_walk = steps.filter(|s| *s > walk.elem && *s < bytes).max();
    let row = by_shape.or(by_walk).unwrap_or_else(|| (ROW * walk.elem).min(bytes)).max(1);
    Shape {
        name,
        row_name: "row",
        base: placed.addr,
        stride: row,
        pitch: row,
        rows: bytes.div_ceil(row),
        elem: walk.elem,
        first: 0,
    }
}

/// One side by its name: the walks of each descriptor, in order.
type Walks = (String, Vec<Vec<Walk>>);

/// The walks of groups of transfers, sources first.
fn walks_of(groups: &[Group], current: usize) -> Vec<Walks> {
    let transfer = groups.get(current).and_then(|g| g.transfers.first());
    let count = transfer.map_or(0, |t| t.sources.len());
    let name = |k: usize| match k {
        0 if count == 1 => "source".to_owned(),
        _ => format!("source {}", k + 1),
    };
    let source = |k: usize| {
        let of = move |g: &Group| {
            g.transfers.iter().filter_map(|t| Some(t.sources.get(k)?.walk.clone())).collect()
        };
        (name(k), groups.iter().map(of).collect())
    };
    let dest = |g: &Group| g.transfers.iter().map(|t| t.dest.walk.clone()).collect();
    let mut out: Vec<Walks> = (0..count).map(source).collect();
    out.push(("destination".to_owned(), groups.iter().map(dest).collect()));
    out
}

/// The sides of a transfer, with which of its descriptors is current.
fn sides(run: &ModuleRun, walks: Vec<Walks>, current: usize) -> Vec<Side> {
    let mut out = Vec::new();
    for (name, all) in walks {
        let Some(own) = all.get(current) else { continue };
        let Some(walk) = own.first() else { continue };
        let Some(placed) = run.exec.layout().at(walk.start) else { continue };
        let shape = shape_of(run.exec.module(), placed, walk);
        let mut left = MAX_GRID_RUNS;
        let mut cut = false;
        let mut touches = Vec::new();
        // The current one first, so that it is whole.
        let order = std::iter::once(current).chain((0..all.len()).filter(|n| *n != current));
        for number in order {
            let mut runs = Vec::new();
            let here = all[number].iter().flat_map(Walk::runs);
            for r in here.filter(|r| placed.position(r.0).is_some()) {
                if left == 0 {
                    cut = true;
                    break;
                }
                left -= 1;
                runs.push(r);
            }
            touches.push(Touch { number, runs });
        }
        touches.sort_by_key(|t| t.number);
        let more = match own.len() {
            1 => String::new(),
            n => format!(", and {} more", n - 1),
        };
        let pattern = format!("{}{more}", pattern(walk));
        out.push(Side { name, pattern, shape, touches, cut, current });
    }
    out
}

/// What is to be drawn of a module.
#[derive(Debug, Clone)]
struct Wanted {
    /// The instruction of the loaded module.
    pos: Pos,
    /// The instruction that is run.
    item: Option<Item>,
    /// The block or descriptor.
    part: Option<QueuePart>,
    /// How often its trigger had fired before.
    count: Option<u64>,
}

/// An execution.
struct Executed {
    event: u64,
    groups: Vec<Group>,
    stored: Vec<Walk>,
    current: usize,
}

impl Model {
    /// Works out the grids of what is selected: of a module's instruction or descriptor, else of
    /// the selected slots.
    ///
    /// # Errors
    /// Why there are none.
    pub(super) fn make_grid(&mut self) -> Result<Grid, String> {
        let Some(run) = self.session.program().module.clone() else { return self.slot_grid() };
        let wanted = self.wanted().ok_or("no instruction is selected")?;
        let name = self.session.program().inst_text(wanted.pos);
        let here = self.session.position();
        // The newest execution up to here, else the next one.
        let past = self.session.events(here.saturating_sub(LOOK_AHEAD), here + 1);
        let past: Vec<(u64, Engine)> = past.iter().rev().filter_map(|e| wanted.begins(e)).collect();
        let mut found = self.executed(&run, &wanted, &past);
        if found.is_none() {
            let coming = self.session.events(here + 1, here + 1 + LOOK_AHEAD);
            let coming: Vec<_> = coming.iter().filter_map(|e| wanted.begins(e)).collect();
            found = self.executed(&run, &wanted, &coming);
        }
        let Some(Executed { event, groups, stored, current }) = found else {
            return Err(format!("{name}: where it reads and writes is not known yet"));
        };
        let when = match event <= here {
            true => format!("as run at event {event}"),
            false => format!("as it will run at event {event}"),
        };
        let numbers: Vec<usize> = match stored.is_empty() {
            true => (0..groups.len()).filter(|n| !groups[*n].transfers.is_empty()).collect(),
            false => vec![0],
        };
        let Some(at) = numbers.iter().position(|n| *n == current) else {
            return Err(format!("{name}: it moves nothing, {when}"));
        };
        let make = |current: usize| match stored.is_empty() {
            true => sides(&run, walks_of(&groups, current), current),
            false => sides(&run, vec![("destination".to_owned(), vec![stored.clone()])], 0),
        };
        let all: Vec<Vec<Side>> = numbers.iter().map(|n| make(*n)).collect();
        let unwritten = groups.iter().any(|g| g.unwritten_index.is_some());
        let note = if unwritten { "; an index was read that nobody wrote" } else { "" };
        Grid::new(name, format!("{when}{note}"), all, numbers, at)
    }

    /// What the user looks at.
    fn wanted(&self) -> Option<Wanted> {
        if matches!(self.focus, Pane::Source | Pane::Passes) {
            let (listing, at) = (self.listing()?, self.source.cursor);
            let pos = listing.inst_at(at)?;
            let part = listing.part_at(at).cloned();
            return Some(Wanted { pos, item: listing.item_at(at), part, count: None });
        }
        let run = self.session.program().module.clone()?;
        let of_slot = self.slot_origin().filter(|o| o.inst != Pos::ADDED);
        match of_slot {
            Some(o) => {
                let name = self.queue().and_then(|id| run.queue_name(id).cloned());
                let part = name.zip(o.block).map(|(queue, (block, _))| QueuePart {
                    queue,
                    block,
                    descriptor: o.descriptor,
                });
                let count = o.block.map(|b| b.1);
                Some(Wanted { pos: o.inst, item: Some(o.item), part, count })
            }
            None => {
                let pos = self.source.selected?;
                Some(Wanted { pos, item: self.source.item, part: None, count: None })
            }
        }
    }

    /// The first of these executions that is the wanted one.
    fn executed(
        &mut self,
        run: &ModuleRun,
        wanted: &Wanted,
        all: &[(u64, Engine)],
    ) -> Option<Executed> {
        all.iter().take(MAX_TRIED).find_map(|(event, engine)| {
            let m = self.session.state_at(event.checked_sub(1)?);
            let action = m.control.as_ref()?.peek(&run.exec, &m.memory, *engine).ok()?;
            let (groups, stored) = match action {
                Action::Nothing => return None,
                Action::Transfers(groups) => (groups, Vec::new()),
                Action::Store { walk, .. } => (Vec::new(), vec![walk]),
                Action::Opaque { writes, .. } => {
                    (Vec::new(), writes.into_iter().map(|w| w.0).collect())
                }
            };
            let moves = |g: &Group| !g.transfers.is_empty();
            let current = match &wanted.part {
                None => groups.iter().position(moves).unwrap_or(0),
                Some(part) => groups.iter().position(|g| {
                    let block = g.fired.and_then(|f| Some((f, run.exec.blocks().get(f.block)?)));
                    block.is_some_and(|(f, (queue, position, _))| {
                        *queue == part.queue
                            && position == part.block
                            && wanted.count.is_none_or(|n| n == f.count)
                    }) && part.descriptor.is_none_or(|d| d == g.descriptor)
                })?,
            };
            (!groups.is_empty() || !stored.is_empty()).then_some(Executed {
                event: *event,
                groups,
                stored,
                current,
            })
        })
    }

    /// The slots that the operation filled which put there what lies in the selected slot, where
    /// they follow one another: the first, the last, and which operation.
    fn slots_of_op(&self) -> Option<(u64, u64, usize)> {
        let (staged, _) = self.assembly.of_slot.filter(|s| s.1)?;
        let of = |s: &&Staged| s.dir == staged.dir && Some(s.queue) == self.queue();
        let all: Vec<&Staged> = self.assembly.uses.slots_of(staged.op).filter(of).collect();
        let (first, last) = (all.first()?, all.last()?);
        let follow = all.windows(2).all(|w| w[0].slot + w[0].count == w[1].slot);
        let span = (first.slot, last.slot + last.count - 1);
        (follow && (span.0..=span.1).contains(&self.selection.slot))
            .then_some((span.0, span.1, staged.op))
    }

    /// The bytes that the packet of the selected slot names, on either side.
    fn slot_grid(&self) -> Result<Grid, String> {
        let slot = self.selection.slot;
        let data = |dir, n| -> Option<(u64, u64)> {
            let (desc, _) = self.slot(dir, n)?;
            if desc.is_zero() || desc.view(dir) == View::Meta {
                return None;
            }
            let at = resolve(self.session.program(), desc.ptr).ok()?;
            Some((at, desc.length()))
        };
        let flag = |n: u64, name: &str| {
            let of = |d: Desc| find(d.view(Dir::Tx), name).is_some_and(|f| d.get(f) == 1);
            self.slot(Dir::Tx, n).is_some_and(|d| of(d.0))
        };
        // The packet: from its first descriptor to its last.
        let (mut from, mut to) = (slot, slot);
        while !flag(from, "first")
            && from > 0
            && slot - from < MAX_PACKET
            && data(Dir::Tx, from - 1).is_some()
            && !flag(from - 1, "last")
        {
            from -= 1;
        }
        while !flag(to, "last") && to - slot < MAX_PACKET && data(Dir::Tx, to + 1).is_some() {
            to += 1;
        }
        let mut what = format!("packet of slots {from} to {to}");
        if let Some((a, b, op)) = self.slots_of_op() {
            (from, to) = (a.max(slot.saturating_sub(MAX_PACKET)), b.min(slot + MAX_PACKET));
            what = format!("operation {} of the host, slots {from} to {to}", op + 1);
        }
        let numbers: Vec<usize> = (0..=(to - from) as usize).collect();
        let side = |dir: Dir, current: usize| {
            let runs: Vec<Option<(u64, u64)>> = (from..=to).map(|n| data(dir, n)).collect();
            let (at, len) = runs.get(current).copied().flatten()?;
            let region = self.session.machine().memory.region_at(at);
            let (base, name) = region.map_or((0, String::new()), |r| (r.base, r.name.clone()));
            // What lies far away is another grid.
            let near = |r: &(u64, u64)| {
                let of = self.session.machine().memory.region_at(r.0).map(|r| r.base);
                of == region.map(|r| r.base) && r.0.abs_diff(at) < NEAR
            };
            let kept: Vec<Touch> = runs
                .iter()
                .enumerate()
                .map(|(number, r)| Touch { number, runs: r.iter().copied().filter(near).collect() })
                .collect();
            let all = kept.iter().flat_map(|t| &t.runs);
            let lo = all.clone().map(|r| r.0).min().unwrap_or(at);
            let hi = all.map(|r| r.0.saturating_add(r.1)).max().unwrap_or(at + len);
            let first = (lo - base) / ROW * ROW;
            let shape = Shape {
                name,
                row_name: "row",
                base: base + first,
                stride: ROW,
                pitch: ROW,
                rows: (hi - base - first).div_ceil(ROW),
                elem: 1,
                first,
            };
            let cut =
                kept.iter().map(|t| t.runs.len()).sum::<usize>() < runs.iter().flatten().count();
            let name = if dir == Dir::Tx { "source" } else { "destination" };
            let pattern = format!("{len_bytes} from {at:#x}", len_bytes = count_of(len, "byte"));
            Some(Side { name: name.to_owned(), pattern, shape, touches: kept, cut, current })
        };
        let make = |n: &usize| Dir::BOTH.into_iter().filter_map(|d| side(d, *n)).collect();
        let all: Vec<Vec<Side>> = numbers.iter().map(make).collect();
        let title = format!("slot {slot}, {what}");
        let when = format!("as it lies at event {}", self.session.position());
        Grid::new(title, when, all, numbers, (slot - from) as usize)
    }
}

impl Wanted {
    /// Whether an event begins what may be the wanted execution.
    fn begins(&self, e: &Event) -> Option<(u64, Engine)> {
        let (EventKind::Inst { pos, item }, Agent::Seq(engine)) = (e.kind, e.agent) else {
            return None;
        };
        // What fires a block may stem from another instruction than the block.
        let fits = match (&self.part, self.item) {
            (_, Some(wanted)) => wanted == item,
            (Some(_), None) => true,
            (None, None) => pos == self.pos,
        };
        fits.then_some((e.n, engine))
    }
}
