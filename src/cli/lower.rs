//! `lower`: a module through every stage, and proof that it means the same after each
//! (`docs/lowering.md`, `docs/validation.md`).

use super::args::{Emit, LowerArgs, ModuleOpts};
use super::out::{Failure, Out, Status, Style};
use crate::bir::{At, Finding, Pos, exec};
use crate::diag::{Diagnostic, Report, Severity};
use crate::engine::lower::{self, Snapshot, Stage, Stats};
use crate::engine::module_run;
use crate::engine::order::Readings;
use crate::engine::program::Program;
use crate::engine::ring::EventKind;
use crate::engine::validate::{Reference, Stages, Verdict, worst};
use crate::load::bir::{write_json, write_text};
use crate::load::module::{LoadedModule, ModuleOptions, read_memory};
use crate::load::{container, source};
use crate::udma::{DESC_BYTES, Profile};
use serde_json::json;
use std::time::Instant;

impl ModuleOpts {
    /// As the loaders take it.
    ///
    /// # Errors
    /// A value that an option does not take (S011), a memory file that cannot be read (S012).
    pub fn options(&self) -> Result<ModuleOptions, Report> {
        let mut out = ModuleOptions { ring_slots: self.ring_slots, ..ModuleOptions::default() };
        for (name, value) in &self.params.0 {
            out.lower.set(name, value).map_err(|e| Diagnostic::new("S011", e))?;
        }
        if let Some(path) = &self.memory_in {
            let file = source::open(path)?;
            let memory = read_memory(file.blob.bytes());
            let in_file = |all: Vec<Diagnostic>| -> Vec<_> {
                all.into_iter().map(|d| d.in_file(&file.name)).collect()
            };
            let mut memory = memory.map_err(in_file)?;
            memory.file = Some(file.name.as_str().into());
            out.memory = Some(memory);
        }
        Ok(out)
    }
}

/// A stage by its name on the command line.
///
/// # Errors
/// S011 with the names that there are.
pub fn stage(name: &str) -> Result<Stage, Diagnostic> {
    Stage::by_name(name).ok_or_else(|| {
        let names: Vec<_> = Stage::ALL.iter().map(|s| s.name()).collect();
        Diagnostic::new("S011", format!("`{name}` is no stage; there are {}", names.join(", ")))
    })
}

/// One line of the result.
struct Row {
    stage: Stage,
    stats: Stats,
    ring: Option<(u64, u64)>,
    verdict: Option<Verdict>,
    micros: u128,
}

