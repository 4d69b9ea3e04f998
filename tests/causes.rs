//! What `why`, `explain` and the verbs beside them answer, by the real binary: programs that go
//! wrong in each way, a script, its output.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use dmadbg::diag::codes::CODES;
use dmadbg::udma::cause::CAUSES;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// What a run printed, and its exit status.
struct Ran {
    out: String,
    err: String,
    status: i32,
}

fn dmadbg(args: &[&str]) -> Ran {
    let done = Command::new(env!("CARGO_BIN_EXE_dmadbg"))
        .args(args)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    Ran {
        out: String::from_utf8(done.stdout).unwrap(),
        err: String::from_utf8(done.stderr).unwrap(),
        status: done.status.code().unwrap(),
    }
}

fn write(dir: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = dir.path().join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// What a script prints of a file.
fn script(file: &Path, lines: &str) -> Vec<String> {
    let dir = TempDir::new().unwrap();
    let s = write(&dir, "s.dbg", lines);
    let args = ["run", "--no-init", file.to_str().unwrap(), "--script", s.to_str().unwrap()];
    let ran = dmadbg(&args);
    assert_ne!(ran.status, 2, "{}", ran.err);
    ran.out.lines().map(str::to_owned).collect()
}

/// One queue of engine `engine` and the usual memory; `more` follows.
fn program(arch: &str, engine: u32, allocatable: &str, more: &str) -> String {
    let mut text = format!(
        "dma 1\narch {arch}\nprofile dkms-2.26\n\
         queue e{engine}.q0 tx=0x400040041000 tx_size=32 rx=0x400040021000 rx_size=32 marker=marker allocatable={allocatable}\n\
         region hbm kind=device base=0x10000000 len=0x140000 fill=zero\n\
         region marker kind=host base=0x400040061000 len=24 fill=zero\n\
         region buffer kind=host base=0x4000400a3000 len=0x140000 fill=pattern:11\n"
    );
    if !more.contains("region rings") {
        text.push_str(&format!("init e{engine}.q0\n"));
    }
    text + more
}

/// What `why` answers where a script has gone; the lines that the script prints are left out.
fn why_of(text: &str, go: &str, queue: &str) -> Vec<String> {
    let dir = TempDir::new().unwrap();
    let file = write(&dir, "p.dma", text);
    let lines = script(&file, &format!("{go}\necho ---\nwhy {queue}\n"));
    let at = lines.iter().position(|l| l == "---").unwrap();
    lines[at + 1..].to_vec()
}

/// The first line begins with `first`, and each of `others` is in a later line.
fn check(lines: &[String], first: &str, others: &[&str]) {
    assert!(lines[0].starts_with(first), "{first}\n{}", lines.join("\n"));
    for o in others {
        assert!(lines[1..].iter().any(|l| l.contains(o)), "{o}\n{}", lines.join("\n"));
    }
}

/// Two pairs, copied in: 4096 bytes and the completion pair.
fn pairs(engine: u32, tx: &str, rx: &str) -> String {
    let marker_tx = "tx copy first last ring_id=1 length=4 buf_ptr=marker";
    let marker_rx = "rx ring_id=1 length=4 buf_ptr=marker+4";
    format!(
        "copy_in e{engine}.q0 ring=tx at=0 {{\n {tx}\n {marker_tx}\n}}\n\
         copy_in e{engine}.q0 ring=rx at=0 {{\n {rx}\n {marker_rx}\n}}\n\
         store addr=marker {{ hex 01efcdab 00000000 }}\n"
    )
}

const TX: &str = "tx copy first last ring_id=1 length=4096 buf_ptr=buffer";
const RX: &str = "rx ring_id=1 length=4096 buf_ptr=hbm";

fn rung(engine: u32, tx: &str, rx: &str) -> String {
    pairs(engine, tx, rx)
        + &format!("start e{engine}.q0 m2s=2 s2m=2\nwait e{engine}.q0 marker=marker count=2\n")
}

#[test]
fn a_full_ring() {
    let lines = why_of(
        &program("v3", 128, "yes", "copy e128.q0 src=buffer dst=hbm size=0x140000\n"),
        "goto end",
        "",
    );
    check(
        &lines,
        "the ring is full: staging at event 35 returned -12 (ENOMEM), 0 of tx and 0 of rx were free",
        &[
            "so: of its 32 slots 16 are taken (16 staged and never rung)",
            "nothing is rung: tx[0:15] stays staged",
            "marker+0x4 stays 0x00000000",
            "next: nothing, the run is at its end",
        ],
    );
}

#[test]
fn a_ring_that_a_timed_out_batch_has_filled() {
    let more = "device_hold\ncopy e128.q0 src=buffer dst=hbm size=0xa0000\ndevice_resume\n\
                copy e128.q0 src=buffer dst=hbm size=0xa0000\n";
    let lines = why_of(&program("v3", 128, "yes", more), "goto end", "");
    check(
        &lines,
        "the device was held when TX was rung",
        &[
            "batch 1 timed out",
            "11 tx and 11 rx slots stay taken until the queue is initialised again",
        ],
    );
    // Once the engine has done it the ring is what stands in the way.
    let more = more.replace(
        "device_resume",
        "device_resume\nstart e128.q0 m2s=0 s2m=1\nreg_write engine=128 offset=0x1038 value=0",
    );
    let lines = why_of(&program("v3", 128, "yes", &more), "goto end", "");
    check(
        &lines,
        "the ring is full: staging at event",
        &["11 rung and not acked, a timed-out batch's among them"],
    );
}

const STAGED: &str = "stage e128.q0 src=buffer dst=hbm size=4096 barrier=write_barrier\n\
                      marker e128.q0 marker=marker\n";

#[test]
fn a_missing_tx_doorbell() {
    let more = format!("{STAGED}start e128.q0 m2s=0 s2m=2\nwait e128.q0 marker=marker count=2\n");
    let lines = why_of(&program("v3", 128, "yes", &more), "until phase == 4", "");
    check(
        &lines,
        "no TX doorbell: RX was rung at event",
        &[
            "so: tx[0:1] is staged and not posted; the engine does not know of it",
            "so: host waits for marker+0x4, batch",
            "the wait gives up at event",
        ],
    );
    // Before that nothing is wrong with it.
    let good = format!("{STAGED}start e128.q0 m2s=2 s2m=2\nwait e128.q0 marker=marker count=2\n");
    let lines = why_of(&program("v3", 128, "yes", &good), "until phase == 1", "");
    check(
        &lines,
        "nothing is wrong yet: TX is not rung; the doorbell comes at event",
        &["the marker flips at event", "and is seen at event"],
    );
}

/// A doorbell by a bare register write.
const RING_TX: &str = "fence\nreg_write engine=128 offset=0x1038 value=2\n";

#[test]
fn rx_never_armed() {
    let more = format!("{STAGED}{RING_TX}wait e128.q0 marker=marker count=2\n");
    let lines = why_of(&program("v3", 128, "yes", &more), "until phase == 4", "");
    check(
        &lines,
        "rx[0:1] is written and not posted: RX was never rung",
        &[
            "so: RX is not armed for what TX streams: 4096 bytes of the packet at tx[0] without an Rx descriptor; the queue stalls (MODEL)",
            "so: the completion pair at rx[1] is not executed",
        ],
    );
}

#[test]
fn a_wrong_phase_where_it_is_armed() {
    let tx = TX.replace("ring_id=1", "ring_id=2");
    let lines = why_of(&program("v3", 128, "no", &rung(128, &tx, RX)), "until phase == 4", "");
    check(
        &lines,
        "e128.q0.tx[0]: PREFETCH_RING_ID: ",
        &[
            "engine e128 is in Abort (MODEL): none of its queues does anything",
            "host waits for marker+0x4",
        ],
    );
    assert!(lines[0].contains("the slot carries phase 2, 1 is expected, event "), "{}", lines[0]);
}

#[test]
fn a_masked_cause_is_told_and_is_not_the_cause() {
    let tx = TX.replace("ring_id=1", "ring_id=2");
    let text = program("v3", 5, "no", &rung(5, &tx, RX));
    let lines = why_of(&text, "goto end", "");
    check(
        &lines,
        "nothing waits: the run is at its end, the batch of e5.q0 is acked",
        &[
            "also: warning[R018] e5.q0.tx[0]: PREFETCH_RING_ID",
            "masked, so it executes: not the cause (MODEL)",
        ],
    );
}

#[test]
fn an_engine_that_another_queue_has_aborted() {
    let second = "queue e128.q1 tx=0x400040045000 tx_size=32 rx=0x400040025000 rx_size=32 marker=marker+8 allocatable=yes\n";
    let tx = TX.replace("last", "");
    let more = rung(128, &tx, RX) + "init e128.q1\ncopy e128.q1 src=buffer dst=hbm size=64\n";
    let text =
        program("v3", 128, "no", &more).replace("region hbm", &format!("{second}region hbm"));
    let lines = why_of(&text, "goto end", "q1");
    check(
        &lines,
        "e128.q0.tx[0]: PREFETCH_LAST: ",
        &["engine e128 is in Abort (MODEL)", "batch 1 timed out: the engine faulted"],
    );
    assert!(lines[0].contains("it has neither LAST nor CONCAT"), "{}", lines[0]);
}

#[test]
fn a_marker_that_waits_on_a_barrier() {
    let text = program("v3", 128, "yes", "copy e128.q0 src=buffer dst=hbm size=0x30000\n");
    let lines = why_of(&text, "until tx.posted > 0\nuntil rx.visible == 1", "");
    check(
        &lines,
        "nothing is wrong, it is simply not done: rx[1:2] becomes visible before the completion pair at rx[3]",
        &[
            "so: the write barrier of tx[2] puts rx[1:2] before the marker (MODEL)",
            "the marker flips at event",
        ],
    );
    let none = format!(
        "{}marker e128.q0 marker=marker\nstart e128.q0 m2s=2 s2m=2\nwait e128.q0 marker=marker count=2\n",
        "stage e128.q0 src=buffer dst=hbm size=4096\n"
    );
    for (barrier, words) in [
        (
            "",
            "no barrier orders rx[0] before the marker: hardware may show the marker first (MODEL; `info races`)",
        ),
        (" barrier=sow", "SOW on the completion pair's Rx descriptor puts rx[0] before"),
        (" barrier=dmb", "DMB on the completion pair's tx[1] puts rx[0] before"),
    ] {
        let more = none.replace("marker=marker\nstart", &format!("marker=marker{barrier}\nstart"));
        let lines = why_of(&program("v3", 128, "yes", &more), "until tx.posted > 0", "");
        check(&lines, "nothing is wrong, it is simply not done: rx[0] becomes visible", &[words]);
    }
    let dmb = none.replace("size=4096", "size=4096 barrier=dmb");
    let lines = why_of(&program("v3", 128, "yes", &dmb), "until tx.posted > 0", "");
    check(&lines, "nothing is wrong", &["the DMB of tx[0], read as `full`, puts rx[0] before"]);
    let sow = none.replace("size=4096", "size=4096 barrier=sow");
    let lines = why_of(&program("v3", 128, "yes", &sow), "until tx.posted > 0", "");
    check(&lines, "nothing is wrong", &["the SOW of rx[0], read as `through`, puts rx[0] before"]);
}

#[test]
fn a_timed_out_batch_whose_slots_are_lost() {
    let lines = script(Path::new("sample-programs/timeout.dma"), "goto end\nwhy\n");
    check(
        &lines[2..],
        "batch 1 timed out: the engine has not done what is posted, event 35: nobody waits for it any more",
        &["2 tx and 2 rx slots stay taken until the queue is initialised again"],
    );
}

#[test]
fn lost_doorbells() {
    for (n, first) in [
        (2, "the device lost the TX doorbell of event"),
        (1, "the device lost the RX doorbell of event"),
    ] {
        let more = format!("lose_doorbells n={n}\ncopy e128.q0 src=buffer dst=hbm size=64\n");
        let lines = why_of(&program("v3", 128, "yes", &more), "until phase == 4", "");
        check(&lines, first, &["so: host waits for marker+0x4, batch 1", "the wait gives up"]);
    }
}

#[test]
fn a_held_device_and_one_with_a_latency() {
    let copy = "copy e128.q0 src=buffer dst=hbm size=64\n";
    let text = program("v3", 128, "yes", &format!("device_hold\n{copy}"));
    let lines = why_of(&text, "until phase == 4", "");
    check(
        &lines,
        "the device is held: doorbells start no work (a scenario, MODEL)",
        &["so: tx[0:1] is posted and not begun", "the wait gives up at event"],
    );
    let text = program("v3", 128, "yes", &format!("device_latency us=5\n{copy}"));
    let lines = why_of(&text, "until phase == 4", "");
    check(
        &lines,
        "the device has a latency (a scenario, MODEL): it acts at 5 us, now it is 0 us",
        &["becomes visible before the completion pair at rx[1]", "the marker flips at event"],
    );
}

#[test]
fn a_poll_budget_that_runs_out_before() {
    let more = "device_latency us=30000000\ncopy e128.q0 src=buffer dst=hbm size=64\n";
    let lines = why_of(&program("v3", 128, "yes", more), "until phase == 4", "");
    check(
        &lines,
        "the poll budget runs out first: host gives up at ",
        &["so: the device has a latency", "the wait gives up at event", "and nobody sees it"],
    );
    assert!(lines[0].contains("the marker flips at 30000000 us, event "), "{}", lines[0]);
}

#[test]
fn a_missing_fence_is_told() {
    let more = pairs(128, TX, RX)
        + "reg_write engine=128 offset=0x21038 value=2\nreg_write engine=128 offset=0x1038 value=2\n\
           wait e128.q0 marker=marker count=2\n";
    let lines = why_of(&program("v3", 128, "no", &more), "until phase == 4", "");
    check(
        &lines,
        "the marker has flipped: event ",
        &["also: warning[R008] ", "hardware may fetch an old slot; this run did not (MODEL)"],
    );
}

#[test]
fn a_doorbell_for_less_than_the_batch() {
    let more = format!("{STAGED}start e128.q0 m2s=1 s2m=1\nwait e128.q0 marker=marker count=2\n");
    let lines = why_of(&program("v3", 128, "yes", &more), "until phase == 4", "");
    check(
        &lines,
        "the TX doorbell of event ",
        &["so: tx[1] is staged and not posted", "marker+0x4 stays 0x00000000"],
    );
    assert!(lines[0].ends_with("was for 1 descriptor: too few"), "{}", lines[0]);
}

#[test]
fn packets_that_are_not_complete() {
    let open = "tx copy first concat ring_id=1 length=4096 buf_ptr=buffer";
    let only = |tx: &str, m2s: u32| {
        format!(
            "copy_in e128.q0 ring=tx at=0 {{\n {tx}\n}}\ncopy_in e128.q0 ring=rx at=0 {{\n {RX}\n}}\n\
             start e128.q0 m2s={m2s} s2m=1\nwait e128.q0 marker=marker count=1\n"
        )
    };
    let why = |more: &str| why_of(&program("v3", 128, "no", more), "until phase == 4", "");
    check(
        &why(&only(open, 1)),
        "tx[0] has CONCAT and not LAST, and no descriptor follows",
        &["the packet that begins at tx[0] has no LAST: the queue stalls (MODEL)"],
    );
    check(
        &why(&only("meta meta_index=0 ssmae_op=4", 1).replace("meta_index=0 ", "")),
        "tx[0] is META, and no data descriptor follows",
        &["the packet that begins at tx[0] has no LAST: the queue stalls (MODEL)"],
    );
    let two = format!("{open}\n tx copy last ring_id=1 length=4096 buf_ptr=buffer");
    check(
        &why(&only(&two, 1)),
        "the TX doorbell of event ",
        &["the packet that begins at tx[0] has no LAST"],
    );
}

#[test]
fn rx_lengths_that_do_not_fit() {
    let why = |rx: &str| {
        let text = program("v3", 128, "no", &rung(128, TX, rx));
        why_of(&text, "until phase == 4", "")
    };
    check(
        &why("rx ring_id=1 length=2048 buf_ptr=hbm"),
        "rx[0:1] takes 2052 of the packet's 4096 bytes: too short, and no more Rx descriptor is written",
        &["RX is not armed for what TX streams: 2044 bytes"],
    );
    let lines = why("rx ring_id=1 length=8192 buf_ptr=hbm");
    check(&lines, "e128.q0.rx[0]: PKT_LEN: ", &["engine e128 is in Abort (MODEL)"]);
    assert!(
        lines[0].contains("gives 4096 bytes, its Rx descriptors take 8192: too long"),
        "{lines:?}"
    );
}

#[test]
fn a_marker_that_was_set_before_the_run() {
    let more = rung(128, TX, RX).replace("store addr=marker { hex 01efcdab 00000000 }\n", "");
    let more = format!("content addr=marker {{ hex 01efcdab 01efcdab }}\ndevice_hold\n{more}");
    let lines = why_of(&program("v3", 128, "no", &more), "until tx.posted == 2", "");
    check(
        &lines,
        "marker+0x4 was the marker before the run, and nobody seeded it; a poll sees it at once, whatever was done",
        &["a poll sees the marker at event "],
    );
}

#[test]
fn a_source_word_that_is_not_the_marker() {
    let more = rung(128, TX, RX).replace("01efcdab", "02000000");
    let lines = why_of(&program("v3", 128, "no", &more), "until phase == 4", "");
    assert!(
        lines[0].contains("wrote 0x00000002 to marker+0x4, not 0xabcdef01; the source word marker holds 0x00000002"),
        "{lines:?}"
    );
    let gone = rung(128, TX, RX).replace("buf_ptr=marker+4", "buf_ptr=marker+12");
    let lines = why_of(&program("v3", 128, "no", &gone), "until phase == 4", "");
    check(
        &lines,
        "no descriptor writes marker+0x4: the last one, rx[1], writes 4 bytes to marker+0xc",
        &["all that is posted is done; nothing is posted that would write the marker"],
    );
    let over = rung(128, TX, RX).replace("wait", "store addr=marker+4 { hex 00000000 }\nwait");
    let lines = why_of(&program("v3", 128, "no", &over), "until phase == 4", "");
    check(&lines, "the marker flipped at event ", &["all that is posted is done"]);
    assert!(lines[0].contains("and was overwritten at event "), "{lines:?}");
}

#[test]
fn a_destination_outside_memory() {
    let rx = RX.replace("buf_ptr=hbm", "buf_ptr=0x7000");
    let text = program("v3", 128, "no", &rung(128, TX, &rx));
    let lines = why_of(&text, "until phase == 4", "");
    check(&lines, "e128.q0.rx[0]: DATA_AXI_RESP: ", &["engine e128 is in Abort (MODEL)"]);
    assert!(lines[0].contains("its destination lies outside every region of memory"), "{lines:?}");
    // Told before it happens, too.
    let lines = why_of(&text, "until tx.posted == 2", "");
    check(
        &lines,
        "nothing is wrong",
        &["before the marker flips: event ", "fault DATA_AXI_RESP at rx[0]"],
    );
}

#[test]
fn a_sequencer_that_stands_at_a_semaphore() {
    let text = std::fs::read_to_string("sample-programs/semaphores.bir").unwrap();
    let dir = TempDir::new().unwrap();
    let lines =
        script(Path::new("sample-programs/semaphores.bir"), "until rx.visible == 2\nwhy e1.q0\n");
    let at = lines.iter().position(|l| l.contains("seq Activation stands")).unwrap();
    assert!(
        lines[at].starts_with(
            "seq Activation stands at %I-2 DMACopy (sample-programs/semaphores.bir:23:5)"
        ),
        "{lines:?}"
    );
    assert!(lines[at].ends_with("it waits for semaphore 1 to be 1; it is 0"), "{lines:?}");
    assert_eq!(
        lines[at + 1],
        "  because: semaphore 1 is updated by block dma_block_0 of qSyncData0, which %I-1 on SP fires"
    );
    assert!(lines.iter().any(|l| l.starts_with("also: seq Pool stands at %I-3 Save")), "{lines:?}");
    // Two that wait for each other.
    let text = text.replace("update(sem 1 += 1)", "wait(sem 2 >= 1) update(sem 1 += 1)");
    let file = write(&dir, "m.bir", &text);
    let lines = script(&file, "goto end\necho ---\nwhy e1.q0\n");
    let lines: Vec<String> = lines.into_iter().skip_while(|l| l != "---").skip(1).collect();
    check(
        &lines,
        "seq Activation stands at %I-2 DMACopy",
        &[
            "because: seq Activation stands for ever: nobody does what it waits for",
            "because: seq SP stands at %I-1 Load",
            "because: they wait for each other",
        ],
    );
}

#[test]
fn a_run_at_its_end_waits_for_nothing() {
    let lines = script(Path::new("sample-programs/copy-1m.dma"), "goto end\necho ---\nwhy\n");
    let lines: Vec<&String> = lines.iter().skip_while(|l| *l != "---").skip(1).collect();
    assert!(lines[0].starts_with("nothing waits: the run is at its end, "), "{lines:?}");
    assert!(lines[1].starts_with("next: nothing, the run is at its end, event "));
    assert_eq!(lines.len(), 2);
    // A program of nothing but rings has nothing to wait.
    let dir = TempDir::new().unwrap();
    let idle = "dma 1\nqueue e5.q0 tx=0x400040041000 tx_size=32 marker=0x400040061000\n";
    let file = write(&dir, "p.dma", idle);
    let s = write(&dir, "s.dbg", "why\n");
    let ran = dmadbg(&["run", file.to_str().unwrap(), "--script", s.to_str().unwrap()]);
    assert_eq!(ran.status, 2);
    assert!(ran.err.contains("the program has nothing to run, so nothing waits"), "{}", ran.err);
}

#[test]
fn why_moves_nothing() {
    let lines = script(
        Path::new("sample-programs/wrap.dma"),
        "doorbell\nset $n = event\nwhy\nlast-write marker\nnext-read marker\norigin marker\nexplain marker\nexplain batch 1\nassert event == $n\n",
    );
    assert!(lines.iter().any(|l| l.contains("the marker flips at event")), "{lines:?}");
}

#[test]
fn every_code_and_every_cause_has_a_page() {
    let names: Vec<&str> =
        CODES.iter().map(|c| c.code).chain(CAUSES.iter().map(|c| c.name)).collect();
    let cli = dmadbg(&[&["explain"], names.as_slice()].concat());
    assert_eq!(cli.status, 0, "{}", cli.err);
    let asked: String = names.iter().map(|n| format!("explain {n}\n")).collect();
    let told = script(Path::new("sample-programs/copy-4k.dma"), &asked).join("\n");
    for c in CODES {
        for text in [c.title, c.meaning, c.cause, c.fix] {
            assert!(!text.is_empty(), "{}", c.code);
            assert!(cli.out.contains(text) && told.contains(text), "{}: {text}", c.code);
        }
    }
    for c in CAUSES {
        for text in [c.meaning, c.arises, c.fix] {
            assert!(!text.is_empty(), "{}", c.name);
            assert!(cli.out.contains(text) && told.contains(text), "{}: {text}", c.name);
        }
        let title = format!("{} {} (", c.group(), c.name);
        assert!(cli.out.contains(&title) && told.contains(&title), "{title}");
    }
    // The ring id is the one that is masked somewhere.
    assert!(told.contains("masked on engines 0 to 127 of v3"));
}

#[test]
fn places_are_explained_in_their_live_state() {
    let explain = |go: &str, what: &str| {
        script(
            Path::new("sample-programs/copy-4k.dma"),
            &format!("{go}\necho ---\nexplain {what}\n"),
        )
        .into_iter()
        .skip_while(|l| l != "---")
        .skip(1)
        .collect::<Vec<String>>()
    };
    let slot = explain("until tx.staged == 1", "tx[0]");
    assert!(slot[0].starts_with("e128.q0.tx[0], staged: written, the engine does not know of it"));
    assert!(
        slot[1].starts_with("  batch 1, newest event 19, host: stage pair tx[0] rx[0]"),
        "{slot:?}"
    );
    for bit in 0..32 {
        let named = slot.iter().any(|l| {
            let first = l.split_whitespace().next().unwrap_or_default();
            let (hi, lo) = first.split_once(':').unwrap_or((first, first));
            matches!((hi.parse::<u32>(), lo.parse::<u32>()), (Ok(hi), Ok(lo)) if (lo..=hi).contains(&bit))
        });
        assert!(named, "bit {bit}");
    }
    let range = explain("goto end", "tx[0:2]");
    assert!(range.iter().any(|l| l.starts_with("e128.q0.tx[2], never written: ")), "{range:?}");
    check(
        &explain("goto end", "marker"),
        "the marker of e128.q0: ",
        &["the host waits for 0xabcdef01", ": event "],
    );
    check(
        &explain("goto end", "batch 1"),
        "batch 1 of e128.q0: events 19 to ",
        &[
            "staged: 2 pairs, 0 descriptors copied in",
            "TX doorbell: event ",
            "marker seen: event ",
            "acked: event ",
            "4100 bytes made visible",
        ],
    );
    check(
        &explain("goto 5", "event 19"),
        "event 19, 0.000 us, host, batch 1: stage pair",
        &["stage: The driver takes the next slot", "writes "],
    );
    check(
        &explain("goto end", "0x10000000"),
        "0x10000000 is hbm in `hbm`, device memory",
        &["its byte is 0x", "rx[0], batch 1: visible"],
    );
    check(
        &explain("goto end", "q0"),
        "queue e128.q0, initialised",
        &["1 batch rung, 1 acked or given up"],
    );
    check(
        &explain("goto end", "drtp_inc"),
        "tx drtp_inc, at 0x38",
        &["e128.q0: 0x00000002", "count = 2: descriptors"],
    );
    check(&explain("goto end", "DRL"), "tx drl, at 0x30", &["count = 64"]);
    check(&explain("goto end", "fault"), "a fault is a cause", &["no cause was found up to here"]);
    check(&explain("goto end", "doorbell"), "tx drtp_inc", &["rx drtp_inc"]);
    let ring = explain("goto end", "0x400040041018");
    assert!(ring.iter().any(|l| l.starts_with("e128.q0.tx[1], guard: ")), "{ring:?}");
}

#[test]
fn what_cannot_be_asked_is_told() {
    let dir = TempDir::new().unwrap();
    for (line, text) in [
        ("explain batch 7", "no event up to here is of batch 7"),
        ("explain event 4000", "the run has no event 4000"),
        ("explain tx[64]", "is not in the ring, which has 64"),
        ("explain drtp_in", "did you mean `drtp_inc`"),
        ("last-write", "an address is missing"),
        ("last-write 0x10, 0", "0 bytes are none to ask about"),
        ("last-write 0x10, 0x200000", "are more than"),
        ("origin tx[64]", "is not in the ring, which has 64"),
        ("next-read tx[3].dmbb", "dmbb"),
        ("why q7", "no queue `q7`"),
        ("provenance tx[0].dmbb", "did you mean `dmb`"),
        ("provenance tx[0].life", "is no field of a descriptor"),
        ("provenance %I-1", "was not made of a module"),
    ] {
        let s = write(&dir, "s.dbg", line);
        let ran = dmadbg(&["run", "sample-programs/copy-4k.dma", "--script", s.to_str().unwrap()]);
        assert_eq!(ran.status, 2, "{line}: {}", ran.err);
        assert!(ran.err.contains(text), "{line}: {}", ran.err);
    }
}

#[test]
fn provenance_says_which_rule_set_a_bit() {
    let of = |file: &str, subject: &str| {
        let ran = dmadbg(&["provenance", file, "--of", subject]);
        assert_eq!(ran.status, 0, "{}", ran.err);
        ran.out
    };
    let bir = "sample-programs/lowered-loop.bir";
    let barrier = of(bir, "tx[0].write_barrier");
    assert!(barrier.contains("field      meta_ctrl 26 write_barrier: yes"), "{barrier}");
    assert!(
        barrier.contains(
            "because    rule end of batch: the last data descriptor carries write_barrier"
        )
    );
    assert!(
        of(bir, "tx[0].len_ctrl.dmb")
            .contains("it reads nothing that an earlier packet of its batch writes")
    );
    assert!(of(bir, "tx[0].length").contains("option     max_desc_elems = auto"));
    assert!(of(bir, "rx[0].buf_ptr").contains("it is byte 0 of `y`"));
    // A word stands for all of its fields.
    assert_eq!(of(bir, "tx[0].len_ctrl").matches("\nfield ").count(), 10);
    let staged = of("sample-programs/copy-4k.dma", "tx[0].write_barrier");
    assert!(staged.contains("written    event 19, host: stage pair"), "{staged}");
    assert!(staged.contains("barrier code 2 (write_barrier) was asked for: the chunked copy puts"));
    let two = dmadbg(&["provenance", bir, "--of", "tx[0].dmbb", "--of", "%"]);
    assert_eq!(two.status, 2);
    assert!(
        two.err.contains("`dmbb`") && two.err.contains("a name should stand after"),
        "{}",
        two.err
    );
}

#[test]
fn a_dmb_is_there_for_what_was_written_before() {
    let text = "bir 2 gen3\n\nfunc main {\n  set x_set : float32 ExternalInput {\n    location x DRAM [256] addr=0\n  }\n  set y_set : float32 ExternalOutput {\n    location y DRAM [256] addr=0\n  }\n  set z_set : float32 ExternalOutput {\n    location z DRAM [256] addr=0\n  }\n  block Block1:\n    %I-1 = DMACopy SP queue=q dge_type=None ins(x[[1, 64]] : float32) outs(y[[1, 64]] : float32)\n    %I-2 = DMACopy SP queue=q dge_type=None ins(y[[1, 64]] : float32) outs(z[[1, 64]] : float32) after(I-1)\n}\n\nqueue q blocks=[]\n";
    let dir = TempDir::new().unwrap();
    let file = write(&dir, "m.bir", text);
    let args = ["provenance", file.to_str().unwrap(), "--reuse-block", "on", "--of", "tx[1].dmb"];
    let ran = dmadbg(&args);
    assert_eq!(ran.status, 0, "{}", ran.err);
    assert!(
        ran.out.contains("dmb: yes")
            && ran
                .out
                .contains("rule read after write: tx[1] reads bytes that rx[0] of packet 0 writes"),
        "{}",
        ran.out
    );
}

#[test]
fn provenance_as_json_has_every_link() {
    let ran = dmadbg(&[
        "provenance",
        "sample-programs/copy.bir",
        "--format",
        "json",
        "--of",
        "tx[0]",
        "--of",
        "%I-1",
        "--of",
        "x",
    ]);
    let lines: Vec<serde_json::Value> =
        ran.out.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    if ran.status != 0 {
        panic!("{}", ran.err);
    }
    assert_eq!(lines[0]["schema"], "dmadbg.provenance/1");
    let of = |subject: &str, link: &str| {
        lines
            .iter()
            .filter(|l| l["of"] == subject && l["link"] == link)
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(of("tx[0]", "slot")[0]["pos"], 0);
    assert_eq!(of("tx[0]", "source")[0]["line"], 15);
    assert_eq!(of("tx[0]", "stage").len(), 6);
    assert_eq!(of("tx[0]", "field").len(), 28);
    assert_eq!(
        of("tx[0]", "field").iter().find(|f| f["field"] == "write_barrier").unwrap()["value"],
        1
    );
    assert_eq!(of("%I-1", "descriptor")[0]["block"], "dma_block_0");
    assert_eq!(of("%I-1", "slot").len(), 2);
    let staged = dmadbg(&[
        "provenance",
        "sample-programs/copy-4k.dma",
        "--format",
        "json",
        "--of",
        "tx[0].dmb",
        "--at",
        "19",
    ]);
    let lines: Vec<serde_json::Value> =
        staged.out.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!((&lines[0]["event"], lines.len()), (&serde_json::json!(19), 4), "{}", staged.out);
    assert_eq!(lines[3]["event"], 19);
}

/// The blocks of a page that are sessions: the line of the block, its file, its lines.
fn sessions(page: &str) -> Vec<(usize, String, Vec<String>)> {
    let mut out: Vec<(usize, String, Vec<String>)> = Vec::new();
    let mut open = false;
    for (n, line) in page.lines().enumerate() {
        if let Some(file) = line.strip_prefix("```dbg ") {
            out.push((n, file.to_owned(), Vec::new()));
            open = true;
        } else if line == "```" {
            open = false;
        } else if open {
            out.last_mut().unwrap().2.push(line.to_owned());
        }
    }
    out
}

/// `DMADBG_BLESS=1` writes what comes out into the page.
#[test]
fn the_examples_of_the_page_are_what_comes_out() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/causes.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let mut lines: Vec<String> = page.lines().map(str::to_owned).collect();
    let all = sessions(&page);
    assert!(all.len() >= 9, "{}", all.len());
    for (n, file, text) in all.iter().rev() {
        let commands = text.iter().filter_map(|l| l.strip_prefix("> "));
        let asked: String = commands.map(|c| format!("echo > {c}\n{c}\n")).collect();
        let told = script(Path::new(file), &asked);
        if std::env::var_os("DMADBG_BLESS").is_some() {
            lines.splice(n + 1..n + 1 + text.len(), told);
        } else {
            assert_eq!(
                text, &told,
                "docs/causes.md is out of date: run DMADBG_BLESS=1 cargo test --test causes"
            );
        }
    }
    if std::env::var_os("DMADBG_BLESS").is_some() {
        std::fs::write(path, lines.join("\n") + "\n").unwrap();
    }
}
