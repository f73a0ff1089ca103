//! Limits of numbers and times.

use std::time::Duration;

/// The longest name of a client or an owner, in bytes (NFS4_OPAQUE_LIMIT, RFC 8881 §3.1).
pub const NAME_MAX_BYTES: usize = 1024;
/// The smallest request size that a channel must allow, in bytes: a SEQUENCE and one short operation.
pub const MIN_REQUEST_BYTES: u32 = 128;
/// The smallest reply size that a channel must allow, in bytes.
pub const MIN_RESPONSE_BYTES: u32 = 128;
/// The fewest operations that a request of the fore channel must allow: SEQUENCE and one more.
pub const MIN_OPERATIONS: u32 = 2;
/// The most connections of one session.
pub const CONNECTIONS_PER_SESSION: usize = 64;
/// The number of opens, owners, locks and so on that an origin may have until none are left. Beyond, it may have as
/// many as remain free ([`crate::may_take`]).
pub const GUARANTEED_PER_ORIGIN: usize = 16;
/// The most slots of a back channel that the server uses.
pub const BACK_SLOTS: u32 = 16;

/// Limits and times. A request over a limit fails with [`crate::StateError::Resource`] or, where the protocol allows
/// it, is granted a smaller value.
///
/// Of opens, owners, lock stateids, locks, locked files, delegations, leases, holds, waits, hosts and shares, one
/// origin may have as many as remain free ([`crate::may_take`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The lease: how long a client may be silent. Default 90 s.
    pub lease: Duration,
    /// The length of the grace period. Default 90 s; at least the lease of the previous boot.
    pub grace: Duration,
    /// The pauses after which an NFSv4.0 client has finished reclaiming. Default 1 s and 10 s.
    pub reclaim_pauses: ReclaimPauses,
    /// The pauses for a host of the lock protocol, whose datagrams may be lost and retransmitted. Default 10 s and 30
    /// s.
    pub nlm_reclaim_pauses: ReclaimPauses,
    /// The time that a client without state stays on record: none at first, then this time, and about twice as long
    /// each further time, up to 31 times. Default 1 s.
    pub record_idle: Duration,
    /// The time that a client whose lease ended keeps state without conflicts. Default 24 h.
    pub courtesy: Duration,
    /// Clients, confirmed and not. Default 16 384; a quarter of them for one origin. Beyond, clients of the largest
    /// origin are evicted: unconfirmed ones first, then those without state.
    pub clients: usize,
    /// Unconfirmed client IDs of one origin. Default 1 024; beyond, the oldest is evicted.
    pub unconfirmed_per_origin: usize,
    /// Clients whose lease has ended and that keep their state. Default 4 096.
    pub courtesy_clients: usize,
    /// The time to keep an unconfirmed client ID. Default 90 s.
    pub unconfirmed: Duration,
    /// Sessions of one client. Default 64.
    pub sessions_per_client: usize,
    /// Sessions of all clients. Default 65 536; a quarter of them for one origin.
    pub sessions: usize,
    /// Slots of one session's fore channel. Default 128.
    pub slots_per_session: u32,
    /// Slots of all sessions. Default 262 144; a quarter of them for one origin. Beyond three quarters,
    /// sessions give slots back; when they are used up, new sessions get one slot.
    pub slots: u32,
    /// The bytes of cached replies of all sessions. Default 512 MiB; a quarter of them for one origin. When they are
    /// used up, new sessions get one slot.
    pub reply_cache_bytes: usize,
    /// The bytes of cached replies of one session, which limit slots × largest cached reply. Default 1 MiB.
    pub reply_cache_bytes_per_session: u32,
    /// The largest request, in bytes. Default 1 MiB + 64 KiB.
    pub request_bytes: u32,
    /// The largest reply, in bytes. Default 1 MiB + 64 KiB.
    pub response_bytes: u32,
    /// The largest reply that is cached, in bytes. Default 8 KiB.
    pub cached_response_bytes: u32,
    /// Replies up to this size are cached even without a request, so that a bare SEQUENCE can be replayed. Default 128.
    pub always_cached_bytes: u32,
    /// Operations of one request. Default 128.
    pub operations: u32,
    /// Opens of all clients. Default 1 048 576.
    pub opens: usize,
    /// Open owners and lock owners of all clients, the lock protocol's included. Default 1 048 576.
    pub owners: usize,
    /// Lock stateids of all clients. Default 1 048 576.
    pub lock_states: usize,
    /// Ranges locked in one file, and lock stateids of one file. Default 16 384.
    pub locks_per_file: usize,
    /// Ranges locked in all files. Default 1 048 576.
    pub locks: usize,
    /// Files with locks that local processes see, each of which takes a file descriptor. Default 4 096.
    pub locked_files: usize,
    /// Requests that wait for a lock in one file. Default 1 024.
    pub waiters_per_file: usize,
    /// Requests that wait for a lock in all files. Default 65 536.
    pub waiters: usize,
    /// The time to remember a waiting NFSv4 request after its last repetition. Default 45 s: Linux repeats it at least
    /// every 30 s.
    pub waiter_memory: Duration,
    /// The time to reserve a released lock for the NFSv4 owner that waited first and was notified. Default 1 s.
    pub reservation: Duration,
    /// Steps of one deadlock search. Default 1 024; beyond, the search finds no deadlock.
    pub deadlock_steps: usize,
    /// Delegations of all clients. Default 65 536; 0 turns delegations off.
    pub delegations: usize,
    /// Delegations that need a lease of the host, which takes a file descriptor. Default 4 096; 0 turns them off.
    pub leases: usize,
    /// Files with state that are held, so that they stay reachable after their last name is removed: each takes a file
    /// descriptor. Default 65 536; beyond, a file with state is lost with its last name.
    pub holds: usize,
    /// The time after a recall in which its file is not delegated. Default 30 s.
    pub recall_memory: Duration,
    /// The time for a client to return a recalled delegation. Default 90 s; at least the lease (RFC 8881 §10.4.6).
    pub recall: Duration,
    /// Hosts of the lock protocol. Default 16 384.
    pub nlm_hosts: usize,
    /// The time to remember a host of the lock protocol without state. Default 10 min.
    pub nlm_idle: Duration,
    /// Shares of the lock protocol in one file. Default 1 024.
    pub nlm_shares_per_file: usize,
    /// Shares of the lock protocol in all files. Default 65 536.
    pub nlm_shares: usize,
    /// The states that one call of `tick` removes, and the conflicting states of expired clients that one request
    /// revokes before it returns DELAY. Default 1 024.
    pub steps: usize,
}

