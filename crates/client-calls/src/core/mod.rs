//! The core of a connection, without a socket and without a clock: the table of calls that wait for their replies.
//!
//! The time and whole messages come in as arguments. A [`Batch`] or datagrams to send go out. These invariants hold:
//!
//! - A call has one xid from its first send to its last, however often it is sent and over however many connections, so
//!   that the server's replay cache knows it (RFC 5531 §4).
//! - At most [`Config::max_pending`] calls are in the table, and each is in the queue to the socket at most once.
//! - The table grows with the calls at once. Calls use all of its entries in turn, so that a table for many calls would
//!   be memory outside of the processor's caches for a few.
//! - A reply that no call waits for changes nothing but a counter.
//! - A damaged datagram counts as lost, up to a limit for one call; then the caller gets it.
//! - Calls by the server, which NFSv4 has, wait in a queue of their own. A call that finds it full is dropped, and the
//!   server sends it again.

mod back_calls;
mod back_queue;
mod batch;
mod clock;
mod config;
mod counters;
mod failure;
mod incoming;
mod news;
mod receive;
mod send;
mod slot;
mod stream;
mod timers;
mod window;

use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use buffer::Buffer;
use bytes::Bytes;
use peer::Transport;
use rpc::Xid;

use back_queue::BackCalls;
pub use back_queue::BackEvent;
pub use batch::Batch;
use clock::Clock;
pub use config::{Config, Retry};
pub use counters::Counters;
pub use failure::Failure;
pub use incoming::Incoming;
pub use news::News;
use slot::{Slot, SlotState};
pub use timers::Expired;
use window::Window;

use crate::statistics::{Call, CallRecorder, Label, Statistics, nanoseconds};

/// The entries of a new table: enough for one call at a time. It is a power of two.
const FIRST_PLACES: usize = 2;

/// The calls of one connection.
#[derive(Debug)]
pub struct Core {
    config: Config,
    /// The timeout of a call's first send.
    first_timeout_ns: u64,
    clock: Clock,
    /// A call's index is its xid modulo the length, which is a power of two. An xid whose index is taken is skipped. At
    /// most half of the entries are taken.
    slots: Box<[Slot]>,
    next_xid: u32,
    /// Calls without a reply.
    pending: usize,
    /// Entries in use: calls without a reply, and replies that were not taken.
    taken: usize,
    queue: VecDeque<Xid>,
    /// Calls sent over datagrams and not answered.
    in_flight: usize,
    window: Window,
    is_connected: bool,
    /// No deadline is earlier than this one.
    earliest_ns: u64,
    back_calls: BackCalls,
    /// Whether the silence of the server was reported.
    is_silent: bool,
    news: Option<News>,
    counters: Counters,
    recorder: CallRecorder,
}

/// What follows the words of a call.
#[derive(Debug, Clone)]
pub struct Tail {
    /// An opaque, without its length.
    pub data: Bytes,
    /// Further encoded arguments behind that.
    pub behind: &'static [u8],
}

/// The table is full: wait until a call ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full;

impl Core {
    /// Makes a core whose first call gets `first_xid`, which should be random: a restarted client must not meet its own
    /// old calls in the server's replay cache.
    pub fn new(config: Config, first_xid: u32, now: Instant) -> Core {
        Core {
            first_timeout_ns: nanoseconds(config.retry.first_timeout),
            clock: Clock::new(now),
            slots: Slot::many(FIRST_PLACES),
            next_xid: first_xid,
            pending: 0,
            taken: 0,
            queue: VecDeque::new(),
            in_flight: 0,
            window: Window::new(),
            is_connected: true,
            earliest_ns: Clock::NEVER_NS,
            back_calls: BackCalls::default(),
            is_silent: false,
            news: None,
            counters: Counters::default(),
            recorder: CallRecorder::new(config.mark_bytes()),
            config,
        }
    }

    /// What was counted so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Adds what was recorded so far to `statistics`.
    pub fn add_to(&self, statistics: &mut Statistics) {
        statistics.rpc += self.counters;
        self.recorder.add_to(statistics);
        let mut under_way = CallRecorder::new(self.config.mark_bytes());
        self.slots.iter().filter(|slot| slot.is_pending()).for_each(|slot| under_way.unanswered(&slot.call));
        under_way.add_to(statistics);
    }

    /// How many calls have no reply.
    pub fn pending(&self) -> usize {
        self.pending
    }

