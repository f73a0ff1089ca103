//! [`StableFs`]: a file system that acknowledges changes when they are in the write log.
//!
//! # What always holds
//!
//! - A change is made in the file system inside, and its record is appended to the log, before any other change of the
//!   same file or name (`change_locks.rs`). So the log has the changes of a file in the order in which they were made.
//! - The caller gets its reply when the record is durable. The change need not be in storage then.
//! - The record of a removal, a rename or a new size is durable before the change is made. So storage never loses a
//!   file or bytes, or moves a file, without a record in the log.
//! - A large stable write is flushed to storage, unless the log is fast. As after a large COMMIT, a record then says
//!   that older data and attributes of the file in the log are obsolete.
//! - Before another user than root writes to a file with set-id bits in the log, the log has that they are cleared
//!   (`set_id.rs`).
//! - Where the zeros behind the old end of an extended file may come late to storage, the log has them
//!   (`late_zeros.rs`).
//! - Data written UNSTABLE are not in the log. COMMIT reads a small amount back and logs it; a larger amount is flushed
//!   to storage, and a record says that older data and attributes of the file in the log are obsolete.
//! - Storage reports only once that it has lost changes. From then on every change is refused, and the next start
//!   replays the log.
//! - After a replay all files look changed to clients, so that they trust no data that were lost (`versions.rs`).
//! - When the log's device fails, all changes so far are flushed to storage, and the log is retired. From then on each
//!   change is flushed before its caller gets a reply.

mod change_locks;
mod checks;
mod file;
mod filesystem;
mod flushes;
mod late_zeros;
mod names;
mod old_pages;
mod set_id;
mod unsynced;
mod versions;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use vfs::{Context, Entry, Error, FileSystem, Handle, Place, Result, Timestamp, quoted};

use crate::aliases::{Aliases, Outer};
use crate::log::{Ahead, Position};
use crate::log_site::LogSite;
use crate::record::{Change, Record, UNKNOWN_TIME_NS};
use crate::write_log::WriteLog;
use change_locks::{ChangeGuard, ChangeLocks};
use flushes::{FlushInFlight, Flushed, Flushes};
use old_pages::OldPages;
pub(crate) use unsynced::{Dirty, FlushCount, Unsynced};
use versions::Versions;

/// A file system whose stable writes and metadata changes are durable at the speed of the write log.
///
/// The file system inside must not sync metadata changes itself, or both would.
pub struct StableFs {
    inner: Arc<dyn FileSystem>,
    export: Arc<LoggedExport>,
}

impl StableFs {
    pub(crate) fn new(export: Arc<LoggedExport>) -> StableFs {
        StableFs { inner: Arc::clone(&export.inner), export }
    }
}

/// Changes at the same time may be recorded out of their order, but not by as much as clocks are set back at least.
const CLOCK_STEP_NS: u64 = 100_000_000;

/// The maximum amount of data that an event loop logs itself.
const MAX_BYTES_ON_LOOP: usize = 64 << 10;

/// Files that exports share: a file may have names in several exports of one disk, and has the same handle in all.
pub(crate) struct Volume {
    pub(crate) unsynced: Unsynced,
    locks: ChangeLocks,
    flushes: Flushes,
    /// The latest ctime that a change of attributes had, in nanoseconds since 1970.
    latest_ctime: AtomicU64,
}

impl Volume {
    pub(crate) fn new() -> Volume {
        Volume {
            unsynced: Unsynced::default(),
            locks: ChangeLocks::new(),
            flushes: Flushes::default(),
            latest_ctime: AtomicU64::new(0),
        }
    }
}

/// An export of a write log.
pub(crate) struct LoggedExport {
    pub(crate) inner: Arc<dyn FileSystem>,
    pub(crate) name: PathBuf,
    pub(crate) number: u32,
    log: Arc<WriteLog>,
    pub(crate) aliases: Aliases,
    pub(crate) volume: Arc<Volume>,
    pub(crate) versions: Versions,
    /// Whether the log takes no more records of this export; every change is then flushed to storage.
    is_detached: AtomicBool,
    /// Whether a flush has failed. Storage reports a loss once, and then accepts changes as if nothing were missing.
    /// Only the log has the lost changes, so nothing may be changed until a start has replayed it.
    has_lost: AtomicBool,
    pub(crate) old_pages: OldPages,
    /// As [`vfs::Properties::late_zeros_bytes`].
    late_zeros_bytes: u32,
}

