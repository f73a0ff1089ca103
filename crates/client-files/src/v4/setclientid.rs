use client_calls::now;
use client_calls::v4::{Caller, Request, Wire};
use proto::nfs4::{
    ArgOp, CALLBACK_PROGRAM, CallbackClient, NetAddr, ResOr, Setclientid, SetclientidArgs, SetclientidConfirm,
    SetclientidConfirmArgs, Status,
};
use proto::rpcbind::UniversalAddress;

use super::identity::Identity;
use super::session::Session;
use crate::Result;

/// The address of no listener: a server that cannot call back grants no delegations.
const NOWHERE: NetAddr<'static> = NetAddr { netid: b"tcp", address: b"0.0.0.0.0.0" };

/// Makes the client known to a 4.0 server (RFC 7530 §16.33), and confirms it (§16.34).
pub(super) async fn setclientid(wire: &Wire<'_>, identity: &Identity) -> Result<Session> {
    // The lease begins at the confirmation or later.
    let asked = now();
    let called_at = identity.called_at.map(|place| (place, UniversalAddress(place.address).to_string()));
    let location = called_at.as_ref().map_or(NOWHERE, |(place, text)| NetAddr {
        netid: if place.address.is_ipv4() { b"tcp" } else { b"tcp6" },
        address: text.as_bytes(),
    });
    let arguments = SetclientidArgs {
        verifier: identity.verifier,
        id: &identity.name,
        callback: CallbackClient { program: CALLBACK_PROGRAM, location },
        callback_ident: identity.called_at.map_or(0, |place| place.ident),
    };
    let operations = [ArgOp::Setclientid(arguments)];
    let reply = wire.call(&Request::changing("SETCLIENTID", &operations)).await?;
    let ok = match reply.results().next::<Setclientid>()? {
        ResOr::Ok(ok) => ok,
        ResOr::Explained(_) => return Err(reply.refusal(Status::ClidInUse)),
        ResOr::Fail(status) => return Err(reply.refusal(status)),
    };
    let confirmed = SetclientidConfirmArgs { client: ok.client, confirm: ok.confirm };
    let operations = [ArgOp::SetclientidConfirm(confirmed)];
    let reply = wire.call(&Request::changing("SETCLIENTID_CONFIRM", &operations)).await?;
    reply.results().ok::<SetclientidConfirm, _>()?;
    Ok(Session::new(ok.client, None, asked))
}
