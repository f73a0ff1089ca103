//! Copies whole trees between this machine and a mounted export, and between exports.
//!
//! A copy keeps bytes, holes, modes, times, symbolic links, hard links within the tree, FIFOs, sockets and devices;
//! owners and extended attributes on request. Several files are copied at once, with many transfers under way for each,
//! within limits for both. An existing target is an error, or is overwritten on request; it is never taken for an
//! unfinished copy. A resumed copy keeps whole files (a file's times are set last) and compares all others with their
//! originals.
//!
//! From NFSv4.2 on the server tells where holes are (SEEK), so they cost nothing. With older versions, a file that
//! takes less room than its length is read whole, and blocks of zeros become holes in the copy.
//!
//! A tree is walked depth first, and memory does not grow with it: each directory on the path from the top takes one
//! page of the server's listing, or its names if it is on this machine. Files with several names are remembered until
//! all of these were met.
#![forbid(unsafe_code)]

mod between;
mod content;
mod download;
mod error;
mod here;
mod holes;
mod job;
mod links;
mod local;
mod mark;
mod place;
mod reading;
mod receive;
mod relay;
mod resume;
mod safety;
mod send;
mod sides;
mod stop;
mod there;
mod upload;
mod verify;
mod walk;
mod xattrs;

use std::path::Path;
use std::sync::Arc;

use client_files::Mount;
pub use error::{CopyError, LocalError};
use job::Job;
pub use mark::{unfinished_here, unfinished_there};
pub use resume::has_time;
pub use stop::Stop;

/// The deepest nesting of directories: half as deep as Linux can name in one path.
const MAX_DEPTH: usize = 1024;
/// The most copied directories that wait for their modes and times. At the limit the walk waits until the files in them
/// are copied.
const MAX_UNFINISHED_DIRECTORIES: usize = 4096;

/// How to copy.
#[derive(Clone)]
pub struct CopyOptions {
    /// Whether existing files are overwritten and directories merged. Otherwise they are errors.
    pub overwrite: bool,
    /// Whether to go on with a copy that ended early. Files stay if their copies have the same length and time of
    /// modification, which is set last. All other existing files are compared with their originals and copied from the
    /// first difference on.
    pub resume: bool,
    /// The name of the original. The top directory of a tree's copy has it in a file `.wharf-copy` until the whole tree
    /// is copied. [`unfinished_here`] and [`unfinished_there`] read it.
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
    /// How many reads and writes of data are under way at once, 1 to [`CopyOptions::MAX_TRANSFERS`]. Each takes the
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

impl Default for CopyOptions {
    fn default() -> Self {
        CopyOptions {
            overwrite: false,
            resume: false,
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

/// Copies a file or a tree of this machine to `to`, a path below the mount's root whose parent directory exists.
///
/// ```no_run
/// # async fn example(mount: client::Mount) -> Result<(), client::copy::CopyError> {
/// use client::copy::{CopyOptions, upload};
///
/// let options = CopyOptions { verify: true, ..CopyOptions::default() };
/// let summary = upload(&mount, "src".as_ref(), b"backup/src", &options).await?;
/// println!("{} files, {} bytes", summary.files, summary.bytes);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The first failure, with its path; what was copied until then stays.
pub async fn upload(mount: &Mount, from: &Path, to: &[u8], options: &CopyOptions) -> Result<Summary, CopyError> {
    let job = Arc::new(Job::new(mount, options));
    // Boxed, so that the futures of applications stay small for the compiler.
    Box::pin(upload::run(&job, from, to)).await?;
    Ok(job.summary())
}

/// Copies a file or a tree below the mount's root to `to`, a path of this machine whose parent directory exists.
///
/// # Errors
/// As for [`upload()`].
pub async fn download(mount: &Mount, from: &[u8], to: &Path, options: &CopyOptions) -> Result<Summary, CopyError> {
    let job = Arc::new(Job::new(mount, options));
    // Boxed, so that the futures of applications stay small for the compiler.
    Box::pin(download::run(&job, from, to)).await?;
    Ok(job.summary())
}

/// Copies a file or a tree of one mount to `to`, a path below the root of another mount or the same; its parent
/// directory exists.
///
/// If both are the same mount of NFSv4.2, the server copies by itself: it shares the data where it can (CLONE), and
/// copies it otherwise (COPY). In all other cases the data goes through this machine. Dropping this future cancels a
/// server's copy under way; [`Mount::copies_ended`] waits for that.
///
/// # Errors
/// As for [`upload()`].
pub async fn between(
    (source, from): (&Mount, &[u8]),
    (target, to): (&Mount, &[u8]),
    options: &CopyOptions,
) -> Result<Summary, CopyError> {
    let job = Arc::new(Job::new(target, options));
    // Boxed, so that the futures of applications stay small for the compiler.
    Box::pin(between::run(&job, (source, from), to)).await?;
    Ok(job.summary())
}
