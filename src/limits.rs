//! Every bound that input from outside is held to, in one place.
//!
//! A count, size or index that comes out of a file, a script or a command line is compared
//! with one of these before anything is allocated or looped over. `docs/limits.md` explains
//! how each was chosen.

/// Largest legal ring, in descriptors (2^24 - 16). A queue is refused above it.
pub const MAX_RING_DESCS: u64 = (1 << 24) - 16;
/// Smallest legal ring, in descriptors.
pub const MIN_RING_DESCS: u64 = 32;
/// Queues that one program image may declare.
pub const MAX_QUEUES: usize = 4096;
/// Memory regions that one program may declare.
pub const MAX_REGIONS: usize = 65_536;
/// Initial memory contents (blocks of bytes) that one program may declare.
pub const MAX_CONTENTS: usize = 1 << 20;
/// Host operations in one program's script.
pub const MAX_HOST_OPS: usize = 1 << 20;
/// Edits of one program's run, and of those that its undoing remembers.
pub const MAX_EDITS: usize = 10_000;
/// Bytes that the edits of one program store together.
pub const MAX_EDIT_BYTES: u64 = 64 << 20;
/// Registers that one program may set before its first event.
pub const MAX_REGISTERS: usize = 1 << 20;
/// Sections of kinds that this build does not know, kept with a program.
pub const MAX_UNKNOWN_SECTIONS: usize = 4096;
/// Marker words that are seeded for one batch of a raw image.
pub const MAX_BATCH_MARKERS: usize = 1024;
/// Names of one text for which the nearest declared one is looked up.
pub const MAX_SUGGESTIONS: u32 = 100;
/// Lines by which the form of a hex text is told.
pub const DETECT_LINES: usize = 64;
/// Variables (template targets) of one program: ids have 19 bits.
pub const MAX_VARIABLES: usize = 1 << 19;
/// Bytes of one name (region, queue label, variable, mark).
pub const MAX_NAME_BYTES: usize = 255;
/// Bytes of one line of text input.
pub const MAX_LINE_BYTES: usize = 1 << 20;
/// Bytes of text input (assembly, script, hex) that are read whole.
pub const MAX_TEXT_BYTES: u64 = 256 << 20;
/// Bytes that the data of one text (assembly runs and repeats, squeezed hex lines) may unfold to:
/// both rings of a queue at their largest.
pub const MAX_EXPANDED_BYTES: u64 = 1 << 29;
/// Bytes at the front of an input by which its kind is told.
pub const DETECT_BYTES: usize = 64 << 10;
/// Files up to this size are read at once; larger ones are mapped.
pub const SMALL_FILE_BYTES: u64 = 1 << 20;
/// Slots at either end of a raw image that are looked at to tell its direction.
pub const SAMPLE_EDGE_SLOTS: u64 = 4096;
/// Slots of one probe between the two ends; even, so that pairs keep their parity.
pub const SAMPLE_PROBE_SLOTS: u64 = 16;
/// Probes spread over the rest of a raw image.
pub const SAMPLE_PROBES: u64 = 256;
/// Probes after which the pages looked at so far are given back; the system may map 2 MiB a probe.
pub const SAMPLE_LET_GO: u64 = 16;
/// Probes of the second look, taken only where the first saw no used slot.
pub const SAMPLE_PROBES_DEEP: u64 = 1024;
/// Images up to this many slots (16 MiB) are looked at whole on the second look.
pub const SAMPLE_WHOLE_SLOTS: u64 = 1 << 20;
/// Slots up to which a run is made of a raw image unasked, where someone waits for a first look.
pub const MAX_LOOK_RUN_SLOTS: u64 = 1 << 17;
/// Slots up to which `check` makes a run of a raw image, and looks for races in it, unasked.
pub const MAX_CHECK_RUN_SLOTS: u64 = 1 << 20;
/// Bytes of a dump directory's index that are read.
pub const MAX_INDEX_BYTES: u64 = 64 << 20;
/// Bytes that one transfer of the host script may move (1 TiB).
pub const MAX_TRANSFER_BYTES: u64 = 1 << 40;
/// Bytes of a FIFO, of standard input or of another stream that cannot be mapped.
pub const MAX_STREAM_BYTES: u64 = 1 << 30;
/// Seconds that the opening of a FIFO waits for somebody to write to it.
pub const FIFO_WAIT_SECONDS: u64 = 10;
/// Files that are mapped at a time; what is beyond is read.
pub const MAX_MAPPINGS: usize = 1 << 14;
/// Ring images in one dump directory.
pub const MAX_DIR_RINGS: usize = 4096;
/// Diagnostics with the same code that are shown one by one; the rest is counted.
pub const MAX_SAME_CODE: usize = 20;
/// Diagnostics that one reading collects before it stops looking.
pub const MAX_DIAGNOSTICS: usize = 10_000;
/// Words of a module that look misspelled, of which one reading tells; the rest is passed over.
pub const MAX_MISSPELLINGS: usize = 200;
/// Findings of one code, and causes of one kind, that a run keeps; the rest is only counted.
pub const MAX_RUN_SAME_CODE: u64 = 1000;
/// Steps that one `continue`, `until` or `finish` may take before it reports that it gave up.
pub const MAX_RUN_EVENTS: u64 = 1 << 33;
/// Nesting of an expression.
pub const MAX_EXPR_DEPTH: usize = 128;
/// Commands of a script with all that it sources, each as often as it is sourced.
pub const MAX_SCRIPT_COMMANDS: usize = 1 << 24;
/// Nesting of `source` in scripts.
pub const MAX_SOURCE_DEPTH: usize = 32;
/// Bytes of a module as a file; spans in it are 32-bit.
pub const MAX_BIR_BYTES: u64 = 1 << 29;
/// Nesting of a module's JSON. A loop in a loop is four deeper.
pub const MAX_BIR_DEPTH: usize = 256;
/// Bytes that `x` or the memory pane may show at once.
pub const MAX_EXAMINE_BYTES: u64 = 1 << 20;
/// Bytes that one question after a cause (`origin`, `last-write`, `next-read`) may be about.
pub const MAX_TRACE_BYTES: u64 = 1 << 20;
/// Parts of a range, each with a writer of its own, that `last-write` tells.
pub const MAX_TRACE_PARTS: usize = 64;
/// Copies that `origin` follows a byte back through.
pub const MAX_ORIGIN_HOPS: u32 = 256;
/// Steps that the whole path of an `origin` may have, all its branches together.
pub const MAX_ORIGIN_STEPS: usize = 1024;
/// Events that `why` runs ahead to see whether the marker flips.
pub const MAX_WHY_EVENTS: u64 = 1 << 22;
/// Descriptors not yet retired in which `why` looks for what writes a marker.
pub const MAX_WHY_SLOTS: u64 = 1 << 16;
/// Breakpoints, watchpoints and catchpoints together.
pub const MAX_STOPS: usize = 10_000;
/// Commands of one stop.
pub const MAX_BLOCK_COMMANDS: usize = 1000;
/// Commands of stops that are executed in a row because one command led to a stop.
pub const MAX_FOLLOWING_COMMANDS: usize = 1 << 16;
/// Values that are shown at every stop.
pub const MAX_DISPLAYS: usize = 100;
/// Bytes that one watchpoint may watch for changes.
pub const MAX_WATCH_CHANGE_BYTES: u64 = 1 << 20;
/// Bytes of a watchpoint that are told whole, before and after; of more the word that counts.
pub const MAX_WATCH_TOLD_BYTES: u64 = 8;
/// Checkpoints that a timeline keeps.
pub const MAX_CHECKPOINTS: usize = 2048;
/// Bytes that the checkpoints of a timeline hold together beyond its newest state, by estimate
/// (512 MiB).
pub const MAX_CHECKPOINT_BYTES: u64 = 512 << 20;
/// Work between two checkpoints at first, in plain steps; it doubles where there are too many.
pub const CHECKPOINT_WORK: u64 = 64;
/// Work between two looks at whether a run is to be cancelled, in plain steps.
pub const REPORT_WORK: u64 = 1 << 13;
/// Events of a stretch that a search backwards looks at one by one before it divides it.
pub const SEARCH_LEAF_EVENTS: u64 = 512;
/// Parts into which it divides a longer one.
pub const SEARCH_PARTS: u64 = 16;
/// Events of a part of the run that the lanes of the timeline pane look at one by one.
pub const LANES_EVENTS: u64 = 1 << 13;
/// Work that the lanes of a longer part may take, in plain steps.
pub const LANES_WORK: u64 = 1 << 14;
/// Questions whether a stop stops at an event, one for each of both, that they ask.
pub const LANES_STOP_ASKS: u64 = 1 << 18;
/// Lanes that there may be.
pub const MAX_LANES: usize = 256;
/// Descriptors of one direction that one block of transfers may come to.
pub const MAX_AUTHORED_DESCS: u64 = 1 << 22;
/// Pairs of pieces, one reading what the other writes, that the order of an overlapping
/// transfer may hang on; beyond it goes by way of scratch memory.
pub const MAX_OVERLAP_EDGES: usize = 1 << 22;
/// Instructions that lowering one module may make (clones, descriptors, blocks, triggers).
pub const MAX_LOWERED_INSTS: u64 = 1 << 22;
/// Bytes of memory that the execution of a module may hold (4 GiB).
pub const MAX_BIR_MEMORY_BYTES: u64 = 1 << 32;
/// Steps that an execution may take where its caller sets no other bound: instructions, and
/// decisions of loops and branches.
pub const MAX_BIR_STEPS: u64 = 1 << 22;
/// Bytes that all sides of one transfer may have together in an execution (1 GiB).
pub const MAX_BIR_TRANSFER_BYTES: u64 = 1 << 30;
/// Bytes that an execution may move where its caller sets no other bound (16 GiB).
pub const MAX_BIR_MOVED_BYTES: u64 = 1 << 34;
/// As how many moved bytes a transfer counts at least, ..
pub const BIR_TRANSFER_PRICE: u64 = 1024;
/// .. and a stretch of contiguous bytes in it.
pub const BIR_RUN_PRICE: u64 = 32;
/// Operands that are looked at to keep opaque instructions in order.
pub const MAX_BIR_ORDER: usize = 1 << 24;
/// Entries of one index list in an execution.
pub const MAX_BIR_INDICES: u64 = 1 << 20;
/// Queues of one module.
pub const MAX_BIR_QUEUES: usize = 176;
/// Bytes of a queue's name in a module.
pub const MAX_QUEUE_NAME_BYTES: usize = 31;
/// Sources of one CCE transfer.
pub const MAX_CCE_SOURCES: usize = 16;
/// Pairs of one descriptor's pattern.
pub const MAX_DESCRIPTOR_PAIRS: usize = 4;
/// Entries of one index list.
pub const MAX_INDEX_LIST: u64 = 4096;
/// Iterations that the verifier tries one by one where the corners of a loop do not tell all.
pub const MAX_LOOP_PROBES: u64 = 4096;
/// Bytes written in a run up to which a difference between two runs is laid to an instruction.
pub const MAX_BLAME_BYTES: u64 = 1 << 24;
/// Changes that shrinking a module tries before it gives what it has.
pub const MAX_SHRINK_STEPS: u64 = 20_000;
/// Accesses that the check of a run's order holds, over all readings that it tells apart.
pub const MAX_ORDER_ACCESSES: usize = 1 << 22;
/// Stretches of memory that it tells apart, over all readings.
pub const MAX_ORDER_SPANS: usize = 1 << 22;
/// Looks at an earlier access that it takes before it stops.
pub const MAX_ORDER_WORK: u64 = 1 << 28;
/// Events in which the screen looks for races after one move.
pub const MAX_SCREEN_RACE_EVENTS: u64 = 1 << 16;
/// Events in which a hold that was just set is looked for trouble.
pub const MAX_HOLD_LOOK_AHEAD: u64 = 1 << 16;
/// Accesses of one byte that it holds side by side because nothing orders them.
pub const MAX_ORDER_SIDE_BY_SIDE: usize = 64;
/// Events of other orders that the explorer looks at where no other bound is asked for.
pub const DEFAULT_EXPLORE_STEPS: u64 = 1 << 21;
/// The largest bound that may be asked for.
pub const MAX_EXPLORE_STEPS: u64 = 1 << 32;
/// Races of one kind with one event that the explorer tries one by one.
pub const MAX_EXPLORE_SIMILAR: usize = 8;
/// Accesses of a run of which every order is walked.
pub const MAX_EXPLORE_NODES: usize = 4096;
/// States that a walk of every order tells apart.
pub const MAX_EXPLORE_STATES: usize = 1 << 20;
/// Placements of a barrier that are tried.
pub const MAX_FIX_TRIES: usize = 512;
/// Holds and edited barriers of a schedule.
pub const MAX_SCHEDULE_LINES: usize = 4096;
/// Bytes of memory that a module's inputs are filled with where no memory file is given.
pub const MAX_DEFAULT_MEMORY_BYTES: u64 = 256 << 20;
/// Stretches of memory that lowering one module looks at to order pieces that overlap; beyond,
/// they go through scratch.
pub const MAX_OVERLAP_EFFORT: u64 = 1 << 26;
/// Names of a module among which the nearest to an unknown one is looked for.
pub const MAX_NAMES_COMPARED: usize = 4096;
/// Ring descriptors after which the budget of a module is no longer counted.
pub const MAX_BUDGET_DESCS: u64 = 1 << 23;
/// Slots of all rings up to which the checks look at them after each step of the screen.
pub const MAX_LIVE_CHECK_SLOTS: u64 = 1 << 16;
/// Modules that one `gen` makes.
pub const MAX_GENERATED_MODULES: u64 = 100_000;
/// Seconds that a program given to `shrink` may take for one module.
pub const MAX_PROPERTY_SECONDS: u64 = 60;

