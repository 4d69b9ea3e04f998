//! The panes at the bottom: the timeline and its scrubber, the budget, the stops.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod ui_support;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use dmadbg::engine::session::Session;
use dmadbg::ui::theme::{Palette, Theme};
use dmadbg::ui::update::{Message, update_all};
use dmadbg::ui::{Fresh, Journal, Model, Notice, Pane};
use proptest::prelude::*;
use std::sync::Arc;
use ui_support::*;

const SIZES: [(u16, u16); 4] = [(80, 24), (120, 36), (160, 45), (200, 60)];

/// Stops of every kind, one with commands, one disabled, a display.
const STOPS: &str = "ss:break rx[3] if q0.free > 2 after 1<Enter>:tbreak event 60<Enter>\
    :watch marker change<Enter>:catch fault<Enter>:disable 4<Enter>:display tx.free<Enter>\
    :commands 1 silent; print event<Enter>cSS";

fn moment(which: Pane, size: (u16, u16)) -> Model {
    let mut m = match which {
        Pane::Stops => model(wrap64(), "wrap64.bin", size),
        Pane::Budget => model(module("loop.bir"), "loop.bir", size),
        _ => model(wrap64(), "wrap64.bin", size),
    };
    keys(&mut m, if which == Pane::Stops { STOPS } else { "dss" });
    m.focus = which;
    m.prepare();
    m
}

#[test]
fn the_bottom_panes_at_their_sizes() {
    for which in Pane::TABS {
        for size in SIZES {
            let name = format!("{}_{}x{}", which.name(), size.0, size.1);
            insta::assert_snapshot!(name, styled(&draw(&moment(which, size))));
        }
    }
}

#[test]
fn the_bottom_panes_in_every_theme() {
    for which in Pane::TABS {
        for palette in [Palette::Light, Palette::Contrast, Palette::Plain] {
            for (w, h) in [(78, 20), (118, 16), (158, 9), (198, 12)] {
                let mut m = moment(which, (200, 60));
                m.theme = Theme { palette, ..Theme::default() };
                // The smallest has the screen alone, the others have the rest above them.
                m.size = (w + 2, if w < 100 { h + 4 } else { h + 40 });
                m.prepare();
                let name = format!("{}_{}_{w}x{h}", which.name(), palette.name());
                insta::assert_snapshot!(name, styled(&draw_tab(&m, which, h)));
            }
        }
        let mut m = moment(which, (160, 45));
        m.theme = Theme { ascii: true, palette: Palette::Plain, ..Theme::default() };
        let shown = text(&draw(&m));
        assert!(shown.is_ascii(), "{shown}");
        insta::assert_snapshot!(format!("{}_ascii", which.name()), shown);
    }
}

/// The pane alone, as wide as the screen.
fn draw_tab(m: &Model, which: Pane, h: u16) -> ratatui::buffer::Buffer {
    let area = ratatui::layout::Rect::new(0, 0, m.size.0, h);
    let mut buf = ratatui::buffer::Buffer::empty(area);
    dmadbg::ui::view::draw_pane(m, which, area, &mut buf);
    buf
}

#[test]
fn colour_is_never_the_only_carrier_here_either() {
    for which in Pane::TABS {
        let m = moment(which, (160, 45));
        let coloured = text(&draw(&m));
        assert_eq!(coloured, text(&draw(&plain(m))));
    }
}

fn mouse(m: &mut Model, kind: MouseEventKind, (column, row): (u16, u16)) {
    update_all(m, Message::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }));
}

const DOWN: MouseEventKind = MouseEventKind::Down(MouseButton::Left);
const DRAG: MouseEventKind = MouseEventKind::Drag(MouseButton::Left);
const UP: MouseEventKind = MouseEventKind::Up(MouseButton::Left);

/// Where the cell of an event lies.
fn cell(m: &Model, event: u64) -> (u16, u16) {
    let (area, strip) = (m.strip_area(), m.derived.strip.unwrap());
    (area.x + strip.cell_of(event).unwrap(), area.y)
}

/// Does something with the mouse at the cell of an event.
fn at(m: &mut Model, kind: MouseEventKind, event: u64) {
    let place = cell(m, event);
    mouse(m, kind, place);
}

