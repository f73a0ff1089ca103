use std::sync::Arc;

use proto::nfs4::{ArgOp, Lock, LockArgs, LockType, Locker, Putfh, ResOr, StateOwner, Stateid, Status};

use super::client::{Attempts, Client};
use super::held_locks::{HeldLock, HeldLocks};
use super::locku::unlock;
use super::open_file::{OpenFile, decides_nothing, is_about_state};
use super::putfh;
use super::reply::Reply;
use super::request::Request;
use super::session::Session;
use crate::grant::{self, Grant, LockHolder};
use crate::{Connection, Reason, Result};

/// How often one lock is asked for because the state was lost and had back.
const MAX_REPAIRS: u32 = 4;

impl OpenFile {
    /// Locks a range (RFC 7530 §16.10, RFC 8881 §18.10), or says whose lock is in the way.
    pub(crate) async fn lock(
        self: &Arc<OpenFile>,
        kind: LockType,
        offset: u64,
        length: u64,
    ) -> Result<Grant<OpenFile>> {
        grant::try_lock(self, HeldLock::new(kind, offset, length)).await
    }

    /// Waits until a lock may be had, or a while has passed: servers need not tell (RFC 8881 §20.11).
    pub(crate) async fn wait_for_lock(&self, at_most: std::time::Duration) {
        // That the time is over is as good an end as being told.
        let _ = tokio::time::timeout(at_most, self.client.0.callbacks.lock_freed.notified()).await;
    }
}

impl LockHolder for OpenFile {
    async fn take(
        self: &Arc<Self>,
        wanted: HeldLock,
        is_over: impl Fn() -> bool + Send + Sync,
    ) -> Result<Vec<HeldLock>> {
        let _order = self.order.lock().await;
        self.open_at_server().await?;
        let mut patience = self.client.patience();
        let mut repairs = 0;
        loop {
            self.check_kept("LOCK")?;
            let era = self.era();
            let before = self.held().locks.as_ref().map(|(_, locks)| locks.within(&wanted)).unwrap_or_default();
            match lock_once(self, None, wanted, false).await {
                Ok(()) => return Ok(before),
                Err(error) if is_about_state(&error) && repairs < MAX_REPAIRS => {
                    repairs += 1;
                    self.repair(era, error).await?;
                }
                Err(error) if patience.allows(&error) && !is_over() => patience.wait().await,
                Err(error) => return Err(error),
            }
        }
    }

    async fn release(self: &Arc<Self>, range: HeldLock) -> Result<()> {
        let _order = self.order.lock().await;
        let unlocked = unlock(self, range).await;
        // Whoever gives up what was lost knows that it is gone.
        self.held().lost.remove(&range);
        unlocked
    }

    fn connection(&self) -> &Connection {
        self.client.connection()
    }
}

/// Reclaims all locks of a file that was reclaimed itself under this stateid. Those that cannot be had back are lost.
///
/// # Errors
/// When the session is lost again, or there is no answer: then the next session reclaims what is left.
pub(super) async fn relock(file: &OpenFile, session: &Arc<Session>, stateid: Stateid) -> Result<()> {
    let mut left = {
        let mut held = file.held();
        held.stateid = stateid;
        held.locks.take().map(|(_, locks)| locks.to_vec()).unwrap_or_default()
    };
    while let Some(lock) = left.last().copied() {
        match relock_one(file, session, lock).await {
            Ok(()) => {}
            Err(error) if decides_nothing(&error) => {
                let mut held = file.held();
                let locks = held.locks.get_or_insert_with(|| (stateid, HeldLocks::default()));
                left.into_iter().for_each(|lock| locks.1.insert(lock));
                return Err(error);
            }
            Err(error) => {
                tracing::warn!(server = %file.client.0.server, %error, "the server lost a lock, and it could not be had back");
                file.held().lost.insert(lock);
            }
        }
        left.pop();
    }
    Ok(())
}

/// Reclaims one lock, for as long as the server wants to be asked later.
async fn relock_one(file: &OpenFile, session: &Arc<Session>, lock: HeldLock) -> Result<()> {
    let mut patience = file.client.patience();
    loop {
        match lock_once(file, Some(session), lock, true).await {
            Err(error) if patience.allows(&error) => patience.wait().await,
            other => return other,
        }
    }
}

