//! Reopens files whose open state the server lost or knows only as a delegation.

use std::pin::Pin;
use std::sync::Arc;

use client_calls::v4::{Request, attributes, free_stateid, putfh, test_stateid};
use proto::nfs4::{
    ArgOp, DelegationType, Getattr, GetattrArgs, Getfh, Open, OpenArgs, OpenClaim, OpenHow, Putfh, StateOwner, Stateid,
    Status,
};

use super::close::{close_in, close_other};
use super::delegations::Kind;
use super::lock::relock;
use super::open::{Granting, access, opened, settle};
use super::open_file::{Held, OpenFile};
use super::owner::Owner;
use super::session::Session;
use super::verdicts::{decides_nothing, is_about_state, is_lost_again, is_no_reclaim, is_session_lost};
use crate::{Error, Handle, Reason, Result};

/// How many sessions may be lost while one file is recovered.
const MAX_LOSSES: u32 = 20;

/// By what right a file is reopened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Again {
    /// It was open before the server restarted, and perhaps delegated.
    Reclaim(Option<Kind>),
    /// It is delegated to the client, which opened it locally.
    Delegated(Stateid),
    /// By none, as a new open: others may have changed it meanwhile.
    Anew,
}

impl OpenFile {
    /// Recovers the state of `era`, unless somebody already did.
    pub(crate) async fn repair(&self, era: u32) -> Result<()> {
        let mut losses = 0;
        loop {
            let session = self.client.session();
            match self.repair_once(era).await {
                Err(lost) if is_lost_again(&lost) && losses < MAX_LOSSES => losses += 1,
                other => return other,
            }
            // The caller cannot recover a session.
            self.client.renew_session(&session).await?;
        }
    }

    /// Recovers the state of `era` in the current session, which may be lost meanwhile.
    async fn repair_once(&self, era: u32) -> Result<()> {
        let mut recovery = self.client.0.recovery.lock().await;
        if self.era() != era {
            return Ok(());
        }
        let session = self.client.session();
        if recovery.must_reclaim {
            self.client.reclaim(&mut recovery, &session).await?;
        }
        if self.era() != era {
            return Ok(());
        }
        if session.channel.is_none() {
            // RENEW shows first whether the server lost one stateid or the whole client.
            self.client.check_known(&session).await?;
        }
        let stateid = self.held().stateid;
        if self.is_open_by(stateid) {
            // The server revoked the delegation.
            self.client.lose_delegation(&session, &self.handle, stateid).await;
        }
        self.open_again(&session, Again::Anew).await
    }

    /// Opens at the server a file that only `delegation` keeps open, before that is returned. The caller holds the
    /// recovery lock.
    ///
    /// # Errors
    /// Those of [`OpenFile::reclaim`].
    pub(super) async fn claim(&self, session: &Arc<Session>, delegation: Stateid) -> Result<()> {
        if !self.is_open_by(delegation) {
            return Ok(());
        }
        match self.open_again(session, Again::Delegated(delegation)).await {
            // The server revoked the delegation already.
            Err(error) if is_about_state(&error) && !decides_nothing(&error) => self.open_anew(session).await,
            Err(error) if !decides_nothing(&error) => {
                self.note_loss(&error);
                Ok(())
            }
            other => other,
        }
    }

    /// Makes sure that the server knows the open, which locks require.
    pub(super) async fn open_at_server(&self) -> Result<()> {
        let mut losses = 0;
        while self.held().is_delegated {
            let session = self.client.session();
            match Box::pin(self.claim_now()).await {
                Err(lost) if is_session_lost(&lost) && losses < MAX_LOSSES => losses += 1,
                other => return other,
            }
            Box::pin(self.client.renew_session(&session)).await?;
        }
        Ok(())
    }

    async fn claim_now(&self) -> Result<()> {
        let _recovery = self.client.0.recovery.lock().await;
        let delegation = self.held().stateid;
        self.claim(&self.client.session(), delegation).await
    }

    /// Reclaims the file and its locks after a restart of the server. `false` if the server knows nothing to reclaim,
    /// so that the file must be reopened.
    ///
    /// # Errors
    /// When the session is lost again or no reply arrives: then nothing is decided.
    pub(super) async fn reclaim(&self, session: &Arc<Session>, delegation: Option<Kind>) -> Result<bool> {
        if self.held().is_forgotten {
            return Ok(false);
        }
        match self.open_again(session, Again::Reclaim(delegation)).await {
            Ok(()) => Ok(true),
            Err(error) if decides_nothing(&error) => Err(error),
            Err(error) if is_no_reclaim(&error) => Ok(false),
            Err(error) => {
                self.note_loss(&error);
                Ok(true)
            }
        }
    }

    /// Reopens a file that the server forgot. Its locks are lost.
    ///
    /// # Errors
    /// Those of [`OpenFile::reclaim`].
    pub(super) async fn open_anew(&self, session: &Arc<Session>) -> Result<()> {
        match self.open_again(session, Again::Anew).await {
            Err(error) if !decides_nothing(&error) => {
                self.note_loss(&error);
                Ok(())
            }
            other => other,
        }
    }

    fn note_loss(&self, error: &Error) {
        tracing::warn!(server = %self.client.0.server, %error, "cannot have back what was open");
    }