/// The event that a click on the cell of another goes to: the last of its column.
fn snapped(m: &Model, event: u64) -> u64 {
    let strip = m.derived.strip.unwrap();
    strip.event_at(strip.cell_of(event).unwrap())
}

#[test]
fn a_click_on_the_timeline_goes_there() {
    for size in [(120, 36), (160, 45), (200, 60), (80, 24)] {
        for event in [0, 1, 17, 60, 200] {
            let mut m = model(wrap64(), "x", size);
            if size.0 == 80 {
                m.focus = Pane::Timeline;
                m.prepare();
            }
            let (at, to) = (cell(&m, event), snapped(&m, event));
            assert!(event <= to && to < event + 8);
            mouse(&mut m, DOWN, at);
            assert_eq!(m.session.position(), to, "at once, {size:?}");
            mouse(&mut m, UP, at);
            assert_eq!(m.session.position(), to);
            let pane = m.derived.areas.pane(Pane::Timeline).is_some();
            assert_eq!(m.focus == Pane::Timeline, pane, "{size:?}");
        }
    }
}

#[test]
fn a_drag_shows_each_step_and_is_one_command_at_its_end() {
    let mut m = model(wrap64(), "x", (160, 45));
    m.journal = Some(Journal::new(&m.session));
    keys(&mut m, "d");
    let begun = m.session.position();
    at(&mut m, DOWN, 50);
    for event in [70, 200, 120, 90] {
        let to = snapped(&m, event);
        at(&mut m, DRAG, event);
        assert_eq!(m.session.position(), to);
        assert_eq!(m.session.before().n, begun, "changed since the drag began");
        assert!(m.foreseen(&dmadbg::ui::seams::parse("where").unwrap()).is_empty());
    }
    let here = m.session.position();
    at(&mut m, UP, 90);
    let lines = m.take_journal();
    assert_eq!(lines, ["doorbell".to_owned(), format!("goto {here}")]);
    let s = replayed(wrap64(), &lines);
    assert_eq!(s.machine().digest(), m.session.machine().digest());
    assert_eq!(s.before().digest(), m.session.before().digest());
    // Off the pane on either side is its edge; back where it began is no command.
    at(&mut m, DOWN, here);
    mouse(&mut m, DRAG, (0, 0));
    assert_eq!(m.session.position(), 0);
    mouse(&mut m, DRAG, (159, 44));
    assert_eq!(Some(m.session.position()), m.session.end());
    at(&mut m, DRAG, here);
    mouse(&mut m, UP, (0, 0));
    assert_eq!((m.session.position(), m.take_journal()), (here, vec![]));
}

#[test]
fn a_press_whose_end_never_came_is_a_command_all_the_same() {
    let mut m = model(wrap64(), "x", (160, 45));
    m.journal = Some(Journal::new(&m.session));
    at(&mut m, DOWN, 50);
    let first = m.session.position();
    at(&mut m, DOWN, 120);
    let second = m.session.position();
    assert!(first != second && m.session.before().n == first);
    // Elsewhere: the drag of the timeline is over, that of a border begins, and ends likewise.
    mouse(&mut m, DOWN, (60, 2));
    mouse(&mut m, DRAG, (0, 44));
    assert_eq!(m.session.position(), second);
    at(&mut m, DOWN, 10);
    let third = m.session.position();
    mouse(&mut m, UP, (0, 0));
    at(&mut m, DRAG, 200);
    assert_eq!(m.session.position(), third);
    let lines = m.take_journal();
    assert_eq!(lines, [first, second, third].map(|n| format!("goto {n}")));
    assert_eq!(replayed(wrap64(), &lines).before().digest(), m.session.before().digest());
}

#[test]
fn a_key_ends_a_drag_before_it_does_what_it_does() {
    let mut m = model(wrap64(), "x", (160, 45));
    m.journal = Some(Journal::new(&m.session));
    at(&mut m, DOWN, 100);
    let to = m.session.position();
    keys(&mut m, "s");
    let lines = m.take_journal();
    assert_eq!(lines[0], format!("goto {to}"));
    assert_eq!(lines.last().map(String::as_str), Some("step"));
    assert_eq!(replayed(wrap64(), &lines).position(), m.session.position());
    at(&mut m, DRAG, 10);
    assert!(m.session.position() > to, "the drag is over");
}

