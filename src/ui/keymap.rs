//! The keys, as a table: key, where it holds, what it does, a line of help.
//!
//! A key that moves in time or looks at something names the command that it stands for. The
//! help on the screen and the table in `docs/screen.md` are made from [`KEYMAP`].

mod table;

pub use table::{KEYMAP, VI};

use super::copy::CopyForm;
use super::layout::Pane;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A key as the table writes it. Shift is in the letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Which.
    pub code: KeyCode,
    /// With Ctrl.
    pub ctrl: bool,
}

const fn ch(c: char) -> Key {
    Key { code: KeyCode::Char(c), ctrl: false }
}

const fn ctrl(c: char) -> Key {
    Key { code: KeyCode::Char(c), ctrl: true }
}

const fn ctrl_key(code: KeyCode) -> Key {
    Key { code, ctrl: true }
}

const fn key(code: KeyCode) -> Key {
    Key { code, ctrl: false }
}

impl Key {
    /// The key of a terminal event.
    pub fn of(e: &KeyEvent) -> Key {
        Key { code: e.code, ctrl: e.modifiers.contains(KeyModifiers::CONTROL) }
    }

    /// Its name.
    pub fn name(self) -> String {
        let name = match self.code {
            KeyCode::Char(' ') => "Space".to_owned(),
            KeyCode::Char(c) => c.to_string(),
            KeyCode::BackTab => "Shift-Tab".to_owned(),
            KeyCode::PageUp => "PgUp".to_owned(),
            KeyCode::PageDown => "PgDn".to_owned(),
            KeyCode::F(n) => format!("F{n}"),
            code => format!("{code:?}"),
        };
        if self.ctrl { format!("Ctrl-{name}") } else { name }
    }
}

/// Longest name of a key.
const LONGEST_NAME: usize = 16;

/// Reads keys as they would be pressed: a character is itself, `<Name>` is a key by the name that
/// the help gives it, such as `<Tab>` or `<Ctrl-p>`; `<` itself is `<Less>`.
///
/// # Errors
/// What is no name of a key.
pub fn parse_keys(text: &str) -> Result<Vec<KeyEvent>, String> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let (key, n) = match rest.strip_prefix('<') {
            None => (ch(c), c.len_utf8()),
            Some(named) => {
                let end = named.find('>').filter(|n| *n <= LONGEST_NAME);
                let name = end.and_then(|n| named.get(..n)).unwrap_or(named);
                let known = by_name(name).filter(|_| end.is_some());
                let clipped: String = name.chars().take(LONGEST_NAME).collect();
                let close = end.map_or("", |_| ">");
                let wrong = || format!("`<{clipped}{close}` is no key; `<` itself is `<Less>`");
                (known.ok_or_else(wrong)?, name.len() + 2)
            }
        };
        let modifiers = if key.ctrl { KeyModifiers::CONTROL } else { KeyModifiers::NONE };
        out.push(KeyEvent::new(key.code, modifiers));
        rest = rest.get(n..).unwrap_or_default();
    }
    Ok(out)
}

/// A key by its name.
fn by_name(name: &str) -> Option<Key> {
    if let Some(base) = name.strip_prefix("Ctrl-") {
        return Some(Key { ctrl: true, ..by_name(base)? });
    }
    const NAMED: [KeyCode; 15] = [
        KeyCode::Char(' '),
        KeyCode::BackTab,
        KeyCode::Tab,
        KeyCode::Enter,
        KeyCode::Esc,
        KeyCode::Backspace,
        KeyCode::Delete,
        KeyCode::Up,
        KeyCode::Down,
        KeyCode::Left,
        KeyCode::Right,
        KeyCode::PageUp,
        KeyCode::PageDown,
        KeyCode::Home,
        KeyCode::End,
    ];
    let mut letters = name.chars();
    match (letters.next(), letters.next()) {
        (Some(c), None) => Some(ch(c)),
        _ if name == "Less" => Some(ch('<')),
        _ => NAMED.into_iter().map(key).find(|k| k.name() == name).or_else(|| {
            let n = name.strip_prefix('F')?.parse().ok()?;
            (1..=12).contains(&n).then(|| key(KeyCode::F(n)))
        }),
    }
}

