use std::fmt;
use std::sync::Arc;

use client_calls::v4::{Caller, Request, Wire};
use proto::nfs4::{
    ArgOp, ClientId, EXCHGID_SUPP_MOVED_REFER, EXCHGID_USE_NON_PNFS, ExchangeId, ExchangeIdArgs, MinorVersion,
    StateProtect,
};

use super::identity::Identity;
use crate::Result;

/// The client id that a server assigned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) client: ClientId,
    /// The sequence id of the next CREATE_SESSION.
    pub(super) sequence: u32,
    /// The server that assigned it.
    pub(super) server: Arc<ServerName>,
}

/// A server's name for itself. All connections of a session must reach a server of the same name (RFC 8881 §2.10.5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerName {
    /// The scope; its servers share client ids.
    pub(super) scope: Vec<u8>,
    major: Vec<u8>,
    minor: u64,
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' {} in '{}'", self.major.escape_ascii(), self.minor, self.scope.escape_ascii())
    }
}

/// Makes the client known (RFC 8881 §18.35). A known client keeps its session.
pub(super) async fn exchange_id(wire: &Wire<'_>, identity: &Identity) -> Result<Known> {
    let arguments = ExchangeIdArgs {
        verifier: identity.verifier,
        owner_id: &identity.name,
        flags: EXCHGID_USE_NON_PNFS | EXCHGID_SUPP_MOVED_REFER,
        state_protect: StateProtect::None,
        // Linux rejects an implementation id without a domain, and there is no domain to name.
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