/// Runs `lower`.
///
/// # Errors
/// [`Failure`] where the module cannot be read.
pub fn run(args: &LowerArgs, out: &mut Out<'_>) -> Result<Status, Failure> {
    let stop = stage(&args.stop_after).map_err(Report::from)?;
    let mut print: Vec<Stage> = Vec::new();
    for name in &args.print_after {
        print.push(stage(name).map_err(Report::from)?);
    }
    for name in &args.print_before {
        let at = stage(name).map_err(Report::from)?;
        let before = Stage::ALL.iter().rev().find(|s| **s < at);
        print.push(*before.ok_or_else(|| {
            Report::from(Diagnostic::new("S011", "nothing comes before `loaded`"))
        })?);
    }
    // The stages are made below, one by one.
    let unqueued = Severity::Warning;
    let options = ModuleOptions { upto: Stage::Loaded, unqueued, ..args.module.options()? };
    let loaded = super::inputs::load_module(&args.file, &args.rings, &options)?;
    let mut report = loaded.1;
    let m = loaded.0;
    if m.is_wrong() {
        m.diagnostics().into_iter().for_each(|d| report.push(d));
        out.findings(&report.in_file(&args.rings.name_of(&args.file)))?;
        return Ok(Status::Wrong);
    }
    let prove = args.verify || args.bisect;
    let reference = if prove {
        Some(
            Reference::new(m.module.clone(), &m.memory, &exec::Options::default())
                .map_err(Report::from)?
                .verified(true),
        )
    } else {
        None
    };
    let mut stages = reference.as_ref().map(Stages::new);
    let mut rows = Vec::new();
    let mut texts = Vec::new();
    let mut seen = |s: &Snapshot, micros| {
        if args.print_after_all || print.contains(&s.stage) {
            texts.push((s.stage, write_text(&s.module).text));
        }
        // What does not run as loaded leaves nothing to compare with.
        let verdict = reference.as_ref().and_then(|r| match (r.complete, s.stage) {
            (false, Stage::Loaded) => Some(Verdict::Failed(r.findings.clone())),
            (false, _) => None,
            (true, Stage::Loaded) => Some(Verdict::Same),
            (true, _) => stages.as_mut().map(|r| r.judge(&s.module, &exec::Options::default())),
        });
        rows.push(Row { stage: s.stage, stats: s.stats, ring: None, verdict, micros });
    };
    let mut begun = Instant::now();
    let lowered = lower::lower_shared(m.module.clone(), &options.lower, stop, &mut |s| {
        let micros = begun.elapsed().as_micros();
        seen(s, micros);
        begun = Instant::now();
    });
    let mut m = LoadedModule { lowered, ..m };
    // Lowering says of each transfer what it chose for it.
    m.findings.retain(|f| (f.diag.code, f.diag.severity) != ("L050", Severity::Warning));
    m.diagnostics().into_iter().for_each(|d| report.push(d));
    let mut program = None;
    if stop == Stage::Rings && !report.has_errors() {
        let begun = Instant::now();
        let profile = args.rings.profile.map_or(Profile::default_profile(), |p| p.0);
        let p = m.program(&options, profile).map_err(Report::from)?;
        let ring = ring_use(&p);
        let micros = begun.elapsed().as_micros();
        let verdict = reference.as_ref().filter(|r| r.complete);
        let verdict = verdict.map(|r| r.judge_rings(&p, Readings::default()));
        let stats = rows.last().map_or_else(Stats::default, |r| r.stats);
        rows.push(Row { stage: Stage::Rings, stats, ring: Some(ring), verdict, micros });
        program = Some(p);
    }
    let wrong = rows.iter().find(|r| r.verdict.as_ref().is_some_and(|v| !v.is_good()));
    if let Some(r) = wrong {
        tell(r, &m, &mut report);
    }
    let bad = wrong.is_some();
    report.items.sort_by_key(|d| d.place.offset.unwrap_or(u64::MAX));
    if let Some(form) = args.emit {
        let bytes = match (form, &program) {
            (Emit::Image, Some(p)) => {
                container::write(&module_run::record(p).map_err(Report::from)?)?
            }
            (Emit::Image, None) => {
                report.push(Diagnostic::new("S011", "an image needs the stage `rings`"));
                out.findings(&report)?;
                return Ok(Status::Unreadable);
            }
            (Emit::Bir, _) => write_text(last(&m)).text.into_bytes(),
            (Emit::Json, _) => write_json(last(&m)).into_bytes(),
        };
        if form == Emit::Image && args.output.is_none() && out.on_terminal {
            return Err(Report::from(super::convert::not_to_a_terminal()).into());
        }
        super::convert::emit(&bytes, args.output.as_deref(), out)?;
        out.findings(&report)?;
    } else {
        for (stage, text) in &texts {
            if !out.json() {
                out.line(&format!("; after {stage}"))?;
                out.line(text.trim_end())?;
                out.line("")?;
            }
        }
        table(&rows, args, out)?;
        if args.bisect && !out.json() {
            out.line(&bisected(&rows, &m))?;
        }
        out.findings(&report)?;
    }
    Ok(if bad || report.has_errors() { Status::Wrong } else { Status::Fine })
}

fn last(m: &LoadedModule) -> &crate::bir::Module {
    m.lowered.module().unwrap_or(&m.module)
}

