//! Numbers of the kernel's interface, version 7 (`linux/fuse.h`).

/// The major version of the interface.
pub(crate) const MAJOR: u32 = 7;
/// The newest minor version whose structures this crate knows.
pub(crate) const MINOR: u32 = 38;
/// The oldest minor version that this crate supports: that of Linux 5.4.
pub(crate) const OLDEST_MINOR: u32 = 31;

/// The node ID of the root.
pub(crate) const ROOT: u64 = 1;
/// The bytes of the header of a request.
pub(crate) const IN_HEADER_BYTES: usize = 40;
/// The bytes of the header of a reply.
pub(crate) const OUT_HEADER_BYTES: usize = 16;
/// The bytes of `fuse_entry_out`.
pub(crate) const ENTRY_BYTES: usize = 128;
/// The bytes of `fuse_dirent` in front of the name.
pub(crate) const DIRENT_BYTES: usize = 24;
/// The most bytes of data in a request or a reply.
pub(crate) const MAX_DATA_BYTES: usize = 1 << 20;
/// The bytes of a request besides its data: headers, and names of paths.
pub(crate) const REQUEST_HEAD_BYTES: usize = 16 * 1024;

/// The opcodes of requests.
pub(crate) mod opcode {
    pub(crate) const LOOKUP: u32 = 1;
    pub(crate) const FORGET: u32 = 2;
    pub(crate) const GETATTR: u32 = 3;
    pub(crate) const SETATTR: u32 = 4;
    pub(crate) const READLINK: u32 = 5;
    pub(crate) const SYMLINK: u32 = 6;
    pub(crate) const MKNOD: u32 = 8;
    pub(crate) const MKDIR: u32 = 9;
    pub(crate) const UNLINK: u32 = 10;
    pub(crate) const RMDIR: u32 = 11;
    pub(crate) const RENAME: u32 = 12;
    pub(crate) const LINK: u32 = 13;
    pub(crate) const OPEN: u32 = 14;
    pub(crate) const READ: u32 = 15;
    pub(crate) const WRITE: u32 = 16;
    pub(crate) const STATFS: u32 = 17;
    pub(crate) const RELEASE: u32 = 18;
    pub(crate) const FSYNC: u32 = 20;
    pub(crate) const SETXATTR: u32 = 21;
    pub(crate) const GETXATTR: u32 = 22;
    pub(crate) const LISTXATTR: u32 = 23;
    pub(crate) const REMOVEXATTR: u32 = 24;
    pub(crate) const FLUSH: u32 = 25;
    pub(crate) const INIT: u32 = 26;
    pub(crate) const OPENDIR: u32 = 27;
    pub(crate) const READDIR: u32 = 28;
    pub(crate) const RELEASEDIR: u32 = 29;
    pub(crate) const FSYNCDIR: u32 = 30;
    pub(crate) const GETLK: u32 = 31;
    pub(crate) const SETLK: u32 = 32;
    pub(crate) const SETLKW: u32 = 33;
    pub(crate) const CREATE: u32 = 35;
    pub(crate) const INTERRUPT: u32 = 36;
    pub(crate) const DESTROY: u32 = 38;
    pub(crate) const BATCH_FORGET: u32 = 42;
    pub(crate) const FALLOCATE: u32 = 43;
    pub(crate) const READDIRPLUS: u32 = 44;
    pub(crate) const RENAME2: u32 = 45;
    pub(crate) const LSEEK: u32 = 46;
    pub(crate) const COPY_FILE_RANGE: u32 = 47;
    pub(crate) const SYNCFS: u32 = 50;
}

