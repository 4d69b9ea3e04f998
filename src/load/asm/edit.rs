//! The statement `edit`: a change of the run (`docs/assembly.md`, "Edits").

use super::lex::{Statement, Token};
use super::value::{self, Operands, Symbols, shown, uint, unknown};
use super::{Many, NO_BLOCK, finish, one};
use crate::diag::Diagnostic;
use crate::engine::edit::{Change, Cursor, Edit};
use crate::engine::program::Blob;
use crate::udma::Dir;
use crate::udma::cause::{self, CAUSES};

/// Kinds of edit.
const KINDS: [&str; 4] = ["store", "reg_write", "cursor", "inject"];

/// The edit of a statement; `block` is that of its bytes.
pub(super) fn edit(s: &Statement<'_>, symbols: &Symbols, block: Option<Blob>) -> Many<Edit> {
    let mut o = Operands::new(&s.head, &s.args);
    let kind = o.bare("the kind of edit").map_err(one)?;
    let at = o.need("at").and_then(|t| uint(t, u64::MAX)).map_err(one)?;
    let word = kind.word().unwrap_or_default();
    if block.is_some() && word != "store" {
        return Err(one(s.head.error("D050", format!("`edit {word}` takes no block"))));
    }
    let (change, known): (Change, &[&str]) = match word {
        "store" => {
            let addr = o.need("addr").and_then(|t| symbols.address(t)).map_err(one)?;
            let Some(bytes) = block else { return Err(one(s.head.error("D050", NO_BLOCK))) };
            (Change::Store { addr, bytes }, &["at", "addr"])
        }
        "reg_write" => {
            let mut get =
                |name| o.need(name).and_then(|t| uint(t, u64::from(u32::MAX))).map(|v| v as u32);
            let (engine, offset) = (get("engine").map_err(one)?, get("offset").map_err(one)?);
            let value = get("value").map_err(one)?;
            (Change::Register { engine, offset, value }, &["at", "engine", "offset", "value"])
        }
        "cursor" => {
            let queue = o.bare("the queue").and_then(value::queue_id).map_err(one)?;
            let dir = o.need("ring").and_then(ring).map_err(one)?;
            let cursor = o.need("name").and_then(cursor).map_err(one)?;
            let value = o.need("value").and_then(|t| uint(t, u64::MAX)).map_err(one)?;
            (Change::Cursor { queue, dir, cursor, value }, &["at", "ring", "name", "value"])
        }
        "inject" => {
            let queue = o.bare("the queue").and_then(value::queue_id).map_err(one)?;
            let dir = o.need("ring").and_then(ring).map_err(one)?;
            let bit = o.need("fault").and_then(|t| fault(t, dir)).map_err(one)?;
            let slot = o.named("slot").map(|t| uint(t, u64::MAX)).transpose().map_err(one)?;
            (Change::Inject { queue, dir, bit, slot }, &["at", "ring", "fault", "slot"])
        }
        _ => return Err(one(unknown(kind, "D050", "kind of edit", KINDS.into_iter()))),
    };
    finish(o, known)?;
    Ok(Edit { at, change })
}

fn ring(t: &Token<'_>) -> Result<Dir, Diagnostic> {
    let found = Dir::BOTH.into_iter().find(|d| t.word() == Some(d.name()));
    found.ok_or_else(|| unknown(t, "D051", "ring", Dir::BOTH.iter().map(|d| d.name())))
}

fn cursor(t: &Token<'_>) -> Result<Cursor, Diagnostic> {
    let found = t.word().and_then(Cursor::by_name);
    found.ok_or_else(|| unknown(t, "D051", "cursor", Cursor::ALL.iter().map(|c| c.name())))
}

/// The bit of a cause by its name.
fn fault(t: &Token<'_>, dir: Dir) -> Result<u8, Diagnostic> {
    let word = t.word().unwrap_or_default();
    if let Some(c) = cause::by_name(dir, word) {
        return Ok(c.bit);
    }
    if CAUSES.iter().any(|c| c.name == word) {
        return Err(t.error("D051", format!("{} is no cause of {dir}", shown(t))));
    }
    Err(unknown(t, "D051", "fault", CAUSES.iter().filter(move |c| c.dir == dir).map(|c| c.name)))
}
