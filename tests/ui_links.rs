//! What belongs to what is selected: every cell of the table of the documentation, on the screen;
//! the byte with the cursor; what a flip of a bit would do against what it does.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod ui_support;

use dmadbg::check::flip::{Bit, flip};
use dmadbg::engine::program::Program;
use dmadbg::engine::ring::{EventKind, Machine};
use dmadbg::engine::session::{Session, describe_event};
use dmadbg::load::SourceText;
use dmadbg::load::asm::assemble;
use dmadbg::udma::{Dir, Word};
use dmadbg::ui::links::{LINK_PANES, LINKS, Subject, markdown};
use dmadbg::ui::ties::slots_of;
use dmadbg::ui::{Model, Pane, Theme, Title};
use ratatui::style::Modifier;
use std::collections::BTreeSet;
use std::sync::Arc;
use ui_support::*;

const SIZES: [(u16, u16); 4] = [(80, 24), (120, 36), (160, 45), (200, 60)];

fn sample(name: &str, size: (u16, u16), typed: &str) -> Model {
    let text = std::fs::read_to_string(format!("sample-programs/{name}")).unwrap();
    let a = assemble(&text).unwrap();
    let source = Some(SourceText { text: text.into(), lines: a.lines });
    let title = Title { file: name.into(), source, ..Title::default() };
    let mut m = Model::new(Session::new(Arc::new(a.program)), title, Theme::default(), size);
    keys(&mut m, typed);
    m
}

/// A pane alone, its lines without the one of the title, from the first column of the pane on.
fn lines(m: &Model, which: Pane) -> Vec<String> {
    let shown = text(&pane(m, which, 150, 50));
    let cut = |l: &str| l.chars().skip(2).collect::<String>();
    shown.lines().skip(1).map(cut).collect()
}

/// Lines of the assembly or the module that are shown, by their number from 0. A line of a module
/// shows the number that it has in the file, if any; which one it is is told by its row.
fn shown_lines(m: &Model) -> Vec<(usize, String)> {
    let all = lines(m, Pane::Source);
    if m.listing().is_none() {
        let number = |l: &String| {
            let words = l.trim_start_matches(|c: char| !c.is_ascii_digit());
            words.split_whitespace().next()?.parse::<usize>().ok().map(|n| n - 1)
        };
        return all.into_iter().filter_map(|l| Some((number(&l)?, l))).collect();
    }
    let parts = dmadbg::ui::source::split(all.len(), m.passes_stand());
    let rows = all.into_iter().skip(parts.stages).take(parts.text);
    rows.enumerate().map(|(n, l)| (m.source.top + n, l)).collect()
}

/// Those with the mark.
fn marked_lines(m: &Model) -> BTreeSet<usize> {
    let marked = |l: &str| l.chars().take(3).any(|c| matches!(c, '◆' | '◇'));
    shown_lines(m).into_iter().filter(|(_, l)| marked(l)).map(|(n, _)| n).collect()
}

/// Events in sight with the mark.
fn marked_events(m: &Model) -> BTreeSet<u64> {
    let all = lines(m, Pane::Events);
    let here = m.session.position();
    let number = |l: &String| {
        let at = l.trim_start_matches(['◆', '▶', ' ']);
        at.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u64>().ok()
    };
    // The one at the position has the cursor in the place of the mark.
    let of_here = m.derived.links.events.contains(&here).then_some(here);
    let marked = all.iter().filter(|l| l.starts_with('◆')).filter_map(number);
    let sight = |n: &u64| m.derived.events.iter().any(|e| e.n == *n);
    marked.chain(of_here.filter(sight)).collect()
}

/// Slots of a ring in sight with the mark.
fn marked_slots(m: &Model, dir: Dir) -> BTreeSet<u64> {
    let which = if dir == Dir::Tx { Pane::Tx } else { Pane::Rx };
    let all = lines(m, which);
    let number = |l: &String| {
        let at = l.trim_start_matches(|c: char| !c.is_ascii_digit());
        at.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u64>().ok()
    };
    let marked = all.iter().filter(|l| l.chars().take(12).any(|c| c == '◆'));
    marked.filter_map(number).collect()
}

/// Findings with the mark.
fn marked_findings(m: &Model) -> Vec<String> {
    let all = lines(m, Pane::Checks);
    all.into_iter().filter(|l| l.chars().nth(1) == Some('◆')).collect()
}

