//! A walk through every pane of every sample program at the sizes that people have: what holds of
//! each line there, whatever it shows.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod ui_support;

use dmadbg::engine::session::Session;
use dmadbg::load::SourceText;
use dmadbg::load::asm::assemble;
use dmadbg::udma::Dir;
use dmadbg::ui::folding::RingLine;
use dmadbg::ui::keymap::{Key, parse_keys};
use dmadbg::ui::layout::Areas;
use dmadbg::ui::rows::{DOTS, Row};
use dmadbg::ui::update::Message;
use dmadbg::ui::view::pane_rows;
use dmadbg::ui::{Model, Pane, Theme, Title};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::sync::Arc;
use ui_support::*;

/// Sizes of terminals, and one that nobody has in mind.
const SIZES: [(u16, u16); 4] = [(80, 24), (100, 30), (120, 36), (97, 37)];

/// A sample program on a screen.
fn sample(name: &str, size: (u16, u16)) -> Model {
    if name.ends_with(".bir") {
        return model(module(name), name, size);
    }
    let path = format!("{}/sample-programs/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let a = assemble(&text).unwrap();
    let source = Some(SourceText { text: text.into(), lines: a.lines });
    let title = Title { file: name.into(), source, ..Title::default() };
    Model::new(Session::new(Arc::new(a.program)), title, Theme::default(), size)
}

/// Every sample program, at its start, after two doorbells, and at its end; some of its panes.
fn walk(some: fn(Pane) -> bool, mut each: impl FnMut(&str, &mut Model)) {
    let folder = format!("{}/sample-programs", env!("CARGO_MANIFEST_DIR"));
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|f| f.unwrap().file_name().into_string().unwrap())
        .filter(|n| n.ends_with(".dma") || n.ends_with(".bir"))
        .collect();
    names.sort();
    assert!(names.len() > 20);
    for name in names {
        let mut m = sample(&name, SIZES[0]);
        for typed in ["", "dd", "G"] {
            keys(&mut m, typed);
            for size in SIZES {
                resize(&mut m, size);
                for pane in panes(&m).into_iter().filter(|p| some(*p)) {
                    m.focus = pane;
                    m.prepare();
                    each(&format!("{name} {typed} {size:?} {pane:?}"), &mut m);
                }
            }
        }
    }
}

fn panes(m: &Model) -> Vec<Pane> {
    let texts: &[Pane] = match (m.has_module(), m.has_assembly()) {
        (true, _) => &[Pane::Source, Pane::Passes],
        (_, true) => &[Pane::Source],
        _ => &[],
    };
    Pane::ALL.into_iter().chain(texts.iter().copied()).collect()
}

fn resize(m: &mut Model, (w, h): (u16, u16)) {
    dmadbg::ui::update::update(m, Message::Resize(w, h));
}

fn line(buf: &Buffer, area: Rect, y: u16) -> String {
    (area.left()..area.right()).map(|x| buf[(x, y)].symbol()).collect()
}

/// What a row says, without the lines that are drawn behind it.
fn says(row: &Row) -> String {
    row.to_text().trim_end_matches([' ', '─']).to_owned()
}

/// A line that does not fit ends in dots, wherever it is: nothing is cut so that it reads as if it
/// were whole, no number above all. And the keys that are pressed most are told everywhere.
#[test]
fn what_does_not_fit_says_so_and_the_most_used_keys_are_told() {
    walk(
        |_| true,
        |at, m| {
            let buf = draw(m);
            most_used_keys(at, m, &buf);
            for (pane, area) in m.derived.areas.panes.clone() {
                let inner = Areas::inner(area);
                let rows = pane_rows(m, pane, inner.width, inner.height);
                for (row, y) in rows.iter().zip(inner.top()..inner.bottom()) {
                    let drawn = line(&buf, inner, y);
                    let whole = says(row);
                    let fits = whole.chars().count() <= usize::from(inner.width);
                    let drawn = drawn.trim_end_matches([' ', '─']);
                    match fits {
                        true => assert_eq!(drawn, whole, "{at}: {pane:?}"),
                        false => assert!(drawn.ends_with(DOTS), "{at}: {pane:?}: {drawn}|{whole}"),
                    }
                }
            }
        },
    );
}

/// The keys that are pressed most are told, and every key that is told is bound.
fn most_used_keys(at: &str, m: &Model, buf: &Buffer) {
    let told = line(buf, m.derived.areas.hints, m.derived.areas.hints.y);
    for key in ["s step", "f finish", "c continue", "? help", "q quit", ": command"] {
        assert!(told.contains(&format!(" {key} ")) || told.ends_with(key), "{at}: {told}");
    }
    let mode = dmadbg::ui::update::mode(m);
    for (key, _) in told.split("  ").filter_map(|k| k.trim().split_once(' ')) {
        let named = if key.chars().count() > 1 { format!("<{key}>") } else { key.to_owned() };
        let named = if key == "<" { "<Less>".to_owned() } else { named };
        let event = parse_keys(&named).unwrap_or_else(|e| panic!("{at}: {key}: {e}"))[0];
        assert!(m.keys.find(Key::of(&event), mode, false).is_some(), "{at}: {key}");
    }
}

