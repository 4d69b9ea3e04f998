//! Raw ring images: which direction they are, and their slots by index.
//!
//! An image is never read through on opening: its direction is told from a bounded sample
//! (see `sample`), and a slot is read when it is asked for. Making a program of it, which does
//! read every slot of a legal ring, is a separate call ([`to_program`]). The rules are in
//! `docs/formats.md`, "Raw images".

mod batch;
mod browse;
mod compare;
mod doubt;
mod memory;
mod order;
mod program;

use super::source::Source;
use crate::diag::{Diagnostic, Place};
use crate::engine::program::{Blob, QueueId};
use crate::limits::{
    SAMPLE_EDGE_SLOTS, SAMPLE_LET_GO, SAMPLE_PROBE_SLOTS, SAMPLE_PROBES, SAMPLE_PROBES_DEEP,
    SAMPLE_WHOLE_SLOTS,
};
use crate::udma::{DESC_BYTES, Desc, Dir, Generation, Profile, Rows, count_of};

pub use batch::Batching;
pub use browse::browse_program;
pub use compare::{InOrder, as_pair, in_order};
pub use doubt::doubts;
pub use order::{Order, order};
pub use program::{infer_arch, to_program, to_program_many};

/// How a raw image is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RingChoice {
    /// One Tx ring.
    Tx,
    /// One Rx ring.
    Rx,
    /// Tx and Rx descriptors in turn.
    Pairs,
}

impl RingChoice {
    /// `tx`, `rx`, `pairs`.
    pub fn name(self) -> &'static str {
        match self {
            RingChoice::Tx => "tx",
            RingChoice::Rx => "rx",
            RingChoice::Pairs => "pairs",
        }
    }
}

impl std::str::FromStr for RingChoice {
    type Err = crate::udma::arch::UnknownName;
    fn from_str(s: &str) -> Result<Self, Self::Err> {
        [RingChoice::Tx, RingChoice::Rx, RingChoice::Pairs]
            .into_iter()
            .find(|c| c.name() == s)
            .ok_or_else(|| crate::udma::arch::UnknownName {
                given: s.to_owned(),
                what: "ring choice",
                known: "tx, rx, pairs".to_owned(),
            })
    }
}

/// The slots of one direction, read where they lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RingView {
    dir: Dir,
    blob: Blob,
    /// Descriptor of the blob that is slot 0.
    first: u64,
    /// Descriptors from one slot to the next: 1, or 2 in an image of pairs.
    stride: u64,
    slots: u64,
}

impl RingView {
    /// A ring that fills `blob`; a tail shorter than a slot is left out.
    pub fn whole(dir: Dir, blob: Blob) -> RingView {
        let slots = (blob.len() / DESC_BYTES) as u64;
        RingView { dir, blob, first: 0, stride: 1, slots }
    }

    /// One direction of alternating pairs, Tx first.
    pub fn of_pairs(dir: Dir, blob: Blob) -> RingView {
        let all = (blob.len() / DESC_BYTES) as u64;
        let (first, slots) = match dir {
            Dir::Tx => (0, all.div_ceil(2)),
            Dir::Rx => (1, all / 2),
        };
        RingView { dir, blob, first, stride: 2, slots }
    }

    /// Direction.
    pub fn dir(&self) -> Dir {
        self.dir
    }

    /// How many slots there are.
    pub fn slots(&self) -> u64 {
        self.slots
    }

    /// A slot, in constant time.
    pub fn get(&self, index: u64) -> Option<Desc> {
        if index >= self.slots {
            return None;
        }
        crate::udma::desc::image_slot(self.blob.bytes(), self.first + index * self.stride)
    }

    /// Whether it is one direction of an image of pairs.
    pub fn is_interleaved(&self) -> bool {
        self.stride > 1
    }

    /// Calls `f` with `count` slots from `from` on, numbered from 0: one look at the bytes for
    /// all of them.
    pub fn each(&self, from: u64, count: u64, mut f: impl FnMut(u64, Desc)) {
        let slots = self.blob.bytes().as_chunks::<DESC_BYTES>().0;
        let at = usize::try_from(self.first + from * self.stride).unwrap_or(usize::MAX);
        let rest = slots.get(at..).unwrap_or_default().iter().step_by(self.stride as usize);
        for (i, bytes) in (0..count).zip(rest) {
            f(i, Desc::from_bytes(bytes));
        }
    }

