//! Watching the files of the screen, running a command first where one is given, and reading them
//! again: all in threads of its own, told to the shell as [`Notice`]s (`docs/reload.md`).
//!
//! Part of the shell: it reads files, looks at the clock and starts threads.

use super::build::{Build, Ended};
use super::model::Title;
use super::reload::{Comparison, Notice};
use crate::diag::{Diagnostic, Report};
use crate::engine::program::Program;
use crate::engine::ring::digest::hash_bytes;
use crate::limits::{MAX_BUILD_AGAIN, MAX_READ_AGAIN, SMALL_FILE_BYTES};
use crate::load::source::STDIN;
use crate::watch::{MOMENT, News, QUIET, Watcher};
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, SystemTime};

/// A program as it was read from its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fresh {
    /// The program.
    pub program: Arc<Program>,
    /// What is to be said of its files.
    pub title: Title,
}

/// Reads the files.
pub type Load = dyn Fn() -> Result<Fresh, Report> + Send + Sync;

/// A command that is run before the files are read again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnChange {
    /// For the shell.
    pub command: String,
    /// Files and directories whose changes it is run for; where there are none, the inputs.
    pub watch: Vec<PathBuf>,
}

/// What the screen's files are, and how they are watched.
#[derive(Clone)]
pub struct Live {
    /// Every file that the program is read from.
    pub inputs: Vec<PathBuf>,
    /// Reads them.
    pub load: Arc<Load>,
    /// Whether they are watched.
    pub watch: bool,
    /// How long they must be quiet.
    pub quiet: Duration,
    /// What is run first.
    pub on_change: Option<OnChange>,
    /// How the files looked before they were read for the first time.
    stamps: Vec<(PathBuf, Stamp)>,
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live").field("inputs", &self.inputs).finish_non_exhaustive()
    }
}

impl Live {
    /// Files that are watched with the quiet time of [`QUIET`], and nothing that is run. They are
    /// read for the first time after this.
    pub fn new(inputs: Vec<PathBuf>, load: Arc<Load>) -> Live {
        let stamps = stamps(&inputs);
        Live { inputs, load, watch: true, quiet: QUIET, on_change: None, stamps }
    }

    /// Why the files cannot be watched or read again, if so.
    pub fn refused(&self) -> Option<&'static str> {
        let stdin = self.inputs.iter().any(|p| p == Path::new(STDIN));
        stdin.then_some("what standard input held is read once and cannot be watched")
    }
}

/// What the thread waits for.
enum Order {
    News(News),
    /// Read again, whatever changed.
    Reload,
    Built(Ended),
    /// The screen is left.
    End,
}