/// Bytes in brackets, by their address.
fn bracketed(m: &Model) -> BTreeSet<u64> {
    let (at, _) = m.target_of(m.selection.dir, m.selection.slot).unwrap();
    let mut out = BTreeSet::new();
    for l in lines(m, Pane::Memory) {
        let Some(offset) = l.strip_prefix('+').and_then(|l| l.split([' ', '[']).next()) else {
            continue;
        };
        let from = u64::from_str_radix(offset, 16).unwrap();
        let cells: Vec<char> = l.chars().collect();
        let mut inside = false;
        for i in 0..16 {
            match cells[7 + 3 * i] {
                '[' => inside = true,
                ']' => inside = false,
                _ => {}
            }
            if inside {
                out.insert(at + from + i as u64);
            }
        }
    }
    out
}

/// Events in sight of which something is true.
fn events_where(m: &Model, is: impl Fn(&str, &EventKind) -> bool) -> BTreeSet<u64> {
    let p = m.session.program();
    let all = m.derived.events.iter();
    all.filter(|e| is(&describe_event(p, e), &e.kind)).map(|e| e.n).collect()
}

/// A slot of a data descriptor in a batch that is half done.
fn slot() -> Model {
    let mut m = sample("wrap.dma", (200, 60), "zffdss");
    m.focus = Pane::Tx;
    keys(&mut m, "<Up><Down>");
    assert_eq!(m.subject, Subject::Slot);
    m
}

/// The line of an instruction of a module, which has run.
fn instruction() -> Model {
    let mut m = model(module("gather.bir"), "gather.bir", (200, 60));
    keys(&mut m, "Gz:pass loaded<Enter>");
    let at = m.listing().unwrap().lines.iter().rposition(|l| l.text.contains("= DMACopy")).unwrap();
    on_line(&mut m, at);
    m
}

fn on_line(m: &mut Model, at: usize) {
    m.focus = Pane::Source;
    m.source.cursor = at - 1;
    m.assembly.cursor = at - 1;
    keys(m, "<Down>");
    assert_eq!(m.subject, Subject::Line);
}

/// The line of a descriptor of a block.
fn block() -> Model {
    let mut m = model(module("gather.bir"), "gather.bir", (200, 60));
    keys(&mut m, "Gz:pass lower_dma<Enter>");
    let l = m.listing().unwrap();
    let of = |n: &usize| l.part_at(*n).is_some_and(|p| p.descriptor.is_some() && p.block == 5);
    let at = (0..l.lines.len()).find(of).unwrap();
    on_line(&mut m, at);
    m
}

/// The line of an operation of an assembly, which has run.
fn operation() -> Model {
    let mut m = sample("wrap.dma", (200, 60), "zffds");
    let text = m.assembly.text.clone().unwrap();
    let at = text.ops[3].start;
    assert!(text.lines[at].contains("copy"));
    on_line(&mut m, at);
    m
}

/// A byte that was written, and will be again by nobody.
fn byte() -> Model {
    let mut m = slot();
    keys(&mut m, "l");
    m.focus = Pane::Memory;
    keys(&mut m, "<Right><Right><Down>");
    assert!(matches!(m.subject, Subject::Byte(_)), "{:?}", m.subject);
    m
}

/// An event that writes bytes.
fn event() -> Model {
    let mut m = sample("wrap.dma", (200, 60), "zffdss");
    m.focus = Pane::Events;
    while !matches!(
        m.session.events(m.event_cursor, m.event_cursor + 1)[0].kind,
        EventKind::Visible { .. }
    ) {
        keys(&mut m, "<Up>");
    }
    assert_eq!(m.subject, Subject::Event(m.event_cursor));
    m
}

/// The run of a module in which a fault was found at a descriptor of an instruction.
fn faulted_module() -> Model {
    let mut m = model(module("copy.bir"), "copy.bir", (200, 60));
    keys(&mut m, ":inject PREFETCH_RING_ID at tx[0]<Enter>G");
    assert!(!m.session.machine().findings.is_empty());
    m
}

fn check_selected_slot(m: &Model) {
    let want = format!("{}[{}]", m.selection.dir, m.selection.slot);
    let shown = text(&pane(m, Pane::Inspector, 150, 50));
    assert!(shown.lines().next().unwrap().contains(&want), "{shown}");
    let desc = m.desc().unwrap().0;
    let word = format!("{:08x}", desc.len_ctrl);
    let word = format!("0x{}_{}", &word[..4], &word[4..]);
    assert!(shown.contains(&word), "{word} {shown}");
}

fn only_of_its_slots(m: &Model) {
    let of_slots = |dir| {
        marked_slots(m, dir)
            .into_iter()
            .filter_map(move |s| m.target_of(dir, s))
            .collect::<Vec<_>>()
    };
    let all: Vec<(u64, u64)> = Dir::BOTH.into_iter().flat_map(of_slots).collect();
    let inside = |a: u64| all.iter().any(|(at, len)| a >= *at && a - at < *len);
    let shown = bracketed(m);
    assert!(!shown.is_empty());
    assert!(shown.iter().all(|a| inside(*a)), "{shown:x?} {all:x?}");
}