/// The most memory of each, in bytes: with the longest name or handle, in a file of its own, in tables that have just
/// grown.
const OPEN_BYTES: usize = 2_048;
const OWNER_BYTES: usize = NAME_MAX_BYTES + 1_024;
const LOCK_STATE_BYTES: usize = 1_024;
const LOCK_BYTES: usize = 512;
const DELEGATION_BYTES: usize = 2_048;
const WAITER_BYTES: usize = 2_048;
const CLIENT_BYTES: usize = 2 * NAME_MAX_BYTES + 4_096;
const SESSION_BYTES: usize = 2_048;
const SLOT_BYTES: usize = 256;
const NLM_HOST_BYTES: usize = NAME_MAX_BYTES + 1_024;
const NLM_SHARE_BYTES: usize = 512;

impl Limits {
    /// Reduces all limits in proportion, if necessary, so that the state of clients takes at most `bytes` of memory.
    #[must_use]
    pub fn within(mut self, bytes: usize) -> Limits {
        let most = self.most_bytes();
        if bytes >= most {
            return self;
        }
        let part = |count: usize| (count as u128 * bytes as u128 / most as u128) as usize;
        for count in [
            &mut self.opens,
            &mut self.owners,
            &mut self.lock_states,
            &mut self.locks,
            &mut self.delegations,
            &mut self.waiters,
            &mut self.clients,
            &mut self.sessions,
            &mut self.nlm_hosts,
            &mut self.nlm_shares,
            &mut self.reply_cache_bytes,
        ] {
            *count = part(*count);
        }
        self.slots = u32::try_from(part(self.slots as usize)).unwrap_or(self.slots);
        self.courtesy_clients = self.courtesy_clients.min(self.clients / 4);
        self
    }

