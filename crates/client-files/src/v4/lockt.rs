use std::sync::Arc;

use client_calls::v4::{Request, putfh};
use proto::nfs4::{ArgOp, LockDenied, LockType, Lockt, LocktArgs, Putfh, ResOr, StateOwner};

use super::client::Attempts;
use super::held_locks::HeldLock;
use super::open_file::OpenFile;
use super::verdicts::is_forgotten;
use crate::{Reason, Result};

/// How often one test is retried because the server forgot the client.
const MAX_REPAIRS: u32 = 4;

impl OpenFile {
    /// Tests whether a range could be locked (RFC 7530 §16.11, RFC 8881 §18.11). Fails with the range of the
    /// conflicting lock.
    pub(crate) async fn test_lock(self: &Arc<OpenFile>, kind: LockType, offset: u64, length: u64) -> Result<()> {
        let range = HeldLock::new(kind, offset, length);
        let (mut patience, mut repairs) = (self.client.patience(), 0);
        loop {
            let session = self.client.session();
            match self.test_once(range).await {
                Err(error) if patience.allows(&error) => patience.wait().await,
                // LOCKT names the client and no stateid, so it may be the first to learn that a 4.0 lease expired
                // (RFC 7530 §9.6.3).
                Err(error) if is_forgotten(&error) && repairs < MAX_REPAIRS => {
                    repairs += 1;
                    self.client.renew_session(&session).await?;
                }
                other => return other,
            }
        }
    }

    async fn test_once(&self, range: HeldLock) -> Result<()> {
        let client = &self.client;
        let name = self.held().owner.as_ref().map(super::owner::Owner::lock_name).unwrap_or_default();
        let mut attempts = Attempts::default();
        let reply = loop {
            let session = client.session();
            let arguments = LocktArgs {
                lock_type: range.kind,
                offset: range.offset,
                length: range.length(),
                owner: StateOwner { client: session.client, owner: name.as_bytes() },
            };
            let operations = [putfh(&self.handle), ArgOp::Lockt(arguments)];
            match client.attempt(&session, &Request::reading("LOCKT", &operations)).await? {
                Ok(reply) => break reply,
                Err(trouble) => attempts.mend(client, &session, trouble).await?,
            }
        };
        let mut results = reply.results();
        results.ok::<Putfh, _>()?;
        match results.next::<Lockt>()? {
            ResOr::Ok(()) => Ok(()),
            ResOr::Explained(denied) => Err(reply.error(locked(&denied))),
            ResOr::Fail(status) => Err(reply.refusal(status)),
        }
    }
}

/// The refusal of a lock because of another one.
pub(super) fn locked(denied: &LockDenied<'_>) -> Reason {
    let is_exclusive = matches!(denied.lock_type, LockType::Write | LockType::WriteWait);
    Reason::Locked { offset: denied.offset, length: denied.length, is_exclusive }
}
