//! A lesson as data.

use crate::diag::Place;
use crate::engine::command::Command;
use crate::engine::expr::Expr;

/// A lesson.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lesson {
    /// The name under which its progress is kept: that of its file, without the ending.
    pub name: String,
    /// Its file, for messages.
    pub file: String,
    /// A few words.
    pub title: String,
    /// One line for the list of lessons.
    pub summary: String,
    /// Paragraphs that are read before the first task.
    pub intro: Vec<String>,
    /// What the lesson rests on.
    pub facts: Vec<Fact>,
    /// The program of the tasks that bring none of their own.
    pub program: ProgramRef,
    /// The tasks, in order; at least one.
    pub tasks: Vec<Task>,
}

/// Something that is so, and where it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// A sentence or two.
    pub text: String,
    /// A page of the documentation, such as `docs/wire.md`, with a heading after it in words.
    pub source: String,
}

/// Where a program is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProgramRef {
    /// A sample that comes with this program, by its file's name.
    Sample(String),
    /// A file beside the lesson.
    File(String),
    /// The text of a program, assembly or a module.
    Text(String),
}

/// A task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Where it stands in its file.
    pub place: Place,
    /// Paragraphs.
    pub text: Vec<String>,
    /// Its own program, where it has one.
    pub program: Option<ProgramRef>,
    /// Commands before it, from event 0 of the program on.
    pub before: Vec<Line>,
    /// When it is solved.
    pub goal: Goal,
    /// Hints, in the order in which they are given.
    pub hints: Vec<String>,
    /// Typical wrong answers.
    pub wrong: Vec<Wrong>,
    /// Paragraphs that explain, once it is solved.
    pub after: Vec<String>,
    /// Commands that solve it; questions are solved by their answer and have none.
    pub solution: Vec<Line>,
    /// Commands that show that the answer to a question is right.
    pub proof: Vec<Line>,
}

/// A command of a lesson.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Where it stands.
    pub place: Place,
    /// As it is written.
    pub text: String,
    /// What it means.
    pub command: Command,
}

/// When a task is solved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Goal {
    /// By an answer that has the value of `expr` where the task begins, after the commands
    /// `then`.
    Value {
        /// The right answer.
        expr: Expr,
        /// Commands before it is worked out; what the learner sees stays.
        then: Vec<Line>,
    },
    /// By the number of the right one of these, from 1.
    Choice {
        /// What there is to choose from.
        choices: Vec<String>,
        /// Which is right.
        right: u64,
    },
    /// By one of these words, in any letter case; the first is the one that is shown.
    Word(Vec<String>),
    /// By a state of the session.
    State(State),
}

/// A state that is recognised.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State {
    /// Commands that all succeed, run on a copy of the session.
    pub check: Vec<Line>,
    /// What the check of the order says where these commands end.
    pub races: Option<Races>,
}

/// What is asked of the races of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Races {
    /// None under the default readings.
    None,
    /// None under any reading.
    Never,
    /// At least one under the default readings.
    Some,
    /// At least one with this code under the default readings.
    Code(String),
}

/// A typical wrong answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// Where it stands.
    pub place: Place,
    /// How it is recognised.
    pub way: WrongWay,
    /// What is said.
    pub hint: String,
    /// Of a state: commands that lead there, for trying the lesson.
    pub lines: Vec<Line>,
}

/// How a wrong answer is recognised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WrongWay {
    /// It has this value, worked out where the right one is.
    Value(Expr),
    /// It is this choice.
    Choice(u64),
    /// It is this word.
    Word(String),
    /// The session is in this state.
    State(State),
}