/// Where a binding holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// In every pane.
    Panes,
    /// In every pane of a module.
    Module,
    /// While a lesson is taken, in every pane.
    Lesson,
    /// In a ring pane.
    Ring,
    /// In this pane.
    In(Pane),
    /// While a text lies over the screen.
    Popup,
    /// While that is the help.
    Help,
    /// While something is searched for in it.
    Sieve,
    /// In the access grid.
    Grid,
    /// In the command line.
    Line,
    /// In the palette.
    Palette,
}

impl When {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            When::Panes => "everywhere",
            When::Module => "a module",
            When::Lesson => "a lesson",
            When::Ring => "rings",
            When::In(p) => p.name(),
            When::Popup => "popup",
            When::Help => "help",
            When::Sieve => "search",
            When::Grid => "grid",
            When::Line => "command line",
            When::Palette => "palette",
        }
    }
}

/// What a key does that no command does: it changes what is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// One line, or with Ctrl-like keys many: rows up (negative) or down.
    Rows(i64),
    /// A page up (-1) or down (1).
    Page(i64),
    /// Half a page up (-1) or down (1).
    HalfPage(i64),
    /// To the first (-1) or last (1) line.
    Edge(i64),
    /// Left (-1) or right (1).
    Columns(i64),
    /// To the highest (-1) or lowest (1) bit of the word.
    WordEdge(i64),
    /// Focus to the next (1) or previous (-1) pane.
    Focus(i64),
    /// Next (1) or previous (-1) queue: `info queue`.
    Queue(i64),
    /// Set or delete a breakpoint at the selected slot, or in a module's text at the instruction
    /// of the line: `break`, `delete`.
    ToggleBreak,
    /// To the slot that wrote the selected byte last; then to the others that touch it.
    FollowByte,
    /// Show what the lesson says that explains the field of the selected bit.
    FieldLesson,
    /// Flip the selected bit: `set`.
    FlipBit,
    /// Set or delete a watchpoint on the bytes of the selected slot, or on those that the memory
    /// pane shows: `watch`, `delete`.
    ToggleWatch,
    /// Select the instruction of the line, and its slots.
    SelectInst,
    /// Draw where the selected access reads and writes.
    OpenGrid,
    /// In the grid: to the next (1) or previous (-1) descriptor.
    GridStep(i64),
    /// In the grid: to another side.
    GridTurn(i64),
    /// In the grid: the order in which the current descriptor goes, or which it is.
    GridOrder,
    /// In the grid: finer (-1) or coarser (1).
    GridScale(i32),
    /// Back (-1) or forward (1) in the list of places.
    Jump(i64),
    /// Show the list of places.
    Jumps,
    /// Take what is selected in a popup, or close it.
    Choose,
    /// From the text of a module to its passes, or back.
    TogglePasses,
    /// Prove that every stage leaves the same memory.
    Prove,
    /// To the selected event or the event of the selected finding: `goto`.
    GotoSelected,
    /// The other ring.
    OtherRing,
    /// Unlock the rings, or lock them again.
    ToggleLock,
    /// Fold equal slots or not.
    ToggleFold,
    /// Whether the selection follows the newest event.
    ToggleFollow,
    /// Next colours.
    NextPalette,
    /// Open the command line.
    OpenLine,
    /// Open the command line with this in it.
    WriteLine(&'static str),
    /// To the next match (1) or the one before (-1).
    Match(i64),
    /// Show only what was found, or everything.
    ToggleOnly,
    /// The pane with the focus alone, or all.
    Zoom,
    /// Make the pane with the focus wider and taller by so many cells.
    Grow(i16, i16),
    /// One of [`super::arrange::PRESETS`].
    Preset(usize),
    /// Copy what is selected.
    Copy(CopyForm),
    /// Open the palette.
    OpenPalette,
    /// Write the selected command into the command line.
    WriteChosen,
    /// Close what is open: popup, command line, the answer.
    Close,
    /// Search in the text over the screen.
    OpenSieve,
    /// Type no more; what does not have it stays left out.
    KeepSieve,
    /// Show all of the text again, or close it.
    DropSieve,
    /// To the next (1) or previous (-1) heading of the text.
    Heading(i64),
    /// Execute the command line.
    Enter,
    /// Enable or disable the selected stop: `enable`, `disable`.
    SwitchStop,
    /// Delete it: `delete`, `undisplay`.
    DeleteStop,
    /// Open the command line with the command that sets it.
    EditStop,
    /// On the timeline show half as much of the run (1), or twice as much (-1).
    TimeZoom(i64),
    /// On the timeline to the next column (1) or the one before (-1): `goto`.
    TimeColumns(i64),
    /// Through the history: older (1), newer (-1).
    History(i64),
    /// Complete the last word.
    Complete,
    /// Edit: cursor left or right.
    Cursor(i64),
    /// Edit: cursor to the start (-1) or the end (1).
    CursorEdge(i64),
    /// Edit: delete before the cursor.
    Backspace,
    /// Edit: delete at the cursor.
    DeleteChar,
    /// Edit: delete the word before the cursor.
    DeleteWord,
    /// Edit: delete to the start of the line.
    DeleteToStart,
    /// Suspend the program.
    Suspend,
    /// Draw everything anew.
    Redraw,
}

