//! Shared by the golden tests: finding the recorded vectors and counting what was compared.
//!
//! The folder is named by the environment variable `DMADBG_GOLDEN`. Without it the tests say
//! so and pass; with it a folder that is missing or empty is a failure, and so is a
//! comparison that compared nothing.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, dead_code)]

pub mod races;

use dmadbg::udma::{Generation, Profile};
use std::io::Write as _;
use std::path::PathBuf;

/// The variable that names the folder of recorded vectors.
pub const VARIABLE: &str = "DMADBG_GOLDEN";

/// Sections of `ring-math.json` that `golden_rings` compares; `golden_wire` has the others.
pub const RING_SECTIONS: &[&str] = &[
    "full_ring",
    "copy_start",
    "ack",
    "ndmar_ack_completed",
    "prepare_one_errors",
    "measured_timeouts",
    "chunking",
];

/// Sections of `ring-math.json` that `golden_wire` compares.
pub const WIRE_SECTIONS: &[&str] = &[
    "constants",
    "desc_count_rounding",
    "queue_init",
    "ndmar_queue_init",
    "available",
    "phase_wrap",
    "builder_unmasked_ring_id",
    "wait_budget",
    "barrier_select",
    "bar0_blocked_engine_relative",
    "bar0_blocked_by_engine",
    "engine_state_decode",
    "engine_state_set",
    "async_next_handle",
    "h2t_mapping",
    "nx_reserved_queues",
    "pci_host_base",
];

/// Says a line past the test harness, which keeps what a passing test prints to itself.
fn say(line: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("golden");
    // One write, so that lines of tests that run side by side stay whole.
    let _ = std::io::stderr().write_all(format!("{test}: {line}\n").as_bytes());
}

/// The folder of recorded vectors; `None`, after saying so, where none is named.
pub fn golden() -> Option<PathBuf> {
    let Some(folder) = std::env::var_os(VARIABLE) else {
        say(&format!("{VARIABLE} is not set: golden comparison skipped"));
        return None;
    };
    let folder = PathBuf::from(folder);
    let entries = std::fs::read_dir(&folder)
        .unwrap_or_else(|e| panic!("{VARIABLE} names {}: {e}", folder.display()));
    assert!(entries.count() > 0, "{VARIABLE} names {}, which is empty", folder.display());
    Some(folder)
}

/// One JSON file of the folder, by its name in it; `None` where no folder is named.
pub fn load_json(name: &str) -> Option<serde_json::Value> {
    let path = golden()?.join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    Some(serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display())))
}

/// One group of a section: the driver and generation pairs that agree, and the group as read.
pub struct Group {
    /// Pairs that the group holds for.
    pub pairs: Vec<(&'static Profile, Generation)>,
    /// The group's object, `cases` or `value` in it.
    pub body: serde_json::Value,
}

impl Group {
    /// The cases, each read as a `T`.
    pub fn cases<T: serde::de::DeserializeOwned>(&self) -> Vec<T> {
        serde_json::from_value(self.body["cases"].clone())
            .unwrap_or_else(|e| panic!("a case has another form than expected: {e}"))
    }
}

/// The profile of a driver version and the generation of an arch name.
pub fn pair(driver: &str, arch: &str) -> (&'static Profile, Generation) {
    let profile = Profile::find(driver).unwrap_or_else(|e| panic!("{e}"));
    (profile, arch.parse().unwrap_or_else(|e| panic!("{e}")))
}

/// The groups of a section of `ring-math.json`; `None` where no folder is named.
pub fn section(name: &str) -> Option<Vec<Group>> {
    let file = load_json("ring-math.json")?;
    let groups = file["sections"][name]["groups"]
        .as_array()
        .unwrap_or_else(|| panic!("ring-math.json has no section {name}"));
    let group = |body: &serde_json::Value| {
        let applies = body["applies_to"].as_array().expect("applies_to");
        let pairs = applies.iter().map(|p| {
            let (driver, arch) = p.as_str().and_then(|p| p.split_once('/')).expect("driver/arch");
            pair(driver, arch)
        });
        Group { pairs: pairs.collect(), body: body.clone() }
    };
    Some(groups.iter().map(group).collect())
}

/// Counts comparisons, so that none at all does not pass for success.
#[derive(Default)]
pub struct Compared(u64);

impl Compared {
    /// Nothing compared yet.
    pub fn new() -> Compared {
        Compared::default()
    }

    /// One more.
    pub fn one(&mut self) {
        self.0 += 1;
    }

    /// Several more.
    pub fn add(&mut self, n: usize) {
        self.0 += n as u64;
    }

    /// Prints the count.
    ///
    /// # Panics
    /// Where it is 0.
    pub fn finish(self, what: &str) {
        say(&format!("golden: compared {} {what}", self.0));
        assert!(self.0 > 0, "nothing compared: {what}");
    }
}

/// Runs `check` for every case of a section under every pair that it holds for.
pub fn each_case<T: serde::de::DeserializeOwned>(
    name: &str,
    mut check: impl FnMut(&'static Profile, Generation, &T),
) {
    let Some(groups) = section(name) else { return };
    let mut n = Compared::new();
    for group in &groups {
        for case in group.cases::<T>() {
            for &(profile, arch) in &group.pairs {
                check(profile, arch, &case);
                n.one();
            }
        }
    }
    n.finish(&format!("cases of {name}"));
}

/// A number written as `0x..`.
pub fn hex(text: &str) -> u64 {
    text.strip_prefix("0x")
        .and_then(|digits| u64::from_str_radix(digits, 16).ok())
        .unwrap_or_else(|| panic!("`{text}` is no hexadecimal number"))
}

/// Sixteen bytes in memory order, written as 32 hexadecimal digits.
pub fn desc_bytes(text: &str) -> [u8; 16] {
    assert_eq!(text.len(), 32, "`{text}`");
    std::array::from_fn(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).expect("hex digits"))
}
