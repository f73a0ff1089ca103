//! The end of a copy: the server tells the client by CB_OFFLOAD until it answers (RFC 7862 §16.1).

use std::sync::Arc;
use std::time::Duration;

use proto::nfs4::{CbOffloadArgs, OffloadOutcome, StableHow, Status, WriteResponse};

use super::CopyJob;
use crate::server::Server;
use crate::v4::callback::OffloadDelivery;

impl Server {
    /// Removes copies and notices that are no longer needed, and repeats CB_OFFLOAD for copies that have ended.
    pub(crate) fn sweep_copies(&self, now: Duration) {
        self.copy_notices.sweep(now, |client| self.state.has_client(client));
        for job in self.copies.sweep(now, |client| self.state.has_client(client)) {
            self.tell_end(job, now);
        }
    }

    /// Tells the client the result of a copy, unless a call is in progress. The copy is removed once the client answers
    /// (RFC 7862 §4.8).
    pub(super) fn tell_end(&self, job: Arc<CopyJob>, now: Duration) {
        let Some(args) = ending(&job) else { return };
        if job.set_notifying(true) {
            return;
        }
        let (client, again) = (job.what.asker.client, job.clone());
        let on_reply = move |server: &Server, delivery| match delivery {
            OffloadDelivery::Delivered => server.copies.remove(&job),
            OffloadDelivery::Retry => {
                job.set_notifying(false);
            }
        };
        if let Err(error) = self.send_offload(client, args, now, on_reply) {
            tracing::debug!(?client, %error, "a client cannot be told of the end of a copy");
            again.set_notifying(false);
        }
    }
}

/// The arguments of CB_OFFLOAD, if the copy has ended.
fn ending(job: &CopyJob) -> Option<CbOffloadArgs> {
    let outcome = match job.outcome()? {
        Status::Ok => OffloadOutcome::Ok(WriteResponse {
            callback_id: None,
            count: job.copied_bytes(),
            committed: StableHow::Unstable,
            verifier: job.what.verifier,
        }),
        status => OffloadOutcome::Failed { status, bytes_copied: job.copied_bytes() },
    };
    Some(CbOffloadArgs { file: job.what.handle, stateid: job.stateid, outcome })
}
