//! The command line as a type: what `dmadbg` takes, and the help that says so.
//!
//! The contract (verbs, exit statuses, defaults) is in `docs/cli.md`.
//!
//! Here what several verbs share; the verbs by themselves in the files beside it.

mod modules;
mod offered;
mod runs;
mod words;

pub use modules::*;
pub use offered::*;
pub use runs::*;
pub use words::*;

use crate::cli::given::Commands;
use crate::diag::Diagnostic;
use crate::diag::policy::{self, Policy, Verdict};
use crate::engine::lower::OPTIONS;
use crate::engine::module_run::{DEFAULT_RING_SLOTS, check_ring_slots};
use crate::engine::order::Readings;
use crate::load::{Batching, RingChoice};
use crate::udma::Generation;
use crate::udma::profile::ProfileRef;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::{Path, PathBuf};

/// How the value of `--reading` is shown.
const READING: &str = "dmb=full|entry,sow=through|self";

/// Debugger for DMA descriptor rings: decodes every bit, steps doorbells forwards and
/// backwards.
#[derive(Debug, Parser)]
#[command(name = "dmadbg", version, about, args_conflicts_with_subcommands = true)]
#[command(after_help = "FILE is a raw ring image, hex text, a directory of images, a program \
image, its assembly (.dma), or a module of the compiler (.bir, JSON); `-` is standard input.\n\
Exit status: 0 fine, 1 the program under test is wrong, 2 the input or the command line \
cannot be understood.")]
pub struct Cli {
    /// What to do; without one the files are opened in the screen.
    #[command(subcommand)]
    pub command: Option<Cmd>,
    /// Opening the screen.
    #[command(flatten)]
    pub open: OpenArgs,
}

/// Opening files in the screen.
#[derive(Debug, Args)]
pub struct OpenArgs {
    /// Files to open.
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// What to execute first.
    #[command(flatten)]
    pub commands: Commands,
    /// Write each command that is executed on the screen into a new script.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Do not watch the files: they are read again only when asked to (`reload`).
    #[arg(long)]
    pub no_watch: bool,
    /// Run CMD by the shell when something changes, and read the files again if it succeeds.
    #[arg(long, value_name = "CMD")]
    pub on_change: Option<String>,
    /// What --on-change is run for, instead of the files; of a directory all that is in it.
    #[arg(long, value_name = "PATH", requires = "on_change")]
    pub on_change_watch: Vec<PathBuf>,
    /// Do not read the init file.
    #[arg(long)]
    pub no_init: bool,
    /// When to use colour.
    #[arg(long, value_enum, default_value_t = When::Auto)]
    pub color: When,
    /// How a module is lowered.
    #[command(flatten)]
    pub module: ModuleOpts,
    /// How the files are read.
    #[command(flatten)]
    pub rings: RingOpts,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Cmd {
    /// Show every field of every slot, or name what words are.
    Decode(DecodeArgs),
    /// Build descriptors: JSON lines in, JSON lines out; or one pair from flags.
    Encode(EncodeArgs),
    /// Assemble a .dma text into a program image.
    Asm(ConvertArgs),
    /// Disassemble a program image, or a raw ring, into .dma text.
    Disasm(ConvertArgs),
    /// Say what a file was recognised as, and what is in it.
    Info(FileArgs),
    /// Judge rings: bits, phases, packets, pairs.
    Check(FileArgs),
    /// Lower a module and show what became of it after each stage.
    Lower(LowerArgs),
    /// Run a program and a script of commands without the screen.
    Run(RunArgs),
    /// Run a program and a script again whenever one of them changes, and say what changed.
    Watch(WatchArgs),
    /// Run the tests that are written in .bir, .dma, .dbg and .hex files.
    Test(TestArgs),
    /// Make modules out of a number, for trying things on.
    Gen(GenArgs),
    /// Print modules in their canonical form, or turn text into JSON and back.
    Fmt(FmtArgs),
    /// Make a module that goes wrong as small as it can be.
    Shrink(ShrinkArgs),
    /// Tell how two inputs differ, and whether the outcome does.
    Diff(DiffArgs),
    /// Write a run's events or an input's descriptors for other programs.
    Export(ExportArgs),
    /// Explain a diagnostic code, a word, or an engine fault.
    Explain(ExplainArgs),
    /// Draw the screen to a file, without a terminal.
    Render(RenderArgs),
    /// Lessons: list them, take one, or check answers without the screen.
    Learn(LearnArgs),
    /// Programs to try things on, which come with dmadbg: list, show, open or copy them.
    #[command(subcommand)]
    Sample(SampleCmd),
    /// Print the effective configuration, and where it is read from.
    Config(ConfigArgs),
    /// Follow a slot, a bit of it, an address or a name of a module to its source and back.
    Provenance(ProvenanceArgs),
    /// Print the completion script of a shell.
    Completions(CompletionsArgs),
    /// Print the manual, or a page of it.
    Man(ManArgs),
    /// List the grammars for editors that colour .bir, .dma and .dbg, or write them out.
    Grammars(GrammarsArgs),
}

/// How output looks.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub struct OutOpts {
    /// Text for people, JSON for tools.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// When to use colour (NO_COLOR is respected).
    #[arg(long, value_enum, default_value_t = When::Auto)]
    pub color: When,
    /// Show every finding, however often the same one occurs.
    #[arg(long)]
    pub all: bool,
}

