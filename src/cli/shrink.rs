//! `shrink`: a module that goes wrong, made as small as it can be while it goes wrong in the
//! same way (`docs/verify.md`, "Generated modules").

use super::args::ShrinkArgs;
use super::convert::emit;
use super::out::{Failure, Out, Status};
use crate::bir::shrink::shrink;
use crate::bir::{Layout, Module, exec, verify};
use crate::diag::{Diagnostic, Place, Report, Severity};
use crate::engine::lower::{self, Stage};
use crate::engine::module_run::{self, Initial};
use crate::engine::order::Readings;
use crate::engine::validate::{Reference, Verdict, worst};
use crate::limits::MAX_PROPERTY_SECONDS;
use crate::load::bir::{read_text, write_text};
use crate::load::module::default_memory;
use crate::udma::{Generation, Profile, count_of};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How a module goes wrong: while it is shrunk it must go on to do so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It is refused, with this code.
    Refused(&'static str),
    /// It does not run to its end.
    Fails,
    /// It leaves another memory.
    Differs,
    /// Accesses that nothing orders.
    Races,
}

/// The first stage that does not do what the module as loaded does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// The stage.
    pub stage: Stage,
    /// How.
    pub kind: Kind,
    /// In words.
    pub words: String,
}

impl Wrong {
    /// Whether it is the same fault, whatever the place.
    pub fn same_as(&self, other: &Wrong) -> bool {
        (self.stage, self.kind) == (other.stage, other.kind)
    }
}

/// With what modules are judged.
#[derive(Debug, Clone)]
pub struct Judge {
    /// How they are lowered.
    pub lower: lower::Options,
    /// What memory holds at the start; absent: `load::module::default_memory`. A location that
    /// has become smaller takes the first of its bytes.
    pub memory: Option<Initial>,
    /// Slots of each ring.
    pub ring_slots: u64,
    /// Generation of the rings.
    pub arch: Generation,
    /// Driver profile.
    pub profile: &'static Profile,
}

impl Judge {
    fn memory(&self, module: &Module, layout: &Layout) -> Initial {
        let Some(given) = &self.memory else { return default_memory(module, layout) };
        let fits = |(name, bytes): (&String, &Vec<u8>)| {
            let size = usize::try_from(layout.location(name)?.bytes()).ok()?;
            let mut bytes = bytes.clone();
            // A smaller one only: where it has more bytes than were given, it is left out.
            (size <= bytes.len()).then(|| {
                bytes.truncate(size);
                (name.clone(), bytes)
            })
        };
        Initial { given: given.given.iter().filter_map(fits).collect(), ..Initial::default() }
    }

    /// What is wrong with a sound module before it is lowered: it does not run to its end.
    fn loaded(&self, module: &Module) -> Option<Wrong> {
        let layout = Layout::new(module);
        if verify::has_errors(&verify::verify(module, &layout)) {
            return None;
        }
        let memory = self.memory(module, &layout);
        let options = exec::Options::default();
        let reference = Reference::new(Arc::new(module.clone()), &memory, &options).ok()?;
        let first = worst(&reference.findings).filter(|_| !reference.complete)?;
        let (kind, words) = (Kind::Refused(first.diag.code), first.diag.message.clone());
        Some(Wrong { stage: Stage::Loaded, kind, words: format!("does not run: {words}") })
    }

