//! `--script FILE` and `-e COMMAND`: what to execute, in the order in which it is given.

use clap::{Arg, ArgAction, ArgMatches, Args, value_parser};
use std::path::PathBuf;

/// One thing to execute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Given {
    /// The commands of a file.
    Script(PathBuf),
    /// The commands of a text on the command line.
    Inline(String),
}

/// Scripts and commands, in the order of the command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Commands(pub Vec<Given>);

/// Option names.
const SCRIPT: &str = "script";
const EXECUTE: &str = "execute";

impl Commands {
    /// Whether nothing is to be executed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The texts of the command line, each with the name that findings in it have: `<-e 1>`.
    pub fn inline(&self) -> impl Iterator<Item = (String, &str)> {
        let texts = self.0.iter().filter_map(|g| match g {
            Given::Inline(text) => Some(text.as_str()),
            Given::Script(_) => None,
        });
        (1..).zip(texts).map(|(n, text)| (format!("<-e {n}>"), text))
    }
}

impl Args for Commands {
    fn augment_args(cmd: clap::Command) -> clap::Command {
        cmd.arg(
            Arg::new(SCRIPT)
                .long(SCRIPT)
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .action(ArgAction::Append)
                .help("Execute the commands of a file; may be given several times"),
        )
        .arg(
            Arg::new(EXECUTE)
                .short('e')
                .long(EXECUTE)
                .value_name("COMMAND")
                .action(ArgAction::Append)
                .help("Execute a command; scripts and commands run in the order given"),
        )
    }

    fn augment_args_for_update(cmd: clap::Command) -> clap::Command {
        Commands::augment_args(cmd)
    }
}

impl clap::FromArgMatches for Commands {
    fn from_arg_matches(found: &ArgMatches) -> Result<Commands, clap::Error> {
        let mut commands = Commands::default();
        commands.update_from_arg_matches(found)?;
        Ok(commands)
    }

    fn update_from_arg_matches(&mut self, found: &ArgMatches) -> Result<(), clap::Error> {
        let at = |name| found.indices_of(name).into_iter().flatten();
        let scripts = found.get_many::<PathBuf>(SCRIPT).into_iter().flatten();
        let texts = found.get_many::<String>(EXECUTE).into_iter().flatten();
        let scripts = at(SCRIPT).zip(scripts.map(|p| Given::Script(p.clone())));
        let mut all: Vec<(usize, Given)> =
            scripts.chain(at(EXECUTE).zip(texts.map(|t| Given::Inline(t.clone())))).collect();
        all.sort_by_key(|(at, _)| *at);
        self.0 = all.into_iter().map(|(_, given)| given).collect();
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::args::{Cli, Cmd};
    use super::*;
    use clap::Parser as _;

    #[test]
    fn scripts_and_commands_keep_the_order_of_the_command_line() {
        let args = ["dmadbg", "run", "a", "-e", "one", "--script", "two", "-e", "three"];
        let Some(Cmd::Run(run)) = Cli::try_parse_from(args).unwrap().command else {
            unreachable!()
        };
        let inline = |t: &str| Given::Inline(t.to_owned());
        assert_eq!(run.commands.0, [inline("one"), Given::Script("two".into()), inline("three")]);
        let names: Vec<String> = run.commands.inline().map(|i| i.0).collect();
        assert_eq!(names, ["<-e 1>", "<-e 2>"]);
    }
}
