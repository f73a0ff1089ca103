//! Sessions that ended with the process before this one, as far as their clients may lack a reply (RFC 8881 §2.10.6.5).
//!
//! The reply to a COMPOUND that changed something is in the log with its session, its slot and its number. A client
//! that lost it sends the same request again, over a new connection, before it makes a new session. Everything else
//! that comes in such a session is refused: its client has lost its state, and makes a new session.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use state::{SessionId, SlotRequest};

use super::record::SlotReply;
use super::{Finished, ReplayKey};

/// The sessions.
#[derive(Debug, Default)]
pub(super) struct LostSessions(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// No more than the log has replies.
    sessions: HashMap<SessionId, Slots>,
    /// What the write log knows to have happened before a power failure, in requests whose replies are lost.
    happened: HashMap<SlotRequest, Vec<(ReplayKey, Finished)>>,
}

/// The last request of each slot that changed something.
type Slots = HashMap<u32, Last>;

#[derive(Debug)]
struct Last {
    sequence: u32,
    digest: u64,
    /// Empty if the reply was too long to be kept.
    reply: Box<[u8]>,
}

/// What is known of a request in a session that this process did not make.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// Nothing: the session may never have been.
    Unknown,
    /// It was answered; this is the reply.
    Answered(Box<[u8]>),
    /// It was answered with a reply that is not kept.
    Uncached,
    /// Another request had this number.
    FalseRetry,
    /// It is a new one, or was not answered.
    Dead,
}

impl LostSessions {
    pub(super) fn remember(&self, answered: &SlotReply<'_>) {
        let SlotRequest { session, slot, sequence, digest } = answered.request.into();
        let last = Last { sequence, digest, reply: answered.reply.into() };
        let mut known = self.lock();
        known.sessions.entry(session).or_default().insert(slot, last);
        if !known.happened.is_empty() {
            let operations: Vec<ReplayKey> = ReplayKey::operations(answered.operations).collect();
            known.happened.values_mut().for_each(|steps| steps.retain(|(key, _)| !operations.contains(key)));
        }
    }

    /// Notes what happened in a request that may not have been answered.
    pub(super) fn add(&self, request: SlotRequest, step: (ReplayKey, Finished)) {
        self.lock().happened.entry(request).or_default().push(step);
    }

    /// What happened in a request that comes again. It counts from then on: a client that has the reply does not send
    /// the request again, and what looks like it in another session is another one.
    pub(super) fn claim(&self, request: &SlotRequest) -> Vec<(ReplayKey, Finished)> {
        self.lock().happened.remove(request).unwrap_or_default()
    }

    pub(super) fn look_up(&self, request: &SlotRequest) -> Lost {
        let known = self.lock();
        let Some(slots) = known.sessions.get(&request.session) else { return Lost::Unknown };
        match slots.get(&request.slot).filter(|last| last.sequence == request.sequence) {
            None => Lost::Dead,
            Some(last) if last.digest != request.digest => Lost::FalseRetry,
            Some(last) if last.reply.is_empty() => Lost::Uncached,
            Some(last) => Lost::Answered(last.reply.clone()),
        }
    }

    /// Forgets all.
    pub(super) fn forget(&self) {
        *self.lock() = Known::default();
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
