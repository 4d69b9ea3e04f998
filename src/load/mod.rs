//! Bytes and text in and out: from files to programs and raw images, and back.
//!
//! [`open`] takes paths, [`load_bytes`] bytes that are already there (and touches no file).
//! Nothing here decides what a machine does with a descriptor, and nothing prints: what was
//! recognised, why, and what is wrong come back as values. The inputs are described in
//! `docs/formats.md`, the two formats of this project in `docs/container.md` and
//! `docs/assembly.md`.

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub mod arbitrary;
pub mod asm;
pub mod bir;
pub mod container;
pub mod detect;
pub mod dir;
pub mod disasm;
pub mod export;
pub mod hex;
pub mod mapped;
pub mod module;
pub use crate::engine::ops;
pub mod operations;
pub mod raw;
pub mod save;
pub mod source;
pub mod validate;

use crate::diag::{Diagnostic, Policy, Report, Severity};
use crate::engine::lower::Stage;
use crate::engine::program::{Blob, Program};
use crate::limits::{MAX_BIR_BYTES, MAX_TEXT_BYTES};
use crate::udma::{Dir, Generation, Profile};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use detect::{Detected, Kind, detect};
pub use raw::{Batching, RawImage, RingChoice, RingView};
pub use source::Source;

/// What the command line says about inputs; nothing by default.
#[derive(Debug, Clone, Default)]
pub struct LoadOptions {
    /// What a single input is called, in place of its path.
    pub name: Option<String>,
    /// How raw bytes are to be read (`--ring`).
    pub ring: Option<RingChoice>,
    /// File of the Tx ring (`--tx`).
    pub tx: Option<PathBuf>,
    /// File of the Rx ring (`--rx`).
    pub rx: Option<PathBuf>,
    /// Generation (`--arch`).
    pub arch: Option<Generation>,
    /// Driver profile (`--profile`).
    pub profile: Option<&'static Profile>,
    /// Engine (`--engine`).
    pub engine: Option<u32>,
    /// Queue (`--queue`).
    pub queue: Option<u32>,
    /// First slot of a raw image (`--start`), counted from the window's first.
    pub start: Option<u64>,
    /// Where batches of a raw image end (`--batch`).
    pub batch: Option<Batching>,
    /// Window of a raw image (`--slots A:B`): slots A up to, not including, B.
    pub slots: Option<(u64, u64)>,
    /// Address of the Tx ring.
    pub tx_base: Option<u64>,
    /// Address of the Rx ring.
    pub rx_base: Option<u64>,
    /// How a module is lowered and what its memory holds.
    pub module: module::ModuleOptions,
    /// Files may be changed by others while they are looked at: they are read, not mapped.
    pub watched: bool,
    /// Only look: make no program of raw images, which would read all of their slots.
    pub browse: bool,
    /// Slots of a raw image up to which a program is made of it; a window is taken as given.
    pub run_slots: Option<u64>,
}

/// Reads `A:B` of `--slots`; either side may be left out.
///
/// # Errors
/// S011 where it is no window.
pub fn parse_window(text: &str) -> Result<(u64, u64), Diagnostic> {
    let wrong = || Diagnostic::new("S011", format!("`{text}` is no window such as 16:48"));
    let (a, b) = text.split_once(':').ok_or_else(wrong)?;
    let side = |s: &str, default| if s.is_empty() { Ok(default) } else { s.parse() };
    match (side(a, 0), side(b, u64::MAX)) {
        (Ok(a), Ok(b)) if a < b => Ok((a, b)),
        _ => Err(wrong()),
    }
}

/// The text that a program came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceText {
    /// The whole text.
    pub text: Arc<str>,
    /// Line, from 1, of each operation of the script.
    pub lines: Vec<u32>,
}

/// What an input turned out to be.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// Name for the user.
    pub name: String,
    /// Kind.
    pub kind: Kind,
    /// Why it is taken for that, in a sentence or two.
    pub why: String,
    /// What can be stepped, if anything.
    pub program: Option<Arc<Program>>,
    /// The rings of raw inputs.
    pub images: Vec<RawImage>,
    /// The module, where the input is one.
    pub module: Option<Arc<module::LoadedModule>>,
    /// The text, where the input was one that has operations.
    pub source: Option<SourceText>,
    /// Notes and warnings; no errors.
    pub report: Report,
    /// What comments of the text say about findings.
    pub policy: Policy,
}

