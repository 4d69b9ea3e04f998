//! Diagnostics as errors of Rust, for programs that use the library: `?` passes them on. The
//! program itself shows them with [`render`](super::render), with the source beside them.

use super::{Diagnostic, Report, render};
use std::error::Error;
use std::fmt;

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(render::text(self, None, false).trim_end())
    }
}

impl Error for Diagnostic {}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, d) in self.items.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            write!(f, "{d}")?;
        }
        Ok(())
    }
}

impl Error for Report {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_its_code_its_place_and_no_escape_of_a_file_s_own() {
        let d = Diagnostic::new("D001", "nothing \u{1b}[31m here").in_file("a.dma").help("fix it");
        let text = Report::from(d.clone()).to_string();
        assert_eq!(text, d.to_string());
        assert!(text.starts_with("error[D001]: nothing \\u{1b}[31m here"), "{text}");
        assert!(text.contains("a.dma") && text.ends_with("help: fix it"), "{text}");
        let mut two = Report::from(d.clone());
        two.push(Diagnostic::new("D002", "more"));
        assert_eq!(two.to_string(), format!("{d}\n{}", Diagnostic::new("D002", "more")));
    }
}
