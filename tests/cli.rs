//! The real binary: what it prints and how it exits.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use serde_json::Value;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

struct Ran {
    status: i32,
    out: String,
    err: String,
}

fn command(args: &[&str]) -> Command {
    let mut c = Command::new(env!("CARGO_BIN_EXE_dmadbg"));
    c.args(args).env_remove("NO_COLOR").stdin(Stdio::piped());
    c.stdout(Stdio::piped()).stderr(Stdio::piped());
    c
}

fn run_with(args: &[&str], input: &[u8]) -> Ran {
    let mut child = command(args).spawn().unwrap();
    // A command that reads nothing closes its end first.
    let _ = child.stdin.take().unwrap().write_all(input);
    let out = child.wait_with_output().unwrap();
    Ran {
        status: out.status.code().unwrap(),
        out: String::from_utf8(out.stdout).unwrap(),
        err: String::from_utf8(out.stderr).unwrap(),
    }
}

fn run(args: &[&str]) -> Ran {
    run_with(args, b"")
}

fn file(bytes: &[u8]) -> tempfile::NamedTempFile {
    let mut f = tempfile::Builder::new().suffix(".bin").tempfile().unwrap();
    f.write_all(bytes).unwrap();
    f
}

fn path(f: &tempfile::NamedTempFile) -> &str {
    f.path().to_str().unwrap()
}

fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|l| serde_json::from_str(l).unwrap()).collect()
}

#[test]
fn what_cannot_be_read_is_said_once() {
    let r = run(&["run", "sample-programs/copy-4k.dma", "--script", "no-such-script"]);
    assert_eq!(r.status, 2);
    assert_eq!(r.err.matches("cannot").count(), 1, "{}", r.err);
    let r = run(&["info"]);
    assert_eq!(r.status, 2);
}

#[test]
fn two_words_are_named_bit_by_bit() {
    let r = run(&["decode", "0x0d001000", "0x05080003"]);
    assert_eq!(r.status, 0, "{}", r.err);
    for part in ["len_ctrl 0x0d001000", "4096 bytes", "phase 1", "meta_ctrl 0x05080003"] {
        assert!(r.out.contains(part), "{part}\n{}", r.out);
    }
    assert!(r.out.lines().any(|l| l.contains("write_barrier") && l.contains("yes")));
    assert!(r.err.is_empty());
}

#[test]
fn a_descriptor_is_four_words_or_thirty_two_digits() {
    let digits = run(&["decode", "--format", "json", "0010000d030008050020000100400000"]);
    let words =
        run(&["decode", "--format", "json", "0x0d001000", "0x05080003", "0x01002000", "0x4000"]);
    assert_eq!(digits.out, words.out);
    let row = &json_lines(&digits.out)[0];
    assert_eq!(row["buf_ptr"], "0x0000400001002000");
    assert_eq!((&row["op"], &row["write_barrier"]), (&"copy".into(), &true.into()));
    let text = run(&["decode", "0010000d030008050020000100400000"]);
    assert!(text.out.contains("4096 bytes from host 0x0100_2000"), "{}", text.out);
}

#[test]
fn meta_rows_have_their_own_words() {
    let r = run(&[
        "decode",
        "--format",
        "json",
        "0x0b800000",
        "0x00000000",
        "0x1",
        "0x3f800000",
        "--ring",
        "tx",
    ]);
    let row = &json_lines(&r.out)[0];
    assert_eq!((&row["meta1"], &row["meta2"]), (&"0x00000001".into(), &"0x3f800000".into()));
    assert_eq!(row["meta_index"], 11);
    assert!(row.get("buf_ptr").is_none());
    assert_eq!(row["notes"][0]["code"], "D012");
}

#[test]
fn an_ambiguous_word_has_every_reading() {
    let r = run(&["decode", "--format", "json", "0x0d001000", "0x02000000", "0x0"]);
    assert_eq!(json_lines(&r.out)[0]["ops"], serde_json::json!(["add", "min_max"]));
    assert!(json_lines(&r.out)[0].get("op").is_none());
}

