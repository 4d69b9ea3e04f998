//! The shell around the pure part: the terminal, its input, signals.
//!
//! Input has a thread of its own, signals another; both send to one channel on which the main
//! thread sleeps, so that idling costs nothing. It draws only after something came. The
//! terminal is restored on every way out: return, error, panic, SIGTERM, SIGHUP, SIGINT, and
//! while suspended.

use super::arrange::Arrangement;
use super::config::Config;
use super::copy::osc52;
use super::journal::Journal;
use super::live::{Desk, Fresh, Live};
use super::model::{Model, Title};
use super::outside;
use super::record::Recorder;
use super::reload::{Comparison, Notice};
use super::seams;
use super::theme::Theme;
use super::update::{Effect, Message, finish, take_up, update};
use super::view;
use crate::diag::{Diagnostic, Severity};
use crate::engine::command::{Command, Order};
use crate::engine::session::{self, Progress, Session};
use crate::learn::{Play, progress};
use crate::limits::MAX_FILES_LISTED;
use crate::load::mapped;
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture, Event,
    KeyCode, KeyModifiers, MouseEventKind,
};
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGWINCH};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use std::collections::VecDeque;
use std::io::{self, IsTerminal, Stdout, Write};
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// What a user finds again the next time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kept {
    /// Lines of the command line, oldest first.
    pub history: Vec<String>,
    /// How the panes are arranged.
    pub arrangement: Arrangement,
    /// Of the lessons that were taken, which tasks are solved.
    pub solved: Vec<(String, Vec<bool>)>,
}

/// How the screen is to be.
#[derive(Debug, Clone)]
pub struct Options {
    /// What was kept from the last time.
    pub kept: Kept,
    /// Colours and glyphs.
    pub theme: Theme,
    /// What the user has set.
    pub config: Config,
    /// The files of the screen, where they can be read again.
    pub live: Option<Live>,
    /// The lesson that is taken; the session is where its task begins.
    pub lesson: Option<Play>,
    /// How far its learner has come in all lessons.
    pub progress: progress::Progress,
}

impl Options {
    /// What the environment and the user ask for; the user wins.
    pub fn new(config: Config) -> Options {
        let theme = config.theme(Theme::from_env(|name| std::env::var(name).ok()));
        Options {
            kept: Kept::default(),
            theme,
            config,
            live: None,
            lesson: None,
            progress: progress::Progress::default(),
        }
    }
}

/// With what the screen begins.
#[derive(Debug, Default)]
pub struct Opening {
    /// Where commands are recorded.
    pub record: Option<Recorder>,
    /// What a script that ran before it ended with.
    pub refused: Option<Diagnostic>,
}