#[test]
fn what_is_told_of_the_files_ends_no_drag_and_another_program_does() {
    let told: [fn() -> Notice; 4] = [
        || Notice::Watching,
        || Notice::Building,
        || Notice::Endless("make".into()),
        || Notice::Lost("gone".into()),
    ];
    for notice in told {
        let mut m = model(wrap64(), "x", (160, 45));
        m.journal = Some(Journal::new(&m.session));
        at(&mut m, DOWN, 50);
        for event in [70, 200, 90] {
            let to = snapped(&m, event);
            at(&mut m, DRAG, event);
            assert_eq!(m.session.position(), to);
            update_all(&mut m, Message::Files(notice()));
        }
        let here = m.session.position();
        at(&mut m, UP, 90);
        assert_eq!(m.take_journal(), [format!("goto {here}")]);
    }
    let mut m = model(wrap64(), "x", (160, 45));
    at(&mut m, DOWN, 50);
    let fresh = Fresh { program: m.session.program().clone(), title: m.title.clone() };
    update_all(&mut m, Message::Files(Notice::Loaded { fresh, same: false, asked: false }));
    let here = m.session.position();
    at(&mut m, DRAG, 200);
    assert_eq!(m.session.position(), here);
}

#[test]
fn tabs_are_clicked_and_kept() {
    let mut m = model(wrap64(), "x", (160, 45));
    for (name, tab) in
        [("budget", Pane::Budget), ("stops", Pane::Stops), ("timeline", Pane::Timeline)]
    {
        let area = m.derived.areas.panes.iter().find(|p| p.0.is_tab()).unwrap().1;
        let shown = text(&draw(&m));
        let line = shown.lines().nth(usize::from(area.y)).unwrap();
        let at = line[..line.find(name).unwrap()].chars().count() as u16;
        mouse(&mut m, DOWN, (at + 1, area.y));
        mouse(&mut m, UP, (at + 1, area.y));
        assert_eq!((m.focus, m.arrangement.tab), (tab, tab));
        // Elsewhere it stays.
        m.focus = Pane::Tx;
        m.prepare();
        assert!(m.derived.areas.pane(tab).is_some());
        let kept = dmadbg::ui::arrange::Arrangement::from_text(&m.arrangement.to_text());
        assert_eq!(kept.tab, tab);
    }
}

#[test]
fn keys_go_along_the_timeline() {
    let mut m = model(wrap64(), "x", (160, 45));
    m.focus = Pane::Timeline;
    m.prepare();
    let end = m.session.end().unwrap();
    let view = m.derived.strip.unwrap().view;
    assert!(!view.is_single());
    keys(&mut m, "<Right>");
    assert_eq!(m.session.position(), view.bounds(0).1);
    keys(&mut m, "<Right><Right><Left>");
    assert_eq!(m.session.position(), view.bounds(1).1);
    keys(&mut m, "<Left><Left><Left>");
    assert_eq!(m.session.position(), 0);
    keys(&mut m, "<End>");
    assert_eq!(m.session.position(), end);
    keys(&mut m, "<Right>");
    assert_eq!(m.session.position(), end, "there is no more");
    keys(&mut m, "<Home>");
    assert_eq!(m.session.position(), 0);
    // In until a column is an event, there steps are events; out again to all of it.
    keys(&mut m, "++++++++");
    let single = m.derived.strip.unwrap().view;
    assert!(single.is_single() && single.len < view.len);
    keys(&mut m, "<Right><Right><Right><Left>");
    assert_eq!(m.session.position(), 2);
    keys(&mut m, "<PgDn>");
    assert_eq!(m.derived.strip.unwrap().view.from, single.len.min(end - single.len));
    assert_eq!(m.session.position(), 2, "only what is shown moves");
    keys(&mut m, "<Right>");
    let shown = m.derived.strip.unwrap().view;
    assert!(shown.from <= 3 && m.session.position() == 3, "what happens is in sight");
    keys(&mut m, "--------");
    assert_eq!(m.derived.strip.unwrap().view, view);
}

#[test]
fn nothing_is_worked_out_twice() {
    let mut m = model(wrap64(), "x", (160, 45));
    let lanes = m.derived.lanes.clone().unwrap();
    keys(&mut m, "ssddSG<Tab><Tab>g");
    assert!(Arc::ptr_eq(&lanes, m.derived.lanes.as_ref().unwrap()), "what is known stays");
    keys(&mut m, "b");
    assert!(!Arc::ptr_eq(&lanes, m.derived.lanes.as_ref().unwrap()), "another stop");
}

