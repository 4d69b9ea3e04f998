//! What `export` writes: every form read back by a reader that is not ours.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use perfetto_protos::trace::Trace;
use perfetto_protos::trace_packet::trace_packet::Data;
use perfetto_protos::track_descriptor::track_descriptor::Static_or_dynamic_name;
use perfetto_protos::track_event::TrackEvent;
use perfetto_protos::track_event::track_event::{Name_field, Type};
use protobuf::Message;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

struct Ran {
    status: i32,
    out: Vec<u8>,
    err: String,
}

fn run(args: &[&str]) -> Ran {
    let out = Command::new(env!("CARGO_BIN_EXE_dmadbg"))
        .args(args)
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    Ran {
        status: out.status.code().unwrap(),
        out: out.stdout,
        err: String::from_utf8(out.stderr).unwrap(),
    }
}

fn export(file: &str, form: &str) -> Vec<u8> {
    let r = run(&["export", file, "--as", form]);
    assert_eq!(r.status, 0, "{file}: {}", r.err);
    r.out
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

fn samples() -> Vec<String> {
    let mut all: Vec<String> = std::fs::read_dir("sample-programs")
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "dma" || e == "bir"))
        .map(|p| p.to_str().unwrap().to_owned())
        .collect();
    all.sort();
    assert!(all.len() > 10);
    all
}

/// A line of CSV as its cells.
fn cells(line: &str) -> Vec<String> {
    let (mut out, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                cell.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => out.push(std::mem::take(&mut cell)),
            c => cell.push(c),
        }
    }
    out.push(cell);
    out
}

#[test]
fn events_are_those_that_run_writes() {
    for file in ["sample-programs/wrap.dma", "sample-programs/loop.bir"] {
        let r = run(&["run", file, "--no-init", "--format", "json"]);
        assert_eq!(text(export(file, "events")), text(r.out), "{file}");
    }
}

/// A copy of a sample with edits of every sort, by the commands that make them.
fn edited(dir: &Path) -> String {
    let file = dir.join("edited.dma").to_str().unwrap().to_owned();
    let script = dir.join("s.dbg");
    let lines = "dbg 1\nset q0.tx.drl = 32\ngoto 12\nset marker = 7\nset tx[0].length = 64\n\
                 set q0.tx.next_desc_idx = 1\n\
                 inject PKT_LEN at tx[0]\ngoto end\n";
    std::fs::write(&script, format!("{lines}save {file}\n")).unwrap();
    let args = ["run", "sample-programs/wrap.dma", "--no-init", "--script"];
    let r = run(&[&args[..], &[script.to_str().unwrap()]].concat());
    assert!(Path::new(&file).exists(), "{}{}", text(r.out), r.err);
    file
}

#[test]
fn what_the_user_changed_stands_between_the_events() {
    let dir = tempfile::tempdir().unwrap();
    let file = edited(dir.path());
    let json = text(export(&file, "events"));
    let edits = |line: &&str| line.contains("\"kind\":\"edit\"");
    assert_eq!(json.lines().filter(edits).count(), 5, "{json}");
    let r = run(&["run", &file, "--no-init", "--format", "json"]);
    assert_eq!(json, text(r.out));
    let trace = trace(&file, &[]);
    let names: Vec<&str> = track_events(&trace).iter().map(|(_, e)| event_name(e)).collect();
    for line in json.lines().filter(edits) {
        let v: Value = serde_json::from_str(line).unwrap();
        assert!(names.contains(&v["text"].as_str().unwrap()), "{names:?}");
    }
}

