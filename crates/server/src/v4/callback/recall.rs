//! CB_RECALL (RFC 7530 §18.2, RFC 8881 §20.2): asks a client to return a delegation.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use proto::nfs4::{CallbackArgOp, CallbackResOp, CbRecallArgs, FileHandle, Res, Status};
use state::{Origin, Recall};

use super::CallbackFailure;
use crate::server::Server;
use crate::tally::Tally;
use crate::v4::state_error::outer;

/// The interval of repeated recalls.
const AGAIN: Duration = Duration::from_secs(1);

/// The most recalls that may wait to be repeated; one address may have as many as remain free. Further ones are not
/// repeated, and their delegations are eventually revoked.
const MAX_LATER: usize = 4096;

/// Recalls to repeat.
#[derive(Debug, Default)]
pub(super) struct LaterRecalls(Mutex<Later>);

#[derive(Debug, Default)]
struct Later {
    recalls: Vec<Again>,
    tally: Tally,
}

/// A recall to repeat, with its time.
#[derive(Debug)]
struct Again {
    at: Duration,
    origin: Origin,
    recall: Recall,
}

impl LaterRecalls {
    fn add(&self, again: Again) {
        let mut later = self.lock();
        if later.tally.has_room(again.origin, MAX_LATER) {
            later.tally.add(again.origin);
            later.recalls.push(again);
        }
    }

    fn take_due(&self, now: Duration) -> Vec<Recall> {
        let mut later = self.lock();
        let Later { recalls, tally } = &mut *later;
        let due = recalls.extract_if(.., |again| again.at <= now);
        due.inspect(|again| tally.remove(again.origin)).map(|again| again.recall).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Later> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Server {
    /// Asks a client to return a delegation.
    pub(crate) fn recall(&self, recall: Recall, now: Duration) {
        let Some(file) = FileHandle::new(&recall.handle) else { return };
        let stateid = outer(&recall.stateid);
        let operation = CallbackArgOp::CbRecall(CbRecallArgs { stateid, truncate: false, file });
        let again = recall.clone();
        let on_reply = move |server: &Server, result: Result<CallbackResOp<'_>, CallbackFailure>, now: Duration| {
            server.on_recall_reply(again, &result, now);
        };
        match self.call_back(recall.client, operation, now, Box::new(on_reply)) {
            Ok(()) => {}
            // The state manager repeats the recall when there is a path.
            Err(CallbackFailure::NoPath | CallbackFailure::NoClient) => {
                tracing::debug!(client = ?recall.client, "a delegation cannot be recalled for lack of a path");
            }
            Err(_) => self.recall_later(now, recall),
        }
    }

    /// A client that does not find the delegation may not have received the reply that granted it yet (RFC 8881
    /// §2.10.6.3). So, like a busy client, it is asked again until it returns the delegation or the delegation is
    /// revoked.
    fn on_recall_reply(&self, recall: Recall, result: &Result<CallbackResOp<'_>, CallbackFailure>, now: Duration) {
        tracing::debug!(client = ?recall.client, ?result, "a delegation was recalled");
        match result {
            Ok(CallbackResOp::CbRecall(Res::Ok(()))) => {}
            Ok(CallbackResOp::CbRecall(Res::Fail(Status::BadHandle | Status::BadStateid | Status::Delay))) | Err(_) => {
                if self.state.is_recalled(&recall.stateid) {
                    self.recall_later(now, recall);
                }
            }
            Ok(other) => tracing::warn!(client = ?recall.client, ?other, "a client does not return a delegation"),
        }
    }

    fn recall_later(&self, now: Duration, recall: Recall) {
        if let Some(origin) = self.state.origin(recall.client) {
            self.callbacks.recalls.add(Again { at: now + AGAIN, origin, recall });
        }
    }

    /// Repeats the recalls that are due.
    pub(crate) fn retry_callbacks(&self, now: Duration) {
        for recall in self.callbacks.recalls.take_due(now) {
            if self.state.is_recalled(&recall.stateid) {
                self.recall(recall, now);
            }
        }
        self.callbacks.attributes.forget_old(now);
    }
}

#[cfg(test)]
mod tests {
    use state::{ClientId, FileKey, Stateid};

    use super::*;

    #[test]
    fn recalls_of_one_address_leave_room_to_others() {
        let later = LaterRecalls::default();
        let file = FileKey { export: 1, node: vfs::Handle::from_u64(1) };
        let recall =
            Recall { client: ClientId(1), stateid: Stateid { seqid: 1, other: [0; 12] }, file, handle: Box::default() };
        let add = |host, count| {
            let origin = Origin::of([192, 0, 2, host].into());
            (0..count).for_each(|_| later.add(Again { at: AGAIN, origin, recall: recall.clone() }));
        };
        add(66, MAX_LATER);
        add(2, 100);
        assert_eq!(later.take_due(Duration::ZERO).len(), 0);
        assert_eq!(later.take_due(AGAIN).len(), MAX_LATER / 2 + 100);
        add(66, 1);
        assert_eq!(later.take_due(AGAIN).len(), 1);
    }
}
