//! Colours and glyphs. One colour per life and per phase, the same in every pane; a glyph,
//! a word or a modifier says the same, so that nothing is lost without colour.

use super::colour;
use super::highlight::Tone;
use crate::diag::Severity;
use crate::engine::ring::{Life, Phase};
use ratatui::style::{Color, Modifier, Style};

/// Which colours are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Palette {
    /// For a dark background.
    #[default]
    Dark,
    /// For a light background.
    Light,
    /// Bright colours on a dark background, nothing dimmed.
    Contrast,
    /// None: modifiers and glyphs only (`NO_COLOR`).
    Plain,
}

impl Palette {
    /// The one after it, for the key that changes it.
    #[must_use]
    pub fn next(self) -> Palette {
        match self {
            Palette::Dark => Palette::Light,
            Palette::Light => Palette::Contrast,
            Palette::Contrast => Palette::Plain,
            Palette::Plain => Palette::Dark,
        }
    }

    /// All of them.
    pub const ALL: [Palette; 4] =
        [Palette::Dark, Palette::Light, Palette::Contrast, Palette::Plain];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Palette::Dark => "dark",
            Palette::Light => "light",
            Palette::Contrast => "contrast",
            Palette::Plain => "none",
        }
    }
}

/// How many colours the terminal has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Depth {
    /// The first sixteen.
    Basic,
    /// 256.
    #[default]
    Indexed,
    /// Any.
    True,
}

impl Depth {
    /// All of them.
    pub const ALL: [Depth; 3] = [Depth::Basic, Depth::Indexed, Depth::True];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Depth::Basic => "16",
            Depth::Indexed => "256",
            Depth::True => "truecolor",
        }
    }

    /// What an environment says: `COLORTERM`, else the name of the terminal.
    pub fn from_env(var: impl Fn(&str) -> Option<String>) -> Depth {
        let colorterm = var("COLORTERM").unwrap_or_default();
        let term = var("TERM").unwrap_or_default();
        if colorterm == "truecolor" || colorterm == "24bit" || term.ends_with("-direct") {
            Depth::True
        } else if term.contains("256") {
            Depth::Indexed
        } else {
            Depth::Basic
        }
    }

    /// The colour that stands for another on a terminal of this depth.
    pub fn fit(self, colour: Color) -> Color {
        match (self, colour) {
            (Depth::Basic, Color::Indexed(n)) => colour::basic(n),
            (Depth::True, Color::Indexed(n)) => {
                let c = colour::rgb(n);
                Color::Rgb((c >> 16) as u8, (c >> 8) as u8, c as u8)
            }
            _ => colour,
        }
    }
}

/// How the screen looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Theme {
    /// Colours.
    pub palette: Palette,
    /// How many there may be.
    pub depth: Depth,
    /// Only ASCII glyphs.
    pub ascii: bool,
}

impl Theme {
    /// The theme that an environment asks for: `NO_COLOR` not empty, and a locale that is
    /// not UTF-8.
    pub fn from_env(var: impl Fn(&str) -> Option<String>) -> Theme {
        let set = |name: &str| var(name).filter(|v| !v.is_empty());
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
        let utf8 = locale.is_some_and(|l| {
            let l = l.to_ascii_lowercase();
            l.contains("utf-8") || l.contains("utf8")
        });
        let palette = if set("NO_COLOR").is_some() { Palette::Plain } else { Palette::Dark };
        Theme { palette, depth: Depth::from_env(&var), ascii: !utf8 }
    }

    /// The same theme with colours, or without any.
    #[must_use]
    pub fn coloured(self, on: bool) -> Theme {
        let palette = match (on, self.palette) {
            (false, _) => Palette::Plain,
            (true, Palette::Plain) => Palette::Dark,
            (true, other) => other,
        };
        Theme { palette, ..self }
    }

    fn fg(self, dark: Color, light: Color) -> Style {
        match self.palette {
            Palette::Dark => Style::new().fg(self.depth.fit(dark)),
            Palette::Light => Style::new().fg(self.depth.fit(light)),
            Palette::Contrast => Style::new().fg(colour::bright(dark)),
            Palette::Plain => Style::new(),
        }
    }