#[test]
fn a_queue_that_nobody_has_or_that_is_the_firmwares_is_said_to_be() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("q.dma");
    for (arch, queue, place) in [
        ("v2", "e33.q0", ""),
        ("v2", "e34.q0", ", on an engine that v2 does not have"),
        ("v2", "e10.q14", ", kept for the firmware"),
        ("v2", "e11.q14", ""),
        ("v3", "e34.q0", ""),
        ("v3", "e131.q14", ""),
        ("v4", "e127.q14", ""),
        ("v4", "e120.q14", ", kept for the firmware"),
    ] {
        let rings = "tx=0x40041000 tx_size=64 rx=0x40021000 rx_size=64";
        std::fs::write(&path, format!("dma 1\narch {arch}\nqueue {queue} {rings}\n")).unwrap();
        let out = run(&["run", "--no-init", path.to_str().unwrap(), "-e", "info queue"]).out;
        assert!(out.contains(&format!("queue {queue}{place}, not initialised")), "{out}");
    }
}

/// A word may be more than the bits of a descriptor; which it is nothing says.
#[test]
fn a_word_that_is_a_constant_is_said_to_be() {
    for k in dmadbg::udma::known::KNOWN {
        let word = format!("{:#010x}", k.value);
        for verb in ["decode", "explain"] {
            let text = run(&[verb, &word]).out;
            assert!(text.ends_with(&format!("constant {word}  {}\n", k.meaning)), "{text}");
            let json = json_lines(&run(&[verb, &word, "--format", "json"]).out);
            assert_eq!(json.len(), 2);
            assert!(json.iter().all(|o| o["constant"] == k.meaning), "{json:?}");
        }
    }
    assert!(!run(&["decode", "0x01080003"]).out.contains("constant"));
}

#[test]
fn words_of_a_given_kind() {
    assert!(run(&["decode", "--as", "cause-m2s", "0x20000"]).out.contains("PREFETCH_RING_ID"));
    assert!(run(&["decode", "--as", "cause-s2m", "0x1000000"]).out.contains("PKT_LEN"));
    assert!(run(&["decode", "--as", "drtp", "0x40000010"]).out.contains("16"));
    assert!(run(&["decode", "--as", "len_ctrl", "0x4d000004"]).out.contains("dmb"));
    assert!(run(&["decode", "--as", "meta_ctrl", "0x01080003"]).out.contains("copy"));
    let state = |value| run(&["decode", "--as", "state", value]).out;
    assert!(state("0x0").ends_with("the driver reads it as idle\n"));
    assert!(state("0x101").ends_with("the driver reads it as normal\n"));
    assert!(state("0x2011").ends_with("the driver reads it as abort\n"));
    let stream = "the driver reads it as abort; idle in S2M while its stream is disabled\n";
    assert!(state("0x20").ends_with(stream));
    let json = json_lines(&run(&["decode", "--as", "state", "0x20", "--format", "json"]).out);
    assert_eq!(
        (&json[0]["state"], &json[0]["state_stream_off"]),
        (&"abort".into(), &"idle".into())
    );
    assert_eq!(run(&["decode", "--as", "len_ctrl", "zz"]).status, 2);
    assert_eq!(run(&["decode", "--as", "len_ctrl", "0x123456789"]).status, 2);
}

#[test]
fn a_file_has_a_row_for_every_slot() {
    let mut image = vec![0u8; 64];
    image[16..20].copy_from_slice(&0x0d00_1000u32.to_le_bytes());
    image[20..24].copy_from_slice(&0x0108_0003u32.to_le_bytes());
    let f = file(&image);
    let r = run(&["decode", "--format", "json", path(&f)]);
    let rows = json_lines(&r.out);
    assert_eq!(rows.len(), 4);
    assert!(rows.iter().enumerate().all(|(i, row)| row["index"] == i && row["ring"] == "tx"));
    assert_eq!(
        json_lines(&run(&["decode", "--format", "json", "--slots", "1:3", path(&f)]).out).len(),
        2
    );
    let text = run(&["decode", path(&f)]);
    assert!(text.out.contains("never written") && text.out.contains("copy"), "{}", text.out);
}

