//! What lies over the screen: the help and answers, what is searched for in them, what is copied
//! of them; and that what it covers can be told.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod terminal_support;
mod ui_support;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use dmadbg::engine::command::COMMANDS;
use dmadbg::ui::keymap::KEYMAP;
use dmadbg::ui::model::Popup;
use dmadbg::ui::update::{Effect, Message, update, update_all};
use dmadbg::ui::{Model, Pane, view};
use std::time::Duration;
use terminal_support::Terminal;
use ui_support::*;

const SIZES: [(u16, u16); 4] = [(80, 24), (120, 36), (160, 45), (200, 60)];

fn help(size: (u16, u16)) -> Model {
    let mut m = model(module("copy.bir"), "copy.bir", size);
    keys(&mut m, "?");
    assert!(matches!(m.popup, Some((Popup::Help, _))));
    m
}

/// The lines inside the frame, without it.
fn inside(m: &Model) -> Vec<String> {
    // The help is as wide as there is room for, up to 110 columns.
    let wide = usize::from(view::popup::wide(m.size.0));
    let left = (usize::from(m.size.0) - wide) / 2;
    let line = |l: &str| {
        let cells: Vec<char> = l.chars().collect();
        let ends = cells.get(left) == Some(&'│') && cells.get(left + wide - 1) == Some(&'│');
        let within: String = cells.get(left + 1..left + wide - 1)?.iter().collect();
        ends.then(|| within.trim_end().to_owned())
    };
    // Below the frame's first row.
    let all = text(&draw(m));
    let top = all.lines().position(|l| l.contains("── help ")).unwrap();
    all.lines().skip(top + 1).map_while(line).collect()
}

fn first_line(m: &Model) -> String {
    inside(m).first().cloned().unwrap_or_default().trim().to_owned()
}

fn pressed(m: &mut Model, code: KeyCode, modifiers: KeyModifiers) -> Option<String> {
    update(m, Message::Key(KeyEvent::new(code, modifiers))).into_iter().find_map(|e| match e {
        Effect::Copy(text) => Some(text),
        _ => None,
    })
}

const TEXT: (KeyCode, KeyModifiers) = (KeyCode::Char('y'), KeyModifiers::NONE);
const HEX: (KeyCode, KeyModifiers) = (KeyCode::Char('Y'), KeyModifiers::NONE);
const JSON: (KeyCode, KeyModifiers) = (KeyCode::Char('y'), KeyModifiers::CONTROL);
const SCRIPT: (KeyCode, KeyModifiers) = (KeyCode::Char('s'), KeyModifiers::CONTROL);

fn copied(m: &mut Model, key: (KeyCode, KeyModifiers)) -> Option<String> {
    pressed(m, key.0, key.1)
}

#[test]
fn typing_narrows_the_help_to_the_lines_that_have_it() {
    for size in SIZES {
        let mut m = help(size);
        let all = view::popup::lines(&m).len();
        keys(&mut m, "/door");
        let few = view::popup::lines(&m);
        assert!(few.len() < all / 4 && few.iter().any(|l| l.contains(":reverse-doorbell")));
        // Each part that has it keeps its heading, and what is left says where it stands.
        assert!(
            few.contains(&"keys: everywhere".to_owned()) && few.contains(&"commands: run".into())
        );
        keys(&mut m, " back");
        let fewer = view::popup::lines(&m);
        assert!(
            fewer.len() < few.len() && fewer.iter().any(|l| l.contains("back to the doorbell"))
        );
        let shown = text(&draw(&m));
        assert!(shown.contains("/door back  2 of "), "{shown}");
        // A word of the heading counts: all keys of a place.
        keys(&mut m, "^u");
        assert_eq!(view::popup::lines(&m).len(), all);
        keys(&mut m, "keys timeline");
        assert!(view::popup::lines(&m).iter().any(|l| l.contains("a column back")));
        keys(&mut m, "^uno such thing");
        assert_eq!(view::popup::lines(&m), ["nothing has that"]);
        // Backspace deletes, and on nothing ends the search.
        keys(&mut m, "^u^h");
        assert!(m.popup.is_some() && !m.sieve.is_open());
    }
}

