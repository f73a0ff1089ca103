//! The common part of the operations on clients and sessions.

use proto::nfs4::{CallbackSec, ChannelAttrs, Status};
use state::{CallbackSecurity, ChannelAttributes, ClientId, Origin, Principal, Requester, SessionId, StateidScope};
use xdr::{Encode, Encoder};

use super::compound::Compound;
use super::failure::OpResult;
use crate::refusals::Refusal;

impl Compound<'_> {
    /// The client whose session this request belongs to.
    pub(super) fn client(&self) -> OpResult<ClientId> {
        Ok(self.progress.turn.as_ref().map(|turn| turn.session().client()).ok_or(Status::OpNotInSession)?)
    }

    /// The session that this request belongs to.
    pub(super) fn session(&self) -> OpResult<SessionId> {
        Ok(self.progress.turn.as_ref().map(|turn| turn.session().id()).ok_or(Status::OpNotInSession)?)
    }

    /// The protocol and client to check stateids for.
    pub(super) fn stateid_scope(&self) -> OpResult<StateidScope> {
        if self.progress.minor.has_sessions() { Ok(StateidScope::V41(self.client()?)) } else { Ok(StateidScope::V40) }
    }

    /// The client whose own delegations do not conflict with this request. Requests of NFSv4.0 do not identify it.
    pub(super) fn requester(&self) -> Requester {
        self.client().map_or(Requester::Other, Requester::Client)
    }

    /// The origin of a request that registers a client. It fails for an address without any export, so that no state is
    /// kept for it.
    pub(super) fn admitted(&self) -> OpResult<Origin> {
        let client = self.cx.client();
        let is_admitted = self.cx.exports.iter().any(|export| export.options_for(client).is_some());
        if !is_admitted {
            self.cx.note_refusal(&Refusal::Stranger);
            return Err(Status::Perm.into());
        }
        Ok(Origin::of(client.ip()))
    }

    /// The principal of the caller.
    pub(super) fn principal(&self) -> Principal {
        self.cx.identity.principal()
    }
}

/// The channel attributes that a client requests.
pub(super) fn wanted(attributes: &ChannelAttrs) -> ChannelAttributes {
    ChannelAttributes {
        max_request_bytes: attributes.max_request_size,
        max_response_bytes: attributes.max_response_size,
        max_response_cached_bytes: attributes.max_response_size_cached,
        max_operations: attributes.max_operations,
        max_requests: attributes.max_requests,
    }
}

/// The negotiated channel attributes.
pub(super) fn agreed(attributes: &ChannelAttributes) -> ChannelAttrs {
    ChannelAttrs {
        header_pad_size: 0,
        max_request_size: attributes.max_request_bytes,
        max_response_size: attributes.max_response_bytes,
        max_response_size_cached: attributes.max_response_cached_bytes,
        max_operations: attributes.max_operations,
        max_requests: attributes.max_requests,
        rdma_ird: None,
    }
}

/// The credentials that the server may use in callbacks.
pub(super) fn security(all: &[CallbackSec<'_>]) -> Vec<CallbackSecurity> {
    all.iter()
        .map(|one| match one {
            CallbackSec::None => CallbackSecurity::None,
            CallbackSec::Sys(parameters) => {
                let mut bytes = buffer::Buffer::new();
                parameters.encode(&mut Encoder::new(&mut bytes));
                CallbackSecurity::Sys(bytes.as_slice().into())
            }
            CallbackSec::Gss(_) => CallbackSecurity::Gss,
        })
        .collect()
}