/// Where something lies over the screen the last line tells its keys, not those of the panes.
#[test]
fn what_lies_over_the_screen_tells_its_own_keys() {
    for size in SIZES {
        for (typed, keys_told) in [
            ("?", "Esc close  / search  Tab part"),
            ("?/step", "Enter keep  Esc all"),
            ("^p", "Enter do it  Tab write it  Esc close"),
            ("p", "Esc close  n next  Tab side"),
        ] {
            let mut m = sample("gather.bir", size);
            keys(&mut m, "dd");
            keys(&mut m, typed);
            let buf = draw(&m);
            let told = line(&buf, m.derived.areas.hints, m.derived.areas.hints.y);
            assert!(told.trim().starts_with(keys_told), "{typed}: {told}");
            // Nothing of a word or two is left beside it.
            let over = line(&buf, buf.area, 8);
            let wide = over.trim_matches(['─', '│', ' ']).len();
            assert!(wide > 0, "{typed}");
        }
    }
}

/// The names of an instruction's operands are in sight in each line of it, in both texts.
#[test]
fn the_operands_of_each_instruction_are_in_sight() {
    let mut looked_at = 0;
    walk(
        |p| p == Pane::Source,
        |at, m| {
            for _ in 0..6 {
                keys(m, ">");
                let Some(listing) = m.listing() else { return };
                let area = Areas::inner(m.derived.areas.pane(Pane::Source).unwrap());
                let rows = pane_rows(m, Pane::Source, area.width, area.height);
                for row in &rows {
                    let hit = row.0.iter().find_map(|p| match p.hit {
                        Some(dmadbg::ui::rows::Hit::Line(n)) => Some(n),
                        _ => None,
                    });
                    let Some(text) = hit.and_then(|n| listing.lines.get(n)).map(|l| l.text.clone())
                    else {
                        continue;
                    };
                    let shown = row.to_text();
                    for list in [" ins(", " outs("] {
                        let Some((_, rest)) = text.split_once(list) else { continue };
                        let name: String =
                            rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                        if name.is_empty() || name.len() > 5 {
                            continue;
                        }
                        looked_at += 1;
                        let (_, after) =
                            shown.split_once(list).unwrap_or_else(|| panic!("{at}: {shown}"));
                        assert!(after.starts_with(&name), "{at}: {shown}");
                    }
                }
            }
        },
    );
    assert!(looked_at > 500, "{looked_at}");
}

/// An address of a ring is there with its region's whole name, or with dots for what has no room.
#[test]
fn addresses_are_whole_or_show_that_they_are_not() {
    for (name, whole) in [
        ("double-buffer.dma", ["buffer+0x11170", "hbm+0x11170"]),
        ("wrap.dma", ["buffer+0x10000", "hbm+0x10000"]),
        ("three-queues.dma", ["buffer+0x10000", "hbm+0x30000"]),
    ] {
        for size in SIZES {
            let mut m = sample(name, size);
            keys(&mut m, "dd");
            m.focus = Pane::Tx;
            m.prepare();
            let seen = text(&draw(&m));
            assert!(whole.iter().all(|w| seen.contains(w)), "{name} {size:?}\n{seen}");
        }
    }
    walk(Pane::is_ring, |at, m| {
        let regions: Vec<String> =
            m.session.machine().memory.regions().iter().map(|r| r.name.clone()).collect();
        let area = m.derived.areas.pane(m.focus).or(m.derived.areas.pane(Pane::Tx)).unwrap();
        let inner = Areas::inner(area);
        for row in pane_rows(m, m.focus, inner.width, inner.height) {
            use dmadbg::ui::rows::Hit;
            if !row.0.iter().any(|p| matches!(p.hit, Some(Hit::Slot(..)))) {
                continue;
            }
            let shown = row.to_text();
            for word in shown.split(' ').filter(|w| w.contains("+0x")) {
                let (name, offset) = word.rsplit_once('+').unwrap();
                let known = regions.iter().any(|r| r == name) || name.starts_with('$');
                assert!(known || name.ends_with(DOTS), "{at}: {shown}");
                assert!(u64::from_str_radix(&offset[2..], 16).is_ok(), "{at}: {shown}");
            }
        }
    });
}

