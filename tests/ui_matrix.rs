//! Every pane and everything that opens over the screen, at four sizes, in every palette.
//!
//! A picture has the text once, then a letter for each cell, then what the letter looks like in
//! each palette: two cells have the same letter only where they look the same in all of them. The
//! text must be the same in all, so that no colour carries what is not written.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod ui_support;

use dmadbg::ui::model::Popup;
use dmadbg::ui::theme::Palette;
use dmadbg::ui::{Model, Pane};
use ratatui::buffer::Buffer;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use ui_support::*;

const SIZES: [(u16, u16); 4] = [(80, 24), (120, 36), (160, 45), (200, 60)];

/// The screen in all palettes at once.
fn in_all(m: &Model) -> String {
    let drawn: Vec<Buffer> = Palette::ALL
        .into_iter()
        .map(|palette| {
            let mut m = m.clone();
            m.theme.palette = palette;
            m.prepare();
            draw(&m)
        })
        .collect();
    let plain = text(&drawn[0]);
    for (palette, buf) in Palette::ALL.into_iter().zip(&drawn) {
        assert_eq!(text(buf), plain, "the text of {} is another", palette.name());
    }
    let mut looks: Vec<Vec<String>> = vec![vec![String::new(); drawn.len()]];
    let mut rows = String::new();
    let area = drawn[0].area;
    for y in area.top()..area.bottom() {
        let mut row: Vec<(usize, usize)> = Vec::new();
        for x in area.left()..area.right() {
            let look: Vec<String> = drawn.iter().map(|b| shown_style(&b[(x, y)])).collect();
            let known = looks.iter().position(|l| *l == look).unwrap_or_else(|| {
                looks.push(look);
                looks.len() - 1
            });
            match row.last_mut() {
                Some((k, n)) if *k == known => *n += 1,
                _ => row.push((known, 1)),
            }
        }
        if matches!(row.last(), Some((0, _))) {
            row.pop();
        }
        let row: Vec<String> = row.into_iter().map(|(k, n)| format!("{}{n}", letter(k))).collect();
        let _ = writeln!(rows, "{y:2} {}", row.join(" "));
    }
    let mut out = format!(
        "{plain}---- looks: line, then runs of cells\n{rows}---- dark | light | contrast | none\n"
    );
    for (k, look) in looks.iter().enumerate().skip(1) {
        let look: Vec<&str> = look.iter().map(|l| if l.is_empty() { "-" } else { l }).collect();
        let _ = writeln!(out, "{}  {}", letter(k), look.join(" | "));
    }
    out
}

/// `.` is plain; then a to z, A to Z, aa, ab, ..
fn letter(k: usize) -> String {
    const NAMES: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    match k {
        0 => ".".into(),
        k if k <= NAMES.len() => char::from(NAMES[k - 1]).to_string(),
        k => {
            let k = k - 1 - NAMES.len();
            let [a, b] = [k / NAMES.len(), k % NAMES.len()].map(|i| char::from(NAMES[i]));
            format!("{a}{b}")
        }
    }
}

fn picture(name: &str, size: (u16, u16), m: &Model) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("matrix");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        insta::assert_snapshot!(format!("{name}_{}x{}", size.0, size.1), in_all(m));
    });
}

/// A ring in its second lap, a stop, a mark and a finding in it.
fn rings(size: (u16, u16)) -> Model {
    let mut m = model(wrap64(), "wrap64.bin", size);
    keys(&mut m, ":break tx[3]<Enter>:mark here<Enter>fffdss");
    m
}

/// A module whose stages differ, in the middle of its run.
fn lowered(size: (u16, u16)) -> Model {
    let mut m = model(module("gather.bir"), "gather.bir", size);
    keys(&mut m, "dss");
    m
}

#[test]
fn every_pane() {
    for pane in Pane::ALL {
        for size in SIZES {
            let mut m = rings(size);
            m.focus = pane;
            m.prepare();
            picture(&format!("pane-{}", pane.name().to_lowercase()), size, &m);
        }
    }
    for size in SIZES {
        let mut m = lowered(size);
        for (pane, name) in [(Pane::Source, "pane-source"), (Pane::Passes, "pane-passes")] {
            m.focus = pane;
            m.prepare();
            picture(name, size, &m);
        }
    }
}

/// A program on a screen of a size.
type Base = fn((u16, u16)) -> Model;

/// What opens over the screen: how, and on which program.
const OVER: &[(&str, Base, &str)] = &[
    ("help", rings, "?"),
    ("answer", rings, ":info queue<Enter>"),
    ("palette", rings, "^prev con"),
    ("command-line", rings, ":break tx[3] if len"),
    ("command-error", rings, ":break tz[3]<Enter>"),
    ("completion", rings, ":re<Tab>"),
    ("search", rings, "/length == 4<Enter>"),
    ("search-line", rings, "/flags."),
    ("explained", rings, "x"),
    ("why", rings, "GW"),
    ("stage-change", lowered, ">>="),
    ("places", rings, "J"),
    ("access-grid", lowered, "p"),
];

#[test]
fn everything_that_opens_over_the_screen() {
    let mut seen = BTreeSet::new();
    for (name, base, typed) in OVER {
        for size in SIZES {
            let mut m = base(size);
            keys(&mut m, typed);
            if let Some((popup, _)) = &m.popup {
                seen.insert(kind(popup));
            }
            picture(&format!("over-{name}"), size, &m);
        }
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), KINDS);
}

const KINDS: [&str; 3] = ["help", "jumps", "output"];

/// One that is new has no arm here, and then belongs into [`OVER`].
fn kind(popup: &Popup) -> &'static str {
    match popup {
        Popup::Help => "help",
        Popup::Output(_) => "output",
        Popup::Jumps(_) => "jumps",
    }
}