/// The shell's end: what it can ask for. Everything ends when it is dropped.
pub struct Desk {
    to: Sender<Order>,
    compare: Sender<Comparison>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Desk {
    /// Starts watching; `known` is what the screen shows. `tell` is called from other threads.
    ///
    /// # Errors
    /// What the system says that starts no thread.
    pub fn open(
        live: Live,
        known: Fresh,
        tell: impl Fn(Notice) + Send + Clone + 'static,
    ) -> std::io::Result<Desk> {
        let (to, orders) = channel();
        let (compare, comparisons) = channel();
        let told = tell.clone();
        std::thread::Builder::new()
            .name("compare".into())
            .spawn(move || compare_all(&comparisons, told))?;
        let own = to.clone();
        let thread = std::thread::Builder::new()
            .name("live".into())
            .stack_size(STACK)
            .spawn(move || Work::new(live, known, own, tell).serve(&orders))?;
        Ok(Desk { to, compare, thread: Some(thread) })
    }

    /// Reads the files again; the command is run first, where there is one.
    pub fn reload(&self) {
        // Nobody is there to do it only while the screen is being left.
        let _ = self.to.send(Order::Reload);
    }

    /// Tells how two programs differ.
    pub fn compare(&self, asked: Comparison) {
        let _ = self.compare.send(asked);
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        let _ = self.to.send(Order::End);
        // A command that runs is ended by the thread; a file that is being read is not waited for.
        if let Some(thread) = self.thread.take() {
            let begun = std::time::Instant::now();
            while !thread.is_finished() && begun.elapsed() < LEAVE {
                std::thread::sleep(Duration::from_millis(2));
            }
        }
    }
}

/// Bytes of stack of the thread that reads: as the main thread has.
const STACK: usize = 16 << 20;
/// How long the end of what is under way is waited for when the screen is left.
const LEAVE: Duration = Duration::from_millis(800);

fn compare_all(asked: &Receiver<Comparison>, tell: impl Fn(Notice)) {
    while let Ok(mut newest) = asked.recv() {
        // Only the newest is of interest still.
        while let Ok(next) = asked.try_recv() {
            newest = next;
        }
        tell(newest.answer());
    }
}

/// What can be told of a file without reading it.
type Stamp = Option<(u64, Option<SystemTime>, u64)>;

fn stamp(path: &Path) -> Stamp {
    let meta = std::fs::metadata(path).ok()?;
    #[cfg(unix)]
    let file = std::os::unix::fs::MetadataExt::ino(&meta);
    #[cfg(not(unix))]
    let file = 0;
    Some((meta.len(), meta.modified().ok(), file))
}

/// How all files of the inputs look.
fn stamps(inputs: &[PathBuf]) -> Vec<(PathBuf, Stamp)> {
    let files = inputs.iter().flat_map(|p| files(p));
    files.map(|f| (f.clone(), stamp(&f))).collect()
}

/// The files that an input is: itself, or the files of a directory.
fn files(path: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(path) else { return vec![path.to_owned()] };
    let mut all: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
    all.sort();
    all.truncate(crate::limits::MAX_DIR_RINGS);
    all.push(path.to_owned());
    all
}

/// Whether a file is shorter than it was, or gone.
fn is_cut(was: &[(PathBuf, Stamp)], now: &[(PathBuf, Stamp)]) -> bool {
    was.iter().any(|(path, before)| {
        let after = now.iter().find(|n| n.0 == *path).and_then(|n| n.1);
        before.is_some_and(|b| after.is_none_or(|a| a.0 < b.0))
    })
}

/// What a file holds, as a number; of a large one what can be told without reading it.
fn content(path: &Path) -> u64 {
    let Ok(meta) = std::fs::metadata(path) else { return 0 };
    if meta.len() > SMALL_FILE_BYTES || !meta.is_file() {
        return hash_bytes(format!("{:?}", stamp(path)).as_bytes());
    }
    std::fs::read(path).map_or(1, |bytes| hash_bytes(&bytes))
}

struct Work<T> {
    live: Live,
    /// What was read last.
    known: Fresh,
    tell: T,
    to: Sender<Order>,
    watcher: Option<Watcher>,
    build: Option<Build>,
    /// Something changed that the command is to be run for, since it was started.
    again: bool,
    /// Times that it was run in a row because of what changed while it ran.
    in_a_row: u32,
    /// When the command was over last.
    built_at: Option<SystemTime>,
    /// What the files held for which the command was run last, then.
    built_of: HashMap<PathBuf, u64>,
    /// The files could not be read last time.
    broken: bool,
    /// How they looked when they could.
    good: Vec<(PathBuf, Stamp)>,
    /// The user asked.
    asked: bool,
    /// What came while files were read, to be dealt with afterwards.
    later: VecDeque<Order>,
}

impl<T: Fn(Notice) + Send + Clone + 'static> Work<T> {
    fn new(live: Live, known: Fresh, to: Sender<Order>, tell: T) -> Work<T> {
        Work {
            good: live.stamps.clone(),
            live,
            known,
            tell,
            to,
            watcher: None,
            build: None,
            again: false,
            in_a_row: 0,
            built_at: None,
            built_of: HashMap::new(),
            broken: false,
            asked: false,
            later: VecDeque::new(),
        }
    }

    fn serve(mut self, orders: &Receiver<Order>) {
        if self.live.watch {
            self.watch();
            // What changed before it was watched.
            if stamps(&self.live.inputs) != self.live.stamps && !self.load(orders) {
                return;
            }
        }
        while let Some(order) = self.later.pop_front().or_else(|| orders.recv().ok()) {
            match order {
                Order::End => break,
                Order::News(News::Lost(why)) => (self.tell)(Notice::Lost(why)),
                Order::News(News::Changed(paths)) => {
                    if !self.changed(&paths, orders) {
                        break;
                    }
                }
                Order::Reload => {
                    (self.asked, self.in_a_row) = (true, 0);
                    let runs = self.live.on_change.is_some();
                    if runs && self.build.is_none() {
                        self.start();
                    } else if !runs && !self.load(orders) {
                        break;
                    }
                }
                Order::Built(ended) => {
                    if !self.built(ended, orders) {
                        break;
                    }
                }
            }
        }
        // A command that still runs ends here, and all that it started.
        drop(self.build.take());
    }

