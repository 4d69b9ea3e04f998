//! A directory of ring images: every `*.tx.bin` / `*.rx.bin`, named by an `index.json` where
//! there is one (`docs/formats.md`, "Directories").
//!
//! The index only adds names, addresses and queues; what it lacks or gets wrong is not an
//! error. It cannot name a file outside of the directory, since the files are found by
//! listing it.

use super::raw::{RawImage, RingView};
use super::source::{self, Source};
use crate::diag::{Diagnostic, Report, Severity};
use crate::engine::program::{Blob, QueueId};
use crate::limits::{MAX_DIR_RINGS, MAX_INDEX_BYTES};
use crate::udma::profile::{ENGINE_SLOTS, QUEUES_PER_ENGINE};
use crate::udma::{DESC_BYTES, Dir, Generation, Profile, count_of};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The index's file name.
pub const INDEX: &str = "index.json";

/// The images of a directory, by name, and how many files they are.
///
/// # Errors
/// D007 where it cannot be listed, D008 where it has no ring image, D025 where it has too
/// many. A file that cannot be read is reported and left out: an error where none is left.
pub fn images(
    path: &Path,
    watched: bool,
    report: &mut Report,
) -> Result<(Vec<RawImage>, usize), Diagnostic> {
    let name = path.to_string_lossy();
    let rings = list(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::FileTooLarge => {
            let why = format!("`{name}` has more than {MAX_DIR_RINGS} ring images");
            Diagnostic::new("D025", why).in_file(&name)
        }
        _ => Diagnostic::new("D007", format!("cannot list `{name}`: {e}")).in_file(&name),
    })?;
    if rings.is_empty() {
        let why = format!("`{name}` has no file named *.tx.bin or *.rx.bin");
        return Err(Diagnostic::new("D008", why).in_file(&name));
    }
    let index = index(path, report);
    let mut files = 0;
    let mut out = Vec::new();
    for (stem, pair) in rings {
        let mut views = [None, None];
        for (dir, (view, file)) in Dir::BOTH.into_iter().zip(views.iter_mut().zip(&pair)) {
            let Some(file) = file else { continue };
            match source::open_as(file, watched).and_then(|s| ring(dir, &s)) {
                Ok(r) => {
                    files += 1;
                    *view = Some(r);
                }
                Err(d) => report.push(d),
            }
        }
        if views.iter().all(Option::is_none) {
            continue;
        }
        let mut image = RawImage::new(stem.clone(), "the file's name says the direction", views);
        if let Some(known) = index.get(&stem) {
            describe(&mut image, known);
        }
        out.push(image);
    }
    // One bad file does not hide the others.
    if !out.is_empty() {
        for d in &mut report.items {
            d.severity = d.severity.min(Severity::Warning);
        }
    }
    Ok((out, files))
}

type Pairs = BTreeMap<String, [Option<PathBuf>; 2]>;

fn list(path: &Path) -> std::io::Result<Pairs> {
    let mut out = Pairs::new();
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        let file = entry.file_name();
        let Some((stem, dir)) = file.to_str().and_then(split) else { continue };
        // Looks through links; a directory or a device of that name is no image.
        if !std::fs::metadata(entry.path()).is_ok_and(|m| m.is_file()) {
            continue;
        }
        let [tx, rx] = out.entry(stem.to_owned()).or_default();
        *(if dir == Dir::Tx { tx } else { rx }) = Some(entry.path());
        if out.len() > MAX_DIR_RINGS {
            return Err(std::io::ErrorKind::FileTooLarge.into());
        }
    }
    Ok(out)
}

/// `name.tx.bin` to (`name`, Tx).
pub fn split(file: &str) -> Option<(&str, Dir)> {
    let tx = file.strip_suffix(".tx.bin").map(|s| (s, Dir::Tx));
    tx.or_else(|| file.strip_suffix(".rx.bin").map(|s| (s, Dir::Rx)))
}

fn ring(dir: Dir, s: &Source) -> Result<RingView, Diagnostic> {
    let blob: &Blob = &s.blob;
    s.in_order();
    if !blob.len().is_multiple_of(DESC_BYTES) {
        let why = format!("{}, no row of 16-byte slots", count_of(blob.len(), "byte"));
        return Err(Diagnostic::new("D002", why).in_file(&s.name));
    }
    Ok(RingView::whole(dir, blob.clone()))
}

/// The index's runs by the stem of their image files.
fn index(path: &Path, report: &mut Report) -> BTreeMap<String, Value> {
    let file = path.join(INDEX);
    let small = std::fs::metadata(&file).is_ok_and(|m| m.is_file() && m.len() <= MAX_INDEX_BYTES);
    if !small {
        return BTreeMap::new();
    }
    let name = file.to_string_lossy().into_owned();
    let parsed = source::open(&file).and_then(|s| {
        serde_json::from_slice::<Value>(s.blob.bytes()).map_err(|e| {
            Diagnostic::new("D029", format!("the index is not used: {e}")).in_file(&name)
        })
    });
    let mut value = match parsed {
        Ok(v) => v,
        Err(d) => {
            report.push(d);
            return BTreeMap::new();
        }
    };
    let runs = match value.get_mut("runs").map(Value::take) {
        Some(Value::Array(runs)) => runs,
        _ => Vec::new(),
    };
    let mut out = BTreeMap::new();
    for run in runs {
        let stems: Vec<String> = ["tx_image", "rx_image"]
            .iter()
            .filter_map(|k| run.get(k)?.get("file")?.as_str())
            .filter_map(|f| Some(split(f)?.0.to_owned()))
            .collect();
        for stem in stems {
            out.entry(stem).or_insert_with(|| run.clone());
        }
    }
    out
}

/// A number, or a string of digits with or without `0x`.
fn number(v: &Value) -> Option<u64> {
    let text = match v {
        Value::String(s) => s,
        other => return other.as_u64(),
    };
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

fn describe(image: &mut RawImage, run: &Value) {
    let text = |k: &str| run.get(k).and_then(Value::as_str);
    if let Some(name) = text("name").filter(|n| n.len() <= crate::limits::MAX_NAME_BYTES) {
        image.name = name.to_owned();
    }
    image.arch = text("arch").and_then(|a| a.parse::<Generation>().ok());
    image.profile = text("driver").and_then(|d| Profile::find(d).ok());
    image.bases = ["tx_ring_base", "rx_ring_base"].map(|k| run.get(k).and_then(number));
    let engine = run.get("engine").and_then(|e| e.get("id").or(Some(e))).and_then(number);
    let queue = run.get("qid").and_then(number);
    if let (Some(engine), Some(queue)) = (engine, queue)
        && engine < u64::from(ENGINE_SLOTS)
        && queue < u64::from(QUEUES_PER_ENGINE)
    {
        image.queue = Some(QueueId { engine: engine as u32, queue: queue as u32 });
    }
    image.why.push_str("; the index says the rest");
}
