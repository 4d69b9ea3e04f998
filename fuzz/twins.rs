//! Fast ways against their plain twins (`docs/speed.md`): an input is blown up to a size at which
//! the fast way begins, and both must say the same.

use super::blown::{ARCHS, Feed, cut, image, pairs, program};
use super::{sample, text};
use dmadbg::check::wide::{self, Beside, Seen};
use dmadbg::check::{self, Cursors, ImageView, RingPair, RingView, Survey};
use dmadbg::diag::Report;
use dmadbg::engine::command::{Command, Goto};
use dmadbg::engine::expr::Expr;
use dmadbg::engine::program::{Blob, Content, Fill, HostOp, Program, QueueId, Region, RegionKind};
use dmadbg::engine::ring::memory::Row;
use dmadbg::engine::ring::{Agent, Event, EventKind, Machine, Memory};
use dmadbg::engine::session::{Cell, Did, Lane, Looked, Session, View, eval};
use dmadbg::load::export::{Row as ExportRow, push_row as descriptor_row};
use dmadbg::load::raw::{RawImage, RingView as Ring, to_program};
use dmadbg::load::{LoadOptions, asm};
use dmadbg::script::parse_command;
use dmadbg::udma::rows::{
    push_bytes, push_hex, push_json, push_number, push_text, push_text_plainly,
};
use dmadbg::udma::{DESC_BYTES, Desc, Dir, Generation, Profile, Rows};
use serde_json::Value;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Slots of a ring that is surveyed: two chunks or more and an end that is none; of one that is
/// searched: more than are asked where they lie at once; of one that is run. The second number is
/// of an input in [`RARELY`] that asks for it.
const SURVEYED: [usize; 2] = [530, 1500];
const SEARCHED: [usize; 2] = [1100, 5000];
const RUN: [usize; 2] = [150, 600];
/// Events of a run that are compared.
const EVENTS: u64 = 2500;
/// The same where a session walks through them, which costs more.
const WALKED: u64 = 200;
const WALKED_SLOTS: [usize; 2] = [36, 36];
const RARELY: u8 = 64;

/// The size that a byte asks for.
fn most(of: [usize; 2], how: u8) -> usize {
    of[usize::from(how % RARELY == RARELY - 1)]
}

/// The lints over rings with a survey and without; the survey in one and in parts; what is seen
/// of chunks in every width, and slot by slot.
pub fn survey(bytes: &[u8]) {
    let mut f = Feed(bytes);
    let (how, more) = (f.byte(), f.byte());
    let arch = ARCHS[usize::from(more) % 3];
    let start = (more & 0x80 != 0).then(|| f.num(2));
    let written = f.num(2);
    let slots = pairs(&mut f, arch, most(SURVEYED, how));
    let side = |k: usize| image(slots.iter().map(|p| p[k]));
    let (t, r, both) = (side(0), side(1), image(slots.iter().flatten().copied()));
    let short = &r[..r.len() - r.len().min(DESC_BYTES * usize::from(more >> 2 & 15))];
    let view = ImageView::new;
    match how % 5 {
        0 => surveyed(Some(&view(&t)), Some(&view(&r)), (arch, how, start, written)),
        1 => surveyed(
            Some(&ImageView::interleaved(&both, false)),
            Some(&ImageView::interleaved(&both, true)),
            (arch, how, start, written),
        ),
        2 => surveyed(Some(&view(&t)), None, (arch, how, start, written)),
        3 => surveyed(None, Some(&view(&r)), (arch, how, start, written)),
        _ => surveyed(Some(&view(&t)), Some(&view(short)), (arch, how, start, written)),
    }
    let rows = |bytes| Rows::new(<[u8]>::as_chunks(bytes).0, 1);
    let turns = both.as_chunks().0;
    let turns = [Rows::new(turns, 2), Rows::new(turns.get(1..).unwrap_or_default(), 2)];
    // Some of the first, so that lines do not end where slots do.
    let n = written % (slots.len() as u64 + 1);
    let [a, b] = match (how ^ more) & 3 {
        0 => [rows(&t), rows(short)],
        1 => turns,
        2 => [rows(&t).first(n), rows(&r).first(n)],
        _ => turns.map(|r| r.first(n)),
    };
    let host = arch.host_base();
    let plain = [Seen::plainly(a, host), Seen::plainly(b, host)];
    let beside = Beside::plainly(a, b);
    for level in wide::levels() {
        let (seen, at_once) = wide::look(level, [Some(a), Some(b)], host);
        assert_eq!(seen, plain, "{level:?}");
        assert!(at_once.is_none_or(|at_once| at_once == beside), "{level:?}");
        assert_eq!(wide::beside(level, a, b), beside, "{level:?}");
    }
}

