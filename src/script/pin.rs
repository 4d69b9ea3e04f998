//! Where in its line the word stands that a session's answer is about. The parser knows columns,
//! the session names; both tell of wrong words at the word (`docs/commands.md`, "Lines").

use super::lex::is_name;
use crate::diag::Diagnostic;

/// An answer of a session placed at the word of the line that it names in backquotes; as it is
/// where it is placed already, or names none of the line.
#[must_use]
pub fn pinned(mut d: Diagnostic, line: &str) -> Diagnostic {
    if d.place.column.is_none()
        && let Some((column, width)) = word_in(&d, line)
    {
        (d.place.column, d.place.width) = (Some(column), Some(width));
    }
    d
}

/// Column, from 1, and width of the first word that an answer names and the line has.
pub(super) fn word_in(d: &Diagnostic, line: &str) -> Option<(u64, u64)> {
    let named = d.message.split('`').skip(1).step_by(2);
    let at = named.filter(|w| !w.is_empty()).find_map(|w| Some((find(line, w)?, w)));
    let (at, word) = at?;
    let before = line.get(..at)?;
    // What makes a name an instruction's belongs to it.
    let percent = u64::from(before.ends_with('%'));
    let column = before.chars().count() as u64 + 1 - percent;
    Some((column, word.chars().count() as u64 + percent))
}

/// Where a word stands as a whole.
fn find(line: &str, word: &str) -> Option<usize> {
    let inner = |c: Option<char>| c.is_some_and(is_name);
    line.match_indices(word).map(|(at, _)| at).find(|&at| {
        let (before, after) = (line.get(..at), line.get(at + word.len()..));
        let cuts = |edge: Option<char>, next: Option<char>| !(inner(edge) && inner(next));
        cuts(before.and_then(|b| b.chars().next_back()), word.chars().next())
            && cuts(word.chars().next_back(), after.and_then(|a| a.chars().next()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_points_at_the_word_that_it_names() {
        let d = |text: &str| Diagnostic::new("S005", text);
        let at = |text, line| {
            let p = pinned(d(text), line).place;
            p.column.zip(p.width)
        };
        assert_eq!(at("no block is named `dma`", "break dma_1 if dma"), Some((16, 3)));
        assert_eq!(at("no queue `q7`", "ä break q7.tx[0]"), Some((9, 2)));
        assert_eq!(at("no variable `$n`", "until $no == $n"), Some((14, 2)));
        assert_eq!(at("no instruction is named `I-3`", "break %I-3 once"), Some((7, 4)));
        assert_eq!(at("nothing named", "break x"), None);
    }
}
