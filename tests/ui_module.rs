//! The screen of a module: its text after each stage, beside the rings that it became.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod ui_support;

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use dmadbg::engine::lower::{Stage, derived};
use dmadbg::ui::update::{Message, update_all};
use dmadbg::ui::{Model, Pane, Theme};
use ui_support::*;

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 36), (200, 60)];

/// Keys typed to come to a moment, its name, the module.
const MOMENTS: &[(&str, &str, &str)] = &[
    ("copy_start", "", "copy.bir"),
    ("copy_lowered", ">>>>>ds", "copy.bir"),
    ("copy_end", "G", "copy.bir"),
    ("gather_loaded", "ss", "gather.bir"),
    ("gather_unroll", "ssssss>>", "gather.bir"),
    ("gather_lowered", "ssssss>>>>>", "gather.bir"),
];

fn at(size: (u16, u16), (_, typed, name): &(&str, &str, &str)) -> Model {
    let mut m = model(module(name), name, size);
    keys(&mut m, typed);
    m
}

#[test]
fn the_whole_screen_of_a_module_at_its_sizes() {
    for moment in MOMENTS {
        for size in SIZES {
            let name = format!("{}_{}x{}", moment.0, size.0, size.1);
            insta::assert_snapshot!(name, styled(&draw(&at(size, moment))));
        }
    }
}

/// Narrow and tall: the text above the rings where there are rows for both.
#[test]
fn narrow_and_tall_screens_stack_the_panes_of_a_module() {
    for (size, focus) in [
        ((100, 40), Pane::Source),
        ((100, 40), Pane::Rx),
        ((100, 54), Pane::Passes),
        ((100, 54), Pane::Inspector),
    ] {
        let mut m = at(size, &MOMENTS[3]);
        m.focus = focus;
        m.prepare();
        let name = focus.name().to_lowercase();
        let name = format!("stacked_{name}_{}x{}", size.0, size.1);
        insta::assert_snapshot!(name, styled(&draw(&m)));
    }
}

#[test]
fn the_source_pane_alone() {
    for moment in MOMENTS {
        for (w, h) in [(40, 8), (80, 18), (66, 40)] {
            let mut m = at((200, 60), moment);
            m.focus = Pane::Source;
            m.prepare();
            let name = format!("source_{}_{w}x{h}", moment.0);
            insta::assert_snapshot!(name, styled(&pane(&m, Pane::Source, w, h)));
        }
    }
}

#[test]
fn each_pane_of_a_module_in_the_whole_screen() {
    for focus in [Pane::Tx, Pane::Rx, Pane::Inspector, Pane::Events] {
        for size in [(80, 24), (120, 36)] {
            let mut m = at(size, &MOMENTS[3]);
            m.focus = focus;
            m.prepare();
            let name = format!("module_{}_{}x{}", focus.name().to_lowercase(), size.0, size.1);
            insta::assert_snapshot!(name, styled(&draw(&m)));
        }
    }
}

#[test]
fn a_module_without_colours_and_in_ascii() {
    for (size, moment) in [((80, 24), &MOMENTS[5]), ((200, 60), &MOMENTS[4])] {
        let m = at(size, moment);
        let coloured = text(&draw(&m));
        let mut m = plain(m);
        // The text alone tells apart what a style does.
        assert_eq!(coloured, text(&draw(&m)));
        let name = format!("module_no_colour_{}x{}", size.0, size.1);
        insta::assert_snapshot!(name, styled(&draw(&m)));
        m.theme.ascii = true;
        let shown = text(&draw(&m));
        assert!(shown.is_ascii(), "{shown}");
    }
}

fn stage(m: &Model) -> Stage {
    m.session.stage().unwrap()
}

#[test]
fn keys_walk_the_stages_and_the_selected_instruction_stays() {
    let mut m = at((120, 36), &("", "ssssss", "gather.bir"));
    let selected = m.source.selected.unwrap();
    let mut seen = vec![stage(&m)];
    for _ in 0..6 {
        keys(&mut m, ">");
        seen.push(stage(&m));
        assert_eq!(m.source.selected, Some(selected));
        let line = &m.listing().unwrap().lines[m.source.cursor];
        assert_eq!(line.pos, Some(selected), "{}", line.text);
        assert!(text(&draw(&m)).contains(&format!("[{}]", stage(&m))));
    }
    let all = [Stage::Loaded, Stage::Peel, Stage::Unroll, Stage::Split, Stage::Check];
    assert_eq!(seen[..5], all);
    // Beyond the last there is none.
    assert_eq!(seen[5..], [Stage::LowerDma; 2]);
    keys(&mut m, "<,");
    assert_eq!(stage(&m), Stage::Split);
    keys(&mut m, ":pass unroll<Enter>");
    assert_eq!(stage(&m), Stage::Unroll);
    assert!(m.said.as_ref().is_some_and(|s| s.text.contains("7 clones")), "{:?}", m.said);
}

