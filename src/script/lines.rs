//! The lines of scripts in the order in which they are run. What is kept of each is where it
//! stands: its text is read again when its turn comes, so that a script of ten million commands
//! takes little more than its own bytes.

use super::runner::{Line, read_again};
use crate::engine::command::{Command, Order};
use std::sync::Arc;

/// A script, or what one sources.
#[derive(Debug, Clone)]
pub(super) struct Text {
    pub name: Arc<str>,
    pub text: Arc<str>,
    /// Its commands.
    pub spots: Arc<[Spot]>,
}

/// Where a command stands; those of stops reach to their `end`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spot {
    /// Bytes of the text before it.
    pub start: u32,
    /// Its own.
    pub bytes: u32,
    /// Line number, from 1.
    pub number: u32,
}

impl Text {
    /// The command at a spot, read again.
    pub fn line(&self, spot: Spot) -> Option<Line> {
        let from = spot.start as usize;
        let text = self.text.get(from..from + spot.bytes as usize)?;
        read_again(&self.name, spot.number.into(), text)
    }
}

/// Commands in a row.
#[derive(Debug, Clone)]
enum Piece {
    /// Of a text, those from the first up to, not including, the second.
    Of(u32, u32, u32),
    /// One of a text that stands for `order calm`: what it replays follows.
    Calm(u32, u32),
    /// One that no text holds.
    Own(Box<Line>),
}

/// Lines to run, in order.
#[derive(Debug, Clone, Default)]
pub struct Lines {
    pub(super) texts: Vec<Text>,
    pieces: Vec<Piece>,
    len: usize,
}

impl From<Line> for Lines {
    fn from(line: Line) -> Lines {
        let mut lines = Lines::default();
        lines.push(line);
        lines
    }
}

impl Lines {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends a line that no text holds.
    pub fn push(&mut self, line: Line) {
        self.pieces.push(Piece::Own(Box::new(line)));
        self.len += 1;
    }

    /// Appends the command of a spot of a text.
    pub(super) fn push_spot(&mut self, text: u32, spot: u32, calm: bool) {
        self.len += 1;
        match self.pieces.last_mut() {
            _ if calm => self.pieces.push(Piece::Calm(text, spot)),
            Some(Piece::Of(last, _, to)) if *last == text && *to == spot => *to += 1,
            _ => self.pieces.push(Piece::Of(text, spot, spot + 1)),
        }
    }

    /// Appends other lines.
    pub fn extend(&mut self, other: Lines) {
        let by = self.texts.len() as u32;
        self.texts.extend(other.texts);
        self.len += other.len;
        self.pieces.extend(other.pieces.into_iter().map(|p| match p {
            Piece::Of(text, from, to) => Piece::Of(text + by, from, to),
            Piece::Calm(text, spot) => Piece::Calm(text + by, spot),
            Piece::Own(line) => Piece::Own(line),
        }));
    }

    fn at(&self, text: u32, spot: u32) -> Option<Line> {
        let text = self.texts.get(text as usize)?;
        text.line(*text.spots.get(spot as usize)?)
    }

    /// Each of them, read as it is asked for.
    pub fn iter(&self) -> impl Iterator<Item = Line> + '_ {
        self.pieces.iter().flat_map(move |piece| {
            let (range, text, calm, own) = match piece {
                Piece::Of(text, from, to) => (*from..*to, *text, false, None),
                Piece::Calm(text, spot) => (*spot..*spot + 1, *text, true, None),
                Piece::Own(line) => (0..0, 0, false, Some((**line).clone())),
            };
            let read = range.filter_map(move |spot| {
                let line = self.at(text, spot)?;
                let calm = calm.then_some(Command::Order(Order::Calm));
                Some(Line { command: calm.unwrap_or_else(|| line.command.clone()), ..line })
            });
            own.into_iter().chain(read)
        })
    }
}

impl<'a> IntoIterator for &'a Lines {
    type Item = Line;
    type IntoIter = Box<dyn Iterator<Item = Line> + 'a>;

    fn into_iter(self) -> Self::IntoIter {
        Box::new(self.iter())
    }
}
