use proto::nfs4::{
    ArgOp, ClientId, EXCHGID_SUPP_MOVED_REFER, EXCHGID_USE_NON_PNFS, ExchangeId, ExchangeIdArgs, MinorVersion,
    StateProtect,
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

/// Makes the client known (RFC 8881 §18.35), and gives the name of the servers that share what is known of it.
pub(super) async fn exchange_id(wire: &Wire<'_>, identity: &Identity) -> Result<(Known, Vec<u8>)> {
    let arguments = ExchangeIdArgs {
        verifier: identity.verifier,
        owner_id: &identity.name,
        flags: EXCHGID_USE_NON_PNFS | EXCHGID_SUPP_MOVED_REFER,
        state_protect: StateProtect::None,
        // Linux takes an implementation without a domain for a broken request, and there is no domain to name.
        implementation: None,
    };
    debug_assert!(wire.minor != MinorVersion::V0, "4.0 has SETCLIENTID");
    let operations = [ArgOp::ExchangeId(arguments)];
    let reply = wire.call(&Request::changing("EXCHANGE_ID", &operations)).await?;
    let ok = reply.results().ok::<ExchangeId, _>()?;
    Ok((Known { client: ok.client, sequence: ok.sequence }, ok.server_scope.to_vec()))
}
