//! The README's picture is the real screen. `DMADBG_BLESS=1` draws it anew.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use dmadbg::engine::session::Session;
use dmadbg::load::{self, LoadOptions};
use dmadbg::script::parse_command;
use dmadbg::ui::{Model, Theme, Title, view};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::ops::ControlFlow;
use std::path::Path;

const SAMPLE: &str = "sample-programs/copy-4k.dma";
const SIZE: (u16, u16) = (120, 36);

fn picture() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let loaded = load::open(&[root.join(SAMPLE)], &LoadOptions::default()).unwrap();
    let title = Title { file: SAMPLE.to_owned(), ..Title::default() };
    let session = Session::new(loaded.program.unwrap());
    let mut model = Model::new(session, title, Theme::default(), SIZE);
    let doorbell = parse_command("doorbell").unwrap().unwrap();
    model.run(&doorbell, &mut |_, _| ControlFlow::Continue(())).unwrap();
    model.prepare();
    let mut buffer = Buffer::empty(Rect::new(0, 0, SIZE.0, SIZE.1));
    view::draw(&model, &mut buffer);
    let line = |y| (0..SIZE.0).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    let lines: Vec<String> = (0..SIZE.1).map(|y| line(y).trim_end().to_owned()).collect();
    format!("```text\n{}\n```\n", lines.join("\n"))
}

#[test]
fn the_readmes_picture_is_the_real_screen() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let old = std::fs::read_to_string(&path).unwrap();
    let from = old.find("<!-- screen -->\n").unwrap() + "<!-- screen -->\n".len();
    let to = from + old[from..].find("<!-- end -->").unwrap();
    let new = format!("{}{}{}", &old[..from], picture(), &old[to..]);
    if std::env::var_os("DMADBG_BLESS").is_some() {
        std::fs::write(&path, &new).unwrap();
    } else {
        assert!(
            old == new,
            "the README's picture is out of date: DMADBG_BLESS=1 cargo test --test readme"
        );
    }
}
