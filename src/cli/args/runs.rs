//! Verbs that run a program, compare two, or draw one.

use super::{LintOpts, ModuleOpts, OutOpts, READING, RingOpts, When};
use crate::cli::given::Commands;
use crate::engine::command::picture_size;
use crate::engine::order::Readings;
use crate::limits::MAX_PICTURE_SIDE;
use clap::Args;
use std::path::PathBuf;

/// `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// What to run.
    #[arg(value_name = "FILE", required_unless_present_any = ["tx", "rx"])]
    pub files: Vec<PathBuf>,
    /// What to execute; without anything the program runs to its end.
    #[command(flatten)]
    pub commands: Commands,
    /// Do not read the init file.
    #[arg(long)]
    pub no_init: bool,
    /// How DMB and SOW are read where the order of accesses is judged [default: dmb=full,sow=through].
    #[arg(long, value_name = READING)]
    pub reading: Option<Readings>,
    /// The stage at which a module is run: loaded, peel, unroll, split, check, lower_dma, rings.
    #[arg(long, value_name = "STAGE")]
    pub stage: Option<String>,
    /// Where a module's memory is written at the end.
    #[arg(long, value_name = "FILE")]
    pub memory_out: Option<PathBuf>,
    /// How a module is lowered.
    #[command(flatten)]
    pub module: ModuleOpts,
    /// How files are read.
    #[command(flatten)]
    pub rings: RingOpts,
    /// What is accepted, and what counts as an error.
    #[command(flatten)]
    pub lints: LintOpts,
    /// How output looks.
    #[command(flatten)]
    pub out: OutOpts,
}

/// `diff`.
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// The left input, of any kind.
    #[arg(value_name = "A")]
    pub a: PathBuf,
    /// The right input.
    #[arg(value_name = "B")]
    pub b: PathBuf,
    /// The stage at which two modules are compared: loaded, peel, unroll, split, check,
    /// lower_dma, rings.
    #[arg(long, value_name = "STAGE")]
    pub stage: Option<String>,
    /// The exit status tells of the outcome only: 0 where it is the same, whatever else differs.
    #[arg(long)]
    pub outcome: bool,
    /// How modules are lowered.
    #[command(flatten)]
    pub module: ModuleOpts,
    /// How files are read.
    #[command(flatten)]
    pub rings: RingOpts,
    /// How output looks.
    #[command(flatten)]
    pub out: OutOpts,
}

/// `watch`.
#[derive(Debug, Clone, Args)]
pub struct WatchArgs {
    /// What to run.
    #[arg(value_name = "FILE", required_unless_present_any = ["tx", "rx"])]
    pub files: Vec<PathBuf>,
    /// What to execute; without anything the program runs to its end.
    #[command(flatten)]
    pub commands: Commands,
    /// Do not read the init file.
    #[arg(long)]
    pub no_init: bool,
    /// The stage at which a module is run: loaded, peel, unroll, split, check, lower_dma, rings.
    #[arg(long, value_name = "STAGE")]
    pub stage: Option<String>,
    /// How DMB and SOW are read where the order of accesses is judged [default: dmb=full,sow=through].
    #[arg(long, value_name = READING)]
    pub reading: Option<Readings>,
    /// How a module is lowered.
    #[command(flatten)]
    pub module: ModuleOpts,
    /// How files are read.
    #[command(flatten)]
    pub rings: RingOpts,
    /// What is accepted, and what counts as an error.
    #[command(flatten)]
    pub lints: LintOpts,
    /// How output looks.
    #[command(flatten)]
    pub out: OutOpts,
}

/// `test`.
#[derive(Debug, Args)]
pub struct TestArgs {
    /// Files, and directories in which every file with a test is run.
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
    /// Write what came in place of what was expected.
    #[arg(long)]
    pub bless: bool,
    /// Only files whose path has this text in it.
    #[arg(long, value_name = "TEXT")]
    pub filter: Option<String>,
    /// How many run side by side [default: as many as there are processors].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=crate::limits::MAX_TEST_JOBS))]
    pub jobs: Option<u64>,
    /// Write the results as JUnit XML, too.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// How output looks.
    #[command(flatten)]
    pub out: OutOpts,
}

/// `render`.
#[derive(Debug, Args)]
pub struct RenderArgs {
    /// Files to open.
    #[arg(value_name = "FILE", required_unless_present_any = ["tx", "rx"])]
    pub files: Vec<PathBuf>,
    /// Columns and rows of the screen.
    #[arg(long, value_name = "WxH", default_value = "160x45", value_parser = size)]
    pub size: (u16, u16),
    /// What to execute first, as on the screen's command line.
    #[command(flatten)]
    pub commands: Commands,
    /// Keys to press then: characters, and names in angle brackets, such as `dd<Tab>`.
    #[arg(long, value_name = "KEYS", value_parser = keys)]
    pub keys: Option<Keys>,
    /// The form [default: by the ending of the output's name, else text].
    #[arg(long, value_name = "svg|ansi|text")]
    pub to: Option<String>,
    /// Colours: dark, light, contrast, none.
    #[arg(long, value_name = "NAME", default_value = "dark")]
    pub theme: String,
    /// Only ASCII glyphs.
    #[arg(long)]
    pub ascii: bool,
    /// Where the picture is written; standard output by default.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// When to use colour in what is said about errors.
    #[arg(long, value_enum, default_value_t = When::Auto)]
    pub color: When,
    /// How a module is lowered.
    #[command(flatten)]
    pub module: ModuleOpts,
    /// How files are read.
    #[command(flatten)]
    pub rings: RingOpts,
}

/// Keys to press.
#[derive(Debug, Clone)]
pub struct Keys(pub Vec<crossterm::event::KeyEvent>);

fn keys(text: &str) -> Result<Keys, String> {
    crate::ui::keymap::parse_keys(text).map(Keys)
}

/// A size of the screen.
fn size(text: &str) -> Result<(u16, u16), String> {
    picture_size(text)
        .ok_or_else(|| format!("a size is WxH, such as 160x45, at most {MAX_PICTURE_SIDE} each"))
}