    /// The most memory that clients can make the tables use, in bytes.
    fn most_bytes(&self) -> usize {
        let tables = [
            (self.opens, OPEN_BYTES),
            (self.owners, OWNER_BYTES),
            (self.lock_states, LOCK_STATE_BYTES),
            (self.locks, LOCK_BYTES),
            (self.delegations, DELEGATION_BYTES),
            (self.waiters, WAITER_BYTES),
            (self.clients, CLIENT_BYTES),
            (self.sessions, SESSION_BYTES),
            (self.slots as usize, SLOT_BYTES),
            (self.nlm_hosts, NLM_HOST_BYTES),
            (self.nlm_shares, NLM_SHARE_BYTES),
            (self.reply_cache_bytes, 1),
        ];
        tables.into_iter().fold(0, |sum: usize, (count, bytes)| sum.saturating_add(count.saturating_mul(bytes)))
    }
}

/// The pauses after which a client that has no message for it has finished reclaiming.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReclaimPauses {
    /// The pause of a client that requests something new.
    pub going_on: Duration,
    /// The pause of any other client.
    pub silent: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            lease: Duration::from_secs(90),
            grace: Duration::from_secs(90),
            reclaim_pauses: ReclaimPauses { going_on: Duration::from_secs(1), silent: Duration::from_secs(10) },
            nlm_reclaim_pauses: ReclaimPauses { going_on: Duration::from_secs(10), silent: Duration::from_secs(30) },
            record_idle: Duration::from_secs(1),
            courtesy: Duration::from_secs(24 * 3600),
            clients: 16_384,
            courtesy_clients: 4_096,
            unconfirmed_per_origin: 1_024,
            unconfirmed: Duration::from_secs(90),
            sessions_per_client: 64,
            sessions: 65_536,
            slots_per_session: 128,
            slots: 262_144,
            reply_cache_bytes: 512 << 20,
            reply_cache_bytes_per_session: 1 << 20,
            request_bytes: (1 << 20) + (64 << 10),
            response_bytes: (1 << 20) + (64 << 10),
            cached_response_bytes: 8 << 10,
            always_cached_bytes: 128,
            operations: 128,
            opens: 1 << 20,
            owners: 1 << 20,
            lock_states: 1 << 20,
            locks_per_file: 16_384,
            locks: 1 << 20,
            locked_files: 4_096,
            waiters_per_file: 1_024,
            waiters: 65_536,
            waiter_memory: Duration::from_secs(45),
            reservation: Duration::from_secs(1),
            deadlock_steps: 1_024,
            delegations: 65_536,
            leases: 4_096,
            holds: 65_536,
            recall_memory: Duration::from_secs(30),
            recall: Duration::from_secs(90),
            nlm_hosts: 16_384,
            nlm_idle: Duration::from_secs(600),
            nlm_shares_per_file: 1_024,
            nlm_shares: 65_536,
            steps: 1_024,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_shrink_together_until_everything_fits() {
        let all = Limits::default();
        for bytes in [64 << 20, 256 << 20, 1 << 30] {
            let limits = all.clone().within(bytes);
            assert!(limits.most_bytes() <= bytes && limits.most_bytes() > bytes / 10 * 9, "{limits:?}");
            assert_eq!(limits.opens, limits.owners);
        }
    }

    #[test]
    fn limits_that_fit_stay() {
        assert_eq!(Limits::default().within(usize::MAX), Limits::default());
    }
}
