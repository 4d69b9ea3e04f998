//! The plain twin of a session: the list of all events where each verb stops, found by single
//! steps. A session must stop at exactly those, whichever way it comes and wherever from.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::super::*;
use crate::engine::command::{Access, Catch, Goto, Unit, Watch, Watched, Who};
use crate::engine::expr::{BinOp, Expr, QueueRef, UnOp};
use crate::engine::fixture::{BUFFER, DEVICE, MARKER, RX_AFTER, TX};
use proptest::prelude::*;

/// Runs of so many events are compared; longer ones are not run to their end.
const MOST: usize = 60_000;

/// Every verb that moves, with units and agents.
pub fn verbs(back: bool) -> Vec<Command> {
    let step = |unit, who| Command::Step { count: 1, unit, who, back };
    let mut all: Vec<Command> = Unit::ALL.into_iter().map(|u| step(u, Who::Any)).collect();
    for who in [Who::Host, Who::Engine, Who::Seq] {
        all.extend([step(Unit::Event, who), step(Unit::Phase, who)]);
    }
    all.push(Command::Next { count: 1, back });
    all.push(Command::Finish { back });
    all.push(Command::Doorbell { queue: None, back });
    all.push(Command::Continue { back });
    all
}

/// The same verb the other way.
fn turned(command: &Command) -> Command {
    let mut turned = command.clone();
    match &mut turned {
        Command::Step { back, .. }
        | Command::Next { back, .. }
        | Command::Finish { back }
        | Command::Doorbell { back, .. }
        | Command::Until { back, .. }
        | Command::Continue { back } => *back = !*back,
        _ => {}
    }
    turned
}

/// The same verb, so many at once, where it takes a count.
fn counted(command: &Command, n: u64) -> Option<Command> {
    let mut counted = command.clone();
    match &mut counted {
        Command::Step { count, .. } | Command::Next { count, .. } => *count = n,
        _ => return None,
    }
    Some(counted)
}

/// An event where a verb stops.
#[derive(Debug, Clone, Copy, PartialEq)]
enum At {
    Counts,
    Stop,
    Fails,
}

fn goto(s: &mut Session, n: u64) {
    s.execute(&Command::Goto(Goto::Event(Expr::Num(n)))).unwrap();
    assert_eq!(s.position(), n);
}

