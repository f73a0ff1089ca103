use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use vfs::quoted;

use super::{MAX_OWNER_BYTES, Position};
use crate::log_site::LogSite;

/// Why an operation on a log fails.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LogError {
    /// The device failed. After a failed write the log takes no more records; durable ones stay.
    #[error("log {}: cannot {action}: {source}", quoted(path))]
    Device {
        /// The log.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: Arc<io::Error>,
    },
    /// Another process uses the log, or it is a mounted block device.
    #[error("log {} is in use by {}; stop it first, or choose another log", quoted(path), holder(*.process))]
    InUse {
        /// The log.
        path: PathBuf,
        /// The process, if known.
        process: Option<u32>,
    },
    /// It belongs to another user.
    #[error(
        "log {0} belongs to user {owner}, and this process is user {user}: run it as user {owner}; or, if user {user} is to \
         have the log, and its contents can be trusted, run `chown {user} {0}`",
        quoted(path)
    )]
    OfOtherUser {
        /// The log.
        path: PathBuf,
        /// Whom it belongs to.
        owner: u32,
        /// Who uses it.
        user: u32,
    },
    /// There is a file already.
    #[error("log {} exists already; choose another path, or move it elsewhere", quoted(path))]
    Exists {
        /// The log.
        path: PathBuf,
    },
    /// There is no room to make it.
    #[error(
        "there is no room for a write log of {size_bytes} bytes at {}: if the server had a log elsewhere, name that one; \
         otherwise make room, or choose another place or a smaller --write-log-size",
        quoted(path)
    )]
    NoRoom {
        /// The log.
        path: PathBuf,
        /// How large it would be.
        size_bytes: u64,
    },
    /// Nothing was ever stored there.
    #[error("log {} is blank: it has zeros where a log begins", quoted(path))]
    Blank {
        /// The log.
        path: PathBuf,
    },
    /// It holds other data, or a log with two damaged headers.
    #[error(
        "log {} is no log of Wharf's, or both of its headers are damaged; restore it from a copy, or choose another \
         path",
        quoted(path)
    )]
    NotALog {
        /// The log.
        path: PathBuf,
    },
    /// A new log requires an empty device.
    #[error(
        "log {} holds data already; choose another path; or, if nobody needs the data, move the file elsewhere or wipe the \
         device (blkdiscard -z)",
        quoted(path)
    )]
    NotBlank {
        /// The log.
        path: PathBuf,
    },
    /// The log has another format.
    #[error(
        "log {} has format {version}, and this program knows format {known}; use the program that made it",
        quoted(path)
    )]
    Version {
        /// The log.
        path: PathBuf,
        /// Its format.
        version: u32,
        /// The format of this program.
        known: u32,
    },
    /// The device does not have the size in the log's header, or has blocks that the log cannot use.
    #[error("log {}: {reason}", quoted(path))]
    Size {
        /// The log.
        path: PathBuf,
        /// The problem, and the remedy.
        reason: String,
    },
    /// Durable records are lost, while later ones are complete.
    #[error(
        "log {0} is damaged from byte {from_bytes} to byte {to_bytes}, and whole behind that: changes that clients were \
         told are stable may be lost; {check} names all damage; restore the log from a copy",
        quoted(path), check = LogSite::check(path)
    )]
    Damaged {
        /// The log.
        path: PathBuf,
        /// Where in the device the damage begins.
        from_bytes: u64,
        /// Where in the device whole batches begin again.
        to_bytes: u64,
    },
    /// There is no room, and trims have ended.
    #[error("log {} is full, and what it has is needed until the server is started again", quoted(path))]
    Full {
        /// The log.
        path: PathBuf,
    },
    /// The record is too large for a log of this size.
    #[error("a record of {bytes} bytes is larger than the {max_bytes} that log {} takes", quoted(path))]
    RecordTooLarge {
        /// The log.
        path: PathBuf,
        /// The record's size.
        bytes: usize,
        /// The largest that there may be.
        max_bytes: usize,
    },
    /// The header has no room for the description of the owner.
    #[error("a description of {bytes} bytes is larger than the {MAX_OWNER_BYTES} that a log's header takes")]
    OwnerTooLarge {
        /// The description's size.
        bytes: usize,
    },
    /// The log did not return this position.
    #[error("position {position} is behind the end of log {}, which is at {end}", quoted(path))]
    NoSuchPosition {
        /// The log.
        path: PathBuf,
        /// The position.
        position: Position,
        /// The log's end.
        end: Position,
    },
}

fn holder(process: Option<u32>) -> String {
    process.map_or_else(|| "another process or a mount".to_owned(), |process| format!("process {process}"))
}