#[test]
fn a_row_of_csv_has_all_that_its_event_has() {
    let dir = tempfile::tempdir().unwrap();
    for file in samples().into_iter().chain([edited(dir.path())]) {
        let (json, csv) = (text(export(&file, "events")), text(export(&file, "events-csv")));
        let mut rows = csv.lines();
        let columns = cells(rows.next().unwrap());
        assert_eq!(columns.join(","), dmadbg::load::export::EVENT_COLUMNS.join(","));
        assert_eq!(rows.clone().count() + 1, json.lines().count(), "{file}");
        for (row, line) in rows.zip(json.lines().skip(1)) {
            let row = cells(row);
            assert_eq!(row.len(), columns.len(), "{row:?}");
            let cell = |name: &str| &row[columns.iter().position(|c| c == name).unwrap()];
            let more: BTreeMap<&str, &str> =
                cell("more").split(';').filter_map(|kv| kv.split_once('=')).collect();
            let told = |name: &str| {
                if columns.iter().any(|c| c == name) { cell(name) } else { more[name] }.to_owned()
            };
            let plain = |v: &Value| match v {
                Value::String(s) => s.clone(),
                Value::Null => String::new(),
                other => other.to_string(),
            };
            let event: Value = serde_json::from_str(line).unwrap();
            for (key, value) in event.as_object().unwrap() {
                match value {
                    Value::Object(inner) => {
                        for (k, v) in inner {
                            assert_eq!(told(&format!("{key}.{k}")), plain(v), "{line}");
                        }
                    }
                    _ if key == "t_us" => {
                        let ns: u64 = cell("t_ns").parse().unwrap();
                        assert_eq!(Some(ns / 1000), value.as_u64());
                    }
                    value => assert_eq!(told(key), plain(value), "`{key}` of {line}"),
                }
            }
        }
    }
}

#[test]
fn descriptors_are_those_that_decode_shows() {
    let file = "sample-programs/authored-concat.dma";
    let csv = text(export(file, "descriptors"));
    let mut rows = csv.lines();
    let columns = cells(rows.next().unwrap());
    assert_eq!(columns.join(","), dmadbg::load::export::DESCRIPTOR_COLUMNS.join(","));
    let decoded = text(run(&["decode", file, "--format", "json"]).out);
    assert_eq!(rows.clone().count(), decoded.lines().count());
    for (row, line) in rows.zip(decoded.lines()) {
        let (row, want): (_, Value) = (cells(row), serde_json::from_str(line).unwrap());
        let cell = |name: &str| row[columns.iter().position(|c| c == name).unwrap()].as_str();
        assert_eq!(cell("slot"), want["index"].to_string());
        assert_eq!(cell("ring"), want["ring"]);
        for name in ["len_ctrl", "buf_ptr"] {
            assert_eq!(cell(name), want[name], "{line}");
        }
        let second = if want["ring"] == "tx" { "meta_ctrl" } else { "buf2_ptr_lo" };
        assert_eq!(cell("word1"), want[second]);
        assert_eq!(cell("ring_id"), want["ring_id"].to_string());
        // Sixteen zero bytes are a row of `decode` with the field's value, here no descriptor.
        let length = if cell("used") == "1" { want["length"].to_string() } else { String::new() };
        assert_eq!(cell("length"), length);
        for name in ["first", "last", "concat", "dmb", "strong_order", "int_en", "meta"] {
            assert_eq!(cell(name) == "1", want[name] == true, "{name} of {line}");
        }
        let used = cell("used") == "1";
        if used && want["ring"] == "tx" {
            assert_eq!(cell("op"), want["op"]);
        }
        assert_eq!(cell("write_barrier") == "1", want["write_barrier"] == true);
        assert_eq!(cell("life") != "-", used);
    }
}

#[test]
fn the_slots_of_a_raw_image_are_exported_as_they_lie() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.tx.bin");
    let mut bytes = vec![0; 64];
    bytes[..8].copy_from_slice(&[0, 16, 0, 13, 3, 0, 8, 1]);
    std::fs::write(&path, bytes).unwrap();
    let csv = text(export(path.to_str().unwrap(), "descriptors"));
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 5);
    assert!(lines[1].starts_with(",,tx,0,,1,0x0d001000,0x01080003,"), "{}", lines[1]);
    assert!(lines[2].starts_with(",,tx,1,,0,0x00000000,"), "{}", lines[2]);
    // One direction alone has no run.
    let r = run(&["export", path.to_str().unwrap(), "--as", "events"]);
    assert_eq!(r.status, 2);
    assert!(r.err.contains("S010"), "{}", r.err);
}

