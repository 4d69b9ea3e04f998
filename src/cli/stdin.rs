//! Standard input can be read once: a command line that names it twice is refused, rather than
//! finding it empty the second time, or taking a program for a script.

use super::args::{Cli, Cmd, ModuleOpts, RingOpts, SampleCmd};
use super::given::{Commands, Given};
use crate::diag::Diagnostic;
use std::path::{Path, PathBuf};

/// Refuses more than one `-`.
///
/// # Errors
/// S011 with what names it.
pub fn check(cli: &Cli) -> Result<(), Diagnostic> {
    let mut all = Named::default();
    match &cli.command {
        None => {
            let a = &cli.open;
            all.files(&a.files).rings(&a.rings).module(&a.module).commands(&a.commands);
        }
        Some(Cmd::Decode(a)) => {
            all.files(&a.inputs).rings(&a.rings);
        }
        Some(Cmd::Encode(a)) => {
            all.one("FILE", a.file.as_deref());
        }
        Some(Cmd::Asm(a) | Cmd::Disasm(a)) => {
            all.files(&a.files).rings(&a.rings);
        }
        Some(Cmd::Info(a) | Cmd::Check(a)) => {
            all.files(&a.files).rings(&a.rings).module(&a.module);
        }
        Some(Cmd::Lower(a)) => {
            all.one("FILE", Some(&a.file)).rings(&a.rings).module(&a.module);
        }
        Some(Cmd::Run(a)) => {
            all.files(&a.files).rings(&a.rings).module(&a.module).commands(&a.commands);
        }
        Some(Cmd::Watch(a)) => {
            all.files(&a.files).rings(&a.rings).module(&a.module).commands(&a.commands);
        }
        Some(Cmd::Test(a)) => {
            all.files(&a.paths);
        }
        Some(Cmd::Fmt(a)) => {
            all.files(&a.files);
        }
        Some(Cmd::Shrink(a)) => {
            all.one("FILE", Some(&a.file)).rings(&a.rings).module(&a.module);
        }
        Some(Cmd::Diff(a)) => {
            all.one("A", Some(&a.a)).one("B", Some(&a.b)).rings(&a.rings).module(&a.module);
        }
        Some(Cmd::Export(a)) => {
            all.files(&a.files).rings(&a.rings).module(&a.module);
        }
        Some(Cmd::Render(a)) => {
            all.files(&a.files).rings(&a.rings).module(&a.module).commands(&a.commands);
        }
        Some(Cmd::Learn(a)) => {
            all.one("LESSON", a.lesson.as_deref().map(Path::new))
                .one("--check", a.check.as_deref().map(Path::new))
                .one("--answers", a.answers.as_deref());
        }
        Some(Cmd::Config(a)) => {
            all.one("FILE", a.file.as_deref());
        }
        Some(Cmd::Provenance(a)) => {
            all.files(&a.files).rings(&a.rings).module(&a.module);
        }
        Some(Cmd::Sample(SampleCmd::Open(a))) => {
            all.commands(&a.commands);
        }
        Some(
            Cmd::Gen(_)
            | Cmd::Explain(_)
            | Cmd::Sample(_)
            | Cmd::Completions(_)
            | Cmd::Man(_)
            | Cmd::Grammars(_),
        ) => {}
    }
    match all.0.as_slice() {
        [] | [_] => Ok(()),
        many => {
            let why = format!("`-` is standard input, which can be read once: {}", many.join(", "));
            Err(Diagnostic::new("S011", why).help("give all but one as files"))
        }
    }
}

/// What names standard input, each as the command line calls it.
#[derive(Default)]
struct Named(Vec<&'static str>);

impl Named {
    fn one(&mut self, name: &'static str, path: Option<&Path>) -> &mut Named {
        self.0.extend(path.filter(|p| p.as_os_str() == "-").map(|_| name));
        self
    }

    fn files(&mut self, files: &[PathBuf]) -> &mut Named {
        files.iter().for_each(|f| {
            self.one("FILE", Some(f));
        });
        self
    }

    fn rings(&mut self, rings: &RingOpts) -> &mut Named {
        self.one("--tx", rings.tx.as_deref()).one("--rx", rings.rx.as_deref())
    }

    fn module(&mut self, module: &ModuleOpts) -> &mut Named {
        self.one("--memory-in", module.memory_in.as_deref())
    }

    fn commands(&mut self, commands: &Commands) -> &mut Named {
        for given in &commands.0 {
            if let Given::Script(path) = given {
                self.one("--script", Some(path));
            }
        }
        self
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use clap::Parser as _;

    #[test]
    fn standard_input_is_named_once() {
        let told = |line: &str| {
            let cli = Cli::try_parse_from(line.split(' ')).unwrap();
            check(&cli).err().map(|d| d.message)
        };
        for line in [
            "dmadbg -",
            "dmadbg run - --script s",
            "dmadbg run p.dma --script - -e where",
            "dmadbg check --tx - --rx b",
            "dmadbg encode -",
            "dmadbg lower - --emit bir -o -",
            "dmadbg explain - -",
        ] {
            assert_eq!(told(line), None, "{line}");
        }
        for (line, named) in [
            ("dmadbg - --script -", "FILE, --script"),
            ("dmadbg run - --script -", "FILE, --script"),
            ("dmadbg run p.dma --script - --script -", "--script, --script"),
            ("dmadbg check - -", "FILE, FILE"),
            ("dmadbg info --tx - --rx -", "--tx, --rx"),
            ("dmadbg diff - -", "A, B"),
            ("dmadbg lower - --memory-in -", "FILE, --memory-in"),
            ("dmadbg render - -e where --script -", "FILE, --script"),
            ("dmadbg fmt - -", "FILE, FILE"),
            ("dmadbg export - --tx -", "FILE, --tx"),
            ("dmadbg watch - --script -", "FILE, --script"),
            ("dmadbg provenance - - --of tx[0]", "FILE, FILE"),
            ("dmadbg learn --check - --answers -", "--check, --answers"),
        ] {
            let why = told(line);
            assert!(why.as_ref().is_some_and(|w| w.ends_with(named)), "{line}: {why:?}");
        }
    }
}
