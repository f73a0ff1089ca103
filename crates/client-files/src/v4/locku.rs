use std::sync::Arc;

use client_calls::v4::{Request, putfh};
use proto::nfs4::{ArgOp, LockType, Locku, LockuArgs, Putfh, Res, Stateid};

use super::held_locks::HeldLock;
use super::open_file::{Held, OpenFile};
use super::verdicts::is_about_state;
use crate::Result;
use crate::grant::LockHolder;

/// How often one unlock is retried after its state was lost and recovered.
const MAX_REPAIRS: u32 = 4;

impl OpenFile {
    /// Unlocks a range (RFC 7530 §16.12, RFC 8881 §18.12). Unlocked parts stay unlocked.
    pub(crate) async fn unlock(self: &Arc<OpenFile>, offset: u64, length: u64) -> Result<()> {
        let file = Arc::clone(self);
        let range = HeldLock::new(LockType::Write, offset, length);
        let work = async move { file.release(range).await };
        self.client.connection().to_the_end("LOCKU", work).await
    }
}

/// Unlocks everything.
pub(super) async fn unlock_all(file: &OpenFile) -> Result<()> {
    let is_locked = file.held().locks.as_ref().is_some_and(|(_, locks)| !locks.is_empty());
    if is_locked { unlock(file, HeldLock::new(LockType::Write, 0, u64::MAX)).await } else { Ok(()) }
}

/// Unlocks a range, and retries after the server lost the state and it was recovered. If recovery fails, nothing is
/// locked any more.
///
/// A range whose unlock is unconfirmed is not reclaimed after a restart of the server: others may have locked it by
/// then, and would lose their lock.
pub(super) async fn unlock(file: &OpenFile, range: HeldLock) -> Result<()> {
    {
        // While locks are reclaimed they are in no list.
        let _recovery = file.client.0.recovery.lock().await;
        if let Some((_, locks)) = &mut file.held().locks {
            locks.begin_to_remove(range);
        }
    }
    let mut repairs = 0;
    let mut patience = file.client.patience();
    loop {
        let era = file.era();
        match unlock_once(file, range).await {
            Err(error) if is_about_state(&error) && repairs < MAX_REPAIRS => {
                repairs += 1;
                if Box::pin(file.repair(era)).await.is_err() {
                    file.held().locks = None;
                    return Ok(());
                }
            }
            Err(error) if patience.allows(&error) => patience.wait().await,
            other => return other,
        }
    }
}

/// Unlocks once. If the state was replaced meanwhile, the range may be locked under the new one, and is unlocked there
/// too.
async fn unlock_once(file: &OpenFile, range: HeldLock) -> Result<()> {
    loop {
        let Some((arguments, era)) = arguments(file, range) else { return Ok(()) };
        let operations = [putfh(&file.handle), ArgOp::Locku(arguments)];
        let reply = file.client.call(&Request::changing("LOCKU", &operations)).await?;
        let mut results = reply.results();
        results.ok::<Putfh, _>()?;
        let result = results.next::<Locku>()?;
        let is_over = unlocked(&mut file.held(), era, range, &result);
        match result {
            Res::Ok(_) if !is_over => {}
            Res::Ok(_) => return Ok(()),
            Res::Fail(status) => return Err(reply.refusal(status)),
        }
    }
}

/// The arguments and the era of the state; `None` when nothing is locked.
fn arguments(file: &OpenFile, range: HeldLock) -> Option<(LockuArgs, u32)> {
    let held = file.held();
    let (Some(owner), Some((stateid, _))) = (&held.owner, &held.locks) else { return None };
    let (stateid, seqid) = (file.newest(*stateid), owner.lock_seqid);
    let (offset, length) = (range.offset, range.length());
    Some((LockuArgs { lock_type: range.kind, seqid, stateid, offset, length }, held.era))
}

/// Records the result of an unlock; `false` if the state was replaced meanwhile, which the result says nothing about.
fn unlocked(held: &mut Held, era: u32, range: HeldLock, result: &Res<Stateid>) -> bool {
    if held.era != era {
        return false;
    }
    let is_used = match result {
        Res::Ok(_) => true,
        Res::Fail(status) => status.uses_seqid(),
    };
    if let Some(owner) = &mut held.owner {
        owner.lock_seqid = owner.lock_seqid.wrapping_add(u32::from(is_used));
    }
    if let (Res::Ok(stateid), Some(locks)) = (result, &mut held.locks) {
        locks.0 = *stateid;
        locks.1.remove(&range);
    }
    true
}
