//! The requests that made the name changes in the log.

use std::collections::VecDeque;

use vfs::Handle;

use crate::record::{Change, Record};

/// The maximum number returned: the last ones, which clients may retransmit.
const MAX_TICKETS: usize = 1 << 14;

/// A name change that a request made before a power failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeChange {
    /// The ticket of the request ([`vfs::Context::ticket`]).
    pub ticket: Vec<u8>,
    /// The file that got a name.
    pub file: Option<Handle>,
}

/// The changes, oldest first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tickets(VecDeque<MadeChange>);

impl Tickets {
    pub(crate) fn add(&mut self, record: &Record<'_>) {
        let is_of_names =
            matches!(record.change, Change::Make(_) | Change::Link(_) | Change::Remove(_) | Change::Move(_));
        if !is_of_names || record.ticket.is_empty() {
            return;
        }
        if self.0.len() >= MAX_TICKETS {
            self.0.pop_front();
        }
        self.0.push_back(MadeChange { ticket: record.ticket.to_vec(), file: record.change.named() });
    }

    pub(crate) fn take(&mut self) -> Vec<MadeChange> {
        std::mem::take(&mut self.0).into()
    }
}
