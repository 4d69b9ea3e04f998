//! `completions` and `man`, both made from the definition of the command line; the manual
//! also lists the command language from its own table.

use super::args::{Cli, CompletionsArgs};
use super::out::{Failure, Out, Status};
use crate::engine::command::{COMMANDS, Group};
use clap::CommandFactory;
use std::io;

/// Prints a shell's completion script.
///
/// # Errors
/// Those of the output.
pub fn completions(args: &CompletionsArgs, out: &mut Out<'_>) -> Result<Status, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "dmadbg", &mut text);
    out.bytes(&text)?;
    Ok(Status::Fine)
}

/// Prints the manual page.
///
/// # Errors
/// Those of the output.
pub fn man(out: &mut Out<'_>) -> Result<Status, Failure> {
    let mut page = Vec::new();
    render(&mut page)?;
    out.bytes(&page)?;
    Ok(Status::Fine)
}

fn render(page: &mut Vec<u8>) -> io::Result<()> {
    let root = Cli::command();
    clap_mangen::Man::new(root.clone()).render(page)?;
    for sub in root.get_subcommands() {
        let title = format!("dmadbg {}", sub.get_name());
        let man = clap_mangen::Man::new(sub.clone().bin_name(title.clone()));
        page.extend_from_slice(format!(".SH {}\n", roff(&title.to_uppercase())).as_bytes());
        man.render_description_section(page)?;
        man.render_synopsis_section(page)?;
        man.render_options_section(page)?;
    }
    page.extend_from_slice(b".SH COMMAND LANGUAGE\nUsed on the command line of the screen and in scripts. Unambiguous prefixes work.\n");
    for group in Group::ALL {
        page.extend_from_slice(format!(".SS {}\n", group.title()).as_bytes());
        for c in COMMANDS.iter().filter(|c| c.group == group) {
            let head = roff(format!("{} {}", c.name, c.usage).trim_end());
            let more = if c.detail.is_empty() { String::new() } else { format!(". {}", c.detail) };
            let short = match c.aliases {
                [] => String::new(),
                names => format!(" (short: {})", names.join(", ")),
            };
            let text = roff(&format!("{}{short}{more}", c.summary));
            page.extend_from_slice(format!(".TP\n\\fB{head}\\fR\n{text}\n").as_bytes());
        }
    }
    Ok(())
}

/// Text that a formatter prints as it is.
fn roff(text: &str) -> String {
    let escaped = text.replace('\\', "\\e").replace('-', "\\-");
    match escaped.starts_with(['.', '\'']) {
        true => format!("\\&{escaped}"),
        false => escaped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_holds_together() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_manual_names_every_subcommand_and_every_command() -> io::Result<()> {
        let mut page = Vec::new();
        render(&mut page)?;
        let page = String::from_utf8_lossy(&page);
        for sub in Cli::command().get_subcommands() {
            let title = roff(&format!("DMADBG {}", sub.get_name().to_uppercase()));
            assert!(page.contains(&title), "{title}");
        }
        for c in COMMANDS {
            assert!(page.contains(&format!("\\fB{}", roff(c.name))), "{}", c.name);
        }
        Ok(())
    }
}