#[test]
fn all_ones_decode_with_notes_and_fail_the_check() {
    let f = file(&[0xff; 256]);
    for ring in ["tx", "rx"] {
        let r = run(&["decode", "--format", "json", "--ring", ring, path(&f)]);
        assert_eq!(r.status, 0);
        assert!(json_lines(&r.out).iter().all(|row| !row["notes"].as_array().unwrap().is_empty()));
        let r = run(&["check", "--format", "json", "--ring", ring, path(&f)]);
        assert_eq!(r.status, 1, "{}", r.out);
        assert!(r.out.starts_with("{\"schema\":\"dmadbg.check/1\""), "{}", r.out);
    }
    assert_eq!(run(&["check", path(&f)]).status, 1);
}

#[test]
fn encode_from_flags_shows_words_and_bytes() {
    let r = run(&[
        "encode",
        "--src",
        "0x1000",
        "--dst",
        "0x2000",
        "--size",
        "4096",
        "--barrier",
        "dmb",
        "--phase",
        "2",
        "--int",
    ]);
    assert_eq!(r.status, 0, "{}", r.err);
    for part in ["0x4e001000", "0x01080003", "bytes 0010004e03000801", "0x12001000"] {
        assert!(r.out.contains(part), "{part}\n{}", r.out);
    }
    let r = run(&["encode", "--src", "1", "--dst", "2", "--size", "65537", "--format", "json"]);
    assert_eq!((r.status, &json_lines(&r.out)[0]["ret"]), (1, &(-1).into()));
    let r = run(&["encode", "--src", "1", "--dst", "2", "--size", "65537"]);
    assert_eq!((r.status, r.out.as_str()), (1, ""));
    assert_eq!(run(&["encode", "--src", "1"]).status, 2);
    assert_eq!(
        run(&["encode", "--src", "1", "--dst", "2", "--size", "4", "--barrier", "x"]).status,
        2
    );
}

#[test]
fn a_line_that_cannot_be_understood_is_answered_and_remembered() {
    let input = b"{\"id\":1,\"src\":0,\"dst\":0,\"size\":4}\n\nnonsense\n{\"id\":3,\"src\":0,\"dst\":0,\"size\":0,\"driver\":\"nrt-2.31\"}\n\xff\n";
    let r = run_with(&["encode"], input);
    let answers = json_lines(&r.out);
    assert_eq!(r.status, 2);
    assert_eq!(answers.len(), 4);
    assert_eq!((&answers[0]["id"], &answers[0]["ret"]), (&1.into(), &0.into()));
    assert!(answers[1]["error"].is_string() && answers[1].get("ret").is_none());
    assert_eq!((&answers[2]["ret"], &answers[2]["error"]), (&(-1).into(), &"-1".into()));
    assert!(answers[3]["error"].is_string());
    let mut long = vec![b'x'; 3 << 20];
    long.extend(b"\n{\"src\":0,\"dst\":0,\"size\":4}");
    let r = run_with(&["encode"], &long);
    assert_eq!((r.status, json_lines(&r.out).len()), (2, 2));
}

#[test]
fn explain_knows_codes_faults_fields_words_and_commands() {
    for what in [
        "D017",
        "d017",
        "PREFETCH_RING_ID",
        "M2S_PKT_LEN",
        "write_barrier",
        "replicate",
        "step",
        "0x0d001000",
    ] {
        let r = run(&["explain", what]);
        assert_eq!((r.status, r.out.is_empty()), (0, false), "{what}");
        assert!(!json_lines(&run(&["explain", what, "--format", "json"]).out).is_empty());
    }
    let r = run(&["explain", "D01X"]);
    assert_eq!(r.status, 2);
    assert!(r.err.contains("S011"), "{}", r.err);
}