fn surveyed(
    tx: Option<&dyn RingView>,
    rx: Option<&dyn RingView>,
    (arch, how, start, written): (Generation, u8, Option<u64>, u64),
) {
    let len = tx.or(rx).map_or(0, RingView::len);
    let known = |bit: u8| {
        let first = start.unwrap_or(0) % len.max(1);
        let cursors = Cursors { first, ring_id: how >> 6, written: written % (len + 1) };
        (how & bit != 0).then_some(cursors)
    };
    let cursors = [known(0x20), known(0x10)];
    let profile = Profile::default_profile();
    let pair = RingPair { tx, rx, arch, profile, queue: None, start, cursors };
    let told = |r: Report| (r.items, r.dropped);
    let fast = told(check::run(pair));
    assert_eq!(fast, told(check::run_surveyed(pair, &Survey::default())));
    let mut parts = Survey::default();
    (0..Survey::chunks_of(&pair)).for_each(|at| parts.append(Survey::part(&pair, at, at + 1)));
    assert_eq!(parts, Survey::of(&pair));
}

/// A question about slots, put to many of them where they lie, to blocks, and to each.
pub fn search(bytes: &[u8]) {
    let mut f = Feed(bytes);
    let how = f.byte();
    let Some(question) = text(f.line()) else { return };
    let Ok(Some(Command::Find { dir, expr })) = parse_command(&format!("find {question}")) else {
        return;
    };
    let mut cuts = f.0;
    let slots = pairs(&mut f, Generation::V3, most(SEARCHED, how));
    let mut p = program(&slots, Generation::V3, how & 1 != 0);
    for _ in 0..how >> 1 & 3 {
        // What is written by itself cuts a ring into stretches.
        let mut f = Feed(cuts);
        p.contents.extend(cut(&mut f, &p).map(|(addr, bytes)| Content { addr, bytes }));
        cuts = f.0;
    }
    let s = Session::new(Arc::new(p));
    let go_on = &mut |_| ControlFlow::Continue(());
    let fast = s.slots_found(dir, &expr, go_on).map_err(|d| d.code);
    assert_eq!(fast, s.slots_found_plainly(dir, &expr, go_on).map_err(|d| d.code), "{expr}");
}

