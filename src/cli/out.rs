//! Where output goes: buffered, coloured only when wanted, and silent when the reader has
//! gone.

use super::args::{Format, OutOpts, When};
use crate::diag::{Diagnostic, Report, Severity, render};
use crate::script::runner::End;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::Path;

/// How a command ended (`docs/cli.md`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// Nothing is wrong.
    Fine,
    /// The program under test is wrong.
    Wrong,
    /// The input or the command line cannot be understood.
    Unreadable,
}

impl Status {
    /// The exit status: 0, 1, 2.
    pub fn code(self) -> u8 {
        match self {
            Status::Fine => 0,
            Status::Wrong => 1,
            Status::Unreadable => 2,
        }
    }

    /// The status once a script has ended; what stopped it comes to the findings.
    pub fn and_then(self, end: End, findings: &mut Report) -> Status {
        let (found, status) = match end {
            End::Done => return self,
            End::Failed(d) => (d, Status::Wrong),
            End::Wrong(d) => (d, Status::Unreadable),
        };
        findings.push(*found);
        self.max(status)
    }
}

/// Why a command could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The input is not what it should be.
    #[error("the input cannot be read")]
    Report(Report),
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<Report> for Failure {
    fn from(r: Report) -> Failure {
        Failure::Report(r)
    }
}

impl Failure {
    /// Whether the reader of our output has gone, which is no failure of ours.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Failure::Io(e) if e.kind() == ErrorKind::BrokenPipe)
    }
}

/// ANSI styles of text output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Headings.
    Bold,
    /// Less important.
    Dim,
    /// Tx side.
    Tx,
    /// Rx side.
    Rx,
    /// Worth a look.
    Warn,
}

impl Style {
    fn code(self) -> &'static str {
        match self {
            Style::Bold => "\x1b[1m",
            Style::Dim => "\x1b[2m",
            Style::Tx => "\x1b[36m",
            Style::Rx => "\x1b[35m",
            Style::Warn => "\x1b[33m",
        }
    }
}

const RESET: &str = "\x1b[0m";
/// Bytes gathered before they are written.
const BUFFER: usize = 1 << 16;

/// Whether a stream is coloured: `--color`, then NO_COLOR, then whether it is a terminal.
fn coloured(when: When, terminal: bool) -> bool {
    match when {
        When::Always => true,
        When::Never => false,
        When::Auto => terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
    }
}

/// The writer that every command prints through.
pub struct Out<'a> {
    sink: &'a mut dyn Write,
    errors: &'a mut dyn Write,
    buffer: String,
    /// Output form.
    pub format: Format,
    /// Whether text is coloured.
    pub ansi: bool,
    errors_ansi: bool,
    all: bool,
    /// Texts that lie in no file, by the name that findings in them have.
    texts: BTreeMap<String, String>,
    /// Findings that are kept in place of being shown.
    caught: Option<Report>,
    /// Whether a person sees the output.
    pub on_terminal: bool,
}

