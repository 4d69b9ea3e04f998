//! What stands where there is little to show or little room for it: empty slots, rings without
//! their other direction, a flip told on a small screen, lines that are not said twice.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod ui_support;

use dmadbg::engine::program::Blob;
use dmadbg::engine::ring::Life;
use dmadbg::engine::session::Session;
use dmadbg::load::SourceText;
use dmadbg::load::asm::assemble;
use dmadbg::udma::{Desc, Dir};
use dmadbg::ui::layout::Areas;
use dmadbg::ui::view::pane_rows;
use dmadbg::ui::{Model, Pane, Theme, Title};
use std::collections::BTreeSet;
use std::sync::Arc;
use ui_support::*;

const SIZES: [(u16, u16); 9] = [
    (80, 24),
    (80, 36),
    (100, 40),
    (120, 30),
    (120, 36),
    (160, 45),
    (180, 44),
    (200, 60),
    (250, 80),
];

/// A sample program on a screen.
fn sample(name: &str, size: (u16, u16), typed: &str) -> Model {
    let mut m = match name.ends_with(".bir") {
        true => model(module(name), name, size),
        false => {
            let text = std::fs::read_to_string(format!("sample-programs/{name}")).unwrap();
            let a = assemble(&text).unwrap();
            let source = Some(SourceText { text: text.into(), lines: a.lines });
            let title = Title { file: name.into(), source, ..Title::default() };
            Model::new(Session::new(Arc::new(a.program)), title, Theme::default(), size)
        }
    };
    keys(&mut m, typed);
    m
}

/// The lines of a pane as they are shown.
fn shown(m: &Model, pane: Pane) -> Vec<String> {
    let area = Areas::inner(m.derived.areas.pane(pane).unwrap());
    let rows = pane_rows(m, pane, area.width, area.height);
    let cut = rows.into_iter().take(usize::from(area.height));
    cut.map(|r| r.to_text().trim_end().to_owned()).collect()
}

/// Whatever the bit and the screen: all that is told of a flip is in sight, or a key away.
#[test]
fn all_that_a_flip_does_is_in_sight_or_can_be_scrolled_to() {
    for size in SIZES {
        let mut m = sample("copy-4k.dma", size, "d");
        m.focus = Pane::Inspector;
        m.prepare();
        for (word, bits) in [(0, 32u8), (1, 32), (2, 64)] {
            for bit in (0..bits).step_by(if word == 2 { 9 } else { 3 }) {
                (m.selection.word, m.selection.bit) = (word, bit);
                m.prepare();
                let width = Areas::inner(m.derived.areas.pane(Pane::Inspector).unwrap()).width;
                let all = pane_rows(&m, Pane::Inspector, width, 300);
                let all: Vec<String> = all.iter().map(|r| r.to_text().trim_end().into()).collect();
                let from = all.iter().position(|l| l.starts_with("a flip ")).unwrap();
                // What the operation is may be left out: it stands beside its word, too.
                let to = all.iter().position(|l| l.starts_with("operation ")).unwrap_or(all.len());
                assert!(all.iter().any(|l| l.starts_with("run ")), "{all:#?}");
                let mut seen: BTreeSet<String> = BTreeSet::new();
                let mut pages = 1;
                loop {
                    let now = shown(&m, Pane::Inspector);
                    let more = now.last().unwrap().ends_with("below: PgDn");
                    seen.extend(now);
                    if !more {
                        break;
                    }
                    let top = m.inspector_top;
                    keys(&mut m, "<PgDn>");
                    assert!(m.inspector_top > top, "{size:?} {word} {bit}");
                    pages += 1;
                }
                // A small screen takes two looks, one with all panes none but the first.
                let most = if size.0 < 200 { 2 } else { 1 };
                assert!(pages <= most, "{size:?} word {word} bit {bit}: {pages} pages\n{all:#?}");
                let missing: Vec<&String> =
                    all[from..to].iter().chain(&all[..1]).filter(|l| !seen.contains(*l)).collect();
                assert!(missing.is_empty(), "{size:?} word {word} bit {bit}: {missing:#?}");
                keys(&mut m, "<PgUp><PgUp>");
                assert_eq!(m.inspector_top, 0);
            }
        }
    }
}

