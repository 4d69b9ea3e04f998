//! Watching inputs: which of a set of files changed, told once they have been quiet for a
//! while (`docs/watch.md`).
//!
//! The directories that the files are in are watched, not the files: saving may replace a file
//! by another of its name, truncate it and write it anew, or delete it and make it again, and
//! only the directory sees all of that. Where a directory is missing the nearest one above it
//! is watched until it is there. Nothing is polled, and the system is asked for no more than what
//! may be a change: while others only read in those directories, nothing runs.

use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind};
use notify::{Config, EventKindMask, RecommendedWatcher, RecursiveMode, Watcher as _};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant, SystemTime};

/// How long inputs must be quiet before a change of them is told: a save takes several steps,
/// and what is half written is not worth a look.
pub const QUIET: Duration = Duration::from_millis(80);
/// After this time a change is told although inputs are never quiet, or are still being written.
pub const PATIENCE: Duration = Duration::from_secs(2);
/// How long a file that has become empty, or is gone, is waited for before that is told: whoever
/// saves may empty or delete it first, and write it a moment later.
pub const MOMENT: Duration = Duration::from_millis(400);
/// Links that a path may go by: more are taken to be a circle.
const MAX_LINKS: usize = 40;

/// What a watcher tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// These inputs changed, were deleted, or were made again; in order.
    Changed(Vec<PathBuf>),
    /// The system no longer tells of changes, and why.
    Lost(String),
}

/// Watches inputs until it is dropped.
pub struct Watcher {
    to: Sender<Incoming>,
}

enum Incoming {
    /// Something happened to these paths.
    Touched(Vec<PathBuf>, Stir),
    /// What happened was lost: everything may have changed.
    Overrun,
    Failed(String),
    /// Watch these, and say when it is done.
    Set(Vec<(PathBuf, bool)>, Sender<Result<(), String>>),
}

/// What happened to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stir {
    /// Bytes of it were written: whoever does has it open.
    Written,
    /// Whoever wrote it closed it.
    Closed,
    /// Anything else.
    Other,
}

impl Watcher {
    /// Watches nothing yet. `tell` is called from a thread of its own.
    ///
    /// # Errors
    /// What the system says that cannot tell of changes.
    pub fn new(tell: impl FnMut(News) + Send + 'static) -> Result<Watcher, String> {
        Watcher::with_quiet(QUIET, tell)
    }

    /// The same with another time in place of [`QUIET`].
    ///
    /// # Errors
    /// As [`Watcher::new`].
    pub fn with_quiet(
        quiet: Duration,
        tell: impl FnMut(News) + Send + 'static,
    ) -> Result<Watcher, String> {
        let (to, incoming) = channel();
        let raw = to.clone();
        let hear = move |event: notify::Result<notify::Event>| {
            // The receiver is gone when nobody watches any more.
            let _ = match event {
                Ok(e) if e.need_rescan() => raw.send(Incoming::Overrun),
                Ok(e) if changes(e.kind) => raw.send(Incoming::Touched(e.paths, stir(e.kind))),
                Ok(_) => Ok(()),
                Err(e) => raw.send(Incoming::Failed(e.to_string())),
            };
        };
        let config = Config::default().with_event_kinds(ASKED);
        let system = RecommendedWatcher::new(hear, config).map_err(|e| e.to_string())?;
        let desk =
            Desk { system, dirs: BTreeMap::new(), inputs: BTreeMap::new(), open: BTreeSet::new() };
        std::thread::Builder::new()
            .name("watch".into())
            .spawn(move || serve(desk, &incoming, quiet, tell))
            .map_err(|e| e.to_string())?;
        Ok(Watcher { to })
    }

    /// Watches these inputs in place of those before. A change after this returns is told; one
    /// before it is told of inputs that were watched already.
    ///
    /// # Errors
    /// What the system says, such as that too many directories are watched.
    pub fn set(&self, inputs: &[PathBuf]) -> Result<(), String> {
        self.set_all(inputs, &[])
    }

    /// The same, and of the directories in `deep` all that is in them at any depth, but for names
    /// that begin with a dot. Of those the files that changed are told by their own paths.
    ///
    /// # Errors
    /// As [`Watcher::set`].
    pub fn set_all(&self, inputs: &[PathBuf], deep: &[PathBuf]) -> Result<(), String> {
        let (done, answer) = channel();
        let gone = || "nothing is watched any more".to_owned();
        let deep = deep.iter().map(|p| (p.clone(), true));
        let all = inputs.iter().map(|p| (p.clone(), false)).chain(deep).collect();
        self.to.send(Incoming::Set(all, done)).map_err(|_| gone())?;
        answer.recv().map_err(|_| gone())?
    }
}

/// What the system is asked to tell: whatever may change a file, and that its writer closed it.
const ASKED: EventKindMask = EventKindMask::CORE.union(EventKindMask::ACCESS_CLOSE);

/// Whether something that happened may have changed a file; reading one does not, which some
/// systems tell although they were not asked.
fn changes(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(access) => access == AccessKind::Close(AccessMode::Write),
        _ => true,
    }
}

