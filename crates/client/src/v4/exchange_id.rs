use proto::nfs4::{
    ArgOp, ClientId, EXCHGID_USE_NON_PNFS, ExchangeId, ExchangeIdArgs, ImplId, MinorVersion, StateProtect, Time,
};

use super::identity::Identity;
use super::request::Request;
use super::wire::Wire;
use crate::Result;

/// What a server knows the client by from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) client: ClientId,
    /// What the next CREATE_SESSION must say.
    pub(super) sequence: u32,
}

/// Makes the client known (RFC 8881 §18.35).
pub(super) async fn exchange_id(wire: &Wire<'_>, identity: &Identity) -> Result<Known> {
    let program = concat!("Wharf ", env!("CARGO_PKG_VERSION"));
    let implementation = ImplId { domain: b"", name: program.as_bytes(), date: Time { seconds: 0, nanoseconds: 0 } };
    let arguments = ExchangeIdArgs {
        verifier: identity.verifier,
        owner_id: &identity.name,
        flags: EXCHGID_USE_NON_PNFS,
        state_protect: StateProtect::None,
        implementation: Some(implementation),
    };
    debug_assert!(wire.minor != MinorVersion::V0, "4.0 has SETCLIENTID");
    let operations = [ArgOp::ExchangeId(arguments)];
    let reply = wire.call(&Request::changing("EXCHANGE_ID", &operations)).await?;
    let ok = reply.results().ok::<ExchangeId, _>()?;
    Ok(Known { client: ok.client, sequence: ok.sequence })
}