/// Opens what the command line names: one input, two raw rings of one queue, or several raw
/// images.
///
/// # Errors
/// Everything that is wrong with the inputs, each finding with its file.
pub fn open(paths: &[PathBuf], opts: &LoadOptions) -> Result<Loaded, Report> {
    if opts.tx.is_some() || opts.rx.is_some() {
        if let Some(extra) = paths.first() {
            let why = format!("`{}` stands beside --tx and --rx", extra.display());
            return Err(Diagnostic::new("S011", why).into());
        }
        return named_pair(opts);
    }
    match paths {
        [] => Err(Diagnostic::new("S011", "no input is named")
            .help(
                "`dmadbg FILE` opens the screen, `dmadbg sample open copy-4k` a sample; \
                   `dmadbg --help` lists the commands",
            )
            .into()),
        [path] if path.is_dir() => directory(path, opts),
        [path] => {
            let mut source = source::open_as(path, opts.watched)?;
            opts.name.iter().for_each(|name| source.name.clone_from(name));
            load(source, opts)
        }
        many => several(many, opts),
    }
}

/// Reads bytes that are already in memory or mapped; touches no file.
///
/// # Errors
/// Everything that is wrong with them.
pub fn load_bytes(name: &str, blob: Blob, opts: &LoadOptions) -> Result<Loaded, Report> {
    load(Source::new(name, blob), opts)
}

fn load(source: Source, opts: &LoadOptions) -> Result<Loaded, Report> {
    let (name, blob) = (source.name.clone(), &source.blob);
    let found = match opts.ring {
        // Said to be a ring: not looked at further, but for text and images of ours.
        Some(_) => detect(&name, blob.bytes()).unwrap_or(Detected {
            kind: Kind::Raw,
            why: "--ring says that it is a raw image".to_owned(),
        }),
        None => detect(&name, blob.bytes()).map_err(Report::from)?,
    };
    let in_file = |mut l: Loaded| {
        l.report = l.report.in_file(&name);
        l
    };
    known(source, found, opts).map(in_file).map_err(|r| r.in_file(&name))
}

fn known(mut source: Source, found: Detected, opts: &LoadOptions) -> Result<Loaded, Report> {
    match found.kind {
        Kind::Raw | Kind::Directory | Kind::Container => {}
        Kind::BirText | Kind::BirJson => source.own(MAX_BIR_BYTES),
        Kind::Assembly | Kind::Hex(_) | Kind::Script => source.own(MAX_TEXT_BYTES),
    }
    let (policy, lines) = directives(&source, found.kind)?;
    let mut loaded = Loaded {
        name: source.name.clone(),
        kind: found.kind,
        why: found.why,
        program: None,
        images: Vec::new(),
        module: None,
        source: None,
        report: Report::default(),
        policy,
    };
    match found.kind {
        Kind::Container => {
            source.in_order();
            let (program, report) = container::read(&source.blob)?;
            loaded.program = Some(Arc::new(program));
            loaded.report = report;
        }
        Kind::Assembly => {
            let text: Arc<str> = text(&source)?.into();
            let a = asm::assemble(&text)?;
            loaded.program = Some(Arc::new(a.program));
            loaded.source = Some(SourceText { text, lines: a.lines });
        }
        Kind::Hex(_) => {
            let dump = hex::parse(text(&source)?)?;
            loaded.kind = Kind::Hex(dump.form);
            if dump.skipped > 0 {
                let s = if dump.skipped == 1 { "" } else { "s" };
                loaded.why = format!("{}; {} other line{s} passed over", loaded.why, dump.skipped);
            }
            let bytes = Source::new(source.name, Blob::from_vec(dump.bytes));
            if bytes.blob.bytes().starts_with(&container::MAGIC) {
                let why =
                    format!("{}; its bytes begin with the magic of a program image", loaded.why);
                return known(bytes, Detected { kind: Kind::Container, why }, opts);
            }
            let image = raw::image(&bytes, opts.ring).map_err(Report::from)?;
            loaded.with_images(vec![image], opts);
        }
        Kind::Raw | Kind::Directory => {
            let image = raw::image(&source, opts.ring).map_err(Report::from)?;
            loaded.with_images(vec![image], opts);
        }
        Kind::BirText | Kind::BirJson => {
            source.in_order();
            let json = found.kind == Kind::BirJson;
            let bytes = source.blob.bytes();
            let (m, report) =
                module::LoadedModule::read(&source.name, bytes, json, &opts.module, opts.arch)?;
            loaded.report = report;
            if !opts.browse && opts.module.upto == Stage::Rings {
                let profile = opts.profile.unwrap_or(Profile::default_profile());
                loaded.program = Some(Arc::new(m.program(&opts.module, profile)?));
            }
            loaded.module = Some(Arc::new(m));
        }
        Kind::Script => {
            let what = found.kind.name();
            let d = Diagnostic::new("D003", format!("{what}: nothing to run by itself"));
            return Err(d.help("dmadbg run FILE --script SCRIPT").into());
        }
    }
    if let Some(p) = loaded.program.as_mut().filter(|_| !lines.is_empty()) {
        Arc::make_mut(p).aside.directives = lines;
    }
    if loaded.report.has_errors() { Err(loaded.report) } else { Ok(loaded) }
}

