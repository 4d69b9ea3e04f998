//! Tests of command lines.
use super::super::{args::NUMBERED_PLACES, parse_loc, print, samples};
use super::*;
use crate::engine::command::{Access, Arg, Attached, COMMANDS, Catch, Loc, Switch, Watch, Watched};
use crate::engine::expr::{Expr, QueueRef};
use crate::engine::program::QueueId;
use crate::udma::Dir;
use proptest::prelude::*;

fn ok(line: &str) -> Command {
    parse_command(line).unwrap_or_else(|d| panic!("{line}: {d:?}")).expect("a command")
}

/// Code, column, width and help of each thing that is wrong with a line.
fn wrong(line: &str) -> Vec<(&'static str, u64, u64, String)> {
    let all = parse_command(line).expect_err(line);
    let of = |d: Diagnostic| {
        (d.code, d.place.column.unwrap(), d.place.width.unwrap(), d.help.unwrap_or_default())
    };
    all.into_iter().map(of).collect()
}

/// Code, column and width of the only thing that is wrong.
fn at(line: &str) -> (&'static str, u64, u64) {
    let all = wrong(line);
    assert_eq!(all.len(), 1, "{all:?}");
    (all[0].0, all[0].1, all[0].2)
}

#[test]
fn every_command_of_the_table_has_a_parser_and_no_other() {
    for c in COMMANDS {
        let base = c.name.strip_prefix(REVERSE).unwrap_or(c.name);
        assert!(VERBS.iter().any(|v| v.0 == base), "{}", c.name);
    }
    for (name, _) in VERBS {
        assert_eq!(find(name).map(|c| c.name), Ok(*name));
    }
}

#[test]
fn the_words_of_the_table_are_understood() {
    for c in COMMANDS {
        for arg in c.args {
            let Arg::Words(words) = arg else { continue };
            for w in *words {
                let line = match c.name {
                    "break" | "tbreak" => format!("{} marker {w}", c.name),
                    "watch" => format!("watch 0x10 {w}"),
                    "catch" if ["if", "once", "after"].contains(w) => format!("catch race {w}"),
                    name => format!("{name} {w}"),
                };
                let unknown = parse_command(&line).err().unwrap_or_default();
                assert!(!unknown.iter().any(|d| d.message.contains(" is not ")), "{unknown:?}");
            }
        }
    }
}

