//! Callbacks to clients (RFC 7530 §17, RFC 8881 §19, RFC 7862 §16), one operation each.
//!
//! A callback to NFSv4.1 and later uses the back channel of a session and starts with CB_SEQUENCE. One to NFSv4.0 goes
//! to the address in SETCLIENTID.

mod getattr;
mod notify_lock;
mod offload;
mod path40;
mod pending;
mod recall;

use std::net::SocketAddr;
use std::time::Duration;

use buffer::Buffer;
use proto::nfs4::{
    CALLBACK_VERSION, CallbackArgOp, CallbackResOp, CbCompoundArgs, CbCompoundReply, CbSequenceArgs, Res, SessionId,
    SlotId, Status,
};
use proto::rpcbind::UniversalAddress;
use rpc::Procedure;
use state::{Callback40, CallbackOutcome, CallbackRoute, CallbackSecurity, ClientId, Origin, StateError};
use xdr::{Decode, Decoder, Encode, Encoder};

pub(super) use offload::OffloadDelivery;
pub(super) use path40::callback40;
pub(crate) use pending::Callbacks;

use crate::callout::{Callout, CalloutError, CalloutResult, Destination, OwnCredential, Timeouts};
use crate::server::Server;

/// The longest timeout of a callback. It is less with short leases, so that a client learns within its lease that its
/// callback path is down.
const MAX_TIMEOUT: Duration = Duration::from_secs(10);
const MIN_TIMEOUT: Duration = Duration::from_secs(1);

/// The server's machine name in callbacks to NFSv4.0.
const MACHINE_NAME: &str = "wharf";

const CB_NULL: u32 = 0;
const CB_COMPOUND: u32 = 1;

/// The reason why a callback failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CallbackFailure {
    /// The client does not exist any more.
    #[error("the client is gone")]
    NoClient,
    /// The client has no callback path.
    #[error("there is no callback path")]
    NoPath,
    /// Too many callbacks are in progress; a later attempt may succeed.
    #[error("too many callbacks are in progress")]
    Busy,
    /// The call was sent, and no valid answer arrived.
    #[error("there was no sensible answer")]
    Lost,
    /// The client refused it, with the status of CB_SEQUENCE or of the COMPOUND.
    #[error("the client refused it with {0:?}")]
    Refused(Status),
}

/// Handles the result of a callback's operation. It must not block.
pub(crate) type OnCallbackReply = Box<dyn FnOnce(&Server, Result<CallbackResOp<'_>, CallbackFailure>, Duration) + Send>;

/// The destination and header of a callback.
struct Route {
    destination: Destination,
    /// The client's address.
    origin: Origin,
    program: u32,
    credential: OwnCredential,
    minor_version: u32,
    callback_ident: u32,
    slot: Option<BackSlot>,
    /// The longest wait for the reply.
    timeout: Duration,
}

/// The session slot that a callback uses.
#[derive(Debug, Clone, Copy)]
struct BackSlot {
    session: state::SessionId,
    slot: u32,
    sequence: u32,
    highest_slot: u32,
}

impl Server {
    /// Sends one operation to a client; `on_reply` runs with its result unless this returns an error.
    pub(crate) fn call_back(
        &self,
        client: ClientId,
        operation: CallbackArgOp<'_>,
        now: Duration,
        on_reply: OnCallbackReply,
    ) -> Result<(), CallbackFailure> {
        let route = self.route(client)?;
        let slot = route.slot;
        let callout = route.callout(operation);
        let then = move |server: &Server, result: CalloutResult<'_>, now: Duration| {
            let outcome = conclude(server, client, slot, result);
            match outcome {
                Ok(bytes) => on_reply(server, last_result(&bytes, slot.is_some()), now),
                Err(failure) => on_reply(server, Err(failure), now),
            }
        };
        self.call_out(callout, now, Box::new(then)).map_err(|_| {
            self.slot_done(slot, CallbackOutcome::NotSent);
            CallbackFailure::Busy
        })
    }

    fn route(&self, client: ClientId) -> Result<Route, CallbackFailure> {
        let origin = self.state.origin(client).ok_or(CallbackFailure::NoClient)?;
        let route = self.state.callback_route(client).map_err(|error| match error {
            StateError::CbPathDown => CallbackFailure::NoPath,
            StateError::Delay => CallbackFailure::Busy,
            _ => CallbackFailure::NoClient,
        })?;
        match route {
            CallbackRoute::V40(callback) => {
                Route::to_address(&callback, origin, self.callback_timeout()).ok_or(CallbackFailure::NoPath)
            }
            CallbackRoute::V41 {
                session,
                connection,
                minor_version,
                program,
                security,
                slot,
                sequence,
                highest_slot,
            } => Ok(Route {
                destination: Destination::Connection(connection),
                origin,
                program,
                credential: credential(security),
                minor_version,
                callback_ident: 0,
                slot: Some(BackSlot { session, slot, sequence, highest_slot }),
                timeout: self.callback_timeout(),
            }),
        }
    }

    fn callback_timeout(&self) -> Duration {
        (self.settings.lease / 3).clamp(MIN_TIMEOUT, MAX_TIMEOUT)
    }

    fn slot_done(&self, slot: Option<BackSlot>, outcome: CallbackOutcome) {
        if let Some(BackSlot { session, slot, .. }) = slot {
            self.state.callback_done(&session, slot, outcome);
        }
    }
}

