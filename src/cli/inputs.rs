//! What the subcommands need of their input files: named rings as plain views, the
//! generation, and how it was found out.

use super::args::{RingKind, RingOpts, SlotRange};
use crate::check::{ImageView, RingView, view::scan};
use crate::diag::{Diagnostic, Report};
use crate::engine::program::Blob;
use crate::udma::{DESC_BYTES, Desc, Dir, Generation, Profile};
use std::path::{Path, PathBuf};

/// The rings of one queue.
pub struct RingSet {
    /// What to call it: a file name, or a queue.
    pub name: String,
    /// Tx ring.
    pub tx: Option<Box<dyn RingView>>,
    /// Rx ring.
    pub rx: Option<Box<dyn RingView>>,
    /// Tx and Rx slots lie in turn in one image, and are shown in that order.
    pub interleaved: bool,
    /// Engine and queue, where known.
    pub queue: Option<(u32, u32)>,
}

impl RingSet {
    /// A ring as a view.
    pub fn ring(&self, dir: Dir) -> Option<&dyn RingView> {
        match dir {
            Dir::Tx => self.tx.as_deref(),
            Dir::Rx => self.rx.as_deref(),
        }
    }
}

/// An input that was opened.
pub struct Input {
    /// Its name, or names.
    pub name: String,
    /// What it is, in words.
    pub kind: String,
    /// How that was recognised.
    pub why: String,
    /// Generation.
    pub arch: Generation,
    /// Where the generation is from.
    pub arch_why: String,
    /// Driver profile.
    pub profile: &'static Profile,
    /// The rings.
    pub sets: Vec<RingSet>,
    /// Findings while reading.
    pub report: Report,
}

/// An image that owns its bytes (or shares a mapping of them).
pub struct OwnedImage {
    bytes: Blob,
    interleaved: Option<Dir>,
}

impl OwnedImage {
    /// One ring, or one direction of interleaved pairs.
    pub fn new(bytes: Blob, interleaved: Option<Dir>) -> OwnedImage {
        OwnedImage { bytes, interleaved }
    }

    fn view(&self) -> ImageView<'_> {
        match self.interleaved {
            None => ImageView::new(self.bytes.bytes()),
            Some(dir) => ImageView::interleaved(self.bytes.bytes(), dir == Dir::Rx),
        }
    }
}

impl RingView for OwnedImage {
    fn len(&self) -> u64 {
        self.view().len()
    }

    fn get(&self, index: u64) -> Option<Desc> {
        self.view().get(index)
    }

    fn read(&self, first: u64, out: &mut [Desc]) -> usize {
        self.view().read(first, out)
    }
}

/// A part of a ring, as if it were the whole.
pub struct Window<'a> {
    ring: &'a dyn RingView,
    range: SlotRange,
}

impl<'a> Window<'a> {
    /// Slots `range` of a ring; all where there is no range.
    pub fn new(ring: &'a dyn RingView, range: Option<SlotRange>) -> Window<'a> {
        let range = range.unwrap_or(SlotRange { first: 0, end: u64::MAX });
        Window { ring, range }
    }

    /// The ring's number of the window's first slot.
    pub fn first(&self) -> u64 {
        self.range.first
    }
}

impl RingView for Window<'_> {
    fn len(&self) -> u64 {
        let end = self.range.end.min(self.ring.len());
        end.saturating_sub(self.range.first)
    }

    fn get(&self, index: u64) -> Option<Desc> {
        if index < self.len() { self.ring.get(self.range.first + index) } else { None }
    }

    fn read(&self, first: u64, out: &mut [Desc]) -> usize {
        let left = usize::try_from(self.len().saturating_sub(first)).unwrap_or(usize::MAX);
        let n = out.len().min(left);
        self.ring.read(self.range.first + first, &mut out[..n])
    }
}

