//! The loss of a stream and its replacement, and refused datagrams.

use std::task::Waker;

use rpc::Xid;

use super::{Core, News};

impl Core {
    /// Handles the loss of the stream. Nothing is sent until [`Core::handle_connected`].
    pub fn handle_lost(&mut self) {
        self.is_connected = false;
        self.back_calls.clear();
    }

    /// Handles a server that cannot be reached. It is silent if a call waits for it that never fails.
    pub fn handle_unreachable(&mut self) {
        if self.config.retry.is_hard && self.pending > 0 && !self.is_silent {
            (self.is_silent, self.news) = (true, Some(News::Silent));
        }
    }

    /// Counts a report that nobody listens on the server's port. The datagram is retransmitted on timeout.
    pub fn handle_refused(&mut self) {
        self.counters.refusals += 1;
    }

    /// Handles a new stream: every call without a reply is retransmitted, oldest first, with its own xid. The task that
    /// takes the server's calls goes into `wakers`, since this stream carries none of them yet.
    pub fn handle_connected(&mut self, wakers: &mut Vec<Waker>) {
        self.is_connected = true;
        self.back_calls.replace_stream(wakers);
        self.counters.reconnects += 1;
        self.queue.clear();
        let (next, mask) = (self.next_xid, self.mask());
        let mut waiting: Vec<Xid> = self.slots.iter().filter(|slot| slot.is_pending()).map(|slot| slot.xid).collect();
        waiting.sort_unstable_by_key(|xid| std::cmp::Reverse(next.wrapping_sub(xid.0)));
        for xid in &waiting {
            self.slots[(xid.0 & mask) as usize].is_queued = true;
        }
        self.queue.extend(waiting);
    }
}
