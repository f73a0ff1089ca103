//! Copies of whole trees between this machine and a mounted export, and between exports.
//!
//! Kept are: bytes, holes, modes, times, symbolic links, hard links within the tree, FIFOs, sockets and devices; owners
//! and extended attributes when asked for. Several files go at once and each has many transfers on the way, within
//! limits for both. What is there already is never taken for a copy that was begun before: it is an error, or is
//! overwritten when that was asked for. When a copy is to go on, what is whole stays (of a file's attributes the times
//! are set last), and what is not is compared with its original.
//!
//! Where holes are is asked from NFSv4.2 on (SEEK), so that they cost nothing there. Older versions do not tell: of a file that takes
//! less room than it is long everything is read, and blocks of zeros are left out of the copy.
//!
//! A tree is walked depth first, and memory does not grow with it: of each directory on the way from the top there is one
//! page of the server's listing, or the names when the directory is on this machine. Files with several names are kept in
//! mind until all of these came by.

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
mod remote;
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

use crate::Mount;
pub use error::{CopyError, LocalError};
use job::Job;
pub use mark::{unfinished_here, unfinished_there};
pub use resume::has_time;
pub use stop::Stop;

/// How many directories deep a tree may be: half as deep as Linux can name in one path.
const MAX_DEPTH: usize = 1024;
/// How many directories that are copied wait for their modes and times at the most; then the copy waits until nothing is
/// made in them any more.
const MAX_UNFINISHED_DIRECTORIES: usize = 4096;

/// How to copy.
#[derive(Clone)]
pub struct CopyOptions {
    /// Whether files that are there already are overwritten and directories merged. Otherwise they are errors.
    pub overwrite: bool,
    /// Whether a copy goes on that ended early: files stay whose copies are there with the same length and time of
    /// modification, which a file gets last of all. Of all others what is there is compared with the original, and they
    /// are copied from the first difference on.
    pub resume: bool,
    /// What is written into the top directory of a tree's copy, in a file `.wharf-copy`, until all of the tree is
    /// copied: the name of the original. [`unfinished_here`] and [`unfinished_there`] read it.
    pub mark: Option<Vec<u8>>,
    /// Whether every file is read back from its copy and compared.
    pub verify: bool,
    /// Whether users and groups are kept, which mostly needs a superuser on both sides.
    pub keep_owners: bool,
    /// Whether extended attributes of the user's are kept (`user.*`, RFC 8276), of regular files and directories: copies have those of their
    /// originals and no others. A server has to speak NFSv4.2 and to keep them, which is asked before anything is copied; a file system of
    /// this machine that keeps none has none to copy, and takes none.
    pub keep_xattrs: bool,
    /// Whether modes and times are kept. Otherwise new files have the mode of the old ones and the present time.
    pub keep_times: bool,
    /// How many files are copied at once, 1 to [`CopyOptions::MAX_FILES`].
    pub files: usize,
    /// How many reads and writes of data are on their way at once, 1 to [`CopyOptions::MAX_TRANSFERS`]. Each takes the
    /// memory of one transfer.
    pub transfers: usize,
    /// Hears of every step.
    pub progress: Option<Progress>,
    /// Hears of each file of a tree that could not be copied, and the copy goes on with the next one. Without this the
    /// first failure ends the copy, and in any case one that would be the same with every further file: the server is
    /// gone or has no room.
    pub on_failure: Option<OnFailure>,
    /// What ends the copy early.
    pub stop: Option<Stop>,
}

/// Hears which path below the top could not be copied, and why; called from several tasks, and better quick.
pub type OnFailure = Arc<dyn Fn(&[u8], &CopyError) + Send + Sync>;

/// Hears of the steps of a copy; called from several tasks, and better quick.
pub type Progress = Arc<dyn Fn(Event<'_>) + Send + Sync>;

/// A step of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A file of this many bytes is going to be copied.
    Found {
        /// Its path below the tree's top.
        path: &'a [u8],
        /// Its length in bytes.
        bytes: u64,
    },
    /// Its copy is there now and is incomplete.
    Begun {
        /// Its path below the tree's top.
        path: &'a [u8],
    },
    /// So many more bytes are done, holes included.
    Copied(u64),
    /// So many bytes of files were there already, with [`CopyOptions::resume`].
    Kept(u64),
    /// Something is copied whole.
    Finished {
        /// Its path below the tree's top.
        path: &'a [u8],
        /// Whether it is a regular file, and not one more name of another.
        is_file: bool,
    },
}

/// What was copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Summary {
    /// Regular files.
    pub files: u64,
    /// Regular files whose copies were there already, with [`CopyOptions::resume`].
    pub kept: u64,
    /// Bytes at the start of files that were there already, with [`CopyOptions::resume`]. They are not among the
    /// following ones.
    pub resumed_bytes: u64,
    /// Files that could not be copied, of which [`CopyOptions::on_failure`] heard.
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
    /// Bytes that went over the wire; less than the above by the holes.
    pub data_bytes: u64,
    /// Bytes that the server copied by itself, from one of its files to another.
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

/// Copies a file or a tree of this machine to `to`, a path below the mount's root whose directory exists.
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
/// The first thing that goes wrong, with its path; what was copied until then stays.
pub async fn upload(mount: &Mount, from: &Path, to: &[u8], options: &CopyOptions) -> Result<Summary, CopyError> {
    let job = Arc::new(Job::new(mount, options));
    // Boxed, so that the futures of applications stay small for the compiler.
    Box::pin(upload::run(&job, from, to)).await?;
    Ok(job.summary())
}

/// Copies a file or a tree below the mount's root to `to`, a path of this machine whose directory exists.
///
/// # Errors
/// As those of [`upload()`].
pub async fn download(mount: &Mount, from: &[u8], to: &Path, options: &CopyOptions) -> Result<Summary, CopyError> {
    let job = Arc::new(Job::new(mount, options));
    // Boxed, so that the futures of applications stay small for the compiler.
    Box::pin(download::run(&job, from, to)).await?;
    Ok(job.summary())
}

/// Copies a file or a tree of one mount to `to`, a path below the root of another one, or the same, whose directory exists.
///
/// Where both are the same mount of NFSv4.2 the server copies by itself: files share their data where it can do that (CLONE), and
/// are copied there otherwise (COPY). In all other cases the data goes through here. A copy that the server makes when this future is
/// dropped is cancelled; [`Mount::copies_ended`] waits for that.
///
/// # Errors
/// As those of [`upload()`].
pub async fn between(
    (source, from): (&Mount, &[u8]),
    (target, to): (&Mount, &[u8]),
    options: &CopyOptions,
) -> Result<Summary, CopyError> {
    let job = Arc::new(Job::new(target, options));
    // Boxed, so that the futures of applications stay small for the compiler.
    Box::pin(remote::run(&job, (source, from), to)).await?;
    Ok(job.summary())
}
