use std::sync::Arc;

use client_calls::v4::{Request, attributes, free_stateid, putfh, test_stateid};
use proto::nfs4::{
    ArgOp, DelegationType, Getattr, GetattrArgs, Getfh, Open, OpenArgs, OpenClaim, OpenHow, Putfh, StateOwner, Stateid,
    Status,
};

use super::client::Client;
use super::close::close;
use super::delegations::{Delegation, Kind};
use super::held_locks::HeldLocks;
use super::lock::relock;
use super::open::{Granting, access, opened, settle};
use super::opening::{Opening, Share, Target};
use super::opens::Excluding;
use super::owner::Owner;
use super::session::Session;
use super::verdicts::{decides_nothing, is_about_state, is_lost_again, is_no_reclaim, is_session_lost};
use crate::losses::{Guard, Kept, Losable};
use crate::{Error, Handle, Reason, Result};

/// How many sessions may be lost while one file is recovered.
const MAX_LOSSES: u32 = 20;

/// An open file. Dropping it closes it, unless it is closed already.
#[derive(Debug)]
pub(crate) struct OpenFile {
    pub(super) client: Client,
    pub(super) handle: Handle,
    /// How it was found; 4.0 needs it to reopen the file.
    target: Target,
    share: Share,
    number: u64,
    held: Kept<Held>,
    /// Locked by whoever changes the state, one change at a time.
    pub(super) order: tokio::sync::Mutex<()>,
    _excluding: Option<Excluding>,
}

