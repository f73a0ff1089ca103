//! Messages from the socket.

use std::task::Waker;
use std::time::Instant;

use bytes::Bytes;
use peer::Transport;
use rpc::Xid;

use super::{Core, News};

/// The message type of a reply (RFC 5531 §9), in the second word.
const REPLY_WORD: [u8; 4] = [0, 0, 0, 1];
/// The message type of a call.
const CALL_WORD: [u8; 4] = [0, 0, 0, 0];
/// How many replies to one call count as damaged. A server that sends the same more often means it.
const MAX_DAMAGED_REPLIES: u32 = 3;

impl Core {
    /// Sets the check of whether a reply to a call is whole. A datagram that is not counts as lost, so that the call is
    /// retransmitted; replies over a stream are not checked. The caller decodes the reply again, since the decoded form
    /// borrows from the message.
    pub fn expect(&mut self, xid: Xid, is_whole: fn(&[u8]) -> bool) {
        if !self.may_be_damaged() {
            return;
        }
        let slot = self.slot_mut(xid);
        if slot.xid == xid {
            slot.is_whole = is_whole;
        }
    }

    /// Whether a message may be damaged: UDP's checksum is short and optional (RFC 768). A stream counts as intact.
    fn may_be_damaged(&self) -> bool {
        self.config.transport == Transport::Udp
    }

    /// Handles a whole message from the server. The waker of the call that it answers goes into `wakers`.
    pub fn handle_message(&mut self, now: Instant, message: Bytes, wakers: &mut Vec<Waker>) {
        let xid = match first_words(&message) {
            Some((xid, REPLY_WORD)) => xid,
            Some((_, CALL_WORD)) if self.config.transport == Transport::Tcp => {
                let is_kept = self.back_calls.push(message, wakers);
                self.counters.invalid += u64::from(!is_kept);
                return;
            }
            _ => {
                self.counters.invalid += 1;
                return;
            }
        };
        let xid = Xid(u32::from_be_bytes(xid));
        let (place, may_be_damaged) = ((xid.0 & self.mask()) as usize, self.may_be_damaged());
        let slot = &mut self.slots[place];
        // A call that was never sent has no reply: the xid was guessed.
        if slot.xid != xid || !slot.is_pending() || slot.call.sends == 0 {
            self.counters.unexpected += 1;
            return;
        }
        if may_be_damaged && slot.damaged_replies < MAX_DAMAGED_REPLIES && !(slot.is_whole)(&message) {
            slot.damaged_replies += 1;
            self.counters.invalid += 1;
            return;
        }
        let was_queued = std::mem::take(&mut slot.is_queued);
        self.recorder.answered(&slot.call, self.clock.ns(now), &message);
        wakers.extend(slot.finish(Ok(message)));
        self.leave_table(xid, was_queued);
        self.counters.replies += 1;
        if std::mem::take(&mut self.is_silent) {
            self.news = Some(News::Answers);
        }
        self.window.on_reply();
    }
}

/// The xid and the message type, as encoded.
fn first_words(message: &[u8]) -> Option<([u8; 4], [u8; 4])> {
    let (xid, rest) = message.split_first_chunk()?;
    Some((*xid, *rest.first_chunk()?))
}
