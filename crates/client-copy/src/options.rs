//! How to copy, the steps of a copy, and its summary.

use std::sync::Arc;

use client_files::Follow;

use super::error::CopyError;
use super::stop::Stop;

/// How to copy.
#[derive(Clone)]
pub struct CopyOptions {
    /// Whether existing files are overwritten and directories merged. Otherwise they are errors.
    pub overwrite: bool,
    /// Whether to go on with a copy that ended early. Files stay if their copies have the same length and time of
    /// modification, which is set last. All other existing files are compared with their originals and copied from the
    /// first difference on.
    pub resume: bool,
    /// Whether an original that is a symbolic link is followed. Those in a tree never are.
    pub follow: bool,
    /// The name of the original. The top directory of a tree's copy has it in a file `.wharf-copy` until the whole tree
    /// is copied. [`unfinished_here`](super::unfinished_here) and [`unfinished_there`](super::unfinished_there) read
    /// it.
    pub mark: Option<Vec<u8>>,
    /// Whether every file is read back from its copy and compared.
    pub verify: bool,
    /// Whether users and groups are kept; this usually requires a superuser on both sides.
    pub keep_owners: bool,
    /// Whether the user's extended attributes (`user.*`, RFC 8276) of regular files and directories are kept: a copy
    /// has exactly those of its original. A server must speak NFSv4.2 and support them, which is checked before
    /// anything is copied. A file system of this machine without them has none to copy, and takes none.
    pub keep_xattrs: bool,
    /// Whether modes and times are kept. Otherwise new files have the original's mode and the present time.
    pub keep_times: bool,
    /// How many files are copied at once, 1 to [`CopyOptions::MAX_FILES`].
    pub files: usize,
    /// How many reads and writes of data are in flight at once, 1 to [`CopyOptions::MAX_TRANSFERS`]. Each takes the
    /// memory of one transfer.
    pub transfers: usize,
    /// Called for every step.
    pub progress: Option<Progress>,
    /// Called for each file of a tree that could not be copied; the copy then goes on. Without it the first failure
    /// ends the copy. A failure that every further file would share always does: the server is gone or has no room.
    pub on_failure: Option<OnFailure>,
    /// What ends the copy early.
    pub stop: Option<Stop>,
}

/// Called with the path below the top that could not be copied, and the error; from several tasks, so it should be
/// quick.
pub type OnFailure = Arc<dyn Fn(&[u8], &CopyError) + Send + Sync>;

/// Called with the steps of a copy; from several tasks, so it should be quick.
pub type Progress = Arc<dyn Fn(Event<'_>) + Send + Sync>;

/// A step of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A file of this many bytes will be copied.
    Found {
        /// Its path below the tree's top.
        path: &'a [u8],
        /// Its length in bytes.
        bytes: u64,
    },
    /// Its copy exists now and is incomplete.
    Begun {
        /// Its path below the tree's top.
        path: &'a [u8],
    },
    /// So many more bytes are done, holes included.
    Copied(u64),
    /// So many bytes of files were already copied, with [`CopyOptions::resume`].
    Kept(u64),
    /// Something is copied completely.
    Finished {
        /// Its path below the tree's top.
        path: &'a [u8],
        /// Whether it is a regular file, and not a further name of another.
        is_file: bool,
    },
}

/// What was copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Summary {
    /// Regular files.
    pub files: u64,
    /// Regular files that were already copied, with [`CopyOptions::resume`].
    pub kept: u64,
    /// Bytes at the start of files that were already copied, with [`CopyOptions::resume`]. The counts of bytes below do
    /// not include them.
    pub resumed_bytes: u64,
    /// Files that could not be copied and were reported to [`CopyOptions::on_failure`].
    pub failed: u64,
    /// Files, directories and others whose copies belong to another user or group, since the target refuses to set them
    /// ([`CopyOptions::keep_owners`]). Their set-user-ID and set-group-ID bits are cleared.
    pub owners_refused: u64,
    /// Directories.
    pub directories: u64,
    /// Symbolic links.
    pub symlinks: u64,
    /// FIFOs, sockets and devices.
    pub special_files: u64,
    /// Further names of files that were copied already.
    pub hard_links: u64,
    /// Bytes of regular files, holes included.
    pub bytes: u64,
    /// Bytes that went over the wire: holes do not count.
    pub data_bytes: u64,
    /// Bytes that the server copied by itself from one of its files to another.
    pub server_bytes: u64,
}

impl CopyOptions {
    /// The most files at once.
    pub const MAX_FILES: usize = 1024;
    /// The most transfers at once.
    pub const MAX_TRANSFERS: usize = 1024;
}

impl CopyOptions {
    /// How to look up the original.
    pub(super) fn look(&self) -> Follow {
        if self.follow { Follow::Links } else { Follow::Nothing }
    }
}

impl Default for CopyOptions {
    fn default() -> Self {
        CopyOptions {
            overwrite: false,
            resume: false,
            follow: false,
            mark: None,
            verify: false,
            keep_owners: false,
            keep_xattrs: false,
            keep_times: true,
            files: 16,
            transfers: 32,
            progress: None,
            on_failure: None,
            stop: None,
        }
    }
}

impl std::fmt::Debug for CopyOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CopyOptions")
            .field("overwrite", &self.overwrite)
            .field("resume", &self.resume)
            .field("follow", &self.follow)
            .field("mark", &self.mark)
            .field("verify", &self.verify)
            .field("keep_owners", &self.keep_owners)
            .field("keep_xattrs", &self.keep_xattrs)
            .field("keep_times", &self.keep_times)
            .field("files", &self.files)
            .field("transfers", &self.transfers)
            .finish_non_exhaustive()
    }
}
