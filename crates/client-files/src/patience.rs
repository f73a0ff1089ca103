use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use crate::{Error, Status, graces};

/// The pause before a busy server is asked again: the first, and the longest. It may be fetching a file from slow
/// storage.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const MAX_PAUSE: Duration = Duration::from_secs(5);
/// The pause during a grace period, whose end is unknown.
const GRACE_PAUSE: Duration = Duration::from_millis(500);
/// A grace period is at least as long as the lease (RFC 8881 §8.4.2.1); some servers take half as long again.
const LEASES_PER_GRACE: u32 = 2;
/// The longest grace period if the lease is unknown: longer than the usual 90 s.
const GRACE_WITHOUT_LEASE: Duration = Duration::from_secs(120);
/// The longest grace period, whatever the lease.
const MAX_GRACE: Duration = Duration::from_secs(600);

/// Limits the retries of a call while the server asks to try later (RFC 1813 §2.6, NFS3ERR_JUKEBOX; RFC 8881 §15.1.1.3
/// and §15.1.9.2). A busy server gets as long as a silent one, [`Options::patience`](crate::Options::patience). A grace
/// period ends by itself and gets as long as it may take.
#[derive(Debug)]
pub(crate) struct Patience {
    busy: Wait,
    grace: Wait,
    /// The last status, and when it came.
    last: Option<(Kind, Instant)>,
    pause: Duration,
    /// Set when the process is about to end: a grace period is then not waited for.
    hurries: Option<Arc<AtomicBool>>,
}

/// How long to wait for one status, and how much of that has passed.
#[derive(Debug)]
struct Wait {
    /// `None` waits for ever.
    limit: Option<Duration>,
    waited: Duration,
}

/// Why the server asks to try later.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Busy,
    Grace,
}

impl Patience {
    /// Waits at most `silence` for a busy server, or for ever without it. The limit for a grace period follows from
    /// `lease`.
    pub(crate) fn new(silence: Option<Duration>, lease: Option<Duration>) -> Patience {
        let grace = lease.map_or(GRACE_WITHOUT_LEASE, |lease| (lease * LEASES_PER_GRACE).min(MAX_GRACE));
        Patience {
            busy: Wait::new(silence),
            grace: Wait::new(silence.map(|silence| silence.max(grace))),
            last: None,
            pause: FIRST_PAUSE,
            hurries: None,
        }
    }

    /// Does not wait for the end of a grace period once `hurries` is set.
    pub(crate) fn unless(self, hurries: &Arc<AtomicBool>) -> Patience {
        Patience { hurries: Some(Arc::clone(hurries)), ..self }
    }

    /// Whether to retry after this error.
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
        let left = self.wait_of(kind).left();
        if left.is_zero() || matches!(kind, Kind::Grace) && self.hurries() {
            return false;
        }
        if matches!(kind, Kind::Grace) {
            graces::report(error.server(), left);
        }
        true
    }

    fn hurries(&self) -> bool {
        self.hurries.as_ref().is_some_and(|hurries| hurries.load(Ordering::Relaxed))
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

    /// How long a caller waits until no retry is allowed, while the server returns these statuses in turn.
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
    async fn process_that_is_about_to_end_waits_for_a_busy_server_but_for_no_grace_period() {
        let hurries = Arc::new(AtomicBool::new(false));
        let mut patience = Patience::new(None, None).unless(&hurries);
        let error = |status| Error::new(&"server".into(), "OPEN", Reason::Status(status));
        assert!(patience.allows(&error(Status::Grace)));
        hurries.store(true, Ordering::Relaxed);
        assert!(!patience.allows(&error(Status::Grace)));
        assert!(patience.allows(&error(Status::TryLater)));
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
