//! What the client has open, so that it can be reclaimed after the server restarted.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use proto::nfs4::SHARE_DENY_NONE;

use super::open_file::{OpenFile, Share};
use super::owner::Owner;
use crate::credentials::Principal;

/// The most owners that wait to be used again.
const MAX_IDLE_OWNERS: usize = 1024;

/// How long is waited between two looks whether all is closed.
const CLOSING_PAUSE: Duration = Duration::from_millis(5);

/// All open files of a client.
#[derive(Debug, Default)]
pub(super) struct Opens {
    table: Mutex<Table>,
    /// How many OPENs are under way, whose state the server may call about before their replies are here.
    under_way: AtomicUsize,
    /// How many files are open, or about to be, in ways that keep others out.
    excluding: Arc<AtomicUsize>,
    /// How many files are being closed that nobody waits for.
    closing: Arc<AtomicUsize>,
}

#[derive(Debug, Default)]
struct Table {
    /// By the number of the owner.
    files: BTreeMap<u64, Weak<OpenFile>>,
    idle: Vec<Owner>,
    last_number: u64,
}

/// Counts an OPEN as long as it is under way.
pub(super) struct UnderWay<'a>(&'a AtomicUsize);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Counts an open that keeps others out as long as it lasts.
#[derive(Debug)]
pub(super) struct Excluding(Arc<AtomicUsize>);

impl Drop for Excluding {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Counts a file that is closed behind everybody's back until it is.
#[derive(Debug)]
pub(super) struct Closing(Arc<AtomicUsize>);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Opens {
    /// An owner of this user's who has nothing open.
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

    /// Gives back an owner who has nothing open any more.
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

    /// Counts an open that keeps others out, if it does.
    pub(super) fn exclude(&self, share: Share) -> Option<Excluding> {
        if share.deny == SHARE_DENY_NONE {
            return None;
        }
        self.excluding.fetch_add(1, Ordering::SeqCst);
        Some(Excluding(Arc::clone(&self.excluding)))
    }

    /// Whether some open keeps others out, so that the server has to be asked.
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

    /// Forgets owners that have nothing open: those of 4.0 are unknown to a server that restarted, as are their sequence
    /// numbers.
    pub(super) fn forget_idle(&self) {
        self.lock().idle.clear();
    }

    /// Counts a file that was dropped, and is to be closed.
    pub(super) fn begin_close(&self) -> Closing {
        self.closing.fetch_add(1, Ordering::Relaxed);
        Closing(Arc::clone(&self.closing))
    }

    /// Waits until what was dropped is closed: afterwards there may be no session to close it in.
    pub(super) async fn closed(&self) {
        while self.closing.load(Ordering::Relaxed) > 0 {
            tokio::time::sleep(CLOSING_PAUSE).await;
        }
    }

    /// Closes what is still open.
    pub(super) async fn close_all(&self) {
        for file in self.files() {
            // The server closes it by itself when the client is gone.
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