/// A program by a byte: a raw image, assembly, or a sample. What is left is for something else.
fn any_program(f: &mut Feed<'_>, sizes: [usize; 2]) -> Option<Program> {
    let how = f.byte();
    match how & 3 {
        0 | 1 => {
            let arch = ARCHS[usize::from(how >> 2) % 3];
            let known = f.byte() & 3;
            let contents: Vec<Content> = (0..known)
                .map(|_| {
                    let (at, len, seed) = (f.num(2) << 4, 1 + f.num(2), f.byte());
                    let bytes = (0..len).map(|i| i as u8 ^ seed).collect();
                    Content { addr: 0x1000_0000 + at, bytes: Blob::from_vec(bytes) }
                })
                .collect();
            let mut cuts = f.0;
            let slots = pairs(f, arch, most(sizes, how));
            let ring = |dir, k: usize| {
                Some(Ring::whole(dir, Blob::from_vec(image(slots.iter().map(|p| p[k])))))
            };
            let image = RawImage::new("image", "", [ring(Dir::Tx, 0), ring(Dir::Rx, 1)]);
            // Among the addresses that descriptors have, so that some write over others.
            let [tx_base, rx_base] = [0x30_0000, 0x31_0000].map(|at| Some(arch.host_base() + at));
            let options = LoadOptions { tx_base, rx_base, ..LoadOptions::default() };
            let mut p = to_program(&image, &options).0?;
            p.contents.extend(contents);
            if how & 0x80 != 0 {
                let mut f = Feed(cuts);
                let rung = p.script.iter().position(|o| matches!(o.op, HostOp::CopyStart { .. }));
                let store = cut(&mut f, &p).map(|(addr, bytes)| HostOp::Store { addr, bytes });
                if let Some((at, store)) = rung.zip(store) {
                    p.script.insert(at, store.into());
                }
                cuts = f.0;
            }
            f.0 = cuts;
            Some(p)
        }
        2 => sample(how >> 2),
        _ => {
            let line = f.line();
            asm::assemble(text(line)?).ok().map(|a| a.program)
        }
    }
}

/// A run by leaps of many lengths and one by single steps: they stand where they meet in the same
/// state, and the memory is made of as many pieces.
pub fn leap(bytes: &[u8]) {
    let mut f = Feed(bytes);
    let lengths: [u64; 4] = [f.byte().into(), f.num(2), f.byte().into(), f.num(2)];
    let Some(p) = any_program(&mut f, RUN) else { return };
    let mut fast = Machine::new(&p);
    let mut plain = fast.clone();
    let mut looks = 0;
    for length in lengths.into_iter().cycle() {
        let from = fast.n;
        if from >= EVENTS {
            break;
        }
        let limit = if length == 0 { EVENTS } else { from + length };
        let leap = fast.leap(&p, limit.min(EVENTS));
        if leap.is_none() {
            let (a, b) = (fast.step(&p), plain.step(&p));
            assert_eq!(a, b);
            if a.is_none() {
                break;
            }
            // A look at everything costs as much as many steps.
            looks += 1;
            if looks % 32 != 0 {
                continue;
            }
        } else {
            assert!(fast.n > from && fast.n <= limit, "{from}..{} {limit}", fast.n);
            let mut last = None;
            while plain.n < fast.n {
                let step = plain.step(&p);
                assert!(step.as_ref().is_some_and(|s| s.findings == 0), "{step:?}");
                last = step;
            }
            assert_eq!(fast.last, last.map(|s| s.event));
        }
        assert_eq!(fast.digest(), plain.digest(), "from {from} to {}: {leap:?}", fast.n);
        assert_eq!(fast.memory.extents(), plain.memory.extents());
    }
    assert_eq!(fast.digest(), plain.digest(), "at the end");
}

