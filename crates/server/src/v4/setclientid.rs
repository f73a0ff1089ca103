//! SETCLIENTID and SETCLIENTID_CONFIRM (RFC 7530 §16.33, §16.34).

use buffer::Buffer;
use proto::nfs4::{ClientId, NetAddr, SetclientidArgs, SetclientidConfirmArgs, SetclientidOk, Status};
use state::{SetClientIdArgs, StateError};
use xdr::{Encode, Encoder};

use super::callback::callback40;
use super::compound::Compound;
use super::failure::{Failure, OpResult};

pub(super) fn setclientid(compound: &mut Compound<'_>, args: &SetclientidArgs<'_>) -> OpResult<SetclientidOk> {
    let wanted = SetClientIdArgs {
        name: args.id,
        verifier: args.verifier,
        callback: callback40(args, compound.cx.client().ip()),
        principal: compound.principal(),
        origin: compound.admitted()?,
    };
    match compound.cx.server.state.setclientid(compound.cx.request.now, &wanted) {
        Ok((client, confirm)) => Ok(SetclientidOk { client: ClientId(client.0), confirm }),
        Err(StateError::ClidInUse) => Err(in_use()),
        Err(error) => Err(error.into()),
    }
}

pub(super) fn confirm(compound: &mut Compound<'_>, args: &SetclientidConfirmArgs) -> OpResult<()> {
    let (state, now) = (&compound.cx.server.state, compound.cx.request.now);
    let client = state::ClientId(args.client.0);
    if state.setclientid_confirm(now, client, args.confirm, &compound.principal())? {
        compound.cx.server.try_callback_path(client, now);
    }
    Ok(())
}

/// The other client's address stays empty, since it is confidential.
fn in_use() -> Failure {
    let mut body = Buffer::new();
    NetAddr { netid: b"", address: b"" }.encode(&mut Encoder::new(&mut body));
    Failure::Explained(Status::ClidInUse, body.as_slice().to_vec())
}
