//! GRANTED and its messages (RFC 1813 appendix II): tells a client that it has the lock it waited for.
//!
//! The lock is held from the moment it is granted. The server calls the client until it confirms; a client that refuses
//! the lock or does not confirm it in time loses it.

use std::time::Duration;

use proto::nlm::{self, GrantedMsg, NetObj, Range, Res, Status, TestArgs, V1, V3, V4, Version};
use state::{NlmGranted, NlmLock};
use xdr::{Decode, Decoder};

use super::lock_request::owner_parts;
use super::waits::{Due, Wait, WaitId};
use crate::callout::CalloutResult;
use crate::node::CallContext;
use crate::remote::RemoteCallout;
use crate::server::Server;

/// Tells a client that it holds its lock.
pub(crate) fn grant(server: &Server, granted: &NlmGranted, now: Duration) {
    let id = WaitId::parse(&granted.cookie);
    if let Some((id, wait)) = id.and_then(|id| Some((id, server.waits.grant(id, now)?))) {
        call(server, id, wait, now);
    }
}

/// Calls clients again that have not confirmed their lock, and releases locks whose confirmation timed out.
pub(crate) fn retry(server: &Server, now: Duration) {
    for due in server.waits.due(now) {
        match due {
            Due::Call(id, wait) => call(server, id, wait, now),
            Due::GiveUp(wait) => {
                tracing::warn!(address = %wait.remote.address, "a client does not confirm a lock that it waited for; it is free again");
                give_back(server, &wait, now);
            }
        }
    }
}

/// GRANTED_RES: a client's answer to GRANTED_MSG.
pub(super) fn granted_res(cx: &CallContext<'_>, res: &Res<'_>) {
    let Some(id) = WaitId::parse(res.cookie.0) else { return };
    if cx.server.waits.is_of(id, cx.client().ip()) {
        settle(cx.server, id, res.status, cx.request.now);
    }
}

/// The reply to GRANTED and GRANTED_MSG: a server never waits for a lock.
pub(super) fn refuse<'a, O>(args: &TestArgs<'a, O>) -> Res<'a> {
    Res { cookie: args.cookie, status: Status::Denied }
}

fn call(server: &Server, id: WaitId, wait: Wait, now: Duration) {
    match wait.version {
        1 => call_version::<V1>(server, id, &wait, now),
        3 => call_version::<V3>(server, id, &wait, now),
        _ => call_version::<V4>(server, id, &wait, now),
    }
}

fn call_version<V: Version>(server: &Server, id: WaitId, wait: &Wait, now: Duration) {
    let cookie = id.to_bytes();
    let args = TestArgs { cookie: NetObj(&cookie), exclusive: wait.exclusive, lock: range::<V>(wait) };
    if wait.by_message {
        let call = RemoteCallout::new::<GrantedMsg<V>>(wait.remote, &args);
        // The answer arrives as a separate message.
        server.call_remote(call, now, Box::new(|_, _, _| ()));
    } else {
        let call = RemoteCallout::new::<nlm::Granted<V>>(wait.remote, &args);
        server.call_remote(call, now, Box::new(move |server, answer, now| answered(server, id, answer, now)));
    }
}

/// The lock as the client requested it.
fn range<V: Version>(wait: &Wait) -> Range<'_, V::Offset> {
    let (svid, owner) = owner_parts(&wait.owner);
    let (offset, length) = super::lock_request::offset_and_length::<V>(wait.range);
    Range { caller_name: wait.host.name(), file: NetObj(&wait.handle), owner: NetObj(owner), svid, offset, length }
}

fn answered(server: &Server, id: WaitId, answer: CalloutResult<'_>, now: Duration) {
    match answer.map(|results| Res::decode(&mut Decoder::new(results))) {
        Ok(Ok(res)) => settle(server, id, res.status, now),
        Ok(Err(error)) => tracing::debug!(%error, "a client's answer to GRANTED makes no sense"),
        Err(error) => tracing::debug!(%error, "a client was not told of its lock"),
    }
}

/// Handles the client's answer about its lock.
fn settle(server: &Server, id: WaitId, status: Status, now: Duration) {
    match status {
        Status::DeniedGracePeriod => server.waits.defer(id, now),
        Status::Granted => drop(server.waits.end(id)),
        _ => {
            if let Some(wait) = server.waits.end(id) {
                give_back(server, &wait, now);
            }
        }
    }
}

fn give_back(server: &Server, wait: &Wait, now: Duration) {
    let (host, origin, owner) = (wait.host.as_bytes(), wait.host.origin(), &*wait.owner);
    let lock = NlmLock { host, origin, owner, file: wait.file, range: wait.range, exclusive: wait.exclusive };
    server.state.nlm_give_back(now, &lock);
}
