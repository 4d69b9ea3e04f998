use super::*;
use crate::diag::{Diagnostic, Report};
use crate::engine::command::Command;
use crate::script::parse_command;
use crate::udma::field::{FIELDS, Kind};
use std::collections::BTreeSet;
use std::path::Path;

/// A lesson with one question and one thing to do.
const SMALL: &str = r#"
lesson = 1
title = "T"
summary = "S"
sample = "copy-4k.dma"

[[task]]
text = "How many bytes?"
before = ["doorbell"]
answer = "tx[0].length"
hints = ["one", "two"]
after = "So it is."

[[task.wrong]]
answer = "0x1001"
hint = "one too many"

[[task]]
text = "Retire one."
before = ["doorbell"]
check = ["assert tx.retired == 1"]
solution = ["step"]

[[task.wrong]]
check = ["assert tx.retired == 2"]
lines = ["step 2"]
hint = "one too far"
"#;

fn ready(text: &str) -> Ready {
    prepare(read("small", "small.toml", text).unwrap(), &mut no_file).unwrap()
}

fn no_file(name: &str) -> Result<Vec<u8>, Diagnostic> {
    Err(Diagnostic::new("D001", format!("no {name}")))
}

/// Does what a learner types; what was said.
fn typed(play: &mut Play, s: &mut crate::engine::session::Session, line: &str) -> Option<String> {
    let command = parse_command(line).unwrap().unwrap();
    if is_lesson_command(&command) {
        play.command(&command, s).unwrap();
    } else {
        s.execute(&command).unwrap();
        play.look(s);
    }
    play.told().map(|t| t.text.join("\n"))
}

fn refused(play: &mut Play, s: &mut crate::engine::session::Session, line: &str) -> &'static str {
    let command = parse_command(line).unwrap().unwrap();
    play.command(&command, s).unwrap_err().code
}

#[test]
fn a_lesson_is_taken_from_its_first_task_to_its_last() {
    let mut play = Play::new(ready(SMALL), &[]);
    let mut s = play.begin().unwrap();
    assert_eq!(typed(&mut play, &mut s, "answer 5").unwrap(), "5 is not right. `hint` helps.");
    assert_eq!(typed(&mut play, &mut s, "answer 4097").unwrap(), "one too many");
    assert_eq!(typed(&mut play, &mut s, "hint").unwrap(), "one (1 of 2)");
    assert_eq!(typed(&mut play, &mut s, "hint").unwrap(), "two (2 of 2)");
    assert_eq!(typed(&mut play, &mut s, "hint").unwrap(), "two (there is no further one)");
    assert_eq!(refused(&mut play, &mut s, "proceed"), "S061");
    // Wherever the session stands meanwhile, what is right was settled where the task begins.
    typed(&mut play, &mut s, "set tx[0].length = 7");
    assert_eq!(typed(&mut play, &mut s, "answer tx[0].length").unwrap(), "7 is not right.");
    assert_eq!(typed(&mut play, &mut s, "answer 4 * 1024").unwrap(), "Right. So it is.");
    assert!(play.is_solved() && !play.is_done());
    assert_eq!(refused(&mut play, &mut s, "answer 4096"), "S061");
    typed(&mut play, &mut s, "proceed");
    assert_eq!((play.at(), s.position()), (1, 27));
    // The new session has nothing of what was changed in the old one.
    assert_eq!(s.value(&crate::script::parse_expr("tx[0].length").unwrap()), Ok(4096));
    assert_eq!(refused(&mut play, &mut s, "answer 1"), "S061");
    assert_eq!(typed(&mut play, &mut s, "step 2").unwrap(), "one too far");
    assert_eq!(typed(&mut play, &mut s, "reverse-step 2"), None);
    assert_eq!(typed(&mut play, &mut s, "step").unwrap(), "Right.");
    assert!(play.is_done());
    assert!(typed(&mut play, &mut s, "proceed").unwrap().starts_with("Every task"));
}

