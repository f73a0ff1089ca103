//! The table of copies that the server continues after its reply to COPY (RFC 7862 §4.5).

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use proto::nfs4::{CbOffloadArgs, OffloadOutcome, Stateid, Status};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

/// A client's running copies, and its COPYs without a reply.
#[derive(Debug, Default)]
pub(super) struct Offloads {
    table: Mutex<Table>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Table {
    /// By the stateid without its sequence number. The waiters here bound the number of entries.
    going_on: HashMap<[u8; 12], Option<OffloadOutcome>>,
    under_way: usize,
}

/// A COPY without a reply.
pub(super) struct UnderWay<'a>(&'a Offloads);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.lock().under_way -= 1;
        self.0.changed.notify_waiters();
    }
}

impl Offloads {
    pub(super) fn begin(&self) -> UnderWay<'_> {
        self.lock().under_way += 1;
        UnderWay(self)
    }

    /// Records the end that CB_OFFLOAD reports. A report that overtakes the reply naming the copy must be repeated.
    pub(super) fn end(&self, told: &CbOffloadArgs) -> Status {
        let mut table = self.lock();
        let is_early = table.under_way > 0;
        match table.going_on.get_mut(&told.stateid.other) {
            Some(outcome) => *outcome = Some(told.outcome),
            None if is_early => return Status::Delay,
            None => return Status::BadStateid,
        }
        drop(table);
        self.changed.notify_waiters();
        Status::Ok
    }

    /// Adds a copy that the server continues.
    pub(super) fn add(&self, stateid: &Stateid) {
        self.lock().going_on.insert(stateid.other, None);
    }

    /// Returns when the table has changed after this call.
    pub(super) fn changed(&self) -> Notified<'_> {
        self.changed.notified()
    }

    pub(super) fn outcome(&self, stateid: &Stateid) -> Option<OffloadOutcome> {
        self.lock().going_on.get(&stateid.other).copied().flatten()
    }

    pub(super) fn forget(&self, stateid: &Stateid) {
        self.lock().going_on.remove(&stateid.other);
        self.changed.notify_waiters();
    }

    /// Whether no copy is running.
    pub(super) fn is_empty(&self) -> bool {
        let table = self.lock();
        table.going_on.is_empty() && table.under_way == 0
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
