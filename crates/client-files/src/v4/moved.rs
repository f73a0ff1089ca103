//! Finding a file system that has moved to another server (RFC 7530 §8, RFC 8881 §11).

use std::sync::Arc;

use client_calls::v4::{Reply, Request};
use proto::nfs4::{
    ArgOp, Attribute, AttributeValue, FsLocation, Getattr, GetattrArgs, Lookup, Lookupp, Putfh, Putrootfh,
};

use super::client::Client;
use super::session::Session;
use crate::{Error, Location, Reason, Result};

/// The most locations to return.
const MAX_TOLD: usize = 8;

impl Client {
    /// The error for a request that met a moved file system, with its locations if the server reports them.
    pub(super) async fn moved(&self, session: &Arc<Session>, request: &Request<'_>, reply: &Reply) -> Error {
        let way = way(request.operations, reply.carried_out());
        let locations = match self.locations(session, way).await {
            Ok(locations) => locations,
            Err(error) => {
                tracing::debug!(server = %self.0.server, %error, "cannot ask where a file system is");
                Vec::new()
            }
        };
        reply.error(Reason::Moved { locations })
    }

    /// Repeats the operations that lead there and fetches the locations. GETATTR of this attribute alone succeeds
    /// (RFC 8881 §11.4.1).
    async fn locations(&self, session: &Arc<Session>, mut way: Vec<ArgOp<'_>>) -> Result<Vec<Location>> {
        way.push(ArgOp::Getattr(GetattrArgs { request: Attribute::set(&[Attribute::FsLocations]) }));
        let request = Request::reading("GETATTR", &way);
        let reply = match self.attempt_once(session, &request).await? {
            Ok(reply) => reply,
            Err(trouble) => return Err(self.error(request.name, Reason::Status(trouble.status().into()))),
        };
        let mut results = reply.results();
        for step in &way[..way.len() - 1] {
            match step {
                ArgOp::Putfh(_) => results.ok::<Putfh, _>()?,
                ArgOp::Lookup(_) => results.ok::<Lookup, _>()?,
                ArgOp::Lookupp => results.ok::<Lookupp, _>()?,
                _ => results.ok::<Putrootfh, _>()?,
            }
        }
        let fattr = results.ok::<Getattr, _>()?;
        let Some(Ok(AttributeValue::FsLocations(found))) = fattr.values().next() else { return Ok(Vec::new()) };
        Ok(found.locations.iter().flat_map(places).take(MAX_TOLD).collect())
    }
}

/// The operations that lead to the moved file system: all before the failed one, which may be the first.
fn way<'a>(operations: &[ArgOp<'a>], carried_out: usize) -> Vec<ArgOp<'a>> {
    let before = carried_out.saturating_sub(1).max(1);
    let leads = |operation: &&ArgOp<'a>| {
        matches!(operation, ArgOp::Putfh(_) | ArgOp::Putrootfh | ArgOp::Lookup(_) | ArgOp::Lookupp)
    };
    operations.iter().take(before).filter(leads).cloned().collect()
}

/// The locations that one entry of `fs_locations` names.
fn places<'l>(location: &'l FsLocation<'_>) -> impl Iterator<Item = Location> + use<'l> {
    let names = location.root.components.iter().map(|name| name.0);
    let path: Vec<u8> = names.flat_map(|name| [b"/", name].concat()).collect();
    let path = if path.is_empty() { b"/".to_vec() } else { path };
    // A server's name may hold any bytes, and people read it.
    let servers = location.servers.iter().map(|server| server.0.escape_ascii().to_string());
    servers.map(move |server| Location::new(server, path.clone()))
}