/// Descriptors and bytes that a run puts on rings.
fn ring_use(p: &Program) -> (u64, u64) {
    let mut descs = 0;
    module_run::each_event(p, |_, e| {
        if let EventKind::CopyIn { count, .. } = e.kind {
            descs += count;
        }
    });
    (descs, descs * DESC_BYTES as u64)
}

fn tell(row: &Row, m: &LoadedModule, report: &mut Report) {
    match &row.verdict {
        Some(Verdict::Differs(d)) => {
            report.push(m.place(&d.finding(row.stage)));
            d.races.iter().for_each(|r| report.push(r.clone()));
        }
        Some(Verdict::Failed(all)) => {
            for f in all {
                let mut d = m.place(f);
                d.message = format!("at {}: {}", row.stage, d.message);
                report.push(d);
            }
        }
        Some(Verdict::Races(all)) => all.iter().for_each(|d| report.push(d.clone())),
        Some(Verdict::Same) | None => {}
    }
}

/// What `--bisect` says.
fn bisected(rows: &[Row], m: &LoadedModule) -> String {
    let Some(row) = rows.iter().find(|r| r.verdict.as_ref().is_some_and(|v| !v.is_good())) else {
        return "bisect: every stage leaves the same memory".to_owned();
    };
    let name = |pos: Pos| {
        let mut text = String::new();
        m.module.visit(&mut |i| {
            if i.pos == pos && text.is_empty() {
                text = format!("%{} {}", i.name, i.opcode);
            }
        });
        text
    };
    let of = |f: &Finding| match &f.at {
        Some(At::Inst(pos, _)) => Some(*pos),
        _ => None,
    };
    let inst = match &row.verdict {
        Some(Verdict::Differs(d)) => d.inst,
        Some(Verdict::Failed(all)) => worst(all).and_then(of),
        _ => None,
    };
    let what = match (inst.map(name), &row.verdict) {
        (Some(name), _) => format!(", first wrong instruction {name}"),
        (None, Some(v)) => format!(", no single instruction: {}", v.words()),
        (None, None) => String::new(),
    };
    format!("bisect: first wrong stage {}{what}", row.stage)
}

fn table(rows: &[Row], args: &LowerArgs, out: &mut Out<'_>) -> std::io::Result<()> {
    if out.json() {
        out.schema("lower", &json!({ "file": args.rings.name_of(&args.file) }))?;
        for r in rows {
            let s = &r.stats;
            out.value(&json!({
                "stage": r.stage.name(), "dmas": s.dmas, "clones": s.clones,
                "blocks": s.blocks, "descriptors": s.descriptors, "triggers": s.triggers,
                "udma_descriptors": r.ring.map(|u| u.0), "ring_bytes": r.ring.map(|u| u.1),
                "verified": r.verdict.as_ref().map(Verdict::is_good),
                "verdict": r.verdict.as_ref().map(Verdict::words),
                "micros": (!args.no_times).then_some(r.micros as u64),
            }))?;
        }
        return Ok(());
    }
    let head = format!(
        "{:<10}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>12}{:>9}  {}",
        "stage", "dmas", "clones", "trig", "blocks", "descs", "udma", "ring bytes", "us", "verdict"
    );
    out.line(&out.styled(Style::Bold, head.trim_end()))?;
    let dash = |n: Option<u64>| n.map_or("-".to_owned(), |n| n.to_string());
    for r in rows {
        let s = &r.stats;
        let verdict = r.verdict.as_ref().map_or("not verified".to_owned(), |v| {
            format!("{}{}", if v.is_good() { "ok: " } else { "WRONG: " }, v.words())
        });
        out.line(&format!(
            "{:<10}{:>8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>12}{:>9}  {}",
            r.stage.name(),
            s.dmas,
            s.clones,
            s.triggers,
            s.blocks,
            s.descriptors,
            dash(r.ring.map(|u| u.0)),
            dash(r.ring.map(|u| u.1)),
            dash(u64::try_from(r.micros).ok().filter(|_| !args.no_times)),
            crate::diag::render::printable(&verdict),
        ))?;
    }
    Ok(())
}
