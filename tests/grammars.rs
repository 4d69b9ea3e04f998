//! The grammars: Sublime's own syntax tests, the tables of the program, and that a line can be
//! highlighted by itself.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use dmadbg::engine::command::COMMANDS;
use dmadbg::load::{asm, ops};
use std::fs;
use std::path::{Path, PathBuf};
use syntect::parsing::{
    ParseState, Scope, ScopeStack, SyntaxDefinition, SyntaxSet, SyntaxSetBuilder,
};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

const NAMES: [&str; 3] = ["bir", "dma", "dbg"];

fn grammars() -> SyntaxSet {
    let mut b = SyntaxSetBuilder::new();
    for name in NAMES {
        let text =
            fs::read_to_string(root().join(format!("grammars/{name}.sublime-syntax"))).unwrap();
        b.add(SyntaxDefinition::load_from_str(&text, true, None).unwrap());
    }
    b.build()
}

/// The scopes at each byte of each line; state is carried on where `carried`.
fn scopes(set: &SyntaxSet, ext: &str, lines: &[&str], carried: bool) -> Vec<Vec<Vec<Scope>>> {
    let syntax = set.find_syntax_by_extension(ext).unwrap();
    let mut state = ParseState::new(syntax);
    let mut stack = ScopeStack::new();
    let mut out = Vec::new();
    for line in lines {
        if !carried {
            state = ParseState::new(syntax);
            stack = ScopeStack::new();
        }
        let text = format!("{line}\n");
        let ops = state.parse_line(&text, set).unwrap();
        let mut here = Vec::new();
        let mut at = 0;
        for (upto, op) in ops {
            here.resize(upto.max(at), stack.scopes.clone());
            at = upto.max(at);
            stack.apply(&op).unwrap();
        }
        here.resize(text.len(), stack.scopes.clone());
        out.push(here);
    }
    out
}

fn has(stack: &[Scope], selector: &str) -> bool {
    let wanted = Scope::new(selector).unwrap();
    stack.iter().any(|s| wanted.is_prefix_of(*s))
}

/// Runs a file in the form of Sublime's syntax tests: how many places were compared.
fn syntax_test(set: &SyntaxSet, path: &Path) -> usize {
    let text = fs::read_to_string(path).unwrap();
    let ext = path.extension().unwrap().to_str().unwrap();
    let sign = text.chars().next().unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains(&format!("SYNTAX TEST \"{ext}.sublime-syntax\"")), "{path:?}");
    let is_assertion = |l: &str| {
        let rest = l.strip_prefix(sign).map(str::trim_start);
        rest.is_some_and(|r| r.starts_with('^') || r.starts_with("<-"))
    };
    let code: Vec<&str> = lines.iter().copied().filter(|l| !is_assertion(l)).collect();
    let all = scopes(set, ext, &code, true);
    let (mut row, mut n) = (0, 0);
    for (number, line) in (1..).zip(&lines) {
        if !is_assertion(line) {
            row += 1;
            continue;
        }
        let here: &Vec<Vec<Scope>> = &all[row - 1];
        let (from, to, selector) = match line.find("<-").filter(|_| !line.contains('^')) {
            Some(at) => (0, 1, &line[at + 2..]),
            None => {
                let from = line.find('^').unwrap();
                let to = line.rfind('^').unwrap() + 1;
                (from, to, &line[to..])
            }
        };
        for (column, stack) in here.iter().enumerate().take(to).skip(from) {
            let shown: Vec<String> = stack.iter().map(ToString::to_string).collect();
            assert!(
                has(stack, selector.trim()),
                "{}:{number}: column {}: {} where {} is expected\n{}",
                path.display(),
                column + 1,
                shown.join(" "),
                selector.trim(),
                code[row - 1],
            );
            n += 1;
        }
        assert!(to <= here.len(), "{}:{number}: the line ends before", path.display());
    }
    n
}