impl Loaded {
    /// Puts raw images in, and a program of them unless only browsing is asked for.
    fn with_images(&mut self, images: Vec<RawImage>, opts: &LoadOptions) {
        if let [one] = images.as_slice() {
            self.why = format!("{}; {}", self.why, one.why);
        }
        // What makes all that follows doubtful is said first.
        for image in &images {
            let said = opts.tx.is_some() || opts.rx.is_some();
            let sized = !matches!(self.kind, Kind::Hex(_));
            for d in raw::doubts(image, sized, said) {
                self.report.push(d.in_file(&image.name));
            }
        }
        if !opts.browse {
            let all: Vec<&RawImage> = images.iter().collect();
            let (program, report) = raw::to_program_many(&all, opts);
            self.program = program.map(Arc::new);
            self.report.extend(report);
        }
        self.images = images;
    }
}

/// Text, whole.
fn text(s: &Source) -> Result<&str, Report> {
    if s.blob.len() as u64 > MAX_TEXT_BYTES {
        let why = format!("a text of {} bytes; at most {MAX_TEXT_BYTES}", s.blob.len());
        return Err(Diagnostic::new("D025", why).into());
    }
    s.in_order();
    let text = std::str::from_utf8(s.blob.bytes());
    text.map(|t| t.strip_prefix('\u{feff}').unwrap_or(t)).map_err(|e| {
        let at = crate::diag::Place::offset(e.valid_up_to() as u64);
        Diagnostic::new("D004", "text that is not UTF-8 throughout").at(at).into()
    })
}

/// What begins a comment in a text.
fn comment_marks(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Assembly | Kind::BirText => &[";"],
        Kind::Hex(_) => &[";", "#", "//"],
        _ => &[],
    }
}

/// What the comment lines of a text say about findings, and those lines.
fn directives(source: &Source, kind: Kind) -> Result<(Policy, Vec<String>), Report> {
    let marks = comment_marks(kind);
    // What is no text, or too long a one, is told where it is read.
    let Some(text) = text(source).ok().filter(|_| !marks.is_empty()) else {
        return Ok(Default::default());
    };
    Ok((Policy::of_text(text, marks)?, Policy::lines(text, marks)))
}

/// `--tx A --rx B`, or one of them.
fn named_pair(opts: &LoadOptions) -> Result<Loaded, Report> {
    let mut report = Report::default();
    let mut rings = [None, None];
    let mut names = Vec::new();
    for (dir, path) in [(Dir::Tx, &opts.tx), (Dir::Rx, &opts.rx)] {
        let Some(path) = path else { continue };
        names.push(path.to_string_lossy().into_owned());
        let choice = if dir == Dir::Tx { RingChoice::Tx } else { RingChoice::Rx };
        match one_raw(path, Some(choice), opts.watched) {
            Ok((image, _)) => {
                let [tx, rx] = &mut rings;
                let slot = if dir == Dir::Tx { tx } else { rx };
                *slot = image.ring(dir).cloned();
            }
            Err(r) => report.extend(r),
        }
    }
    if report.has_errors() {
        return Err(report);
    }
    let why = "--tx and --rx say the directions";
    let image = RawImage::new(names.join(" + "), why, rings);
    finish(names.join(" + "), Kind::Raw, "raw ring images".to_owned(), vec![image], opts, report)
}

