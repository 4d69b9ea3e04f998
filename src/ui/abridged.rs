//! A line of a module's text that has not the room it needs: what tells least is left out first, so
//! that of an instruction the names of all its operands are in sight (`docs/screen.md`, "A module").

use super::rows::{DOTS, clip_middle, width};
use super::source::Toned;
use std::ops::Range;

/// Fewest columns of an operand's name.
const LEAST_NAME: usize = 5;

/// A line from which something was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Abridged {
    /// What is left.
    pub line: Toned,
    cuts: Vec<Cut>,
}

/// A part of the whole line, and what stands for it.
type Cut = (Range<usize>, String);

impl Abridged {
    /// Where a byte of the whole line is now; of a part that was left out the end of what stands
    /// for it.
    pub fn at(&self, byte: usize) -> usize {
        moved(&self.cuts, byte)
    }

    /// Where a stretch of the whole line is now, with what stands for a part of it.
    pub fn stretch(&self, of: &Range<usize>) -> Range<usize> {
        let cut = self.cuts.iter().find(|(c, _)| c.contains(&of.start));
        self.at(cut.map_or(of.start, |(c, _)| c.start))..self.at(of.end)
    }
}

fn moved(cuts: &[Cut], byte: usize) -> usize {
    let mut out = byte;
    for (from, dots) in cuts.iter().take_while(|(from, _)| from.start < byte) {
        out = out + dots.len() - (from.end.min(byte) - from.start);
    }
    out
}

impl Toned {
    /// The line in `room` columns where it needs more: first without what stands between the engine
    /// and the operands of an instruction, then with `[..]` for the shapes and without the types
    /// of the operands, then with `[..]` for all but their names, then with their names alone, then with shorter
    /// names. Parts
    /// to keep are left as they are where that suffices. Nothing where it fits, or has nothing of
    /// that.
    pub(super) fn abridged(&self, room: usize, keep: &[Range<usize>]) -> Option<Abridged> {
        if width(&self.text) <= room {
            return None;
        }
        let operands = Operands::of(&self.text)?;
        let kept = |cut: &Cut| keep.iter().all(|k| k.end <= cut.0.start || cut.0.end <= k.start);
        let levels = operands.levels(&self.text, room);
        let careful = levels.iter().map(|l| l.iter().filter(|c| kept(c)).cloned().collect());
        let mut last = None;
        let careful: Vec<Vec<Cut>> = careful.collect();
        for mut cuts in careful.into_iter().chain(levels) {
            cuts.sort_by_key(|c| c.0.start);
            let line = self.without(&cuts);
            let end = moved(&cuts, operands.end);
            let needs = width(line.text.get(..end).unwrap_or_default());
            // What comes after the operands may be left out behind dots.
            let fits = width(&line.text) <= room || needs + DOTS.len() <= room;
            let done = !cuts.is_empty() && fits;
            last = Some(Abridged { line, cuts });
            if done {
                break;
            }
        }
        last.filter(|a| !a.cuts.is_empty())
    }

    fn without(&self, cuts: &[Cut]) -> Toned {
        let mut text = String::new();
        let mut at = 0;
        for (part, dots) in cuts {
            text.push_str(self.text.get(at..part.start).unwrap_or_default());
            text.push_str(dots);
            at = part.end;
        }
        text.push_str(self.text.get(at..).unwrap_or_default());
        let mut tones = Vec::new();
        let mut last = 0;
        for (upto, tone) in &self.tones {
            // What is left out has the tone of its first word.
            let inside = cuts.iter().find(|(c, _)| c.start < *upto && *upto <= c.end);
            let upto = moved(cuts, inside.map_or(*upto, |(c, _)| c.end));
            if upto > last {
                tones.push((upto, *tone));
                last = upto;
            }
        }
        Toned { text, tones }
    }
}

/// An operand of an instruction.
struct Operand {
    name: Range<usize>,
    /// Between the brackets behind the name.
    shape: Option<Range<usize>>,
    /// From the colon on.
    dtype: Option<Range<usize>>,
    end: usize,
}

/// Where the operands of an instruction are in its line.
struct Operands {
    /// What stands between the engine and the operands.
    head: Option<Range<usize>>,
    all: Vec<Operand>,
    /// Behind the last.
    end: usize,
}

impl Operands {
    fn of(text: &str) -> Option<Operands> {
        let ins = text.find(" ins(")?;
        // Behind the name: from the first `key=value` on.
        let body = text.get(..ins)?.find(" = ").map_or(0, |n| n + " = ".len());
        let before = text.get(body..ins)?;
        let blanks = before.char_indices().filter(|(_, c)| *c == ' ').map(|(n, _)| n + 1);
        let is_key = |n: &usize| {
            before.get(*n..).and_then(|t| t.split(' ').next()).is_some_and(|w| w.contains('='))
        };
        let head = blanks.into_iter().find(is_key).map(|n| body + n..ins);
        let mut all = Vec::new();
        let mut end = ins;
        for key in [" ins(", " outs("] {
            if let Some(from) = text.get(end..).filter(|t| t.starts_with(key)) {
                let from = text.len() - from.len() + key.len();
                end = list(text, from, &mut all)?;
            }
        }
        Some(Operands { head, all, end })
    }

