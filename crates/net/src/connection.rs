//! The state of one connection.
//!
//! It makes no system call: it says whether the socket is to be read, whether it is to be written, and whether the
//! connection is over, from what it is told.

use std::mem;
use std::ops::BitOrAssign;
use std::os::fd::OwnedFd;
use std::time::Instant;

use buffer::Buffer;
use peer::Peer;

use crate::Limits;
use crate::budget::ConnectionAccount;
use crate::calls::CallsInFlight;
use crate::channel::Channel;
use crate::order::{ClientKey, Load};
use crate::outbox::Outbox;
use crate::spare::SpareBuffers;

/// What a connection whose client has no room for more receives, and waits for, at most.
pub(crate) const SMALL_BYTES: usize = 4 << 10;

/// How much memory of a connection is not charged: a small message that is not whole yet must not keep others from
/// being received.
const FREE_BYTES: usize = 2 * SMALL_BYTES;

/// One connection.
pub(crate) struct Connection {
    pub(crate) peer: Peer,
    /// Its channel; gone when the connection was closed while calls of it were still being answered.
    pub(crate) channel: Option<Channel>,
    /// Whether the channel gets a layer as soon as everything is answered and sent. Nothing is received meanwhile.
    pub(crate) is_upgrading: bool,
    pub(crate) unread: Unread,
    pub(crate) outbox: Outbox,
    pub(crate) calls: CallsInFlight,
    /// What the poller was last asked to watch for.
    pub(crate) interest: Interest,
    /// Which of the loop's clients it belongs to.
    pub(crate) client: ClientKey,
    pub(crate) load: Load,
    /// What it holds of its client's memory.
    pub(crate) account: ConnectionAccount,
    /// Whether its client may take as much memory as a message or a reply needs: so it was when its turn began, or was
    /// settled.
    pub(crate) has_room: bool,
    /// Whether it waits for its client to have room.
    pub(crate) is_starving: bool,
    /// Whether its messages may be large; a stranger's may not.
    pub(crate) may_be_large: bool,
    /// Since when the message is in progress that is not whole yet.
    pub(crate) unfinished_since: Option<Instant>,
    /// Since when the peer has taken nothing of what it has to take.
    pub(crate) untaken_since: Option<Instant>,
    /// What its present turn does.
    pub(crate) work: TurnWork,
    /// Whether the poller watches it among the busy ones.
    pub(crate) watched_as_busy: bool,
    /// Whether the connection waits for its turn.
    pub(crate) queued: bool,
    /// What happened to the socket since its last turn.
    pub(crate) ready: Ready,
    /// Whether the peer has sent its last byte.
    pub(crate) ended_by_peer: bool,
    /// When bytes last went in or out, or a call came back.
    pub(crate) last_active: Instant,
    /// When bytes last came in.
    pub(crate) last_received: Instant,
    /// Whether the peer had acknowledged every answer when the connection was closed.
    pub(crate) is_delivered: bool,
}

/// A connection in flight to its loop.
pub(crate) struct Accepted {
    pub(crate) socket: OwnedFd,
    pub(crate) peer: Peer,
    pub(crate) account: ConnectionAccount,
}

/// What one turn of a connection does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TurnWork {
    /// Messages that were answered.
    pub(crate) messages: u64,
    /// Bytes that were received, and bytes of answers.
    pub(crate) bytes: usize,
}

/// What a socket is watched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Interest {
    pub(crate) readable: bool,
    pub(crate) writable: bool,
}

/// What happened to a socket.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Ready {
    pub(crate) readable: bool,
    pub(crate) writable: bool,
    /// It broke or is closed in both directions. This is told even if nothing was asked for.
    pub(crate) hangup: bool,
}

impl BitOrAssign for Ready {
    fn bitor_assign(&mut self, other: Ready) {
        self.readable |= other.readable;
        self.writable |= other.writable;
        self.hangup |= other.hangup;
    }
}

/// What has to happen with a connection after its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Course {
    /// It waits for its socket.
    Wait(Interest),
    /// It has whole messages left and may answer them: it is to have another turn soon, whatever its socket does.
    TurnAgain(Interest),
    /// There is nothing left to do for it.
    Over,
}

impl Connection {
    /// Makes the state of a connection whose socket is not watched yet.
    pub(crate) fn new(accepted: Accepted, client: ClientKey, now: Instant) -> Connection {
        let Accepted { socket, peer, account } = accepted;
        Connection {
            peer,
            channel: Some(Channel::new(socket)),
            is_upgrading: false,
            may_be_large: !account.client().is_stranger,
            account,
            has_room: true,
            is_starving: false,
            unfinished_since: None,
            untaken_since: None,
            unread: Unread::default(),
            outbox: Outbox::default(),
            calls: CallsInFlight::default(),
            interest: Interest { readable: false, writable: false },
            client,
            load: Load::default(),
            work: TurnWork::default(),
            watched_as_busy: false,
            queued: false,
            ready: Ready::default(),
            ended_by_peer: false,
            last_active: now,
            last_received: now,
            is_delivered: false,
        }
    }

