//! Watching inputs: which of a set of files changed, told once they have been quiet for a
//! while (`docs/watch.md`).
//!
//! The directories that the files are in are watched, not the files: saving may replace a file
//! by another of its name, truncate it and write it anew, or delete it and make it again, and
//! only the directory sees all of that. Where a directory is missing the nearest one above it
//! is watched until it is there. Nothing is polled: while nothing changes, nothing runs.

use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant, SystemTime};

/// How long inputs must be quiet before a change of them is told: a save takes several steps,
/// and what is half written is not worth a look.
pub const QUIET: Duration = Duration::from_millis(80);
/// After this time a change is told although inputs are never quiet.
pub const PATIENCE: Duration = Duration::from_secs(2);

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
    Touched(Vec<PathBuf>),
    /// What happened was lost: everything may have changed.
    Overrun,
    Failed(String),
    /// Watch these, and say when it is done.
    Set(Vec<PathBuf>, Sender<Result<(), String>>),
}

impl Watcher {
    /// Watches nothing yet. `tell` is called from a thread of its own.
    ///
    /// # Errors
    /// What the system says that cannot tell of changes.
    pub fn new(tell: impl FnMut(News) + Send + 'static) -> Result<Watcher, String> {
        let (to, incoming) = channel();
        let raw = to.clone();
        let system = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // The receiver is gone when nobody watches any more.
            let _ = match event {
                Ok(e) if e.need_rescan() => raw.send(Incoming::Overrun),
                Ok(e) if changes(e.kind) => raw.send(Incoming::Touched(e.paths)),
                Ok(_) => Ok(()),
                Err(e) => raw.send(Incoming::Failed(e.to_string())),
            };
        })
        .map_err(|e| e.to_string())?;
        let desk = Desk { system, dirs: BTreeSet::new(), inputs: BTreeMap::new() };
        std::thread::Builder::new()
            .name("watch".into())
            .spawn(move || serve(desk, &incoming, tell))
            .map_err(|e| e.to_string())?;
        Ok(Watcher { to })
    }

    /// Watches these inputs in place of those before. A change after this returns is told; one
    /// before it is told of inputs that were watched already.
    ///
    /// # Errors
    /// What the system says, such as that too many directories are watched.
    pub fn set(&self, inputs: &[PathBuf]) -> Result<(), String> {
        let (done, answer) = channel();
        let gone = || "nothing is watched any more".to_owned();
        self.to.send(Incoming::Set(inputs.to_vec(), done)).map_err(|_| gone())?;
        answer.recv().map_err(|_| gone())?
    }
}

/// Whether something that happened may have changed a file; reading one does not.
fn changes(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(access) => access == AccessKind::Close(AccessMode::Write),
        _ => true,
    }
}

/// Gathers what comes until it has been quiet, then tells which inputs changed.
fn serve(mut desk: Desk, incoming: &Receiver<Incoming>, mut tell: impl FnMut(News)) {
    let mut changed: BTreeSet<PathBuf> = BTreeSet::new();
    // When the first of what is gathered came, and by when to tell of it.
    let mut due: Option<(Instant, Instant)> = None;
    loop {
        let next = match due {
            None => incoming.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some((_, by)) => incoming.recv_timeout(by.saturating_duration_since(Instant::now())),
        };
        let touched = match next {
            Ok(Incoming::Touched(paths)) => desk.touched(&paths),
            Ok(Incoming::Overrun) => desk.inputs.keys().cloned().collect(),
            Ok(Incoming::Failed(why)) => {
                tell(News::Lost(why));
                continue;
            }
            Ok(Incoming::Set(inputs, done)) => {
                let answer = desk.set(&inputs);
                changed.retain(|path| desk.inputs.contains_key(path));
                let _ = done.send(answer);
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => return,
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
        due = Some((first, (now + QUIET).min(first + PATIENCE)));
    }
}

/// What can be seen of a file without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Look {
    len: u64,
    changed: Option<SystemTime>,
    dir: bool,
}

fn look(path: &Path) -> Option<Look> {
    let meta = std::fs::metadata(path).ok()?;
    Some(Look { len: meta.len(), changed: meta.modified().ok(), dir: meta.is_dir() })
}

/// What is watched.
struct Desk {
    system: RecommendedWatcher,
    /// Directories that the system watches.
    dirs: BTreeSet<PathBuf>,
    /// Inputs as they were named, and how they were last seen.
    inputs: BTreeMap<PathBuf, Input>,
}

struct Input {
    /// Its paths as the system names them: where it stands, and where a link leads.
    real: Vec<PathBuf>,
    look: Option<Look>,
}

impl Desk {
    fn set(&mut self, inputs: &[PathBuf]) -> Result<(), String> {
        self.inputs.retain(|path, _| inputs.contains(path));
        for path in inputs {
            let look = look(path);
            self.inputs.entry(path.clone()).or_insert(Input { real: Vec::new(), look });
        }
        self.arm()
    }

    /// Watches the directories in which the inputs are now.
    fn arm(&mut self) -> Result<(), String> {
        let mut wanted = BTreeSet::new();
        for (path, input) in &mut self.inputs {
            input.real = real_paths(path);
            for real in &input.real {
                wanted.extend(nearest_dir(real));
                // The rings of a directory are inputs too.
                wanted.extend(real.is_dir().then(|| real.clone()));
            }
        }
        for dir in self.dirs.difference(&wanted) {
            // One that is gone is not watched any more anyway.
            let _ = self.system.unwatch(dir);
        }
        let mut wrong = None;
        self.dirs = wanted;
        self.dirs.retain(|dir| match self.system.watch(dir, RecursiveMode::NonRecursive) {
            Ok(()) => true,
            Err(e) => {
                wrong.get_or_insert_with(|| format!("cannot watch `{}`: {e}", dir.display()));
                false
            }
        });
        wrong.map_or(Ok(()), Err)
    }

    /// The inputs that are at, or in, one of these paths.
    fn touched(&self, paths: &[PathBuf]) -> Vec<PathBuf> {
        let hit = |input: &Input| {
            input.real.iter().any(|real| {
                let dir = input.look.is_some_and(|l| l.dir);
                paths.iter().any(|p| p == real || dir && p.parent() == Some(real))
            })
        };
        self.inputs.iter().filter(|(_, i)| hit(i)).map(|(path, _)| path.clone()).collect()
    }

    /// The inputs that look otherwise than before.
    fn stirred(&mut self) -> BTreeSet<PathBuf> {
        let mut out = BTreeSet::new();
        for (path, input) in &mut self.inputs {
            let now = look(path);
            if std::mem::replace(&mut input.look, now) != now {
                out.insert(path.clone());
            }
        }
        out
    }
}

/// Where a path stands, its directory resolved, and where it leads if it is a link.
fn real_paths(path: &Path) -> Vec<PathBuf> {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut out = Vec::new();
    let parent = absolute.parent().and_then(|dir| dir.canonicalize().ok());
    match (parent, absolute.file_name()) {
        (Some(dir), Some(name)) => out.push(dir.join(name)),
        _ => out.push(absolute.clone()),
    }
    out.extend(absolute.canonicalize().ok().filter(|real| !out.contains(real)));
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
    }
}