#[test]
fn a_task_left_aside_comes_again_and_progress_begins_where_it_ended() {
    let mut play = Play::new(ready(SMALL), &[]);
    let mut s = play.begin().unwrap();
    typed(&mut play, &mut s, "skip");
    assert_eq!(play.states(), [TaskState::Skipped, TaskState::Open]);
    typed(&mut play, &mut s, "step");
    typed(&mut play, &mut s, "proceed");
    assert_eq!(play.at(), 0);
    assert_eq!(play.solved(), [false, true]);
    assert_eq!(Play::new(ready(SMALL), &play.solved()).at(), 0);
    assert_eq!(Play::new(ready(SMALL), &[true, false]).at(), 1);
    // What is all solved is taken once more.
    let again = Play::new(ready(SMALL), &[true, true]);
    assert_eq!((again.at(), again.is_solved()), (0, false));
    // `again` puts the program back, and the task is open once more.
    let mut play = Play::new(ready(SMALL), &[true, false]);
    let mut s = play.begin().unwrap();
    typed(&mut play, &mut s, "step");
    assert!(play.is_solved());
    typed(&mut play, &mut s, "again");
    assert_eq!((play.is_solved(), s.position()), (false, 27));
}

#[test]
fn what_is_typed_wrong_is_no_answer() {
    let mut play = Play::new(ready(SMALL), &[]);
    let mut s = play.begin().unwrap();
    assert_eq!(refused(&mut play, &mut s, "answer 5 +"), "S004");
    assert_eq!(refused(&mut play, &mut s, "answer lenght"), "S005");
    assert_eq!(refused(&mut play, &mut s, "answer mem8[0]"), "S006");
    assert_eq!(play.told(), None);
}

/// Code, line and column of everything that is wrong with a text.
fn faults(text: &str) -> Vec<(&'static str, u64, u64)> {
    let report = read("x", "x.toml", text).unwrap_err();
    let place = |d: &Diagnostic| (d.place.line.unwrap_or(0), d.place.column.unwrap_or(0));
    report.items.iter().map(|d| (d.code, place(d).0, place(d).1)).collect()
}

#[test]
fn everything_wrong_with_a_lesson_is_told_at_its_place() {
    let text = r#"lesson = 2
titel = "T"
title = "T"
summary = 5
sample = "copy-4k"
[[task]]
text = "a\u0007b"
before = ["stpe", "save x.dma", "source x", 7]
answer = "tx[0].lenght"
right = 2
[[task.wrong]]
choice = 1
hint = ""
[[task]]
text = "q"
choices = ["a", "b"]
right = 3
solution = "step"
[[task]]
text = "q"
check = "assert 1"
races = "maybe"
then = "step"
"#;
    let got = faults(text);
    let want = [
        ("S060", 1, 10), // version
        ("S060", 2, 1),  // titel
        ("S060", 4, 11), // summary is no text
        ("S060", 5, 10), // no such sample
        ("S060", 7, 8),  // control character
        ("S001", 8, 12), // stpe
        ("S060", 8, 19), // save
        ("S060", 8, 33), // source
        ("S060", 8, 45), // 7
        ("S005", 9, 17), // lenght
        ("S060", 10, 9), // right beside answer
        ("S060", 11, 1), // no answer in wrong
        ("S060", 12, 10),
        ("S060", 13, 8),  // empty hint
        ("S060", 17, 9),  // right
        ("S060", 18, 12), // solution of a question
        ("S060", 19, 1),  // no solution
        ("S060", 22, 9),  // races
        ("S060", 23, 8),  // then
    ];
    for w in want {
        assert!(got.contains(&w), "{w:?} in {got:#?}");
    }
    assert_eq!(got.len(), want.len(), "{got:#?}");
}

#[test]
fn what_must_stand_in_a_lesson_is_missed() {
    let got = faults("");
    assert_eq!(got.len(), 5, "{got:?}"); // version, title, summary, program, task
    let report = read("x", "x.toml", "[[task]]\n").unwrap_err();
    let all: Vec<&str> = report.items.iter().map(|d| d.message.as_str()).collect();
    assert!(all.iter().any(|m| m.contains("`answer`, `choices`")), "{all:?}");
    assert!(all.iter().any(|m| m.contains("missing: `text`")), "{all:?}");
    // A broken text is told where it breaks, and nothing is missed behind that.
    let report = read("x", "x.toml", "title = \"T\n").unwrap_err();
    assert!(report.items.iter().all(|d| !d.message.starts_with("missing")));
}