    /// Begins a turn: finds out whether the client has room.
    pub(crate) fn begin_turn(&mut self) {
        self.has_room = self.account.has_room();
        self.unread.admit(self.has_room);
    }

    /// Ends a turn: says what it did, judges the connection by it, and charges its client for what it holds now.
    pub(crate) fn end_turn(&mut self, now: Instant) -> TurnWork {
        let work = mem::take(&mut self.work);
        if work != TurnWork::default() {
            self.load.note(work.messages, work.bytes);
        }
        self.account.set(self.memory_bytes().saturating_sub(FREE_BYTES));
        self.note_unfinished(work.messages > 0, now);
        work
    }

    fn memory_bytes(&self) -> usize {
        let channel = self.channel.as_ref().map_or(0, Channel::memory_bytes);
        channel + self.unread.memory_bytes() + self.outbox.memory_bytes() + self.calls.memory_bytes()
    }

    fn note_unfinished(&mut self, is_another: bool, now: Instant) {
        if self.unread.is_empty() || self.unread.whole_left {
            self.unfinished_since = None;
        } else if is_another || self.unfinished_since.is_none() {
            self.unfinished_since = Some(now);
        }
    }

    /// Whether the socket has taken everything.
    pub(crate) fn is_sent(&self) -> bool {
        self.outbox.is_empty() && !self.holds_output()
    }

    fn holds_output(&self) -> bool {
        self.channel.as_ref().is_some_and(Channel::holds_output)
    }

    /// Whether a receive brings bytes though the socket may have none.
    pub(crate) fn holds_input(&self) -> bool {
        self.channel.as_ref().is_some_and(Channel::holds_input)
    }

    /// Takes note of what the peer took in a send.
    pub(crate) fn note_sent(&mut self, bytes: usize, now: Instant) {
        if self.is_sent() {
            self.untaken_since = None;
        } else if bytes > 0 || self.untaken_since.is_none() {
            self.untaken_since = Some(now);
        }
    }

    /// Whether the connection has to be closed, since it stands still for longer than `limits` allow.
    pub(crate) fn is_stalled(&self, limits: &Limits, now: Instant) -> bool {
        let is_long = |since: Instant| now.saturating_duration_since(since) >= limits.stall_timeout;
        let is_starved = self.is_starving && !self.may_receive(limits);
        let unfinished = self.unfinished_since.is_some_and(is_long) && !is_starved;
        let has_room = self.account.has_room();
        unfinished && (!has_room || is_long(self.last_active)) || !has_room && self.untaken_since.is_some_and(is_long)
    }

    /// Whether messages may be answered now. A client without room gets one reply at a time over each connection.
    pub(crate) fn may_answer(&self, limits: &Limits) -> bool {
        let holds_nothing = || self.outbox.is_empty() && self.calls.is_empty();
        (self.has_room || holds_nothing())
            && self.outbox.unsent_bytes() <= limits.max_unsent_bytes
            && self.calls.have_room(limits)
    }

    /// Whether the socket may be read now.
    pub(crate) fn may_receive(&self, limits: &Limits) -> bool {
        !self.ended_by_peer
            && !self.is_upgrading
            && !self.unread.whole_left
            && self.may_answer(limits)
            && (self.has_room || self.unread.may_grow())
    }

    /// Whether it waits for its client to have room.
    pub(crate) fn is_held_up(&self, limits: &Limits) -> bool {
        !self.has_room && (self.unread.whole_left || self.calls.are_waiting() || !self.may_receive(limits))
    }

    /// Whether a call may be given to a blocking thread: of a client without room, one at a time.
    pub(crate) fn may_give(&self, limits: &Limits) -> bool {
        self.outbox.unsent_bytes() <= limits.max_unsent_bytes
            && (self.has_room || self.calls.given() == 0 && self.outbox.is_empty())
    }

    /// What has to happen next; `draining` when no new message is to be read.
    pub(crate) fn course(&self, limits: &Limits, draining: bool) -> Course {
        let is_sent = self.is_sent();
        let writable = self.holds_output() || !is_sent && !self.outbox.is_waiting();
        let may_receive = !draining && self.may_receive(limits);
        if self.unread.whole_left && self.may_answer(limits) || may_receive && self.holds_input() {
            return Course::TurnAgain(Interest { readable: self.interest.readable, writable });
        }
        let last_message_read = draining || self.ended_by_peer;
        if last_message_read && !self.unread.whole_left && self.calls.is_empty() && is_sent {
            return Course::Over;
        }
        Course::Wait(Interest { readable: may_receive, writable })
    }
}

