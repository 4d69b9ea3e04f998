//! Names of a module among the words of the command language: which can stand as they are, and
//! how the others are put in quotes (`docs/commands.md`, "Places").

use super::distance;
use crate::engine::expr::{PROPERTIES, QUEUE_PROPERTIES, RING_PROPERTIES};

/// Words that places begin with, and those that memory is read by.
const WORDS: [&str; 14] = [
    "tx",
    "rx",
    "marker",
    "doorbell",
    "fault",
    "batch",
    "event",
    "line",
    "pass",
    "semaphore",
    "mem8",
    "mem16",
    "mem32",
    "mem64",
];

/// Whether a text is one word of a line.
pub fn is_word(text: &str) -> bool {
    let special =
        |c: char| c.is_whitespace() || c.is_control() || matches!(c, '"' | '#' | ';' | ',');
    !text.is_empty() && !text.contains(special)
}

/// Whether a name of a module stands for itself where a place or an expression may stand. A
/// word of letters that is nearly a word of the language is taken for a misspelling of it.
pub fn is_plain_name(name: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let inner = |c: char| letter(c) || matches!(c, '-' | '.' | '/' | '@' | ':');
    let begins = name.starts_with(|c: char| letter(c) && !c.is_ascii_digit());
    if !begins || !name.chars().all(inner) {
        return false;
    }
    let head = name.split(|c| !letter(c)).next().unwrap_or_default();
    let numbered = |c: char| {
        head.strip_prefix(c).is_some_and(|n| !n.is_empty() && n.chars().all(|c| c.is_ascii_digit()))
    };
    let known = |w: &str| words().any(|k| k == w);
    !(known(head) || numbered('q') || numbered('e') || misspelt(name).is_some())
}

/// The word of the language that a word of letters is probably a misspelling of.
pub fn misspelt(word: &str) -> Option<&'static str> {
    const LONG: usize = 6;
    if word.len() > 16 || word.len() < 2 || !word.chars().all(|c| c.is_ascii_lowercase()) {
        return None;
    }
    let most = if word.len() < LONG { 1 } else { 2 };
    let near = words().map(|k| (distance(word, k), k)).min()?;
    (1..=most).contains(&near.0).then_some(near.1)
}

/// Every word that is taken.
fn words() -> impl Iterator<Item = &'static str> {
    let tables = [PROPERTIES, RING_PROPERTIES, QUEUE_PROPERTIES];
    WORDS.into_iter().chain(tables.into_iter().flatten().map(|p| p.0))
}

/// A text in double quotes, as the command language reads it back.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A name as it is where that stands for itself, else in quotes.
pub fn name_text(name: &str) -> String {
    if is_plain_name(name) { name.to_owned() } else { quote(name) }
}

/// The name of an instruction, with its `%`.
pub fn inst_text(name: &str) -> String {
    if is_word(name) { format!("%{name}") } else { format!("%{}", quote(name)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_for_itself_unless_it_reads_as_something_else() {
        for name in ["dma_block_2", "I-34", "x", "idx", "qSyncData0", "a.b/c"] {
            assert!(is_plain_name(name), "{name}");
        }
        for name in ["tx", "q0", "e5.q0", "markr", "doorbel", "free", "3x", "a b", "", "event-1"] {
            assert!(!is_plain_name(name), "{name}");
        }
        assert_eq!(misspelt("markr"), Some("marker"));
    }
}
