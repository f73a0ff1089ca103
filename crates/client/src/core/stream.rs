//! The loss of a stream, and its replacement; and what is heard of a server that datagrams do not find.

use std::task::Waker;

use rpc::Xid;

use super::Core;

impl Core {
    /// Notes that the stream is gone. Nothing is sent until [`Core::handle_connected`].
    pub fn handle_lost(&mut self) {
        self.is_connected = false;
        self.back_calls.clear();
    }

    /// Notes that nobody is at the server's port, as the other host said of a datagram. What was in it is sent again in its time.
    pub fn handle_refused(&mut self) {
        self.counters.refusals += 1;
    }

    /// Notes that there is a new stream: every call without a reply is sent again, oldest first, with its own xid.
    /// Whoever takes the server's calls is woken by `wakers`, since this stream carries none of them yet.
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
