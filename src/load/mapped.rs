//! Mapped files, and what happens to them while they are open: the one place with `unsafe`.
//!
//! A file that is cut below a mapping, or whose disk fails, raises SIGBUS in whoever reads the
//! bytes that are gone. Here the signal is taken: zeros come in place of what is gone, and the
//! mapping remembers from which byte on. [`disturbed`] and [`all_disturbed`] tell it, and what
//! else befell the file, as diagnostics (D035). `docs/formats.md`, "Files that change while
//! they are open".

use crate::diag::Diagnostic;
use crate::limits::{MAX_DIAGNOSTICS, MAX_MAPPINGS};
use crate::udma::count_of;
use memmap2::{Advice, Mmap};
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::SystemTime;

/// A mapped file, read only.
#[derive(Debug)]
pub struct Mapped {
    map: Mmap,
    /// Its place among [`guard::SLOTS`].
    slot: usize,
    path: PathBuf,
    name: String,
    opened: Stamp,
    told: AtomicBool,
}

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        &self.map
    }
}

/// What tells whether a file is the one that it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    len: u64,
    changed: Option<SystemTime>,
    /// Device and number; nothing where the system has none.
    identity: Option<(u64, u64)>,
}

impl Stamp {
    fn of(meta: &Metadata) -> Stamp {
        #[cfg(unix)]
        let identity = {
            use std::os::unix::fs::MetadataExt;
            Some((meta.dev(), meta.ino()))
        };
        #[cfg(not(unix))]
        let identity = None;
        Stamp { len: meta.len(), changed: meta.modified().ok(), identity }
    }
}

/// The mappings that live, and what befell those that do not.
struct Known {
    live: Vec<Weak<Mapped>>,
    past: Vec<Diagnostic>,
}

static KNOWN: Mutex<Known> = Mutex::new(Known { live: Vec::new(), past: Vec::new() });

fn known() -> MutexGuard<'static, Known> {
    // What is in there stays whole, whoever panicked.
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Maps a regular file; nothing where too many are mapped. `name` is what the user knows it by.
///
/// # Errors
/// What the system says.
#[allow(unsafe_code)]
pub fn map(file: &File, path: &Path, name: &str) -> io::Result<Option<Arc<Mapped>>> {
    let opened = Stamp::of(&file.metadata()?);
    // SAFETY: the mapping is read-only, and what it holds is only ever read as plain numbers:
    // texts, whose bytes must stay what they were found to be, are read and not mapped
    // (`source::Source::own`). Bytes that another process changes meanwhile are other numbers;
    // bytes that are gone raise SIGBUS, which `guard` takes.
    let map = unsafe { Mmap::map(file)? };
    let Some(slot) = guard::register(&map)? else { return Ok(None) };
    let _ = map.advise(Advice::Random);
    let told = AtomicBool::new(false);
    let (path, name) = (path.to_owned(), name.to_owned());
    let mapped = Arc::new(Mapped { map, slot, path, name, opened, told });
    let mut known = known();
    known.live.retain(|w| w.strong_count() > 0);
    known.live.push(Arc::downgrade(&mapped));
    Ok(Some(mapped))
}

impl Mapped {
    /// Gives the pages back that were looked at so far; a later look reads them again.
    #[allow(unsafe_code)]
    pub fn let_go(&self) {
        // SAFETY: the mapping is shared and read-only, so no page of it holds anything that the
        // file does not; what the guard put in the place of a page that was cut away is zeros.
        #[cfg(unix)]
        let _ = unsafe { self.map.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
    }

    /// Says that the bytes are read in order from now on.
    pub fn in_order(&self) {
        // Advice only: where the system takes none, everything works all the same.
        let _ = self.map.advise(Advice::Normal);
    }

    /// What befell the file since it was opened; nothing where it is as it was, or another file
    /// has taken its name, which leaves this one as it is.
    fn disturbance(&self) -> Option<Diagnostic> {
        let (name, was) = (&self.name, self.opened.len);
        let now = std::fs::metadata(&self.path).ok().map(|m| Stamp::of(&m));
        let now = now.filter(|n| n.identity == self.opened.identity);
        let lost = guard::lost(self.slot);
        let why = match (lost, now) {
            (_, Some(n)) if n.len < was => {
                format!(
                    "`{name}` was cut from {was} to {} while it was open",
                    count_of(n.len, "byte")
                )
            }
            (Some(at), _) => format!("`{name}` could not be read from byte {at} on"),
            (None, Some(n)) if n.len > was => {
                format!("`{name}` grew from {was} to {} while it was open", count_of(n.len, "byte"))
            }
            (None, Some(n)) if n.changed != self.opened.changed => {
                format!("`{name}` was written to while it was open")
            }
            _ => return None,
        };
        let gone = if lost.is_some() { "; what is gone was read as zeros" } else { "" };
        let d = Diagnostic::new("D035", format!("{why}{gone}")).in_file(name);
        Some(d.help("save by renaming, or work on a copy"))
    }

    /// As [`Mapped::disturbance`], once.
    fn tell(&self) -> Option<Diagnostic> {
        let d = self.disturbance()?;
        (!self.told.swap(true, Ordering::Relaxed)).then_some(d)
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        let told = self.tell();
        guard::release(self.slot);
        let past = &mut known().past;
        if past.len() < MAX_DIAGNOSTICS {
            past.extend(told);
        }
    }
}

/// What befell the files that are mapped now; each is told of once.
pub fn disturbed() -> Vec<Diagnostic> {
    let live: Vec<Arc<Mapped>> = known().live.iter().filter_map(Weak::upgrade).collect();
    live.iter().filter_map(|m| m.tell()).collect()
}

/// What befell any file that was mapped since this was last asked.
pub fn all_disturbed() -> Vec<Diagnostic> {
    let now = disturbed();
    let mut all = std::mem::take(&mut known().past);
    all.extend(now);
    all
}

/// The ranges of memory in which SIGBUS is taken, and the taking.
#[cfg(unix)]
#[allow(unsafe_code)]
mod guard {
    use super::{AtomicUsize, MAX_MAPPINGS, Mmap, Mutex, Ordering, PoisonError, io};
    use std::sync::OnceLock;

