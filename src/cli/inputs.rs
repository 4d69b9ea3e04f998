//! What the subcommands need of their input files: named rings as plain views, the
//! generation, and how it was found out.

use super::args::RingOpts;
use crate::check::{Cursors, RingView, live};
use crate::diag::{Diagnostic, Policy, Report};
use crate::engine::program::{Blob, Program, QueueId};
use crate::engine::ring::Machine;
use crate::engine::ring::machine::run;
use crate::limits::{MAX_CHECK_RUN_SLOTS, MAX_LOOK_RUN_SLOTS};
use crate::load::module::{LoadedModule, ModuleOptions};
use crate::load::raw::{RingView as RawRing, infer_arch};
use crate::load::{LoadOptions, Loaded, RawImage};
use crate::udma::{Desc, Dir, Generation, Profile, Rows};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The rings of one queue.
pub struct RingSet {
    /// What to call it: a file name, or a queue.
    pub name: String,
    /// Tx ring.
    pub tx: Option<Box<dyn RingView>>,
    /// Rx ring.
    pub rx: Option<Box<dyn RingView>>,
    /// Tx and Rx slots lie in turn in one image, and are shown in that order.
    pub interleaved: bool,
    /// Engine and queue, where known.
    pub queue: Option<(u32, u32)>,
    /// The cursors of both rings, Tx then Rx, where a run has kept them.
    pub cursors: [Option<Cursors>; 2],
}

impl RingSet {
    /// A ring as a view.
    pub fn ring(&self, dir: Dir) -> Option<&dyn RingView> {
        match dir {
            Dir::Tx => self.tx.as_deref(),
            Dir::Rx => self.rx.as_deref(),
        }
    }
}

/// An input that was opened.
pub struct Input {
    /// Its name, or names.
    pub name: String,
    /// What it is, in words.
    pub kind: String,
    /// How that was recognised.
    pub why: String,
    /// Generation.
    pub arch: Generation,
    /// Where the generation is from.
    pub arch_why: String,
    /// Driver profile.
    pub profile: &'static Profile,
    /// The rings.
    pub sets: Vec<RingSet>,
    /// Findings while reading.
    pub report: Report,
    /// What the input itself says about findings.
    pub policy: Policy,
    /// The module, where the input is one.
    pub module: Option<Arc<LoadedModule>>,
    /// What can be stepped, if anything.
    pub program: Option<Arc<Program>>,
    /// The end of its calm run, where that was asked for.
    pub end: Option<Machine>,
    /// What the host does is not in the input but was made up for it.
    pub inferred: bool,
}

impl RingView for RawRing {
    fn len(&self) -> u64 {
        self.slots()
    }

    fn get(&self, index: u64) -> Option<Desc> {
        RawRing::get(self, index)
    }

    fn read(&self, first: u64, out: &mut [Desc]) -> usize {
        let n = (out.len() as u64).min(self.slots().saturating_sub(first));
        self.each(first, n, |i, d| out[i as usize] = d);
        n as usize
    }

    fn rows(&self, first: u64, count: u64) -> Option<Rows<'_>> {
        RawRing::rows(self, first, count)
    }
}

/// A part of a ring, as if it were the whole.
pub struct Window<'a> {
    ring: &'a dyn RingView,
    range: (u64, u64),
}

impl<'a> Window<'a> {
    /// Slots `range` of a ring; all where there is no range.
    pub fn new(ring: &'a dyn RingView, range: Option<(u64, u64)>) -> Window<'a> {
        Window { ring, range: range.unwrap_or((0, u64::MAX)) }
    }

    /// The ring's number of the window's first slot.
    pub fn first(&self) -> u64 {
        self.range.0
    }
}

impl RingView for Window<'_> {
    fn len(&self) -> u64 {
        let end = self.range.1.min(self.ring.len());
        end.saturating_sub(self.range.0)
    }

    fn get(&self, index: u64) -> Option<Desc> {
        if index < self.len() { self.ring.get(self.range.0 + index) } else { None }
    }

