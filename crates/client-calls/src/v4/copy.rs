use proto::nfs4::{
    ArgOp, Copy, CopyArgs, CopyRequirements, Putfh, ResOr, Savefh, StableHow, Stateid, Status, WriteResponse,
};
use vfs::Stability;

use super::caller::Caller;
use super::putfh::putfh;
use super::request::Request;
use crate::{Copied, Handle, Lie, Reason, Result, WriteVerifier};

/// A range to copy from one open file to another.
#[derive(Debug, Clone, Copy)]
pub struct Transfer {
    /// The file to copy from.
    pub source: Handle,
    /// Its open state.
    pub source_stateid: Stateid,
    /// Where to begin in it.
    pub source_offset: u64,
    /// The file to copy to.
    pub destination: Handle,
    /// Its open state.
    pub destination_stateid: Stateid,
    /// Where to begin in it.
    pub destination_offset: u64,
    /// In bytes; 0 stands for everything to the end.
    pub count: u64,
}

/// The reply to a COPY.
#[derive(Debug)]
pub enum CopyReply {
    /// The copy has ended.
    Over(Copied),
    /// The server continues it.
    GoesOn(Began),
}

/// What the reply to COPY says of a running copy.
#[derive(Debug, Clone, Copy)]
pub struct Began {
    /// Names the copy.
    pub stateid: Stateid,
    /// The verifier of the data so far.
    pub verifier: WriteVerifier,
    /// Whether it copies from the first byte to the last.
    pub is_consecutive: bool,
}

/// Has the server copy a range (RFC 7862 §15.2). The server may copy less, or continue after its reply; with
/// `synchronous` it should not.
pub async fn copy(caller: &impl Caller, transfer: Transfer, synchronous: bool) -> Result<CopyReply> {
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
    let reply = caller.call(&Request::changing("COPY", &operations)).await?;
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
        let began = Began { stateid, verifier: copied.verifier, is_consecutive: how.consecutive };
        return Ok(CopyReply::GoesOn(began));
    }
    if transfer.count > 0 && ok.count > transfer.count {
        return Err(reply.error(Reason::Lie(Lie::TooMuchCopied { asked: transfer.count, said: ok.count })));
    }
    Ok(CopyReply::Over(copied))
}

/// The neutral form of the result of a copy.
pub fn copied(response: &WriteResponse) -> Copied {
    let stability = match response.committed {
        StableHow::Unstable => Stability::Unstable,
        StableHow::DataSync => Stability::Data,
        StableHow::FileSync => Stability::File,
    };
    Copied { count: response.count, stability, verifier: WriteVerifier(response.verifier) }
}
