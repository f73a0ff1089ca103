//! What a server takes from its peers, at most.

use std::time::Duration;

/// Limits of a server; the defaults suit an NFS server with hundreds of clients.
///
/// A limit that one connection reaches slows this connection down: it is read no further until there is room again. It
/// is never closed for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// How many connections are open at once, over all loops; one more is closed as soon as it is accepted. Default
    /// 16 384.
    pub max_connections: usize,
    /// How many calls of one connection wait for blocking threads or run there; at least 1. Default 256.
    pub max_in_flight: usize,
    /// How many bytes of calls one connection holds for blocking threads before it is read no further; one message may
    /// go beyond it. Default 8 MiB.
    pub max_in_flight_bytes: usize,
    /// How many bytes of answers one connection leaves unread before it is read no further; the answer that reaches
    /// the limit may go beyond it, and so may those of calls in flight. Default 4 MiB.
    pub max_unsent_bytes: usize,
    /// How large a message of a stream may be, marks included. The service's `frame` refuses earlier what is too large
    /// for it. Default 2 MiB.
    pub max_message_bytes: usize,
    /// How long a connection may be silent before it is closed; `None` means for ever. A connection with calls in
    /// flight is not silent; one that does not take its answers is. Default 15 minutes.
    pub idle_timeout: Option<Duration>,
    /// How many threads answer calls that have to wait, over all loops; at least 1. They start when they are first
    /// needed. Default 16.
    pub blocking_threads: usize,
    /// How many of these are kept for calls that wait for what no other thread is busy with, such as another export; fewer than
    /// there are. Default 4.
    pub spare_blocking_threads: usize,
    /// How many datagrams wait for blocking threads or run there, per loop, before the loop reads no more; one batch
    /// may go beyond it. Default 256.
    pub max_datagrams_in_flight: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            max_connections: 16_384,
            max_in_flight: 256,
            max_in_flight_bytes: 8 << 20,
            max_unsent_bytes: 4 << 20,
            max_message_bytes: 2 << 20,
            idle_timeout: Some(Duration::from_secs(15 * 60)),
            blocking_threads: 16,
            spare_blocking_threads: 4,
            max_datagrams_in_flight: 256,
        }
    }
}

impl Limits {
    /// The same limits, with what must be at least 1 raised to it.
    pub(crate) fn sane(mut self) -> Limits {
        self.max_in_flight = self.max_in_flight.max(1);
        self.max_in_flight_bytes = self.max_in_flight_bytes.max(1);
        self.max_unsent_bytes = self.max_unsent_bytes.max(1);
        self.blocking_threads = self.blocking_threads.max(1);
        self.spare_blocking_threads = self.spare_blocking_threads.min(self.blocking_threads - 1);
        self.max_datagrams_in_flight = self.max_datagrams_in_flight.max(1);
        self
    }
}
