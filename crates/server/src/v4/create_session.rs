//! CREATE_SESSION (RFC 8881 §18.36).

use proto::nfs4::{
    CREATE_SESSION_CONN_BACK_CHAN, CREATE_SESSION_CONN_RDMA, CREATE_SESSION_PERSIST, CreateSessionArgs,
    CreateSessionOk, SessionId, Status,
};
use state::{CallbackSecurity, StateError};

use super::compound::Compound;
use super::failure::{Failure, OpResult};
use super::session;

/// The flags that RFC 8881 §18.36.3 defines.
const KNOWN_FLAGS: u32 = CREATE_SESSION_PERSIST | CREATE_SESSION_CONN_BACK_CHAN | CREATE_SESSION_CONN_RDMA;

pub(super) fn create_session(compound: &mut Compound<'_>, args: &CreateSessionArgs<'_>) -> OpResult<CreateSessionOk> {
    if args.flags & !KNOWN_FLAGS != 0 {
        return Err(Status::Inval.into());
    }
    let security = session::security(&args.callback_security);
    let can_call = security.iter().any(|security| *security != CallbackSecurity::Gss);
    let has_back_channel = args.flags & CREATE_SESSION_CONN_BACK_CHAN != 0 && can_call;
    let created = compound.cx.server.state.create_session(
        compound.cx.request.now,
        &state::CreateSessionArgs {
            client: state::ClientId(args.client.0),
            sequence: args.sequence,
            fore: session::wanted(&args.fore),
            back: session::wanted(&args.back),
            back_channel: has_back_channel,
            minor_version: compound.progress.minor as u32,
            program: args.callback_program,
            security,
            connection: compound.cx.request.peer.connection,
            principal: compound.principal(),
        },
    );
    let created = created.map_err(|error| match error {
        // NFSv4.1 has no NFS4ERR_RESOURCE (RFC 8881 §18.36.4).
        StateError::Resource => Status::NoSpc.into(),
        error => Failure::from(error),
    })?;
    Ok(CreateSessionOk {
        session: SessionId(created.session.0),
        sequence: created.sequence,
        flags: if has_back_channel { CREATE_SESSION_CONN_BACK_CHAN } else { 0 },
        fore: session::agreed(&created.fore),
        back: session::agreed(&created.back),
    })
}
