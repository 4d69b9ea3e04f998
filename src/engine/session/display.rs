//! Values that are shown whenever the session stops: `display`, `undisplay`, `info display`
//! (`docs/stops.md`, "Displays").

use super::look::printed;
use super::{EvalError, Outcome, Session, eval};
use crate::diag::Diagnostic;
use crate::engine::command::{Command, Form, Numbers};
use crate::engine::expr::Expr;
use crate::limits::MAX_DISPLAYS;

/// A value that is shown.
#[derive(Debug, Clone)]
pub(super) struct Shown {
    /// Its number.
    pub number: u64,
    /// What.
    pub expr: Expr,
    /// How.
    form: Option<Form>,
    /// A slot of it held nothing when the program was loaded anew: it is meant by its number.
    pub by_number: bool,
}

impl Shown {
    /// How it was asked for.
    fn text(&self) -> String {
        let letter = |f| Form::LETTERS.iter().find(|l| l.1 == f).map(|l| format!("/{} ", l.0));
        format!("{}{}", self.form.and_then(letter).unwrap_or_default(), self.expr)
    }
}

/// A value that is shown at every stop, for those who list them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Display {
    /// Its number.
    pub number: u64,
    /// The command that asks for one like it.
    pub command: Command,
    /// The value here, or why there is none.
    pub value: String,
}

impl Session {
    /// The values that are shown, in the order in which they were asked for.
    pub fn displays(&self) -> Vec<Display> {
        let one = |d: &Shown| Display {
            number: d.number,
            command: Command::Display { expr: Some(d.expr.clone()), form: d.form },
            value: self.display_line(d),
        };
        self.displays.iter().map(one).collect()
    }

    /// The values here, a line each; what has none says why.
    pub fn display_lines(&self) -> Vec<String> {
        self.displays.iter().map(|d| self.display_line(d)).collect()
    }

    fn display_line(&self, d: &Shown) -> String {
        let value = match eval(self, &self.machine, &d.expr) {
            Ok(v) => printed(v, d.form),
            Err(e) => format!("?? ({})", e.into_diagnostic().message),
        };
        format!("{}: {} = {value}", d.number, d.expr)
    }

    pub(super) fn display(
        &mut self,
        expr: Option<&Expr>,
        form: Option<Form>,
    ) -> Result<Outcome, Diagnostic> {
        let Some(expr) = expr else {
            return Ok(match self.displays.as_slice() {
                [] => Outcome::list(self.info_display()),
                _ => Outcome::list(self.display_lines()),
            });
        };
        if self.displays.len() >= MAX_DISPLAYS {
            let text = format!("{MAX_DISPLAYS} values are shown already");
            return Err(Diagnostic::new("S003", text).help("`undisplay N` takes one away"));
        }
        match eval(self, &self.machine, expr) {
            Err(e @ (EvalError::Name(..) | EvalError::Depth)) => return Err(e.into_diagnostic()),
            Ok(_) | Err(EvalError::DivideByZero(_) | EvalError::Unknown(_)) => {}
        }
        let new = Shown { number: self.next_display, expr: expr.clone(), form, by_number: false };
        self.next_display += 1;
        let line = self.display_line(&new);
        self.displays.push(new);
        Ok(Outcome::say(line))
    }

    pub(super) fn undisplay(&mut self, numbers: &Numbers) -> Result<Outcome, Diagnostic> {
        let meant = |number: u64, range: &(u64, u64)| (range.0..=range.1).contains(&number);
        for range in numbers {
            if !self.displays.iter().any(|d| meant(d.number, range)) {
                let (first, last) = *range;
                let name =
                    if first == last { format!("{first}") } else { format!("{first}-{last}") };
                let d = Diagnostic::new("S005", format!("no display has the number `{name}`"));
                return Err(d.help("`info display` lists them"));
            }
        }
        let all = numbers.is_empty();
        self.displays.retain(|d| !(all || numbers.iter().any(|r| meant(d.number, r))));
        Ok(Outcome::say(match self.displays.len() {
            0 => "no values are shown any more".to_owned(),
            1 => "1 value is left".to_owned(),
            n => format!("{n} values are left"),
        }))
    }

    pub(super) fn info_display(&self) -> Vec<String> {
        if self.displays.is_empty() {
            return vec!["no values are shown at stops".to_owned()];
        }
        self.displays.iter().map(|d| format!("{}: {}", d.number, d.text())).collect()
    }
}