fn stir(kind: EventKind) -> Stir {
    match kind {
        EventKind::Modify(ModifyKind::Data(_)) => Stir::Written,
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => Stir::Closed,
        _ => Stir::Other,
    }
}

/// Gathers what comes until it has been quiet, then tells which inputs changed.
fn serve(
    mut desk: Desk,
    incoming: &Receiver<Incoming>,
    quiet: Duration,
    mut tell: impl FnMut(News),
) {
    let mut changed: BTreeSet<PathBuf> = BTreeSet::new();
    // When the first of what is gathered came, and by when to tell of it.
    let mut due: Option<(Instant, Instant)> = None;
    loop {
        let next = match due {
            None => incoming.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some((_, by)) => incoming.recv_timeout(by.saturating_duration_since(Instant::now())),
        };
        let touched = match next {
            Ok(Incoming::Touched(paths, stir)) => desk.touched(&paths, stir),
            Ok(Incoming::Overrun) => {
                desk.open.clear();
                desk.inputs.keys().cloned().collect()
            }
            Ok(Incoming::Failed(why)) => {
                tell(News::Lost(why));
                continue;
            }
            Ok(Incoming::Set(inputs, done)) => {
                let answer = desk.set(&inputs);
                changed.retain(|path| desk.has(path));
                let _ = done.send(answer);
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => return,
            // Half of a file that is still being written is not worth a look either.
            Err(RecvTimeoutError::Timeout) if desk.is_written(&changed, due) => {
                due = due.map(|(first, _)| (first, first + PATIENCE));
                continue;
            }
            // Nor is nothing at all, where something follows in a moment.
            Err(RecvTimeoutError::Timeout) if desk.is_hollow(&changed, due) => {
                due = due.map(|(first, _)| (first, first + MOMENT));
                continue;
            }
            Err(RecvTimeoutError::Timeout) => {
                due = None;
                // A directory may have come or gone with what was in it.
                let lost = desk.arm().err();
                changed.append(&mut desk.stirred());
                if !changed.is_empty() {
                    tell(News::Changed(std::mem::take(&mut changed).into_iter().collect()));
                }
                lost.into_iter().for_each(|why| tell(News::Lost(why)));
                continue;
            }
        };
        changed.extend(touched);
        let now = Instant::now();
        let first = due.map_or(now, |(first, _)| first);
        due = Some((first, (now + quiet).min(first + PATIENCE)));
    }
}

/// What can be seen of a file without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Look {
    len: u64,
    changed: Option<SystemTime>,
    dir: bool,
    /// Which file it is, where the system numbers them.
    file: u64,
}

fn look(path: &Path) -> Option<Look> {
    let meta = std::fs::metadata(path).ok()?;
    #[cfg(unix)]
    let file = std::os::unix::fs::MetadataExt::ino(&meta);
    #[cfg(not(unix))]
    let file = 0;
    Some(Look { len: meta.len(), changed: meta.modified().ok(), dir: meta.is_dir(), file })
}

/// What is watched.
struct Desk {
    system: RecommendedWatcher,
    /// Directories that the system watches, and whether with all that is in them; which directory
    /// each was.
    dirs: BTreeMap<PathBuf, (bool, Option<u64>)>,
    /// Inputs as they were named, and how they were last seen.
    inputs: BTreeMap<PathBuf, Input>,
    /// Paths that somebody has written to and not closed.
    open: BTreeSet<PathBuf>,
}

struct Input {
    /// All that is in it counts, at any depth.
    deep: bool,
    /// Its paths as the system names them: where it stands, and where a link leads.
    real: Vec<PathBuf>,
    look: Option<Look>,
}

impl Desk {
    fn set(&mut self, inputs: &[(PathBuf, bool)]) -> Result<(), String> {
        self.inputs.retain(|path, _| inputs.iter().any(|i| i.0 == *path));
        for (path, deep) in inputs {
            let look = look(path);
            let new = Input { deep: *deep, real: Vec::new(), look };
            self.inputs.entry(path.clone()).or_insert(new).deep = *deep;
        }
        self.arm()
    }

    /// Whether a path is an input, or in one of which everything counts.
    fn has(&self, path: &Path) -> bool {
        let inside = |(p, i): (&PathBuf, &Input)| i.deep && path.starts_with(p);
        self.inputs.contains_key(path) || self.inputs.iter().any(inside)
    }

