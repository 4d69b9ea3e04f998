//! Trying a lesson: every solution solves, every wrong answer is met by its hint, nothing is
//! solved or called wrong by doing nothing.

use super::judge::{Budget, run_lines};
use super::model::{Goal, Task, Wrong, WrongWay};
use super::play::{Play, Ready, ToldKind};
use crate::diag::{Diagnostic, Place, Report};
use crate::engine::command::Command;
use crate::engine::expr::Expr;

/// What was tried.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tried {
    /// Tasks.
    pub tasks: usize,
    /// Wrong answers.
    pub wrong: usize,
    /// What does not hold: S063, each at its line.
    pub report: Report,
}

/// Tries a lesson.
pub fn solve(ready: &Ready) -> Tried {
    let mut out = Tried::default();
    let lesson = ready.lesson.clone();
    for (i, task) in lesson.tasks.iter().enumerate() {
        let mut play = Play::new(ready.clone(), &[]);
        play.go_to(i);
        out.tasks += 1;
        if let Err(d) = task_holds(&play, i, task) {
            out.report.push(d.in_file(&lesson.file));
            continue;
        }
        for w in &task.wrong {
            out.wrong += 1;
            if let Err(d) = wrong_holds(&play, i, task, w) {
                out.report.push(d.in_file(&lesson.file));
            }
        }
    }
    out
}

fn fault(place: &Place, text: String) -> Diagnostic {
    Diagnostic::new("S063", text).at(place.clone())
}

/// Says of which task a command of it is that fails.
fn of_task(i: usize, at: &Place, what: &str) -> impl Fn(Diagnostic) -> Diagnostic {
    let (what, at) = (what.to_owned(), at.clone());
    move |d| {
        let text = format!("task {}: {what}: {}[{}]: {}", i + 1, d.severity, d.code, d.message);
        let out = Diagnostic::new("S063", text).at(if d.place.line.is_some() {
            d.place
        } else {
            at.clone()
        });
        match d.help {
            Some(help) => out.help(help),
            None => out,
        }
    }
}

fn task_holds(start: &Play, i: usize, task: &Task) -> Result<(), Diagnostic> {
    let n = i + 1;
    let mut play = start.clone();
    let mut session = start.begin().map_err(of_task(i, &task.place, "it does not begin"))?;
    if play.look(&session) {
        return Err(fault(&task.place, format!("task {n} is solved by doing nothing")));
    }
    if play.told().is_some() {
        return Err(fault(&task.place, format!("task {n} calls wrong that nothing is done")));
    }
    match &task.goal {
        Goal::State(state) => {
            let end = "its solution does not run";
            play.perform(&mut session, &task.solution).map_err(of_task(i, &task.place, end))?;
            if !play.is_solved() {
                let why = play.judge(&session, state).err();
                let why = why.map(|d| format!(": {}", d.message)).unwrap_or_default();
                let text = format!("the solution of task {n} does not solve it{why}");
                return Err(fault(&task.place, text));
            }
        }
        Goal::Value { expr, .. } => {
            let value =
                play.reference(expr).map_err(of_task(i, &task.place, "its answer has no value"))?;
            let set = Command::SetVar("answer".to_owned(), Expr::Num(value));
            session.execute(&set).map_err(of_task(i, &task.place, "its answer cannot be kept"))?;
            right(&mut play, i, task, &value.to_string())?;
        }
        Goal::Choice { right: r, .. } => right(&mut play, i, task, &r.to_string())?,
        Goal::Word(words) => {
            for w in words {
                right(&mut play.clone(), i, task, w)?;
            }
        }
    }
    let mut copy = session.clone();
    for line in &task.proof {
        run_lines(&mut copy, std::slice::from_ref(line), &mut Budget::full()).map_err(of_task(
            i,
            &task.place,
            "its proof fails",
        ))?;
    }
    Ok(())
}

/// Answers as the lesson says is right.
fn right(play: &mut Play, i: usize, task: &Task, text: &str) -> Result<(), Diagnostic> {
    answer(play, text).map_err(of_task(i, &task.place, "its answer is refused"))?;
    if play.is_solved() {
        return Ok(());
    }
    Err(fault(&task.place, format!("task {} is not solved by `answer {text}`", i + 1)))
}

/// Gives an answer where the task begins.
fn answer(play: &mut Play, text: &str) -> Result<(), Diagnostic> {
    let mut session = play.begin()?;
    play.command(&Command::Answer(text.to_owned()), &mut session).map(|_| ())
}

fn wrong_holds(start: &Play, i: usize, task: &Task, wrong: &Wrong) -> Result<(), Diagnostic> {
    let mut play = start.clone();
    let n = i + 1;
    let refused = of_task(i, &wrong.place, "a wrong answer is refused");
    match &wrong.way {
        WrongWay::Value(expr) => {
            let value = play.reference(expr).map_err(of_task(
                i,
                &wrong.place,
                "a wrong answer has no value",
            ))?;
            answer(&mut play, &value.to_string()).map_err(refused)?;
        }
        WrongWay::Choice(c) => answer(&mut play, &c.to_string()).map_err(refused)?,
        WrongWay::Word(w) => answer(&mut play, w).map_err(refused)?,
        WrongWay::State(_) => {
            let mut session =
                play.begin().map_err(of_task(i, &wrong.place, "it does not begin"))?;
            let end = "the lines of a wrong answer do not run";
            play.perform(&mut session, &wrong.lines).map_err(of_task(i, &wrong.place, end))?;
        }
    }
    if play.is_solved() {
        return Err(fault(&wrong.place, format!("task {n}: this wrong answer solves the task")));
    }
    let told = play.told().filter(|t| t.kind == ToldKind::Wrong);
    if told.is_some_and(|t| t.text.first() == Some(&wrong.hint)) {
        return Ok(());
    }
    let text = match told {
        Some(_) => format!("task {n}: this wrong answer is met by another hint"),
        None => format!("task {n}: this wrong answer is not recognised"),
    };
    let _ = task;
    Err(fault(&wrong.place, text))
}
