//! What an action does to memory (`docs/execution.md`, "Transfers").

use super::action::{Action, Group};
use crate::bir::compute::{cast, cce, replicate, transpose};
use crate::bir::memory::{Memory, MemoryError, Read};
use crate::bir::module::{At, Finding, Part, Pos};
use crate::bir::{Layout, Op, Transfer, Walk};

/// The bytes of a walk in element order, and the first address among them that nobody wrote.
pub fn gather(mem: &dyn Read, walk: &Walk) -> (Vec<u8>, Option<u64>) {
    let mut out = vec![0; walk.bytes() as usize];
    let (mut at, mut hole) = (0, None);
    for (from, len) in walk.runs() {
        let end = at + len as usize;
        let found = mem.read(from, &mut out[at..end]);
        hole = hole.or(found);
        at = end;
    }
    (out, hole)
}

/// Writes bytes to a walk in element order; of a place that is visited twice the last stays.
///
/// # Errors
/// [`MemoryError::Full`].
pub fn scatter(memory: &mut Memory, walk: &Walk, bytes: &[u8]) -> Result<(), MemoryError> {
    let mut rest = bytes;
    for (at, len) in walk.runs() {
        let (now, after) = rest.split_at(rest.len().min(len as usize));
        memory.write(at, now)?;
        rest = after;
    }
    Ok(())
}

/// The packed bytes that a transfer writes, and the first address it reads that nobody wrote.
/// Shapes are as the resolver has checked them; it takes what is there of others.
pub fn result(mem: &dyn Read, t: &Transfer) -> (Vec<u8>, Option<u64>) {
    let mut hole = None;
    let mut read = |walk: &Walk| {
        let (bytes, found) = gather(mem, walk);
        hole = hole.or(found);
        bytes
    };
    let to = t.dest.dtype;
    let Some(first) = t.sources.first() else { return (Vec::new(), None) };
    let bytes = match &t.op {
        Op::Copy => cast(&read(&first.walk), first.dtype, to),
        Op::Transpose(op) => {
            let mut dims = [1; 4];
            for (to, dim) in dims.iter_mut().zip(&first.walk.dims) {
                *to = dim.num;
            }
            let moved = transpose(&read(&first.walk), first.walk.elem, dims, *op);
            cast(&moved, first.dtype, to)
        }
        Op::Replicate => {
            let times = t.dest.walk.count().checked_div(first.walk.count()).unwrap_or(0);
            replicate(&cast(&read(&first.walk), first.dtype, to), times)
        }
        Op::Cce { op, constants } => {
            let data: Vec<Vec<u8>> = t.sources.iter().map(|s| read(&s.walk)).collect();
            let scaled = t.sources.iter().zip(&data).zip(constants);
            let scaled: Vec<_> = scaled.map(|((s, d), c)| (&d[..], s.dtype, *c)).collect();
            cce(*op, &scaled, to)
        }
    };
    (bytes, hole)
}

/// Performs what [`super::Control::fetch`] has asked for. Returns how many bytes were written;
/// `found` is called with warnings about reads of what nobody wrote.
///
/// # Errors
/// Memory is full (B089).
pub fn apply(
    memory: &mut Memory,
    layout: &Layout,
    action: &Action,
    found: &mut dyn FnMut(Finding),
) -> Result<u64, Finding> {
    let full = |pos: Pos| move |e: MemoryError| place(pos, "B089", e.to_string());
    match action {
        Action::Nothing => Ok(0),
        Action::Transfers(groups) => {
            let mut moved = 0;
            for g in groups {
                moved += perform(memory, layout, g, found).map_err(full(g.pos))?;
            }
            Ok(moved)
        }
        Action::Store { pos, walk, bytes } => {
            scatter(memory, walk, bytes).map_err(full(*pos))?;
            Ok(bytes.len() as u64)
        }
        Action::Opaque { pos, writes } => {
            for (walk, bytes) in writes {
                scatter(memory, walk, bytes).map_err(full(*pos))?;
            }
            Ok(writes.iter().map(|w| w.1.len() as u64).sum())
        }
    }
}

/// All sources of the group are read before anything is written.
fn perform(
    memory: &mut Memory,
    layout: &Layout,
    group: &Group,
    found: &mut dyn FnMut(Finding),
) -> Result<u64, MemoryError> {
    let mut unwritten = group.unwritten_index.map(|at| (at, "an index"));
    let mut results = Vec::with_capacity(group.transfers.len());
    for t in &group.transfers {
        let (bytes, hole) = result(memory, t);
        if let Some(at) = hole.filter(|_| !t.can_read_uninit && unwritten.is_none()) {
            unwritten = Some((at, "bytes"));
        }
        results.push(bytes);
    }
    if let Some((at, what)) = unwritten {
        let text = format!("reads {what} that nobody wrote: {}", locate(layout, at));
        found(place(group.pos, "B088", text));
    }
    let mut moved = 0;
    for (t, bytes) in group.transfers.iter().zip(&results) {
        scatter(memory, &t.dest.walk, bytes)?;
        moved += bytes.len() as u64;
    }
    Ok(moved)
}

fn place(pos: Pos, code: &'static str, text: String) -> Finding {
    Finding::new(code, At::Inst(pos, Part::Whole), text)
}

/// A flat address as a reader knows it: location and row-major byte in it.
pub fn locate(layout: &Layout, at: u64) -> String {
    match layout.at(at).and_then(|p| Some((p, p.position(at)?))) {
        Some((p, byte)) => format!("`{}` byte {byte}", p.name),
        None => format!("address {at:#x}"),
    }
}
