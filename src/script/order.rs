//! The lines of `order`: what an event is called, how an order is made of holds
//! (`docs/order.md`, "Schedules").

use super::args::Args;
use super::expr::{dir, queue};
use super::lex::{Fault, skip};
use super::print::bare_or_quoted;
use crate::bir::Engine;
use crate::engine::command::{Command, Order};
use crate::engine::expr::QueueRef;
use crate::engine::order::{DmbReading, SowReading};
use crate::engine::ring::Agent;
use crate::engine::schedule::{BarrierBit, BarrierEdit, CpuAct, EngineAct, Hold, Moment};
use crate::limits::MAX_EXPLORE_STEPS;
use crate::udma::Dir;

/// How an event is written, as advice.
const EVENTS: &str = "an event is written `[QUEUE] tx N fetch|read`, `[QUEUE] rx N fetch|visible`, \
    or `host store|doorbell|poll N`, `seq ENGINE store|doorbell|poll N`";

/// The command of a line.
pub(super) fn order(a: &mut Args<'_>) -> Result<Command, Fault> {
    if a.at_end() {
        return Ok(Command::Order(Order::Show));
    }
    let what = a.choose("something to do with orders", &Order::WORDS)?;
    Ok(Command::Order(match what {
        0 => explore(a)?,
        1 => reading(a)?,
        2 => hold(a)?,
        3 => barrier(a)?,
        4 if a.at_end() => Order::Replay(None),
        4 => Order::Replay(Some(file(a)?)),
        _ => Order::Calm,
    }))
}

fn file(a: &mut Args<'_>) -> Result<String, Fault> {
    let missing = a.missing("a file's name");
    let file = match a.peek().starts_with('"') {
        true => a.quoted()?,
        false => a.word().unwrap_or_default().to_owned(),
    };
    if file.is_empty() { Err(missing) } else { Ok(file) }
}

fn explore(a: &mut Args<'_>) -> Result<Order, Fault> {
    let mut bound = None;
    if a.peek().starts_with(|c: char| c.is_ascii_digit()) {
        let wrong = a.wrong(format!("the bound is from 1 to {MAX_EXPLORE_STEPS} events"));
        let n = a.number("a number of events")?;
        if !(1..=MAX_EXPLORE_STEPS).contains(&n) {
            return Err(wrong);
        }
        bound = Some(n);
    }
    let mut name = None;
    if let Some(rest) = skip(a.rest).strip_prefix('>') {
        a.rest = rest;
        name = Some(file(a)?);
    }
    Ok(Order::Explore { bound, file: name })
}

fn reading(a: &mut Args<'_>) -> Result<Order, Fault> {
    const WORDS: [&str; 4] = ["dmb=full", "dmb=entry", "sow=through", "sow=self"];
    let (mut dmb, mut sow) = (None, None);
    while !a.at_end() || (dmb, sow) == (None, None) {
        let again = a.wrong("that barrier's reading is said already");
        let twice = match a.choose("a reading", &WORDS)? {
            0 => dmb.replace(DmbReading::Full).is_some(),
            1 => dmb.replace(DmbReading::Entry).is_some(),
            2 => sow.replace(SowReading::Through).is_some(),
            _ => sow.replace(SowReading::SelfOnly).is_some(),
        };
        if twice {
            return Err(again);
        }
    }
    Ok(Order::Reading { dmb, sow })
}

fn hold(a: &mut Args<'_>) -> Result<Order, Fault> {
    let doorbell = a.wrong("a doorbell is not held back: what it covers is");
    let what = moment(a)?;
    if matches!(what, Moment::Cpu { act: CpuAct::Doorbell, .. }) {
        return Err(doorbell);
    }
    if !a.eat("until") {
        return Err(a.missing("`until`"));
    }
    let same = a.wrong("an event does not wait for itself");
    let until = moment(a)?;
    if what == until {
        return Err(same);
    }
    Ok(Order::Hold(Hold { what, until }))
}

/// A queue and a direction, the queue left out where it is the selected one.
fn ring(a: &mut Args<'_>) -> Result<(QueueRef, Dir), Fault> {
    let named = !a.at_end() && queue(skip(a.rest)).is_ok();
    let of = if named { a.queue()? } else { QueueRef::Selected };
    match dir(a.peek()) {
        Ok(("", dir)) => {
            a.word();
            Ok((of, dir))
        }
        _ => Err(a.missing("an event, `tx` or `rx`").help(EVENTS)),
    }
}

fn moment(a: &mut Args<'_>) -> Result<Moment<QueueRef>, Fault> {
    let agent = match a.peek() {
        "host" => {
            a.word();
            Some(Agent::Host)
        }
        "seq" => {
            a.word();
            let missing = a.missing("the name of a sequencer's engine");
            let engine = Engine::by_name(a.peek()).ok_or(missing)?;
            a.word();
            Some(Agent::Seq(engine))
        }
        _ => None,
    };
    if let Some(agent) = agent {
        let acts = CpuAct::ALL;
        let act = acts[a.choose("what an agent does", &acts.map(CpuAct::name))?];
        let zero = a.wrong("the first one is 1");
        let n = a.number("which of them")?;
        return if n == 0 { Err(zero) } else { Ok(Moment::Cpu { agent, act, n }) };
    }
    let (queue, dir) = ring(a)?;
    let k = a.number("which descriptor")?;
    let acts = EngineAct::of(dir);
    let act = acts[a.choose("what a queue does", &acts.map(EngineAct::name))?];
    Ok(Moment::Engine { queue, dir, k, act })
}

fn barrier(a: &mut Args<'_>) -> Result<Order, Fault> {
    let (queue, dir) = ring(a)?;
    let k = a.number("which descriptor")?;
    let wrong = a.wrong(format!("that barrier is none of {dir} descriptors"));
    let all = BarrierBit::ALL;
    let names = all.map(|b| b.mode().name());
    let barrier = all[a.choose("a barrier", &names)?];
    if barrier.dir() != dir {
        return Err(wrong.help("DMB and write barrier are bits of Tx, SOW is one of Rx"));
    }
    let on = a.choose("`on` or `off`", &["on", "off"])? == 0;
    Ok(Order::Barrier(BarrierEdit { queue, k, barrier, on }))
}

/// The line of a command.
pub(super) fn print(o: &Order) -> String {
    match o {
        Order::Show => "order".to_owned(),
        Order::Explore { bound, file } => {
            let bound = bound.map(|n| format!(" {n}")).unwrap_or_default();
            let file = file.as_ref().map(|f| format!(" > {}", bare_or_quoted(f, false)));
            format!("order explore{bound}{}", file.unwrap_or_default())
        }
        Order::Reading { dmb, sow } => {
            let dmb = dmb.map(|d| format!(" {d}")).unwrap_or_default();
            let sow = sow.map(|s| format!(" {s}")).unwrap_or_default();
            format!("order reading{dmb}{sow}")
        }
        Order::Hold(h) => format!("order {h}"),
        Order::Barrier(b) => format!("order {b}"),
        Order::Replay(None) => "order replay".to_owned(),
        Order::Replay(Some(f)) => format!("order replay {}", bare_or_quoted(f, false)),
        Order::Calm => "order calm".to_owned(),
    }
}
