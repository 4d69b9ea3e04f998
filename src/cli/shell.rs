//! `completions` and `man`, both made from the definition of the command line; the manual
//! also lists the command language from its own table.

use super::args::{Cli, CompletionsArgs, ManArgs};
use super::out::{Failure, Out, Status};
use crate::diag::{Diagnostic, Report};
use crate::engine::command::{COMMANDS, Group, nearest};
use crate::learn::bundled::Sample;
use crate::load::save;
use clap::CommandFactory;
use clap_complete::Shell;
use std::io;
use std::path::{Path, PathBuf};

/// Prints a shell's completion script.
///
/// # Errors
/// Those of the output.
pub fn completions(args: &CompletionsArgs, out: &mut Out<'_>) -> Result<Status, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "dmadbg", &mut text);
    if args.shell == Shell::Fish {
        text.extend_from_slice(fish_names().as_bytes());
    }
    out.bytes(&text)?;
    Ok(Status::Fine)
}

/// Tells of the verb that was probably meant, where what stands first is no file.
pub(super) fn not_a_verb(files: &[PathBuf], failure: Failure) -> Failure {
    let first = files.first().and_then(|f| f.to_str());
    let mut report = match failure {
        Failure::Report(report) => report,
        other => return other,
    };
    let Some(first) = first else { return report.into() };
    let cli = Cli::command();
    let near = nearest(first, cli.get_subcommands().map(clap::Command::get_name));
    let mut verb = false;
    for d in report.items.iter_mut().filter(|d| d.code == "D007" && d.help.is_none()) {
        let missing = d.place.file.as_deref() == Some(first) && !Path::new(first).exists();
        if missing && !near.is_empty() {
            d.help = Some(format!("did you mean the verb `{}`?", near.join("` or `")));
            verb = true;
        }
    }
    // What the other words are as files is beside the point then.
    if verb {
        report.items.retain(|d| d.place.file.as_deref() == Some(first));
    }
    report.into()
}

/// The names of samples, which the generator leaves out for fish.
fn fish_names() -> String {
    let seen = "__fish_seen_subcommand_from sample; and __fish_seen_subcommand_from show open copy";
    let line = |s: Sample| {
        let about = s.summary().replace('\\', "\\\\").replace('\'', "\\'");
        format!("complete -c dmadbg -n '{seen}' -f -a '{}' -d '{about}'\n", s.name)
    };
    Sample::all().map(line).collect()
}

/// Prints the manual, or the page of one verb, or writes a page for each.
///
/// # Errors
/// An unknown verb (S011), D007 where a page cannot be written, and those of the output.
pub fn man(args: &ManArgs, out: &mut Out<'_>) -> Result<Status, Failure> {
    if let Some(dir) = &args.output {
        write_pages(dir, out)?;
        return Ok(Status::Fine);
    }
    let mut page = Vec::new();
    match &args.verb {
        None => render(&mut page)?,
        Some(verb) => {
            let all = pages()?;
            let name = |file: &str| file.trim_start_matches("dmadbg-").replace(".1", "");
            let known: Vec<String> = all.iter().map(|(file, _)| name(file)).collect();
            let Some(at) = known.iter().position(|k| *k == verb.replace(' ', "-")) else {
                let near = nearest(verb, known.iter().map(String::as_str));
                let d = Diagnostic::new("S011", format!("there is no verb `{verb}`"));
                let help = match near.as_slice() {
                    [] => "`dmadbg --help` lists them".to_owned(),
                    near => format!("did you mean `{}`?", near.join("` or `")),
                };
                return Err(Report::from(d.help(help)).into());
            };
            page.extend_from_slice(&all[at].1);
        }
    }
    out.bytes(&page)?;
    Ok(Status::Fine)
}

/// What stands at the foot of each page.
const SOURCE: &str = concat!("dmadbg ", env!("CARGO_PKG_VERSION"));

/// A page for each verb: the name of its file, its text. The first is that of the program, with
/// the command language.
fn pages() -> io::Result<Vec<(String, Vec<u8>)>> {
    fn below(cmd: &clap::Command, out: &mut Vec<(String, Vec<u8>)>) -> io::Result<()> {
        for sub in cmd.get_subcommands() {
            let man = clap_mangen::Man::new(sub.clone()).source(SOURCE).manual("dmadbg");
            let mut page = Vec::new();
            man.render(&mut page)?;
            page.extend_from_slice(b".SH SEE ALSO\n\\fBdmadbg\\fR(1)\n");
            out.push((man.get_filename(), page));
            below(sub, out)?;
        }
        Ok(())
    }
    let mut whole = Vec::new();
    render(&mut whole)?;
    let mut out = vec![("dmadbg.1".to_owned(), whole)];
    // Built, each knows the name by which it is called.
    let mut root = Cli::command().disable_help_subcommand(true);
    root.build();
    below(&root, &mut out)?;
    Ok(out)
}

/// Writes the pages below a directory, over those that are there.
fn write_pages(dir: &Path, out: &mut Out<'_>) -> Result<(), Failure> {
    std::fs::create_dir_all(dir).map_err(|e| {
        let name = dir.to_string_lossy();
        let why = format!("cannot make the directory `{name}`: {e}");
        Report::from(Diagnostic::new("D007", why).in_file(&name))
    })?;
    for (name, page) in pages()? {
        save::save(&dir.join(&name), &page).map_err(Report::from)?;
        out.line(&crate::diag::render::printable(&dir.join(&name).to_string_lossy()))?;
    }
    Ok(())
}

fn render(page: &mut Vec<u8>) -> io::Result<()> {
    let root = Cli::command();
    clap_mangen::Man::new(root.clone()).source(SOURCE).manual("dmadbg").render(page)?;
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