/// Compares every verb, there and back, from the positions that `places` names (modulo the
/// length), on a session with these stops.
pub fn check(p: &Program, stops: &[Command], more: &[Command], places: &[u64]) {
    let mut fresh = Session::new(Arc::new(p.clone()));
    if !fresh.can_step() {
        return;
    }
    for stop in stops {
        // A condition that has an error here is refused.
        let _ = fresh.execute(stop);
    }
    let all: Vec<Command> = verbs(false).into_iter().chain(more.iter().cloned()).collect();
    let mut hits: Vec<Vec<(u64, At)>> = vec![Vec::new(); all.len()];
    let mut m = Machine::new(p);
    let mut digests = vec![m.digest()];
    loop {
        let prior = Prior::of(&m, true);
        let before = m.clone();
        let Some(step) = m.step(p) else {
            m = before;
            break;
        };
        digests.push(m.digest());
        assert!(digests.len() < MOST, "the run does not end");
        let stop = fresh.stops_hit(&prior, &m, &step.event).map(|s| !s.is_empty());
        for (verb, hits) in all.iter().zip(&mut hits) {
            let at = match (&stop, fresh.counts_event(verb, &prior, &m, &step.event)) {
                (Ok(true), _) => At::Stop,
                (Err(_), _) | (_, Err(_)) => At::Fails,
                (_, Ok(true)) => At::Counts,
                _ => continue,
            };
            hits.push((m.n, at));
        }
    }
    let last = m.n;
    let places: Vec<u64> = places.iter().map(|x| x % (last + 1)).chain([0, last]).collect();
    for (verb, hits) in all.iter().zip(&hits) {
        let mut s = fresh.clone();
        for &from in &places {
            let ahead = hits.iter().find(|h| h.0 > from);
            let behind = hits.iter().rev().find(|h| h.0 < from);
            let fails = hits.iter().any(|h| h.1 == At::Fails);
            goto(&mut s, from);
            let went = s.execute(verb);
            let want = match ahead {
                Some((_, At::Fails)) => from,
                Some((n, _)) => *n,
                None => last,
            };
            assert_eq!(
                went.is_err(),
                ahead.is_some_and(|a| a.1 == At::Fails),
                "{verb:?} from {from}: {went:?}"
            );
            assert_eq!(s.position(), want, "{verb:?} from {from}");
            assert_eq!(s.machine().digest(), digests[want as usize], "{verb:?} from {from}");
            goto(&mut s, from);
            let back = turned(verb);
            let went = s.execute(&back);
            // An error on the way may be met before the event is.
            if !(fails && went.is_err()) {
                let want = behind.map_or(0, |h| h.0);
                assert_eq!(s.position(), want, "{back:?} from {from}");
                assert_eq!(s.machine().digest(), digests[want as usize], "{back:?} from {from}");
            }
            if let Some(three) = counted(verb, 3).filter(|_| !fails) {
                let stop = |h: &&(u64, At)| h.1 == At::Stop;
                let nth = |mut it: Box<dyn Iterator<Item = &(u64, At)> + '_>, none: u64| {
                    let mut left = 3;
                    it.find(|h| {
                        left -= 1;
                        left == 0 || stop(h)
                    })
                    .map_or(none, |h| h.0)
                };
                goto(&mut s, from);
                s.execute(&three).unwrap();
                let want = nth(Box::new(hits.iter().filter(|h| h.0 > from)), last);
                assert_eq!(s.position(), want, "{three:?} from {from}");
                goto(&mut s, from);
                s.execute(&turned(&three)).unwrap();
                let want = nth(Box::new(hits.iter().rev().filter(|h| h.0 < from)), 0);
                assert_eq!(s.position(), want, "back {three:?} from {from}");
            }
        }
    }
    let mut s = fresh.clone();
    for &n in &places {
        goto(&mut s, n);
        assert_eq!(s.machine().digest(), digests[n as usize], "goto {n}");
    }
    s.execute(&Command::Restart).unwrap();
    assert_eq!((s.position(), s.machine().digest()), (0, digests[0]));
}

fn name(names: &[&str]) -> impl Strategy<Value = String> + use<> {
    prop::sample::select(names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>())
}

fn leaf() -> impl Strategy<Value = Expr> {
    let properties: Vec<&str> = PROPERTIES.iter().map(|p| p.0).filter(|n| *n != "end").collect();
    let rings: Vec<&str> = RING_PROPERTIES.iter().map(|p| p.0).collect();
    let queue = |path: Vec<String>| Expr::Queue { queue: QueueRef::Selected, path };
    let dir = || prop::sample::select(vec![Dir::Tx, Dir::Rx]);
    let index = || prop_oneof![(0u64..32).prop_map(Expr::Num), Just(Expr::Name("faults".into()))];
    let at = vec![BUFFER, DEVICE, DEVICE + 0x1_0000, MARKER, MARKER + 4, TX, TX + RX_AFTER + 0x38];
    prop_oneof![
        4 => name(&properties).prop_map(Expr::Name),
        3 => (dir(), name(&rings))
            .prop_map(move |(d, n)| queue(vec![d.name().to_owned(), n])),
        2 => name(&["free", "batches", "marker", "head"]).prop_map(move |n| queue(vec![n])),
        1 => (dir(), index(), name(&["length", "phase", "len_ctrl", "life", "addr"])).prop_map(
            |(dir, index, n)| Expr::Slot {
                queue: QueueRef::Selected, dir, index: Box::new(index), path: vec![n]
            }
        ),
        1 => (prop::sample::select(vec![1u8, 4, 8]), prop::sample::select(at))
            .prop_map(|(width, at)| Expr::Mem { width, addr: Box::new(Expr::Num(at)) }),
        3 => prop_oneof![0u64..4, 0u64..70, 0u64..2000, Just(u64::MAX)].prop_map(Expr::Num),
    ]
}

