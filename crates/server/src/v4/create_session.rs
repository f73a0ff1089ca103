//! CREATE_SESSION (RFC 8881 §18.36).

use proto::nfs4::{
    CREATE_SESSION_CONN_BACK_CHAN, CREATE_SESSION_CONN_RDMA, CREATE_SESSION_PERSIST, CreateSessionArgs,
    CreateSessionOk, SessionId, Status,
};

use super::compound::Compound;
use super::failure::Outcome;
use super::session;

/// What RFC 8881 §18.36.3 defines.
const KNOWN_FLAGS: u32 = CREATE_SESSION_PERSIST | CREATE_SESSION_CONN_BACK_CHAN | CREATE_SESSION_CONN_RDMA;

pub(super) fn create_session(compound: &mut Compound<'_>, args: &CreateSessionArgs<'_>) -> Outcome<CreateSessionOk> {
    if args.flags & !KNOWN_FLAGS != 0 {
        return Err(Status::Inval.into());
    }
    let created = compound.cx.server.state.create_session(
        compound.cx.request.now,
        &state::CreateSessionArgs {
            client: state::ClientId(args.client.0),
            sequence: args.sequence,
            fore: session::wanted(&args.fore),
            back: session::wanted(&args.back),
            // Nothing is called back yet: no delegations are granted.
            back_channel: false,
            program: args.callback_program,
            security: session::security(&args.callback_security),
            connection: compound.cx.request.peer.connection,
            principal: compound.principal(),
        },
    )?;
    Ok(CreateSessionOk {
        session: SessionId(created.session.0),
        sequence: created.sequence,
        flags: 0,
        fore: session::agreed(&created.fore),
        back: session::agreed(&created.back),
    })
}