/// Where there is room for it at all the title of a ring tells how many slots are free, locked
/// or not.
#[test]
fn the_title_of_a_ring_tells_its_free_slots() {
    let mut told = 0;
    walk(Pane::is_ring, |at, m| {
        let id = m.queue().unwrap();
        let free = m.session.machine().queue(id).and_then(|q| q.free(m.selection.dir));
        for _ in 0..2 {
            keys(m, "O");
            let buf = draw(m);
            let Some(area) = m.derived.areas.pane(m.focus) else { continue };
            let title = line(&buf, area, area.y);
            assert_eq!(title.contains("unlocked"), m.is_unlocked(), "{at}: {title}");
            if let Some(n) = free {
                assert!(title.contains(&format!("{n} free")), "{at}: {title}");
                told += 1;
            }
        }
    });
    assert!(told > 100, "{told}");
}

/// Whatever part of a ring is in sight, a fold tells of all slots that are folded there.
#[test]
fn a_fold_is_the_same_whatever_is_in_sight() {
    let folds = |m: &Model, dir| -> Vec<(u64, u64)> {
        let of = |l: &RingLine| match l {
            RingLine::Fold(f) => Some((f.first, f.end())),
            _ => None,
        };
        m.lines_of(dir).iter().filter_map(of).collect()
    };
    let mut first_is_fold = 0;
    let some = ["wrap.dma", "memset.dma", "double-buffer.dma", "three-queues.dma"].map(Some);
    for name in some.into_iter().chain([None]) {
        for typed in ["dd", "dddd", "dddddfff", "G", "dddddO", "GO"] {
            let mut m = match name {
                Some(name) => sample(name, (80, 24)),
                None => model(wrap64(), "wrap64", (80, 24)),
            };
            keys(&mut m, typed);
            // So few rows that not all lines fit.
            resize(&mut m, (80, 12));
            // From the end upwards into each fold, and some way down again.
            keys(&mut m, "<End>");
            for k in 0..140 {
                keys(&mut m, if k % 20 < 12 { "<Up>" } else { "<Down>" });
                let mut tall = m.clone();
                resize(&mut tall, (80, 200));
                for dir in Dir::BOTH {
                    let all = folds(&tall, dir);
                    let seen = folds(&m, dir);
                    let first = m.lines_of(dir).first().map(|l| l.first());
                    first_is_fold +=
                        usize::from(first > Some(0) && seen.first().map(|f| f.0) == first);
                    assert!(seen.iter().all(|f| all.contains(f)), "{name:?} {k}: {seen:?} {all:?}");
                }
            }
        }
    }
    assert!(first_is_fold > 20, "{first_is_fold}");
}

/// The lanes of the timeline as they are copied: all of them, as they are drawn.
#[test]
fn the_lanes_are_copied_as_they_are_drawn() {
    use dmadbg::ui::copy::CopyForm;
    for size in SIZES {
        let mut m = sample("three-queues.dma", size);
        keys(&mut m, "Gdd");
        m.focus = Pane::Timeline;
        m.prepare();
        let text = m.copied(CopyForm::Text).unwrap();
        let json: serde_json::Value =
            serde_json::from_str(&m.copied(CopyForm::Json).unwrap()).unwrap();
        let lanes = json["lanes"].as_array().unwrap();
        assert_eq!(lanes.len(), 7, "the host, and three queues with two rings each");
        for lane in lanes {
            let name = lane["lane"].as_str().unwrap();
            let short = name.rsplit(' ').next().unwrap();
            assert!(text.lines().any(|l| l.contains(short)), "{name}: {text}");
            let counts = lane["events"].as_array().unwrap();
            assert_eq!(counts.len(), json["columns"].as_array().unwrap().len());
        }
        // Each event of the run is somebody's, and in one column.
        let sum: u64 = lanes
            .iter()
            .filter(|l| !l["lane"].as_str().unwrap().ends_with("rx"))
            .flat_map(|l| l["events"].as_array().unwrap())
            .map(|n| n.as_u64().unwrap())
            .sum();
        assert!(sum > 0 && sum <= m.session.end().unwrap(), "{sum}");
        // What is drawn of a lane stands in the copy, too.
        let area = Areas::inner(m.derived.areas.pane(Pane::Timeline).unwrap());
        let buf = draw(&m);
        let drawn = line(&buf, area, area.y + 1);
        assert!(text.lines().any(|l| l.trim_end() == drawn.trim_end()), "{drawn}\n{text}");
        assert_eq!(m.copied(CopyForm::Hex), None);
        assert_eq!(m.copied(CopyForm::Script), Some(format!("goto {}", m.session.position())));
    }
}

/// The titles of panes say how much there is above what is shown, and below.
#[test]
fn what_is_above_and_below_is_counted() {
    let mut m = sample("ring-full.dma", (80, 24));
    keys(&mut m, "Gz<Home>");
    let title = |m: &Model| {
        let area = m.derived.areas.pane(m.focus).unwrap();
        line(&draw(m), area, area.y)
    };
    assert!(title(&m).contains(" 21↓ ─"), "{}", title(&m));
    keys(&mut m, "<End>");
    assert!(title(&m).contains(" 21↑ ─"), "{}", title(&m));
    m.theme.ascii = true;
    assert!(title(&m).contains(" 21^ -"), "{}", title(&m));
}
