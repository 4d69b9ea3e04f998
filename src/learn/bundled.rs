//! The lessons and the samples that come with the program. A lesson may name a sample;
//! `dmadbg sample` shows and copies them.

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

/// Samples with an error each, its diagnostic on the line; they are modules, too.
pub const ERRORS: &[(&str, &str)] = files!["sample-programs":
    "errors/cce-sources.bir", "errors/dge-disabled.bir", "errors/element-counts.bir",
    "errors/invalid-offset.bir", "errors/last-iteration.bir", "errors/ring-too-large.bir",
    "errors/too-many-queues.bir", "errors/transpose-3d.bir", "errors/transpose-sb-to-sb.bir",
];

/// Scripts that belong to samples.
pub const SCRIPTS: &[(&str, &str)] = files!["sample-programs": "copy-4k.dbg"];

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

/// A file of `sample-programs/` as it is compiled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Its path below that folder.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

impl Sample {
    /// All of them: programs, then modules with an error, then scripts.
    pub fn all() -> impl Iterator<Item = Sample> {
        let all = SAMPLES.iter().chain(ERRORS).chain(SCRIPTS);
        all.map(|&(name, text)| Sample { name, text })
    }

    /// The sample of a name, with or without its ending. A program comes before a script of the
    /// same name.
    pub fn find(name: &str) -> Option<Sample> {
        let exact = Sample::all().find(|s| s.name == name);
        exact.or_else(|| Sample::all().find(|s| s.stem() == name))
    }

    /// The name without its ending.
    pub fn stem(&self) -> &'static str {
        self.name.rsplit_once('.').map_or(self.name, |(stem, _)| stem)
    }

    /// What it teaches, a text for each paragraph: the comment that it begins with, up to what
    /// it is tested for.
    pub fn teaches(&self) -> Vec<String> {
        let comment = |line: &'static str| line.strip_prefix([';', '#']).map(str::trim);
        let lines = self.text.lines().skip_while(|l| comment(l).is_none());
        let mut out = vec![String::new()];
        for line in lines.map_while(comment) {
            if line.starts_with("test:") {
                break;
            }
            let Some(last) = out.last_mut() else { break };
            match (line.is_empty(), last.is_empty()) {
                (true, false) => out.push(String::new()),
                (true, true) => {}
                (false, empty) => {
                    last.push_str(if empty { "" } else { " " });
                    last.push_str(line);
                }
            }
        }
        out.retain(|p| !p.is_empty());
        out
    }

    /// The first sentence of what it teaches.
    pub fn summary(&self) -> String {
        let first = self.teaches().into_iter().next().unwrap_or_default();
        match first.split_once(". ") {
            Some((sentence, _)) => format!("{sentence}."),
            None => first,
        }
    }
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

/// The place in the list of a lesson that comes with this program; none of a teacher's file,
/// whatever its name.
pub fn place(of: &Lesson) -> Option<usize> {
    let at = find(&of.name)?;
    lesson(at).and_then(Result::ok).is_some_and(|own| own == *of).then_some(at)
}

/// Reads a lesson by its place in the list.
///
/// # Errors
/// What is wrong with it; a test holds that nothing is.
pub fn lesson(index: usize) -> Option<Result<Lesson, Report>> {
    let (file, text) = LESSONS.get(index)?;
    Some(read(stem(file), file, text))
}
