//! The screen as a picture: the cells of a drawn buffer as plain text, as text with terminal
//! colours, or as SVG (`docs/screen.md`, "Pictures"). A function of the buffer and the theme.

use super::colour;
use super::model::Model;
use super::theme::{Palette, Theme};
use super::view;
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use std::fmt::Write as _;

pub use crate::engine::command::PictureForm as Form;

/// Draws a model as it is and makes a picture of it.
pub fn of(model: &Model, form: Form) -> String {
    let mut buf = Buffer::empty(Rect::new(0, 0, model.size.0, model.size.1));
    view::draw(model, &mut buf);
    match form {
        Form::Text => text(&buf),
        Form::Ansi => ansi(&buf),
        Form::Svg => svg(&buf, model.theme),
    }
}

/// Cells of a line that look alike, and the column where they begin.
fn runs(buf: &Buffer, y: u16) -> Vec<(u16, String, Style)> {
    let mut out: Vec<(u16, String, Style)> = Vec::new();
    let mut skip = 0;
    for x in buf.area.left()..buf.area.right() {
        let Some(cell) = buf.cell((x, y)) else { continue };
        if skip > 0 {
            // The second half of a wide character.
            skip -= 1;
            continue;
        }
        let style = shown(cell);
        skip = super::rows::width(cell.symbol()).saturating_sub(1);
        match out.last_mut() {
            Some((_, text, s)) if *s == style => text.push_str(cell.symbol()),
            _ => out.push((x, cell.symbol().to_owned(), style)),
        }
    }
    out
}

/// The style of a cell, without what a blank does not show.
fn shown(cell: &Cell) -> Style {
    let style = cell.style();
    let flat = !style.add_modifier.intersects(Modifier::REVERSED | Modifier::UNDERLINED);
    if cell.symbol() == " " && flat {
        Style::new().bg(style.bg.unwrap_or(Color::Reset))
    } else {
        style
    }
}

