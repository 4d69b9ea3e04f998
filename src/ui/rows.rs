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

fn char_width(c: char) -> usize {
    width(c.encode_utf8(&mut [0; 4]))
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

    /// The row in `room` columns; what is left out shows as two dots.
    #[must_use]
    pub fn clipped(self, room: usize) -> Row {
        self.cut(room).unwrap_or(self)
    }

    /// The row in `room` columns, with the dots that show it; nothing where it fits, or says
    /// nothing beyond: blanks and lines that are drawn.
    fn cut(&self, room: usize) -> Option<Row> {
        let mut at = 0;
        let chars = || self.0.iter().flat_map(|p| p.text.chars());
        let beyond = |c: char| {
            at += char_width(c);
            at > room && !matches!(c, ' ' | '─' | '-')
        };
        if self.width() <= room || !chars().any(beyond) {
            return None;
        }
        let (dots, mut left) = dots(room);
        let mut out = Row::new();
        let mut style = Style::new();
        for p in &self.0 {
            style = p.style;
            let text: String = fitting(p.text.chars(), left).into_iter().collect();
            let whole = text.len() == p.text.len();
            left = left.saturating_sub(width(&text));
            out.push_hit(text, p.style, p.hit);
            if !whole {
                break;
            }
        }
        out.push(dots, style);
        Some(out)
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

/// Prints rows into an area. One that goes on beyond it ends in two dots there.
pub fn draw(rows: &[Row], area: Rect, buf: &mut Buffer) {
    let area = area.intersection(buf.area);
    for (row, y) in rows.iter().zip(area.top()..area.bottom()) {
        let cut = row.cut(area.width.into());
        let mut x = area.left();
        for p in &cut.as_ref().unwrap_or(row).0 {
            if x >= area.right() {
                break;
            }
            let room = usize::from(area.right() - x);
            (x, _) = buf.set_stringn(x, y, &p.text, room, p.style);
        }
    }
}

/// What stands for that which is left out.
pub const DOTS: &str = "..";

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

/// Where a text is broken so that each line has at most `room` columns: at blanks where it can,
/// which are in none of the lines.
pub fn broken(text: &str, room: usize) -> Vec<std::ops::Range<usize>> {
    let mut out = Vec::new();
    let (mut start, mut used) = (0, 0);
    // The last blank of the line.
    let mut blank = None;
    for (at, c) in text.char_indices() {
        let w = char_width(c);
        if used + w > room && at > start {
            let (end, next) = match blank.take().filter(|_| c != ' ') {
                Some(b) => (b, b + 1),
                None if c == ' ' => (at, at + 1),
                None => (at, at),
            };
            out.push(start..end);
            start = next;
            used = text.get(start..at).map_or(0, width);
            blank = None;
            if next > at {
                continue;
            }
        }
        if c == ' ' && at > start {
            blank = Some(at);
        }
        used += w;
    }
    if start < text.len() || out.is_empty() {
        out.push(start..text.len());
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

/// As many characters as fit into `room` columns.
fn fitting(chars: impl Iterator<Item = char>, room: usize) -> Vec<char> {
    let mut used = 0;
    let fits = |c: &char| {
        used += char_width(*c);
        used <= room
    };
    chars.take_while(fits).collect()
}

/// The last columns of a text.
fn ending(text: &str, room: usize) -> String {
    fitting(text.chars().rev(), room).into_iter().rev().collect()
}

/// As much of the dots as there is room for, and the room that is left.
fn dots(room: usize) -> (&'static str, usize) {
    let n = room.min(DOTS.len());
    (&DOTS[..n], room - n)
}

/// Shortens a text to `room` columns; what is left out shows as two dots.
pub fn clip(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let (dots, left) = dots(room);
    let mut out: String = fitting(text.chars(), left).into_iter().collect();
    out.push_str(dots);
    out
}

/// The first of several wordings that fits; where none does, the last one shortened.
pub fn first_fitting<const N: usize>(all: [String; N], room: usize) -> String {
    let fits = all.iter().find(|text| width(text) <= room).cloned();
    fits.unwrap_or_else(|| clip(all.last().map_or("", String::as_str), room))
}

/// Shortens a path to `room` columns at its front: its end tells most.
pub fn clip_front(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let (dots, left) = dots(room);
    format!("{dots}{}", ending(text, left))
}

/// Shortens an address or name to `room` columns in its middle: its end tells more.
pub fn clip_middle(text: &str, room: usize) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let (dots, left) = dots(room);
    let tail = (left * 2).div_ceil(3);
    let head: String = fitting(text.chars(), left - tail).into_iter().collect();
    format!("{head}{dots}{}", ending(text, tail))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn long_text_is_broken_at_blanks_and_shortened_with_dots() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrap("", 3), [""; 0]);
        assert_eq!(clip("abcdefgh", 5), "abc..");
        assert_eq!(clip_front("samples/copy.dma", 10), "..copy.dma");
        assert_eq!(clip_middle("host_buffer+0x1000", 10), "ho..0x1000");
        assert_eq!((clip("abc", 2), clip_middle("12345", 3)), ("..".into(), "..5".into()));
    }

    proptest! {
        /// Whatever is left out leaves its dots, in the columns that there are.
        #[test]
        fn what_is_left_out_shows(text in "[a-z0-9 +éｗ]{0,30}", room in 0usize..40) {
            for (short, dots_at) in [
                (clip(&text, room), 2),
                (clip_front(&text, room), 0),
                (clip_middle(&text, room), 1),
            ] {
                prop_assert!(width(&short) <= room, "{short}");
                let dots = &DOTS[..room.min(DOTS.len())];
                let shows = match dots_at {
                    0 => short.starts_with(dots),
                    1 => short.contains(dots),
                    _ => short.ends_with(dots),
                };
                prop_assert!(short == text || shows, "{text:?} {short:?}");
            }
        }

        /// Lines have the room they may take, and together all words.
        #[test]
        fn broken_lines_hold_all_words(text in "[a-zé]{1,9}( [a-zé]{1,9}){0,9}", room in 2usize..20) {
            let lines: Vec<&str> = broken(&text, room).into_iter().map(|r| &text[r]).collect();
            prop_assert!(lines.iter().all(|l| width(l) <= room && !l.starts_with(' ')), "{lines:?}");
            let squeezed = |t: &str| t.replace(' ', "");
            prop_assert_eq!(squeezed(&lines.concat()), squeezed(&text));
            // No word is broken that has room.
            if text.split(' ').all(|w| width(w) <= room) {
                prop_assert_eq!(lines.join(" "), text);
            }
        }

        /// A row that goes on beyond its area ends in dots there; one that fits is as it was.
        #[test]
        fn a_row_that_goes_on_shows_it(
            pieces in proptest::collection::vec("[a-z0-9 ]{0,12}", 0..5),
            room in 2u16..40,
        ) {
            let row = Row(pieces.iter().fold(Row::new(), |r, p| r.with(p, Style::new())).0);
            let mut buf = Buffer::empty(Rect::new(0, 0, 50, 1));
            draw(std::slice::from_ref(&row), Rect::new(3, 0, room, 1), &mut buf);
            let drawn: String = (3..3 + room).map(|x| buf[(x, 0)].symbol()).collect();
            let text = row.to_text();
            match text.trim_end().len() > usize::from(room) {
                true => prop_assert!(drawn.ends_with(DOTS), "{text:?} {drawn:?}"),
                false => prop_assert_eq!(drawn.trim_end(), text.trim_end()),
            }
            prop_assert!((3 + room..50).all(|x| buf[(x, 0)].symbol() == " "));
        }
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
