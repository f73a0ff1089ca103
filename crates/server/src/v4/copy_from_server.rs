//! COPY from another server (RFC 7862 §4.6, §15.2): reads the file there under the stateid from COPY_NOTIFY.
//!
//! Such a copy is always asynchronous. This server connects only to servers that its configuration allows, and only by
//! address: it resolves no names for clients.

use std::net::SocketAddr;

use proto::nfs4::{CopyArgs, CopyOk, CopyRequirements, FileHandle, NetLoc, Status};
use proto::rpcbind::UniversalAddress;
use vfs::CopyRange;
use xdr::{Encode, Encoder};

use super::compound::Compound;
use super::copies::CopyOrigin;
use super::copy_job::{begun, can_go_on, new_job};
use super::failure::{Failure, OpResult};
use super::getfh::file_handle;
use super::source::Side;
use crate::remote_files::{RemoteFiles, RemoteName};

/// The only supported combination.
const REQUIREMENTS: CopyRequirements = CopyRequirements { consecutive: true, synchronous: false };

pub(super) fn copy(compound: &mut Compound<'_>, args: &CopyArgs<'_>) -> OpResult<CopyOk> {
    let server = compound.cx.server;
    let remote_files = server.copies.remote_files().ok_or(Status::NotSupp)?;
    let address = args.source_servers.iter().find_map(|place| reachable(remote_files, place));
    let address = address.ok_or(Status::OffloadDenied)?;
    if args.requirements.synchronous || !can_go_on(compound)? {
        return Err(refusal());
    }
    let to = Side { node: compound.current()?, stateid: compound.stateid(&args.destination_stateid)? };
    let verifier = to.node.write_verifier();
    to.open_for_write(compound.stateid_scope()?)?;
    let name = RemoteName { address, handle: source_handle(compound)?, stateid: args.source_stateid };
    let new = new_job(compound, CopyOrigin::There(name), &to, range(args)?, verifier)?;
    let stateid = server.copies.add(new).map_err(|_| Status::Delay)?;
    Ok(begun(stateid, verifier))
}

fn reachable(remote_files: &dyn RemoteFiles, place: &NetLoc<'_>) -> Option<SocketAddr> {
    let NetLoc::Address(address) = place else { return None };
    if !matches!(address.netid, b"tcp" | b"tcp6") {
        return None;
    }
    let UniversalAddress(address) = UniversalAddress::parse(address.address).ok()?;
    remote_files.may_reach(address).then_some(address)
}

/// Reports the supported combination to the client.
fn refusal() -> Failure {
    let mut bytes = buffer::Buffer::new();
    REQUIREMENTS.encode(&mut Encoder::new(&mut bytes));
    Failure::Explained(Status::OffloadNoReqs, bytes.as_slice().to_vec())
}

/// The source's handle on the other server: the saved handle, whether or not it resolves here.
fn source_handle(compound: &Compound<'_>) -> OpResult<FileHandle> {
    if let Some(foreign) = &compound.progress.foreign {
        return Ok(foreign.handle);
    }
    Ok(file_handle(&compound.saved()?))
}

/// The range; the end of the source is found by reading it.
fn range(args: &CopyArgs<'_>) -> OpResult<CopyRange> {
    let (from_bytes, to_bytes) = (args.source_offset, args.destination_offset);
    let most = (i64::MAX as u64).checked_sub(from_bytes.max(to_bytes)).ok_or(Status::FBig)?;
    let length_bytes = if args.count == 0 { most } else { args.count };
    if length_bytes > most {
        return Err(Status::FBig.into());
    }
    Ok(CopyRange { from_bytes, to_bytes, length_bytes })
}
