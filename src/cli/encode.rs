//! `encode`: what the public staging call answers for a pair (`docs/json.md`, "encode").

use super::args::EncodeArgs;
use super::numbers;
use super::out::{Failure, Out, Status, Style};
use super::rows;
use crate::diag::render::json_safe;
use crate::diag::{Diagnostic, Report};
use crate::limits::MAX_LINE_BYTES;
use crate::udma::builder::Staged;
use crate::udma::{
    Barrier, Desc, Dir, Generation, PairRequest, Profile, Word, sentence, stage_pair,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

/// What a line that does not say otherwise gets.
#[derive(Debug, Clone, Copy)]
pub struct Defaults {
    /// Driver profile.
    pub profile: &'static Profile,
    /// Generation.
    pub arch: Generation,
}

impl Default for Defaults {
    fn default() -> Defaults {
        Defaults { profile: Profile::default_profile(), arch: Generation::V3 }
    }
}

/// An address or size: a number, or text in decimal or `0x..`.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Number {
    Plain(u64),
    Text(String),
    Other(Value),
}

impl Number {
    fn read(&self, key: &str) -> Result<u64, String> {
        match self {
            Number::Plain(n) => Ok(*n),
            Number::Text(t) => numbers::parse(t).map_err(|e| format!("`{key}`: {e}")),
            Number::Other(v) => Err(format!("`{key}` is {v}, not a whole number from 0 on")),
        }
    }
}

/// A line of input. Keys that are not listed are passed over.
#[derive(Debug, Deserialize)]
struct Line {
    driver: Option<String>,
    arch: Option<String>,
    src: Option<Number>,
    dst: Option<Number>,
    size: Option<Number>,
    tx_ring_id: Option<u32>,
    rx_ring_id: Option<u32>,
    barrier_code: Option<i64>,
    barrier: Option<Value>,
    set_dst_int: Option<bool>,
}

impl Line {
    /// The request, with the profile and generation it is for.
    fn request(&self, d: Defaults) -> Result<(PairRequest, Defaults), String> {
        let need = |n: &Option<Number>, key: &str| match n {
            Some(n) => n.read(key),
            None => Err(format!("`{key}` is missing")),
        };
        let profile = match &self.driver {
            Some(name) => Profile::find(name).map_err(|e| e.to_string())?,
            None => d.profile,
        };
        let arch = match &self.arch {
            Some(name) => {
                name.parse().map_err(|e: crate::udma::arch::UnknownName| e.to_string())?
            }
            None => d.arch,
        };
        let request = PairRequest {
            src: need(&self.src, "src")?,
            dst: need(&self.dst, "dst")?,
            size: need(&self.size, "size")?,
            tx_ring_id: self.tx_ring_id.unwrap_or(1),
            rx_ring_id: self.rx_ring_id.unwrap_or(1),
            barrier_code: self.barrier()?,
            set_dst_int: self.set_dst_int.unwrap_or(false),
        };
        Ok((request, Defaults { profile, arch }))
    }

    /// The code; the name counts only where there is no code.
    fn barrier(&self) -> Result<u32, String> {
        match (self.barrier_code, &self.barrier) {
            // The call takes an enum of 32 bits, whose sign nobody looks at.
            (Some(code), _) => i32::try_from(code)
                .map(i32::cast_unsigned)
                .or_else(|_| u32::try_from(code))
                .map_err(|_| "`barrier_code` does not fit 32 bits".to_owned()),
            (None, Some(Value::String(name))) => {
                name.parse::<Barrier>().map(Barrier::code).map_err(|e| e.to_string())
            }
            (None, Some(_)) => Err("`barrier` is not a name".to_owned()),
            (None, None) => Ok(0),
        }
    }
}

/// Answers one line of input with one JSON object; the flag says whether it was understood.
pub fn answer(line: &str, defaults: Defaults, out: &mut String) -> bool {
    let value: Value = match serde_json::from_str(line) {
        Ok(v @ Value::Object(_)) => v,
        Ok(_) => return refuse(None, "not a JSON object".to_owned(), out),
        Err(e) => return refuse(None, e.to_string(), out),
    };
    let id = value.get("id").cloned();
    let read = Line::deserialize(&value).map_err(|e| e.to_string());
    match read.and_then(|l| l.request(defaults)) {
        Ok((request, d)) => {
            push_answer(id, stage_pair(d.profile, d.arch, &request), out);
            true
        }
        Err(e) => refuse(id, e, out),
    }
}

