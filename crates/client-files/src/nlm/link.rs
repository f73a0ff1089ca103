use std::sync::Arc;

use client_calls::Principal;

use crate::Connection;

/// A connection to a server's lock manager.
#[derive(Debug, Clone)]
pub(super) struct Link {
    pub(super) connection: Connection,
    /// The version of the lock manager's protocol.
    pub(super) version: u32,
    /// How many links were found before.
    pub(super) number: u64,
}

impl Link {
    /// The same link, with calls by `principal`.
    pub(super) fn acting_as(self, principal: &Arc<Principal>) -> Link {
        Link { connection: self.connection.acting_as(principal), ..self }
    }
}
