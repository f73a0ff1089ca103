//! What comes from the socket.

use std::task::Waker;
use std::time::Instant;

use bytes::Bytes;
use rpc::Xid;

use super::{Core, News, Transport};

/// The message type of a reply (RFC 5531 §9), as it stands in the second word.
const REPLY_WORD: [u8; 4] = [0, 0, 0, 1];
/// That of a call.
const CALL_WORD: [u8; 4] = [0, 0, 0, 0];
/// How many replies to one call are taken for damaged on the way. A server that says the same nonsense more often means it.
const MAX_DAMAGED_REPLIES: u32 = 3;

impl Core {
    /// Takes a whole message from the server. The waker of the call that it answers is put into `wakers`.
    pub fn handle_message(&mut self, now: Instant, message: Bytes, wakers: &mut Vec<Waker>) {
        let xid = match first_words(&message) {
            Some((xid, REPLY_WORD)) => xid,
            Some((_, CALL_WORD)) if self.config.transport == Transport::Stream => {
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
        let place = (xid.0 & self.mask()) as usize;
        let slot = &mut self.slots[place];
        // A call that was never sent has no reply: what carries its xid was guessed.
        if slot.xid != xid || !slot.is_pending() || slot.call.sends == 0 {
            self.counters.unexpected += 1;
            return;
        }
        let may_be_damaged = self.config.transport == Transport::Datagram && slot.damaged_replies < MAX_DAMAGED_REPLIES;
        if may_be_damaged && !(slot.is_whole)(&message) {
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

/// The xid and the message type, as they stand in the message.
fn first_words(message: &[u8]) -> Option<([u8; 4], [u8; 4])> {
    let (xid, rest) = message.split_first_chunk()?;
    Some((*xid, *rest.first_chunk()?))
}
