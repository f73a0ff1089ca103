//! Checks an open or an access for conflicts with existing opens (RFC 8881 §9.7).

use std::time::Duration;

use crate::core::Core;
use crate::ids::{OwnerId, StateKey};
use crate::nlm_share::NlmShare;
use crate::share::Share;
use crate::stateid_table::StateidStatus;
use crate::{DelegationKind, FileKey, OpenArgs, Requester, ShareAccess, State, StateError};

/// The kind of an access without an open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessKind {
    /// Reads attributes.
    Look,
    /// Reads data.
    Read,
    /// Writes data or changes the size.
    Write,
    /// Changes attributes other than the size, or names or links, or removes the file.
    Change,
}

/// Whether an access without an open may proceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessCheck {
    /// There is no conflict.
    Proceed,
    /// A delegation is being recalled: answer DELAY or JUKEBOX, or retry a little later.
    Wait,
}

impl State {
    /// Whether an access without an open may proceed: one of NFSv2, NFSv3 or a reserved stateid, or a change of names
    /// or attributes. Recalls conflicting delegations. For a file without share reservations and delegations, it takes
    /// only one shard's read lock.
    ///
    /// # Errors
    /// [`StateError::Locked`] when an open denies the access.
    pub fn conflict_check(
        &self,
        now: Duration,
        file: &FileKey,
        kind: AccessKind,
        who: Requester,
    ) -> Result<AccessCheck, StateError> {
        let guard = self.shared.guards.get(file);
        let denied = kind.access().is_some_and(|access| access.is_denied_by(guard.deny));
        if !denied && !guard.delegated.is_some_and(|delegation| kind.conflicts_with(delegation)) {
            return Ok(AccessCheck::Proceed);
        }
        let mut core = self.core();
        if denied {
            core.clear_denials(now, file, kind.access().unwrap_or_default())?;
        }
        core.recall_for_access(now, file, kind, who)
    }
}

impl AccessKind {
    /// Whether a delegation of another client excludes this access (RFC 8881 §10.4).
    pub(crate) fn conflicts_with(self, delegation: DelegationKind) -> bool {
        delegation == DelegationKind::Write || !matches!(self, AccessKind::Look | AccessKind::Read)
    }

    /// The access that a share reservation may deny; `None` for attributes and changes of names.
    fn access(self) -> Option<ShareAccess> {
        match self {
            AccessKind::Read => Some(ShareAccess::READ),
            AccessKind::Write => Some(ShareAccess::WRITE),
            AccessKind::Look | AccessKind::Change => None,
        }
    }
}

/// Whether the conflicts were cleared.
enum Cleared {
    Yes,
    Partly,
    No,
}

fn answer(cleared: Cleared, refused: StateError) -> Result<(), StateError> {
    match cleared {
        Cleared::Yes => Ok(()),
        Cleared::Partly => Err(StateError::Delay),
        Cleared::No => Err(refused),
    }
}

impl Core {
    /// Fails for an open that conflicts with others, after those of overdue clients are revoked. The owner's own opens
    /// conflict too (RFC 7530 §9.9, RFC 8881 §9.7).
    pub(crate) fn clear_share_conflicts(&mut self, now: Duration, args: &OpenArgs<'_>) -> Result<(), StateError> {
        let wanted = Share { access: args.access, deny: args.deny };
        let cleared = self.clear_shares(now, &args.file, None, |other| wanted.conflicts_with(other))?;
        answer(cleared, StateError::ShareDenied)
    }

    /// [`Core::clear_share_conflicts`] for a share of the lock protocol.
    pub(crate) fn clear_share_conflicts_of(
        &mut self,
        now: Duration,
        file: &FileKey,
        owner: OwnerId,
        share: Share,
    ) -> Result<(), StateError> {
        let cleared = self.clear_shares(now, file, Some(owner), |other| share.conflicts_with(other))?;
        answer(cleared, StateError::ShareDenied)
    }

    fn clear_denials(&mut self, now: Duration, file: &FileKey, access: ShareAccess) -> Result<(), StateError> {
        let cleared = self.clear_shares(now, file, None, |other| access.is_denied_by(other.deny))?;
        answer(cleared, StateError::Locked)
    }

    /// Revokes the conflicting opens of ended and overdue clients; ignores the share of `own_share`. Revokes nothing if
    /// a live client conflicts, and only a part if there are more than one call may revoke.
    fn clear_shares(
        &mut self,
        now: Duration,
        file: &FileKey,
        own_share: Option<OwnerId>,
        conflicts: impl Fn(Share) -> bool,
    ) -> Result<Cleared, StateError> {
        let Some(entry) = self.files.get(file) else { return Ok(Cleared::Yes) };
        let in_the_way = |share: &NlmShare| {
            Some(share.owner) != own_share && conflicts(share.share()) && !self.is_of_gone_host(share.owner)
        };
        if entry.locks.iter().flat_map(|locks| &locks.shares).any(in_the_way) {
            return Ok(Cleared::No);
        }
        let steps = self.limits().steps;
        let found: Vec<StateKey> = entry.opens.sharing(&conflicts).take(steps + 1).collect();
        if found.iter().any(|key| !self.is_clearable(now, *key)) {
            return Ok(Cleared::No);
        }
        found.iter().take(steps).try_for_each(|key| self.clear(now, *key))?;
        Ok(if found.len() <= steps { Cleared::Yes } else { Cleared::Partly })
    }

    /// Whether a state belongs to an ended or overdue client, so that it does not block others.
    pub(crate) fn is_clearable(&self, now: Duration, key: StateKey) -> bool {
        self.clients.get(&key.client()).is_none_or(|client| client.is_overdue(now, self.limits().lease))
    }

    /// Revokes such a state.
    ///
    /// An NFSv4.0 client loses all of its state. Unlike SEQUENCE, RENEW cannot report a partial loss, and there is no
    /// FREE_STATEID to acknowledge it. The client gets EXPIRED and starts again (RFC 7530 §9.6.3).
    ///
    /// # Errors
    /// When the client's record cannot be changed: until then, nobody else may get its state (RFC 8881 §8.4.3).
    pub(crate) fn clear(&mut self, now: Duration, key: StateKey) -> Result<(), StateError> {
        match self.clients.get(&key.client()) {
            Some(client) if client.is_v40() => self.expire(now, key.client(), self.limits().lease)?,
            Some(_) => return self.revoke(now, key, StateidStatus::Expired),
            None => {}
        }
        if self.clients.contains_key(&key.client()) {
            // Its lease was renewed just now.
            return Err(StateError::Delay);
        }
        self.remove_state(now, key);
        Ok(())
    }
}
