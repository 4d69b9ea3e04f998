//! The documentation as a book: every page is in it, every reference leads somewhere, every
//! command that it shows is run, and every decision of the model is on its list.
//! `docs/contributing.md`, "Pages", says what a block of a page may be.
//!
//! `DMADBG_BLESS=1` writes what the commands print, and the list.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod book_support;

use book_support::{Block, blocks, fixtures, inline, pages, prose, root, spans};
use dmadbg::engine::program::Blob;
use dmadbg::learn::bundled::Sample;
use dmadbg::load::{LoadOptions, load_bytes};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn bless() -> bool {
    std::env::var_os("DMADBG_BLESS").is_some()
}

fn headings(page: &str) -> Vec<String> {
    let text = |l: &str| Some(l.trim_start_matches('#').strip_prefix(' ')?.trim().to_owned());
    prose(page).into_iter().filter(|l| l.starts_with('#')).filter_map(text).collect()
}

/// The id of a heading, as mdBook and the usual hosts make it; equal ones are numbered.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let id = |heading: &str| -> String {
        let keep = |c: char| c.is_alphanumeric() || c == '-' || c == '_' || c.is_whitespace();
        let kept = heading.chars().filter(|c| keep(*c)).flat_map(char::to_lowercase);
        kept.map(|c| if c.is_whitespace() { '-' } else { c }).collect()
    };
    let mut number = |id: String| {
        let n = seen.entry(id.clone()).or_default();
        *n += 1;
        if *n == 1 { id } else { format!("{id}-{}", *n - 1) }
    };
    headings(page).iter().map(|h| number(id(h))).collect()
}

/// Targets of `[text](target)` in a page, with the line.
fn links(page: &str) -> Vec<(usize, String)> {
    let mut out = Vec::new();
    for (n, line) in prose(page).into_iter().enumerate() {
        // What stands in backticks is no link.
        let plain: String = line.split('`').step_by(2).collect::<Vec<_>>().join("``");
        for part in plain.split("](").skip(1) {
            out.push((n + 1, part.split(')').next().unwrap().to_owned()));
        }
    }
    out
}

