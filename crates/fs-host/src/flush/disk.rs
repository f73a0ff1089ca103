//! The system calls that bring a file system to storage.

use std::fs::File;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::FileExt;

use rustix::io::Result;

use super::file::Depth;
use super::lost;
use super::whole::WholeFlush;
use crate::sys;

/// What the kernel knows of memory that is to be written out.
const MEMORY: &str = "/proc/meminfo";

/// The version of the kernel.
const RELEASE: &str = "/proc/sys/kernel/osrelease";

/// Where the two lines of it are, in bytes from its start: it has about 50 short lines.
const MEMORY_BYTES: usize = 4096;

/// A file system is flushed as a whole only while the machine has no more memory than this to write out, in KiB: a disk
/// writes it within some ten milliseconds.
const MAX_UNWRITTEN_KIB: u64 = 8 << 10;

/// The first kernel whose `syncfs(2)` reports when the file system failed to commit. Before Linux 5.8 it did not even
/// report when bytes could not be written.
const HONEST_KERNEL: (u32, u32) = (5, 17);

/// What flushes; tests have one of their own.
pub(crate) trait Storage: Send + Sync {
    /// Flushes a file, at least.
    fn flush(&self, file: BorrowedFd<'_>, depth: Depth) -> Result<()>;

    /// Flushes all files.
    fn flush_all(&self) -> Result<()>;

    /// Tells an error of writing the file back that this descriptor has not been told of yet, and flushes nothing.
    fn pending_error(&self, file: BorrowedFd<'_>) -> Result<()>;

    /// Has the kernel forget the pages of a file, some of which could not be written: see `lost.rs`.
    fn evict_lost(&self, file: BorrowedFd<'_>);

    /// Whether a write may flush its file by itself (`RWF_DSYNC`).
    fn writes_through(&self) -> bool;

    /// Whether little waits to be written out besides what callers wait for.
    fn is_all_cheap(&self) -> bool;
}

/// A file system of this machine.
pub(crate) struct Disk {
    whole: WholeFlush,
    /// Whether a file is flushed with everything else: see `StorageRules::flushes_whole`.
    flushes_whole: bool,
    /// Whether a log has what the disk lacks. Until the next start replays it, memory shows what was acknowledged.
    is_behind_log: bool,
    /// What says how much is unwritten, where all files may be flushed at once.
    memory: Option<File>,
}

impl Disk {
    pub(crate) fn new(whole: WholeFlush, flushes_whole: bool, is_behind_log: bool) -> Disk {
        let memory = File::open(MEMORY).ok().filter(|_| whole_flushes_report_failures());
        Disk { whole, flushes_whole, is_behind_log, memory }
    }
}

impl Storage for Disk {
    fn flush(&self, file: BorrowedFd<'_>, depth: Depth) -> Result<()> {
        if self.flushes_whole {
            // That reports errors of the file system; the file has its own.
            return self.whole.flush_by(file).and_then(|()| sys::pending_error(file));
        }
        match depth {
            Depth::Data => rustix::fs::fdatasync(file)?,
            Depth::All => rustix::fs::fsync(file)?,
        }
        // What is flushed is no longer needed in the log.
        if self.is_behind_log { self.whole.check_journal() } else { Ok(()) }
    }

    fn flush_all(&self) -> Result<()> {
        self.whole.flush()
    }

    fn pending_error(&self, file: BorrowedFd<'_>) -> Result<()> {
        sys::pending_error(file)
    }

    fn evict_lost(&self, file: BorrowedFd<'_>) {
        if !self.is_behind_log {
            lost::evict(file);
        }
    }

    fn writes_through(&self) -> bool {
        !self.flushes_whole
    }

    fn is_all_cheap(&self) -> bool {
        let mut text = [0; MEMORY_BYTES];
        let Some(Ok(count)) = self.memory.as_ref().map(|memory| memory.read_at(&mut text, 0)) else { return false };
        unwritten_kib(&text[..count]).is_some_and(|kib| kib <= MAX_UNWRITTEN_KIB)
    }
}

/// Whether the kernel reports all failures when a whole file system is flushed (Linux 5.17 or later). Without that,
/// [`FileSystem::sync_all`](vfs::FileSystem::sync_all) of a directory on a disk is not supported.
pub fn whole_flushes_report_failures() -> bool {
    std::fs::read_to_string(RELEASE).is_ok_and(|release| version(&release) >= Some(HONEST_KERNEL))
}

/// The two numbers that a release begins with.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// How much memory is dirty or being written, in KiB.
fn unwritten_kib(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let of =
        |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().strip_suffix(" kB")?.parse().ok());
    let (dirty, in_flight): (u64, u64) = (of("Dirty:")?, of("Writeback:")?);
    Some(dirty + in_flight)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unwritten_memory_is_what_is_dirty_and_what_is_being_written() {
        let text = "Active:  7 kB\nDirty:      1200 kB\nWriteback:      34 kB\nWritebackTmp:  5 kB\n";
        assert_eq!(unwritten_kib(text.as_bytes()), Some(1234));
        assert_eq!(unwritten_kib(b"Dirty: 12 kB\n"), None);
    }

    #[test]
    fn version_of_a_kernel_is_its_first_two_numbers() {
        assert_eq!(version("6.18.44-fc-v669\n"), Some((6, 18)));
        assert_eq!(version("5.4"), Some((5, 4)));
        assert_eq!(version("unknown"), None);
    }

    #[test]
    fn this_machine_says_how_much_is_unwritten() {
        assert!(unwritten_kib(&std::fs::read(MEMORY).unwrap()[..]).is_some());
    }
}
