//! The one table of commands: it drives the keys, the help, completion, the manual and the
//! script language.

/// Group of a command in help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Group {
    /// Moving in time.
    Run,
    /// Where to stop.
    Stop,
    /// Looking.
    Look,
    /// Changing the run.
    Change,
    /// Causes: who wrote, where from, why not.
    Trace,
    /// A module and its stages.
    Module,
    /// Orders other than the calm one.
    Order,
    /// Scripts.
    Script,
    /// Lessons.
    Learn,
    /// The program itself.
    Session,
}

impl Group {
    /// All, in the order of help.
    pub const ALL: [Group; 10] = [
        Group::Run,
        Group::Stop,
        Group::Look,
        Group::Change,
        Group::Trace,
        Group::Order,
        Group::Module,
        Group::Script,
        Group::Learn,
        Group::Session,
    ];

    /// Its heading.
    pub fn title(self) -> &'static str {
        match self {
            Group::Run => "run",
            Group::Stop => "stop",
            Group::Look => "look",
            Group::Change => "change",
            Group::Trace => "trace",
            Group::Module => "module",
            Group::Order => "order",
            Group::Script => "script",
            Group::Learn => "learn",
            Group::Session => "session",
        }
    }
}

/// What an argument is, for completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arg {
    /// One of these words.
    Words(&'static [&'static str]),
    /// A number.
    Number,
    /// An expression.
    Expr,
    /// A word or field of a slot, in an expression.
    Field,
    /// A place.
    Loc,
    /// An address to watch, a slot or a location.
    Watch,
    /// What may follow the kind of a catchpoint: a fault's name, a queue.
    Catch,
    /// A place, a queue, a register, a code or a fault.
    Explained,
    /// A queue.
    Queue,
    /// A mark's name.
    Mark,
    /// A file.
    File,
    /// A command's name.
    Command,
    /// A fault's name.
    Fault,
    /// Free text.
    Text,
}

/// A row of the command table.
#[derive(Debug)]
pub struct CommandSpec {
    /// Full name.
    pub name: &'static str,
    /// Short names that win over prefixes.
    pub aliases: &'static [&'static str],
    /// Group in help.
    pub group: Group,
    /// Arguments as help shows them.
    pub usage: &'static str,
    /// What each argument position may be completed with.
    pub args: &'static [Arg],
    /// One line.
    pub summary: &'static str,
    /// More, for `help NAME` and the manual.
    pub detail: &'static str,
}

const UNITS: &[&str] = &["event", "slot", "packet", "phase", "batch"];
const WHO: &[&str] = &["any", "host", "engine", "seq"];
const INFOS: &[&str] = &[
    "rings",
    "queue",
    "regs",
    "marker",
    "memory",
    "breakpoints",
    "faults",
    "batches",
    "races",
    "budget",
    "edits",
    "checks",
    "display",
    "reload",
];
const PASSES: &[&str] =
    &["loaded", "peel", "unroll", "split", "check", "lower_dma", "next", "prev", "diff", "set"];
const EXPECTS: &[&str] = &["fault", "timeout", "ret", "stop", "race"];
const EXPORTS: &[&str] = &["events", "events-csv", "perfetto", "descriptors", "parquet"];
const ORDERS: &[&str] = &["explore", "reading", "hold", "barrier", "replay", "calm"];
const AT: &[&str] = &["at"];
const RINGS: &[&str] = &["tx", "rx"];
const BREAK_OPTIONS: &[&str] = &["if", "once", "after"];
const WATCH_OPTIONS: &[&str] = &["read", "write", "access", "change", "if", "once", "after"];
const SWITCHES: &[&str] = &["once", "delete"];
const CATCHES: &[&str] =
    &["fault", "race", "doorbell", "marker", "timeout", "ret", "stall", "reload"];