#[test]
fn blanks_and_comments_are_no_command() {
    for line in ["", "   ", "# step", "\t # x"] {
        assert_eq!(parse_command(line), Ok(None));
    }
    assert_eq!(ok("where # am I"), Command::Where);
    assert_eq!(ok(r##"echo "a # b" # c"##), Command::Echo("a # b".into()));
}

#[test]
fn step_takes_its_words_in_any_order() {
    let all = Command::Step { count: 3, unit: Unit::Packet, who: Who::Engine, back: false };
    for line in ["step 3 packet engine", "s engine 3 packet", "st packet eng 3"] {
        assert_eq!(ok(line), all);
    }
    let plain = Command::Step { count: 1, unit: Unit::Slot, who: Who::Any, back: true };
    assert_eq!(ok("back"), plain);
    assert_eq!(ok("reverse-step"), plain);
}

#[test]
fn everything_wrong_with_a_line_is_told_at_its_word() {
    let all = wrong("step 3 pakcet engin 4x");
    let places: Vec<_> = all.iter().map(|w| (w.0, w.1, w.2)).collect();
    assert_eq!(places, [("S003", 8, 6), ("S004", 21, 2)]);
    assert!(all[0].3.starts_with("did you mean `packet`? usage: step [N]"), "{}", all[0].3);
    assert_eq!(wrong("delete 1 a 2 b").len(), 2);
    // A line cannot drown its reader.
    assert!(wrong(&"delete ".repeat(10_000)).len() <= crate::limits::MAX_SAME_CODE);
}

#[test]
fn names_are_unknown_or_ambiguous_with_candidates() {
    assert_eq!(wrong("stpe 2"), [("S001", 1, 4, "did you mean `step`?".into())]);
    assert_eq!(at("  reverse- 1"), ("S002", 3, 8));
    assert_eq!(at("help stpe"), ("S001", 6, 4));
    assert_eq!(at("step e"), ("S003", 6, 1));
    assert_eq!(at("xyzzy").0, "S001");
    assert_eq!(at("/x").0, "S001");
}

#[test]
fn missing_and_superfluous_arguments_are_told() {
    for line in ["until", "print", "mark", "assert", "expect", "goto", "source", "break", "info"] {
        assert_eq!(at(line), ("S003", line.len() as u64 + 1, 1), "{line}");
    }
    assert_eq!(at("continue 3"), ("S003", 10, 1));
    assert_eq!(at("step 0"), ("S003", 6, 1));
    assert_eq!(at("next 2 3"), ("S003", 8, 1));
    assert_eq!(at("step 2 3"), ("S003", 8, 1));
    assert_eq!(at("step slot packet"), ("S003", 11, 6));
    assert_eq!(at("print 1 2"), ("S004", 9, 1));
    assert_eq!(at("print tx[0].dmbb"), ("S005", 13, 4));
    assert_eq!(at("echo \"x"), ("S003", 6, 1));
    assert_eq!(at("mark end"), ("S003", 6, 3));
    assert_eq!(at("set tx[0].dmb 1"), ("S003", 15, 1));
    assert_eq!(at("set $a 1"), ("S003", 8, 1));
}

#[test]
fn places_are_read() {
    let slots = |queue, dir, first, last| Loc::Slots { queue, dir, first, last };
    let exact = QueueRef::Exact(QueueId { engine: 5, queue: 3 });
    for (text, loc) in [
        ("tx[3]", slots(QueueRef::Selected, Dir::Tx, 3, 3)),
        ("q0.rx[17]", slots(QueueRef::Queue(0), Dir::Rx, 17, 17)),
        ("e5.q3.tx[0x3 : 9]", slots(exact, Dir::Tx, 3, 9)),
        ("batch 2", Loc::Batch(2)),
        ("event 40", Loc::Event(40)),
        ("0x1000", Loc::Addr(0x1000)),
        ("marker", Loc::Marker),
        ("doorbell", Loc::Doorbell(None)),
        ("doorbell e5.q3", Loc::Doorbell(Some(exact))),
        ("fault", Loc::Fault),
        ("q0", Loc::Queue(QueueRef::Queue(0))),
        ("%I-34", Loc::Inst("I-34".into())),
        ("%\"a b\"", Loc::Inst("a b".into())),
        ("dma_block_2", Loc::Name("dma_block_2".into())),
        ("\"marker\"", Loc::Name("marker".into())),
        ("line 12", Loc::Line(12)),
        ("pass split", Loc::Pass(crate::engine::lower::Stage::Split)),
    ] {
        assert_eq!(parse_loc(text), Ok(loc.clone()), "{text}");
        assert_eq!(parse_loc(&loc.to_string()), Ok(loc));
    }
    assert_eq!(NUMBERED_PLACES.map(|(w, make)| make(1).to_string() == format!("{w} 1")), [true; 3]);
    for (text, column) in [
        ("tx[9:3]", 4),
        ("tx", 3),
        ("tx[a]", 4),
        ("batch", 6),
        ("markr", 1),
        ("doorbel", 1),
        ("q0.marker", 4),
        ("%", 2),
        ("pass splitt", 6),
        ("line x", 6),
        ("tx[1] x", 7),
    ] {
        assert_eq!(parse_loc(text).unwrap_err().place.column, Some(column), "{text}");
    }
}

#[test]
fn breakpoints_take_their_options_in_any_order() {
    let all = Command::Break {
        loc: Loc::Marker,
        cond: Some(Expr::Name("event".into())),
        once: true,
        after: 3,
    };
    for line in ["break marker if event once after 3", "b marker after 3 once if event"] {
        assert_eq!(ok(line), all);
    }
    assert_eq!(ok("tbreak marker if event after 3"), all);
    assert_eq!(at("break marker once once"), ("S003", 19, 4));
    assert_eq!(at("break marker iff 1"), ("S003", 14, 3));
    assert_eq!(at("break marker if"), ("S003", 16, 1));
}

#[test]
fn a_watchpoint_takes_what_it_watches_how_much_and_which_accesses() {
    let watch = |what, len: Option<u64>, on| Command::Watch {
        watch: Watch { what, len: len.map(Expr::Num), on },
        cond: None,
        once: false,
        after: 0,
    };
    let slots = Watched::Slots { queue: QueueRef::Queue(1), dir: Dir::Rx, first: 3, last: 9 };
    let name = |n: &str| Watched::Name(n.into());
    for (line, command) in [
        ("watch 0x10", watch(Watched::Expr(Expr::Num(16)), None, Access::Write)),
        ("watch 16,8 change", watch(Watched::Expr(Expr::Num(16)), Some(8), Access::Change)),
        ("watch q1.rx[3:9] read", watch(slots, None, Access::Read)),
        ("watch idx , 8 acc", watch(name("idx"), Some(8), Access::Access)),
        ("watch \"free\"", watch(name("free"), None, Access::Write)),
        ("watch semaphore 3", watch(Watched::Semaphore(3), None, Access::Write)),
    ] {
        assert_eq!(ok(line), command, "{line}");
    }
    assert_eq!(at("watch markr"), ("S003", 7, 5));
    assert!(wrong("watch markr")[0].3.starts_with("did you mean `marker`?"));
    assert_eq!(at("watch 0x10 wrtie"), ("S003", 12, 5));
    assert_eq!(at("watch 0x10 read write"), ("S003", 17, 5));
    assert_eq!(at("watch tx[3].dmbb"), ("S005", 13, 4));
    assert_eq!(at("watch semaphore 3,4").0, "S003");
}

#[test]
fn a_catchpoint_takes_a_kind_and_what_belongs_to_it() {
    let catch = |what| Command::Catch { what, cond: None, once: false, after: 0 };
    for (line, what) in [
        ("catch fault", Catch::Fault(None)),
        ("catch fault pkt_len", Catch::Fault(Some("PKT_LEN".into()))),
        ("catch race", Catch::Race),
        ("catch doorbell q2", Catch::Doorbell(Some(QueueRef::Queue(2)))),
        ("catch ret", Catch::Ret(None)),
        ("catch ret -12", Catch::Ret(Some(-12))),
        ("catch ret BUG", Catch::Bug),
        ("catch stall", Catch::Stall),
    ] {
        assert_eq!(ok(line), catch(what), "{line}");
    }
    let all = Command::Catch {
        what: Catch::Fault(None),
        cond: Some(Expr::Name("event".into())),
        once: true,
        after: 2,
    };
    assert_eq!(ok("catch fault if event once after 2"), all);
    assert_eq!(at("catch rase"), ("S003", 7, 4));
    assert_eq!(at("catch fault PKT_LON"), ("S003", 13, 7));
    assert_eq!(at("catch fault onc"), ("S003", 13, 3));
}

#[test]
fn commands_of_a_stop_stand_on_one_line_between_semicolons() {
    let Command::Commands { stop: Some(1), what: Attached::Set(block) } =
        ok("commands 1 silent; echo \"a;b\"; continue")
    else {
        panic!("no block");
    };
    assert!(block.silent);
    let all: Vec<&Command> = block.lines.iter().map(|l| &l.command).collect();
    assert_eq!(all, [&Command::Echo("a;b".into()), &Command::Continue { back: false }]);
    assert_eq!(block.lines[0].written.text, "echo \"a;b\"");
    let of = |what| Command::Commands { stop: None, what };
    assert_eq!(ok("commands"), of(Attached::Show));
    assert_eq!(ok("commands end"), of(Attached::Clear));
    // Every fault at its own word, and the line as a whole.
    let all = wrong("commands 1 stpe; print 1 +; print free; step pakcet # x");
    let places: Vec<_> = all.iter().map(|w| (w.0, w.1, w.2)).collect();
    assert_eq!(places, [("S001", 12, 4), ("S004", 27, 1), ("S003", 46, 6)]);
    assert_eq!(at("commands 1 step; silent").1, 18);
    assert_eq!(at("commands 1 commands 2 step").1, 12);
    assert_eq!(at("commands 1 source x").1, 12);
    assert_eq!(at("end").0, "S001");
}

#[test]
fn numbers_of_stops_are_single_or_ranges() {
    assert_eq!(ok("delete 1 3-5"), Command::Delete(vec![(1, 1), (3, 5)]));
    assert_eq!(ok("disable 2"), Command::Enable(vec![(2, 2)], Switch::Off));
    assert_eq!(ok("enable once 2"), Command::Enable(vec![(2, 2)], Switch::Once));
    assert_eq!(ok("enable delete"), Command::Enable(vec![], Switch::Delete));
    assert_eq!(ok("undisplay 1-2"), Command::Undisplay(vec![(1, 2)]));
    assert_eq!(at("delete 5-3"), ("S003", 8, 3));
    assert_eq!(at("delete 1-"), ("S003", 8, 2));
    assert_eq!(at("enable onse 1"), ("S003", 8, 4));
}

#[test]
fn memory_and_values_take_a_form() {
    let x = |count, width, form, addr| Command::Examine {
        format: ExamineFormat { count, width, form },
        addr,
    };
    let addr = Some(Expr::Num(0x1000));
    assert_eq!(ok("x/8wx 0x1000"), x(8, 4, Form::Hex, addr.clone()));
    assert_eq!(ok("x /8xw 0x1000"), x(8, 4, Form::Hex, addr.clone()));
    assert_eq!(ok("x /4i 0x1000"), x(4, 16, Form::Desc, addr));
    assert_eq!(ok("x/c"), x(16, 1, Form::Char, None));
    assert_eq!(ok("x"), x(16, 4, Form::Hex, None));
    assert_eq!(ok("p/x 1"), Command::Print { expr: Expr::Num(1), form: Some(Form::Hex) });
    for line in ["x /8q 0", "x /ww 0", "x /0w 0", "x /2000000b 0", "x /iw 0", "p /i 1", "p /xx 1"] {
        assert_eq!(at(line).0, "S003", "{line}");
    }
    assert_eq!(at("x/8q 0x1000"), ("S003", 2, 3));
}

#[test]
fn goto_takes_a_mark_or_an_event() {
    assert_eq!(ok("goto end"), Command::Goto(Goto::Mark("end".into())));
    assert_eq!(ok("g 12"), Command::Goto(Goto::Event(Expr::Num(12))));
    assert_eq!(ok("goto marker-seen"), Command::Goto(Goto::Mark("marker-seen".into())));
    for value in ["goto (end)", "goto event"] {
        assert!(matches!(ok(value), Command::Goto(Goto::Event(Expr::Name(_)))));
    }
    assert!(matches!(ok("goto event-1"), Command::Goto(Goto::Event(Expr::Binary(..)))));
    assert!(parse_command("mark event-1").is_err() && parse_command("mark free").is_err());
    assert!(matches!(ok("goto event - 1"), Command::Goto(Goto::Event(Expr::Binary(..)))));
}

#[test]
fn scripts_assert_and_expect() {
    let one = Expr::Num(1);
    assert_eq!(ok("assert 1"), Command::Assert { expr: one.clone(), text: None });
    let text = Some("it is, \"one\" # really".into());
    assert_eq!(ok(r#"assert 1, "it is, \"one\" # really""#), Command::Assert { expr: one, text });
    assert_eq!(at("assert 1 \"x\""), ("S004", 10, 1));
    assert_eq!(at("assert 1, x"), ("S003", 11, 1));
    assert_eq!(
        ok("expect fault pkt_len at rx[3]"),
        Command::Expect(Expect::Fault("PKT_LEN".into(), Some(parse_loc("rx[3]").unwrap())))
    );
    assert_eq!(ok("expect ret -22"), Command::Expect(Expect::Ret(-22)));
    assert_eq!(ok("expect ret BUG"), Command::Expect(Expect::Bug));
    assert_eq!(ok("expect timeout"), Command::Expect(Expect::Timeout(None)));
    assert!(wrong("expect fault PKT_LON")[0].3.starts_with("did you mean `PKT_LEN`?"));
}

#[test]
fn explain_takes_a_slot_a_code_or_a_fault() {
    let code = |c: &str| Command::Explain(Explain::Code(c.into()));
    assert_eq!(ok("explain d010"), code("D010"));
    assert_eq!(ok("explain PKT_LEN"), code("PKT_LEN"));
    assert!(matches!(ok("explain tx[1:2]"), Command::Explain(Explain::Loc(_))));
    assert_eq!(at("explain D999"), ("S003", 9, 4));
}

#[test]
fn a_line_is_bounded() {
    let line = format!("echo {}", "x".repeat(MAX_LINE_BYTES));
    assert_eq!(parse_command(&line).unwrap_err()[0].code, "S003");
    let name = format!("mark {}", "x".repeat(crate::limits::MAX_NAME_BYTES + 1));
    assert!(parse_command(&name).is_err());
    let verb = "x".repeat(MAX_LINE_BYTES);
    assert!(parse_command(&verb).unwrap_err()[0].message.len() < 100);
}

#[test]
fn a_line_as_long_as_may_be_is_answered_soon() {
    let start = std::time::Instant::now();
    for (head, part) in [
        ("step ", "a "),
        ("delete ", "a "),
        ("delete ", "1 "),
        ("print ", "1+"),
        ("print tx[0]", ".a"),
        ("print ", "0"),
        ("break marker ", "once "),
        ("echo \"", "\\\\"),
        ("explain ", "A"),
        ("goto ", "a-"),
        ("expect fault ", "A"),
        ("commands ", "step;"),
        ("commands ", "a;"),
        ("watch ", "1+"),
        ("enable ", "1-2 "),
        ("catch fault ", "A"),
    ] {
        let body = part.repeat((MAX_LINE_BYTES - head.len()) / part.len());
        let _ = parse_command(&format!("{head}{body}"));
        super::super::complete(&body, body.len(), &super::super::Names::default());
    }
    assert!(start.elapsed().as_secs() < 120, "{:?}", start.elapsed());
}

/// An expression that begins with a ring is no ring to search, however it is spaced.
#[test]
fn what_is_searched_is_printed_so_that_it_reads_back() {
    for ring in ["tx", "rx"] {
        for line in ["-length", "-length > 2", "+1 == slot", "*2", "", ".free > length", " -length"]
        {
            let line = format!("find {ring}{line}");
            let Ok(Some(c)) = parse_command(&line) else { continue };
            assert_eq!(parse_command(&print(&c)), Ok(Some(c)), "{line}");
        }
    }
    let c = parse_command("find tx-length").unwrap().unwrap();
    assert!(matches!(&c, Command::Find { dir: None, .. }), "{c:?}");
    assert_eq!(print(&c), "find (tx - length)");
}

proptest! {
    #[test]
    fn a_printed_place_reads_back(loc in samples::loc()) {
        prop_assert_eq!(parse_loc(&loc.to_string()), Ok(loc));
    }

    #[test]
    fn any_line_is_read_or_refused_within_it(line in ".{0,60}") {
        if let Err(all) = parse_command(&line) {
            prop_assert!(!all.is_empty());
            for d in all {
                prop_assert!(d.place.column.unwrap() <= line.chars().count() as u64 + 1);
                prop_assert!(!d.message.is_empty());
            }
        }
    }

    #[test]
    fn any_arguments_of_any_verb_are_read_or_refused(
        i in 0..COMMANDS.len(), args in "[ -~ä]{0,30}",
    ) {
        if let Ok(Some(c)) = parse_command(&format!("{} {args}", COMMANDS[i].name)) {
            prop_assert_eq!(parse_command(&print(&c)), Ok(Some(c)));
        }
    }

    #[test]
    fn a_line_with_something_broken_in_it_never_panics(
        c in samples::command(), at in any::<prop::sample::Index>(), with in any::<char>(),
    ) {
        let mut chars: Vec<char> = print(&c).chars().collect();
        let at = at.index(chars.len());
        chars[at] = with;
        let _ = parse_command(&chars.into_iter().collect::<String>());
    }
}

#[test]
fn what_is_changed_is_named_as_expressions_name_it() {
    let read = |line: &str| parse_command(line).unwrap().unwrap();
    let set = read("set q0.tx.drtp_inc = 2 * 2");
    assert_eq!(crate::script::print(&set), "set q0.tx.drtp_inc = 2 * 2");
    assert!(matches!(read("set $a = 1"), Command::SetVar(..)));
    assert_eq!(at("set 3 = 1"), ("S003", 5, 1));
    assert_eq!(at("set tx[0].dmb + 1 = 1"), ("S003", 5, 9));
    assert_eq!(at("set tx[0].dmbb = 1"), ("S005", 11, 4));
    // A register belongs to the directions that have it.
    assert_eq!(at("set rx.rlimit = 1"), ("S005", 8, 6));
    let at_ring = read("inject strm_last at q1.rx");
    assert_eq!(crate::script::print(&at_ring), "inject STRM_LAST at q1.rx");
    assert_eq!(at("inject STRM_LAST at tx[3]"), ("S003", 21, 5));
    assert_eq!(at("inject STRM_LAST at tx[3:4]"), ("S003", 21, 7));
    assert_eq!(at("inject STRM_LAST at batch 1"), ("S003", 21, 5));
    assert_eq!(at("inject STRM_LAST rx[1]"), ("S003", 18, 5));
    assert_eq!(at("inject STRM_LSAT").0, "S003");
}

#[test]
fn a_file_is_saved_as_its_name_says_and_over_another_only_when_told() {
    let read = |line: &str| parse_command(line).unwrap().unwrap();
    let (file, format) = ("a.dma".to_owned(), SaveFormat::Assembly);
    assert_eq!(read("save a.dma"), Command::Save { file, format, over: false });
    let (file, format) = ("a b.bin".to_owned(), SaveFormat::Image);
    assert_eq!(read("save! \"a b.bin\""), Command::Save { file, format, over: true });
    assert_eq!(at("save a.txt"), ("S003", 6, 5));
    assert_eq!(at("save"), ("S003", 5, 1));
    assert_eq!(at("step! 3"), ("S001", 1, 5));
}
