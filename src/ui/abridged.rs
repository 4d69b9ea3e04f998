//! A line of a module's text that has not the room it needs: what comes before the operands is
//! left out first (`docs/screen.md`, "A module").

use super::source::Toned;

/// What stands for the words that are left out.
const DOTS: &str = "..";

impl Toned {
    /// The line without what stands between the engine and the operands of an instruction: which
    /// queue it goes through and how. Nothing where there is none of that.
    pub(super) fn abridged(&self) -> Option<Toned> {
        let from = self.text.find(" queue=")? + 1;
        let to = from + self.text.get(from..)?.find(" ins(")?;
        let mut text = self.text.get(..from)?.to_owned();
        text.push_str(DOTS);
        let moved = to.checked_sub(text.len())?;
        text.push_str(self.text.get(to..)?);
        let mut tones = Vec::new();
        let mut last = 0;
        for (upto, tone) in &self.tones {
            let upto = match *upto {
                n if n <= from => n,
                n if n <= to => from + DOTS.len(),
                n => n - moved,
            };
            // What is left out has the tone of its first word.
            if upto > last {
                tones.push((upto, *tone));
                last = upto;
            }
        }
        Some(Toned { text, tones })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::ui::highlight::{Language, Tone, tones};

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

    #[test]
    fn operands_keep_their_words_and_tones() {
        for line in [
            "    %I-1 = DMACopy Pool queue=qPoolDyn0 dge_type=SWDGE ins(rows[[1, 8]] +0 : uint8) outs(idx[[1, 8]] +0 : uint32)",
            "%I-9 = Load SP queue=q dge_type=None mode=Transpose ins(x[[8, 3]] +4 : uint16) outs() after(I-1:Flow)",
        ] {
            let whole = toned(line);
            let short = whole.abridged().unwrap();
            assert!(short.text.len() < line.len());
            let (head, tail) = short.text.split_once("..").unwrap();
            assert!(line.starts_with(head) && line.ends_with(tail) && tail.starts_with(" ins("));
            let (old, new) = (of_bytes(&whole), of_bytes(&short));
            assert_eq!(new[..head.len()], old[..head.len()]);
            assert_eq!(new[new.len() - tail.len()..], old[old.len() - tail.len()..]);
        }
        for line in ["%loop = Loop SP for g in 0..12 step 3 {", "queue q blocks=[]", "", "é queue="]
        {
            assert!(toned(line).abridged().is_none(), "{line}");
        }
    }
}
