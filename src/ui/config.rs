//! The user's settings: one table of what there is, read from TOML, printed as TOML
//! (`docs/config.md`). Pure: `cli` reads the file.

use super::keymap::{Key, Keymap, parse_keys};
use super::seams;
use super::theme::{Depth, Palette, Theme};
use crate::diag::{Diagnostic, Place, Report};
use crate::engine::command::nearest;
use crate::limits::{MAX_CONFIG_KEYS, MAX_QUIET_MS, MAX_SAME_CODE};
use crate::watch::QUIET;
use serde_json::json;
use std::fmt::Write as _;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What the user has set; what is not set stays as the environment has it, or at its default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Colours; `None`: by `NO_COLOR`.
    pub palette: Option<Palette>,
    /// How many; `None`: by the terminal.
    pub depth: Option<Depth>,
    /// Only ASCII glyphs; `None`: by the locale.
    pub ascii: Option<bool>,
    /// Take the mouse.
    pub mouse: bool,
    /// Equal slots are folded at the start.
    pub fold: bool,
    /// The selection follows the newest event at the start.
    pub follow: bool,
    /// The files are watched.
    pub watch: bool,
    /// How long files must be quiet before they are read again, milliseconds.
    pub quiet_ms: u64,
    /// Keys.
    pub keys: Keymap,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            palette: None,
            depth: None,
            ascii: None,
            mouse: true,
            fold: true,
            follow: true,
            watch: true,
            quiet_ms: QUIET.as_millis() as u64,
            keys: Keymap::default(),
        }
    }
}

/// A setting.
#[derive(Debug)]
pub struct Setting {
    /// Its key.
    pub name: &'static str,
    /// Words that it takes; `true` and `false` are written without quotes.
    pub values: &'static [&'static str],
    /// One line.
    pub about: &'static str,
    /// Takes the value at this place of `values`.
    set: fn(&mut Config, usize),
    /// The place of the present value.
    get: fn(&Config) -> usize,
}

const BOOL: &[&str] = &["true", "false"];

/// `None` is the first value, `Some(all[i])` the ones after it.
fn auto<T: PartialEq + Copy>(all: &[T], value: Option<T>) -> usize {
    value.and_then(|v| all.iter().position(|x| *x == v)).map_or(0, |i| i + 1)
}

/// Every setting, in the order in which they are printed.
pub static SETTINGS: &[Setting] = &[
    Setting {
        name: "theme",
        values: &["auto", "dark", "light", "contrast", "none"],
        about: "colours; auto: dark, or none where NO_COLOR is set",
        set: |c, i| c.palette = i.checked_sub(1).and_then(|i| Palette::ALL.get(i).copied()),
        get: |c| auto(&Palette::ALL, c.palette),
    },
    Setting {
        name: "colours",
        values: &["auto", "16", "256", "truecolor"],
        about: "how many colours there are; auto: by COLORTERM and TERM",
        set: |c, i| c.depth = i.checked_sub(1).and_then(|i| Depth::ALL.get(i).copied()),
        get: |c| auto(&Depth::ALL, c.depth),
    },
    Setting {
        name: "glyphs",
        values: &["auto", "unicode", "ascii"],
        about: "characters of lines and marks; auto: by the locale",
        set: |c, i| c.ascii = i.checked_sub(1).map(|i| i == 1),
        get: |c| auto(&[false, true], c.ascii),
    },
    Setting {
        name: "mouse",
        values: BOOL,
        about: "take the mouse; the terminal's own selection then needs Shift",
        set: |c, i| c.mouse = i == 0,
        get: |c| usize::from(!c.mouse),
    },
    Setting {
        name: "fold",
        values: BOOL,
        about: "fold equal slots at the start",
        set: |c, i| c.fold = i == 0,
        get: |c| usize::from(!c.fold),
    },
    Setting {
        name: "follow",
        values: BOOL,
        about: "let the selection follow the newest event at the start",
        set: |c, i| c.follow = i == 0,
        get: |c| usize::from(!c.follow),
    },
    Setting {
        name: "watch",
        values: BOOL,
        about: "watch the files of the screen and go on with what they hold",
        set: |c, i| c.watch = i == 0,
        get: |c| usize::from(!c.watch),
    },
    Setting {
        name: "keymap",
        values: &["default", "vi"],
        about: "keys before those of [keys]",
        set: |c, i| c.keys.vi = i == 1,
        get: |c| usize::from(c.keys.vi),
    },
];

