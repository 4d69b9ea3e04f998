//! Pictures of the screen and of each pane, with their styles.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod ui_support;

use dmadbg::diag::Diagnostic;
use dmadbg::engine::program::Program;
use dmadbg::ui::{Model, Pane, Theme};
use ui_support::*;

const SIZES: [(u16, u16); 4] = [(80, 24), (120, 36), (160, 45), (200, 60)];

/// Keys typed to come to a moment, its name, the program.
type Moment = (&'static str, &'static str, fn() -> Program, &'static str);

const MOMENTS: &[Moment] = &[
    ("start", "", wrap64, "wrap64.bin"),
    ("mid_batch", "dss", wrap64, "wrap64.bin"),
    ("second_lap", "fffdss", wrap64, "wrap64.bin"),
    ("marker_flipped", ":break marker<Enter>c", one_copy, "one_copy.bin"),
    ("fault", "G", faulting, "fault.bin"),
    ("stall", "G", stalled, "stalled.dma"),
    ("help", "?", one_copy, "one_copy.bin"),
    ("command_error", "n:break tz[3]<Enter>", one_copy, "one_copy.bin"),
    ("answer", "G:info queue<Enter>", one_copy, "one_copy.bin"),
    ("edited", "f<Tab><Tab>:set tx[0].last = 0<Enter>", one_copy, "one_copy.bin"),
    ("palette", "d^prev con", one_copy, "one_copy.bin"),
    ("search", "G/length == 4<Enter>x", wrap64, "wrap64.bin"),
    ("inspect", "n<Tab><Tab><Left><Left><Left><Left><Left><Left>", one_copy, "one_copy.bin"),
];

fn at(size: (u16, u16), (_, typed, program, file): &Moment) -> Model {
    let mut m = model(program(), file, size);
    keys(&mut m, typed);
    m
}

#[test]
fn the_whole_screen_at_its_sizes() {
    for moment in MOMENTS {
        for size in SIZES {
            let m = at(size, moment);
            let name = format!("{}_{}x{}", moment.0, size.0, size.1);
            insta::assert_snapshot!(name, styled(&draw(&m)));
        }
    }
}

/// Narrow and tall: panes in a stack, with more of them the more rows there are.
#[test]
fn narrow_and_tall_screens_stack_their_panes() {
    for (size, focus) in [
        ((80, 36), Pane::Tx),
        ((80, 36), Pane::Inspector),
        ((100, 40), Pane::Tx),
        ((100, 40), Pane::Memory),
        ((119, 60), Pane::Tx),
    ] {
        let mut m = at(size, &MOMENTS[2]);
        m.focus = focus;
        m.prepare();
        let name = focus.name().to_lowercase();
        insta::assert_snapshot!(format!("stacked_{name}_{}x{}", size.0, size.1), styled(&draw(&m)));
    }
}

#[test]
fn the_screen_without_colours_and_in_ascii() {
    let m = plain(at((160, 45), &MOMENTS[1]));
    insta::assert_snapshot!("no_colour_160x45", styled(&draw(&m)));
    let mut m = plain(at((120, 36), &MOMENTS[1]));
    m.theme.ascii = true;
    let shown = text(&draw(&m));
    assert!(shown.is_ascii(), "{shown}");
    insta::assert_snapshot!("ascii_120x36", shown);
}

#[test]
fn the_screen_in_every_theme_and_depth() {
    use dmadbg::ui::theme::{Depth, Palette};
    for palette in [Palette::Light, Palette::Contrast] {
        for size in SIZES {
            let mut m = at(size, &MOMENTS[1]);
            m.theme.palette = palette;
            let name = format!("{}_{}x{}", palette.name(), size.0, size.1);
            insta::assert_snapshot!(name, styled(&draw(&m)));
        }
    }
    for depth in [Depth::Basic, Depth::True] {
        let mut m = at((120, 36), &MOMENTS[1]);
        m.theme.depth = depth;
        insta::assert_snapshot!(format!("depth_{}_120x36", depth.name()), styled(&draw(&m)));
    }
}

#[test]
fn colour_is_never_the_only_carrier() {
    // The text alone tells the two apart wherever a style does.
    let m = at((160, 45), &MOMENTS[1]);
    let coloured = text(&draw(&m));
    assert_eq!(coloured, text(&draw(&plain(m))));
}

#[test]
fn each_pane_alone() {
    let mut notes = at((160, 45), &("", "fffdss", wrap64, ""));
    notes.title.notes =
        vec![Diagnostic::new("D011", "length 0 stands for 65536"), Diagnostic::new("D010", "odd")];
    for pane_ in Pane::ALL {
        for (w, h) in [(40, 12), (64, 16), (104, 22)] {
            let mut m = notes.clone();
            m.focus = pane_;
            m.prepare();
            let name = format!("pane_{}_{w}x{h}", pane_.name().to_lowercase());
            insta::assert_snapshot!(name, styled(&pane(&m, pane_, w, h)));
        }
    }
}

/// Each pane as the user gets it with Tab: full size at 80x24, in its place on larger screens.
#[test]
fn each_pane_in_the_whole_screen() {
    for focus in Pane::ALL {
        for size in [(80, 24), (120, 36), (200, 60)] {
            let mut m = at(size, &MOMENTS[1]);
            m.focus = focus;
            m.prepare();
            let name = format!("focus_{}_{}x{}", focus.name().to_lowercase(), size.0, size.1);
            insta::assert_snapshot!(name, styled(&draw(&m)));
        }
    }
}

#[test]
fn descriptors_that_are_not_plain_copies() {
    for (name, typed) in [("meta", ""), ("ambiguous", "<Down>"), ("reserved", "<Down><Down>")] {
        let mut m = model(odd(), "odd.dma", (160, 45));
        keys(&mut m, "G<Home>a");
        keys(&mut m, typed);
        insta::assert_snapshot!(
            format!("inspector_{name}"),
            styled(&pane(&m, Pane::Inspector, 110, 20))
        );
    }
}

#[test]
fn a_ring_without_its_other_direction_can_be_browsed() {
    let mut m = model(one_direction(), "odd.tx.bin", (160, 45));
    keys(&mut m, "<Down>s");
    insta::assert_snapshot!("one_direction_160x45", styled(&draw(&m)));
}

#[test]
fn small_screens_keep_what_matters() {
    for size in [(60, 20), (40, 10), (20, 5), (10, 3), (1, 1)] {
        let mut m = at(size, &MOMENTS[1]);
        m.theme = Theme::default();
        insta::assert_snapshot!(format!("small_{}x{}", size.0, size.1), text(&draw(&m)));
    }
}
