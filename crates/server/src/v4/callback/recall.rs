//! CB_RECALL (RFC 7530 §18.2, RFC 8881 §20.2): asks a client to return a delegation.

use std::time::Duration;

use proto::nfs4::{CallbackArgOp, CallbackResOp, CbRecallArgs, FileHandle, Res, Status};
use state::Recall;

use super::CallbackFailure;
use super::pending::Again;
use crate::server::Server;
use crate::v4::state_error::outer;

/// The interval of repeated recalls.
const AGAIN: Duration = Duration::from_secs(1);

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