/// The capabilities that INIT negotiates.
pub(crate) mod init {
    pub(crate) const ASYNC_READ: u64 = 1 << 0;
    pub(crate) const POSIX_LOCKS: u64 = 1 << 1;
    pub(crate) const BIG_WRITES: u64 = 1 << 5;
    pub(crate) const FLOCK_LOCKS: u64 = 1 << 10;
    pub(crate) const AUTO_INVAL_DATA: u64 = 1 << 12;
    pub(crate) const DO_READDIRPLUS: u64 = 1 << 13;
    pub(crate) const READDIRPLUS_AUTO: u64 = 1 << 14;
    pub(crate) const ASYNC_DIO: u64 = 1 << 15;
    pub(crate) const WRITEBACK_CACHE: u64 = 1 << 16;
    pub(crate) const PARALLEL_DIROPS: u64 = 1 << 18;
    pub(crate) const HANDLE_KILLPRIV: u64 = 1 << 19;
    pub(crate) const MAX_PAGES: u64 = 1 << 22;
    pub(crate) const CACHE_SYMLINKS: u64 = 1 << 23;
    /// The file system clears set-id bits on writes, too. The kernel then remembers that a file has none; otherwise it
    /// would ask for `security.capability` before each write.
    pub(crate) const HANDLE_KILLPRIV_V2: u64 = 1 << 28;
    /// Both sides have a second word of capabilities.
    pub(crate) const INIT_EXT: u64 = 1 << 30;
    /// Files opened with direct I/O can be mapped to memory.
    pub(crate) const DIRECT_IO_ALLOW_MMAP: u64 = 1 << 36;
}

/// The fields that SETATTR sets.
pub(crate) mod set {
    pub(crate) const MODE: u32 = 1 << 0;
    pub(crate) const UID: u32 = 1 << 1;
    pub(crate) const GID: u32 = 1 << 2;
    pub(crate) const SIZE: u32 = 1 << 3;
    pub(crate) const ATIME: u32 = 1 << 4;
    pub(crate) const MTIME: u32 = 1 << 5;
    pub(crate) const ATIME_NOW: u32 = 1 << 7;
    pub(crate) const MTIME_NOW: u32 = 1 << 8;
}

/// The flags of a reply to OPEN.
pub(crate) mod open {
    pub(crate) const DIRECT_IO: u32 = 1 << 0;
    pub(crate) const KEEP_CACHE: u32 = 1 << 1;
}

/// SETATTR and WRITE: clear the set-id bits, because the caller may not keep them.
pub(crate) const SETATTR_ENDS_SET_IDS: u32 = 1 << 11;
pub(crate) const WRITE_ENDS_SET_IDS: u32 = 1 << 2;
/// RELEASE: releases the `flock` lock of the file.
pub(crate) const RELEASE_FLOCK_UNLOCK: u32 = 1 << 1;
/// SETLK and similar: the lock is one of `flock`.
pub(crate) const LK_FLOCK: u32 = 1 << 0;
/// A notification to the kernel: invalidates the attributes of a file, and its pages if any are given.
pub(crate) const NOTIFY_INVAL_INODE: i32 = 2;
/// The offset that stands for no pages.
pub(crate) const NO_PAGES: u64 = u64::MAX;

/// Flags of `open(2)` from the kernel.
pub(crate) mod flags {
    pub(crate) const ACCESS_MODE: u32 = 0o3;
    pub(crate) const READ_ONLY: u32 = 0;
    pub(crate) const EXCLUSIVE: u32 = 0o200;
    pub(crate) const TRUNCATE: u32 = 0o1000;
    pub(crate) const DSYNC: u32 = 0o10000;
    /// Reads and writes go past all caches. The number depends on the processor.
    pub(crate) const DIRECT: u32 = rustix::fs::OFlags::DIRECT.bits();
}

/// The kinds of files in a mode.
pub(crate) mod kind {
    pub(crate) const MASK: u32 = 0o170_000;
    pub(crate) const SOCKET: u32 = 0o140_000;
    pub(crate) const SYMLINK: u32 = 0o120_000;
    pub(crate) const REGULAR: u32 = 0o100_000;
    pub(crate) const BLOCK_DEVICE: u32 = 0o060_000;
    pub(crate) const DIRECTORY: u32 = 0o040_000;
    pub(crate) const CHAR_DEVICE: u32 = 0o020_000;
    pub(crate) const FIFO: u32 = 0o010_000;
}
