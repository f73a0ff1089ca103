use std::time::Duration;

use tokio::time::Instant;

use crate::{Error, Status};

/// How long to wait before a server that is busy bringing a file from slow storage is asked again: first, and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const MAX_PAUSE: Duration = Duration::from_secs(5);
/// How long to wait while a server lets its clients reclaim, which ends at no time that anybody knows before.
const GRACE_PAUSE: Duration = Duration::from_millis(500);

/// Waits for servers that say "not now" (RFC 1813 §2.6, NFS3ERR_JUKEBOX; RFC 8881 §15.1.1.3 and §15.1.9.2): for as long as for one
/// that says nothing, [`Options::patience`](crate::Options::patience).
#[derive(Debug)]
pub(crate) struct Patience {
    /// None waits for ever.
    limit: Option<Duration>,
    /// When the server said so first.
    began: Option<Instant>,
    pause: Duration,
    is_grace: bool,
}

impl Patience {
    pub(crate) fn new(limit: Option<Duration>) -> Patience {
        Patience { limit, began: None, pause: FIRST_PAUSE, is_grace: false }
    }

    /// Whether to ask again after this error.
    pub(crate) fn allows(&mut self, error: &Error) -> bool {
        self.is_grace = match error.status() {
            Some(Status::TryLater) => false,
            Some(Status::Grace) => true,
            _ => return false,
        };
        !self.left().is_zero()
    }

    pub(crate) async fn wait(&mut self) {
        let pause = if self.is_grace { GRACE_PAUSE } else { self.pause };
        tokio::time::sleep(pause.min(self.left())).await;
        self.pause = (self.pause * 2).min(MAX_PAUSE);
    }

    fn left(&mut self) -> Duration {
        let waited = self.began.get_or_insert_with(Instant::now).elapsed();
        self.limit.map_or(Duration::MAX, |limit| limit.saturating_sub(waited))
    }
}
