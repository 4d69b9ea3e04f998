//! A lesson on the screen.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod ui_support;

use dmadbg::learn::{Goal, Play, bundled, prepare};
use dmadbg::ui::{Model, Pane, Theme, Title};
use ui_support::*;

/// The screen on a bundled lesson, what it says first closed.
fn lesson(name: &str, size: (u16, u16)) -> Model {
    let lesson = bundled::lesson(bundled::find(name).unwrap()).unwrap().unwrap();
    let ready = prepare(lesson, &mut |_| panic!("no file is read")).unwrap();
    let play = Play::new(ready, &[]);
    let title = Title { file: format!("lesson {name}"), ..Title::default() };
    let mut m = Model::new(play.begin().unwrap(), title, Theme::default(), size);
    m.open_lesson(play);
    m
}

/// The rows of the lesson alone.
fn strip(m: &Model) -> String {
    let area = m.derived.areas.lesson;
    let shown = text(&draw(m));
    let rows = shown.lines().skip(usize::from(area.y)).take(usize::from(area.height));
    rows.collect::<Vec<_>>().join("\n")
}

#[test]
fn pictures_of_a_lesson() {
    for size in [(80, 24), (160, 45)] {
        let moments = [
            ("intro", ""),
            ("task", "<Esc>"),
            ("wrong", "<Esc>A1000<Enter>T<Esc>HH"),
            ("solved", "<Esc>A48 + 0x400040041000<Enter>"),
        ];
        for (name, typed) in moments {
            let mut m = lesson("words", size);
            keys(&mut m, typed);
            let name = format!("lesson_{name}_{}x{}", size.0, size.1);
            insta::assert_snapshot!(name, styled(&draw(&m)));
        }
        let mut m = lesson("lower", size);
        keys(&mut m, "<Esc>");
        insta::assert_snapshot!(format!("lesson_module_{}x{}", size.0, size.1), styled(&draw(&m)));
    }
}

#[test]
fn a_lesson_is_solved_by_keys() {
    let mut m = lesson("cycle", (80, 24));
    assert!(m.popup.is_some(), "what the lesson says comes first");
    keys(&mut m, "<Esc>");
    assert!(strip(&m).contains("task 1 of 5 >...."), "{}", strip(&m));
    // Too far: what is typical for that is said.
    keys(&mut m, "d");
    assert!(strip(&m).contains("That is too far"), "{}", strip(&m));
    keys(&mut m, "gn");
    assert!(strip(&m).contains("Right. The slot is staged"), "{}", strip(&m));
    assert!(strip(&m).contains("solved: T goes on"), "{}", strip(&m));
    assert_eq!(m.lesson.as_ref().unwrap().solved(), [true, false, false, false, false]);
    // The state that was reached stays until the user goes on.
    let reached = m.session.position();
    keys(&mut m, "e");
    assert_eq!(m.session.position(), reached + 1);
    keys(&mut m, "T");
    assert!(strip(&m).contains("task 2 of 5 +>..."), "{}", strip(&m));
    // A question, its hint, a wrong answer, nonsense, the right one.
    keys(&mut m, "H");
    assert!(strip(&m).contains("Hint: One pair moves the data"), "{}", strip(&m));
    keys(&mut m, "A1<Enter>");
    assert!(strip(&m).contains("The data take one pair."), "{}", strip(&m));
    keys(&mut m, "Atx.<Enter>");
    assert!(m.line.as_ref().unwrap().error.is_some());
    keys(&mut m, "<Esc>A1 + 1<Enter>");
    assert!(strip(&m).contains("Right. Two:"), "{}", strip(&m));
    // `skip` marks, `again` begins anew.
    keys(&mut m, "T:skip<Enter>");
    assert!(strip(&m).contains("task 4 of 5 ++->."), "{}", strip(&m));
    keys(&mut m, "s:again<Enter>");
    assert_eq!(m.session.position(), 0);
}

/// Does what solves the present task, as lines that are typed.
fn solve(m: &mut Model) {
    let play = m.lesson.as_ref().unwrap();
    let (name, task) = (play.lesson().name.clone(), play.task().unwrap().clone());
    let lines: Vec<String> = match &task.goal {
        Goal::State(_) => task.solution.iter().map(|l| l.text.clone()).collect(),
        Goal::Choice { right, .. } => vec![format!("answer {right}")],
        Goal::Word(words) => vec![format!("answer {}", words[0])],
        // What stands in the lesson, worked out where the answer is asked for.
        Goal::Value { expr, then } => {
            let mut s = m.session.clone();
            then.iter().for_each(|l| {
                s.execute(&l.command).unwrap();
            });
            vec![format!("answer {}", s.value(expr).unwrap())]
        }
    };
    for line in lines {
        keys(m, &format!(":{line}<Enter>"));
        assert!(m.line.is_none(), "{name}: {line}: {:?}", m.line);
        m.popup = None;
    }
}