fn trace(file: &str, more: &[&str]) -> Trace {
    let mut args = vec!["export", file, "--as", "perfetto"];
    args.extend(more);
    let r = run(&args);
    assert_eq!(r.status, 0, "{}", r.err);
    let trace = Trace::parse_from_bytes(&r.out).unwrap();
    // Nothing that the definitions do not know.
    for p in &trace.packet {
        assert!(p.special_fields.unknown_fields().iter().next().is_none());
        match &p.data {
            Some(Data::TrackEvent(e)) => {
                assert!(e.special_fields.unknown_fields().iter().next().is_none());
                for a in &e.debug_annotations {
                    assert!(a.special_fields.unknown_fields().iter().next().is_none());
                    assert!(a.value.is_some());
                }
            }
            Some(Data::TrackDescriptor(d)) => {
                assert!(d.special_fields.unknown_fields().iter().next().is_none());
            }
            _ => panic!("a packet of another sort"),
        }
    }
    assert_eq!(trace.write_to_bytes().unwrap().len(), r.out.len(), "written again as it was");
    trace
}

fn event_name(e: &TrackEvent) -> &str {
    match &e.name_field {
        Some(Name_field::Name(n)) => n,
        _ => "",
    }
}

/// Names of the tracks by uuid, and their parents.
fn tracks(t: &Trace) -> BTreeMap<u64, (String, u64)> {
    let all = t.packet.iter().filter_map(|p| match &p.data {
        Some(Data::TrackDescriptor(d)) => Some(d),
        _ => None,
    });
    let name =
        |d: &perfetto_protos::track_descriptor::TrackDescriptor| match &d.static_or_dynamic_name {
            Some(Static_or_dynamic_name::Name(n)) => n.clone(),
            _ => d.process.process_name().to_owned(),
        };
    all.map(|d| (d.uuid(), (name(d), d.parent_uuid()))).collect()
}

type Packet<'t> = (u64, &'t TrackEvent);

fn track_events(t: &Trace) -> Vec<Packet<'_>> {
    let one = |p: &'_ perfetto_protos::trace_packet::TracePacket| match &p.data {
        Some(Data::TrackEvent(_)) => Some(p.timestamp()),
        _ => None,
    };
    let all = t.packet.iter().filter_map(|p| Some((one(p)?, p.track_event())));
    all.collect()
}

#[test]
fn a_trace_is_what_the_public_definitions_say() {
    for file in samples() {
        for time in ["events", "virtual"] {
            let t = trace(&file, &["--time", time]);
            let tracks = tracks(&t);
            let mut events = track_events(&t);
            // A reader sorts by time, what is at one time by its place in the file.
            events.sort_by_key(|e| e.0);
            let mut open: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
            let (mut begun, mut ended) = (BTreeSet::new(), BTreeSet::new());
            for (_, e) in &events {
                assert!(tracks.contains_key(&e.track_uuid()), "{file}: a track nobody described");
                let stack = open.entry(e.track_uuid()).or_default();
                match e.type_() {
                    Type::TYPE_SLICE_BEGIN => stack.push(event_name(e)),
                    Type::TYPE_SLICE_END => {
                        assert!(stack.pop().is_some(), "{file}: an end without a beginning");
                    }
                    Type::TYPE_INSTANT => assert!(!event_name(e).is_empty()),
                    other => panic!("{other:?}"),
                }
                begun.extend(e.flow_ids.iter().copied());
                for id in &e.terminating_flow_ids {
                    assert!(begun.contains(id), "{file}: an arrow from nowhere");
                    assert!(ended.insert(*id), "{file}: an arrow with two ends");
                }
            }
            assert!(open.values().all(Vec::is_empty), "{file}: slices left open: {open:?}");
            for (name, parent) in tracks.values() {
                assert!(*parent == 0 || tracks.contains_key(parent), "{name}");
            }
        }
    }
}

