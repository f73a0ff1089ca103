//! [`StableFs`]: a file system whose changes are acknowledged when the write log has them.
//!
//! # What always holds
//! - A change is made in the file system inside, and a record of it is appended to the log, before any other change of
//!   the same file or name is made (`order.rs`). So the log has the changes of a file in the order in which they were
//!   made.
//! - The caller is answered when the record is durable. Nothing of the change need be in storage then.
//! - The record of a removal, a rename or a new size is durable before the change is made: storage never has lost a file
//!   or bytes, or moved a file, without the log's knowing.
//! - A large stable write is brought to storage, unless the log is quick; like after a large COMMIT, a record says that
//!   older data of the file in the log are of no use.
//! - What is written UNSTABLE is not in the log. COMMIT reads back a little of it and logs that; more of it is
//!   brought to storage, and a record says that older data of the file in the log are of no use.
//! - Storage says only once that it has lost changes. From then on nothing is changed, and the next start makes the log's
//!   changes again.
//! - When the log's device fails, all changes so far are brought to storage, the log is retired, and from then on each
//!   change is brought to storage before its caller is answered.

mod checks;
mod file;
mod filesystem;
mod names;
mod order;
mod unsynced;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use vfs::{Context, Entry, Error, FileSystem, Handle, Place, Result};

use crate::aliases::{Aliases, Outer};
use crate::log::{Ahead, Position};
use crate::record::{Change, Record};
use crate::write_log::WriteLog;
use order::{Held, Order};
pub(crate) use unsynced::{Dirty, Unsynced};

/// A file system whose stable writes and changes of names and attributes are durable at the speed of the write log.
///
/// The file system inside must not sync changes of names and attributes by itself: then both would.
pub struct StableFs {
    inner: Arc<dyn FileSystem>,
    export: Arc<Export>,
}

impl StableFs {
    pub(crate) fn new(export: Arc<Export>) -> StableFs {
        StableFs { inner: Arc::clone(&export.inner), export }
    }
}

/// The most data that an event loop puts into the log.
const MAX_BYTES_ON_LOOP: usize = 64 << 10;

/// An export of a write log.
pub(crate) struct Export {
    pub(crate) inner: Arc<dyn FileSystem>,
    pub(crate) name: String,
    number: u32,
    log: Arc<WriteLog>,
    pub(crate) aliases: Aliases,
    pub(crate) unsynced: Unsynced,
    order: Order,
    /// Whether the log takes no more records of this export: every change is brought to storage by itself.
    is_detached: AtomicBool,
    /// Whether storage has failed to take changes. It says so once, and then takes others as if nothing were missing. So
    /// only the log has what was lost, and nothing may be changed until a start has made it again.
    has_lost: AtomicBool,
}

/// A record that will be durable.
pub(crate) enum Pending {
    /// When the log is up to here.
    Logged(Position),
    /// When everything is in storage: there is no log any more.
    Unlogged,
}

impl Export {
    pub(crate) fn new(inner: Arc<dyn FileSystem>, (name, number): (&str, u32), log: &Arc<WriteLog>) -> Export {
        Export {
            inner,
            name: name.to_owned(),
            number,
            log: Arc::clone(log),
            aliases: Aliases::default(),
            unsynced: Unsynced::default(),
            order: Order::new(),
            is_detached: AtomicBool::new(false),
            has_lost: AtomicBool::new(false),
        }
    }

    /// Refuses a change when storage has failed.
    pub(crate) fn check_storage(&self) -> Result<()> {
        if !self.has_lost() {
            return Ok(());
        }
        Err(Error::Io(io::Error::other("storage has failed, and the write log has to make its changes again")))
    }

    /// Refuses a change on a thread that may not wait for the log, and on storage that has failed, before anything is done.
    fn check(&self, cx: &Context<'_>) -> Result<()> {
        self.check_storage()?;
        if cx.may_block { Ok(()) } else { Err(Error::WouldBlock) }
    }

