//! The budget: bars of what is used up, the worst first.

use crate::diag::Severity;
use crate::diag::render::printable;
use crate::engine::session::Share;
use crate::ui::layout::Pane;
use crate::ui::model::Model;
use crate::ui::rows::{Hit, Row, clip, width, wrap};
use ratatui::style::Style;

/// From this share on (thousandths) little is left.
const TIGHT: u64 = 750;
/// Most cells of a bar.
const BAR: usize = 20;
/// Columns of the state in a word, and of the share.
const STATE: usize = 8;
const PERCENT: usize = 7;
/// Columns for the words behind the numbers, before the bar has more.
const WORDS: usize = 28;

/// How it stands, as a word and a style.
fn state(model: &Model, share: &Share) -> (&'static str, Style) {
    let t = model.theme;
    match share.thousandths() {
        _ if !share.bound => ("spends", t.dim()),
        _ if share.used > share.all => ("OVER", t.error()),
        1000.. => ("full", t.severity(Severity::Warning)),
        TIGHT.. => ("tight", t.severity(Severity::Warning)),
        _ if share.used == 0 => ("unused", t.dim()),
        _ => ("ok", t.good()),
    }
}

fn percent(share: &Share) -> String {
    let n = share.thousandths();
    if n >= 100_000 {
        return ">9999%".to_owned();
    }
    format!("{}.{}%", n / 10, n % 10)
}

/// How many there are, and the worst.
pub fn title(model: &Model) -> String {
    match model.derived.shares.first().filter(|s| s.bound) {
        None => "nothing is bounded here".to_owned(),
        Some(worst) => {
            let name = printable(&model.share_name(worst));
            format!("worst: {name}, {} of {}, {}", worst.used, worst.all, percent(worst))
        }
    }
}

/// Which columns there is room for.
struct Columns {
    name: usize,
    bar: usize,
    used: usize,
}

impl Columns {
    /// Names and numbers whole where that is possible; the bar has what they and some words leave.
    fn new<'a>(
        model: &Model,
        shown: impl Iterator<Item = &'a Share> + Clone,
        room: usize,
    ) -> Columns {
        let name = |s: &Share| width(&printable(&model.share_name(s)));
        let names = shown.clone().map(name).max().unwrap_or(0);
        let used = shown.map(|s| width(&used_of(s))).max().unwrap_or(0);
        let name = names.clamp(14, (room / 3).max(14));
        let left = room.saturating_sub(name + 1 + STATE + PERCENT + used + 2);
        let bar = left.saturating_sub(WORDS).clamp(8, BAR);
        Columns { name, bar, used }
    }

    /// Columns that an entry would need.
    fn needs(&self, share: &Share) -> usize {
        self.name + 1 + self.bar + STATE + PERCENT + self.used + 2 + width(&printable(&share.words))
    }
}

/// How much of how much.
fn used_of(share: &Share) -> String {
    format!("{} of {}", share.used, share.all)
}

/// A row for each share.
pub fn rows(model: &Model, room: usize, height: usize) -> Vec<Row> {
    let t = model.theme;
    let shares = &model.derived.shares;
    let focused = model.focus == Pane::Budget;
    let first = (model.budget_cursor + 1).saturating_sub(height.max(1));
    let cols = Columns::new(model, shares.iter().skip(first).take(height), room);
    let (name, bar) = (cols.name, cols.bar);
    let mut out = Vec::new();
    if shares.is_empty() {
        out.push(Row::text(clip("no rings, nothing waits", room), t.dim()));
    }
    for (k, share) in shares.iter().enumerate().skip(first).take(height) {
        let (word, style) = state(model, share);
        let mut row = Row::text(
            format!("{:<name$} ", clip(&printable(&model.share_name(share)), name)),
            t.text(),
        );
        let full = (share.thousandths().min(1000) as usize * bar).div_ceil(1000);
        let (on, off) = if t.ascii { ("#", ".") } else { ("█", "░") };
        row.push(on.repeat(full), style);
        row.push(off.repeat(bar - full), t.dim());
        row.push(format!(" {word:<6} "), style);
        row.push(format!("{:>6} ", percent(share)), t.strong());
        row.push(format!("{:<w$}  ", used_of(share), w = cols.used), t.text());
        let left = room.saturating_sub(row.width());
        row.push(clip(&printable(&share.words), left), t.dim());
        if focused && k == model.budget_cursor {
            row = row.restyled(|s| t.selected(s));
        }
        out.push(row.hits(Hit::Budget(k)));
    }
    // What has no room beside the bar, of the one with the cursor.
    let cut = |s: &Share| cols.needs(s) > room;
    if let Some(share) = shares.get(model.budget_cursor).filter(|s| focused && cut(s)) {
        let (across, _) = t.lines();
        let mut head = Row::text(format!("{across} "), t.border());
        head.push(clip(&printable(&model.share_name(share)), room.saturating_sub(4)), t.strong());
        head.push(" ", t.text());
        let rest = room.saturating_sub(head.width());
        let mut whole = vec![head.with(across.to_string().repeat(rest), t.border())];
        let words = wrap(&printable(&share.words), room.saturating_sub(1));
        whole.extend(words.into_iter().map(|l| Row::text(format!(" {l}"), t.text())));
        if out.len() + whole.len() <= height {
            out.extend(whole);
        }
    }
    if let Some((_, budget)) = &model.derived.budget {
        let mut left: Vec<String> =
            budget.refused.iter().map(|r| format!("not counted: {r}")).collect();
        if !budget.complete {
            left.push("counting ended early: there are too many descriptors".to_owned());
        }
        for line in left.into_iter().take(height.saturating_sub(out.len())) {
            let text = clip(&printable(&line), room);
            out.push(Row::text(text, t.severity(Severity::Warning)));
        }
    }
    out
}
