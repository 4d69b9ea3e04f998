//! The state of one half of an engine: read back from its state register, requested through
//! its change-state register (`docs/registers.md`, "Engine state").

use super::builder::Errno;
use super::desc::Dir;
use super::reg::{self, CFG_STREAM, RegField};

/// State of one half of an engine, by the driver's codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EngineState {
    /// Code 0; can be requested, is never read back.
    Disable,
    /// Code 1: all four units idle. Cannot be requested.
    Idle,
    /// Code 2: at least one unit active.
    Normal,
    /// Code 3: at least one unit aborted.
    Abort,
    /// Code 4. Cannot be requested.
    Reset,
}

/// A unit's 2-bit state that counts as running.
const UNIT_ACTIVE: u32 = 1;
/// A unit's 2-bit state after an armed fault.
const UNIT_ABORT: u32 = 2;
/// Bits of the S2M stream configuration that are all set while the stream is off.
const STREAM_OFF: u32 = 1 | 1 << 4 | 1 << 8;

impl EngineState {
    /// All states, by code.
    pub const ALL: [EngineState; 5] = [
        EngineState::Disable,
        EngineState::Idle,
        EngineState::Normal,
        EngineState::Abort,
        EngineState::Reset,
    ];

    /// The driver's code.
    pub fn code(self) -> i64 {
        match self {
            EngineState::Disable => 0,
            EngineState::Idle => 1,
            EngineState::Normal => 2,
            EngineState::Abort => 3,
            EngineState::Reset => 4,
        }
    }

    /// The state of a code.
    pub fn from_code(code: i64) -> Option<EngineState> {
        EngineState::ALL.into_iter().find(|s| s.code() == code)
    }

    /// Its name in output.
    pub fn name(self) -> &'static str {
        match self {
            EngineState::Disable => "disable",
            EngineState::Idle => "idle",
            EngineState::Normal => "normal",
            EngineState::Abort => "abort",
            EngineState::Reset => "reset",
        }
    }

    /// What a request for it writes into a change-state register; idle and reset cannot be
    /// asked for.
    pub fn request(self) -> Option<u32> {
        match self {
            EngineState::Normal => Some(1),
            EngineState::Disable => Some(1 << 1),
            EngineState::Abort => Some(1 << 2),
            EngineState::Idle | EngineState::Reset => None,
        }
    }

    /// Reads a state register: any unit aborted gives abort, else any active normal, else
    /// idle. The reserved unit code 3 counts as neither. `stream_off` (see [`stream_off`])
    /// leaves the stream unit out; it only ever applies to S2M.
    pub fn decode(value: u32, stream_off: bool) -> EngineState {
        let any = |code| {
            let unit = |f: &RegField| f.get(value) == code && !(stream_off && f.name == "stream");
            reg::STATE_FIELDS.iter().any(unit)
        };
        if any(UNIT_ABORT) {
            EngineState::Abort
        } else if any(UNIT_ACTIVE) {
            EngineState::Normal
        } else {
            EngineState::Idle
        }
    }
}

impl std::fmt::Display for EngineState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether the S2M stream is fully disabled: bits 0, 4 and 8 of its stream configuration are
/// all set and no enabled queue has the stream bit in its `cfg`.
pub fn stream_off(s2m_stream_cfg: u32, enabled_queue_cfgs: impl IntoIterator<Item = u32>) -> bool {
    s2m_stream_cfg & STREAM_OFF == STREAM_OFF
        && enabled_queue_cfgs.into_iter().all(|cfg| cfg & CFG_STREAM == 0)
}

/// The writes of a state request, (direction, engine offset, value), M2S first.
///
/// # Errors
/// -22 for idle, reset and codes that are no state; nothing is written.
pub fn request_writes(code: i64) -> Result<[(Dir, u32, u32); 2], Errno> {
    let value = EngineState::from_code(code).and_then(EngineState::request).ok_or(Errno::INVAL)?;
    Ok([(Dir::Tx, reg::M2S_CHANGE_STATE, value), (Dir::Rx, reg::S2M_CHANGE_STATE, value)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abort_beats_active_and_reserved_is_neither() {
        assert_eq!(EngineState::decode(0x1112, false), EngineState::Abort);
        assert_eq!(EngineState::decode(0x1111, false), EngineState::Normal);
        assert_eq!(EngineState::decode(0x3333, false), EngineState::Idle);
        assert_eq!(EngineState::decode(0x20, true), EngineState::Idle);
    }

    #[test]
    fn a_stream_is_off_only_when_no_enabled_queue_streams() {
        assert!(stream_off(0x111, [0x0301_0000]));
        assert!(!stream_off(0x111, [0x0301_0000, 0x0303_0000]));
        assert!(!stream_off(0x11, []));
    }

    #[test]
    fn idle_and_reset_cannot_be_requested() {
        for s in EngineState::ALL {
            assert_eq!(EngineState::from_code(s.code()), Some(s));
            assert_eq!(request_writes(s.code()).is_ok(), s.request().is_some());
        }
        assert_eq!(request_writes(0), Ok([(Dir::Tx, 0x204, 2), (Dir::Rx, 0x2_0204, 2)]));
        assert_eq!(request_writes(1), Err(Errno::INVAL));
        assert_eq!(request_writes(-1), Err(Errno::INVAL));
    }
}