/// Holds a cell of the table against the program.
fn cell(selected: &str, pane_name: &str) {
    let row = LINKS.iter().position(|r| r.selected == selected).unwrap();
    match (row, pane_name) {
        (0, "rings") => {
            let m = slot();
            for (which, dir) in [(Pane::Tx, Dir::Tx), (Pane::Rx, Dir::Rx)] {
                let buf = pane(&m, which, 100, 50);
                let number = format!("{}", m.selection.slot);
                let y = (1..50)
                    .find(|y| {
                        let l: String = (1..12).map(|x| buf[(x, *y)].symbol()).collect();
                        l.split(|c: char| !c.is_ascii_digit()).any(|w| w == number)
                    })
                    .unwrap();
                let style = buf[(6, y)].style();
                match dir == m.selection.dir {
                    true => assert!(style.bg.is_some_and(|c| c != ratatui::style::Color::Reset)),
                    false => assert!(style.add_modifier.contains(Modifier::UNDERLINED)),
                }
            }
        }
        (0, "descriptor") => check_selected_slot(&slot()),
        (0, "memory") => {
            let m = slot();
            let (at, _) = m.target_of(Dir::Tx, m.selection.slot).unwrap();
            let mut bytes = [0; 16];
            m.session.machine().memory.read(at, &mut bytes);
            let want: Vec<String> = bytes.iter().map(|b| format!("{b:02x}")).collect();
            assert!(lines(&m, Pane::Memory)[0].contains(&want.join(" ")));
        }
        (0, "events") => {
            let m = slot();
            let name = format!("tx[{}]", m.selection.slot);
            let want = events_where(&m, |text, _| text.contains(&name));
            assert!(want.len() > 1);
            assert_eq!(marked_events(&m), want);
        }
        (0, "text") => {
            let m = slot();
            let op =
                m.assembly.text.as_ref().unwrap().ops[m.assembly.of_slot.unwrap().0.op].clone();
            assert_eq!(marked_lines(&m), [op.start].into());
            // In a module it is the instruction, at every line that stems from it.
            let mut m = model(module("copy.bir"), "copy.bir", (200, 60));
            keys(&mut m, "G");
            m.focus = Pane::Rx;
            keys(&mut m, "<Home><Down><Up>");
            let inst = m.slot_origin().unwrap().inst;
            let listing = m.listing().unwrap();
            let all = listing.lines.iter().enumerate().filter(|(_, l)| l.pos == Some(inst));
            assert_eq!(marked_lines(&m), all.map(|(n, _)| n).collect());
        }
        (0, "checks") => {
            let mut m = slot();
            assert!(marked_findings(&m).is_empty());
            m.focus = Pane::Inspector;
            (m.selection.word, m.selection.bit) = (0, 29);
            keys(&mut m, " ");
            let marked = marked_findings(&m);
            assert_eq!(marked.len(), 1, "{marked:?}");
            assert!(marked[0].contains("D010"), "{marked:?}");
            m.focus = Pane::Tx;
            keys(&mut m, "<Up>");
            assert!(marked_findings(&m).is_empty());
        }
        (1 | 2, "rings") => {
            let mut m = if row == 1 { instruction() } else { block() };
            let l = m.listing().unwrap();
            let (pos, part) = (l.inst_at(m.source.cursor), l.part_at(m.source.cursor).cloned());
            let q = m.session.machine().queue(m.queue().unwrap()).unwrap();
            for dir in Dir::BOTH {
                let marked = marked_slots(&m, dir);
                assert!(!marked.is_empty(), "{dir} {}", text(&draw(&m)));
                for s in &marked {
                    let o = q.origin(dir, *s).unwrap();
                    assert_eq!(Some(o.inst), pos);
                    if let Some(p) = part.as_ref().filter(|_| row == 2) {
                        assert_eq!(o.block.map(|b| b.0), Some(p.block));
                        assert_eq!(o.descriptor, p.descriptor);
                    }
                }
            }
            let first = *marked_slots(&m, m.selection.dir).first().unwrap();
            keys(&mut m, "<Enter>");
            assert_eq!(m.selection.slot, first);
        }
        (1..=3, "descriptor") => {
            let mut m = [instruction, block, operation][row - 1]();
            keys(&mut m, "<Enter>");
            assert!(marked_slots(&m, m.selection.dir).contains(&m.selection.slot));
            check_selected_slot(&m);
        }
        (1..=3, "memory") => {
            let mut m = [instruction, block, operation][row - 1]();
            keys(&mut m, "<Enter>");
            only_of_its_slots(&m);
        }
        (1, "events") => {
            let mut m = instruction();
            let pos = m.listing().unwrap().inst_at(m.source.cursor).unwrap();
            let marked = marked_events(&m);
            // Its beginnings and ends, and no one else's.
            for (n, p) in m.derived.events.iter().filter_map(|e| match e.kind {
                EventKind::Inst { pos, .. } | EventKind::InstDone { pos, .. } => Some((e.n, pos)),
                _ => None,
            }) {
                assert_eq!(marked.contains(&n), p == pos, "event {n}");
            }
            // And what the engine does for it, where that is in sight.
            m.event_cursor = *m.derived.links.events.first().unwrap();
            m.prepare();
            while events_where(&m, |_, k| matches!(k, EventKind::Visible { .. })).is_empty() {
                m.event_cursor += 1;
                m.prepare();
            }
            let marked = marked_events(&m);
            let engine = events_where(&m, |_, k| matches!(k, EventKind::Visible { .. }));
            assert!(marked.intersection(&engine).next().is_some(), "{marked:?}");
        }
        (2, "events") => {
            let mut m = block();
            let p = m.listing().unwrap().part_at(m.source.cursor).cloned().unwrap();
            // Where its descriptors are at work.
            m.event_cursor = *m.derived.links.events.first().unwrap();
            m.prepare();
            let marked = marked_events(&m);
            assert!(marked.len() > 1);
            for e in m.derived.events.clone() {
                let then = m.session.state_at(e.n);
                let slot = e.queue().zip(slots_of(&e).first().copied());
                let origin = slot.and_then(|(id, (d, s, _))| then.queue(id)?.origin(d, s));
                let its = origin.is_some_and(|o| {
                    o.block.map(|b| b.0) == Some(p.block) && o.descriptor == p.descriptor
                });
                assert_eq!(marked.contains(&e.n), its, "event {}", e.n);
            }
        }
        (1 | 2, "text") => {
            let mut m = if row == 1 { instruction() } else { block() };
            keys(&mut m, "<Enter>");
            let l = m.listing().unwrap();
            let pos = l.inst_at(m.source.cursor).unwrap();
            let all = l.lines.iter().enumerate().filter(|(_, l)| l.pos == Some(pos));
            let all: BTreeSet<usize> = all.map(|(n, _)| n).collect();
            let marked = marked_lines(&m);
            assert!(!marked.is_empty() && marked.is_subset(&all), "{marked:?} {all:?}");
            let rows = m.source.top..m.source.top + 20;
            assert!(all.iter().filter(|n| rows.contains(n)).all(|n| marked.contains(n)));
            // The row of the cursor is that of the instruction, and shows its text.
            let text = l.lines[m.source.cursor].text.trim();
            // What comes before the operands may have no room.
            let named = text.split(" queue=").next().unwrap_or_default();
            let start: String = named.chars().take(30).collect();
            let shown = shown_lines(&m);
            let (_, row) = shown.iter().find(|(n, _)| *n == m.source.cursor).unwrap();
            assert!(row.contains(&start), "{row}");
        }
        (1 | 2, "checks") => {
            let mut m = faulted_module();
            let d = m.session.machine().findings.iter().find(|d| d.place.slot.is_some()).unwrap();
            let slot = d.place.slot.unwrap();
            m.select_slot(Some(slot.dir), slot.index);
            m.prepare();
            let o = m.slot_origin().unwrap();
            keys(&mut m, if row == 1 { ":pass loaded<Enter>" } else { ":pass lower_dma<Enter>" });
            let l = m.listing().unwrap();
            let at = match row {
                1 => l.first_of(o.inst).unwrap(),
                _ => (0..l.lines.len())
                    .find(|n| l.part_at(*n).is_some_and(|p| Some(p.block) == o.block.map(|b| b.0)))
                    .unwrap(),
            };
            on_line(&mut m, at);
            assert!(!marked_findings(&m).is_empty(), "{}", text(&draw(&m)));
        }
        (3, "rings") => {
            let mut m = operation();
            for dir in Dir::BOTH {
                let marked = marked_slots(&m, dir);
                assert!(marked.len() > 1, "{marked:?}");
                let id = m.queue().unwrap();
                let of = |s: u64| m.assembly.uses.of_slot((id, dir, s), m.session.position());
                assert!(marked.iter().all(|s| of(*s).is_some_and(|s| s.0.op == 3 && s.1)));
            }
            keys(&mut m, "<Enter>");
            let slots = marked_slots(&m, m.selection.dir);
            assert_eq!(Some(&m.selection.slot), slots.first());
        }
        (3, "events") => {
            let m = operation();
            let (a, b) = m.assembly.uses.events[&3];
            let marked = marked_events(&m);
            for e in &m.derived.events {
                assert_eq!(marked.contains(&e.n), (a..=b).contains(&e.n), "event {}", e.n);
            }
            assert!(!marked.is_empty());
        }
        (3, "text") => {
            let m = operation();
            let buf = pane(&m, Pane::Source, 100, 50);
            let y = (1..50)
                .find(|y| (1..100).any(|x| buf[(x, *y)].bg != ratatui::style::Color::Reset))
                .unwrap();
            let lit: String = (1..100).map(|x| buf[(x, y)].symbol()).collect();
            assert!(lit.contains(&m.assembly.text.as_ref().unwrap().lines[m.assembly.cursor]));
        }
        (3, "checks") => {
            let mut m = operation();
            keys(&mut m, "<Enter>");
            m.focus = Pane::Inspector;
            (m.selection.word, m.selection.bit) = (0, 29);
            keys(&mut m, " ");
            let at = m.assembly.text.as_ref().unwrap().ops[3].start;
            on_line(&mut m, at);
            assert!(
                marked_findings(&m).iter().any(|l| l.contains("D010")),
                "{:?}",
                marked_findings(&m)
            );
            let other = m.assembly.text.as_ref().unwrap().ops[1].start;
            on_line(&mut m, other);
            assert!(marked_findings(&m).iter().all(|l| !l.contains("D010")));
        }
        (4, "rings") => {
            let mut m = byte();
            let Subject::Byte(addr) = m.subject else { panic!() };
            for dir in Dir::BOTH {
                for s in 0..m.ring_size(dir) {
                    let names = m.target_of(dir, s).is_some_and(|(a, n)| addr >= a && addr - a < n);
                    let shown = m.derived.ring.contains(&dmadbg::ui::folding::RingLine::Slot(s));
                    assert_eq!(marked_slots(&m, dir).contains(&s), names && shown, "{dir}[{s}]");
                }
            }
            assert!(!marked_slots(&m, Dir::Rx).is_empty());
            // Each press goes to another event that touches the byte, and stays with the byte.
            let mut seen = BTreeSet::new();
            for _ in 0..4 {
                keys(&mut m, "<Enter>");
                let e = m.session.events(m.event_cursor, m.event_cursor + 1)[0];
                let (at, len, _) = e.kind.access().unwrap();
                assert!(addr >= at && addr - at < len);
                let (dir, s, _) = slots_of(&e)[0];
                assert_eq!((dir, s), (m.selection.dir, m.selection.slot));
                seen.insert(e.n);
            }
            assert!(!seen.is_empty());
        }
        (4, "descriptor") => {
            let mut m = byte();
            keys(&mut m, "<Enter>");
            check_selected_slot(&m);
        }
        (4, "memory") => {
            let m = byte();
            let Subject::Byte(addr) = m.subject else { panic!() };
            let shown = lines(&m, Pane::Memory).join("\n");
            let event = shown.split("written").nth(1).unwrap();
            let n = event.split("event ").nth(1).unwrap().split(':').next().unwrap();
            let n: u64 = n.parse().unwrap();
            let mut s = m.session.clone();
            let (at, len, written) = s.events(n, n + 1)[0].kind.access().unwrap();
            assert!(written && addr >= at && addr - at < len, "{shown}");
            // Nobody writes it between.
            for e in s.events(n + 1, m.session.position() + 1) {
                let hit = e.kind.access().is_some_and(|(a, l, w)| w && addr >= a && addr - a < l);
                assert!(!hit, "event {}", e.n);
            }
            // The cursor lights that byte and no other.
            let buf = pane(&m, Pane::Memory, 150, 50);
            let lit = (1..50).flat_map(|y| (1..60).map(move |x| (x, y)));
            let lit = lit.filter(|p| buf[*p].modifier.contains(Modifier::REVERSED)).count();
            assert_eq!(lit, 2);
        }
        (4, "events") => {
            let mut m = byte();
            let Subject::Byte(addr) = m.subject else { panic!() };
            m.event_cursor = *m.derived.links.events.first().unwrap();
            m.prepare();
            let want = m
                .derived
                .events
                .iter()
                .filter(|e| e.kind.access().is_some_and(|(a, l, _)| addr >= a && addr - a < l));
            let want: BTreeSet<u64> = want.map(|e| e.n).collect();
            assert!(!want.is_empty());
            assert_eq!(marked_events(&m), want);
        }
        (4, "text") => {
            let m = byte();
            let Subject::Byte(addr) = m.subject else { panic!() };
            let mut s = m.session.clone();
            let mut want = BTreeSet::new();
            for e in s.events(1, 1 << 14) {
                let touches = e.kind.access().is_some_and(|(a, l, _)| addr >= a && addr - a < l);
                if touches && let Some(op) = m.assembly.uses.of_event(e.n) {
                    want.insert(m.assembly.text.as_ref().unwrap().ops[op].start);
                }
            }
            assert!(!want.is_empty());
            assert_eq!(marked_lines(&m), want);
        }
        (4, "checks") => {
            let mut m = byte();
            assert!(marked_findings(&m).is_empty());
            keys(&mut m, "<Enter>");
            m.focus = Pane::Inspector;
            (m.selection.word, m.selection.bit) = (0, 22);
            keys(&mut m, " ");
            assert_eq!(m.findings().count(), 1, "{:?}", m.findings().collect::<Vec<_>>());
            m.focus = Pane::Memory;
            keys(&mut m, "<Right>");
            assert_eq!(marked_findings(&m).len(), 1);
            // Far from what the slot names it is not marked.
            keys(&mut m, "<Home><Left>");
            assert!(marked_findings(&m).is_empty());
        }
        (5, "rings") => {
            let m = event();
            let e = m.session.clone().events(m.event_cursor, m.event_cursor + 1)[0];
            let (dir, slot, _) = slots_of(&e)[0];
            assert_eq!(marked_slots(&m, dir), [slot].into());
            assert_eq!((m.selection.dir, m.selection.slot), (dir, slot));
        }
        (5, "descriptor") => check_selected_slot(&event()),
        (5, "memory") => {
            let m = event();
            let e = m.session.clone().events(m.event_cursor, m.event_cursor + 1)[0];
            let (at, len, _) = e.kind.access().unwrap();
            let shown = bracketed(&m);
            assert!(!shown.is_empty());
            assert!(shown.iter().all(|a| *a >= at && a - at < len));
        }
        (5, "events") => {
            let m = event();
            assert_eq!(marked_events(&m), [m.event_cursor].into());
            assert!(text(&draw(&m)).contains(&format!("◆ event {}", m.event_cursor)));
        }
        (5, "text") => {
            let m = event();
            let op = m.assembly.uses.of_event(m.event_cursor).unwrap();
            assert_eq!(marked_lines(&m), [m.assembly.text.as_ref().unwrap().ops[op].start].into());
            // Of a module its instruction, also of what an engine does for it.
            let mut m = model(module("copy.bir"), "copy.bir", (200, 60));
            keys(&mut m, "G");
            m.focus = Pane::Events;
            let mut compared = 0;
            for _ in 0..40 {
                keys(&mut m, "<Up>");
                let e = m.session.events(m.event_cursor, m.event_cursor + 1)[0];
                if let EventKind::Visible { slot, .. } = e.kind {
                    let then = m.session.state_at(e.n);
                    let inst = then.queue(e.queue().unwrap()).unwrap().origin(Dir::Rx, slot);
                    let l = m.listing().unwrap();
                    let pos = |n: &usize| l.lines[*n].pos;
                    let marked = marked_lines(&m);
                    assert!(!marked.is_empty());
                    assert!(marked.iter().all(|n| pos(n) == inst.map(|o| o.inst)));
                    compared += 1;
                }
            }
            assert!(compared > 0);
        }
        (5, "checks") => {
            let mut m = faulted_module();
            let d = m.session.machine().findings.iter().find(|d| d.place.event.is_some()).unwrap();
            let n = d.place.event.unwrap();
            let code = d.code;
            m.focus = Pane::Events;
            m.event_cursor = n + 1;
            m.prepare();
            keys(&mut m, "<Up>");
            assert!(marked_findings(&m).iter().any(|l| l.contains(code)), "{}", text(&draw(&m)));
            keys(&mut m, "<Up>");
            assert!(marked_findings(&m).iter().all(|l| !l.contains(code)));
        }
        other => panic!("nothing holds {other:?}"),
    }
}

