use std::fmt;
use std::sync::Arc;

use proto::nfs4::{
    ArgOp, ClientId, EXCHGID_SUPP_MOVED_REFER, EXCHGID_USE_NON_PNFS, ExchangeId, ExchangeIdArgs, MinorVersion,
    StateProtect,
};

use super::identity::Identity;
use super::request::Request;
use super::wire::Wire;
use crate::Result;

/// What a server knows the client by from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) client: ClientId,
    /// What the next CREATE_SESSION must say.
    pub(super) sequence: u32,
    /// Who it is that knows.
    pub(super) server: Arc<ServerName>,
}

/// What a server calls itself: a session is of those connections alone at whose other ends the same name is told (RFC 8881 §2.10.5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerName {
    /// The servers that share client ids with this one.
    pub(super) scope: Vec<u8>,
    major: Vec<u8>,
    minor: u64,
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' {} in '{}'", self.major.escape_ascii(), self.minor, self.scope.escape_ascii())
    }
}

/// Makes the client known (RFC 8881 §18.35). A client that is known already and has a session stays what it is.
pub(super) async fn exchange_id(wire: &Wire<'_>, identity: &Identity) -> Result<Known> {
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
    let (owner, scope) = (ok.server_owner, ok.server_scope.to_vec());
    let server = ServerName { scope, major: owner.major_id.to_vec(), minor: owner.minor_id };
    Ok(Known { client: ok.client, sequence: ok.sequence, server: Arc::new(server) })
}
