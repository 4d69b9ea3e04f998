//! The command line as a type: what `dmadbg` takes, and the help that says so.
//!
//! The contract (verbs, exit statuses, defaults) is in `docs/cli.md`.

use super::given::Commands;
use crate::diag::Diagnostic;
use crate::diag::policy::{self, Policy, Verdict};
use crate::engine::command::{ExportForm, picture_size};
use crate::engine::lower::OPTIONS;
use crate::engine::module_run::{DEFAULT_RING_SLOTS, check_ring_slots};
use crate::engine::order::Readings;
use crate::learn::bundled::Sample;
use crate::limits::MAX_PICTURE_SIDE;
use crate::load::{Batching, RingChoice};
use crate::udma::profile::ProfileRef;
use crate::udma::{Barrier, Generation};
use clap::builder::PossibleValue;
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
    /// How the files are read.
    #[command(flatten)]
    pub rings: RingOpts,
    /// How a module is lowered.
    #[command(flatten)]
    pub module: ModuleOpts,
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

/// Reads `A:B`, a window of slots: from A up to, not including, B.
/// Slots of the rings of a module.
fn ring_slots(text: &str) -> Result<u64, String> {
    check_ring_slots(super::numbers::parse(text)?)
}

fn window(text: &str) -> Result<(u64, u64), String> {
    crate::load::parse_window(text).map_err(|d| d.message)
}

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
    #[arg(long, value_name = "ADDR", value_parser = super::numbers::parse, requires_all = ["dst", "size"], conflicts_with = "file")]
    pub src: Option<u64>,
    /// Destination address.
    #[arg(long, value_name = "ADDR", value_parser = super::numbers::parse, requires = "src")]
    pub dst: Option<u64>,
    /// Bytes: up to 65536.
    #[arg(long, value_name = "N", value_parser = super::numbers::parse, requires = "src")]
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
    /// How a module is lowered.
    #[command(flatten)]
    pub module: ModuleOpts,
    /// How files are read.
    #[command(flatten)]
    pub rings: RingOpts,
    /// What is accepted, and what counts as an error.
    #[command(flatten)]
    pub lints: LintOpts,
    /// How DMB and SOW are read where the order of accesses is judged [default: dmb=full,sow=through].
    #[arg(long, value_name = READING)]
    pub reading: Option<Readings>,
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

/// `explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// A code (D017), a word (0x0d001000), a fault (PREFETCH_RING_ID), a field or a command.
    #[arg(value_name = "CODE|WORD|FAULT", required = true)]
    pub what: Vec<String>,
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
    /// How a module is lowered.
    #[command(flatten)]
    pub module: ModuleOpts,
    /// How files are read.
    #[command(flatten)]
    pub rings: RingOpts,
    /// When to use colour in what is said about errors.
    #[arg(long, value_enum, default_value_t = When::Auto)]
    pub color: When,
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
    /// When to use colour in what is said about errors.
    #[arg(long, value_enum, default_value_t = When::Auto)]
    pub color: When,
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
    /// How the files are read.
    #[command(flatten)]
    pub rings: RingOpts,
    /// How a module is lowered.
    #[command(flatten)]
    pub module: ModuleOpts,
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
}

/// `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
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
    /// How the module is read.
    #[command(flatten)]
    pub rings: RingOpts,
    /// How it is lowered.
    #[command(flatten)]
    pub module: ModuleOpts,
    /// How output looks.
    #[command(flatten)]
    pub out: OutOpts,
}
