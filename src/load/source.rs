//! Opening inputs: small files are read, large ones mapped, streams read up to a bound.
//!
//! Nothing here looks at the bytes, so opening costs the same for a kilobyte and for a
//! hundred gigabytes. The rules are in `docs/formats.md`, "Opening".

use crate::diag::Diagnostic;
use crate::engine::program::Blob;
use crate::limits::{MAX_STREAM_BYTES, SMALL_FILE_BYTES};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

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
    #[allow(unsafe_code)]
    pub fn let_go(&self) {
        #[cfg(unix)]
        if let Some(m) = &self.mapped {
            // SAFETY: the mapping is shared and read-only, so no page of it holds anything that
            // the file does not: a later look finds the same bytes again.
            let _ = unsafe { m.0.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
        }
    }

    /// Says that from now on the bytes are read in order. Until then a mapping reads nothing
    /// ahead, so that probing a large file here and there does not read all of it.
    pub fn in_order(&self) {
        if let Some(m) = &self.mapped {
            // Advice only: where the system takes none, everything works all the same.
            let _ = m.0.advise(memmap2::Advice::Normal);
        }
    }
}

/// The name that stands for standard input on the command line.
pub const STDIN: &str = "-";

/// A mapped file.
#[derive(Debug)]
struct Mapped(memmap2::Mmap);

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Opens a file, a FIFO, or standard input (`-`).
///
/// # Errors
/// D001 where there are no bytes, D007 where the system refuses or it is a directory, D025
/// where a stream goes beyond [`MAX_STREAM_BYTES`].
pub fn open(path: &Path) -> Result<Source, Diagnostic> {
    let name = if path == Path::new(STDIN) {
        "<stdin>".to_owned()
    } else {
        path.to_string_lossy().into_owned()
    };
    let refused = |e: &std::io::Error| {
        Diagnostic::new("D007", format!("cannot read `{name}`: {e}")).in_file(&name)
    };
    let mut mapped = None;
    let blob = if path == Path::new(STDIN) {
        stream(std::io::stdin().lock(), &name, MAX_STREAM_BYTES)?
    } else {
        let file = File::open(path).map_err(|e| refused(&e))?;
        let meta = file.metadata().map_err(|e| refused(&e))?;
        if meta.is_dir() {
            return Err(Diagnostic::new("D007", format!("`{name}` is a directory")).in_file(&name));
        }
        if !meta.is_file() || meta.len() <= SMALL_FILE_BYTES {
            // A file of the proc file system says 0 bytes and has some: read, not believed.
            stream(file, &name, MAX_STREAM_BYTES)?
        } else {
            let map = Arc::new(map(&file).map_err(|e| refused(&e))?);
            mapped = Some(map.clone());
            Blob::shared(map)
        }
    };
    if blob.is_empty() {
        return Err(Diagnostic::new("D001", format!("`{name}` is empty")).in_file(&name));
    }
    Ok(Source { name, blob, mapped })
}

/// Reads a stream to its end, within `bound` bytes.
fn stream(from: impl Read, name: &str, bound: u64) -> Result<Blob, Diagnostic> {
    let mut bytes = Vec::new();
    from.take(bound + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| Diagnostic::new("D007", format!("cannot read `{name}`: {e}")).in_file(name))?;
    if bytes.len() as u64 > bound {
        return Err(Diagnostic::new("D025", format!("`{name}` goes on beyond {bound} bytes"))
            .help("a stream is read into memory; give a regular file, which is mapped")
            .in_file(name));
    }
    Ok(Blob::from_vec(bytes))
}

/// Maps a regular file, read only.
#[allow(unsafe_code)]
fn map(file: &File) -> std::io::Result<Mapped> {
    // SAFETY: the mapping is read-only and private to this value. Another process that
    // changes the file meanwhile changes bytes that are only ever read as plain numbers; one
    // that truncates it can raise SIGBUS, which is why small files (the ones that are being
    // edited) are read instead of mapped.
    let mapped = unsafe { memmap2::Mmap::map(file)? };
    let _ = mapped.advise(memmap2::Advice::Random);
    Ok(Mapped(mapped))
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
