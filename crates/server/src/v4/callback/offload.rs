//! CB_OFFLOAD (RFC 7862 §16.1): tells a client that an asynchronous copy has ended.

use std::time::Duration;

use proto::nfs4::{CallbackArgOp, CallbackResOp, CbOffloadArgs, Res, Status};
use state::ClientId;

use super::CallbackFailure;
use crate::server::Server;

/// Whether a CB_OFFLOAD reached the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::v4) enum OffloadDelivery {
    /// The client answered, with success or an error.
    Delivered,
    /// The call must be repeated.
    Retry,
}

impl Server {
    /// Tells a client the result of a copy; `then` learns whether the call reached it.
    pub(in crate::v4) fn send_offload(
        &self,
        client: ClientId,
        args: CbOffloadArgs,
        now: Duration,
        then: impl FnOnce(&Server, OffloadDelivery) + Send + 'static,
    ) -> Result<(), CallbackFailure> {
        let on_reply = move |server: &Server, result: Result<CallbackResOp<'_>, CallbackFailure>, _: Duration| {
            tracing::debug!(?client, ?result, "a client was told of the end of a copy");
            then(server, delivery(&result));
        };
        self.call_back(client, CallbackArgOp::CbOffload(args), now, Box::new(on_reply))
    }
}

fn delivery(result: &Result<CallbackResOp<'_>, CallbackFailure>) -> OffloadDelivery {
    match result {
        Ok(CallbackResOp::CbOffload(Res::Fail(Status::Delay))) | Err(_) => OffloadDelivery::Retry,
        Ok(_) => OffloadDelivery::Delivered,
    }
}