#[test]
fn a_trace_shows_batches_waits_descriptors_and_what_leads_to_what() {
    let t = trace("sample-programs/copy-1m.dma", &[]);
    let tracks = tracks(&t);
    let named = |n: &str| tracks.iter().find(|(_, t)| t.0 == n).map(|t| *t.0).unwrap();
    let (host, queue) = (named("host"), named("e32.q0"));
    assert!(tracks[&1].0.contains("time = event number"), "{}", tracks[&1].0);
    let events = track_events(&t);
    let on = |uuid: u64, kind: Type| -> Vec<&str> {
        let fits = |e: &&TrackEvent| e.track_uuid() == uuid && e.type_() == kind;
        events.iter().map(|e| e.1).filter(fits).map(event_name).collect()
    };
    let calls = on(host, Type::TYPE_SLICE_BEGIN);
    assert!(calls.starts_with(&["init", "copy", "wait"]), "{calls:?}");
    assert_eq!(on(queue, Type::TYPE_SLICE_BEGIN), ["batch 1"]);
    assert_eq!(on(host, Type::TYPE_INSTANT).iter().filter(|n| **n == "doorbell tx").count(), 1);
    // 17 data pairs and the completion pair, each way.
    let in_flight = events
        .iter()
        .filter(|(_, e)| e.type_() == Type::TYPE_SLICE_BEGIN && tracks[&e.track_uuid()].1 == queue);
    assert_eq!(in_flight.count(), 36);
    let find = |f: &dyn Fn(&TrackEvent) -> bool| events.iter().find(|(_, e)| f(e)).unwrap().1;
    let doorbell = find(&|e| event_name(e) == "doorbell tx");
    let batch = find(&|e| event_name(e) == "batch 1");
    assert_eq!(doorbell.flow_ids, batch.terminating_flow_ids);
    assert_eq!(doorbell.flow_ids.len(), 1);
    let seen = find(&|e| event_name(e) == "poll" && !e.terminating_flow_ids.is_empty());
    let visible = find(&|e| e.flow_ids == seen.terminating_flow_ids);
    assert_eq!(event_name(visible), "visible");
    assert_eq!((seen.track_uuid(), visible.track_uuid()), (host, queue));
}

#[test]
fn sequencers_have_tracks_and_faults_are_marked() {
    let t = trace("sample-programs/semaphores.bir", &[]);
    let names: Vec<String> = tracks(&t).into_values().map(|t| t.0).collect();
    assert!(names.iter().filter(|n| n.starts_with("sequencer ")).count() > 1, "{names:?}");
    let slices = track_events(&t);
    assert!(slices.iter().any(|(_, e)| e.categories.iter().any(|c| c == "instruction")));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("fault.dma");
    // A phase that is not the expected one.
    let text = std::fs::read_to_string("sample-programs/authored-concat.dma").unwrap();
    std::fs::write(&path, text.replacen("rx ring_id=1 length=6000", "rx ring_id=2 length=6000", 1))
        .unwrap();
    let r = trace(path.to_str().unwrap(), &[]);
    let fault = track_events(&r)
        .into_iter()
        .any(|(_, e)| e.categories.iter().any(|c| c == "fault") && event_name(e) == "fault");
    assert!(fault);
}

#[test]
fn the_time_of_a_trace_is_virtual_where_the_engine_has_a_speed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("slow.dma");
    let text = std::fs::read_to_string("sample-programs/copy-4k.dma").unwrap();
    let slow = text.replacen("\nqueue ", "\nspeed ns_per_desc=700 bytes_per_ns=0\nqueue ", 1);
    assert_ne!(slow, text);
    std::fs::write(&path, slow).unwrap();
    let t = trace(path.to_str().unwrap(), &[]);
    assert!(tracks(&t)[&1].0.contains("virtual ns"));
    let events = track_events(&t);
    assert!(events.iter().any(|e| e.0 % 1000 == 700), "{:?}", events.last().map(|e| e.0));
}