impl<'a> Out<'a> {
    /// A writer over two streams; colours as the process's own terminal allows.
    pub fn new(sink: &'a mut dyn Write, errors: &'a mut dyn Write, opts: &OutOpts) -> Out<'a> {
        Out {
            sink,
            errors,
            buffer: String::with_capacity(BUFFER + 4096),
            format: opts.format,
            ansi: opts.format == Format::Text && coloured(opts.color, io::stdout().is_terminal()),
            errors_ansi: coloured(opts.color, io::stderr().is_terminal()),
            all: opts.all,
            texts: BTreeMap::new(),
            caught: None,
            on_terminal: io::stdout().is_terminal(),
        }
    }

    /// A writer of plain text that shows no findings but keeps them, for [`Out::caught`].
    pub fn catching(sink: &'a mut dyn Write, errors: &'a mut dyn Write, form: Format) -> Out<'a> {
        let opts = OutOpts { format: form, color: When::Never, all: true };
        let caught = Some(Report::default());
        Out { caught, on_terminal: false, ..Out::new(sink, errors, &opts) }
    }

    /// The findings that were kept.
    pub fn caught(self) -> Report {
        self.caught.unwrap_or_default()
    }

    /// Makes a text known that lies in no file, for the carets of findings in it.
    pub fn know(&mut self, name: String, text: &str) {
        self.texts.insert(name, text.to_owned());
    }

    /// Whether the output is JSON.
    pub fn json(&self) -> bool {
        self.format == Format::Json
    }

    /// The buffer to append to; call [`Out::spill`] now and then.
    pub fn buffer(&mut self) -> &mut String {
        &mut self.buffer
    }

    /// Writes the buffer out if it has grown.
    ///
    /// # Errors
    /// Whatever the stream says; a broken pipe among it.
    pub fn spill(&mut self) -> io::Result<()> {
        if self.buffer.len() >= BUFFER { self.flush() } else { Ok(()) }
    }

    /// Writes the buffer out.
    ///
    /// # Errors
    /// As [`Out::spill`].
    pub fn flush(&mut self) -> io::Result<()> {
        self.sink.write_all(self.buffer.as_bytes())?;
        self.buffer.clear();
        self.sink.flush()
    }

    /// A line.
    ///
    /// # Errors
    /// As [`Out::spill`].
    pub fn line(&mut self, text: &str) -> io::Result<()> {
        self.buffer.push_str(text);
        self.buffer.push('\n');
        self.spill()
    }

    /// A JSON value on a line.
    ///
    /// # Errors
    /// As [`Out::spill`].
    pub fn value(&mut self, value: &serde_json::Value) -> io::Result<()> {
        self.line(&render::json_safe(&value.to_string()))
    }

    /// The first line of a stream: its schema, then what it is about (a JSON object).
    ///
    /// # Errors
    /// As [`Out::spill`].
    pub fn schema(&mut self, what: &str, about: &serde_json::Value) -> io::Result<()> {
        let rest = about.to_string();
        let rest = rest.strip_prefix('{').filter(|r| *r != "}").map(|r| format!(",{r}"));
        let rest = rest.unwrap_or_else(|| "}".to_owned());
        self.line(&format!("{{\"schema\":\"dmadbg.{what}/1\"{}", render::json_safe(&rest)))
    }

    /// Bytes as they are.
    ///
    /// # Errors
    /// As [`Out::spill`].
    pub fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.flush()?;
        self.sink.write_all(bytes)?;
        self.sink.flush()
    }

    /// Everything that `write` writes, as it comes.
    ///
    /// # Errors
    /// What the stream or `write` says.
    pub fn through(
        &mut self,
        write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        self.flush()?;
        write(self.sink)?;
        self.sink.flush()
    }

    /// What begins and ends a style; nothing where no colour is wanted.
    pub fn marks(&self, style: Style) -> (&'static str, &'static str) {
        if self.ansi { (style.code(), RESET) } else { ("", "") }
    }

    /// Text in a style, where colour is wanted.
    pub fn styled(&self, style: Style, text: &str) -> String {
        if self.ansi { format!("{}{text}{RESET}", style.code()) } else { text.to_owned() }
    }

    /// Lines on the error stream, beside an output that is read by a tool.
    ///
    /// # Errors
    /// Whatever the stream says.
    pub fn aside(&mut self, lines: &[String]) -> io::Result<()> {
        for line in lines {
            writeln!(self.errors, "{}", render::printable(line))?;
        }
        self.errors.flush()
    }

    /// Findings on the error stream, as text or JSON lines.
    ///
    /// # Errors
    /// Whatever the stream says.
    pub fn findings(&mut self, report: &Report) -> io::Result<()> {
        self.flush()?;
        if let Some(caught) = &mut self.caught {
            caught.extend(report.clone());
            return Ok(());
        }
        let mut text = String::new();
        let form = (self.format, self.all, self.errors_ansi);
        render_report(&mut text, report, &self.texts, form);
        self.errors.write_all(text.as_bytes())?;
        self.errors.flush()
    }

    /// Findings on the output, for commands whose result they are.
    ///
    /// # Errors
    /// As [`Out::spill`].
    pub fn result(&mut self, report: &Report) -> io::Result<()> {
        if let Some(caught) = &mut self.caught {
            caught.extend(report.clone());
            return Ok(());
        }
        let form = (self.format, self.all, self.ansi);
        render_report(&mut self.buffer, report, &self.texts, form);
        self.spill()
    }
}

