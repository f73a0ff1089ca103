use std::sync::Arc;
use std::time::Instant;

use proto::nfs4::{
    ArgOp, CALLBACK_PROGRAM, CREATE_SESSION_CONN_BACK_CHAN, CallbackSec, ChannelAttrs, CreateSession,
    CreateSessionArgs, MAX_DATA_BYTES,
};

use super::callback::BACK_CHANNEL;
use super::exchange_id::Known;
use super::request::Request;
use super::session::{Channel, Session};
use super::slots::MAX_SLOTS;
use super::wire::Wire;
use crate::{Lie, Reason, Result};

/// What a request or a reply takes besides the largest data, in bytes: names, attributes and headers.
pub(super) const OVERHEAD_BYTES: u32 = 64 * 1024;
/// The largest reply that is asked to be kept, in bytes: an OPEN with attributes, whose owners have names.
const MAX_KEPT_BYTES: u32 = 8 * 1024;
/// The most operations of one request: what a walk of several components takes.
const MAX_OPERATIONS: u32 = 32;
/// The least request and reply that a session is of use with, in bytes: a handle, a long name and attributes.
const MIN_USEFUL_BYTES: u32 = 4 * 1024;

/// Makes a session (RFC 8881 §18.36) with up to `slots` requests at once, whose connection carries callbacks too.
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
    let asked = Instant::now();
    let operations = [ArgOp::CreateSession(arguments)];
    let reply = wire.call(&Request::changing("CREATE_SESSION", &operations)).await?;
    let ok = reply.results().ok::<CreateSession, _>()?;
    let useless = |what| reply.error(Reason::Lie(Lie::UselessSession(what)));
    if ok.fore.max_requests == 0 {
        return Err(useless("it has no slots"));
    }
    if ok.fore.max_request_size.min(ok.fore.max_response_size) < MIN_USEFUL_BYTES {
        return Err(useless("its requests or replies are too small"));
    }
    let has_back_channel = ok.flags & CREATE_SESSION_CONN_BACK_CHAN != 0;
    let channel = Channel::new(ok.session, ok.fore, has_back_channel, Arc::clone(&known.server));
    Ok(Session::new(known.client, Some(channel), asked))
}
