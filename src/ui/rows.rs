//! Rows of styled pieces, some of which stand for a thing that can be selected.
//!
//! A pane is a list of rows. Drawing prints them; a click looks up the piece under it. So what
//! is shown and what can be clicked are the same list.

use super::layout::Pane;
use crate::udma::{Dir, Word};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

/// What a click selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hit {
    /// A slot of a ring.
    Slot(Dir, u64),
    /// A bit of a word of the selected descriptor.
    Bit(Word, u8),
    /// An event.
    Event(u64),
    /// A byte of memory, counted from the first that the selected descriptor names.
    Byte(i64),
    /// A finding, by its index.
    Finding(usize),
    /// A line of a module's text, from 0.
    Line(usize),
    /// A pane that shares its place with others.
    Tab(Pane),
    /// A line of the stops, from 0.
    Stop(usize),
    /// The sign in a line of the stops that says whether it is enabled.
    Switch(usize),
    /// A line of the budget, from 0.
    Budget(usize),
    /// A row of the passes, by its number among those shown.
    Pass(usize),
    /// A stage of the lowering, by its place.
    Stage(usize),
}

/// A piece of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Its text, without control characters.
    pub text: String,
    /// How it looks.
    pub style: Style,
    /// What a click on it selects.
    pub hit: Option<Hit>,
}

/// A row of a pane.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row(pub Vec<Piece>);

/// Columns of the terminal that a text takes.
pub fn width(text: &str) -> usize {
    Span::raw(text).width()
}

impl Row {
    /// An empty row.
    pub fn new() -> Row {
        Row::default()
    }

    /// A row of one text.
    pub fn text(text: impl Into<String>, style: Style) -> Row {
        Row::new().with(text, style)
    }

    /// Adds a piece.
    pub fn push(&mut self, text: impl Into<String>, style: Style) {
        self.push_hit(text, style, None);
    }

    /// Adds a piece that can be selected.
    pub fn push_hit(&mut self, text: impl Into<String>, style: Style, hit: Option<Hit>) {
        let text = text.into();
        if !text.is_empty() {
            self.0.push(Piece { text, style, hit });
        }
    }

    /// The row with one more piece.
    #[must_use]
    pub fn with(mut self, text: impl Into<String>, style: Style) -> Row {
        self.push(text, style);
        self
    }

    /// The row with the pieces of another behind it.
    #[must_use]
    pub fn joined(mut self, other: Row) -> Row {
        self.0.extend(other.0);
        self
    }

    /// Columns that it takes.
    pub fn width(&self) -> usize {
        self.0.iter().map(|p| width(&p.text)).sum()
    }

    /// Pads with blanks up to a column.
    pub fn pad_to(&mut self, column: usize) {
        let have = self.width();
        if have < column {
            self.push(" ".repeat(column - have), Style::new());
        }
    }

    /// Makes every piece select the same thing, where it does not select another already.
    #[must_use]
    pub fn hits(mut self, hit: Hit) -> Row {
        for p in &mut self.0 {
            p.hit.get_or_insert(hit);
        }
        self
    }

    /// Changes every piece's style.
    #[must_use]
    pub fn restyled(mut self, f: impl Fn(Style) -> Style) -> Row {
        for p in &mut self.0 {
            p.style = f(p.style);
        }
        self
    }

    /// What lies at a column.
    pub fn hit_at(&self, column: usize) -> Option<Hit> {
        let mut at = 0;
        for p in &self.0 {
            at += width(&p.text);
            if column < at {
                return p.hit;
            }
        }
        // Beyond its end a row stands for what all of it stands for.
        let first = self.0.first()?.hit;
        (first.is_some() && self.0.iter().all(|p| p.hit == first)).then_some(first).flatten()
    }

    /// The plain text.
    pub fn to_text(&self) -> String {
        self.0.iter().map(|p| p.text.as_str()).collect()
    }
}

/// Prints rows into an area, clipped on both sides.
pub fn draw(rows: &[Row], area: Rect, buf: &mut Buffer) {
    let area = area.intersection(buf.area);
    for (row, y) in rows.iter().zip(area.top()..area.bottom()) {
        let mut x = area.left();
        for p in &row.0 {
            if x >= area.right() {
                break;
            }
            let room = usize::from(area.right() - x);
            (x, _) = buf.set_stringn(x, y, &p.text, room, p.style);
        }
    }
}

/// Breaks a text into lines of at most `room` columns, at blanks where it can.
pub fn wrap(text: &str, room: usize) -> Vec<String> {
    let room = room.max(1);
    let mut out = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let mut word = word;
        if !line.is_empty() && width(&line) + 1 + width(word) > room {
            out.push(std::mem::take(&mut line));
        }
        // A word longer than a line is cut.
        while width(word) > room {
            let cut = word.char_indices().nth(room).map_or(word.len(), |(i, _)| i);
            out.push(word[..cut].to_owned());
            word = &word[cut..];
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if !line.is_empty() {
        out.push(line);
    }
    out
}

/// Empties an area, so that something can be drawn over what was there.
pub fn clear(area: Rect, buf: &mut Buffer) {
    let area = area.intersection(buf.area);
    for y in area.top()..area.bottom() {
        for x in area.left()..area.right() {
            buf[(x, y)].reset();
        }
    }
}

/// Shortens a text to `room` columns; what is left out shows as two dots.
pub fn clip(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    if room < 4 {
        return text.chars().take(room).collect();
    }
    let mut out: String = text.chars().take(room - 2).collect();
    out.push_str("..");
    out
}

/// Shortens a path to `room` columns at its front: its end tells most.
pub fn clip_front(text: &str, room: usize) -> String {
    let n = text.chars().count();
    if n <= room {
        return text.to_owned();
    }
    let dots = if room < 4 { "" } else { ".." };
    let tail: String = text.chars().skip(n - (room - dots.len())).collect();
    format!("{dots}{tail}")
}

/// Shortens an address or name to `room` columns in its middle: its end tells more.
pub fn clip_middle(text: &str, room: usize) -> String {
    let n = text.chars().count();
    if n <= room {
        return text.to_owned();
    }
    if room < 6 {
        return text.chars().skip(n - room).collect();
    }
    let tail = (room - 2) * 2 / 3;
    let head: String = text.chars().take(room - 2 - tail).collect();
    let end: String = text.chars().skip(n - tail).collect();
    format!("{head}..{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_broken_at_blanks_and_shortened_with_dots() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrap("", 3), [""; 0]);
        assert_eq!(clip("abcdefgh", 5), "abc..");
        assert_eq!(clip_front("samples/copy.dma", 10), "..copy.dma");
        assert_eq!(clip_middle("host_buffer+0x1000", 10), "hos..x1000");
    }

    #[test]
    fn a_click_finds_the_piece_under_it() {
        let mut r = Row::new();
        r.push("ab", Style::new());
        r.push_hit("cd", Style::new(), Some(Hit::Event(3)));
        assert_eq!(r.hit_at(1), None);
        assert_eq!(r.hit_at(3), Some(Hit::Event(3)));
        assert_eq!(r.hit_at(9), None);
        assert_eq!(r.hits(Hit::Event(4)).hit_at(0), Some(Hit::Event(4)));
    }
}
