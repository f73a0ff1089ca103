//! SETCLIENTID and SETCLIENTID_CONFIRM (RFC 7530 §16.33, §16.34).

use buffer::Buffer;
use proto::nfs4::{ClientId, NetAddr, SetclientidArgs, SetclientidConfirmArgs, SetclientidOk, Status};
use state::{Callback40, SetClientIdArgs, StateError};
use xdr::{Encode, Encoder};

use super::compound::Compound;
use super::failure::{Failure, Outcome};

pub(super) fn setclientid(compound: &mut Compound<'_>, args: &SetclientidArgs<'_>) -> Outcome<SetclientidOk> {
    let wanted = SetClientIdArgs {
        name: args.id,
        verifier: args.verifier,
        callback: callback(args),
        principal: compound.principal(),
    };
    match compound.cx.server.state.setclientid(compound.cx.request.now, &wanted) {
        Ok((client, confirm)) => Ok(SetclientidOk { client: ClientId(client.0), confirm }),
        Err(StateError::ClidInUse) => Err(in_use()),
        Err(error) => Err(error.into()),
    }
}

pub(super) fn confirm(compound: &mut Compound<'_>, args: &SetclientidConfirmArgs) -> Outcome<()> {
    let (state, now) = (&compound.cx.server.state, compound.cx.request.now);
    Ok(state.setclientid_confirm(now, state::ClientId(args.client.0), args.confirm, &compound.principal())?)
}

/// How the client wants to be called back; an address that is no text cannot be called.
fn callback(args: &SetclientidArgs<'_>) -> Option<Callback40> {
    let NetAddr { netid, address } = args.callback.location;
    Some(Callback40 {
        program: args.callback.program,
        ident: args.callback_ident,
        netid: std::str::from_utf8(netid).ok()?.into(),
        address: std::str::from_utf8(address).ok()?.into(),
    })
}

/// The other client's address is nobody else's business: it stays empty.
fn in_use() -> Failure {
    let mut body = Buffer::new();
    NetAddr { netid: b"", address: b"" }.encode(&mut Encoder::new(&mut body));
    Failure::Explained(Status::ClidInUse, body.as_slice().to_vec())
}
