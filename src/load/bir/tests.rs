//! What holds for every module, every tree and every broken file.

use super::arbitrary::Gen;
use super::*;
use crate::bir::{At, Body, Expr, Part, Value};
use proptest::prelude::*;

fn sorted(v: Value) -> Value {
    match v {
        Value::Arr(items) => Value::Arr(items.into_iter().map(sorted).collect()),
        Value::Obj(members) => {
            let mut members: Vec<_> = members.into_iter().map(|(k, v)| (k, sorted(v))).collect();
            members.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Obj(members)
        }
        other => other,
    }
}

fn tree(json: &str) -> Value {
    sorted(Tape::read(json.as_bytes()).unwrap().root().to_value())
}

fn module_of(json: &str) -> Module {
    read_json("m", json.as_bytes()).unwrap_or_else(|d| panic!("{d:#?}\n{json}")).module
}

fn value_of(m: &Module) -> Value {
    Tape::read(write_json(m).as_bytes()).unwrap().root().to_value()
}

/// Equal, a NaN among the constants included.
fn same(a: &Module, b: &Module) -> bool {
    a == b || format!("{a:?}") == format!("{b:?}")
}

fn located(d: &[Diagnostic]) {
    assert!(!d.is_empty());
    for d in d {
        assert!(is_load_error(d.code), "{d:?}");
        assert!(d.place.line.is_some() && d.place.column.is_some(), "{d:?}");
        assert!(d.place.width.is_some() && d.place.offset.is_some(), "{d:?}");
        assert_eq!(d.place.file.as_deref(), Some("m"));
    }
}

proptest! {
    #[test]
    fn load_bir_written_modules_read_back_the_same(seed in any::<u64>()) {
        let m = Gen::new(seed).module();
        let json = write_json(&m);
        let back = module_of(&json);
        prop_assert_eq!(&m, &back);
        let printed = write_text(&m);
        // The same as by the way of a text that is read.
        prop_assert_eq!(&printed.text, &json_to_text("m", json.as_bytes()).unwrap());
        let text = read_text("m", &printed.text);
        let text = text.unwrap_or_else(|d| panic!("{d:#?}\n{}", printed.text));
        prop_assert!(same(&m, &text.module));
        let mut insts = 0;
        m.visit(&mut |_| insts += 1);
        prop_assert_eq!(printed.lines.len(), insts);
        for (line, pos) in printed.lines {
            let place = text.spans.place(&At::Inst(pos, Part::Whole));
            prop_assert_eq!(place.line, Some(line as u64));
            prop_assert_eq!(text.spans.at_line(line as u64), Some(pos));
        }
    }

    #[test]
    fn load_bir_text_is_any_tree_without_loss(seed in any::<u64>(), changes in 0usize..40) {
        let mut g = Gen::new(seed);
        let mut v = value_of(&g.module());
        for _ in 0..changes {
            g.change(&mut v);
        }
        if !matches!(v, Value::Obj(_)) {
            return Ok(());
        }
        if g.below(3) == 0 {
            v = Value::Obj(vec![("module".into(), v), ("x y".into(), g.value(2))]);
        }
        let json = json::pretty(&json::Tree::Kept(&v));
        let text = json_to_text("m", json.as_bytes()).unwrap();
        let back = text_to_json("m", &text).unwrap_or_else(|d| panic!("{d:#?}\n{text}"));
        prop_assert!(tree(&json) == tree(&back), "{json}\n{text}\n{back}");
        prop_assert_eq!(json_to_text("m", back.as_bytes()).unwrap(), text);
    }

    #[test]
    fn load_bir_changed_modules_are_read_or_refused_with_places(
        seed in any::<u64>(), changes in 1usize..10,
    ) {
        let mut g = Gen::new(seed);
        let mut v = value_of(&g.module());
        for _ in 0..changes {
            g.change(&mut v);
        }
        let json = json::pretty(&json::Tree::Kept(&v));
        match read_json("m", json.as_bytes()) {
            // What is read, with all that was lenient about it, is written and read as the same.
            Ok(l) => {
                let again = write_json(&l.module);
                let back = read_json("m", again.as_bytes());
                let back = back.unwrap_or_else(|d| panic!("{d:#?}\n{again}"));
                prop_assert!(same(&l.module, &back.module), "{}", again);
                let text = json_to_text("m", again.as_bytes()).unwrap();
                prop_assert_eq!(write_text(&l.module).text, text);
            }
            Err(d) => located(&d),
        }
    }

    #[test]
    fn load_bir_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        if let Err(d) = read_json("m", &bytes) {
            located(&d);
        }
        let text = String::from_utf8_lossy(&bytes);
        for text in [text.to_string(), format!("bir 2\n{text}"), format!("bir 2\nfunc f {{\nblock B:\n{text}")] {
            if let Err(d) = read_text("m", &text) {
                located(&d);
            }
        }
    }

    #[test]
    fn load_bir_broken_text(seed in any::<u64>(), cuts in prop::collection::vec((0usize..1000, 0usize..40, 0usize..12), 1..4)) {
        const BITS: [&str; 12] =
            ["", "{", "}", "(", ")", "\"", "[", "=", "\n", "%", " block:", "é"];
        let mut text: Vec<char> = write_text(&Gen::new(seed).module()).text.chars().collect();
        for (at, len, bit) in cuts {
            let at = at * text.len() / 1000;
            let end = (at + len).min(text.len());
            text.splice(at..end, BITS[bit].chars());
        }
        let text: String = text.into_iter().collect();
        if let Err(d) = read_text("m", &text) {
            located(&d);
        }
    }
}