    pub(crate) fn has_lost(&self) -> bool {
        self.has_lost.load(Ordering::SeqCst)
    }

    /// Passes on the result of bringing something to storage. When that has failed, nothing is changed any more.
    pub(crate) fn check_flush(&self, flushed: Result<()>) -> Result<()> {
        if flushed.is_err() {
            self.lose();
        }
        flushed
    }

    /// Nothing is changed any more: the next start has to make the log's changes again.
    pub(crate) fn lose(&self) {
        if !self.has_lost.swap(true, Ordering::SeqCst) {
            self.log.lost(&self.name);
        }
    }

    /// Holds a file for a write of so many bytes.
    fn hold_to_write(&self, cx: &Context<'_>, file: &Handle, bytes: usize) -> Result<Held<'_>> {
        if !cx.may_block && bytes > MAX_BYTES_ON_LOOP {
            return self.check_storage().and(Err(Error::WouldBlock));
        }
        self.hold_file(cx, file)
    }

    /// Holds a file for a change of its attributes.
    fn hold_file(&self, cx: &Context<'_>, file: &Handle) -> Result<Held<'_>> {
        self.hold_by(cx, |order, may_wait| order.hold(file, may_wait))
    }

    /// Holds a name for a change of it.
    fn hold_name(&self, cx: &Context<'_>, place: &Place<'_>) -> Result<Held<'_>> {
        self.hold_by(cx, |order, may_wait| order.hold_name(place, may_wait))
    }

    /// Whether event loops leave all changes to threads that may wait.
    fn waits_for_log(&self) -> bool {
        !self.log.is_quick()
    }

    /// Holds what is about to change, unless storage has failed. An event loop waits for a quick log only, and for nobody
    /// who holds the same.
    fn hold_by<'o>(
        &'o self,
        cx: &Context<'_>,
        hold: impl FnOnce(&'o Order, bool) -> Option<Held<'o>>,
    ) -> Result<Held<'o>> {
        self.check_storage()?;
        if !cx.may_block && self.waits_for_log() {
            return Err(Error::WouldBlock);
        }
        hold(&self.order, cx.may_block).ok_or(Error::WouldBlock)
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
        Ok(Entry { handle: self.outer_of(&entry.handle)?, ..entry })
    }

    /// Ends the export's records in the log. When this returns, all of them are appended.
    pub(crate) fn detach(&self) {
        self.is_detached.store(true, Ordering::SeqCst);
        self.order.wait_for_holders();
    }

    fn is_detached(&self) -> bool {
        self.is_detached.load(Ordering::SeqCst)
    }

    /// Appends a record of a change that was just made; its file or directory is held.
    fn append(&self, cx: &Context<'_>, change: Change<'_>, payload: &[u8]) -> Pending {
        if self.is_detached() {
            return Pending::Unlogged;
        }
        let record = Record { export: self.number, at_ns: now_ns(), ticket: ticket(cx), change, payload };
        self.log.append(record.head().as_slice(), payload)
    }

    /// Appends a record of a change that is not made yet; its file or name is held.
    fn append_ahead(&self, cx: &Context<'_>, change: Change<'_>) -> Option<Ahead<'_>> {
        if self.is_detached() {
            return None;
        }
        let record = Record { export: self.number, at_ns: now_ns(), ticket: ticket(cx), change, payload: &[] };
        self.log.append_ahead(record.head().as_slice())
    }

    /// Waits until a change is durable.
    fn settle(&self, cx: &Context<'_>, pending: &Pending) -> Result<()> {
        self.log.settle(cx, self, pending)
    }
}

/// What is kept of the request.
fn ticket<'t>(cx: &Context<'t>) -> &'t [u8] {
    if cx.ticket.len() <= Context::MAX_TICKET_BYTES { cx.ticket } else { &[] }
}

pub(crate) fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
