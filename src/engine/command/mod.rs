//! What can be asked of a session, as data: [`Command`] is what a session executes, and
//! [`table`] the one list of what there is (`docs/commands.md`).

pub mod foreign;
pub mod name;
pub mod picture;
pub mod stop;
pub mod table;

pub use foreign::foreign;
pub use name::{inst_text, is_plain_name, is_word, misspelt, name_text, quote};
pub use picture::{PICTURE_SIZE, PictureForm, picture_size};
pub use stop::{
    Access, Attached, Block, BlockLine, Catch, Numbers, Switch, Watch, Watched, Written,
};
pub use table::{Arg, COMMANDS, CommandSpec, Group, NameError, distance, find, nearest};

use super::expr::{Expr, QueueRef, is_bare_place};
use super::lower::Stage;
use super::order::{DmbReading, SowReading};
use super::schedule::{BarrierEdit, Hold};
use crate::udma::Dir;
use std::fmt;

/// How far a step goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Unit {
    /// The next single event.
    Event,
    /// The retirement of the next pair of the selected queue.
    #[default]
    Slot,
    /// The end of a packet.
    Packet,
    /// The next of the host's five phases.
    Phase,
    /// The marker of the current batch seen and acked.
    Batch,
}

impl Unit {
    /// All units.
    pub const ALL: [Unit; 5] = [Unit::Event, Unit::Slot, Unit::Packet, Unit::Phase, Unit::Batch];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Event => "event",
            Unit::Slot => "slot",
            Unit::Packet => "packet",
            Unit::Phase => "phase",
            Unit::Batch => "batch",
        }
    }
}

/// Whose events count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Who {
    /// Anybody's.
    #[default]
    Any,
    /// The host's.
    Host,
    /// The engine's.
    Engine,
    /// A sequencer's; no event has one before modules are run.
    Seq,
}

impl Who {
    /// All choices.
    pub const ALL: [Who; 4] = [Who::Any, Who::Host, Who::Engine, Who::Seq];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Who::Any => "any",
            Who::Host => "host",
            Who::Engine => "engine",
            Who::Seq => "seq",
        }
    }
}

/// A place in a program or a run.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Loc {
    /// `tx[3]`, `q0.rx[17]`, `tx[3:9]` (last included).
    Slots {
        /// Queue.
        queue: QueueRef,
        /// Ring.
        dir: Dir,
        /// First.
        first: u64,
        /// Last.
        last: u64,
    },
    /// `batch 2`.
    Batch(u64),
    /// An address.
    Addr(u64),
    /// `marker`: the marker word becoming the marker.
    Marker,
    /// `doorbell`, `doorbell q0`: any doorbell write, or any of a queue.
    Doorbell(Option<QueueRef>),
    /// `fault`: any fault.
    Fault,
    /// `event N`.
    Event(u64),
    /// `q0`: a queue.
    Queue(QueueRef),
    /// `%I-34`: an instruction of a module, of any stage, by its name.
    Inst(String),
    /// `dma_block_2`: a block, queue, location or instruction of a module by its name.
    Name(String),
    /// `SB+0x80`: a byte of a location or region, by its offset from the first.
    Within(String, u64),
    /// `line 12`: the instructions that stand in this line of a module's file.
    Line(u64),
    /// `pass split`: a stage of a module's lowering.
    Pass(Stage),
}

impl fmt::Display for Loc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Loc::Slots { queue, dir, first, last } => {
                let dot = if *queue == QueueRef::Selected { "" } else { "." };
                write!(f, "{queue}{dot}{dir}[{first}")?;
                if first != last {
                    write!(f, ":{last}")?;
                }
                f.write_str("]")
            }
            Loc::Batch(n) => write!(f, "batch {n}"),
            Loc::Addr(a) => write!(f, "{a:#x}"),
            Loc::Marker => f.write_str("marker"),
            Loc::Doorbell(None) => f.write_str("doorbell"),
            Loc::Doorbell(Some(queue)) => write!(f, "doorbell {queue}"),
            Loc::Fault => f.write_str("fault"),
            Loc::Event(n) => write!(f, "event {n}"),
            Loc::Queue(queue) => write!(f, "{queue}"),
            Loc::Inst(name) => f.write_str(&inst_text(name)),
            Loc::Name(name) => f.write_str(&name_text(name)),
            Loc::Within(name, at) if is_bare_place(name) => write!(f, "{name}+{at:#x}"),
            Loc::Within(name, at) => write!(f, "{}+{at:#x}", quote(name)),
            Loc::Line(n) => write!(f, "line {n}"),
            Loc::Pass(stage) => write!(f, "pass {stage}"),
        }
    }
}