#[test]
fn a_search_is_kept_shown_again_and_ends_with_its_text() {
    let mut m = help((120, 36));
    keys(&mut m, "/finish<Enter>");
    let found = view::popup::lines(&m);
    assert!(m.sieve.narrows() && !m.sieve.typing);
    // Keys are the text's again.
    keys(&mut m, "jk<PgDn>");
    assert_eq!(view::popup::lines(&m), found);
    keys(&mut m, "<Esc>");
    assert!(m.popup.is_some() && !m.sieve.is_open(), "first all is shown again");
    keys(&mut m, "<Esc>");
    assert!(m.popup.is_none());
    // While it is typed no key does anything else.
    keys(&mut m, "?/sq");
    assert_eq!((m.session.position(), m.sieve.input.value()), (0, "sq"));
    keys(&mut m, "<Enter>q");
    assert!(m.popup.is_none() && !m.sieve.is_open(), "`q` closes it in any case");
    // A key that the help has no use for does what it does without it.
    keys(&mut m, "?/x<Enter>e");
    assert!(m.popup.is_none() && !m.sieve.is_open());
    assert_eq!(m.session.position(), 1);
    // Another text is another search.
    keys(&mut m, "?/x<Enter>:info queue<Enter>");
    assert!(matches!(m.popup, Some((Popup::Output(_), _))) && !m.sieve.is_open());
}

#[test]
fn an_answer_is_searched_too() {
    let mut m = model(wrap64(), "wrap64.dma", (120, 36));
    keys(&mut m, "G:info queue<Enter>");
    let Some((Popup::Output(all), _)) = m.popup.clone() else { panic!() };
    keys(&mut m, "/tx");
    let few = view::popup::lines(&m);
    assert!(!few.is_empty() && few.len() < all.len());
    assert!(few.iter().all(|l| l.to_lowercase().contains("tx")));
    keys(&mut m, "<Enter>");
    // What is copied is what is shown, as it was said.
    let words = copied(&mut m, TEXT).unwrap();
    assert!(
        words.lines().all(|l| all.contains(&l.to_owned())) && words.lines().count() < all.len()
    );
    assert_eq!(copied(&mut m, SCRIPT).as_deref(), Some("info queue"));
    // Places are chosen, not searched.
    keys(&mut m, "q<Esc>J/");
    assert!(!m.sieve.is_open());
}

#[test]
fn tab_goes_from_part_to_part_of_the_help() {
    for size in SIZES {
        let mut m = help(size);
        let heads: Vec<String> =
            view::popup::lines(&m).into_iter().filter(|l| l.starts_with("keys: ")).collect();
        for head in &heads[1..6] {
            keys(&mut m, "<Tab>");
            assert_eq!(&first_line(&m), head, "{size:?}");
        }
        keys(&mut m, "<BackTab>");
        assert_eq!(first_line(&m), heads[4]);
        for _ in 0..60 {
            keys(&mut m, "<Tab>");
        }
        assert!(!text(&draw(&m)).contains("below"), "the end");
    }
}

/// Nothing of the help is cut where there are 80 columns: every key with what it does and its
/// command, every command with its arguments.
#[test]
fn the_help_is_told_in_full() {
    for size in SIZES {
        let mut m = help(size);
        let mut seen: Vec<String> = Vec::new();
        loop {
            seen.extend(inside(&m));
            let before = m.popup.clone();
            keys(&mut m, "<PgDn>");
            if m.popup == before {
                break;
            }
        }
        // A word that is longer than a line goes on in the next.
        let bare = |text: &str| text.split_whitespace().collect::<String>();
        let all = bare(&seen.join(" "));
        assert!(!seen.iter().any(|l| l.ends_with("..")), "{seen:#?}");
        for c in COMMANDS.iter().filter(|c| c.group != dmadbg::engine::command::Group::Learn) {
            assert!(all.contains(&bare(&format!("{} {}", c.name, c.usage))), "{size:?} {}", c.name);
            assert!(all.contains(&bare(c.summary)), "{size:?} {}", c.name);
        }
        for b in KEYMAP.iter().filter(|b| b.when != dmadbg::ui::keymap::When::Lesson) {
            assert!(all.contains(&bare(b.help)), "{size:?} {}", b.help);
        }
    }
}

