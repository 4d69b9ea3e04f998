//! Opening inputs: small files are read, large ones mapped, streams read up to a bound.
//!
//! Nothing here looks at the bytes, so opening costs the same for a kilobyte and for a
//! hundred gigabytes. The rules are in `docs/formats.md`, "Opening".

use super::mapped::{self, Mapped};
use crate::diag::Diagnostic;
use crate::engine::program::Blob;
use crate::limits::{FIFO_WAIT_SECONDS, MAX_STREAM_BYTES, MAX_WATCHED_BYTES, SMALL_FILE_BYTES};
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bytes and the name that the user knows them by.
#[derive(Debug, Clone)]
pub struct Source {
    /// File name as given; `<stdin>` for standard input.
    pub name: String,
    /// The bytes.
    pub blob: Blob,
    /// The mapping below them, if they are mapped.
    mapped: Option<Arc<Mapped>>,
}

impl Source {
    /// Bytes that are already in memory.
    pub fn new(name: impl Into<String>, blob: Blob) -> Source {
        Source { name: name.into(), blob, mapped: None }
    }

    /// Gives the mapped pages back that were looked at so far: a look here and there takes no
    /// memory in proportion to the file, however much the system maps around each place.
    pub fn let_go(&self) {
        if let Some(m) = &self.mapped {
            m.let_go();
        }
    }

    /// Says that from now on the bytes are read in order. Until then a mapping reads nothing
    /// ahead, so that probing a large file here and there does not read all of it.
    pub fn in_order(&self) {
        if let Some(m) = &self.mapped {
            m.in_order();
        }
    }

    /// Takes the bytes into memory, at most `bound`, where they are mapped. What was found to be
    /// text must stay what it was found to be, and a mapped file can change.
    pub fn own(&mut self, bound: u64) {
        if self.mapped.is_some() && self.blob.len() as u64 <= bound {
            self.in_order();
            self.blob = Blob::from_vec(self.blob.bytes().to_vec());
            self.mapped = None;
        }
    }
}

/// The name that stands for standard input on the command line.
pub const STDIN: &str = "-";

/// Opens a file, a FIFO, a device, or standard input (`-`).
///
/// # Errors
/// D001 where there are no bytes, D007 where the system refuses, it is a directory or a socket,
/// or nobody writes to a FIFO, D025 where a stream goes beyond [`MAX_STREAM_BYTES`], D035 where
/// a file changes while it is read.
pub fn open(path: &Path) -> Result<Source, Diagnostic> {
    open_as(path, false)
}

/// As [`open`]; where `watched`, others may change the file while it is looked at, and one of up
/// to [`MAX_WATCHED_BYTES`] is read rather than mapped.
///
/// # Errors
/// As [`open`].
pub fn open_as(path: &Path, watched: bool) -> Result<Source, Diagnostic> {
    let most = if watched { MAX_WATCHED_BYTES } else { SMALL_FILE_BYTES };
    let name = if path == Path::new(STDIN) {
        "<stdin>".to_owned()
    } else {
        path.to_string_lossy().into_owned()
    };
    let refused = |e: &io::Error| no_bytes(&name, format!("cannot read `{name}`: {e}"));
    let mut mapped = None;
    let blob = if path == Path::new(STDIN) {
        stream(io::stdin().lock(), &name, MAX_STREAM_BYTES)?
    } else {
        let file = unblocked(path).map_err(|e| match is_socket(path) {
            true => no_bytes(&name, format!("`{name}` is a socket"))
                .help("let a program that speaks to it write into a pipe: `... | dmadbg ... -`"),
            false => refused(&e),
        })?;
        let meta = file.metadata().map_err(|e| refused(&e))?;
        if meta.is_dir() {
            return Err(no_bytes(&name, format!("`{name}` is a directory")));
        }
        if !meta.is_file() {
            let patient = Patient::new(file, is_named_fifo(path, &meta));
            stream(patient, &name, MAX_STREAM_BYTES)?
        } else if meta.len() == 0 {
            // A file of the proc file system says 0 bytes and has some: read, not believed.
            stream(file, &name, MAX_STREAM_BYTES)?
        } else if meta.len() <= most {
            whole(&file, &meta, &name)?
        } else {
            match mapped::map(&file, path, &name).map_err(|e| refused(&e))? {
                Some(map) => {
                    mapped = Some(map.clone());
                    Blob::shared(map)
                }
                // Thousands are mapped already.
                None => stream(file, &name, MAX_STREAM_BYTES)?,
            }
        }
    };
    if blob.is_empty() {
        return Err(Diagnostic::new("D001", format!("`{name}` is empty")).in_file(&name));
    }
    Ok(Source { name, blob, mapped })
}

fn no_bytes(name: &str, why: String) -> Diagnostic {
    Diagnostic::new("D007", why).in_file(name)
}

