//! What the screen keeps from one time to the next: lines typed, and how panes are arranged
//! (`docs/config.md`, "What is kept"). Two small files; that one cannot be read or written is
//! no reason to disturb anybody.

use crate::learn::progress::Progress;
use crate::limits::{MAX_CONFIG_BYTES, MAX_HISTORY, MAX_LINE_BYTES, MAX_PROGRESS_BYTES};
use crate::load::save;
use crate::ui::Kept;
use crate::ui::arrange::Arrangement;
use std::path::{Path, PathBuf};

/// The folder: `dmadbg` in `$XDG_STATE_HOME`, else in `~/.local/state`.
fn folder() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let state = set("XDG_STATE_HOME").or_else(|| Some(set("HOME")?.join(".local/state")))?;
    Some(state.join("dmadbg"))
}

/// The text of a small file; empty where there is none.
fn text(path: &Path) -> String {
    small_text(path, MAX_CONFIG_BYTES)
}

/// The text of a file of at most so many bytes; empty where there is none.
fn small_text(path: &Path, most: u64) -> String {
    let small = std::fs::metadata(path).is_ok_and(|m| m.is_file() && m.len() <= most);
    if small { std::fs::read_to_string(path).unwrap_or_default() } else { String::new() }
}

/// The file of the progress of lessons.
const PROGRESS: &str = "lessons";

/// The progress of lessons; none where there is no file.
pub fn progress() -> Progress {
    let text = folder().map(|f| small_text(&f.join(PROGRESS), MAX_PROGRESS_BYTES));
    Progress::from_text(&text.unwrap_or_default())
}

/// Keeps which tasks of a lesson are solved, beside what was kept before.
pub fn keep_lesson(name: &str, solved: &[bool]) {
    let Some(folder) = folder() else { return };
    let old = progress();
    let mut new = old.clone();
    new.add(name, solved);
    if new == old || std::fs::create_dir_all(&folder).is_err() {
        return;
    }
    // Nobody is told, as with the rest of what is kept.
    let _ = save::save(&folder.join(PROGRESS), new.to_text().as_bytes());
}

/// What was kept the last time; nothing where it is to be left aside.
pub fn load(skip: bool) -> Kept {
    let Some(folder) = folder().filter(|_| !skip) else { return Kept::default() };
    let lines = text(&folder.join("history"));
    let usable =
        |l: &&str| !l.is_empty() && l.len() <= MAX_LINE_BYTES && !l.contains(char::is_control);
    let all: Vec<String> = lines.lines().filter(usable).map(str::to_owned).collect();
    let from = all.len().saturating_sub(MAX_HISTORY);
    let arrangement = Arrangement::from_text(&text(&folder.join("panes")));
    Kept { history: all.into_iter().skip(from).collect(), arrangement, solved: Vec::new() }
}

/// Keeps it for the next time.
pub fn keep(kept: &Kept) {
    let Some(folder) = folder() else { return };
    let old = load(false);
    let same =
        kept.history == old.history && kept.arrangement.to_text() == old.arrangement.to_text();
    if same || std::fs::create_dir_all(&folder).is_err() {
        return;
    }
    // The newest lines, as many as will be read again.
    let mut room = MAX_CONFIG_BYTES as usize;
    let fits = |l: &&String| {
        let fits = l.len() < room;
        room = room.saturating_sub(l.len() + 1);
        fits
    };
    let mut lines: Vec<&String> = kept.history.iter().rev().take_while(fits).collect();
    lines.reverse();
    let text: String = lines.into_iter().map(|l| format!("{l}\n")).collect();
    for (name, text) in [("history", text), ("panes", kept.arrangement.to_text())] {
        // Nobody is told: there is no screen any more, and nothing of the work is lost.
        let _ = save::save(&folder.join(name), text.as_bytes());
    }
}
