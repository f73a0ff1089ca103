//! Sessions that ended with the process before this one, as far as their clients may lack a reply (RFC 8881 §2.10.6.5).
//!
//! The reply to a COMPOUND that changed something is in the log with its session, its slot and its number. A client that
//! lost it sends the same request again, over a new connection, before it makes a new session. Everything else that
//! comes in such a session is refused: its client has lost its state, and makes a new session.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use state::{SessionId, SlotRequest};

use super::record::SlotReply;

/// The sessions; no more than the log has replies.
#[derive(Debug, Default)]
pub(super) struct LostSessions(Mutex<HashMap<SessionId, Slots>>);

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
        let last = Last { sequence: answered.sequence, digest: answered.digest, reply: answered.reply.into() };
        self.lock().entry(SessionId(answered.session)).or_default().insert(answered.slot, last);
    }

    pub(super) fn look_up(&self, request: &SlotRequest) -> Lost {
        let sessions = self.lock();
        let Some(slots) = sessions.get(&request.session) else { return Lost::Unknown };
        match slots.get(&request.slot).filter(|last| last.sequence == request.sequence) {
            None => Lost::Dead,
            Some(last) if last.digest != request.digest => Lost::FalseRetry,
            Some(last) if last.reply.is_empty() => Lost::Uncached,
            Some(last) => Lost::Answered(last.reply.clone()),
        }
    }

    /// Forgets all, once no client sends a request of before the start again.
    pub(super) fn expire(&self, now: Duration, max_age: Duration) {
        if now > max_age {
            *self.lock() = HashMap::new();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Slots>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
