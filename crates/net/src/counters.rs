//! What a server counts.
//!
//! Each loop writes its own counters, on cache lines of its own, with plain stores; whoever wants to know adds them up.

use std::ops::AddAssign;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::CloseReason;

/// What happened since the server was started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Connections that were accepted and served.
    pub accepted: u64,
    /// Connections that were closed at once because too many were open, in all or of their client.
    pub refused: u64,
    /// Connections that could not be accepted, for lack of file descriptors or memory.
    pub accept_errors: u64,
    /// Connections that their peers closed.
    pub closed_by_peer: u64,
    /// Connections that broke: resets, time-outs of the kernel.
    pub closed_broken: u64,
    /// Connections that were closed because their bytes made no sense as messages.
    pub closed_bad_frame: u64,
    /// Connections that were closed because the service asked for it.
    pub closed_by_service: u64,
    /// Connections that were closed because they were silent for too long.
    pub closed_idle: u64,
    /// Connections that were closed because they left a message unfinished or their replies untaken for too long.
    pub closed_stalled: u64,
    /// Silent connections that were closed because too many were open, to make room for others: of clients without
    /// exports, or with very many connections.
    pub closed_evicted: u64,
    /// Connections that were closed because a file whose bytes were announced could not be read.
    pub closed_file_error: u64,
    /// Connections that were closed because the service panicked.
    pub closed_panic: u64,
    /// Connections that were closed because the server was shut down.
    pub closed_shutdown: u64,
    /// Messages that the service was asked to answer, datagrams included.
    pub messages: u64,
    /// Datagrams that were received.
    pub datagrams: u64,
    /// Datagrams or their answers that were dropped: too large, or refused by the kernel or the service.
    pub datagrams_dropped: u64,
    /// How often a loop went to sleep, or would have if nothing had come just then.
    pub sleeps: u64,
    /// Messages that were answered by blocking threads.
    pub deferred: u64,
    /// Bytes that were received.
    pub bytes_in: u64,
    /// Bytes that were sent.
    pub bytes_out: u64,
    /// Sends over TCP, whether the peer took all of what they had or not; `sendfile` is not among them.
    pub sends: u64,
    /// Segments that these sends were made of.
    pub send_segments: u64,
    /// Answers that had too many segments and were copied into one
    /// ([`SendPath::max_segments`](crate::SendPath::max_segments)).
    pub flattened: u64,
    /// Bytes of answers that were copied once more before they were sent, these or all
    /// ([`SendPath::copies`](crate::SendPath::copies)).
    pub bytes_copied: u64,
    /// Calls of `sendfile`.
    pub sendfiles: u64,
    /// Bytes that went out by `sendfile`.
    pub sendfile_bytes: u64,
    /// Bytes that were announced to be sent by `sendfile`, and were read by a blocking thread after they had been
    /// evicted.
    pub fetched_bytes: u64,
    /// Bytes of files that had become shorter than was announced: zeros went out in their place.
    pub zero_bytes: u64,
}

impl Counters {
    /// How many connections are open.
    pub fn open(&self) -> u64 {
        self.accepted.saturating_sub(self.closed())
    }

    /// How many connections were closed, for whatever reason, after having been served.
    pub fn closed(&self) -> u64 {
        self.closed_by_peer
            + self.closed_broken
            + self.closed_bad_frame
            + self.closed_by_service
            + self.closed_idle
            + self.closed_stalled
            + self.closed_evicted
            + self.closed_file_error
            + self.closed_panic
            + self.closed_shutdown
    }
}

/// A counter that one thread writes and any thread reads.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    /// Adds to the counter. Only the loop that owns it may do so: a plain store is much cheaper than a locked one.
    #[inline]
    pub(crate) fn add(&self, count: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(count), Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

macro_rules! loop_counters {
    ($($name:ident),* $(,)?) => {
        /// The counters of one loop. The alignment keeps two loops' counters on different pairs of cache lines.
        #[derive(Debug, Default)]
        #[repr(align(128))]
        pub(crate) struct LoopCounters { $(pub(crate) $name: Counter),* }

        impl AddAssign<&LoopCounters> for Counters {
            fn add_assign(&mut self, other: &LoopCounters) {
                $(self.$name += other.$name.get();)*
            }
        }
    };
}

loop_counters!(
    messages,
    bytes_in,
    bytes_out,
    sends,
    send_segments,
    flattened,
    bytes_copied,
    sendfiles,
    sendfile_bytes,
    fetched_bytes,
    zero_bytes,
    deferred,
    sleeps,
    datagrams,
    datagrams_dropped,
    accepted,
    refused,
    accept_errors,
    closed_by_peer,
    closed_broken,
    closed_bad_frame,
    closed_by_service,
    closed_idle,
    closed_stalled,
    closed_evicted,
    closed_file_error,
    closed_panic,
    closed_shutdown,
);

impl LoopCounters {
    /// Counts a send of so many segments.
    pub(crate) fn count_send(&self, segments: usize) {
        self.sends.add(1);
        self.send_segments.add(segments as u64);
    }

    /// Counts a connection that was closed.
    pub(crate) fn closed(&self, reason: &CloseReason) {
        let counter = match reason {
            CloseReason::Peer => &self.closed_by_peer,
            CloseReason::Broken(_) => &self.closed_broken,
            CloseReason::BadFrame(_) => &self.closed_bad_frame,
            CloseReason::Service(_) => &self.closed_by_service,
            CloseReason::Idle => &self.closed_idle,
            CloseReason::Stalled => &self.closed_stalled,
            CloseReason::Evicted => &self.closed_evicted,
            CloseReason::File(_) => &self.closed_file_error,
            CloseReason::Panic => &self.closed_panic,
            CloseReason::Shutdown => &self.closed_shutdown,
        };
        counter.add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sum_over_loops_counts_every_close_once() {
        let (one, two) = (LoopCounters::default(), LoopCounters::default());
        one.accepted.add(3);
        one.closed(&CloseReason::Peer);
        two.accepted.add(1);
        two.closed(&CloseReason::Idle);
        let mut sum = Counters::default();
        sum += &one;
        sum += &two;
        assert_eq!((sum.accepted, sum.closed(), sum.open()), (4, 2, 2));
    }
}
