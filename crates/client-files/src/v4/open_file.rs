use std::sync::Arc;

use proto::nfs4::Stateid;

use super::client::Client;
use super::delegations::Delegation;
use super::held_locks::HeldLocks;
use super::opening::{Opening, Share, Target};
use super::opens::Excluding;
use super::owner::Owner;
use crate::losses::{Guard, Kept, Losable};
use crate::{Handle, Reason, Result};

/// An open file. Dropping it closes it, unless it is closed already.
#[derive(Debug)]
pub(crate) struct OpenFile {
    pub(super) client: Client,
    pub(super) handle: Handle,
    /// How it was found; 4.0 needs it to reopen the file.
    pub(super) target: Target,
    pub(super) share: Share,
    number: u64,
    held: Kept<Held>,
    /// Locked by whoever changes the state, one change at a time.
    pub(super) order: tokio::sync::Mutex<()>,
    _excluding: Option<Excluding>,
}

/// The state that the server granted.
#[derive(Debug)]
pub(super) struct Held {
    /// `None` once the file is closed.
    pub(super) owner: Option<Owner>,
    pub(super) stateid: Stateid,
    /// The locks and their stateid, when there are any.
    pub(super) locks: Option<(Stateid, HeldLocks)>,
    /// Locks that were lost for good and not released since.
    pub(super) lost: HeldLocks,
    /// How often the whole state was replaced.
    pub(super) era: u32,
    /// Whether the open was lost for good.
    pub(super) is_lost: bool,
    /// Whether the server forgot the open, so that it is reopened and never reclaimed.
    pub(super) is_forgotten: bool,
    /// Whether a delegation alone keeps it open, with its stateid: the server knows no open.
    pub(super) is_delegated: bool,
}

impl Held {
    fn new(owner: Owner, stateid: Stateid) -> Held {
        Held {
            owner: Some(owner),
            stateid,
            locks: None,
            lost: HeldLocks::default(),
            era: 0,
            is_lost: false,
            is_forgotten: false,
            is_delegated: false,
        }
    }
}

impl OpenFile {
    pub(super) fn new(
        client: Client,
        handle: Handle,
        opening: &Opening,
        owner: Owner,
        stateid: Stateid,
    ) -> Arc<OpenFile> {
        OpenFile::make(client, handle, opening, owner.number(), Held::new(owner, stateid))
    }

    /// A file that a delegation alone keeps open.
    pub(super) fn delegated(client: Client, delegation: &Delegation, opening: &Opening, owner: Owner) -> Arc<OpenFile> {
        let (number, held) = (owner.number(), Held::new(owner, delegation.stateid));
        OpenFile::make(client, delegation.handle, opening, number, Held { is_delegated: true, ..held })
    }

    fn make(client: Client, handle: Handle, opening: &Opening, number: u64, held: Held) -> Arc<OpenFile> {
        let (target, share) = (opening.target.clone(), opening.share);
        let (held, order) = (Kept::new(held), tokio::sync::Mutex::new(()));
        let _excluding = client.0.opens.exclude(share);
        let file = Arc::new(OpenFile { client, handle, target, share, number, held, order, _excluding });
        file.client.0.opens.insert(number, &file);
        file
    }

    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(super) fn held(&self) -> Guard<'_, Held> {
        self.held.lock()
    }

    /// The stateid for READ and WRITE, and its era: that of the newest lock, or of the open if there are no locks.
    pub(crate) fn stateid(&self) -> Result<(Stateid, u32)> {
        self.check_kept("OPEN")?;
        let held = self.held();
        let newest = held.locks.as_ref().map_or(held.stateid, |(stateid, _)| *stateid);
        Ok((self.newest(newest), held.era))
    }

    /// Whether anything is locked, or granted state is lost.
    pub(crate) fn has_locks(&self) -> bool {
        let held = self.held();
        let has_some = held.locks.as_ref().is_some_and(|(_, locks)| !locks.is_empty());
        has_some || held.has_losses()
    }

    /// Fails while the open or a lock is lost.
    pub(crate) fn check_kept(&self, operation: &'static str) -> Result<()> {
        if self.held.has_losses() { Err(self.client.error(operation, Reason::StateLost)) } else { Ok(()) }
    }

    /// A stateid as requests carry it: from 4.1 on without its sequence number, which concurrent changes would make old
    /// (RFC 8881 §8.2.2).
    pub(super) fn newest(&self, stateid: Stateid) -> Stateid {
        if self.client.minor_version().has_sessions() { Stateid { seqid: 0, ..stateid } } else { stateid }
    }

    pub(super) fn era(&self) -> u32 {
        self.held().era
    }

    /// Waits until nobody is changing the state.
    pub(crate) async fn settled(&self) {
        drop(self.order.lock().await);
    }

    /// Takes what CLOSE needs; `None` if the server need not be told. From then on the file is closed.
    pub(super) fn take_owner(&self) -> Option<(Owner, Stateid)> {
        let mut held = self.held();
        let owner = held.owner.take()?;
        self.client.0.opens.remove(self.number);
        if held.is_delegated {
            self.client.0.opens.give_back(owner);
            return None;
        }
        Some((owner, self.newest(held.stateid)))
    }

    /// Whether this delegation alone keeps it open.
    pub(super) fn is_open_by(&self, delegation: Stateid) -> bool {
        let held = self.held();
        held.is_delegated && held.stateid.other == delegation.other
    }

    /// Records that the server forgot the file, which loses its locks. Others may have taken them since. So a later
    /// restart does not reclaim them, although the server would accept that (RFC 8881 §8.4.3).
    pub(super) fn forget(&self) {
        let mut held = self.held();
        held.is_forgotten = true;
        held.lose_locks();
    }
}

impl Losable for Held {
    fn has_losses(&self) -> bool {
        self.is_lost || !self.lost.is_empty()
    }
}

impl Held {
    pub(super) fn lose_locks(&mut self) {
        let had = self.locks.take().map(|(_, locks)| locks.to_vec()).unwrap_or_default();
        had.into_iter().for_each(|lock| self.lost.insert(lock));
    }
}
