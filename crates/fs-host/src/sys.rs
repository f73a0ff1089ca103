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

/// The words of `struct btrfs_ioctl_fs_info_args`, and which of them are its `flags` and `metadata_uuid`.
const BTRFS_INFO_WORDS: usize = 128;
const BTRFS_INFO_FLAGS: usize = 6;
const BTRFS_INFO_UUID: usize = 8;
/// Asks for `metadata_uuid` (`BTRFS_FS_INFO_FLAG_METADATA_UUID`).
const BTRFS_INFO_WITH_UUID: u64 = 1 << 2;
/// The number of the request (`BTRFS_IOC_FS_INFO`).
const BTRFS_INFO: libc::Ioctl = libc::_IOR::<[u64; BTRFS_INFO_WORDS]>(0x94, 31);

/// The UUID that a btrfs has on its disk, wherever it is mounted.
pub(crate) fn btrfs_uuid(dir: BorrowedFd<'_>) -> io::Result<[u64; 2]> {
    let mut info = [0_u64; BTRFS_INFO_WORDS];
    info[BTRFS_INFO_FLAGS] = BTRFS_INFO_WITH_UUID;
    // SAFETY: the kernel reads and writes one structure of this size and alignment, which lives during the call.
    let done = unsafe { libc::ioctl(dir.as_raw_fd(), BTRFS_INFO, info.as_mut_ptr()) };
    if done == 0 { Ok([info[BTRFS_INFO_UUID], info[BTRFS_INFO_UUID + 1]]) } else { Err(io::Error::last_os_error()) }
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

/// The bytes of a lock as the kernel has them, from `start_bytes` on. A length of 0 reaches to the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LockExtent {
    pub(crate) start_bytes: i64,
    pub(crate) length_bytes: i64,
}

/// A lock that is in the way of another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FoundLock {
    pub(crate) exclusive: bool,
    pub(crate) extent: LockExtent,
}

impl LockKind {
    fn description(self, extent: LockExtent) -> libc::flock {
        let kind = match self {
            LockKind::None => libc::F_UNLCK,
            LockKind::Shared => libc::F_RDLCK,
            LockKind::Exclusive => libc::F_WRLCK,
        };
        // SAFETY: a structure of numbers, for which zeros are good.
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        lock.l_type = kind as libc::c_short;
        lock.l_whence = libc::SEEK_SET as libc::c_short;
        (lock.l_start, lock.l_len) = (extent.start_bytes, extent.length_bytes);
        lock
    }
}

/// Sets a lock. It does not wait: false means that somebody else's lock is in the way, and nothing has changed.
pub(crate) fn set_lock(file: BorrowedFd<'_>, kind: LockKind, extent: LockExtent) -> io::Result<bool> {
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

/// The lock that would be in the way of one.
pub(crate) fn find_lock(file: BorrowedFd<'_>, kind: LockKind, extent: LockExtent) -> io::Result<Option<FoundLock>> {
    let mut lock = kind.description(extent);
    // SAFETY: the lock is the structure that this request reads and writes, and it outlives the call.
    let done = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut lock) };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    let is_free = lock.l_type == libc::F_UNLCK as libc::c_short;
    let extent = LockExtent { start_bytes: lock.l_start, length_bytes: lock.l_len };
    Ok((!is_free).then_some(FoundLock { exclusive: lock.l_type == libc::F_WRLCK as libc::c_short, extent }))
}

/// Which thread gets the signal of a descriptor (fcntl(2)).
const F_SETOWN_EX: c_int = 15;
const F_OWNER_TID: c_int = 0;

/// Which signal a descriptor sends (fcntl(2)).
const F_SETSIG: c_int = 10;

/// `struct f_owner_ex`.
#[repr(C)]
struct Owner {
    kind: c_int,
    id: libc::pid_t,
}

/// The signal of broken leases. Only the thread that it is sent to has to block it.
fn lease_signal() -> c_int {
    libc::SIGRTMIN()
}