    /// A range of memory, free where `start` is 0. All zero at first: what is so takes no room
    /// in the program's file.
    struct Slot {
        start: AtomicUsize,
        end: AtomicUsize,
        /// What is left of the address space behind the first byte that was replaced, that one
        /// included; 0 where none was.
        lost: AtomicUsize,
    }

    static SLOTS: [Slot; MAX_MAPPINGS] = [const {
        Slot { start: AtomicUsize::new(0), end: AtomicUsize::new(0), lost: AtomicUsize::new(0) }
    }; MAX_MAPPINGS];

    /// Bytes of a page; set before the first slot is.
    static PAGE: AtomicUsize = AtomicUsize::new(0);

    /// Held while slots are given out; whether SIGBUS is taken.
    static TAKEN: Mutex<bool> = Mutex::new(false);

    /// What took SIGBUS before: set once, before the handler is there.
    static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

    /// Registers a mapping; nothing where all slots are taken.
    pub fn register(map: &Mmap) -> io::Result<Option<usize>> {
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        if !*taken {
            install()?;
            *taken = true;
        }
        let start = map.as_ptr() as usize;
        let free = SLOTS.iter().position(|s| s.start.load(Ordering::Relaxed) == 0);
        if let Some(s) = free.and_then(|i| SLOTS.get(i)) {
            s.lost.store(0, Ordering::Relaxed);
            s.end.store(start + map.len(), Ordering::Release);
            s.start.store(start, Ordering::Release);
        }
        Ok(free)
    }

    /// Frees a slot; its mapping is still there.
    pub fn release(slot: usize) {
        if let Some(s) = SLOTS.get(slot) {
            s.start.store(0, Ordering::Release);
        }
    }

    /// From which byte on a mapping has zeros in place of what was there.
    pub fn lost(slot: usize) -> Option<usize> {
        let s = SLOTS.get(slot)?;
        let left = s.lost.load(Ordering::Acquire);
        let at = left.wrapping_neg();
        at.checked_sub(s.start.load(Ordering::Acquire)).filter(|_| left != 0)
    }

    fn install() -> io::Result<()> {
        // SAFETY: plain calls of the system with arguments that live through them; the handler
        // calls nothing that a handler must not call.
        unsafe {
            let page = usize::try_from(libc::sysconf(libc::_SC_PAGESIZE)).unwrap_or(4096);
            PAGE.store(page, Ordering::Release);
            let mut old: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(libc::SIGBUS, std::ptr::null(), &raw mut old) != 0 {
                return Err(io::Error::last_os_error());
            }
            let _ = BEFORE.set(old);
            let mut new: libc::sigaction = std::mem::zeroed();
            let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) = on_bus;
            new.sa_sigaction = handler as usize;
            new.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigemptyset(&raw mut new.sa_mask);
            if libc::sigaction(libc::SIGBUS, &raw const new, std::ptr::null_mut()) != 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(())
        }
    }

