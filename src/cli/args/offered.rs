//! Verbs about what the program brings along: lessons, samples, explanations, settings, manuals.

use super::{OutOpts, When};
use crate::cli::given::Commands;
use crate::learn::bundled::Sample;
use clap::builder::PossibleValue;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// A code (D017), a word (0x0d001000), a fault (PREFETCH_RING_ID), a field, a command or a
    /// term of the field (gather).
    #[arg(value_name = "CODE|WORD|FAULT", required = true)]
    pub what: Vec<String>,
    /// How output looks.
    #[command(flatten)]
    pub out: OutOpts,
}

/// `learn`.
#[derive(Debug, Args)]
pub struct LearnArgs {
    /// The lesson to take: its number, its name, or a lesson's file. Without one they are listed.
    #[arg(value_name = "LESSON|FILE")]
    pub lesson: Option<String>,
    /// Check this lesson without the screen; without --answers or --solve only that it can be
    /// read.
    #[arg(long, value_name = "LESSON|FILE", conflicts_with = "lesson")]
    pub check: Option<String>,
    /// Commands and `answer` lines to take the lesson with.
    #[arg(long, value_name = "FILE", requires = "check")]
    pub answers: Option<PathBuf>,
    /// Try the lesson's own solutions and wrong answers.
    #[arg(long, requires = "check", conflicts_with = "answers")]
    pub solve: bool,
    /// Read no init file, and keep nothing for the next time.
    #[arg(long)]
    pub no_init: bool,
    /// How output looks.
    #[command(flatten)]
    pub out: OutOpts,
}

/// `config`.
#[derive(Debug, Args)]
pub struct ConfigArgs {
    /// Read this file instead of the user's own.
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// How output looks.
    #[command(flatten)]
    pub out: OutOpts,
}

/// `sample`.
#[derive(Debug, Subcommand)]
pub enum SampleCmd {
    /// List the samples, each with what it teaches.
    List(SampleListArgs),
    /// Print a sample; `dmadbg sample show NAME | dmadbg check -` gives it to another verb.
    Show(SampleShowArgs),
    /// Open the screen on a sample.
    Open(SampleOpenArgs),
    /// Write samples out as files.
    Copy(SampleCopyArgs),
}

/// `sample list`.
#[derive(Debug, Args)]
pub struct SampleListArgs {
    /// How output looks.
    #[command(flatten)]
    pub out: OutOpts,
}

/// `sample show`.
#[derive(Debug, Args)]
pub struct SampleShowArgs {
    /// The sample, with or without its ending.
    #[arg(value_name = "NAME", value_parser = SampleName, hide_possible_values = true)]
    pub name: String,
}

/// `sample open`.
#[derive(Debug, Args)]
pub struct SampleOpenArgs {
    /// The sample, with or without its ending.
    #[arg(value_name = "NAME", value_parser = SampleName, hide_possible_values = true)]
    pub name: String,
    /// What to execute first.
    #[command(flatten)]
    pub commands: Commands,
    /// Do not read the init file.
    #[arg(long)]
    pub no_init: bool,
    /// When to use colour.
    #[arg(long, value_enum, default_value_t = When::Auto)]
    pub color: When,
}

/// `sample copy`.
#[derive(Debug, Args)]
pub struct SampleCopyArgs {
    /// The samples; all of them where none is named.
    #[arg(value_name = "NAME", value_parser = SampleName, hide_possible_values = true)]
    pub names: Vec<String>,
    /// The directory to write into; it is made where it is missing.
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    pub output: PathBuf,
}

/// Any text, completed with the names of samples: an unknown one is told with its nearest.
#[derive(Debug, Clone, Copy)]
pub struct SampleName;

impl clap::builder::TypedValueParser for SampleName {
    type Value = String;

    fn parse_ref(
        &self,
        cmd: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<String, clap::Error> {
        clap::builder::StringValueParser::new().parse_ref(cmd, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(Sample::all().map(|s| PossibleValue::new(s.name).help(s.summary()))))
    }
}

/// `man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// The verb whose page is printed [default: one page with all of it].
    #[arg(value_name = "VERB")]
    pub verb: Option<String>,
    /// Write a page for each verb into this directory, in place of printing.
    #[arg(short, long, value_name = "DIR", conflicts_with = "verb")]
    pub output: Option<PathBuf>,
}

/// `grammars`.
#[derive(Debug, Args)]
pub struct GrammarsArgs {
    /// Write them into this directory, in place of listing them.
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// How output looks.
    #[command(flatten)]
    pub out: OutOpts,
}

/// `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}
