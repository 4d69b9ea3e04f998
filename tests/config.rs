//! The configuration file, by the real binary.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::path::Path;
use std::process::{Command, Output};

fn config(home: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dmadbg"))
        .env("XDG_CONFIG_HOME", home)
        .arg("config")
        .args(args)
        .output()
        .unwrap()
}

fn written(home: &Path, text: &str) {
    std::fs::create_dir_all(home.join("dmadbg")).unwrap();
    std::fs::write(home.join("dmadbg/config.toml"), text).unwrap();
}

#[test]
fn what_is_printed_can_be_read_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let defaults = config(dir.path(), &[]);
    assert!(defaults.status.success());
    let text = String::from_utf8(defaults.stdout).unwrap();
    assert!(text.starts_with("# ") && text.contains("it is not there"), "{text}");
    written(dir.path(), &text.replace("theme = \"auto\"", "theme = \"contrast\""));
    let mine = String::from_utf8(config(dir.path(), &[]).stdout).unwrap();
    assert!(mine.contains("theme = \"contrast\"") && !mine.contains("it is not there"), "{mine}");
}

#[test]
fn everything_wrong_is_told_with_its_place_and_nothing_is_opened() {
    let dir = tempfile::tempdir().unwrap();
    written(dir.path(), "thme = \"dark\"\n[keys]\nx = \"stpe\"\n");
    for args in [&["config"][..], &["sample-programs/copy-4k.dma"]] {
        let out = Command::new(env!("CARGO_BIN_EXE_dmadbg"))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .env("XDG_CONFIG_HOME", dir.path())
            .args(args)
            .output()
            .unwrap();
        let told = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(2), "{args:?} {told}");
        if args[0] == "config" {
            assert!(
                told.contains("config.toml:1:1") && told.contains("did you mean `theme`"),
                "{told}"
            );
            assert!(
                told.contains("config.toml:3:6") && told.contains("did you mean `step`"),
                "{told}"
            );
        }
    }
}

#[test]
fn a_file_that_cannot_be_read_is_told_of() {
    let dir = tempfile::tempdir().unwrap();
    let bad = dir.path().join("bad.toml");
    std::fs::write(&bad, b"theme = \"\xff\"\n").unwrap();
    for file in [bad.to_str().unwrap(), "/nowhere/at/all.toml", dir.path().to_str().unwrap()] {
        let out = config(dir.path(), &[file]);
        assert_eq!(out.status.code(), Some(2), "{file}");
        assert!(String::from_utf8(out.stderr).unwrap().contains("S029"), "{file}");
    }
}
