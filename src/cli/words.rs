//! Words without a ring: what `decode 0x..` and `explain 0x..` say.

use super::args::WordKind;
use super::numbers::Token;
use super::out::{Failure, Out, Status, Style};
use super::rows;
use crate::diag::{Diagnostic, Report};
use crate::load::RingChoice;
use crate::udma::reg::FieldRow;
use crate::udma::{
    Desc, Dir, EngineState, Generation, View, Word, cause, count_of, known, notes, reg, sentence,
};
use serde_json::{Value, json};
use std::io;

/// Names words: as `kind` says, else by how many there are. One word is read as a first and
/// as a second word; two are a descriptor without its address; three a descriptor whose
/// address is one 64-bit word; fours and 32-digit runs are whole descriptors.
///
/// # Errors
/// [`Failure`] for a number of words that is none of these, or a word that is too wide.
pub fn run(
    tokens: &[Token],
    kind: Option<WordKind>,
    (ring, arch): (Option<RingChoice>, Generation),
    out: &mut Out<'_>,
) -> Result<Status, Failure> {
    if let Some(kind) = kind {
        for t in tokens {
            one_as(kind, narrow(*t)?, arch, out)?;
        }
    } else {
        match shape(tokens)? {
            Shape::One(word) => {
                single(word, ring, arch, out)?;
            }
            Shape::Two(len_ctrl, word1) => {
                let dir = direction(ring, word1, 0);
                let view = rows::view_of(dir, len_ctrl);
                word(Word::of(view)[0], view, len_ctrl.into(), arch, out)?;
                word(Word::of(view)[1], view, word1.into(), arch, out)?;
            }
            Shape::Whole(descs) => {
                for (i, d) in (0u64..).zip(descs) {
                    let dir = direction(ring, d.word1, i);
                    whole(i, dir, d, arch, out)?;
                }
            }
        }
    }
    out.flush()?;
    Ok(Status::Fine)
}

/// What some words are together.
enum Shape {
    One(u32),
    Two(u32, u32),
    Whole(Vec<Desc>),
}

fn usage(text: impl Into<String>) -> Report {
    Diagnostic::new("S011", text).into()
}

fn narrow(t: Token) -> Result<u32, Report> {
    match t {
        Token::Word(w) => {
            u32::try_from(w).map_err(|_| usage(format!("{w:#x} has more than 32 bits")))
        }
        Token::Desc(_) => Err(usage("a whole descriptor where one word is meant")),
    }
}

fn shape(tokens: &[Token]) -> Result<Shape, Report> {
    if tokens.iter().all(|t| matches!(t, Token::Desc(_))) {
        let desc = |t: &Token| match t {
            Token::Desc(b) => Some(Desc::from_bytes(b)),
            Token::Word(_) => None,
        };
        return Ok(Shape::Whole(tokens.iter().filter_map(desc).collect()));
    }
    match tokens {
        [one] => Ok(Shape::One(narrow(*one)?)),
        [a, b] => Ok(Shape::Two(narrow(*a)?, narrow(*b)?)),
        [a, b, Token::Word(ptr)] => {
            Ok(Shape::Whole(vec![Desc { len_ctrl: narrow(*a)?, word1: narrow(*b)?, ptr: *ptr }]))
        }
        many if many.len() % 4 == 0 => {
            let words = many.iter().map(|t| narrow(*t)).collect::<Result<Vec<u32>, _>>()?;
            let descs = words.as_chunks::<4>().0.iter().map(|[a, b, lo, hi]| Desc {
                len_ctrl: *a,
                word1: *b,
                ptr: u64::from(*lo) | u64::from(*hi) << 32,
            });
            Ok(Shape::Whole(descs.collect()))
        }
        many => Err(usage(format!(
            "{} make no whole descriptors: give one, two, three (the last an address) or fours",
            count_of(many.len(), "word")
        ))),
    }
}

/// Said with `--ring`, else Tx where the second word is not zero.
fn direction(ring: Option<RingChoice>, word1: u32, index: u64) -> Dir {
    match ring {
        Some(RingChoice::Tx) => Dir::Tx,
        Some(RingChoice::Rx) => Dir::Rx,
        Some(RingChoice::Pairs) if index % 2 == 1 => Dir::Rx,
        Some(RingChoice::Pairs) => Dir::Tx,
        None if word1 == 0 => Dir::Rx,
        None => Dir::Tx,
    }
}