    /// Slots from `from` on where they lie, at most `count`.
    pub fn rows(&self, from: u64, count: u64) -> Option<Rows<'_>> {
        let slots = self.blob.bytes().as_chunks::<DESC_BYTES>().0;
        let at = usize::try_from(self.first + from * self.stride).ok()?;
        let left = self.slots.saturating_sub(from).min(count);
        Some(Rows::new(slots.get(at..)?, self.stride as usize).first(left))
    }

    /// Byte offset of a slot in the image.
    pub fn offset(&self, index: u64) -> u64 {
        (self.first + index * self.stride) * DESC_BYTES as u64
    }

    /// The slots from `from` up to `to`, as a ring of their own; clamped.
    #[must_use]
    pub fn window(&self, from: u64, to: u64) -> RingView {
        let from = from.min(self.slots);
        let slots = to.min(self.slots).saturating_sub(from);
        RingView { first: self.first + from * self.stride, slots, ..self.clone() }
    }

    /// The bytes of the first `count` slots, where they lie.
    pub fn bytes(&self, count: u64) -> Blob {
        let count = count.min(self.slots) as usize;
        let first = self.first as usize;
        if self.stride == 1 {
            return self.blob.slice(first * DESC_BYTES, count * DESC_BYTES);
        }
        Blob::turns(self.blob.clone(), first, self.stride as usize, count)
    }
}

/// One queue's image, both directions or one, and what is known about it from elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawImage {
    /// Name: the file's, or the run's where an index has one.
    pub name: String,
    /// The Tx ring.
    pub tx: Option<RingView>,
    /// The Rx ring.
    pub rx: Option<RingView>,
    /// Why it is taken for this, in a sentence.
    pub why: String,
    /// Queue that an index names.
    pub queue: Option<QueueId>,
    /// Generation that an index names.
    pub arch: Option<Generation>,
    /// Driver that an index names.
    pub profile: Option<&'static Profile>,
    /// Address of slot 0 that an index names, Tx and Rx.
    pub bases: [Option<u64>; 2],
}

impl RawImage {
    /// An image of these rings.
    pub fn new(
        name: impl Into<String>,
        why: impl Into<String>,
        rings: [Option<RingView>; 2],
    ) -> RawImage {
        let [tx, rx] = rings;
        RawImage {
            name: name.into(),
            tx,
            rx,
            why: why.into(),
            queue: None,
            arch: None,
            profile: None,
            bases: [None; 2],
        }
    }

    /// The ring of a direction.
    pub fn ring(&self, dir: Dir) -> Option<&RingView> {
        match dir {
            Dir::Tx => self.tx.as_ref(),
            Dir::Rx => self.rx.as_ref(),
        }
    }

    /// A slot, in constant time.
    pub fn get(&self, dir: Dir, index: u64) -> Option<Desc> {
        self.ring(dir)?.get(index)
    }

    /// Slots of the longer direction.
    pub fn slots(&self) -> u64 {
        Dir::BOTH.iter().filter_map(|d| self.ring(*d)).map(RingView::slots).max().unwrap_or(0)
    }

    /// The directions that are there.
    pub fn dirs(&self) -> impl Iterator<Item = Dir> + '_ {
        Dir::BOTH.into_iter().filter(|d| self.ring(*d).is_some())
    }
}

/// What the sample holds: used slots by parity and by whether word 1 is zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Sampled {
    /// Word 1 set (as in Tx), slots 0, 2, .. and 1, 3, ..
    set: [u64; 2],
    /// Word 1 zero (as in Rx).
    zero: [u64; 2],
}

impl Sampled {
    fn used(&self) -> u64 {
        self.set.iter().chain(&self.zero).sum()
    }

    fn window(&mut self, bytes: &[u8], from: u64, slots: u64) {
        for i in from..from.saturating_add(slots) {
            let Some(d) = crate::udma::desc::image_slot(bytes, i) else { return };
            if d.is_zero() {
                continue;
            }
            let side = if d.word1 != 0 { &mut self.set } else { &mut self.zero };
            let [even, odd] = side;
            *(if i % 2 == 0 { even } else { odd }) += 1;
        }
    }
}

