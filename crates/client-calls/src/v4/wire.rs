use std::time::Instant;

use proto::nfs4::{Compound, MinorVersion, SequenceArgs};

use super::reply::Reply;
use super::request::{Request, Sent};
use crate::Connection;
use crate::Result;
use crate::core::Tail;

/// A connection and its minor version.
#[derive(Debug, Clone, Copy)]
pub struct Wire<'a> {
    /// The connection.
    pub connection: &'a Connection,
    /// The minor version of its requests.
    pub minor: MinorVersion,
}

impl Wire<'_> {
    /// The most data of a READ or a WRITE outside of any session.
    pub const MAX_DATA_BYTES: u32 = proto::nfs4::MAX_DATA_BYTES as u32;

    /// Sends a request and reads its reply up to the results; without `sequence`, outside of any session. `asked` is
    /// when the caller began to wait for a slot, if it waited.
    pub async fn send(
        &self,
        request: &Request<'_>,
        sequence: Option<SequenceArgs>,
        asked: Option<Instant>,
    ) -> Result<Reply> {
        let sent = Sent { request, minor: self.minor, sequence };
        let tail = request.write.as_ref().map(|write| Tail { data: write.data.clone(), behind: write.behind() });
        let response = self.connection.call_labelled::<Compound>(asked, tail, |head| sent.write(head)).await;
        let response = response.map_err(|error| error.during(request.name))?;
        Reply::parse(response, request.name, sent.count(), self.connection.server())
    }
}
