//! `decode`: a row per slot of a file, or what words are.

use super::args::{DecodeArgs, RingOpts};
use super::inputs::{Input, RingSet, Window};
use super::numbers::{Token, token};
use super::out::{Failure, Out, Status, Style};
use super::{inputs, rows, words};
use crate::check::RingView;
use crate::check::view::scan;
use crate::diag::{Diagnostic, Report};
use crate::load::module::ModuleOptions;
use crate::udma::{Dir, Generation, count_of};
use std::io;
use std::path::PathBuf;

/// Neighbouring empty slots from which on the text says how many there are.
const FOLD: u64 = 4;

/// Slots of interleaved rings that are read at once.
const BLOCK: usize = 256;

/// Runs `decode`.
///
/// # Errors
/// [`Failure`] for input that cannot be read.
pub fn run(args: &DecodeArgs, out: &mut Out<'_>) -> Result<Status, Failure> {
    if let Some(tokens) = tokens(args)? {
        let arch = args.rings.arch.unwrap_or(Generation::V3);
        return words::run(&tokens, args.kind, (args.rings.ring, arch), out);
    }
    let input =
        inputs::open(&args.inputs, &args.rings, &ModuleOptions::default(), inputs::Depth::Browse)?;
    print(&input, &args.rings, args.out.all, out)?;
    out.findings(&input.report)?;
    Ok(Status::Fine)
}

/// The arguments as words; `None` where they are files.
fn tokens(args: &DecodeArgs) -> Result<Option<Vec<Token>>, Report> {
    let usage = |text: String| Report::from(Diagnostic::new("S011", text));
    let named = args.rings.tx.is_some() || args.rings.rx.is_some();
    if args.inputs.is_empty() {
        return match named {
            true => Ok(None),
            false => Err(usage("give a file, or words such as 0x0d001000".to_owned())),
        };
    }
    let read = |text: &PathBuf| if text.exists() { None } else { token(text.to_str()?) };
    let found: Vec<Token> = args.inputs.iter().filter_map(read).collect();
    if found.len() == args.inputs.len() {
        return Ok(Some(found));
    }
    if args.kind.is_some() || !found.is_empty() {
        let odd = args.inputs.iter().find(|t| read(t).is_none());
        let odd = odd.map(|t| t.to_string_lossy()).unwrap_or_default();
        return Err(usage(format!("`{odd}` is not a word")));
    }
    Ok(None)
}

/// Prints every ring of an input.
///
/// # Errors
/// Those of the output.
pub fn print(input: &Input, opts: &RingOpts, all: bool, out: &mut Out<'_>) -> io::Result<()> {
    if !out.json() {
        let text = format!("generation {}: {}", input.arch, input.arch_why);
        let text = out.styled(Style::Dim, &text);
        out.line(&text)?;
    }
    for set in &input.sets {
        if set.interleaved {
            pairs(set, opts, input.arch, out)?;
            continue;
        }
        for dir in Dir::BOTH {
            if let Some(ring) = set.ring(dir) {
                let window = Window::new(ring, opts.slots);
                heading(&set.name, &format!("{dir}, {}", count_of(ring.len(), "slot")), out)?;
                let fold = if all { u64::MAX } else { FOLD };
                one(&window, (dir, window.first()), (input.arch, fold), out)?;
            }
        }
    }
    out.flush()
}

fn heading(name: &str, what: &str, out: &mut Out<'_>) -> io::Result<()> {
    if out.json() {
        return Ok(());
    }
    let name = crate::diag::render::printable(name);
    let title = out.styled(Style::Bold, &format!("{name}: {what}"));
    out.line(&title)?;
    let columns = out.styled(Style::Dim, rows::HEADING);
    out.line(&columns)
}

/// One ring from its first to its last slot; `first` is the number of the view's first slot.
fn one(
    ring: &dyn RingView,
    (dir, first): (Dir, u64),
    (arch, fold): (Generation, u64),
    out: &mut Out<'_>,
) -> io::Result<()> {
    let mut ended = Ok(());
    let mut empty = 0u64;
    let json = out.json();
    scan(ring, 0, ring.len(), |index, desc| {
        let index = first + index;
        if json {
            rows::push_json(out.buffer(), index, dir, desc, arch);
            out.buffer().push('\n');
        } else if desc.is_zero() {
            empty += 1;
            return true;
        } else {
            print_empty(std::mem::take(&mut empty), index, (dir, arch, fold), out);
            coloured(index, dir, desc, arch, out);
        }
        ended = out.spill();
        ended.is_ok()
    });
    ended?;
    print_empty(empty, first + ring.len(), (dir, arch, fold), out);
    out.spill()
}

/// The empty slots just before `end`: each, or how many.
fn print_empty(n: u64, end: u64, (dir, arch, fold): (Dir, Generation, u64), out: &mut Out<'_>) {
    if n > fold {
        let text = format!(
            "      ..   {n_slots} never written, {} to {}",
            end - n,
            end - 1,
            n_slots = count_of(n, "slot")
        );
        let text = out.styled(Style::Dim, &text);
        out.buffer().push_str(&text);
        out.buffer().push('\n');
        return;
    }
    for index in end - n..end {
        rows::push_text(out.buffer(), index, dir, crate::udma::Desc::default(), arch);
        out.buffer().push('\n');
    }
}

fn coloured(index: u64, dir: Dir, desc: crate::udma::Desc, arch: Generation, out: &mut Out<'_>) {
    let style = if dir == Dir::Tx { Style::Tx } else { Style::Rx };
    let (on, off) = out.marks(style);
    let buffer = out.buffer();
    buffer.push_str(on);
    rows::push_text(buffer, index, dir, desc, arch);
    buffer.push_str(off);
    buffer.push('\n');
}

/// Interleaved pairs, in the order in which they lie.
fn pairs(set: &RingSet, opts: &RingOpts, arch: Generation, out: &mut Out<'_>) -> io::Result<()> {
    let slots = |dir| set.ring(dir).map_or(0, RingView::len);
    heading(
        &set.name,
        &format!("pairs, {} tx and {} rx slots", slots(Dir::Tx), slots(Dir::Rx)),
        out,
    )?;
    let last = slots(Dir::Tx).max(slots(Dir::Rx));
    let (from, to) = opts.slots.map_or((0, last), |r| (r.0, r.1.min(last)));
    let mut blocks = Dir::BOTH.map(|_| [crate::udma::Desc::default(); BLOCK]);
    let mut at = from;
    while at < to {
        let want = usize::try_from(to - at).unwrap_or(BLOCK).min(BLOCK);
        let mut got = [0; 2];
        for ((dir, block), n) in Dir::BOTH.into_iter().zip(&mut blocks).zip(&mut got) {
            *n = set.ring(dir).map_or(0, |r| r.read(at, &mut block[..want]));
        }
        let most = got.into_iter().max().unwrap_or(0);
        if most == 0 {
            break;
        }
        for (i, index) in (0..most).zip(at..) {
            for ((dir, block), n) in Dir::BOTH.into_iter().zip(&blocks).zip(got) {
                let Some(&desc) = block[..n].get(i) else { continue };
                if out.json() {
                    rows::push_json(out.buffer(), index, dir, desc, arch);
                    out.buffer().push('\n');
                } else {
                    coloured(index, dir, desc, arch, out);
                }
            }
            out.spill()?;
        }
        at += most as u64;
    }
    Ok(())
}