/// Looks at both ends and at probes spread evenly between them; where all of those are
/// unused, at the whole of a small image and at more probes of a large one. What was looked at
/// is let go of now and then.
fn sample(source: &Source) -> Sampled {
    let bytes = source.blob.bytes();
    let slots = (bytes.len() / DESC_BYTES) as u64;
    let mut s = Sampled::default();
    s.window(bytes, 0, SAMPLE_EDGE_SLOTS);
    let tail = slots.saturating_sub(SAMPLE_EDGE_SLOTS);
    if tail > 0 {
        let tail = tail.max(SAMPLE_EDGE_SLOTS);
        s.window(bytes, tail, SAMPLE_EDGE_SLOTS);
        let deep = if slots <= SAMPLE_WHOLE_SLOTS { slots } else { SAMPLE_PROBES_DEEP };
        for probes in [SAMPLE_PROBES, deep] {
            let step = (slots / probes).max(SAMPLE_PROBE_SLOTS) & !1;
            let mut at = SAMPLE_EDGE_SLOTS;
            let mut looks = 0;
            while at < tail && (probes == SAMPLE_PROBES || s.used() == 0) {
                s.window(bytes, at, SAMPLE_PROBE_SLOTS.min(tail - at));
                at += step;
                looks += 1;
                if looks % SAMPLE_LET_GO == 0 {
                    source.let_go();
                }
            }
        }
    }
    s
}

/// Tells how an image is to be read, and why.
fn direction(source: &Source) -> Result<(RingChoice, String), Diagnostic> {
    let s = sample(source);
    let n = s.used();
    let all = |side: [u64; 2]| side.iter().sum::<u64>() == n;
    if n == 0 {
        return Ok((
            RingChoice::Tx,
            "no used slot was found, so the direction cannot be seen: taken as Tx".to_owned(),
        ));
    }
    if all(s.set) {
        return Ok((RingChoice::Tx, format!("Tx: word 1 is set in all {n} used slots looked at")));
    }
    if all(s.zero) {
        return Ok((RingChoice::Rx, format!("Rx: word 1 is zero in all {n} used slots looked at")));
    }
    let ([even_set, odd_set], [even_zero, odd_zero]) = (s.set, s.zero);
    if odd_set == 0 && even_zero == 0 {
        return Ok((
            RingChoice::Pairs,
            format!(
                "Tx, Rx pairs: word 1 is set in {even_set} even used slots and zero in {odd_zero} odd ones"
            ),
        ));
    }
    Err(Diagnostic::new(
        "D006",
        format!(
            "of {n} used slots looked at, {} have word 1 set and {} zero, and they do not alternate",
            even_set + odd_set,
            even_zero + odd_zero
        ),
    )
    .help("say what it is: --ring tx, --ring rx or --ring pairs"))
}

/// Reads bytes as a raw image; `choice` forces how.
///
/// # Errors
/// D001, D002 where the size cannot be a row of slots, D006 where the direction is unclear.
pub fn image(source: &Source, choice: Option<RingChoice>) -> Result<RawImage, Diagnostic> {
    let (name, blob) = (&source.name, &source.blob);
    if blob.is_empty() {
        return Err(Diagnostic::new("D001", format!("`{name}` is empty")).in_file(name));
    }
    let over = blob.len() % DESC_BYTES;
    if over != 0 {
        let last = (blob.len() - over) as u64;
        return Err(Diagnostic::new(
            "D002",
            format!("{}, no whole slots of 16: {over} left over", count_of(blob.len(), "byte")),
        )
        .at(Place::offset(last).in_file(name)));
    }
    let (choice, why) = match choice {
        Some(c) => (c, format!("read as {} because --ring says so", c.name())),
        None => direction(source).map_err(|d| d.in_file(name))?,
    };
    source.in_order();
    let rings = match choice {
        RingChoice::Tx => [Some(RingView::whole(Dir::Tx, blob.clone())), None],
        RingChoice::Rx => [None, Some(RingView::whole(Dir::Rx, blob.clone()))],
        RingChoice::Pairs => Dir::BOTH.map(|d| Some(RingView::of_pairs(d, blob.clone()))),
    };
    Ok(RawImage::new(name.clone(), why, rings))
}

#[cfg(test)]
mod tests;