#[test]
fn every_cell_of_the_table_holds() {
    for row in LINKS {
        for (name, shows) in LINK_PANES.iter().zip(row.shows) {
            assert!(!shows.is_empty());
            println!("{} / {name}: {shows}", row.selected);
            cell(row.selected, name);
        }
    }
}

#[test]
fn the_table_of_the_documentation_is_that_of_the_program() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/screen.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (begin, end) = ("<!-- links: begin -->\n", "<!-- links: end -->");
    let from = text.find(begin).unwrap() + begin.len();
    let to = text.find(end).unwrap();
    if std::env::var_os("DMADBG_BLESS").is_some() {
        let new = format!("{}\n{}\n{}", &text[..from], markdown(), &text[to..]);
        std::fs::write(path, new).unwrap();
        return;
    }
    assert_eq!(text[from..to].trim(), markdown().trim(), "DMADBG_BLESS=1 rewrites it");
}

#[test]
fn links_at_their_sizes() {
    for size in SIZES {
        let mut m = sample("wrap.dma", size, "ffdss");
        keys(&mut m, "l");
        m.focus = Pane::Memory;
        keys(&mut m, "<Right><Right><Down>");
        insta::assert_snapshot!(format!("links_byte_{}x{}", size.0, size.1), styled(&draw(&m)));
        let mut m = sample("wrap.dma", size, "ffdss");
        m.focus = Pane::Events;
        keys(&mut m, "<Up><Up>");
        insta::assert_snapshot!(format!("links_event_{}x{}", size.0, size.1), styled(&draw(&m)));
        let mut m = model(module("gather.bir"), "gather.bir", size);
        keys(&mut m, "G<Up>");
        insta::assert_snapshot!(format!("links_line_{}x{}", size.0, size.1), styled(&draw(&m)));
        let mut m = sample("wrap.dma", size, "ffd");
        m.focus = Pane::Inspector;
        (m.selection.word, m.selection.bit) = (0, 27);
        keys(&mut m, "<Left><Right>");
        insta::assert_snapshot!(format!("flip_before_{}x{}", size.0, size.1), styled(&draw(&m)));
        keys(&mut m, " ");
        insta::assert_snapshot!(format!("flip_done_{}x{}", size.0, size.1), styled(&draw(&m)));
    }
    let mut m = plain(byte());
    m.size = (120, 36);
    m.prepare();
    insta::assert_snapshot!("links_no_colour_120x36", styled(&draw(&m)));
    m.theme.ascii = true;
    let shown = text(&draw(&m));
    assert!(shown.is_ascii(), "{shown}");
}

