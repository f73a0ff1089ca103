//! OPEN (RFC 8881 §18.16, RFC 7530 §16.16): share reservations, upgrades and reclaims.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::account::Kind;
use crate::core::Core;
use crate::file::{Body, Open, StateidEntry};
use crate::ids::{OwnerId, StateKey};
use crate::owner::OwnerKind;
use crate::share::{Share, SharesSeen};
use crate::stateid_table::StateidStatus;
use crate::{
    ClientId, DelegationAnswer, DelegationKind, DelegationWant, FileKey, ShareAccess, ShareDeny, State, StateError,
    Stateid,
};

/// The claim of an OPEN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// A new open: CLAIM_NULL and CLAIM_FH.
    New,
    /// An open from before the server's restart: CLAIM_PREVIOUS, with the delegation that was held.
    Previous(Option<DelegationKind>),
    /// Under a delegation that the client holds: CLAIM_DELEGATE_CUR and CLAIM_DELEG_CUR_FH.
    DelegateCurrent(Stateid),
    /// Under a delegation from before the client restarted: CLAIM_DELEGATE_PREV and CLAIM_DELEG_PREV_FH.
    DelegatePrevious,
}

/// The arguments of OPEN, once the file is resolved.
#[derive(Clone, Copy)]
pub struct OpenArgs<'a> {
    /// The client.
    pub client: ClientId,
    /// The open owner's name.
    pub owner: &'a [u8],
    /// The file.
    pub file: FileKey,
    /// The access of the open.
    pub access: ShareAccess,
    /// The accesses denied to others.
    pub deny: ShareDeny,
    /// The claim.
    pub claim: Claim,
    /// The client's wish for a delegation.
    pub want: DelegationWant,
    /// Whether a delegation needs a lease of the host, because local processes may change the file.
    pub leased: bool,
    /// The file's change attribute, to store in a write delegation.
    pub change: u64,
    /// The number of the thread, for [`HostLeases::hold`](crate::HostLeases::hold).
    pub worker: usize,
    /// Makes the file's handle as the client knows it, to send in a recall.
    pub handle: &'a dyn Fn() -> Box<[u8]>,
}

/// The result of OPEN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opened {
    /// The open.
    pub stateid: Stateid,
    /// Whether OPEN_CONFIRM must follow (NFSv4.0).
    pub confirm: bool,
    /// The delegation, or the reason why there is none.
    pub delegation: DelegationAnswer,
}

impl State {
    /// Whether an OPEN that creates a file may proceed. Call it before the file is created, so that a refused open
    /// leaves no file behind.
    ///
    /// # Errors
    /// As [`State::open`] for a file that no other client has open.
    pub fn may_open(&self, now: Duration, client: ClientId, claim: Claim) -> Result<(), StateError> {
        self.with_room_for(now, client, |core| {
            core.live_client(now, client)?;
            core.check_grace(now, client, matches!(claim, Claim::Previous(_)))?;
            core.room_for_open(client)
        })
    }

    /// OPEN: grants the access, or extends the access of an owner that already has the file open.
    ///
    /// # Errors
    /// [`StateError::ShareDenied`]; `Delay` during a recall; `Grace`, `NoGrace`, `ReclaimBad` and `ReclaimConflict` for
    /// reclaims; `Stale` if the file was removed meanwhile; `StaleClientid`, `Expired`, `Resource`, and errors of a
    /// delegation's stateid.
    pub fn open(&self, now: Duration, args: &OpenArgs<'_>) -> Result<Opened, StateError> {
        self.with_room_for(now, args.client, |core| core.open(now, args))
    }

    /// Whether the client has an open or a delegation of the file.
    pub fn has_open(&self, client: ClientId, file: &FileKey) -> bool {
        let core = self.core();
        core.files.get(file).is_some_and(|file| {
            let number = client.number();
            file.opens.has_client(number) || file.delegations.iter().any(|key| key.client() == number)
        })
    }
}

impl Core {
    pub(crate) fn room_for_open(&self, client: ClientId) -> Result<(), StateError> {
        if self.account_of(client.number())?.has_room(Kind::Open, 1) { Ok(()) } else { Err(StateError::Resource) }
    }

    /// Fails unless the client may open files now, with this claim.
    pub(crate) fn check_open(&mut self, now: Duration, args: &OpenArgs<'_>) -> Result<(), StateError> {
        self.live_client(now, args.client)?;
        self.check_grace(now, args.client, matches!(args.claim, Claim::Previous(_)))?;
        self.check_claim(args)
    }