#[test]
fn explain_knows_words_labels_values_and_profiles() {
    for (name, told) in [
        ("len_ctrl", "word of a tx descriptor"),
        ("meta_ctrl", "25:23   ssmae_op: "),
        ("WBAR", "write_barrier (field, meta_ctrl 26)"),
        ("notify", "notification (field"),
        ("free", "free (a value of a ring)"),
        ("findings", "findings so far"),
        ("dkms-2.26", "driver profile"),
        ("v3", "CAYMAN"),
        ("phase", "The number of a lap"),
        ("watchpoint", "docs/stops.md"),
    ] {
        let r = run(&["explain", name]);
        assert!(r.status == 0 && r.out.contains(told), "{name}: {}{}", r.out, r.err);
        let rows = json_lines(&run(&["explain", name, "--format", "json"]).out);
        assert!(!rows.is_empty(), "{name}");
    }
    // Every label of the ruler and every word of a descriptor is something.
    let labels = dmadbg::udma::field::FIELDS.iter().map(|f| f.label).filter(|l| l.len() > 1);
    let words = ["len_ctrl", "meta_ctrl", "buf2_ptr_lo", "buf_ptr", "meta1", "meta2"];
    let all: std::collections::BTreeSet<&str> = labels.chain(words).collect();
    let all: Vec<&str> = std::iter::once("explain").chain(all).collect();
    let r = run(&all);
    assert_eq!((r.status, r.err.as_str()), (0, ""));
}

#[test]
fn completions_and_manual_come_from_the_definition() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let r = run(&["completions", shell]);
        assert!(r.status == 0 && r.out.contains("dmadbg"), "{shell}");
    }
    let r = run(&["man"]);
    assert!(r.out.contains(".TH dmadbg") && r.out.contains("reverse\\-step"));
    assert_eq!(run(&["completions", "tcsh"]).status, 2);
}

#[test]
fn bad_files_have_one_finding_and_status_2() {
    for (bytes, code) in [(&[][..], "D001"), (&[1; 15], "D002"), (&[1; 17], "D002")] {
        let f = file(bytes);
        for verb in ["decode", "check", "info"] {
            let r = run(&[verb, path(&f)]);
            assert_eq!(r.status, 2, "{verb} {code}");
            assert_eq!(r.err.matches("error[").count(), 1, "{}", r.err);
            assert!(r.err.contains(code), "{}", r.err);
            let r = run(&[verb, path(&f), "--format", "json"]);
            assert_eq!(json_lines(&r.err)[0]["code"], code);
        }
    }
    assert_eq!(run(&["decode", "no-such-file.bin"]).status, 2);
    assert_eq!(run(&["decode"]).status, 2);
    assert_eq!(run(&["frobnicate", "--what"]).status, 2);
    assert_eq!(run(&["info", "x", "--slots", "9:1"]).status, 2);
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let f = file(&vec![0x11; 16 << 16]);
    let mut child =
        command(&["decode", "--format", "json", "--ring", "tx", path(&f)]).spawn().unwrap();
    let mut some = [0; 1000];
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut some).unwrap();
    drop(stdout);
    let out = child.wait_with_output().unwrap();
    assert_eq!(out.status.code(), Some(0));
    assert!(out.stderr.is_empty(), "{}", String::from_utf8_lossy(&out.stderr));
}

#[test]
fn colour_is_for_terminals_or_on_demand() {
    assert!(!run(&["explain", "D001"]).out.contains('\x1b'));
    assert!(run(&["explain", "D001", "--color", "always"]).out.contains('\x1b'));
    let mut c = command(&["explain", "D001"]);
    let out = c.env("NO_COLOR", "1").stdin(Stdio::null()).output().unwrap();
    assert!(!out.stdout.contains(&0x1b));
    assert!(
        !run(&["explain", "D001", "--color", "always", "--format", "json"]).out.contains('\x1b')
    );
}

#[test]
fn info_says_what_why_and_how_much() {
    let mut image = vec![0u8; 64];
    image[..16].copy_from_slice(&[0x04, 0, 0, 0x0d, 3, 0, 8, 1, 0, 0x10, 0, 0x40, 0, 0x10, 0, 0]);
    image[16..32].copy_from_slice(&[0x04, 0, 0, 1, 0, 0, 0, 0, 4, 0x10, 0, 0x40, 0, 0x10, 0, 0]);
    let f = file(&image);
    let r = run(&["info", path(&f), "--ring", "pairs", "--format", "json"]);
    let lines = json_lines(&r.out);
    assert!(r.out.starts_with("{\"schema\":\"dmadbg.info/1\""));
    assert_eq!(lines[0]["arch"], "v2");
    assert_eq!((&lines[1]["used"], &lines[1]["bytes"]), (&1.into(), &4.into()));
    assert_eq!(lines[3]["batches"], 1);
    assert_eq!(lines[3]["markers"][0], "0x0000100040001000");
    assert!(run(&["info", path(&f), "--ring", "pairs"]).out.contains("bit 44"));
}

