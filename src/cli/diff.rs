//! `diff`: two inputs of any kind (`docs/diff.md`).

use super::args::DiffArgs;
use super::inputs::{Depth, load, load_options};
use super::out::{Failure, Out, Status};
use crate::diag::render::printable;
use crate::diag::{Diagnostic, Report};
use crate::engine::diff::{self, Diff, Entry, FieldChange, Outcome, Sides};
use crate::engine::lower::Stage;
use crate::engine::program::{Blob, Program};
use crate::engine::ring::machine::run as run_program;
use crate::limits::MAX_SAME_CODE;
use crate::load::bir::Keys;
use crate::load::module::{LoadedModule, ModuleOptions};
use crate::load::raw::{RingView, as_pair, in_order, infer_arch, to_program_many};
use crate::load::{LoadOptions, Loaded, RawImage};
use crate::udma::{Dir, Generation, Profile};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// One of the two inputs.
struct Side {
    loaded: Loaded,
    program: Option<Arc<Program>>,
    /// Why there is no program of a module.
    refused: Vec<Diagnostic>,
}

/// Runs `diff`.
///
/// # Errors
/// [`Failure`] where an input cannot be read, or the two have nothing in common to compare.
pub fn run(args: &DiffArgs, out: &mut Out<'_>) -> Result<Status, Failure> {
    let mut options = args.module.options()?;
    let stage = args.stage.as_deref().map(super::lower::stage).transpose().map_err(Report::from)?;
    options.upto = stage.unwrap_or(options.upto);
    // Both are read before either is complained of.
    let (a, b) = (open(&args.a, args, &options), open(&args.b, args, &options));
    let (a, b) = match (a, b) {
        (Ok(a), Ok(b)) => (a, b),
        (a, b) => {
            let mut report = Report::default();
            a.err().into_iter().chain(b.err()).for_each(|r| report.extend(r));
            return Err(report.into());
        }
    };
    let found = compare(&a, &b, stage, args)?;
    print(args, &found, out)?;
    // Where only the outcome counts, one that is not known is no success.
    let same = match &found.outcome {
        _ if !args.outcome => found.is_same(),
        Some(o) => o.is_same(),
        None => found.is_same(),
    };
    Ok(if same { Status::Fine } else { Status::Wrong })
}

fn open(path: &Path, args: &DiffArgs, options: &ModuleOptions) -> Result<Side, Report> {
    let loaded = load(&[path.to_owned()], &args.rings, options, Depth::Browse)?;
    let mut side = Side { program: loaded.program.clone(), refused: Vec::new(), loaded };
    if let Some(m) = &side.loaded.module {
        if options.upto == Stage::Rings && !m.is_wrong() {
            let profile = args.rings.profile.map_or(Profile::default_profile(), |p| p.0);
            match m.program(options, profile) {
                Ok(p) => side.program = Some(Arc::new(p)),
                Err(all) => side.refused = all,
            }
        } else if m.is_wrong() {
            side.refused = m.diagnostics();
        }
    } else if side.program.is_none() {
        let opts = load_options(&args.rings, options, Depth::Program);
        side.program = of_images(&side.loaded, &opts);
    }
    Ok(side)
}

fn of_images(loaded: &Loaded, opts: &LoadOptions) -> Option<Arc<Program>> {
    let all: Vec<&RawImage> = loaded.images.iter().collect();
    let (program, _) = to_program_many(&all, opts);
    program.map(Arc::new)
}

