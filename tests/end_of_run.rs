//! What is found only because no further event comes is told at the last event, whichever way a
//! session comes to it, and at no other.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use dmadbg::diag::Diagnostic;
use dmadbg::engine::program::{Blob, Program};
use dmadbg::engine::ring::Machine;
use dmadbg::engine::session::Session;
use dmadbg::load::{self, LoadOptions};
use dmadbg::script::parse_command;
use std::path::Path;
use std::sync::Arc;

fn sample(name: &str) -> Arc<Program> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("sample-programs").join(name);
    let blob = Blob::from_vec(std::fs::read(path).unwrap());
    let loaded = load::load_bytes(name, blob, &LoadOptions::default()).unwrap();
    loaded.program.unwrap()
}

fn run(s: &mut Session, line: &str) -> bool {
    s.execute(&parse_command(line).unwrap().unwrap()).is_ok()
}

fn found(s: &Session) -> Vec<Diagnostic> {
    s.machine().findings.iter().cloned().collect()
}

/// The last event of a run by plain steps, what is found up to it and what is found once it is
/// known to be the last; no later than it.
fn plain(p: &Program) -> (u64, Vec<Diagnostic>, Vec<Diagnostic>) {
    let mut m = Machine::new(p);
    loop {
        let before: Vec<Diagnostic> = m.findings.iter().cloned().collect();
        if m.step(p).is_none() {
            let all: Vec<Diagnostic> = m.findings.iter().cloned().collect();
            assert!(all.iter().all(|d| d.place.event.is_none_or(|n| n <= m.n)), "{all:?}");
            return (m.n, before, all);
        }
        assert!(m.n < 200_000, "the run does not end");
    }
}

/// Goes to the end in every way there is, and compares; says whether the end found something.
fn compare(s: &Session) -> bool {
    let p = s.program().clone();
    let (end, before, all) = plain(&p);
    let count = all.len();
    let ways = [
        vec!["restart".to_owned(), "goto end".to_owned()],
        vec!["restart".to_owned(), format!("goto {end}")],
        vec!["restart".to_owned(), "until 0".to_owned()],
        vec!["restart".to_owned(), "step 100000".to_owned()],
        vec!["goto end".to_owned(), "step".to_owned()],
        vec!["goto end".to_owned(), "reverse-step".to_owned(), "goto end".to_owned()],
        vec![format!("goto {}", end - 1), "step event".to_owned()],
        vec![format!("goto {}", end / 2), "goto end".to_owned(), "restart".to_owned()],
        vec![
            "goto end".to_owned(),
            "mark last".to_owned(),
            "restart".to_owned(),
            "goto last".to_owned(),
        ],
        vec!["restart".to_owned(), format!("until event == {end}")],
        vec!["restart".to_owned(), format!("break event {end}"), "continue".to_owned()],
        // What the end adds is an answer, too.
        vec!["restart".to_owned(), format!("until findings == {count} && event == {end}")],
    ];
    for ways in ways {
        let mut s = s.clone();
        for line in &ways {
            assert!(run(&mut s, line), "{line}");
            let here = s.position();
            if here == end {
                assert_eq!(found(&s), all, "{ways:?}");
            } else {
                let so_far = before.iter().filter(|d| d.place.event.is_none_or(|n| n <= here));
                assert_eq!(found(&s), so_far.cloned().collect::<Vec<_>>(), "{ways:?} at {here}");
            }
        }
        if ways.last().unwrap() != "restart" {
            assert_eq!(s.position(), end, "{ways:?}");
        }
    }
    let mut s = s.clone();
    assert_eq!(s.state_at(end).findings.len(), count);
    // An edit there may make the run go on: nothing was ever found that the end added, and taking
    // it back brings it again.
    run(&mut s, "goto end");
    if run(&mut s, "inject PKT_LEN") || run(&mut s, "set q0.tx.posted = q0.tx.posted") {
        let (now, _, edited) = plain(s.program());
        assert_eq!(s.position(), end);
        if now == end {
            assert_eq!(found(&s), edited);
        }
        run(&mut s, "undo");
        assert_eq!((s.position(), found(&s)), (end, all.clone()));
    }
    all.len() > before.len()
}

#[test]
fn what_the_end_adds_is_found_there_by_every_way() {
    let mut added = 0;
    for name in ["copy.bir", "semaphores.bir", "strided-load.bir", "chain.dma", "three-queues.dma"]
    {
        let fresh = Session::new(sample(name));
        assert!(!compare(&fresh), "{name}");
        let mut s = fresh.clone();
        run(&mut s, "goto end");
        let end = s.position();
        let mut doorbells = Vec::new();
        run(&mut s, "restart");
        while run(&mut s, "doorbell") && s.position() < end && doorbells.len() < 4 {
            doorbells.push(s.position());
        }
        for at in doorbells {
            for edit in [
                "set tx[0].len_ctrl = tx[0].len_ctrl ^ 1",
                "set rx[0].len_ctrl = rx[0].len_ctrl ^ 0x2000000",
                "set rx[1].buf_ptr = 8",
            ] {
                let mut s = fresh.clone();
                run(&mut s, &format!("goto {at}"));
                if run(&mut s, edit) {
                    added += usize::from(compare(&s));
                }
            }
        }
    }
    assert!(added >= 4, "{added}");
}
