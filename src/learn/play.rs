//! A lesson under way: which task, what was tried, what was said. It stands around a session
//! and never inside it; what it does to a session is to put a new one in its place.

use super::judge::{Budget, execute, holds, run_lines};
use super::model::{Goal, Lesson, Line, ProgramRef, State, Task, WrongWay};
use crate::diag::{Diagnostic, Report};
use crate::engine::command::Command;
use crate::engine::expr::Expr;
use crate::engine::program::{Blob, Program};
use crate::engine::session::Session;
use crate::load::{LoadOptions, load_bytes};
use crate::script::parse_expr;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A lesson and the program of each of its tasks.
#[derive(Debug, Clone)]
pub struct Ready {
    /// The lesson.
    pub lesson: Arc<Lesson>,
    /// A program for each task.
    programs: Vec<Arc<Program>>,
}

/// Hands in a file beside a lesson by its bare name.
pub type Fetch<'a> = &'a mut dyn FnMut(&str) -> Result<Vec<u8>, Diagnostic>;

/// Loads the programs of a lesson.
///
/// # Errors
/// All that is wrong with any of them.
pub fn prepare(lesson: Lesson, fetch: Fetch<'_>) -> Result<Ready, Report> {
    let mut known: BTreeMap<ProgramRef, Option<Arc<Program>>> = BTreeMap::new();
    let mut report = Report::default();
    let mut programs = Vec::new();
    for task in &lesson.tasks {
        let source = task.program.as_ref().unwrap_or(&lesson.program);
        let program = match known.get(source) {
            Some(p) => p.clone(),
            None => {
                let loaded = load(source, &lesson, fetch);
                let p = loaded.map_err(|r| report.extend(r)).ok();
                known.insert(source.clone(), p.clone());
                p
            }
        };
        programs.extend(program);
    }
    if report.has_errors() {
        return Err(report);
    }
    Ok(Ready { lesson: Arc::new(lesson), programs })
}

fn load(source: &ProgramRef, lesson: &Lesson, fetch: Fetch<'_>) -> Result<Arc<Program>, Report> {
    let (name, bytes) = match source {
        ProgramRef::Sample(name) => {
            let text = super::bundled::sample(name).unwrap_or_default();
            (name.clone(), text.as_bytes().to_vec())
        }
        ProgramRef::File(name) => (name.clone(), fetch(name).map_err(Report::from)?),
        ProgramRef::Text(text) => {
            (format!("{} (its program)", lesson.file), text.trim_start().as_bytes().to_vec())
        }
    };
    let loaded = load_bytes(&name, Blob::from_vec(bytes), &LoadOptions::default())?;
    let mut report = Report::default();
    if let Some(m) = &loaded.module {
        m.diagnostics().into_iter().for_each(|d| report.push(d));
    }
    match loaded.program {
        Some(p) if !report.has_errors() => Ok(p),
        Some(_) => Err(report),
        None => {
            let d = Diagnostic::new("S010", "there is nothing to run in this input");
            report.push(d.in_file(&name));
            Err(report)
        }
    }
}

/// Whether a command is one of a lesson's.
pub fn is_lesson_command(command: &Command) -> bool {
    matches!(
        command,
        Command::Answer(_)
            | Command::Hint
            | Command::Skip
            | Command::Again
            | Command::Proceed
            | Command::Lesson
    )
}

/// How a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TaskState {
    /// Not solved yet.
    #[default]
    Open,
    /// Left aside.
    Skipped,
    /// Solved.
    Solved,
}

/// What is meant by something that is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToldKind {
    /// The task is solved.
    Right,
    /// An answer, or what was done, is wrong.
    Wrong,
    /// A hint that was asked for.
    Hint,
    /// Anything else.
    Note,
}

/// Something that is said to the learner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// How it is meant.
    pub kind: ToldKind,
    /// Paragraphs.
    pub text: Vec<String>,
}

impl Told {
    fn new(kind: ToldKind, text: impl Into<String>) -> Told {
        Told { kind, text: vec![text.into()] }
    }
}

/// A lesson under way.
#[derive(Debug, Clone)]
pub struct Play {
    ready: Ready,
    at: usize,
    states: Vec<TaskState>,
    /// Hints of the present task that were given.
    hints: usize,
    told: Option<Told>,
}

