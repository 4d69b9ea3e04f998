//! What the life of a slot and each kind of event mean, in a sentence (`docs/causes.md`).

use crate::engine::ring::queue::Queue;
use crate::engine::ring::{EventKind, Life};
use crate::udma::Dir;

/// What a slot is at, and what it waits for.
pub(super) fn life(life: Life, q: &Queue, dir: Dir) -> String {
    let hw = q.hw(dir);
    match life {
        Life::Faulted => "faulted: the engine found a cause here and does nothing more (MODEL)".into(),
        Life::Guard => {
            "guard: one of the 16 slots before the ack cursor, which are never handed out; an ack moves them on".into()
        }
        Life::Acked => "acked: its batch is complete, the slot is free to be taken again".into(),
        Life::Retired => "retired: the engine is done with it; it waits for the ack of its batch".into(),
        Life::Visible => "visible: its bytes are in memory; it waits to be retired in ring order (MODEL)".into(),
        Life::Fetched => match dir {
            Dir::Tx => "fetched: the engine holds it; its bytes wait to be read and to become visible".into(),
            Dir::Rx => "fetched: the engine holds it; it waits for the bytes of the packet".into(),
        },
        Life::Posted => {
            let waits = hw.posted.saturating_sub(hw.fetched);
            format!("posted: the doorbell told of it; it waits to be fetched, one of {waits} posted and not fetched")
        }
        Life::Staged => "staged: written, the engine does not know of it; it waits for the doorbell".into(),
        Life::Stale => "stale: holds a descriptor of an earlier lap, or of before the initialisation; nothing waits for it".into(),
        Life::NotRun => "not run: nothing runs this ring here, so nothing is known of its life".into(),
        Life::NeverWritten => "never written: nothing was put there".into(),
    }
}

/// What a kind of event means.
pub(super) fn event(kind: &EventKind) -> &'static str {
    match kind {
        EventKind::Call { .. } => "The host begins an operation of its script.",
        EventKind::CallReturn { .. } => {
            "An operation of the host's script ends with a return code."
        }
        EventKind::Stage { .. } => {
            "The driver takes the next slot of each ring and writes a pair of descriptors, or refuses to. The engine knows nothing of it yet."
        }
        EventKind::CopyIn { .. } => {
            "Descriptors authored elsewhere are copied into a ring. The engine knows nothing of them yet."
        }
        EventKind::Inst { .. } => "A sequencer begins an instruction of the module.",
        EventKind::InstDone { .. } => "All that an instruction of the module does is done.",
        EventKind::Patch { .. } => {
            "A sequencer writes a run-time address into a descriptor that is staged and not rung."
        }
        EventKind::Blocked { .. } => "A sequencer waits for what nobody will do any more.",
        EventKind::SemWait { .. } => "A semaphore had the value that an instruction waits for.",
        EventKind::SemUpdate { .. } => "An instruction is complete and updates a semaphore.",
        EventKind::MarkerWrite { .. } => {
            "The CPU writes one word of a marker: it seeds both before a batch, and again once the marker was seen."
        }
        EventKind::Store { .. } => "The CPU stores bytes to memory.",
        EventKind::Land { .. } => {
            "A store that the CPU made earlier reaches memory: the order that is run in held it back (MODEL)."
        }
        EventKind::CopyStart { .. } => {
            "The counts of a batch are handed to the doorbell call, which checks them."
        }
        EventKind::CopyStartReturn { .. } => "The doorbell call returns.",
        EventKind::CpuFence => {
            "A memory barrier of the CPU: stores before it come before doorbells after it."
        }
        EventKind::MmioWrite { .. } => {
            "A 32-bit register write. A doorbell (drtp_inc) adds its value to the tail; TX sets the engine off (MODEL)."
        }
        EventKind::WaitBudget { .. } => {
            "A wait begins: how long it may take is computed from the count."
        }
        EventKind::Delay { .. } => "The CPU sleeps before its first look at the marker.",
        EventKind::Poll { .. } => {
            "The CPU reads the polled word; one event stands for all equal reads in a row."
        }
        EventKind::PollIdle { .. } => {
            "The CPU looks whether the engine has nothing left to do (MODEL)."
        }
        EventKind::Ack { .. } => {
            "The ack cursor of a ring moves: the slots before it are free again."
        }
        EventKind::Device(_) => "The scenario changes what the device does (MODEL).",
        EventKind::Fetch { .. } => "The engine fetches a descriptor from its ring.",
        EventKind::Read { .. } => {
            "The engine reads the bytes of a Tx descriptor (of META there are none)."
        }
        EventKind::Visible { .. } => {
            "The bytes of an Rx descriptor become visible in memory, all at once (MODEL)."
        }
        EventKind::Retire { .. } => "A pair is done with: the head registers move (MODEL).",
        EventKind::Fault { .. } => {
            "The engine found a fault's cause. An armed cause aborts it, a masked one is only recorded (MODEL)."
        }
        EventKind::Stall { .. } => {
            "A queue cannot go on until a later doorbell lets it try again (MODEL)."
        }
    }
}