impl Route {
    fn to_address(callback: &Callback40, origin: Origin, timeout: Duration) -> Option<Route> {
        Some(Route {
            destination: Destination::Tcp(address(callback)?),
            origin,
            program: callback.program,
            credential: OwnCredential::superuser(MACHINE_NAME),
            minor_version: 0,
            callback_ident: callback.ident,
            slot: None,
            timeout,
        })
    }

    fn callout(self, operation: CallbackArgOp<'_>) -> Callout {
        let mut operations: Vec<CallbackArgOp<'_>> = self.slot.iter().map(BackSlot::operation).collect();
        operations.push(operation);
        let Route { minor_version, callback_ident, .. } = self;
        let compound = CbCompoundArgs { tag: b"", minor_version, callback_ident, operations };
        let mut arguments = Buffer::new();
        compound.encode(&mut Encoder::new(&mut arguments));
        self.call(CB_COMPOUND, arguments.as_slice().to_vec())
    }

    fn call(self, number: u32, arguments: Vec<u8>) -> Callout {
        Callout {
            destination: self.destination,
            origin: self.origin,
            procedure: Procedure { program: self.program, version: CALLBACK_VERSION, number },
            credential: self.credential,
            arguments,
            timeouts: Timeouts { timeout: self.timeout, resend: None },
        }
    }
}

impl BackSlot {
    fn operation(&self) -> CallbackArgOp<'static> {
        CallbackArgOp::CbSequence(CbSequenceArgs {
            session: SessionId(self.session.0),
            sequence: self.sequence,
            slot: SlotId(self.slot),
            highest_slot: SlotId(self.highest_slot),
            cache_this: false,
            referring_calls: Vec::new(),
        })
    }
}

fn credential(security: CallbackSecurity) -> OwnCredential {
    match security {
        CallbackSecurity::Sys(parameters) => OwnCredential::Sys(parameters),
        CallbackSecurity::None | CallbackSecurity::Gss => OwnCredential::None,
    }
}

/// The callback address of an NFSv4.0 client. Only TCP is supported (RFC 7530 §3.1).
fn address(callback: &Callback40) -> Option<SocketAddr> {
    let is_tcp = matches!(&*callback.netid, "tcp" | "tcp6");
    let parsed = UniversalAddress::parse(callback.address.as_bytes()).ok();
    parsed.filter(|_| is_tcp).map(|UniversalAddress(address)| address)
}

/// Frees the slot and records whether the path works. Returns the encoded results if CB_SEQUENCE succeeded.
fn conclude(
    server: &Server,
    client: ClientId,
    slot: Option<BackSlot>,
    result: CalloutResult<'_>,
) -> Result<Vec<u8>, CallbackFailure> {
    let accepted = match result {
        Ok(bytes) if slot.is_none() || sequence_status(bytes) == Some(Status::Ok) => Ok(bytes.to_vec()),
        Ok(bytes) => Err(sequence_status(bytes).map_or(CallbackFailure::Lost, CallbackFailure::Refused)),
        Err(CalloutError::Rejected(_) | CalloutError::TimedOut | CalloutError::Unreachable | CalloutError::TooMany) => {
            Err(CallbackFailure::Lost)
        }
    };
    let outcome = match accepted {
        Ok(_) => CallbackOutcome::Answered,
        // A client that was too busy for a CB_SEQUENCE leaves its slot unchanged (RFC 8881 §20.9.3).
        Err(CallbackFailure::Refused(Status::Delay)) => CallbackOutcome::NotSent,
        Err(_) => CallbackOutcome::Failed,
    };
    server.slot_done(slot, outcome);
    if slot.is_none() {
        server.state.callback_path_40(client, accepted.is_ok());
    }
    accepted
}

/// The status of CB_SEQUENCE, the first result.
fn sequence_status(bytes: &[u8]) -> Option<Status> {
    let reply = CbCompoundReply::decode(&mut Decoder::new(bytes)).ok()?;
    match reply.results.first() {
        Some(CallbackResOp::CbSequence(Res::Ok(_))) => Some(Status::Ok),
        Some(CallbackResOp::CbSequence(Res::Fail(status))) => Some(*status),
        _ => None,
    }
}

/// The result of the operation, which follows that of CB_SEQUENCE if there is one.
fn last_result(bytes: &[u8], is_in_session: bool) -> Result<CallbackResOp<'_>, CallbackFailure> {
    let reply = CbCompoundReply::decode(&mut Decoder::new(bytes)).map_err(|_| CallbackFailure::Lost)?;
    let status = reply.status;
    let result = reply.results.into_iter().nth(usize::from(is_in_session));
    result.ok_or(if status == Status::Ok { CallbackFailure::Lost } else { CallbackFailure::Refused(status) })
}