#[test]
fn hostile_lessons_are_refused_in_no_time() {
    let many = |what: &str, n: usize| what.repeat(n);
    let long = format!("lesson = 1\n{}", many("a = 1\n", 40_000));
    let keys: String = (0..20_000).map(|i| format!("k{i} = {{x={i}}}\n")).collect();
    let tasks = format!(
        "lesson = 1\ntitle='t'\nsummary='s'\nsample='copy-4k.dma'\n{}",
        many("[[task]]\ntext='t'\nanswer=1\n", 101)
    );
    let list = format!("[[task]]\nbefore = [{}]\n", many("'step',", 300));
    let texts: Vec<String> = vec![
        "[".into(),
        "=".into(),
        "\u{0}".into(),
        many("[", 5000),
        many("[a.", 5000),
        format!("a = {}", many("[", 60_000)),
        format!("a = {}", many("{a=", 60_000)),
        long,
        keys,
        tasks,
        list,
        "x".repeat(crate::limits::MAX_LESSON_BYTES as usize + 1),
        "task = 5".into(),
        "task = [5]".into(),
        "task = [[[]]]".into(),
        "sample = 3\nfile = '../x'\nprogram = ['a']".into(),
        "lesson = 0x1\ntitle = '\u{1b}[2J'".into(),
        "[[task]]\nanswer = -1\n[[task.wrong]]\nanswer = 99999999999999999999999".into(),
    ];
    for text in texts {
        let report = read("x", "x.toml", &text).unwrap_err();
        assert!(report.has_errors(), "{}", &text[..text.len().min(60)]);
    }
}

#[test]
fn a_check_does_not_only_look() {
    for line in ["info rings", "order explore", "find tx dmb", "echo x", "break marker"] {
        let text = SMALL.replace("assert tx.retired == 1", line);
        assert_eq!(faults(&text), [("S060", 21, 10)], "{line}");
    }
}

#[test]
fn a_lesson_does_no_harm() {
    let lesson = |line: &str| {
        let line = line.replace('"', "\\\"");
        SMALL.replace("before = [\"doorbell\"]", &format!("before = [\"{line}\"]"))
    };
    for line in [
        "save x.dma",
        "save! x.bin",
        "source other.dbg",
        "quit",
        "order replay x.dbg",
        "order explore > x.dbg",
        "order explore 1048577",
        "answer 1",
        "skip",
        "help",
    ] {
        let got = faults(&lesson(line));
        assert_eq!(got, [("S060", 9, 11), ("S060", 20, 11)], "{line}");
    }
    for name in ["../x.dma", "/etc/passwd", "a/b.dma", "..", "", ".x", "a\\b"] {
        let text = SMALL.replace("sample = \"copy-4k.dma\"", &format!("file = '{name}'"));
        assert_eq!(faults(&text), [("S060", 5, 8)], "{name}");
    }
}

#[test]
fn a_command_that_runs_on_and_on_is_stopped() {
    let program = "dma 1\nqueue e128.q0 tx=0x400040041000 tx_size=64 rx=0x400040021000 rx_size=64 \
                   marker=m allocatable=yes\nregion m kind=host base=0x400040061000 len=24 fill=zero\n\
                   region h kind=device base=0x10000000 len=0x1000 fill=zero\n\
                   region b kind=host base=0x4000400a3000 len=0x1000 fill=zero\ninit e128.q0\n";
    let copies = "copy e128.q0 src=b dst=h size=64\n".repeat(3000);
    let text = format!(
        "lesson = 1\ntitle = 'T'\nsummary = 'S'\nprogram = \"\"\"{program}{copies}\"\"\"\n[[task]]\n\
         text = 'q'\nanswer = 'event'\n"
    );
    let mut session = Play::new(ready(&text), &[]).begin().unwrap();
    let to_the_end = parse_command("goto end").unwrap().unwrap();
    let mut budget = judge::Budget(20_000);
    let stopped = judge::execute(&mut session, &to_the_end, &mut budget).unwrap_err();
    assert_eq!((stopped.code, budget), ("S063", judge::Budget(0)));
    assert!(session.position() < 50_000);
    // Nothing more is run on what is left.
    let again = judge::execute(&mut session, &to_the_end, &mut budget).unwrap_err();
    assert_eq!(again.code, "S063");
    judge::execute(&mut session, &to_the_end, &mut judge::Budget::full()).unwrap();
    assert!(session.position() > 50_000);
}

#[test]
fn a_program_beside_the_lesson_is_asked_for_by_its_name() {
    let text = SMALL.replace("sample = \"copy-4k.dma\"", "file = 'mine.dma'");
    let lesson = read("x", "x.toml", &text).unwrap();
    let mut asked = Vec::new();
    let ready = prepare(lesson.clone(), &mut |name| {
        asked.push(name.to_owned());
        Ok(bundled::sample("copy-4k.dma").unwrap().as_bytes().to_vec())
    });
    assert!(ready.is_ok());
    assert_eq!(asked, ["mine.dma"]);
    let refused = prepare(lesson, &mut no_file).unwrap_err();
    assert_eq!(refused.items[0].code, "D001");
    // What is wrong with a program is told of it.
    let text = SMALL.replace("sample = \"copy-4k.dma\"", "program = \"\"\"\ndma 1\nqeue\n\"\"\"");
    let lesson = read("x", "x.toml", &text).unwrap();
    let report = prepare(lesson, &mut no_file).unwrap_err();
    let place = &report.items[0].place;
    assert_eq!((place.line, place.file.as_deref()), (Some(2), Some("x.toml (its program)")));
}

