//! What the operations about clients and sessions share.

use proto::nfs4::{CallbackSec, ChannelAttrs, Status};
use state::{CallbackSecurity, ChannelAttributes, ClientId, Door, Origin, Principal, Requester, SessionId};
use xdr::{Encode, Encoder};

use super::compound::Compound;
use super::failure::Outcome;

impl Compound<'_> {
    /// The client whose session this request belongs to.
    pub(super) fn client(&self) -> Outcome<ClientId> {
        Ok(self.progress.turn.as_ref().map(|turn| turn.session().client()).ok_or(Status::OpNotInSession)?)
    }

    /// The session that this request belongs to.
    pub(super) fn session(&self) -> Outcome<SessionId> {
        Ok(self.progress.turn.as_ref().map(|turn| turn.session().id()).ok_or(Status::OpNotInSession)?)
    }

    /// How the state manager learns whose stateids these are.
    pub(super) fn door(&self) -> Outcome<Door> {
        if self.progress.minor.has_sessions() { Ok(Door::V41(self.client()?)) } else { Ok(Door::V40) }
    }

    /// Whose delegations do not stand in the way of this request. Requests of NFSv4.0 do not say who sends them.
    pub(super) fn requester(&self) -> Requester {
        self.client().map_or(Requester::Other, Requester::Client)
    }

    /// Where the request comes from, for an operation that makes a client known. Whoever no export admits has no use for it: such an
    /// address gets nothing kept here.
    pub(super) fn admitted(&self) -> Outcome<Origin> {
        let client = self.cx.client();
        let is_admitted = self.cx.exports.iter().any(|export| export.options_for(client).is_some());
        if is_admitted { Ok(Origin::of(client.ip())) } else { Err(Status::Perm.into()) }
    }

    /// Who sent the request.
    pub(super) fn principal(&self) -> Principal {
        self.cx.identity.principal()
    }
}

/// The attributes of a channel as a client asks for them.
pub(super) fn wanted(attributes: &ChannelAttrs) -> ChannelAttributes {
    ChannelAttributes {
        max_request_bytes: attributes.max_request_size,
        max_response_bytes: attributes.max_response_size,
        max_response_cached_bytes: attributes.max_response_size_cached,
        max_operations: attributes.max_operations,
        max_requests: attributes.max_requests,
    }
}

/// The attributes of a channel as they were agreed on.
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

/// How the server may identify itself in callbacks.
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
