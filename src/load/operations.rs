//! `list` where there is no module: the operations of the host script around the one in progress
//! (`docs/commands.md`).

use super::disasm;
use crate::diag::Diagnostic;
use crate::engine::session::Session;

/// Operations shown before and after the one that is meant.
const AROUND: usize = 5;

/// The operations around one, counted from 1; around the one in progress or next where none is
/// named.
///
/// # Errors
/// S003 for an operation that the script does not have.
pub fn list(session: &Session, wanted: Option<u64>) -> Result<Vec<String>, Diagnostic> {
    let p = session.program();
    let count = p.script.len();
    let here = session.machine().host.op(p);
    let at = match wanted {
        Some(n) if n == 0 || n > count as u64 => {
            let text = format!("the host script has operations 1 to {count}");
            return Err(Diagnostic::new("S003", text));
        }
        Some(n) => n as usize - 1,
        None => here.unwrap_or(count.saturating_sub(1)),
    };
    let from = at.saturating_sub(AROUND);
    let to = at.saturating_add(AROUND + 1).min(count);
    let line = |(k, text): (usize, String)| {
        let mark = if here == Some(k) { "=>" } else { "  " };
        format!("{:>6} {mark} {text}", k + 1)
    };
    let mut out: Vec<String> = (from..).zip(disasm::operations(p, from..to)).map(line).collect();
    if wanted.is_none() && here.is_none() {
        out.push("the host script is at its end".to_owned());
    }
    Ok(out)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::engine::command::{Command, Goto};
    use crate::load::asm::assemble;
    use std::sync::Arc;

    #[test]
    fn the_operation_in_progress_is_marked_among_its_neighbours() {
        let text = include_str!("../../sample-programs/three-queues.dma");
        let program = assemble(text).unwrap().program;
        let last = program.script.len();
        let mut s = Session::new(Arc::new(program));
        let marked = |s: &Session| {
            let lines = list(s, None).unwrap();
            lines.iter().find(|l| l.contains("=>")).cloned().unwrap_or_default()
        };
        assert!(marked(&s).starts_with("     1 => init e"), "{}", marked(&s));
        s.execute(&Command::Doorbell { queue: None, back: false }).unwrap();
        assert!(marked(&s).contains("=> copy"), "{}", marked(&s));
        s.execute(&Command::Goto(Goto::Mark("end".into()))).unwrap();
        let lines = list(&s, None).unwrap();
        assert_eq!(lines.last().unwrap(), "the host script is at its end");
        assert!(list(&s, Some(1)).unwrap()[0].starts_with("     1    init e"));
        assert_eq!(list(&s, Some(last as u64 + 1)).unwrap_err().code, "S003");
        assert_eq!(list(&s, Some(0)).unwrap_err().code, "S003");
    }
}