#[test]
fn two_images_of_one_direction_are_said_to_be_no_pair() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.tx.bin");
    let mut bytes = vec![0; 64];
    bytes[..8].copy_from_slice(&[0, 16, 0, 13, 3, 0, 8, 1]);
    std::fs::write(&path, bytes).unwrap();
    let path = path.to_str().unwrap();
    let out = std::process::Command::new(env!("CARGO_BIN_EXE_dmadbg"))
        .args(["check", path, path])
        .output()
        .unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(text.contains("warning[D022]: both images are tx rings"), "{text}");
}

/// Every verb, and every verb below one, by what is typed for it.
fn verbs(cmd: &clap::Command, name: &str, out: &mut Vec<(String, clap::Command)>) {
    for sub in cmd.get_subcommands().filter(|s| s.get_name() != "help") {
        let name = format!("{name} {}", sub.get_name());
        out.push((name.clone(), sub.clone()));
        verbs(sub, &name, out);
    }
}

fn all_verbs() -> Vec<(String, clap::Command)> {
    let root = <dmadbg::cli::Cli as clap::CommandFactory>::command();
    let mut all = vec![("dmadbg".to_owned(), root.clone())];
    verbs(&root, "dmadbg", &mut all);
    all
}

#[test]
fn an_option_stands_under_one_heading_whatever_the_verb() {
    // Said of what is encoded or generated, or of colour alone, they are the verb's own.
    const OWN: [&str; 3] = ["arch", "profile", "color"];
    let mut known: std::collections::BTreeMap<String, (Option<String>, String)> =
        Default::default();
    for (verb, cmd) in all_verbs() {
        for arg in cmd.get_arguments() {
            let Some(long) = arg.get_long().filter(|l| !OWN.contains(l)) else { continue };
            let heading = arg.get_help_heading().map(str::to_owned);
            let first = known.entry(long.to_owned()).or_insert((heading.clone(), verb.clone()));
            assert_eq!(first.0, heading, "--{long} of `{verb}` and `{}`", first.1);
        }
    }
    assert_eq!(known["script"].0, None, "an option of the verb itself");
    assert_eq!(known["slots"].0.as_deref(), Some("Reading files"));
    assert_eq!(known["format"].0.as_deref(), Some("Output"));
}

#[test]
fn every_verb_that_prints_findings_or_facts_has_a_format() {
    // The screen, a text that is another program's, or a file that comes along.
    const OTHERS: [&str; 8] = [
        "dmadbg",
        "dmadbg render",
        "dmadbg sample",
        "dmadbg sample show",
        "dmadbg sample open",
        "dmadbg sample copy",
        "dmadbg completions",
        "dmadbg man",
    ];
    for (verb, cmd) in all_verbs() {
        let has = cmd.get_arguments().any(|a| a.get_long() == Some("format"));
        assert_eq!(has, !OTHERS.contains(&verb.as_str()), "{verb}");
    }
}

#[test]
fn settings_and_grammars_are_told_as_json() {
    let dir = tempfile::tempdir().unwrap();
    let own = dir.path().join("c.toml");
    std::fs::write(&own, "theme = \"light\"\nquiet_ms = 5\n[keys]\n\"F5\" = \"step 3\"\n").unwrap();
    let r = run(&["config", own.to_str().unwrap(), "--format", "json"]);
    let rows = json_lines(&r.out);
    assert_eq!((r.status, &rows[0]["schema"]), (0, &Value::from("dmadbg.config/1")));
    assert_eq!(
        (&rows[0]["read"], &rows[0]["file"]),
        (&Value::from(true), &Value::from(own.to_str().unwrap()))
    );
    let of = |name: &str| rows.iter().find(|r| r["name"] == name).unwrap();
    assert_eq!(of("theme")["value"], "light");
    assert_eq!(
        (&of("mouse")["value"], &of("quiet_ms")["value"]),
        (&Value::from(true), &Value::from(5))
    );
    assert!(of("theme")["takes"].as_array().unwrap().contains(&Value::from("contrast")));
    assert!(rows.iter().any(|r| r["key"] == "F5" && r["command"] == "step 3"), "{}", r.out);
    // A setting a line, as in the text.
    let text = run(&["config", own.to_str().unwrap()]).out;
    let settings = text.lines().filter(|l| l.contains(" = ") && !l.starts_with('#')).count();
    assert_eq!(rows.len(), 1 + settings, "{text}");
    let listed = json_lines(&run(&["grammars", "--format", "json"]).out);
    assert_eq!((listed.len(), &listed[0]["count"]), (4, &Value::from(3)));
    let to = dir.path().join("g");
    let written =
        json_lines(&run(&["grammars", "-o", to.to_str().unwrap(), "--format", "json"]).out);
    for row in &written[1..] {
        assert!(std::path::Path::new(row["file"].as_str().unwrap()).is_file(), "{row}");
    }
}

