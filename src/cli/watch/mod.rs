//! `watch`: runs a program and a script again whenever one of their files changes, and says
//! what became different (`docs/watch.md`).
//!
//! The main thread sleeps on one channel: changes, signals and the end of a run come there. A
//! run has a thread of its own, so that Ctrl-C is answered at once.

mod outcome;

use super::args::{RunArgs, WatchArgs};
use super::caught::Caught;
use super::given::Given;
use super::out::{Failure, Out, Status};
use super::run;
use super::scripts::Scripts;
use crate::diag::{Diagnostic, Report};
use crate::load::source::STDIN;
use crate::watch::{News, Watcher};
use outcome::Outcome;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};

/// Bytes of stack of a thread that runs something: as the main thread has.
const STACK: usize = 16 << 20;

/// What the main thread waits for.
enum Happening {
    News(News),
    Ran(Result<Caught, String>),
    Stop,
}

/// Runs `watch` until a signal ends it.
///
/// # Errors
/// [`Failure`] where nothing can be watched, or the output fails.
pub fn run(args: &WatchArgs, out: &mut Out<'_>) -> Result<Status, Failure> {
    let stdin = Path::new(STDIN);
    if args.files.iter().any(|f| f == stdin)
        || args.commands.0.contains(&Given::Script(stdin.to_owned()))
    {
        let why = "standard input cannot be watched: it never changes";
        return Err(Report::from(Diagnostic::new("S011", why)).into());
    }
    args.commands.inline().for_each(|(name, text)| out.know(name, text));
    let (to, happenings) = channel();
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let on_signal = to.clone();
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        // The first is enough.
        signals.forever().next();
        let _ = on_signal.send(Happening::Stop);
    })?;
    let on_news = to.clone();
    let tell = move |news| drop(on_news.send(Happening::News(news)));
    let watcher = Watcher::new(tell).map_err(|why| lost(&why))?;
    let mut seat = Seat { args, watcher, to, running: false, changed: BTreeSet::new() };
    outcome::begin(&seat.watch()?, out)?;
    seat.start()?;
    let (mut base, mut reason): (Option<Outcome>, Vec<PathBuf>) = (None, Vec::new());
    let mut runs = 0;
    for happening in happenings {
        match happening {
            Happening::Stop => break,
            Happening::News(News::Lost(why)) => return Err(lost(&why)),
            Happening::News(News::Changed(paths)) => seat.changed.extend(paths),
            Happening::Ran(caught) => {
                seat.running = false;
                runs += 1;
                let new = Outcome::new(caught);
                outcome::tell(runs, &reason, base.as_ref(), &new, out)?;
                // What could not be read is no outcome to compare with.
                base = if new.ran { Some(new) } else { base };
            }
        }
        if !seat.running && !seat.changed.is_empty() {
            reason = std::mem::take(&mut seat.changed).into_iter().collect();
            // What is sourced may be another set of files now.
            seat.watch()?;
            seat.start()?;
        }
    }
    Ok(Status::Fine)
}

fn lost(why: &str) -> Failure {
    let d = Diagnostic::new("D007", format!("changes cannot be watched: {why}"));
    Failure::Report(d.into())
}

struct Seat<'a> {
    args: &'a WatchArgs,
    watcher: Watcher,
    to: Sender<Happening>,
    /// A run is under way.
    running: bool,
    /// What changed since it began.
    changed: BTreeSet<PathBuf>,
}

impl Seat<'_> {
    /// Watches all inputs as they are now.
    fn watch(&self) -> Result<Vec<PathBuf>, Failure> {
        let a = self.args;
        let mut inputs = a.files.clone();
        inputs
            .extend([&a.rings.tx, &a.rings.rx, &a.module.memory_in].into_iter().flatten().cloned());
        inputs.extend(Scripts::read(a.no_init, &a.commands).inputs);
        let mut seen = BTreeSet::new();
        inputs.retain(|path| seen.insert(path.clone()));
        self.watcher.set(&inputs).map_err(|why| lost(&why))?;
        Ok(inputs)
    }

    fn start(&mut self) -> Result<(), Failure> {
        let WatchArgs { files, commands, no_init, stage, module, rings, lints, reading, out } =
            self.args.clone();
        let memory_out = None;
        let (to, form) = (self.to.clone(), out.format);
        let args = RunArgs {
            files,
            commands,
            no_init,
            reading,
            stage,
            memory_out,
            module,
            rings,
            lints,
            out,
        };
        std::thread::Builder::new().name("run".into()).stack_size(STACK).spawn(move || {
            let caught = Caught::of(form, |out| run::run(&args, out));
            let _ = to.send(Happening::Ran(caught));
        })?;
        self.running = true;
        Ok(())
    }
}
