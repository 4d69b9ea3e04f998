//! Searching in a text that lies over the screen: what is typed narrows it to the lines that have
//! all of its words (`docs/screen.md`, "Texts over the screen").

use super::model::{Model, Popup};
use tui_input::Input;

/// What is searched for in the text over the screen.
#[derive(Debug, Clone, Default)]
pub struct Sieve {
    /// What is typed.
    pub input: Input,
    /// Keys go to it.
    pub typing: bool,
}

impl Sieve {
    /// Whether it leaves anything out.
    pub fn narrows(&self) -> bool {
        !self.input.value().trim().is_empty()
    }

    /// Whether it is seen: something is typed, or about to be.
    pub fn is_open(&self) -> bool {
        self.typing || self.narrows()
    }

    /// Whether a text has every word of what is typed, in any order; small letters stand for
    /// capitals too, a capital only for itself.
    pub fn keeps(&self, text: &str) -> bool {
        let low = text.to_lowercase();
        self.input.value().split_whitespace().all(|word| {
            let exact = word.chars().any(char::is_uppercase);
            if exact { text.contains(word) } else { low.contains(word) }
        })
    }
}

/// Which text lies over the screen: a search in it ends with it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Over(std::mem::Discriminant<Popup>, String);

impl Model {
    /// Which text lies over the screen, if one does.
    pub(super) fn over(&self) -> Option<Over> {
        let (popup, _) = self.popup.as_ref()?;
        Some(Over(std::mem::discriminant(popup), self.answers.clone()))
    }

    /// Ends a search whose text is gone.
    pub(super) fn settle_sieve(&mut self, before: Option<Over>) {
        if self.popup.is_none() || before != self.over() {
            self.sieve = Sieve::default();
        }
    }

    /// Begins to search in the text over the screen, or goes on with it.
    pub(super) fn open_sieve(&mut self) {
        if let Some((popup, _)) = &self.popup {
            self.sieve.typing = !matches!(popup, Popup::Jumps(_));
        }
    }

    /// Ends the search and shows all again; false where there is none.
    pub(super) fn drop_sieve(&mut self) -> bool {
        let open = self.sieve.is_open();
        self.sieve = Sieve::default();
        open
    }

    /// Something else is searched for: the text begins with the first line that has it.
    pub(super) fn sieved(&mut self) {
        if let Some((_, scroll)) = &mut self.popup {
            *scroll = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_must_be_there_in_any_order() {
        let keeps = |typed: &str, text| {
            Sieve { input: Input::new(typed.to_owned()), typing: true }.keeps(text)
        };
        assert!(keeps("", "anything"));
        assert!(keeps("door NEXT", "to the NEXT doorbell"));
        assert!(!keeps("door event", "to the next doorbell"));
        assert!(keeps("ctrl-p", "Ctrl-p") && !keeps("Ctrl-P", "Ctrl-p"));
        assert!(keeps("é", "É"));
    }
}
