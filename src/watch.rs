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
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs;

    struct Seen {
        watcher: Watcher,
        news: Receiver<News>,
        dir: tempfile::TempDir,
    }

    impl Seen {
        fn new() -> Seen {
            let (to, news) = channel();
            let watcher = Watcher::new(move |n| drop(to.send(n))).unwrap();
            Seen { watcher, news, dir: tempfile::tempdir().unwrap() }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.dir.path().join(name)
        }

        fn write(&self, name: &str, text: &str) -> PathBuf {
            fs::write(self.path(name), text).unwrap();
            self.path(name)
        }

        /// The next news is that exactly these changed.
        fn changed(&self, names: &[&str]) {
            let news = self.news.recv_timeout(Duration::from_secs(10)).unwrap();
            assert_eq!(news, News::Changed(names.iter().map(|n| self.path(n)).collect()));
        }

        /// Nothing is told for some time.
        fn quiet(&self) {
            assert_eq!(self.news.recv_timeout(QUIET * 4), Err(RecvTimeoutError::Timeout));
        }
    }

    #[test]
    fn every_way_of_saving_is_told_once() {
        let s = Seen::new();
        let (a, b) = (s.write("a", "one"), s.write("b", "one"));
        s.watcher.set(&[a.clone(), b.clone()]).unwrap();
        s.quiet();
        // Truncated and written; the same bytes again.
        s.write("a", "two");
        s.changed(&["a"]);
        s.write("a", "two");
        s.changed(&["a"]);
        // Replaced.
        fs::rename(s.write("a.tmp", "three"), &a).unwrap();
        s.changed(&["a"]);
        // Deleted, and made again.
        fs::remove_file(&a).unwrap();
        s.changed(&["a"]);
        s.write("a", "four");
        s.changed(&["a"]);
        // Both at once are one piece of news; a stranger is none.
        s.write("a", "five");
        s.write("b", "five");
        s.changed(&["a", "b"]);
        s.write("c", "x");
        fs::read(&a).unwrap();
        s.quiet();
    }

    #[test]
    fn a_file_that_is_written_piece_by_piece_is_told_when_it_is_quiet() {
        use std::io::Write as _;
        let s = Seen::new();
        let a = s.write("a", "");
        s.watcher.set(std::slice::from_ref(&a)).unwrap();
        let mut file = fs::OpenOptions::new().append(true).open(&a).unwrap();
        for _ in 0..6 {
            file.write_all(b"x").unwrap();
            std::thread::sleep(QUIET / 4);
        }
        s.changed(&["a"]);
        s.quiet();
        assert_eq!(fs::read(&a).unwrap().len(), 6);
    }

    /// Emptied and closed, and written later; deleted, and made later: one change each, of what
    /// it holds in the end. What stays empty, or away, is told.
    #[test]
    fn what_is_empty_for_a_moment_is_told_when_it_holds_something() {
        let s = Seen::new();
        let a = s.write("a", "one");
        s.watcher.set(std::slice::from_ref(&a)).unwrap();
        for gone in [false, true] {
            let begun = Instant::now();
            match gone {
                true => fs::remove_file(&a).unwrap(),
                false => drop(fs::File::create(&a).unwrap()),
            }
            assert_eq!(s.news.recv_timeout(QUIET * 2), Err(RecvTimeoutError::Timeout));
            s.write("a", "two");
            s.changed(&["a"]);
            // On a machine that is too busy to write in time nothing is shown by this.
            if begun.elapsed() < MOMENT {
                assert_eq!(fs::read(&a).unwrap(), b"two");
                s.quiet();
            }
            while s.news.try_recv().is_ok() {}
            let begun = Instant::now();
            match gone {
                true => fs::remove_file(&a).unwrap(),
                false => drop(fs::File::create(&a).unwrap()),
            }
            s.changed(&["a"]);
            assert!(begun.elapsed() >= MOMENT);
            s.write("a", "three");
            s.changed(&["a"]);
        }
    }

    #[test]
    fn what_never_is_quiet_is_told_all_the_same() {
        let s = Seen::new();
        let a = s.write("a", "");
        s.watcher.set(std::slice::from_ref(&a)).unwrap();
        let begun = Instant::now();
        let mut told = None;
        while told.is_none() && begun.elapsed() < PATIENCE * 4 {
            s.write("a", "x");
            told = s.news.recv_timeout(QUIET / 8).ok();
        }
        assert_eq!(told, Some(News::Changed(vec![a])));
    }

    #[test]
    fn a_directory_that_goes_and_comes_back_is_watched_again() {
        let s = Seen::new();
        fs::create_dir_all(s.path("x/y")).unwrap();
        let a = s.write("x/y/a", "one");
        s.watcher.set(std::slice::from_ref(&a)).unwrap();
        fs::remove_dir_all(s.path("x")).unwrap();
        s.changed(&["x/y/a"]);
        fs::create_dir_all(s.path("x/y")).unwrap();
        std::thread::sleep(QUIET * 3);
        s.write("x/y/a", "two");
        s.changed(&["x/y/a"]);
        s.write("x/y/a", "three");
        s.changed(&["x/y/a"]);
    }

    #[test]
    fn other_inputs_may_be_watched_later_and_the_rest_no_more() {
        let s = Seen::new();
        let (a, b) = (s.write("a", ""), s.write("b", ""));
        s.watcher.set(std::slice::from_ref(&a)).unwrap();
        s.watcher.set(std::slice::from_ref(&b)).unwrap();
        s.write("a", "x");
        s.quiet();
        s.write("b", "x");
        s.changed(&["b"]);
    }

    #[test]
    fn a_directory_of_rings_is_an_input() {
        let s = Seen::new();
        fs::create_dir(s.path("dump")).unwrap();
        s.watcher.set(&[s.path("dump")]).unwrap();
        s.write("dump/0.tx.bin", "x");
        s.changed(&["dump"]);
        s.write("dump/0.tx.bin", "y");
        s.changed(&["dump"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_followed_and_may_be_turned() {
        use std::os::unix::fs::symlink;
        let s = Seen::new();
        fs::create_dir(s.path("far")).unwrap();
        let (one, two) = (s.write("far/one", "1"), s.write("far/two", "22"));
        symlink(&one, s.path("a")).unwrap();
        s.watcher.set(&[s.path("a")]).unwrap();
        s.write("far/one", "11");
        s.changed(&["a"]);
        symlink(&two, s.path("a.tmp")).unwrap();
        fs::rename(s.path("a.tmp"), s.path("a")).unwrap();
        s.changed(&["a"]);
        s.write("far/two", "2222");
        s.changed(&["a"]);
        // What it leads to goes, with its directory, and comes back.
        fs::remove_dir_all(s.path("far")).unwrap();
        s.changed(&["a"]);
        fs::create_dir(s.path("far")).unwrap();
        std::thread::sleep(QUIET * 3);
        s.write("far/two", "2");
        s.changed(&["a"]);
        // A circle leads nowhere, and is watched all the same.
        symlink(s.path("b"), s.path("a.tmp")).unwrap();
        symlink(s.path("a"), s.path("b")).unwrap();
        fs::rename(s.path("a.tmp"), s.path("a")).unwrap();
        s.changed(&["a"]);
        fs::rename(s.write("b.tmp", "x"), s.path("b")).unwrap();
        s.changed(&["a"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_on_the_way_to_a_file_may_be_turned() {
        use std::os::unix::fs::symlink;
        let s = Seen::new();
        for (dir, text) in [("v1", "1"), ("v2", "22")] {
            fs::create_dir(s.path(dir)).unwrap();
            s.write(&format!("{dir}/a"), text);
        }
        symlink("v1", s.path("now")).unwrap();
        s.watcher.set(&[s.path("now/a")]).unwrap();
        symlink("v2", s.path("now.tmp")).unwrap();
        fs::rename(s.path("now.tmp"), s.path("now")).unwrap();
        s.changed(&["now/a"]);
        s.write("v2/a", "222");
        s.changed(&["now/a"]);
        s.write("v1/a", "111");
        s.quiet();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_is_still_being_written_is_waited_for() {
        use std::io::Write as _;
        let s = Seen::new();
        let a = s.write("a", "");
        s.watcher.set(std::slice::from_ref(&a)).unwrap();
        let mut file = fs::OpenOptions::new().append(true).open(&a).unwrap();
        let begun = Instant::now();
        file.write_all(b"half").unwrap();
        // Much longer than the quiet time, and shorter than the patience.
        assert_eq!(s.news.recv_timeout(QUIET * 6), Err(RecvTimeoutError::Timeout));
        file.write_all(b" whole").unwrap();
        drop(file);
        s.changed(&["a"]);
        assert!(begun.elapsed() < PATIENCE, "closing it is what was waited for");
        assert_eq!(fs::read(&a).unwrap(), b"half whole");
    }

    #[test]
    fn all_that_is_in_a_directory_may_count() {
        let s = Seen::new();
        fs::create_dir_all(s.path("src/deep/er")).unwrap();
        fs::create_dir_all(s.path("src/.git")).unwrap();
        s.watcher.set_all(&[], &[s.path("src")]).unwrap();
        s.write("src/deep/er/a", "x");
        s.changed(&["src/deep/er/a"]);
        s.write("src/.git/index", "x");
        s.quiet();
        // A directory that is new, and one that goes and comes back.
        fs::create_dir(s.path("src/new")).unwrap();
        std::thread::sleep(QUIET * 3);
        s.write("src/new/b", "x");
        s.changed(&["src/new/b"]);
        fs::remove_dir_all(s.path("src")).unwrap();
        assert!(s.news.recv_timeout(Duration::from_secs(10)).is_ok());
        fs::create_dir(s.path("src")).unwrap();
        std::thread::sleep(QUIET * 3);
        while s.news.try_recv().is_ok() {}
        s.write("src/c", "x");
        s.changed(&["src/c"]);
    }
}
