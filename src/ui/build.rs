//! A command that is run before the files are read again (`docs/reload.md`, "A command first").
//!
//! It runs in a process group of its own, which is ended with the screen, with nothing to read
//! from; what it writes is kept as far as it fits. Part of the shell: it waits and reads in threads
//! of its own.

use crate::limits::MAX_BUILD_OUTPUT;
use std::collections::VecDeque;
use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Between two looks at what ends soon.
const LOOK: Duration = Duration::from_millis(5);
/// How long a command's streams are read on after its end.
const LINGER: Duration = Duration::from_millis(500);
/// How long it has to end when it is asked to, before it is made to.
const GRACE: Duration = Duration::from_millis(300);

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// It said that all went well.
    pub well: bool,
    /// How it ended, in words.
    pub words: String,
    /// The last lines that it wrote, on either stream, as they came.
    pub output: Vec<String>,
}

/// What is kept of an output: its end.
#[derive(Debug, Default)]
struct Tail {
    bytes: VecDeque<u8>,
    cut: bool,
}

impl Tail {
    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        let more = self.bytes.len().saturating_sub(MAX_BUILD_OUTPUT);
        self.cut |= more > 0;
        self.bytes.drain(..more);
    }

    fn lines(&mut self) -> Vec<String> {
        let cut = self.cut.then(|| "..".to_owned());
        let text = String::from_utf8_lossy(self.bytes.make_contiguous()).into_owned();
        cut.into_iter().chain(text.lines().map(str::to_owned)).collect()
    }
}

/// A command that runs. It is ended, with all that it started, when this is dropped.
#[derive(Debug)]
pub struct Build {
    group: u32,
    /// The command is over: its group is nobody's, or another's, from now on.
    over: Arc<Mutex<bool>>,
}

impl Build {
    /// Starts a command of the shell; `end` is called from a thread of its own when it is over.
    ///
    /// # Errors
    /// What the system says that starts none.
    pub fn start(command: &str, end: impl FnOnce(Ended) + Send + 'static) -> io::Result<Build> {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]);
        shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut shell, 0);
        let mut child = shell.spawn()?;
        let tail: Arc<Mutex<Tail>> = Arc::default();
        let mut readers = Vec::new();
        if let Some(out) = child.stdout.take() {
            readers.push(reader(out, tail.clone()));
        }
        if let Some(err) = child.stderr.take() {
            readers.push(reader(err, tail.clone()));
        }
        let over: Arc<Mutex<bool>> = Arc::default();
        let build = Build { group: child.id(), over: over.clone() };
        thread::Builder::new().name("build".into()).spawn(move || {
            end(wait(child, readers, &tail, &over));
        })?;
        Ok(build)
    }
}

impl Drop for Build {
    fn drop(&mut self) {
        let begun = Instant::now();
        if !self.signal(false) {
            return;
        }
        while begun.elapsed() < GRACE {
            thread::sleep(LOOK);
            if *self.over.lock().unwrap_or_else(PoisonError::into_inner) {
                return;
            }
        }
        self.signal(true);
    }
}

impl Build {
    /// Asks the command and all that it started to end, or makes them; false where it is over.
    fn signal(&self, hard: bool) -> bool {
        // While this is held the command is not waited for: its number is not another's.
        let over = self.over.lock().unwrap_or_else(PoisonError::into_inner);
        #[cfg(unix)]
        if let Some(pid) = i32::try_from(self.group).ok().and_then(rustix::process::Pid::from_raw)
            && !*over
        {
            use rustix::process::{Signal, kill_process_group};
            // It may have ended just now.
            let _ = kill_process_group(pid, if hard { Signal::KILL } else { Signal::TERM });
            let _ = kill_process_group(pid, Signal::CONT);
        }
        #[cfg(not(unix))]
        let _ = hard;
        !*over
    }
}

fn reader(
    mut from: impl Read + Send + 'static,
    tail: Arc<Mutex<Tail>>,
) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name("output".into()).spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(n @ 1..) = from.read(&mut bytes) {
            tail.lock().unwrap_or_else(PoisonError::into_inner).push(&bytes[..n]);
        }
    })
}

