//! EXCHANGE_ID (RFC 8881 §18.35).

use buffer::Output;
use proto::nfs4::{
    ClientId, EXCHGID_CONFIRMED_R, EXCHGID_MASK_A, EXCHGID_SUPP_FENCE_OPS, EXCHGID_UPD_CONFIRMED_REC_A,
    EXCHGID_USE_NON_PNFS, ExchangeIdArgs, ExchangeIdOk, MinorVersion, ServerOwner, StateProtect, StateProtected,
    Status,
};
use xdr::{Encode, Encoder};

use super::compound::Compound;
use super::failure::OpResult;

pub(super) fn run(compound: &mut Compound<'_>, args: &ExchangeIdArgs<'_>, output: &mut Output) -> OpResult<()> {
    if args.flags & !known_flags(compound.progress.minor) != 0 {
        return Err(Status::Inval.into());
    }
    let state_protect = protection(&args.state_protect)?;
    let server = compound.cx.server;
    let exchanged = server.state.exchange_id(
        compound.cx.request.now,
        &state::ExchangeIdArgs {
            owner: args.owner_id,
            verifier: args.verifier,
            update: args.flags & EXCHGID_UPD_CONFIRMED_REC_A != 0,
            principal: compound.principal(),
            origin: compound.admitted()?,
        },
    )?;
    let confirmed = if exchanged.confirmed { EXCHGID_CONFIRMED_R } else { 0 };
    // All addresses have one server owner, so that a client may use them together (trunking, RFC 8881 §2.10.5).
    let owner = server.settings.server_owner();
    let ok = ExchangeIdOk {
        client: ClientId(exchanged.client.0),
        sequence: exchanged.sequence,
        flags: EXCHGID_USE_NON_PNFS | confirmed,
        state_protect,
        server_owner: ServerOwner { minor_id: 0, major_id: &owner },
        server_scope: &owner,
        implementation: None,
    };
    ok.encode(&mut Encoder::new(&mut output.bytes));
    Ok(())
}

/// The flags that a client may set (RFC 8881 §18.35.3); NFSv4.2 adds one (RFC 7862 §14.1).
fn known_flags(minor: MinorVersion) -> u32 {
    if minor >= MinorVersion::V2 { EXCHGID_MASK_A } else { EXCHGID_MASK_A & !EXCHGID_SUPP_FENCE_OPS }
}

/// SSV requires a mechanism that is not supported (RFC 8881 §2.10.8.3).
fn protection(wanted: &StateProtect<'_>) -> OpResult<StateProtected> {
    match wanted {
        StateProtect::None => Ok(StateProtected::None),
        // AUTH_SYS has no machine credential to protect state with.
        StateProtect::MachCred(_) => Err(Status::Inval.into()),
        StateProtect::Ssv(_) => Err(Status::EncrAlgUnsupp.into()),
    }
}