/// How a change becomes durable.
pub(crate) enum Pending {
    /// When the log is durable up to here.
    Logged(Position),
    /// By a flush to storage: there is no log any more.
    Unlogged,
}

impl LoggedExport {
    pub(crate) fn new(inner: Arc<dyn FileSystem>, name: &Path, number: u32, log: &Arc<WriteLog>) -> LoggedExport {
        LoggedExport {
            volume: log.volume(inner.storage()),
            late_zeros_bytes: inner.properties().late_zeros_bytes,
            inner,
            name: name.to_owned(),
            number,
            log: Arc::clone(log),
            aliases: Aliases::default(),
            versions: Versions::default(),
            is_detached: AtomicBool::new(false),
            has_lost: AtomicBool::new(false),
            old_pages: OldPages::default(),
        }
    }

    /// The log, as messages name it.
    pub(crate) fn log_site(&self) -> LogSite {
        self.log.site()
    }

    /// Refuses a change after a failed flush.
    pub(crate) fn check_storage(&self) -> Result<()> {
        if !self.has_lost() {
            return Ok(());
        }
        Err(Error::Io(io::Error::other("storage has failed, and the write log has to make its changes again")))
    }

    /// Refuses to read a file of which the log alone may have something: after a failed flush, its pages may be gone.
    fn check_readable(&self, file: &Handle) -> Result<()> {
        let stored = self.check_storage();
        if stored.is_err() && self.volume.unsynced.logged_end(file).is_some() { stored } else { Ok(()) }
    }

    /// Refuses a change on a thread that may not wait for the log, and after a failed flush, before anything is
    /// changed.
    fn check(&self, cx: &Context<'_>) -> Result<()> {
        self.check_storage()?;
        if cx.may_block { Ok(()) } else { Err(Error::WouldBlock) }
    }

    pub(crate) fn has_lost(&self) -> bool {
        self.has_lost.load(Ordering::SeqCst)
    }

    /// Flushes everything. After a failure every change is refused.
    pub(crate) fn flush_all(&self) -> Result<()> {
        // As root: the caller of a change that is made has no say any more in whether to wait.
        self.end_flush(self.volume.flushes.begin(Flushed::All), || self.inner.sync_all(&Context::ROOT))
    }

    /// Passes on what storage says of changes. After a failure every change is refused.
    fn checked(&self, stored: Result<()>) -> Result<()> {
        stored.inspect_err(|_| self.lose())
    }

    /// Flushes, and passes on the result. After a failure every change is refused.
    fn end_flush(&self, flush: FlushInFlight<'_>, make: impl FnOnce() -> Result<()>) -> Result<()> {
        let what = flush.what;
        let flushed = self.checked(make());
        drop(flush);
        flushed.and_then(|()| self.wait_for_flushes(what))
    }

    /// Waits for flushes of others, one of which may learn of a loss.
    fn wait_for_flushes(&self, what: Flushed) -> Result<()> {
        self.volume.flushes.wait_for_running(what);
        self.check_storage()
    }

    /// Notes a failure from before the start. Clients write again what was not committed.
    pub(crate) fn note_failure(&self, error: &Error) {
        tracing::warn!(export = %quoted(&self.name), %error, "storage has lost data before this start");
        self.old_pages.doubt();
        self.log.note_failure(self);
    }

    /// Refuses every change from now on: the next start must replay the log.
    pub(crate) fn lose(&self) {
        if !self.note_loss() {
            self.log.lost(self);
        }
    }

    /// Refuses every change from now on. Returns whether that is so already.
    pub(crate) fn note_loss(&self) -> bool {
        self.has_lost.swap(true, Ordering::SeqCst)
    }

