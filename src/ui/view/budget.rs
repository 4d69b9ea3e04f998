//! The budget: bars of what is used up, the worst first.

use crate::diag::Severity;
use crate::diag::render::printable;
use crate::engine::session::Share;
use crate::ui::layout::Pane;
use crate::ui::model::Model;
use crate::ui::rows::{Hit, Row, clip};
use ratatui::style::Style;

/// From this share on (thousandths) little is left.
const TIGHT: u64 = 750;
/// Cells of a bar.
const BAR: usize = 20;

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

/// A row for each share.
pub fn rows(model: &Model, width: usize, height: usize) -> Vec<Row> {
    let t = model.theme;
    let shares = &model.derived.shares;
    let focused = model.focus == Pane::Budget;
    let name = (width / 4).clamp(14, 30);
    let bar = if width >= 60 { BAR } else { 8 };
    let first = (model.budget_cursor + 1).saturating_sub(height.max(1));
    let mut out = Vec::new();
    if shares.is_empty() {
        out.push(Row::text(clip("no rings, nothing waits", width), t.dim()));
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
        row.push(format!("{} of {}  ", share.used, share.all), t.text());
        let room = width.saturating_sub(row.width());
        row.push(clip(&printable(&share.words), room), t.dim());
        if focused && k == model.budget_cursor {
            row = row.restyled(|s| t.selected(s));
        }
        out.push(row.hits(Hit::Budget(k)));
    }
    if let Some((_, budget)) = &model.derived.budget {
        let mut left: Vec<String> =
            budget.refused.iter().map(|r| format!("not counted: {r}")).collect();
        if !budget.complete {
            left.push("counting ended early: there are too many descriptors".to_owned());
        }
        for line in left.into_iter().take(height.saturating_sub(out.len())) {
            let text = clip(&printable(&line), width);
            out.push(Row::text(text, t.severity(Severity::Warning)));
        }
    }
    out
}