    /// What is left out, less at first and then more.
    fn levels(&self, text: &str, room: usize) -> Vec<Vec<Cut>> {
        let dots = |part: &Range<usize>| (part.clone(), DOTS.to_owned());
        let head: Vec<Cut> = self.head.iter().map(dots).collect();
        let shapes = self.all.iter().flat_map(|o| {
            let dtype = o.dtype.clone().map(|d| (d, String::new()));
            o.shape.iter().map(dots).chain(dtype)
        });
        let names = |dots: &'static str| {
            let rest = move |o: &Operand| {
                let rest = o.name.end..o.end;
                (!rest.is_empty() && o.shape.is_some()).then(|| (rest, dots.to_owned()))
            };
            let all = self.all.iter().filter_map(rest);
            head.iter().cloned().chain(all).collect::<Vec<Cut>>()
        };
        let (third, fourth) = (names("[..]"), names(""));
        // The names share what is left.
        let wide = |o: &Operand| width(text.get(o.name.clone()).unwrap_or_default());
        let needs = width(text.get(..self.end).unwrap_or_default()) + DOTS.len();
        let saved: usize =
            fourth.iter().map(|(r, by)| width(&text[r.clone()]).saturating_sub(by.len())).sum();
        let too_much = (needs - saved.min(needs)).saturating_sub(room);
        let all: usize = self.all.iter().map(wide).sum();
        let with = |most: usize| self.all.iter().map(|o| wide(o).min(most)).sum::<usize>();
        let widest = self.all.iter().map(wide).max().unwrap_or(0);
        let fits = (LEAST_NAME..=widest).rev().find(|n| with(*n) + too_much <= all);
        let most = fits.unwrap_or(LEAST_NAME);
        let shorter = self.all.iter().filter(|o| wide(o) > most).map(|o| {
            let name = text.get(o.name.clone()).unwrap_or_default();
            (o.name.clone(), clip_middle(name, most))
        });
        let fifth = fourth.iter().cloned().chain(shorter).collect();
        let second = head.iter().cloned().chain(shapes).collect();
        vec![head, second, third, fourth, fifth]
    }
}

