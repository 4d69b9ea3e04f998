//! Differences as lines for people.

use super::{Change, Diff, Entry, FieldChange, Outcome, Part};
use crate::udma::count_of;

/// The sign in front of a line.
fn sign(c: Change) -> char {
    match c {
        Change::Added => '+',
        Change::Removed => '-',
        Change::Moved => '>',
        Change::Changed => '~',
    }
}

/// The heading of a sort of things.
fn heading(p: Part) -> &'static str {
    match p {
        Part::Setting => "settings",
        Part::Queue => "queues",
        Part::Ring => "rings",
        Part::Region => "regions",
        Part::Content => "contents of memory at the start",
        Part::Register => "registers",
        Part::Variable => "variables",
        Part::Section => "unknown sections",
        Part::Call => "host script",
        Part::Batch => "batches",
        Part::Descriptor => "descriptors",
        Part::Function => "functions",
        Part::Allocation => "allocations",
        Part::Location => "locations",
        Part::Block => "blocks",
        Part::Instruction => "instructions",
    }
}

/// Everything, line by line; of one sort at most `most` entries, the rest counted.
pub fn lines(diff: &Diff, most: usize) -> Vec<String> {
    let mut out = Vec::new();
    let mut sorts: Vec<Part> = diff.entries.iter().map(|e| e.part).collect();
    sorts.extend(diff.more.keys().map(|k| k.0));
    sorts.sort_unstable();
    sorts.dedup();
    for part in sorts {
        out.push(heading(part).to_owned());
        let all = || diff.entries.iter().filter(|e| e.part == part);
        all().take(most).for_each(|e| entry(e, &mut out));
        let more: u64 = diff.more.iter().filter(|(k, _)| k.0 == part).map(|(_, n)| n).sum();
        let left = all().count().saturating_sub(most) as u64 + more;
        if left > 0 {
            out.push(format!("  .. and {left} more"));
        }
    }
    if let Some(o) = &diff.outcome {
        let heading = out.len();
        outcome(o, most, &mut out);
        if out.len() == heading + 1 {
            out.truncate(heading);
        }
    }
    out.extend(diff.bounds.iter().map(|b| format!("bound: {b}")));
    out
}

fn entry(e: &Entry, out: &mut Vec<String>) {
    let place = match &e.at {
        [Some(a), Some(b)] if a == b => a.clone(),
        [Some(a), Some(b)] => format!("{a} -> {b}"),
        [Some(a), None] | [None, Some(a)] => a.clone(),
        [None, None] => String::new(),
    };
    let named = e.at.iter().flatten().any(|at| at.ends_with(&*e.name));
    let text = match (place.is_empty(), named) {
        (true, _) => e.name.clone(),
        (false, true) => place,
        (false, false) => format!("{place}: {}", e.name),
    };
    let one = matches!(e.fields.as_slice(), [f] if f.name == e.name);
    if one {
        out.push(format!(
            "  {} {}",
            sign(e.change),
            e.fields.iter().map(field).collect::<String>()
        ));
        return;
    }
    out.push(format!("  {} {text}", sign(e.change)));
    out.extend(e.fields.iter().map(|f| format!("      {}", field(f))));
}

fn field(f: &FieldChange) -> String {
    let side = |v: &Option<String>| v.clone().unwrap_or_else(|| "nothing".to_owned());
    format!("{}: {} -> {}", f.name, side(&f.from), side(&f.to))
}

fn outcome(o: &Outcome, most: usize, out: &mut Vec<String>) {
    out.push("outcome".to_owned());
    for m in o.memory.iter().take(most) {
        let [a, b] = m.cells;
        let only = match m.only {
            Some(0) => ", memory that only the left has",
            Some(_) => ", memory that only the right has",
            None => "",
        };
        let s = if m.count == 1 { "" } else { "s" };
        out.push(format!(
            "  ~ memory {}+{:#x}: {a} -> {b}, the first of {} byte{s}{only}",
            m.name, m.offset, m.count
        ));
    }
    if o.memory.len() > most {
        out.push(format!("  .. and {} more", o.memory.len() - most));
    }
    for f in o.findings.iter().take(most) {
        let [a, b] = f.count;
        let sign = if b > a { '+' } else { '-' };
        out.push(format!(
            "  {sign} {} {a} -> {b_times}: {}",
            f.code,
            f.message,
            b_times = count_of(b, "time")
        ));
    }
    for (ret, [a, b]) in &o.returns {
        out.push(format!("  ~ calls that returned {ret}: {a} -> {b}"));
    }
    out.extend(o.numbers().iter().map(|f| format!("    {}", field(f))));
}

/// What it comes to, in one line.
pub fn summary(diff: &Diff) -> String {
    let counts = diff.counts();
    let of = |c: Change| counts.iter().filter(|(k, _)| k.1 == c).map(|(_, n)| n).sum::<u64>();
    let all: Vec<String> = Change::ALL
        .into_iter()
        .filter(|c| of(*c) > 0)
        .map(|c| format!("{} {}", of(c), c.name()))
        .collect();
    let what = if all.is_empty() { "no difference".to_owned() } else { all.join(", ") };
    let outcome = match &diff.outcome {
        None => "",
        Some(o) if o.ran.iter().any(|r| !r.finished) => {
            "; the outcome is not known: a run was stopped"
        }
        Some(o) if o.is_same() => "; same outcome",
        Some(_) => "; another outcome",
    };
    format!("{what}{outcome}")
}
