//! `assert`: an expression that must not be 0, and where it is, which part of it is to blame
//! (`docs/commands.md`, "Scripts").

use super::{Outcome, Session};
use crate::diag::Diagnostic;
use crate::engine::expr::{BinOp, Expr, UnOp};

/// Parts of an expression that are told.
const MOST_PARTS: usize = 8;

impl Session {
    pub(super) fn assert(&self, expr: &Expr, text: Option<&str>) -> Result<Outcome, Diagnostic> {
        if self.value(expr)? != 0 {
            return Ok(Outcome::default());
        }
        let text = text.map(|t| format!(": {t}")).unwrap_or_default();
        let message = format!("{expr} is 0 at event {}{text}", self.machine.n);
        let mut parts = Vec::new();
        self.blame(expr, &mut parts);
        let more = parts.len().saturating_sub(MOST_PARTS);
        parts.truncate(MOST_PARTS);
        if more > 0 {
            parts.push(format!("and {more} more parts"));
        }
        let d = Diagnostic::new("S007", message);
        Err(if parts.is_empty() { d } else { d.help(parts.join("\n")) })
    }

    /// Says of an expression that is 0 which parts make it so: of `&&` each side that is 0, of
    /// `||` both, of anything else the values on its two sides.
    fn blame(&self, expr: &Expr, out: &mut Vec<String>) {
        match expr {
            Expr::Binary(BinOp::LogAnd, a, b) => {
                for side in [a, b] {
                    if self.value(side) == Ok(0) {
                        self.blame_part(side, out);
                    }
                }
            }
            Expr::Binary(BinOp::LogOr, a, b) => {
                self.blame_part(a, out);
                self.blame_part(b, out);
            }
            Expr::Binary(_, a, b) => out.extend(self.sides(a, b)),
            Expr::Unary(UnOp::Not, e) => {
                out.extend(self.value(e).ok().map(|v| format!("{e} is {}", number(v))));
            }
            _ => {}
        }
    }

    /// A side of `&&` or `||`: what is in it where it joins others, else itself and its values.
    fn blame_part(&self, part: &Expr, out: &mut Vec<String>) {
        if matches!(part, Expr::Binary(BinOp::LogAnd | BinOp::LogOr, ..)) {
            return self.blame(part, out);
        }
        let mut values = Vec::new();
        self.blame(part, &mut values);
        let values = values.pop().map(|v| format!(": {v}")).unwrap_or_default();
        out.push(format!("{part} is 0{values}"));
    }

    /// The values on the two sides of an operator.
    fn sides(&self, a: &Expr, b: &Expr) -> Option<String> {
        let (a, b) = (self.value(a).ok()?, self.value(b).ok()?);
        Some(format!("left {}, right {}", number(a), number(b)))
    }
}

fn number(v: u64) -> String {
    format!("{v} ({v:#x})")
}