#[test]
fn the_syntax_tests_hold() {
    let set = grammars();
    for name in NAMES {
        let path = root().join(format!("grammars/tests/syntax_test_{name}.{name}"));
        assert!(syntax_test(&set, &path) > 50, "{name}");
    }
}

#[test]
fn a_syntax_test_can_fail() {
    let set = grammars();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("syntax_test_dma.dma");
    fs::write(&path, "; SYNTAX TEST \"dma.sublime-syntax\"\narch v3\n;    ^^ comment.line\n")
        .unwrap();
    let wrong = std::panic::catch_unwind(|| syntax_test(&set, &path));
    assert!(wrong.is_err());
}

/// The scopes of the first word of a line.
fn first(set: &SyntaxSet, ext: &str, line: &str) -> Vec<Scope> {
    scopes(set, ext, &[line], false)[0][0].clone()
}

#[test]
fn every_word_of_the_tables_is_known_to_its_grammar() {
    let set = grammars();
    for c in COMMANDS {
        for name in std::iter::once(&c.name).chain(c.aliases) {
            assert!(
                has(&first(&set, "dbg", &format!("{name} 1")), "keyword.control.verb"),
                "{name}"
            );
        }
    }
    for name in ops::VERBS {
        assert!(
            has(&first(&set, "dma", &format!("{name} e0.q0")), "support.function.call"),
            "{name}"
        );
    }
    for name in asm::DECLARATIONS {
        assert!(has(&first(&set, "dma", &format!("{name} x")), "keyword"), "{name}");
    }
    for name in asm::data::ITEMS {
        assert!(has(&first(&set, "dma", &format!("{name} 1")), "keyword.other"), "{name}");
    }
    use dmadbg::bir::{Dtype, Engine, Opcode};
    for d in Dtype::ALL {
        let line = format!("x : {}", d.name());
        assert!(has(&scopes(&set, "bir", &[&line], false)[0][4], "storage.type.dtype"), "{line}");
    }
    for e in Engine::ALL {
        let line = format!("%I-1 = NoOp {}", e.name());
        assert!(
            has(&scopes(&set, "bir", &[&line], false)[0][12], "variable.language.engine"),
            "{line}"
        );
    }
    for number in 0..256 {
        let Some(op) = Opcode::by_number(number) else { continue };
        let line = format!("%I-1 = {} Pool", op.name());
        let here = &scopes(&set, "bir", &[&line], false)[0][7];
        assert!(
            has(here, "support.function.opcode") || has(here, "keyword.control.flow"),
            "{line}"
        );
    }
}

#[test]
fn a_line_is_the_same_alone_as_in_its_file() {
    let set = grammars();
    let mut seen = 0;
    let mut dirs = vec![root().join("sample-programs"), root().join("grammars/tests")];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
                continue;
            }
            let ext = path.extension().unwrap().to_str().unwrap().to_owned();
            let Ok(text) = fs::read_to_string(&path) else { continue };
            let lines: Vec<&str> = text.lines().collect();
            let (alone, carried) =
                (scopes(&set, &ext, &lines, false), scopes(&set, &ext, &lines, true));
            for (n, line) in lines.iter().enumerate() {
                assert_eq!(alone[n], carried[n], "{}:{}: {line}", path.display(), n + 1);
                // Nothing of a sample is invalid.
                let tests = path.ends_with("syntax_test_dma.dma")
                    || path.starts_with(root().join("grammars"));
                let invalid = alone[n].iter().any(|s| has(s, "invalid"));
                assert!(tests || !invalid, "{}:{}: {line}", path.display(), n + 1);
                seen += 1;
            }
        }
    }
    assert!(seen > 300);
}

#[test]
fn hostile_lines_end() {
    let set = grammars();
    for ext in NAMES {
        for line in
            ["\"".repeat(5000), "{".repeat(5000), "a=".repeat(3000), "é\u{0}\u{7f}%$".repeat(999)]
        {
            assert_eq!(scopes(&set, ext, &[&line], false).len(), 1);
        }
    }
}