/// Copies that come to some hundred thousand events.
fn long() -> dmadbg::engine::program::Program {
    let mut p = base(dmadbg::udma::Generation::V3, 4096);
    let src = p.arch.host_base() + 0x100_0000;
    for _ in 0..400 {
        let dst = 0x10_0000_0000;
        let op = dmadbg::engine::program::HostOp::Copy { queue: Q, src, dst, size: 16 << 20 };
        p.script.push(op.into());
    }
    p
}

#[test]
fn a_run_whose_end_is_not_known_says_so_and_is_not_run_for_it() {
    let mut m = model(long(), "long", (160, 45));
    let known = m.session.known_to();
    assert!(m.session.end().is_none() && known < 40_000, "{known} {:?}", m.session.end());
    let shown = text(&draw(&m));
    assert!(shown.contains("the end is not known yet"), "{shown}");
    assert!(shown.lines().any(|l| l.contains("?????")), "{shown}");
    keys(&mut m, "dssss");
    assert_eq!(m.session.known_to(), known, "drawing runs nothing");
    // In a part that is not known a click runs there.
    let last = m.derived.strip.unwrap().view.last();
    at(&mut m, DOWN, last);
    at(&mut m, UP, last);
    assert_eq!(m.session.position(), last);
    keys(&mut m, "G");
    let shown = text(&draw(&m));
    assert!(m.session.end().unwrap() > 300_000, "{:?}", m.session.end());
    assert!(shown.contains("counted") && !shown.contains("not known yet"), "{shown}");
    insta::assert_snapshot!("timeline_long", styled(&draw_tab(&m, Pane::Timeline, 9)));
}

#[test]
fn alone_on_the_screen_the_timeline_has_the_events_below_it() {
    let mut m = model(wrap64(), "x", (80, 24));
    m.focus = Pane::Timeline;
    m.prepare();
    for event in [120, 9, 300] {
        let (at, to) = (cell(&m, event), snapped(&m, event));
        mouse(&mut m, DOWN, at);
        mouse(&mut m, UP, at);
        let shown = text(&draw(&m));
        // Those of the selected slot have a mark before their number.
        let numbered =
            |l: &str, n: u64| l.trim_start_matches([' ', '◆']).starts_with(&format!("{n} "));
        let line = |n: u64| shown.lines().position(|l| numbered(l, n));
        let here = shown.lines().position(|l| l.trim_start().starts_with(&format!("▶{to:>3} ")));
        let here = here.unwrap_or_else(|| panic!("{shown}"));
        assert_eq!(line(to - 1), Some(here - 1), "{shown}");
        assert_eq!(line(to + 1), Some(here + 1), "{shown}");
        // A click on one selects it and is none on the lanes; another goes there.
        mouse(&mut m, DOWN, (40, here as u16 - 2));
        mouse(&mut m, UP, (40, here as u16 - 2));
        assert_eq!((m.session.position(), m.event_cursor), (to, to - 2));
        mouse(&mut m, DOWN, (40, here as u16 - 2));
        mouse(&mut m, UP, (40, here as u16 - 2));
        assert_eq!(m.session.position(), to - 2);
    }
}

#[test]
fn where_rows_are_few_what_acts_is_in_sight() {
    let mut m = model(module("semaphores.bir"), "x", (160, 45));
    keys(&mut m, "Gg");
    let shown = |m: &Model, h: u16| text(&draw_tab(m, Pane::Timeline, h));
    let has = |h: u16, name: &str| {
        let shown = shown(&m, h);
        shown.lines().any(|l| l.trim_start_matches(['▶', '▷', ' ']).starts_with(name))
    };
    // The title, signs and ruler; the host, five sequencers, what is handed over, three queues.
    for (h, seqs, queues, more) in [
        (14, "Pool", "e2.q0", false),
        (13, "Pool", "e2.q0", false),
        (12, "sequencers", "e2.q0", false),
        (9, "sequencers", "e2.q0", false),
        (8, "sequencers", "e1.q0", true),
    ] {
        assert!(has(h, seqs) && has(h, queues) && has(h, "host"), "{h}: {}", shown(&m, h));
        assert_eq!(shown(&m, h).contains(" more "), more, "{h}: {}", shown(&m, h));
    }
    // What does not fit is scrolled to.
    m.scrub.top = 9;
    let scrolled = shown(&m, 7);
    assert!(scrolled.contains(" e2.q0") && scrolled.contains("more 2↑"), "{scrolled}");
}