    /// Queues a call. `write` appends the whole message, whose first word is the xid, and returns its label in the
    /// statistics. `tail`, if any, follows.
    ///
    /// # Errors
    /// [`Full`].
    pub fn submit(
        &mut self,
        now: Instant,
        tail: Option<Tail>,
        write: impl FnOnce(Xid, &mut Buffer) -> Label,
    ) -> Result<Xid, Full> {
        if self.taken >= self.config.max_pending {
            return Err(Full);
        }
        if self.taken * 2 >= self.slots.len() {
            self.grow();
        }
        let xid = self.free_xid();
        let (timeout, replies) = (self.config.retry.first_timeout, self.counters.replies);
        let now_ns = self.clock.ns(now);
        let deadline_ns = now_ns.saturating_add(self.first_timeout_ns);
        let slot = self.slot_mut(xid);
        slot.xid = xid;
        slot.state = SlotState::Pending;
        slot.head.clear();
        slot.call = Call::new(write(xid, &mut slot.head), now_ns);
        if let Some(Tail { data, behind }) = tail {
            slot.head.put(&u32::try_from(data.len()).unwrap_or(u32::MAX).to_be_bytes());
            (slot.data, slot.behind) = (data, behind);
        }
        (slot.timeout, slot.deadline_ns) = (timeout, deadline_ns);
        slot.is_queued = true;
        slot.is_whole = |_| true;
        slot.damaged_replies = 0;
        slot.replies_before = replies;
        self.earliest_ns = self.earliest_ns.min(deadline_ns);
        self.pending += 1;
        self.taken += 1;
        self.counters.calls += 1;
        self.queue.push_back(xid);
        Ok(xid)
    }

    /// Records that the caller requested a call at `asked`, before there was room for it.
    pub fn note_asked(&mut self, xid: Xid, asked: Instant) {
        let asked_ns = self.clock.ns(asked);
        let slot = self.slot_mut(xid);
        if slot.xid == xid {
            slot.call.asked_ns = asked_ns;
        }
    }

    /// Returns the result of a call that has ended, and frees its entry.
    pub fn poll_reply(&mut self, xid: Xid, cx: &Context<'_>) -> Poll<Result<Bytes, Failure>> {
        let slot = self.slot_mut(xid);
        if slot.xid != xid || slot.is_free() {
            return Poll::Ready(Err(Failure::Closed));
        }
        if slot.is_pending() {
            match &mut slot.waker {
                Some(waker) => waker.clone_from(cx.waker()),
                none => *none = Some(cx.waker().clone()),
            }
            return Poll::Pending;
        }
        let state = std::mem::take(&mut slot.state);
        slot.release();
        self.taken -= 1;
        match state {
            SlotState::Done(result) => Poll::Ready(result),
            SlotState::Free | SlotState::Pending => Poll::Ready(Err(Failure::Closed)),
        }
    }

    /// Drops a call whose caller no longer waits. A later reply counts as unexpected.
    pub fn cancel(&mut self, xid: Xid) {
        let place = (xid.0 & self.mask()) as usize;
        let slot = &mut self.slots[place];
        if slot.xid != xid || slot.is_free() {
            return;
        }
        let was_pending = slot.is_pending();
        if was_pending {
            self.recorder.unanswered(&slot.call);
        }
        let was_queued = std::mem::take(&mut slot.is_queued);
        slot.release();
        self.taken -= 1;
        if was_pending {
            self.leave_table(xid, was_queued);
        }
    }

    /// Fails every call without a reply.
    pub fn fail_all(&mut self, failure: Failure, wakers: &mut Vec<Waker>) {
        for slot in self.slots.iter_mut().filter(|slot| slot.is_pending()) {
            slot.is_queued = false;
            self.recorder.failed(&slot.call);
            wakers.extend(slot.finish(Err(failure)));
        }
        self.back_calls.end(wakers);
        self.queue.clear();
        (self.pending, self.in_flight, self.earliest_ns) = (0, 0, Clock::NEVER_NS);
    }

    /// What happened to the server since the last call. Only calls that never fail make news: the callers of the others
    /// get errors.
    pub fn take_news(&mut self) -> Option<News> {
        self.news.take()
    }

    /// Doubles the table. Calls with different indices get different ones again.
    #[cold]
    fn grow(&mut self) {
        let places = self.slots.len() * 2;
        for slot in std::mem::replace(&mut self.slots, Slot::many(places)) {
            if !slot.is_free() {
                let xid = slot.xid;
                *self.slot_mut(xid) = slot;
            }
        }
    }

    fn mask(&self) -> u32 {
        (self.slots.len() - 1) as u32
    }

    fn slot_mut(&mut self, xid: Xid) -> &mut Slot {
        let place = (xid.0 & self.mask()) as usize;
        &mut self.slots[place]
    }

    /// The next xid with a free entry; at least half of the entries are free.
    fn free_xid(&mut self) -> Xid {
        loop {
            let xid = Xid(self.next_xid);
            self.next_xid = self.next_xid.wrapping_add(1);
            if self.slot_mut(xid).is_free() {
                return xid;
            }
        }
    }

    /// Updates the counts when a call stops being pending. It is in flight if it is not in the queue.
    fn leave_table(&mut self, xid: Xid, was_queued: bool) {
        self.pending -= 1;
        if was_queued {
            self.queue.retain(|queued| *queued != xid);
        } else {
            self.leave_flight();
        }
    }

    fn leave_flight(&mut self) {
        if self.config.transport == Transport::Udp {
            self.in_flight -= 1;
        }
    }
}

#[cfg(test)]
mod tests;
