//! The verifier of an exclusive create (RFC 1813 §3.3.8), kept in the new file's access and modification times.
//!
//! Each half of the verifier goes into one time: its low 31 bits are the seconds, so that they are valid where seconds
//! have 32 bits with a sign (XFS, ext4 with small inodes), and its top bit is half a second, which survives every
//! granularity of time stamps below a second. The client sets the real times afterwards.

use std::os::fd::BorrowedFd;

use rustix::fs::{Statx, StatxTimestamp, Timespec, Timestamps};
use vfs::Result;

use crate::failure::failed;

const SECONDS_MASK: u32 = 0x7fff_ffff;
const HALF_A_SECOND_NS: u32 = 500_000_000;

/// Writes `verifier` into the times of a file.
pub(crate) fn store(file: BorrowedFd<'_>, verifier: [u8; 8]) -> Result<()> {
    let [first, second] = halves(verifier);
    let times = Timestamps { last_access: to_time(first), last_modification: to_time(second) };
    rustix::fs::futimens(file, &times).map_err(failed)
}

/// Whether a file was made with `verifier` and this size, and not touched since.
pub(crate) fn matches(stat: &Statx, verifier: [u8; 8], size_bytes: u64) -> bool {
    let [first, second] = halves(verifier);
    stat.stx_size == size_bytes && from_time(stat.stx_atime) == Some(first) && from_time(stat.stx_mtime) == Some(second)
}

fn halves(verifier: [u8; 8]) -> [u32; 2] {
    let [a, b, c, d, e, f, g, h] = verifier;
    [u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h])]
}

fn to_time(half: u32) -> Timespec {
    let tv_nsec = if half & !SECONDS_MASK == 0 { 0 } else { HALF_A_SECOND_NS.into() };
    Timespec { tv_sec: (half & SECONDS_MASK).into(), tv_nsec }
}

fn from_time(time: StatxTimestamp) -> Option<u32> {
    let seconds = u32::try_from(time.tv_sec).ok().filter(|seconds| *seconds <= SECONDS_MASK)?;
    match time.tv_nsec {
        0 => Some(seconds),
        HALF_A_SECOND_NS => Some(seconds | !SECONDS_MASK),
        _ => None,
    }
}