/// Where `goto` goes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Goto {
    /// An event number.
    Event(Expr),
    /// A mark by name.
    Mark(String),
}

/// What `info` shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Info {
    /// Every ring: size, used, free, cursors.
    Rings,
    /// One queue in full.
    Queue,
    /// Registers of the queue.
    Regs,
    /// The marker word.
    Marker,
    /// Memory regions.
    Memory,
    /// Breakpoints, watchpoints, catchpoints.
    Breakpoints,
    /// Findings and faults so far.
    Faults,
    /// Batches so far.
    Batches,
    /// Accesses up to here that nothing orders.
    Races,
    /// What a module's blocks take of rings and memory.
    Budget,
    /// What was changed in the run.
    Edits,
    /// Lints of the rings as they lie in memory.
    Checks,
    /// Values that are shown at every stop.
    Display,
    /// What the newest reload changed, and what waits since.
    Reload,
}

impl Info {
    /// All subjects.
    pub const ALL: [Info; 14] = [
        Info::Rings,
        Info::Queue,
        Info::Regs,
        Info::Marker,
        Info::Memory,
        Info::Breakpoints,
        Info::Faults,
        Info::Batches,
        Info::Races,
        Info::Budget,
        Info::Edits,
        Info::Checks,
        Info::Display,
        Info::Reload,
    ];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Info::Rings => "rings",
            Info::Queue => "queue",
            Info::Regs => "regs",
            Info::Marker => "marker",
            Info::Memory => "memory",
            Info::Breakpoints => "breakpoints",
            Info::Faults => "faults",
            Info::Batches => "batches",
            Info::Races => "races",
            Info::Budget => "budget",
            Info::Edits => "edits",
            Info::Checks => "checks",
            Info::Display => "display",
            Info::Reload => "reload",
        }
    }
}

/// How `x` shows memory: `/16wx`: count, width, form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ExamineFormat {
    /// How many units.
    pub count: u64,
    /// Bytes of a unit: 1, 2, 4, 8, or 16 for descriptors.
    pub width: u8,
    /// Form.
    pub form: Form,
}

impl Default for ExamineFormat {
    fn default() -> Self {
        ExamineFormat { count: 16, width: 4, form: Form::Hex }
    }
}

/// The form of a value in `x` and `print`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Form {
    /// `x`: hexadecimal.
    #[default]
    Hex,
    /// `d`: decimal.
    Decimal,
    /// `t`: binary.
    Binary,
    /// `c`: characters.
    Char,
    /// `i`: descriptors, as an instruction listing does.
    Desc,
}

impl Form {
    /// All forms and the letter of each.
    pub const LETTERS: [(char, Form); 5] = [
        ('x', Form::Hex),
        ('d', Form::Decimal),
        ('t', Form::Binary),
        ('c', Form::Char),
        ('i', Form::Desc),
    ];
}

impl ExamineFormat {
    /// Widths in bytes and the letter of each; descriptors have a form instead.
    pub const WIDTHS: [(char, u8); 4] = [('b', 1), ('h', 2), ('w', 4), ('g', 8)];
}

/// What a script expects to have happened.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Expect {
    /// A fault of this name.
    Fault(String, Option<Loc>),
    /// A timed-out batch.
    Timeout(Option<u64>),
    /// The last driver call returned this.
    Ret(i64),
    /// The last driver call hit an assertion.
    Bug,
    /// The session stands at this place.
    Stop(Loc),
    /// A race up to here, between these places; any where none are named.
    Race(Option<(Loc, Loc)>),
}

