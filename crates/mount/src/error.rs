use std::io;
use std::path::PathBuf;

/// Why a file system could not be mounted.
#[derive(Debug, thiserror::Error)]
pub enum MountError {
    /// The directory cannot be used.
    #[error("{}: {source}", dir.display())]
    Place {
        /// The directory.
        dir: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The path is not a directory.
    #[error("{}: is not a directory; name an empty directory to mount on", .0.display())]
    NotDirectory(PathBuf),
    /// `/dev/fuse` cannot be opened.
    #[error(
        "cannot open /dev/fuse: {0}; load the kernel module with `modprobe fuse`, and in a container pass /dev/fuse into it"
    )]
    Device(#[source] io::Error),
    /// The kernel refused.
    #[error("cannot mount on {}: {source}", dir.display())]
    Refused {
        /// The directory.
        dir: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// There is no `fusermount3`, and this is not the superuser.
    #[error("cannot run fusermount3: {0}; install the package fuse3 (apt install fuse3), or mount as root")]
    Fusermount(#[source] io::Error),
    /// `fusermount3` refused; it has printed the reason on standard error.
    #[error("fusermount3 did not mount on {}", .0.display())]
    FusermountRefused(PathBuf),
    /// `fusermount3` opens `/dev/fuse` as the user, who may not.
    #[error(
        "this user cannot open /dev/fuse, whose mode is {mode:04o}: {source}; let root allow it, usually by \
         `chmod 666 /dev/fuse`, or mount as root"
    )]
    DeviceMode {
        /// The mode's bits for permissions.
        mode: u32,
        /// The error of the system.
        source: io::Error,
    },
    /// The kernel's interface is too old.
    #[error("the kernel has FUSE {major}.{minor}; Wharf requires 7.31 (Linux 5.4)")]
    OldKernel {
        /// Its major version.
        major: u32,
        /// Its minor version.
        minor: u32,
    },
    /// The mount ended before it began.
    #[error("{} was unmounted before mounting was complete", .0.display())]
    Ended(PathBuf),
    /// A thread could not be started.
    #[error("cannot start a thread: {0}")]
    Thread(#[source] io::Error),
}

/// Why a file system could not be unmounted.
#[derive(Debug, thiserror::Error)]
pub enum UnmountError {
    /// Files on it are open, or are the working directory of a process.
    #[error(
        "{} is busy: end the programs that use it (`fuser -vm {}` lists them) and try again", .0.display(), .0.display())]
    Busy(PathBuf),
    /// The system refused.
    #[error("cannot unmount {}: {source}", dir.display())]
    Refused {
        /// The directory.
        dir: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}