/// What trying a lesson finds, as lines.
fn tried(text: &str) -> Vec<(u64, String)> {
    let Report { items, .. } = solve::solve(&ready(text)).report;
    assert!(items.iter().all(|d| d.code == "S063"));
    items.into_iter().map(|d| (d.place.line.unwrap(), d.message)).collect()
}

#[test]
fn a_lesson_that_does_not_hold_is_found_out() {
    assert_eq!(tried(SMALL), []);
    let swap = |a: &str, b: &str| {
        assert!(SMALL.contains(a), "{a}");
        tried(&SMALL.replace(a, b))
    };
    let one = |got: Vec<(u64, String)>, line, words: &str| {
        assert_eq!(got.len(), 1, "{got:?}");
        assert!(got[0].0 == line && got[0].1.contains(words), "{got:?}");
    };
    one(swap("solution = [\"step\"]", "solution = [\"step 2\"]"), 18, "does not solve it");
    one(swap("assert tx.retired == 1", "assert tx.retired < 2"), 18, "by doing nothing");
    one(swap("assert tx.retired == 2", "assert tx.retired == 3"), 24, "not recognised");
    one(swap("lines = [\"step 2\"]", "lines = [\"step\"]"), 24, "solves the task");
    one(swap("answer = \"0x1001\"", "answer = 4096"), 14, "solves the task");
    one(swap("answer = \"tx[0].length\"", "answer = \"tx[99].length\""), 7, "has no value");
    let proof = "answer = \"tx[0].length\"\nproof = [\"assert $answer == 4095\"]";
    one(swap("answer = \"tx[0].length\"", proof), 11, "its proof fails");
    let twice = "answer = \"0x1001\"\nhint = \"another\"\n[[task.wrong]]\nanswer = \"0x1001\"";
    one(swap("answer = \"0x1001\"", twice), 17, "met by another hint");
    one(swap("before = [\"doorbell\"]\ncheck", "before = [\"goto nowhere\"]\ncheck"), 20, "begin");
}

fn bundled_lessons() -> Vec<Ready> {
    let all = (0..bundled::count()).map(|i| bundled::lesson(i).unwrap());
    all.map(|l| prepare(l.unwrap(), &mut no_file).unwrap()).collect()
}

#[test]
fn every_bundled_lesson_holds_and_is_complete() {
    let lessons = bundled_lessons();
    assert!(lessons.len() >= 12);
    for r in lessons {
        let tried = solve::solve(&r);
        let name = &r.lesson.name;
        assert_eq!(tried.report.items, [], "{name}");
        assert!((3..=8).contains(&r.lesson.tasks.len()), "{name} has {} tasks", tried.tasks);
        assert!(!r.lesson.intro.is_empty() && r.lesson.facts.len() >= 3, "{name}");
        for (n, t) in (1..).zip(&r.lesson.tasks) {
            assert!(!t.hints.is_empty(), "{name} {n} has a hint");
            assert!(!t.wrong.is_empty(), "{name} {n} meets a wrong answer");
            assert!(!t.after.is_empty(), "{name} {n} is explained");
            // On a small screen a task is read without scrolling.
            let text: usize = t.text.iter().map(|p| p.len().div_ceil(74)).sum();
            assert!(text <= 6, "{name} {n}: {text} lines");
        }
    }
}

#[test]
fn the_sources_of_facts_are_pages_that_there_are() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for r in bundled_lessons() {
        for f in &r.lesson.facts {
            let pages = f.source.split([',', ' ']).filter(|w| w.contains('/'));
            let mut heading = f.source.split(", ").skip(1).filter(|w| !w.contains('/'));
            for page in pages.clone() {
                assert!(root.join(page).is_file(), "{}: {page}", r.lesson.name);
            }
            let last = pages.clone().next_back().expect(&f.source);
            let text = std::fs::read_to_string(root.join(last)).unwrap();
            if let Some(h) = heading.next() {
                let stands = |h: &str| text.lines().any(|l| l.starts_with('#') && l.ends_with(h));
                let all = stands(h) || h.split(" and ").all(stands);
                assert!(all, "{}: {last} has no heading {h}", r.lesson.name);
            }
        }
    }
}