/// Bytes that were received and not made into messages yet. An idle connection holds none and has no memory for any.
#[derive(Default)]
pub(crate) struct Unread {
    buffer: Buffer,
    start: usize,
    /// How many bytes there must be before the next message can be whole.
    pub(crate) needed: usize,
    /// Whether there may be whole messages among the bytes, because a limit ended the last turn.
    pub(crate) whole_left: bool,
    /// How large the last message was, if it was large: so much memory the next one is trusted with before it has come.
    proven: usize,
    /// Whether the client had room for the whole message that is in progress; it is charged for all of it.
    is_admitted: bool,
}

impl Unread {
    /// Up to this size, unread bytes are copied to the front of the loop's receive buffer so that the next receive can
    /// bring many messages; larger ones stay where they are until their message is whole.
    const COPY_MAX_BYTES: usize = 16 << 10;

    /// From this size on a message is received into a buffer of its own, and the bulk of it to the start of a page.
    const LARGE_BYTES: usize = 96 << 10;

    /// The size of a page of memory.
    const PAGE_BYTES: usize = 4096;

    /// How many times as much memory as was received is taken for a message whose announced size is larger still.
    const GROWTH: usize = 4;

    /// The bytes.
    pub(crate) fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.buffer.as_mut_slice()[self.start..]
    }

    /// How many bytes there are.
    pub(crate) fn len(&self) -> usize {
        self.buffer.len() - self.start
    }

    /// Whether there are no bytes.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Lets the message in progress grow to its end, if the client has room. It may do so even if the room goes
    /// meanwhile: otherwise messages that have begun could keep each other waiting for ever.
    pub(crate) fn admit(&mut self, has_room: bool) {
        self.is_admitted |= has_room && !self.is_empty();
    }

    /// How many bytes may be received though the client has no room: a small message, or the rest of the current one.
    pub(crate) fn scarce_room(&self) -> usize {
        let most = if self.is_admitted { self.needed } else { SMALL_BYTES };
        most.saturating_sub(self.len())
    }

    /// Whether more of the message in progress may be received though its client has no room.
    pub(crate) fn may_grow(&self) -> bool {
        self.is_admitted || self.len() < SMALL_BYTES && self.needed <= SMALL_BYTES
    }

    /// How much memory the bytes take, or will take when their message is whole.
    pub(crate) fn memory_bytes(&self) -> usize {
        let promised = if self.is_admitted { self.needed } else { 0 };
        self.buffer.capacity().max(promised)
    }

    /// Whether the next message is small enough to be completed in a receive buffer of `capacity` bytes.
    fn fits_shared(&self, capacity: usize) -> bool {
        self.len() <= Self::COPY_MAX_BYTES && self.needed <= capacity
    }

    /// Moves the bytes to `buffer`, which is empty, and gives the memory back.
    pub(crate) fn move_to(&mut self, buffer: &mut Buffer, spare: &mut SpareBuffers) {
        buffer.put(&self.buffer.as_slice()[self.start..]);
        let is_admitted = self.is_admitted;
        self.release(spare);
        self.is_admitted = is_admitted;
    }

    /// Whether the next message is likely to be as large as the last one was.
    pub(crate) fn expects_large(&self) -> bool {
        self.proven > 0
    }

    /// Whether the message in progress is large.
    pub(crate) fn is_large(&self) -> bool {
        Unread::is_large_size(self.needed) && !self.is_empty()
    }

    /// Whether a message of `bytes` bytes is large.
    pub(crate) fn is_large_size(bytes: usize) -> bool {
        bytes >= Self::LARGE_BYTES
    }

    /// Whether what is missing of the message in progress is to be received behind what there is of it, and not into a
    /// shared buffer of `capacity` bytes.
    pub(crate) fn is_to_be_kept(&self, capacity: usize) -> bool {
        !self.is_empty() && (self.is_large() && self.expects_large() || !self.fits_shared(capacity))
    }

    /// Takes note of the size of a whole message.
    pub(crate) fn prove(&mut self, bytes: usize) {
        self.is_admitted = false;
        self.proven = if Unread::is_large_size(bytes) { bytes } else { 0 };
    }

    /// Keeps `rest` of a shared buffer's bytes; the byte at `bulk_at` of a large message comes to the start of a page.
    /// Until they are needed in one piece they take memory in proportion to what was received, or to what was received
    /// whole before, never to what was announced.
    pub(crate) fn keep(&mut self, rest: &[u8], needed: usize, bulk_at: usize, spare: &mut SpareBuffers) {
        self.needed = needed;
        self.start = 0;
        let capacity = needed.min((rest.len() * Self::GROWTH).max(self.proven)).max(rest.len());
        if capacity < Self::LARGE_BYTES {
            self.buffer = spare.take(capacity);
        } else {
            self.buffer = spare.take(capacity + Self::PAGE_BYTES);
            self.skip_to_align(bulk_at);
        }
        self.buffer.put(rest);
    }

    fn skip_to_align(&mut self, bulk_at: usize) {
        let address = self.buffer.space(1).as_ptr().addr();
        self.start = (address + bulk_at).wrapping_neg() % Self::PAGE_BYTES;
        self.buffer.space(self.start);
        self.buffer.advance(self.start);
    }

    /// Appends bytes that were received elsewhere.
    pub(crate) fn append(&mut self, bytes: &[u8]) {
        self.buffer.put(bytes);
    }

    /// Memory for what is missing of the next message, as far as what was received justifies it.
    pub(crate) fn space(&mut self, spare: &mut SpareBuffers) -> &mut [u8] {
        let length = self.len();
        if self.buffer.len() == self.buffer.capacity() {
            let mut larger = spare.take(self.needed.min(length * Self::GROWTH).max(length + 1));
            larger.put(self.as_mut_slice());
            spare.give(mem::replace(&mut self.buffer, larger));
            self.start = 0;
        }
        let room = (self.buffer.capacity() - self.buffer.len()).min(self.needed.max(length + 1) - length);
        self.buffer.space(room)
    }

    /// Counts bytes that were put into [`Unread::space`].
    pub(crate) fn received(&mut self, count: usize) {
        self.buffer.advance(count);
    }

    /// Forgets the first `count` bytes; without any left, the memory goes, and when few are left, most of it.
    pub(crate) fn consume(&mut self, count: usize, spare: &mut SpareBuffers) {
        self.start += count;
        if self.is_empty() {
            self.release(spare);
        } else if self.len() * Self::GROWTH < self.buffer.capacity() && self.len() <= Self::COPY_MAX_BYTES {
            let mut smaller = spare.take(self.len());
            smaller.put(self.as_mut_slice());
            spare.give(mem::replace(&mut self.buffer, smaller));
            self.start = 0;
        }
    }

    /// Forgets everything and gives the memory back.
    pub(crate) fn release(&mut self, spare: &mut SpareBuffers) {
        spare.give(mem::take(&mut self.buffer));
        self.start = 0;
        self.needed = 0;
        self.is_admitted = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_for_a_message_follows_what_was_received_not_what_was_announced() {
        let mut spare = SpareBuffers::default();
        let mut unread = Unread::default();
        unread.keep(&[1; 100], 1 << 20, 0, &mut spare);
        let (mut total, mut largest_share) = (100, 0);
        while total < 1 << 20 {
            let room = unread.space(&mut spare).len();
            largest_share = largest_share.max((total + room) / total);
            unread.received(room);
            total += room;
        }
        assert_eq!((unread.len(), largest_share <= 6), (1 << 20, true));
    }

    #[test]
    fn message_as_large_as_the_one_before_has_its_memory_at_once_and_its_bulk_at_the_start_of_a_page() {
        let mut spare = SpareBuffers::default();
        let mut unread = Unread::default();
        unread.prove(1 << 20);
        unread.keep(&[1; 1000], 1 << 20, 148, &mut spare);
        assert!(unread.is_large());
        assert_eq!(unread.as_mut_slice()[148..].as_ptr().addr() % 4096, 0);
        assert_eq!(unread.space(&mut spare).len(), (1 << 20) - 1000);
        unread.received((1 << 20) - 1000);
        assert_eq!((unread.len(), unread.as_mut_slice()[148..].as_ptr().addr() % 4096), (1 << 20, 0));
        unread.prove(1000);
        assert!(!unread.expects_large());
    }

    #[test]
    fn consumed_messages_leave_the_rest_and_then_no_memory() {
        let mut spare = SpareBuffers::default();
        let mut unread = Unread::default();
        unread.keep(b"onetwo", 3, 0, &mut spare);
        unread.consume(3, &mut spare);
        assert_eq!(unread.as_mut_slice(), b"two");
        unread.append(&[0; 50_000]);
        unread.consume(50_000, &mut spare);
        assert!(unread.memory_bytes() <= 4096, "{} bytes for three", unread.memory_bytes());
        unread.consume(3, &mut spare);
        assert_eq!((unread.is_empty(), unread.buffer.capacity()), (true, 0));
    }
}
