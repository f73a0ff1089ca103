//! Mounts any [`FileSystem`](vfs::FileSystem) on a directory of this machine, through the kernel's FUSE.
//!
//! [`mount()`] opens `/dev/fuse`, mounts it, and answers the kernel's requests on threads of its own until it is
//! unmounted; [`Mounted`] waits for that. Other users than the superuser need `fusermount3` of Debian's `fuse3`.
//!
//! # Threads
//!
//! A thread that has received a request makes sure that another one listens, and then carries it out; so a call that
//! waits for a server blocks no others. When the limit of threads is reached, the last listener queues requests,
//! because interruptions must be received: a killed process gets its reply at once, and its request goes on without it
//! (`flights.rs`).
//!
//! # Kernel caches
//!
//! The kernel caches names, attributes and pages. [`Options`] sets how long names and attributes are valid. The kernel
//! drops pages when an open or fresh attributes show that somebody else has changed the file.
#![forbid(unsafe_code)]

mod abi;
mod arguments;
mod attach;
mod callers;
mod device;
mod dispatch;
mod errno;
mod error;
mod files;
mod flights;
mod init;
mod local_locks;
mod lock_call;
mod lock_waits;
mod mounted;
mod nodes;
mod open_dirs;
mod ops;
mod options;
mod output;
mod positions;
mod read_ahead;
mod reply;
mod session;
mod sync;
mod unmounted;
mod worker_pool;

pub use error::{MountError, UnmountError};
pub use mounted::{Mounted, mount};
pub use options::{Options, Validity};
pub use read_ahead::can_read_ahead;
pub use unmounted::Unmounted;
