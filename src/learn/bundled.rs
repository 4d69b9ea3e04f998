//! The lessons that come with the program, and the samples that lessons may name.

use super::model::Lesson;
use super::read;
use crate::diag::Report;

macro_rules! files {
    ($dir:literal: $($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../", $dir, "/", $name)))),*]
    };
}

/// Sample programs: name of the file, text.
pub const SAMPLES: &[(&str, &str)] = files!["sample-programs":
    "authored-concat.dma", "cce-add.bir", "chain.dma", "copy-1m.dma", "copy-4k.dma", "copy.bir",
    "double-buffer.dma", "gather.bir", "loop.bir", "lowered-loop.bir", "memset.dma", "no-doorbell.dma", "race.dma",
    "replicate.bir", "ring-depth.bir", "ring-full.dma", "scalar-offset.bir", "semaphores.bir",
    "strided-load.bir", "three-queues.dma", "timeout.dma", "transpose.bir", "wrap.dma",
];

/// The lessons, in the order in which they build on each other: name of the file, text.
pub const LESSONS: &[(&str, &str)] = files!["lessons":
    "words.toml", "pair.toml", "encode.toml", "cycle.toml", "marker.toml", "wrap.toml",
    "full.toml", "packets.toml", "barriers.toml", "overtake.toml", "races.toml", "faults.toml",
    "lower.toml", "dynamic.toml", "compute.toml",
];

/// The text of a sample.
pub fn sample(name: &str) -> Option<&'static str> {
    SAMPLES.iter().find(|s| s.0 == name).map(|s| s.1)
}

/// How many lessons there are.
pub fn count() -> usize {
    LESSONS.len()
}

/// The name of a lesson's file without its ending.
pub fn stem(file: &str) -> &str {
    file.strip_suffix(".toml").unwrap_or(file)
}

/// Which lesson a number (from 1) or a name means.
pub fn find(which: &str) -> Option<usize> {
    match which.parse::<usize>() {
        Ok(n) => n.checked_sub(1).filter(|i| *i < LESSONS.len()),
        Err(_) => LESSONS.iter().position(|l| stem(l.0) == stem(which)),
    }
}

/// Reads a lesson by its place in the list.
///
/// # Errors
/// What is wrong with it; a test holds that nothing is.
pub fn lesson(index: usize) -> Option<Result<Lesson, Report>> {
    let (file, text) = LESSONS.get(index)?;
    Some(read(stem(file), file, text))
}
