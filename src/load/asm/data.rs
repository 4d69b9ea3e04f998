//! Data blocks of the assembly: hex, text, runs, and descriptors by their fields.

use super::lex::{Arg, Args, Kind, Token};
use super::value::{Symbols, shown, uint, unknown, verb};
use crate::diag::{Diagnostic, Report};
use crate::limits::MAX_EXPANDED_BYTES;
use crate::udma::desc::META;
use crate::udma::field::{self, Kind as FieldKind};
use crate::udma::{DESC_BYTES, Desc, View};

/// `meta_ctrl` of a plain copy, which the word `copy` stands for.
pub use crate::udma::builder::COPY_META_CTRL as COPY;

/// What a line of a block may begin with.
pub const ITEMS: [&str; 9] = ["hex", "text", "zero", "repeat", "empty", "raw", "tx", "rx", "meta"];

/// Reads blocks; keeps count of what they unfold to.
pub struct Blocks<'s> {
    symbols: &'s Symbols,
    left: u64,
}

impl<'s> Blocks<'s> {
    /// A reader with the whole allowance.
    pub fn new(symbols: &'s Symbols) -> Blocks<'s> {
        Blocks { symbols, left: MAX_EXPANDED_BYTES }
    }

    /// The bytes of a block. Items with errors are reported and left out.
    pub fn bytes(&mut self, block: &[Args<'_>], report: &mut Report) -> Vec<u8> {
        let mut out = Vec::new();
        for item in block {
            let done = match verb(item) {
                Some((t, rest)) => self.item(t, rest, 1, &mut out),
                None => match item.first() {
                    Some(a) => Err(vec![unknown(a.token(), "D050", "data item", known())]),
                    None => Ok(()),
                },
            };
            for d in done.err().into_iter().flatten() {
                report.push(d);
            }
        }
        out
    }

    fn take(&mut self, t: &Token<'_>, bytes: u64) -> Result<usize, Vec<Diagnostic>> {
        self.left
            .checked_sub(bytes)
            .map(|left| {
                self.left = left;
                bytes as usize
            })
            .ok_or_else(|| {
                let why = format!(
                    "the data of this text unfolds to more than {MAX_EXPANDED_BYTES} bytes"
                );
                vec![t.error("D025", why)]
            })
    }

    /// Appends an item `times` times.
    fn item(
        &mut self,
        t: &Token<'_>,
        rest: &[Arg<'_>],
        times: u64,
        out: &mut Vec<u8>,
    ) -> Result<(), Vec<Diagnostic>> {
        let once = match t.word() {
            Some("zero") => return self.zeroes(t, rest, 1, times, out),
            Some("empty") => return self.zeroes(t, rest, DESC_BYTES as u64, times, out),
            Some("repeat") if times == 1 => {
                let [Arg::Bare(n), Arg::Bare(what), rest @ ..] = rest else {
                    return Err(vec![t.error("D050", "`repeat` takes a count and an item")]);
                };
                let times = uint(n, MAX_EXPANDED_BYTES).map_err(|d| vec![d])?;
                return self.item(what, rest, times, out);
            }
            Some("hex") => hex(t, rest).map_err(|d| vec![d])?,
            Some("text") => match rest {
                [Arg::Bare(Token { kind: Kind::Str(s), .. })] => s.clone(),
                _ => return Err(vec![t.error("D050", "`text` takes one string in quotes")]),
            },
            Some("raw") => raw(t, rest).map_err(|d| vec![d])?.to_bytes().to_vec(),
            Some("tx") => self.desc(View::Tx, rest)?.to_bytes().to_vec(),
            Some("rx") => self.desc(View::Rx, rest)?.to_bytes().to_vec(),
            Some("meta") => self.desc(View::Meta, rest)?.to_bytes().to_vec(),
            _ => return Err(vec![unknown(t, "D050", "data item", known())]),
        };
        let total = times.saturating_mul(once.len() as u64);
        self.take(t, total)?;
        for _ in 0..if once.is_empty() { 0 } else { times } {
            out.extend_from_slice(&once);
        }
        Ok(())
    }

    fn zeroes(
        &mut self,
        t: &Token<'_>,
        rest: &[Arg<'_>],
        unit: u64,
        times: u64,
        out: &mut Vec<u8>,
    ) -> Result<(), Vec<Diagnostic>> {
        let [Arg::Bare(n)] = rest else {
            return Err(vec![t.error("D050", format!("{} takes one number", shown(t)))]);
        };
        let n = uint(n, MAX_EXPANDED_BYTES).map_err(|d| vec![d])?;
        let n = self.take(t, n.saturating_mul(unit).saturating_mul(times))?;
        out.resize(out.len() + n, 0);
        Ok(())
    }

    /// A descriptor by the names of the field table: a flag bare, others `name=value`; fields
    /// not named are zero.
    fn desc(&self, view: View, args: &[Arg<'_>]) -> Result<Desc, Vec<Diagnostic>> {
        let mut d = Desc::default();
        if view == View::Meta {
            d.len_ctrl = META;
        }
        let mut errors = Vec::new();
        for arg in args {
            if let Err(e) = self.operand(view, arg, &mut d) {
                errors.push(e);
            }
        }
        if errors.is_empty() { Ok(d) } else { Err(errors) }
    }

    fn operand(&self, view: View, arg: &Arg<'_>, d: &mut Desc) -> Result<(), Diagnostic> {
        let t = arg.token();
        let name = t.word().unwrap_or_default();
        if let (Arg::Bare(_), "copy", View::Tx | View::Meta) = (arg, name, view) {
            d.word1 |= COPY;
            return Ok(());
        }
        let Some(f) = field::find(view, name) else {
            let names = field::FIELDS.iter().filter(move |f| f.views.has(view)).map(|f| f.name);
            return Err(unknown(t, "D050", "field of this descriptor", names));
        };
        let value = match (arg, f.kind) {
            (Arg::Bare(_), FieldKind::Flag) => 1,
            (Arg::Bare(_), _) => {
                return Err(t.error("D050", format!("`{name}` needs a value: `{name}=N`")));
            }
            (Arg::Pair(_, v), FieldKind::Address) => self.symbols.address(v)?,
            (Arg::Pair(_, v), FieldKind::Length) => match uint(v, 65_536)? {
                65_536 => 0,
                n => n,
            },
            (Arg::Pair(_, v), _) => uint(v, f.mask() >> f.lo)?,
        };
        *d = d.with(f, value);
        Ok(())
    }
}

fn known() -> std::array::IntoIter<&'static str, 9> {
    ITEMS.into_iter()
}

fn hex(t: &Token<'_>, rest: &[Arg<'_>]) -> Result<Vec<u8>, Diagnostic> {
    let mut out = Vec::new();
    for arg in rest {
        let t = arg.token();
        let (Arg::Bare(_), Some(word)) = (arg, t.word()) else {
            return Err(t.error("D050", "`hex` takes hex digits only"));
        };
        if let Some(i) = word.chars().position(|c| !c.is_ascii_hexdigit()) {
            let at = Token { column: t.column + i as u32, width: 1, ..t.clone() };
            return Err(at.error("D040", "not a hex digit"));
        }
        let (pairs, odd) = word.as_bytes().as_chunks::<2>();
        if !odd.is_empty() {
            return Err(t.error("D042", "an odd number of hex digits"));
        }
        out.extend(pairs.iter().filter_map(|p| {
            let [hi, lo] = p.map(|c| char::from(c).to_digit(16));
            Some((hi? << 4 | lo?) as u8)
        }));
    }
    if rest.is_empty() { Err(t.error("D050", "`hex` needs digits")) } else { Ok(out) }
}

/// `raw LEN_CTRL WORD1 PTR`
fn raw(t: &Token<'_>, rest: &[Arg<'_>]) -> Result<Desc, Diagnostic> {
    let [Arg::Bare(a), Arg::Bare(b), Arg::Bare(c)] = rest else {
        return Err(t.error("D050", "`raw` takes two 32-bit words and a 64-bit one"));
    };
    let word = |t| uint(t, u64::from(u32::MAX)).map(|v| v as u32);
    Ok(Desc { len_ctrl: word(a)?, word1: word(b)?, ptr: uint(c, u64::MAX)? })
}
