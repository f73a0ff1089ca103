//! Handles the status flags of SEQUENCE (RFC 8881 §18.46.3, `sr_status_flags`): once when one appears, and again after
//! a pause while it stays.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use client_calls::now;
use client_calls::v4::{Request, getattr};
use proto::nfs4::{
    SEQ_STATUS_ADMIN_STATE_REVOKED, SEQ_STATUS_BACKCHANNEL_FAULT, SEQ_STATUS_CB_PATH_DOWN,
    SEQ_STATUS_CB_PATH_DOWN_SESSION, SEQ_STATUS_EXPIRED_ALL_STATE_REVOKED, SEQ_STATUS_EXPIRED_SOME_STATE_REVOKED,
    SEQ_STATUS_LEASE_MOVED, SEQ_STATUS_RECALLABLE_STATE_REVOKED, SEQ_STATUS_RESTART_RECLAIM_NEEDED,
};

use super::client::Client;
use super::recovery::upgrade;
use super::session::Session;
use crate::Result;

/// State was revoked; TEST_STATEID tells which.
const REVOKED: u32 = SEQ_STATUS_EXPIRED_ALL_STATE_REVOKED
    | SEQ_STATUS_EXPIRED_SOME_STATE_REVOKED
    | SEQ_STATUS_ADMIN_STATE_REVOKED
    | SEQ_STATUS_RECALLABLE_STATE_REVOKED;
/// The server cannot call the client.
const NO_PATH: u32 = SEQ_STATUS_CB_PATH_DOWN | SEQ_STATUS_CB_PATH_DOWN_SESSION;
/// The flags that are handled. The others concern GSS contexts, which this client does not have, and pNFS data servers.
const HEEDED: u32 =
    REVOKED | NO_PATH | SEQ_STATUS_LEASE_MOVED | SEQ_STATUS_RESTART_RECLAIM_NEEDED | SEQ_STATUS_BACKCHANNEL_FAULT;

impl Client {
    /// Handles the flags of a SEQUENCE in the background.
    pub(super) fn look_after(&self, session: &Arc<Session>, flags: u32) {
        let (flags, watch) = (flags & HEEDED, &self.0.watch);
        // Most replies have no flags, like the one before: they write nothing that other processors read.
        if flags == 0 && watch.seen.load(Ordering::Relaxed) == 0 {
            return;
        }
        watch.seen.store(flags, Ordering::Relaxed);
        if flags == 0 {
            return watch.clear();
        }
        if !watch.begin(flags, now()) {
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
            // Only another session helps.
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

    /// Reclaims everything in a session that survived a restart of the server, unless that is done. The server keeps
    /// the flag set until all is reclaimed, in a new session too.
    async fn reclaim_if_needed(&self, session: &Arc<Session>) -> Result<()> {
        let mut recovery = self.0.recovery.lock().await;
        self.call_in(session, &Request::reading("SEQUENCE", &[])).await?;
        if self.0.watch.seen.load(Ordering::Relaxed) & SEQ_STATUS_RESTART_RECLAIM_NEEDED == 0 {
            return Ok(());
        }
        recovery.must_reclaim = true;
        self.reclaim(&mut recovery, session).await
    }

    /// Finds the files that the server revoked, frees their stateids and reopens them.
    async fn check_all(&self, session: &Arc<Session>) -> Result<()> {
        let _recovery = self.0.recovery.lock().await;
        // First, so that no file is opened under a lost delegation.
        self.check_delegations(session).await?;
        for file in self.0.opens.files() {
            file.check(session).await?;
        }
        Ok(())
    }

    /// Meets the file systems that moved, so that the server knows that the client knows (RFC 8881 §11.11.9.2). Users
    /// of such a file learn its location.
    async fn look_for_moved(&self) {
        for file in self.0.opens.files() {
            if let Err(error) = getattr(self, &file.handle).await {
                tracing::warn!(server = %self.0.server, %error, "an open file is not there any more");
            }
        }
    }
}