const SMALL: &str = r#"{"version": 2, "arch": "gen3", "functions": [{"name": "f", "allocations": [
  {"Skind": "memory_location_set", "name": "x_set", "dtype": "uint8", "kind": "Internal",
   "memorylocations": [{"name": "x", "type": "DRAM", "addr": 0, "dims": [4]}]}],
 "blocks": [{"name": "B", "instructions": [{"name": "I-1", "opcode": "DMACopy", "engine": "SP",
   "queue": "q", "ins": [{"kind": "physical_ap", "ap": [[1, 4]], "dtype": "uint8", "memref": "x"}],
   "outs": [{"kind": "physical_ap", "ap": [[-1, 4]], "dtype": "uint8", "memref": "x", "offset": 3}]
 }]}]}], "queues": [{"name": "q"}]}"#;

fn refused(json: &str) -> Vec<(&'static str, u64, u64)> {
    let d = read_json("m", json.as_bytes()).expect_err(json);
    located(&d);
    d.iter().map(|d| (d.code, d.place.line.unwrap(), d.place.column.unwrap())).collect()
}

fn with(from: &str, to: &str) -> String {
    assert!(SMALL.contains(from), "{from}");
    SMALL.replacen(from, to, 1)
}

#[test]
fn load_bir_a_file_cut_anywhere_is_refused_with_its_place() {
    module_of(SMALL);
    for cut in 0..SMALL.len() {
        refused(&SMALL[..cut]);
    }
    let text = json_to_text("m", SMALL.as_bytes()).unwrap();
    read_text("m", &text).unwrap();
    for cut in 0..text.len() {
        if let Err(d) = read_text("m", &text[..cut]) {
            located(&d);
        }
    }
}

/// The usual name of a set stands for its location where the set has another.
#[test]
fn load_bir_a_set_that_is_not_there_names_its_location() {
    let json = with("\"memref\": \"x\"", "\"memsetref\": \"x_set\"");
    for name in ["x_set", "another"] {
        let set = json.replacen("\"name\": \"x_set\"", &format!("\"name\": \"{name}\""), 1);
        let m = read_json("m", set.as_bytes()).unwrap_or_else(|d| panic!("{d:#?}\n{set}")).module;
        let layout = crate::bir::Layout::new(&m);
        let mut seen = 0;
        m.visit(&mut |i| {
            for p in i.ins.iter().filter_map(|o| o.as_pattern()) {
                assert_eq!(&*layout.of(p).unwrap().name, "x");
                seen += 1;
            }
        });
        assert!(seen > 0);
    }
}

