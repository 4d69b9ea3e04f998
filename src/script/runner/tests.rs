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
            _ => {
                let quit = *command == Command::Quit;
                Ok(Reply { quit, lines: vec![text], ..Reply::default() })
            }
        }
    }

    fn event(&self) -> Option<u64> {
        Some(9)
    }
}

/// What came of a script: what the target was asked, what was said, how it ended.
#[derive(Debug)]
struct Run {
    asked: Vec<String>,
    said: Vec<String>,
    end: Result<End, Report>,
}

impl Run {
    /// What is wrong with a script that was not run.
    fn report(&self) -> Vec<Diagnostic> {
        assert!(self.asked.is_empty());
        self.end.clone().unwrap_err().items
    }
}

fn none(_: &str, file: &str) -> Result<Source, Diagnostic> {
    Err(Diagnostic::new("S009", format!("there is no `{file}`")))
}

fn go(text: &str, resolve: Resolver<'_>) -> Run {
    let (mut fake, mut said) = (Fake::default(), Vec::new());
    let end = parse("a.dbg", text, resolve)
        .map(|lines| run(&mut fake, lines.iter(), &mut |l| said.push(l.to_owned())));
    Run { asked: fake.asked, said, end }
}

/// Sources from a list of names and texts.
fn files(list: &[(&str, String)]) -> impl FnMut(&str, &str) -> Result<Source, Diagnostic> {
    move |from, wanted| match list.iter().find(|f| f.0 == wanted) {
        Some(f) => Ok(Source { name: f.0.to_owned(), text: f.1.clone() }),
        None => none(from, wanted),
    }
}

#[test]
fn a_script_runs_to_its_end() {
    let r = go("# first\nstep 2\n\n  where # here\r\nhelp step\n", &mut none);
    assert_eq!(r.asked, ["step 2", "where"]);
    assert_eq!(r.end, Ok(End::Done));
    assert!(r.said[2].starts_with("step [N]"), "help is answered without the target");
}

#[test]
fn nothing_runs_where_any_line_is_wrong_and_all_are_told() {
    let report = go("step\nstpe\nwhere\n  print tx[0].dmbb\n", &mut none).report();
    let place = |d: &Diagnostic| (d.code, d.place.file.clone(), d.place.line, d.place.column);
    let places: Vec<_> = report.iter().map(place).collect();
    let file = || Some("a.dbg".to_owned());
    assert_eq!(places, [("S001", file(), Some(2), Some(1)), ("S005", file(), Some(4), Some(15))]);
}

#[test]
fn a_failed_assertion_stops_the_script_at_its_line() {
    for (bad, fails) in [("assert 0", true), ("expect timeout", true), ("print 1 / 0", false)] {
        let r = go(&format!("step\n  {bad}\nwhere\n"), &mut none);
        assert_eq!(r.asked, ["step", bad]);
        assert_eq!(r.said.len(), 1);
        let d = match r.end {
            Ok(End::Failed(d)) if fails => d,
            Ok(End::Wrong(d)) if !fails => d,
            other => panic!("{other:?}"),
        };
        let place = d.place;
        assert_eq!((place.line, place.column), (Some(2), Some(3)));
        assert_eq!(place.width, Some(bad.len() as u64));
        assert_eq!(place.event, Some(if bad == "assert 0" { 7 } else { 9 }));
    }
}

#[test]
fn quit_ends_a_script_well() {
    let r = go("quit\nassert 0\n", &mut none);
    assert_eq!((r.asked.len(), r.end), (1, Ok(End::Done)));
}

#[test]
fn what_is_sourced_runs_in_its_place_and_is_read_before_anything_runs() {
    let list = [("b", "step 3\n".to_owned())];
    let r = go("step 1\nsource b\nsource b\nwhere\n", &mut files(&list));
    assert_eq!(r.asked, ["step", "step 3", "step 3", "where"]);
    assert_eq!(r.end, Ok(End::Done));

    let list = [("b", "stpe\n".to_owned())];
    let report = go("step\nsource b\nsource b\nsource c\n", &mut files(&list)).report();
    let told: Vec<_> =
        report.iter().map(|d| (d.code, d.place.file.as_deref(), d.place.line)).collect();
    let wanted = [("S001", Some("b"), Some(1)), ("S009", Some("a.dbg"), Some(4))];
    assert_eq!(told, wanted, "b is told once");
}

