use std::sync::Arc;

use client_calls::now;
use client_calls::v4::{Caller, NEEDED_OPERATIONS, Request, Wire, destroy_session};
use proto::nfs4::{
    ArgOp, CALLBACK_PROGRAM, CREATE_SESSION_CONN_BACK_CHAN, CallbackSec, ChannelAttrs, CreateSession,
    CreateSessionArgs, MAX_DATA_BYTES,
};

use super::back_slots::BACK_CHANNEL;
use super::exchange_id::Known;
use super::session::{Channel, DATA_OVERHEAD_BYTES, DATA_UNIT_BYTES, FAREWELL, Session};
use super::slots::MAX_SLOTS;
use crate::{Lie, Reason, Result, SessionLimit};

/// The bytes of a request or a reply besides the largest data: names, attributes and headers.
pub(super) const OVERHEAD_BYTES: u32 = 64 * 1024;
/// The largest reply that the server is to cache, in bytes: an OPEN with attributes and the names of owners.
const MAX_KEPT_BYTES: u32 = 8 * 1024;
/// The most operations of one request: what a walk of several components takes.
const MAX_OPERATIONS: u32 = 32;
/// The smallest request and reply that are of use, in bytes: the least READ or WRITE. A handle, a long name and
/// attributes also fit.
const NEEDED_BYTES: u32 = DATA_OVERHEAD_BYTES + DATA_UNIT_BYTES;

/// Creates a session (RFC 8881 §18.36) for up to `slots` concurrent requests. Its connection also carries callbacks.
pub(super) async fn create_session(wire: &Wire<'_>, known: &Known, slots: u32) -> Result<Session> {
    let arguments = CreateSessionArgs {
        client: known.client,
        sequence: known.sequence,
        flags: CREATE_SESSION_CONN_BACK_CHAN,
        fore: ChannelAttrs {
            header_pad_size: 0,
            max_request_size: MAX_DATA_BYTES as u32 + OVERHEAD_BYTES,
            max_response_size: MAX_DATA_BYTES as u32 + OVERHEAD_BYTES,
            max_response_size_cached: MAX_KEPT_BYTES,
            max_operations: MAX_OPERATIONS,
            max_requests: slots.clamp(1, MAX_SLOTS),
            rdma_ird: None,
        },
        back: BACK_CHANNEL,
        callback_program: CALLBACK_PROGRAM,
        callback_security: vec![CallbackSec::None],
    };
    let asked = now();
    let operations = [ArgOp::CreateSession(arguments)];
    let reply = wire.call(&Request::changing("CREATE_SESSION", &operations)).await?;
    let ok = reply.results().ok::<CreateSession, _>()?;
    if let Some(reason) = uselessness(&ok.fore) {
        // Nobody else knows of the session.
        let _ = tokio::time::timeout(FAREWELL, destroy_session(wire, ok.session)).await;
        return Err(reply.error(reason));
    }
    let has_back_channel = ok.flags & CREATE_SESSION_CONN_BACK_CHAN != 0;
    let channel = Channel::new(ok.session, ok.fore, has_back_channel, Arc::clone(&known.server));
    Ok(Session::new(known.client, Some(channel), asked))
}

/// Why the session cannot be used, if it cannot.
fn uselessness(fore: &ChannelAttrs) -> Option<Reason> {
    if fore.max_requests == 0 {
        return Some(Reason::Lie(Lie::UselessSession("it has no slots")));
    }
    let limits = [
        (SessionLimit::Operations, fore.max_operations, NEEDED_OPERATIONS),
        (SessionLimit::RequestBytes, fore.max_request_size, NEEDED_BYTES),
        (SessionLimit::ReplyBytes, fore.max_response_size, NEEDED_BYTES),
    ];
    let (limit, offered, needed) = limits.into_iter().find(|(_, offered, needed)| offered < needed)?;
    Some(Reason::SessionTooSmall { limit, offered, needed })
}
