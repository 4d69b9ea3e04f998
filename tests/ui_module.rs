//! The screen of a module: its text after each stage, beside the rings that it became.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod ui_support;

use ui_support::*;

#[test]
fn look() {
    let Ok(name) = std::env::var("LOOK") else { return };
    let typed = std::env::var("TYPED").unwrap_or_default();
    for size in [(80, 24), (120, 36), (160, 45), (200, 60)] {
        let mut m = model(module(&name), &name, size);
        keys(&mut m, &typed);
        println!("=== {size:?}\n{}", text(&draw(&m)));
    }
}