impl Play {
    /// A lesson at its first task that is not solved, or at its first where all are.
    pub fn new(ready: Ready, solved: &[bool]) -> Play {
        let n = ready.lesson.tasks.len();
        let state = |i| match solved.get(i) {
            Some(true) => TaskState::Solved,
            _ => TaskState::Open,
        };
        let states: Vec<TaskState> = (0..n).map(state).collect();
        let at = states.iter().position(|s| *s != TaskState::Solved);
        if at.is_none() {
            // Once more from the start.
            let states = vec![TaskState::Open; n];
            return Play { ready, at: 0, states, hints: 0, told: None };
        }
        Play { ready, at: at.unwrap_or(0), states, hints: 0, told: None }
    }

    /// The lesson.
    pub fn lesson(&self) -> &Lesson {
        &self.ready.lesson
    }

    /// The present task, by its place from 0.
    pub fn at(&self) -> usize {
        self.at
    }

    /// The present task.
    pub fn task(&self) -> Option<&Task> {
        self.lesson().tasks.get(self.at)
    }

    /// How each task stands.
    pub fn states(&self) -> &[TaskState] {
        &self.states
    }

    /// Which tasks are solved.
    pub fn solved(&self) -> Vec<bool> {
        self.states.iter().map(|s| *s == TaskState::Solved).collect()
    }

    /// Whether the present task is solved.
    pub fn is_solved(&self) -> bool {
        self.states.get(self.at) == Some(&TaskState::Solved)
    }

    /// Whether every task is solved.
    pub fn is_done(&self) -> bool {
        self.states.iter().all(|s| *s == TaskState::Solved)
    }

    /// What was said last about the present task.
    pub fn told(&self) -> Option<&Told> {
        self.told.as_ref()
    }

    /// Hints of the present task that were given.
    pub fn hints(&self) -> &[String] {
        let all = self.task().map_or(&[][..], |t| &t.hints);
        all.get(..self.hints).unwrap_or(all)
    }

    /// Goes to a task, by its place from 0.
    pub fn go_to(&mut self, task: usize) {
        self.at = task.min(self.states.len().saturating_sub(1));
        self.hints = 0;
        self.told = None;
    }

    /// A session where the present task begins.
    ///
    /// # Errors
    /// What its commands say.
    pub fn begin(&self) -> Result<Session, Diagnostic> {
        let (Some(task), Some(program)) = (self.task(), self.ready.programs.get(self.at)) else {
            return Err(Diagnostic::new("S061", "the lesson has no such task"));
        };
        let mut session = Session::new(program.clone());
        run_lines(&mut session, &task.before, &mut Budget::full())?;
        Ok(session)
    }

    /// Looks at the session after a command. True: the task is solved now.
    pub fn look(&mut self, session: &Session) -> bool {
        let Some(task) = self.lesson().tasks.get(self.at) else { return false };
        let Goal::State(state) = &task.goal else { return false };
        if self.is_solved() {
            return false;
        }
        let mut budget = Budget::full();
        if holds(session, state, &mut budget).is_ok() {
            self.solve();
            return true;
        }
        let wrong = task.wrong.iter().find(|w| match &w.way {
            WrongWay::State(state) => holds(session, state, &mut budget).is_ok(),
            _ => false,
        });
        // What was wrong before may be mended now; a hint stays in sight.
        match wrong {
            Some(w) => self.told = Some(Told::new(ToldKind::Wrong, w.hint.clone())),
            None if self.told.as_ref().is_some_and(|t| t.kind != ToldKind::Hint) => {
                self.told = None;
            }
            None => {}
        }
        false
    }

    fn solve(&mut self) {
        let after = self.task().map(|t| t.after.clone()).unwrap_or_default();
        if let Some(state) = self.states.get_mut(self.at) {
            *state = TaskState::Solved;
        }
        let mut text = vec!["Right.".to_owned()];
        if let (Some(head), Some(first)) = (text.first_mut(), after.first()) {
            *head = format!("{head} {first}");
        }
        text.extend(after.into_iter().skip(1));
        self.told = Some(Told { kind: ToldKind::Right, text });
    }

    /// Carries out a command of a lesson; what it says is in [`Play::told`], but for the whole
    /// text of the lesson, which is the answer.
    ///
    /// # Errors
    /// S061 where it has no meaning now; S004 to S006 for an answer that is none.
    pub fn command(
        &mut self,
        command: &Command,
        session: &mut Session,
    ) -> Result<Vec<String>, Diagnostic> {
        match command {
            Command::Answer(text) => self.answer(text, session)?,
            Command::Hint => self.hint(),
            Command::Again => {
                let hints = self.hints;
                self.go_to(self.at);
                self.hints = hints;
                if let Some(state) = self.states.get_mut(self.at) {
                    *state = TaskState::Open;
                }
                *session = self.begin()?;
            }
            Command::Skip => {
                if !self.is_solved()
                    && let Some(state) = self.states.get_mut(self.at)
                {
                    *state = TaskState::Skipped;
                }
                self.forward(session)?;
            }
            Command::Proceed if self.is_solved() => self.forward(session)?,
            Command::Proceed => {
                let d = Diagnostic::new("S061", "this task is not solved yet");
                return Err(d.help("`hint` helps, `skip` leaves it for another time"));
            }
            Command::Lesson => return Ok(self.whole()),
            _ => return Err(Diagnostic::new("S061", "this is no command of a lesson")),
        }
        Ok(Vec::new())
    }