/// Why the screen could not be shown or ended.
#[derive(Debug, thiserror::Error)]
pub enum ScreenError {
    /// There is no terminal to show it on.
    #[error("{}", .0.message)]
    Refused(Box<Diagnostic>),
    /// The terminal failed.
    #[error("terminal: {0}")]
    Io(#[from] io::Error),
}

/// Time between two pictures of a command that runs long.
const FRAME: Duration = Duration::from_millis(50);

/// Refuses to show the screen where there is no terminal. Keys are read from standard input, or,
/// where that is a pipe or a file, from the terminal that the program was started from.
///
/// # Errors
/// S011, with what to do instead.
pub fn check_terminal() -> Result<(), Diagnostic> {
    let controlling = || std::fs::File::options().read(true).write(true).open("/dev/tty").is_ok();
    let missing = match (io::stdout().is_terminal(), io::stdin().is_terminal() || controlling()) {
        (true, true) => return Ok(()),
        (false, _) => "standard output",
        (true, false) => "standard input",
    };
    Err(Diagnostic::new("S011", format!("the screen needs a terminal, and {missing} is none"))
        .help("without a terminal use `dmadbg run FILE --script S`, or `dmadbg decode FILE`"))
}

/// Shows the screen until the user leaves. `keep` is given what is to be kept for the next
/// time, once the terminal is restored.
///
/// # Errors
/// No terminal, or a terminal that fails.
pub fn run(
    session: Session,
    title: Title,
    options: Options,
    opening: Opening,
    keep: impl FnOnce(&Kept),
) -> Result<(), ScreenError> {
    check_terminal().map_err(|d| ScreenError::Refused(Box::new(d)))?;
    let guard = Guard::new(options.config.mouse)?;
    let (sender, receiver) = channel();
    let signals = listen(sender.clone())?;
    let terminal = blank()?;
    let size = terminal.size()?;
    let known = Fresh { program: session.loaded().clone(), title: title.clone() };
    let journal = opening.record.is_some().then(|| Journal::new(&session));
    let mut model = Model::new(session, title, options.theme, (size.width, size.height));
    model.configure(&options.config);
    model.history = options.kept.history;
    model.arrangement = options.kept.arrangement;
    model.progress = options.progress;
    if let Some(play) = options.lesson {
        model.open_lesson(play);
    }
    model.journal = journal;
    opening.refused.into_iter().for_each(|d| model.refuse(d));
    model.prepare();
    let tell = move |notice| drop(sender.send(Incoming::Files(notice)));
    let desk = options.live.map(|live| Desk::open(live, known, tell)).transpose()?;
    let mut shell = Shell {
        desk,
        terminal,
        receiver,
        pending: VecDeque::new(),
        mouse: options.config.mouse,
        signal: None,
        record: opening.record,
    };
    let result = shell.run(&mut model);
    let signal = shell.signal;
    signals.close();
    drop(guard);
    // With it ends what it runs.
    drop(shell);
    let solved = model.lessons_taken();
    keep(&Kept { history: model.history, arrangement: model.arrangement, solved });
    result?;
    if let Some(signal) = signal {
        // The terminal is restored; now end as the signal would have.
        emulate_default_handler(signal)?;
    }
    Ok(())
}

/// What comes in.
enum Incoming {
    Event(Event),
    Signal(i32),
    /// What became of the files.
    Files(Notice),
    /// The terminal is gone.
    Gone,
}

/// The name of the thread that reads the terminal.
const INPUT: &str = "input";

/// Whether it is the mouse being moved with a button held.
fn drags(i: &Incoming) -> bool {
    matches!(i, Incoming::Event(Event::Mouse(m)) if matches!(m.kind, MouseEventKind::Drag(_)))
}

/// Starts the threads that listen to the terminal and to signals.
fn listen(sender: Sender<Incoming>) -> io::Result<signal_hook::iterator::Handle> {
    // The terminal's own reader loses a change of size that comes together with a key.
    let mut signals = Signals::new([SIGTERM, SIGHUP, SIGINT, SIGTSTP, SIGCONT, SIGWINCH])?;
    let handle = signals.handle();
    let to = sender.clone();
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            if to.send(Incoming::Signal(signal)).is_err() {
                break;
            }
        }
    })?;
    std::thread::Builder::new().name(INPUT.into()).spawn(move || {
        loop {
            // Should the reader panic over what a terminal must not send, the next byte is read
            // (`Cargo.toml` keeps it from doing so over column 0).
            let (message, last) = match std::panic::catch_unwind(crossterm::event::read) {
                // Nothing answers to a move of the mouse alone.
                Ok(Ok(Event::Mouse(m))) if m.kind == MouseEventKind::Moved => continue,
                Ok(Ok(e)) => (Incoming::Event(e), false),
                Ok(Err(_)) => (Incoming::Gone, true),
                Err(_) => continue,
            };
            if sender.send(message).is_err() || last {
                break;
            }
        }
    })?;
    Ok(handle)
}

struct Shell {
    /// What watches the files and reads them.
    desk: Option<Desk>,
    terminal: Terminal<CrosstermBackend<Stdout>>,
    receiver: Receiver<Incoming>,
    /// What came in while a command ran.
    pending: VecDeque<Incoming>,
    mouse: bool,
    /// The signal that ends the program.
    signal: Option<i32>,
    /// Where commands are recorded.
    record: Option<Recorder>,
}