#[test]
fn a_marker_comes_up_from_the_ring_that_wrote_it() {
    let mut m = model(wrap64(), "x", (160, 45));
    keys(&mut m, "G");
    m.focus = Pane::Timeline;
    m.prepare();
    let (lanes, area) = (m.derived.lanes.clone().unwrap(), m.strip_area());
    let shown = text(&draw(&m));
    let rows: Vec<&str> = shown.lines().skip(usize::from(area.y)).collect();
    let at = |row: usize, column: usize| {
        rows[row].chars().nth(usize::from(area.x) + 1 + column).unwrap_or(' ')
    };
    let mut seen = 0;
    for (k, c) in lanes.columns.iter().enumerate() {
        let flips = !c.flipped.is_empty();
        assert_eq!(at(0, k) == '⚑', flips);
        assert_eq!(
            at(2, k),
            match (c.rung.is_empty(), flips) {
                (false, _) => '▼',
                (true, true) => '↑',
                (true, false) => ' ',
            }
        );
        seen += usize::from(flips);
    }
    assert!(seen > 3, "{shown}");
}

#[test]
fn faults_and_marks_are_signs() {
    let mut m = model(faulting(), "x", (160, 45));
    keys(&mut m, "s:mark here<Enter>G");
    let area = m.derived.areas.pane(Pane::Timeline).unwrap();
    let signs = text(&draw(&m)).lines().nth(usize::from(area.y) + 1).unwrap().to_owned();
    assert!(signs.contains('!') && signs.contains('m') && signs.contains('⚑'), "{signs}");
}

#[test]
fn keys_work_on_the_stops() {
    let mut m = model(wrap64(), "x", (160, 45));
    m.journal = Some(Journal::new(&m.session));
    keys(&mut m, ":break rx[3] after 1<Enter>:watch marker<Enter>:display tx.free<Enter>");
    keys(&mut m, ":commands 1 silent; print event<Enter>");
    m.focus = Pane::Stops;
    m.prepare();
    let enabled = |m: &Model| m.session.stops().iter().map(|s| s.enabled).collect::<Vec<_>>();
    keys(&mut m, " ");
    assert_eq!(enabled(&m), [false, true]);
    keys(&mut m, " <Down> ");
    assert_eq!(enabled(&m), [true, false]);
    // Enter selects the slot.
    keys(&mut m, "<Up><Enter>");
    assert_eq!((m.selection.dir, m.selection.slot), (dmadbg::udma::Dir::Rx, 3));
    // Editing: the line has the command; the new one takes the place with its commands.
    keys(&mut m, "e");
    assert_eq!(m.line.as_ref().unwrap().input.value(), "break rx[3] after 1");
    keys(&mut m, "<Bs>2<Enter>");
    let stops = m.session.stops();
    assert_eq!(stops.iter().map(|s| s.number).collect::<Vec<_>>(), [2, 3]);
    assert_eq!((stops[1].after, stops[1].commands().len()), (2, 2));
    assert!(stops[1].enabled);
    // A disabled one stays so; a refused line leaves the old one.
    keys(&mut m, "<Home>e:<Enter>");
    assert!(m.line.is_some() && m.session.stops().len() == 2);
    keys(&mut m, "<Bs> read<Enter>");
    assert_eq!(
        m.session.stops().iter().map(|s| (s.number, s.enabled)).collect::<Vec<_>>(),
        [(3, true), (4, false)]
    );
    // Deleting, displays too.
    keys(&mut m, "<Home>x");
    assert_eq!(m.session.stops().len(), 1);
    keys(&mut m, "<End> ");
    assert!(m.said.as_ref().unwrap().text.contains("until it is deleted"));
    update_all(&mut m, Message::Key(KeyEvent::new(KeyCode::Delete, KeyModifiers::NONE)));
    assert!(m.session.displays().is_empty());
    let lines = m.take_journal();
    let s = replayed(wrap64(), &lines);
    let of = |s: &Session| {
        s.stops().iter().map(|s| (s.number, s.text(), s.enabled, s.commands())).collect::<Vec<_>>()
    };
    assert_eq!(of(&s), of(&m.session), "{lines:#?}");
    // A click selects.
    keys(&mut m, ":break event 9<Enter>");
    let area = m.derived.areas.pane(Pane::Stops).unwrap();
    mouse(&mut m, DOWN, (area.x + 5, area.y + 3));
    assert_eq!(m.stop_cursor, 1);
    keys(&mut m, "<Enter>");
    assert_eq!(m.session.position(), 9);
    // Another click on what is selected goes there, as Enter does; not the first one, which may
    // only mean the pane.
    keys(&mut m, "g");
    m.focus = Pane::Tx;
    m.prepare();
    let place = (area.x + 30, area.y + 3);
    mouse(&mut m, DOWN, place);
    mouse(&mut m, UP, place);
    assert_eq!((m.session.position(), m.focus), (0, Pane::Stops));
    mouse(&mut m, DOWN, place);
    mouse(&mut m, UP, place);
    assert_eq!(m.session.position(), 9);
    // The sign that says whether it is enabled is a switch.
    let before = enabled(&m);
    for x in [1, 9] {
        mouse(&mut m, DOWN, (area.x + x, area.y + 3));
        mouse(&mut m, UP, (area.x + x, area.y + 3));
        assert_eq!(enabled(&m)[0], before[0]);
        assert_eq!(enabled(&m)[1], before[1] == (x == 9), "{x}");
    }
}

