//! The access grid: where the selected access reads and writes, against what the run does.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod ui_support;

use dmadbg::bir::generate;
use dmadbg::engine::lower::{self, Stage};
use dmadbg::engine::module_run::{self, Initial};
use dmadbg::engine::program::Program;
use dmadbg::engine::ring::{Agent, EventKind};
use dmadbg::ui::grid::{Window, cells};
use dmadbg::ui::{Model, Pane};
use std::collections::BTreeSet;
use ui_support::*;

const SIZES: [(u16, u16); 4] = [(80, 24), (120, 36), (160, 45), (200, 60)];

fn at(size: (u16, u16), typed: &str, name: &str) -> Model {
    let mut m = model(module(name), name, size);
    keys(&mut m, typed);
    m
}

#[test]
fn the_grid_at_its_sizes() {
    for (moment, typed, name) in [
        ("strided", "p", "strided-load.bir"),
        ("gather", "G>>>>>", "gather.bir"),
        ("replicate", "G", "replicate.bir"),
        ("transpose", "G", "transpose.bir"),
    ] {
        for size in SIZES {
            let mut m = at(size, typed, name);
            if m.grid.is_none() {
                keys(&mut m, "p");
            }
            assert!(m.grid.is_some(), "{moment} {:?}", m.said);
            let name = format!("grid_{moment}_{}x{}", size.0, size.1);
            insta::assert_snapshot!(name, styled(&draw(&m)));
        }
    }
    for size in SIZES {
        let mut m = model(wrap64(), "wrap64.dma", size);
        keys(&mut m, "ddp");
        insta::assert_snapshot!(format!("grid_slot_{}x{}", size.0, size.1), styled(&draw(&m)));
    }
    let mut m = at((120, 36), "Gpo", "transpose.bir");
    insta::assert_snapshot!("grid_order_120x36", styled(&draw(&m)));
    keys(&mut m, "o");
    assert!(!m.grid.as_ref().unwrap().order);
    let mut m = plain(at((120, 36), "Gp", "replicate.bir"));
    insta::assert_snapshot!("grid_no_colour_120x36", styled(&draw(&m)));
    m.theme.ascii = true;
    let shown = text(&draw(&m));
    assert!(shown.is_ascii(), "{shown}");
}

/// Every byte of the run's memory that the grid's side says is touched by any descriptor.
fn touched(m: &Model, side: &str) -> BTreeSet<u64> {
    let g = m.grid.as_ref().unwrap();
    let all = g.sides().iter().filter(|s| s.name.starts_with(side));
    all.flat_map(|s| s.segments()).flat_map(|s| s.at..s.at + s.len).collect()
}

fn lit(m: &Model) -> BTreeSet<u64> {
    let g = m.grid.as_ref().unwrap();
    let side = g.sides().last().unwrap();
    let segments = side.segments();
    segments.iter().filter(|s| s.by_current > 0).flat_map(|s| s.at..s.at + s.len).collect()
}

/// What the grid of an instruction says is what the engine of the run on rings reads and writes
/// between its begin and its end, by the addresses in its events.
fn holds(p: Program, what: &str) -> usize {
    let mut m = model(p, what, (160, 45));
    keys(&mut m, "aG");
    let end = m.session.position();
    if end > 4000 {
        return 0;
    }
    let events = m.session.events(0, end + 1);
    // For whom each event was.
    let mut owners = vec![None];
    module_run::each_event(m.session.program(), |m, e| {
        owners.push(match e.agent {
            Agent::Seq(engine) => Some(engine),
            Agent::Engine(id) => m.queue(id).and_then(|q| q.owner),
            Agent::Host => None,
        });
    });
    let mut compared = 0;
    let begins = events.iter().filter(|e| matches!(e.kind, EventKind::Inst { .. }));
    for begin in begins.take(12) {
        let (EventKind::Inst { item, .. }, Agent::Seq(engine)) = (begin.kind, begin.agent) else {
            continue;
        };
        let done = events.iter().find(|e| {
            e.n > begin.n
                && e.agent == Agent::Seq(engine)
                && matches!(e.kind, EventKind::InstDone { item: i, .. } if i == item)
        });
        let Some(done) = done else { continue };
        // Ring descriptors of this execution alone.
        let within = |e: &&dmadbg::engine::ring::Event| (begin.n..=done.n).contains(&e.n);
        let mut written = BTreeSet::new();
        for e in events.iter().filter(within) {
            let own = owners[e.n as usize] == Some(engine);
            if let (EventKind::Visible { addr, len, .. } | EventKind::Store { addr, len }, true) =
                (e.kind, own)
            {
                written.extend(addr..addr + len);
            }
        }
        let layout = m.session.program().module.as_ref().unwrap().exec.layout().clone();
        written.retain(|a| layout.at(*a).is_some());
        // The last stage's text has the line of this very instruction.
        keys(&mut m, &format!(":goto {}<Enter>", done.n));
        m.focus = Pane::Source;
        keys(&mut m, ":pass lower_dma<Enter>");
        let Some(line) = m.listing().unwrap().line_of(item) else { continue };
        m.source.cursor = line;
        m.prepare();
        keys(&mut m, "p");
        if m.grid.is_none() {
            // An instruction that moves nothing has none.
            assert!(written.is_empty(), "{what} {:?}", m.said);
            continue;
        }
        assert_eq!(m.grid.as_ref().unwrap().when, format!("as run at event {}", begin.n));
        // Each descriptor in turn; together they are all of it.
        let n = m.grid.as_ref().unwrap().numbers.len();
        let mut all = BTreeSet::new();
        for _ in 0..n {
            all.extend(lit(&m));
            keys(&mut m, "n");
        }
        assert_eq!(all, written, "{what} event {}", begin.n);
        // Those in the location of the current one.
        assert!(touched(&m, "destination").is_subset(&written));
        keys(&mut m, "<Esc>");
        assert!(m.grid.is_none());
        // Before it ran the same is said of what will be.
        if compared == 0 {
            keys(&mut m, "g");
            m.focus = Pane::Source;
            m.source.cursor = line;
            m.prepare();
            keys(&mut m, "p");
            let when = &m.grid.as_ref().unwrap().when;
            assert!(when.starts_with("as it will run at event"), "{when}");
            keys(&mut m, "<Esc>");
        }
        compared += 1;
    }
    compared
}

