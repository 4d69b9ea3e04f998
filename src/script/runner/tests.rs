//! Tests of scripts, against a target that only writes down what it is asked.
use super::*;

/// Answers every command with its text, and fails on `assert 0` and the like.
#[derive(Default)]
struct Fake {
    asked: Vec<String>,
}

impl Target for Fake {
    fn run(&mut self, command: &Command) -> Result<Reply, Diagnostic> {
        let text = crate::script::print(command);
        self.asked.push(text.clone());
        match text.as_str() {
            "assert 0" => Err(Diagnostic::new("S007", "it is 0").at(Place::default().at_event(7))),
            "expect timeout" => Err(Diagnostic::new("S008", "no timeout")),
            "print 1 / 0" => Err(Diagnostic::new("S006", "division by zero")),
            _ => Ok(Reply { quit: *command == Command::Quit, lines: vec![text] }),
        }
    }
}

fn none(_: &str, _: &str) -> Result<Source, String> {
    Err("there is none".into())
}

/// Runs a script; what the target was asked, and what came of it.
fn go(text: &str, resolve: Resolver<'_>) -> (Vec<String>, Run) {
    let mut fake = Fake::default();
    let run = run("a.dbg", text, &mut fake, resolve);
    (fake.asked, run)
}

/// Sources from a list of names and texts.
fn files(list: &[(&str, String)]) -> impl FnMut(&str, &str) -> Result<Source, String> {
    move |wanted, _| {
        let found = list.iter().find(|f| f.0 == wanted).ok_or("there is none")?;
        Ok(Source { name: found.0.to_owned(), text: found.1.clone() })
    }
}

#[test]
fn a_script_runs_to_its_end() {
    let (asked, run) = go("# first\nstep 2\n\n  where # here\r\nhelp step\n", &mut none);
    assert_eq!(asked, ["step 2", "where"]);
    assert_eq!(run.outcome, Verdict::Passed);
    assert!(run.report.is_empty());
    assert!(run.lines[2].starts_with("step [N]"), "help is answered without the target");
}

#[test]
fn nothing_runs_where_any_line_is_wrong_and_all_are_told() {
    let (asked, run) = go("step\nstpe\nwhere\n  print tx[0].dmbb\n", &mut none);
    assert_eq!(asked, [""; 0]);
    assert_eq!(run.outcome, Verdict::Bad);
    let places: Vec<_> = run
        .report
        .items
        .iter()
        .map(|d| (d.code, d.place.file.as_deref(), d.place.line, d.place.column))
        .collect();
    let file = Some("a.dbg");
    assert_eq!(places, [("S001", file, Some(2), Some(1)), ("S005", file, Some(4), Some(15))]);
}

#[test]
fn a_failed_assertion_stops_the_script_at_its_line() {
    for (bad, outcome) in [
        ("assert 0", Verdict::Failed),
        ("expect timeout", Verdict::Failed),
        ("print 1 / 0", Verdict::Bad),
    ] {
        let (asked, run) = go(&format!("step\n  {bad}\nwhere\n"), &mut none);
        assert_eq!(asked, ["step", bad]);
        assert_eq!((run.outcome, run.lines.len()), (outcome, 1));
        let place = &run.report.items[0].place;
        assert_eq!((place.line, place.column), (Some(2), Some(3)));
        assert_eq!(place.width, Some(bad.len() as u64));
        assert_eq!(place.event, if bad == "assert 0" { Some(7) } else { None });
    }
}

#[test]
fn quit_ends_a_script_well() {
    let (asked, run) = go("quit\nassert 0\n", &mut none);
    assert_eq!((asked.len(), run.outcome), (1, Verdict::Passed));
}

#[test]
fn what_is_sourced_runs_in_its_place_and_is_read_before_anything_runs() {
    let list = [("b", "step 3\n".to_owned())];
    let (asked, run) = go("step 1\nsource b\nsource b\nwhere\n", &mut files(&list));
    assert_eq!(asked, ["step", "step 3", "step 3", "where"]);
    assert_eq!(run.outcome, Verdict::Passed);

    let list = [("b", "stpe\n".to_owned())];
    let (asked, run) = go("step\nsource b\nsource b\nsource c\n", &mut files(&list));
    assert_eq!(asked, [""; 0]);
    let told: Vec<_> = run.report.items.iter().map(|d| (d.code, d.place.line)).collect();
    assert_eq!(told, [("S001", Some(1)), ("S009", Some(4))], "b is told once");
    assert_eq!(run.report.items[0].place.file.as_deref(), Some("b"));
}

#[test]
fn a_failure_in_a_sourced_text_names_that_text() {
    let list = [("b", "\nassert 0\n".to_owned())];
    let (_, run) = go("source b\n", &mut files(&list));
    let place = &run.report.items[0].place;
    assert_eq!((place.file.as_deref(), place.line), (Some("b"), Some(2)));
}

#[test]
fn endless_sourcing_is_refused() {
    let list = [("b", "source c\n".to_owned()), ("c", "source b\n".to_owned())];
    let (_, run) = go("source b\n", &mut files(&list));
    assert_eq!(run.report.items[0].code, "S009");
    let (_, run) = go("source a.dbg\n", &mut files(&[("a.dbg", "source a.dbg\n".to_owned())]));
    assert!(run.report.items[0].message.contains("sources itself"));
}

#[test]
fn sourcing_is_bounded_in_depth_and_in_all() {
    // Each text sources the next.
    let chain = |levels: usize| {
        move |wanted: &str, _: &str| {
            let n: usize = wanted.parse().unwrap();
            let text =
                if n < levels { format!("source {}\n", n + 1) } else { "where\n".to_owned() };
            Ok(Source { name: wanted.to_owned(), text })
        }
    };
    assert_eq!(go("source 1\n", &mut chain(MAX_SOURCE_DEPTH)).1.outcome, Verdict::Passed);
    let (_, run) = go("source 1\n", &mut chain(MAX_SOURCE_DEPTH + 1));
    assert!(run.report.items[0].message.contains("deeper"), "{:?}", run.report);
    // Each text sources the next twice, and the last is empty.
    let mut doubling = |wanted: &str, _: &str| {
        let n: usize = wanted.parse().unwrap();
        let text = if n < 30 { format!("source {0}\nsource {0}\n", n + 1) } else { String::new() };
        Ok(Source { name: wanted.to_owned(), text })
    };
    let (_, run) = go("source 1\n", &mut doubling);
    assert!(run.report.items[0].message.contains("commands"), "{:?}", run.report);
}

#[test]
fn a_header_is_optional_and_its_version_is_checked() {
    for text in ["dbg\nwhere\n", "\u{feff}# x\ndbg 1 # version\nwhere\n", "where\n"] {
        assert_eq!(go(text, &mut none).0, ["where"]);
    }
    let (_, run) = go("dbg 2\nwhere\n", &mut none);
    assert_eq!((run.report.items[0].code, run.outcome), ("S009", Verdict::Bad));
    assert_eq!(go("where\ndbg 1\n", &mut none).1.outcome, Verdict::Bad);
}

#[test]
fn the_report_of_a_script_is_bounded() {
    let (_, run) = go(&"stpe\n".repeat(20_000), &mut none);
    assert_eq!(run.report.items.len(), crate::limits::MAX_DIAGNOSTICS);
}