#[test]
fn every_bundled_lesson_is_solved_on_the_screen() {
    // One after the other: `T` goes on from the last task of one to the next.
    let mut m = lesson(bundled::stem(bundled::LESSONS[0].0), (80, 24));
    for i in 0..bundled::count() {
        let name = bundled::stem(bundled::LESSONS[i].0);
        assert_eq!(m.lesson.as_ref().unwrap().lesson().name, name);
        assert!(m.popup.is_some(), "what the lesson says comes first");
        assert_eq!(
            m.title.file,
            if i == 0 { format!("lesson {name}") } else { format!("lesson {}", i + 1) }
        );
        keys(&mut m, "<Esc>");
        let tasks = m.lesson.as_ref().unwrap().lesson().tasks.clone();
        for n in 1..=tasks.len() {
            solve(&mut m);
            let play = m.lesson.as_ref().unwrap();
            assert!(play.is_solved(), "{name} {n}:\n{}", text(&draw(&m)));
            if n < tasks.len() {
                keys(&mut m, "T");
            }
        }
        assert!(m.lesson.as_ref().unwrap().is_done(), "{name}");
        assert!(strip(&m).contains("every task is solved"), "{}", strip(&m));
        let next = format!("T goes on to lesson {}", i + 2);
        assert_eq!(strip(&m).contains(&next), i + 1 < bundled::count(), "{}", strip(&m));
        keys(&mut m, "T");
    }
    // Behind the last one nothing is left, and what was solved on the way is kept of each.
    assert!(strip(&m).contains("Every task of this lesson is solved."), "{}", strip(&m));
    let taken = m.lessons_taken();
    assert_eq!(taken.len(), bundled::count());
    assert!(taken.iter().all(|(_, solved)| solved.iter().all(|s| *s)));
}

#[test]
fn the_next_lesson_is_one_that_has_something_left_to_do() {
    let mut m = lesson("words", (80, 24));
    let after = |i: usize| bundled::lesson(i).unwrap().unwrap();
    m.progress.add(&after(1).name, &vec![true; after(1).tasks.len()]);
    m.progress.add(&after(2).name, &[true, false]);
    keys(&mut m, "<Esc>");
    for n in (0..m.lesson.as_ref().unwrap().states().len()).rev() {
        solve(&mut m);
        assert_eq!(m.lesson.as_ref().unwrap().is_done(), n == 0);
        keys(&mut m, "T");
    }
    // The second is solved; the third goes on where it was left.
    assert_eq!(m.lesson.as_ref().unwrap().lesson().name, after(2).name);
    assert_eq!(m.lesson.as_ref().unwrap().at(), 1);
    // A teacher's file that has the name of a lesson is none of the list.
    let mut own = after(0);
    own.summary.push('!');
    assert_eq!((bundled::place(&own), bundled::place(&after(0))), (None, Some(0)));
}

#[test]
fn the_rings_stay_in_sight_at_every_size() {
    for name in ["words", "races", "lower", "compute"] {
        for size in [(80, 24), (80, 30), (120, 36), (120, 40), (160, 45), (200, 60)] {
            let mut m = lesson(name, size);
            keys(&mut m, "<Esc>HHH");
            let areas = &m.derived.areas;
            let pane = if m.has_module() { Pane::Source } else { Pane::Tx };
            assert!(areas.rows(pane) >= 4, "{name} {size:?}: {}", areas.rows(pane));
            assert!(areas.lesson.height >= 3, "{name} {size:?}");
        }
        // However small it gets, nothing breaks.
        for size in [(1, 1), (20, 5), (40, 12), (79, 23), (300, 100)] {
            draw(&lesson(name, size));
        }
    }
}

#[test]
fn outside_of_a_lesson_its_keys_say_so() {
    let mut m = model(one_copy(), "one_copy.bin", (80, 24));
    for key in ["H", "T", "L"] {
        keys(&mut m, key);
        assert!(m.said.as_ref().unwrap().text.contains("S061"), "{key}");
    }
    let shown = text(&draw(&m));
    assert!(!shown.contains("H hint"), "{shown}");
    keys(&mut m, "?");
    assert!(!text(&draw(&m)).contains("keys: a lesson"));
    let mut m = lesson("words", (80, 24));
    keys(&mut m, "<Esc>?");
    assert!(text(&draw(&m)).contains("keys: a lesson"));
}

#[test]
fn a_field_names_the_lesson_that_explains_it() {
    let mut m = model(one_copy(), "one_copy.bin", (160, 45));
    keys(&mut m, "d<Tab>");
    let shown = text(&draw(&m));
    assert!(shown.contains("lesson 1: words"), "{shown}");
    keys(&mut m, "<Left>".repeat(30).as_str());
    assert!(text(&draw(&m)).contains("lesson 9: barriers"));
}