#[test]
fn tab_leaves_selected_what_is() {
    let mut m = byte();
    let was = m.subject;
    keys(&mut m, "<Tab><Tab><Tab><BackTab>");
    assert_eq!(m.subject, was);
    m.focus = Pane::Tx;
    // A step selects what is followed; where nothing is followed it stays.
    keys(&mut m, "s");
    assert_eq!(m.subject, Subject::Slot);
    let mut m = byte();
    let was = m.subject;
    keys(&mut m, "ae");
    assert_eq!(m.subject, was);
    // Of a slot without an address no byte is selected.
    let mut m = model(one_copy(), "x.dma", (160, 45));
    m.focus = Pane::Memory;
    keys(&mut m, "<Right><Down><Enter><Home><End>");
    assert_eq!(m.subject, Subject::Slot);
}

#[test]
fn the_cursor_of_memory_stays_in_sight_and_ends_where_the_descriptor_does() {
    let mut m = byte();
    let (at, len) = m.target_of(m.selection.dir, m.selection.slot).unwrap();
    keys(&mut m, "<End>");
    assert_eq!(m.subject, Subject::Byte(at + len - 1));
    let lit = |m: &Model| {
        let buf = draw(m);
        let area = m.derived.areas.pane(Pane::Memory).unwrap();
        let all = (area.top() + 1..area.bottom())
            .flat_map(|y| (area.left()..area.right()).map(move |x| (x, y)));
        all.filter(|p| buf[*p].modifier.contains(Modifier::REVERSED)).count()
    };
    assert_eq!(lit(&m), 3, "two digits and the character");
    keys(&mut m, "<PgUp><PgUp><PgDn>");
    assert_eq!(lit(&m), 3);
    keys(&mut m, "<Home>");
    assert_eq!(m.subject, Subject::Byte(at));
    keys(&mut m, "<Up><Left>");
    assert_eq!((m.memory_at, lit(&m)), (-9, 3));
}