#[test]
fn standard_input_named_twice_is_refused_before_it_is_read() {
    let program = include_bytes!("../sample-programs/copy-4k.dma");
    for args in [
        &["run", "-", "--script", "-"][..],
        &["diff", "-", "-"],
        &["check", "-", "-"],
        &["info", "--tx", "-", "--rx", "-"],
    ] {
        let r = run_with(args, program);
        assert_eq!((r.status, r.out.as_str()), (2, ""), "{args:?}");
        assert!(
            r.err.starts_with("error[S011]: `-` is standard input")
                && r.err.matches("error").count() == 1,
            "{}",
            r.err
        );
    }
    let once = run_with(&["run", "-", "-e", "where"], program);
    assert_eq!(once.status, 0, "{}", once.err);
}

#[test]
fn a_misspelt_verb_is_all_that_is_told_of() {
    let r = run(&["chekc", "sample-programs/copy-4k.dma", "sample-programs/wrap.dma"]);
    assert_eq!((r.status, r.err.matches("error[").count()), (2, 1), "{}", r.err);
    assert!(r.err.contains("did you mean the verb `check`?"));
    let r = run(&["encode", "no-such-file"]);
    assert!(r.status == 2 && r.err.contains("cannot read `no-such-file`"), "{}", r.err);
}

#[test]
fn words_of_other_debuggers_are_answered_with_those_of_this_one() {
    for (word, here) in
        [("bt", "`where`"), ("rwatch 0x1000", "`watch ADDR read`"), ("run", "`restart`")]
    {
        let r = run(&["run", "sample-programs/copy-4k.dma", "--no-init", "-e", word]);
        assert!(
            r.status == 2 && r.err.contains("S001") && r.err.contains(here),
            "{word}: {}",
            r.err
        );
    }
    let r = run(&["run", "sample-programs/copy-4k.dma", "--no-init", "-e", "export events -"]);
    assert!(r.status == 2 && r.err.contains("`-` is no file"), "{}", r.err);
    assert!(!std::path::Path::new("-").exists());
}

#[test]
fn a_module_that_is_wrong_has_status_1_with_every_verb_that_judges_it() {
    for verb in ["check", "run", "lower", "shrink"] {
        let r = run(&[verb, "sample-programs/errors/last-iteration.bir"]);
        assert!(
            r.status == 1 && (r.err.clone() + &r.out).contains("B044"),
            "{verb}: {} {}",
            r.status,
            r.err
        );
    }
}

#[test]
fn an_image_that_was_cut_at_a_whole_slot_is_told_and_a_whole_one_is_not() {
    // Single descriptors of 4 KiB, no slot unused.
    let slot = "0010000d0300080100300a0000100000";
    let bytes: Vec<u8> =
        (0..16).map(|i| u8::from_str_radix(&slot[2 * i..2 * i + 2], 16).unwrap()).collect();
    for (slots, told) in [(17, true), (31, true), (32, false), (40, true), (48, false)] {
        let image = file(&bytes.repeat(slots));
        let r = run(&["check", path(&image)]);
        assert_eq!(r.out.contains("note[D036]"), told, "{slots}: {}", r.out);
        assert!(!told || r.out.contains("MODEL"), "{}", r.out);
        // A row is judged by itself.
        let rows = run(&["decode", "--format", "json", path(&image)]);
        assert!(rows.status == 0 && !rows.out.contains("D036"));
    }
}