fn compare(a: &Side, b: &Side, stage: Option<Stage>, args: &DiffArgs) -> Result<Diff, Failure> {
    let mut found = Diff::default();
    if let (Some(m), Some(n)) = (&a.loaded.module, &b.loaded.module) {
        of_modules((a, m), (b, n), stage, &mut found)?;
        return Ok(found);
    }
    if stage.is_some_and(|s| s != Stage::Rings) {
        let why = "--stage is for two modules";
        return Err(Report::from(Diagnostic::new("S011", why)).into());
    }
    let raw = |s: &Side| !s.loaded.images.is_empty();
    match (&a.program, &b.program) {
        (Some(p), Some(q)) if !(raw(a) && raw(b)) => {
            diff::programs(p, q, Sides::Whole, &mut found);
        }
        (p, q) => {
            images((a, b), args, &mut found)?;
            if let (Some(p), Some(q)) = (p, q) {
                diff::programs(p, q, Sides::Outcome, &mut found);
            }
        }
    }
    Ok(found)
}

/// Two modules as they are at a stage, and what comes of them.
fn of_modules(
    (a, m): (&Side, &LoadedModule),
    (b, n): (&Side, &LoadedModule),
    stage: Option<Stage>,
    found: &mut Diff,
) -> Result<(), Failure> {
    // The rings are made of the module behind `lower_dma`.
    let at = stage.map(|s| s.min(Stage::LowerDma));
    let module = |m: &LoadedModule| match at {
        None => Some(m.module.clone()),
        Some(stage) => m.lowered.stage(stage).map(|s| s.module.clone()),
    };
    let (Some(x), Some(y)) = (module(m), module(n)) else {
        let mut report = Report::default();
        for s in [a, b] {
            s.refused.iter().for_each(|d| report.push(d.clone().in_file(&s.loaded.name)));
        }
        report.push(Diagnostic::new("S011", "one of the two does not reach that stage"));
        return Err(report.into());
    };
    diff::modules(&x, &y, &Keys, found);
    for (side, which) in [(a, "left"), (b, "right")] {
        if let Some(d) = side.refused.first() {
            let why = format!("outcome: the {which} is not run ({}: {})", d.code, d.message);
            found.bounds.push(why);
        }
    }
    if let (Some(p), Some(q)) = (&a.program, &b.program) {
        let sides = if stage == Some(Stage::Rings) { Sides::Whole } else { Sides::Outcome };
        diff::programs(p, q, sides, found);
    }
    Ok(())
}

/// Rings as they lie: of raw images, or of a program at the end of its run.
fn rings_of(s: &Side) -> Result<Vec<RawImage>, Failure> {
    if !s.loaded.images.is_empty() {
        return Ok(s.loaded.images.clone());
    }
    let Some(p) = &s.program else {
        let why = format!("this is {}: it holds nothing to compare", s.loaded.kind.name());
        return Err(Report::from(Diagnostic::new("S010", why).in_file(&s.loaded.name)).into());
    };
    let end = run_program(p, |_, e| e.n < crate::limits::MAX_DIFF_EVENTS).machine;
    let ring = |q: &crate::engine::program::QueueDecl, dir| -> Option<RingView> {
        let r = q.ring(dir)?;
        let mut bytes = vec![0; usize::try_from(r.bytes()).ok()?];
        end.memory.read(r.base, &mut bytes);
        Some(RingView::whole(dir, Blob::from_vec(bytes)))
    };
    let image = |q: &crate::engine::program::QueueDecl| {
        let mut image = RawImage::new(q.id.to_string(), "", Dir::BOTH.map(|d| ring(q, d)));
        image.queue = Some(q.id);
        image
    };
    Ok(p.queues.iter().map(image).collect())
}

fn images((a, b): (&Side, &Side), args: &DiffArgs, found: &mut Diff) -> Result<(), Failure> {
    let (x, y) = (rings_of(a)?, rings_of(b)?);
    let arch = args.rings.arch.or_else(|| x.iter().chain(&y).find_map(infer_arch));
    let arch = arch.unwrap_or(Generation::V3);
    for (name, p, q) in matched(&x, &y) {
        let rings =
            |i: Option<&RawImage>| i.map_or([None, None], |i| in_order(i, args.rings.slots));
        let (l, r) = (rings(p), rings(q));
        diff::rings(&name, (as_pair(&l), as_pair(&r)), arch, found);
    }
    Ok(())
}