    /// To the next task that is not solved; after the last one, to one that was left aside.
    fn forward(&mut self, session: &mut Session) -> Result<(), Diagnostic> {
        let open = |i: &usize| self.states.get(*i) != Some(&TaskState::Solved);
        let n = self.states.len();
        let next = (self.at + 1..n).chain(0..=self.at).find(open);
        match next {
            Some(next) => {
                let same = next == self.at;
                self.go_to(next);
                if same {
                    self.told = Some(Told::new(ToldKind::Note, "This is the last task left."));
                }
                *session = self.begin()?;
            }
            None => {
                let next = super::bundled::place(self.lesson())
                    .map(|i| i + 2)
                    .filter(|n| *n <= super::bundled::count());
                let on = match next {
                    Some(n) => format!("`dmadbg learn {n}` goes on"),
                    None => "`dmadbg learn` lists the lessons".to_owned(),
                };
                let text = format!("Every task of this lesson is solved. `quit` leaves; {on}.");
                self.told = Some(Told::new(ToldKind::Note, text));
            }
        }
        Ok(())
    }

    fn hint(&mut self) {
        let hints = self.task().map(|t| t.hints.clone()).unwrap_or_default();
        if self.is_solved() {
            self.told = Some(Told::new(ToldKind::Note, "This task is solved."));
            return;
        }
        let n = hints.len();
        let last = self.hints >= n;
        self.hints = (self.hints + 1).min(n);
        self.told = Some(match self.hints.checked_sub(1).and_then(|i| hints.get(i)) {
            Some(h) => {
                let count = if last {
                    "there is no further one".to_owned()
                } else {
                    format!("{} of {n}", self.hints)
                };
                Told::new(ToldKind::Hint, format!("{h} ({count})"))
            }
            None => Told::new(ToldKind::Note, "There is no hint for this task."),
        });
    }

    fn answer(&mut self, text: &str, session: &Session) -> Result<(), Diagnostic> {
        if self.is_solved() {
            let d = Diagnostic::new("S061", "this task is solved already");
            return Err(d.help("`proceed` goes to the next one, `again` begins it anew"));
        }
        let Some(task) = self.task() else { return Ok(()) };
        let given = self.given(task, text, session)?;
        if self.is_right(task, &given)? {
            self.solve();
            return Ok(());
        }
        let met = task.wrong.iter().find(|w| self.is_met(&w.way, &given));
        let said = match met {
            Some(w) => w.hint.clone(),
            None if self.hints < task.hints.len() => {
                format!("{} is not right. `hint` helps.", given.words())
            }
            None => format!("{} is not right.", given.words()),
        };
        self.told = Some(Told::new(ToldKind::Wrong, said));
        Ok(())
    }

    /// What an answer says, for the question that is asked.
    fn given(&self, task: &Task, text: &str, session: &Session) -> Result<Given, Diagnostic> {
        match &task.goal {
            Goal::Word(_) => Ok(Given::Word(text.trim_matches(['"', '`', '\'']).to_owned())),
            Goal::Value { .. } => Ok(Given::Value(value_of(text, session)?)),
            Goal::Choice { choices, .. } => {
                let n = value_of(text, session)?;
                if (1..=choices.len() as u64).contains(&n) {
                    return Ok(Given::Choice(n));
                }
                let d = Diagnostic::new("S061", format!("there is no choice {n}"));
                Err(d.help(format!("answer with a number from 1 to {}", choices.len())))
            }
            Goal::State(_) => {
                let d = Diagnostic::new("S061", "this task asks for something to be done");
                Err(d.help("it is looked at after every command; `hint` helps"))
            }
        }
    }

    fn is_right(&self, task: &Task, given: &Given) -> Result<bool, Diagnostic> {
        Ok(match (&task.goal, given) {
            (Goal::Value { expr, .. }, Given::Value(v)) => self.reference(expr)? == *v,
            (Goal::Choice { right, .. }, Given::Choice(c)) => right == c,
            (Goal::Word(words), Given::Word(w)) => words.iter().any(|x| x.eq_ignore_ascii_case(w)),
            _ => false,
        })
    }

