//! Hex text to bytes: what people paste out of `xxd`, `hexdump`, `od`, a kernel log.
//!
//! The form is told from the first line that fits one ([`recognise`]) and then holds for the
//! whole text; every line that does not follow it is reported. `docs/formats.md`, "Hex text",
//! has an example of each form and what is assumed where two could be meant.

mod line;

use crate::diag::{Diagnostic, Place, Report};
use crate::limits::{DETECT_LINES, MAX_EXPANDED_BYTES, MAX_LINE_BYTES, MAX_TEXT_BYTES};
use crate::udma::count_of;
pub use line::is_comment;
use line::{Line, Word};

/// The forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HexForm {
    /// `xxd`: offset, colon, groups of bytes in order, two blanks, the characters.
    Xxd,
    /// `xxd -p`, or bytes with blanks between: nothing but bytes in order.
    Plain,
    /// `hexdump -C`: offset, bytes in order, the characters between bars.
    HexdumpC,
    /// `od -tx4`: offset, 32-bit words.
    Od,
    /// A kernel log: any text, then at the end of the line words or bytes.
    KernelLog,
    /// 32-bit words and nothing else.
    Words,
}

impl HexForm {
    /// Its name for a reader.
    pub fn name(self) -> &'static str {
        match self {
            HexForm::Xxd => "xxd (bytes in order)",
            HexForm::Plain => "plain bytes as of xxd -p (in order)",
            HexForm::HexdumpC => "hexdump -C (bytes in order)",
            HexForm::Od => "od -tx4 (32-bit words, little-endian)",
            HexForm::KernelLog => "kernel log (32-bit words, little-endian)",
            HexForm::Words => "bare 32-bit words (little-endian)",
        }
    }

    /// Whether the digits are 32-bit words rather than bytes in order.
    fn words(self) -> bool {
        matches!(self, HexForm::Od | HexForm::KernelLog | HexForm::Words)
    }
}

/// What a text held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HexDump {
    /// The form that it has.
    pub form: HexForm,
    /// The bytes, in memory order.
    pub bytes: Vec<u8>,
    /// Lines that were passed over: other text of a kernel log.
    pub skipped: u64,
}

/// The form of a text by its first lines; `None` where it is no hex text.
pub fn recognise(text: &str) -> Option<HexForm> {
    let lines = || text.lines().filter(|l| !line::is_comment(l)).take(DETECT_LINES);
    let exact = lines().find_map(line::form);
    // A wrong digit in the first line should be reported as such, not as unknown text.
    exact.or_else(|| lines().next().and_then(line::form_but_for_digits))
}

/// Reads a text whole.
///
/// # Errors
/// D003 where it has no form; D040 to D042, D025 with line and column for every line that
/// does not follow its form.
pub fn parse(text: &str) -> Result<HexDump, Report> {
    if text.len() as u64 > MAX_TEXT_BYTES {
        let why = format!("a text of {}; at most {MAX_TEXT_BYTES}", count_of(text.len(), "byte"));
        return Err(Diagnostic::new("D025", why).into());
    }
    let Some(form) = recognise(text) else {
        return Err(Diagnostic::new("D003", "the text has none of the forms of hex text")
            .at(Place::text(1, 1, 1))
            .into());
    };
    let radix = if form == HexForm::Od { od_radix(text) } else { 16 };
    let mut r = Reader { form, radix, ..Reader::new(form) };
    for (i, text) in text.lines().enumerate() {
        r.number = i as u64 + 1;
        r.line(text);
    }
    if r.report.has_errors() {
        return Err(r.report);
    }
    Ok(HexDump { form, bytes: r.bytes, skipped: r.skipped })
}

/// The base of `od`'s offsets: the one in which the second line's offset follows from the
/// first line's length; else octal where they have seven digits, hex where not.
fn od_radix(text: &str) -> u32 {
    let lines: Vec<Line<'_>> = text
        .lines()
        .filter(|l| !line::is_comment(l) && l.trim() != "*")
        .map(|l| line::split(HexForm::Od, l))
        .take(2)
        .collect();
    if let [a, b] = lines.as_slice()
        && let (Some(first), Some(second)) = (a.offset, b.offset)
    {
        let at = |w: Word<'_>, radix| u64::from_str_radix(w.text, radix).ok();
        let step = |radix| at(second, radix)?.checked_sub(at(first, radix)?);
        let due = a.words.len() as u64 * 4;
        if let Some(radix) = [8, 16, 10].into_iter().find(|r| step(*r) == Some(due)) {
            return radix;
        }
    }
    match lines.first().and_then(|l| l.offset) {
        Some(o) if o.text.len() == 7 => 8,
        _ => 16,
    }
}

struct Reader {
    form: HexForm,
    radix: u32,
    number: u64,
    bytes: Vec<u8>,
    /// Offset that the first line has.
    base: Option<u64>,
    /// Bytes of the last line, for `*`.
    last: usize,
    /// A `*` waits for the next offset.
    squeezed: bool,
    skipped: u64,
    report: Report,
}

