use std::sync::Arc;

use proto::nfs4::{ArgOp, LockType, Lockt, LocktArgs, Putfh, ResOr, StateOwner};

use super::client::Attempts;
use super::held_locks::HeldLock;
use super::open_file::OpenFile;
use super::putfh;
use super::request::Request;
use crate::{Reason, Result};

impl OpenFile {
    /// Asks whether a range could be locked (RFC 7530 §16.11, RFC 8881 §18.11); fails with whose lock is in the way.
    pub(crate) async fn test_lock(self: &Arc<OpenFile>, kind: LockType, offset: u64, length: u64) -> Result<()> {
        let client = &self.client;
        let name = self.held().owner.as_ref().map(super::owner::Owner::lock_name).unwrap_or_default();
        let range = HeldLock::new(kind, offset, length);
        let mut attempts = Attempts::default();
        loop {
            let session = client.session();
            let arguments = LocktArgs {
                lock_type: kind,
                offset: range.offset,
                length: range.length(),
                owner: StateOwner { client: session.client, owner: name.as_bytes() },
            };
            let operations = [putfh(&self.handle), ArgOp::Lockt(arguments)];
            let reply = match client.attempt(&session, &Request::reading("LOCKT", &operations)).await? {
                Ok(reply) => reply,
                Err(trouble) => {
                    attempts.mend(client, &session, trouble).await?;
                    continue;
                }
            };
            let mut results = reply.results();
            results.ok::<Putfh, _>()?;
            return match results.next::<Lockt>()? {
                ResOr::Ok(()) => Ok(()),
                ResOr::Explained(denied) => {
                    Err(reply.error(Reason::Locked { offset: denied.offset, length: denied.length }))
                }
                ResOr::Fail(status) => Err(reply.refusal(status)),
            };
        }
    }
}