    /// Watches the directories in which the inputs are now.
    fn arm(&mut self) -> Result<(), String> {
        let mut wanted: BTreeMap<PathBuf, bool> = BTreeMap::new();
        for (path, input) in &mut self.inputs {
            input.real = real_paths(path);
            for real in &input.real {
                if let Some(dir) = nearest_dir(real) {
                    wanted.entry(dir).or_insert(false);
                }
                // The rings of a directory are inputs too.
                if real.is_dir() {
                    *wanted.entry(real.clone()).or_insert(false) |= input.deep;
                }
            }
        }
        for dir in self.dirs.keys().filter(|dir| !wanted.contains_key(*dir)) {
            // One that is gone is not watched any more anyway.
            let _ = self.system.unwatch(dir);
        }
        let mut wrong = None;
        let mut dirs = BTreeMap::new();
        for (dir, deep) in wanted {
            let is = (deep, look(&dir).map(|l| l.file));
            // All of a tree is looked through where that is asked of the system again.
            let known = deep && self.dirs.get(&dir) == Some(&is);
            let mode = if deep { RecursiveMode::Recursive } else { RecursiveMode::NonRecursive };
            let watched = if known { Ok(()) } else { self.system.watch(&dir, mode) };
            match watched {
                Ok(()) => drop(dirs.insert(dir, is)),
                Err(e) => {
                    wrong.get_or_insert_with(|| format!("cannot watch `{}`: {e}", dir.display()));
                }
            }
        }
        self.dirs = dirs;
        wrong.map_or(Ok(()), Err)
    }

    /// The inputs that are at, or in, one of these paths; of those of which everything counts
    /// what was touched itself.
    fn touched(&mut self, paths: &[PathBuf], stir: Stir) -> Vec<PathBuf> {
        for path in paths {
            match stir {
                Stir::Written => drop(self.open.insert(path.clone())),
                Stir::Closed | Stir::Other => drop(self.open.remove(path)),
            }
        }
        let mut out = Vec::new();
        for (path, input) in &self.inputs {
            for real in &input.real {
                let dir = input.look.is_some_and(|l| l.dir);
                let hit = paths.iter().any(|p| p == real || dir && p.parent() == Some(real));
                if hit && !input.deep {
                    out.push(path.clone());
                }
                let inside = paths.iter().filter(|_| input.deep).filter_map(|p| {
                    let rest = p.strip_prefix(real).ok()?;
                    let dot = |c: &std::ffi::OsStr| c.as_encoded_bytes().starts_with(b".");
                    // A directory is only what is in it.
                    let whole = rest.as_os_str().is_empty();
                    let named = || if whole { path.clone() } else { path.join(rest) };
                    (!rest.iter().any(dot) && !p.is_dir()).then(named)
                });
                out.extend(inside);
            }
        }
        out
    }

    /// Whether somebody is still writing to one of these inputs, and it may be waited for. Only
    /// where the system tells that a file is closed.
    fn is_written(&self, changed: &BTreeSet<PathBuf>, due: Option<(Instant, Instant)>) -> bool {
        let late = due.is_none_or(|(first, _)| Instant::now() >= first + PATIENCE);
        let written = |path: &PathBuf| match self.inputs.get(path) {
            Some(i) => self.open.iter().any(|o| i.real.iter().any(|r| o.starts_with(r))),
            None => self.open.iter().any(|o| o.file_name() == path.file_name()),
        };
        cfg!(target_os = "linux") && !late && changed.iter().any(written)
    }

    /// Whether one of these inputs held something and now is empty or gone, and it may be waited
    /// for what follows.
    fn is_hollow(&self, changed: &BTreeSet<PathBuf>, due: Option<(Instant, Instant)>) -> bool {
        let late = due.is_none_or(|(first, _)| Instant::now() >= first + MOMENT);
        let emptied = |path: &PathBuf| {
            let held = self.inputs.get(path).and_then(|i| i.look);
            held.is_some_and(|l| l.dir || l.len > 0)
                && look(path).is_none_or(|l| !l.dir && l.len == 0)
        };
        !late && changed.iter().any(emptied)
    }

    /// The inputs that look otherwise than before.
    fn stirred(&mut self) -> BTreeSet<PathBuf> {
        let mut out = BTreeSet::new();
        for (path, input) in &mut self.inputs {
            let now = look(path);
            if input.deep && now.is_some_and(|l| l.dir) && input.look.is_some_and(|l| l.dir) {
                input.look = now;
                continue;
            }
            if std::mem::replace(&mut input.look, now) != now {
                out.insert(path.clone());
            }
        }
        out
    }
}

/// Where a path leads, every link on the way resolved, whether or not anything is there; before
/// that each link that it goes by, which may be turned to lead elsewhere.
fn real_paths(path: &Path) -> Vec<PathBuf> {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut out = Vec::new();
    let mut here = PathBuf::new();
    // What is still to be walked, the next name last.
    let names = |path: &Path| -> Vec<PathBuf> {
        path.components().rev().map(|c| PathBuf::from(c.as_os_str())).collect()
    };
    let mut rest = names(&absolute);
    while let Some(name) = rest.pop() {
        if name.as_os_str() == ".." {
            here.pop();
            continue;
        }
        let next = here.join(&name);
        match std::fs::read_link(&next) {
            // A circle leads nowhere.
            Ok(to) if out.len() < MAX_LINKS => {
                rest.extend(names(&to));
                out.push(next);
            }
            _ => here = next,
        }
    }
    if !out.contains(&here) {
        out.push(here);
    }
    out
}

/// The directory of a path, or the nearest one above that there is.
fn nearest_dir(path: &Path) -> Option<PathBuf> {
    path.ancestors().skip(1).find(|dir| dir.is_dir()).map(Path::to_owned)
}

#[cfg(test)]
mod tests;
