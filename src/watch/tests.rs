//! Files that are written, replaced, emptied and deleted, as they are told.
#![allow(clippy::unwrap_used)]

use super::*;
use std::fs;

struct Seen {
    watcher: Watcher,
    news: Receiver<News>,
    dir: tempfile::TempDir,
}

impl Seen {
    fn new() -> Seen {
        let (to, news) = channel();
        let watcher = Watcher::new(move |n| drop(to.send(n))).unwrap();
        Seen { watcher, news, dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        fs::write(self.path(name), text).unwrap();
        self.path(name)
    }

    /// The next news is that exactly these changed.
    fn changed(&self, names: &[&str]) {
        let news = self.news.recv_timeout(Duration::from_secs(10)).unwrap();
        assert_eq!(news, News::Changed(names.iter().map(|n| self.path(n)).collect()));
    }

    /// Nothing is told for some time.
    fn quiet(&self) {
        assert_eq!(self.news.recv_timeout(QUIET * 4), Err(RecvTimeoutError::Timeout));
    }
}

#[test]
fn every_way_of_saving_is_told_once() {
    let s = Seen::new();
    let (a, b) = (s.write("a", "one"), s.write("b", "one"));
    s.watcher.set(&[a.clone(), b.clone()]).unwrap();
    s.quiet();
    // Truncated and written; the same bytes again.
    s.write("a", "two");
    s.changed(&["a"]);
    s.write("a", "two");
    s.changed(&["a"]);
    // Replaced.
    fs::rename(s.write("a.tmp", "three"), &a).unwrap();
    s.changed(&["a"]);
    // Deleted, and made again.
    fs::remove_file(&a).unwrap();
    s.changed(&["a"]);
    s.write("a", "four");
    s.changed(&["a"]);
    // Both at once are one piece of news; a stranger is none.
    s.write("a", "five");
    s.write("b", "five");
    s.changed(&["a", "b"]);
    s.write("c", "x");
    fs::read(&a).unwrap();
    s.quiet();
}

#[test]
fn a_file_that_is_written_piece_by_piece_is_told_when_it_is_quiet() {
    use std::io::Write as _;
    let s = Seen::new();
    let a = s.write("a", "");
    s.watcher.set(std::slice::from_ref(&a)).unwrap();
    let mut file = fs::OpenOptions::new().append(true).open(&a).unwrap();
    for _ in 0..6 {
        file.write_all(b"x").unwrap();
        std::thread::sleep(QUIET / 4);
    }
    s.changed(&["a"]);
    s.quiet();
    assert_eq!(fs::read(&a).unwrap().len(), 6);
}

/// Emptied and closed, and written later; deleted, and made later: one change each, of what
/// it holds in the end. What stays empty, or away, is told.
#[test]
fn what_is_empty_for_a_moment_is_told_when_it_holds_something() {
    let s = Seen::new();
    let a = s.write("a", "one");
    s.watcher.set(std::slice::from_ref(&a)).unwrap();
    for gone in [false, true] {
        let begun = Instant::now();
        match gone {
            true => fs::remove_file(&a).unwrap(),
            false => drop(fs::File::create(&a).unwrap()),
        }
        assert_eq!(s.news.recv_timeout(QUIET * 2), Err(RecvTimeoutError::Timeout));
        s.write("a", "two");
        s.changed(&["a"]);
        // On a machine that is too busy to write in time nothing is shown by this.
        if begun.elapsed() < MOMENT {
            assert_eq!(fs::read(&a).unwrap(), b"two");
            s.quiet();
        }
        while s.news.try_recv().is_ok() {}
        let begun = Instant::now();
        match gone {
            true => fs::remove_file(&a).unwrap(),
            false => drop(fs::File::create(&a).unwrap()),
        }
        s.changed(&["a"]);
        assert!(begun.elapsed() >= MOMENT);
        s.write("a", "three");
        s.changed(&["a"]);
    }
}

#[test]
fn what_never_is_quiet_is_told_all_the_same() {
    let s = Seen::new();
    let a = s.write("a", "");
    s.watcher.set(std::slice::from_ref(&a)).unwrap();
    let begun = Instant::now();
    let mut told = None;
    while told.is_none() && begun.elapsed() < PATIENCE * 4 {
        s.write("a", "x");
        told = s.news.recv_timeout(QUIET / 8).ok();
    }
    assert_eq!(told, Some(News::Changed(vec![a])));
}

#[test]
fn a_directory_that_goes_and_comes_back_is_watched_again() {
    let s = Seen::new();
    fs::create_dir_all(s.path("x/y")).unwrap();
    let a = s.write("x/y/a", "one");
    s.watcher.set(std::slice::from_ref(&a)).unwrap();
    fs::remove_dir_all(s.path("x")).unwrap();
    s.changed(&["x/y/a"]);
    fs::create_dir_all(s.path("x/y")).unwrap();
    std::thread::sleep(QUIET * 3);
    s.write("x/y/a", "two");
    s.changed(&["x/y/a"]);
    s.write("x/y/a", "three");
    s.changed(&["x/y/a"]);
}

#[test]
fn other_inputs_may_be_watched_later_and_the_rest_no_more() {
    let s = Seen::new();
    let (a, b) = (s.write("a", ""), s.write("b", ""));
    s.watcher.set(std::slice::from_ref(&a)).unwrap();
    s.watcher.set(std::slice::from_ref(&b)).unwrap();
    s.write("a", "x");
    s.quiet();
    s.write("b", "x");
    s.changed(&["b"]);
}

#[test]
fn a_directory_of_rings_is_an_input() {
    let s = Seen::new();
    fs::create_dir(s.path("dump")).unwrap();
    s.watcher.set(&[s.path("dump")]).unwrap();
    s.write("dump/0.tx.bin", "x");
    s.changed(&["dump"]);
    s.write("dump/0.tx.bin", "y");
    s.changed(&["dump"]);
}

#[cfg(unix)]
#[test]
fn a_link_is_followed_and_may_be_turned() {
    use std::os::unix::fs::symlink;
    let s = Seen::new();
    fs::create_dir(s.path("far")).unwrap();
    let (one, two) = (s.write("far/one", "1"), s.write("far/two", "22"));
    symlink(&one, s.path("a")).unwrap();
    s.watcher.set(&[s.path("a")]).unwrap();
    s.write("far/one", "11");
    s.changed(&["a"]);
    symlink(&two, s.path("a.tmp")).unwrap();
    fs::rename(s.path("a.tmp"), s.path("a")).unwrap();
    s.changed(&["a"]);
    s.write("far/two", "2222");
    s.changed(&["a"]);
    // What it leads to goes, with its directory, and comes back.
    fs::remove_dir_all(s.path("far")).unwrap();
    s.changed(&["a"]);
    fs::create_dir(s.path("far")).unwrap();
    std::thread::sleep(QUIET * 3);
    s.write("far/two", "2");
    s.changed(&["a"]);
    // A circle leads nowhere, and is watched all the same.
    symlink(s.path("b"), s.path("a.tmp")).unwrap();
    symlink(s.path("a"), s.path("b")).unwrap();
    fs::rename(s.path("a.tmp"), s.path("a")).unwrap();
    s.changed(&["a"]);
    fs::rename(s.write("b.tmp", "x"), s.path("b")).unwrap();
    s.changed(&["a"]);
}

#[cfg(unix)]
#[test]
fn a_link_on_the_way_to_a_file_may_be_turned() {
    use std::os::unix::fs::symlink;
    let s = Seen::new();
    for (dir, text) in [("v1", "1"), ("v2", "22")] {
        fs::create_dir(s.path(dir)).unwrap();
        s.write(&format!("{dir}/a"), text);
    }
    symlink("v1", s.path("now")).unwrap();
    s.watcher.set(&[s.path("now/a")]).unwrap();
    symlink("v2", s.path("now.tmp")).unwrap();
    fs::rename(s.path("now.tmp"), s.path("now")).unwrap();
    s.changed(&["now/a"]);
    s.write("v2/a", "222");
    s.changed(&["now/a"]);
    s.write("v1/a", "111");
    s.quiet();
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_is_still_being_written_is_waited_for() {
    use std::io::Write as _;
    let s = Seen::new();
    let a = s.write("a", "");
    s.watcher.set(std::slice::from_ref(&a)).unwrap();
    let mut file = fs::OpenOptions::new().append(true).open(&a).unwrap();
    let begun = Instant::now();
    file.write_all(b"half").unwrap();
    // Much longer than the quiet time, and shorter than the patience.
    assert_eq!(s.news.recv_timeout(QUIET * 6), Err(RecvTimeoutError::Timeout));
    file.write_all(b" whole").unwrap();
    drop(file);
    s.changed(&["a"]);
    assert!(begun.elapsed() < PATIENCE, "closing it is what was waited for");
    assert_eq!(fs::read(&a).unwrap(), b"half whole");
}

#[test]
fn all_that_is_in_a_directory_may_count() {
    let s = Seen::new();
    fs::create_dir_all(s.path("src/deep/er")).unwrap();
    fs::create_dir_all(s.path("src/.git")).unwrap();
    s.watcher.set_all(&[], &[s.path("src")]).unwrap();
    s.write("src/deep/er/a", "x");
    s.changed(&["src/deep/er/a"]);
    s.write("src/.git/index", "x");
    s.quiet();
    // A directory that is new, and one that goes and comes back.
    fs::create_dir(s.path("src/new")).unwrap();
    std::thread::sleep(QUIET * 3);
    s.write("src/new/b", "x");
    s.changed(&["src/new/b"]);
    fs::remove_dir_all(s.path("src")).unwrap();
    assert!(s.news.recv_timeout(Duration::from_secs(10)).is_ok());
    fs::create_dir(s.path("src")).unwrap();
    std::thread::sleep(QUIET * 3);
    while s.news.try_recv().is_ok() {}
    s.write("src/c", "x");
    s.changed(&["src/c"]);
}