/// Commands that move, in both directions, against a walk of all events: where `until` stops, and
/// that an event is one state from wherever it is come to.
pub fn moves(bytes: &[u8]) {
    let mut f = Feed(bytes);
    let Some(said) = text(f.line()) else { return };
    let commands: Vec<Command> =
        said.lines().take(4).filter_map(|l| parse_command(l).ok().flatten()).collect();
    let moves = |c: &Command| {
        matches!(
            c,
            Command::Step { .. }
                | Command::Next { .. }
                | Command::Finish { .. }
                | Command::Doorbell { .. }
                | Command::Until { .. }
                | Command::Continue { .. }
                | Command::Goto(Goto::Event(_))
                | Command::Break { .. }
        )
    };
    let commands: Vec<Command> = commands.into_iter().filter(moves).collect();
    if commands.is_empty() {
        return;
    }
    let Some(p) = any_program(&mut f, WALKED_SLOTS) else { return };
    let p = Arc::new(p);
    let fresh = Session::new(p.clone());
    let untils: Vec<&Expr> = commands
        .iter()
        .filter_map(|c| if let Command::Until { expr, .. } = c { Some(expr) } else { None })
        .collect();
    // The walk: of each event its state, and the value of each condition.
    let mut walk = fresh.clone();
    let mut digests = vec![walk.machine().digest()];
    let mut lanes: Vec<(Vec<Lane>, Did)> = Vec::new();
    let mut holds: Vec<Vec<Result<bool, ()>>> = Vec::new();
    let one = parse_command("step 1 event").ok().flatten();
    let Some(one) = one.filter(|_| walk.can_step()) else { return };
    loop {
        holds.push(untils.iter().map(|e| held(&walk, e)).collect());
        let n = walk.position();
        if walk.execute(&one).is_err() || walk.position() == n {
            break;
        }
        digests.push(walk.machine().digest());
        lanes.extend(walk.last_event().map(|e| (lanes_of(&e), Did::of(&e.kind))));
        if digests.len() > WALKED as usize {
            // Not run to its end.
            return;
        }
    }
    let last = digests.len() as u64 - 1;
    let mut s = fresh;
    let mut stops = false;
    for (k, c) in commands.iter().enumerate() {
        let from = s.position();
        let went = s.execute(c);
        stops |= matches!(c, Command::Break { .. });
        if let Command::Until { expr, back } = c
            && !stops
        {
            let i = untils.iter().position(|e| std::ptr::eq(*e, expr)).unwrap_or(0);
            let at = |n: &u64| holds[*n as usize][i];
            let fails = holds.iter().any(|h| h[i].is_err());
            let (met, end) = match back {
                false => ((from + 1..=last).find(|n| at(n) != Ok(false)), last),
                true => ((1..from).rev().find(|n| at(n) != Ok(false)), 0),
            };
            // An error on the way back may be met before the event is.
            if !fails || !back {
                let want = match met {
                    Some(n) if at(&n).is_err() => from,
                    Some(n) => n,
                    None => end,
                };
                assert_eq!(s.position(), want, "{c:?} from {from}, command {k}: {went:?}");
            }
        }
        let n = s.position() as usize;
        assert_eq!(s.machine().digest(), digests[n], "{c:?} from {from} to {n}");
    }
    for n in [last / 2, last, last / 3, 0] {
        assert_eq!(s.state_at(n).digest(), digests[n as usize], "{n}");
    }
    let seed = bytes.iter().fold(7u64, |all, b| all.wrapping_mul(31).wrapping_add((*b).into()));
    let _ = s.execute(&Command::Goto(Goto::Event(Expr::Num(last))));
    let of =
        s.lanes(View::new(seed % (last + 1), 1 + (seed >> 16) % 700, 1 + (seed >> 32) % 90), None);
    for (k, column) in of.columns.iter().enumerate() {
        let (after, to) = of.view.bounds(k as u64);
        let part = lanes.get(after as usize..to.min(last) as usize).unwrap_or_default();
        for (lane, cell) in of.lanes.iter().zip(&column.cells) {
            let here = part.iter().filter(|e| e.0.contains(lane));
            let plain =
                here.fold(Cell::default(), |c, e| Cell { did: c.did | e.1, count: c.count + 1 });
            if column.looked == Looked::Each {
                assert_eq!(*cell, plain, "{lane:?} in {after}..{to}");
            }
        }
    }
}

/// Whether a condition holds here; what has no value yet does not.
fn held(s: &Session, e: &Expr) -> Result<bool, ()> {
    match eval(s, s.machine(), e) {
        Ok(v) => Ok(v != 0),
        Err(e) if e.is_for_now() => Ok(false),
        Err(_) => Err(()),
    }
}