/// The state that the server granted.
#[derive(Debug)]
pub(super) struct Held {
    /// `None` once the file is closed.
    pub(super) owner: Option<Owner>,
    pub(super) stateid: Stateid,
    /// The locks and their stateid, when there are any.
    pub(super) locks: Option<(Stateid, HeldLocks)>,
    /// Locks that were lost for good and not released since.
    pub(super) lost: HeldLocks,
    /// How often the whole state was replaced.
    pub(super) era: u32,
    /// Whether the open was lost for good.
    is_lost: bool,
    /// Whether the server forgot the open, so that it is reopened and never reclaimed.
    is_forgotten: bool,
    /// Whether a delegation alone keeps it open, with its stateid: the server knows no open.
    pub(super) is_delegated: bool,
}

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
    pub(super) fn new(client: Client, handle: Handle, opening: &Opening, held: (Owner, Stateid)) -> Arc<OpenFile> {
        OpenFile::make(client, handle, opening, held, false)
    }

    /// A file that a delegation alone keeps open.
    pub(super) fn delegated(client: Client, delegation: &Delegation, opening: &Opening, owner: Owner) -> Arc<OpenFile> {
        OpenFile::make(client, delegation.handle, opening, (owner, delegation.stateid), true)
    }

    fn make(
        client: Client,
        handle: Handle,
        opening: &Opening,
        (owner, stateid): (Owner, Stateid),
        is_delegated: bool,
    ) -> Arc<OpenFile> {
        let (target, share) = (opening.target.clone(), opening.share);
        let number = owner.number();
        let held = Held {
            owner: Some(owner),
            stateid,
            locks: None,
            lost: HeldLocks::default(),
            era: 0,
            is_lost: false,
            is_forgotten: false,
            is_delegated,
        };
        let (held, order) = (Kept::new(held), tokio::sync::Mutex::new(()));
        let _excluding = client.0.opens.exclude(share);
        let file = Arc::new(OpenFile { client, handle, target, share, number, held, order, _excluding });
        file.client.0.opens.insert(number, &file);
        file
    }

    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(super) fn held(&self) -> Guard<'_, Held> {
        self.held.lock()
    }

    /// The stateid for READ and WRITE, and its era: that of the newest lock, or of the open if there are no locks.
    pub(crate) fn stateid(&self) -> Result<(Stateid, u32)> {
        self.check_kept("OPEN")?;
        let held = self.held();
        let newest = held.locks.as_ref().map_or(held.stateid, |(stateid, _)| *stateid);
        Ok((self.newest(newest), held.era))
    }

    /// Whether anything is locked, or granted state is lost.
    pub(crate) fn has_locks(&self) -> bool {
        let held = self.held();
        let has_some = held.locks.as_ref().is_some_and(|(_, locks)| !locks.is_empty());
        has_some || held.has_losses()
    }

    /// Fails while the open or a lock is lost.
    pub(crate) fn check_kept(&self, operation: &'static str) -> Result<()> {
        if self.held.has_losses() { Err(self.client.error(operation, Reason::StateLost)) } else { Ok(()) }
    }

    /// A stateid as requests carry it: from 4.1 on without its sequence number, which concurrent changes would make old
    /// (RFC 8881 §8.2.2).
    pub(super) fn newest(&self, stateid: Stateid) -> Stateid {
        if self.client.minor_version().has_sessions() { Stateid { seqid: 0, ..stateid } } else { stateid }
    }

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

    pub(super) fn era(&self) -> u32 {
        self.held().era
    }

    /// Waits until nobody is changing the state.
    pub(crate) async fn settled(&self) {
        drop(self.order.lock().await);
    }

    /// Closes the file. A closed file stays closed.
    pub(crate) async fn close(self: &Arc<OpenFile>) -> Result<()> {
        let file = Arc::clone(self);
        self.client.connection().to_the_end("CLOSE", async move { close(&file).await }).await
    }

    /// Takes what CLOSE needs; `None` if the server need not be told. From then on the file is closed.
    pub(super) fn take_owner(&self) -> Option<(Owner, Stateid)> {
        let mut held = self.held();
        let owner = held.owner.take()?;
        self.client.0.opens.remove(self.number);
        if held.is_delegated {
            self.client.0.opens.give_back(owner);
            return None;
        }
        Some((owner, self.newest(held.stateid)))
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

    /// Whether this delegation alone keeps it open.
    fn is_open_by(&self, delegation: Stateid) -> bool {
        let held = self.held();
        held.is_delegated && held.stateid.other == delegation.other
    }

    /// Makes sure that the server knows the open, which locks require.
    pub(super) async fn open_at_server(&self) -> Result<()> {
        let mut losses = 0;
        while self.held().is_delegated {
            let session = self.client.session();
            match self.claim_now().await {
                Err(lost) if is_session_lost(&lost) && losses < MAX_LOSSES => losses += 1,
                other => return other,
            }
            self.client.renew_session(&session).await?;
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

    /// Records that the server forgot the file, which loses its locks. Others may have taken them since. So a later
    /// restart does not reclaim them, although the server would accept that (RFC 8881 §8.4.3).
    pub(super) fn forget(&self) {
        let mut held = self.held();
        held.is_forgotten = true;
        held.lose_locks();
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
    async fn open_again(&self, session: &Arc<Session>, again: Again) -> Result<()> {
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
            return super::close::close_in(session, self, owner, stateid).await;
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
        let stateid = settle(client, &granting, (&found, &ok), owner).await?;
        if found == self.handle || has_handles {
            return Ok(stateid);
        }
        super::close::close_other(session, client, (&found, stateid), owner).await?;
        Err(client.error("OPEN", Reason::StateLost))
    }
}

impl Losable for Held {
    fn has_losses(&self) -> bool {
        self.is_lost || !self.lost.is_empty()
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

    fn lose_locks(&mut self) {
        let had = self.locks.take().map(|(_, locks)| locks.to_vec()).unwrap_or_default();
        had.into_iter().for_each(|lock| self.lost.insert(lock));
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        let Some((owner, stateid)) = self.take_owner() else { return };
        let (client, handle) = (self.client.clone(), self.handle);
        let closing = self.client.0.opens.begin_close();
        self.client.connection().spawn(async move {
            let _closing = closing;
            if let Err(error) = super::close::close_stateid(&client, &handle, owner, stateid).await {
                tracing::debug!(%error, "a file that was dropped may stay open at the server");
            }
        });
    }
}
