//! SEQUENCE (RFC 8881 §18.46), which begins every request of a session.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::session::SessionState;
use crate::slot::Arrival;
use crate::sync::lock;
use crate::{Direction, Session, SessionId, State, StateError, StatusFlags};

/// The arguments of SEQUENCE, and what identifies the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SequenceArgs {
    /// The session.
    pub session: SessionId,
    /// The slot.
    pub slot: u32,
    /// The request's sequence number on the slot.
    pub sequence: u32,
    /// The highest slot on which the client has a request.
    pub highest_slot: u32,
    /// Whether the reply must be cached.
    pub cache_this: bool,
    /// The connection of the request; it is bound to the fore channel (RFC 8881 §2.10.3.1).
    pub connection: u64,
    /// A hash of the request and its principal, equal for retransmissions.
    pub digest: u64,
}

/// Identifies a request, also after the end of its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SlotRequest {
    /// The session.
    pub session: SessionId,
    /// The slot.
    pub slot: u32,
    /// The request's sequence number on the slot.
    pub sequence: u32,
    /// A hash of the request and its principal, equal for retransmissions.
    pub digest: u64,
}

impl SequenceArgs {
    /// The part that identifies the request.
    pub fn request(&self) -> SlotRequest {
        SlotRequest { session: self.session, slot: self.slot, sequence: self.sequence, digest: self.digest }
    }
}

/// The results of SEQUENCE besides its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SequenceReply {
    /// The highest slot that the client may use.
    pub highest_slot: u32,
    /// The highest slot that the server wants the client to use.
    pub target_highest_slot: u32,
    /// The flags about the client's state.
    pub flags: StatusFlags,
}

/// The handling of a request.
#[derive(Debug)]
pub enum Sequenced {
    /// It is new: execute it and pass its reply to [`SlotTurn::finish`].
    Execute(SlotTurn, SequenceReply),
    /// It is a retransmission: send this reply.
    Replay(Vec<u8>),
}

/// A slot whose request is executing. Dropped without [`SlotTurn::finish`], the request counts as not sent.
pub struct SlotTurn {
    session: Arc<Session>,
    request: SlotRequest,
    cache_this: bool,
    open: bool,
}

impl fmt::Debug for SlotTurn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SlotTurn({:?}, slot {})", self.session.id, self.request.slot)
    }
}

impl SlotTurn {
    /// The session of the request.
    pub fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// The request.
    pub fn request(&self) -> &SlotRequest {
        &self.request
    }

    /// Whether the client wants its reply cached. A reply larger than `max_response_cached_bytes` must then fail with
    /// NFS4ERR_REP_TOO_BIG_TO_CACHE before it is executed.
    pub fn cache_this(&self) -> bool {
        self.cache_this
    }

    /// Ends the request without caching its reply.
    #[inline]
    pub fn finish_unkept(self) {
        self.end(None);
    }

    /// Ends the request with its encoded reply, which is cached if it is tiny, or if it fits and the client wants it.
    #[inline]
    pub fn finish(self, reply: &[u8]) {
        let fits = reply.len() <= self.session.fore.max_response_cached_bytes as usize;
        let tiny = reply.len() <= self.session.always_cached_bytes as usize;
        let kept = fits && (self.cache_this || tiny);
        self.end(kept.then_some(reply));
    }

    #[inline]
    fn end(mut self, kept: Option<&[u8]>) {
        self.open = false;
        if let Some(slot) = lock(&self.session.inner).slots.get_mut(self.request.slot as usize) {
            slot.finish(kept);
        }
    }
}

impl Drop for SlotTurn {
    #[inline]
    fn drop(&mut self) {
        if self.open
            && let Some(slot) = lock(&self.session.inner).slots.get_mut(self.request.slot as usize)
        {
            slot.abandon();
        }
    }
}

impl State {
    /// Begins a request (RFC 8881 §18.46.3) and renews its client's lease. Locks only the session.
    ///
    /// # Errors
    /// [`StateError::BadSession`], `BadSlot`, `BadHighSlot`, `SeqMisordered`, `SeqFalseRetry`, `RetryUncachedRep`, and
    /// `Delay` while the same request is executing.
    pub fn sequence(&self, now: Duration, args: &SequenceArgs) -> Result<Sequenced, StateError> {
        let session = self.shared.sessions.get(&args.session)?;
        let mut guard = lock(&session.inner);
        let inner = &mut *guard;
        if inner.dead || !session.lease.renew(now) {
            return Err(StateError::BadSession);
        }
        if args.slot as usize >= inner.slots.len() {
            return Err(StateError::BadSlot);
        }
        if args.highest_slot as usize >= inner.slots.len() {
            return Err(StateError::BadHighSlot);
        }
        if let Arrival::Retry(reply) = inner.slots[args.slot as usize].arrive(args.sequence, args.digest)? {
            return Ok(Sequenced::Replay(reply.to_vec()));
        }
        if !inner.has_fore(args.connection) {
            // A connection beyond the limit is still served, but not bound.
            let _ = self.shared.sessions.bind(&args.session, inner, args.connection, Direction::Fore);
        }
        let reply = adapt_slots(inner, args, session.lease.flags());
        drop(guard);
        let turn = SlotTurn { session, request: args.request(), cache_this: args.cache_this, open: true };
        Ok(Sequenced::Execute(turn, reply))
    }
}

/// Removes slots above the target once the client no longer uses them, and reports the channel's slots and flags.
#[inline]
fn adapt_slots(inner: &mut SessionState, args: &SequenceArgs, client_flags: u32) -> SequenceReply {
    let target = inner.target as usize;
    let in_use = args.highest_slot.max(args.slot) as usize;
    if in_use < target && inner.slots.len() > target && inner.slots[target..].iter().all(|slot| !slot.is_busy()) {
        inner.slots.truncate(target);
    }
    SequenceReply {
        highest_slot: inner.slots.len() as u32 - 1,
        target_highest_slot: inner.target - 1,
        flags: StatusFlags(client_flags | inner.flags),
    }
}