/// The lanes in which an event stands.
fn lanes_of(e: &Event) -> Vec<Lane> {
    match (e.agent, e.kind) {
        (Agent::Host, _) => vec![Lane::Host],
        (Agent::Seq(s), _) => vec![Lane::Seq(s)],
        (Agent::Engine(q), EventKind::Retire { tx, rx, .. }) => {
            let tx = tx.map(|_| Lane::Ring(q, Dir::Tx));
            tx.into_iter().chain(rx.map(|_| Lane::Ring(q, Dir::Rx))).collect()
        }
        (
            Agent::Engine(q),
            EventKind::Fetch { dir, .. }
            | EventKind::Fault { dir, .. }
            | EventKind::Stall { dir, .. },
        ) => vec![Lane::Ring(q, dir)],
        (Agent::Engine(q), EventKind::Visible { .. }) => vec![Lane::Ring(q, Dir::Rx)],
        (Agent::Engine(q), _) => vec![Lane::Ring(q, Dir::Tx)],
    }
}

/// Memory as pieces against memory as bytes: what is there, what was never written, what is
/// known.
pub fn extents(bytes: &[u8]) {
    const BASE: u64 = 0x1_0000;
    const LEN: u64 = 4096;
    let mut f = Feed(bytes);
    let mut p = Program::new(Generation::V3, Profile::default_profile());
    for k in 0..4 {
        let seed = f.byte();
        let fill = match seed % 5 {
            0 => Fill::Zero,
            1 => Fill::Byte(seed),
            2 => Fill::Pattern(seed),
            3 => Fill::Unknown,
            _ => Fill::Never,
        };
        let (base, len) = (BASE + k * LEN / 4, LEN / 4);
        p.regions.push(Region { name: format!("r{k}"), kind: RegionKind::Device, base, len, fill });
    }
    let mut m = Memory::new(&p);
    // A byte, and whether anybody wrote it, and whether it is known.
    let mut plain = vec![(0u8, true, true); LEN as usize];
    for (i, cell) in plain.iter_mut().enumerate() {
        let at = BASE + i as u64;
        let mut b = [0];
        let known = m.read(at, &mut b);
        *cell = (b[0], known.never_written.is_none(), known.unknown.is_none());
        let fill = p.regions[i / (LEN as usize / 4)].fill;
        assert_eq!(cell.1, fill != Fill::Never);
        assert_eq!(cell.2, fill != Fill::Unknown);
    }
    let mut stream = Vec::new();
    while !f.is_over() {
        let (how, at) = (f.byte(), f.num(2) % LEN);
        let len = match how >> 6 {
            0 => 1 + f.below(16),
            1 => 16,
            2 => 4,
            _ => 1 + f.num(2) % LEN,
        }
        .min(LEN - at);
        let to = f.num(2) % (LEN - len + 1);
        let (a, n, t) = (at as usize, len as usize, to as usize);
        match how & 7 {
            0 => {
                let seed = f.byte();
                let bytes: Vec<u8> = (0..n).map(|i| seed.wrapping_mul(i as u8 | 1)).collect();
                m.write(BASE + at, &bytes);
                for (cell, b) in plain[a..a + n].iter_mut().zip(&bytes) {
                    *cell = (*b, true, true);
                }
            }
            1 => {
                let b = f.byte();
                m.fill(BASE + at, len, b);
                plain[a..a + n].fill((b, true, true));
            }
            2 | 3 => {
                let content = m.take(BASE + at, len);
                assert_eq!(content.len(), len);
                m.put_content(BASE + to, content);
                plain.copy_within(a..a + n, t);
            }
            4 => {
                // As a transfer does with what is one piece.
                if m.solid(BASE + at).is_some_and(|s| s.len >= len) {
                    m.move_solid(BASE + at, BASE + to, len);
                    plain.copy_within(a..a + n, t);
                }
            }
            5 => {
                let count = len / DESC_BYTES as u64;
                let first = Desc { len_ctrl: f.byte().into(), word1: 0x0108_0003, ptr: f.num(2) };
                if count > 0 {
                    let row = Row { first, step: f.byte().into(), count };
                    m.write_row(BASE + at, row);
                    let bytes = image((0..count).map(|k| row.desc(k)));
                    for (cell, b) in plain[a..].iter_mut().zip(&bytes) {
                        *cell = (*b, true, true);
                    }
                    let read = m.row(BASE + at, count);
                    assert_eq!((read.first, read.count >= 1), (first, true));
                }
            }
            6 => {
                // A stream of two parts that is cut elsewhere.
                let mut content = m.take(BASE + at, len);
                let (was, cutting) = (plain[a..a + n].to_vec(), f.num(2) % (len + 1));
                let front = content.split_front(cutting);
                assert_eq!((front.len(), content.len()), (cutting, len - cutting));
                stream.clear();
                stream.extend_from_slice(&was[cutting as usize..]);
                stream.extend_from_slice(&was[..cutting as usize]);
                let mut turned = content;
                turned.append(&front);
                m.put_content(BASE + to, turned);
                plain[t..t + n].copy_from_slice(&stream);
            }
            _ => {
                let mut was = vec![0; n];
                let known = m.read(BASE + at, &mut was);
                assert_eq!(known, m.known(BASE + at, len));
                let bytes: Vec<u8> = plain[a..a + n].iter().map(|c| c.0).collect();
                assert_eq!(was, bytes, "{at} {len}");
            }
        }
    }
    let mut now = vec![0; LEN as usize];
    let known = m.read(BASE, &mut now);
    let bytes: Vec<u8> = plain.iter().map(|c| c.0).collect();
    assert_eq!(now, bytes);
    let first = |f: fn(&(u8, bool, bool)) -> bool| {
        plain.iter().position(|c| !f(c)).map(|i| BASE + i as u64)
    };
    assert_eq!(known.never_written, first(|c| c.1));
    assert_eq!(known.unknown, first(|c| c.2));
    // Taken as a whole and put into nothing, it is the same and no more pieces.
    let mut again = Memory::new(&Program::new(Generation::V3, Profile::default_profile()));
    again.put_content(BASE, m.take(BASE, LEN));
    let mut then = vec![0; LEN as usize];
    assert_eq!(again.read(BASE, &mut then), known);
    assert_eq!(then, now);
}