/// What a key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Does {
    /// This command.
    Command(&'static str),
    /// This.
    Act(Action),
}

/// A row of the keymap.
#[derive(Debug)]
pub struct Binding {
    /// Keys.
    pub keys: &'static [Key],
    /// Where.
    pub when: When,
    /// What.
    pub does: Does,
    /// One line of help.
    pub help: &'static str,
    /// A word for the line of keys at the bottom; empty if it is not there.
    pub hint: &'static str,
}

/// What is open, if anything is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The panes, one of which has the focus.
    Panes(Pane),
    /// The panes of a module.
    Module(Pane),
    /// A text lies over them.
    Popup,
    /// The help does.
    Help,
    /// Something is searched for in such a text.
    Sieve,
    /// The access grid lies over them.
    Grid,
    /// The command line.
    Line,
    /// The palette.
    Palette,
}

impl Mode {
    /// Whether keys go to a pane.
    pub fn is_panes(self) -> bool {
        matches!(self, Mode::Panes(_) | Mode::Module(_))
    }
}

impl When {
    /// Whether it holds.
    pub fn holds(self, mode: Mode) -> bool {
        match (self, mode) {
            (When::Panes | When::Lesson, Mode::Panes(_) | Mode::Module(_))
            | (When::Module, Mode::Module(_))
            | (When::Popup, Mode::Popup | Mode::Help)
            | (When::Help, Mode::Help)
            | (When::Sieve, Mode::Sieve)
            | (When::Grid, Mode::Grid)
            | (When::Line, Mode::Line)
            | (When::Palette, Mode::Palette) => true,
            (When::Ring, Mode::Panes(p) | Mode::Module(p)) => p.is_ring(),
            (When::In(p), Mode::Panes(focus) | Mode::Module(focus)) => p == focus,
            _ => false,
        }
    }
}

/// What a key does in a mode. A row for one pane wins over one for all.
pub fn find(key: Key, mode: Mode) -> Option<&'static Binding> {
    find_in(KEYMAP, key, mode)
}

