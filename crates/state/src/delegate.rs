//! Delegations (RFC 8881 §10.2, §10.4): the policy of granting them, and their return.
//!
//! The policy: OPEN grants a delegation
//! - if the client can be called back and, in NFSv4.0, the owner is confirmed,
//! - for reading if no other client has the file open for writing or denies reading, for writing if no other client has
//!   it open,
//! - if no other client has a conflicting delegation, and no host of the lock protocol has locks, shares or waits on
//!   it,
//! - if none of this file was recalled within `Limits::recall_memory`, since such a file is shared,
//! - outside of the grace period, except when it is reclaimed,
//! - and if the client's origin may have another one of `Limits::delegations`.
//!
//! A file that local processes may change is delegated for reading only, under a lease of the host
//! ([`HostLeases`](crate::HostLeases)), if no client has it open for writing, and outside of reclaims.
//!
//! An open for reading gets a read delegation and any other a write delegation, unless the client states its wish.

use std::sync::Arc;
use std::time::Duration;

use crate::account::{Account, Kind};
use crate::core::Core;
use crate::delegation::Delegation;
use crate::file::{Body, StateidEntry};
use crate::ids::OwnerId;
use crate::share::Share;
use crate::stateid_table::StateidStatus;
use crate::{
    Claim, DelegationAnswer, DelegationKind, DelegationWant, FileKey, OpenArgs, Requester, ShareAccess, State,
    StateError, Stateid, StateidScope, WhyNoDelegation, WriteDelegation,
};

impl State {
    /// DELEGRETURN.
    ///
    /// # Errors
    /// Errors of the stateid; a delegation that is being recalled can be returned.
    pub fn delegreturn(
        &self,
        now: Duration,
        scope: StateidScope,
        stateid: &Stateid,
        file: &FileKey,
    ) -> Result<(), StateError> {
        let mut core = self.core();
        let key = core.find(now, scope.of(stateid), file, StateidEntry::check_delegation)?;
        core.remove_state(now, key);
        Ok(())
    }

    /// Whether a client may hold a write delegation of a file. It takes at most one shard's read lock.
    #[inline]
    pub fn may_be_delegated_for_writing(&self, file: &FileKey) -> bool {
        self.shared.guards.get(file).delegated == Some(DelegationKind::Write)
    }

    /// The write delegation of a file that another client than `who` holds, if any. Without delegations of the file, it
    /// takes only one shard's read lock.
    pub fn write_delegation(&self, file: &FileKey, who: Requester) -> Option<WriteDelegation> {
        if !self.may_be_delegated_for_writing(file) {
            return None;
        }
        let core = self.core();
        core.files.get(file)?.delegations.iter().find_map(|key| {
            let delegation = core.states.get(key)?.delegation()?;
            let client = core.clients.get(&key.client())?.id;
            let foreign = who != Requester::Client(client) && delegation.kind == DelegationKind::Write;
            foreign.then(|| WriteDelegation {
                client,
                stateid: core.stateid(*key),
                handle: delegation.handle.clone(),
                change: delegation.change,
            })
        })
    }

    /// Whether a delegation was recalled and is neither returned nor revoked yet.
    pub fn is_recalled(&self, stateid: &Stateid) -> bool {
        let core = self.core();
        let held = core.states.get(&stateid.key()).filter(|held| held.status.holds());
        held.and_then(StateidEntry::delegation).is_some_and(|delegation| delegation.recalled.is_some())
    }
}

impl Core {
    /// Whether the stateid is the client's delegation of this file and permits the access.
    pub(crate) fn check_delegate_current(&self, stateid: &Stateid, args: &OpenArgs<'_>) -> Result<(), StateError> {
        let key = self.shared.locate(StateidScope::V41(args.client), stateid)?;
        let held = self.states.get(&key).ok_or(StateError::BadStateid)?;
        held.status.check()?;
        match held.delegation() {
            Some(delegation) if *held.file == args.file => match delegation.kind {
                DelegationKind::Read if args.access.writes() => Err(StateError::BadStateid),
                _ => Ok(()),
            },
            _ => Err(StateError::BadStateid),
        }
    }

    /// Grants a delegation with an open, or returns the reason why not.
    pub(crate) fn delegate(&mut self, now: Duration, args: &OpenArgs<'_>) -> DelegationAnswer {
        let kind = match (args.claim, args.want) {
            (Claim::Previous(reclaimed), _) => return self.reclaim_delegation(args, reclaimed),
            (_, DelegationWant::None) => return DelegationAnswer::Refused(WhyNoDelegation::NotWanted),
            (_, DelegationWant::Cancel) => return DelegationAnswer::Refused(WhyNoDelegation::Cancelled),
            (Claim::DelegateCurrent(_), _) => return DelegationAnswer::None,
            (_, DelegationWant::Read) => DelegationKind::Read,
            (_, DelegationWant::Write) => DelegationKind::Write,
            _ if args.access.writes() => DelegationKind::Write,
            _ => DelegationKind::Read,
        };
        let refused = match self.may_delegate(now, args, kind).and_then(|()| self.lease_if_needed(args)) {
            Ok(()) => return self.new_delegation(args, kind),
            Err(why) => why,
        };
        match args.want {
            DelegationWant::NoPreference => DelegationAnswer::None,
            _ => DelegationAnswer::Refused(refused),
        }
    }

