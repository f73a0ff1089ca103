//! Permissions for other servers to read a file for a copy (RFC 7862 §4.6, §15.3).
//!
//! A server with the stateid of a notice reads the file as the client that requested it, while that client keeps its
//! own stateid. A key makes the stateids unpredictable.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use proto::nfs4::{Stateid, Status};
use state::{ClientId, FileKey, may_take};

use super::{CopyClient, CopyFile};
use crate::handle::HandleKey;

/// The most notices; one address may have as many as remain free.
const MAX_NOTICES: usize = 1024;

/// The most notices of one client ID.
const MAX_PER_CLIENT: usize = 64;

/// The time for the other server to send its first READ, and then each further one.
pub(in crate::v4) const NOTICE_LEASE: Duration = Duration::from_secs(90);

/// The seqid of every notice, which never changes.
const SEQID: u32 = 1;

/// The permission to read a file.
#[derive(Debug, Clone, Copy)]
pub(in crate::v4) struct CopyNotice {
    pub(in crate::v4) asker: CopyClient,
    pub(in crate::v4) source: CopyFile,
    /// The address that may read it, if the client named one.
    pub(in crate::v4) reader: Option<IpAddr>,
}

#[derive(Debug)]
pub(crate) struct CopyNotices {
    key: HandleKey,
    instance: u64,
    table: Mutex<NoticeTable>,
}

#[derive(Debug, Default)]
struct NoticeTable {
    notices: HashMap<[u8; 8], (CopyNotice, Duration)>,
    last: u64,
}

impl CopyNotices {
    pub(crate) fn new(key: &HandleKey, instance: u64) -> CopyNotices {
        CopyNotices { key: key.derive(b"copy notices"), instance, table: Mutex::default() }
    }

    /// Whether a stateid has the form of a notice's.
    pub(in crate::v4) fn may_be_one(stateid: &Stateid) -> bool {
        secret(stateid).is_some()
    }

    /// Adds the permission to read a file.
    pub(in crate::v4) fn add(&self, notice: CopyNotice, now: Duration) -> Result<Stateid, Status> {
        let mut table = self.lock();
        table.notices.retain(|_, (_, until)| now <= *until);
        let of_client = |(other, _): &&(CopyNotice, Duration)| other.asker.client == notice.asker.client;
        let of_origin = |(other, _): &&(CopyNotice, Duration)| other.asker.origin() == notice.asker.origin();
        let own = table.notices.values().filter(of_origin).count();
        let has_room = may_take(1, own, table.notices.len(), MAX_NOTICES);
        if !has_room || table.notices.values().filter(of_client).count() >= MAX_PER_CLIENT {
            return Err(Status::Delay);
        }
        table.last += 1;
        let number = [self.instance.to_be_bytes(), table.last.to_be_bytes()].concat();
        // 0 belongs to the current stateid.
        let secret = self.key.checksum(&number).max(1).to_be_bytes();
        table.notices.insert(secret, (notice, now + NOTICE_LEASE));
        // No boot has the number 0, so these bytes differ from all other stateids.
        let mut other = [0; 12];
        other[4..].copy_from_slice(&secret);
        Ok(Stateid { seqid: SEQID, other })
    }

    /// The notice that permits `reader` to read `file`; renews its lease.
    ///
    /// # Errors
    /// [`Status::BadStateid`] when there is none, [`Status::PartnerNoAuth`] when it expired or is for another reader.
    pub(in crate::v4) fn reading(
        &self,
        stateid: &Stateid,
        file: &FileKey,
        reader: IpAddr,
        now: Duration,
    ) -> Result<CopyNotice, Status> {
        let mut table = self.lock();
        let (notice, until) = secret(stateid).and_then(|key| table.notices.get_mut(&key)).ok_or(Status::BadStateid)?;
        if notice.source.file != *file {
            return Err(Status::BadStateid);
        }
        if now > *until || notice.reader.is_some_and(|named| named != reader.to_canonical()) {
            return Err(Status::PartnerNoAuth);
        }
        *until = now + NOTICE_LEASE;
        Ok(*notice)
    }

    /// Removes a client's notice; false if there is none.
    pub(in crate::v4) fn remove(&self, client: ClientId, stateid: &Stateid, file: &FileKey) -> bool {
        let mut table = self.lock();
        let Some(key) = secret(stateid) else { return false };
        let is_it = |notice: &CopyNotice| notice.asker.client == client && notice.source.file == *file;
        let found = table.notices.get(&key).is_some_and(|(notice, _)| is_it(notice));
        if found {
            table.notices.remove(&key);
        }
        found
    }

    /// Removes notices that expired a lease ago, and those of clients that are gone.
    pub(super) fn sweep(&self, now: Duration, is_alive: impl Fn(ClientId) -> bool) {
        let mut clients: Vec<ClientId> = self.lock().notices.values().map(|(notice, _)| notice.asker.client).collect();
        clients.sort_unstable();
        clients.dedup();
        clients.retain(|client| !is_alive(*client));
        let is_over = |until: Duration| now > until + NOTICE_LEASE;
        self.lock().notices.retain(|_, (notice, until)| !is_over(*until) && !clients.contains(&notice.asker.client));
    }

    fn lock(&self) -> MutexGuard<'_, NoticeTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The secret in a stateid that has the form of a notice's.
fn secret(stateid: &Stateid) -> Option<[u8; 8]> {
    let [0, 0, 0, 0, secret @ ..] = stateid.other else { return None };
    (stateid.seqid == SEQID && secret != [0; 8]).then_some(secret)
}
