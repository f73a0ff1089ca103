//! What a copy needs that goes on after the reply to COPY (RFC 7862 §15.2).

use proto::nfs4::{CopyOk, CopyRequirements, FileHandle, StableHow, Stateid, Status, Verifier, WriteResponse};
use vfs::CopyRange;

use super::compound::Compound;
use super::copies::{CopyClient, CopyOrigin, CopyRequest};
use super::failure::OpResult;
use super::source::{Side, copy_file};

/// Whether a copy can be asynchronous: a thread advances it, and the client can be called back.
pub(super) fn can_go_on(compound: &Compound<'_>) -> OpResult<bool> {
    let (server, client) = (compound.cx.server, compound.client()?);
    Ok(server.copies.is_driven() && server.state.can_call_back(client))
}

/// The request of such a copy to `destination`.
pub(super) fn new_job(
    compound: &Compound<'_>,
    source: CopyOrigin,
    destination: &Side<'_>,
    range: CopyRange,
    verifier: Verifier,
) -> OpResult<CopyRequest> {
    let request = compound.cx.request;
    let asker = CopyClient { client: compound.client()?, peer: request.peer, identity: compound.cx.identity.lasting() };
    let handle = FileHandle::new(destination.node.wire_handle().as_bytes()).ok_or(Status::ServerFault)?;
    let destination = copy_file(&destination.node, destination.stateid);
    Ok(CopyRequest { asker, source, destination, handle, range, verifier })
}

/// The reply when it has begun.
pub(super) fn begun(stateid: Stateid, verifier: Verifier) -> CopyOk {
    CopyOk {
        response: WriteResponse { callback_id: Some(stateid), count: 0, committed: StableHow::Unstable, verifier },
        requirements: CopyRequirements { consecutive: true, synchronous: false },
    }
}
