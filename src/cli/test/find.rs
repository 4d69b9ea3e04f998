//! Which files to look at: those that are named, and those below directories that are.

use crate::diag::{Diagnostic, Report};
use crate::limits::{MAX_TEST_DEPTH, MAX_TEST_FILES};
use crate::script::filetest::Grammar;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A file to look at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate {
    /// Its path, as it was come by.
    pub path: PathBuf,
    /// It was named on the command line.
    pub named: bool,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Search {
    /// Files, in the order of their paths, each once.
    pub files: Vec<Candidate>,
    /// What cannot be read.
    pub report: Report,
    /// Every real directory and file that was come by, so that no link leads round in circles.
    seen: BTreeSet<PathBuf>,
    full: bool,
}

/// Looks at all paths.
pub fn find(paths: &[PathBuf]) -> Search {
    let mut search = Search::default();
    // What is named comes first, so that a walk that comes by it again passes it over.
    let (dirs, files): (Vec<&PathBuf>, Vec<&PathBuf>) = paths.iter().partition(|p| p.is_dir());
    files.into_iter().for_each(|p| search.file(p, true));
    dirs.into_iter().for_each(|p| search.dir(p, 0));
    search.files.sort();
    search
}

impl Search {
    fn refuse(&mut self, code: &'static str, path: &Path, why: String) {
        self.report.push(Diagnostic::new(code, why).in_file(&path.to_string_lossy()));
    }

    fn cannot(&mut self, path: &Path, e: &std::io::Error) {
        let why = format!("cannot read `{}`: {e}", path.display());
        self.refuse("D007", path, why);
    }

    /// Whether this is the first path to it.
    fn is_new(&mut self, path: &Path) -> bool {
        match path.canonicalize() {
            Ok(real) => self.seen.insert(real),
            Err(e) => {
                self.cannot(path, &e);
                false
            }
        }
    }

    fn file(&mut self, path: &Path, named: bool) {
        if self.full || !self.is_new(path) {
            return;
        }
        if self.files.len() >= MAX_TEST_FILES {
            self.full = true;
            let why = format!("there are more than {MAX_TEST_FILES} files");
            return self.refuse("D025", path, why);
        }
        self.files.push(Candidate { path: path.to_owned(), named });
    }

    fn dir(&mut self, path: &Path, depth: usize) {
        if self.full || !self.is_new(path) {
            return;
        }
        if depth > MAX_TEST_DEPTH {
            let why = format!("directories are nested deeper than {MAX_TEST_DEPTH}");
            return self.refuse("D025", path, why);
        }
        let entries = match fs::read_dir(path) {
            Ok(entries) => entries,
            Err(e) => return self.cannot(path, &e),
        };
        let mut below = Vec::new();
        for entry in entries {
            match entry {
                Ok(entry) => below.push(entry.path()),
                Err(e) => self.cannot(path, &e),
            }
        }
        below.sort();
        for path in below {
            // A link that leads nowhere is no test.
            let Ok(meta) = fs::metadata(&path) else { continue };
            let hidden = path.file_name().is_some_and(|n| n.to_string_lossy().starts_with('.'));
            if meta.is_dir() && !hidden {
                self.dir(&path, depth + 1);
            } else if meta.is_file() && Grammar::of(&path.to_string_lossy()).is_some() {
                self.file(&path, false);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn names(search: &Search, root: &Path) -> Vec<String> {
        let name = |c: &Candidate| c.path.strip_prefix(root).unwrap().display().to_string();
        search.files.iter().map(name).collect()
    }

    #[test]
    fn a_walk_takes_each_file_once_in_the_order_of_paths() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        fs::create_dir_all(root.join("b/c")).unwrap();
        fs::create_dir(root.join(".git")).unwrap();
        for name in ["z.dbg", "b/a.bir", "b/c/x.dma", "b/y.json", "b/n", ".git/q.bir"] {
            fs::write(root.join(name), "").unwrap();
        }
        let all = find(&[root.to_owned(), root.join("b"), root.join("z.dbg")]);
        assert_eq!(names(&all, root), ["b/a.bir", "b/c/x.dma", "z.dbg"]);
        assert!(all.files[2].named && !all.files[0].named && all.report.is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn links_that_lead_round_in_circles_or_nowhere_do_no_harm() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        fs::create_dir(root.join("a")).unwrap();
        fs::write(root.join("a/x.bir"), "").unwrap();
        symlink(root, root.join("a/up")).unwrap();
        symlink(root.join("a/x.bir"), root.join("a/y.bir")).unwrap();
        symlink(root.join("nowhere"), root.join("a/z.bir")).unwrap();
        let all = find(&[root.to_owned()]);
        assert_eq!(names(&all, root), ["a/x.bir"]);
        assert!(all.report.is_empty(), "{:?}", all.report);
        assert_eq!(find(&[root.join("a/z.bir")]).report.items[0].code, "D007");
    }

    #[test]
    fn a_tree_that_is_too_deep_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let deep = (0..MAX_TEST_DEPTH + 2).fold(dir.path().to_owned(), |p, _| p.join("d"));
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("x.bir"), "").unwrap();
        let all = find(&[dir.path().to_owned()]);
        assert!(all.files.is_empty() && all.report.items[0].code == "D025");
    }
}
