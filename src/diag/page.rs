//! The generated part of `docs/codes.md`, from the table of codes.

use super::codes::CODES;
use std::fmt::Write as _;

/// What each family of codes is about, by its first letter.
const FAMILIES: &[(char, &str)] =
    &[('D', "Image and descriptor"), ('R', "Ring and run"), ('S', "Script and command line")];

/// Every code in full, by family.
pub fn markdown() -> String {
    let mut out = String::new();
    let mut family = None;
    for c in CODES {
        let letter = c.code.chars().next();
        if letter != family {
            family = letter;
            let title = FAMILIES.iter().find(|f| Some(f.0) == letter).map_or("Others", |f| f.1);
            let gap = if out.is_empty() { "" } else { "\n" };
            let _ = writeln!(out, "{gap}## {title}");
        }
        let _ = write!(
            out,
            "\n### {}: {}\n\n{}. {}\n\n* How it arises: {}\n* What to do: {}\n",
            c.code,
            c.title,
            capital(c.severity.name()),
            c.meaning,
            c.cause,
            c.fix
        );
    }
    out
}

fn capital(text: &str) -> String {
    let (first, rest) = text.split_at_checked(1).unwrap_or(("", text));
    first.to_ascii_uppercase() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_on_the_page_under_a_family() {
        let page = markdown();
        assert!(CODES.iter().all(|c| page.contains(&format!("### {}: ", c.code))));
        assert!(!page.contains("## Others"));
    }
}
