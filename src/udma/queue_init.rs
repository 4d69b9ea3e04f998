//! Initialising a queue: what is checked, in which order, and the fifteen register writes
//! (`docs/driver.md`, "Queue init").

use super::builder::Errno;
use super::desc::Dir;
use super::profile::{CDESC_BYTES, ENGINE_SLOTS, QUEUES_PER_ENGINE};
use super::reg::{self, CFG_PREFETCH, CFG_STREAM, DRBP_LOW_MASK, Q_SW_RESET};
use super::ring::{self, RingError};

/// `cfg` of a queue at rest, as the driver takes its reset value.
pub const CFG_REST: u32 = 0x0300_0000;
/// `rlimit_mask` of a Tx queue: DMB pause enabled.
pub const RLIMIT_MASK: u32 = 3;

/// One register write of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueWrite {
    /// Direction of the queue.
    pub dir: Dir,
    /// Name of the register.
    pub name: &'static str,
    /// Queue offset, bytes.
    pub offset: u32,
    /// Value written.
    pub value: u32,
}

/// Base address and size of one ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RingAt {
    /// Bus address of slot 0. A missing ring is address 0, which is accepted.
    pub base: u64,
    /// Size in descriptors.
    pub size: u32,
}

/// What a queue is initialised with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueInit {
    /// Queue of the engine.
    pub queue: u32,
    /// The Tx ring.
    pub tx: RingAt,
    /// The Rx ring.
    pub rx: RingAt,
    /// Whether a completion ring is given; none is supported.
    pub completion_ring: bool,
}

/// Why a queue is not initialised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QueueInitError {
    /// Base or size of the Tx or Rx ring.
    #[error("{dir}: {error}")]
    Ring {
        /// Which ring.
        dir: Dir,
        /// What is wrong with it.
        error: RingError,
    },
    /// A completion ring was given.
    #[error("completion rings are not supported")]
    CompletionRing,
    /// 16 or above.
    #[error("queue {0} is outside 0 .. 15")]
    Queue(u32),
    /// 132 or above.
    #[error("engine {0} is outside 0 .. 131")]
    Engine(u32),
    /// The memory given for completions does not hold one per descriptor.
    #[error("completion memory of {given} bytes is smaller than the {needed} bytes of the ring")]
    CompletionMemory {
        /// Bytes given.
        given: u64,
        /// Bytes needed.
        needed: u64,
    },
}

impl QueueInitError {
    /// What the call returns.
    pub fn errno(self) -> Errno {
        match self {
            QueueInitError::Ring { error, .. } => Errno(error.errno()),
            QueueInitError::CompletionRing => Errno::FAIL,
            QueueInitError::Queue(_)
            | QueueInitError::Engine(_)
            | QueueInitError::CompletionMemory { .. } => Errno::INVAL,
        }
    }

    /// Whether the Tx half was programmed before the call failed: so when the Rx ring's size
    /// is out of range, which is found late.
    pub fn tx_programmed(self) -> bool {
        matches!(self, QueueInitError::Ring { dir: Dir::Rx, error: RingError::SizeRange(_) })
    }
}

fn ring_error(dir: Dir) -> impl Fn(RingError) -> QueueInitError {
    move |error| QueueInitError::Ring { dir, error }
}

fn check_alignment(dir: Dir, ring: RingAt) -> Result<(), QueueInitError> {
    match ring::check_ring(ring.base, u64::from(ring.size)) {
        Err(RingError::SizeRange(_)) | Ok(()) => Ok(()),
        Err(e) => Err(ring_error(dir)(e)),
    }
}

fn check_range(dir: Dir, ring: RingAt) -> Result<(), QueueInitError> {
    ring::check_range(u64::from(ring.size)).map_err(ring_error(dir))
}

/// The inner call's checks: both ends of both rings aligned (-1), no completion ring (-1), the
/// queue id (-22), the Tx size (-22) and, with the Tx half already programmed, the Rx size
/// (-22). MODEL: which of the first two, and which of the middle two, comes first is not
/// recorded; their return codes are the same.
///
/// # Errors
/// The first that applies.
pub fn check_queue_init(init: &QueueInit) -> Result<(), QueueInitError> {
    check_alignment(Dir::Tx, init.tx)?;
    check_alignment(Dir::Rx, init.rx)?;
    if init.completion_ring {
        return Err(QueueInitError::CompletionRing);
    }
    if init.queue >= QUEUES_PER_ENGINE {
        return Err(QueueInitError::Queue(init.queue));
    }
    check_range(Dir::Tx, init.tx)?;
    check_range(Dir::Rx, init.rx)
}

/// What the outer call (the user-space request) is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OuterQueueInit {
    /// Engine slot of the device.
    pub engine: u32,
    /// What the inner call gets; its `completion_ring` is set from `completion_bytes`.
    pub inner: QueueInit,
    /// Bytes of the completion memory, where one is given.
    pub completion_bytes: Option<u64>,
}

