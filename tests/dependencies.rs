//! What the program is made of beside itself: licences, where it comes from, and advisories that
//! were looked up (`deny.toml`, `docs/hostile.md`).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use serde_json::Value;
use std::process::Command;

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Advisories about crates of this tree, and the first versions of each release line that they
/// do not concern. Two crates that nobody maintains any more stand in `deny.toml`.
const PATCHED: &[(&str, &str, &[[u64; 3]])] = &[
    ("linked-hash-map", "RUSTSEC-2020-0026", &[[0, 5, 3]]),
    ("lru", "RUSTSEC-2026-0253", &[[0, 18, 2]]),
    ("memmap2", "RUSTSEC-2026-0186", &[[0, 9, 11]]),
    ("protobuf", "RUSTSEC-2024-0437", &[[3, 7, 2]]),
    ("rand", "RUSTSEC-2026-0097", &[[0, 8, 6], [0, 9, 3], [0, 10, 1]]),
    ("smallvec", "RUSTSEC-2021-0003", &[[1, 6, 1]]),
    ("time", "RUSTSEC-2026-0009", &[[0, 3, 47]]),
    ("yaml-rust", "RUSTSEC-2018-0006", &[[0, 4, 1]]),
];

/// The words in quotes of a list in `deny.toml`.
fn listed(key: &str) -> Vec<String> {
    let path = format!("{}/deny.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let list = text.split_once(&format!("\n{key} = [\n")).unwrap().1.split_once("\n]").unwrap().0;
    let code = list.lines().map(|l| l.split('#').next().unwrap().trim());
    let words = code.filter(|l| !l.is_empty());
    words.map(|l| l.trim_end_matches(',').trim_matches('"').to_owned()).collect()
}

/// Name, version, licence and source of everything in the tree on this platform, with all
/// features and for the tests too.
fn packages() -> Vec<(String, [u64; 3], String, Option<String>)> {
    let version = Command::new("rustc").arg("-vV").output().unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    let host = version.lines().find_map(|l| l.strip_prefix("host: ")).unwrap();
    let out = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--offline", "--all-features"])
        .args(["--filter-platform", host])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let all: Value = serde_json::from_slice(&out.stdout).unwrap();
    let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    let number = |v: &Value| {
        let version = text(v);
        let plain = version.split(['-', '+']).next().unwrap();
        let mut parts = plain.split('.').map(|n| n.parse().unwrap());
        [parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap()]
    };
    let package = |p: &Value| {
        let source = p["source"].as_str().map(str::to_owned);
        (text(&p["name"]), number(&p["version"]), text(&p["license"]), source)
    };
    all["packages"].as_array().unwrap().iter().map(package).collect()
}

/// Whether a licence, as a crate writes it, can be met by what is allowed: `OR`, an old `/`,
/// `AND` that binds tighter, and brackets.
fn met(licence: &str, allowed: &[&str]) -> bool {
    fn either(words: &mut &[&str], allowed: &[&str]) -> bool {
        let mut good = both(words, allowed);
        while words.first() == Some(&"OR") {
            *words = &words[1..];
            good |= both(words, allowed);
        }
        good
    }
    fn both(words: &mut &[&str], allowed: &[&str]) -> bool {
        let mut good = one(words, allowed);
        while words.first() == Some(&"AND") {
            *words = &words[1..];
            good &= one(words, allowed);
        }
        good
    }
    fn one(words: &mut &[&str], allowed: &[&str]) -> bool {
        let (first, rest) = words.split_first().expect("a licence");
        *words = rest;
        if *first == "(" {
            let good = either(words, allowed);
            assert_eq!(words.first(), Some(&")"));
            *words = &words[1..];
            return good;
        }
        let mut name = first.trim_end_matches('+').to_owned();
        if let [with @ "WITH", exception, rest @ ..] = *words {
            name = format!("{name} {with} {exception}");
            *words = rest;
        }
        allowed.contains(&name.as_str())
    }
    let spaced = licence.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = &words[..];
    let good = either(&mut rest, allowed);
    assert!(rest.is_empty(), "`{licence}` is not understood");
    good
}

#[test]
fn licences_are_read_as_they_are_meant() {
    let allowed = ["MIT", "Zlib", "Apache-2.0 WITH LLVM-exception"];
    for good in [
        "MIT",
        "GPL-3.0 OR MIT",
        "MIT/GPL-3.0",
        "(GPL-3.0 OR MIT) AND Zlib",
        "Apache-2.0 WITH LLVM-exception OR GPL-3.0",
        "MIT+",
        "GPL-3.0 AND X OR MIT",
    ] {
        assert!(met(good, &allowed), "{good}");
    }
    for bad in
        ["GPL-3.0", "MIT AND GPL-3.0", "Apache-2.0", "(MIT OR X) AND GPL-3.0", "Apache-2.0 WITH X"]
    {
        assert!(!met(bad, &allowed), "{bad}");
    }
}

#[test]
fn every_dependency_has_an_allowed_licence_and_comes_from_the_registry() {
    let allowed = listed("allow");
    let allowed: Vec<&str> = allowed.iter().map(String::as_str).collect();
    let all = packages();
    assert!(all.len() > 100, "{} packages: does the test still look right?", all.len());
    for (name, version, licence, source) in &all {
        let own = name == "dmadbg";
        assert!(met(licence, &allowed), "{name} {version:?}: {licence}");
        assert_eq!(source.as_deref(), (!own).then_some(REGISTRY), "{name}");
    }
    for licence in allowed {
        let used = all.iter().any(|(_, _, l, _)| l.contains(licence));
        assert!(used, "no dependency has the licence {licence} any more");
    }
}

#[test]
fn no_dependency_has_a_version_that_an_advisory_is_about() {
    let all = packages();
    for (name, id, patched) in PATCHED {
        let of: Vec<[u64; 3]> = all.iter().filter(|p| p.0 == *name).map(|p| p.1).collect();
        assert!(!of.is_empty(), "{name} is no dependency any more");
        for v in of {
            // The same release line, or one after all of them.
            let line = |p: &&[u64; 3]| p[0] == v[0] && (p[0] > 0 || p[1] == v[1]);
            let good = match patched.iter().find(line) {
                Some(p) => v >= *p,
                None => patched.iter().all(|p| v > *p),
            };
            assert!(good, "{id} is about {name} {v:?}; from {patched:?} on it is not");
        }
    }
    // Those that are accepted are still there.
    let text = std::fs::read_to_string("deny.toml").unwrap();
    for id in listed("ignore") {
        let line = text.lines().find(|l| l.contains(&id)).unwrap();
        let name = line.split("# ").nth(1).unwrap();
        assert!(all.iter().any(|p| p.0 == name), "{name} of {id} is no dependency any more");
    }
}
