use std::time::Duration;

use crate::{Error, Status};

/// How long to wait before a server that is busy bringing a file from slow storage is asked again: first, and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const MAX_PAUSE: Duration = Duration::from_secs(5);
/// How often it is asked again before the caller is told, unless the mount is hard.
const MAX_ATTEMPTS: u32 = 20;
/// How long to wait while a server lets its clients reclaim, which ends at no time that anybody knows before.
const GRACE_PAUSE: Duration = Duration::from_millis(500);
/// How often it is asked again then: for longer than the longest lease that servers mostly have.
const MAX_GRACE_ATTEMPTS: u32 = 400;

/// Waits for servers that say "not now" (RFC 1813 §2.6, NFS3ERR_JUKEBOX; RFC 8881 §15.1.1.3 and §15.1.9.2).
#[derive(Debug)]
pub(crate) struct Patience {
    is_hard: bool,
    attempts: u32,
    pause: Duration,
    is_grace: bool,
}

impl Patience {
    pub(crate) fn new(is_hard: bool) -> Patience {
        Patience { is_hard, attempts: 0, pause: FIRST_PAUSE, is_grace: false }
    }

    /// Whether to ask again after this error.
    pub(crate) fn allows(&mut self, error: &Error) -> bool {
        let most = match error.status() {
            Some(Status::TryLater) => MAX_ATTEMPTS,
            Some(Status::Grace) => MAX_GRACE_ATTEMPTS,
            _ => return false,
        };
        self.is_grace = error.status() == Some(Status::Grace);
        self.is_hard || self.attempts < most
    }

    pub(crate) async fn wait(&mut self) {
        tokio::time::sleep(if self.is_grace { GRACE_PAUSE } else { self.pause }).await;
        self.attempts = self.attempts.saturating_add(1);
        self.pause = (self.pause * 2).min(MAX_PAUSE);
    }
}