fn push_id(id: Option<Value>, out: &mut String) {
    out.push('{');
    if let Some(id) = id {
        out.push_str("\"id\":");
        out.push_str(&json_safe(&id.to_string()));
        out.push(',');
    }
}

fn refuse(id: Option<Value>, why: String, out: &mut String) -> bool {
    push_id(id, out);
    out.push_str("\"error\":");
    out.push_str(&json_safe(&Value::from(why).to_string()));
    out.push('}');
    false
}

fn push_answer(id: Option<Value>, staged: Staged, out: &mut String) {
    push_id(id, out);
    match staged.result {
        Ok((tx, rx)) => {
            out.push_str("\"ret\":0,\"tx\":\"");
            rows::push_bytes(out, tx);
            out.push_str("\",\"rx\":\"");
            rows::push_bytes(out, rx);
            out.push('"');
        }
        Err(e) => {
            out.push_str("\"ret\":");
            out.push_str(&e.errno().0.to_string());
            out.push_str(",\"error\":\"");
            out.push_str(&e.errno().name());
            out.push('"');
        }
    }
    for ring in ["tx", "rx"] {
        out.push_str(",\"");
        out.push_str(ring);
        out.push_str("_slots_consumed\":");
        rows::push_number(out, staged.slots.into());
    }
    out.push('}');
}

/// Runs `encode`.
///
/// # Errors
/// [`Failure`] for a file that cannot be read.
pub fn run(args: &EncodeArgs, stdin: &mut dyn Read, out: &mut Out<'_>) -> Result<Status, Failure> {
    let d = Defaults::default();
    let defaults = Defaults {
        profile: args.profile.map_or(d.profile, |p| p.0),
        arch: args.arch.unwrap_or(d.arch),
    };
    if let (Some(src), Some(dst), Some(size)) = (args.src, args.dst, args.size) {
        let request = PairRequest {
            src,
            dst,
            size,
            tx_ring_id: args.phase,
            rx_ring_id: args.phase,
            barrier_code: args.barrier.code(),
            set_dst_int: args.int,
        };
        return one(&request, defaults, out);
    }
    match args.file.as_ref().filter(|p| p.as_os_str() != "-") {
        None => stream(BufReader::new(stdin), defaults, out),
        Some(path) => {
            let file = File::open(path).map_err(|e| {
                let name = path.display().to_string();
                let why = format!("cannot read `{name}`: {e}");
                Report::from(Diagnostic::new("D007", why).in_file(&name))
            })?;
            stream(BufReader::new(file), defaults, out)
        }
    }
}

/// Answers a stream of lines.
fn stream<R: Read>(
    mut input: BufReader<R>,
    defaults: Defaults,
    out: &mut Out<'_>,
) -> Result<Status, Failure> {
    let mut status = Status::Fine;
    let mut line = Vec::new();
    loop {
        line.clear();
        let bound = MAX_LINE_BYTES as u64 + 1;
        if (&mut input).take(bound).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let whole = line.len() <= MAX_LINE_BYTES;
        let understood = match std::str::from_utf8(&line) {
            _ if !whole => {
                if !line.ends_with(b"\n") {
                    skip_line(&mut input)?;
                }
                refuse(None, format!("a line of more than {MAX_LINE_BYTES} bytes"), out.buffer())
            }
            Ok(text) if text.trim().is_empty() => continue,
            Ok(text) => answer(text, defaults, out.buffer()),
            Err(_) => refuse(None, "not UTF-8".to_owned(), out.buffer()),
        };
        if !understood {
            status = Status::Unreadable;
        }
        out.buffer().push('\n');
        // Whoever writes line by line and waits for each answer gets it at once.
        if input.buffer().is_empty() {
            out.flush()?;
        } else {
            out.spill()?;
        }
    }
    out.flush()?;
    Ok(status)
}

/// Passes over the rest of a line without keeping it.
fn skip_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = input.fill_buf()?;
        let (used, done) = match buffer.iter().position(|b| *b == b'\n') {
            Some(at) => (at + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        input.consume(used);
        if done {
            return Ok(());
        }
    }
}

