//! The system calls that no safe wrapper covers: kernel file handles, shared ranges, and the identity of one thread.
//!
//! Everything `unsafe` of this crate is here, and every function here is safe to call.

use std::ffi::{CStr, c_int};
use std::fmt;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// The longest handle that the kernel gives, in bytes (`MAX_HANDLE_SZ`).
pub(crate) const MAX_KERNEL_HANDLE_BYTES: usize = 128;

/// Take the file that the descriptor itself stands for.
pub(crate) const EMPTY_PATH: c_int = libc::AT_EMPTY_PATH;

/// Take a handle that identifies the file but may not open it (Linux 6.6).
pub(crate) const IDENTIFY_ONLY: c_int = libc::AT_HANDLE_FID;

/// The number of cachestat(2), which is the same on every architecture (Linux 6.5).
const CACHESTAT: libc::c_long = 451;

/// How many pages of a range of a file are in the page cache; pages that are being read count too.
pub(crate) fn cached_pages(file: BorrowedFd<'_>, offset_bytes: u64, length_bytes: u64) -> io::Result<u64> {
    // The range as `struct cachestat_range`, and the five counts of `struct cachestat`, of which the first is nr_cache.
    let (range, mut counts) = ([offset_bytes, length_bytes], [0u64; 5]);
    // SAFETY: the kernel reads two u64 and writes five; both arrays live during the call.
    let result = unsafe { libc::syscall(CACHESTAT, file.as_raw_fd(), range.as_ptr(), counts.as_mut_ptr(), 0) };
    if result == 0 { Ok(counts[0]) } else { Err(io::Error::last_os_error()) }
}

/// The time of the clock that the kernel stamps files with, in seconds and nanoseconds.
pub(crate) fn coarse_time() -> (i64, i64) {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes one timespec, which lives during the call. It cannot fail: Linux has this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME_COARSE, &raw mut time) };
    (time.tv_sec, time.tv_nsec)
}

/// A handle as the kernel lays it out (`struct file_handle`): its length, its type, its bytes.
#[repr(C)]
#[derive(Clone)]
pub(crate) struct KernelHandle {
    length: u32,
    kind: c_int,
    bytes: [u8; MAX_KERNEL_HANDLE_BYTES],
}

impl KernelHandle {
    /// Makes a handle of its type and bytes, or `None` when there are too many bytes.
    pub(crate) fn new(kind: i32, parts: &[&[u8]]) -> Option<KernelHandle> {
        let mut handle = KernelHandle { length: 0, kind, bytes: [0; MAX_KERNEL_HANDLE_BYTES] };
        for part in parts {
            let start = handle.length as usize;
            handle.bytes.get_mut(start..start + part.len())?.copy_from_slice(part);
            handle.length += u32::try_from(part.len()).ok()?;
        }
        Some(handle)
    }

    /// What the file system calls the layout of the bytes.
    pub(crate) fn kind(&self) -> i32 {
        self.kind
    }

    /// The bytes.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..(self.length as usize).min(MAX_KERNEL_HANDLE_BYTES)]
    }
}

impl fmt::Debug for KernelHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KernelHandle({:#x}, {:02x?})", self.kind, self.as_bytes())
    }
}

/// The kernel's handle of `name` in `dir` (or of `dir` itself with [`EMPTY_PATH`] and an empty name). A symbolic link
/// is not followed.
pub(crate) fn name_to_handle(dir: BorrowedFd<'_>, name: &CStr, flags: c_int) -> io::Result<KernelHandle> {
    let length = MAX_KERNEL_HANDLE_BYTES as u32;
    let mut handle = KernelHandle { length, kind: 0, bytes: [0; MAX_KERNEL_HANDLE_BYTES] };
    let mut mount_id: c_int = 0;
    let into = (&raw mut handle).cast::<libc::file_handle>();
    // SAFETY: `name` is a C string; `into` points to a `struct file_handle` with room for the `length` bytes that it
    // announces, in the kernel's layout; `mount_id` is an int. All three outlive the call.
    let done = unsafe { libc::name_to_handle_at(dir.as_raw_fd(), name.as_ptr(), into, &raw mut mount_id, flags) };
    if done == 0 { Ok(handle) } else { Err(io::Error::last_os_error()) }
}

