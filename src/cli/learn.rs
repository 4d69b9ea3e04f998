//! `learn`: the list of lessons, a lesson on the screen, and lessons without it
//! (`docs/learn.md`).

use super::args::LearnArgs;
use super::out::{Failure, Out, Status, Style};
use super::texts::WithTexts;
use super::{config, scripts, state};
use crate::diag::render::printable;
use crate::diag::{Diagnostic, Report};
use crate::engine::command::Command;
use crate::engine::session::Session;
use crate::learn::progress::Progress;
use crate::learn::{
    Goal, Lesson, Play, Ready, TaskState, Told, ToldKind, bundled, is_lesson_command, prepare,
    read, solve,
};
use crate::limits::MAX_LESSON_BYTES;
use crate::script::runner::{self, Reply, Target};
use crate::udma::count_of;
use crate::ui::{self, Opening, Options, ScreenError, Title};
use serde_json::json;
use std::path::Path;

/// Runs `learn`.
///
/// # Errors
/// [`Failure`] where a lesson or the answers cannot be read.
pub fn run(args: &LearnArgs, out: &mut Out<'_>) -> Result<Status, Failure> {
    match (&args.lesson, &args.check) {
        (Some(which), _) => take(which, args, out),
        (None, None) => list(out),
        (None, Some(which)) => {
            let ready = open(which)?;
            match (&args.answers, args.solve) {
                (Some(path), _) => check(&ready, path, out),
                (None, true) => try_it(&ready, out),
                (None, false) => summary(&ready, out),
            }
        }
    }
}

/// A lesson by number, name or file, with its programs.
fn open(which: &str) -> Result<Ready, Failure> {
    let path = Path::new(which);
    // A number or a bare name is one of ours; anything else is a file.
    let lesson = match bundled::find(which).and_then(bundled::lesson) {
        Some(lesson) => lesson?,
        None if path.is_file() || which.contains(['/', '.']) => from_file(path)?,
        None => {
            let names = bundled::LESSONS.iter().map(|l| bundled::stem(l.0));
            let names = names.collect::<Vec<_>>().join(", ");
            let d = Diagnostic::new("S061", format!("there is no lesson `{which}`"));
            let n = bundled::count();
            return Err(Report::from(d.help(format!("1 to {n}, a file, or: {names}"))).into());
        }
    };
    Ok(prepare(lesson, &mut |name| beside(path, name))?)
}

fn from_file(path: &Path) -> Result<Lesson, Report> {
    let stem = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    // Its progress must not be taken for that of a lesson of ours, and a name has no blanks.
    let name = format!("file:{}", stem.replace(|c: char| c.is_whitespace() || c.is_control(), "_"));
    let text = scripts::read(path)?;
    read(&name, &path.to_string_lossy(), &text)
}

/// A file beside a lesson.
fn beside(lesson: &Path, name: &str) -> Result<Vec<u8>, Diagnostic> {
    let path = lesson.parent().unwrap_or(Path::new("")).join(name);
    let source = crate::load::source::open(&path)?;
    if source.blob.len() as u64 > MAX_LESSON_BYTES {
        let text = format!("a program beside a lesson has at most {MAX_LESSON_BYTES} bytes");
        return Err(Diagnostic::new("S060", text).in_file(&path.to_string_lossy()));
    }
    Ok(source.blob.bytes().to_vec())
}

/// The lessons, with how far the user has come.
fn list(out: &mut Out<'_>) -> Result<Status, Failure> {
    let progress = state::progress();
    let mut all = Vec::new();
    for lesson in (0..bundled::count()).filter_map(bundled::lesson) {
        all.push(lesson?);
    }
    if out.json() {
        out.schema("lessons", &json!({ "count": all.len() }))?;
    }
    let widest = all.iter().map(|l| l.title.chars().count()).max().unwrap_or(0);
    for (n, l) in (1..).zip(&all) {
        let solved = progress.solved(&l.name, l.tasks.len());
        let done = solved.iter().filter(|s| **s).count();
        if out.json() {
            out.value(&json!({
                "number": n, "name": l.name, "title": l.title, "summary": l.summary,
                "tasks": l.tasks.len(), "solved": done,
            }))?;
            continue;
        }
        let state = format!("{done}/{}", l.tasks.len());
        let style = if done == l.tasks.len() { Style::Dim } else { Style::Bold };
        let title = out.styled(style, &format!("{:<widest$}", l.title));
        out.line(&format!("{n:>3}  {title}  {state:>5}  {}", l.summary))?;
    }
    if !out.json() {
        out.line("")?;
        out.line(
            "`dmadbg learn N` opens a lesson; a lesson of your own is a file (docs/learn.md).",
        )?;
    }
    Ok(Status::Fine)
}

/// That a lesson can be read, and what it holds.
fn summary(ready: &Ready, out: &mut Out<'_>) -> Result<Status, Failure> {
    let l = &ready.lesson;
    let wrong: usize = l.tasks.iter().map(|t| t.wrong.len()).sum();
    let hints: usize = l.tasks.iter().map(|t| t.hints.len()).sum();
    if out.json() {
        out.schema("lesson", &about(l))?;
    } else {
        let n = l.tasks.len();
        out.line(&format!(
            "{}: {n_tasks}, {hints}, {wrong} wrong answers",
            l.title,
            n_tasks = count_of(n, "task"),
            hints = count_of(hints, "hint")
        ))?;
    }
    Ok(Status::Fine)
}

fn about(l: &Lesson) -> serde_json::Value {
    let kind = |g: &Goal| match g {
        Goal::Value { .. } => "answer",
        Goal::Choice { .. } => "choices",
        Goal::Word(_) => "words",
        Goal::State(_) => "check",
    };
    let kinds: Vec<&str> = l.tasks.iter().map(|t| kind(&t.goal)).collect();
    json!({ "name": l.name, "title": l.title, "tasks": kinds })
}