impl Shell {
    fn run(&mut self, model: &mut Model) -> io::Result<()> {
        self.draw(model)?;
        loop {
            // Sleep until something comes, then take all that is there.
            let first = match self.pending.pop_front() {
                Some(i) => i,
                None => match self.receiver.recv() {
                    Ok(i) => i,
                    Err(_) => return Ok(()),
                },
            };
            let mut next = Some(first);
            while let Some(incoming) = next {
                // Of drags in a row only where they led to counts.
                let ahead = if drags(&incoming) { self.at_hand() } else { None };
                if let Some(ahead) = ahead {
                    if drags(&ahead) {
                        next = Some(ahead);
                        continue;
                    }
                    self.pending.push_front(ahead);
                }
                if !self.take(model, incoming)? {
                    return Ok(());
                }
                next = self.at_hand();
            }
            self.draw(model)?;
            // Drawing may have read bytes that are no longer there.
            let disturbed = mapped::disturbed();
            if !disturbed.is_empty() {
                disturbed.into_iter().for_each(|d| model.refuse(d));
                self.draw(model)?;
            }
        }
    }

    /// What has come in already.
    fn at_hand(&mut self) -> Option<Incoming> {
        self.pending.pop_front().or_else(|| self.receiver.try_recv().ok())
    }

    /// Handles one thing that came in; false means leave.
    fn take(&mut self, model: &mut Model, incoming: Incoming) -> io::Result<bool> {
        let message = match incoming {
            Incoming::Gone => {
                self.let_go(model);
                return Ok(false);
            }
            Incoming::Signal(SIGTSTP) => {
                self.suspend(model)?;
                return Ok(true);
            }
            Incoming::Signal(SIGCONT) => {
                self.terminal = blank()?;
                return Ok(true);
            }
            Incoming::Signal(SIGWINCH) => {
                // A window that was small for a moment has lost what was there, whatever size it
                // has by now.
                self.terminal = blank()?;
                let size = self.terminal.size()?;
                Message::Resize(size.width, size.height)
            }
            Incoming::Signal(signal) => {
                self.signal = Some(signal);
                self.let_go(model);
                return Ok(false);
            }
            Incoming::Event(Event::Key(e)) => Message::Key(e),
            Incoming::Event(Event::Mouse(e)) => Message::Mouse(e),
            Incoming::Event(Event::Resize(w, h)) => Message::Resize(w, h),
            Incoming::Event(Event::Paste(text)) => Message::Paste(text),
            Incoming::Event(_) => return Ok(true),
            Incoming::Files(notice) => Message::Files(notice),
        };
        let effects = update(model, message);
        self.keep(model, Recorder::write);
        for effect in effects {
            match effect {
                Effect::Quit => return Ok(false),
                Effect::Run(command) => {
                    if self.execute(model, &command) {
                        return Ok(false);
                    }
                }
                Effect::Names(begun) => {
                    let found = named_so(&begun);
                    update(model, Message::Names(begun, found));
                }
                Effect::Then(command, by) => {
                    if model.is_replaced(&by) {
                        self.execute(model, &command);
                    }
                }
                Effect::TakeUp(fresh) => {
                    if self.take_up(model, *fresh) {
                        return Ok(false);
                    }
                }
                Effect::Compare(asked) => self.compare(asked),
                Effect::Suspend => self.suspend(model)?,
                Effect::Redraw => self.terminal = blank()?,
                Effect::Copy(text) => {
                    let tmux = std::env::var_os("TMUX").is_some_and(|v| !v.is_empty());
                    let mut out = io::stdout();
                    out.write_all(osc52(&text, tmux).as_bytes())?;
                    out.flush()?;
                }
            }
        }
        Ok(true)
    }

    /// Ends a drag, so that what it came to is in the record.
    fn let_go(&mut self, model: &mut Model) {
        model.let_go();
        self.keep(model, Recorder::write);
    }

