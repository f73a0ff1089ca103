//! Tickets: a write log's data about the request behind a change of names.
//!
//! The reply log survives the end of the process, but not that of the machine. A write log returns the tickets of its
//! changes after a power failure. A retransmitted call of NFSv2, NFSv3 or NFSv4.0 with a ticket succeeds. An operation
//! of a session succeeds only after its request was retransmitted in the session that ended, which proves that its
//! client lacks the reply. Otherwise, the next operation with equal arguments would succeed without any action.

use buffer::Buffer;

use super::lost_sessions::OldSessionReply;
use super::made::{Finished, MadeStep};
use super::record::{DoneStep, FileBytes, ReplyLogRecord, Step, Ticket, bytes_of};
use super::{Begun, CachedCallState, ReplayCache, ReplyLog, Unanswered};

impl ReplayCache {
    /// Loads a change that was made, unless its request was answered.
    pub(super) fn take_up_made<'r>(
        &self,
        ticket: &Ticket<'r>,
        made: FileBytes<'r>,
        log: &dyn ReplyLog,
        unanswered: &mut Unanswered<'r>,
    ) {
        let (key, done) = (ticket.key, DoneStep { step: ticket.step, made });
        let Some(request) = ticket.request else {
            let shard = self.shard(&key);
            let is_answered =
                shard.entries.get(&key).is_some_and(|entry| matches!(entry.state, CachedCallState::Answered { .. }));
            if !is_answered {
                let notes = unanswered.0.entry(key).or_default();
                notes.done.retain(|other| other.step != done.step);
                notes.done.push(done);
            }
            return;
        };
        if matches!(self.lost_sessions.look_up(&request.into()), OldSessionReply::Unknown | OldSessionReply::Dead) {
            log.keep(ReplyLogRecord::HappenedIn(key, request, done).bytes().as_slice());
            self.lost_sessions.add(request.into(), key, Finished::of(&MadeStep::of(&done)));
        }
    }
}

impl Begun<'_> {
    /// The ticket of a change for a write log.
    pub(crate) fn ticket(&self, step: &Step<'_>) -> Buffer {
        bytes_of(&Ticket { key: self.key, request: self.request.map(Into::into), step: *step })
    }
}
