//! Recovery of locks after a restart of the server, which notifies nobody here.

use std::sync::{Arc, Weak};
use std::time::Duration;

use proto::nlm::Status as Wire;
use tokio::time::Instant;

use super::ask::LOST_PAUSE;
use super::call::{Answer, Verb};
use super::owner::LockOwner;
use crate::mount::Mounted;
use crate::v4::HeldLock;
use crate::{Mount, Result};

/// How often connections are checked for losses, which costs no call.
const LOOK_PERIOD: Duration = Duration::from_millis(200);
/// How often the server is asked whether it still has a lock: several times in the shortest grace period.
const PROBE_PERIOD: Duration = Duration::from_secs(10);
/// How often one lock is retried while the server accepts only reclaims and refuses this one.
const MAX_PROBES: u32 = 3;

/// Watches all locks of a mount until there are none. `losses` is the count of losses when the first was requested.
pub(super) fn watch(mount: &Mount, losses: u64) {
    let mounted = Arc::downgrade(&mount.0);
    tokio::spawn(async move { run(mounted, losses).await });
}

async fn run(mounted: Weak<Mounted>, losses: u64) {
    let (mut seen, mut last_probe) = (Some(losses), Instant::now());
    loop {
        tokio::time::sleep(LOOK_PERIOD).await;
        let Some(mount) = mounted.upgrade().map(Mount::of) else { return };
        let owners = mount.0.nlm.watched();
        if owners.is_empty() {
            return;
        }
        // This replaces a lost connection, since nobody else may send anything.
        if !mount.lock_link().await.is_ok_and(|link| link.connection.is_up()) {
            tokio::time::sleep(LOST_PAUSE).await;
        }
        let now = mount.lock_losses().await;
        if seen == Some(now) && last_probe.elapsed() < PROBE_PERIOD {
            continue;
        }
        last_probe = Instant::now();
        seen = match check(&owners).await {
            Ok(()) => Some(now),
            Err(error) => {
                tracing::debug!(%error, "cannot look after the locks");
                // The next round tries again.
                None
            }
        };
    }
}

/// Whether the server has a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LockAtServer {
    Held,
    Gone,
    /// It accepts only reclaims.
    Reclaims,
}

async fn look(owner: &LockOwner, lock: HeldLock) -> Result<LockAtServer> {
    Ok(match owner.ask_as_stranger(lock.as_exclusive()).await? {
        Answer::Held { svid, owner: name, .. } if owner.is_me(svid, &name) => LockAtServer::Held,
        // TEST may report any of several shared locks; a restarted server has none of them.
        Answer::Held { .. } if !lock.is_exclusive() => LockAtServer::Held,
        Answer::Status(Wire::DeniedGracePeriod) => LockAtServer::Reclaims,
        _ => LockAtServer::Gone,
    })
}

/// Tests one lock, and reclaims all if it is lost: a restart loses all of them.
async fn check(owners: &[Arc<LockOwner>]) -> Result<()> {
    let Some((owner, lock)) = owners.iter().find_map(|owner| Some((owner, *owner.locks().first()?))) else {
        return Ok(());
    };
    let found = {
        let _order = owner.order.lock().await;
        look(owner, lock).await?
    };
    // It may have been released before it was tested.
    if found == LockAtServer::Held || !owner.locks().contains(&lock) {
        return Ok(());
    }
    for owner in owners {
        reclaim(owner).await?;
    }
    Ok(())
}

/// Reclaims all locks of one owner. If one cannot be reclaimed, others may have changed the file.
async fn reclaim(owner: &LockOwner) -> Result<()> {
    let _order = owner.order.lock().await;
    for lock in owner.locks() {
        if !reclaim_one(owner, lock).await? {
            tracing::warn!(server = owner.mount.server(), "the server lost a lock, and it could not be had back");
            owner.lose(lock);
        }
    }
    Ok(())
}

async fn reclaim_one(owner: &LockOwner, lock: HeldLock) -> Result<bool> {
    for _ in 0..MAX_PROBES {
        let answer = owner.ask(Verb::Lock { reclaim: true }, lock).await?;
        if answer == Answer::Status(Wire::Granted) {
            return Ok(true);
        }
        // Servers without reclaim refuse this even for a lock that they have.
        match look(owner, lock).await? {
            LockAtServer::Held => return Ok(true),
            LockAtServer::Gone => return Ok(false),
            LockAtServer::Reclaims => {}
        }
    }
    Ok(false)
}