    fn watch(&mut self) {
        let to = self.to.clone();
        let made =
            Watcher::with_quiet(self.live.quiet, move |news| drop(to.send(Order::News(news))));
        let deep: Vec<PathBuf> =
            self.live.on_change.iter().flat_map(|c| c.watch.iter().cloned()).collect();
        let inputs: Vec<PathBuf> =
            self.live.inputs.iter().filter(|p| !deep.contains(p)).cloned().collect();
        match made.and_then(|w| w.set_all(&inputs, &deep).map(|()| w)) {
            Ok(w) => {
                self.watcher = Some(w);
                (self.tell)(Notice::Watching);
            }
            Err(why) => (self.tell)(Notice::Lost(why)),
        }
    }

    /// Something changed. False: the screen is left.
    fn changed(&mut self, paths: &[PathBuf], orders: &Receiver<Order>) -> bool {
        let Some(c) = self.live.on_change.clone() else { return self.load(orders) };
        let own = |p: &PathBuf| c.watch.is_empty() || c.watch.iter().any(|w| p.starts_with(w));
        let (mine, others): (Vec<&PathBuf>, Vec<&PathBuf>) = paths.iter().partition(|p| own(p));
        // What the command itself did is told late: it is nothing new, if the content is not.
        let mut runs = false;
        let mut late = true;
        for path in mine {
            for file in files(path) {
                let made = stamp(&file).and_then(|s| s.1);
                let before = self.built_at.is_some_and(|at| made.is_none_or(|m| m <= at));
                let same = self.built_of.get(&file) == Some(&content(&file));
                runs |= !(before && same);
                late &= before;
            }
        }
        if runs && self.build.is_some() {
            self.again = true;
        } else if runs {
            self.in_a_row = if late { self.in_a_row + 1 } else { 0 };
            self.start_again();
        }
        // What is read alone is read at once; not while it may be half made.
        others.is_empty() || self.build.is_some() || self.load(orders)
    }

    /// Runs the command because of what changed while it ran, unless that goes on for ever.
    fn start_again(&mut self) {
        if self.in_a_row > MAX_BUILD_AGAIN {
            let command = self.live.on_change.as_ref().map(|c| c.command.clone());
            (self.tell)(Notice::Endless(command.unwrap_or_default()));
            return;
        }
        self.start();
    }

    fn start(&mut self) {
        let Some(c) = &self.live.on_change else { return };
        self.again = false;
        let to = self.to.clone();
        // What is there now is what it is run for.
        let paths = if c.watch.is_empty() { &self.live.inputs } else { &c.watch };
        let of = paths.iter().flat_map(|p| files(p)).map(|f| (f.clone(), content(&f)));
        self.built_of = of.collect();
        (self.tell)(Notice::Building);
        match Build::start(&c.command, move |ended| drop(to.send(Order::Built(ended)))) {
            Ok(build) => self.build = Some(build),
            Err(e) => {
                let output = Vec::new();
                let ended = Ended { well: false, words: e.to_string(), output };
                let _ = self.to.send(Order::Built(ended));
            }
        }
    }

    /// The command is over. False: the screen is left.
    fn built(&mut self, ended: Ended, orders: &Receiver<Order>) -> bool {
        self.build = None;
        self.built_at = Some(SystemTime::now());
        // What the command wrote itself is not what changed while it ran.
        let moved: Vec<PathBuf> = self
            .built_of
            .iter()
            .filter(|(file, held)| content(file) != **held)
            .map(|(file, _)| file.clone())
            .collect();
        let again = std::mem::take(&mut self.again);
        for file in &moved {
            let now = content(file);
            self.built_of.insert(file.clone(), now);
        }
        let well = ended.well;
        (self.tell)(Notice::Built(ended));
        if again && (!moved.is_empty() || self.only_deep()) {
            self.in_a_row += 1;
            self.start_again();
            return true;
        }
        !well || self.load(orders)
    }

