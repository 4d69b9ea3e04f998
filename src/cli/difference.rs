//! Two texts line by line: what went, what came, with a few lines around.

use crate::limits::MAX_DIFFERENCE_LINES;
use similar::{Algorithm, ChangeTag, TextDiff};
use std::time::Duration;

/// Equal lines that are shown around what changed.
const AROUND: usize = 3;
/// Time after which a difference need no longer be the smallest.
const PATIENCE: Duration = Duration::from_secs(2);

/// The lines that differ, each with its sign: `-` only in `old`, `+` only in `new`, ` ` in
/// both; `@` stands where lines are left out. Empty where the texts are the same.
pub fn lines(old: &[String], new: &[String]) -> Vec<(char, String)> {
    let (old, new): (Vec<&str>, Vec<&str>) =
        (old.iter().map(String::as_str).collect(), new.iter().map(String::as_str).collect());
    let diff =
        TextDiff::configure().algorithm(Algorithm::Myers).timeout(PATIENCE).diff_slices(&old, &new);
    let mut out = Vec::new();
    for (n, group) in diff.grouped_ops(AROUND).iter().enumerate() {
        let first = group.first().map_or(0, |op| op.new_range().start);
        if n > 0 || first > 0 {
            out.push(('@', format!("line {}", first + 1)));
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let sign = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            out.push((sign, change.value().to_owned()));
        }
    }
    let more = out.len().saturating_sub(MAX_DIFFERENCE_LINES);
    if more > 0 {
        out.truncate(MAX_DIFFERENCE_LINES);
        out.push(('@', format!("and {more} more lines")));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(old: &str, new: &str) -> String {
        let split = |t: &str| t.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let all = lines(&split(old), &split(new));
        all.iter().map(|(sign, text)| format!("{sign}{text}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_changed_is_shown_with_lines_around_it() {
        assert_eq!(of("a b", "a b"), "");
        assert_eq!(of("a b c", "a x c"), " a -b +x  c");
        assert_eq!(of("", "x"), "+x");
        assert_eq!(of("1 2 3 4 5", "1 2 3 4 5 6"), "@line 3  3  4  5 +6");
    }

    #[test]
    fn a_difference_is_cut_with_a_count() {
        let many: Vec<String> = (0..1000).map(|n| n.to_string()).collect();
        let shown = lines(&[], &many);
        assert_eq!(shown.len(), MAX_DIFFERENCE_LINES + 1);
        assert!(shown.last().is_some_and(|l| l.1 == "and 800 more lines"));
    }
}
