//! Learns whether a client received the replies sent over a connection.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// The most closed connections to remember whose clients received all replies.
const MAX_CLOSED: usize = 16_384;

/// The delivery of the replies sent over a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// The client has received them.
    Delivered,
    /// The connection is open, and the client has not acknowledged all of them.
    Pending,
    /// The connection is gone: the client may lack some replies.
    Lost,
}

/// Tells the state of the connections that carry messages.
pub trait Connections: Send + Sync {
    /// The delivery of the replies over an open connection, at `now` or later. A client that has sent something after
    /// `now` is alive and will receive them. [`Delivery::Lost`] if there is no such connection. This may block.
    fn delivery(&self, connection: u64, now: Duration) -> Delivery;

    /// The number of open connections.
    fn count(&self) -> usize;
}

/// The state of open and closed connections.
#[derive(Default)]
pub(crate) struct ConnectionWatch {
    open: OnceLock<Box<dyn Connections>>,
    closed: Mutex<Closed>,
}

/// Connections that clients closed after receiving all replies, oldest first.
#[derive(Default)]
struct Closed {
    numbers: HashSet<u64>,
    order: VecDeque<u64>,
}

impl ConnectionWatch {
    /// Sets the source for open connections; without it, an open connection counts as lost.
    pub(crate) fn set(&self, connections: Box<dyn Connections>) {
        // `set` is called once, at the start.
        let _ = self.open.set(connections);
    }

    /// Records that a client closed a connection after receiving all replies.
    pub(crate) fn delivered(&self, connection: u64) {
        let mut closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        if closed.order.len() >= MAX_CLOSED
            && let Some(oldest) = closed.order.pop_front()
        {
            closed.numbers.remove(&oldest);
        }
        if closed.numbers.insert(connection) {
            closed.order.push_back(connection);
        }
    }

    /// The number of open connections; without a source, as many as there can be.
    pub(crate) fn count(&self) -> usize {
        self.open.get().map_or(usize::MAX, |open| open.count())
    }

    /// The delivery of the replies over an open or a closed connection. This may block.
    pub(crate) fn delivery(&self, connection: u64, now: Duration) -> Delivery {
        let open = self.open.get().map_or(Delivery::Lost, |open| open.delivery(connection, now));
        // It may have been closed just now.
        let is_closed = || self.closed.lock().unwrap_or_else(PoisonError::into_inner).numbers.contains(&connection);
        if open == Delivery::Lost && is_closed() { Delivery::Delivered } else { open }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_closed_connections_is_bounded_and_drops_the_oldest() {
        let watch = ConnectionWatch::default();
        for connection in 0..=MAX_CLOSED as u64 {
            watch.delivered(connection);
        }
        assert_eq!(watch.delivery(0, Duration::ZERO), Delivery::Lost);
        assert_eq!(watch.delivery(1, Duration::ZERO), Delivery::Delivered);
        assert_eq!(watch.closed.lock().unwrap().numbers.len(), MAX_CLOSED);
    }
}