    /// Puts zeros in place of what is gone, from the page at fault to the mapping's end: what
    /// lies behind the place where a file was cut is gone as well. Anywhere else the signal
    /// goes where it went before.
    extern "C" fn on_bus(_: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
        // SAFETY: the system hands over a valid `info`. Only atomics are touched, and memory of
        // a mapping that is registered, which is read-only: pages of zeros over some of it can
        // surprise nobody who reads numbers. `mmap` and `sigaction` are plain system calls.
        unsafe {
            let at = (*info).si_addr() as usize;
            for s in &SLOTS {
                let start = s.start.load(Ordering::Acquire);
                let end = s.end.load(Ordering::Acquire);
                let inside = start != 0 && (start..end).contains(&at);
                // A slot that is being given anew has another start by now.
                if !inside || s.start.load(Ordering::Acquire) != start {
                    continue;
                }
                let from = at & !(PAGE.load(Ordering::Acquire) - 1);
                let put = libc::mmap(
                    from as *mut libc::c_void,
                    end - from,
                    libc::PROT_READ,
                    libc::MAP_PRIVATE | libc::MAP_ANON | libc::MAP_FIXED,
                    -1,
                    0,
                );
                if put == libc::MAP_FAILED {
                    break;
                }
                s.lost.fetch_max(from.max(start).wrapping_neg(), Ordering::AcqRel);
                return;
            }
            match BEFORE.get() {
                Some(old) => libc::sigaction(libc::SIGBUS, old, std::ptr::null_mut()),
                None => libc::signal(libc::SIGBUS, libc::SIG_DFL) as i32,
            };
        }
    }
}

/// Elsewhere a mapped file cannot be cut.
#[cfg(not(unix))]
mod guard {
    use super::{Mmap, io};

    pub fn register(_: &Mmap) -> io::Result<Option<usize>> {
        Ok(Some(0))
    }

    pub fn release(_: usize) {}

    pub fn lost(_: usize) -> Option<usize> {
        None
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::io::Write;

    const LEN: usize = 5 << 20;

    fn file() -> (tempfile::TempDir, PathBuf, Arc<Mapped>) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.bin");
        std::fs::write(&path, vec![7; LEN]).unwrap();
        let mapped = map(&File::open(&path).unwrap(), &path, "a.bin").unwrap().unwrap();
        (dir, path, mapped)
    }

    fn told(m: &Mapped) -> String {
        m.disturbance().map(|d| d.message).unwrap_or_default()
    }

    fn sum(m: &Mapped) -> usize {
        (*m).as_ref().iter().map(|b| usize::from(*b)).sum()
    }

    #[test]
    fn what_is_cut_away_reads_as_zeros_and_is_told_once() {
        let (_dir, path, m) = file();
        assert_eq!(sum(&m), 7 * LEN);
        assert_eq!(told(&m), "");
        File::options().write(true).open(&path).unwrap().set_len(1 << 20).unwrap();
        // From the back to the front: each read is of pages that are gone.
        let bytes: &[u8] = (*m).as_ref();
        assert_eq!((bytes[LEN - 1], bytes[4 << 20], bytes[2 << 20]), (0, 0, 0));
        assert_eq!(sum(&m), 7 << 20);
        let why = told(&m);
        assert!(why.contains("cut from 5242880 to 1048576 bytes"), "{why}");
        assert!(m.tell().is_some());
        assert!(m.tell().is_none());
    }

    #[test]
    fn cut_to_nothing_and_grown_again_it_stays_told() {
        let (_dir, path, m) = file();
        File::create(&path).unwrap();
        assert_eq!(sum(&m), 0);
        std::fs::write(&path, vec![9; LEN]).unwrap();
        assert_eq!(sum(&m), 0, "what was gone stays gone");
        assert!(told(&m).contains("could not be read from byte 0 on"), "{}", told(&m));
    }

    #[test]
    fn growth_and_writes_are_told_and_another_file_of_the_name_is_not() {
        let (_dir, path, m) = file();
        let mut to = File::options().append(true).open(&path).unwrap();
        to.write_all(b"more").unwrap();
        assert!(told(&m).contains("grew from 5242880 to 5242884 bytes"), "{}", told(&m));
        assert_eq!(sum(&m), 7 * LEN, "the bytes of the beginning are there");

        let (dir, path, m) = file();
        let other = dir.path().join("b");
        std::fs::write(&other, "another").unwrap();
        std::fs::rename(&other, &path).unwrap();
        assert_eq!((told(&m).as_str(), sum(&m)), ("", 7 * LEN));

        let (_dir, path, m) = file();
        let to = File::options().write(true).open(&path).unwrap();
        to.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert!(told(&m).contains("written to while it was open"), "{}", told(&m));
    }

    #[test]
    fn threads_that_read_what_is_gone_all_go_on() {
        let (_dir, path, m) = file();
        File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
        let threads: Vec<_> =
            (0..8).map(|_| m.clone()).map(|m| std::thread::spawn(move || sum(&m))).collect();
        assert!(threads.into_iter().all(|t| t.join().unwrap() == 0));
    }
}
