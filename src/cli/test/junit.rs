//! The results as JUnit XML, for build servers.

use super::report::details;
use super::{Case, Outcome};
use std::fmt::Write as _;
use std::time::Duration;

/// A file as a row of the report.
pub struct Row {
    /// Its path.
    pub path: String,
    kind: Kind,
    details: Vec<String>,
    took: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Passed,
    Failed,
    Error,
    Skipped,
}

impl Row {
    /// What there is to say of a file.
    pub fn of(case: &Case) -> Row {
        let kind = match &case.outcome {
            Outcome::Passed(_) | Outcome::Blessed(_) => Kind::Passed,
            Outcome::Failed(..) => Kind::Failed,
            Outcome::NoTest if !case.named => Kind::Skipped,
            Outcome::NoTest | Outcome::Unreadable(_) => Kind::Error,
        };
        Row { path: case.path.clone(), kind, details: details(case), took: case.took }
    }
}

/// The whole report.
pub fn text(rows: &[Row]) -> String {
    let count = |kind| rows.iter().filter(|r| r.kind == kind).count();
    let seconds: f64 = rows.iter().map(|r| r.took.as_secs_f64()).sum();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let numbers = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{seconds:.3}\"",
        rows.len(),
        count(Kind::Failed),
        count(Kind::Error),
        count(Kind::Skipped)
    );
    let _ = writeln!(out, "<testsuites {numbers}>\n  <testsuite name=\"dmadbg\" {numbers}>");
    for r in rows {
        let (dir, name) = r.path.rsplit_once('/').unwrap_or(("", &r.path));
        let _ = write!(
            out,
            "    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3}\"",
            escaped(dir),
            escaped(name),
            r.took.as_secs_f64()
        );
        let element = match r.kind {
            Kind::Passed => {
                out.push_str("/>\n");
                continue;
            }
            Kind::Failed => "failure",
            Kind::Error => "error",
            Kind::Skipped => "skipped",
        };
        let first = r.details.first().map_or("it holds no test", String::as_str);
        let _ = writeln!(
            out,
            ">\n      <{element} message=\"{}\">{}</{element}>\n    </testcase>",
            escaped(first),
            escaped(&r.details.join("\n"))
        );
    }
    out.push_str("  </testsuite>\n</testsuites>\n");
    out
}

/// Text as XML holds it. Characters that XML 1.0 has no way to write become U+FFFD.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            '\t' | '\n' | '\r' => {
                let _ = write!(out, "&#{};", u32::from(c));
            }
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c if u32::from(c) < 0x20 => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_escaped() {
        assert_eq!(
            escaped("a<b>&\"'\n\u{1b}]]>\u{ffff}é"),
            "a&lt;b&gt;&amp;&quot;&apos;&#10;\u{fffd}]]&gt;\u{fffd}é"
        );
    }

    #[test]
    fn failures_errors_and_files_without_a_test_are_counted_apart() {
        let row = |path: &str, kind, details: &[&str]| Row {
            path: path.to_owned(),
            kind,
            details: details.iter().map(|d| (*d).to_owned()).collect(),
            took: Duration::from_millis(1500),
        };
        let rows = [
            row("a/b.bir", Kind::Passed, &[]),
            row("c.bir", Kind::Failed, &["one <", "two"]),
            row("d.bir", Kind::Error, &["three"]),
            row("e.bir", Kind::Skipped, &[]),
        ];
        let text = text(&rows);
        let numbers = "tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\" time=\"6.000\"";
        assert_eq!(text.matches(numbers).count(), 2, "{text}");
        assert!(text.contains("<testcase classname=\"a\" name=\"b.bir\" time=\"1.500\"/>"));
        assert!(text.contains("<failure message=\"one &lt;\">one &lt;&#10;two</failure>"));
        assert!(text.contains("<skipped message=\"it holds no test\"></skipped>"));
    }
}