/// Opens a file that must be raw, directly or as hex text.
fn one_raw(
    path: &Path,
    choice: Option<RingChoice>,
    watched: bool,
) -> Result<(RawImage, Kind), Report> {
    let s = source::open_as(path, watched)?;
    let opts = LoadOptions { ring: choice, browse: true, ..LoadOptions::default() };
    let name = s.name.clone();
    let l = load(s, &opts)?;
    match l.images.into_iter().next() {
        Some(image) => Ok((image, l.kind)),
        None => {
            let why = format!("`{name}` is {}: it cannot stand beside other inputs", l.kind.name());
            Err(Diagnostic::new("S011", why).in_file(&name).into())
        }
    }
}

/// Several raw files: a Tx and an Rx ring are one queue, other mixtures a queue each.
fn several(paths: &[PathBuf], opts: &LoadOptions) -> Result<Loaded, Report> {
    let mut report = Report::default();
    let mut images = Vec::new();
    for path in paths {
        match one_raw(path, opts.ring, opts.watched) {
            Ok((image, _)) => images.push(image),
            Err(r) => report.extend(r),
        }
    }
    if report.has_errors() {
        return Err(report);
    }
    let mut no_pair = false;
    let names: Vec<&str> = images.iter().map(|i| i.name.as_str()).collect();
    let (name, n) = (names.join(" + "), names.len());
    if let [a, b] = images.as_slice() {
        let pair = [a.tx.as_ref().or(b.tx.as_ref()), a.rx.as_ref().or(b.rx.as_ref())];
        let single = |i: &RawImage| i.dirs().count() == 1;
        if let ([Some(tx), Some(rx)], true) = (pair, single(a) && single(b)) {
            let why = format!("{}; {}", a.why, b.why);
            let both = RawImage::new(name.clone(), why, [Some(tx.clone()), Some(rx.clone())]);
            images = vec![both];
        } else if let (true, Some(dir)) = (single(a) && single(b), a.dirs().next()) {
            let why = format!("both images are {dir} rings: they are no pair");
            let d = Diagnostic::new("D022", why).severity(Severity::Warning);
            report.push(d.help("--tx A --rx B says which is which").in_file(&name));
            no_pair = true;
        }
    }
    let mut loaded = finish(name, Kind::Raw, format!("{n} raw ring images"), images, opts, report)?;
    if no_pair {
        // That each lacks the other direction follows from it.
        loaded.report.items.retain(|d| d.code != "D022" || d.severity != Severity::Note);
    }
    Ok(loaded)
}

fn directory(path: &Path, opts: &LoadOptions) -> Result<Loaded, Report> {
    let mut report = Report::default();
    let (images, files) = dir::images(path, opts.watched, &mut report).map_err(|d| {
        let mut r = std::mem::take(&mut report);
        r.push(d);
        r
    })?;
    if report.has_errors() {
        return Err(report);
    }
    let why = format!("a directory with {files} ring images");
    finish(path.to_string_lossy().into_owned(), Kind::Directory, why, images, opts, report)
}

fn finish(
    name: String,
    kind: Kind,
    why: String,
    images: Vec<RawImage>,
    opts: &LoadOptions,
    report: Report,
) -> Result<Loaded, Report> {
    let (program, module, source) = (None, None, None);
    let images_later = Vec::new();
    let policy = Policy::default();
    let mut loaded =
        Loaded { name, kind, why, program, images: images_later, module, source, report, policy };
    loaded.with_images(images, opts);
    loaded.report = loaded.report.in_file(&loaded.name);
    if loaded.report.has_errors() { Err(loaded.report) } else { Ok(loaded) }
}

#[cfg(test)]
mod tests;