fn find_in(rows: &'static [Binding], key: Key, mode: Mode) -> Option<&'static Binding> {
    let fit = || rows.iter().filter(|b| b.when.holds(mode) && b.keys.contains(&key));
    fit().find(|b| b.when != When::Panes).or_else(|| fit().next())
}

/// The keys of a user: their own, then those of the keymap that they chose, then the table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keymap {
    /// [`VI`] comes before the table.
    pub vi: bool,
    /// Keys of the configuration and the command that each stands for, in every pane.
    pub own: Vec<(Key, String)>,
}

/// What a key of a user does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning<'a> {
    /// This command.
    Command(&'a str),
    /// This.
    Act(Action),
}

impl Keymap {
    /// What a key does in a mode, in a lesson or not: the user's own first, then what a lesson
    /// has for it, then the keymap that the user chose, then the table.
    pub fn find(&self, key: Key, mode: Mode, lesson: bool) -> Option<Meaning<'_>> {
        let own = self.own.iter().rev().find(|o| o.0 == key);
        if let (Some((_, command)), true) = (own, When::Panes.holds(mode)) {
            return Some(Meaning::Command(command));
        }
        let taught = find(key, mode).filter(|b| lesson && b.when == When::Lesson);
        let vi = || self.vi.then(|| find_in(VI, key, mode)).flatten();
        taught.or_else(vi).or_else(|| find(key, mode)).map(|b| match b.does {
            Does::Command(c) => Meaning::Command(c),
            Does::Act(a) => Meaning::Act(a),
        })
    }

    /// What the keys of a place do for this user, one line each: the keys, in words, and the
    /// command where it is one. A key that means something else there is left out.
    pub fn lines(&self, when: When) -> Vec<(String, &str, Option<&str>)> {
        let pane = matches!(when, When::Panes | When::Module | When::Ring | When::In(_));
        let own = |k: &Key| pane && self.own.iter().any(|o| o.0 == *k);
        let mut out = Vec::new();
        if when == When::Panes {
            let newest = |i: usize| !self.own[i + 1..].iter().any(|o| o.0 == self.own[i].0);
            let mine = self.own.iter().enumerate().filter(|(i, _)| newest(*i));
            out.extend(mine.map(|(_, (k, c))| (k.name(), "your own", Some(c.as_str()))));
        }
        let chosen: &[Binding] = if self.vi { VI } else { &[] };
        let shadowed = |k: &Key| chosen.iter().any(|b| b.when == when && b.keys.contains(k));
        for (rows, under) in [(chosen, false), (KEYMAP, true)] {
            for b in rows.iter().filter(|b| b.when == when) {
                let keys = b.keys.iter().filter(|k| !(own(k) || under && shadowed(k)));
                let keys: Vec<String> = keys.map(|k| k.name()).collect();
                let command = match b.does {
                    Does::Command(c) => Some(c),
                    Does::Act(_) => None,
                };
                if !keys.is_empty() {
                    out.push((keys.join(" "), b.help, command));
                }
            }
        }
        out
    }
}

/// The keymap as a table in Markdown, for the documentation.
pub fn markdown() -> String {
    table(KEYMAP)
}

/// The rows of the keymap `vi` in the same form.
pub fn vi_markdown() -> String {
    table(VI)
}