/// What lies over the screen leaves the newest answer and the keys, so that one sees what a copy
/// came to.
#[test]
fn a_copy_of_what_lies_over_the_screen_is_seen() {
    for size in SIZES {
        let mut m = help(size);
        let words = copied(&mut m, TEXT).unwrap();
        assert!(words.lines().count() > 200 && words.contains(":reverse-doorbell"));
        assert!(text(&draw(&m)).contains("copied as text, "), "{size:?}");
        let lines: Vec<String> = serde_json::from_str(&copied(&mut m, JSON).unwrap()).unwrap();
        assert_eq!(lines.join("\n"), words);
        assert_eq!(copied(&mut m, SCRIPT).as_deref(), Some("help"));
        keys(&mut m, "/doorbell<Enter>");
        assert!(copied(&mut m, TEXT).unwrap().lines().count() < 40, "what is left out is not");
        let mut m = model(module("strided-load.bir"), "strided-load.bir", size);
        keys(&mut m, "dp");
        let drawn = copied(&mut m, TEXT).unwrap();
        assert!(drawn.starts_with("%I-1 Load, descriptor 1 of 1") && drawn.contains("1·1·1·1"));
        assert!(drawn.lines().all(|l| text(&draw(&m)).contains(l.trim())), "{drawn}");
        assert!(text(&draw(&m)).contains("copied as text, "), "{size:?}");
        let json: serde_json::Value = serde_json::from_str(&copied(&mut m, JSON).unwrap()).unwrap();
        let runs = json["sides"][0]["runs"].as_array().unwrap();
        // 64 elements of two bytes, none beside another.
        assert_eq!(runs.iter().map(|r| r["len"].as_u64().unwrap()).sum::<u64>(), 128);
        assert_eq!((runs.len(), json["descriptor"].as_u64()), (64, Some(1)));
        assert!(m.grid.is_some() && copied(&mut m, HEX).is_none());
    }
}

#[test]
fn the_search_at_its_sizes() {
    for size in [(80, 24), (120, 36)] {
        let mut m = help(size);
        keys(&mut m, "/break");
        insta::assert_snapshot!(format!("search_{}x{}", size.0, size.1), styled(&draw(&m)));
    }
    let mut m = plain(help((80, 24)));
    keys(&mut m, "/break<Enter>");
    insta::assert_snapshot!("search_kept_no_colour_80x24", styled(&draw(&m)));
}

/// Whatever is typed, at whatever size: it is drawn, and the cursor is on the screen.
#[test]
fn a_search_in_little_room_stands() {
    for size in [(1, 1), (2, 3), (7, 4), (20, 5), (39, 8), (80, 3)] {
        let mut m = model(one_copy(), "x", size);
        keys(&mut m, "?/");
        for typed in ["a", "é", "漢字", "\u{1b}[31m", "no such thing at all in a help"] {
            update_all(&mut m, Message::Paste(typed.into()));
            keys(&mut m, "<Tab><PgDn><Down>");
            let mut buf = draw(&m);
            let at = view::draw(&m, &mut buf);
            assert!(at.is_none_or(|p| p.x < size.0 && p.y < size.1), "{size:?} {at:?}");
        }
        keys(&mut m, "<Enter><Tab><BackTab>y<Esc><Esc>");
        assert!(m.popup.is_none());
    }
}

/// The real program: typed, narrowed, taken back, left.
#[test]
fn the_help_is_searched_in_a_terminal() {
    for env in [&[][..], &[("NO_COLOR", "1")]] {
        let mut t = Terminal::open_with(80, 24, env);
        t.keys("?");
        t.wait_for("/ searches");
        t.keys("/marker flip");
        t.wait_for("/marker flip  ");
        t.wait_for("why the marker does not flip");
        t.wait_gone("one descriptor pair forward");
        t.keys("\r");
        t.wait_for("/ searches on");
        t.keys("y");
        t.wait_for("copied as text, ");
        t.keys("\x1b");
        t.wait_for("one descriptor pair forward");
        // Esc and a key at once would be Alt and that key.
        std::thread::sleep(Duration::from_millis(300));
        t.keys("\x1b");
        t.wait_gone("Tab next part");
        std::thread::sleep(Duration::from_millis(300));
        t.keys("q");
        t.end();
    }
}

/// Addresses can be told from each other at 120 columns, however long their offsets are: the life
/// in words gives way, in both rings, and its glyph stays.
#[test]
fn long_offsets_leave_the_region_s_name_at_120_columns() {
    let words = |p, size| {
        let mut m = model(p, "x", size);
        m.focus = Pane::Tx;
        keys(&mut m, "d");
        text(&draw(&m))
    };
    let p = wrap64();
    let far = p.regions.iter().map(|r| r.len).max().unwrap();
    assert!(far > 1 << 20, "offsets of six digits and more");
    let shown = words(p, (120, 36));
    let heads: Vec<&str> = shown.lines().filter(|l| l.contains("p flags")).collect();
    assert!(!heads[0].contains("life"), "{shown}");
    assert!(shown.contains("hbm+0xb4000") && shown.contains("◦"), "{shown}");
    // Where it all fits, both say it in words.
    let wide = words(wrap64(), (160, 45));
    assert_eq!(wide.lines().find(|l| l.contains("p flags")).unwrap().matches("life").count(), 2);
}
