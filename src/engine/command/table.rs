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
    /// A module and its stages.
    Module,
    /// Scripts.
    Script,
    /// Lessons.
    Learn,
    /// The program itself.
    Session,
}

impl Group {
    /// All, in the order of help.
    pub const ALL: [Group; 8] = [
        Group::Run,
        Group::Stop,
        Group::Look,
        Group::Change,
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
            Group::Module => "module",
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
];
const PASSES: &[&str] =
    &["loaded", "peel", "unroll", "split", "check", "lower_dma", "next", "prev", "diff", "set"];
const EXPECTS: &[&str] = &["fault", "timeout", "ret", "stop"];
const AT: &[&str] = &["at"];
const RINGS: &[&str] = &["tx", "rx"];
const BREAK_OPTIONS: &[&str] = &["if", "once", "after"];

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
        "stop at a slot, batch, address, doorbell, marker, fault or event",
        "A slot stops at each event that touches it: staged, fetched, read, visible, retired. An address stops at each access. `after N` passes over the first N hits.",
    ),
    spec(
        ("tbreak", &["tb"]),
        Group::Stop,
        ("LOC [if EXPR] [after N]", &[Arg::Loc, Arg::Words(BREAK_OPTIONS)]),
        "a breakpoint that is deleted at its first hit",
        "",
    ),
    spec(
        ("delete", &["del"]),
        Group::Stop,
        ("[N ..]", &[Arg::Number]),
        "delete breakpoints by number, or all",
        "",
    ),
    spec(
        ("enable", &["en"]),
        Group::Stop,
        ("[N ..]", &[Arg::Number]),
        "enable breakpoints by number, or all",
        "",
    ),
    spec(
        ("disable", &["dis"]),
        Group::Stop,
        ("[N ..]", &[Arg::Number]),
        "disable breakpoints by number, or all",
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
        ("x", &[]),
        Group::Look,
        ("[/COUNT WIDTH FORM] [ADDR]", &[Arg::Expr]),
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
        "",
    ),
    spec(
        ("info", &["i"]),
        Group::Look,
        (
            "rings|queue|regs|marker|memory|breakpoints|faults|batches|races|budget|edits|checks [QUEUE]",
            &[Arg::Words(INFOS), Arg::Queue],
        ),
        "show a subject",
        "`info queue Q` also selects the queue. `info races` checks the order of all accesses from the start to here, under every reading of the barriers. `info budget` tells what a module's blocks take of its rings. `info edits` lists what was changed in the run, `info checks` the lints of a queue's rings as they lie in memory now.",
    ),
    spec(
        ("explain", &["e"]),
        Group::Look,
        ("LOC|CODE", &[Arg::Loc]),
        "every bit of a slot in words, or a diagnostic code or fault",
        "",
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
        "A file that is there is written over by `save! FILE` only. The file runs as this session does. Of a module without edits what its sequencers did is written.",
    ),
    spec(
        ("provenance", &["prov"]),
        Group::Module,
        ("LOC|%INST|NAME", &[Arg::Loc]),
        "the way from a source line to the slots of a ring, or back from a slot",
        "A slot (tx[3], q0.rx[17]), an address, an instruction of any stage (%I-34), or the name of a block, queue or memory location. The run tells which descriptors lie in the rings now.",
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
        Group::Module,
        ("[LINE]", &[Arg::Number]),
        "the text of a module around a line, or around where its sequencers stand",
        "",
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
            "fault NAME [at LOC] | timeout [BATCH] | ret N | ret BUG | stop LOC",
            &[Arg::Words(EXPECTS)],
        ),
        "fail unless it happened up to here",
        "What is expected no longer makes the run's exit status 1.",
    ),
    spec(("echo", &[]), Group::Script, ("TEXT", &[Arg::Text]), "print a text", ""),
    spec(("source", &[]), Group::Script, ("FILE", &[Arg::File]), "read commands from a file", ""),
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
        "",
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
    let most = 2.min(name.chars().count().saturating_sub(1));
    let mut near: Vec<_> = known.into_iter().map(|k| (distance(name, k), k)).collect();
    near.sort_unstable();
    near.dedup();
    let least = near.first().map_or(0, |n| n.0);
    near.into_iter().filter(|(d, _)| *d == least && *d <= most).map(|(_, k)| k).take(3).collect()
}

/// Edits between two words, for suggestions.
pub fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut left = i + 1;
        let mut diagonal = i;
        for (j, cb) in b.iter().enumerate() {
            let up = row[j + 1];
            let next = (diagonal + usize::from(ca != *cb)).min(left + 1).min(up + 1);
            row[j] = left;
            diagonal = up;
            left = next;
        }
        row[b.len()] = left;
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::command::{Info, Pass, Unit, Who};

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
    }

    #[test]
    fn distance_counts_edits() {
        assert_eq!(distance("step", "stpe"), 2);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