    /// Checks whether the server revoked the open or its locks, and reopens the file then.
    pub(super) async fn check(&self, session: &Arc<Session>) -> Result<()> {
        let (open, locks) = {
            let held = self.held();
            (held.stateid, held.locks.as_ref().map(|(stateid, _)| *stateid))
        };
        let mut is_whole = true;
        for stateid in locks.into_iter().chain([open]) {
            if test_stateid(&self.client.in_session(Some(session)), stateid).await? != Status::Ok {
                is_whole = false;
                // The server need not free what it does not know.
                let _ = free_stateid(&self.client.in_session(Some(session)), stateid).await;
            }
        }
        let is_closed = self.held().owner.is_none();
        if is_whole || is_closed { Ok(()) } else { self.open_anew(session).await }
    }

    /// Reopens the file. A reclaim also reclaims its locks. After any other open nobody knows what others did in
    /// between, so that the locks are lost.
    /// Boxed, since a future is compiled again wherever another one has it in it.
    fn open_again<'a>(
        &'a self,
        session: &'a Arc<Session>,
        again: Again,
    ) -> Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>> {
        Box::pin(self.open_again_unboxed(session, again))
    }

    async fn open_again_unboxed(&self, session: &Arc<Session>, again: Again) -> Result<()> {
        let Some(mut owner) = self.held().owner.clone() else { return Ok(()) };
        let result = self.open_by_handle(session, again, &mut owner).await;
        let is_kept = {
            let mut held = self.held();
            let held = &mut *held;
            if let Some(kept) = &mut held.owner {
                kept.open_seqid = owner.open_seqid;
                held.take_back(again, &result);
            }
            held.owner.is_some()
        };
        let stateid = result?;
        if !is_kept {
            return close_in(session, self, owner, stateid).await;
        }
        if matches!(again, Again::Reclaim(_)) { relock(self, session, stateid).await } else { Ok(()) }
    }

    /// Reopens the file, and retries while the server puts that off.
    async fn open_by_handle(&self, session: &Arc<Session>, again: Again, owner: &mut Owner) -> Result<Stateid> {
        let mut patience = self.client.patience();
        loop {
            match self.open_by_handle_once(session, again, owner).await {
                Err(error) if patience.allows(&error) => patience.wait().await,
                other => return other,
            }
        }
    }

    async fn open_by_handle_once(&self, session: &Arc<Session>, again: Again, owner: &mut Owner) -> Result<Stateid> {
        let client = &self.client;
        let has_handles = client.minor_version().has_sessions();
        let (current, claim) = match again {
            Again::Reclaim(delegation) => {
                let delegation = delegation.map_or(DelegationType::None, Kind::wire);
                (&self.handle, OpenClaim::Previous { delegation })
            }
            Again::Delegated(stateid) => (&self.handle, OpenClaim::DelegCurFh { stateid }),
            Again::Anew if has_handles => (&self.handle, OpenClaim::Fh),
            // 4.0 opens by name alone, which may resolve to another file by now.
            Again::Anew => self.target.claim(),
        };
        let name = owner.open_name();
        let arguments = OpenArgs {
            seqid: owner.open_seqid,
            share_access: match again {
                // A client that wants no delegation does not get back the one that it had.
                Again::Reclaim(Some(_)) => self.share.access,
                _ => access(self.share, client.minor_version()),
            },
            share_deny: self.share.deny,
            owner: StateOwner { client: session.client, owner: name.as_bytes() },
            how: OpenHow::NoCreate,
            claim,
        };
        let file = ArgOp::Getattr(GetattrArgs { request: attributes::ALL });
        let operations = [putfh(current), ArgOp::Open(arguments), ArgOp::Getfh, file];
        let reply = client.call_in(session, &Request::changing("OPEN", &operations)).await?;
        let mut results = reply.results();
        results.ok::<Putfh, _>()?;
        let ok = match opened(results.next::<Open>()?, owner, &reply) {
            // The lease expired: treat the client id as lost (RFC 7530 §9.6.3).
            Err(error) if !has_handles && error.v4_status() == Some(Status::Expired) => {
                return Err(reply.refusal(Status::StaleClientid));
            }
            other => other?,
        };
        let found = Handle::from(results.ok::<Getfh, _>()?);
        let found_now = results.ok::<Getattr, _>().ok().and_then(|found| attributes::neutral(&found).ok());
        let change = found_now.map(|found| found.change);
        let granting = Granting { session: Some(session), target: None, access: self.share.access, change };
        let stateid = settle(client, &granting, &found, &ok, owner).await?;
        if found == self.handle || has_handles {
            return Ok(stateid);
        }
        close_other(session, client, &found, stateid, owner).await?;
        Err(client.error("OPEN", Reason::StateLost))
    }
}

impl Held {
    /// Applies the result of a reopen.
    fn take_back(&mut self, again: Again, result: &Result<Stateid>) {
        match result {
            Ok(stateid) => self.stateid = *stateid,
            Err(error) if decides_nothing(error) => return,
            // The next user of the file learns its location.
            Err(error) if error.status() == Some(crate::Status::Moved) => return,
            // It is reopened as a new open next.
            Err(error) if matches!(again, Again::Reclaim(_)) && is_no_reclaim(error) => return,
            Err(error) if matches!(again, Again::Delegated(_)) && is_about_state(error) => return,
            Err(_) => self.is_lost = true,
        }
        (self.is_delegated, self.is_forgotten) = (false, false);
        self.era = self.era.wrapping_add(1);
        if again == Again::Anew {
            self.lose_locks();
        }
    }
}