/// A single word may stand first or second.
fn single(
    value: u32,
    ring: Option<RingChoice>,
    arch: Generation,
    out: &mut Out<'_>,
) -> io::Result<()> {
    let dir = if ring == Some(RingChoice::Rx) { Dir::Rx } else { Dir::Tx };
    let view = rows::view_of(dir, value);
    let known = known(value);
    for w in &Word::of(view)[..2] {
        // The second word of a Tx descriptor reads the same under META.
        let view = if *w == Word::MetaCtrl { View::Tx } else { view };
        if out.json() {
            let mut object = rows::word_json(*w, view, value.into(), arch);
            if let (Some(k), Some(o)) = (known, object.as_object_mut()) {
                o.insert("constant".into(), k.meaning.into());
            }
            out.value(&object)?;
        } else {
            word(*w, view, value.into(), arch, out)?;
        }
    }
    if let Some(k) = known.filter(|_| !out.json()) {
        let title =
            out.styled(Style::Bold, &format!("constant {}", rows::hex_string(value.into(), 8)));
        out.line(&format!("{title}  {}", k.meaning))?;
    }
    Ok(())
}

/// One descriptor word with all its fields.
pub fn word(
    word: Word,
    view: View,
    value: u64,
    arch: Generation,
    out: &mut Out<'_>,
) -> io::Result<()> {
    if out.json() {
        return out.value(&rows::word_json(word, view, value, arch));
    }
    for (i, line) in rows::word_text(word, view, value, arch).iter().enumerate() {
        let line = if i == 0 { out.styled(Style::Bold, line) } else { line.clone() };
        out.line(&line)?;
    }
    Ok(())
}

/// A whole descriptor: its row as JSON, or the sentence, every word and the notes as text.
pub fn whole(
    index: u64,
    dir: Dir,
    desc: Desc,
    arch: Generation,
    out: &mut Out<'_>,
) -> io::Result<()> {
    if out.json() {
        rows::push_json(out.buffer(), index, dir, desc, arch);
        out.buffer().push('\n');
        return out.spill();
    }
    let title = out.styled(Style::Bold, &format!("{dir}[{index}]"));
    out.line(&format!("{title}  {}", sentence(desc, dir, arch)))?;
    let view = desc.view(dir);
    for w in Word::of(view) {
        word(*w, view, desc.word(*w), arch, out)?;
    }
    if view == View::Meta {
        for line in rows::payload_text(desc) {
            out.line(&line)?;
        }
    }
    for n in notes(desc, dir, arch) {
        let code = out.styled(Style::Warn, n.code);
        out.line(&format!("{code}  {}", n.text))?;
    }
    Ok(())
}

/// What a half of an engine is by its state register: as it stands, and in S2M while its stream
/// is disabled.
fn half_states(value: u32) -> [EngineState; 2] {
    [false, true].map(|off| EngineState::decode(value, off))
}

/// A word of a named kind.
fn one_as(kind: WordKind, value: u32, arch: Generation, out: &mut Out<'_>) -> io::Result<()> {
    let (name, fields) = match kind {
        WordKind::LenCtrl => {
            return word(Word::LenCtrl, rows::view_of(Dir::Tx, value), value.into(), arch, out);
        }
        WordKind::MetaCtrl => return word(Word::MetaCtrl, View::Tx, value.into(), arch, out),
        WordKind::CauseM2s => ("cause-m2s", cause::describe(Dir::Tx, value)),
        WordKind::CauseS2m => ("cause-s2m", cause::describe(Dir::Rx, value)),
        WordKind::State => ("state", reg::describe_state(value)),
        WordKind::Drtp => ("drtp", reg::describe_pointer(value)),
    };
    let bits = |r: &FieldRow| match r.hi == r.lo {
        true => r.hi.to_string(),
        false => format!("{}:{}", r.hi, r.lo),
    };
    let shown = rows::hex_string(value.into(), 8);
    if out.json() {
        let fields: Vec<Value> = fields
            .iter()
            .map(|r| json!({"name": r.name, "bits": bits(r), "value": r.value, "text": r.words}))
            .collect();
        let mut object = json!({"word": name, "value": shown, "fields": fields});
        if kind == WordKind::State {
            let [plain, off] = half_states(value).map(EngineState::name);
            object["state"] = plain.into();
            object["state_stream_off"] = off.into();
        }
        return out.value(&object);
    }
    let title = out.styled(Style::Bold, &format!("{name} {shown}"));
    out.line(&title)?;
    if fields.is_empty() {
        out.line("  no bit is set")?;
    }
    for r in &fields {
        out.line(&format!("  {:>5}  {:<18} {:<8} {}", bits(r), r.name, r.value, r.words))?;
    }
    if kind == WordKind::State {
        let [plain, off] = half_states(value);
        let alone = if plain == off {
            String::new()
        } else {
            format!("; {off} in S2M while its stream is disabled")
        };
        out.line(&format!("  the driver reads it as {plain}{alone}"))?;
    }
    Ok(())
}
