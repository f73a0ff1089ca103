//! The client's open files, kept to reclaim them after a restart of the server.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use client_calls::Principal;
use proto::nfs4::SHARE_DENY_NONE;

use super::open_file::OpenFile;
use super::opening::Share;
use super::owner::Owner;

/// The most owners kept for reuse.
const MAX_IDLE_OWNERS: usize = 1024;

/// The poll interval while files are closed.
const CLOSING_PAUSE: Duration = Duration::from_millis(5);

/// All open files of a client.
#[derive(Debug, Default)]
pub(super) struct Opens {
    table: Mutex<Table>,
    /// OPENs in flight. The server may call about their state before their replies arrive.
    under_way: AtomicUsize,
    /// Files open, or about to be, that deny access to others.
    excluding: Arc<AtomicUsize>,
    /// Dropped files that are being closed in the background.
    closing: Arc<AtomicUsize>,
}

#[derive(Debug, Default)]
struct Table {
    /// By the number of the owner.
    files: BTreeMap<u64, Weak<OpenFile>>,
    idle: Vec<Owner>,
    last_number: u64,
}

/// Counts an OPEN while it is in flight.
pub(super) struct UnderWay<'a>(&'a AtomicUsize);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Counts an open that denies access to others, while it lasts.
#[derive(Debug)]
pub(super) struct Excluding(Arc<AtomicUsize>);

impl Drop for Excluding {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Counts a dropped file until it is closed.
#[derive(Debug)]
pub(super) struct Closing(Arc<AtomicUsize>);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Opens {
    /// An owner of this user with nothing open.
    pub(super) fn take_owner(&self, principal: &Arc<Principal>) -> Owner {
        let mut table = self.lock();
        if let Some(place) = table.idle.iter().rposition(|owner| owner.principal == *principal) {
            return table.idle.swap_remove(place);
        }
        table.last_number += 1;
        Owner::new(table.last_number, principal)
    }

    /// Whether anything was ever opened.
    pub(super) fn were_used(&self) -> bool {
        self.lock().last_number > 0
    }

    /// Returns an owner that has nothing open any more.
    pub(super) fn give_back(&self, owner: Owner) {
        let mut table = self.lock();
        if table.idle.len() < MAX_IDLE_OWNERS {
            table.idle.push(owner);
        }
    }

    pub(super) fn begin_open(&self) -> UnderWay<'_> {
        self.under_way.fetch_add(1, Ordering::Relaxed);
        UnderWay(&self.under_way)
    }

    /// Counts an open, if it denies access to others.
    pub(super) fn exclude(&self, share: Share) -> Option<Excluding> {
        if share.deny == SHARE_DENY_NONE {
            return None;
        }
        self.excluding.fetch_add(1, Ordering::SeqCst);
        Some(Excluding(Arc::clone(&self.excluding)))
    }

    /// Whether an open denies access to others, so that the server must be asked.
    pub(super) fn are_excluding(&self) -> bool {
        self.excluding.load(Ordering::SeqCst) > 0
    }

    pub(super) fn are_under_way(&self) -> bool {
        self.under_way.load(Ordering::Relaxed) > 0
    }

    pub(super) fn insert(&self, number: u64, file: &Arc<OpenFile>) {
        self.lock().files.insert(number, Arc::downgrade(file));
    }

    pub(super) fn remove(&self, number: u64) {
        self.lock().files.remove(&number);
    }

    /// Drops idle owners: a restarted 4.0 server knows neither them nor their sequence numbers.
    pub(super) fn forget_idle(&self) {
        self.lock().idle.clear();
    }

    /// Counts a dropped file that is to be closed.
    pub(super) fn begin_close(&self) -> Closing {
        self.closing.fetch_add(1, Ordering::Relaxed);
        Closing(Arc::clone(&self.closing))
    }

    /// Waits until dropped files are closed: afterwards there may be no session for that.
    pub(super) async fn closed(&self) {
        while self.closing.load(Ordering::Relaxed) > 0 {
            tokio::time::sleep(CLOSING_PAUSE).await;
        }
    }

    /// Closes what is still open.
    pub(super) async fn close_all(&self) {
        for file in self.files() {
            // The server closes it by itself when the client is destroyed.
            let _ = file.close().await;
        }
    }

    pub(super) fn files(&self) -> Vec<Arc<OpenFile>> {
        self.lock().files.values().filter_map(Weak::upgrade).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