/// What `order` does.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Order {
    /// Say in which order the session runs, and under which reading.
    Show,
    /// Look for an order that breaks the program, at so many events; the order that is found is
    /// written to a file where one is named.
    Explore {
        /// Events of other orders that may be looked at; a default otherwise.
        bound: Option<u64>,
        /// The file.
        file: Option<String>,
    },
    /// Read the barriers in this way; what is not named stays.
    Reading {
        /// DMB.
        dmb: Option<DmbReading>,
        /// SOW.
        sow: Option<SowReading>,
    },
    /// Hold an event back until another has happened.
    Hold(Hold<QueueRef>),
    /// Set or clear a barrier in the ring before its doorbell.
    Barrier(BarrierEdit<QueueRef>),
    /// Run in the order of a file, or in the one that was found.
    Replay(Option<String>),
    /// Run in the calm order, the barriers as they are.
    Calm,
}

impl Order {
    /// What may be written after the verb.
    pub const WORDS: [&str; 6] = ["explore", "reading", "hold", "barrier", "replay", "calm"];
}

/// A command.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Command {
    /// Forwards by units.
    Step {
        /// How many.
        count: u64,
        /// Of what.
        unit: Unit,
        /// Whose.
        who: Who,
        /// Backwards.
        back: bool,
    },
    /// One phase of the host.
    Next {
        /// How many.
        count: u64,
        /// Backwards.
        back: bool,
    },
    /// To the next stop or the end.
    Continue {
        /// Backwards.
        back: bool,
    },
    /// To the first event at which the expression is not 0.
    Until {
        /// The condition.
        expr: Expr,
        /// Backwards.
        back: bool,
    },
    /// To the end of the current batch.
    Finish {
        /// Backwards.
        back: bool,
    },
    /// To and through the next doorbell.
    Doorbell {
        /// Of which queue; any by default.
        queue: Option<QueueRef>,
        /// Backwards.
        back: bool,
    },
    /// To an event.
    Goto(Goto),
    /// To event 0.
    Restart,
    /// A breakpoint.
    Break {
        /// Where.
        loc: Loc,
        /// Condition.
        cond: Option<Expr>,
        /// Deleted at its first hit.
        once: bool,
        /// Hits to pass over.
        after: u64,
    },
    /// A watchpoint.
    Watch {
        /// What, and which accesses.
        watch: Watch,
        /// Condition.
        cond: Option<Expr>,
        /// Deleted at its first hit.
        once: bool,
        /// Hits to pass over.
        after: u64,
    },
    /// A catchpoint.
    Catch {
        /// What.
        what: Catch,
        /// Condition.
        cond: Option<Expr>,
        /// Deleted at its first hit.
        once: bool,
        /// Hits to pass over.
        after: u64,
    },
    /// Commands that are executed when a stop is hit; of the newest stop where none is named.
    Commands {
        /// Its number.
        stop: Option<u64>,
        /// What of them.
        what: Attached,
    },
    /// Delete stops by number; all when empty.
    Delete(Numbers),
    /// Enable or disable stops by number; all when empty.
    Enable(Numbers, Switch),
    /// Show a value now and whenever the session stops; all such values where none is named.
    Display {
        /// What.
        expr: Option<Expr>,
        /// How.
        form: Option<Form>,
    },
    /// Show values by number no longer; none of them when empty.
    Undisplay(Numbers),
    /// Show a value.
    Print {
        /// What.
        expr: Expr,
        /// How.
        form: Option<Form>,
    },
    /// Show memory.
    Examine {
        /// How.
        format: ExamineFormat,
        /// Where; goes on after the last one when absent.
        addr: Option<Expr>,
    },
    /// The slots of which an expression is not 0.
    Find {
        /// Of which ring of the selected queue; both where none is named.
        dir: Option<Dir>,
        /// The question; bare names are words and fields of each slot.
        expr: Expr,
    },
    /// Where am I.
    Where,
    /// Show a subject; a queue selects it.
    Info {
        /// What.
        what: Info,
        /// Which queue.
        queue: Option<QueueRef>,
    },
    /// Every bit of a slot, or a code, in words.
    Explain(Explain),
    /// Who wrote bytes last.
    LastWrite(Bytes),
    /// Who reads bytes next.
    NextRead(Bytes),
    /// Where bytes came from, back through copies.
    Origin(Bytes),
    /// Why a queue's marker does not flip.
    Why(Option<QueueRef>),
    /// From a source line to the slots, and back.
    Provenance(Subject),
    /// Stages of a module's lowering.
    Pass(Pass),
    /// Orders other than the calm one.
    Order(Order),
    /// Lines of a module's text around this one, or around where its sequencers stand.
    List(Option<u64>),
    /// Name the current event.
    Mark(String),
    /// Set a variable of the session.
    SetVar(String, Expr),
    /// Change a field, a word, memory, a register or a cursor.
    Set {
        /// What, as an expression names it.
        what: Expr,
        /// Its new value.
        value: Expr,
    },
    /// Let the engine find a fault.
    Inject {
        /// Name of the cause.
        fault: String,
        /// Where.
        at: InjectAt,
    },
    /// Take the newest edit back.
    Undo,
    /// Make the edit again that was taken back last.
    Redo,
    /// Write the program with its edits to a file.
    Save {
        /// The file.
        file: String,
        /// How it is written.
        format: SaveFormat,
        /// Over a file that is there.
        over: bool,
    },
    /// Fail unless the expression is not 0.
    Assert {
        /// The condition.
        expr: Expr,
        /// What to say if it is not.
        text: Option<String>,
    },
    /// Fail unless something happened.
    Expect(Expect),
    /// Print a text.
    Echo(String),
    /// Write the run up to here, or the rings as they stand, to a file.
    Export {
        /// In which form.
        form: ExportForm,
        /// The file.
        file: String,
    },
    /// Write a picture of the screen to a file.
    Screenshot {
        /// The file.
        file: String,
        /// In which form.
        form: PictureForm,
        /// Columns and rows; none: those of the screen.
        size: Option<(u16, u16)>,
        /// Over a file that is there.
        over: bool,
    },
    /// Read commands from a file (by the script runner).
    Source(String),
    /// An answer to the question of a lesson, as it is written.
    Answer(String),
    /// The next hint of a lesson's task.
    Hint,
    /// Leave a task of a lesson unsolved.
    Skip,
    /// Begin a task of a lesson anew.
    Again,
    /// To the next task of a lesson.
    Proceed,
    /// Load the files again.
    Reload,
    /// What a lesson says, in full.
    Lesson,
    /// Help, on one command or all.
    Help(Option<String>),
    /// Leave.
    Quit,
}