#[test]
fn a_key_does_what_the_pass_command_does() {
    let mut by_key = at((120, 36), &MOMENTS[0]);
    let mut typed = by_key.clone();
    keys(&mut by_key, ">>,");
    keys(&mut typed, ":pass next<Enter>:pass peel<Enter>");
    assert_eq!(stage(&by_key), stage(&typed));
    keys(&mut by_key, "P");
    keys(&mut typed, ":pass<Enter>");
    assert_eq!(by_key.popup, typed.popup);
    assert!(text(&draw(&by_key)).contains("=> peel"));
}

/// Everything that stems from the selected instruction is marked, in each stage, and nothing
/// else.
#[test]
fn what_stems_from_the_selected_instruction_is_marked_in_every_stage() {
    let mut m = at((200, 60), &("", "ssssss", "gather.bir"));
    let selected = m.source.selected.unwrap();
    loop {
        let run = m.session.module().unwrap();
        let snapshot = run.lowered.stage(stage(&m)).unwrap();
        let want = derived(&snapshot.module, selected).len();
        let listing = m.listing().unwrap();
        assert_eq!(listing.lines.iter().filter(|l| l.pos == Some(selected)).count(), want);
        // All lines are shown in turn.
        let mut marked = 0;
        let rows = dmadbg::ui::view::pane_rows(&m, Pane::Source, 90, 200);
        for row in rows.iter().skip(7).take(listing.lines.len()) {
            marked += usize::from(row.to_text().chars().nth(1) == Some('◆'));
        }
        m.source.top = 0;
        let shown = dmadbg::ui::view::pane_rows(&m, Pane::Source, 90, 200);
        let all = shown.iter().filter(|r| r.to_text().chars().nth(1) == Some('◆')).count();
        assert!(marked <= all);
        assert_eq!(all, want, "{}", stage(&m));
        if stage(&m) == Stage::LowerDma {
            assert!(want > 8);
            break;
        }
        keys(&mut m, ">");
    }
}

#[test]
fn a_slot_leads_to_the_instruction_that_it_came_from_and_back() {
    let mut m = at((120, 36), &("", "G>>>>>", "gather.bir"));
    m.focus = Pane::Tx;
    keys(&mut m, "<Home>");
    let first = m.source.selected.unwrap();
    assert_eq!(m.session.program().inst_text(first), "%I-1 DMACopy");
    keys(&mut m, "<End><PgUp><PgUp><PgUp>");
    // The third slot begins the batch of the second instruction.
    m.selection.slot = 2;
    keys(&mut m, "<Down>");
    assert_eq!(m.selection.slot, 3);
    let second = m.source.selected.unwrap();
    assert_eq!(m.session.program().inst_text(second), "%I-2 DMACopy");
    // The very descriptor that it is, in the text that is run.
    let line = |m: &Model| m.listing().unwrap().lines[m.source.cursor].text.clone();
    assert!(line(&m).contains("%dma_block_1_desc_0 ="), "{}", line(&m));
    // A completion pair is that of its block.
    keys(&mut m, "<Down>");
    assert!(line(&m).contains("%dma_block_1 ="), "{}", line(&m));
    keys(&mut m, "<Down>");
    assert!(line(&m).contains("%dma_block_2_desc_0 ="), "{}", line(&m));
    // A stage before has the clone.
    keys(&mut m, "<");
    assert!(line(&m).contains("%I-2_1 = DMACopy"), "{}", line(&m));
    keys(&mut m, ">");
    // Back: Enter on a descriptor or a trigger selects what is of it alone.
    m.focus = Pane::Source;
    for (what, slots) in [("%dma_block_5_desc_0 =", "tx[11]"), ("%I-2_6 =", "tx[15]")] {
        let lines = &m.listing().unwrap().lines;
        m.source.cursor = lines.iter().position(|l| l.text.contains(what)).unwrap();
        keys(&mut m, "<Enter>");
        assert_eq!(m.said.clone().unwrap().text, format!("%I-2 DMACopy: e0.q0 {slots}"));
    }
    // Enter on the line of the first instruction selects its slots.
    m.source.cursor = m.listing().unwrap().first_of(first).unwrap();
    keys(&mut m, "<Enter>");
    assert_eq!((m.source.selected, m.selection.slot), (Some(first), 0));
    let said = m.said.clone().unwrap().text;
    assert!(said.starts_with("%I-1 DMACopy: e0.q0 tx[0:1]"), "{said}");
}