/// The characters of a buffer, line by line, without the blanks at their ends.
pub fn text(buf: &Buffer) -> String {
    let mut out = String::new();
    for y in buf.area.top()..buf.area.bottom() {
        let line: String = runs(buf, y).into_iter().map(|r| r.1).collect();
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

/// A buffer with the escape sequences of a terminal; each line begins and ends plain.
pub fn ansi(buf: &Buffer) -> String {
    let mut out = String::new();
    for y in buf.area.top()..buf.area.bottom() {
        let mut line = String::new();
        let mut kept = 0;
        for (_, text, style) in runs(buf, y) {
            let codes = sgr(style);
            if codes.is_empty() {
                line.push_str(&text);
            } else {
                let _ = write!(line, "\x1b[{codes}m{text}\x1b[0m");
            }
            if !codes.is_empty() || !text.trim_end().is_empty() {
                let blank = if codes.is_empty() { text.len() - text.trim_end().len() } else { 0 };
                kept = line.len() - blank;
            }
        }
        line.truncate(kept);
        let _ = writeln!(out, "{line}");
    }
    out
}

/// The parameters of the sequence that sets a style.
fn sgr(style: Style) -> String {
    let mut codes: Vec<String> = Vec::new();
    for (m, code) in [
        (Modifier::BOLD, 1),
        (Modifier::DIM, 2),
        (Modifier::ITALIC, 3),
        (Modifier::UNDERLINED, 4),
        (Modifier::REVERSED, 7),
    ] {
        if style.add_modifier.contains(m) {
            codes.push(code.to_string());
        }
    }
    for (colour, base) in [(style.fg, 30), (style.bg, 40)] {
        match colour.unwrap_or(Color::Reset) {
            Color::Reset => {}
            Color::Rgb(r, g, b) => codes.push(format!("{};2;{r};{g};{b}", base + 8)),
            other => match colour::index(other) {
                n @ 0..8 => codes.push((base + u32::from(n)).to_string()),
                n @ 8..16 => codes.push((base + 52 + u32::from(n)).to_string()),
                n => codes.push(format!("{};5;{n}", base + 8)),
            },
        }
    }
    codes.join(";")
}

/// Width and height of a cell, in tenths of a unit of the picture.
const CELL: (u32, u32) = (84, 180);
/// Room around the cells, in the same unit.
const MARGIN: u32 = 80;

/// A buffer as SVG. Each run of cells is one text whose length is set, so that columns stand
/// below one another in any font of fixed width.
pub fn svg(buf: &Buffer, theme: Theme) -> String {
    let (ink, ground) = match theme.palette {
        Palette::Light => (0x24292e, 0xfafafa),
        Palette::Contrast => (0xffffff, 0x000000),
        Palette::Dark | Palette::Plain => (0xd4d7d9, 0x16181b),
    };
    let tenth = |v: u32| format!("{}.{}", v / 10, v % 10);
    let (columns, lines) = (u32::from(buf.area.width), u32::from(buf.area.height));
    let (w, h) = (2 * MARGIN + columns * CELL.0, 2 * MARGIN + lines * CELL.1);
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" \
         font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" font-size=\"14\" fill=\"#{ink:06x}\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"#{ground:06x}\"/>",
        w = tenth(w),
        h = tenth(h)
    );
    for y in buf.area.top()..buf.area.bottom() {
        let top = MARGIN + u32::from(y) * CELL.1;
        for (x, text, style) in runs(buf, y) {
            let left = MARGIN + u32::from(x) * CELL.0;
            let wide = super::rows::width(&text) as u32 * CELL.0;
            let own = |c: Option<Color>, default| match c.unwrap_or(Color::Reset) {
                Color::Reset => default,
                Color::Rgb(r, g, b) => u32::from(r) << 16 | u32::from(g) << 8 | u32::from(b),
                c => colour::rgb(colour::index(c)),
            };
            let (mut fg, mut bg) = (own(style.fg, ink), own(style.bg, ground));
            if style.add_modifier.contains(Modifier::REVERSED) {
                (fg, bg) = (bg, fg);
            }
            if bg != ground {
                let _ = writeln!(
                    out,
                    "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"#{bg:06x}\"/>",
                    tenth(left),
                    tenth(top),
                    tenth(wide),
                    tenth(CELL.1)
                );
            }
            if text.trim().is_empty() {
                continue;
            }
            let mut extra = String::new();
            for (m, attribute) in [
                (Modifier::BOLD, " font-weight=\"bold\""),
                (Modifier::ITALIC, " font-style=\"italic\""),
                (Modifier::UNDERLINED, " text-decoration=\"underline\""),
                (Modifier::DIM, " opacity=\"0.65\""),
            ] {
                if style.add_modifier.contains(m) {
                    extra.push_str(attribute);
                }
            }
            if fg != ink {
                let _ = write!(extra, " fill=\"#{fg:06x}\"");
            }
            let _ = writeln!(
                out,
                "<text x=\"{}\" y=\"{}\" textLength=\"{}\" xml:space=\"preserve\"{extra}>{}</text>",
                tenth(left),
                tenth(top + 135),
                tenth(wide),
                escaped(&text)
            );
        }
    }
    out.push_str("</svg>\n");
    out
}

/// A text inside XML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer() -> Buffer {
        let mut buf = Buffer::empty(Rect::new(0, 0, 12, 2));
        buf.set_string(0, 0, "a<b", Style::new().fg(Color::LightRed));
        buf.set_string(4, 0, "&", Style::new().add_modifier(Modifier::REVERSED | Modifier::BOLD));
        buf.set_string(1, 1, "x", Style::new().fg(Color::Indexed(245)).bg(Color::Blue));
        buf
    }

    #[test]
    fn text_has_no_blanks_at_the_ends_of_lines() {
        assert_eq!(text(&buffer()), "a<b &\n x\n");
    }

    #[test]
    fn colours_are_those_of_a_terminal() {
        let out = ansi(&buffer());
        assert_eq!(out, "\x1b[91ma<b\x1b[0m \x1b[1;7m&\x1b[0m\n \x1b[38;5;245;44mx\x1b[0m\n");
    }

    #[test]
    fn a_picture_is_xml_with_every_run_in_its_place() {
        let out = svg(&buffer(), Theme::default());
        assert!(out.contains("fill=\"#f0625f\">a&lt;b</text>"), "{out}");
        assert!(out.contains("font-weight=\"bold\"") && out.contains("&amp;"));
        assert!(out.contains("<rect x=\"16.4\" y=\"26.0\" width=\"8.4\""), "{out}");
        assert_eq!(out.matches("<text").count(), 3);
    }
}
