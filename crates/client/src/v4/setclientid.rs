use proto::nfs4::{
    ArgOp, CALLBACK_PROGRAM, CallbackClient, NetAddr, ResOr, Setclientid, SetclientidArgs, SetclientidConfirm,
    SetclientidConfirmArgs, Status,
};

use super::identity::Identity;
use super::request::Request;
use super::session::Session;
use super::wire::Wire;
use crate::Result;

/// Where nobody listens: a server that cannot call back grants no delegations, and none are wanted over a connection of
/// the server's own.
const NOWHERE: NetAddr<'static> = NetAddr { netid: b"tcp", address: b"0.0.0.0.0.0" };

/// Makes the client known to a server of 4.0 (RFC 7530 §16.33), and confirms that (§16.34).
pub(super) async fn setclientid(wire: &Wire<'_>, identity: &Identity) -> Result<Session> {
    let arguments = SetclientidArgs {
        verifier: identity.verifier,
        id: &identity.name,
        callback: CallbackClient { program: CALLBACK_PROGRAM, location: NOWHERE },
        callback_ident: 0,
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
    Ok(Session::new(ok.client, None))
}