/// What is accepted, and what counts as an error.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Findings")]
pub struct LintOpts {
    /// Leave out the findings of a code; the summary counts them.
    #[arg(long, value_name = "CODE", value_delimiter = ',', value_parser = policy::code)]
    pub allow: Vec<&'static str>,
    /// Take the findings of a code for errors: they make the status 1.
    #[arg(long, value_name = "CODE", value_delimiter = ',', value_parser = policy::code)]
    pub deny: Vec<&'static str>,
}

impl LintOpts {
    /// The policy that the command line asks for.
    ///
    /// # Errors
    /// S013 for a code that is both allowed and denied.
    pub fn policy(&self) -> Result<Policy, Diagnostic> {
        let mut out = Policy::default();
        let all = [(&self.allow, Verdict::Allow), (&self.deny, Verdict::Deny)];
        for (codes, verdict) in all {
            for code in codes {
                out.set(code, verdict).map_err(|why| Diagnostic::new("S013", why))?;
            }
        }
        Ok(out)
    }
}

/// How ring images are read.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Reading files")]
pub struct RingOpts {
    /// Generation: v2, v3 or v4 [default: from the addresses, else v3].
    #[arg(long, value_name = "GEN")]
    pub arch: Option<Generation>,
    /// Driver profile, by name or release [default: dkms-2.26].
    #[arg(long, value_name = "NAME")]
    pub profile: Option<ProfileRef>,
    /// Engine [default: the host-copy engine: 32 on v2, 128 after it].
    #[arg(long, value_name = "N")]
    pub engine: Option<u32>,
    /// Queue of the engine.
    #[arg(long, value_name = "N")]
    pub queue: Option<u32>,
    /// What a raw image holds, where the words do not say it.
    #[arg(long, value_name = "tx|rx|pairs")]
    pub ring: Option<RingChoice>,
    /// The Tx image of a pair in two files.
    #[arg(long, value_name = "FILE")]
    pub tx: Option<PathBuf>,
    /// The Rx image of a pair in two files.
    #[arg(long, value_name = "FILE")]
    pub rx: Option<PathBuf>,
    /// The slot with which a raw ring begins in time.
    #[arg(long, value_name = "SLOT")]
    pub start: Option<u64>,
    /// Where batches of a raw ring end: at completion pairs, after N slots, or nowhere.
    #[arg(long, value_name = "marker|N|all")]
    pub batch: Option<Batching>,
    /// Only slots A up to, not including, B.
    #[arg(long, value_name = "A:B", value_parser = window)]
    pub slots: Option<(u64, u64)>,
    /// What a single input is called, in place of its path; no option says it.
    #[arg(skip)]
    pub name: Option<String>,
    /// Events that all commands, or a run to the end, may pass; no option says it.
    #[arg(skip)]
    pub max_events: Option<u64>,
}

impl RingOpts {
    /// What a single input is called.
    pub fn name_of(&self, path: &Path) -> String {
        self.name.clone().unwrap_or_else(|| path.to_string_lossy().into_owned())
    }
}

/// How a module is lowered, and what its memory holds at the start.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Modules")]
pub struct ModuleOpts {
    /// Parameters of the lowering.
    #[command(flatten)]
    pub params: Params,
    /// Slots of each ring.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_RING_SLOTS, value_parser = ring_slots)]
    pub ring_slots: u64,
    /// What memory holds at the start: a JSON object of location names and hex [default: a
    /// pattern in every input].
    #[arg(long, value_name = "FILE")]
    pub memory_in: Option<PathBuf>,
}

/// Parameters of the lowering that were given: an option for each row of its table.
#[derive(Debug, Clone, Default)]
pub struct Params(pub Vec<(&'static str, String)>);

impl Args for Params {
    fn augment_args(cmd: clap::Command) -> clap::Command {
        OPTIONS.iter().fold(cmd, |cmd, o| {
            let arg = clap::Arg::new(o.name)
                .long(o.name.replace('_', "-"))
                .value_name(o.values.replace(' ', ""))
                .help(format!("{} [default: {}]", o.doc, o.default));
            cmd.arg(arg)
        })
    }

    fn augment_args_for_update(cmd: clap::Command) -> clap::Command {
        Params::augment_args(cmd)
    }
}

impl clap::FromArgMatches for Params {
    fn from_arg_matches(found: &clap::ArgMatches) -> Result<Params, clap::Error> {
        let mut params = Params::default();
        params.update_from_arg_matches(found)?;
        Ok(params)
    }

    fn update_from_arg_matches(&mut self, found: &clap::ArgMatches) -> Result<(), clap::Error> {
        let given = OPTIONS.iter().filter_map(|o| Some((o.name, found.get_one::<String>(o.name)?)));
        self.0 = given.map(|(name, value)| (name, value.clone())).collect();
        Ok(())
    }
}

/// Output form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Text.
    Text,
    /// JSON lines.
    Json,
}

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Slots of the rings of a module.
fn ring_slots(text: &str) -> Result<u64, String> {
    check_ring_slots(super::numbers::parse(text)?)
}

/// Reads `A:B`, a window of slots: from A up to, not including, B.
fn window(text: &str) -> Result<(u64, u64), String> {
    crate::load::parse_window(text).map_err(|d| d.message)
}

/// `info`, `check`.
#[derive(Debug, Args)]
pub struct FileArgs {
    /// What to read.
    #[arg(value_name = "FILE", required_unless_present_any = ["tx", "rx"])]
    pub files: Vec<PathBuf>,
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