/// Tries a lesson by itself.
fn try_it(ready: &Ready, out: &mut Out<'_>) -> Result<Status, Failure> {
    let tried = solve::solve(ready);
    let wrong = tried.report.has_errors();
    if out.json() {
        out.schema("lesson", &about(&ready.lesson))?;
        let (tasks, answers) = (tried.tasks, tried.wrong);
        out.value(&json!({ "holds": !wrong, "tasks": tasks, "wrong_answers": answers }))?;
    } else if !wrong {
        let text = format!(
            "{}: {} solved by the solutions, {} met by the hints",
            ready.lesson.title,
            count_of(tried.tasks, "task"),
            count_of(tried.wrong, "wrong answer")
        );
        out.line(&text)?;
    }
    out.findings(&tried.report)?;
    Ok(if wrong { Status::Wrong } else { Status::Fine })
}

/// A lesson under a script of answers. A task that is solved is left when the next line comes.
struct Pupil {
    play: Play,
    session: Session,
}

impl Pupil {
    fn said(told: &Told) -> Vec<String> {
        let head = match told.kind {
            ToldKind::Right | ToldKind::Note => "",
            ToldKind::Wrong => "wrong: ",
            ToldKind::Hint => "hint: ",
        };
        let first = told.text.first().map(|t| format!("{head}{t}"));
        first.into_iter().chain(told.text.iter().skip(1).cloned()).collect()
    }
}

impl Target for Pupil {
    fn run(&mut self, command: &Command) -> Result<Reply, Diagnostic> {
        if self.play.is_solved() && !matches!(command, Command::Again | Command::Lesson) {
            if self.play.is_done() {
                let d = Diagnostic::new("S061", "every task of the lesson is solved already");
                return Err(d);
            }
            self.play.command(&Command::Proceed, &mut self.session)?;
            if *command == Command::Proceed {
                return Ok(Reply::default());
            }
        }
        let mut reply;
        if is_lesson_command(command) {
            let lines = self.play.command(command, &mut self.session)?;
            reply = Reply { lines, ..Reply::default() };
        } else {
            let title = Title { file: self.play.lesson().file.clone(), ..Title::default() };
            let mut target = WithTexts { session: &mut self.session, title: &title, writes: true };
            reply = target.run(command)?;
            if reply.quit {
                return Ok(reply);
            }
            self.play.look(&self.session);
        }
        if let Some(told) = self.play.told().filter(|_| *command != Command::Lesson) {
            let n = self.play.at() + 1;
            let said = Pupil::said(told).into_iter().map(|l| format!("task {n}: {l}"));
            reply.lines.extend(said);
        }
        Ok(reply)
    }

    fn event(&self) -> Option<u64> {
        Some(self.session.position())
    }
}

/// Takes a lesson with a script of answers.
fn check(ready: &Ready, answers: &Path, out: &mut Out<'_>) -> Result<Status, Failure> {
    let lines = scripts::lines(answers)?;
    let play = Play::new(ready.clone(), &[]);
    let session = play.begin().map_err(Report::from)?;
    let mut pupil = Pupil { play, session };
    let json = out.json();
    if json {
        out.schema("lesson", &about(&ready.lesson))?;
    }
    let mut said = Vec::new();
    let mut broken = Ok(());
    let end = runner::run(&mut pupil, lines.iter(), &mut |line| {
        if json {
            said.push(line.to_owned());
        } else if broken.is_ok() {
            broken = out.line(&printable(line));
        }
    });
    broken?;
    let mut report = Report::default();
    let mut status = Status::Fine;
    for (i, state) in pupil.play.states().iter().enumerate() {
        let solved = *state == TaskState::Solved;
        if json {
            out.value(&json!({ "task": i + 1, "solved": solved }))?;
        }
        if !solved {
            status = Status::Wrong;
            let place = ready.lesson.tasks.get(i).map(|t| t.place.clone()).unwrap_or_default();
            let text = format!("task {} is not solved", i + 1);
            report.push(Diagnostic::new("S062", text).at(place));
        }
    }
    out.aside(&said)?;
    status = status.and_then(end, &mut report);
    out.findings(&report)?;
    if status == Status::Fine && !json {
        out.line(&format!("{}: solved", ready.lesson.title))?;
    }
    Ok(status)
}

/// Opens the screen on a lesson.
fn take(which: &str, args: &LearnArgs, out: &mut Out<'_>) -> Result<Status, Failure> {
    let ready = open(which)?;
    ui::check_terminal().map_err(|d| {
        Report::from(d.help("`dmadbg learn --check LESSON --answers FILE` needs no terminal"))
    })?;
    out.flush()?;
    let config = config::load(args.no_init)?;
    let progress = if args.no_init { Progress::default() } else { state::progress() };
    let known = progress.solved(&ready.lesson.name, ready.lesson.tasks.len());
    let play = Play::new(ready, &known);
    let session = play.begin().map_err(Report::from)?;
    let title = Title { file: format!("lesson {which}"), ..Title::default() };
    let mut options = Options::new(config);
    options.kept = state::load(args.no_init);
    options.lesson = Some(play);
    options.progress = progress;
    let keep = |kept: &ui::Kept| {
        if args.no_init {
            return;
        }
        state::keep(kept);
        kept.solved.iter().for_each(|(name, solved)| state::keep_lesson(name, solved));
    };
    match ui::run(session, title, options, Opening::default(), keep) {
        Ok(()) => Ok(Status::Fine),
        Err(ScreenError::Refused(d)) => Err(Report::from(*d).into()),
        Err(ScreenError::Io(e)) => Err(Failure::Io(e)),
    }
}
