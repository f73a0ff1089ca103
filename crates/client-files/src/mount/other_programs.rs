use std::sync::{Mutex, MutexGuard, PoisonError};

use client_calls::Observed;

use crate::{Connection, Statistics};

/// The calls of a mount to other programs than NFS: rpcbind, MOUNT and the lock manager, over short-lived connections.
#[derive(Debug, Default)]
pub(crate) struct OtherPrograms(Mutex<Counted>);

#[derive(Debug, Default)]
struct Counted {
    open: Vec<Observed>,
    /// The statistics of closed connections.
    ended: Statistics,
}

impl OtherPrograms {
    /// Includes the calls over this connection.
    pub(super) fn add(&self, connection: &Connection) {
        let Counted { open, ended } = &mut *self.counted();
        for closed in open.extract_if(.., |connection| connection.is_closed()) {
            closed.add_to(ended);
        }
        open.push(connection.observed());
    }

    /// Adds the calls so far to `statistics`.
    pub(super) fn add_to(&self, statistics: &mut Statistics) {
        let counted = self.counted();
        let mut all = counted.ended.clone();
        counted.open.iter().for_each(|connection| connection.add_to(&mut all));
        statistics.add_procedures(&all);
    }

    fn counted(&self) -> MutexGuard<'_, Counted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
