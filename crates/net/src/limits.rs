//! What a server takes from its peers, at most.

use std::time::Duration;

/// Limits of a server; the defaults suit an NFS server with hundreds of clients.
///
/// A limit that one connection reaches slows this connection down: it is read no further until there is room again. It
/// is closed for it only while memory is scarce ([`Limits::stall_timeout`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// How many connections are open at once, over all loops; one more is closed as soon as it is accepted. Default
    /// 16 384.
    pub max_connections: usize,
    /// How many connections of one address are open at once; one more is closed as soon as it is accepted. Default: a
    /// quarter of `max_connections`, and 16 at the least.
    pub max_connections_per_client: Option<usize>,
    /// How many bytes of memory all clients may take together: for what was received and not answered, calls that wait,
    /// and replies that are not sent. Parts of files that go out by `sendfile` take none. Default 256 MiB.
    pub memory_bytes: usize,
    /// How many of these bytes one address may take. Default: a quarter.
    pub client_memory_bytes: Option<usize>,
    /// How large a message of an address without exports may be, marks included. Default 64 KiB.
    pub max_stranger_message_bytes: usize,
    /// After which time a connection is closed over which nothing comes though a message is not whole. While its client
    /// has no memory left, it is also closed when it has not finished a message, or not taken any byte of its replies,
    /// for so long. Default 30 s.
    pub stall_timeout: Duration,
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
    /// How many threads answer calls that have to wait, over all loops; at least 1. They start when they are needed.
    /// Default 64.
    pub blocking_threads: usize,
    /// After which time without a call such a thread ends, unless it is the only one. Default 10 s.
    pub blocking_thread_idle: Duration,
    /// How many of these are kept for calls that wait for what no other thread is busy with, such as another export;
    /// fewer than there are. Default 16.
    pub spare_blocking_threads: usize,
    /// How many datagrams wait for blocking threads or run there, per loop, before the loop reads no more; one batch
    /// may go beyond it. Default 256.
    pub max_datagrams_in_flight: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            max_connections: 16_384,
            max_connections_per_client: None,
            memory_bytes: 256 << 20,
            client_memory_bytes: None,
            max_stranger_message_bytes: 64 << 10,
            stall_timeout: Duration::from_secs(30),
            max_in_flight: 256,
            max_in_flight_bytes: 8 << 20,
            max_unsent_bytes: 4 << 20,
            max_message_bytes: 2 << 20,
            idle_timeout: Some(Duration::from_secs(15 * 60)),
            blocking_threads: 64,
            blocking_thread_idle: Duration::from_secs(10),
            spare_blocking_threads: 16,
            max_datagrams_in_flight: 256,
        }
    }
}

/// Which part of all connections, and of all memory, one client may have.
const CLIENT_PART: usize = 4;

/// The most numbers that blocking threads have as workers.
const MAX_BLOCKING_WORKERS: usize = 16;

/// The least memory that a server can work with.
const MIN_MEMORY_BYTES: usize = 4 << 20;

/// How many connections one client may have, however few there may be in all.
const MIN_CONNECTIONS_PER_CLIENT: usize = 16;

impl Limits {
    /// How many connections of one address are open at once.
    pub fn max_connections_per_client(&self) -> usize {
        let part = (self.max_connections / CLIENT_PART).max(MIN_CONNECTIONS_PER_CLIENT);
        self.max_connections_per_client.unwrap_or(part).max(1)
    }

    /// How many bytes of memory one address may take.
    pub fn client_memory_bytes(&self) -> usize {
        self.client_memory_bytes.unwrap_or(self.memory_bytes / CLIENT_PART)
    }

    /// How many numbers blocking threads have as workers ([`crate::Call::worker`]): where there are more threads than
    /// that, some share one, so that what is kept for each worker does not grow with them.
    pub fn blocking_workers(&self) -> usize {
        self.blocking_threads.clamp(1, MAX_BLOCKING_WORKERS)
    }

    /// The same limits, with what must be at least 1 raised to it.
    pub(crate) fn sane(mut self) -> Limits {
        self.memory_bytes = self.memory_bytes.max(MIN_MEMORY_BYTES);
        self.max_in_flight = self.max_in_flight.max(1);
        self.max_in_flight_bytes = self.max_in_flight_bytes.max(1);
        self.max_unsent_bytes = self.max_unsent_bytes.max(1);
        self.stall_timeout = self.stall_timeout.max(Duration::from_millis(1));
        self.blocking_threads = self.blocking_threads.max(1);
        self.spare_blocking_threads = self.spare_blocking_threads.min(self.blocking_threads - 1);
        self.max_datagrams_in_flight = self.max_datagrams_in_flight.max(1);
        self
    }
}
