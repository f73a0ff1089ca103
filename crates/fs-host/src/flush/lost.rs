//! Pages that could not be written.
//!
//! Linux keeps such a page as a clean one, and reports the failure once. ext4 takes its blocks for written from then
//! on: when the page is written to again, the data reach the disk, but the blocks still count as never written, and
//! read as zeros when the page has left memory (seen with Linux 6.18; ext2, ext3, XFS and btrfs do better). A client
//! that is told of the failure writes the same data again, to the same page. So these pages have to be evicted first.

use std::os::fd::BorrowedFd;

use rustix::fs::Advice;

use crate::proc_path::proc_path;
use crate::sys;

/// How often pages are evicted: the kernel keeps those that are dirty, being written, or in use for a moment.
const ATTEMPTS: u32 = 4;

/// Evicts all pages of a file. Dirty ones are written first; whoever changed them is told that they may be lost.
pub(super) fn evict(file: BorrowedFd<'_>) {
    // Before Linux 6.5, and in a sandbox, the kernel does not say what is left.
    let left = || sys::cached_pages(file, 0, 0);
    let is_evicted = (0..ATTEMPTS).any(|_| {
        // Errors are no news: clients write everything again.
        let _ = sys::write_out(file);
        let _ = rustix::fs::fadvise(file, 0, None, Advice::DontNeed);
        left().is_ok_and(|pages| pages == 0)
    });
    if !is_evicted && left().is_ok_and(|pages| pages > 0) {
        let path = rustix::fs::readlink(proc_path(file).as_c_str(), Vec::new()).unwrap_or_default();
        tracing::warn!(
            file = %path.to_string_lossy(),
            "memory keeps pages of a file that could not be written, as when a program has mapped the file: what is \
             written to them again may be lost at a power failure; end the program, and write the file again"
        );
    }
}
