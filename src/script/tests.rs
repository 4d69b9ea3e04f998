//! What is printed reads back, and nothing that is typed can break the parser.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::engine::command::*;
use crate::engine::expr::{BinOp, Expr, QueueRef, UnOp};
use crate::engine::program::QueueId;
use crate::engine::session::{PROPERTIES, RING_PROPERTIES};
use crate::udma::Dir;
use proptest::prelude::*;
use proptest::sample::select;

fn queue() -> impl Strategy<Value = QueueRef> {
    prop_oneof![
        Just(QueueRef::Selected),
        (0u32..16).prop_map(QueueRef::Queue),
        (0u32..132, 0u32..16)
            .prop_map(|(engine, queue)| QueueRef::Exact(QueueId { engine, queue })),
    ]
}

fn dir() -> impl Strategy<Value = Dir> {
    select(&Dir::BOTH[..])
}

fn expr() -> impl Strategy<Value = Expr> {
    let names: Vec<&str> = PROPERTIES.iter().map(|p| p.0).collect();
    let ring: Vec<&str> = RING_PROPERTIES.iter().map(|p| p.0).collect();
    let ring2 = ring.clone();
    let leaf = prop_oneof![
        any::<u64>().prop_map(Expr::Num),
        "[a-z][a-z0-9_]{0,5}".prop_map(Expr::Var),
        select(names).prop_map(|n| Expr::Name(n.to_owned())),
        (queue(), select(ring))
            .prop_map(|(queue, p)| Expr::Queue { queue, path: vec![p.to_owned()] }),
        (queue(), dir(), select(ring2)).prop_map(|(queue, d, p)| Expr::Queue {
            queue,
            path: vec![d.name().to_owned(), p.to_owned()]
        }),
    ];
    let field = select(vec!["len_ctrl", "dmb", "length", "addr", "life", "ssmae_op"]);
    leaf.prop_recursive(5, 40, 3, move |inner| {
        prop_oneof![
            (select(vec![UnOp::Not, UnOp::BitNot, UnOp::Neg]), inner.clone())
                .prop_map(|(op, e)| Expr::Unary(op, Box::new(e))),
            (
                select(BinOp::TABLE.iter().map(|r| r.1).collect::<Vec<_>>()),
                inner.clone(),
                inner.clone()
            )
                .prop_map(|(op, a, b)| Expr::Binary(op, Box::new(a), Box::new(b))),
            (select(vec![1u8, 2, 4, 8]), inner.clone())
                .prop_map(|(width, a)| Expr::Mem { width, addr: Box::new(a) }),
            (queue(), dir(), inner, field.clone()).prop_map(|(queue, dir, i, f)| Expr::Slot {
                queue,
                dir,
                index: Box::new(i),
                path: vec![f.to_owned()],
            }),
        ]
    })
}

fn loc() -> impl Strategy<Value = Loc> {
    prop_oneof![
        (queue(), dir(), 0u64..99, 0u64..99).prop_map(|(queue, dir, first, n)| Loc::Slots {
            queue,
            dir,
            first,
            last: first + n
        }),
        any::<u64>().prop_map(Loc::Batch),
        any::<u64>().prop_map(Loc::Addr),
        Just(Loc::Marker),
        Just(Loc::Doorbell),
        Just(Loc::Fault),
        any::<u64>().prop_map(Loc::Event),
    ]
}

fn command() -> impl Strategy<Value = Command> {
    let form = select(vec![Form::Hex, Form::Decimal, Form::Binary, Form::Char]);
    let unit = select(&Unit::ALL[..]);
    let who = select(&Who::ALL[..]);
    prop_oneof![
        (any::<u64>(), unit, who, any::<bool>())
            .prop_map(|(count, unit, who, back)| Command::Step { count, unit, who, back }),
        (any::<u64>(), any::<bool>()).prop_map(|(count, back)| Command::Next { count, back }),
        any::<bool>().prop_map(|back| Command::Continue { back }),
        (expr(), any::<bool>()).prop_map(|(expr, back)| Command::Until { expr, back }),
        (any::<bool>(), 0u32..16)
            .prop_map(|(back, q)| Command::Doorbell { queue: Some(QueueRef::Queue(q)), back }),
        any::<u64>().prop_map(|n| Command::Goto(Goto::Event(Expr::Num(n)))),
        "[a-d][a-z0-9_]{0,4}(-[a-z]{1,3})?".prop_map(|m| Command::Goto(Goto::Mark(m))),
        (loc(), prop::option::of(expr()), any::<bool>(), any::<u64>())
            .prop_map(|(loc, cond, once, after)| Command::Break { loc, cond, once, after }),
        prop::collection::vec(any::<u64>(), 0..4).prop_map(Command::Delete),
        (expr(), prop::option::of(form.clone()))
            .prop_map(|(expr, form)| Command::Print { expr, form }),
        (0u64..999, select(vec![1u8, 2, 4, 8]), form, prop::option::of(expr())).prop_map(
            |(count, width, form, addr)| Command::Examine {
                format: ExamineFormat { count, width, form },
                addr
            }
        ),
        select(&Info::ALL[..]).prop_map(|what| Command::Info { what, queue: None }),
        loc().prop_map(|l| Command::Explain(Explain::Loc(l))),
        (expr(), prop::option::of("[a-z #,]{0,9}"))
            .prop_map(|(expr, text)| Command::Assert { expr, text }),
        any::<i32>().prop_map(|n| Command::Expect(Expect::Ret(i64::from(n)))),
        (prop::option::of(loc())).prop_map(|l| Command::Expect(Expect::Fault("PKT_LEN".into(), l))),
        loc().prop_map(|l| Command::Expect(Expect::Stop(l))),
        ("[a-z]{1,5}", expr()).prop_map(|(n, e)| Command::SetVar(n, e)),
        "[ -!$-~]{0,20}"
            .prop_filter("quotes", |t| !t.contains('"') && !t.contains('#'))
            .prop_map(Command::Echo),
    ]
}