    /// What is wrong with the lowering of a module; nothing where every stage and the rings do
    /// what the module as loaded does, or where it is not sound itself.
    pub fn wrong(&self, module: &Module) -> Option<Wrong> {
        let layout = Layout::new(module);
        if verify::has_errors(&verify::verify(module, &layout)) {
            return None;
        }
        let memory = self.memory(module, &layout);
        let options = exec::Options::default();
        let reference = Reference::new(Arc::new(module.clone()), &memory, &options).ok()?;
        if !reference.complete {
            return None;
        }
        let lowered = lower::lower(module, &self.lower, Stage::LowerDma);
        for s in &lowered.snapshots {
            let refused = s.findings.iter().find(|f| f.diag.severity == Severity::Error);
            if let Some(f) = refused {
                let (kind, words) = (Kind::Refused(f.diag.code), f.diag.message.clone());
                return Some(Wrong { stage: s.stage, kind, words });
            }
            if s.stage != Stage::Loaded
                && let Some(w) = said(s.stage, &reference.judge(&s.module, &options))
            {
                return Some(w);
            }
        }
        let mut ring = module_run::Options::new(self.arch);
        ring.profile = self.profile;
        ring.ring_slots = self.ring_slots;
        match module_run::program(&lowered, &|_| Place::default(), &memory, &ring) {
            Ok(p) => said(Stage::Rings, &reference.judge_rings(&p, Readings::default())),
            Err(all) => {
                let d = all.into_iter().next()?;
                Some(Wrong { stage: Stage::Rings, kind: Kind::Refused(d.code), words: d.message })
            }
        }
    }

    /// The smallest module found that goes wrong as this one does, and how; nothing where it
    /// does not.
    pub fn shrink(&self, module: &Module) -> Option<(Module, Wrong)> {
        let judge = |m: &Module| self.loaded(m).or_else(|| self.wrong(m));
        let first = judge(module)?;
        let small = shrink(module, &mut |m| judge(m).is_some_and(|w| w.same_as(&first)));
        let wrong = judge(&small)?;
        Some((small, wrong))
    }
}

fn said(stage: Stage, v: &Verdict) -> Option<Wrong> {
    let kind = match v {
        Verdict::Same => return None,
        Verdict::Failed(_) => Kind::Fails,
        Verdict::Differs(_) => Kind::Differs,
        Verdict::Races(_) => Kind::Races,
    };
    Some(Wrong { stage, kind, words: v.words() })
}

/// A program that judges files.
struct Property<'a> {
    program: &'a str,
    file: PathBuf,
    /// Only modules that can be read and that the verifier accepts are shown to it.
    sound: bool,
}

/// Whether a module can be read again from its text, and is one that the verifier accepts.
fn is_sound(text: &str) -> bool {
    read_text("module", text)
        .is_ok_and(|l| !verify::has_errors(&verify::verify(&l.module, &Layout::new(&l.module))))
}

impl Property<'_> {
    /// Whether the program's exit status for this module is not 0. A program that does not end
    /// within its time is ended; that is no answer.
    fn holds(&self, module: &Module) -> std::io::Result<bool> {
        let text = write_text(module).text;
        if self.sound && !is_sound(&text) {
            return Ok(false);
        }
        std::fs::write(&self.file, text)?;
        let mut child = Command::new(self.program)
            .arg(&self.file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let status = ended(&mut child, Duration::from_secs(MAX_PROPERTY_SECONDS))?;
        Ok(status.is_some_and(|ok| !ok))
    }
}

/// Whether a program ended well; nothing where it had to be ended.
fn ended(child: &mut Child, most: Duration) -> std::io::Result<Option<bool>> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status.success()));
        }
        if begun.elapsed() > most {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A new folder for temporary files that nobody else can write to; what lies there already, a
/// link of somebody else's for one, is never used.
fn own_folder() -> std::io::Result<PathBuf> {
    const TRIES: u32 = 100;
    let mut new = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut new, 0o700);
    let mut last = std::io::Error::from(std::io::ErrorKind::AlreadyExists);
    for n in 0..TRIES {
        let name = format!("dmadbg-shrink-{}-{n}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        match new.create(&dir) {
            Ok(()) => return Ok(dir),
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => last = e,
            Err(e) => return Err(e),
        }
    }
    Err(last)
}

/// Shrinks by a program. The error of the first try is told, later ones count as "does not hold".
fn by_program(program: &str, module: &Module) -> Result<Option<Module>, Failure> {
    let dir = own_folder()?;
    let sound = is_sound(&write_text(module).text);
    let property = Property { program, file: dir.join("module.bir"), sound };
    let first = property.holds(module);
    let small = match &first {
        Ok(true) => Some(shrink(module, &mut |m| property.holds(m).unwrap_or(false))),
        _ => None,
    };
    // What is left behind there is of no use, but no harm either.
    let _ = std::fs::remove_dir_all(&dir);
    first.map_err(|e| {
        let why = format!("cannot run `{program}`: {e}");
        Report::from(Diagnostic::new("S011", why))
    })?;
    Ok(small)
}

