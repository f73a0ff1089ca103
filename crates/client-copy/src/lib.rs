//! Copies whole trees between this machine and a mounted export, and between exports.
//!
//! A copy keeps bytes, holes, modes, times, symbolic links, hard links within the tree, FIFOs, sockets and devices;
//! owners and extended attributes on request. Several files are copied at once, with many transfers in flight for each,
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
mod itself;
mod job;
mod links;
mod local;
mod mark;
mod nesting;
mod options;
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
pub use itself::is_same_file;
use job::Job;
pub use mark::{Mark, unfinished_here, unfinished_there};
pub use options::{CopyOptions, Event, OnFailure, Progress, Summary};
pub use resume::has_time;
pub use stop::Stop;

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
/// server's copy in flight; [`Mount::copies_ended`] waits for that.
///
/// # Errors
/// As for [`upload()`].
pub async fn between(
    source: &Mount,
    from: &[u8],
    target: &Mount,
    to: &[u8],
    options: &CopyOptions,
) -> Result<Summary, CopyError> {
    let job = Arc::new(Job::new(target, options));
    // Boxed, so that the futures of applications stay small for the compiler.
    Box::pin(between::run(&job, source, from, to)).await?;
    Ok(job.summary())
}
