//! One turn of a copy from another server (RFC 7862 §4.6): reads bytes there and writes them here.

use std::sync::PoisonError;

use proto::nfs4::Status;
use state::StateidScope;
use vfs::{OpenFile, Stability};

use super::turn::CopyTurn;
use super::{CopyJob, FETCH_BYTES, MAX_FETCHES, TURN_BYTES};
use crate::node::Node;
use crate::remote_files::{RemoteError, RemoteName};
use crate::server::Server;
use crate::transfer;
use crate::v4::failure::OpResult;
use crate::v4::source::Side;

impl Server {
    pub(super) fn fetch(&self, job: &CopyJob, name: &RemoteName, to: &Side<'_>) -> OpResult<CopyTurn> {
        let file = to.open_for_write(StateidScope::V41(job.what.asker.client))?;
        let mut remote = job.remote.lock().unwrap_or_else(PoisonError::into_inner);
        if remote.is_none() {
            *remote = Some(self.copies.remote_files().ok_or(Status::OffloadDenied)?.open(name).map_err(status_of)?);
        }
        let remote = remote.as_mut().ok_or(Status::ServerFault)?;
        let _change = to.node.announce_change();
        let end = job.copied_bytes().saturating_add(TURN_BYTES);
        for _ in 0..MAX_FETCHES {
            let rest = job.rest();
            let count = u32::try_from(rest.length_bytes).unwrap_or(FETCH_BYTES).min(FETCH_BYTES);
            let bytes = if count == 0 { Vec::new() } else { remote.read(rest.from_bytes, count).map_err(status_of)? };
            if bytes.is_empty() {
                return Ok(CopyTurn::Done);
            }
            write(job, &to.node, &*file, rest.to_bytes, &bytes)?;
            if job.copied_bytes() >= end {
                break;
            }
        }
        Ok(if job.rest().length_bytes == 0 { CopyTurn::Done } else { CopyTurn::More })
    }
}

fn write(job: &CopyJob, node: &Node<'_>, file: &dyn OpenFile, to_bytes: u64, bytes: &[u8]) -> OpResult<()> {
    let mut written = 0;
    while written < bytes.len() {
        let (rest, at) = (&bytes[written..], to_bytes + written as u64);
        let count = transfer::write_at(node, file, at, rest, Stability::Unstable)?.count;
        if count == 0 {
            return Err(Status::Io.into());
        }
        written += count;
        job.add(count as u64);
    }
    Ok(())
}

/// The status for the client (RFC 7862 §11.1.2).
fn status_of(error: RemoteError) -> Status {
    match error {
        RemoteError::Unreachable => Status::PartnerNotSupp,
        RemoteError::Refused => Status::PartnerNoAuth,
        RemoteError::Failed => Status::Io,
    }
}