    fn read(&self, first: u64, out: &mut [Desc]) -> usize {
        let left = usize::try_from(self.len().saturating_sub(first)).unwrap_or(usize::MAX);
        let n = out.len().min(left);
        self.ring.read(self.range.0 + first, &mut out[..n])
    }

    fn rows(&self, first: u64, count: u64) -> Option<Rows<'_>> {
        let left = self.len().saturating_sub(first).min(count);
        self.ring.rows(self.range.0.checked_add(first)?, left)
    }
}

/// How much of an input a command needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Its slots as they lie.
    Browse,
    /// A program of it, too, if that takes no longer than a look.
    Look,
    /// A program of it, too.
    Program,
    /// The end of a calm run of it, too; of a raw image if it is not too large for that.
    Run,
}

/// What the command line says about inputs, for the loaders.
pub fn load_options(opts: &RingOpts, module: &ModuleOptions, depth: Depth) -> LoadOptions {
    LoadOptions {
        name: opts.name.clone(),
        ring: opts.ring,
        tx: opts.tx.clone(),
        rx: opts.rx.clone(),
        arch: opts.arch,
        profile: opts.profile.map(|p| p.0),
        engine: opts.engine,
        queue: opts.queue,
        start: opts.start,
        batch: opts.batch,
        slots: opts.slots,
        module: module.clone(),
        browse: depth == Depth::Browse,
        run_slots: match depth {
            Depth::Look => Some(MAX_LOOK_RUN_SLOTS),
            Depth::Run => Some(MAX_CHECK_RUN_SLOTS),
            Depth::Browse | Depth::Program => None,
        },
        ..LoadOptions::default()
    }
}

/// Opens what the command line names, as the loaders recognise it.
///
/// # Errors
/// Every reason why it cannot be read.
pub fn load(
    files: &[PathBuf],
    opts: &RingOpts,
    module: &ModuleOptions,
    depth: Depth,
) -> Result<Loaded, Report> {
    load_as(files, opts, &load_options(opts, module, depth))
}

/// As [`load`], with what the loaders are told.
///
/// # Errors
/// As [`load`].
pub fn load_as(
    files: &[PathBuf],
    opts: &RingOpts,
    options: &LoadOptions,
) -> Result<Loaded, Report> {
    let mut loaded = crate::load::open(files, options)?;
    let made = loaded.images.is_empty() && loaded.module.is_none();
    // A program image says these itself; the command line overrides them.
    if let Some(p) = loaded.program.as_mut().filter(|_| made) {
        let given = (opts.arch, opts.profile);
        if given != (None, None) {
            let mut changed = (**p).clone();
            changed.arch = given.0.unwrap_or(changed.arch);
            changed.profile = given.1.map_or(changed.profile, |g| g.0);
            *p = Arc::new(changed);
        }
    }
    Ok(loaded)
}

/// Reads a file that must be a module, and nothing of it on rings.
///
/// # Errors
/// Every reason why it cannot be read as one.
pub fn load_module(
    file: &Path,
    opts: &RingOpts,
    module: &ModuleOptions,
) -> Result<(LoadedModule, Report), Report> {
    let loaded = load(&[file.to_owned()], opts, module, Depth::Browse)?;
    match loaded.module {
        Some(m) => Ok((Arc::unwrap_or_clone(m), loaded.report)),
        None => {
            let why = format!("this is {}, no module", loaded.kind.name());
            Err(Diagnostic::new("S010", why).in_file(&loaded.name).into())
        }
    }
}