/// A setting that is a number.
#[derive(Debug)]
pub struct Number {
    /// Its key.
    pub name: &'static str,
    /// The least and the greatest that it takes.
    pub range: (u64, u64),
    /// One line.
    pub about: &'static str,
    set: fn(&mut Config, u64),
    get: fn(&Config) -> u64,
}

/// Every setting that is a number, behind the others.
pub static NUMBERS: &[Number] = &[Number {
    name: "quiet_ms",
    range: (1, MAX_QUIET_MS),
    about: "milliseconds for which files must be quiet before they are read again",
    set: |c, n| c.quiet_ms = n,
    get: |c| c.quiet_ms,
}];

/// The table of the user's own keys.
const KEYS: &str = "keys";

impl Config {
    /// Reads a configuration.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with its line and column (S029; S001 to S005 for
    /// a command that a key stands for).
    pub fn parse(text: &str) -> Result<Config, Report> {
        let mut out = Reader { text, config: Config::default(), report: Report::default() };
        let (table, errors) = DeTable::parse_recoverable(text);
        for e in errors.into_iter().take(MAX_SAME_CODE) {
            let span = e.span().unwrap_or(0..0);
            out.wrong(span, e.message().trim().replace('\n', ", "), String::new());
        }
        for (name, value) in table.get_ref() {
            out.entry(name, value);
        }
        // Keys of a table are in the order of their names.
        out.report.items.sort_by_key(|d| (d.place.line, d.place.column));
        if out.report.has_errors() { Err(out.report) } else { Ok(out.config) }
    }

    /// As TOML: every setting with its present value and what it takes.
    pub fn to_toml(&self) -> String {
        let mut out = String::new();
        for s in SETTINGS {
            let value = s.values.get((s.get)(self)).copied().unwrap_or_default();
            let quoted = if s.values == BOOL { value.to_owned() } else { format!("\"{value}\"") };
            let _ =
                writeln!(out, "# {}: {}\n{} = {quoted}\n", s.values.join(", "), s.about, s.name);
        }
        for n in NUMBERS {
            let (least, most) = n.range;
            let value = (n.get)(self);
            let _ = writeln!(out, "# {least} to {most}: {}\n{} = {value}\n", n.about, n.name);
        }
        let _ =
            writeln!(out, "# \"key\" = \"command\"; keys by the names that the help gives them");
        let _ = writeln!(out, "[{KEYS}]");
        for (key, command) in &self.keys.own {
            let _ = writeln!(out, "{} = {}", quote(&key.name()), quote(command));
        }
        out
    }

    /// As JSON: an object for every setting, and then one for each of the user's keys.
    pub fn to_json(&self) -> Vec<serde_json::Value> {
        let setting = |s: &Setting| {
            let value = s.values.get((s.get)(self)).copied().unwrap_or_default();
            if s.values == BOOL {
                let value = value == "true";
                return json!({ "name": s.name, "value": value, "takes": [true, false], "about": s.about });
            }
            json!({ "name": s.name, "value": value, "takes": s.values, "about": s.about })
        };
        let number = |n: &Number| {
            let (least, most) = n.range;
            let range = json!({ "least": least, "most": most });
            json!({ "name": n.name, "value": (n.get)(self), "takes": range, "about": n.about })
        };
        let key = |(key, command): (&_, &String)| json!({ "key": key, "command": command });
        let keys = self.keys.own.iter().map(|(k, c)| (k.name(), c));
        let keys: Vec<_> = keys.map(|(k, c)| key((&k, c))).collect();
        SETTINGS.iter().map(setting).chain(NUMBERS.iter().map(number)).chain(keys).collect()
    }

