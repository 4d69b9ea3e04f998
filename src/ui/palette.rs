//! The palette: every command and every key in one list that is searched as the user types
//! (`docs/screen.md`, "Palette"). What is listed are the rows of the command table and of the
//! keymap, so that nothing can be missing from it.

use super::keymap::{Action, Binding, Does, KEYMAP, When};
use crate::engine::command::COMMANDS;
use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use tui_input::Input;

/// What an entry does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chosen {
    /// Execute this command.
    Run(&'static str),
    /// Open the command line with this command's name, since it wants arguments.
    Write(&'static str),
    /// Do what a key does.
    Act(Action),
}

/// A line of the palette.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What is matched first: a command with its arguments, or what a key does.
    pub name: String,
    /// A line about it.
    pub about: &'static str,
    /// The keys that do it.
    pub keys: String,
    /// What it does.
    pub chosen: Chosen,
}

/// The palette while it is open.
#[derive(Debug, Clone, Default)]
pub struct Palette {
    /// What is typed.
    pub input: Input,
    /// Everything that there is, in the order of the tables.
    pub entries: Vec<Entry>,
    /// Those that match, the best first, by their place in `entries`.
    pub found: Vec<usize>,
    /// The selected one, by its place in `found`.
    pub cursor: usize,
}

impl Palette {
    /// With everything in it; of a module and in a lesson also what only they have.
    pub fn new(module: bool, lesson: bool) -> Palette {
        let holds = |b: &&Binding| match b.when {
            When::Panes | When::Ring | When::In(_) => true,
            When::Module => module,
            When::Lesson => lesson,
            When::Popup | When::Help | When::Sieve => false,
            When::Grid | When::Line | When::Palette => false,
        };
        let bindings: Vec<&Binding> = KEYMAP.iter().filter(holds).collect();
        let keys = |b: &Binding| b.keys.iter().map(|k| k.name()).collect::<Vec<_>>().join(" ");
        let mut entries = Vec::new();
        for c in COMMANDS {
            // A command that wants nothing more is executed at once.
            let complete = c.usage.is_empty() || c.usage.starts_with('[');
            let key = bindings.iter().find(|b| b.does == Does::Command(c.name));
            entries.push(Entry {
                name: format!("{} {}", c.name, c.usage).trim_end().to_owned(),
                about: c.summary,
                keys: key.map(|b| keys(b)).unwrap_or_default(),
                chosen: if complete { Chosen::Run(c.name) } else { Chosen::Write(c.name) },
            });
        }
        for b in bindings {
            let (name, chosen) = match b.does {
                // Those with arguments are commands of their own here.
                Does::Command(c) if c.contains(' ') => (c.to_owned(), Chosen::Run(c)),
                Does::Command(_) => continue,
                Does::Act(Action::OpenPalette) => continue,
                Does::Act(a) => (place(b), Chosen::Act(a)),
            };
            entries.push(Entry { name, about: b.help, keys: keys(b), chosen });
        }
        let found = (0..entries.len()).collect();
        Palette { input: Input::default(), entries, found, cursor: 0 }
    }

    /// Finds anew what matches. Words may come in any order; each must match.
    pub fn search(&mut self) {
        let text = self.input.value().trim();
        self.cursor = 0;
        if text.is_empty() {
            self.found = (0..self.entries.len()).collect();
            return;
        }
        let pattern = Pattern::parse(text, CaseMatching::Smart, Normalization::Smart);
        let mut matcher = Matcher::new(Config::DEFAULT);
        let mut chars = Vec::new();
        let mut scored: Vec<(u32, usize)> = Vec::new();
        for (i, e) in self.entries.iter().enumerate() {
            let mut score = |t: &str| pattern.score(Utf32Str::new(t, &mut chars), &mut matcher);
            // A match in the name counts twice.
            let name = score(&e.name).map(|n| n * 2);
            let both = score(&format!("{} {} {}", e.name, e.about, e.keys));
            if let Some(best) = name.max(both) {
                scored.push((best, i));
            }
        }
        scored.sort_by_key(|(score, i)| (std::cmp::Reverse(*score), *i));
        self.found = scored.into_iter().map(|s| s.1).collect();
    }

    /// The selected entry.
    pub fn selected(&self) -> Option<&Entry> {
        self.entries.get(*self.found.get(self.cursor)?)
    }
}

/// Where a key that only looks holds, as the name of its entry.
fn place(b: &Binding) -> String {
    match b.when {
        When::Panes => "screen".to_owned(),
        other => other.name().to_owned(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn first(text: &str) -> String {
        let mut p = Palette::new(true, true);
        p.input = Input::new(text.to_owned());
        p.search();
        p.selected().map(|e| e.name.clone()).unwrap_or_default()
    }

    #[test]
    fn everything_of_the_tables_is_in_it() {
        let p = Palette::new(true, true);
        for c in COMMANDS {
            assert!(
                p.entries.iter().any(|e| e.name.split(' ').next() == Some(c.name)),
                "{}",
                c.name
            );
        }
        let names = |m| Palette::new(m, false).entries.iter().any(|e| e.name == "pass next");
        assert!(names(true) && !names(false));
    }

    #[test]
    fn the_best_match_is_first() {
        assert_eq!(first("finish"), "finish");
        assert!(first("rvcont").starts_with("reverse-continue"));
        assert!(first("colours").contains("screen"));
        assert_eq!(first("zzzqqq"), "");
    }

    #[test]
    fn what_wants_arguments_is_written_first() {
        let p = Palette::new(false, false);
        let of = |name: &str| p.entries.iter().find(|e| e.name.starts_with(name)).map(|e| e.chosen);
        assert_eq!(of("until "), Some(Chosen::Write("until")));
        assert_eq!(of("continue"), Some(Chosen::Run("continue")));
        assert_eq!(of("step "), Some(Chosen::Run("step")));
    }
}
