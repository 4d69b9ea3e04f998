//! A module put on rings: its regions, queues and memory as a program, the same with other
//! parameters, and a run of it as a program that needs no module (`docs/sequencer.md`).

use super::*;
use crate::udma::count_of;

/// The program that runs the last snapshot of `lowered` on rings. `place` says where an
/// instruction of the loaded module is.
///
/// # Errors
/// There is no snapshot, there are more queues than the sixteen engines have, or memory does not
/// fit its location.
pub fn program(
    lowered: &Lowered,
    place: &dyn Fn(Pos) -> Place,
    initial: &Initial,
    options: &Options,
) -> Result<Program, Vec<Diagnostic>> {
    let (Some(loaded), Some(last)) = (lowered.snapshots.first(), lowered.module()) else {
        return Err(vec![Diagnostic::new("R025", "there is no module")]);
    };
    let exec = exec::Program::new(last.clone());
    let mut p = Program::new(options.arch, options.profile);
    let slots = options.ring_slots.clamp(MIN_RING_SLOTS, MAX_RING_DESCS);
    let slots = slots.next_multiple_of(RING_SLOTS_STEP).min(MAX_RING_DESCS);
    let names: Vec<Name> = exec.module().queues.iter().map(|q| q.name.clone()).collect();
    if names.len() > (DATA_ENGINES * QUEUES_PER_ENGINE) as usize {
        let text = format!("{}; the engines have {}", count_of(names.len(), "queue"), 16 * 16);
        return Err(vec![Diagnostic::new("R025", text)]);
    }
    let mut queues = HashMap::new();
    let ring_bytes = (slots * DESC_BYTES as u64).next_multiple_of(RING_ALIGN);
    for (i, name) in names.iter().enumerate() {
        let n = i as u32;
        let id = QueueId { engine: n % DATA_ENGINES, queue: n / DATA_ENGINES };
        let marker = MARKERS_BASE + u64::from(n) * MARKER_BYTES;
        let tx = RINGS_BASE + u64::from(n) * 2 * ring_bytes;
        let at = QueueAt { id, marker, slots };
        if queues.insert(name.clone(), at).is_some() {
            continue;
        }
        let region = |what: &str, base, len| Region {
            name: format!("{name}.{what}"),
            kind: RegionKind::Device,
            base,
            len,
            fill: Fill::Zero,
        };
        p.regions.push(region("marker", marker, MARKER_BYTES));
        let ring = |base| Some(RingDecl { base, size: slots });
        p.queues.push(QueueDecl {
            id,
            tx: ring(tx),
            rx: ring(tx + ring_bytes),
            allocatable: false,
            marker_area: marker,
            first: [Start::FRESH; 2],
        });
        p.script.push(HostOp::InitQueue { queue: id }.into());
    }
    memory(exec.layout(), initial, &mut p)?;
    let target = scratch(exec.layout(), options, &mut p);
    let insts = Insts::of(&loaded.module, place);
    p.sort_regions();
    let (lowered, options) = (lowered.clone(), options.clone());
    p.module = Some(Arc::new(ModuleRun { exec, target, queues, lowered, insts, options }));
    Ok(p)
}

/// The same module, lowered and put on rings anew with other parameters, from the same memory.
///
/// # Errors
/// There is no module, or it cannot be lowered so: the first error.
pub fn again(p: &Program, params: &lower::Options) -> Result<Program, Diagnostic> {
    let none = || Diagnostic::new("S010", "the program is rings without a module");
    let run = p.module.as_ref().ok_or_else(none)?;
    let loaded = run.lowered.snapshots.first().ok_or_else(none)?;
    let lowered = lower::lower(&loaded.module, params, Stage::LowerDma);
    if let Some(f) = lowered.findings().find(|f| f.diag.severity == Severity::Error) {
        return Err(f.diag.clone());
    }
    let place = |pos: Pos| run.inst(pos).map(|i| i.place.clone()).unwrap_or_default();
    let options = Options { lower: params.clone(), ..run.options.clone() };
    let mut new = program(&lowered, &place, &Initial::default(), &options)
        .map_err(|all| all.into_iter().next().unwrap_or_else(none))?;
    new.contents.clone_from(&p.contents);
    (new.platform, new.speed) = (p.platform, p.speed);
    Ok(new)
}

