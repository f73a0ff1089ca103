//! Mounts any [`FileSystem`](vfs::FileSystem) on a directory of this machine, through the kernel's FUSE.
//!
//! [`mount()`] opens `/dev/fuse`, mounts it, and answers the kernel's requests from threads of its own until somebody unmounts;
//! [`Mounted`] is what is left to wait for. The superuser needs nothing else; for anybody else `fusermount3` of Debian's `fuse3`
//! makes the mount.
//!
//! # Threads
//!
//! A thread that has received a request carries it out, and before it does it sees to it that another one listens; so a call that
//! waits for a server holds up nobody. There is a limit, and where it is reached the last listener puts requests into a queue, because
//! somebody has to hear of interruptions: a process that was killed gets its answer at once, and what it had asked for goes on
//! without it (`flights.rs`).
//!
//! # What the kernel keeps
//!
//! The kernel caches names, attributes and pages. How long it believes names and attributes is said in [`Options`]; pages it drops when an open
//! or fresh attributes show that somebody else has changed the file.
#![forbid(unsafe_code)]

mod abi;
mod arguments;
mod attach;
mod callers;
mod crew;
mod device;
mod dispatch;
mod errno;
mod error;
mod files;
mod flights;
mod init;
mod lock_waits;
mod mounted;
mod nodes;
mod ops;
mod options;
mod output;
mod read_ahead;
mod reply;
mod session;
mod sync;
mod unmounted;

pub use error::{MountError, UnmountError};
pub use mounted::{Mounted, mount};
pub use options::{Options, Validity};
pub use read_ahead::can_read_ahead;
pub use unmounted::Unmounted;