impl Command {
    /// The expression of which a value is asked, at once or event by event.
    pub fn asks(&self) -> Option<&Expr> {
        match self {
            Command::Goto(Goto::Event(e))
            | Command::Until { expr: e, .. }
            | Command::Print { expr: e, .. }
            | Command::Find { expr: e, .. }
            | Command::SetVar(_, e)
            | Command::Set { value: e, .. }
            | Command::Assert { expr: e, .. } => Some(e),
            Command::Break { cond: e, .. }
            | Command::Watch { cond: e, .. }
            | Command::Catch { cond: e, .. }
            | Command::Display { expr: e, .. }
            | Command::Examine { addr: e, .. } => e.as_ref(),
            _ => None,
        }
    }
}

/// Where a fault is injected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct InjectAt {
    /// Queue.
    pub queue: QueueRef,
    /// Ring; that of the cause if none is named.
    pub dir: Option<Dir>,
    /// Slot; the next descriptor that can have it if none is named.
    pub slot: Option<u64>,
}

impl fmt::Display for InjectAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dot = if self.queue == QueueRef::Selected || self.dir.is_none() { "" } else { "." };
        write!(f, "{}{dot}", self.queue)?;
        if let Some(dir) = self.dir {
            write!(f, "{dir}")?;
        }
        match self.slot {
            Some(slot) => write!(f, "[{slot}]"),
            None => Ok(()),
        }
    }
}

/// How a program is written to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SaveFormat {
    /// As text (`docs/assembly.md`).
    Assembly,
    /// As a program image (`docs/container.md`).
    Image,
}

impl SaveFormat {
    /// Ends of names, and what they say.
    pub const ENDS: [(&str, SaveFormat); 2] =
        [(".dma", SaveFormat::Assembly), (".bin", SaveFormat::Image)];

