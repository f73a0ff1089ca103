//! Logged operations of sessions, and the replies to their COMPOUNDs.
//!
//! An operation's key is unique among all clients, independent of the session (`v4/resent.rs`). When its change is
//! made, a record says so, and others may change the names. One more record has the reply to the COMPOUND, and ends the
//! records of all its operations.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use state::SlotRequest;
use vfs::Handle;

use super::key::ReplayKey;
use super::lost_sessions::OldSessionReply;
use super::made::Finished;
use super::record::{FileBytes, MAX_SLOT_REPLY_BYTES, ReplyLogRecord, SlotReply};
use super::{Begun, CachedCall, CachedCallState, ReplayCache};

/// The changes of a COMPOUND that must not be repeated.
#[derive(Debug, Default)]
pub(crate) struct CompoundChanges {
    is_kept: bool,
    /// The keys of its operations that change names.
    operations: Vec<u8>,
}

impl CompoundChanges {
    /// Records a change whose reply outlives the process.
    pub(crate) fn keep(&mut self) {
        self.is_kept = true;
    }
}

impl ReplayCache {
    /// Begins an operation of a session, if there is a log. `operation` identifies it among those of all clients.
    pub(crate) fn begin_operation(&self, operation: &[u8], request: &SlotRequest, now: Duration) -> Option<Begun<'_>> {
        let log = Some(self.log.as_ref()?);
        let key = ReplayKey::of_operation(self.key.long_checksum(&[operation]));
        let happened = self.claim(&key).filter(|_| now <= self.max_age).unwrap_or_default();
        let mut begun = Begun::new(self, key, None, happened, log);
        begun.request = Some(*request);
        Some(begun)
    }

    /// Takes the steps that an earlier process made.
    fn claim(&self, key: &ReplayKey) -> Option<Vec<Finished>> {
        match self.shard(key).entries.remove(key)?.state {
            CachedCallState::Happened(finished) => Some(finished),
            CachedCallState::InProgress | CachedCallState::Answered { .. } => None,
        }
    }

    /// Logs the reply to a COMPOUND if it changed something. Without a reply, or with one that is too long, only the
    /// fact that it was answered is logged.
    pub(crate) fn keep_of_slot(&self, request: &SlotRequest, changes: &CompoundChanges, reply: Option<&[u8]>) {
        let Some(log) = self.log.as_ref().filter(|_| changes.is_kept) else { return };
        let answered = SlotReply {
            request: (*request).into(),
            operations: &changes.operations,
            reply: reply.filter(|reply| reply.len() <= MAX_SLOT_REPLY_BYTES).unwrap_or_default(),
        };
        log.records.keep(ReplyLogRecord::SlotAnswered(answered).bytes().as_slice());
    }

    /// The history of a request in a session that this process did not create.
    pub(crate) fn lost(&self, request: &SlotRequest, now: Duration) -> OldSessionReply {
        self.expire_earlier(now);
        let happened = self.lost_sessions.claim(request);
        let lost = self.lost_sessions.look_up(request);
        if happened.is_empty() || !matches!(lost, OldSessionReply::Unknown | OldSessionReply::Dead) {
            return lost;
        }
        for (key, finished) in happened {
            if let Some(log) = &self.log {
                // The client continues in another session, even if this process is killed.
                finished.keep(&*log.records, &key);
            }
            let entry = CachedCall::unclaimed(CachedCallState::Happened(vec![finished]));
            self.shard(&key).entries.insert(key, entry);
        }
        OldSessionReply::Dead
    }

    /// Drops the knowledge from before the start, once clients no longer retransmit calls of that time.
    pub(crate) fn expire_earlier(&self, now: Duration) {
        if now <= self.max_age || self.has_expired.swap(true, Ordering::Relaxed) {
            return;
        }
        self.lost_sessions.forget();
        for shard in &self.shards {
            let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            shard.entries.retain(|_, entry| !matches!(entry.state, CachedCallState::Happened(_)));
        }
    }
}

impl Begun<'_> {
    /// Whether this is an operation of a session: another process of the same client may send one with equal arguments.
    pub(crate) fn is_operation(&self) -> bool {
        self.connection.is_none()
    }

    /// Ends an operation of a session: the reply to its COMPOUND must be logged.
    pub(crate) fn end(mut self, has_succeeded: bool, changes: &mut CompoundChanges) {
        changes.keep();
        let was_made_before = !std::mem::take(&mut self.happened).is_empty();
        if self.is_noted.get() || was_made_before {
            changes.operations.extend(self.key.message.iter().flat_map(|hash| hash.to_be_bytes()));
        }
        if let Some(log) = self.log.filter(|_| has_succeeded && self.is_noted.take()) {
            let made = self.made.get();
            let made = FileBytes { handle: made.as_ref().map_or(&[], Handle::as_bytes) };
            log.records.keep(ReplyLogRecord::Ended(self.key, made).bytes().as_slice());
        }
    }
}
