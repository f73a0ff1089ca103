use std::time::Duration;

use tokio::time::Instant;

use crate::{Error, Status};

/// How long to wait before a server that is busy bringing a file from slow storage is asked again: first, and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const MAX_PAUSE: Duration = Duration::from_secs(5);
/// How long to wait while a server lets its clients reclaim, which ends at no time that anybody knows before.
const GRACE_PAUSE: Duration = Duration::from_millis(500);
/// A grace period is at least as long as the lease (RFC 8881 §8.4.2.1); servers have some that are half as long again.
const LEASES_PER_GRACE: u32 = 2;
/// How long a grace period may take where nobody says how long leases are: longer than the 90 s that servers have.
const GRACE_WITHOUT_LEASE: Duration = Duration::from_secs(120);
/// How long a grace period may take whatever the server says of its leases.
const MAX_GRACE: Duration = Duration::from_secs(600);

/// Waits for servers that say "not now" (RFC 1813 §2.6, NFS3ERR_JUKEBOX; RFC 8881 §15.1.1.3 and §15.1.9.2): for as long as for one
/// that says nothing, [`Options::patience`](crate::Options::patience); in its grace period, which ends by itself, for as long as it may
/// take.
#[derive(Debug)]
pub(crate) struct Patience {
    busy: Wait,
    grace: Wait,
    /// What the server said last, and when.
    last: Option<(Kind, Instant)>,
    pause: Duration,
}

/// How long to wait for what the server says, and how much of that is over.
#[derive(Debug)]
struct Wait {
    /// None waits for ever.
    limit: Option<Duration>,
    waited: Duration,
}

/// Why not now.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Busy,
    Grace,
}

impl Patience {
    /// Waits for `silence` when the server is busy, if that is bounded at all; its grace period is as its `lease` tells, if that is known.
    pub(crate) fn new(silence: Option<Duration>, lease: Option<Duration>) -> Patience {
        let grace = lease.map_or(GRACE_WITHOUT_LEASE, |lease| (lease * LEASES_PER_GRACE).min(MAX_GRACE));
        Patience {
            busy: Wait::new(silence),
            grace: Wait::new(silence.map(|silence| silence.max(grace))),
            last: None,
            pause: FIRST_PAUSE,
        }
    }

    /// Whether to ask again after this error.
    pub(crate) fn allows(&mut self, error: &Error) -> bool {
        let kind = match error.status() {
            Some(Status::TryLater) => Kind::Busy,
            Some(Status::Grace) => Kind::Grace,
            _ => return false,
        };
        let now = Instant::now();
        if let Some((before, since)) = self.last.replace((kind, now)) {
            self.wait_of(before).waited += now - since;
        }
        !self.wait_of(kind).left().is_zero()
    }

    pub(crate) async fn wait(&mut self) {
        let Some((kind, _)) = self.last else { return };
        let pause = match kind {
            Kind::Grace => GRACE_PAUSE,
            Kind::Busy => self.pause,
        };
        tokio::time::sleep(pause.min(self.wait_of(kind).left())).await;
        self.pause = (self.pause * 2).min(MAX_PAUSE);
    }

    fn wait_of(&mut self, kind: Kind) -> &mut Wait {
        match kind {
            Kind::Busy => &mut self.busy,
            Kind::Grace => &mut self.grace,
        }
    }
}

impl Wait {
    fn new(limit: Option<Duration>) -> Wait {
        Wait { limit, waited: Duration::ZERO }
    }

    fn left(&self) -> Duration {
        self.limit.map_or(Duration::MAX, |limit| limit.saturating_sub(self.waited))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reason;

    const SILENCE: Duration = Duration::from_secs(30);

    /// How long a caller waits until nothing more is allowed, when the server says these one after the other, and then again.
    async fn waited(lease: Option<Duration>, says: &[Status]) -> Duration {
        let (mut patience, began) = (Patience::new(Some(SILENCE), lease), Instant::now());
        for status in says.iter().cycle() {
            if !patience.allows(&Error::new(&"server".into(), "OPEN", Reason::Status(*status))) {
                break;
            }
            patience.wait().await;
        }
        began.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn grace_period_is_waited_for_as_its_lease_tells_within_bounds() {
        let leases = [(None, 120), (Some(1), 30), (Some(45), 90), (Some(90), 180), (Some(u32::MAX), 600)];
        for (lease, expected) in leases {
            let lease = lease.map(|seconds| Duration::from_secs(seconds.into()));
            assert_eq!(waited(lease, &[Status::Grace]).await.as_secs(), expected, "{lease:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn busy_server_is_waited_for_like_a_silent_one_and_not_longer_when_it_is_in_grace_in_between() {
        let lease = Some(Duration::from_secs(90));
        assert_eq!(waited(lease, &[Status::TryLater]).await, SILENCE);
        let both = waited(lease, &[Status::TryLater, Status::Grace]).await;
        assert!(both > SILENCE && both <= SILENCE + 2 * Duration::from_secs(90), "{both:?}");
        assert_eq!(waited(lease, &[Status::AccessDenied]).await, Duration::ZERO);
    }
}
