use super::*;
use crate::diag::{Diagnostic, Place, SlotRef};
use crate::udma::Dir;
use proptest::prelude::*;

const NAME: &str = "a.bir";

fn read(text: &str) -> FileTest {
    parse(NAME, Grammar::Bir, text).unwrap().expect("it is a test")
}

fn wrong(grammar: Grammar, text: &str) -> Vec<(u64, u64, String)> {
    let report = parse(NAME, grammar, text).unwrap_err();
    let told = |d: &Diagnostic| {
        assert_eq!(d.code, "S031");
        let help = d.help.clone().unwrap_or_default();
        (d.place.line.unwrap(), d.place.column.unwrap(), format!("{} {help}", d.message))
    };
    report.items.iter().map(told).collect()
}

fn at_line(code: &'static str, line: u64, message: &str) -> Diagnostic {
    Diagnostic::new(code, message).at(Place::text(line, 1, 1).in_file(NAME))
}

fn at_slot(code: &'static str, index: u64, message: &str) -> Diagnostic {
    let slot = SlotRef { queue: Some((128, 0)), dir: Dir::Tx, index };
    Diagnostic::new(code, message).at(Place::slot(slot).in_file(NAME).at_event(7))
}

#[test]
fn a_file_is_a_test_where_its_header_says_so() {
    for (text, is) in [
        ("bir 2 gen3\n; test: check\nfunc\n", true),
        ("; prose\n\n;test: check\nbir 2\n", true),
        ("bir 2 gen3\n; prose\nfunc\n; test: check\n", false),
        ("bir 2 gen3 ; test: check\nfunc\n", false),
        ("", false),
        ("; the test: check\n", false),
        // What almost says so is refused where it is read, not passed over.
        ("; tests: check\n", true),
        ("; Test: check\n", true),
        ("; rest: of it\n; best: run away\n", true),
        ("; rest: of it\n; text: here\n", false),
    ] {
        assert_eq!(has_test(Grammar::Bir, text), is, "{text}");
    }
    for text in ["; tests: check\n", "; Test: check\n"] {
        let all = wrong(Grammar::Bir, text);
        assert!(all.len() == 1 && all[0].2.contains("says nothing here"), "{all:?}");
    }
    assert!(has_test(Grammar::Dbg, "# test: run\n"));
    assert!(!has_test(Grammar::Dbg, "; test: run\n"));
}

#[test]
fn everything_that_a_file_says_is_read() {
    let t = read(
        "bir 2 gen3\n; What it shows.\n; test: lower --stop-after check\n; status: 1\n\
         ; expect error[R030] at tx[3]: lost\n; expect note[D010]\n; test: check\nfunc main {\n\
         \x20 a \"; error[D001]\" ; error[B044]: invalid\n  ; warning[B049]\n\n  }\n\
         ; output:\n;  two\n;\n; \\output 2:\n; output 2:\n; last\n;\n",
    );
    let kinds: Vec<_> = t.runs.iter().map(|r| (r.kind, r.args.join(" "), r.status)).collect();
    assert_eq!(
        kinds,
        [(Kind::Lower, "--stop-after check".to_owned(), 1), (Kind::Check, String::new(), 0)]
    );
    assert_eq!(t.runs[0].output.as_ref().unwrap(), &[" two", "", "output 2:"]);
    assert_eq!(t.runs[1].output.as_ref().unwrap(), &["last"]);
    let told: Vec<_> = t
        .expectations
        .iter()
        .map(|e| (e.severity, e.code, e.text.as_str(), e.spot.clone()))
        .collect();
    assert_eq!(
        told,
        [
            (Severity::Error, "R030", "lost", Spot::Elsewhere(Some("tx[3]".into()))),
            (Severity::Note, "D010", "", Spot::Elsewhere(None)),
            (Severity::Error, "B044", "invalid", Spot::Line(9)),
            (Severity::Warning, "B049", "", Spot::Line(9)),
        ]
    );
}