#[test]
fn samples_that_are_bundled_are_those_of_the_folder() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sample-programs");
    let mut there = BTreeSet::new();
    for part in ["", "errors/"] {
        for entry in std::fs::read_dir(folder.join(part)).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_file() {
                there.insert(format!("{part}{}", entry.file_name().into_string().unwrap()));
            }
        }
    }
    let here: BTreeSet<String> = bundled::Sample::all().map(|s| s.name.to_owned()).collect();
    assert_eq!(here, there);
}

#[test]
fn every_sample_says_what_it_teaches_in_a_sentence_that_fits_a_line() {
    for s in bundled::Sample::all() {
        let (all, first) = (s.teaches(), s.summary());
        assert!(all.iter().all(|p| !p.contains("test:") && !p.contains("status:")), "{all:?}");
        assert!((20..=120).contains(&first.len()), "{}: {first}", s.name);
        assert!(all[0].starts_with(&first) && first.ends_with(['.', ':']), "{}: {first}", s.name);
    }
    let s = bundled::Sample::find("race").unwrap();
    assert_eq!(s.teaches().len(), 2);
    assert!(s.teaches()[1].starts_with("In the calm order all comes out right. `info races`"));
}

#[test]
fn a_sample_is_found_with_and_without_its_ending() {
    let find = |name| bundled::Sample::find(name).map(|s| s.name);
    for s in bundled::Sample::all() {
        assert_eq!(find(s.name), Some(s.name));
    }
    assert_eq!(find("copy-4k"), Some("copy-4k.dma"));
    assert_eq!(find("errors/transpose-3d"), Some("errors/transpose-3d.bir"));
    for none in ["", ".", "copy-4", "COPY-4K", "errors", "../copy-4k.dma"] {
        assert_eq!(find(none), None, "{none}");
    }
    // Two programs of one name would leave one of them out of reach.
    let programs = bundled::SAMPLES.iter().chain(bundled::ERRORS);
    let stems: BTreeSet<&str> = programs.clone().map(|s| s.0.rsplit_once('.').unwrap().0).collect();
    assert_eq!(stems.len(), programs.count());
}

#[test]
fn each_field_has_the_lesson_that_explains_it() {
    for f in FIELDS.iter().filter(|f| f.kind != Kind::Reserved) {
        let (n, name) = lesson_of(f.name).unwrap_or_else(|| panic!("{} has none", f.name));
        let (file, text) = bundled::LESSONS[n - 1];
        assert_eq!(bundled::stem(file), name);
        assert!(text.contains(f.name), "{name} does not speak of {}", f.name);
    }
    for (field, _) in FIELD_LESSONS {
        assert!(FIELDS.iter().any(|f| f.name == *field), "{field}");
        assert!(lesson_of(field).is_some(), "{field}");
    }
}

#[test]
fn a_lesson_is_found_by_number_and_name() {
    assert_eq!(bundled::find("1"), Some(0));
    assert_eq!(bundled::find("words"), Some(0));
    assert_eq!(bundled::find("wrap.toml"), bundled::find("wrap"));
    for none in ["0", "99", "", "nothing", "18446744073709551616"] {
        assert_eq!(bundled::find(none), None, "{none}");
    }
}

#[test]
fn every_command_of_the_group_is_a_lesson_s() {
    use crate::engine::command::{COMMANDS, Group};
    let of: Vec<&str> =
        COMMANDS.iter().filter(|c| c.group == Group::Learn).map(|c| c.name).collect();
    assert_eq!(of.len(), 6);
    for name in of {
        let command = parse_command(&format!("{name} 1")).or_else(|_| parse_command(name));
        assert!(is_lesson_command(&command.unwrap().unwrap()), "{name}");
        // Outside of a lesson it says so.
        let program = std::sync::Arc::new(crate::engine::program::Program::new(
            crate::udma::Generation::V3,
            crate::udma::Profile::default_profile(),
        ));
        let mut s = crate::engine::session::Session::new(program);
        let command = parse_command(&format!("{name} 1")).or_else(|_| parse_command(name));
        assert_eq!(s.execute(&command.unwrap().unwrap()).unwrap_err().code, "S061");
    }
    assert!(!is_lesson_command(&Command::Undo));
}