    /// A ground for a dark screen and for a light one.
    fn bg(self, base: Style, dark: u8, light: u8) -> Style {
        let ground = |n| base.bg(self.depth.fit(Color::Indexed(n)));
        match self.palette {
            Palette::Dark => ground(dark),
            Palette::Light => ground(light),
            Palette::Contrast | Palette::Plain => base,
        }
    }

    /// A phase of the host's cycle.
    pub fn phase(self, phase: Phase) -> Style {
        match phase {
            Phase::Stage => self.fg(Color::Cyan, Color::Blue),
            Phase::Trigger => self.fg(Color::Blue, Color::Blue),
            Phase::Doorbell => self.fg(Color::Yellow, Color::Indexed(130)),
            Phase::Poll => self.fg(Color::Magenta, Color::Magenta),
            Phase::Ack => self.fg(Color::Green, Color::Indexed(28)),
        }
    }

    /// The life of a slot: the colour of the phase that it belongs to.
    pub fn life(self, life: Life) -> Style {
        match (life, life.phase()) {
            (Life::Faulted, _) => self.error(),
            (Life::Guard | Life::Stale | Life::NeverWritten | Life::NotRun, _) => self.dim(),
            (Life::Fetched | Life::Visible, Some(p)) => self.phase(p).add_modifier(Modifier::BOLD),
            (_, Some(p)) => self.phase(p),
            (_, None) => self.text(),
        }
    }

    /// A severity.
    pub fn severity(self, s: Severity) -> Style {
        match s {
            Severity::Error => self.error(),
            Severity::Warning => self.fg(Color::Yellow, Color::Indexed(130)),
            Severity::Note => self.fg(Color::Cyan, Color::Blue),
        }
    }

    /// Plain text.
    pub fn text(self) -> Style {
        Style::new()
    }

    /// Text of less weight.
    pub fn dim(self) -> Style {
        match self.palette {
            Palette::Plain => Style::new().add_modifier(Modifier::DIM),
            // Nothing is harder to read than the rest.
            Palette::Contrast => Style::new(),
            _ => self.fg(Color::Indexed(245), Color::Indexed(243)),
        }
    }

    /// Text of more weight.
    pub fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Errors and faults.
    pub fn error(self) -> Style {
        self.fg(Color::LightRed, Color::Red).add_modifier(Modifier::BOLD)
    }

    /// Something good: the marker has flipped.
    pub fn good(self) -> Style {
        self.fg(Color::LightGreen, Color::Indexed(28)).add_modifier(Modifier::BOLD)
    }

    /// Where the user or the run stands: cursors, keys.
    pub fn accent(self) -> Style {
        self.fg(Color::LightCyan, Color::Blue).add_modifier(Modifier::BOLD)
    }

    /// What changed since the last stop; a star stands beside it.
    pub fn changed(self, base: Style) -> Style {
        // Of sixteen colours none is a ground that all others can be read on.
        let base = if self.depth == Depth::Basic { base } else { self.bg(base, 236, 230) };
        base.add_modifier(Modifier::BOLD)
    }

    /// A changed byte or value inside a line: there is no room for a star, so it is underlined.
    pub fn changed_value(self, base: Style) -> Style {
        self.changed(base).add_modifier(Modifier::UNDERLINED)
    }

    /// The selected row.
    pub fn selected(self, base: Style) -> Style {
        match self.palette {
            Palette::Plain => base.add_modifier(Modifier::REVERSED),
            Palette::Contrast => base.bg(Color::LightYellow).fg(Color::Black),
            _ if self.depth == Depth::Basic => base.add_modifier(Modifier::REVERSED),
            _ => self.bg(base, 24, 153),
        }
    }

    /// The selected bit, field, digit or byte.
    pub fn lit(self, base: Style) -> Style {
        base.add_modifier(Modifier::REVERSED)
    }

