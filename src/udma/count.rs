//! A number with its noun: `1 byte`, `2 bytes`.

use std::fmt::Display;

/// So many of something; the noun is given for one.
pub fn count_of(n: impl Display, noun: &str) -> String {
    let n = n.to_string();
    if n == "1" { format!("1 {noun}") } else { format!("{n} {}", plural(noun)) }
}

/// More than one of a noun, by its ending.
fn plural(noun: &str) -> String {
    let before = |end: &str| noun.strip_suffix(end);
    match noun {
        "index" => "indices".to_owned(),
        _ if ["ch", "sh", "s", "x"].iter().any(|e| noun.ends_with(e)) => format!("{noun}es"),
        _ => match before("y").filter(|b| !b.ends_with(['a', 'e', 'i', 'o', 'u'])) {
            Some(stem) => format!("{stem}ies"),
            None => format!("{noun}s"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular_and_everything_else_plural() {
        assert_eq!([count_of(1u64, "byte"), count_of(0u64, "byte")], ["1 byte", "0 bytes"]);
        assert_eq!([count_of(2u32, "batch"), count_of(1u32, "batch")], ["2 batches", "1 batch"]);
        assert_eq!([count_of(7usize, "copy"), count_of(2usize, "key")], ["7 copies", "2 keys"]);
        assert_eq!([count_of(3i64, "index"), count_of("1", "slot")], ["3 indices", "1 slot"]);
    }
}