/// With the focus elsewhere all rulers stand, and the wheel still moves over the words.
#[test]
fn what_is_scrolled_begins_anew_with_another_bit() {
    let mut m = sample("copy-4k.dma", (120, 30), "d");
    m.focus = Pane::Inspector;
    (m.selection.word, m.selection.bit) = (1, 20);
    m.prepare();
    keys(&mut m, "<PgDn>");
    assert!(m.inspector_top > 0, "{}", text(&draw(&m)));
    keys(&mut m, "l");
    assert_eq!(m.inspector_top, 0);
}

/// A program that was not begun fills the smallest screen: with what is to come.
#[test]
fn at_event_0_the_smallest_screen_tells_what_is_to_come() {
    let dir = std::fs::read_dir("sample-programs").unwrap();
    let mut names: Vec<String> =
        dir.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|n| n.ends_with(".dma"));
    names.sort();
    assert!(names.len() > 8);
    for name in names {
        let m = sample(&name, (80, 24), "");
        assert_eq!(m.session.position(), 0);
        let screen = text(&draw(&m));
        let empty = screen.lines().filter(|l| l.trim().is_empty()).count();
        assert!(empty <= 4, "{name}: {empty} rows are empty\n{screen}");
        assert!(screen.contains("─ events ─") && screen.contains("call init"), "{screen}");
        assert!(screen.contains("filled "), "{name}\n{screen}");
    }
}

/// What an empty slot is said to be filled by does fill it.
#[test]
fn an_empty_slot_tells_what_fills_it() {
    for name in ["copy-4k.dma", "wrap.dma", "three-queues.dma", "copy.bir"] {
        let mut m = sample(name, (160, 45), "");
        m.focus = Pane::Tx;
        keys(&mut m, "<Home>");
        let line =
            |m: &Model| shown(m, Pane::Inspector).into_iter().find(|l| l.starts_with("filled "));
        let told = line(&m).unwrap_or_else(|| panic!("{name}\n{}", text(&draw(&m))));
        let n = told.strip_prefix("filled at event ").unwrap();
        let n: u64 = n.split_whitespace().next().unwrap().parse().unwrap();
        let slot = |m: &mut Model| {
            m.selection.slot = 0;
            m.selection.dir = Dir::Tx;
            m.desc().unwrap().0
        };
        keys(&mut m, &format!(":goto {}<Enter>", n - 1));
        assert!(slot(&mut m).is_zero(), "{name}");
        keys(&mut m, "e");
        assert!(!slot(&mut m).is_zero(), "{name}");
        assert_eq!(line(&m), None, "{name}");
    }
    // The last slot of a ring that is not gone round.
    let mut m = sample("copy-4k.dma", (120, 36), "");
    keys(&mut m, "<End>");
    let all = shown(&m, Pane::Inspector);
    assert!(all.iter().any(|l| l == "filled never, from here on"), "{all:#?}");
}

/// Events that stand below the rings are clicked as in their pane.
#[test]
fn events_below_the_rings_are_clicked() {
    use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
    let mut m = sample("copy-4k.dma", (80, 24), "");
    let screen = text(&draw(&m));
    let row = screen.lines().position(|l| l.contains(" 4  host")).unwrap() as u16;
    let kind = MouseEventKind::Down(MouseButton::Left);
    let click = MouseEvent { kind, column: 30, row, modifiers: KeyModifiers::NONE };
    for _ in 0..2 {
        dmadbg::ui::update::update_all(&mut m, dmadbg::ui::update::Message::Mouse(click));
    }
    assert_eq!(m.session.position(), 4);
}