/// One pair from flags.
fn one(request: &PairRequest, d: Defaults, out: &mut Out<'_>) -> Result<Status, Failure> {
    let staged = stage_pair(d.profile, d.arch, request);
    let status = if staged.result.is_ok() { Status::Fine } else { Status::Wrong };
    if out.json() {
        push_answer(None, staged, out.buffer());
        out.buffer().push('\n');
        out.flush()?;
        return Ok(status);
    }
    match staged.result {
        Ok((tx, rx)) => {
            pair_text(Dir::Tx, tx, d.arch, out)?;
            pair_text(Dir::Rx, rx, d.arch, out)?;
        }
        Err(e) => {
            let text = format!("{e}: the call returns {}", json!(e.errno().0));
            out.findings(&Diagnostic::new("R003", text).into())?;
        }
    }
    out.flush()?;
    Ok(status)
}

fn pair_text(dir: Dir, desc: Desc, arch: Generation, out: &mut Out<'_>) -> io::Result<()> {
    let mut words = String::new();
    for w in Word::of(desc.view(dir)) {
        let digits = u32::from(w.bits()) / 4;
        words.push_str(&format!("  {} {}", w.name(), rows::hex_string(desc.word(*w), digits)));
    }
    let name = out.styled(if dir == Dir::Tx { Style::Tx } else { Style::Rx }, dir.name());
    out.line(&format!("{name}{words}"))?;
    let mut bytes = String::new();
    rows::push_bytes(&mut bytes, desc);
    out.line(&format!("    bytes {bytes}"))?;
    out.line(&format!("    {}", sentence(desc, dir, arch)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(line: &str) -> (bool, Value) {
        let mut s = String::new();
        let understood = answer(line, Defaults::default(), &mut s);
        (understood, serde_json::from_str(&s).unwrap_or(Value::Null))
    }

    #[test]
    fn missing_keys_have_defaults_and_addresses_have_two_forms() {
        let (ok, a) = ask(r#"{"src":"0x1000","dst":8192,"size":4096}"#);
        assert!(ok);
        assert_eq!(a["tx"], "0010000d030008010010000000000000");
        assert_eq!(a["rx"], "00100001000000000020000000000000");
        assert_eq!((&a["ret"], a.get("id")), (&json!(0), None));
        assert_eq!(a["tx_slots_consumed"], 1);
    }

    #[test]
    fn a_refused_call_is_an_answer_and_nonsense_is_none() {
        let (ok, a) = ask(
            r#"{"id":7,"driver":"2.24.7.0","arch":"v2","src":0,"dst":0,"size":4,"barrier_code":-1}"#,
        );
        assert!(ok);
        assert_eq!(
            a,
            json!({"id":7,"ret":-22,"error":"EINVAL","tx_slots_consumed":1,"rx_slots_consumed":1})
        );
        for bad in [
            "",
            "[]",
            "{",
            "{}",
            r#"{"src":1,"dst":2}"#,
            r#"{"src":1,"dst":2,"size":-4}"#,
            r#"{"src":"1k","dst":2,"size":4}"#,
            r#"{"src":1,"dst":2,"size":4,"driver":"dkms-1"}"#,
            r#"{"src":1,"dst":2,"size":4,"arch":"v9"}"#,
            r#"{"src":1,"dst":2,"size":4,"barrier_code":4294967296}"#,
        ] {
            let (ok, a) = ask(bad);
            assert!(!ok && a["error"].is_string() && a.get("ret").is_none(), "{bad}");
        }
        // What is wrong names its key.
        for n in ["-4", "1.5", "true", "[4]", "\"1k\""] {
            let (_, a) = ask(&format!(r#"{{"src":1,"dst":2,"size":{n}}}"#));
            assert!(a["error"].as_str().is_some_and(|e| e.starts_with("`size`")), "{n}: {a}");
        }
        // The same 32 bits, with a sign and without.
        let code = |c: &str| ask(&format!(r#"{{"src":1,"dst":2,"size":4,"barrier_code":{c}}}"#)).1;
        assert_eq!(code("-1"), code("4294967295"));
    }
}
