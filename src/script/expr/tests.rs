//! Tests of expressions.
use super::super::samples;
use super::*;
use proptest::prelude::*;

/// Code, column, width, and help of what is wrong with a text.
fn wrong(text: &str) -> (&'static str, u64, u64, String) {
    let d = parse_expr(text).unwrap_err();
    (d.code, d.place.column.unwrap(), d.place.width.unwrap(), d.help.unwrap_or_default())
}

fn printed(text: &str) -> String {
    parse_expr(text).unwrap_or_else(|d| panic!("{text}: {d:?}")).to_string()
}

#[test]
fn precedence_is_that_of_c() {
    for (text, as_read) in [
        ("1+2*3", "1 + 2 * 3"),
        ("(1+2)*3", "(1 + 2) * 3"),
        ("1-2-3", "1 - 2 - 3"),
        ("1-(2-3)", "1 - (2 - 3)"),
        ("1 & 2 == 2", "1 & 2 == 2"),
        ("(1 & 2) == 2", "(1 & 2) == 2"),
        ("1||0&&0", "1 || 0 && 0"),
        ("1<<2<3", "1 << 2 < 3"),
        ("-1-- 1", "-1 - -1"),
        ("!~-(1+2)", "!~-(1 + 2)"),
        ("1&&2&3", "1 && 2 & 3"),
    ] {
        assert_eq!(printed(text), as_read);
    }
    let and = |e: Expr| matches!(e, Expr::Binary(BinOp::And, ..));
    assert!(and(parse_expr("1 & 2 == 2").unwrap()));
}

#[test]
fn everything_that_has_a_value_is_read() {
    for text in [
        "0x10000",
        "$a_1",
        "event",
        "marker",
        "tx[3].len_ctrl.dmb",
        "tx[3].length",
        "rx[tx[0].ring_id + 1].strong_order",
        "q0.rx[17]",
        "e5.q3.free",
        "q0.tx.next_desc_idx",
        "tx.head",
        "free",
        "tx[1].addr",
        "q0.rx.drtp_inc",
        "reg[512] + e5.q3.reg[tx[0].addr]",
        "mem8[0] + mem16[1] + mem32[2] + mem64[3]",
    ] {
        assert_eq!(printed(text), text);
    }
    let spaced = " mem32[ 0x1_0 ]<< 0b11 ";
    assert_eq!(printed(spaced), "mem32[16] << 3");
    let exact = parse_expr("e5.q3.free").unwrap();
    let queue = QueueRef::Exact(QueueId { engine: 5, queue: 3 });
    assert_eq!(exact, Expr::Queue { queue, path: vec!["free".into()] });
}

#[test]
fn a_fault_points_at_its_word_and_names_the_nearest() {
    assert_eq!(wrong("tx[3].len_ctl"), ("S005", 7, 7, "did you mean `len_ctrl`?".into()));
    assert_eq!(wrong("tx[3].len_ctrl.dmbb"), ("S005", 16, 4, "did you mean `dmb`?".into()));
    assert_eq!(wrong("1 + evnt"), ("S005", 5, 4, "did you mean `event`?".into()));
    assert_eq!(wrong("q0.tx.haed").3, "did you mean `head`?");
    assert_eq!(wrong("q0.fre"), ("S005", 4, 3, "did you mean `free`?".into()));
    // A field of the other direction is none of this one.
    assert_eq!(wrong("rx[0].dmb").0, "S005");
    assert_eq!(wrong("tx[0].meta_ctrl.dmb").0, "S005");
    assert_eq!(wrong("tx[0].dmb.x"), ("S005", 11, 1, String::new()));
    assert_eq!(wrong("q0.free.free").1, 9);
    assert!(wrong("e5").3.contains("e5.q0"));
}

#[test]
fn broken_syntax_is_told_where_it_breaks() {
    assert_eq!(wrong(""), ("S004", 1, 1, String::new()));
    assert_eq!(wrong("1 +"), ("S004", 4, 1, String::new()));
    assert_eq!(wrong("1 + * 2").1, 5);
    assert_eq!(wrong("(1 + 2"), ("S004", 1, 1, String::new()));
    assert_eq!(wrong("(1 2)").1, 4);
    assert_eq!(wrong("mem32[1"), ("S004", 6, 1, String::new()));
    assert_eq!(wrong("mem32 + 1").1, 6);
    assert_eq!(wrong("$ + 1").1, 1);
    assert_eq!(wrong("12ab + 1"), ("S004", 1, 4, "decimal, or 0x.., 0b.., 0o..".into()));
    assert_eq!(wrong("1 = 1").3, "values are compared with `==`");
    assert_eq!(wrong("1 and 1").3, "write `&&`");
    assert_eq!(wrong("tx[1].").1, 7);
    assert_eq!(wrong("äö"), ("S004", 1, 1, String::new()));
    assert_eq!(wrong("99999999999999999999").2, 20);
}