fn wait(
    mut child: Child,
    readers: Vec<io::Result<JoinHandle<()>>>,
    tail: &Mutex<Tail>,
    over: &Mutex<bool>,
) -> Ended {
    // Waited for without taking its number away, which is done while nobody ends the group.
    #[cfg(unix)]
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        use rustix::process::{WaitId, WaitIdOptions, waitid};
        let until = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while waitid(WaitId::Pid(pid), until).is_err_and(|e| e == rustix::io::Errno::INTR) {}
    }
    let ended = {
        let mut over = over.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = child.wait();
        *over = true;
        ended
    };
    // What it wrote last is read; what runs on behind it is not waited for.
    let begun = Instant::now();
    let mut readers: Vec<JoinHandle<()>> = readers.into_iter().flatten().collect();
    while readers.iter().any(|r| !r.is_finished()) && begun.elapsed() < LINGER {
        thread::sleep(LOOK);
    }
    for r in readers.drain(..).filter(JoinHandle::is_finished) {
        let _ = r.join();
    }
    let output = tail.lock().unwrap_or_else(PoisonError::into_inner).lines();
    match ended {
        Ok(status) => Ended { well: status.success(), words: words(status), output },
        Err(e) => Ended { well: false, words: e.to_string(), output },
    }
}

fn words(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("ended by signal {signal}");
    }
    status.code().map_or("ended".to_owned(), |code| format!("exit status {code}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    fn run(command: &str) -> Ended {
        let (to, from) = channel();
        let _build = Build::start(command, move |e| drop(to.send(e))).unwrap();
        from.recv_timeout(Duration::from_secs(20)).unwrap()
    }

    #[test]
    fn how_it_ends_and_what_it_wrote_is_told() {
        let e = run("echo one; echo two >&2; exit 3");
        assert!(!e.well);
        assert_eq!(e.words, "exit status 3");
        let mut lines = e.output;
        lines.sort();
        assert_eq!(lines, ["one", "two"]);
        assert!(run("true").well);
        assert_eq!(run("kill -9 $$").words, "ended by signal 9");
        // It has nothing to read, and waits for nobody.
        assert!(run("cat").well);
        assert_eq!(run("nonesuch-command").words, "exit status 127");
    }

    #[test]
    fn an_endless_output_is_kept_within_its_bound() {
        let e = run("i=0; while [ $i -lt 30000 ]; do echo line $i; i=$((i+1)); done; exit 1");
        assert_eq!(e.output.first().map(String::as_str), Some(".."));
        assert_eq!(e.output.last().map(String::as_str), Some("line 29999"));
        assert!(e.output.iter().map(|l| l.len() + 1).sum::<usize>() <= MAX_BUILD_OUTPUT + 3);
    }

    #[test]
    fn all_that_it_started_ends_with_it() {
        let dir = tempfile::tempdir().unwrap();
        let pid = dir.path().join("pid");
        let command = format!(
            "sh -c 'echo $$ > {0}.tmp; mv {0}.tmp {0}; exec sleep 600' & wait",
            pid.display()
        );
        let (to, from) = channel();
        let build = Build::start(&command, move |e| drop(to.send(e))).unwrap();
        let begun = Instant::now();
        while !pid.exists() && begun.elapsed() < Duration::from_secs(20) {
            thread::sleep(Duration::from_millis(5));
        }
        let child = std::fs::read_to_string(&pid).unwrap().trim().to_owned();
        drop(build);
        assert!(!from.recv_timeout(Duration::from_secs(20)).unwrap().well);
        let lives = || {
            // One that is over and not yet asked for counts as gone.
            let stat = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
            !stat.is_empty() && !stat.contains(") Z ")
        };
        while lives() && begun.elapsed() < Duration::from_secs(30) {
            thread::sleep(Duration::from_millis(5));
        }
        assert!(!lives());
    }
}