/// The end of a run, and what was found on the way.
fn run(s: Session) -> (Machine, Vec<&'static str>) {
    let known = s.machine().findings.len();
    let mut m = s.machine().clone();
    while m.step(s.program()).is_some() {}
    let codes = m.findings.iter().skip(known).map(|d| d.code).collect();
    (m, codes)
}

/// What is told before is what comes when the bit is flipped.
#[test]
fn what_a_flip_is_said_to_do_it_does() {
    type Make = fn() -> Program;
    let of_module: Make = || module("copy.bir");
    let programs: [(&str, Make); 3] =
        [("one_copy", one_copy), ("wrap64", wrap64), ("copy.bir", of_module)];
    let (mut differ, mut same) = (0, 0);
    for (name, make) in programs {
        let mut m = model(make(), name, (160, 45));
        keys(&mut m, "d");
        let (queue, dir, slot) = (m.queue().unwrap(), Dir::Tx, m.selection.slot);
        for word in [Word::LenCtrl, Word::MetaCtrl, Word::BufPtr] {
            for bit in (0..word.bits()).step_by(5) {
                let told = flip(&m.session, Bit { queue, dir, slot, word, bit }).unwrap();
                let mut s = m.clone();
                s.select_slot(Some(dir), slot);
                let value = s.desc().unwrap().0.word(word) ^ 1 << bit;
                keys(&mut s, &format!(":set {dir}[{slot}].{} = {value:#x}<Enter>", word.name()));
                assert_eq!(told.to, s.desc().unwrap().0);
                let ahead = told.run.as_ref().unwrap();
                let (a, found_a) = run(m.session.clone());
                let (b, found_b) = run(s.session.clone());
                assert_eq!(ahead.ends, [Some(a.n), Some(b.n)], "{name} {word:?} {bit}");
                let more = |x: &[&str], y: &[&str]| {
                    let mut x = x.to_vec();
                    for c in y {
                        if let Some(at) = x.iter().position(|d| d == c) {
                            x.remove(at);
                        }
                    }
                    x.len()
                };
                assert!(ahead.found.len() >= more(&found_b, &found_a), "{name} {word:?} {bit}");
                assert!(ahead.gone.len() >= more(&found_a, &found_b), "{name} {word:?} {bit}");
                let timeouts = [a.timeouts(), b.timeouts()];
                assert_eq!(ahead.timeouts, timeouts, "{name} {word:?} {bit} {ahead:#?}");
                // Bytes that are said to differ do.
                for c in &ahead.memory {
                    assert_ne!(c.cells[0], c.cells[1]);
                }
                let live: Vec<_> = s.derived.judged.iter().map(|d| d.code).collect();
                for d in &told.found {
                    assert!(live.contains(&d.code), "{name} {word:?} {bit} {d:?}");
                }
                match ahead.is_same() {
                    true => same += 1,
                    false => differ += 1,
                }
            }
        }
    }
    assert!(differ > 20 && same > 2, "{differ} {same}");
}