/// Opens without waiting for another side, as the opening of a FIFO or of some devices would.
fn unblocked(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    options.open(path)
}

#[cfg(unix)]
fn is_socket(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    std::fs::metadata(path).is_ok_and(|m| m.file_type().is_socket())
}

#[cfg(not(unix))]
fn is_socket(_: &Path) -> bool {
    false
}

/// Whether it is a FIFO that a writer may come to: one that has a name. The pipe below
/// `/dev/stdin` has none.
#[cfg(unix)]
fn is_named_fifo(path: &Path, meta: &Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    meta.file_type().is_fifo() && path.canonicalize().is_ok()
}

#[cfg(not(unix))]
fn is_named_fifo(_: &Path, _: &Metadata) -> bool {
    false
}

/// A stream that was opened without waiting, read as if it had been: for what a writer has yet
/// to write it waits as long as the writer is there, for a writer to come [`FIFO_WAIT_SECONDS`].
struct Patient {
    file: File,
    /// Until when a writer may come; nothing where there was one.
    until: Option<Instant>,
}

impl Patient {
    fn new(file: File, fifo: bool) -> Patient {
        Patient {
            file,
            until: fifo.then(|| Instant::now() + Duration::from_secs(FIFO_WAIT_SECONDS)),
        }
    }
}

impl Read for Patient {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        const MOST: Duration = Duration::from_millis(50);
        let mut nap = Duration::from_millis(1);
        loop {
            match (self.file.read(to), self.until) {
                (Ok(0), Some(until)) if !to.is_empty() => {
                    if Instant::now() >= until {
                        let why = format!("nobody wrote to it in {FIFO_WAIT_SECONDS} seconds");
                        return Err(io::Error::new(ErrorKind::TimedOut, why));
                    }
                }
                // A writer is there and has nothing yet.
                (Err(e), _) if e.kind() == ErrorKind::WouldBlock => self.until = None,
                (read, _) => {
                    self.until = None;
                    return read;
                }
            }
            std::thread::sleep(nap);
            nap = (nap * 2).min(MOST);
        }
    }
}

/// Reads a small regular file: the bytes that it had when it was opened.
fn whole(mut file: &File, before: &Metadata, name: &str) -> Result<Blob, Diagnostic> {
    let blob = stream(Read::take(&mut file, before.len()), name, before.len())?;
    let same = |m: Metadata| (m.len(), m.modified().ok()) == (before.len(), before.modified().ok());
    let cut = (blob.len() as u64) < before.len();
    if cut || !file.metadata().is_ok_and(same) {
        let d = Diagnostic::new("D035", format!("`{name}` changed while it was read"));
        return Err(d.help("read it again once it is written").in_file(name));
    }
    Ok(blob)
}

/// Reads a stream to its end, within `bound` bytes.
fn stream(from: impl Read, name: &str, bound: u64) -> Result<Blob, Diagnostic> {
    let mut bytes = Vec::new();
    from.take(bound + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| no_bytes(name, format!("cannot read `{name}`: {e}")))?;
    if bytes.len() as u64 > bound {
        return Err(Diagnostic::new("D025", format!("`{name}` goes on beyond {bound} bytes"))
            .help("a stream is read into memory; give a regular file, which is mapped")
            .in_file(name));
    }
    Ok(Blob::from_vec(bytes))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn load_open_small_and_large_files_give_the_same_bytes() {
        let dir = tempfile::tempdir().unwrap();
        for len in [16usize, SMALL_FILE_BYTES as usize, SMALL_FILE_BYTES as usize + 16] {
            let path = dir.path().join(format!("{len}.bin"));
            let bytes: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
            std::fs::write(&path, &bytes).unwrap();
            let s = open(&path).unwrap();
            assert_eq!(s.blob.bytes(), bytes);
            s.let_go();
            assert_eq!(s.blob.bytes(), bytes);
        }
    }

    #[test]
    fn load_open_names_what_the_system_refuses() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(open(dir.path()).unwrap_err().code, "D007");
        assert_eq!(open(&dir.path().join("absent")).unwrap_err().code, "D007");
        let empty = dir.path().join("empty");
        std::fs::write(&empty, b"").unwrap();
        let d = open(&empty).unwrap_err();
        assert_eq!(d.code, "D001");
        assert!(d.place.file.is_some());
    }

    #[test]
    fn load_open_reads_a_fifo_to_its_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        if !made.is_ok_and(|s| s.success()) {
            println!("skipped: no mkfifo");
            return;
        }
        let writer = path.clone();
        let thread = std::thread::spawn(move || std::fs::write(writer, [7u8; 32]));
        assert_eq!(open(&path).unwrap().blob.bytes(), [7; 32]);
        thread.join().unwrap().unwrap();
    }

    #[test]
    fn load_endless_streams_end_at_the_bound() {
        let d = stream(std::io::repeat(0), "x", 4096).unwrap_err();
        assert_eq!(d.code, "D025");
    }
}
