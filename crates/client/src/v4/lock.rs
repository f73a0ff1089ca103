use std::sync::Arc;

use proto::nfs4::{ArgOp, Lock, LockArgs, LockType, Locker, Putfh, ResOr, StateOwner, Stateid, Status};

use super::client::{Attempts, Client};
use super::held_locks::{HeldLock, HeldLocks};
use super::open_file::{OpenFile, is_about_state};
use super::putfh;
use super::reply::Reply;
use super::request::Request;
use super::session::Session;
use crate::patience::Patience;
use crate::{Reason, Result};

/// How often one lock is asked for because the state was lost and had back.
const MAX_REPAIRS: u32 = 4;

impl OpenFile {
    /// Locks a range (RFC 7530 §16.10, RFC 8881 §18.10), or says whose lock is in the way. A lock that is granted when nobody waits
    /// any more is given back.
    pub(crate) async fn lock(self: &Arc<OpenFile>, kind: LockType, offset: u64, length: u64) -> Result<Grant> {
        let file = Arc::clone(self);
        let lock = HeldLock::new(kind, offset, length);
        let work = async move {
            let before = Some(take(&file, lock).await?);
            Ok(Grant { file, lock, before })
        };
        self.client.to_the_end("LOCK", work).await
    }

    /// Waits until a lock may be had, or a while has passed: servers need not tell (RFC 8881 §20.11).
    pub(crate) async fn wait_for_lock(&self, at_most: std::time::Duration) {
        // That the time is over is as good an end as being told.
        let _ = tokio::time::timeout(at_most, self.client.0.callbacks.lock_freed.notified()).await;
    }
}

/// A lock that was taken for somebody: it is given back unless he keeps it.
#[derive(Debug)]
pub(crate) struct Grant {
    file: Arc<OpenFile>,
    lock: HeldLock,
    /// What was locked in its place before.
    before: Option<Vec<HeldLock>>,
}

impl Grant {
    pub(crate) fn keep(mut self) {
        self.before = None;
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        let Some(before) = self.before.take() else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (file, lock) = (Arc::clone(&self.file), self.lock);
        runtime.spawn(async move {
            if let Err(error) = give_back(&file, lock, &before).await {
                tracing::warn!(%error, "a lock that nobody took stays");
            }
        });
    }
}

/// Has what was locked before again, and nothing else locked.
async fn give_back(file: &Arc<OpenFile>, lock: HeldLock, before: &[HeldLock]) -> Result<()> {
    for was in before.iter().filter(|was| was.is_exclusive() != lock.is_exclusive()) {
        take(file, *was).await?;
    }
    for gap in lock.gaps_between(before) {
        file.unlock(gap.offset, gap.length()).await?;
    }
    Ok(())
}

/// Locks a range, and tells what was locked there before.
async fn take(file: &OpenFile, wanted: HeldLock) -> Result<Vec<HeldLock>> {
    let _order = file.order.lock().await;
    let before = file.held().locks.as_ref().map(|(_, locks)| locks.within(&wanted)).unwrap_or_default();
    lock(file, wanted).await?;
    Ok(before)
}

/// Locks a range while nobody else changes the locks of the file.
async fn lock(file: &OpenFile, wanted: HeldLock) -> Result<()> {
    file.open_at_server().await?;
    let mut patience = Patience::new(file.client.0.is_hard);
    let mut repairs = 0;
    loop {
        let era = file.era();
        match lock_once(file, None, wanted, false).await {
            Err(error) if is_about_state(&error) && repairs < MAX_REPAIRS => {
                repairs += 1;
                file.repair(era, error).await?;
            }
            Err(error) if patience.allows(&error) => patience.wait().await,
            other => return other,
        }
    }
}

/// Reclaims all locks of a file that was reclaimed itself under this stateid.
pub(super) async fn relock(file: &OpenFile, session: &Arc<Session>, stateid: Stateid) -> Result<()> {
    let locks = {
        let mut held = file.held();
        held.stateid = stateid;
        held.locks.take().map(|(_, locks)| locks.to_vec()).unwrap_or_default()
    };
    for lock in locks {
        lock_once(file, Some(session), lock, true).await?;
    }
    Ok(())
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