impl Reader {
    fn new(form: HexForm) -> Reader {
        Reader {
            form,
            radix: 16,
            number: 0,
            bytes: Vec::new(),
            base: None,
            last: 0,
            squeezed: false,
            skipped: 0,
            report: Report::default(),
        }
    }

    fn error(&mut self, code: &'static str, w: Word<'_>, why: String) {
        let place = Place::text(self.number, w.column, w.text.chars().count() as u64);
        self.report.push(Diagnostic::new(code, why).at(place));
    }

    fn line(&mut self, text: &str) {
        if text.len() > MAX_LINE_BYTES {
            let w = Word { text: "", column: 1 };
            return self.error("D025", w, format!("a line of {}", count_of(text.len(), "byte")));
        }
        if line::is_comment(text) {
            return;
        }
        if text.trim() == "*" && self.form != HexForm::KernelLog {
            // The next offset says how many lines are left out.
            if self.base.is_some() {
                self.squeezed = true;
            } else {
                let why = "`*` stands for lines that were left out, and no offset says how many";
                let column = text.chars().take_while(|c| c.is_whitespace()).count() as u64 + 1;
                self.error("D041", Word { text: "*", column }, why.to_owned());
            }
            return;
        }
        let l = line::split(self.form, text);
        if self.form == HexForm::KernelLog && !line::is_data_line(&l) {
            self.skipped += 1;
            return;
        }
        if let Some(offset) = l.offset
            && !self.offset(offset)
        {
            return;
        }
        let before = self.bytes.len();
        for w in &l.words {
            self.word(*w);
        }
        self.last = self.bytes.len() - before;
    }

    /// Compares the offset in front of a line with what came before; fills what `*` left out.
    fn offset(&mut self, w: Word<'_>) -> bool {
        let Ok(offset) = u64::from_str_radix(w.text, self.radix) else {
            self.bad_digit(w, self.radix);
            return false;
        };
        let base = *self.base.get_or_insert(offset);
        let here = base.wrapping_add(self.bytes.len() as u64);
        if self.squeezed {
            self.squeezed = false;
            return self.fill(w, offset, here);
        }
        if offset != here {
            // A wrong line before already explains it.
            if !self.report.has_errors() {
                let why = format!("offset {offset:#x} where {here:#x} is due");
                self.error("D041", w, why);
            }
            self.base = Some(offset.wrapping_sub(self.bytes.len() as u64));
        }
        true
    }

    fn fill(&mut self, w: Word<'_>, offset: u64, here: u64) -> bool {
        let missing = offset.wrapping_sub(here);
        if self.last == 0 || !missing.is_multiple_of(self.last as u64) || offset < here {
            self.error("D041", w, format!("`*` cannot stand for {here:#x} up to {offset:#x}"));
            return false;
        }
        if missing + self.bytes.len() as u64 > MAX_EXPANDED_BYTES {
            let why = format!(
                "`*` stands for {missing_bytes}; at most {MAX_EXPANDED_BYTES}",
                missing_bytes = count_of(missing, "byte")
            );
            self.error("D025", w, why);
            return false;
        }
        let start = self.bytes.len() - self.last;
        for _ in 0..missing / self.last as u64 {
            self.bytes.extend_from_within(start..start + self.last);
        }
        true
    }

    fn bad_digit(&mut self, w: Word<'_>, radix: u32) {
        let i = w.text.chars().position(|c| !c.is_digit(radix)).unwrap_or(0);
        let c = w.text.chars().nth(i).unwrap_or(' ');
        let at = Word { text: "x", column: w.column + i as u64 };
        self.error("D040", at, format!("`{}` is not a hex digit", c.escape_default()));
    }

    fn word(&mut self, w: Word<'_>) {
        let (digits, prefixed) = match w.text.strip_prefix("0x").or(w.text.strip_prefix("0X")) {
            Some(d) => (d, true),
            None => (w.text, false),
        };
        let skipped = if prefixed { 2 } else { 0 };
        if digits.is_empty() || !digits.chars().all(|c| c.is_ascii_hexdigit()) {
            let w = Word {
                text: if digits.is_empty() { "?" } else { digits },
                column: w.column + skipped,
            };
            return self.bad_digit(w, 16);
        }
        let bytes =
            !self.form.words() || self.form == HexForm::KernelLog && digits.len() == 2 && !prefixed;
        if bytes {
            let (pairs, odd) = digits.as_bytes().as_chunks::<2>();
            if !odd.is_empty() {
                return self.error("D042", w, format!("`{digits}`: an odd number of digits"));
            }
            self.bytes.extend(pairs.iter().filter_map(|p| {
                let [hi, lo] = p.map(|c| char::from(c).to_digit(16));
                Some((hi? << 4 | lo?) as u8)
            }));
        } else if digits.len() == 8 || prefixed && digits.len() < 8 {
            let value = u32::from_str_radix(digits, 16).unwrap_or(0);
            self.bytes.extend(value.to_le_bytes());
        } else {
            self.error("D042", w, format!("`{}` is not a 32-bit word of 8 digits", w.text));
        }
    }
}

#[cfg(test)]
mod tests;