    pub(crate) fn open(&mut self, now: Duration, args: &OpenArgs<'_>) -> Result<Opened, StateError> {
        self.check_open(now, args)?;
        let owner = self.owner(now, OwnerKind::Open, args.client.number(), args.owner)?;
        let answer = self.open_as(now, args, owner);
        self.settle(&args.file);
        self.release_owner(owner);
        answer
    }

    fn check_claim(&self, args: &OpenArgs<'_>) -> Result<(), StateError> {
        match args.claim {
            Claim::New | Claim::Previous(_) => Ok(()),
            // Delegations do not survive a restart of their client on this server.
            Claim::DelegatePrevious => Err(StateError::NotSupp),
            Claim::DelegateCurrent(stateid) => self.check_delegate_current(&stateid, args),
        }
    }

    fn open_as(&mut self, now: Duration, args: &OpenArgs<'_>, owner: OwnerId) -> Result<Opened, StateError> {
        let existing = self.open_of(owner, &args.file);
        if existing.is_none() {
            self.room_for_open(args.client)?;
        }
        let reclaim = matches!(args.claim, Claim::Previous(_));
        match self.clear_share_conflicts(now, args) {
            Err(StateError::ShareDenied) if reclaim => return Err(StateError::ReclaimConflict),
            other => other?,
        }
        if !reclaim {
            self.recall_for_open(now, args)?;
        }
        self.ensure_recorded(args.client, reclaim)?;
        let confirm = self.needs_confirm(args, owner);
        let key = match existing {
            Some(key) => self.upgrade(key, args),
            None => self.new_open(args, owner, confirm)?,
        };
        let delegation = if confirm { DelegationAnswer::None } else { self.delegate(now, args) };
        Ok(Opened { stateid: self.stateid(key), confirm, delegation })
    }

    pub(crate) fn open_of(&self, owner: OwnerId, file: &FileKey) -> Option<StateKey> {
        self.files.get(file)?.opens.of_owner(owner)
    }

    /// NFSv4.0 owners are confirmed once, and a reclaim requires no confirmation (RFC 7530 §16.18.5).
    fn needs_confirm(&mut self, args: &OpenArgs<'_>, owner: OwnerId) -> bool {
        let is_v40 = self.client(args.client).is_ok_and(|client| client.is_v40());
        let Some(owner) = self.owners.get_mut(owner) else { return false };
        owner.confirmed |= !is_v40 || args.claim != Claim::New;
        !owner.confirmed
    }

    fn upgrade(&mut self, key: StateKey, args: &OpenArgs<'_>) -> StateKey {
        if let Some(open) = self.states.get_mut(&key).and_then(StateidEntry::open_mut) {
            open.seen.add(args.access, args.deny);
            let share = open.share().union(Share { access: args.access, deny: args.deny });
            self.share(key, share);
        }
        key
    }

    /// Changes an open's access and deny modes, and increments its seqid.
    pub(crate) fn share(&mut self, key: StateKey, share: Share) -> Stateid {
        if let Some(held) = self.states.get_mut(&key)
            && let Some(opens) = self.files.get_mut(&held.file).map(|file| &mut file.opens)
            && let Body::Open(open) = &mut held.body
        {
            opens.remove(held.owner, open.share(), key);
            (open.access, open.deny) = (share.access, share.deny);
            opens.insert(held.owner, share, key);
        }
        let locks = self.states.get(&key).and_then(StateidEntry::open).map(|open| open.locks.clone());
        locks.into_iter().flatten().chain([key]).for_each(|state| self.publish(state));
        self.bump(key)
    }

    fn new_open(&mut self, args: &OpenArgs<'_>, owner: OwnerId, confirm: bool) -> Result<StateKey, StateError> {
        let charge = self.account_of(args.client.number())?.take(Kind::Open)?;
        let key = self.new_key(args.client.number())?;
        let file = self.file_entry(&args.file);
        let account = Arc::clone(self.account_of(args.client.number())?);
        if let Err(gone) = self.hold(&args.file, &account, args.worker) {
            self.settle(&file);
            return Err(gone.into());
        }
        let mut seen = SharesSeen::default();
        seen.add(args.access, args.deny);
        let body = Body::Open(Open { access: args.access, deny: args.deny, seen, locks: BTreeSet::new() });
        let status = if confirm { StateidStatus::Unconfirmed } else { StateidStatus::Valid };
        self.states
            .insert(key, StateidEntry { owner, file: Arc::clone(&file), seqid: 1, status, body, _charge: charge });
        if let Some(file) = self.files.get_mut(&file) {
            file.opens.insert(owner, Share { access: args.access, deny: args.deny }, key);
        }
        if let Some(owner) = self.owners.get_mut(owner) {
            owner.states.insert(key);
        }
        self.publish(key);
        Ok(key)
    }
}