/// Reads operands up to the parenthesis that closes them; what is behind that.
fn list(text: &str, from: usize, out: &mut Vec<Operand>) -> Option<usize> {
    let (mut depth, mut quoted, mut escaped) = (0usize, false, false);
    let mut begin = from;
    let mut shape: Option<Range<usize>> = None;
    let mut open = None;
    let mut dtype = None;
    for (at, c) in text.char_indices().skip_while(|(at, _)| *at < from) {
        if quoted {
            (quoted, escaped) = (escaped || c != '"', !escaped && c == '\\');
            continue;
        }
        match c {
            '"' => quoted = true,
            '[' if depth == 0 && open.is_none() => {
                (open, depth) = (Some(at), 1);
            }
            '(' | '[' | '{' => depth += 1,
            ')' | ',' if depth == 0 => {
                if at > begin {
                    let name = begin..open.unwrap_or(at);
                    let dtype = dtype.take().map(|d: usize| d..at);
                    out.push(Operand { name, shape: shape.take(), dtype, end: at });
                }
                if c == ')' {
                    return Some(at + 1);
                }
                (begin, open, dtype) = (at + 2, None, None);
            }
            ')' | ']' | '}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 && c == ']' && shape.is_none() {
                    shape = open.map(|o| o + 1..at).filter(|s| !s.is_empty());
                }
            }
            ' ' if depth == 0 && dtype.is_none() && text[at..].starts_with(" : ") => {
                dtype = Some(at);
            }
            // Further keys stay in sight.
            ' ' if depth == 0 && text[at..].starts_with(" {") => dtype = None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::ui::highlight::{Language, Tone, tones};
    use proptest::prelude::*;

    fn toned(text: &str) -> Toned {
        Toned { text: text.to_owned(), tones: tones(Language::Bir, text) }
    }

    /// The tone of each byte.
    fn of_bytes(t: &Toned) -> Vec<Option<Tone>> {
        let mut out: Vec<Option<Tone>> = Vec::new();
        for (upto, tone) in &t.tones {
            out.resize(*upto, Some(*tone));
        }
        out.resize(t.text.len(), None);
        out
    }

    const LINE: &str = "    %I-1 = DMACopy Pool queue=qPoolDyn0 dge_type=SWDGE ins(rows[[1, 8]] +0 \
                        : uint8) outs(idx[[1, 8]] at((8*$g + 4)) : uint32) wait(sem 1 >= 1)";

    #[test]
    fn what_tells_least_is_left_out_first() {
        let at = |room| toned(LINE).abridged(room, &[]).map(|a| a.line.text);
        assert_eq!(at(200), None);
        let tail = " wait(sem 1 >= 1)";
        let first = "    %I-1 = DMACopy Pool .. ins(rows[[1, 8]] +0 : uint8) outs(idx[[1, 8]] \
                     at((8*$g + 4)) : uint32)";
        let second = "    %I-1 = DMACopy Pool .. ins(rows[..] +0) outs(idx[..] at((8*$g + 4)))";
        let third = "    %I-1 = DMACopy Pool .. ins(rows[..]) outs(idx[..])";
        let bare = "    %I-1 = DMACopy Pool .. ins(rows) outs(idx)";
        for (room, text) in [
            (110, first),
            (first.len() + 2, first),
            (first.len() + 1, second),
            (second.len() + 1, third),
            (third.len() + 1, bare),
            (20, bare),
        ] {
            assert_eq!(at(room), Some(format!("{text}{tail}")), "{room}");
        }
        let long = "%I-1 = Load SP ins(a_very_long_name_of_a_location[[1, 8]]) outs(another_long_name[[1]])";
        let short = toned(long).abridged(50, &[]).unwrap().line.text;
        assert_eq!(short, "%I-1 = Load SP ins(a_..cation) outs(an..g_name)");
    }

    #[test]
    fn lines_without_operands_stay() {
        for line in ["%loop = Loop SP for g in 0..12 step 3 {", "queue q blocks=[]", "", "é queue="]
        {
            assert!(toned(line).abridged(3, &[]).is_none(), "{line}");
        }
    }

    #[test]
    fn what_is_to_be_kept_stays() {
        let whole = toned(LINE);
        let from = LINE.find("SWDGE").unwrap();
        let keep = from..from + 5;
        let short = whole.abridged(90, std::slice::from_ref(&keep)).unwrap();
        assert!(short.line.text.contains("queue=qPoolDyn0 dge_type=SWDGE"));
        assert!(short.line.text.contains("rows[..]"));
        assert_eq!(&short.line.text[short.stretch(&keep)], "SWDGE");
        // Where that does not do, what stands for it is in its place.
        let short = whole.abridged(48, std::slice::from_ref(&keep)).unwrap();
        assert_eq!(&short.line.text[short.stretch(&keep)], "..");
    }

    proptest! {
        /// Whatever the room and the operands: the name of each operand is in sight where all can
        /// be, words that are left keep their tones, and what is left out is nothing but dots.
        #[test]
        fn names_of_operands_are_in_sight(
            names in proptest::collection::vec("[a-z_]{1,24}", 1..4),
            kinds in proptest::collection::vec(0usize..5, 4),
            head in 0usize..3,
            room in 10usize..140,
        ) {
            let operand = |(n, name): (usize, &String)| match kinds[n] {
                0 => format!("{name}[[8, 2], [1, 8]] +3 : float32"),
                1 => format!("{name}[[1, 8]] at((20*$i - 4), $j) : uint8"),
                2 => format!("{name}[[1]] by(r0) +3 : uint8 {{access_shape=[64], x=\"a)\"}}"),
                3 => format!("reg {name} : int32"),
                _ => name.clone(),
            };
            let all: Vec<String> = names.iter().enumerate().map(operand).collect();
            let (last, first) = all.split_last().unwrap();
            let head = [" queue=q dge_type=None", " op=add constants=[1.0, 0.5]", ""][head];
            let text = format!("%I-7 = Load SP{head} ins({}) outs({last})", first.join(", "));
            let whole = toned(&text);
            let Some(short) = whole.abridged(room, &[]) else { return Ok(()) };
            let shown = &short.line.text;
            prop_assert!(shown.len() < text.len(), "{shown}");
            prop_assert_eq!(short.at(text.len()), shown.len());
            let least = "%I-7 = Load SP .. ins() outs()..".len()
                + names.iter().map(|n| n.len() + "reg  : int32, ".len()).sum::<usize>();
            if room >= least {
                // All names, uncut, before the edge.
                let seen = crate::ui::rows::clip(shown, room);
                prop_assert!(names.iter().all(|n| seen.contains(n.as_str())), "{room} {seen}");
            }
            // Bytes that are left have their tones.
            let (old, new) = (of_bytes(&whole), of_bytes(&short.line));
            for (at, c) in text.char_indices() {
                let left_out = short.cuts.iter().any(|(r, _)| r.contains(&at));
                if !left_out {
                    let now = short.at(at);
                    prop_assert_eq!(shown[now..].chars().next(), Some(c));
                    prop_assert_eq!(old[at], new[now], "{} at {}", shown, now);
                }
            }
        }

        /// No line of any kind makes it fail.
        #[test]
        fn any_text_will_do(text in "( queue=| ins\\(| outs\\(|[a\\[\\](){},\" :é]){0,20}", room in 0usize..30) {
            if let Some(short) = toned(&text).abridged(room, &[]) {
                prop_assert_eq!(short.at(text.len()), short.line.text.len());
            }
        }
    }
}
