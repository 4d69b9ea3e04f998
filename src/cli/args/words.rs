//! Verbs about descriptors as they lie: words, images, what wrote them.

use super::{ModuleOpts, OutOpts, RingOpts};
use crate::engine::command::ExportForm;
use crate::udma::profile::ProfileRef;
use crate::udma::{Barrier, Generation};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// `decode`.
#[derive(Debug, Args)]
pub struct DecodeArgs {
    /// Files, or words: 0x.. numbers, or 32 hex digits (a descriptor's bytes in memory order).
    #[arg(value_name = "FILE|WORD")]
    pub inputs: Vec<PathBuf>,
    /// What the words are.
    #[arg(long = "as", value_enum, value_name = "KIND")]
    pub kind: Option<WordKind>,
    /// How files are read.
    #[command(flatten)]
    pub rings: RingOpts,
    /// How output looks.
    #[command(flatten)]
    pub out: OutOpts,
}

/// What a bare word is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "kebab-case")]
pub enum WordKind {
    /// First word of a descriptor.
    #[value(name = "len_ctrl", alias = "len-ctrl")]
    LenCtrl,
    /// Second word of a Tx descriptor.
    #[value(name = "meta_ctrl", alias = "meta-ctrl")]
    MetaCtrl,
    /// Fault causes of the Tx side.
    CauseM2s,
    /// Fault causes of the Rx side.
    CauseS2m,
    /// Engine state register.
    State,
    /// Tail or head pointer register.
    Drtp,
}

/// `encode`.
#[derive(Debug, Args)]
pub struct EncodeArgs {
    /// JSON lines; standard input when absent.
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Source address.
    #[arg(long, value_name = "ADDR", value_parser = crate::cli::numbers::parse, requires_all = ["dst", "size"], conflicts_with = "file")]
    pub src: Option<u64>,
    /// Destination address.
    #[arg(long, value_name = "ADDR", value_parser = crate::cli::numbers::parse, requires = "src")]
    pub dst: Option<u64>,
    /// Bytes: up to 65536.
    #[arg(long, value_name = "N", value_parser = crate::cli::numbers::parse, requires = "src")]
    pub size: Option<u64>,
    /// none, dmb, write_barrier or sow.
    #[arg(long, value_name = "MODE", default_value = "none", requires = "src")]
    pub barrier: Barrier,
    /// Phase of both descriptors.
    #[arg(long, value_name = "ID", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=3), requires = "src")]
    pub phase: u32,
    /// Interrupt on the destination.
    #[arg(long, requires = "src")]
    pub int: bool,
    /// Generation, where a line does not name one [default: v3].
    #[arg(long, value_name = "GEN")]
    pub arch: Option<Generation>,
    /// Driver profile, where a line does not name one [default: dkms-2.26].
    #[arg(long, value_name = "NAME")]
    pub profile: Option<ProfileRef>,
    /// How output looks; lines from a file or standard input are always answered in JSON.
    #[command(flatten)]
    pub out: OutOpts,
}

/// `asm`, `disasm`.
#[derive(Debug, Args)]
pub struct ConvertArgs {
    /// What to read.
    #[arg(value_name = "FILE", required_unless_present_any = ["tx", "rx"])]
    pub files: Vec<PathBuf>,
    /// Where to write; standard output when absent or `-`.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// How files are read.
    #[command(flatten)]
    pub rings: RingOpts,
    /// How output looks.
    #[command(flatten)]
    pub out: OutOpts,
}

/// `export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// What to read.
    #[arg(value_name = "FILE", required_unless_present_any = ["tx", "rx"])]
    pub files: Vec<PathBuf>,
    /// What to write: events (JSON lines), events-csv, perfetto (a trace), descriptors (CSV),
    /// parquet (descriptors; only in a build with that feature).
    #[arg(long = "as", value_name = "FORM", default_value = "events")]
    pub form: Form,
    /// What is the time of a trace [default: virtual where the engine has a speed, else events].
    #[arg(long, value_enum, value_name = "AXIS")]
    pub time: Option<ExportTime>,
    /// Where to write; standard output when absent or `-`.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// How a module is lowered.
    #[command(flatten)]
    pub module: ModuleOpts,
    /// How files are read.
    #[command(flatten)]
    pub rings: RingOpts,
    /// How findings look; what is written has its own form.
    #[command(flatten)]
    pub out: OutOpts,
}

/// A form of export by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form(pub ExportForm);

impl std::str::FromStr for Form {
    type Err = String;

    fn from_str(text: &str) -> Result<Form, String> {
        let found = ExportForm::ALL.into_iter().find(|f| f.name() == text);
        let names = ExportForm::ALL.map(ExportForm::name).join(", ");
        found.map(Form).ok_or_else(|| format!("one of {names}"))
    }
}

/// The time axis of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportTime {
    /// The number of the event, a microsecond each.
    Events,
    /// Virtual time.
    Virtual,
}

/// `provenance`.
#[derive(Debug, Args)]
pub struct ProvenanceArgs {
    /// Files, as for `run`.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Whose: `tx[3]`, `q0.rx[17]`, `tx[3].dmb`, an address, `%I-34`, or a name of the module.
    #[arg(long = "of", value_name = "SUBJECT", required = true)]
    pub subjects: Vec<String>,
    /// The event at which the rings are looked at [default: the end of the run].
    #[arg(long, value_name = "EVENT")]
    pub at: Option<u64>,
    /// How a module is lowered.
    #[command(flatten)]
    pub module: ModuleOpts,
    /// How the files are read.
    #[command(flatten)]
    pub rings: RingOpts,
    /// How output looks.
    #[command(flatten)]
    pub out: OutOpts,
}
