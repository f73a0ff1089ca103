//! Messages to the socket.

use std::time::Instant;

use bytes::{BufMut, BytesMut};
use peer::Transport;

use super::slot::{Slot, xdr_padded};
use super::{Batch, Core};

impl Core {
    /// Whether there is something to send now.
    pub fn wants_to_send(&self) -> bool {
        match self.config.transport {
            Transport::Tcp => self.is_connected && (!self.queue.is_empty() || self.back_calls.has_replies()),
            Transport::Udp => !self.queue.is_empty() && self.in_flight < self.window.limit(),
        }
    }

    /// Moves calls from the queue into `batch` until it is full, for a stream.
    pub fn fill_batch(&mut self, now: Instant, batch: &mut Batch) {
        self.back_calls.fill(batch);
        let now_ns = self.clock.ns(now);
        while self.wants_to_send() && !batch.is_full() {
            let Some(slot) = self.next_to_send(now_ns) else { break };
            batch.put(&rpc::record::last_mark(slot.message_bytes()).to_be_bytes());
            batch.put(slot.head.as_slice());
            batch.put_shared(&slot.data);
            batch.put(&[0; 3][..xdr_padded(slot.data.len()) - slot.data.len()]);
            batch.put(slot.behind);
        }
        batch.close();
    }

    /// Puts the next queued call into `datagram`; `false` if none may be sent now.
    pub fn fill_datagram(&mut self, now: Instant, datagram: &mut BytesMut) -> bool {
        datagram.clear();
        if !self.wants_to_send() {
            return false;
        }
        let now_ns = self.clock.ns(now);
        let Some(slot) = self.next_to_send(now_ns) else { return false };
        datagram.put_slice(slot.head.as_slice());
        datagram.put_slice(&slot.data);
        datagram.put_bytes(0, xdr_padded(slot.data.len()) - slot.data.len());
        datagram.put_slice(slot.behind);
        self.in_flight += 1;
        true
    }

    /// Takes the first call from the queue and counts it as sent.
    fn next_to_send(&mut self, now_ns: u64) -> Option<&Slot> {
        let xid = self.queue.pop_front()?;
        let place = (xid.0 & self.mask()) as usize;
        let slot = &mut self.slots[place];
        slot.is_queued = false;
        let bytes = slot.message_bytes() + self.config.mark_bytes();
        self.counters.retransmissions += u64::from(slot.call.send(now_ns, bytes));
        Some(&self.slots[place])
    }
}