const fn spec(
    (name, aliases): (&'static str, &'static [&'static str]),
    group: Group,
    (usage, args): (&'static str, &'static [Arg]),
    summary: &'static str,
    detail: &'static str,
) -> CommandSpec {
    CommandSpec { name, aliases, group, usage, args, summary, detail }
}

/// Every command, by group.
pub static COMMANDS: &[CommandSpec] = &[
    spec(
        ("step", &["s"]),
        Group::Run,
        (
            "[N] [event|slot|packet|phase|batch] [host|seq|engine|any]",
            &[Arg::Number, Arg::Words(UNITS), Arg::Words(WHO)],
        ),
        "go forward by N units",
        "Without a unit: slots, that is the retirement of the next pair of the selected queue. With an agent only its events count, and without a unit each of them.",
    ),
    spec(
        ("reverse-step", &["rs", "back"]),
        Group::Run,
        ("[N] [UNIT] [AGENT]", &[Arg::Number, Arg::Words(UNITS), Arg::Words(WHO)]),
        "go back by N units",
        "Stops exactly where going forward would have stopped.",
    ),
    spec(
        ("next", &["n"]),
        Group::Run,
        ("[N]", &[Arg::Number]),
        "one phase of the host: stage, trigger, doorbell, poll or ack",
        "",
    ),
    spec(
        ("reverse-next", &["rn"]),
        Group::Run,
        ("[N]", &[Arg::Number]),
        "one phase of the host back",
        "",
    ),
    spec(("continue", &["c"]), Group::Run, ("", &[]), "run to the next stop or to the end", ""),
    spec(
        ("reverse-continue", &["rc"]),
        Group::Run,
        ("", &[]),
        "run back to the last stop or to event 0",
        "",
    ),
    spec(
        ("until", &["u"]),
        Group::Run,
        ("EXPR", &[Arg::Expr]),
        "run until an expression is not 0",
        "The expression is tried after each event, not before the first.",
    ),
    spec(
        ("reverse-until", &["ru"]),
        Group::Run,
        ("EXPR", &[Arg::Expr]),
        "go back until an expression is not 0",
        "",
    ),
    spec(
        ("finish", &["f"]),
        Group::Run,
        ("", &[]),
        "run until the current batch is acked",
        "Where the batch times out it stops there and says so.",
    ),
    spec(
        ("reverse-finish", &["rf"]),
        Group::Run,
        ("", &[]),
        "go back to the ack of the batch before",
        "",
    ),
    spec(
        ("doorbell", &["d"]),
        Group::Run,
        ("[QUEUE]", &[Arg::Queue]),
        "run to and through the next doorbell",
        "Stops after the TX doorbell write, or after the RX one where TX is not rung.",
    ),
    spec(
        ("reverse-doorbell", &["rd"]),
        Group::Run,
        ("[QUEUE]", &[Arg::Queue]),
        "go back to the doorbell before",
        "",
    ),
    spec(
        ("goto", &["g"]),
        Group::Run,
        ("EVENT|MARK", &[Arg::Mark]),
        "go to an event by number, to a mark, or to `end`",
        "",
    ),
    spec(("restart", &[]), Group::Run, ("", &[]), "go back to event 0", ""),
    spec(
        ("break", &["b"]),
        Group::Stop,
        ("LOC [if EXPR] [once] [after N]", &[Arg::Loc, Arg::Words(BREAK_OPTIONS)]),
        "stop at a slot, batch, address, doorbell, queue, instruction, block, line or stage",
        "A slot stops at each event that touches it: staged, fetched, read, visible, retired; an address at each access. An instruction or a block of a module stops where a sequencer begins it and where an engine takes up its descriptors; `pass STAGE` where the stages are gone through. `after N` passes over the first N hits of the run. `break tx[3] if tx[3].dmb`, `break %I-34`, `break dma_block_2 once`.",
    ),
    spec(
        ("tbreak", &["tb"]),
        Group::Stop,
        ("LOC [if EXPR] [after N]", &[Arg::Loc, Arg::Words(BREAK_OPTIONS)]),
        "a breakpoint that is deleted at its first hit",
        "",
    ),
    spec(
        ("watch", &[]),
        Group::Stop,
        (
            "ADDR[,LEN] [read|write|access|change] [if EXPR] [once] [after N]",
            &[Arg::Watch, Arg::Words(WATCH_OPTIONS)],
        ),
        "stop where bytes of memory are read or written",
        "ADDR is an expression, worked out now; LEN is 4 where nothing is said. `marker` watches the marker word, `tx[3]` or `tx[3:9]` the bytes of slots, `tx[3].dmb` those that hold a word or field of one, `mem32[0x10]` what it reads, a location of a module all its bytes, `semaphore 3` a semaphore. Without a word: `write`, that is every write, of the value that was there as well; `change` only writes after which a byte is another one. `watch 0x1000,64 change`, `watch tx[3] access`.",
    ),
    spec(
        ("catch", &[]),
        Group::Stop,
        (
            "fault [NAME]|race|doorbell [QUEUE]|marker|timeout|ret [N]|stall|reload [if EXPR] [once] [after N]",
            &[Arg::Words(CATCHES), Arg::Catch, Arg::Words(BREAK_OPTIONS)],
        ),
        "stop where something of a kind happens",
        "`race`: at the second access of a pair that nothing orders under the session's reading of the barriers. `ret`: at a driver call that returns anything but 0, or exactly N (`ret BUG`: an assertion). `stall`: at a queue or sequencer that cannot go on. `reload`: when the screen has loaded its files anew; a script never does. `catch fault PKT_LEN`, `catch doorbell q1`.",
    ),
    spec(
        ("commands", &[]),
        Group::Stop,
        ("[N] [end | [silent;] COMMAND; ..]", &[Arg::Number, Arg::Command]),
        "commands to execute whenever stop N is hit",
        "Without a number: of the newest stop. Without commands it shows them, and in a script the lines up to `end` are the commands. `end` alone takes them away. After `silent` nothing is told of the stop itself. What follows a command that moves is left out, as in gdb. `commands 1 silent; print q0.free; continue`.",
    ),
    spec(
        ("delete", &["del"]),
        Group::Stop,
        ("[N|N-M ..]", &[Arg::Number]),
        "delete stops by number, or all",
        "Of a range those that there are. Numbers are not used again.",
    ),
    spec(
        ("enable", &["en"]),
        Group::Stop,
        ("[once|delete] [N|N-M ..]", &[Arg::Words(SWITCHES), Arg::Number]),
        "enable stops by number, or all",
        "`once`: until the next hit, then it is disabled; `delete`: until the next hit, then it is gone.",
    ),
    spec(
        ("disable", &["dis"]),
        Group::Stop,
        ("[N|N-M ..]", &[Arg::Number]),
        "disable stops by number, or all",
        "",
    ),
    spec(
        ("print", &["p"]),
        Group::Look,
        ("[/x|/d|/t|/c] EXPR", &[Arg::Expr]),
        "show the value of an expression",
        "Integers, fields (tx[3].dmb), queues (q0.free), memory (mem32[0x10]), `marker`, `event`, $variables; C operators on unsigned 64-bit values that wrap.",
    ),
    spec(
        ("display", &[]),
        Group::Look,
        ("[/x|/d|/t|/c] [EXPR]", &[Arg::Expr]),
        "show the value of an expression now and whenever the session stops",
        "Without an expression: all of them now. What has no value at a stop shows as ?? with the reason. `display/d q0.free`.",
    ),
    spec(
        ("undisplay", &[]),
        Group::Look,
        ("[N|N-M ..]", &[Arg::Number]),
        "show values by number no longer, or none",
        "",
    ),
    spec(
        ("x", &[]),
        Group::Look,
        ("[/COUNT WIDTH FORM] [ADDR|SLOT|marker]", &[Arg::Expr]),
        "show memory",
        "Width b h w g (1, 2, 4, 8 bytes) or i (descriptors); form x d t c. `x /8wx 0x1000`. Unknown bytes show as ??, never written ones as --.",
    ),
    spec(
        ("find", &[]),
        Group::Look,
        ("[tx|rx] EXPR", &[Arg::Words(RINGS), Arg::Field]),
        "the slots of the selected queue of which an expression is not 0",
        "Bare names are words and fields of each slot, and `index` its number: `find tx length > 4096 && dmb`. Slots that were never written are left out.",
    ),
    spec(
        ("where", &["when"]),
        Group::Look,
        ("", &[]),
        "say where the session stands and who moves next",
        "The newest event with its time, batch and phase, and the event that comes next.",
    ),
    spec(
        ("info", &["i"]),
        Group::Look,
        (
            "rings|queue|regs|marker|memory|breakpoints|faults|batches|races|budget|edits|checks|display|reload [QUEUE]",
            &[Arg::Words(INFOS), Arg::Queue],
        ),
        "show a subject",
        "`info queue Q` also selects the queue. `info races` checks the order of all accesses from the start to here, under every reading of the barriers. `info budget` tells what a module's blocks take of its rings. `info edits` lists what was changed in the run, `info checks` the lints of a queue's rings as they lie in memory now.",
    ),
    spec(
        ("explain", &["e"]),
        Group::Look,
        ("LOC|QUEUE|REGISTER|CODE|FAULT", &[Arg::Explained]),
        "every bit of a slot in words, or a place, queue, register, diagnostic code, fault or term",
        "A slot or range (tx[3], tx[3:9]): its life, its batch, what it waits for, every bit. `marker`, `batch N`, `event N`, an address, `q0`, a register (drtp_inc), a code (R002), a fault (PKT_LEN), a term of the field (gather; docs/terms.md).",
    ),
    spec(
        ("why", &[]),
        Group::Trace,
        ("[QUEUE]", &[Arg::Queue]),
        "why the marker does not flip: the chain of unmet conditions, most specific first",
        "Of the selected queue, where none is named. Also tells what happens next and at which event the marker flips, if nothing is changed. What is a decision of the model says MODEL.",
    ),
    spec(
        ("last-write", &["lw"]),
        Group::Trace,
        ("ADDR[,LEN]|SLOT|marker", &[Arg::Expr]),
        "the newest event up to here that wrote the bytes",
        "Each writer with the part that is its own, and whether it changed anything; or what the bytes held from the start. Nothing moves: `goto N` goes there.",
    ),
    spec(
        ("next-read", &["nr"]),
        Group::Trace,
        ("ADDR[,LEN]|SLOT|marker", &[Arg::Expr]),
        "the next event that reads one of the bytes",
        "Fetches, reads of the engine, polls, instructions of a module; a successful poll counts as a read of what its batch wrote. Nothing moves.",
    ),
    spec(
        ("origin", &["or"]),
        Group::Trace,
        ("ADDR[,LEN]|SLOT|marker", &[Arg::Expr]),
        "follow bytes back through descriptor copies to where they came from",
        "Each copy with its event, its Rx slot, and the Tx slots and addresses that filled it, indented below what it wrote. A computed byte has every source below it.",
    ),
    spec(
        ("set", &[]),
        Group::Change,
        ("LOC = EXPR | $NAME = EXPR", &[Arg::Expr]),
        "change a field, a word, memory, a register or a cursor of the run; or set a variable",
        "tx[3].dmb, tx[3].len_ctrl, mem32[0x10], marker, q0.tx.drtp_inc (a register by name), reg[0x200] (one of the engine by its offset), q0.tx.next_desc_idx, .next_cdesc_idx, .desc_ring_id, .head, .tail. The change is made right after the event at which the session stands; later edits go, and come back with `undo`. `docs/whatif.md`.",
    ),
    spec(
        ("inject", &[]),
        Group::Change,
        ("FAULT [at SLOT|RING|QUEUE]", &[Arg::Fault, Arg::Words(AT), Arg::Loc]),
        "let the engine find a fault",
        "At the next descriptor of the selected queue that can have it, or at a slot (tx[3]), at the next of a ring (q0.rx) or of a queue (q1). A cause of both directions is the Tx one unless a ring is named. Found once (MODEL).",
    ),
    spec(
        ("undo", &[]),
        Group::Change,
        ("", &[]),
        "take back the newest `set` or `inject`",
        "The session stays at its event. Edits and marks that the taken one had put away come back.",
    ),
    spec(
        ("redo", &[]),
        Group::Change,
        ("", &[]),
        "make the edit again that was taken back last",
        "",
    ),
    spec(
        ("save", &[]),
        Group::Change,
        ("FILE.dma|FILE.bin", &[Arg::File]),
        "write the program with its edits: as assembly, or as a program image",
        "A file that is there is written over by `save! FILE` only. The file runs as this session does; what comments of the input allow or deny goes with assembly, an image has no comments. Of a module without edits what its sequencers did is written.",
    ),
    spec(
        ("provenance", &["prov"]),
        Group::Trace,
        ("LOC|LOC.FIELD|%INST|NAME", &[Arg::Loc]),
        "the way from a source line to the slots of a ring, or back from a slot",
        "A slot (tx[3], q0.rx[17]), one field of it with the rule that set it (tx[3].dmb), an address, an instruction of any stage (%I-34), or the name of a block, queue or memory location. The run tells which descriptors lie in the rings now.",
    ),
    spec(
        ("pass", &[]),
        Group::Module,
        ("[STAGE|next|prev] | diff [STAGE STAGE] | set [PARAM VALUE]", &[Arg::Words(PASSES)]),
        "show a module after another stage of its lowering",
        "Without a stage: all of them with what each holds. `pass diff` compares the text of the stage with that of the one before, or that of two stages. `pass set` lists the parameters of the lowering; with one and a value the module is lowered anew and its run begins at event 0; stops and variables stay, marks go.",
    ),
    spec(
        ("list", &["l"]),
        Group::Look,
        ("[LINE]", &[Arg::Number]),
        "the text of a module around a line, or around where its sequencers stand",
        "The text is that after the shown stage, and its lines are counted there. Without a module: the operations of the host script around the one in progress, or around operation LINE.",
    ),
    spec(
        ("order", &["o"]),
        Group::Order,
        (
            "[explore [BOUND] [> FILE]|reading ..|hold ..|barrier ..|replay [FILE]|calm]",
            &[Arg::Words(ORDERS)],
        ),
        "look for an order of events that breaks the program, and run in it",
        "`explore` proves that no order which the rules allow breaks the program, or shows one that does and the barrier that would prevent it; BOUND is how many events of other orders it may look at. `replay` runs in the order that was found, or in that of a file; the session stands at event 0 then. `hold EVENT until EVENT` adds to the order by hand; an event is `[QUEUE] tx N fetch|read`, `[QUEUE] rx N fetch|visible` (N counts descriptors of the direction from 0) or `host store|doorbell|poll N`, of a module `seq ENGINE store|doorbell|poll N` (counted from 1). `barrier [QUEUE] tx|rx N dmb|write_barrier|sow on|off` changes a descriptor before its doorbell. `calm` drops all of it. `reading [dmb=full|entry] [sow=through|self]` says how far the two barriers reach. Alone: what holds now.",
    ),
    spec(("mark", &[]), Group::Script, ("NAME", &[Arg::Text]), "name the current event", ""),
    spec(
        ("assert", &[]),
        Group::Script,
        ("EXPR [, \"TEXT\"]", &[Arg::Expr]),
        "fail unless an expression is not 0",
        "",
    ),
    spec(
        ("expect", &[]),
        Group::Script,
        (
            "fault NAME [at LOC] | timeout [BATCH] | ret N | ret BUG | stop LOC | race [LOC LOC]",
            &[Arg::Words(EXPECTS)],
        ),
        "fail unless it happened up to here",
        "What is expected no longer makes the run's exit status 1.",
    ),
    spec(("echo", &[]), Group::Script, ("TEXT", &[Arg::Text]), "print a text", ""),
    spec(("source", &[]), Group::Script, ("FILE", &[Arg::File]), "read commands from a file", ""),
    spec(
        ("export", &[]),
        Group::Script,
        ("FORM FILE", &[Arg::Words(EXPORTS), Arg::File]),
        "write the run up to here, or the rings, to a file",
        "`events` (JSON lines), `events-csv` and `perfetto` (a trace) write what happened from the start to here; `descriptors` (CSV) and `parquet` every slot of the rings as they stand. A file that is there is replaced.",
    ),
    spec(
        ("screenshot", &[]),
        Group::Script,
        ("FILE.svg|FILE.ansi|FILE.txt [WxH]", &[Arg::File, Arg::Text]),
        "write a picture of the screen to a file",
        "With its colours as SVG or with the escape sequences of a terminal, or as text. WxH is its size in columns and rows; else it is that of the screen. Without a screen it is the one that would open here, 160x45 where nothing is said. A file that is there is written over by `screenshot! FILE` only.",
    ),
    spec(
        ("answer", &[]),
        Group::Learn,
        ("EXPR|NUMBER|WORD", &[Arg::Expr]),
        "answer the question of a lesson's task",
        "An expression, evaluated where the session stands; the number of a choice; or a word, where a name is asked for. Only in a lesson: `dmadbg learn`, `docs/learn.md`.",
    ),
    spec(
        ("hint", &[]),
        Group::Learn,
        ("", &[]),
        "the next hint of a lesson's task",
        "Hints go from a nudge to nearly the answer. Asking costs nothing.",
    ),
    spec(
        ("lesson", &[]),
        Group::Learn,
        ("", &[]),
        "what a lesson says, in full: introduction, facts with their sources, the task",
        "",
    ),
    spec(
        ("proceed", &[]),
        Group::Learn,
        ("", &[]),
        "to the next task of a lesson, once this one is solved",
        "On the screen, where every task is solved, to the next lesson that has something left to do.",
    ),
    spec(
        ("skip", &[]),
        Group::Learn,
        ("", &[]),
        "leave a lesson's task unsolved and go to the next one",
        "It stays open: the lesson begins with it the next time.",
    ),
    spec(
        ("again", &[]),
        Group::Learn,
        ("", &[]),
        "begin a lesson's task anew, with the program as it was",
        "",
    ),
    spec(
        ("help", &["h", "?"]),
        Group::Session,
        ("[COMMAND]", &[Arg::Command]),
        "list the commands, or explain one",
        "",
    ),
    spec(
        ("reload", &[]),
        Group::Session,
        ("", &[]),
        "load the files again, watched or not; only on the screen",
        "The session stays where it is, and what was set stays at what it was set at. `info reload` tells what changed and what waits. With `--on-change` its command runs first.",
    ),
    spec(("quit", &["q", "exit"]), Group::Session, ("", &[]), "leave", ""),
];

/// Why a command name does not name one command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameError {
    /// Nothing begins with it; the nearest names.
    Unknown(Vec<&'static str>),
    /// Several begin with it.
    Ambiguous(Vec<&'static str>),
}

/// Finds a command by its full name, an alias, or an unambiguous prefix of its name.
///
/// # Errors
/// [`NameError`] with the candidates.
pub fn find(name: &str) -> Result<&'static CommandSpec, NameError> {
    if let Some(c) = COMMANDS.iter().find(|c| c.name == name || c.aliases.contains(&name)) {
        return Ok(c);
    }
    let fit: Vec<_> = COMMANDS.iter().filter(|c| c.name.starts_with(name)).collect();
    match fit.as_slice() {
        [one] => Ok(one),
        [] => Err(NameError::Unknown(nearest(name, COMMANDS.iter().map(|c| c.name)))),
        many => Err(NameError::Ambiguous(many.iter().map(|c| c.name).collect())),
    }
}

/// The known words that `name` is probably a misspelling of: the nearest, at most three.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    /// No word of the language is longer, and neither is a misspelling of one.
    const LONGEST: usize = 64;
    if name.len() > LONGEST {
        return Vec::new();
    }
    let letters = name.chars().count();
    let most = 2.min(letters.saturating_sub(1));
    // As many edits as letters are more or fewer are there in any case.
    let near = known.into_iter().filter(|k| k.chars().count().abs_diff(letters) <= most);
    let mut near: Vec<_> = near.map(|k| (distance(name, k), k)).collect();
    near.sort_unstable();
    near.dedup();
    let least = near.first().map_or(0, |n| n.0);
    near.into_iter().filter(|(d, _)| *d == least && *d <= most).map(|(_, k)| k).take(3).collect()
}

/// Edits between two words, for suggestions: letters put in, left out, exchanged for another,
/// and two neighbours that changed places.
pub fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, cb) in b.iter().enumerate() {
            let mut n = (row[j] + usize::from(ca != cb)).min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && *ca == b[j - 1] && a[i - 1] == *cb {
                n = n.min(before[j - 1] + 1);
            }
            next.push(n);
        }
        before = std::mem::replace(&mut row, next);
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::command::{Access, Catch, ExportForm, Info, Order, Pass, Unit, Who};

    #[test]
    fn names_and_aliases_are_unique() {
        let mut all: Vec<&str> = COMMANDS
            .iter()
            .flat_map(|c| std::iter::once(c.name).chain(c.aliases.iter().copied()))
            .collect();
        all.sort_unstable();
        let n = all.len();
        all.dedup();
        assert_eq!(all.len(), n);
    }

    #[test]
    fn prefixes_work_where_they_are_unambiguous() {
        assert_eq!(find("cont").map(|c| c.name), Ok("continue"));
        assert_eq!(find("s").map(|c| c.name), Ok("step"));
        assert_eq!(find("reverse-s").map(|c| c.name), Ok("reverse-step"));
        assert!(matches!(find("reverse-"), Err(NameError::Ambiguous(v)) if v.len() == 6));
        assert!(matches!(find("stpe"), Err(NameError::Unknown(v)) if v.contains(&"step")));
    }

    #[test]
    fn the_words_of_the_table_are_those_of_the_types() {
        assert_eq!(UNITS, Unit::ALL.map(Unit::name));
        assert_eq!(WHO, Who::ALL.map(Who::name));
        assert_eq!(INFOS, Info::ALL.map(Info::name));
        assert_eq!(PASSES, Pass::words());
        assert_eq!(CATCHES, Catch::WORDS);
        assert_eq!(WATCH_OPTIONS[..4], Access::ALL.map(Access::name));
        assert_eq!(WATCH_OPTIONS[4..], *BREAK_OPTIONS);
        assert_eq!(ORDERS, Order::WORDS);
        assert_eq!(EXPORTS, ExportForm::ALL.map(ExportForm::name));
    }

    #[test]
    fn the_nearest_are_those_of_all_distances() {
        let plain = |name: &str, known: &[&'static str]| {
            let most = 2.min(name.chars().count().saturating_sub(1));
            let of = |k: &&'static str| distance(name, k);
            let least = known.iter().map(of).min().unwrap_or(0);
            let mut near: Vec<&str> = known.to_vec();
            near.retain(|k| of(k) == least && least <= most);
            near.sort_unstable();
            near.dedup();
            near.truncate(3);
            near
        };
        let known: Vec<&str> = COMMANDS.iter().map(|c| c.name).collect();
        let mut found = 0;
        for word in known.iter().chain(&["", "x", "stpe", "gooto", "é", "brek", "infoo"]) {
            for cut in 0..=word.chars().count() {
                let short: String = word.chars().skip(cut % 3).take(cut).collect();
                for asked in [short.clone(), short.clone() + "zz", short + "e"] {
                    assert_eq!(nearest(&asked, known.iter().copied()), plain(&asked, &known));
                    found += nearest(&asked, known.iter().copied()).len();
                }
            }
        }
        assert!(found > 100, "{found}");
    }

    #[test]
    fn distance_counts_edits() {
        assert_eq!(distance("step", "stpe"), 1);
        assert_eq!(distance("ca", "abc"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
