//! How long a module of 1 MiB takes from the end of the quiet time until it is on the screen
//! (`docs/reload.md`, "Figures"). `cargo bench --bench reload -- [KIB]` prints one line a
//! measurement; nothing is asserted.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use clap::Parser as _;
use dmadbg::cli::args::Cli;
use dmadbg::engine::session::Session;
use dmadbg::ui::live::Desk;
use dmadbg::ui::update::{Message, take_up, update};
use dmadbg::ui::{Config, Effect, Fresh, Model, Notice, Theme, view};
use dmadbg::watch::QUIET;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// What the work is bound by: milliseconds from the end of the quiet time to the picture.
const BOUND: f64 = 150.0;
/// Columns and rows of the screen.
const SIZE: (u16, u16) = (200, 60);

/// Static copies of 64 bytes over four engines, their names in `numbers`.
fn module(numbers: &[u64]) -> String {
    let bytes = (numbers.len() as u64 + 1000) * 64;
    let mut text = format!(
        "bir 2 gen3\n\nfunc main {{\n  set x_set : uint8 ExternalInput {{\n    location x DRAM [{bytes}] addr=0\n  }}\n  \
        set y_set : uint8 ExternalOutput {{\n    location y DRAM [{bytes}] addr=0\n  }}\n  block Block1:\n"
    );
    for i in numbers {
        let engine = ["Pool", "Activation", "SP", "PE"][(i % 4) as usize];
        let at = i * 64;
        writeln!(
            text,
            "    %I-{i} = DMACopy {engine} queue=q{engine} dge_type=None ins(x[[1, 64]] +{at} : uint8) outs(y[[1, 64]] +{at} : uint8)"
        )
        .unwrap();
    }
    text += "}\n";
    for engine in ["Pool", "Activation", "SP", "PE"] {
        writeln!(text, "\nqueue q{engine} blocks=[]").unwrap();
    }
    text
}

/// As many copies as make a text of so many bytes.
fn of_size(bytes: usize) -> Vec<u64> {
    let (few, more) = (module(&[1; 100]).len(), module(&[100_000; 200]).len());
    let each = (more - few) / 100;
    let mut numbers: Vec<u64> = (0..(bytes / each) as u64).collect();
    while module(&numbers).len() < bytes {
        let next = numbers.len() as u64;
        numbers.extend(next..next + 16);
    }
    numbers
}

fn draw(m: &Model) {
    let mut buf = Buffer::empty(Rect::new(0, 0, m.size.0, m.size.1));
    view::draw(m, &mut buf);
}

/// The next program that was read, and when its picture was ready; how long reading was over.
fn shown(desk: &Desk, news: &Receiver<(Instant, Notice)>, m: &mut Model) -> (Instant, Instant) {
    loop {
        let (at, notice) = news.recv_timeout(Duration::from_secs(60)).unwrap();
        let loaded = matches!(notice, Notice::Loaded { .. });
        for effect in update(m, Message::Files(notice)) {
            if let Effect::TakeUp(fresh) = effect {
                let next = take_up(m, *fresh, &mut |_, _| ControlFlow::Continue(())).1;
                if let Some(Effect::Compare(asked)) = next {
                    desk.compare(asked);
                }
            }
        }
        m.prepare();
        if loaded {
            draw(m);
            return (at, Instant::now());
        }
    }
}

fn measure(what: &str, path: &Path, texts: &[String], position: u64) {
    std::fs::write(path, &texts[0]).unwrap();
    let line = ["dmadbg", "--no-init", path.to_str().unwrap()];
    let args = Cli::parse_from(line).open;
    let live = dmadbg::cli::live(&args, &Config::default());
    let begun = Instant::now();
    let Fresh { program, title } = (live.load)().unwrap();
    let first = begun.elapsed();
    let known = Fresh { program: program.clone(), title: title.clone() };
    let mut m = Model::new(Session::new(program), title, Theme::default(), SIZE);
    update(&mut m, Message::Resize(SIZE.0, SIZE.1));
    dmadbg::ui::update::finish(&mut m, &goto(position), &mut |_, _| ControlFlow::Continue(()));
    draw(&m);
    let (to, news) = channel();
    let desk = Desk::open(live, known, move |n| drop(to.send((Instant::now(), n)))).unwrap();
    let (_, watching) = news.recv().unwrap();
    assert_eq!(watching, Notice::Watching);
    update(&mut m, Message::Files(watching));
    let mut worst = [0.0f64; 2];
    let mut best = [f64::INFINITY; 2];
    for round in 0..6 {
        std::fs::write(path, &texts[(round + 1) % texts.len()]).unwrap();
        // The quiet time begins when the file is closed.
        let quiet_over = Instant::now() + QUIET;
        let (read, picture) = shown(&desk, &news, &mut m);
        // What is told later of how both differ is not to run beside the next round.
        while let Ok((_, notice)) = news.recv_timeout(Duration::from_secs(60)) {
            let last = matches!(notice, Notice::Compared { .. });
            update(&mut m, Message::Files(notice));
            if last {
                break;
            }
        }
        let of = |t: Instant| t.saturating_duration_since(quiet_over).as_secs_f64() * 1e3;
        for (i, ms) in [of(read), of(picture)].into_iter().enumerate() {
            worst[i] = worst[i].max(ms);
            best[i] = best[i].min(ms);
        }
    }
    drop(desk);
    let verdict = if worst[1] <= BOUND { "within" } else { "BEYOND" };
    println!(
        "{what:<44} {:>5} KiB, {:>6.1} ms to open; read after {:.1} to {:.1} ms, shown after {:.1} to {:.1} ms: {verdict} {BOUND} ms",
        texts[0].len() / 1024,
        first.as_secs_f64() * 1e3,
        best[0],
        worst[0],
        best[1],
        worst[1]
    );
}

fn goto(n: u64) -> dmadbg::engine::command::Command {
    dmadbg::script::parse_command(&format!("goto {n}")).unwrap().unwrap()
}

fn main() {
    let kib = std::env::args().skip(1).find_map(|a| a.parse().ok()).unwrap_or(1024usize);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.bir");
    let numbers = of_size(kib << 10);
    let text = module(&numbers);
    // One instruction more amid the others, one less, one with another length.
    let mut more = numbers.clone();
    more.insert(numbers.len() / 2, numbers.len() as u64 + 500);
    let more = module(&more);
    for position in [0, 5000] {
        let what = format!("an instruction comes and goes, at event {position}");
        measure(&what, &path, &[text.clone(), more.clone()], position);
    }
    let shorter = text.replacen(
        "x[[1, 64]] +640 : uint8) outs(y[[1, 64]]",
        "x[[1, 32]] +640 : uint8) outs(y[[1, 32]]",
        1,
    );
    assert_ne!(shorter, text);
    measure("a length changes and changes back", &path, &[text, shorter], 5000);
}