#[test]
fn every_field_that_has_a_lesson_leads_to_it() {
    let mut m = sample("wrap.dma", (160, 45), "ffd");
    m.focus = Pane::Inspector;
    let (mut with, mut without) = (0, 0);
    for (k, word) in Word::of(dmadbg::udma::View::Tx).iter().enumerate() {
        for bit in 0..word.bits() {
            (m.selection.word, m.selection.bit) = (k, bit);
            m.popup = None;
            keys(&mut m, "<Enter>");
            let view = dmadbg::udma::View::Tx;
            let field = dmadbg::udma::field::at_bit(view, *word, bit).unwrap();
            match dmadbg::learn::lesson_of(field.name) {
                Some((n, _)) => {
                    let shown = text(&draw(&m));
                    assert!(shown.contains(&format!("{}: lesson {n}, ", field.name)), "{shown}");
                    with += 1;
                }
                None => {
                    assert!(m.popup.is_none());
                    without += 1;
                }
            }
        }
    }
    assert!(with > 80 && without > 10, "{with} {without}");
}

#[test]
fn a_flip_is_told_before_and_after() {
    let mut m = sample("wrap.dma", (160, 45), "ffd");
    m.focus = Pane::Inspector;
    (m.selection.word, m.selection.bit) = (0, 27);
    m.prepare();
    let before = text(&draw(&m));
    assert!(before.contains("a flip   last: "), "{before}");
    // All that is told below that line, in the pane alone, where nothing follows it.
    let of = |m: &Model, from: &str| {
        let shown = text(&pane(m, Pane::Inspector, 120, 40));
        let told = shown.lines().skip_while(|l| !l.contains(from)).skip(1);
        let told: Vec<String> = told.map(str::to_owned).collect();
        assert!(told.iter().any(|l| l.contains("checks ")), "{shown}");
        assert!(told.iter().any(|l| l.contains("run ")), "{shown}");
        told
    };
    let told = of(&m, "a flip ");
    let position = m.session.position();
    keys(&mut m, " ");
    assert_eq!(m.session.position(), position);
    let after = text(&draw(&m));
    assert!(after.contains("flipped  last: "), "{after}");
    assert_eq!(told, of(&m, "flipped "));
    // Taken back it is told anew, and another bit has its own.
    keys(&mut m, "u");
    assert!(text(&draw(&m)).contains("a flip   last: "));
    keys(&mut m, "<Right>");
    assert!(text(&draw(&m)).contains("a flip   first: "));
    // A program that nothing runs says so.
    let mut m = model(one_direction(), "x", (160, 45));
    m.focus = Pane::Inspector;
    m.prepare();
    let shown = text(&pane(&m, Pane::Inspector, 120, 40));
    assert!(shown.contains("nothing runs"), "{shown}");
    // Without the focus nothing is worked out.
    keys(&mut m, "<Tab>");
    assert!(m.derived.flipping.is_none());
}