#[test]
fn the_budget_is_of_here_and_worst_first() {
    let mut m = model(wrap64(), "x", (160, 45));
    m.focus = Pane::Budget;
    m.prepare();
    let mut worst = 0;
    for _ in 0..40 {
        keys(&mut m, "s");
        let shares = &m.derived.shares;
        let bound: Vec<u64> = shares.iter().filter(|s| s.bound).map(|s| s.thousandths()).collect();
        assert!(bound.is_sorted_by(|a, b| a >= b) && bound.iter().all(|n| *n <= 1000));
        for s in shares {
            use dmadbg::engine::session::ShareOf;
            if let ShareOf::Slots(id, dir) = s.of {
                let free = m.session.machine().queue(id).unwrap().sw(dir).free();
                assert_eq!((s.used + u64::from(free), s.all), (48, 48));
                worst = worst.max(s.used);
            }
        }
    }
    assert!(worst > 10, "{worst}");
    let mut m = moment(Pane::Budget, (200, 60));
    let inst = m.derived.shares.iter().position(|s| !s.bound).unwrap();
    let area = m.derived.areas.pane(Pane::Budget).unwrap();
    mouse(&mut m, DOWN, (area.x + 3, area.y + 1 + inst as u16));
    assert_eq!(m.budget_cursor, inst);
    m.source.selected = None;
    keys(&mut m, "<Enter>");
    assert!(m.source.selected.is_some());
}

fn step() -> impl Strategy<Value = (u8, u16, u16)> {
    (0u8..12, 0u16..170, 0u16..48)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// However the mouse presses, drags and lets go, with keys in between: the record comes to
    /// the same state.
    #[test]
    fn scrubbing_is_recorded(
        tall in 30u16..50,
        steps in proptest::collection::vec(step(), 1..60),
    ) {
        let mut m = model(wrap64(), "x", (160, tall));
        m.journal = Some(Journal::new(&m.session));
        for (what, x, y) in steps {
            let area = m.strip_area();
            let y = if area.is_empty() || y < 10 { y } else { area.y };
            match what {
                0..3 => mouse(&mut m, DOWN, (x, y)),
                3..7 => mouse(&mut m, DRAG, (x, y)),
                7..9 => mouse(&mut m, UP, (x, y)),
                9 => drop(keys(&mut m, "s")),
                10 => drop(keys(&mut m, "<Tab>")),
                _ => drop(keys(&mut m, "S")),
            }
            draw(&m);
        }
        mouse(&mut m, UP, (0, 0));
        let lines = m.take_journal();
        let s = replayed(wrap64(), &lines);
        prop_assert_eq!(s.machine().digest(), m.session.machine().digest(), "{:?}", lines);
    }
}