#[test]
fn a_failure_in_a_sourced_text_names_that_text() {
    let list = [("b", "\nassert 0\n".to_owned())];
    let Ok(End::Failed(d)) = go("source b\n", &mut files(&list)).end else { panic!() };
    assert_eq!((d.place.file.as_deref(), d.place.line), (Some("b"), Some(2)));
}

#[test]
fn a_source_is_asked_for_by_the_name_of_the_text_it_stands_in() {
    let mut seen = Vec::new();
    let mut resolve = |from: &str, file: &str| {
        seen.push(format!("{from} {file}"));
        let text = if file == "b" { "source c\n" } else { "" };
        Ok(Source { name: format!("dir/{file}"), text: text.to_owned() })
    };
    assert_eq!(go("source b\nsource b\n", &mut resolve).end, Ok(End::Done));
    assert_eq!(seen, ["a.dbg b", "dir/b c"]);
}

#[test]
fn endless_sourcing_is_refused() {
    let list = [("b", "source c\n".to_owned()), ("c", "source b\n".to_owned())];
    assert_eq!(go("source b\n", &mut files(&list)).report()[0].code, "S009");
    let list = [("a.dbg", "source a.dbg\n".to_owned())];
    let report = go("source a.dbg\n", &mut files(&list)).report();
    assert!(report[0].message.contains("sources itself"));
}

#[test]
fn sourcing_is_bounded_in_depth_and_in_all() {
    // Each text sources the next.
    let chain = |levels: usize| {
        move |_: &str, wanted: &str| {
            let n: usize = wanted.parse().unwrap();
            let text =
                if n < levels { format!("source {}\n", n + 1) } else { "where\n".to_owned() };
            Ok(Source { name: wanted.to_owned(), text })
        }
    };
    assert_eq!(go("source 1\n", &mut chain(MAX_SOURCE_DEPTH)).end, Ok(End::Done));
    let report = go("source 1\n", &mut chain(MAX_SOURCE_DEPTH + 1)).report();
    assert!(report[0].message.contains("deeper"), "{report:?}");
    // Each text sources the next twice, and the last is empty.
    let mut doubling = |_: &str, wanted: &str| {
        let n: usize = wanted.parse().unwrap();
        let text = if n < 30 { format!("source {0}\nsource {0}\n", n + 1) } else { String::new() };
        Ok(Source { name: wanted.to_owned(), text })
    };
    let report = go("source 1\n", &mut doubling).report();
    assert!(report[0].message.contains("commands"), "{report:?}");
}

#[test]
fn a_header_is_optional_and_its_version_is_checked() {
    for text in ["dbg\nwhere\n", "\u{feff}# x\ndbg 1 # version\nwhere\n", "where\n"] {
        assert_eq!(go(text, &mut none).asked, ["where"]);
    }
    assert_eq!(go("dbg 2\nwhere\n", &mut none).report()[0].code, "S009");
    assert_eq!(go("where\ndbg 1\n", &mut none).report()[0].code, "S001");
}

#[test]
fn the_report_of_a_script_is_bounded() {
    let report = go(&"stpe\n".repeat(20_000), &mut none).report();
    assert_eq!(report.len(), crate::limits::MAX_DIAGNOSTICS);
}

#[test]
fn a_session_alone_writes_no_file_and_says_so() {
    use crate::engine::program::Program;
    use crate::udma::{Generation, Profile};
    let p = Program::new(Generation::V3, Profile::default_profile());
    let mut s = Session::new(Arc::new(p));
    let lines = parse("a.dbg", "where\nsave a.dma\n", &mut none).unwrap();
    match run(&mut s, lines.iter(), &mut |_| {}) {
        End::Wrong(d) => assert_eq!((d.code, d.place.line), ("S022", Some(2))),
        other => panic!("{other:?}"),
    }
}