/// Sends one LOCK, in the session that is there now or in this one.
async fn lock_once(file: &OpenFile, session: Option<&Arc<Session>>, wanted: HeldLock, reclaim: bool) -> Result<()> {
    let client = &file.client;
    let mut attempts = Attempts::default();
    let reply = loop {
        let now = session.map_or_else(|| client.session(), Arc::clone);
        let Some((locker, name)) = locker(file) else { return Err(client.error("LOCK", Reason::StateLost)) };
        let owner = StateOwner { client: now.client, owner: name.as_bytes() };
        let (offset, length) = (wanted.offset, wanted.length());
        let arguments = LockArgs { lock_type: wanted.kind, reclaim, offset, length, locker: locker.with_owner(owner) };
        let operations = [putfh(&file.handle), ArgOp::Lock(arguments)];
        match client.attempt(&now, &Request::changing("LOCK", &operations)).await? {
            Ok(reply) => break reply,
            Err(trouble) if session.is_some() => attempts.mend_in(client, &now, trouble).await?,
            Err(trouble) => attempts.mend(client, &now, trouble).await?,
        }
    };
    let mut results = reply.results();
    results.ok::<Putfh, _>()?;
    match results.next::<Lock>()? {
        ResOr::Ok(ok) => granted(file, ok.stateid, wanted),
        ResOr::Explained(denied) => {
            used_seqids(file, Status::Denied);
            return Err(reply.error(Reason::Locked { offset: denied.offset, length: denied.length }));
        }
        ResOr::Fail(status) => return refused(file, &reply, status),
    }
    Ok(())
}

/// Who locks, without the name that only a first lock needs.
enum Who {
    First { open_seqid: u32, open_stateid: Stateid, lock_seqid: u32 },
    Known { lock_stateid: Stateid, lock_seqid: u32 },
}

impl Who {
    fn with_owner(self, owner: StateOwner<'_>) -> Locker<'_> {
        match self {
            Who::First { open_seqid, open_stateid, lock_seqid } => {
                Locker::New { open_seqid, open_stateid, lock_seqid, owner }
            }
            Who::Known { lock_stateid, lock_seqid } => Locker::Existing { lock_stateid, lock_seqid },
        }
    }
}

fn locker(file: &OpenFile) -> Option<(Who, String)> {
    let held = file.held();
    let owner = held.owner.as_ref()?;
    let (open_seqid, lock_seqid, name) = (owner.open_seqid, owner.lock_seqid, owner.lock_name());
    Some(match &held.locks {
        Some((stateid, _)) => (Who::Known { lock_stateid: file.newest(*stateid), lock_seqid }, name),
        None => {
            let open_stateid = file.newest(held.stateid);
            (Who::First { open_seqid, open_stateid, lock_seqid }, name)
        }
    })
}

fn granted(file: &OpenFile, stateid: Stateid, lock: HeldLock) {
    used_seqids(file, Status::Ok);
    let mut held = file.held();
    let locks = held.locks.get_or_insert_with(|| (stateid, HeldLocks::default()));
    locks.0 = stateid;
    locks.1.insert(lock);
}

fn refused(file: &OpenFile, reply: &Reply, status: Status) -> Result<()> {
    used_seqids(file, status);
    Err(reply.refusal(status))
}

/// Counts the sequence numbers that a LOCK used up: a first one also that of the owner of the open (RFC 7530 §16.10.5).
fn used_seqids(file: &OpenFile, status: Status) {
    if !status.uses_seqid() {
        return;
    }
    let mut held = file.held();
    let is_first = held.locks.is_none();
    if let Some(owner) = &mut held.owner {
        owner.open_seqid = owner.open_seqid.wrapping_add(u32::from(is_first));
        owner.lock_seqid = owner.lock_seqid.wrapping_add(1);
    }
}

impl Client {
    /// Runs something that must not be left half done, even if nobody waits for it any more.
    pub(super) async fn to_the_end<T: Send + 'static>(
        &self,
        name: &'static str,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        let closed = |_| self.error(name, Reason::NoReply(crate::core::Failure::Closed));
        tokio::spawn(work).await.map_err(closed)?
    }
}