    /// The theme, where `env` is what the environment asks for.
    #[must_use]
    pub fn theme(&self, env: Theme) -> Theme {
        Theme {
            palette: self.palette.unwrap_or(env.palette),
            depth: self.depth.unwrap_or(env.depth),
            ascii: self.ascii.unwrap_or(env.ascii),
        }
    }
}

/// The settings as a table in Markdown, for the documentation.
pub fn markdown() -> String {
    let mut out = String::from("| key | values, the default first | sets |\n|---|---|---|\n");
    for s in SETTINGS {
        let values: Vec<String> = s.values.iter().map(|v| format!("`{v}`")).collect();
        let _ = writeln!(out, "| `{}` | {} | {} |", s.name, values.join(" "), s.about);
    }
    for n in NUMBERS {
        let (least, most) = n.range;
        let value = (n.get)(&Config::default());
        let values = format!("`{value}`, {least} to {most}");
        let _ = writeln!(out, "| `{}` | {values} | {} |", n.name, n.about);
    }
    out
}

/// A text in quotes, as TOML writes it.
fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

struct Reader<'t> {
    text: &'t str,
    config: Config,
    report: Report,
}

impl Reader<'_> {
    /// Line, column and width of a stretch of the text, in characters.
    fn place(&self, span: Range<usize>) -> Place {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        let line = before.matches('\n').count() as u64 + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() as u64 + 1;
        let what = self.text.get(span).unwrap_or("").lines().next().unwrap_or("");
        Place::text(line, column, what.chars().count() as u64)
    }

    fn wrong(&mut self, span: Range<usize>, message: String, help: String) {
        let mut d = Diagnostic::new("S029", message).at(self.place(span));
        if !help.is_empty() {
            d = d.help(help);
        }
        self.report.push(d);
    }

    fn entry(&mut self, name: &Spanned<std::borrow::Cow<'_, str>>, value: &Spanned<DeValue<'_>>) {
        if name.get_ref() == KEYS {
            return self.keys(value);
        }
        if let Some(number) = NUMBERS.iter().find(|n| n.name == name.get_ref()) {
            return self.number(number, value);
        }
        let Some(setting) = SETTINGS.iter().find(|s| s.name == name.get_ref()) else {
            let numbers = NUMBERS.iter().map(|n| n.name);
            let known = SETTINGS.iter().map(|s| s.name).chain(numbers).chain([KEYS]);
            let near = nearest(name.get_ref(), known.clone());
            let help = match near.first() {
                Some(n) => format!("did you mean `{n}`?"),
                None => format!("settings: {}", known.collect::<Vec<_>>().join(", ")),
            };
            return self.wrong(
                name.span(),
                format!("there is no setting `{}`", name.get_ref()),
                help,
            );
        };
        let word = match value.get_ref() {
            DeValue::String(s) if setting.values != BOOL => s.to_string(),
            DeValue::Boolean(b) if setting.values == BOOL => b.to_string(),
            DeValue::Integer(i) if setting.values != BOOL => i.as_str().to_owned(),
            _ => String::new(),
        };
        match setting.values.iter().position(|v| *v == word) {
            Some(i) => (setting.set)(&mut self.config, i),
            None => {
                let text =
                    format!("`{}` takes one of: {}", setting.name, setting.values.join(", "));
                self.wrong(value.span(), text, String::new());
            }
        }
    }

    fn number(&mut self, number: &Number, value: &Spanned<DeValue<'_>>) {
        let (least, most) = number.range;
        let given = match value.get_ref() {
            DeValue::Integer(i) => u64::from_str_radix(i.as_str(), i.radix()).ok(),
            _ => None,
        };
        match given.filter(|n| (least..=most).contains(n)) {
            Some(n) => (number.set)(&mut self.config, n),
            None => {
                let text = format!("`{}` takes a number from {least} to {most}", number.name);
                self.wrong(value.span(), text, String::new());
            }
        }
    }

    fn keys(&mut self, value: &Spanned<DeValue<'_>>) {
        let DeValue::Table(table) = value.get_ref() else {
            return self.wrong(value.span(), format!("`{KEYS}` is a table"), String::new());
        };
        if table.len() > MAX_CONFIG_KEYS {
            let text = format!("at most {MAX_CONFIG_KEYS} keys may be set");
            return self.wrong(value.span(), text, String::new());
        }
        for (name, command) in table {
            self.key(name, command);
        }
    }

    fn key(&mut self, name: &Spanned<std::borrow::Cow<'_, str>>, command: &Spanned<DeValue<'_>>) {
        let text = match name.get_ref().chars().count() {
            1 => name.get_ref().replace('<', "<Less>"),
            _ => format!("<{}>", name.get_ref()),
        };
        let key = match parse_keys(&text).map(|k| k.first().map(Key::of)) {
            Ok(Some(key)) => key,
            Ok(None) => {
                return self.wrong(name.span(), "the key has no name".into(), String::new());
            }
            Err(_) => {
                let help = "keys: a character, Tab, PgUp, F2, Ctrl-x, .. as the help writes them";
                let text = format!("`{}` is no key", name.get_ref());
                return self.wrong(name.span(), text, help.to_owned());
            }
        };
        let DeValue::String(line) = command.get_ref() else {
            let text = "a key stands for a command in quotes".to_owned();
            return self.wrong(command.span(), text, String::new());
        };
        match seams::parse(line) {
            Ok(_) => self.config.keys.own.push((key, line.to_string())),
            Err(mut d) => {
                // The command's own columns count from behind the quote.
                let whole = self.place(command.span());
                let column = whole.column.unwrap_or(1) + d.place.column.unwrap_or(1);
                d.place = Place::text(whole.line.unwrap_or(1), column, d.place.width.unwrap_or(1));
                self.report.push(d);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_printed_and_read_back() {
        let c = Config::default();
        assert_eq!(Config::parse(&c.to_toml()).unwrap(), c);
        assert_eq!(Config::parse("").unwrap(), c);
    }

    #[test]
    fn every_value_of_every_setting_is_printed_and_read_back() {
        for s in SETTINGS {
            for i in 0..s.values.len() {
                let mut c = Config::default();
                (s.set)(&mut c, i);
                assert_eq!((s.get)(&c), i, "{} {}", s.name, s.values[i]);
                assert_eq!(Config::parse(&c.to_toml()).unwrap(), c);
            }
            assert_eq!((s.get)(&Config::default()), 0, "the default of {} is its first", s.name);
        }
        let c = Config::parse("[keys]\nx = \"step 5 event\"\n\"Ctrl-x\" = \"echo \\\"a\\\"\"\n")
            .unwrap();
        assert_eq!(c.keys.own.len(), 2);
        assert_eq!(Config::parse(&c.to_toml()).unwrap(), c);
    }

    #[test]
    fn every_error_has_its_place() {
        let text = "thme = \"dark\"\nmouse = 3\ntheme = \"drak\"\n[keys]\nxx = \"step\"\ny = 5\nz = \"stpe 3\"\nw = \"step foo\"\n";
        let report = Config::parse(text).unwrap_err();
        let got: Vec<_> = report
            .items
            .iter()
            .map(|d| (d.code, d.place.line.unwrap(), d.place.column.unwrap()))
            .collect();
        let want = [
            ("S029", 1, 1),
            ("S029", 2, 9),
            ("S029", 3, 9),
            ("S029", 5, 1),
            ("S029", 6, 5),
            ("S001", 7, 6),
            ("S002", 8, 11),
        ];
        for w in want {
            assert!(got.iter().any(|g| (g.1, g.2) == (w.1, w.2)), "{w:?} in {got:?}");
        }
        assert_eq!(got.len(), want.len(), "{got:?}");
        assert!(report.items[0].help.as_deref().unwrap().contains("theme"));
    }

    #[test]
    fn broken_toml_has_its_place() {
        let report = Config::parse("theme = \"dark\nmouse = true\n").unwrap_err();
        assert_eq!(report.items[0].place.line, Some(1));
        for hostile in
            ["[", "=", "\u{0}", "a = [[[[[[[", &"[a.".repeat(5000), &"x=1\n".repeat(9000)]
        {
            assert!(Config::parse(hostile).is_err());
        }
    }
}
