//! One client of either protocol.

use std::sync::Arc;
use std::time::Duration;

use crate::account::Account;
use crate::ids::StateKey;
use crate::lease::Lease;
use crate::records::RecordKind;
use crate::records::Recording;
use crate::{ClientId, CreatedSession, Principal, SessionId, StatusFlags};

/// The callback path that an NFSv4.0 client requests (RFC 7530 §16.33.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Callback40 {
    /// The callback program's number.
    pub program: u32,
    /// The client's identifier of this path, `callback_ident`.
    pub ident: u32,
    /// The transport's netid.
    pub netid: Box<str>,
    /// The universal address.
    pub address: Box<str>,
}

/// One client ID.
#[derive(Debug)]
pub(crate) struct Client {
    pub id: ClientId,
    pub name: Arc<[u8]>,
    pub verifier: [u8; 8],
    pub principal: Principal,
    pub account: Arc<Account>,
    pub lease: Arc<Lease>,
    pub confirmed: bool,
    /// Whether RECLAIM_COMPLETE was sent. NFSv4.0 lacks it, and a client counts as done outside of the grace period.
    pub reclaim_complete: bool,
    /// Whether the client is on record for a restart.
    pub record: Recording,
    pub last_state: u32,
    pub revoked: Revoked,
    /// The time of the last revocation.
    pub revoked_at: Duration,
    /// The stateids that the client tested since, if it has revoked delegations.
    pub tested: foldhash::HashSet<StateKey>,
    pub protocol: Protocol,
}

/// States that were revoked and that the client has not acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Revoked {
    pub expired: u32,
    pub admin: u32,
    pub recallable: u32,
}

#[derive(Debug)]
pub(crate) enum Protocol {
    V40(Box<V40>),
    V41(Box<V41>),
}

#[derive(Debug)]
pub(crate) struct V40 {
    pub confirm: [u8; 8],
    pub callback: Option<Callback40>,
    pub callback_up: bool,
    /// A change of the callback that is not yet confirmed (RFC 7530 §16.33.5).
    pub pending: Option<UnconfirmedCallback>,
}

#[derive(Debug)]
pub(crate) struct UnconfirmedCallback {
    pub confirm: [u8; 8],
    pub callback: Option<Callback40>,
}

#[derive(Debug)]
pub(crate) struct V41 {
    /// The sequence number of the next CREATE_SESSION, and the reply of the last one (RFC 8881 §18.36.4).
    pub next_create: u32,
    pub last_created: Option<CreatedSession>,
    pub sessions: Vec<SessionId>,
}

/// The confirmed and the unconfirmed client ID of one owner string; at most one of each (RFC 8881 §18.35.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct OwnerNames {
    pub confirmed: Option<ClientId>,
    pub unconfirmed: Option<ClientId>,
}

impl Client {
    pub(crate) fn record_kind(&self) -> RecordKind {
        match self.protocol {
            Protocol::V40(_) => RecordKind::V40,
            Protocol::V41(_) => RecordKind::V41,
        }
    }

    pub(crate) fn is_v40(&self) -> bool {
        matches!(self.protocol, Protocol::V40(_))
    }

    pub(crate) fn v41(&self) -> Option<&V41> {
        match &self.protocol {
            Protocol::V41(v41) => Some(v41),
            Protocol::V40(_) => None,
        }
    }

    pub(crate) fn v41_mut(&mut self) -> Option<&mut V41> {
        match &mut self.protocol {
            Protocol::V41(v41) => Some(v41),
            Protocol::V40(_) => None,
        }
    }

    pub(crate) fn is_overdue(&self, now: Duration, lease: Duration) -> bool {
        self.lease.overdue_since(now, lease).is_some()
    }

    /// Updates the flags in SEQUENCE replies that report revoked state (RFC 8881 §18.46.3).
    pub(crate) fn publish_revoked(&self, has_other_state: bool) {
        let Revoked { expired, admin, recallable } = self.revoked;
        self.lease.set_flag(StatusFlags::EXPIRED_ALL_STATE_REVOKED, expired > 0 && !has_other_state);
        self.lease.set_flag(StatusFlags::EXPIRED_SOME_STATE_REVOKED, expired > 0 && has_other_state);
        self.lease.set_flag(StatusFlags::ADMIN_STATE_REVOKED, admin > 0);
        self.lease.set_flag(StatusFlags::RECALLABLE_STATE_REVOKED, recallable > 0);
    }
}