#[test]
fn in_hex_text_a_comment_has_a_line_of_its_own() {
    let text = "# test: check\n00000000: 2323 2323  ####\n# error[D040]: digit\n";
    let t = parse("a.hex", Grammar::Hex, text).unwrap().unwrap();
    assert_eq!(t.expectations[0].spot, Spot::Line(2));
    let place = Place::text(2, 1, 1).in_file("a.hex");
    let (found, runs) = ([Diagnostic::new("D041", "x").at(place)], [Actual::new(0, "")]);
    let verdict = t.judge("a.hex", &found, &runs);
    let new = "# test: check\n00000000: 2323 2323  ####\n# error[D041]: x\n";
    assert_eq!(rewrite(text, &t, &verdict, &runs), new);
}

#[test]
fn mistakes_are_told_at_their_word_all_at_once() {
    let text = "bir 2\n; test: chek\n; test: book\n; status: 7\n; expect eror[D001]: x\n\
                ; statsu: 1\n; test: check\n; expect error[D999]: x\n; program: a\nfunc ; error[X001]: a\n";
    let all = wrong(Grammar::Bir, text);
    let places: Vec<_> = all.iter().map(|(l, c, _)| (*l, *c)).collect();
    assert_eq!(places, [(2, 9), (3, 9), (4, 11), (5, 10), (6, 3), (8, 16), (9, 12), (10, 14)]);
    assert!(all[0].2.contains("did you mean `check`?"), "{}", all[0].2);
    assert!(all[1].2.contains("cannot run `book` one of check, lower"), "{}", all[1].2);
    assert!(all[3].2.contains("did you mean `error`?"), "{}", all[3].2);
    assert!(all[4].2.contains("did you mean `status`?"), "{}", all[4].2);
}

#[test]
fn a_test_of_a_script_needs_a_program_and_is_run() {
    let all = wrong(Grammar::Dbg, "# test: check\n# test: run\nstep\n");
    assert_eq!(all.len(), 2, "{all:?}");
    assert!(all[0].2.contains("not for scripts") && all[1].2.contains("# program: FILE"));
    let t = parse("a.dbg", Grammar::Dbg, "dbg 1\n# test: run\n# program: \"a b.dma\"\nstep\n");
    assert_eq!(t.unwrap().unwrap().program, Some(("a b.dma".to_owned(), 3)));
    assert!(wrong(Grammar::Dma, "; test: lower\n")[0].2.contains("only a module"));
}

#[test]
fn an_output_block_stands_at_the_end_and_belongs_to_a_test() {
    let all = wrong(Grammar::Bir, "; test: check\n; output:\n; a\nfunc\n");
    assert!(all[0].2.contains("at the end"), "{all:?}");
    let all = wrong(Grammar::Bir, "; test: check\nfunc\n; output 2:\n; output:\n; output:\n");
    assert!(all[0].2.contains("no test 2") && all[1].2.contains("twice"), "{all:?}");
}

#[test]
fn an_annotation_needs_a_line_above_it() {
    let all = wrong(Grammar::Dbg, "# test: run\n# program: a\n# error[S001]: x\nstep\n");
    assert!(all[0].2.contains("no line above"), "{all:?}");
}

#[test]
fn findings_must_be_exactly_those_that_are_told() {
    let t = read(
        "bir 2\n; test: check\n; expect warning[R015] at tx[3]: lost\na\nb ; error[B044]: off\n",
    );
    let (b044, r015) = (at_line("B044", 5, "an offset"), at_slot("R015", 3, "is lost"));
    let r015 = Diagnostic { severity: Severity::Warning, ..r015 };
    let ran = [Actual::new(0, "")];
    let judge = |found: &[Diagnostic]| t.judge(NAME, found, &ran);
    assert!(judge(&[b044.clone(), r015.clone()]).is_good());
    assert!(judge(&[b044.clone(), r015.clone(), r015.clone(), b044.clone()]).is_good(), "a set");
    // One is missing, one is more, one is elsewhere, one says something else.
    assert_eq!(judge(std::slice::from_ref(&r015)).missing, [1]);
    let more = at_line("B044", 5, "another offset");
    assert_eq!(judge(&[b044.clone(), r015.clone(), more]).unexpected.len(), 1);
    let elsewhere = judge(&[at_line("B044", 4, "an offset"), r015.clone()]);
    assert_eq!((elsewhere.missing.len(), elsewhere.unexpected.len()), (1, 1));
    let other = judge(&[at_line("B044", 5, "a size"), r015.clone()]);
    assert_eq!((other.missing.len(), other.unexpected.len()), (1, 1));
    // Another slot, another severity, another file.
    let slot = Diagnostic { severity: Severity::Warning, ..at_slot("R015", 4, "is lost") };
    assert!(!judge(&[b044.clone(), slot]).is_good());
    assert!(
        !judge(&[b044.clone(), Diagnostic { severity: Severity::Error, ..r015.clone() }]).is_good()
    );
    let mut far = b044;
    far.place.file = Some("b.bir".to_owned());
    assert!(!judge(&[far, r015]).is_good());
}