#[test]
fn no_nesting_exhausts_the_stack() {
    let many = 1_000_000;
    for one in ["(", "!", "-", "~", "mem32[", "tx[", "1+(", "!(", "1||1&&1|1^1&1==1<1<<1+1*("] {
        assert_eq!(wrong(&one.repeat(many / one.len())).0, "S004", "{one}");
    }
    for chain in ["1+", "1*1+", "1||1&&1|1^1&1==1<1<<1+1*"] {
        assert_eq!(wrong(&format!("{}1", chain.repeat(100_000))).0, "S004", "{chain}");
    }
}

#[test]
fn the_bound_of_nesting_is_exact() {
    let brackets = |n| format!("{}1{}", "(".repeat(n), ")".repeat(n));
    assert!(parse_expr(&brackets(MAX_EXPR_DEPTH)).is_ok());
    assert!(parse_expr(&brackets(MAX_EXPR_DEPTH + 1)).is_err());
    let unary = |n| format!("{}1", "-".repeat(n));
    assert!(parse_expr(&unary(MAX_EXPR_DEPTH)).is_ok());
    assert!(parse_expr(&unary(MAX_EXPR_DEPTH + 1)).is_err());
    let sum = |n| format!("{}1", "1+".repeat(n));
    assert!(parse_expr(&sum(MAX_EXPR_DEPTH)).is_ok());
    assert!(parse_expr(&sum(MAX_EXPR_DEPTH + 1)).is_err());
}

#[test]
fn what_is_as_deep_as_may_be_reads_back() {
    // Every level asks for brackets.
    let mut left = Expr::Num(1);
    let mut right = Expr::Num(1);
    for i in 0..MAX_EXPR_DEPTH {
        let op = if i % 2 == 0 { BinOp::Add } else { BinOp::Mul };
        let one = Box::new(Expr::Num(1));
        left = Expr::Binary(op, Box::new(left), one.clone());
        right = Expr::Binary(op, one, Box::new(right));
    }
    for e in [left, right] {
        assert_eq!(parse_expr(&e.to_string()), Ok(e));
    }
}

proptest! {
    #[test]
    fn a_printed_expression_reads_back(e in samples::expr()) {
        let text = e.to_string();
        prop_assert_eq!(parse_expr(&text), Ok(e), "{}", text);
    }

    #[test]
    fn any_text_is_read_or_refused_with_a_place(text in ".{0,60}") {
        if let Err(d) = parse_expr(&text) {
            let column = d.place.column.unwrap();
            prop_assert!((1..=text.chars().count() as u64 + 1).contains(&column));
            prop_assert!(!d.message.is_empty());
        }
    }

    #[test]
    fn any_row_of_tokens_is_read_or_refused(
        tokens in proptest::collection::vec(proptest::sample::select(vec![
            "tx", "rx", "[", "]", "(", ")", ".", "q0", "e5", "$a", "1", "0x", "-", "!", "&&",
            "mem32", "event", "len_ctrl", "dmb", " ", "<<", "\"", "ä",
        ]), 0..20)
    ) {
        let _ = parse_expr(&tokens.concat());
    }
}

#[test]
fn a_name_of_the_program_is_a_value_that_the_session_looks_up() {
    let place = |n: &str| Expr::Place(n.to_owned());
    for (text, name) in [("y", "y"), ("SB", "SB"), ("r0", "r0"), ("\"q.marker\"", "q.marker")] {
        assert_eq!(parse_expr(text).unwrap(), place(name), "{text}");
    }
    let sum = parse_expr("mem32[y-4]").unwrap();
    assert_eq!(sum.to_string(), "mem32[y - 4]");
    // A name that reads as something else stands in quotes.
    assert_eq!(place("event").to_string(), "\"event\"");
    assert_eq!(place("a.b").to_string(), "\"a.b\"");
    assert!(parse_expr("evnt").is_err());
}