    /// Runs a command; what comes in meanwhile waits, but for what cancels it. True: leave.
    fn execute(&mut self, model: &mut Model, command: &Command) -> bool {
        let replays = matches!(command, Command::Order(Order::Replay(Some(_))));
        let commands = match command {
            Command::Source(_) => seams::replayed(command),
            _ if replays => seams::replayed(command),
            _ => Ok(vec![command.clone()]),
        };
        let commands = match commands {
            Ok(commands) => commands,
            Err(d) => {
                model.refuse(d);
                model.prepare();
                return false;
            }
        };
        for command in &commands {
            let foreseen = model.foreseen(command);
            self.record(model, |r| r.begin(&foreseen));
            let leaves = self.run_command(model, command);
            self.keep(model, Recorder::settle);
            for effect in std::mem::take(&mut model.asked) {
                if effect == session::Effect::Reload
                    && let Some(desk) = &self.desk
                {
                    desk.reload();
                    model.say("the files are read again", None);
                    continue;
                }
                match outside::of_screen(model, &effect) {
                    Ok(done) => {
                        if let session::Effect::Save { program, .. } = &effect {
                            model.saved.clone_from(&program.edits);
                        }
                        model.say(done, None);
                    }
                    Err(d) => model.refuse(d),
                }
            }
            if leaves {
                return true;
            }
            // A script ends where a command of it is refused.
            let refused = model.line.as_ref().is_some_and(|l| l.error.is_some())
                || model.said.as_ref().is_some_and(|s| s.severity == Some(Severity::Error));
            if refused {
                return false;
            }
        }
        if replays {
            model.popup = None;
            model.prepare();
        }
        false
    }

    /// Records what the model carried out.
    fn keep(&mut self, model: &mut Model, how: fn(&mut Recorder, &[String]) -> io::Result<()>) {
        let lines = model.take_journal();
        self.record(model, |r| how(r, &lines));
    }

    /// Does something to the record; where that fails, it ends there, and the user is told.
    fn record(&mut self, model: &mut Model, what: impl FnOnce(&mut Recorder) -> io::Result<()>) {
        if let Some(Err(e)) = self.record.as_mut().map(what) {
            (self.record, model.journal) = (None, None);
            model.say(format!("the record ends here: {e}"), Some(Severity::Error));
        }
    }

    /// Runs a command and shows what came of it.
    fn run_command(&mut self, model: &mut Model, command: &Command) -> bool {
        let mut drawn = Instant::now();
        finish(model, command, &mut |old: &Model, p: Progress| self.meanwhile(old, p, &mut drawn))
    }

    /// Goes on with another program; true: leave.
    fn take_up(&mut self, model: &mut Model, fresh: Fresh) -> bool {
        let mut drawn = Instant::now();
        let (leaves, next) = take_up(model, fresh, &mut |old: &Model, p: Progress| {
            self.meanwhile(old, p, &mut drawn)
        });
        self.keep(model, Recorder::write);
        if let Some(Effect::Compare(asked)) = next {
            self.compare(asked);
        }
        leaves
    }

    fn compare(&self, asked: Comparison) {
        if let Some(desk) = &self.desk {
            desk.compare(asked);
        }
    }