/// A ring without its other direction has the room of both, and no life.
#[test]
fn a_lone_ring_is_not_run_and_has_the_room() {
    for size in SIZES {
        for dir in Dir::BOTH {
            let mut p = one_direction();
            let word1 = if dir == Dir::Tx { 0x0108_0003 } else { 0 };
            let one = Desc { len_ctrl: 0x0d00_0040, word1, ptr: 0x5000_0123_4560 };
            let bytes = Blob::from_vec(one.to_bytes().to_vec());
            p.contents.last_mut().unwrap().bytes = bytes;
            if dir == Dir::Rx {
                p.queues[0].rx = p.queues[0].tx.take();
            }
            let m = model(p, "ring.bin", size);
            let screen = text(&draw(&m));
            assert!(!screen.contains("stale"), "{screen}");
            assert!(screen.contains("not run"), "{screen}");
            // No key is offered that has nothing to do.
            let offered = screen.lines().last().unwrap();
            assert!(!offered.contains("step") && offered.contains("? help"), "{offered}");
            // Addresses in full.
            let pane = if dir == Dir::Tx { Pane::Tx } else { Pane::Rx };
            let ring = shown(&m, pane).join("\n");
            assert!(ring.contains("0x500001234560"), "{size:?} {dir}\n{screen}");
        }
    }
    let mut m = model(one_direction(), "ring.bin", (120, 36));
    keys(&mut m, ":explain tx[0]<Enter>");
    assert!(text(&draw(&m)).contains("nothing is known of its life"), "{}", text(&draw(&m)));
}

/// Where text and passes stand beside one another, no instruction is written in full twice.
#[test]
fn the_line_with_the_cursor_is_told_once() {
    for name in ["gather.bir", "semaphores.bir", "copy.bir", "loop.bir"] {
        for size in [(200, 60), (250, 80)] {
            let mut m = sample(name, size, "");
            for _ in 0..6 {
                let n = m.listing().unwrap().lines.len();
                for cursor in 0..n {
                    m.source.cursor = cursor;
                    m.prepare();
                    let line = &m.listing().unwrap().lines[cursor].text;
                    // In full it is broken over lines: its end stands by itself.
                    let end: String = line.trim().chars().rev().take(12).collect();
                    let end: String = end.chars().rev().collect();
                    if line.trim().len() < 90 {
                        continue;
                    }
                    let before = shown(&m, Pane::Source);
                    let passes = shown(&m, Pane::Passes);
                    let times = |rows: &[String]| {
                        rows.iter().filter(|l| l.ends_with(&end) && l.len() < 70).count()
                    };
                    assert!(times(&before) <= 1);
                    let changed = passes.iter().any(|l| l.contains("─ changed"));
                    assert!(
                        times(&passes) == 0 || changed,
                        "{name} {size:?} {cursor}\n{}",
                        text(&draw(&m))
                    );
                }
                keys(&mut m, ">");
            }
        }
    }
}

/// `b` on whatever line of whatever stage sets a breakpoint at which the run stops, takes it away
/// again, or says why there is none.
#[test]
fn b_works_on_each_line_or_says_why_not() {
    let mut added = 0;
    for name in ["copy.bir", "semaphores.bir", "lowered-loop.bir", "gather.bir"] {
        let mut m = sample(name, (160, 45), "");
        for _ in 0..6 {
            let n = m.listing().unwrap().lines.len();
            for cursor in 0..n {
                m.focus = Pane::Source;
                m.source.cursor = cursor;
                m.prepare();
                let of_lowering = m.added_here().is_some();
                keys(&mut m, "b");
                let said = m.said.as_ref().unwrap().text.clone();
                if m.session.stops().is_empty() {
                    assert!(
                        said.contains("no instruction") || said.contains("not known"),
                        "{said}"
                    );
                    continue;
                }
                if of_lowering {
                    added += 1;
                    let at = m.session.position();
                    keys(&mut m, "gc");
                    assert!(text(&draw(&m)).contains("breakpoint"), "{name} {cursor}");
                    keys(&mut m, &format!(":goto {at}<Enter>"));
                    m.source.cursor = cursor;
                    m.focus = Pane::Source;
                    m.prepare();
                }
                keys(&mut m, "b");
                assert!(m.session.stops().is_empty(), "{name} {cursor}: {said}");
            }
            keys(&mut m, ">");
        }
    }
    assert!(added > 0, "no line that lowering added was met");
}