/// Opens raw images for the commands that work on rings.
///
/// # Errors
/// Every reason why they cannot be read as that.
pub fn open(files: &[PathBuf], opts: &RingOpts) -> Result<Input, Report> {
    let mut report = Report::default();
    let mut sets = Vec::new();
    for path in files {
        match raw(path, opts.ring) {
            Ok(set) => sets.push(set),
            Err(d) => report.push(d.in_file(&path.display().to_string())),
        }
    }
    if opts.tx.is_some() || opts.rx.is_some() {
        let mut half = |path: &Option<PathBuf>, kind| match path.as_ref() {
            None => None,
            Some(p) => match raw(p, Some(kind)) {
                Ok(set) => Some(set),
                Err(d) => {
                    report.push(d.in_file(&p.display().to_string()));
                    None
                }
            },
        };
        let tx = half(&opts.tx, RingKind::Tx);
        let rx = half(&opts.rx, RingKind::Rx);
        let names: Vec<&str> = [&tx, &rx].into_iter().flatten().map(|s| s.name.as_str()).collect();
        sets.push(RingSet {
            name: names.join(" + "),
            tx: tx.and_then(|s| s.tx),
            rx: rx.and_then(|s| s.rx),
            interleaved: false,
            queue: None,
        });
    }
    if report.has_errors() {
        return Err(report);
    }
    let (arch, arch_why) = match opts.arch {
        Some(g) => (g, "given with --arch".to_owned()),
        None => detect_arch(&sets),
    };
    Ok(Input {
        name: sets.iter().map(|s| s.name.as_str()).collect::<Vec<_>>().join(", "),
        kind: "raw ring image".to_owned(),
        why: "no magic, and a size that is a multiple of 16".to_owned(),
        arch,
        arch_why,
        profile: opts.profile.map_or(Profile::default_profile(), |p| p.0),
        sets,
        report,
    })
}

fn raw(path: &Path, kind: Option<RingKind>) -> Result<RingSet, Box<Diagnostic>> {
    let bytes =
        std::fs::read(path).map_err(|e| Box::new(Diagnostic::new("D007", e.to_string())))?;
    if bytes.is_empty() {
        return Err(Diagnostic::new("D001", "the file is empty").into());
    }
    if !bytes.len().is_multiple_of(DESC_BYTES) {
        let n = bytes.len();
        return Err(Diagnostic::new("D002", format!("{n} bytes are no whole descriptors")).into());
    }
    let kind = kind.or_else(|| infer(&bytes)).ok_or_else(|| {
        Diagnostic::new("D006", "word 1 is zero in some used slots and not in others")
            .help("give --ring tx, --ring rx or --ring pairs")
    })?;
    let blob = Blob::from_vec(bytes);
    let image =
        |dir| -> Option<Box<dyn RingView>> { Some(Box::new(OwnedImage::new(blob.clone(), dir))) };
    let (tx, rx) = match kind {
        RingKind::Tx => (image(None), None),
        RingKind::Rx => (None, image(None)),
        RingKind::Pairs => (image(Some(Dir::Tx)), image(Some(Dir::Rx))),
    };
    let name = path.display().to_string();
    Ok(RingSet { name, tx, rx, interleaved: kind == RingKind::Pairs, queue: None })
}

/// The direction by the second word: set in every used slot of Tx, in none of Rx, in turn in
/// pairs.
fn infer(bytes: &[u8]) -> Option<RingKind> {
    let mut fits = [true; 3];
    for (i, d) in crate::udma::desc::iter_image(bytes).enumerate().filter(|(_, d)| !d.is_zero()) {
        let tx = d.word1 != 0;
        fits = [fits[0] && tx, fits[1] && !tx, fits[2] && tx == (i % 2 == 0)];
    }
    let kinds = [RingKind::Tx, RingKind::Rx, RingKind::Pairs];
    kinds.into_iter().zip(fits).find(|(_, fit)| *fit).map(|(k, _)| k)
}

/// The generation by the host window's bit of the addresses, else v3.
pub fn detect_arch(sets: &[RingSet]) -> (Generation, String) {
    for set in sets {
        for dir in Dir::BOTH {
            let Some(ring) = set.ring(dir) else { continue };
            let mut found = None;
            scan(ring, 0, ring.len(), |_, d| {
                let meta = dir == Dir::Tx && d.is_meta();
                if !meta && crate::udma::template::Template::parse(d.ptr).is_none() {
                    found = [Generation::V2, Generation::V3].into_iter().find(|g| g.is_host(d.ptr));
                }
                found.is_none()
            });
            if let Some(g) = found {
                let bit = g.host_base().trailing_zeros();
                return (g, format!("host window bit {bit} is set in an address"));
            }
        }
    }
    (Generation::V3, "assumed: no address lies in a host window; --arch says otherwise".to_owned())
}