/// Opens files for the commands that work on rings. The rings of a program image are those
/// that lie in memory at the end of a calm run.
///
/// # Errors
/// Every reason why they cannot be read.
pub fn open(
    files: &[PathBuf],
    opts: &RingOpts,
    module: &ModuleOptions,
    depth: Depth,
) -> Result<Input, Report> {
    let loaded = load(files, opts, module, depth)?;
    let raw = !loaded.images.is_empty();
    // A module's own check runs it.
    let proved = depth == Depth::Run && loaded.module.is_some();
    let runs = (depth == Depth::Run || !raw) && !proved;
    let most = opts.max_events.unwrap_or(u64::MAX);
    let end = loaded.program.as_deref().filter(|_| runs).map(|p| run(p, |m, _| m.n < most).machine);
    if end.as_ref().is_some_and(|end| end.n >= most) {
        let why = format!("given up after {most} events: the run goes on");
        return Err(Diagnostic::new("S030", why).in_file(&loaded.name).into());
    }
    let sets: Vec<RingSet> = match (&loaded.program, &end) {
        (Some(p), Some(end)) if !raw => {
            p.queues.iter().filter_map(|q| of_queue(q.id, end)).collect()
        }
        _ => loaded.images.iter().map(of_image).collect(),
    };
    let (arch, arch_why) = match (&loaded.program, opts.arch) {
        (_, Some(g)) => (g, "given with --arch".to_owned()),
        (Some(p), None) if !raw => (p.arch, "said by the program".to_owned()),
        _ => detect_arch(&loaded.images),
    };
    in_reach(&sets, opts).map_err(|d| d.in_file(&loaded.name))?;
    let said = loaded.program.as_ref().map(|p| p.profile);
    Ok(Input {
        name: loaded.name,
        kind: loaded.kind.name().to_owned(),
        why: loaded.why,
        arch,
        arch_why,
        profile: opts.profile.map(|p| p.0).or(said).unwrap_or(Profile::default_profile()),
        sets,
        report: loaded.report,
        policy: loaded.policy,
        module: loaded.module,
        program: loaded.program,
        end,
        inferred: raw,
    })
}

/// Whether `--slots` and `--start` leave something of the longest ring.
fn in_reach(sets: &[RingSet], opts: &RingOpts) -> Result<(), Diagnostic> {
    let rings = sets.iter().flat_map(|s| Dir::BOTH.into_iter().filter_map(|d| s.ring(d)));
    let Some(longest) = rings.map(|r| Window::new(r, opts.slots).len()).max() else {
        return Ok(());
    };
    match (opts.slots, opts.start) {
        (Some((from, _)), _) if longest == 0 => {
            let why = format!("--slots begins at {from}, beyond the last slot");
            Err(Diagnostic::new("S011", why))
        }
        (_, Some(start)) if start >= longest => {
            let why = format!("--start {start} is beyond the last slot, {}", longest - 1);
            Err(Diagnostic::new("S011", why))
        }
        _ => Ok(()),
    }
}

fn of_image(image: &RawImage) -> RingSet {
    let ring = |dir| -> Option<Box<dyn RingView>> {
        image.ring(dir).map(|r| Box::new(r.clone()) as Box<dyn RingView>)
    };
    RingSet {
        name: image.name.clone(),
        tx: ring(Dir::Tx),
        rx: ring(Dir::Rx),
        interleaved: image.tx.as_ref().is_some_and(RawRing::is_interleaved),
        queue: image.queue.map(|q| (q.engine, q.queue)),
        cursors: [None; 2],
    }
}

/// The rings of a queue as they lie in memory.
fn of_queue(id: QueueId, m: &Machine) -> Option<RingSet> {
    let q = m.queue(id)?;
    let ring = |dir| -> Option<Box<dyn RingView>> {
        let ring = q.decl.ring(dir)?;
        let mut bytes = vec![0; usize::try_from(ring.bytes()).ok()?];
        m.memory.read(ring.base, &mut bytes);
        Some(Box::new(RawRing::whole(dir, Blob::from_vec(bytes))))
    };
    Some(RingSet {
        name: id.to_string(),
        tx: ring(Dir::Tx),
        rx: ring(Dir::Rx),
        interleaved: false,
        queue: Some((id.engine, id.queue)),
        cursors: live::cursors(q),
    })
}

/// The generation of raw images: an index's, or by the host window's bit of the addresses,
/// else v3.
fn detect_arch(images: &[RawImage]) -> (Generation, String) {
    if let Some(g) = images.iter().find_map(|i| i.arch) {
        return (g, "said by the index".to_owned());
    }
    match images.iter().find_map(infer_arch) {
        Some(g) => {
            let bit = g.host_base().trailing_zeros();
            (g, format!("host window bit {bit} is set in an address"))
        }
        None => (
            Generation::V3,
            "assumed: no address lies in a host window; --arch says otherwise".to_owned(),
        ),
    }
}
