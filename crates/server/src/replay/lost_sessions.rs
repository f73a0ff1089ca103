//! Sessions that ended with the previous process, whose clients may lack a reply (RFC 8881 §2.10.6.5).
//!
//! The log keeps the reply to a COMPOUND that changed something, with its session, slot and sequence number. A client
//! that lost the reply retransmits the request over a new connection before it creates a new session. Any other request
//! in such a session is refused: the client has lost its state, and must create a new session.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use state::{SessionId, SlotRequest};

use super::key::ReplayKey;
use super::made::Finished;
use super::record::SlotReply;

/// The sessions that ended with the previous process.
#[derive(Debug, Default)]
pub(super) struct LostSessions(Mutex<OldSessions>);

#[derive(Debug, Default)]
struct OldSessions {
    /// At most as many as the log has replies.
    sessions: HashMap<SessionId, LastRequests>,
    /// Changes that the write log shows as made before a power failure, by requests whose replies are lost.
    happened: HashMap<SlotRequest, Vec<(ReplayKey, Finished)>>,
}

/// The last request of each slot that changed something.
type LastRequests = HashMap<u32, LastRequest>;

#[derive(Debug)]
struct LastRequest {
    sequence: u32,
    digest: u64,
    /// Empty if the reply was too long to keep.
    reply: Box<[u8]>,
}

/// The history of a request in a session that this process did not create.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum OldSessionReply {
    /// The session is unknown, and may never have existed.
    Unknown,
    /// It was answered with this reply.
    Answered(Box<[u8]>),
    /// It was answered, but the reply was not kept.
    Uncached,
    /// A different request had this sequence number.
    FalseRetry,
    /// It is new, or was not answered.
    Dead,
}

impl LostSessions {
    pub(super) fn remember(&self, answered: &SlotReply<'_>) {
        let SlotRequest { session, slot, sequence, digest } = answered.request.into();
        let last = LastRequest { sequence, digest, reply: answered.reply.into() };
        let mut known = self.lock();
        known.sessions.entry(session).or_default().insert(slot, last);
        if !known.happened.is_empty() {
            let operations: Vec<ReplayKey> = ReplayKey::operations(answered.operations).collect();
            known.happened.values_mut().for_each(|steps| steps.retain(|(key, _)| !operations.contains(key)));
        }
    }

    /// Records a change by a request that may not have been answered.
    pub(super) fn add(&self, request: SlotRequest, operation: ReplayKey, step: Finished) {
        self.lock().happened.entry(request).or_default().push((operation, step));
    }

    /// Takes the changes of a retransmitted request. Its operations count as made from then on: a client that had the
    /// reply would not retransmit, and similar operations in other sessions are new.
    pub(super) fn claim(&self, request: &SlotRequest) -> Vec<(ReplayKey, Finished)> {
        self.lock().happened.remove(request).unwrap_or_default()
    }

    pub(super) fn look_up(&self, request: &SlotRequest) -> OldSessionReply {
        let known = self.lock();
        let Some(slots) = known.sessions.get(&request.session) else { return OldSessionReply::Unknown };
        match slots.get(&request.slot).filter(|last| last.sequence == request.sequence) {
            None => OldSessionReply::Dead,
            Some(last) if last.digest != request.digest => OldSessionReply::FalseRetry,
            Some(last) if last.reply.is_empty() => OldSessionReply::Uncached,
            Some(last) => OldSessionReply::Answered(last.reply.clone()),
        }
    }

    /// Drops everything.
    pub(super) fn forget(&self) {
        *self.lock() = OldSessions::default();
    }

    fn lock(&self) -> MutexGuard<'_, OldSessions> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
