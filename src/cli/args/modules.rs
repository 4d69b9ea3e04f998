//! Verbs about modules of the compiler.

use super::{Format, ModuleOpts, OutOpts, RingOpts};
use crate::udma::Generation;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// `lower`.
#[derive(Debug, Args)]
pub struct LowerArgs {
    /// The module.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The last stage.
    #[arg(long, value_name = "STAGE", default_value = "rings")]
    pub stop_after: String,
    /// Print the module after every stage.
    #[arg(long)]
    pub print_after_all: bool,
    /// Print the module before a stage.
    #[arg(long, value_name = "STAGE")]
    pub print_before: Vec<String>,
    /// Print the module after a stage.
    #[arg(long, value_name = "STAGE")]
    pub print_after: Vec<String>,
    /// Run every stage and compare its memory with that of the module as loaded.
    #[arg(long)]
    pub verify: bool,
    /// Name the first stage, and the first instruction in it, that changes the outcome.
    #[arg(long)]
    pub bisect: bool,
    /// Leave the time that each stage took out, so that the same module prints the same.
    #[arg(long)]
    pub no_times: bool,
    /// Write the result: the module as text or JSON, or its rings as a program image.
    #[arg(long, value_enum, value_name = "FORM")]
    pub emit: Option<Emit>,
    /// Where to write it; standard output when absent or `-`.
    #[arg(short, long, value_name = "FILE", requires = "emit")]
    pub output: Option<PathBuf>,
    /// How it is lowered.
    #[command(flatten)]
    pub module: ModuleOpts,
    /// How files are read.
    #[command(flatten)]
    pub rings: RingOpts,
    /// How output looks.
    #[command(flatten)]
    pub out: OutOpts,
}

/// What `lower` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Emit {
    /// The module as text.
    Bir,
    /// The module as JSON.
    Json,
    /// The rings, recorded, as a program image.
    Image,
}

/// `gen`.
#[derive(Debug, Args)]
pub struct GenArgs {
    /// The number of the (first) module.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// How many modules, of this number and those after it.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=crate::limits::MAX_GENERATED_MODULES))]
    pub count: u64,
    /// Generation [default: by the number].
    #[arg(long, value_name = "GEN")]
    pub arch: Option<Generation>,
    /// Static copies on one engine only.
    #[arg(long)]
    pub plain: bool,
    /// Where to write; a directory for several modules, standard output when absent or `-`.
    #[arg(short, long, value_name = "FILE|DIR")]
    pub output: Option<PathBuf>,
    /// Where to write what memory holds at the start, for `--memory-in`; a directory for several modules.
    #[arg(long, value_name = "FILE|DIR")]
    pub memory_out: Option<PathBuf>,
    /// How output looks; the modules are text or JSON by `--format`.
    #[command(flatten)]
    pub out: OutOpts,
}

/// `fmt`.
#[derive(Debug, Args)]
pub struct FmtArgs {
    /// Modules, as text or JSON.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Only say which files would change.
    #[arg(long)]
    pub check: bool,
    /// Write each file in its place.
    #[arg(long, conflicts_with = "check")]
    pub write: bool,
    /// The form to print [default: that of the file].
    #[arg(long, value_enum, value_name = "FORM")]
    pub to: Option<Format>,
    /// How output looks.
    #[command(flatten)]
    pub out: OutOpts,
}

/// `shrink`.
#[derive(Debug, Args)]
pub struct ShrinkArgs {
    /// The module.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// What goes wrong: `lowering`, or a program that is given a file with the module and whose
    /// exit status is not 0. A module that can be read and verified stays one.
    #[arg(long, value_name = "lowering|PROGRAM", default_value = "lowering")]
    pub property: String,
    /// Where to write the small module; standard output when absent or `-`.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// How it is lowered.
    #[command(flatten)]
    pub module: ModuleOpts,
    /// How the module is read.
    #[command(flatten)]
    pub rings: RingOpts,
    /// How output looks.
    #[command(flatten)]
    pub out: OutOpts,
}