#[test]
fn an_instruction_that_was_not_run_has_no_slot() {
    let mut m = at((120, 36), &("", "ss", "gather.bir"));
    keys(&mut m, "<Down>");
    let slot = m.selection.slot;
    keys(&mut m, "<Enter>");
    assert_eq!(m.selection.slot, slot);
    assert!(m.said.as_ref().unwrap().text.contains("%I-2 DMACopy: none of it"), "{:?}", m.said);
    keys(&mut m, "<Home><Enter>");
    assert!(m.said.as_ref().unwrap().text.contains("no instruction"), "{:?}", m.said);
}

#[test]
fn a_click_on_a_line_selects_its_instruction() {
    let mut m = at((120, 36), &("", "G", "gather.bir"));
    let y = text(&draw(&m)).lines().position(|l| l.contains("%I-1 = DMACopy")).unwrap() as u16;
    let kind = MouseEventKind::Down(MouseButton::Left);
    let e = MouseEvent { kind, column: 30, row: y, modifiers: KeyModifiers::NONE };
    update_all(&mut m, Message::Mouse(e));
    assert_eq!(m.focus, Pane::Source);
    assert_eq!(m.session.program().inst_text(m.source.selected.unwrap()), "%I-1 DMACopy");
    assert_eq!(m.selection.slot, 0);
}