    /// What the end of a file's name says.
    pub fn of(file: &str) -> Option<SaveFormat> {
        SaveFormat::ENDS.iter().find(|e| file.ends_with(e.0)).map(|e| e.1)
    }
}

/// A form in which a run or its rings leave (`docs/export.md`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExportForm {
    /// Events as JSON lines.
    Events,
    /// Events as CSV.
    EventsCsv,
    /// Events as a trace for Perfetto.
    Perfetto,
    /// Descriptors as CSV.
    Descriptors,
    /// Descriptors as Parquet, where this build has it.
    Parquet,
}

impl ExportForm {
    /// All forms.
    pub const ALL: [ExportForm; 5] = [
        ExportForm::Events,
        ExportForm::EventsCsv,
        ExportForm::Perfetto,
        ExportForm::Descriptors,
        ExportForm::Parquet,
    ];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            ExportForm::Events => "events",
            ExportForm::EventsCsv => "events-csv",
            ExportForm::Perfetto => "perfetto",
            ExportForm::Descriptors => "descriptors",
            ExportForm::Parquet => "parquet",
        }
    }

    /// Whether it is text.
    pub fn is_text(self) -> bool {
        !matches!(self, ExportForm::Perfetto | ExportForm::Parquet)
    }
}

/// What `pass` does.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Pass {
    /// List the stages.
    Show,
    /// Show the module after this one.
    Select(Stage),
    /// After the next one.
    Next,
    /// After the one before.
    Prev,
    /// Compare the texts of two stages; of the selected one and the one before where none are
    /// named.
    Diff(Option<(Stage, Stage)>),
    /// List the parameters of the lowering and their values.
    Params,
    /// Lower the module anew with another value of a parameter; the run begins anew.
    Set(&'static str, String),
}

impl Pass {
    /// Stages after which there is a module.
    pub const STAGES: [Stage; 6] =
        [Stage::Loaded, Stage::Peel, Stage::Unroll, Stage::Split, Stage::Check, Stage::LowerDma];

    /// What may be written after the verb.
    pub fn words() -> Vec<&'static str> {
        Pass::STAGES.map(Stage::name).into_iter().chain(["next", "prev", "diff", "set"]).collect()
    }
}

/// What `explain` explains.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Explain {
    /// A place.
    Loc(Loc),
    /// A diagnostic code or a fault's name.
    Code(String),
    /// A register of a queue or an engine, by name.
    Register(String),
    /// A queue.
    Queue(QueueRef),
}

/// Bytes of memory that are asked about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Bytes {
    /// `ADDR[,LEN]`: from an address on; one byte where no length is said.
    Span {
        /// The first address.
        addr: Expr,
        /// How many.
        len: Option<Expr>,
    },
    /// `tx[3]`: the sixteen bytes of each slot from `first` to `last`.
    Slots {
        /// Queue.
        queue: QueueRef,
        /// Ring.
        dir: Dir,
        /// First slot.
        first: u64,
        /// Last slot.
        last: u64,
    },
    /// `marker`: the word that the selected queue's newest batch polls.
    Marker,
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bytes::Span { addr, len: None } => write!(f, "{addr}"),
            Bytes::Span { addr, len: Some(len) } => write!(f, "{addr}, {len}"),
            &Bytes::Slots { queue, dir, first, last } => {
                write!(f, "{}", Loc::Slots { queue, dir, first, last })
            }
            Bytes::Marker => write!(f, "{}", Loc::Marker),
        }
    }
}

/// Whose provenance is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Subject {
    /// A slot.
    Slot {
        /// Queue.
        queue: QueueRef,
        /// Ring.
        dir: Dir,
        /// Slot.
        index: u64,
        /// `.dmb`, `.len_ctrl.dmb`: a word or field of it, and of a word the field; empty for
        /// the whole slot.
        path: Vec<String>,
    },
    /// What lies at an address.
    Addr(u64),
    /// An instruction by name: `%I-34`.
    Inst(String),
    /// Anything else that a module names: a block, a queue, a location, an instruction.
    Name(String),
}
