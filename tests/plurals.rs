//! One of a thing is written in the singular, wherever it is counted.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::path::{Path, PathBuf};

/// What this program counts, in the plural, so that each is the end of a message.
const NOUNS: &str = "bytes|slots|descriptors|events|lines|rows|hits|pairs|reads|polls|queues|batches|\
    files|errors|warnings|notes|tests|tasks|runs|words|instructions|blocks|elements|stages|findings|\
    bits|writes|commands|keys|columns|triggers|steps|partitions|edits|clones|transfers|copies|packets|\
    regions|loops|iterations|places|hints|races|marks|indices|entries|registers|locations|doorbells|\
    engines|operations|dimensions|sources|constants|reloads|breakpoints|answers|rounds|scales|sizes";

/// Whether a text begins with one of the nouns, as a word.
fn begins_with_noun(text: &str) -> bool {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    NOUNS.split('|').any(|n| n == &text[..end])
}

/// What stands in braces before a plural in a line.
fn counted(line: &str) -> Vec<&str> {
    let parts = line.split('{').skip(1).filter_map(|p| p.split_once("} "));
    let named =
        |p: &&str| p.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    parts.filter(|(p, after)| named(p) && begins_with_noun(after)).map(|p| p.0).collect()
}

fn files(dir: &Path, end: &str, out: &mut Vec<PathBuf>) {
    for e in std::fs::read_dir(dir).unwrap() {
        let path = e.unwrap().path();
        if path.is_dir() {
            files(&path, end, out);
        } else if path.to_str().unwrap().ends_with(end) {
            out.push(path);
        }
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// No message puts a number before a plural by itself: `udma::count_of` knows one from many. Bounds,
/// which are never 1, may.
#[test]
fn what_is_counted_goes_through_the_function_that_counts() {
    // A name or a direction, not a number; and bounds.
    let names =
        ["dir", "name", "id", "what", "verb", "line", "across", "most", "bound", "needed", "given"];
    let bounds = ["at most", "more than", "MAX_", "at least", "limit"];
    // Sentences in which the word is a verb, or where one has an arm or a condition of its own.
    let sentences = [
        "{} polls {what} for batch",
        "of packet {n} writes",
        "{more} lines more",
        "{count} descriptors, the completion pair included",
        "a packet of {packet} descriptors does not fit",
        "{count} descriptors of {dir} are acked, {outstanding}",
        "{done} of {n} batches",
    ];
    let mut all = Vec::new();
    files(&root().join("src"), ".rs", &mut all);
    assert!(all.len() > 200);
    let mut wrong = Vec::new();
    for path in all {
        let name = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
        if name.contains("tests") || name.contains("/generate/") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let own = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        for (n, line) in own.lines().enumerate() {
            if line.trim_start().starts_with("//") {
                continue;
            }
            for number in counted(line) {
                // Where one is another arm, what is left is more.
                let guarded = line.contains("=> format!") || line.trim_start().starts_with("n =>");
                let sentence = sentences.iter().any(|s| line.contains(s));
                if !sentence
                    && !names.contains(&number)
                    && !bounds.iter().any(|b| line.contains(b))
                    && !guarded
                {
                    wrong.push(format!("{name}:{}: {}", n + 1, line.trim()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} places:\n{}", wrong.len(), wrong.join("\n"));
}

/// And so nothing that is shown says `1 bytes`: the pictures of the screen, the pages, what the
/// tests of files and scenarios expect.
#[test]
fn nowhere_is_there_one_of_many() {
    let one = |line: &str| -> bool {
        let mut at = 0;
        while let Some(found) = line[at..].find("1 ") {
            let start = at + found;
            let alone = line[..start].chars().next_back().is_none_or(|c| " (:;,".contains(c));
            if alone && begins_with_noun(&line[start + 2..]) {
                return true;
            }
            at = start + 2;
        }
        false
    };
    let mut all = Vec::new();
    for (dir, end) in [("tests", ".snap"), ("docs", ".md"), ("tests", ".txt"), ("tests", ".dbg")] {
        files(&root().join(dir), end, &mut all);
    }
    for end in [".dma", ".hex", ".bir"] {
        files(&root().join("tests"), end, &mut all);
    }
    files(&root().join("sample-programs"), ".dma", &mut all);
    assert!(all.len() > 300);
    let mut wrong = Vec::new();
    for path in all {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        for (n, line) in text.lines().enumerate() {
            if one(line) {
                let name = path.strip_prefix(root()).unwrap().display();
                wrong.push(format!("{name}:{}: {line}", n + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "{} places:\n{}", wrong.len(), wrong.join("\n"));
}

/// What `count_of` says may be of one: no verb in the plural comes behind it.
#[test]
fn no_verb_is_in_the_plural_behind_what_is_counted() {
    let mut sources = Vec::new();
    files(&root().join("src"), ".rs", &mut sources);
    let mut all = Vec::new();
    for path in sources {
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        for (n, line) in lines.iter().enumerate() {
            let verb = ["{} are ", "{} were ", "{} have "].iter().any(|v| line.contains(v));
            // The arguments stand on the same line or on the few below.
            let near = lines[n..lines.len().min(n + 3)].join(" ");
            // A bound is never 1.
            let bound = line.contains("more than {}");
            if verb && !bound && near.contains("count_of(") {
                all.push(format!("{}:{}: {}", path.display(), n + 1, line.trim()));
            }
        }
    }
    assert!(all.is_empty(), "{all:#?}");
}