/// The trigger and the block that it fires are marked with the engine's name.
#[test]
fn the_line_of_a_sequencer_has_its_name_and_so_has_the_block_that_it_fires() {
    let mut m = at((200, 72), &("", ">>>>>", "loop.bir"));
    for n in 0..4 {
        keys(&mut m, "d");
        // In the text, and in the passes below it where they are not folded.
        let alone = text(&pane(&m, Pane::Source, 66, 50));
        let marked = |shown: &str| {
            let lines = shown.lines().filter(|l| l.contains("▶SP ") && l.contains('%'));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        let in_text = marked(&alone);
        assert_eq!(in_text.len(), 2, "{alone}");
        let block = format!("%dma_block_{n} = DMABlock");
        assert!(in_text[0].contains("%I-1 = DMATrigger"), "{}", in_text[0]);
        assert!(in_text[1].contains(&block), "{}", in_text[1]);
        let whole = text(&draw(&m));
        let all = marked(&whole);
        assert!(all.len() >= 2, "{whole}");
        let of_either = |l: &String| l.contains("%I-1 = DMATrigger") || l.contains(&block);
        assert!(all.iter().all(of_either), "{whole}");
    }
}

#[test]
fn the_header_says_which_sequencer_acts_and_on_what() {
    for size in SIZES {
        let mut m = at(size, &("", "", "gather.bir"));
        keys(&mut m, "d");
        let shown = text(&draw(&m));
        let line = shown.lines().nth(1).unwrap();
        assert!(line.contains("[doorbell]") && line.contains("Pool %I-1 DMACopy"), "{line}");
    }
}

#[test]
fn the_marker_of_a_queue_is_that_of_its_sequencer() {
    let mut p = module("copy.bir");
    // Slow enough for more than one read.
    p.speed.ns_per_desc = 5_000;
    let mut m = model(p, "copy.bir", (120, 36));
    let polls = |m: &Model| {
        let shown = text(&draw(m));
        let at = shown.lines().find(|l| l.contains("polls ")).unwrap().to_owned();
        at.rsplit("polls ").next().unwrap().to_owned()
    };
    assert!(polls(&m).starts_with("not polled"));
    let mut polled = false;
    while m.session.next_event().is_some() {
        keys(&mut m, "e");
        polled |= polls(&m).contains("reads made");
    }
    assert!(polled);
    assert!(text(&draw(&m)).contains("want  nothing: batch 1 is over"), "{}", text(&draw(&m)));
}

/// Forwards to the end and back to the start, event by event: each state comes back.
#[test]
fn a_module_is_stepped_to_its_end_and_back() {
    for name in ["copy.bir", "gather.bir", "semaphores.bir"] {
        let mut m = at((120, 36), &("", "", name));
        let mut states = vec![(m.session.machine().digest(), m.source.standing.clone())];
        while m.session.next_event().is_some() {
            keys(&mut m, "e");
            draw(&m);
            states.push((m.session.machine().digest(), m.source.standing.clone()));
        }
        assert!(m.session.machine().module_done(m.session.program()), "{name}");
        assert!(states.len() > 40);
        for want in states.iter().rev().skip(1) {
            keys(&mut m, "E");
            let got = (m.session.machine().digest(), m.source.standing.clone());
            assert_eq!(got, *want, "{name} at {}", m.session.position());
        }
        assert_eq!(m.session.position(), 0);
    }
}

#[test]
fn tab_goes_through_the_panes_of_a_module() {
    let mut m = at((80, 24), &("", "", "copy.bir"));
    let mut seen = vec![m.focus];
    for _ in Pane::all(m.texts()).filter(|p| *p != Pane::Rx) {
        keys(&mut m, "<Tab>");
        seen.push(m.focus);
    }
    let all = [
        Pane::Source,
        Pane::Passes,
        Pane::Tx,
        Pane::Inspector,
        Pane::Marker,
        Pane::Events,
        Pane::Memory,
        Pane::Checks,
        Pane::Timeline,
        Pane::Budget,
        Pane::Stops,
        Pane::Source,
    ];
    assert_eq!(seen, all);
}

#[test]
fn what_differs_and_what_is_near_are_told_by_commands() {
    let mut m = at((120, 36), &("", "ss", "gather.bir"));
    keys(&mut m, ":pass diff loaded lower_dma<Enter>");
    let shown = text(&draw(&m));
    assert!(shown.contains("loaded -> lower_dma"), "{shown}");
    assert!(shown.contains("-     %I-1 = DMACopy"), "{shown}");
    assert!(shown.contains("+     %I-1 = DMATrigger"), "{shown}");
    keys(&mut m, "<Esc>:list<Enter>");
    let shown = text(&draw(&m));
    let here =
        shown.lines().find(|l| l.contains("17 => Pool ")).unwrap_or_else(|| panic!("{shown}"));
    assert!(here.contains(" %I-1 = DMACopy"), "{shown}");
    keys(&mut m, "<Esc>:list 999<Enter>");
    assert!(text(&draw(&m)).contains("the text has lines 1 to 21"), "{}", text(&draw(&m)));
}

#[test]
fn a_program_without_a_module_has_no_stages() {
    let mut m = model(one_copy(), "x", (120, 36));
    keys(&mut m, ",.:pass next<Enter>");
    assert_eq!(m.session.stage(), None);
    assert!(text(&draw(&m)).contains("S010"), "{}", text(&draw(&m)));
    assert!(!Pane::all(dmadbg::ui::layout::Texts::None).any(|p| p == Pane::Source));
}

#[test]
fn help_of_a_module_tells_its_keys_and_marks() {
    let mut m = at((200, 60), &("", "?", "copy.bir"));
    let mut shown = String::new();
    for _ in 0..8 {
        shown.push_str(&text(&draw(&m)));
        keys(&mut m, "<PgDn>");
    }
    for part in ["keys: a module", "keys: source", "commands: module", "a line of a module's text"]
    {
        assert!(shown.contains(part), "{part}");
    }
}

#[test]
fn the_theme_of_a_module_is_the_same_as_of_rings() {
    // The cursor row of the text is lit like the selected slot where it has the focus.
    let m = at((120, 36), &MOMENTS[3]);
    let t = Theme::default();
    let area = m.derived.areas.pane(Pane::Source).unwrap();
    let buf = draw(&m);
    let row = (area.top()..area.bottom())
        .find(|y| buf[(area.x + 20, *y)].style().bg == t.selected(t.text()).bg);
    assert!(row.is_some());
}

#[test]
fn b_in_the_text_sets_a_breakpoint_at_the_instruction() {
    let mut m = model(module("copy.bir"), "copy.bir", (200, 60));
    m.focus = Pane::Source;
    keys(&mut m, "Zb");
    while m.session.stops().is_empty() {
        assert!(m.said.as_ref().is_some_and(|s| s.text.starts_with("no instruction")));
        keys(&mut m, "<Down>b");
    }
    assert_eq!(m.session.stops()[0].text(), "%I-1");
    let mark = |l: &&str| l.starts_with(" B ") || l.starts_with(" B◆");
    let marked = |m: &Model| text(&draw(m)).lines().filter(mark).count();
    assert_eq!(marked(&m), 1);
    keys(&mut m, "c");
    assert!(m.said.as_ref().unwrap().text.starts_with("breakpoint 1, %I-1"), "{:?}", m.said);
    m.focus = Pane::Source;
    keys(&mut m, "b");
    assert!(m.session.stops().is_empty());
    assert_eq!(marked(&m), 0);
    // A block is marked at its line, after the stage that has it.
    keys(&mut m, ":break dma_block_0<Enter>:pass lower_dma<Enter>");
    assert_eq!(marked(&m), 1);
}

/// At 80 columns the line with the cursor is told to its end, or its last row ends in dots.
#[test]
fn the_line_with_the_cursor_is_told_to_its_end() {
    let told = |m: &Model| {
        let shown = text(&draw(m));
        let rows = shown.lines().skip_while(|l| !l.contains(" of the file")).skip(1);
        let rows: Vec<&str> = rows.take_while(|l| l.starts_with("  ")).map(str::trim).collect();
        (rows.join(" "), shown)
    };
    let line = |m: &Model| m.listing().unwrap().lines[m.source.cursor].text.trim().to_owned();
    let m = model(module("replicate.bir"), "replicate.bir", (80, 24));
    assert!(line(&m).len() > 140);
    assert_eq!(told(&m).0, line(&m), "{}", told(&m).1);
    // Longer than there is room for.
    let dims = "[1, 1], ".repeat(60);
    let text = std::fs::read_to_string("sample-programs/copy.bir").unwrap();
    let from =
        text.find("ins(").unwrap() + text[text.find("ins(").unwrap()..].find("[[").unwrap() + 1;
    let long = format!("{}{dims}{}", &text[..from], &text[from..]);
    let m = model(module_of("long.bir", &long), "long.bir", (80, 24));
    let (rows, shown) = told(&m);
    assert!(line(&m).len() > 400, "{}", line(&m));
    let whole = rows.strip_suffix("..").unwrap_or_else(|| panic!("{shown}"));
    assert!(line(&m).starts_with(whole.trim_end()), "{shown}");
}

/// What lowering added is stopped at by the event at which it begins, and marked all the same: in
/// the text and beside the text before, enabled or not, before and after the files change.
#[test]
fn b_at_what_lowering_added_is_marked() {
    let mut m = model(module("copy.bir"), "copy.bir", (200, 60));
    m.focus = Pane::Source;
    keys(&mut m, "Z>>>>>");
    while m.added_here().is_none() {
        keys(&mut m, "<Down>");
    }
    let line = m.listing().unwrap().lines[m.source.cursor].text.trim().to_owned();
    keys(&mut m, "b");
    assert!(m.session.stops()[0].text().starts_with("event "), "{:?}", m.said);
    let marked = |m: &Model, mark: &str| {
        let shown = text(&draw(m));
        let with = |l: &&str| l.split_once(&line).is_some_and(|(before, _)| before.contains(mark));
        (shown.lines().filter(with).count(), shown)
    };
    assert_eq!(marked(&m, "B").0, 1, "{}", marked(&m, "B").1);
    keys(&mut m, ":disable 1<Enter>");
    assert_eq!((marked(&m, "B").0, marked(&m, "b").0), (0, 1));
    keys(&mut m, ":enable 1<Enter>c");
    assert!(m.said.as_ref().unwrap().text.contains("breakpoint 1"), "{:?}", m.said);
    assert_eq!(marked(&m, "B").0, 1);
    // The passes show it in the text after the stage.
    keys(&mut m, "v");
    assert_eq!(marked(&m, "B").0, 1, "{}", marked(&m, "B").1);
    m.focus = Pane::Source;
    keys(&mut m, "b");
    assert!(m.session.stops().is_empty());
    assert_eq!((marked(&m, "B").0, marked(&m, "b").0), (0, 0));
}