/// A line of `decode`, an object of it, and numbers: written over a prepared line, and column by
/// column, and by the formatter.
pub fn row(bytes: &[u8]) {
    let mut f = Feed(bytes);
    let (how, index) = (f.byte(), f.num(8));
    // Numbers of few digits are many.
    let index = index >> (how & 63);
    let arch = ARCHS[usize::from(f.byte()) % 3];
    let slots = if how & 0x40 == 0 {
        pairs(&mut f, arch, 4)
    } else {
        let (low, ptr) = (f.num(8), f.num(8));
        vec![[Desc { len_ctrl: low as u32, word1: (low >> 32) as u32, ptr }; 2]]
    };
    let dir = if how & 0x80 == 0 { Dir::Tx } else { Dir::Rx };
    for d in slots.into_iter().flatten() {
        let (mut fast, mut plain) = (String::from("x"), String::from("x"));
        push_text(&mut fast, index, dir, d, arch);
        push_text_plainly(&mut plain, index, dir, d, arch);
        assert_eq!(fast, plain, "{d:?}");
        let mut object = String::new();
        push_json(&mut object, index, dir, d, arch);
        let Ok(v) = serde_json::from_str::<Value>(&object) else { panic!("no JSON: {object}") };
        assert_eq!(v["index"], Value::from(index));
        assert_eq!(v["length"], Value::from(d.length()));
        assert_eq!(v["len_ctrl"], Value::from(format!("{:#010x}", d.len_ctrl)));
        for (k, is) in [("first", d.first()), ("last", d.last()), ("concat", d.concat())] {
            assert_eq!(v[k], Value::from(is), "{object}");
        }
        let mut line = Vec::new();
        let queue = (how & 0x20 != 0).then_some(QueueId { engine: 5, queue: index as u32 });
        descriptor_row(&ExportRow { queue, dir, slot: index, life: None, desc: d }, &mut line);
        assert_eq!(text(&line), Some(csv_of(queue, d, &v).as_str()));
        let mut out = String::new();
        push_bytes(&mut out, d);
        assert_eq!(out, d.to_bytes().iter().map(|b| format!("{b:02x}")).collect::<String>());
    }
    let digits = 1 + u32::from(how) % 16;
    let (mut hex, mut number) = (String::new(), String::new());
    push_hex(&mut hex, index, digits);
    push_number(&mut number, index);
    let low = if digits == 16 { index } else { index & ((1 << (4 * digits)) - 1) };
    assert_eq!(hex, format!("0x{low:0width$x}", width = digits as usize));
    assert_eq!(number, index.to_string());
}