proptest! {
    #[test]
    fn an_expression_reads_back_as_printed(e in expr()) {
        prop_assert_eq!(parse_expr(&e.to_string()), Ok(e.clone()), "{}", e);
    }

    #[test]
    fn a_command_reads_back_as_printed(c in command()) {
        let line = print(&c);
        prop_assert_eq!(parse_command(&line), Ok(Some(c)), "{}", line);
    }

    #[test]
    fn no_line_breaks_the_parser(line in "\\PC{0,60}") {
        let _ = parse_command(&line);
        let _ = parse_expr(&line);
        complete(&line, &[], &[]);
    }

    #[test]
    fn no_made_up_line_breaks_the_parser(parts in prop::collection::vec(select(vec![
        "break", "x/8wx", "print", "tx", "[", "]", "3", ":", ".", "dmb", "if", "(", ")", "$a", "=",
        "0x", "-", "once", "\"", ",", "step", "q0", "e1", "goto", "expect", "ret", "!", "#",
    ]), 0..12)) {
        let _ = parse_command(&parts.join(" "));
        let _ = parse_command(&parts.concat());
    }
}

#[test]
fn nesting_is_bounded() {
    for text in
        ["(".repeat(100_000), "!".repeat(100_000), "1+".repeat(100_000) + "1", "mem8[".repeat(9999)]
    {
        assert_eq!(parse_expr(&text).unwrap_err().code, "S004");
    }
}

#[test]
fn an_error_points_at_the_word_and_suggests_the_nearest() {
    let e = |line: &str| {
        let d = parse_command(line).unwrap_err();
        (d.code, d.place.column.unwrap(), d.place.width.unwrap(), d.help.unwrap_or_default())
    };
    assert_eq!(e("  stpe 3"), ("S001", 3, 4, "did you mean step?".into()));
    assert_eq!(e("print tx[3].dbm"), ("S005", 13, 3, "did you mean dmb?".into()));
    assert_eq!(e("info ringz"), ("S003", 6, 5, "did you mean rings?".into()));
    assert_eq!(e("reverse-").0, "S002");
    assert_eq!(e("break tx[3] oops").1, 13);
    assert_eq!(e("print 1 +").1, 10);
    assert_eq!(e("expect fault PKT_LENN").3, "did you mean PKT_LEN?");
}

#[test]
fn words_may_come_in_any_order_and_be_cut_short() {
    let step = |line: &str| parse_command(line).unwrap().unwrap();
    let want = Command::Step { count: 3, unit: Unit::Packet, who: Who::Engine, back: false };
    assert_eq!(step("step packet 3 engine"), want);
    assert_eq!(step("s 3 pack eng # and a remark"), want);
    assert_eq!(parse_command("   # nothing"), Ok(None));
    assert_eq!(step("x /8wx 0x1000"), step("x/8wx 4096"));
}

#[test]
fn all_mistakes_of_a_script_are_reported_before_it_runs() {
    let mut read = |_: &str, f: &str| Ok(format!("# {f}\nnonsense\n"));
    let report =
        runner::parse("a.dbg", "step\nbogus\nsource b.dbg\nprint (\n", &mut read).unwrap_err();
    let at: Vec<_> = report
        .items
        .iter()
        .map(|d| (d.place.file.clone().unwrap(), d.place.line.unwrap()))
        .collect();
    assert_eq!(at, [("a.dbg".into(), 2), ("b.dbg".into(), 2), ("a.dbg".into(), 4)]);
}

#[test]
fn a_script_that_sources_itself_is_refused() {
    let mut read = |_: &str, _: &str| Ok("source a.dbg\n".to_owned());
    let report = runner::parse("a.dbg", "source a.dbg\n", &mut read).unwrap_err();
    assert_eq!(report.items[0].code, "S009");
}

#[test]
fn completion_knows_commands_words_and_fields() {
    let c = |line: &str| complete(line, &["begin".into()], &["q0".into()]).candidates;
    assert_eq!(c("reverse-s"), ["reverse-step"]);
    assert_eq!(c("info r"), ["regs", "rings"]);
    assert_eq!(c("print tx[3].dm"), ["dmb"]);
    assert_eq!(c("goto b"), ["begin"]);
    assert_eq!(complete("goto b", &[], &[]).from, 5);
}