/// Images that stand for the same queue: one on each side, by queue, or by name.
fn matched<'i>(
    a: &'i [RawImage],
    b: &'i [RawImage],
) -> Vec<(String, Option<&'i RawImage>, Option<&'i RawImage>)> {
    if let ([x], [y]) = (a, b) {
        return vec![(String::new(), Some(x), Some(y))];
    }
    let name = |i: &RawImage| match i.queue {
        Some(q) => format!("{q} "),
        None => {
            let file = Path::new(&i.name).file_name();
            format!("{} ", file.map_or(i.name.clone(), |f| f.to_string_lossy().into_owned()))
        }
    };
    let mut right: Vec<(String, &RawImage)> = b.iter().map(|i| (name(i), i)).collect();
    let mut out = Vec::new();
    for x in a {
        let at = right.iter().position(|(n, _)| *n == name(x));
        let y = at.map(|at| right.remove(at).1);
        out.push((name(x), Some(x), y));
    }
    out.extend(right.into_iter().map(|(n, y)| (n, None, Some(y))));
    out
}

fn print(args: &DiffArgs, found: &Diff, out: &mut Out<'_>) -> Result<(), Failure> {
    let names = [&args.a, &args.b].map(|p| p.to_string_lossy().into_owned());
    if out.json() {
        return json_lines(&names, found, out);
    }
    if !found.is_same() {
        let [a, b] = &names;
        out.line(&format!("--- {}", printable(a)))?;
        out.line(&format!("+++ {}", printable(b)))?;
    }
    let most = if args.out.all { usize::MAX } else { MAX_SAME_CODE };
    for line in diff::lines(found, most) {
        out.line(&printable(&line))?;
    }
    Ok(out.line(&diff::summary(found))?)
}

fn json_lines(names: &[String; 2], found: &Diff, out: &mut Out<'_>) -> Result<(), Failure> {
    let [a, b] = names;
    out.schema("diff", &json!({ "a": a, "b": b, "same": found.is_same() }))?;
    for e in &found.entries {
        out.value(&entry_json(e))?;
    }
    for ((part, change), n) in &found.more {
        out.value(&json!({ "part": part.name(), "change": change.name(), "omitted": n }))?;
    }
    for text in &found.bounds {
        out.value(&json!({ "bound": text }))?;
    }
    if let Some(o) = &found.outcome {
        out.value(&outcome_json(o))?;
    }
    Ok(())
}

fn fields_json(all: &[FieldChange]) -> Value {
    let one = |f: &FieldChange| json!({ "name": f.name, "from": f.from, "to": f.to });
    Value::Array(all.iter().map(one).collect())
}

fn entry_json(e: &Entry) -> Value {
    let [a, b] = &e.at;
    json!({
        "part": e.part.name(), "change": e.change.name(), "name": e.name, "a": a, "b": b,
        "fields": fields_json(&e.fields),
    })
}

fn outcome_json(o: &Outcome) -> Value {
    let finished = o.ran.iter().all(|r| r.finished);
    let word = match (finished, o.is_same()) {
        (false, _) => "unknown",
        (true, true) => "same",
        (true, false) => "another",
    };
    let memory = o.memory.iter().map(|m| {
        json!({
            "name": m.name, "offset": m.offset, "from": m.cells[0].to_string(),
            "to": m.cells[1].to_string(), "bytes": m.count,
            "only": m.only.map(|side| if side == 0 { "a" } else { "b" }),
        })
    });
    let findings = o
        .findings
        .iter()
        .map(|f| json!({ "code": f.code, "message": f.message, "count": f.count }));
    let returns = o.returns.iter().map(|(r, n)| json!({ "ret": r, "count": n }));
    json!({
        "outcome": word, "memory": memory.collect::<Vec<_>>(),
        "findings": findings.collect::<Vec<_>>(), "returns": returns.collect::<Vec<_>>(),
        "numbers": fields_json(&o.numbers()),
    })
}