/// A line of a table out of the object, by the formatter.
fn csv_of(queue: Option<QueueId>, d: Desc, v: &Value) -> String {
    let flag = |name: &str| u8::from(v[name] == Value::Bool(true)).to_string();
    let ops = v["ops"].as_array().into_iter().flatten().chain(v.get("op"));
    let ops: Vec<&str> = ops.filter_map(Value::as_str).filter(|_| !d.is_zero()).collect();
    let mut cells =
        queue.map_or(vec![String::new(); 2], |q| vec![q.engine.to_string(), q.queue.to_string()]);
    cells.extend([
        v["ring"].as_str().unwrap_or_default().to_owned(),
        v["index"].to_string(),
        String::new(),
        u8::from(!d.is_zero()).to_string(),
        format!("{:#010x}", d.len_ctrl),
        format!("{:#010x}", d.word1),
        format!("{:#018x}", d.ptr),
        if d.is_zero() { String::new() } else { d.length().to_string() },
        d.ring_id().to_string(),
    ]);
    let flags = ["first", "last", "concat", "dmb", "strong_order", "int_en", "meta"];
    cells.extend(flags.map(flag));
    cells.push(ops.join("|"));
    cells.extend(["write_barrier", "notification"].map(flag));
    cells.join(",") + "\n"
}

/// Going on with another program: the same state as of who begins with it, and back again.
pub fn reload(bytes: &[u8]) {
    let mut f = Feed(bytes);
    let (how, at, line) = (f.byte(), f.num(2), f.byte());
    let other = f.line();
    let (Some(other), Some(t)) = (text(other), text(f.0)) else { return };
    let Ok(old) = asm::assemble(t) else { return };
    let lines: Vec<&str> = t.lines().collect();
    let k = usize::from(line) % lines.len().max(1);
    let mut lines = lines;
    match how & 3 {
        0 => drop((!lines.is_empty()).then(|| lines.remove(k))),
        1 => lines.insert(k, lines.get(k).copied().unwrap_or_default()),
        2 => lines.insert(k, other),
        _ => lines.get_mut(k).into_iter().for_each(|l| *l = other),
    }
    let Ok(new) = asm::assemble(&lines.join("\n")) else { return };
    let (old, new) = (Arc::new(old.program), Arc::new(new.program));
    let mut s = Session::new(old.clone()).bounded(WALKED);
    for stop in ["break tx[3]", "break marker", "display tx[1].length"] {
        if let Ok(Some(c)) = parse_command(stop) {
            let _ = s.execute(&c);
        }
    }
    if s.execute(&Command::Goto(Goto::Event(Expr::Num(at % WALKED)))).is_err() {
        return;
    }
    let go_on = &mut |_| ControlFlow::Continue(());
    let from = s.position();
    assert!(s.reload(Arc::new((*old).clone()), go_on).same && s.position() == from);
    for program in [&new, &old, &new] {
        let same = **program == **s.loaded();
        let carried = s.reload(program.clone(), go_on);
        assert_eq!(carried.same, same);
        let here = s.position();
        let mut fresh = Session::new(program.clone());
        assert_eq!(fresh.state_at(here).digest(), s.machine().digest(), "at {here}");
    }
}
