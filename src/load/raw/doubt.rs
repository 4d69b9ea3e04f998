//! Images that are most likely not what they are read as (`docs/formats.md`, "Raw images"): the
//! wrong direction, or bytes in the wrong order within their words.
//!
//! MODEL: both are guesses from what lies in the slots, and only said, never acted upon.

use super::{RawImage, RingView};
use crate::diag::{Diagnostic, Severity};
use crate::limits::SAMPLE_EDGE_SLOTS;
use crate::udma::describe::named;
use crate::udma::{Desc, Dir, Field, View, class};

const RESERVED: &Field = named(View::Tx, "reserved_22_16");

/// The used slots from the beginning on, a bounded number of them.
fn used(ring: &RingView) -> impl Iterator<Item = Desc> + '_ {
    let slots = (0..ring.slots().min(SAMPLE_EDGE_SLOTS)).filter_map(|i| ring.get(i));
    slots.filter(|d| !d.is_zero())
}

/// The direction that all used slots of a ring speak for; none where they disagree.
fn looks(ring: &RingView) -> Option<Dir> {
    let mut all = used(ring).map(|d| if d.word1 == 0 { Dir::Rx } else { Dir::Tx });
    let first = all.next()?;
    all.all(|d| d == first).then_some(first)
}

/// A descriptor with the bytes of each of its four words turned round.
fn turned(d: Desc) -> Desc {
    let halves = |p: u64| {
        u64::from((p as u32).swap_bytes()) | u64::from(((p >> 32) as u32).swap_bytes()) << 32
    };
    Desc { len_ctrl: d.len_ctrl.swap_bytes(), word1: d.word1.swap_bytes(), ptr: halves(d.ptr) }
}

/// Whether nothing of a descriptor's first two words is out of the ordinary.
fn is_plain(d: Desc, dir: Dir) -> bool {
    let clean = RESERVED.get(d.len_ctrl.into()) == 0;
    clean
        && match dir {
            Dir::Tx => d.is_meta() || !class::readings(d.word1).is_empty(),
            Dir::Rx => d.word1 == 0,
        }
}

/// Whether rings make sense only with the bytes of each word turned round: every slot does then,
/// and most do not as they are. (A short length, or 65536, looks well either way on Rx.)
fn are_turned(rings: &[&RingView]) -> bool {
    let (mut odd, mut all) = (0, 0);
    let mut slots = rings.iter().flat_map(|r| used(r).map(|d| (r.dir(), d)));
    let every = slots.all(|(dir, d)| {
        all += 1;
        odd += u64::from(!is_plain(d, dir));
        is_plain(turned(d), dir)
    });
    every && odd * 2 > all
}

/// What is doubtful about an image. `said` means that the user has said which ring is which.
pub fn doubts(image: &RawImage, said: bool) -> Vec<Diagnostic> {
    let mut out = Vec::new();
    let rings: Vec<&RingView> = Dir::BOTH.into_iter().filter_map(|d| image.ring(d)).collect();
    if are_turned(&rings) {
        let why = "the bytes of each 32-bit word are in the wrong order: only turned round do the slots make sense (MODEL: a guess)";
        let help =
            "`od -An -v -tx4 --endian=big FILE | dmadbg check -` reads it in the other order";
        out.push(Diagnostic::new("D006", why).severity(Severity::Warning).help(help));
    }
    let wrong: Vec<Dir> =
        rings.iter().filter(|r| looks(r).is_some_and(|d| d != r.dir())).map(|r| r.dir()).collect();
    match wrong.as_slice() {
        [Dir::Tx, Dir::Rx] if said => {
            let why = "the images look swapped: word 1 is zero in every used Tx slot, as in Rx, and set in every Rx slot, as in Tx (MODEL: a guess)";
            let d = Diagnostic::new("D022", why).severity(Severity::Warning);
            out.push(d.help("give them the other way round: --tx B --rx A"));
        }
        [dir] if said => {
            let (is, as_in) = match dir {
                Dir::Tx => ("zero", Dir::Rx),
                Dir::Rx => ("set", Dir::Tx),
            };
            let why = format!(
                "word 1 is {is} in every used slot of the {dir} image, as in {as_in} (MODEL: a guess)"
            );
            out.push(Diagnostic::new("D022", why).severity(Severity::Warning));
        }
        _ => {}
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::program::Blob;

    fn ring(dir: Dir, descs: &[Desc]) -> RingView {
        let bytes = descs.iter().flat_map(|d| d.to_bytes()).collect();
        RingView::whole(dir, Blob::from_vec(bytes))
    }

    fn codes(tx: Option<&[Desc]>, rx: Option<&[Desc]>, said: bool) -> Vec<&'static str> {
        let rings = [tx.map(|t| ring(Dir::Tx, t)), rx.map(|r| ring(Dir::Rx, r))];
        doubts(&RawImage::new("x", "", rings), said).iter().map(|d| d.code).collect()
    }

    const TX: Desc = Desc { len_ctrl: 0x0d00_1000, word1: 0x0108_0003, ptr: 0x4000_400a_3000 };
    const RX: Desc = Desc { len_ctrl: 0x0100_1000, word1: 0, ptr: 0x1000_0000 };

    #[test]
    fn rings_given_for_each_other_are_told_and_good_ones_are_not() {
        let none: [&str; 0] = [];
        let zero = Desc::default();
        assert_eq!(codes(Some(&[TX, zero]), Some(&[RX, zero]), true), none);
        assert_eq!(codes(Some(&[RX, zero]), Some(&[TX]), true), ["D022"]);
        assert_eq!(codes(Some(&[RX]), None, true), ["D022"]);
        assert_eq!(codes(Some(&[RX, TX]), Some(&[TX, RX]), true), none);
        assert_eq!(codes(Some(&[zero]), Some(&[zero]), true), none);
    }

    #[test]
    fn turned_words_are_told_where_only_they_make_sense() {
        let (tx, rx) = ([turned(TX), turned(TX)], [turned(RX)]);
        assert_eq!(codes(Some(&tx), Some(&rx), false), ["D006"]);
        assert_eq!(codes(Some(&tx), None, false), ["D006"]);
        // A marker's Rx descriptor looks well either way.
        let mark = turned(Desc { len_ctrl: 0x0100_0004, ..RX });
        assert_eq!(codes(Some(&tx), Some(&[rx[0], mark]), false), ["D006"]);
        assert_eq!(codes(Some(&[tx[0], TX]), None, false), Vec::<&str>::new());
        assert_eq!(turned(turned(TX)), TX);
    }
}
