//! A client's lease: renewed on the hot path without a lock, and ended exactly once.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// The flags in SEQUENCE replies about a client's state (RFC 8881 §18.46.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StatusFlags(pub u32);

impl StatusFlags {
    /// No callback path to the client works.
    pub const CB_PATH_DOWN: u32 = 0x0001;
    /// All of the client's state was revoked because its lease ended.
    pub const EXPIRED_ALL_STATE_REVOKED: u32 = 0x0008;
    /// Some of the client's state was revoked because its lease ended.
    pub const EXPIRED_SOME_STATE_REVOKED: u32 = 0x0010;
    /// State was revoked by an administrator.
    pub const ADMIN_STATE_REVOKED: u32 = 0x0020;
    /// A delegation was revoked because it was not returned.
    pub const RECALLABLE_STATE_REVOKED: u32 = 0x0040;
    /// The server restarted, and the client has not finished reclaiming.
    pub const RESTART_RECLAIM_NEEDED: u32 = 0x0100;
    /// This session has no callback path.
    pub const CB_PATH_DOWN_SESSION: u32 = 0x0200;
    /// The session's back channel failed in a way that a new connection does not repair.
    pub const BACKCHANNEL_FAULT: u32 = 0x0400;

    /// Whether all bits of `flag` are set.
    pub fn has(self, flag: u32) -> bool {
        self.0 & flag == flag
    }
}

/// The time of a client's last renewal, or the mark that it ended: one word, so that a renewal and an end cannot both
/// win.
#[derive(Debug)]
pub(crate) struct Lease {
    renewed_ns: AtomicU64,
    flags: AtomicU32,
}

const ENDED: u64 = u64::MAX;

impl Lease {
    pub(crate) fn new(now: Duration) -> Lease {
        Lease { renewed_ns: AtomicU64::new(nanoseconds(now)), flags: AtomicU32::new(0) }
    }

    /// Renews the lease; false when it has ended.
    pub(crate) fn renew(&self, now: Duration) -> bool {
        let now_ns = nanoseconds(now);
        let seen = self.renewed_ns.load(Ordering::Acquire);
        if seen == ENDED || seen >= now_ns {
            return seen != ENDED;
        }
        self.renewed_ns
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |seen| (seen != ENDED).then(|| seen.max(now_ns)))
            .is_ok()
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.renewed_ns.load(Ordering::Acquire) == ENDED
    }

    /// The time since when the lease is overdue, or `None` while its `length` lasts.
    pub(crate) fn overdue_since(&self, now: Duration, length: Duration) -> Option<Duration> {
        let seen = self.renewed_ns.load(Ordering::Acquire);
        let end = match seen {
            ENDED => Duration::ZERO,
            _ => Duration::from_nanos(seen) + length,
        };
        (end < now).then_some(end)
    }

    /// Ends the lease if it is overdue; true when it has ended. A concurrent renewal wins.
    pub(crate) fn end_if_overdue(&self, now: Duration, length: Duration) -> bool {
        let seen = self.renewed_ns.load(Ordering::Acquire);
        if seen == ENDED {
            return true;
        }
        Duration::from_nanos(seen) + length < now
            && self.renewed_ns.compare_exchange(seen, ENDED, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Ends the lease in any case.
    pub(crate) fn end(&self) {
        self.renewed_ns.store(ENDED, Ordering::Release);
    }

    pub(crate) fn flags(&self) -> u32 {
        self.flags.load(Ordering::Relaxed)
    }

    pub(crate) fn set_flag(&self, flag: u32, on: bool) {
        match on {
            true => self.flags.fetch_or(flag, Ordering::Relaxed),
            false => self.flags.fetch_and(!flag, Ordering::Relaxed),
        };
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(ENDED - 1).min(ENDED - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(90);

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn renewal_keeps_a_lease_from_ending() {
        let lease = Lease::new(at(0));
        assert!(lease.renew(at(80)));
        assert!(!lease.end_if_overdue(at(100), LEASE));
        assert!(lease.end_if_overdue(at(171), LEASE));
    }

    #[test]
    fn ended_lease_is_not_renewed() {
        let lease = Lease::new(at(0));
        assert!(lease.end_if_overdue(at(91), LEASE));
        assert!(!lease.renew(at(92)));
        assert!(lease.has_ended());
    }
}