/// The outer call's checks: engine and queue (-22), completion memory at least one 16-byte
/// completion per Rx descriptor (-22), then the inner call's. Whether the rings' own memory
/// is large enough is checked by nobody. MODEL: the count that the completion memory is
/// measured against is taken to be the Rx ring's (the recordings have both equal).
///
/// # Errors
/// The first that applies.
pub fn check_outer_queue_init(init: &OuterQueueInit) -> Result<(), QueueInitError> {
    if init.engine >= ENGINE_SLOTS {
        return Err(QueueInitError::Engine(init.engine));
    }
    if init.inner.queue >= QUEUES_PER_ENGINE {
        return Err(QueueInitError::Queue(init.inner.queue));
    }
    if let Some(given) = init.completion_bytes {
        let needed = u64::from(init.inner.rx.size) * CDESC_BYTES;
        if given < needed {
            return Err(QueueInitError::CompletionMemory { given, needed });
        }
    }
    let completion_ring = init.inner.completion_ring || init.completion_bytes.is_some();
    check_queue_init(&QueueInit { completion_ring, ..init.inner })
}

/// The order of the writes of one half: register, and what goes into it. A register that a
/// direction does not have is left out of its half.
const INIT_ORDER: &[(&str, Source)] = &[
    ("rlimit_mask", Source::Value(RLIMIT_MASK)),
    ("cfg", Source::Value(CFG_REST)),
    ("q_sw_ctrl", Source::Value(Q_SW_RESET)),
    ("drbp_low", Source::BaseLow),
    ("drbp_high", Source::BaseHigh),
    ("drl", Source::Size),
    ("comp_cfg", Source::Value(0)),
    ("cfg", Source::Value(CFG_REST | CFG_PREFETCH | CFG_STREAM)),
];

#[derive(Clone, Copy)]
enum Source {
    Value(u32),
    BaseLow,
    BaseHigh,
    Size,
}

/// The writes of one half, in order: eight for Tx, seven for Rx.
pub fn half_init_writes(dir: Dir, ring: RingAt) -> Vec<QueueWrite> {
    INIT_ORDER
        .iter()
        .filter_map(|&(name, source)| {
            let r = reg::queue_reg(dir, name)?;
            let value = match source {
                Source::Value(v) => v,
                Source::BaseLow => ring.base as u32 & DRBP_LOW_MASK,
                Source::BaseHigh => (ring.base >> 32) as u32,
                Source::Size => ring.size,
            };
            Some(QueueWrite { dir, name: r.name, offset: r.offset, value })
        })
        .collect()
}

/// The fifteen writes of a good initialisation, Tx half first; none are reads.
pub fn queue_init_writes(tx: RingAt, rx: RingAt) -> Vec<QueueWrite> {
    [half_init_writes(Dir::Tx, tx), half_init_writes(Dir::Rx, rx)].concat()
}

/// The inner call as a whole: its answer, and the writes that it has made by then, which a
/// late failure leaves at the Tx half.
pub fn queue_init(init: &QueueInit) -> (Result<(), QueueInitError>, Vec<QueueWrite>) {
    let answer = check_queue_init(init);
    let writes = match answer {
        Ok(()) => queue_init_writes(init.tx, init.rx),
        Err(e) if e.tx_programmed() => half_init_writes(Dir::Tx, init.tx),
        Err(_) => Vec::new(),
    };
    (answer, writes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn init(tx_size: u32, rx_size: u32) -> QueueInit {
        QueueInit {
            queue: 0,
            tx: RingAt { base: 0x1_0000_0100, size: tx_size },
            rx: RingAt { base: 0x2_0000_0200, size: rx_size },
            completion_ring: false,
        }
    }

    fn ret(init: &QueueInit) -> (i64, usize) {
        let (answer, writes) = queue_init(init);
        (answer.map_or_else(|e| e.errno().0, |()| 0), writes.len())
    }

    #[test]
    fn fifteen_writes_eight_of_them_tx() {
        let (answer, writes) = queue_init(&init(64, 128));
        assert_eq!(answer, Ok(()));
        assert_eq!(writes.len(), 15);
        assert!(writes[..8].iter().all(|w| w.dir == Dir::Tx));
        assert_eq!(
            writes[10],
            QueueWrite { dir: Dir::Rx, name: "drbp_low", offset: 0x28, value: 0x200 }
        );
    }

    #[test]
    fn a_late_rx_failure_leaves_tx_programmed() {
        assert_eq!(ret(&init(64, 16)), (-22, 8));
        assert_eq!(ret(&init(16, 64)), (-22, 0));
        assert_eq!(ret(&init(64, 40)), (-1, 0));
        assert_eq!(ret(&init(0, 0)), (-22, 0));
    }

    #[test]
    fn alignment_and_completion_ring_come_before_the_ranges() {
        assert_eq!(ret(&QueueInit { queue: 16, ..init(17, 64) }), (-1, 0));
        assert_eq!(ret(&QueueInit { completion_ring: true, ..init(16, 64) }), (-1, 0));
        assert_eq!(ret(&QueueInit { queue: 16, ..init(64, 64) }), (-22, 0));
    }

    #[test]
    fn the_outer_call_measures_the_completion_memory() {
        let outer = |engine, completion_bytes| {
            check_outer_queue_init(&OuterQueueInit {
                engine,
                inner: init(64, 64),
                completion_bytes,
            })
            .map_or_else(|e| e.errno().0, |()| 0)
        };
        assert_eq!(outer(131, None), 0);
        assert_eq!(outer(132, None), -22);
        assert_eq!(outer(0, Some(1023)), -22);
        assert_eq!(outer(0, Some(1024)), -1);
    }
}
