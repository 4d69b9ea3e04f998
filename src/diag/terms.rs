//! Words of the field and of the screen that are no code, field, class, register or command, for
//! `explain` and `docs/terms.md`.

/// A word and what it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Term {
    /// The word, in lower case.
    pub name: &'static str,
    /// Other words for it, in lower case.
    pub also: &'static [&'static str],
    /// What kind of thing it is.
    pub kind: &'static str,
    /// What it means, in a sentence or two.
    pub meaning: &'static str,
    /// The page of `docs/` that tells more.
    pub page: &'static str,
}

impl Term {
    /// Its name and kind, as a heading.
    pub fn heading(&self) -> String {
        match self.also {
            [] => format!("{} ({})", self.name, self.kind),
            also => format!("{} ({}; also {})", self.name, self.kind, also.join(", ")),
        }
    }
}

/// The term of a name, in any letter case; `-` and a blank are as `_`.
pub fn term(name: &str) -> Option<&'static Term> {
    let name = name.to_ascii_lowercase().replace(['-', ' '], "_");
    TERMS.iter().find(|t| t.name == name || t.also.contains(&name.as_str()))
}

const fn t(
    (name, also): (&'static str, &'static [&'static str]),
    kind: &'static str,
    meaning: &'static str,
    page: &'static str,
) -> Term {
    Term { name, also, kind, meaning, page }
}

const RING: &str = "rings";
const LIFE: &str = "life of a slot";
const PHASE: &str = "phase of the host";
const STAGE: &str = "stage of the lowering";
const MODULE: &str = "modules";
const ORDER: &str = "order";
const SESSION: &str = "sessions";

/// All of them, by kind.
pub static TERMS: &[Term] = &[
    t(
        ("tx", &["m2s"]),
        RING,
        "The ring of source descriptors of a queue: the engine reads memory and sends a stream (memory to stream).",
        "rings.md",
    ),
    t(
        ("rx", &["s2m"]),
        RING,
        "The ring of destination descriptors of a queue: the engine writes what the stream brings to memory (stream to memory).",
        "rings.md",
    ),
    t(
        ("ring", &[]),
        RING,
        "An array of descriptors in memory that host and engine go round in the same direction, the engine behind.",
        "rings.md",
    ),
    t(
        ("slot", &[]),
        RING,
        "A place of 16 bytes in a ring; it holds one descriptor at a time.",
        "rings.md",
    ),
    t(
        ("descriptor", &["desc", "bd"]),
        RING,
        "Sixteen bytes: flags and a length, a control word, an address. A Tx descriptor names bytes to read, an Rx descriptor where to write.",
        "wire.md",
    ),
    t(
        ("packet", &[]),
        RING,
        "The Tx descriptors from FIRST to LAST. Their bytes are one stream, which fills Rx descriptors in order.",
        "model.md",
    ),
    t(
        ("pair", &[]),
        RING,
        "A Tx descriptor and the Rx descriptor that its bytes go to.",
        "rings.md",
    ),
    t(
        ("batch", &[]),
        RING,
        "What the host rings at once and waits for by one marker.",
        "driver.md",
    ),
    t(
        ("marker", &["completion_marker"]),
        RING,
        "A word in memory that the host polls. The last pair of a batch copies the value over it for which the host waits, so it flips when the batch is done, if the order holds.",
        "driver.md",
    ),
    t(
        ("completion_pair", &["completion"]),
        RING,
        "The last pair of a batch: it copies the marker's source word over the word that is polled.",
        "driver.md",
    ),
    t(
        ("phase", &["phases"]),
        RING,
        "The number of a lap modulo 4, in every descriptor as ring_id: by it the engine tells a new descriptor from one of the lap before. Of the host: one of the five steps of its cycle (stage, trigger, doorbell, poll, ack).",
        "rings.md",
    ),
    t(
        ("lap", &[]),
        RING,
        "One time round a ring. Its number, modulo 4, is the phase in every descriptor (ring_id).",
        "rings.md",
    ),
    t(("head", &[]), RING, "The slot that the engine retires next.", "rings.md"),
    t(("tail", &[]), RING, "The slot up to which doorbells have posted.", "rings.md"),
    t(("next_desc_idx", &[]), RING, "The slot that the driver hands out next.", "rings.md"),
    t(
        ("next_cdesc_idx", &[]),
        RING,
        "The slot up to which the driver has taken descriptors back (acked).",
        "rings.md",
    ),
    t(
        ("queue", &[]),
        RING,
        "A Tx ring and an Rx ring of an engine, with their registers.",
        "rings.md",
    ),
    t(
        ("engine", &["udma"]),
        RING,
        "A UDMA engine: 16 queues and what fetches, reads and writes for them. In a module also a compute engine (Pool, Act, PE, DVE, SP), whose sequencer runs instructions.",
        "model.md",
    ),
    t(
        ("host", &[]),
        RING,
        "The processor that fills rings, rings doorbells and polls. For a module its part is done by sequencers.",
        "model.md",
    ),
    t(
        ("event", &[]),
        RING,
        "The smallest step of a run; each has a number and an agent: the host, an engine's queue, or a sequencer.",
        "model.md",
    ),
    t(("faulted", &[]), LIFE, "The engine found a fault here and aborted.", "model.md"),
    t(
        ("guard", &[]),
        LIFE,
        "One of the 16 slots before next_cdesc_idx: the driver never hands them out, so that a full ring differs from an empty one.",
        "model.md",
    ),
    t(
        ("acked", &[]),
        LIFE,
        "Its batch is complete and the slot is free to be taken again.",
        "model.md",
    ),
    t(
        ("retired", &[]),
        LIFE,
        "The engine is done with it; it waits for the ack of its batch.",
        "model.md",
    ),
    t(
        ("visible", &[]),
        LIFE,
        "Its bytes are in memory; it waits to be retired in ring order (MODEL).",
        "model.md",
    ),
    t(
        ("fetched", &[]),
        LIFE,
        "The engine holds it: it works with what it got, whatever becomes of the slot.",
        "model.md",
    ),
    t(
        ("posted", &[]),
        LIFE,
        "A doorbell told the engine of it; it waits to be fetched.",
        "model.md",
    ),
    t(("staged", &[]), LIFE, "It is written, and the engine does not know of it yet.", "model.md"),
    t(
        ("stale", &[]),
        LIFE,
        "It holds a descriptor of an earlier lap, or of before the initialisation; nothing waits for it.",
        "model.md",
    ),
    t(("never_written", &[]), LIFE, "Nothing was ever put there.", "model.md"),
    t(
        ("not_run", &[]),
        LIFE,
        "It holds a descriptor of a ring that nothing runs here, such as a ring without its other direction; nothing is known of its life.",
        "model.md",
    ),
    t(
        ("stage", &["staging"]),
        PHASE,
        "The host writes descriptors into both rings. (A stage is also a step of the lowering.)",
        "driver.md",
    ),
    t(
        ("trigger", &[]),
        PHASE,
        "The counts of a batch are handed over, to be rung; of a module, a sequencer fires its next block.",
        "driver.md",
    ),
    t(
        ("doorbell", &[]),
        PHASE,
        "A write of a count to the tail register of a ring: it posts so many descriptors. Rx is rung before Tx.",
        "driver.md",
    ),
    t(
        ("poll", &[]),
        PHASE,
        "The host reads the marker until it flips or the budget of reads is used up.",
        "driver.md",
    ),
    t(
        ("ack", &[]),
        PHASE,
        "The host takes the slots of a batch that is complete back.",
        "driver.md",
    ),
    t(("loaded", &[]), STAGE, "The module as it was read.", "lowering.md"),
    t(
        ("peel", &[]),
        STAGE,
        "Cuts dynamic transfers of more elements than a descriptor may have along their outermost dimension.",
        "lowering.md",
    ),
    t(
        ("unroll", &[]),
        STAGE,
        "Makes a clone for each index of a gather or scatter, and a register for each scalar offset.",
        "lowering.md",
    ),
    t(
        ("split", &[]),
        STAGE,
        "Cuts transfers that need more descriptors than a ring is deep.",
        "lowering.md",
    ),
    t(
        ("check", &[]),
        STAGE,
        "Checks what the stages before promise: nothing is dynamic but one base, every piece fits. (`check` is also a subcommand.)",
        "lowering.md",
    ),
    t(
        ("lower_dma", &[]),
        STAGE,
        "Makes blocks of descriptors and triggers of the transfers.",
        "lowering.md",
    ),
    t(
        ("rings", &[]),
        STAGE,
        "The last stage: blocks become descriptors of 16 bytes on rings.",
        "author.md",
    ),
    t(
        ("dmacopy", &["dma_copy"]),
        MODULE,
        "An instruction that moves bytes from locations to locations by DMA.",
        "bir.md",
    ),
    t(
        ("load", &[]),
        MODULE,
        "An instruction that moves bytes from DRAM to SB or PSUM by DMA.",
        "bir.md",
    ),
    t(
        ("save", &[]),
        MODULE,
        "An instruction that moves bytes from SB or PSUM to DRAM by DMA. (`save` is also a command.)",
        "bir.md",
    ),
    t(
        ("gather", &["indirect_load", "indirectload"]),
        MODULE,
        "A transfer whose source rows are chosen by a list of indices in memory. Unroll makes a clone for each index.",
        "lowering.md",
    ),
    t(
        ("scatter", &["indirect_save", "indirectsave"]),
        MODULE,
        "A transfer whose destination rows are chosen by a list of indices in memory; of two writes to a row the last one stays.",
        "lowering.md",
    ),
    t(
        ("transpose", &[]),
        MODULE,
        "A transfer of four dimensions that changes their order; its letters are source dimensions in the order of the destination.",
        "execution.md",
    ),
    t(
        ("replicate", &[]),
        MODULE,
        "A transfer that repeats source rows: destination row p takes source row p mod rows.",
        "execution.md",
    ),
    t(
        ("accumulate", &[]),
        MODULE,
        "A transfer that computes on the way: it combines its sources element by element (CCE).",
        "lowering.md",
    ),
    t(
        ("dynamic", &[]),
        MODULE,
        "Of an address: known only when the program runs, from a register or an index in memory.",
        "lowering.md",
    ),
    t(
        ("swdge", &[]),
        MODULE,
        "Descriptors made by software at run time; its rings are 1020 deep.",
        "lowering.md",
    ),
    t(
        ("hwdge", &[]),
        MODULE,
        "Descriptors made by hardware at run time: from generation 3 on, on SP and Activation; its rings are 65520 deep.",
        "lowering.md",
    ),
    t(
        ("dge", &["dge_type"]),
        MODULE,
        "What makes the descriptors of a dynamic transfer: software (SWDGE), hardware (HWDGE), or nothing.",
        "lowering.md",
    ),
    t(
        ("block", &["dma_block"]),
        MODULE,
        "Descriptors that a trigger fires at once; also a stretch of instructions of a function.",
        "lowering.md",
    ),
    t(
        ("clone", &[]),
        MODULE,
        "One of the instructions that a stage makes of one; named NAME_0, NAME_1 and so on.",
        "lowering.md",
    ),
    t(("location", &[]), MODULE, "A named piece of DRAM, SB or PSUM of a module.", "bir.md"),
    t(
        ("sb", &["sbuf"]),
        MODULE,
        "The state buffer: memory on the chip, partition by partition.",
        "bir.md",
    ),
    t(
        ("psum", &[]),
        MODULE,
        "The accumulation buffer: memory on the chip of 8 banks, each of 2048 bytes in a partition.",
        "bir.md",
    ),
    t(("dram", &["hbm"]), MODULE, "The memory of the device.", "bir.md"),
    t(
        ("partition", &[]),
        MODULE,
        "A row of SB or PSUM; the first pair of an access walks them.",
        "bir.md",
    ),
    t(
        ("access_pattern", &["ap"]),
        MODULE,
        "Pairs of step and count, outermost first: which elements of a location are touched, in which order.",
        "bir.md",
    ),
    t(
        ("sequencer", &["seq"]),
        MODULE,
        "What runs the instructions of a compute engine: loops, registers, semaphores; a trigger makes it ring a doorbell.",
        "sequencer.md",
    ),
    t(
        ("semaphore", &[]),
        MODULE,
        "A counter by which sequencers wait for one another.",
        "sequencer.md",
    ),
    t(
        ("race", &[]),
        ORDER,
        "Two accesses to a byte, one of them a write, that nothing orders.",
        "order.md",
    ),
    t(
        ("barrier", &["fence"]),
        ORDER,
        "What puts accesses in order: DMB, a strongly ordered write, a write barrier, or a fence of the host.",
        "order.md",
    ),
    t(
        ("sow", &["strongly_ordered_write"]),
        ORDER,
        "A write that comes after every earlier write; how far it reaches has two readings.",
        "order.md",
    ),
    t(
        ("calm", &[]),
        ORDER,
        "The order in which a run goes when nobody asks for another: each engine as soon as it can.",
        "order.md",
    ),
    t(
        ("reading", &["readings"]),
        ORDER,
        "A way to understand what is not public; a word or a barrier may have several, and all are listed.",
        "order.md",
    ),
    t(
        ("model", &["param"]),
        ORDER,
        "Marks a decision about what is not public: so this program does it, hardware may not.",
        "decisions.md",
    ),
    t(
        ("schedule", &["hold"]),
        ORDER,
        "An order of events that is not the calm one, written as holds: each keeps one event back until another has happened.",
        "order.md",
    ),
    t(
        ("finding", &["diagnostic"]),
        SESSION,
        "Something that is told of an input or a run: a code, a severity (error, warning, note), a place and help.",
        "codes.md",
    ),
    t(
        ("breakpoint", &["stop"]),
        SESSION,
        "A place at which a session stops: a slot, a batch, an address, an instruction. Breakpoints, watchpoints and catchpoints are stops.",
        "stops.md",
    ),
    t(
        ("watchpoint", &[]),
        SESSION,
        "Bytes of memory at whose accesses a session stops.",
        "stops.md",
    ),
    t(
        ("catchpoint", &[]),
        SESSION,
        "A kind of happening at which a session stops: a fault, a race, a timeout.",
        "stops.md",
    ),
    t(
        ("profile", &[]),
        SESSION,
        "What a release of the driver does where releases differ: limits, waits, return codes.",
        "driver.md",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_name_is_there_once_and_is_found_in_any_form() {
        let mut seen = BTreeSet::new();
        for t in TERMS {
            for name in t.also.iter().chain([&t.name]) {
                assert!(seen.insert(*name), "`{name}` is there twice");
                assert_eq!(term(&name.to_uppercase().replace('_', "-")), Some(t));
            }
            assert!(t.meaning.ends_with(['.', ')']), "{}", t.name);
            let page = format!("{}/docs/{}", env!("CARGO_MANIFEST_DIR"), t.page);
            assert!(std::path::Path::new(&page).is_file(), "{}: {page}", t.name);
        }
        assert_eq!(term("nothing"), None);
    }
}
