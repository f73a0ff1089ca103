//! A turn of a copy from another server (RFC 7862 §4.6): its bytes are read there and written here.

use std::sync::PoisonError;

use proto::nfs4::Status;
use state::Door;
use vfs::Stability;

use super::turn::Turn;
use super::{FETCH_BYTES, Job, TURN_BYTES};
use crate::remote_files::RemoteName;
use crate::server::Server;
use crate::transfer;
use crate::v4::failure::Outcome;
use crate::v4::source::Side;

impl Server {
    pub(super) fn fetch(&self, job: &Job, name: &RemoteName, to: &Side<'_>) -> Outcome<Turn> {
        let file = to.open_for_write(Door::V41(job.what.asker.client))?;
        let mut remote = job.remote.lock().unwrap_or_else(PoisonError::into_inner);
        if remote.is_none() {
            *remote = Some(self.copies.remote_files().ok_or(Status::OffloadDenied)?.open(name)?);
        }
        let remote = remote.as_mut().ok_or(Status::ServerFault)?;
        for _ in 0..TURN_BYTES / u64::from(FETCH_BYTES) {
            let rest = job.rest();
            let count = u32::try_from(rest.length_bytes).unwrap_or(FETCH_BYTES).min(FETCH_BYTES);
            let bytes = if count == 0 { Vec::new() } else { remote.read(rest.from_bytes, count)? };
            if bytes.is_empty() {
                return Ok(Turn::Done);
            }
            let mut written = 0;
            while written < bytes.len() {
                let at = rest.to_bytes + written as u64;
                let data = (&bytes[written..], Stability::Unstable);
                let count = transfer::write_at(&to.node, &*file, at, data)?.count;
                if count == 0 {
                    return Err(Status::Io.into());
                }
                written += count;
                job.add(count as u64);
            }
        }
        Ok(if job.rest().length_bytes == 0 { Turn::Done } else { Turn::More })
    }
}
