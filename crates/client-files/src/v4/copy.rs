use proto::nfs4::{
    ArgOp, Copy, CopyArgs, CopyRequirements, Putfh, ResOr, Savefh, StableHow, Stateid, Status, WriteResponse,
};
use vfs::Stability;

use super::client::Client;
use super::offloads::{Began, Offload};
use super::putfh;
use super::request::Request;
use crate::{Copied, Handle, Lie, Reason, Result, WriteVerifier};

/// A range to copy from one open file to another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Transfer {
    pub(crate) source: Handle,
    pub(crate) source_stateid: Stateid,
    pub(crate) source_offset: u64,
    pub(crate) destination: Handle,
    pub(crate) destination_stateid: Stateid,
    pub(crate) destination_offset: u64,
    /// In bytes; 0 stands for everything to the end.
    pub(crate) count: u64,
}

/// A copy that has ended, or that the server continues.
#[derive(Debug)]
pub(crate) enum Begun {
    Over(Copied),
    GoesOn(Offload),
}

/// Has the server copy a range, and waits for the end (RFC 7862 §15.2). The server may copy less.
pub(crate) async fn copy(client: &Client, transfer: Transfer) -> Result<Copied> {
    match copy_once(client, transfer, true).await? {
        Begun::Over(copied) => Ok(copied),
        // Dropping the copy cancels it.
        Begun::GoesOn(_) => Err(client.error("COPY", Reason::Lie(Lie::UnwantedBackground))),
    }
}

/// Starts a copy that may outlive its reply. If the caller is dropped, the copy is cancelled.
pub(crate) async fn begin_copy(client: &Client, transfer: Transfer) -> Result<Begun> {
    let own = client.clone();
    client.connection().to_the_end("COPY", async move { copy_once(&own, transfer, false).await }).await
}

async fn copy_once(client: &Client, transfer: Transfer, synchronous: bool) -> Result<Begun> {
    let arguments = CopyArgs {
        source_stateid: transfer.source_stateid,
        destination_stateid: transfer.destination_stateid,
        source_offset: transfer.source_offset,
        destination_offset: transfer.destination_offset,
        count: transfer.count,
        requirements: CopyRequirements { consecutive: true, synchronous },
        source_servers: Vec::new(),
    };
    let operations = [putfh(&transfer.source), ArgOp::Savefh, putfh(&transfer.destination), ArgOp::Copy(arguments)];
    let _under_way = client.0.offloads.begin();
    let reply = client.call(&Request::changing("COPY", &operations)).await?;
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    results.ok::<Savefh, _>()?;
    results.ok::<Putfh, _>()?;
    let (ok, how) = match results.next::<Copy>()? {
        ResOr::Ok(ok) => (ok.response, ok.requirements),
        // A server that cannot copy from the first byte to the last is of no use here.
        ResOr::Explained(_) => return Err(reply.refusal(Status::NotSupp)),
        ResOr::Fail(status) => return Err(reply.refusal(status)),
    };
    let copied = copied(&ok);
    if let Some(stateid) = ok.callback_id {
        let begun = Began { stateid, verifier: copied.verifier, is_consecutive: how.consecutive };
        return Ok(Begun::GoesOn(Offload::new(client, transfer.destination, begun, transfer.count)));
    }
    if transfer.count > 0 && ok.count > transfer.count {
        return Err(reply.error(Reason::Lie(Lie::TooMuchCopied { asked: transfer.count, said: ok.count })));
    }
    Ok(Begun::Over(copied))
}

pub(super) fn copied(response: &WriteResponse) -> Copied {
    let stability = match response.committed {
        StableHow::Unstable => Stability::Unstable,
        StableHow::DataSync => Stability::Data,
        StableHow::FileSync => Stability::File,
    };
    Copied { count: response.count, stability, verifier: WriteVerifier(response.verifier) }
}