/// Regions for all locations, and what they hold.
fn memory(layout: &Layout, initial: &Initial, p: &mut Program) -> Result<(), Vec<Diagnostic>> {
    let mut push = |name: &str, kind, base, len| {
        if len > 0 {
            // What nobody wrote reads as the reference interpreter has it.
            let fill = Fill::Byte(UNWRITTEN);
            p.regions.push(Region { name: name.to_owned(), kind, base, len, fill });
        }
    };
    let all = layout.placed();
    let has = |space: Space| all.iter().any(|l| l.space == space);
    if has(Space::Sb) {
        push("SB", RegionKind::OnChip, SB_BASE, PARTITIONS * SB_STRIDE);
    }
    if has(Space::Psum) {
        push("PSUM", RegionKind::OnChip, PSUM_BASE, PARTITIONS * PSUM_STRIDE);
    }
    let mut dram: Vec<(u64, u64, &str)> = all
        .iter()
        .filter(|l| l.space.is_dram())
        .map(|l| (l.addr, l.addr + l.bytes(), &*l.name))
        .collect();
    dram.sort_unstable();
    // Locations that share bytes are one region, by the name of the first.
    let mut at = 0;
    while let Some(&(base, mut end, name)) = dram.get(at) {
        at += 1;
        while let Some(next) = dram.get(at).filter(|n| n.0 < end) {
            end = end.max(next.1);
            at += 1;
        }
        push(name, RegionKind::Device, base, end - base);
    }
    let mut wrong = Vec::new();
    let of_file = |d: Diagnostic| match &initial.file {
        Some(file) => d.in_file(file),
        None => d,
    };
    for (name, bytes) in &initial.given {
        let Some(loc) = layout.location(name) else {
            let text = format!("no memory location is named `{name}`");
            wrong.push(of_file(Diagnostic::new("S012", text)));
            continue;
        };
        if loc.bytes() != bytes.len() as u64 {
            let text = format!(
                "{} for `{name}`, which has {}",
                count_of(bytes.len(), "byte"),
                loc.bytes()
            );
            wrong.push(of_file(Diagnostic::new("S012", text)));
            continue;
        }
        let blob = Blob::from_vec(bytes.clone());
        let mut at = 0;
        for (addr, len) in loc.runs() {
            p.contents.push(Content { addr, bytes: blob.slice(at, len as usize) });
            at += len as usize;
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

/// The machine that descriptors are made for, with memory of each queue for data that must be
/// put down on its way.
fn scratch(layout: &Layout, options: &Options, p: &mut Program) -> Target {
    let mut target = Target::new(options.arch, options.profile);
    let most = layout.placed().iter().map(|l| l.bytes()).max().unwrap_or(0);
    if most > 0 && most <= SCRATCH_BYTES {
        let (base, each) = (SCRATCH_BASE, most * 2);
        let (name, kind, fill) = ("scratch".to_owned(), RegionKind::Device, Fill::Byte(UNWRITTEN));
        let len = each * p.queues.iter().map(|q| number(q.id) + 1).max().unwrap_or(1);
        p.regions.push(Region { name, kind, base, len, fill });
        target.scratch = Some((base, each));
    }
    target
}

impl Program {
    /// An instruction of the module, in words.
    pub fn inst_text(&self, pos: Pos) -> String {
        if pos == Pos::ADDED {
            return "an instruction that lowering added".to_owned();
        }
        let info = self.module.as_ref().and_then(|m| m.inst(pos));
        info.map_or_else(|| format!("instruction {}", pos.0), |i| i.text.clone())
    }
}

/// The run of a module as a program that needs no module: what its sequencers did, in the order
/// in which they did it, as operations of the host. Addresses are those of this run.
///
/// # Errors
/// More operations than a program may have, or edits, whose events another program has not
/// (R025).
pub fn record(p: &Program) -> Result<Program, Diagnostic> {
    if !p.edits.is_empty() {
        let text = "the edits are made at events of the module's run, which its record has not";
        return Err(Diagnostic::new("R025", text));
    }
    let mut script = p.script.clone();
    let mut rx_count = 0;
    let mut note = String::new();
    each_event(p, |m, e| {
        let Agent::Seq(_) = e.agent else { return };
        let bytes = |addr, len: u64| {
            let mut out = vec![0; len as usize];
            m.memory.read(addr, &mut out);
            Blob::from_vec(out)
        };
        let op = match e.kind {
            EventKind::Inst { pos, .. } => {
                note = p.inst_text(pos);
                return;
            }
            EventKind::Store { addr, len } => HostOp::Store { addr, bytes: bytes(addr, len) },
            EventKind::Patch { at, .. } => HostOp::Store { addr: at, bytes: bytes(at, 8) },
            EventKind::MarkerWrite { addr, .. } if m.phase() == Some(Phase::Stage) => {
                HostOp::Store { addr, bytes: bytes(addr, 4) }
            }
            EventKind::CopyIn { queue, dir, slot, count } => {
                let Some(ring) = p.queue(queue).and_then(|q| q.ring(dir)) else { return };
                let descs = bytes(ring.slot_addr(slot), count * DESC_BYTES as u64);
                HostOp::CopyIn { queue, ring: RingType::Dir(dir), at: slot, descs }
            }
            EventKind::CopyStart { queue, m2s, s2m } => HostOp::CopyStart { queue, m2s, s2m },
            EventKind::Ack { dir: Dir::Rx, count, .. } => {
                rx_count = count;
                return;
            }
            EventKind::Ack { queue, dir: Dir::Tx, count, .. } => {
                let marker = m.queue(queue).map_or(0, |q| q.marker);
                HostOp::WaitRings { queue, marker, m2s: count, s2m: rx_count }
            }
            _ => return,
        };
        if script.len() <= MAX_HOST_OPS {
            script.push(ScriptOp { op, note: note.clone() });
        }
    });
    if script.len() > MAX_HOST_OPS {
        let text = format!("the run takes more than {MAX_HOST_OPS} operations");
        return Err(Diagnostic::new("R025", text));
    }
    Ok(Program { script, module: None, ..p.clone() })
}

/// The bytes of a location after a run, row-major.
pub fn dump(layout: &Layout, memory: &Memory, name: &str) -> Option<Vec<u8>> {
    let loc = layout.location(name)?;
    let mut out = vec![0; loc.bytes() as usize];
    let mut at = 0;
    for (addr, len) in loc.runs() {
        memory.read(addr, &mut out[at..at + len as usize]);
        at += len as usize;
    }
    Some(out)
}