    /// Checks the policy above.
    fn may_delegate(&self, now: Duration, args: &OpenArgs<'_>, kind: DelegationKind) -> Result<(), WhyNoDelegation> {
        if args.leased && kind == DelegationKind::Write {
            return Err(WhyNoDelegation::WriteNotSupported);
        }
        let client = args.client.number();
        let has_room = self.account_of(client).is_ok_and(|account| account.has_room(Kind::Delegation, 1));
        if !has_room || !self.can_call_back(client) {
            return Err(WhyNoDelegation::Resource);
        }
        let Some(file) = self.files.get(&args.file) else { return Err(WhyNoDelegation::Contention) };
        let is_against = |share: Share| {
            kind == DelegationKind::Write || share.access.writes() || ShareAccess::READ.is_denied_by(share.deny)
        };
        let own_writes = args.leased && file.opens.sharing(|share| share.access.writes()).any(|key| self.holds(key));
        let open_against = file.opens.of_others(client, is_against).any(|key| self.holds(key));
        let delegated = file.delegations.iter().filter_map(|key| Some((key, self.states.get(key)?.delegation()?)));
        let delegated_against = delegated.into_iter().any(|(key, delegation)| {
            // A client holds at most one delegation of a file.
            key.client() == client || kind.max(delegation.kind) == DelegationKind::Write
        });
        let nlm = file.locks.as_ref().is_some_and(|locks| locks.is_used_by_nlm());
        let contended = self.recalls.is_recent(&args.file, now, self.limits().recall_memory);
        match open_against || own_writes || delegated_against || nlm || contended {
            true => Err(WhyNoDelegation::Contention),
            false => Ok(()),
        }
    }

    /// Leases the file if the delegation needs that.
    fn lease_if_needed(&mut self, args: &OpenArgs<'_>) -> Result<(), WhyNoDelegation> {
        if !args.leased {
            return Ok(());
        }
        let has_room = self.account_of(args.client.number()).is_ok_and(|account| account.has_room(Kind::Lease, 1));
        if has_room && self.lease(&args.file) { Ok(()) } else { Err(WhyNoDelegation::Resource) }
    }

    /// Reclaims a delegation from before the restart (RFC 8881 §10.2.1). The previous boot granted no conflicting ones,
    /// but clients may err, so reclaimed ones are checked. One that needs a lease is not granted: local processes may
    /// have changed the file meanwhile.
    fn reclaim_delegation(&mut self, args: &OpenArgs<'_>, kind: Option<DelegationKind>) -> DelegationAnswer {
        let client = args.client.number();
        let Some(kind) = kind else { return DelegationAnswer::None };
        let Some(file) = self.files.get(&args.file) else { return DelegationAnswer::None };
        let free = !args.leased
            && file.delegations.iter().all(|key| {
                let other = self.states.get(key).and_then(StateidEntry::delegation);
                key.client() != client && other.is_none_or(|other| other.kind.max(kind) == DelegationKind::Read)
            });
        if free { self.new_delegation(args, kind) } else { DelegationAnswer::None }
    }

    fn new_delegation(&mut self, args: &OpenArgs<'_>, kind: DelegationKind) -> DelegationAnswer {
        let account = self.account_of(args.client.number());
        let lease = |account: &Arc<Account>| account.take(Kind::Lease).map(Some);
        let charges = account.and_then(|account| {
            Ok((account.take(Kind::Delegation)?, if args.leased { lease(account)? } else { None }))
        });
        let Ok((charge, lease)) = charges else { return DelegationAnswer::None };
        let Ok(key) = self.new_key(args.client.number()) else { return DelegationAnswer::None };
        let file = self.file_entry(&args.file);
        let body = Body::Delegation(Delegation {
            kind,
            handle: (args.handle)(),
            recalled: None,
            change: args.change,
            _lease: lease,
        });
        let (owner, status) = (OwnerId::NOBODY, StateidStatus::Valid);
        self.states
            .insert(key, StateidEntry { owner, file: Arc::clone(&file), seqid: 1, status, body, _charge: charge });
        if let Some(file) = self.files.get_mut(&file) {
            file.delegations.push(key);
        }
        self.publish(key);
        self.settle(&args.file);
        DelegationAnswer::Granted { stateid: self.stateid(key), kind }
    }
}