    /// Whether what is in directories counts, of which not every file is known.
    fn only_deep(&self) -> bool {
        self.live.on_change.as_ref().is_some_and(|c| c.watch.iter().any(|p| p.is_dir()))
    }

    /// Reads the files, again where they changed meanwhile. False: the screen is left.
    fn load(&mut self, orders: &Receiver<Order>) -> bool {
        let mut waited = false;
        for _ in 0..MAX_READ_AGAIN {
            let before = stamps(&self.live.inputs);
            let read = (self.live.load)();
            let now = stamps(&self.live.inputs);
            let still = now == before;
            if still && read.is_ok() {
                self.good = now;
                return self.took(read);
            }
            // What was cut off may be written further in a moment; once that is over it is told.
            let cut = still && !(self.broken || self.asked || waited) && is_cut(&self.good, &now);
            if still && !cut {
                return self.took(read);
            }
            waited |= cut;
            // Somebody writes: what was read is of two times. It will be told when it is over;
            // should that be missed, it is looked at again anyway.
            let time = self.live.quiet + if cut { MOMENT } else { Duration::ZERO };
            match orders.recv_timeout(time) {
                Ok(Order::End) | Err(RecvTimeoutError::Disconnected) => return false,
                Ok(Order::Reload) => self.asked = true,
                Ok(Order::News(News::Lost(why))) => (self.tell)(Notice::Lost(why)),
                // A command may have to be run for it; else it is read again anyway.
                Ok(order @ Order::News(News::Changed(_))) if self.live.on_change.is_some() => {
                    self.later.push_back(order);
                }
                Ok(order @ Order::Built(_)) => self.later.push_back(order),
                Ok(Order::News(News::Changed(_))) | Err(_) => {}
            }
        }
        let d = Diagnostic::new("D007", "the files change whenever they are read");
        self.took(Err(d.into()))
    }

