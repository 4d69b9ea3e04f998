//! A lesson on the screen: what its commands do to the model. The lesson itself is
//! `learn`'s.

use super::model::{Model, Popup};
use crate::diag::{Diagnostic, Severity};
use crate::engine::command::Command;
use crate::learn::{Play, bundled, lesson_of, prepare};
use crate::udma::field;

impl Model {
    /// Takes a lesson whose task begins where the session stands, and shows what it says first.
    pub fn open_lesson(&mut self, play: Play) {
        let intro = (play.at() == 0).then(|| play.whole());
        self.lesson = Some(play);
        self.lesson_next = None;
        if let Some(lines) = intro {
            self.answers = "lesson".to_owned();
            self.popup = Some((Popup::Output(lines), 0));
        }
        self.prepare();
    }

    /// Of each lesson that was taken, which tasks are solved.
    pub fn lessons_taken(&self) -> Vec<(String, Vec<bool>)> {
        let here = self.lesson.as_ref().map(|p| (p.lesson().name.clone(), p.solved()));
        self.taken.iter().cloned().chain(here).collect()
    }

    /// The lesson to go on with once every task of this one is solved, by its place in the list:
    /// the next one that has something left to do.
    fn next_lesson(&self) -> Option<usize> {
        let play = self.lesson.as_ref().filter(|p| p.is_done())?;
        let here = bundled::place(play.lesson())?;
        let open = |i: &usize| {
            let Some(Ok(lesson)) = bundled::lesson(*i) else { return false };
            let mut known = self.progress.clone();
            self.taken.iter().for_each(|(name, solved)| known.add(name, solved));
            !known.solved(&lesson.name, lesson.tasks.len()).iter().all(|s| *s)
        };
        (here + 1..bundled::count()).chain(0..here).find(open)
    }

    /// Puts the next lesson in the place of the one that is over.
    fn go_to_lesson(&mut self, index: usize) -> Result<(), Diagnostic> {
        let Some(Ok(lesson)) = bundled::lesson(index) else { return Ok(()) };
        let known = self.progress.solved(&lesson.name, lesson.tasks.len());
        let mut none =
            |name: &str| Err(Diagnostic::new("S061", format!("`{name}` is not at hand here")));
        let Ok(ready) = prepare(lesson, &mut none) else { return Ok(()) };
        let play = Play::new(ready, &known);
        let session = play.begin()?;
        self.taken = self.lessons_taken();
        self.title.file = format!("lesson {}", index + 1);
        self.said = None;
        self.begin_with(session);
        self.open_lesson(play);
        Ok(())
    }

    /// Carries out a command of the lesson.
    ///
    /// # Errors
    /// As [`Play::command`].
    pub(super) fn lesson_command(&mut self, command: &Command) -> Result<(), Diagnostic> {
        if *command == Command::Proceed
            && let Some(next) = self.lesson_next
        {
            return self.go_to_lesson(next);
        }
        let Some(mut play) = self.lesson.take() else { return Ok(()) };
        let mut session = self.session.clone();
        let done = play.command(command, &mut session);
        self.lesson = Some(play);
        self.lesson_next = self.next_lesson();
        let lines = done?;
        self.said = None;
        if let Command::Skip | Command::Again | Command::Proceed = command {
            self.begin_with(session);
        }
        if !lines.is_empty() {
            self.answers = "lesson".to_owned();
            self.popup = Some((Popup::Output(lines), 0));
        }
        Ok(())
    }

    /// Shows what the lesson says that explains the field of the selected bit.
    pub(super) fn field_lesson(&mut self) {
        let Some((desc, _)) = self.desc() else { return };
        let (word, bit) = self.bit();
        let field = field::at_bit(desc.view(self.selection.dir), word, bit);
        let found = field.and_then(|f| Some((f, lesson_of(f.name)?)));
        let Some((field, (n, _))) = found else {
            self.say("no lesson is about this field", None);
            return;
        };
        let Some(Ok(lesson)) = bundled::lesson(n - 1) else { return };
        let mut lines =
            vec![format!("{}: lesson {n}, {}", field.name, lesson.title), String::new()];
        for text in &lesson.intro {
            lines.extend([text.clone(), String::new()]);
        }
        lines.extend(lesson.facts.iter().map(|f| format!("* {} ({})", f.text, f.source)));
        lines.extend([String::new(), format!("`dmadbg learn {n}` takes it.")]);
        self.answers = "lesson".to_owned();
        self.popup = Some((Popup::Output(lines), 0));
    }

    /// Another session: where a task begins.
    fn begin_with(&mut self, session: crate::engine::session::Session) {
        self.session = session;
        self.source = Default::default();
        self.take_assembly();
        self.search = None;
        self.ring_top = 0;
        self.unlocked = Default::default();
        self.focus = match self.has_module() {
            true => super::Pane::Source,
            false => super::Pane::Tx,
        };
        self.select_slot(None, 0);
        self.forget_run();
        self.after_move();
    }

    /// After a command: whether the task is solved by what it did.
    pub(super) fn look_at_lesson(&mut self) {
        if let Some(play) = &mut self.lesson
            && play.look(&self.session)
        {
            self.lesson_next = self.next_lesson();
            self.say("the task is solved: T goes on", Some(Severity::Note));
        }
    }
}
