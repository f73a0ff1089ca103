//! The server's view of the connections of the event loops.

use std::time::{Duration, Instant};

use server::{Connections, Delivery};

/// The connections of the event loops, with times by the server's clock.
pub(crate) struct OpenConnections {
    pub(crate) net: net::ServerHandle,
    /// When the server's clock started.
    pub(crate) began: Instant,
}

impl Connections for OpenConnections {
    fn delivery(&self, connection: u64, now: Duration) -> Delivery {
        match self.net.delivery(connection, self.began + now) {
            net::Delivery::Delivered => Delivery::Delivered,
            net::Delivery::Pending => Delivery::Pending,
            net::Delivery::Lost => Delivery::Lost,
        }
    }

    fn count(&self) -> usize {
        self.net.open_connections()
    }
}
