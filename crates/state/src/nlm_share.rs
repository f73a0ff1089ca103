//! Shares of the lock protocol (NLM_SHARE, NLM_UNSHARE): whole-file reservations of DOS clients, which conflict with
//! opens as opens do with each other.

use std::sync::Arc;
use std::time::Duration;

use crate::account::{Charge, Kind};
use crate::core::Core;
use crate::host_locks::NLM_WORKER;
use crate::ids::OwnerId;
use crate::owner::OwnerKind;
use crate::share::Share;
use crate::{FileKey, Origin, ShareAccess, ShareDeny, State, StateError};

/// A share of one owner in one file.
#[derive(Debug)]
pub(crate) struct NlmShare {
    pub owner: OwnerId,
    pub access: ShareAccess,
    pub deny: ShareDeny,
    _charge: Charge,
}

/// The arguments of NLM_SHARE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NlmShareArgs<'a> {
    /// The host's name.
    pub host: &'a [u8],
    /// The origin of the host.
    pub origin: Origin,
    /// The owner's handle.
    pub owner: &'a [u8],
    /// The file.
    pub file: FileKey,
    /// The owner's access; `None` is possible.
    pub access: Option<ShareAccess>,
    /// The accesses denied to others.
    pub deny: ShareDeny,
    /// Whether the host held the share before the server restarted.
    pub reclaim: bool,
}

impl NlmShare {
    pub(crate) fn share(&self) -> Share {
        Share { access: self.access, deny: self.deny }
    }
}

impl NlmShareArgs<'_> {
    fn share(&self) -> Share {
        Share { access: self.access.unwrap_or_default(), deny: self.deny }
    }
}

impl State {
    /// NLM_SHARE: reserves a file, and replaces the owner's earlier share.
    ///
    /// # Errors
    /// [`StateError::ShareDenied`], `Grace`, `NoGrace`, `ReclaimBad`, `Delay` during a recall, `Resource`, `Records`.
    pub fn nlm_share(&self, now: Duration, args: &NlmShareArgs<'_>) -> Result<(), StateError> {
        self.with_room(
            now,
            |_| Some(args.origin),
            |core| {
                let answer = core.nlm_share(now, args);
                core.settle(&args.file);
                answer
            },
        )
    }

    /// NLM_UNSHARE. Removing a share that does not exist succeeds.
    pub fn nlm_unshare(&self, host: &[u8], owner: &[u8], file: &FileKey) {
        let mut core = self.core();
        let Some(owner) = core.nlm_host_owner(host, owner) else { return };
        core.drop_nlm_share(owner, file);
    }
}

impl Core {
    fn nlm_host_owner(&self, host: &[u8], owner: &[u8]) -> Option<OwnerId> {
        self.owners.find(OwnerKind::Nlm, self.nlm.number(host)?, owner)
    }

    /// Removes the share of an owner in a file, if it has one.
    pub(crate) fn drop_nlm_share(&mut self, owner: OwnerId, file: &FileKey) {
        if let Some(locks) = self.locks_mut(file) {
            locks.shares.retain(|share| share.owner != owner);
        }
        self.forget_nlm_file(owner, file);
        self.settle(file);
    }

    fn nlm_share(&mut self, now: Duration, args: &NlmShareArgs<'_>) -> Result<(), StateError> {
        self.check_nlm_grace(now, args.host, args.reclaim)?;
        if !args.reclaim {
            let access = args.share().access;
            let exclusive = access.writes() || ShareAccess::READ.is_denied_by(args.deny);
            self.recall_for_lock(now, &args.file, exclusive)?;
        }
        let owner = self.new_nlm_owner(now, args.host, args.origin, args.owner)?;
        let shared = self.take_share(now, args, owner);
        self.forget_nlm_file(owner, &args.file);
        shared
    }

    fn take_share(&mut self, now: Duration, args: &NlmShareArgs<'_>, owner: OwnerId) -> Result<(), StateError> {
        let Share { access, deny } = args.share();
        self.clear_share_conflicts_of(now, &args.file, owner, args.share())?;
        self.record_nlm_host(args.host, args.reclaim);
        let file = self.file_entry(&args.file);
        let limit = self.limits().nlm_shares_per_file;
        let account = Arc::clone(self.account_of_owner(owner)?);
        let locks = self.locks_mut(&file).ok_or(StateError::Resource)?;
        if let Some(own) = locks.shares.iter_mut().find(|share| share.owner == owner) {
            (own.access, own.deny) = (access, deny);
            return Ok(());
        }
        if locks.shares.len() >= limit {
            return Err(StateError::Resource);
        }
        locks.shares.push(NlmShare { owner, access, deny, _charge: account.take(Kind::NlmShare)? });
        // Whoever shares a file that is gone finds out with the next use of its handle.
        let _ = self.hold(&file, &account, NLM_WORKER);
        self.note_nlm_file(owner, &file);
        Ok(())
    }
}