#[test]
fn a_script_exports_up_to_where_it_stands() {
    let dir = tempfile::tempdir().unwrap();
    let to = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let script = to("s.dbg");
    let lines = format!(
        "goto 20\nexport events \"{}\"\nexport descriptors \"{}\"\ngoto end\nexport perf \"{}\"\n",
        to("e.jsonl"),
        to("d.csv"),
        to("t.pftrace"),
    );
    std::fs::write(&script, lines).unwrap();
    let file = "sample-programs/copy-4k.dma";
    let r = run(&["run", file, "--no-init", "--script", &script]);
    assert_eq!(r.status, 0, "{}", r.err);
    assert!(text(r.out).contains("e.jsonl`: 20 events"));
    let read = |name: &str| std::fs::read(dir.path().join(name)).unwrap();
    let whole = text(export(file, "events"));
    let want: Vec<&str> = whole.lines().take(21).collect();
    assert_eq!(text(read("e.jsonl")).lines().collect::<Vec<_>>(), want);
    let csv = text(read("d.csv"));
    assert!(csv.lines().nth(1).unwrap().starts_with("128,0,tx,0,staged,1,"), "{csv}");
    assert_eq!(read("t.pftrace"), export(file, "perfetto"));
}

#[test]
fn a_file_that_cannot_be_written_is_said_and_the_old_one_stays() {
    let dir = tempfile::tempdir().unwrap();
    let gone = dir.path().join("no/such/place");
    let r = run(&["export", "sample-programs/copy-4k.dma", "-o", gone.to_str().unwrap()]);
    assert_eq!(r.status, 2);
    assert!(r.err.contains("D007"), "{}", r.err);
    let old = dir.path().join("old.csv");
    std::fs::write(&old, "old").unwrap();
    let args = ["export", "sample-programs/copy-4k.dma", "--as", "descriptors", "-o"];
    let r = run(&[&args[..], &[old.to_str().unwrap()]].concat());
    assert_eq!((r.status, r.out.len()), (0, 0), "{}", r.err);
    assert!(std::fs::read_to_string(&old).unwrap().starts_with("engine,queue,ring,"));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn a_reader_that_has_enough_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_dmadbg"))
        .args(["export", "sample-programs/wrap.dma", "--as", "events-csv"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut some = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut some).unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_device_is_written_to_and_not_replaced() {
    let null = Path::new("/dev/null");
    let r = run(&["export", "sample-programs/copy-4k.dma", "-o", "/dev/null"]);
    assert_eq!(r.status, 0, "{}", r.err);
    assert!(!null.metadata().unwrap().is_file());
}

#[cfg(not(feature = "parquet"))]
#[test]
fn a_build_without_parquet_says_so() {
    let r = run(&["export", "sample-programs/copy-4k.dma", "--as", "parquet"]);
    assert_eq!(r.status, 2);
    assert!(r.err.contains("S041") && r.err.contains("--features parquet"), "{}", r.err);
    assert!(r.out.is_empty());
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_holds_what_the_csv_does() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("d.parquet");
    let file = "sample-programs/wrap.dma";
    let r = run(&["export", file, "--as", "parquet", "-o", path.to_str().unwrap()]);
    assert_eq!(r.status, 0, "{}", r.err);
    let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
    let csv = text(export(file, "descriptors"));
    let mut lines = csv.lines();
    let columns = cells(lines.next().unwrap());
    let mut rows = 0;
    for (row, line) in reader.get_row_iter(None).unwrap().zip(lines.clone()) {
        let row = row.unwrap();
        let names: Vec<&String> = row.get_column_iter().map(|c| c.0).collect();
        assert_eq!(names, columns.iter().collect::<Vec<_>>());
        for ((name, value), cell) in row.get_column_iter().zip(cells(line)) {
            let told = match value {
                Field::Null => String::new(),
                Field::Bool(b) => u8::from(*b).to_string(),
                Field::Str(s) => s.clone(),
                Field::Int(n) => n.to_string(),
                Field::Long(n) => n.to_string(),
                Field::UInt(n) => format!("{n:#010x}"),
                Field::ULong(n) => format!("{n:#018x}"),
                other => panic!("{other:?}"),
            };
            assert_eq!(told, cell, "{name} of {line}");
        }
        rows += 1;
    }
    assert_eq!(rows, lines.count());
    assert!(rows >= 64);
}
