use std::sync::Arc;

use client_calls::v4::{Reply, Request, putfh};
use proto::nfs4::{ArgOp, Lock, LockArgs, LockType, Locker, Putfh, ResOr, StateOwner, Stateid, Status};

use super::client::Attempts;
use super::held_locks::{HeldLock, HeldLocks};
use super::lockt::locked;
use super::locku::unlock;
use super::open_file::{Held, OpenFile};
use super::owner::Name;
use super::session::Session;
use super::verdicts::{decides_nothing, is_about_state};
use crate::grant::{self, Grant, LockHolder};
use crate::{Connection, Reason, Result};

/// How often one lock is retried after its state was lost and recovered.
const MAX_REPAIRS: u32 = 4;

impl OpenFile {
    /// Locks a range (RFC 7530 §16.10, RFC 8881 §18.10), or fails with the range of the conflicting lock.
    pub(crate) async fn lock(
        self: &Arc<OpenFile>,
        kind: LockType,
        offset: u64,
        length: u64,
    ) -> Result<Grant<OpenFile>> {
        grant::try_lock(self, HeldLock::new(kind, offset, length)).await
    }

    /// Waits until a lock may be free, or for `at_most`: servers need not report it (RFC 8881 §20.11).
    pub(crate) async fn wait_for_lock(&self, at_most: std::time::Duration) {
        // A timeout serves as well as a report.
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
                    Box::pin(self.repair(era)).await?;
                }
                Err(error) if patience.allows(&error) && !is_over() => {
                    // The state was valid, and may be lost again during a grace period.
                    repairs = 0;
                    patience.wait().await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn release(self: &Arc<Self>, range: HeldLock) -> Result<()> {
        let _order = self.order.lock().await;
        let unlocked = unlock(self, range).await;
        // The caller who releases a lost lock knows that it is lost.
        self.held().lost.remove(&range);
        unlocked
    }

    fn connection(&self) -> &Connection {
        self.client.connection()
    }
}

/// Reclaims all locks of a file that was itself reclaimed under `stateid`. Locks that cannot be reclaimed are lost.
///
/// # Errors
/// When the session is lost again or no reply arrives; then the next session reclaims the rest.
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

/// Reclaims one lock, and retries while the server puts that off.
async fn relock_one(file: &OpenFile, session: &Arc<Session>, lock: HeldLock) -> Result<()> {
    let mut patience = file.client.patience();
    loop {
        match lock_once(file, Some(session), lock, true).await {
            Err(error) if patience.allows(&error) => patience.wait().await,
            other => return other,
        }
    }
}

/// Locks a range in `session`, or in the current one. It repeats a lock that was granted under a state replaced
/// meanwhile, since that lock is no longer held.
async fn lock_once(file: &OpenFile, session: Option<&Arc<Session>>, wanted: HeldLock, reclaim: bool) -> Result<()> {
    let mut attempts = Attempts::default();
    loop {
        let (asker, reply) = ask(file, session, wanted, reclaim, &mut attempts).await?;
        let mut results = reply.results();
        results.ok::<Putfh, _>()?;
        match results.next::<Lock>()? {
            ResOr::Ok(ok) if granted(file, &asker, ok.stateid, wanted) => return Ok(()),
            ResOr::Ok(_) => {}
            ResOr::Explained(denied) => {
                used_seqids(&mut file.held(), &asker, Status::Denied);
                return Err(reply.error(locked(&denied)));
            }
            ResOr::Fail(status) => {
                used_seqids(&mut file.held(), &asker, status);
                return Err(reply.refusal(status));
            }
        }
    }
}

/// Sends one LOCK.
async fn ask(
    file: &OpenFile,
    session: Option<&Arc<Session>>,
    wanted: HeldLock,
    reclaim: bool,
    attempts: &mut Attempts,
) -> Result<(Asker, Reply)> {
    let client = &file.client;
    loop {
        let now = session.map_or_else(|| client.session(), Arc::clone);
        let Some(asker) = Asker::of(file) else { return Err(client.error("LOCK", Reason::StateLost)) };
        let owner = StateOwner { client: now.client, owner: asker.name.as_bytes() };
        let (offset, length) = (wanted.offset, wanted.length());
        let locker = asker.locker(owner);
        let arguments = LockArgs { lock_type: wanted.kind, reclaim, offset, length, locker };
        let operations = [putfh(&file.handle), ArgOp::Lock(arguments)];
        match client.attempt(&now, &Request::changing("LOCK", &operations)).await? {
            Ok(reply) => return Ok((asker, reply)),
            Err(trouble) if session.is_some() => attempts.mend_in(client, &now, trouble).await?,
            Err(trouble) => attempts.mend(client, &now, trouble).await?,
        }
    }
}

/// The owner who requests a lock, and under which state.
struct Asker {
    /// The era of the state. The reply says nothing about a later era.
    era: u32,
    name: Name,
    stateid: Stateid,
    /// The sequence number of the open owner, if `stateid` is that of the open.
    open_seqid: Option<u32>,
    lock_seqid: u32,
}

impl Asker {
    /// `None` when the file is closed.
    fn of(file: &OpenFile) -> Option<Asker> {
        let held = file.held();
        let owner = held.owner.as_ref()?;
        let (stateid, open_seqid) = match &held.locks {
            Some((stateid, _)) => (*stateid, None),
            None => (held.stateid, Some(owner.open_seqid)),
        };
        let (name, lock_seqid) = (owner.lock_name(), owner.lock_seqid);
        Some(Asker { era: held.era, name, stateid: file.newest(stateid), open_seqid, lock_seqid })
    }

    fn locker<'a>(&self, owner: StateOwner<'a>) -> Locker<'a> {
        let (stateid, lock_seqid) = (self.stateid, self.lock_seqid);
        match self.open_seqid {
            Some(open_seqid) => Locker::New { open_seqid, open_stateid: stateid, lock_seqid, owner },
            None => Locker::Existing { lock_stateid: stateid, lock_seqid },
        }
    }
}

/// Records a lock, if it was granted under the state that the file still has.
fn granted(file: &OpenFile, asker: &Asker, stateid: Stateid, lock: HeldLock) -> bool {
    let held = &mut *file.held();
    if held.era != asker.era {
        return false;
    }
    used_seqids(held, asker, Status::Ok);
    let locks = held.locks.get_or_insert_with(|| (stateid, HeldLocks::default()));
    locks.0 = stateid;
    locks.1.insert(lock);
    true
}

/// Advances the sequence numbers that a LOCK used; a first LOCK also uses that of the open owner (RFC 7530 §16.10.5).
/// Numbers of an earlier era do not count any more: the lease may have expired since, and the server may know the owner
/// again.
fn used_seqids(held: &mut Held, asker: &Asker, status: Status) {
    if held.era != asker.era || !status.uses_seqid() {
        return;
    }
    if let Some(owner) = &mut held.owner {
        owner.open_seqid = owner.open_seqid.wrapping_add(u32::from(asker.open_seqid.is_some()));
        owner.lock_seqid = owner.lock_seqid.wrapping_add(1);
    }
}