#[test]
fn a_finding_between_lines_belongs_to_the_code_above() {
    let t = read("bir 2\n; test: check\na ; error[B001]: end\n\n\n");
    for line in [3, 4, 5, 99] {
        let found = [at_line("B001", line, "the end is missing")];
        assert!(t.judge(NAME, &found, &[Actual::new(0, "")]).is_good(), "{line}");
    }
}

#[test]
fn two_comments_that_fit_the_same_finding_find_both_theirs() {
    // Taken greedily, the first would keep the finding that the second needs.
    let t = read("; test: check\nbir ; error[B044]: b\n; error[B044]: bc\n");
    let found = [at_line("B044", 2, "abc"), at_line("B044", 2, "ab")];
    assert!(t.judge(NAME, &found, &[Actual::new(0, "")]).is_good());
}

#[test]
fn places_are_written_in_several_ways() {
    let of = |place: &str| {
        let t = read(&format!("; test: check\n; expect error[R001] at {place}: x\nbir\n"));
        t.judge(NAME, &[at_slot("R001", 3, "x")], &[Actual::new(0, "")]).is_good()
    };
    assert!(of("tx[3]") && of("e128.q0.tx[3]") && of("event 7"));
    assert!(!of("tx[4]") && !of("event 8") && !of("e128.q1.tx[3]"));
    let t = read("; test: check\n; expect error[B001] at lib/b.dma:12\nbir\n");
    let d = Diagnostic::new("B001", "x").at(Place::text(12, 1, 1).in_file("lib/b.dma"));
    assert!(t.judge(NAME, &[d], &[Actual::new(0, "")]).is_good());
}

/// What blessing makes of a text, and that it is then good and stays as it is.
fn blessed(text: &str, found: &[Diagnostic], runs: &[Actual]) -> String {
    let t = read(text);
    rewrite(text, &t, &t.judge(NAME, found, runs), runs)
}

#[test]
fn blessing_changes_expectations_and_nothing_else() {
    let text = "bir 2\n; prose\n; test: check\n; expect note[D010]: gone\na\n  b ; error[B044]: old\n\
                c ; prose stays\nd \"open\n; prose ; x\n; output:\n; old\n";
    let found = [
        at_line("B049", 6, "new"),
        at_line("B050", 7, "one"),
        at_line("B050", 7, "two"),
        at_line("B051", 8, "in a quote"),
        at_slot("R001", 3, "moved"),
    ];
    let runs = [Actual::new(1, "x  \n\noutput:\n")];
    assert_eq!(
        blessed(text, &found, &runs),
        "bir 2\n; prose\n; test: check\n; status: 1\n; expect error[R001] at e128.q0.tx[3]: moved\na\n\
         \x20 b  ; error[B049]: new\nc ; prose stays\n; error[B050]: one\n; error[B050]: two\n\
         d \"open\n; error[B051]: in a quote\n; prose ; x\n; output:\n; x\n;\n; \\output:\n"
    );
}