#[test]
fn load_bir_each_fault_has_its_code_and_place() {
    let cases = [
        ("\"uint8\", \"memref\"", "\"uint7\", \"memref\"", "B010"),
        ("\"DMACopy\"", "\"DMACopy\", \"mode\": \"Fly\"", "B009"),
        ("\"DMACopy\"", "\"DMACopy\", \"cce_op\": 33", "B009"),
        ("\"engine\": \"SP\"", "\"engine\": \"SPX\"", "B009"),
        ("\"kind\": \"physical_ap\"", "\"kind\": \"magical_ap\"", "B011"),
        ("[[1, 4]]", "[[1, -4]]", "B005"),
        ("[[1, 4]]", "[[1, 99999999999999999999]]", "B005"),
        ("[[1, 4]]", "[[1]]", "B014"),
        ("[[1, 4]]", "[[1, 1.5]]", "B008"),
        ("\"memref\": \"x\"", "\"memref\": \"y\"", "B020"),
        ("\"memref\": \"x\"", "\"memsetref\": \"y_set\"", "B021"),
        ("\"queue\": \"q\"", "\"queue\": \"r\"", "B022"),
        ("\"version\": 2", "\"version\": 3", "B007"),
        ("\"version\": 2", "\"version\": 2, \"version\": 2", "B004"),
        ("\"version\": 2", "\"version\": 2, \"v\\u0065rsion\": 2", "B004"),
        ("\"functions\"", "\"funktions\"", "B006"),
        ("\"type\": \"DRAM\"", "\"type\": \"HBM\"", "B009"),
        ("{\"name\": \"q\"}", "{\"name\": \"q\"}, {\"name\": \"q\"}", "B030"),
        ("\"DMACopy\"", "\"DMACopy\", \"dependencies\": [\"I-9\"]", "B027"),
        (
            "\"offset\": 3",
            "\"offset\": 3, \"addrs\": [{\"kind\": \"AffIVKind\", \"axis\": \"i\"}]",
            "B026",
        ),
        (
            "\"offset\": 3",
            "\"offset\": 3, \"addrs\": [{\"kind\": \"IntRuntimeValueKind\", \"regref\": \"r\"}]",
            "B025",
        ),
        ("\"offset\": 3", "\"offset\": 3, \"addrs\": [{\"kind\": \"CCModKind\"}]", "B012"),
        ("\"offset\": 3", "\"offset\": 3, \"addrs\": [1, 2], \"access_shape\": [4]", "B012"),
        ("\"offset\": 3", "\"offset\": 3, \"dynamic_ap_info\": {\"actual_ap\": [[2, 4]]}", "B013"),
    ];
    for (from, to, code) in cases {
        let found = refused(&with(from, to));
        assert!(found.iter().any(|f| f.0 == code), "{to}: {found:?}");
    }
    let twice = [
        ("{\"name\": \"B\", \"inst", "{\"name\": \"B\"}, {\"name\": \"B\", \"inst"),
        ("{\"name\": \"x\", ", "{\"name\": \"x\"}, {\"name\": \"x\", "),
        (
            "{\"Skind\": \"memory_location_set\"",
            "{\"Skind\": \"register\", \"name\": \"x_set\"}, {\"Skind\": \"memory_location_set\"",
        ),
        (
            "{\"name\": \"q\"}",
            "{\"name\": \"q\", \"blocks\": [{\"instructions\": [{\"opcode\": \"DMABlock\", \"name\": \"d\"}]}, \
             {\"instructions\": [{\"opcode\": 107, \"name\": \"d\"}]}]}",
        ),
    ];
    for (from, to) in twice {
        let json = with(from, to);
        let d = read_json("m", json.as_bytes()).unwrap_err();
        assert_eq!(d.iter().map(|d| d.code).collect::<Vec<_>>(), ["B030"], "{to}");
        let (first, again) = (d[0].labels[0].0.offset, d[0].place.offset);
        assert!(first < again, "the second is meant: {d:?}");
    }
    let index = "\"addrs\": [], \"dynamic_ap_info\": {\"indirect_dim\": \"Z\", \"offset_expr\": \
                 {\"kind\": \"IndirectArgId\", \"arg_id\": 0}}";
    assert_eq!(refused(&with("\"offset\": 3", index))[0].0, "B013");
    let branch =
        "\"CompareAndBranch\", \"comp_op\": \"IS_LTIMM\", \"on_true\": \"B\", \"onFalse\": \"C\"";
    assert_eq!(refused(&with("\"DMACopy\"", branch))[0].0, "B024");
    let trigger = "\"DMATrigger\", \"dma_blocks\": \"d\"";
    assert_eq!(refused(&with("\"DMACopy\"", trigger))[0].0, "B023");
    let all = refused(&SMALL.replace("\"memref\": \"x\"", "\"memref\": \"y\""));
    assert_eq!(all.len(), 2, "all that is wrong is said at once: {all:?}");
    assert_eq!(refused(&with("\"queue\": \"q\"", "\"queue\": \"r\""))[0], ("B022", 5, 13));
    // A number out of its range is one fault, not also an expression that is not understood.
    let far = "\"addrs\": [{\"kind\": \"IndirectArgId\", \"arg_id\": -1}]";
    let all = refused(&with("\"offset\": 3", far));
    assert_eq!(all.iter().map(|f| f.0).collect::<Vec<_>>(), ["B005"]);
}