/// Opens the file that `handle` names, on the file system that `mount` is open on.
pub(crate) fn open_by_handle(mount: BorrowedFd<'_>, handle: &KernelHandle, flags: c_int) -> io::Result<OwnedFd> {
    let mut handle = handle.clone();
    let from = (&raw mut handle).cast::<libc::file_handle>();
    // SAFETY: `from` points to a whole `struct file_handle` with as many bytes behind it as it announces, ours alone.
    let fd = unsafe { libc::open_by_handle_at(mount.as_raw_fd(), from, flags) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor, and nothing else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Makes `to` share a range of `from` (`FICLONERANGE`).
pub(crate) fn clone_range(to: BorrowedFd<'_>, from: BorrowedFd<'_>, range: vfs::CopyRange) -> io::Result<()> {
    let argument = libc::file_clone_range {
        src_fd: from.as_raw_fd().into(),
        src_offset: range.from_bytes,
        src_length: range.length_bytes,
        dest_offset: range.to_bytes,
    };
    // SAFETY: the argument is the structure that this request reads, it outlives the call, and both descriptors are
    // open.
    let done = unsafe { libc::ioctl(to.as_raw_fd(), libc::FICLONERANGE, &raw const argument) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sets the user as whom this thread uses files, and says whether it is that user now.
pub(crate) fn set_fsuid(uid: u32) -> bool {
    set_and_read_back(libc::SYS_setfsuid, uid)
}

/// Sets the group as which this thread uses files, and says whether it is that group now.
pub(crate) fn set_fsgid(gid: u32) -> bool {
    set_and_read_back(libc::SYS_setfsgid, gid)
}

/// These two calls return what was set before and never an error; an id of -1 changes nothing and so reads the present
/// one.
fn set_and_read_back(call: libc::c_long, id: u32) -> bool {
    // SAFETY: setfsuid and setfsgid take one number and touch no memory of ours.
    let now = unsafe {
        libc::syscall(call, libc::c_long::from(id));
        libc::syscall(call, libc::c_long::from(u32::MAX))
    };
    id != u32::MAX && now as u32 == id
}

/// A lock of an open file description, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LockKind {
    /// No lock.
    None,
    /// One that others may have too.
    Shared,
    /// One that nobody else has.
    Exclusive,
}

impl LockKind {
    fn description(self, (start, length): (i64, i64)) -> libc::flock {
        let kind = match self {
            LockKind::None => libc::F_UNLCK,
            LockKind::Shared => libc::F_RDLCK,
            LockKind::Exclusive => libc::F_WRLCK,
        };
        // SAFETY: a structure of numbers, for which zeros are good.
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        lock.l_type = kind as libc::c_short;
        lock.l_whence = libc::SEEK_SET as libc::c_short;
        (lock.l_start, lock.l_len) = (start, length);
        lock
    }
}

/// Sets the lock of a range, from `start` on for `length` bytes or, with 0, to the end. It does not wait: false means
/// that somebody else's lock is in the way, and nothing has changed.
pub(crate) fn set_lock(file: BorrowedFd<'_>, kind: LockKind, extent: (i64, i64)) -> io::Result<bool> {
    let lock = kind.description(extent);
    // SAFETY: the lock is the structure that this request reads, and it outlives the call.
    let done = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) };
    if done == 0 {
        return Ok(true);
    }
    match io::Error::last_os_error() {
        error if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => Ok(false),
        error => Err(error),
    }
}

/// The lock that would be in the way of one: whether it is exclusive, its start, and its length or 0.
pub(crate) fn find_lock(
    file: BorrowedFd<'_>,
    kind: LockKind,
    extent: (i64, i64),
) -> io::Result<Option<(bool, i64, i64)>> {
    let mut lock = kind.description(extent);
    // SAFETY: the lock is the structure that this request reads and writes, and it outlives the call.
    let done = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut lock) };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    let is_free = lock.l_type == libc::F_UNLCK as libc::c_short;
    Ok((!is_free).then_some((lock.l_type == libc::F_WRLCK as libc::c_short, lock.l_start, lock.l_len)))
}

/// Starts to write the dirty pages of a file, and waits until they are on the disk; what leads to them may not be.
pub(crate) fn write_out(file: BorrowedFd<'_>) -> rustix::io::Result<()> {
    let all = libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    sync_file_range(file, 0, all)
}

/// Reports an error of writing a file back that was not reported to this open file yet. The call waits for the first
/// page alone, and reports what is known of all.
pub(crate) fn pending_error(file: BorrowedFd<'_>) -> rustix::io::Result<()> {
    sync_file_range(file, 1, libc::SYNC_FILE_RANGE_WAIT_BEFORE)
}

/// `sync_file_range(2)` from the start of a file on; a length of 0 means to its end.
fn sync_file_range(file: BorrowedFd<'_>, length: i64, flags: libc::c_uint) -> rustix::io::Result<()> {
    // SAFETY: the call takes numbers alone, and the descriptor is open.
    let done = unsafe { libc::sync_file_range(file.as_raw_fd(), 0, length, flags) };
    if done == 0 { Ok(()) } else { Err(last_errno()) }
}

fn last_errno() -> rustix::io::Errno {
    rustix::io::Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(rustix::io::Errno::IO)
}