#[test]
fn every_link_and_anchor_leads_somewhere() {
    let pages = pages();
    let mut wrong = Vec::new();
    let mut seen = 0;
    for (path, text) in &pages {
        let folder = if path.starts_with("docs/") { "docs/" } else { "" };
        for (line, link) in links(text) {
            if link.starts_with("https://") {
                continue;
            }
            seen += 1;
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let file = if file.is_empty() { path.clone() } else { format!("{folder}{file}") };
            let target = pages.get(&file);
            let there = target.is_some() || root().join(&file).exists();
            // The book has only what lies in docs/.
            let inside = folder.is_empty() || !link.contains("..");
            let found = anchor.is_empty() || target.is_some_and(|t| anchors(t).contains(anchor));
            if !(there && inside && found) {
                wrong.push(format!("{path}:{line}: {link}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 60, "only {seen} links: does the test still look right?");
}

/// `page.md` in backticks, and the headings that stand in quotes behind it.
#[test]
fn every_page_and_heading_that_is_mentioned_is_there() {
    let pages = pages();
    let mut wrong = Vec::new();
    let mut seen = 0;
    for (path, text) in &pages {
        let text = prose(text).join(" ");
        let parts: Vec<&str> = text.split('`').collect();
        for (span, after) in parts.iter().skip(1).step_by(2).zip(parts.iter().skip(2).step_by(2)) {
            let name = span.strip_prefix("docs/").unwrap_or(span);
            let plain = |c: char| c.is_ascii_lowercase() || c == '-';
            if !name.strip_suffix(".md").is_some_and(|n| !n.is_empty() && n.chars().all(plain)) {
                continue;
            }
            let Some(target) = pages.get(&format!("docs/{name}")) else {
                wrong.push(format!("{path}: no page {name}"));
                continue;
            };
            seen += 1;
            let quoted = after.strip_prefix(", \"").and_then(|a| a.split('"').next());
            if let Some(heading) =
                quoted.map(|q| q.split_whitespace().collect::<Vec<_>>().join(" "))
            {
                let plain = |h: &str| h.replace('`', "");
                // A term in bold letters begins a paragraph of its own.
                let bold = target.contains(&format!("**{heading}**"));
                if !bold && !headings(target).iter().any(|h| plain(h) == heading) {
                    wrong.push(format!("{path}: {name} has no heading {heading}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 40, "only {seen} pages are mentioned");
}

#[test]
fn the_book_has_every_page_once_and_every_page_a_title() {
    let pages = pages();
    let listed: Vec<String> =
        links(&pages["docs/SUMMARY.md"]).into_iter().map(|l| format!("docs/{}", l.1)).collect();
    let once: BTreeSet<&String> = listed.iter().collect();
    assert_eq!(once.len(), listed.len(), "a page is listed twice");
    let there: BTreeSet<&String> =
        pages.keys().filter(|p| *p != "docs/SUMMARY.md" && *p != "README.md").collect();
    assert_eq!(once, there);
    for (path, text) in &pages {
        assert!(text.starts_with("# "), "{path} begins with its title");
        let titles = prose(text).into_iter().filter(|l| l.starts_with("# ")).count();
        // The list of the book has a title for each part.
        assert!(titles == 1 || path.ends_with("SUMMARY.md"), "{path} has {titles} titles");
    }
}

/// A command of a console block and what it is shown to print, the lines by their place in the
/// block.
struct Asked {
    command: String,
    prints: std::ops::Range<usize>,
}

fn asked(block: &Block) -> Vec<Asked> {
    let mut out: Vec<Asked> = Vec::new();
    for (i, line) in block.lines.iter().enumerate() {
        match (line.strip_prefix("$ "), out.last_mut()) {
            (Some(command), _) => {
                out.push(Asked { command: command.to_owned(), prints: i + 1..i + 1 });
            }
            (None, Some(last)) => last.prints.end = i + 1,
            (None, None) => panic!("a console block begins with a command: {line}"),
        }
    }
    out
}

/// Whether lines are what is shown. `..` alone stands for any lines, and at the end of a line for
/// the rest of it.
fn shows(shown: &[String], real: &[&str]) -> bool {
    match shown.split_first() {
        None => real.is_empty(),
        Some((first, rest)) if first.trim() == ".." => {
            (0..=real.len()).any(|skip| shows(rest, &real[skip..]))
        }
        Some((first, rest)) => real.split_first().is_some_and(|(r, more)| {
            let cut = first.strip_suffix(" ..").is_some_and(|f| r.starts_with(f));
            (first == r || cut) && shows(rest, more)
        }),
    }
}

/// Runs the console blocks of a page in a folder of its own, which has the samples in
/// `sample-programs/`; answers the page as it should be.
fn play(path: &str, page: &str) -> Result<String, String> {
    let all = blocks(page);
    let consoles: Vec<&Block> = all.iter().filter(|b| b.says == "console").collect();
    if consoles.is_empty() {
        return Ok(page.to_owned());
    }
    let dir = tempfile::tempdir().unwrap();
    for s in Sample::all() {
        let file = dir.path().join("sample-programs").join(s.name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, s.text).unwrap();
    }
    let mut lines: Vec<String> = page.lines().map(str::to_owned).collect();
    let mut status = 0;
    let mut changes = Vec::new();
    for block in consoles {
        let commands = asked(block);
        for (i, a) in commands.iter().enumerate() {
            let shown = &block.lines[a.prints.clone()];
            // `cat` of a file that is not there yet shows what is in it.
            if let Some(name) = a.command.strip_prefix("cat ").filter(|n| !n.contains([' ', '/'])) {
                let file = dir.path().join(name);
                if !file.exists() {
                    std::fs::write(file, shown.join("\n") + "\n").unwrap();
                    continue;
                }
            }
            let (out, ended) = shell(dir.path(), &a.command, status);
            status = ended;
            let next = commands.get(i + 1).map(|n| n.command.as_str());
            if status != 0 && next != Some("echo $?") {
                return Err(format!("{path}: `{}` ends with {status}:\n{out}", a.command));
            }
            let real: Vec<&str> = out.lines().collect();
            if !shows(shown, &real) {
                if !bless() {
                    let shown = shown.join("\n");
                    return Err(format!(
                        "{path}: `{}` prints\n{out}\nand not\n{shown}\n\
                         DMADBG_BLESS=1 cargo test --test book",
                        a.command
                    ));
                }
                let from = block.at + 1;
                let real = real.into_iter().map(str::to_owned).collect::<Vec<_>>();
                changes.push((from + a.prints.start..from + a.prints.end, real));
            }
        }
    }
    for (range, real) in changes.into_iter().rev() {
        lines.splice(range, real);
    }
    Ok(lines.join("\n") + "\n")
}

/// What a command prints on both streams, and its exit status; `$?` is `before`.
fn shell(dir: &Path, command: &str, before: i32) -> (String, i32) {
    let bin = Path::new(env!("CARGO_BIN_EXE_dmadbg")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let done = Command::new("sh")
        .args(["-c", &format!("exec 2>&1; (exit {before}); {command}")])
        .current_dir(dir)
        .env("PATH", format!("{}:{path}", bin.display()))
        .env("HOME", dir.join("home"))
        .env("LC_ALL", "C.UTF-8")
        .env_remove("XDG_CONFIG_HOME")
        .env_remove("XDG_STATE_HOME")
        .env_remove("NO_COLOR")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    (String::from_utf8_lossy(&done.stdout).into_owned(), done.status.code().unwrap_or(-1))
}

#[test]
fn every_command_of_a_console_block_prints_what_is_shown() {
    let pages = pages();
    let results: Vec<(&String, Result<String, String>)> = std::thread::scope(|scope| {
        let tasks: Vec<_> =
            pages.iter().map(|(path, text)| (path, scope.spawn(|| play(path, text)))).collect();
        tasks.into_iter().map(|(path, task)| (path, task.join().unwrap())).collect()
    });
    let mut wrong = Vec::new();
    for (path, result) in results {
        match result {
            Ok(page) if bless() && page != pages[path] => {
                std::fs::write(root().join(path), page).unwrap();
            }
            Ok(_) => {}
            Err(e) => wrong.push(e),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    let all = pages.values().flat_map(|p| blocks(p)).filter(|b| b.says == "console");
    assert!(all.flat_map(|b| asked(&b)).count() > 20);
}

#[test]
fn what_is_shown_may_leave_lines_and_ends_of_lines_out() {
    let shown = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    for (text, real, yes) in [
        ("a\nb", "a\nb", true),
        ("a\n..", "a\nb\nc", true),
        ("a\n..\nc", "a\nc", true),
        ("a\n..\nd", "a\nb\nc", false),
        ("a ..", "a long line", true),
        ("a ..", "b long line", false),
        ("a ..", "a ..", true),
        ("a", "a\nb", false),
        ("", "a", false),
    ] {
        assert_eq!(shows(&shown(text), &real.lines().collect::<Vec<_>>()), yes, "{text} {real}");
    }
}

/// Each block says what it is, and is what it says.
#[test]
fn every_block_is_of_a_kind_that_is_tested_or_is_plain_text() {
    let mut wrong = Vec::new();
    for (path, text) in pages() {
        for b in blocks(&text) {
            let lines = b.lines.join("\n");
            let told = match b.says.as_str() {
                // Run above; the settings, lessons and outputs that others show have their tests.
                "console" | "text" | "toml" | "json" => Ok(()),
                // Opens the screen: run by tests/book_screen.rs and, of the README, by .ci/readme.
                "sh" => Ok(()),
                // The example of the library is a file that is compiled.
                "rust" => match std::fs::read_to_string(root().join("examples/assert_ring.rs")) {
                    Ok(file) if file.contains(lines.trim()) => Ok(()),
                    _ => Err("it is no part of examples/assert_ring.rs".to_owned()),
                },
                "dma" | "bir" => {
                    let name = format!("block.{}", b.says);
                    let blob = Blob::from_vec(lines.into_bytes());
                    let loaded = load_bytes(&name, blob, &LoadOptions::default());
                    loaded.map(|_| ()).map_err(|r| format!("{r:?}"))
                }
                "dbg" => {
                    let parsed = dmadbg::script::runner::parse("block.dbg", &lines, &mut |_, f| {
                        Ok(dmadbg::script::runner::Source { name: f.into(), text: String::new() })
                    });
                    parsed.map(|_| ()).map_err(|r| format!("{r:?}"))
                }
                // tests/causes.rs plays them.
                says if says.starts_with("dbg ") && path == "docs/causes.md" => Ok(()),
                says => Err(format!("no kind of block: `{says}`")),
            };
            if let Err(why) = told {
                wrong.push(format!("{path}:{}: {why}", b.at + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_command_in_a_sentence_is_one_that_the_command_line_takes() {
    let (all, wrong) = inline();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(all.len() > 60, "only {}", all.len());
}

/// Those that open the screen are run by tests/book_screen.rs. The page of codes is about what is
/// refused.
#[test]
fn every_command_in_a_sentence_runs() {
    let (all, _) = inline();
    let run = |c: &&book_support::Inline| {
        let dir = tempfile::tempdir().unwrap();
        fixtures(dir.path());
        let watches = c.args[0] == "watch";
        let mut command =
            Command::new(if watches { "timeout" } else { env!("CARGO_BIN_EXE_dmadbg") });
        if watches {
            command.args(["1", env!("CARGO_BIN_EXE_dmadbg")]);
        }
        let input = std::fs::File::open(dir.path().join("ring.hex")).unwrap();
        let done = command
            .args(&c.args)
            .current_dir(dir.path())
            .env("HOME", dir.path())
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("XDG_STATE_HOME")
            .stdin(input)
            .output()
            .unwrap();
        let status = done.status.code().unwrap_or(-1);
        let fine = [0, 1].contains(&status) || (watches && status == 124);
        let told = String::from_utf8_lossy(&done.stderr).into_owned();
        (!fine).then(|| format!("{}: `{}` ({:?}): {status}: {told}", c.at, c.span, c.args))
    };
    let mut seen = BTreeSet::new();
    let todo: Vec<_> = all
        .iter()
        .filter(|c| !c.screen && !c.at.starts_with("docs/codes.md") && seen.insert(c.args.clone()))
        .collect();
    assert!(todo.len() > 30, "only {}", todo.len());
    let half = todo.len().div_ceil(4);
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let part = |part: &[&book_support::Inline]| part.iter().filter_map(run).collect::<Vec<_>>();
        let tasks: Vec<_> = todo.chunks(half).map(|c| scope.spawn(move || part(c))).collect();
        tasks.into_iter().flat_map(|t| t.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A verb without a row on the page of the command line is no verb that anybody finds.
#[test]
fn every_verb_is_on_the_page_of_the_command_line() {
    use clap::CommandFactory;
    let page = &pages()["docs/cli.md"];
    for sub in dmadbg::cli::Cli::command().get_subcommands() {
        let name = sub.get_name();
        let row = page.lines().filter(|l| l.starts_with("| `"));
        let told = row.map(|l| l.split(" | ").next().unwrap());
        assert!(
            told.flat_map(spans).any(|s| s.split(' ').next() == Some(name)),
            "docs/cli.md has no row for {name}"
        );
    }
}

/// Marks of decisions in the comments of the source: the file, what is said.
fn marks() -> Vec<(String, String)> {
    fn walk(dir: &Path, out: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => walk(&path, out),
                false => out.push(path),
            }
        }
    }
    let mut files = Vec::new();
    walk(&root().join("src"), &mut files);
    files.sort();
    let mut out = Vec::new();
    for file in files {
        let name = file.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
        if name.ends_with("tests.rs") || name.contains("/tests/") {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]\n#[allow").next().unwrap();
        let mut lines = code.lines().peekable();
        while let Some(line) = lines.next() {
            let Some(first) = comment(line) else { continue };
            let mut paragraph = first.to_owned();
            while let Some(more) = lines.peek().copied().and_then(comment) {
                if more.is_empty() {
                    break;
                }
                let _ = write!(paragraph, " {more}");
                lines.next();
            }
            if paragraph.contains("MODEL") {
                out.extend(sentences(&paragraph).map(|s| (name.clone(), s)));
            }
        }
    }
    out
}

/// The text of a line that is a comment.
fn comment(line: &str) -> Option<&str> {
    let text = line.trim_start().strip_prefix("//")?;
    Some(text.trim_start_matches(['/', '!']).trim())
}

/// Sentences of a paragraph that have the mark, with the one before where the mark begins one.
fn sentences(paragraph: &str) -> impl Iterator<Item = String> {
    let mut all: Vec<String> = Vec::new();
    let mut rest = paragraph;
    while !rest.is_empty() {
        let at = rest.find(". ").map_or(rest.len(), |i| i + 2);
        let (sentence, more) = rest.split_at(at);
        all.push(sentence.trim().to_owned());
        rest = more;
    }
    let mut out = Vec::new();
    for (i, s) in all.iter().enumerate().filter(|(_, s)| s.contains("MODEL")) {
        // What speaks of the list is no decision.
        if s.contains("docs/decisions.md") {
            continue;
        }
        let alone = s.starts_with("MODEL") || s.starts_with("All of it");
        match i.checked_sub(1).filter(|_| alone) {
            Some(before) => out.push(format!("{} {s}", all[before])),
            None => out.push(s.clone()),
        }
    }
    out.into_iter()
}

/// A guide that names tests which are not there leads nowhere.
#[test]
fn every_test_that_the_guide_names_is_there() {
    fn walk(dir: &Path, out: &mut String) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            match path.extension() {
                _ if path.is_dir() => walk(&path, out),
                Some(e) if e == "rs" => out.push_str(&std::fs::read_to_string(&path).unwrap()),
                _ => {}
            }
        }
    }
    let mut code = String::new();
    walk(&root().join("src"), &mut code);
    walk(&root().join("tests"), &mut code);
    let page = &pages()["docs/contributing.md"];
    let mut seen = 0;
    for span in prose(page).into_iter().flat_map(spans) {
        let path = span.starts_with("src/") || span.starts_with("tests/");
        if path && !span.ends_with('*') {
            assert!(root().join(span).exists(), "there is no {span}");
        }
        let name = |c: char| c.is_ascii_lowercase() || c == '_';
        if span.matches('_').count() >= 2 && span.chars().all(name) {
            seen += 1;
            assert!(code.contains(&format!("fn {span}(")), "there is no test {span}");
        }
    }
    assert!(seen > 30, "{seen}");
}

/// All decisions, as a table of the page.
fn decisions() -> String {
    let mut out = String::from("| where | what is decided |\n|---|---|\n");
    for (file, text) in marks() {
        let text = text.replace("[`", "`").replace("`]", "`").replace('|', "\\|");
        let _ = writeln!(out, "| `{file}` | {text} |");
    }
    out
}

#[test]
fn every_decision_of_the_source_is_on_the_list() {
    let all = marks();
    assert!(all.len() > 60, "{}", all.len());
    let path = root().join("docs/decisions.md");
    let old = std::fs::read_to_string(&path).unwrap();
    let open = "<!-- generated: decisions -->\n";
    let from = old.find(open).unwrap() + open.len();
    let to = from + old[from..].find("<!-- end -->").unwrap();
    let new = format!("{}{}{}", &old[..from], decisions(), &old[to..]);
    if bless() {
        std::fs::write(path, new).unwrap();
    } else {
        assert!(
            old == new,
            "docs/decisions.md is out of date: DMADBG_BLESS=1 cargo test --test book"
        );
    }
}
