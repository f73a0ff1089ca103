//! CB_RECALL (RFC 7530 §18.2, RFC 8881 §20.2): a client is to return a delegation.

use std::mem;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use proto::nfs4::{CallbackArgOp, CallbackResOp, CbRecallArgs, FileHandle, Res, Status};
use state::Recall;

use super::CallbackFailure;
use crate::server::Server;
use crate::v4::state_error::outer;

/// After how long a recall that came to nothing is sent again.
const AGAIN: Duration = Duration::from_secs(1);

/// How many recalls may wait to be sent again. Those beyond are not sent again: their delegations are revoked in the end.
const MAX_LATER: usize = 4096;

/// Recalls that are to be sent again, with the time.
#[derive(Debug, Default)]
pub(super) struct LaterRecalls(Mutex<Vec<(Duration, Recall)>>);

impl LaterRecalls {
    fn add(&self, at: Duration, recall: Recall) {
        let mut later = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if later.len() < MAX_LATER {
            later.push((at, recall));
        }
    }

    fn take_due(&self, now: Duration) -> Vec<Recall> {
        let mut later = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (due, rest) = mem::take(&mut *later).into_iter().partition(|(at, _)| *at <= now);
        *later = rest;
        let due: Vec<(Duration, Recall)> = due;
        due.into_iter().map(|(_, recall)| recall).collect()
    }
}

impl Server {
    /// Asks a client for a delegation.
    pub(crate) fn recall(&self, recall: Recall, now: Duration) {
        let Some(file) = FileHandle::new(&recall.handle) else { return };
        let stateid = outer(&recall.stateid);
        let operation = CallbackArgOp::CbRecall(CbRecallArgs { stateid, truncate: false, file });
        let again = recall.clone();
        let heard = move |server: &Server, result: Result<CallbackResOp<'_>, CallbackFailure>, now: Duration| {
            server.recall_heard(again, &result, now);
        };
        match self.call_back(recall.client, operation, now, Box::new(heard)) {
            Ok(()) => {}
            // The state manager asks again when there is a path.
            Err(CallbackFailure::NoPath | CallbackFailure::NoClient) => {
                tracing::debug!(client = ?recall.client, "a delegation cannot be recalled for lack of a path");
            }
            Err(_) => self.callbacks.recalls.add(now + AGAIN, recall),
        }
    }

    /// A client that does not find the delegation may not have read the reply that gave it yet (RFC 8881 §2.10.6.3): it is
    /// asked again, like one that is busy, until it returns the delegation or that is revoked.
    fn recall_heard(&self, recall: Recall, result: &Result<CallbackResOp<'_>, CallbackFailure>, now: Duration) {
        tracing::debug!(client = ?recall.client, ?result, "a delegation was recalled");
        match result {
            Ok(CallbackResOp::CbRecall(Res::Ok(()))) => {}
            Ok(CallbackResOp::CbRecall(Res::Fail(Status::BadHandle | Status::BadStateid | Status::Delay))) | Err(_) => {
                if self.state.is_recalled(&recall.stateid) {
                    self.callbacks.recalls.add(now + AGAIN, recall);
                }
            }
            Ok(other) => tracing::warn!(client = ?recall.client, ?other, "a client does not return a delegation"),
        }
    }

    /// Sends what is due to be sent again.
    pub(crate) fn retry_callbacks(&self, now: Duration) {
        for recall in self.callbacks.recalls.take_due(now) {
            if self.state.is_recalled(&recall.stateid) {
                self.recall(recall, now);
            }
        }
        self.callbacks.attributes.forget_old(now);
    }
}
