//! A run forwards, then back to event 0, comparing the whole state's digest at each event.

use dmadbg::engine::command::{Command, Goto, Unit, Who};
use dmadbg::engine::expr::Expr;
use dmadbg::engine::program::Program;
use dmadbg::engine::ring::Machine;
use dmadbg::engine::session::Session;
use std::sync::Arc;

/// Runs of up to so many events are compared at every one of them.
const EVERY: usize = 20_000;

/// Steps to the end and back; answers how many states were compared.
pub fn check(p: &Program) -> u64 {
    let mut m = Machine::new(p);
    let mut digests = vec![m.digest()];
    while m.step(p).is_some() {
        digests.push(m.digest());
    }
    let digests = &digests[..];
    let last = digests.len() as u64 - 1;
    let mut s = Session::new(Arc::new(p.clone()));
    let step = |back| Command::Step { count: 1, unit: Unit::Event, who: Who::Any, back };
    let mut compared = 0;
    let mut same = |s: &Session| {
        let n = s.position();
        assert_eq!(s.machine().digest(), digests[n as usize], "event {n}");
        compared += 1;
    };
    if digests.len() <= EVERY {
        for n in 1..=last {
            s.execute(&step(false)).unwrap();
            assert_eq!(s.position(), n);
            same(&s);
        }
        for n in (0..last).rev() {
            s.execute(&step(true)).unwrap();
            assert_eq!(s.position(), n);
            same(&s);
        }
    } else {
        s.execute(&Command::Goto(Goto::Mark("end".into()))).unwrap();
        same(&s);
        let stride = last / 997;
        for n in (0..last).rev().filter(|n| n % stride == 0) {
            s.execute(&Command::Goto(Goto::Event(Expr::Num(n)))).unwrap();
            same(&s);
        }
        s.execute(&step(true)).unwrap();
    }
    assert_eq!(s.position(), 0);
    assert_eq!(s.machine().digest(), digests[0]);
    compared
}