/// Slots that `find` keeps.
pub const MAX_FOUND: usize = 1 << 20;

/// Entries of a folder that are looked at to complete the name of a file.
pub const MAX_FILES_LISTED: usize = 4096;

/// Lines of the command line that are kept.
pub const MAX_HISTORY: usize = 1000;

/// Bytes of a configuration file.
pub const MAX_CONFIG_BYTES: u64 = 1 << 18;

/// Keys that a configuration may set.
pub const MAX_CONFIG_KEYS: usize = 512;

/// Bytes of a lesson's file, and of the program beside it.
pub const MAX_LESSON_BYTES: u64 = 1 << 18;
/// Tasks of a lesson.
pub const MAX_LESSON_TASKS: usize = 100;
/// Entries of one list in a lesson: lines, hints, choices, wrong answers, facts.
pub const MAX_LESSON_LIST: usize = 256;
/// Events that one command of a lesson's own may run through.
pub const MAX_LESSON_EVENTS: u64 = 1 << 20;
/// Bytes of the file in which the progress of lessons is kept.
pub const MAX_PROGRESS_BYTES: u64 = 1 << 20;

/// Columns, and rows, of a picture of the screen.
pub const MAX_PICTURE_SIDE: u16 = 500;
/// Differences of two inputs that are told one by one, and descriptors of either side that are
/// kept to find what moved; the rest is counted.
pub const MAX_DIFF_ENTRIES: usize = 1 << 16;
/// Descriptors of two rings that are aligned at a time; one that is further away is not found.
pub const DIFF_WINDOW: usize = 1 << 17;
/// Looks at elements that aligning two sequences takes before it compares place by place.
pub const MAX_DIFF_WORK: u64 = 1 << 28;
/// Events of each side after which a comparison stops running it.
pub const MAX_DIFF_EVENTS: u64 = 1 << 23;
/// Descriptors that are noted of each run as they are staged.
pub const MAX_DIFF_DESCS: usize = 1 << 22;
/// Events of either run that are matched when a session goes on with another program.
pub const MAX_RELOAD_EVENTS: u64 = 1 << 17;
/// Descriptors of either run that are matched then.
pub const MAX_RELOAD_DESCS: usize = 1 << 18;
/// Comparisons that one matching then may take.
pub const MAX_RELOAD_WORK: u64 = 1 << 25;
/// Programs that a session remembers for what of theirs waits to come back.
pub const MAX_RELOAD_MEMORY: usize = 8;
/// Edits that are placed one after the other in a program that is reloaded, each in the run with
/// those before it; later ones all in one run.
pub const MAX_RELOAD_ROUNDS: usize = 8;
/// Events of each side that are run to tell what a reload changed.
pub const MAX_RELOAD_DIFF_EVENTS: u64 = 1 << 20;
/// Lines in which it is told.
pub const MAX_RELOAD_LINES: usize = 2000;
/// Bytes of what a command run on a change writes that are kept: the last ones.
pub const MAX_BUILD_OUTPUT: usize = 64 << 10;
/// Times that such a command is run again in a row because of what changed while it ran.
pub const MAX_BUILD_AGAIN: u32 = 3;
/// Largest file that is read rather than mapped where its changes are watched: a mapped file that
/// is cut short takes the program down with it.
pub const MAX_WATCHED_BYTES: u64 = 256 << 20;
/// Times in a row that files are read again because they changed while they were read.
pub const MAX_READ_AGAIN: u32 = 50;
/// Longest quiet time that a user may ask for, milliseconds.
pub const MAX_QUIET_MS: u64 = 60_000;
/// Bytes of the two memories that are compared one by one; what has a common source costs
/// nothing.
pub const MAX_DIFF_BYTES: u64 = 1 << 31;
/// Descriptors of one ring that a trace shows in flight side by side.
pub const MAX_TRACE_LANES: u32 = 1024;
/// Doorbells, and words made visible, that a trace remembers for an arrow that may come.
pub const MAX_TRACE_FLOWS: usize = 1 << 16;
/// Events that the commands of a file test may pass, forwards and backwards, in all.
pub const MAX_TEST_EVENTS: u64 = 1 << 22;
/// `test:` lines of one file.
pub const MAX_TEST_RUNS: usize = 64;
/// Findings of one line, and of a header, that a file test may tell.
pub const MAX_TEST_EXPECTATIONS: usize = 256;
/// Bytes at the front of a file in which the header of a file test stands.
pub const MAX_TEST_HEADER_BYTES: u64 = 64 << 10;
/// Bytes of a file that is a test, or that a test reads.
pub const MAX_TEST_BYTES: u64 = 64 << 20;
/// Bytes that a file test, or a run that is watched, may print.
pub const MAX_CAUGHT_BYTES: usize = 16 << 20;
/// Files that one `dmadbg test` looks at.
pub const MAX_TEST_FILES: usize = 100_000;
/// Nesting of directories that it goes down.
pub const MAX_TEST_DEPTH: usize = 64;
/// Tests that it runs side by side.
pub const MAX_TEST_JOBS: u64 = 256;
/// Lines of a difference that are shown.
pub const MAX_DIFFERENCE_LINES: usize = 200;
/// Events of a run, and bytes that they touch together with those of all locations, up to which
/// the screen proves the stages of a module without being asked.
pub const MAX_PROVED_EVENTS: u64 = 1 << 12;
/// See [`MAX_PROVED_EVENTS`].
pub const MAX_PROVED_BYTES: u64 = 1 << 20;
/// Places that were left by a jump and can be gone back to.
pub const MAX_JUMPS: usize = 100;
/// Events in which a made-up host sets its rings up and fills them, about twenty a queue; rings are
/// opened behind them.
pub const OPENING_EVENTS: u64 = 1 << 13;
/// Operations of the host script up to which the screen shows the assembly of a program that came
/// without one.
pub const MAX_SHOWN_OPS: usize = 1 << 12;
/// Bytes of its contents and operations up to which it does.
pub const MAX_SHOWN_BYTES: u64 = 1 << 18;
/// Runs of bytes of one side of a transfer that its grid draws.
pub const MAX_GRID_RUNS: usize = 1 << 16;
/// Events from the position on that are run twice to tell what flipping a bit would do.
pub const MAX_FLIP_EVENTS: u64 = 1 << 12;
/// Bytes that are compared for it.
pub const MAX_FLIP_BYTES: u64 = 1 << 22;
/// Slots in sight, folded ones too, that are looked at for what belongs to what is selected.
pub const MAX_LINKED_SLOTS: usize = 1 << 10;
/// Events around the position whose slots, bytes and instructions are tied to what is selected.
pub const MAX_TIED_EVENTS: u64 = 1 << 13;

/// Slots of a ring that a survey tells of at once (`check::survey`): a page of descriptors.
pub const SURVEY_CHUNK: u64 = 256;