#[test]
fn load_bir_broken_json_is_told_where() {
    assert_eq!(refused(""), [("B001", 1, 1)]);
    assert_eq!(refused("{\"a\": 01}"), [("B001", 1, 7)]);
    assert_eq!(refused("{\"a\": 1}}"), [("B001", 1, 9)]);
    assert_eq!(refused("{\"é\": tru}"), [("B001", 1, 7)]);
    assert_eq!(refused("{\"a\": \"\\ud800\"}"), [("B001", 1, 8)]);
    assert_eq!(refused("{\"a\"\n: \"\t\"}"), [("B001", 2, 4)]);
    assert_eq!(refused("[1]"), [("B006", 1, 1)]);
    assert_eq!(refused("{\"a\": 1, \"b\": 2, \"a\": 3}"), [("B004", 1, 18)]);
    let d = read_json("m", b"{\"a\": \"\xff\"}").unwrap_err();
    assert_eq!((d[0].code, d[0].place.offset), ("B002", Some(7)));
    for open in ["[", "{\"a\":"] {
        let deep = format!("{{\"functions\": {}", open.repeat(10_000));
        assert_eq!(refused(&deep)[0].0, "B003");
        let deep = format!("bir 2\nx={}\n", open.repeat(10_000));
        assert!(read_text("m", &deep).is_err());
    }
    let loops = "Loop for i in 0..1 step 1 {\nblock:\n".repeat(10_000);
    let d = read_text("m", &format!("bir 2\nfunc f {{\nblock B:\n{loops}")).unwrap_err();
    assert!(d.iter().any(|d| d.code == "B003"), "{d:?}");
    let nested =
        format!("bir 2\nfunc f {{\nblock B:\nDMACopy SP ins(x[[1, 1]] at({}", "(1*".repeat(10_000));
    assert!(read_text("m", &nested).unwrap_err().iter().any(|d| d.code == "B003"));
}

#[test]
fn load_bir_lines_that_cannot_be_read_do_not_hide_each_other() {
    let text = "bir 2 gen3\nfunc f {\n  set x_set {\n    location x DRAM [4] addr=\n  }\n  \
                block B:\n    %I-1 = DMACopy SP ins(x[[1, 4]) outs()\n    %I-2 = DMACopy SP inz()\n    \
                location y\n}\n}\n";
    let d = read_text("m", text).unwrap_err();
    located(&d);
    let lines: Vec<_> = d.iter().map(|d| d.place.line.unwrap()).collect();
    assert_eq!(lines, [4, 7, 8, 9, 11], "{d:#?}");
}

#[test]
fn load_bir_a_line_that_cannot_be_read_does_not_hide_what_other_lines_say() {
    let text = "bir 2 gen3\nfunc f {\n  set x_set : uint8 {\n    location x DRAM [4 addr=0\n  }\n  \
                block B:\n    %a = DMACopy SPX queue=q ins(x[[1, 4]] : uint8) outs(y[[1, 4]] : uint8)\n    \
                %b = Load SP queu=q ins(x[[1, 4]] : uint7) outs(x : uint8) after(c)\n    \
                %d = Load SP queue=nosuch after(b)\n}\nqueue q blocks=[]\n";
    let d = read_text("m", text).unwrap_err();
    located(&d);
    let found: Vec<_> = d.iter().map(|d| (d.code, d.place.line.unwrap())).collect();
    // `x` is named on the line that could not be read, as is `b`; `y` and `nosuch` nowhere.
    let want = [("B035", 4), ("B009", 7), ("B020", 7), ("B034", 8), ("B022", 9)];
    assert_eq!(found, want, "{d:#?}");
    assert!(d[3].message.starts_with("`[[step, count], ..]` behind `x`"), "{:?}", d[3]);
    assert!(d[1].help.as_deref().is_some_and(|h| h.starts_with("known are Unassigned, Pool")));
}

