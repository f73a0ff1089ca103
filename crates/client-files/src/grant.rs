//! Requests locks in the background, so that a cancelled caller leaves no lock behind.

use std::sync::Arc;

use client_calls::core::Failure;
use tokio::sync::oneshot;

use crate::v4::HeldLock;
use crate::{Connection, Reason, Result};

/// The holder of the locks of one open file.
pub(crate) trait LockHolder: Send + Sync + 'static {
    /// Takes a lock if it is free now. Returns the locks that it replaced. Retries during the server's grace period end
    /// once `is_over`.
    fn take(
        self: &Arc<Self>,
        wanted: HeldLock,
        is_over: impl Fn() -> bool + Send + Sync,
    ) -> impl Future<Output = Result<Vec<HeldLock>>> + Send;

    /// Unlocks a range. Bytes without a lock stay unlocked.
    fn release(self: &Arc<Self>, range: HeldLock) -> impl Future<Output = Result<()>> + Send;

    /// A connection to the server.
    fn connection(&self) -> &Connection;
}

/// Locks a range unless another owner's lock conflicts. A lock granted after the caller is gone is released.
pub(crate) async fn try_lock<H: LockHolder>(holder: &Arc<H>, wanted: HeldLock) -> Result<Grant<H>> {
    let (sender, receiver) = oneshot::channel();
    let owner = Arc::clone(holder);
    // Boxed, since a task's future is moved several times before it is polled.
    tokio::spawn(Box::pin(async move {
        if !sender.is_closed() {
            let taken = owner.take(wanted, || sender.is_closed()).await;
            let grant = taken.map(|before| Grant { holder: owner, lock: wanted, before: Some(before) });
            // Dropping a grant that cannot be delivered releases the lock.
            drop(sender.send(grant));
        }
    }));
    let closed = |_| holder.connection().error("LOCK", Reason::NoReply(Failure::Closed));
    receiver.await.map_err(closed)?
}

/// A granted lock. Unless it is kept, dropping it releases the lock.
pub(crate) struct Grant<H: LockHolder> {
    holder: Arc<H>,
    lock: HeldLock,
    before: Option<Vec<HeldLock>>,
}

impl<H: LockHolder> Grant<H> {
    pub(crate) fn keep(mut self) {
        self.before = None;
    }
}

impl<H: LockHolder> Drop for Grant<H> {
    fn drop(&mut self) {
        let Some(before) = self.before.take() else { return };
        let (holder, lock) = (Arc::clone(&self.holder), self.lock);
        self.holder.connection().spawn(async move { give_back(&holder, lock, before).await });
    }
}

/// Releases a lock that nobody wants, and restores the locks that it replaced.
async fn give_back<H: LockHolder>(holder: &Arc<H>, lock: HeldLock, before: Vec<HeldLock>) {
    let kept = before.iter().copied().filter(|held| held.kind != lock.kind);
    for was in kept {
        if let Err(error) = holder.take(was, || false).await {
            tracing::warn!(%error, "a lock stays as it was asked for");
        }
    }
    for gap in lock.gaps_between(&before) {
        if let Err(error) = holder.release(gap).await {
            tracing::warn!(%error, "a lock that nobody took stays");
        }
    }
}