/// The findings to show, and how many of each code are left out.
fn render_report(
    out: &mut String,
    report: &Report,
    texts: &BTreeMap<String, String>,
    (format, all, ansi): (Format, bool, bool),
) {
    let (shown, left) = report.shown(all);
    let mut sources = Sources { texts, files: BTreeMap::new() };
    for d in shown {
        match format {
            Format::Text => out.push_str(&render::text(d, sources.text_of(d), ansi)),
            Format::Json => {
                out.push_str(&render::json_safe(&render::to_json(d).to_string()));
                out.push('\n');
            }
        }
    }
    for (code, n) in left {
        match format {
            Format::Text => {
                let hint = if all { "" } else { " (--all shows them)" };
                out.push_str(&format!("... and {n} more of {code}{hint}\n"));
            }
            Format::Json => {
                out.push_str(&json!({ "code": code, "omitted": n }).to_string());
                out.push('\n');
            }
        }
    }
    render_allowed(out, report, format);
}

/// How many findings of each code were allowed, as the last lines.
fn render_allowed(out: &mut String, report: &Report, format: Format) {
    for (code, n) in &report.allowed {
        match format {
            Format::Text => out.push_str(&format!("... {n} of {code} allowed\n")),
            Format::Json => {
                out.push_str(&json!({ "code": code, "allowed": n }).to_string());
                out.push('\n');
            }
        }
    }
}

/// The texts that findings point into, for the carets; files are read again when the first
/// finding of each is printed.
struct Sources<'a> {
    texts: &'a BTreeMap<String, String>,
    files: BTreeMap<String, Option<String>>,
}

impl Sources<'_> {
    fn text_of(&mut self, d: &Diagnostic) -> Option<&str> {
        let file = d.place.file.as_ref().filter(|_| d.place.line.is_some())?;
        if let Some(text) = self.texts.get(file) {
            return Some(text);
        }
        let read = || {
            let source = crate::load::source::open(Path::new(file)).ok()?;
            let small = source.blob.len() as u64 <= crate::limits::MAX_TEXT_BYTES;
            // What is no text is shown as far as it is one.
            small.then(|| String::from_utf8_lossy(source.blob.bytes()).into_owned())
        };
        // Standard input cannot be read twice.
        let known = self.files.entry(file.clone());
        known.or_insert_with(|| if Path::new(file).is_file() { read() } else { None }).as_deref()
    }
}

/// How many findings of each severity: (errors, warnings, notes); what a report dropped is
/// counted by its code's usual severity.
pub fn counts(report: &Report) -> (u64, u64, u64) {
    let mut n = (0, 0, 0);
    let mut add = |severity, by| match severity {
        Severity::Error => n.0 += by,
        Severity::Warning => n.1 += by,
        Severity::Note => n.2 += by,
    };
    for d in &report.items {
        add(d.severity, 1);
    }
    for (code, by) in &report.dropped {
        add(report.severity_of_dropped(code), *by);
    }
    n
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_as_json_are_one_object_a_line_with_the_rest_counted() {
        let mut r = Report::default();
        for i in 0..25 {
            r.push(Diagnostic::new("D010", format!("slot {i}")));
        }
        let mut text = String::new();
        render_report(&mut text, &r, &BTreeMap::new(), (Format::Json, false, false));
        let lines: Vec<serde_json::Value> =
            text.lines().filter_map(|l| serde_json::from_str(l).ok()).collect();
        assert_eq!(lines.len(), 21);
        assert_eq!(lines[20]["omitted"], 5);
        assert_eq!(counts(&r), (0, 25, 0));
    }

    #[test]
    fn colour_follows_the_option_then_the_terminal() {
        assert!(coloured(When::Always, false));
        assert!(!coloured(When::Never, true));
        assert!(!coloured(When::Auto, false));
    }
}