#[test]
fn what_is_blessed_says_no_event_and_what_says_one_still_fits() {
    let race = |n: u64, m: u64| {
        let mut d = Diagnostic::new(
            "R031",
            format!("the read of tx[0] (event {n}) and a store (event {m})"),
        );
        d.place.event = Some(m);
        d.in_file("x.bir")
    };
    let text = "; test: run\n; status: 1\nbir 2 gen3\n";
    let runs = [Actual::new(1, "")];
    let new = blessed(text, &[race(3, 40)], &runs);
    assert!(new.contains("; expect error[R031]: the read of tx[0] and a store\n"), "{new}");
    for (n, m) in [(3, 40), (4, 41)] {
        assert!(read(&new).judge("x.bir", &[race(n, m)], &runs).is_good());
    }
    let old = text
        .replace("status: 1", "status: 1\n; expect error[R031] at event 40: tx[0] (event 3) and");
    assert!(read(&old).judge("x.bir", &[race(3, 40)], &runs).is_good());
}

#[test]
fn blessing_what_is_good_changes_no_byte() {
    let text = "\u{feff}bir 2\r\n; test: check\r\n;  status:  1\r\nb ;error[B044]: of\r\n;output:\r\n; x   ";
    let t = read(text);
    let (found, runs) = ([at_line("B044", 4, "an offset")], [Actual::new(1, "x\n")]);
    let verdict = t.judge(NAME, &found, &runs);
    assert!(verdict.is_good(), "{verdict:?}");
    assert_eq!(rewrite(text, &t, &verdict, &runs), text);
    // What changes keeps the ends of lines.
    let runs = [Actual::new(0, "y\n")];
    let new = rewrite(text, &t, &t.judge(NAME, &found, &runs), &runs);
    assert_eq!(new, "\u{feff}bir 2\r\n; test: check\r\nb ;error[B044]: of\r\n; output:\r\n; y\r\n");
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "(; (test: (check|run|chek)|status: [0-3]|expect (error|note)[\\[]D001\\]( at tx\\[1\\])?: a|output( 2)?:|a)\n|[a-z\"; ]{0,8}\n){0,12}") {
        let _ = parse(NAME, Grammar::Bir, &text);
    }

    #[test]
    fn what_is_blessed_is_good_and_blessed_again_the_same(
        lines in proptest::collection::vec("[ ]{0,2}[a-c\"]{0,3}( ; (error\\[B044\\]: [ab]{1,2}|prose))?", 1..8),
        found in proptest::collection::vec((1u64..12, "[ab]{1,3}", any::<bool>()), 0..6),
        output in "[a-c \\n\\\\]{0,12}(output:\n)?",
        status in 0u8..3,
    ) {
        let text = format!("bir 2\n; test: check\nx\n{}\n; output:\n; a\n", lines.join("\n"));
        let runs = [Actual::new(status, &output)];
        let t = read(&text);
        let find = |(line, m, slot): &(u64, String, bool)| match slot {
            true => at_slot("R001", *line, m),
            false => at_line("B044", 2 + *line, m),
        };
        let found: Vec<Diagnostic> = found.iter().map(find).collect();
        let verdict = t.judge(NAME, &found, &runs);
        let new = rewrite(&text, &t, &verdict, &runs);
        let again = read(&new);
        // Lines that come or go move the code, and what is found in it.
        let code = |t: &str| -> Vec<u64> {
            let has = |l: &str| !super::read::parts(l, Grammar::Bir).code.is_empty();
            (1..).zip(t.lines()).filter(|(_, l)| has(l)).map(|(n, _)| n).collect()
        };
        let (old_code, new_code) = (code(&text), code(&new));
        prop_assert_eq!(old_code.len(), new_code.len());
        let moved: Vec<Diagnostic> = found.iter().map(|d| {
            let mut d = d.clone();
            if let Some(line) = &mut d.place.line {
                let nth = old_code.iter().filter(|l| **l <= *line).count();
                *line = new_code[nth - 1];
            }
            d
        }).collect();
        let verdict = again.judge(NAME, &moved, &runs);
        prop_assert!(verdict.is_good(), "{new}\n{verdict:?}");
        prop_assert_eq!(rewrite(&new, &again, &verdict, &runs), new);
    }
}