    /// Holds a file for a write of this many bytes, which is flushed or logged.
    fn hold_to_write(
        &self,
        cx: &Context<'_>,
        file: &Handle,
        bytes: usize,
        is_flushed: bool,
    ) -> Result<ChangeGuard<'_>> {
        if !cx.may_block && (is_flushed || bytes > MAX_BYTES_ON_LOOP) {
            return self.check_storage().and(Err(Error::WouldBlock));
        }
        self.hold_file(cx, file)
    }

    /// Holds a file for a change of its attributes.
    fn hold_file(&self, cx: &Context<'_>, file: &Handle) -> Result<ChangeGuard<'_>> {
        self.hold_by(cx, |locks, may_wait| locks.hold(file, may_wait))
    }

    /// Holds a name for a change of it.
    fn hold_name(&self, cx: &Context<'_>, place: &Place<'_>) -> Result<ChangeGuard<'_>> {
        self.hold_by(cx, |locks, may_wait| locks.hold_name(place, may_wait))
    }

    /// Whether event loops must pass all changes to threads that may wait.
    fn waits_for_log(&self) -> bool {
        !self.log.is_quick()
    }

    /// Holds a file or names for a change, unless a flush has failed. An event loop waits only for a fast log, and for
    /// no other holder.
    fn hold_by<'o>(
        &'o self,
        cx: &Context<'_>,
        hold: impl FnOnce(&'o ChangeLocks, bool) -> Option<ChangeGuard<'o>>,
    ) -> Result<ChangeGuard<'o>> {
        self.check_storage()?;
        if !cx.may_block && self.waits_for_log() {
            return Err(Error::WouldBlock);
        }
        hold(&self.volume.locks, cx.may_block).ok_or(Error::WouldBlock)
    }

    fn inner_of(&self, outer: &Handle) -> Result<Handle> {
        self.aliases.inner_of(outer)
    }

    fn outer_of(&self, inner: &Handle) -> Result<Handle> {
        match self.aliases.outer_of(inner) {
            Outer::Known(outer) => Ok(outer),
            Outer::Free(outer) => {
                self.log.keep_alias(self, outer, *inner)?;
                Ok(outer)
            }
        }
    }

    fn outward(&self, entry: Entry) -> Result<Entry> {
        Ok(self.versions.entry(Entry { handle: self.outer_of(&entry.handle)?, ..entry }))
    }

    /// Ends the export's records in the log. When this returns, all of them are appended.
    pub(crate) fn detach(&self) {
        self.is_detached.store(true, Ordering::SeqCst);
        self.volume.locks.wait_for_holders();
    }

    fn is_detached(&self) -> bool {
        self.is_detached.load(Ordering::SeqCst)
    }

    /// Appends the record of a change that was just made; the caller holds the file or directory.
    fn append(&self, cx: &Context<'_>, change: Change<'_>, payload: &[u8]) -> Pending {
        self.append_at(cx, now_ns(), change, payload)
    }

    /// Appends the record of a change that was made at this time.
    fn append_at(&self, cx: &Context<'_>, at_ns: u64, change: Change<'_>, payload: &[u8]) -> Pending {
        if self.is_detached() {
            return Pending::Unlogged;
        }
        let record = Record { export: self.number, at_ns, ticket: ticket(cx), change, payload };
        self.log.append(record.head().as_slice(), payload)
    }

    /// The time for the record of a change with this ctime: a replay takes attributes with a later one for newer. That
    /// cannot be told after the clock was set back.
    fn order(&self, ctime_ns: u64) -> u64 {
        let latest_ns = self.volume.latest_ctime.fetch_max(ctime_ns, Ordering::Relaxed);
        if ctime_ns.saturating_add(CLOCK_STEP_NS) < latest_ns { UNKNOWN_TIME_NS } else { ctime_ns }
    }

    /// Appends the record of a change that is not made yet; the caller holds the file or name.
    fn append_ahead(&self, cx: &Context<'_>, change: Change<'_>) -> Option<Ahead<'_>> {
        if self.is_detached() {
            return None;
        }
        let record = Record { export: self.number, at_ns: now_ns(), ticket: ticket(cx), change, payload: &[] };
        self.log.append_ahead(record.head().as_slice())
    }

    /// Waits until a change is durable.
    fn settle(&self, pending: &Pending) -> Result<()> {
        self.log.settle(self, pending)
    }
}

/// The ticket of the request, by which the server knows it after a restart.
fn ticket<'t>(cx: &Context<'t>) -> &'t [u8] {
    if cx.ticket.len() <= Context::MAX_TICKET_BYTES { cx.ticket } else { &[] }
}

/// Nanoseconds since 1970.
fn ns(time: Timestamp) -> u64 {
    let seconds = u64::try_from(time.seconds).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(time.nanoseconds.into())
}

pub(crate) fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
