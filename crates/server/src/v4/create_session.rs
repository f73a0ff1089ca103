//! CREATE_SESSION (RFC 8881 §18.36).

use proto::nfs4::{CreateSessionArgs, CreateSessionOk, SessionId};

use super::compound::Compound;
use super::failure::Outcome;
use super::session;

pub(super) fn create_session(compound: &mut Compound<'_>, args: &CreateSessionArgs<'_>) -> Outcome<CreateSessionOk> {
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