fn count(module: &Module) -> u64 {
    let mut n = 0;
    module.visit(&mut |_| n += 1);
    n
}

/// Runs `shrink`: status 1 where the module goes wrong, and then the small one is written.
///
/// # Errors
/// [`Failure`] where the module cannot be read, or the program not be run.
pub fn run(args: &ShrinkArgs, out: &mut Out<'_>) -> Result<Status, Failure> {
    let options = args.module.options()?;
    let (m, report) = super::inputs::load_module(&args.file, &args.rings, &options)?;
    out.findings(&report)?;
    let (small, words) = if args.property == "lowering" {
        if m.is_wrong() {
            // It was read; what is wrong with it stands before any lowering.
            let report = Report::from(m.diagnostics()).in_file(&args.file.to_string_lossy());
            out.findings(&report)?;
            return Ok(Status::Wrong);
        }
        let judge = Judge {
            lower: options.lower.clone(),
            memory: options.memory.clone(),
            ring_slots: options.ring_slots,
            arch: m.arch.0,
            profile: args.rings.profile.map_or(Profile::default_profile(), |p| p.0),
        };
        match judge.shrink(&m.module) {
            None => (None, "every stage, and the rings, leave the same memory".to_owned()),
            Some((small, w)) => (Some(small), format!("at {}: {}", w.stage, w.words)),
        }
    } else {
        let words = format!("by `{}`", args.property);
        (by_program(&args.property, &m.module)?, words)
    };
    let Some(small) = small else {
        out.aside(&[format!("nothing goes wrong, nothing is shrunk: {words}")])?;
        return Ok(Status::Fine);
    };
    out.aside(&[format!(
        "{} of {} left; {words}",
        count(&small),
        count_of(count(&m.module), "instruction")
    )])?;
    emit(
        write_text(&small).text.as_bytes(),
        args.output.as_deref().filter(|p| *p != Path::new("-")),
        out,
    )?;
    Ok(Status::Wrong)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::bir::{Arch, generate};
    use crate::engine::lower::Mutation;

    /// A pass that goes wrong on purpose, and a module in which that shows.
    #[test]
    fn a_fault_of_a_pass_is_shrunk_to_a_few_instructions_that_still_show_it() {
        let options =
            generate::Options { arch: Some(Arch::Gen3), large: false, ..Default::default() };
        let mut shrunk = 0;
        for (mutation, elems) in
            [(Mutation::DroppedDescriptor, None), (Mutation::LostRemainder, Some(3))]
        {
            let lower = lower::Options {
                mutation: Some(mutation),
                max_desc_elems: elems,
                ..Default::default()
            };
            for seed in 0..40 {
                let g = generate::module(seed, &options);
                let given = g.memory.iter().map(|(n, b)| (n.to_string(), b.clone())).collect();
                let judge = Judge {
                    lower: lower.clone(),
                    memory: Some(Initial { given, file: None }),
                    ring_slots: module_run::DEFAULT_RING_SLOTS,
                    arch: Generation::V3,
                    profile: Profile::default_profile(),
                };
                let Some(first) = judge.wrong(&g.module) else { continue };
                if first.kind != Kind::Differs {
                    continue;
                }
                let (small, wrong) = judge.shrink(&g.module).unwrap();
                assert!(wrong.same_as(&first), "{mutation:?} {seed}: {wrong:?}");
                assert!(count(&small) <= 4, "{mutation:?} {seed}: {}", write_text(&small).text);
                let good = Judge {
                    lower: lower::Options { max_desc_elems: elems, ..Default::default() },
                    ..judge
                };
                assert_eq!(good.wrong(&small), None, "{mutation:?} {seed}");
                shrunk += 1;
                break;
            }
        }
        assert_eq!(shrunk, 2);
    }
}