    fn took(&mut self, read: Result<Fresh, Report>) -> bool {
        let asked = std::mem::take(&mut self.asked);
        match read {
            Ok(fresh) => {
                let accepted = |f: &Fresh| f.program.aside.directives.clone();
                let same = fresh.program == self.known.program
                    && accepted(&fresh) == accepted(&self.known);
                if same && fresh.title == self.known.title && !asked && !self.broken {
                    return true;
                }
                self.broken = false;
                // Of equal programs the one that is known is kept: it need not be compared again.
                if same {
                    self.known.title = fresh.title;
                } else {
                    self.known = fresh;
                }
                (self.tell)(Notice::Loaded { fresh: self.known.clone(), same, asked });
            }
            Err(report) => {
                self.broken = true;
                (self.tell)(Notice::Broken(report));
            }
        }
        true
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::engine::program::{Blob, Content};
    use crate::udma::{Generation, Profile};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Instant;

    /// A program that is told from others by a byte.
    fn program(byte: u8) -> Fresh {
        let mut p = Program::new(Generation::V3, Profile::default_profile());
        p.contents.push(Content { addr: 0, bytes: Blob::from_vec(vec![byte]) });
        Fresh { program: Arc::new(p), title: Title::default() }
    }

    struct Bench {
        dir: tempfile::TempDir,
        reads: Arc<AtomicUsize>,
    }

    impl Bench {
        fn new() -> Bench {
            let b = Bench { dir: tempfile::tempdir().unwrap(), reads: Arc::default() };
            b.write(1);
            b
        }

        fn path(&self) -> PathBuf {
            self.dir.path().join("p")
        }

        fn write(&self, byte: u8) {
            std::fs::write(self.path(), [byte]).unwrap();
        }

        /// The program is the byte of the file; `amid` happens at each reading, after the byte
        /// was taken, with how often it was read.
        fn live(&self, amid: impl Fn(usize, &Path) + Send + Sync + 'static) -> Live {
            let (path, reads) = (self.path(), self.reads.clone());
            Live::new(
                vec![self.path()],
                Arc::new(move || {
                    let byte = std::fs::read(&path).ok().and_then(|b| b.first().copied());
                    amid(reads.fetch_add(1, Ordering::Relaxed) + 1, &path);
                    let byte = byte.filter(|b| *b != 0);
                    byte.map(program).ok_or_else(|| Diagnostic::new("D001", "broken").into())
                }),
            )
        }

        fn open(&self, live: Live) -> (Desk, Receiver<Notice>) {
            let (to, notices) = channel();
            let watched = live.watch;
            let desk = Desk::open(live, program(1), move |n| drop(to.send(n))).unwrap();
            if watched {
                assert_eq!(next(&notices), Notice::Watching);
            }
            (desk, notices)
        }
    }

    fn next(notices: &Receiver<Notice>) -> Notice {
        notices.recv_timeout(Duration::from_secs(60)).unwrap()
    }

    fn loaded(byte: u8, same: bool, asked: bool) -> Notice {
        Notice::Loaded { fresh: program(byte), same, asked }
    }

    #[test]
    fn what_changes_while_it_is_read_is_read_again_and_never_told() {
        let b = Bench::new();
        let live = b.live(|n, path| {
            // Another file takes its place, and is written further, while it is read.
            if n <= 3 {
                std::fs::write(path.with_extension("new"), [10 + n as u8]).unwrap();
                std::fs::rename(path.with_extension("new"), path).unwrap();
            }
        });
        let (_desk, notices) = b.open(live);
        b.write(2);
        assert_eq!(next(&notices), loaded(13, false, false));
        assert!(b.reads.load(Ordering::Relaxed) >= 4);
    }

    #[test]
    fn a_file_that_never_holds_still_is_told_of() {
        let b = Bench::new();
        let mut live = b.live(|n, path| std::fs::write(path, vec![9; n + 1]).unwrap());
        live.quiet = Duration::from_millis(5);
        let (_desk, notices) = b.open(live);
        b.write(2);
        let Notice::Broken(report) = next(&notices) else { panic!() };
        assert_eq!(report.items[0].code, "D007");
    }

    #[test]
    fn what_changes_before_it_is_watched_is_seen() {
        let b = Bench::new();
        let live = b.live(|_, _| ());
        std::thread::sleep(Duration::from_millis(20));
        b.write(7);
        let (_desk, notices) = b.open(live);
        assert_eq!(next(&notices), loaded(7, false, false));
    }

    #[test]
    fn what_holds_the_same_again_is_told_only_where_that_is_news() {
        let b = Bench::new();
        let (desk, notices) = b.open(b.live(|_, _| ()));
        b.write(1);
        std::thread::sleep(QUIET * 4);
        desk.reload();
        assert_eq!(next(&notices), loaded(1, true, true), "the save itself is no news");
        b.write(0);
        assert!(matches!(next(&notices), Notice::Broken(_)));
        b.write(1);
        assert_eq!(next(&notices), loaded(1, true, false));
        b.write(2);
        assert_eq!(next(&notices), loaded(2, false, false));
    }

    #[test]
    fn without_watching_it_is_read_when_asked() {
        let b = Bench::new();
        let mut live = b.live(|_, _| ());
        live.watch = false;
        let (desk, notices) = b.open(live);
        b.write(2);
        assert!(notices.recv_timeout(QUIET * 4).is_err());
        assert_eq!(b.reads.load(Ordering::Relaxed), 0);
        desk.reload();
        assert_eq!(next(&notices), loaded(2, false, true));
    }

    #[test]
    fn a_command_runs_before_anything_is_read() {
        let b = Bench::new();
        let mut live = b.live(|_, _| ());
        let source = b.dir.path().join("source");
        std::fs::write(&source, "x").unwrap();
        let command = format!("sleep 0.3; printf '\\005' > '{}'", b.path().display());
        live.on_change = Some(OnChange { command, watch: vec![source.clone()] });
        let (desk, notices) = b.open(live);
        std::fs::write(&source, "y").unwrap();
        assert_eq!(next(&notices), Notice::Building);
        let Notice::Built(ended) = next(&notices) else { panic!() };
        assert!(ended.well);
        assert_eq!(next(&notices), loaded(5, false, false));
        // What the command wrote is read once, and no reason to run it.
        assert!(notices.recv_timeout(QUIET * 6).is_err());
        // Leaving does not wait for a command.
        std::fs::write(&source, "z").unwrap();
        assert_eq!(next(&notices), Notice::Building);
        let begun = Instant::now();
        drop(desk);
        assert!(begun.elapsed() < Duration::from_secs(20));
    }
}