    fn is_met(&self, way: &WrongWay, given: &Given) -> bool {
        match (way, given) {
            (WrongWay::Value(expr), Given::Value(v)) => self.reference(expr).is_ok_and(|r| r == *v),
            (WrongWay::Choice(c), Given::Choice(g)) => c == g,
            (WrongWay::Word(w), Given::Word(g)) => w.eq_ignore_ascii_case(g),
            _ => false,
        }
    }

    /// The value of an expression of the lesson: where the task begins, after its `then`.
    pub(super) fn reference(&self, expr: &Expr) -> Result<u64, Diagnostic> {
        let mut session = self.begin()?;
        if let Some(Task { goal: Goal::Value { then, .. }, .. }) = self.task() {
            run_lines(&mut session, then, &mut Budget::full())?;
        }
        session.value(expr)
    }

    /// Whether the session is in the state that the task asks for, and why not.
    pub(super) fn judge(&self, session: &Session, state: &State) -> Result<(), Diagnostic> {
        holds(session, state, &mut Budget::full())
    }

    /// Runs commands of the lesson on a session; after each the task is looked at.
    pub(super) fn perform(
        &mut self,
        session: &mut Session,
        lines: &[Line],
    ) -> Result<(), Diagnostic> {
        let mut budget = Budget::full();
        for line in lines {
            let placed = |mut d: Diagnostic| {
                d.place = line.place.clone();
                d
            };
            execute(session, &line.command, &mut budget).map_err(placed)?;
            self.look(session);
        }
        Ok(())
    }

    /// The task in words: which it is, its text, what there is to choose from.
    pub fn task_lines(&self) -> Vec<String> {
        let Some(task) = self.task() else { return Vec::new() };
        let mut out = task.text.clone();
        if let Goal::Choice { choices, .. } = &task.goal {
            out.extend((1..).zip(choices).map(|(n, c)| format!("    {n}  {c}")));
        }
        out
    }

    /// How to answer, in a few words.
    pub fn how(&self) -> &'static str {
        match self.task().map(|t| &t.goal) {
            _ if self.is_done() => "every task is solved",
            _ if self.is_solved() => "solved: `proceed` goes on",
            Some(Goal::Value { .. }) => "`answer EXPR`",
            Some(Goal::Choice { .. }) => "`answer NUMBER`",
            Some(Goal::Word(_)) => "`answer WORD`",
            Some(Goal::State(_)) | None => "do it; it is looked at after every command",
        }
    }

    /// All that the lesson says up to the present task.
    pub fn whole(&self) -> Vec<String> {
        let lesson = self.lesson();
        let mut out = vec![lesson.title.clone(), String::new()];
        let part = |out: &mut Vec<String>, lines: &[String]| {
            out.extend(lines.iter().cloned());
            if !lines.is_empty() {
                out.push(String::new());
            }
        };
        part(&mut out, &lesson.intro);
        for f in &lesson.facts {
            out.push(format!("- {} ({})", f.text, f.source));
        }
        if !lesson.facts.is_empty() {
            out.push(String::new());
        }
        out.push(format!("Task {} of {}", self.at + 1, lesson.tasks.len()));
        part(&mut out, &self.task_lines());
        for (n, h) in (1..).zip(self.hints()) {
            out.push(format!("Hint {n}: {h}"));
        }
        if let Some(told) = self.told().filter(|t| t.kind != ToldKind::Hint) {
            out.extend(told.text.iter().cloned());
        }
        out.push(self.how().to_owned());
        out
    }
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Given {
    Value(u64),
    Choice(u64),
    Word(String),
}

impl Given {
    fn words(&self) -> String {
        match self {
            Given::Value(v) if *v < 10 => v.to_string(),
            Given::Value(v) => format!("{v} ({v:#x})"),
            Given::Choice(c) => format!("choice {c}"),
            Given::Word(w) => format!("`{w}`"),
        }
    }
}

/// The value of an answer where the session stands.
fn value_of(text: &str, session: &Session) -> Result<u64, Diagnostic> {
    let expr = parse_expr(text).map_err(|mut d| {
        // Its columns count from the answer's start, not from the line's.
        d.place = crate::diag::Place::default();
        if !d.message.contains(&format!("`{text}`")) {
            d.message = format!("`{text}`: {}", d.message);
        }
        d
    })?;
    session.value(&expr)
}