/// Leases a file that is open for reading alone, for reading: no process has it open for writing, and the kernel sends
/// a signal to the thread before it lets one write (fcntl(2), F_SETLEASE).
pub(crate) fn take_lease(file: BorrowedFd<'_>, thread: libc::pid_t) -> io::Result<()> {
    let owner = Owner { kind: F_OWNER_TID, id: thread };
    let fd = file.as_raw_fd();
    // SAFETY: the first request reads a `struct f_owner_ex`, which outlives the call; the others take numbers.
    let is_taken = unsafe {
        libc::fcntl(fd, F_SETOWN_EX, &raw const owner) == 0
            && libc::fcntl(fd, F_SETSIG, lease_signal()) == 0
            && libc::fcntl(fd, libc::F_SETLEASE, libc::F_RDLCK) == 0
    };
    if is_taken { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Ends the lease of [`take_lease`]; closing the file would do so too, but a child that was forked may have it open.
pub(crate) fn end_lease(file: BorrowedFd<'_>) {
    // SAFETY: the request takes a number. It fails if the kernel has ended the lease.
    unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_UNLCK) };
}

/// Whether the lease of [`take_lease`] holds: nobody waits for its end.
pub(crate) fn has_lease(file: BorrowedFd<'_>) -> bool {
    // SAFETY: the request takes no argument.
    unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETLEASE) == libc::F_RDLCK }
}

/// Blocks the signal of broken leases on this thread, and the one that the kernel sends in its place when it has no
/// memory. Returns a descriptor to read them from, on this thread alone (signalfd(2)).
pub(crate) fn receive_lease_signals() -> io::Result<OwnedFd> {
    // SAFETY: a set of signals is made of numbers, for which zeros are good; the calls change and read only this one,
    // and the signal mask of this thread.
    let fd = unsafe {
        let mut signals: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut signals);
        libc::sigaddset(&raw mut signals, lease_signal());
        libc::sigaddset(&raw mut signals, libc::SIGIO);
        let failure = libc::pthread_sigmask(libc::SIG_BLOCK, &raw const signals, std::ptr::null_mut());
        if failure != 0 {
            return Err(io::Error::from_raw_os_error(failure));
        }
        libc::signalfd(-1, &raw const signals, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor, and nothing else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The length of `struct signalfd_siginfo`, and where it has the signal and the descriptor (signalfd(2)).
const SIGNAL_BYTES: usize = 128;
const SIGNAL_NUMBER_AT: usize = 0;
const SIGNAL_FD_AT: usize = 20;

/// The descriptor whose lease a received signal says is broken, or `None` if it may be any.
pub(crate) fn next_lease_signal(signals: BorrowedFd<'_>) -> rustix::io::Result<Option<c_int>> {
    let mut bytes = [0; SIGNAL_BYTES];
    rustix::io::read(signals, &mut bytes)?;
    let number = |at: usize| c_int::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    Ok((number(SIGNAL_NUMBER_AT) == lease_signal()).then(|| number(SIGNAL_FD_AT)))
}

/// Starts to write the dirty pages of a file, and waits until they are on the disk; what leads to them may not be.
pub(crate) fn write_out(file: BorrowedFd<'_>) -> rustix::io::Result<()> {
    let all = libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    sync_file_range(file, 0, 0, all)
}

/// Reports an error of writing a file back that was not reported to this open file yet. The call waits for one
/// page alone, at an offset that few files have and each kernel accepts, and reports what is known of all.
pub(crate) fn pending_error(file: BorrowedFd<'_>) -> rustix::io::Result<()> {
    sync_file_range(file, 1 << 43, 1, libc::SYNC_FILE_RANGE_WAIT_BEFORE)
}

/// `sync_file_range(2)`; a length of 0 means to the end of the file.
fn sync_file_range(file: BorrowedFd<'_>, offset: i64, length: i64, flags: libc::c_uint) -> rustix::io::Result<()> {
    // SAFETY: the call takes numbers alone, and the descriptor is open.
    let done = unsafe { libc::sync_file_range(file.as_raw_fd(), offset, length, flags) };
    if done == 0 { Ok(()) } else { Err(last_errno()) }
}

fn last_errno() -> rustix::io::Errno {
    rustix::io::Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(rustix::io::Errno::IO)
}