#[test]
fn load_bir_misspelled_words_are_told_with_what_they_look_like() {
    let text = "bir 2 gen3\nfunc f {\n  set x_set : uint88 Internal {\n    location x DRAM [4] adr=0\n  }\n  \
                block B:\n    %a = DMACpy Pol queu=q ins(x[[1, 4]] : uint8) outs()\n    \
                %b = DMACopy SP queu=q x_vendor=1 ins(x[[1, 4]] : uint8 {ofset=3}) \
                outs(x[[1, 4]] : uint8)\n    \
                %c = Matmult PE wheight=1\n    Return Pool\n    inst opcode=Strange\n}\n";
    let l = read_text("m", text).unwrap();
    located(&l.warnings);
    let found: Vec<_> = l
        .warnings
        .iter()
        .map(|d| (d.code, d.place.line.unwrap(), d.help.as_deref().unwrap()))
        .collect();
    let want = [
        ("B017", 3, "did you mean `uint8`?"),
        ("B017", 4, "did you mean `addr`?"),
        ("B017", 7, "did you mean `Pool`?"),
        ("B017", 7, "did you mean `DMACopy`?"),
        ("B017", 8, "did you mean `offset`?"),
        ("B017", 8, "did you mean `queue`?"),
    ];
    let mut sorted = found.clone();
    sorted.sort_unstable();
    let mut wanted = want.to_vec();
    wanted.sort_unstable();
    assert_eq!(sorted, wanted, "{found:?}");
}

#[test]
fn load_bir_a_line_that_is_nothing_is_no_opaque_instruction() {
    let text = |line: &str| format!("bir 2 gen3\nfunc f {{\n  block B:\n    {line}\n}}\n");
    for line in ["garbage here", "garbage", "Strange ; a comment"] {
        let d = read_text("m", &text(line)).unwrap_err();
        assert_eq!((d.len(), d[0].code, d[0].place.line), (1, "B035", Some(4)), "{line}: {d:?}");
    }
    for line in ["Strange PE", "Strange here ins()", "%a = Strange", "inst here opcode=Strange"] {
        assert_eq!(read_text("m", &text(line)).unwrap().warnings, [], "{line}");
    }
    // The same instruction as JSON is printed so that it is read again.
    for inst in [r#"{"opcode":"Strange"}"#, r#"{"opcode":"Strange","engine":"here"}"#] {
        let json = format!(
            r#"{{"version":2,"functions":[{{"name":"f","blocks":[{{"name":"B","instructions":[{inst}]}}]}}]}}"#
        );
        let text = json_to_text("m", json.as_bytes()).unwrap();
        let tree = |json: &str| Tape::read(json.as_bytes()).unwrap().root().to_value();
        let back = text_to_json("m", &text).unwrap_or_else(|d| panic!("{d:?}\n{text}"));
        assert!(text.contains("opcode=Strange"), "{text}");
        assert_eq!(
            format!("{:?}", tree(&back)).len(),
            format!("{:?}", tree(&json)).len(),
            "{text}"
        );
    }
}

#[test]
fn load_bir_places_are_those_of_the_parts() {
    for text in [false, true] {
        let source =
            if text { json_to_text("m", SMALL.as_bytes()).unwrap() } else { SMALL.to_owned() };
        let l = if text { read_text("m", &source) } else { read_json("m", source.as_bytes()) };
        let l = l.unwrap();
        let at = |at: At| {
            let s = l.spans.origin.source(l.spans.span(&at));
            source[s.range()].to_owned()
        };
        let inst = |part| At::Inst(crate::bir::Pos(0), part);
        let want = |json: &str, bir: &str| if text { bir.to_owned() } else { json.to_owned() };
        assert_eq!(at(inst(Part::Whole)), want("\"I-1\"", "%I-1"));
        assert_eq!(at(inst(Part::Key("queue"))), want("\"q\"", "q"));
        let out = "{\"kind\": \"physical_ap\", \"ap\": [[-1, 4]], \"dtype\": \"uint8\", \"memref\": \"x\", \"offset\": 3}";
        assert_eq!(at(inst(Part::Out(0))), want(out, "x[[-1, 4]] +3 : uint8 {!memsetref}"));
        assert_eq!(at(At::Storage("x".into())), want("\"x\"", "x"));
        assert_eq!(at(At::Queue("q".into())), want("\"q\"", "q"));
        assert_eq!(at(At::Block("B".into())), want("\"B\"", "B"));
        assert_eq!(at(At::Module("arch")), want("\"gen3\"", "gen3"));
    }
}