/// A condition that now and then holds.
pub fn condition() -> impl Strategy<Value = Expr> {
    let ops: Vec<BinOp> = BinOp::TABLE.iter().map(|t| t.1).collect();
    let near = leaf().prop_recursive(3, 12, 2, move |inner| {
        prop_oneof![
            6 => (prop::sample::select(ops.clone()), inner.clone(), inner.clone())
                .prop_map(|(op, a, b)| Expr::Binary(op, Box::new(a), Box::new(b))),
            1 => (prop::sample::select(UnOp::ALL.to_vec()), inner)
                .prop_map(|(op, e)| Expr::Unary(op, Box::new(e))),
        ]
    });
    let event = (2u64..4000, 0u64..4000).prop_map(|(k, j)| {
        let rest =
            Expr::Binary(BinOp::Rem, Box::new(Expr::Name("event".into())), Box::new(Expr::Num(k)));
        Expr::Binary(BinOp::Eq, Box::new(rest), Box::new(Expr::Num(j % k)))
    });
    prop_oneof![5 => near, 1 => event]
}

/// A stop, half of them with a condition.
pub fn stop() -> impl Strategy<Value = Command> {
    let slots = (prop::sample::select(vec![Dir::Tx, Dir::Rx]), 0u64..32, 0u64..4).prop_map(
        |(dir, first, more)| Loc::Slots {
            queue: QueueRef::Selected,
            dir,
            first,
            last: (first + more).min(31),
        },
    );
    let at = || {
        prop::sample::select(vec![
            BUFFER + 0x2_0000,
            DEVICE,
            DEVICE + 0x5_1234,
            MARKER + 4,
            TX + 0x58,
        ])
    };
    let break_at = prop_oneof![
        slots,
        (0u64..5).prop_map(Loc::Batch),
        at().prop_map(Loc::Addr),
        Just(Loc::Marker),
        Just(Loc::Doorbell(None)),
        Just(Loc::Doorbell(Some(QueueRef::Selected))),
        Just(Loc::Fault),
        (0u64..3000).prop_map(Loc::Event),
        Just(Loc::Queue(QueueRef::Selected)),
    ];
    let access = vec![Access::Read, Access::Write, Access::Access, Access::Change];
    let watch = (at(), prop_oneof![1u64..20, Just(0x3_0000u64)], prop::sample::select(access));
    let watch = watch.prop_map(|(at, len, on)| Watch {
        what: Watched::Expr(Expr::Num(at)),
        len: Some(Expr::Num(len)),
        on,
    });
    let catch = vec![
        Catch::Fault(None),
        Catch::Doorbell(None),
        Catch::Marker,
        Catch::Timeout,
        Catch::Ret(None),
        Catch::Ret(Some(0)),
        Catch::Bug,
        Catch::Stall,
        Catch::Reload,
        Catch::Race,
    ];
    let kind = prop_oneof![
        5 => break_at.prop_map(StopKind::Break),
        3 => watch.prop_map(StopKind::Watch),
        2 => prop::sample::select(catch).prop_map(StopKind::Catch),
    ];
    (kind, prop::option::of(condition()), 0u64..8).prop_map(|(kind, cond, after)| {
        let (once, after) = (false, after.saturating_sub(5));
        match kind {
            StopKind::Break(loc) => Command::Break { loc, cond, once, after },
            StopKind::Watch(watch) => Command::Watch { watch, cond, once, after },
            StopKind::Catch(what) => Command::Catch { what, cond, once, after },
        }
    })
}

/// Verbs that ask for a condition.
pub fn untils(conditions: Vec<Expr>) -> Vec<Command> {
    conditions.into_iter().map(|expr| Command::Until { expr, back: false }).collect()
}
