use proto::nfs4::{ArgOp, Copy, CopyArgs, CopyRequirements, Putfh, ResOr, Savefh, StableHow, Stateid, Status};
use vfs::Stability;

use super::client::Client;
use super::putfh;
use super::request::Request;
use crate::{Copied, Handle, Lie, Reason, Result, WriteVerifier};

/// A range of one open file that goes to another one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Transfer<'a> {
    pub(crate) source: &'a Handle,
    pub(crate) source_stateid: Stateid,
    pub(crate) source_offset: u64,
    pub(crate) destination: &'a Handle,
    pub(crate) destination_stateid: Stateid,
    pub(crate) destination_offset: u64,
    /// How many bytes; 0 stands for all to the end.
    pub(crate) count: u64,
}

/// Lets the server copy a range, and waits for that (RFC 7862 §15.2). It may copy less.
pub(crate) async fn copy(client: &Client, transfer: Transfer<'_>) -> Result<Copied> {
    let arguments = CopyArgs {
        source_stateid: transfer.source_stateid,
        destination_stateid: transfer.destination_stateid,
        source_offset: transfer.source_offset,
        destination_offset: transfer.destination_offset,
        count: transfer.count,
        requirements: CopyRequirements { consecutive: true, synchronous: true },
        source_servers: Vec::new(),
    };
    let operations = [putfh(transfer.source), ArgOp::Savefh, putfh(transfer.destination), ArgOp::Copy(arguments)];
    let reply = client.call(&Request::changing("COPY", &operations)).await?;
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    results.ok::<Savefh, _>()?;
    results.ok::<Putfh, _>()?;
    let ok = match results.next::<Copy>()? {
        ResOr::Ok(ok) => ok.response,
        // Whoever cannot copy before it answers is of no help here.
        ResOr::Explained(_) => return Err(reply.refusal(Status::NotSupp)),
        ResOr::Fail(status) => return Err(reply.refusal(status)),
    };
    if ok.callback_id.is_some() {
        return Err(reply.error(Reason::Lie(Lie::UnwantedBackground)));
    }
    if transfer.count > 0 && ok.count > transfer.count {
        return Err(reply.error(Reason::Lie(Lie::TooMuchCopied { asked: transfer.count, said: ok.count })));
    }
    let stability = match ok.committed {
        StableHow::Unstable => Stability::Unstable,
        StableHow::DataSync => Stability::Data,
        StableHow::FileSync => Stability::File,
    };
    Ok(Copied { count: ok.count, stability, verifier: WriteVerifier(ok.verifier) })
}
