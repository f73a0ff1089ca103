use std::time::Instant;

use proto::nfs4::{Compound, MinorVersion, SequenceArgs};

use super::reply::Reply;
use super::request::{Request, Sent};
use crate::Result;
use crate::connection::Connection;
use crate::core::Tail;

/// A connection and its minor version.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wire<'a> {
    pub(super) connection: &'a Connection,
    pub(super) minor: MinorVersion,
}

impl Wire<'_> {
    /// Sends a request outside of any session.
    pub(super) async fn call(&self, request: &Request<'_>) -> Result<Reply> {
        self.send(request, None, None).await
    }

    /// Sends a request and reads its reply up to the results. `asked` is when the caller began to wait for a slot, if
    /// it waited.
    pub(super) async fn send(
        &self,
        request: &Request<'_>,
        sequence: Option<SequenceArgs>,
        asked: Option<Instant>,
    ) -> Result<Reply> {
        let sent = Sent { request, minor: self.minor, sequence };
        let tail = request.write.as_ref().map(|write| Tail { data: write.data.clone(), behind: write.behind() });
        let response = self.connection.call_labelled::<Compound>(asked, tail, |head| sent.write(head)).await;
        let response = response.map_err(|error| error.during(request.name))?;
        Reply::parse(response, (request.name, sent.count()), self.connection.server())
    }
}