    /// A word of a text, over the style of its line.
    pub fn tone(self, tone: Tone, base: Style) -> Style {
        let own = match tone {
            Tone::Plain | Tone::Sign => Style::new(),
            Tone::Comment => self.dim(),
            Tone::Keyword => self.fg(Color::Magenta, Color::Magenta),
            Tone::Action => self.fg(Color::LightBlue, Color::Blue),
            Tone::Name => self.fg(Color::LightCyan, Color::Indexed(30)),
            Tone::Key => self.fg(Color::Indexed(109), Color::Indexed(66)),
            Tone::Constant => self.fg(Color::Indexed(179), Color::Indexed(94)),
            Tone::Text => self.fg(Color::Indexed(108), Color::Indexed(28)),
            Tone::Type => self.fg(Color::Cyan, Color::Indexed(31)),
            Tone::Variable => self.fg(Color::Indexed(147), Color::Indexed(55)),
            Tone::Wrong => self.error(),
        };
        base.patch(own)
    }

    /// Lines between panes.
    pub fn border(self) -> Style {
        self.fg(Color::Indexed(240), Color::Indexed(248))
    }

    /// A pane's title.
    pub fn title(self, focused: bool) -> Style {
        if focused { self.accent().add_modifier(Modifier::REVERSED) } else { self.strong() }
    }

    /// The mark of a cursor.
    pub fn cursor(self) -> char {
        if self.ascii { '>' } else { '▶' }
    }

    /// The mark of what belongs to what is selected.
    pub fn linked(self) -> char {
        if self.ascii { '*' } else { '◆' }
    }

    /// How many entries there are above those that are shown, and below; empty where there are
    /// none.
    pub fn scrolled(self, above: u64, below: u64) -> String {
        let (up, down) = if self.ascii { ('^', 'v') } else { ('↑', '↓') };
        let part = |n: u64, to: char| (n > 0).then(|| format!("{n}{to}"));
        let both = [part(above, up), part(below, down)];
        both.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    /// The mark of one who has not begun.
    pub fn waits(self) -> char {
        if self.ascii { '-' } else { '▷' }
    }

    /// Horizontal and vertical line.
    pub fn lines(self) -> (char, char) {
        if self.ascii { ('-', '|') } else { ('─', '│') }
    }

    /// The line between two phases, passed or to come.
    pub fn track(self, passed: bool) -> &'static str {
        match (self.ascii, passed) {
            (false, true) => "━━",
            (false, false) => "──",
            (true, true) => "==",
            (true, false) => "--",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_terminal_decides_how_many_colours_there_are() {
        let of = |colorterm: &'static str, term: &'static str| {
            Depth::from_env(|n| Some(if n == "TERM" { term } else { colorterm }.to_owned()))
        };
        assert_eq!(of("truecolor", "xterm"), Depth::True);
        assert_eq!(of("", "tmux-256color"), Depth::Indexed);
        assert_eq!(of("", "linux"), Depth::Basic);
        for n in 0..=255 {
            let basic = Depth::Basic.fit(Color::Indexed(n));
            assert!(!matches!(basic, Color::Indexed(_) | Color::Rgb(..)), "{n}");
            assert_eq!(Depth::Indexed.fit(Color::Indexed(n)), Color::Indexed(n));
        }
        assert_eq!(Depth::True.fit(Color::Indexed(24)), Color::Rgb(0, 0x5f, 0x87));
        assert_eq!(Depth::Basic.fit(Color::Indexed(240)), Color::DarkGray);
    }

    #[test]
    fn the_environment_decides_about_colours_and_glyphs() {
        let env = |pairs: &'static [(&'static str, &'static str)]| {
            Theme::from_env(move |n| pairs.iter().find(|p| p.0 == n).map(|p| p.1.to_owned()))
        };
        const FULL: [(&str, &str); 2] = [("LANG", "en_US.UTF-8"), ("TERM", "xterm-256color")];
        assert_eq!(env(&FULL), Theme::default());
        assert!(env(&[("LANG", "C")]).ascii);
        assert!(env(&[("LC_ALL", "C"), ("LANG", "de_DE.utf8")]).ascii);
        assert!(!env(&[("LC_ALL", ""), ("LANG", "de_DE.utf8")]).ascii);
        assert_eq!(env(&[("NO_COLOR", "1")]).palette, Palette::Plain);
        assert_eq!(env(&[("NO_COLOR", "")]).palette, Palette::Dark);
    }
}
