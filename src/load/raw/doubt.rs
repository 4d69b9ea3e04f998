//! Images that are most likely not what they are read as (`docs/formats.md`, "Raw images"): the
//! wrong direction, bytes in the wrong order within their words, or less than the whole ring.
//!
//! MODEL: all are guesses from what lies in the slots, and only said, never acted upon.

use super::program::legal_size;
use super::{RawImage, RingView};
use crate::diag::{Diagnostic, Place, Severity, SlotRef};
use crate::limits::SAMPLE_EDGE_SLOTS;
use crate::udma::describe::named;
use crate::udma::{Desc, Dir, Field, View, class, count_of};

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

/// Where an image looks as if it ended before its ring does, and why. A cut at a whole slot
/// leaves no half descriptor behind; what it leaves is a ring that is used up to its last slot
/// and has a size that no queue's ring has, ends inside a packet that its first slot does not
/// go on with, or is shorter than the ring beside it. `sized`: whether the size says anything.
fn cut_short(image: &RawImage, sized: bool) -> Option<(Dir, u64, String)> {
    let other = |dir: Dir| image.ring(dir.other());
    image.dirs().find_map(|dir| {
        let ring = image.ring(dir)?;
        let slots = ring.slots();
        let (first, last) = (ring.get(0)?, ring.get(slots.checked_sub(1)?)?);
        if last.is_zero() {
            return None;
        }
        let count = count_of(slots, "slot");
        let beyond = |o: &RingView| {
            let used = |i| o.get(i).is_some_and(|d| !d.is_zero());
            !ring.is_interleaved() && o.slots() > slots && used(slots)
        };
        let open = dir == Dir::Tx && (last.is_meta() || (last.concat() && !last.last()));
        let why = if sized && legal_size(slots) != slots {
            format!("{count}, the last one used, and no queue has a ring of that size")
        } else if open && slots > 1 && first.first() {
            format!("{count}, the last one leaves a packet open, and slot 0 begins another")
        } else if let Some(o) = other(dir).filter(|o| beyond(o)) {
            let more = count_of(o.slots(), "slot");
            format!("{count}, the last one used, and the {} ring beside it has {more}", o.dir())
        } else {
            return None;
        };
        Some((dir, slots - 1, why))
    })
}

/// What is doubtful about an image. `sized` means that its size is a file's, `said` means that the user has said which ring is which.
pub fn doubts(image: &RawImage, sized: bool, said: bool) -> Vec<Diagnostic> {
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
    // Of slots that are none nothing else can be said.
    let readable = out.is_empty();
    if let Some((dir, slot, why)) = readable.then(|| cut_short(image, sized)).flatten() {
        let d = Diagnostic::new("D036", format!("the image looks cut: {why} (MODEL: a guess)"));
        out.push(d.at(Place::slot(SlotRef { queue: None, dir, index: slot })));
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
        doubts(&RawImage::new("x", "", rings), false, said).iter().map(|d| d.code).collect()
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

    #[test]
    fn images_that_end_before_their_ring_are_told_and_whole_ones_are_not() {
        let zero = Desc::default();
        let told = |tx: &[Desc], rx: &[Desc], sized: bool| {
            let rings = [(Dir::Tx, tx), (Dir::Rx, rx)];
            let rings = rings.map(|(dir, d)| (!d.is_empty()).then(|| ring(dir, d)));
            let all = doubts(&RawImage::new("x", "", rings), sized, false);
            all.iter().map(|d| (d.code, d.message.contains("MODEL"))).collect::<Vec<_>>()
        };
        let (cut, none) = (vec![("D036", true)], Vec::new());
        // Sizes: a legal one, others that are used up to the end or not, a text of any length.
        assert_eq!(told(&[TX; 48], &[], true), none);
        for slots in [1, 17, 31, 33, 40] {
            assert_eq!(told(&vec![TX; slots], &[], true), cut, "{slots}");
            assert_eq!(told(&[], &vec![RX; slots], true), cut, "{slots}");
            assert_eq!(told(&vec![TX; slots], &[], false), none, "{slots}");
            let mut padded = vec![TX; slots];
            padded.push(zero);
            assert_eq!(told(&padded, &[], true), none, "{slots}");
        }
        // A packet that is open at the end goes on in slot 0, or nowhere.
        let (begin, end) =
            (Desc { len_ctrl: 0x8500_1000, ..TX }, Desc { len_ctrl: 0x0900_1000, ..TX });
        let mut open = [TX; 32];
        open[31] = begin;
        assert_eq!(told(&open, &[], true), cut);
        open[0] = end;
        assert_eq!(told(&open, &[], true), none);
        // Two rings of one queue of which one goes on where the other ends.
        assert_eq!(told(&[TX; 32], &[RX; 48], true), cut);
        assert_eq!(told(&[TX; 48], &[RX; 32], true), cut);
        let mut short = [zero; 48];
        short[..32].fill(RX);
        assert_eq!(told(&[TX; 32], &short, true), none);
    }
}
