//! What SEQUENCE says beside its result (RFC 8881 §18.46.3, `sr_status_flags`): each bit is seen to, once for as long as it stays.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use proto::nfs4::{
    SEQ_STATUS_ADMIN_STATE_REVOKED, SEQ_STATUS_BACKCHANNEL_FAULT, SEQ_STATUS_CB_PATH_DOWN,
    SEQ_STATUS_CB_PATH_DOWN_SESSION, SEQ_STATUS_EXPIRED_ALL_STATE_REVOKED, SEQ_STATUS_EXPIRED_SOME_STATE_REVOKED,
    SEQ_STATUS_LEASE_MOVED, SEQ_STATUS_RECALLABLE_STATE_REVOKED, SEQ_STATUS_RESTART_RECLAIM_NEEDED,
};

use super::client::Client;
use super::getattr::getattr;
use super::recovery::upgrade;
use super::request::Request;
use super::session::Session;
use crate::Result;

/// How long the same bits are left alone after they were seen to.
const MIN_PAUSE: Duration = Duration::from_secs(5);

/// Some state is gone: which, TEST_STATEID tells.
const REVOKED: u32 = SEQ_STATUS_EXPIRED_ALL_STATE_REVOKED
    | SEQ_STATUS_EXPIRED_SOME_STATE_REVOKED
    | SEQ_STATUS_ADMIN_STATE_REVOKED
    | SEQ_STATUS_RECALLABLE_STATE_REVOKED;
/// The server cannot call the client.
const NO_PATH: u32 = SEQ_STATUS_CB_PATH_DOWN | SEQ_STATUS_CB_PATH_DOWN_SESSION;
/// What is seen to. The rest is about GSS contexts, which this client has none of, and about the data servers of pNFS.
const HEEDED: u32 =
    REVOKED | NO_PATH | SEQ_STATUS_LEASE_MOVED | SEQ_STATUS_RESTART_RECLAIM_NEEDED | SEQ_STATUS_BACKCHANNEL_FAULT;

/// Which bits were seen to.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// The bits of the last reply.
    seen: AtomicU32,
    is_busy: AtomicBool,
    last: Mutex<Option<(u32, Instant)>>,
}

impl Watch {
    /// Whether the bits are to be seen to now; whoever gets `true` calls [`Watch::end`] afterwards.
    fn begin(&self, flags: u32) -> bool {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = last.is_none_or(|(done, at)| flags & !done != 0 || at.elapsed() >= MIN_PAUSE);
        if !is_new || self.is_busy.swap(true, Ordering::Relaxed) {
            return false;
        }
        *last = Some((flags, Instant::now()));
        true
    }

    fn end(&self) {
        self.is_busy.store(false, Ordering::Relaxed);
    }

    /// Notes that all is well.
    fn clear(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Client {
    /// Sees in the background to what the flags of a SEQUENCE say.
    pub(super) fn look_after(&self, session: &Arc<Session>, flags: u32) {
        let (flags, watch) = (flags & HEEDED, &self.0.watch);
        // Most replies say nothing, as the one before: nothing is written to what other processors read.
        if flags == 0 && watch.seen.load(Ordering::Relaxed) == 0 {
            return;
        }
        watch.seen.store(flags, Ordering::Relaxed);
        if flags == 0 {
            return watch.clear();
        }
        if !watch.begin(flags) {
            return;
        }
        let (client, session) = (Arc::downgrade(&self.0), Arc::downgrade(session));
        tokio::spawn(async move {
            let Some((client, session)) = upgrade(&client, &session) else { return };
            if let Err(error) = client.see_to(&session, flags).await {
                tracing::warn!(server = %client.0.server, %error, flags, "cannot do what the server asks for");
            }
            client.0.watch.end();
        });
    }

    async fn see_to(&self, session: &Arc<Session>, flags: u32) -> Result<()> {
        if flags & SEQ_STATUS_BACKCHANNEL_FAULT != 0 {
            // Nothing but another session helps.
            return self.leave_session(session).await;
        }
        if flags & NO_PATH != 0 {
            self.bind_all(session).await?;
        }
        if flags & SEQ_STATUS_RESTART_RECLAIM_NEEDED != 0 {
            self.reclaim_if_needed(session).await?;
        }
        if flags & REVOKED != 0 {
            self.check_all(session).await?;
        }
        if flags & SEQ_STATUS_LEASE_MOVED != 0 {
            self.look_for_moved().await;
        }
        Ok(())
    }

    /// Reclaims everything in a session that outlived a restart of the server, unless that was done since the server said so:
    /// it says so in a new session too, until all is reclaimed.
    async fn reclaim_if_needed(&self, session: &Arc<Session>) -> Result<()> {
        let mut recovery = self.0.recovery.lock().await;
        self.call_in(session, &Request::reading("SEQUENCE", &[])).await?;
        if self.0.watch.seen.load(Ordering::Relaxed) & SEQ_STATUS_RESTART_RECLAIM_NEEDED == 0 {
            return Ok(());
        }
        recovery.must_reclaim = true;
        self.reclaim(&mut recovery, session).await
    }

    /// Finds out which files the server took away, lets it forget them and opens them anew.
    async fn check_all(&self, session: &Arc<Session>) -> Result<()> {
        let _recovery = self.0.recovery.lock().await;
        // Nobody opens a file any more by a delegation that is gone.
        self.check_delegations(session).await?;
        for file in self.0.opens.files() {
            file.check(session).await?;
        }
        Ok(())
    }

    /// Meets the file systems that moved, so that the server knows that the client knows (RFC 8881 §11.11.9.2). Whoever uses
    /// such a file is told where it is.
    async fn look_for_moved(&self) {
        for file in self.0.opens.files() {
            if let Err(error) = getattr(self, &file.handle).await {
                tracing::warn!(server = %self.0.server, %error, "an open file is not there any more");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_seen_to_once_and_again_when_there_are_others() {
        let watch = Watch::default();
        assert!(watch.begin(1));
        assert!(!watch.begin(3), "somebody is about it");
        watch.end();
        assert!(!watch.begin(1), "that was done");
        assert!(watch.begin(2));
        watch.end();
        watch.clear();
        assert!(watch.begin(2));
    }
}