fn start_of(operand: &str) -> (Option<Expr>, i64, Option<u64>) {
    let json = with("\"offset\": 3", operand);
    let m = module_of(&json);
    let p = m.functions[0].blocks[0].insts[0].outs[0].as_pattern().unwrap().clone();
    (p.start, p.offset, p.max_index)
}

#[test]
fn load_bir_addresses_of_every_form_become_one_expression() {
    let index = Some(Expr::Index(0));
    let arg = r#"{"kind": "IndirectArgId", "arg_id": 0}"#;
    assert_eq!(start_of(&format!("\"addrs\": [{arg}]")), (index.clone(), 0, None));
    let two = start_of(r#""addrs": [3, 2], "access_shape": [2, 5]"#);
    assert_eq!(two.0.unwrap().as_const(), Some(17));
    let dynamic = format!(
        "\"dynamic_ap_info\": {{\"aff_expr\": [{{\"expr\": {arg}, \"coef\": -1}}], \"c\": 2, \
         \"indirect_dim\": \"W\", \"indirect_dim_max_index\": 9}}"
    );
    assert_eq!(start_of(&dynamic), (index, 2, Some(9)));
    let old = r#""addrs": [{"terms": [], "c": 7, "op": "Div", "op_param": 2}]"#;
    assert_eq!(start_of(old).0.unwrap().as_const(), Some(3));
}

#[test]
fn load_bir_old_and_odd_spellings() {
    let m = module_of(&with(
        "\"DMACopy\", \"engine\": \"SP\"",
        "32, \"engine\": 6, \"mode\": \"1\", \"dge_type\": 2, \"transpose_op\": 12, \
         \"constants\": [1, \"inf\"], \"sync_info\": {}, \"debug\": null, \"ins\": null",
    ).replacen("\"queue\": \"q\", \"ins\": [{\"kind\": \"physical_ap\", \"ap\": [[1, 4]], \"dtype\": \"uint8\", \"memref\": \"x\"}],", "\"queue\": null,", 1)
     .replacen("   \"queue\": \"q\", \"ins\"", "   \"queue\": null, \"x_ins\"", 1)
     .replacen("\"type\": \"DRAM\"", "\"type\": 8", 1));
    let i = &m.functions[0].blocks[0].insts[0];
    let Body::Dma(d) = &i.body else { panic!("{i:?}") };
    assert_eq!((i.engine.name(), d.mode.name(), d.dge.name()), ("SP", "Transpose", "HWDGE"));
    assert_eq!((d.transpose.name(), d.queue.as_deref()), ("XYZW", None));
    assert_eq!(d.constants.as_deref(), Some(&[1.0, f32::INFINITY][..]));
    assert!(i.ins.is_empty() && i.debug.is_none());
}

#[test]
fn load_bir_opaque_instructions_are_kept_without_a_word() {
    let odd = with("\"DMACopy\"", "\"Wonder\", \"mode\": \"Fly\"")
        .replacen("\"engine\": \"SP\"", "\"engine\": \"Mind\"", 1)
        .replacen("\"kind\": \"physical_ap\"", "\"kind\": \"magical_ap\"", 1)
        .replacen("[[-1, 4]]", "\"all\"", 1);
    let l = read_json("m", odd.as_bytes()).unwrap();
    assert!(l.warnings.is_empty(), "{:?}", l.warnings);
    let (again, text) = (write_json(&l.module), write_text(&l.module).text);
    for word in ["Wonder", "Fly", "Mind", "magical_ap", "all"] {
        assert!(again.contains(word) && text.contains(word), "{word} in {again} and {text}");
    }
}
