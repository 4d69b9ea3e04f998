//! What a recorded run leaves unordered between a batch's data and the poll of its marker, from
//! what the record says was staged and the rules of `docs/order.md`: a second reading of the
//! rules, which knows nothing of the product's.

use serde_json::Value;
use std::collections::BTreeSet;

/// Which of the two readings of a barrier holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// DMB orders what was read before it only, not what comes after.
    pub dmb_entry: bool,
    /// A strongly ordered write orders itself only.
    pub sow_self: bool,
}

/// A batch: its data pairs and its completion pair, each with slot and barrier.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    /// Data pairs, in ring order.
    pub data: Vec<(u64, String)>,
    /// The completion pair.
    pub marker: (u64, String),
}

/// The batches that end in a completion pair. A run that is staged twice has them twice.
pub fn batches(run: &Value) -> Vec<Batch> {
    let ring = run["ring"]["desc_count"].as_u64().unwrap();
    let mut out = Vec::new();
    let mut now = Batch::default();
    for e in run["events"].as_array().unwrap() {
        let barrier = || e["barrier"].as_str().unwrap().to_owned();
        match e["k"].as_str().unwrap() {
            "stage" if e["ret"] != 0 => {}
            "stage" => {
                let slot = (e["rx"]["slot"].as_u64().unwrap(), barrier());
                if e["role"] == "marker" {
                    now.marker = slot;
                    out.push(std::mem::take(&mut now));
                } else {
                    now.data.push(slot);
                }
            }
            "stage_range" => {
                let first = e["rx_slots"][0].as_u64().unwrap();
                let n = e["n"].as_u64().unwrap();
                now.data.extend((first..first + n).map(|s| (s % ring, barrier())));
            }
            _ => {}
        }
    }
    out
}

impl Batch {
    /// Data slots whose bytes may come after the marker, so that a poll which sees it reads
    /// them too early.
    pub fn overtaken(&self, reading: Reading) -> BTreeSet<u64> {
        // The marker waits for everything before it: by a write of its own, or before it is read.
        if matches!(self.marker.1.as_str(), "sow" | "dmb") {
            return BTreeSet::new();
        }
        let ordered = |at: usize| {
            self.data.iter().enumerate().skip(at).any(|(i, (_, barrier))| match barrier.as_str() {
                "write_barrier" => true,
                "dmb" => !reading.dmb_entry || i > at,
                "sow" => !reading.sow_self,
                _ => false,
            })
        };
        let late = self.data.iter().enumerate().filter(|(at, _)| !ordered(*at));
        late.map(|(_, (slot, _))| *slot).collect()
    }
}

/// Whether a wait of the run ran out for good: its batch may end at any later time.
pub fn runs_out(run: &Value) -> bool {
    let mut waited = false;
    run["events"].as_array().unwrap().iter().any(|e| {
        match e["k"].as_str().unwrap() {
            "call" => waited = false,
            "wait_budget" => waited = true,
            "call_return" => return waited && e["ret"] != 0,
            _ => {}
        }
        false
    })
}
