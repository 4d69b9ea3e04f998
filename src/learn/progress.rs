//! How far a learner has come, as text: a line per lesson, its name and the numbers of the
//! tasks that are solved. Lines that say something else stay as they are.

use std::fmt::Write as _;

/// The progress of all lessons.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    lines: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Entry {
    /// A lesson and its solved tasks, from 1.
    Lesson(String, Vec<u64>),
    /// What this build does not know.
    Other(String),
}

/// What every line of a lesson begins with.
const WORD: &str = "lesson";

impl Progress {
    /// Reads a text; nothing in it is an error.
    pub fn from_text(text: &str) -> Progress {
        // Any number of carriage returns at an end is no part of a line.
        let lines = text.lines().map(|l| l.trim_end_matches('\r'));
        let lines = lines.filter(|l| !l.trim().is_empty());
        Progress { lines: lines.map(|l| entry(l).unwrap_or(Entry::Other(l.to_owned()))).collect() }
    }

    /// As text, from which [`Progress::from_text`] reads it back.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        for line in &self.lines {
            match line {
                Entry::Lesson(name, solved) => {
                    let _ = write!(out, "{WORD} {name}");
                    for n in solved {
                        let _ = write!(out, " {n}");
                    }
                    out.push('\n');
                }
                Entry::Other(text) => {
                    let _ = writeln!(out, "{text}");
                }
            }
        }
        out
    }

    /// Which tasks of a lesson are solved, of as many as it has.
    pub fn solved(&self, lesson: &str, tasks: usize) -> Vec<bool> {
        let known = self.lines.iter().filter_map(|l| match l {
            Entry::Lesson(name, solved) if name == lesson => Some(solved),
            _ => None,
        });
        let numbers: Vec<u64> = known.flatten().copied().collect();
        (1..=tasks as u64).map(|n| numbers.contains(&n)).collect()
    }

    /// Adds solved tasks; what was solved before stays so.
    pub fn add(&mut self, lesson: &str, solved: &[bool]) {
        let new = (1..).zip(solved).filter(|(_, s)| **s).map(|(n, _)| n);
        let known = self.lines.iter_mut().find_map(|l| match l {
            Entry::Lesson(name, solved) if name == lesson => Some(solved),
            _ => None,
        });
        match known {
            Some(numbers) => {
                numbers.extend(new);
                numbers.sort_unstable();
                numbers.dedup();
            }
            None => {
                let numbers: Vec<u64> = new.collect();
                if !numbers.is_empty() {
                    self.lines.push(Entry::Lesson(lesson.to_owned(), numbers));
                }
            }
        }
    }
}

/// A line about a lesson. A name has no blanks.
fn entry(line: &str) -> Option<Entry> {
    let mut words = line.split_ascii_whitespace();
    let name = words.next().filter(|w| *w == WORD).and_then(|_| words.next())?;
    let numbers: Option<Vec<u64>> = words.map(|w| w.parse().ok().filter(|n| *n > 0)).collect();
    Some(Entry::Lesson(name.to_owned(), numbers?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_kept_and_what_is_not_known_survives() {
        let text = "lesson words 1 3\n# mine\nlesson other x\nlater 4\n";
        let mut p = Progress::from_text(text);
        assert_eq!(p.to_text(), text);
        assert_eq!(p.solved("words", 3), [true, false, true]);
        assert_eq!(p.solved("nothing", 2), [false, false]);
        p.add("words", &[true, true, false]);
        p.add("new", &[false, true]);
        p.add("none", &[false]);
        assert_eq!(
            p.to_text(),
            "lesson words 1 2 3\n# mine\nlesson other x\nlater 4\nlesson new 2\n"
        );
        assert_eq!(Progress::from_text(&p.to_text()), p);
    }
}