fn table(rows: &[Binding]) -> String {
    let mut out = String::from("| keys | where | does | command |\n|---|---|---|---|\n");
    for b in rows {
        let keys: Vec<String> = b.keys.iter().map(|k| format!("`{}`", k.name())).collect();
        let command = match b.does {
            Does::Command(c) => format!("`{c}`"),
            Does::Act(_) => String::new(),
        };
        out.push_str(&format!(
            "| {} | {} | {} | {command} |\n",
            keys.join(" "),
            b.when.name(),
            b.help
        ));
    }
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn no_key_has_two_meanings_in_one_place() {
        for (i, a) in KEYMAP.iter().enumerate() {
            for b in &KEYMAP[i + 1..] {
                let same = a.keys.iter().any(|k| b.keys.contains(k));
                assert!(!(same && a.when == b.when), "{:?} {:?}", a, b);
            }
        }
    }

    #[test]
    fn keys_are_read_by_the_names_that_help_gives_them() {
        for b in KEYMAP {
            for k in b.keys {
                let name = k.name();
                let text = if name.chars().count() > 1 { format!("<{name}>") } else { name };
                let text = if text == "<" { "<Less>".to_owned() } else { text };
                let read = parse_keys(&text).map(|v| v.iter().map(Key::of).collect::<Vec<_>>());
                assert_eq!(read, Ok(vec![*k]), "{text}");
            }
        }
        assert_eq!(parse_keys("d<Tab>é").map(|k| k.len()), Ok(3));
        for bad in ["<", "<Nokey>", "<Ctrl->", "d<Tab", "<F99>", "<>"] {
            assert!(parse_keys(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_user_s_keys_come_first() {
        let x = ch('s');
        let own = Keymap { vi: true, own: vec![(x, "step 9".into()), (x, "step 5".into())] };
        let panes = Mode::Panes(Pane::Tx);
        assert_eq!(own.find(x, panes, false), Some(Meaning::Command("step 5")));
        assert_eq!(own.find(x, Mode::Line, false), None);
        assert_eq!(own.find(ctrl('d'), panes, false), Some(Meaning::Act(Action::HalfPage(1))));
        assert_eq!(Keymap::default().find(ctrl('d'), panes, false), None);
        assert_eq!(Keymap::default().find(x, panes, false), Some(Meaning::Command("step")));
        // A lesson's key stays the lesson's, and is vi's without one.
        let first = Some(Meaning::Act(Action::Edge(-1)));
        assert_eq!(own.find(ch('H'), panes, false), first);
        assert_eq!(own.find(ch('H'), panes, true), Some(Meaning::Command("hint")));
    }

    #[test]
    fn help_says_of_each_key_what_it_does() {
        let own = vec![(ch('x'), "step 5 event".into()), (ctrl('d'), "where".into())];
        for keys in
            [Keymap::default(), Keymap { vi: true, own: Vec::new() }, Keymap { vi: true, own }]
        {
            let mode = Mode::Panes(Pane::Tx);
            for (names, what, command) in keys.lines(When::Panes) {
                for name in names.split(' ') {
                    let text = match name {
                        "<" => "<Less>".to_owned(),
                        _ if name.chars().count() > 1 => format!("<{name}>"),
                        _ => name.to_owned(),
                    };
                    let key = Key::of(&parse_keys(&text).unwrap()[0]);
                    match (keys.find(key, mode, false), command) {
                        (Some(Meaning::Command(does)), Some(c)) => assert_eq!(does, c, "{name}"),
                        (Some(Meaning::Act(_)), None) => {}
                        // A pane's own meaning, which its own part of the help tells.
                        (Some(_), _) if find(key, mode).is_some_and(|b| b.when != When::Panes) => {}
                        (does, _) => panic!("{name} {what}: {does:?}"),
                    }
                }
            }
        }
        let mine = Keymap { vi: false, own: vec![(ch('x'), "step 5 event".into())] };
        let lines = mine.lines(When::Panes);
        assert!(lines.contains(&("x".into(), "your own", Some("step 5 event"))));
        assert!(!lines.iter().any(|l| l.1.starts_with("show only")));
    }

    #[test]
    fn a_pane_s_own_binding_wins() {
        let left = Key { code: KeyCode::Left, ctrl: false };
        let help = |mode| find(left, mode).map(|b| b.help);
        assert_eq!(help(Mode::Panes(Pane::Inspector)), Some("a bit to the left"));
        assert_eq!(help(Mode::Panes(Pane::Tx)), Some("to the TX ring"));
        assert_eq!(help(Mode::Popup), None);
    }
}