/// A fold names its slots, the same on both rings.
#[test]
fn a_fold_names_its_slots_alike_on_both_rings() {
    for (name, typed) in [("semaphores.bir", "df"), ("wrap.dma", "ffd"), ("copy-4k.dma", "G")] {
        for size in [(160, 45), (200, 60), (250, 80)] {
            let mut m = sample(name, size, typed);
            m.focus = Pane::Tx;
            m.prepare();
            let range = |l: &String| -> Option<String> {
                let at = l.find(" to ")?;
                let from = l[..at].rsplit(' ').next()?;
                let to = l[at + 4..].split(' ').next()?;
                Some(format!("{from} to {to}"))
            };
            let of = |pane| -> Vec<(usize, String)> {
                let rows = shown(&m, pane);
                rows.iter().enumerate().filter_map(|(i, l)| Some((i, range(l)?))).collect()
            };
            let (tx, rx) = (of(Pane::Tx), of(Pane::Rx));
            assert!(!tx.is_empty(), "{name} {size:?}\n{}", text(&draw(&m)));
            assert_eq!(tx, rx, "{name} {size:?}\n{}", text(&draw(&m)));
        }
    }
    let life = sample("copy-4k.dma", (120, 36), "").slot(Dir::Tx, 3).unwrap().1;
    assert_eq!(life, Life::NeverWritten);
}

/// Whatever bit is selected: its digit on the ruler, its hexadecimal digit, its byte and the name of
/// its field are lit, and nothing else; and a click on any of them leads back to it.
#[test]
fn bit_digit_byte_and_field_light_one_another() {
    use dmadbg::udma::field::at_bit;
    use dmadbg::ui::rows::Hit;
    use ratatui::style::Modifier;
    let mut m = sample("copy-4k.dma", (160, 45), "d");
    for dir in Dir::BOTH {
        (m.selection.dir, m.focus) = (dir, if dir == Dir::Tx { Pane::Tx } else { Pane::Rx });
        m.prepare();
        let desc = m.desc().unwrap().0;
        for (k, word) in m.words().iter().enumerate() {
            for bit in 0..word.bits() {
                (m.selection.word, m.selection.bit) = (k, bit);
                m.prepare();
                let rows = pane_rows(&m, Pane::Inspector, 120, 60);
                let all = rows.iter().flat_map(|r| &r.0);
                let lit: Vec<_> =
                    all.filter(|p| p.style.add_modifier.contains(Modifier::REVERSED)).collect();
                let texts: Vec<&str> = lit.iter().map(|p| p.text.as_str()).collect();
                let byte = desc.to_bytes()[word.offset() + usize::from(bit / 8)];
                let digit = format!("{:x}", desc.word(*word) >> (bit / 4 * 4) & 15);
                let mut expected = vec![format!("{byte:02x}"), digit];
                let field = at_bit(desc.view(dir), *word, bit).unwrap();
                // A word that is one field has no ruler.
                if u16::from(field.width) < u16::from(word.bits()) {
                    expected.push((desc.word(*word) >> bit & 1).to_string());
                    expected.push(field.label.to_owned());
                }
                assert_eq!(texts, expected, "{dir} {word:?} {bit}");
                let first = |h: &Option<Hit>| matches!(h, Some(Hit::Bit(..)));
                assert!(lit.iter().all(|p| first(&p.hit)), "{dir} {word:?} {bit}");
                for (p, size) in lit.iter().zip([8, 4, 1, 0]) {
                    let Some(Hit::Bit(w, b)) = p.hit else { unreachable!() };
                    let leads = match size {
                        0 => (field.lo..=field.hi()).contains(&b),
                        n => b / n == bit / n,
                    };
                    assert!(w == *word && leads, "{dir} {word:?} {bit}: {p:?}");
                }
            }
        }
    }
}