#[test]
fn what_the_grid_shows_is_what_the_run_writes() {
    let mut compared = 0;
    for name in [
        "strided-load.bir",
        "gather.bir",
        "replicate.bir",
        "transpose.bir",
        "loop.bir",
        "scalar-offset.bir",
        "cce-add.bir",
        "semaphores.bir",
    ] {
        let n = holds(module(name), name);
        assert!(n > 0, "{name}");
        compared += n;
    }
    for seed in 0..6 {
        let g = generate::module(seed, &generate::Options::default());
        let lowered = lower::lower(&g.module, &lower::Options::default(), Stage::LowerDma);
        let options = module_run::Options::new(
            g.module.arch.map_or(dmadbg::udma::Generation::V3, |a| a.generation().unwrap()),
        );
        let place = |_| dmadbg::diag::Place::default();
        let initial = Initial {
            given: g.memory.into_iter().map(|(n, b)| (n.to_string(), b)).collect(),
            file: None,
        };
        let Ok(p) = module_run::program(&lowered, &place, &initial, &options) else { continue };
        compared += holds(p, &format!("seed {seed}"));
    }
    assert!(compared > 25, "{compared}");
}

#[test]
fn scale_and_scroll_keep_what_a_cell_is() {
    let mut m = at((160, 45), "Gp", "strided-load.bir");
    let g = m.grid.clone().unwrap();
    let side = g.sides().last().unwrap();
    let k = g.sides().len() - 1;
    let all = side.segments();
    let window = |m: &Model| m.grid.as_ref().unwrap().window(0, &all, (20, 40));
    let first = window(&m);
    keys(&mut m, "-");
    assert_eq!(window(&m).scale, (first.scale.0 * 2, first.scale.1 * 2));
    keys(&mut m, "+<Down><Right><Right>");
    let moved = window(&m);
    assert!(moved.from.0 <= first.from.0 + first.scale.0);
    assert!(moved.from.1 <= first.from.1 + 2 * first.scale.1);
    // The other side stays where it is while one is scrolled.
    let other = m.grid.as_ref().unwrap().window(k, &all, (20, 40));
    assert_eq!(other.scale, g.window(k, &all, (20, 40)).scale);
    keys(&mut m, "<Tab>");
    assert_eq!((m.grid.as_ref().unwrap().side, m.grid.as_ref().unwrap().scroll), (1, (0, 0)));
    // Far beyond everything there is nothing, and no panic.
    let far = Window { from: (1 << 40, 1 << 40), scale: (1 << 40, 3), room: (5, 5) };
    assert!(cells(&side.shape, &all, far).iter().flatten().all(|c| !c.inside && c.first.is_none()));
    for _ in 0..80 {
        keys(&mut m, "-<PgDn><Right>");
        draw(&m);
    }
}

#[test]
fn a_slot_without_an_address_has_no_grid() {
    let mut m = model(one_copy(), "x.dma", (120, 36));
    keys(&mut m, "p");
    assert!(m.grid.is_none());
    assert!(m.said.as_ref().unwrap().text.contains("no address"), "{:?}", m.said);
    keys(&mut m, "dp");
    let g = m.grid.as_ref().unwrap();
    assert_eq!(g.sides().len(), 2);
    let desc = m.slot(dmadbg::udma::Dir::Rx, m.selection.slot).unwrap().0;
    assert_eq!(lit(&m).len() as u64, desc.length());
    // A click closes it.
    keys(&mut m, "p");
    assert!(m.grid.is_none());
}