    /// While something takes long: draws how far it is, and breaks it off where that is asked for
    /// or where the files are other ones.
    fn meanwhile(&mut self, old: &Model, p: Progress, drawn: &mut Instant) -> ControlFlow<()> {
        while let Ok(i) = self.receiver.try_recv() {
            let cancels = match &i {
                Incoming::Files(notice) => {
                    let other = matches!(notice, Notice::Loaded { same: false, .. });
                    self.pending.push_back(i);
                    if other {
                        return ControlFlow::Break(());
                    }
                    continue;
                }
                Incoming::Event(Event::Key(k)) => {
                    k.code == KeyCode::Esc
                        || k.code == KeyCode::Char('c')
                            && k.modifiers.contains(KeyModifiers::CONTROL)
                }
                Incoming::Signal(SIGTERM | SIGHUP | SIGINT) | Incoming::Gone => {
                    self.pending.push_back(i);
                    return ControlFlow::Break(());
                }
                _ => false,
            };
            if cancels {
                return ControlFlow::Break(());
            }
            self.pending.push_back(i);
        }
        if drawn.elapsed() >= FRAME {
            *drawn = Instant::now();
            let mut picture = old.clone();
            picture.running = Some(p);
            picture.line = None;
            if self.draw(&picture).is_err() {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }

    fn draw(&mut self, model: &Model) -> io::Result<()> {
        crossterm::execute!(io::stdout(), BeginSynchronizedUpdate)?;
        self.terminal.draw(|frame| {
            if let Some(cursor) = view::draw(model, frame.buffer_mut()) {
                frame.set_cursor_position(cursor);
            }
        })?;
        crossterm::execute!(io::stdout(), EndSynchronizedUpdate)
    }

    /// Gives the terminal back and stops; goes on here when continued.
    fn suspend(&mut self, model: &mut Model) -> io::Result<()> {
        restore();
        emulate_default_handler(SIGTSTP)?;
        prepare(self.mouse)?;
        self.terminal = blank()?;
        let size = self.terminal.size()?;
        update(model, Message::Resize(size.width, size.height));
        Ok(())
    }
}

/// Names of files that begin so, in order; folders have `/` behind them. One that could not be
/// typed as it is (blanks, quotes, control characters, no UTF-8) is left out, and so is a hidden one
/// unless its dot was typed.
fn named_so(begun: &str) -> Vec<String> {
    let (folder, first) = begun.rsplit_once('/').map_or(("", begun), |(f, n)| (f, n));
    let prefix = &begun[..begun.len() - first.len()];
    let path = match (folder, prefix) {
        ("", "") => ".",
        ("", _) => "/",
        (folder, _) => folder,
    };
    let Ok(entries) = std::fs::read_dir(path) else { return Vec::new() };
    let fits = |n: &str| {
        let plain = |c: char| !c.is_whitespace() && !c.is_control() && !"\"#;".contains(c);
        n.starts_with(first)
            && n.chars().all(plain)
            && (first.starts_with('.') || !n.starts_with('.'))
    };
    let mut found: Vec<String> = entries
        .take(MAX_FILES_LISTED)
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name().into_string().ok().filter(|n| fits(n))?;
            let folder = std::fs::metadata(entry.path()).is_ok_and(|m| m.is_dir());
            Some(format!("{prefix}{name}{}", if folder { "/" } else { "" }))
        })
        .collect();
    found.sort();
    found
}

/// An empty screen and the knowledge that it is empty. (`Terminal::clear` would ask where the
/// cursor is, and the answer would wait behind the thread that reads.)
fn blank() -> io::Result<Terminal<CrosstermBackend<Stdout>>> {
    crossterm::execute!(io::stdout(), Clear(ClearType::All))?;
    Terminal::new(CrosstermBackend::new(io::stdout()))
}

/// Owns the state of the terminal: restores it when dropped, and before the message of a panic.
#[derive(Debug)]
pub struct Guard(());

impl Guard {
    /// Takes the terminal for the screen, with the mouse or without.
    ///
    /// # Errors
    /// The terminal's.
    pub fn new(mouse: bool) -> io::Result<Guard> {
        let old = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            // The reader of the terminal goes on after its own.
            if std::thread::current().name() != Some(INPUT) {
                restore();
                old(info);
            }
        }));
        let guard = Guard(());
        prepare(mouse)?;
        Ok(guard)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        restore();
    }
}

fn prepare(mouse: bool) -> io::Result<()> {
    enable_raw_mode()?;
    let mut out = io::stdout();
    crossterm::execute!(out, EnterAlternateScreen, EnableBracketedPaste)?;
    if mouse {
        crossterm::execute!(out, EnableMouseCapture)?;
    }
    Ok(())
}

/// Puts the terminal back as it was. Errors are of no use here: it may be gone.
fn restore() {
    let mut out = io::stdout();
    let _ = crossterm::execute!(
        out,
        EndSynchronizedUpdate,
        DisableMouseCapture,
        DisableBracketedPaste,
        LeaveAlternateScreen,
        crossterm::cursor::Show
    );
    let _ = disable_raw_mode();
}
