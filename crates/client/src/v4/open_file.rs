use std::sync::Arc;

use proto::nfs4::{
    ArgOp, DelegationType, Getattr, GetattrArgs, Getfh, Open, OpenArgs, OpenClaim, OpenHow, Putfh, SHARE_ACCESS_BOTH,
    SHARE_ACCESS_READ, SHARE_ACCESS_WRITE, SHARE_DENY_BOTH, SHARE_DENY_NONE, SHARE_DENY_READ, SHARE_DENY_WRITE,
    StateOwner, Stateid, Status,
};

use super::client::Client;
use super::close::close;
use super::delegations::{Delegation, Kind};
use super::free_stateid::free_stateid;
use super::held_locks::HeldLocks;
use super::lock::relock;
use super::open::{Granting, Opening, Target, access, opened, settle};
use super::opens::Excluding;
use super::owner::Owner;
use super::request::Request;
use super::session::Session;
use super::test_stateid::test_stateid;
use super::{attributes, putfh};
use crate::losses::{Guard, Kept, Losable};
use crate::{Error, Handle, Reason, Result};

/// How many sessions may be lost while one file is had back.
const MAX_LOSSES: u32 = 20;

/// What somebody does with an open file, and what others may not do meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) access: u32,
    pub(crate) deny: u32,
}

impl Share {
    pub(crate) const READ: Share = Share { access: SHARE_ACCESS_READ, deny: SHARE_DENY_NONE };
    pub(crate) const WRITE: Share = Share { access: SHARE_ACCESS_WRITE, deny: SHARE_DENY_NONE };
    pub(crate) const BOTH: Share = Share { access: SHARE_ACCESS_BOTH, deny: SHARE_DENY_NONE };

    /// The same, and others may not read or not write.
    pub(crate) fn denying(self, reads: bool, writes: bool) -> Share {
        let deny = match (reads, writes) {
            (true, true) => SHARE_DENY_BOTH,
            (true, false) => SHARE_DENY_READ,
            (false, true) => SHARE_DENY_WRITE,
            (false, false) => SHARE_DENY_NONE,
        };
        Share { deny, ..self }
    }
}

/// A file that is open at the server. It is closed when it is dropped, if it was not before.
#[derive(Debug)]
pub(crate) struct OpenFile {
    pub(super) client: Client,
    pub(super) handle: Handle,
    /// How it was found, which 4.0 needs to open it anew.
    target: Target,
    share: Share,
    number: u64,
    held: Kept<Held>,
    /// Held by whoever changes the state, which happens one change after the other.
    pub(super) order: tokio::sync::Mutex<()>,
    _excluding: Option<Excluding>,
}

/// What the server has given.
#[derive(Debug)]
pub(super) struct Held {
    /// `None` when it is closed.
    pub(super) owner: Option<Owner>,
    pub(super) stateid: Stateid,
    /// The locks and their stateid, when there are any.
    pub(super) locks: Option<(Stateid, HeldLocks)>,
    /// Locks that were lost for good and that nobody has given up so far.
    pub(super) lost: HeldLocks,
    /// How often all of it was given anew.
    pub(super) era: u32,
    /// Whether the open was lost for good.
    is_lost: bool,
    /// Whether the server has forgotten it, so that it is opened anew and never reclaimed.
    is_forgotten: bool,
    /// Whether it is open by a delegation alone, whose stateid it has: the server knows of no open.
    pub(super) is_delegated: bool,
}

/// By what right a file is opened again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Again {
    /// It was open before the server restarted, and maybe delegated.
    Reclaim(Option<Kind>),
    /// It is delegated to the client, which has opened it on its own.
    Delegated(Stateid),
    /// None: others may have had it meanwhile.
    Anew,
}

impl OpenFile {
    pub(super) fn new(client: Client, handle: Handle, opening: &Opening, held: (Owner, Stateid)) -> Arc<OpenFile> {
        OpenFile::make(client, handle, opening, held, false)
    }

    /// A file that is open by a delegation alone.
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

    /// The stateid to read and write with, and the era that it is of: it stands for the newest locks, or the open where there
    /// are none.
    pub(crate) fn stateid(&self) -> Result<(Stateid, u32)> {
        self.check_kept("OPEN")?;
        let held = self.held();
        let newest = held.locks.as_ref().map_or(held.stateid, |(stateid, _)| *stateid);
        Ok((self.newest(newest), held.era))
    }

    /// Whether something is locked, or what the server had given is lost.
    pub(crate) fn has_locks(&self) -> bool {
        let held = self.held();
        let has_some = held.locks.as_ref().is_some_and(|(_, locks)| !locks.is_empty());
        has_some || held.has_losses()
    }

    /// Refuses an operation while the open or a lock is lost.
    pub(crate) fn check_kept(&self, operation: &'static str) -> Result<()> {
        if self.held.has_losses() { Err(self.client.error(operation, Reason::StateLost)) } else { Ok(()) }
    }

    /// A stateid as it stands in a request: from 4.1 on without its sequence number, which changes that are under way would
    /// make old (RFC 8881 §8.2.2).
    pub(super) fn newest(&self, stateid: Stateid) -> Stateid {
        if self.client.minor_version().has_sessions() { Stateid { seqid: 0, ..stateid } } else { stateid }
    }

    /// Gets the state of `era` anew, unless somebody did already.
    pub(crate) async fn repair(&self, era: u32) -> Result<()> {
        let mut losses = 0;
        loop {
            let session = self.client.session();
            match self.repair_once(era).await {
                Err(lost) if is_lost_again(&lost) && losses < MAX_LOSSES => losses += 1,
                other => return other,
            }
            // Whoever made the call can do nothing about a session.
            self.client.renew_session(&session).await?;
        }
    }

    /// Gets the state of `era` anew in the session that there is, which may be lost meanwhile.
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
            // A stateid of before a restart is what tells of the restart; but it may also be the only thing that is old.
            self.client.check_known(&session).await?;
        }
        let stateid = self.held().stateid;
        if self.is_open_by(stateid) {
            // The server took the delegation away.
            self.client.lose_delegation(&session, &self.handle, stateid).await;
        }
        self.open_again(&session, Again::Anew).await
    }

    pub(super) fn era(&self) -> u32 {
        self.held().era
    }

    /// Waits until nobody is about to change the state.
    pub(crate) async fn settled(&self) {
        drop(self.order.lock().await);
    }

    /// Closes the file. What was closed already stays so.
    pub(crate) async fn close(self: &Arc<OpenFile>) -> Result<()> {
        let file = Arc::clone(self);
        self.client.connection().to_the_end("CLOSE", async move { close(&file).await }).await
    }

    /// Takes what is needed to close it, if the server has to be told; from then on it is closed.
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

    /// Opens at the server what is open by a delegation alone, which is about to be returned. Whoever calls this holds the lock
    /// of the recovery.
    ///
    /// # Errors
    /// As those of [`OpenFile::reclaim`].
    pub(super) async fn claim(&self, session: &Arc<Session>, delegation: Stateid) -> Result<()> {
        if !self.is_open_by(delegation) {
            return Ok(());
        }
        match self.open_again(session, Again::Delegated(delegation)).await {
            // The server took the delegation away already.
            Err(error) if is_about_state(&error) && !decides_nothing(&error) => self.open_anew(session).await,
            Err(error) if !decides_nothing(&error) => {
                self.note_loss(&error);
                Ok(())
            }
            other => other,
        }
    }

    /// Whether it is open by this delegation alone.
    fn is_open_by(&self, delegation: Stateid) -> bool {
        let held = self.held();
        held.is_delegated && held.stateid.other == delegation.other
    }

    /// Makes sure that the server knows the open, which locks belong to.
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

    /// Reclaims the file and its locks after the server restarted. `false` when the server knows nothing of it, so that it is to
    /// be opened anew.
    ///
    /// # Errors
    /// When the session is lost again, or there is no answer: then nothing is decided.
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

    /// Notes that the server has forgotten the file: its locks are lost. Once others may have had them they are not reclaimed when the
    /// server restarts again, although it takes that from clients that it knew in between (RFC 8881 §8.4.3).
    pub(super) fn forget(&self) {
        let mut held = self.held();
        held.is_forgotten = true;
        held.lose_locks();
    }

    /// Opens the file anew, which the server has forgotten. Its locks are lost.
    ///
    /// # Errors
    /// As those of [`OpenFile::reclaim`].
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

    /// Looks whether the server took the file or its locks away, and opens it anew then.
    pub(super) async fn check(&self, session: &Arc<Session>) -> Result<()> {
        let (open, locks) = {
            let held = self.held();
            (held.stateid, held.locks.as_ref().map(|(stateid, _)| *stateid))
        };
        let mut is_whole = true;
        for stateid in locks.into_iter().chain([open]) {
            if test_stateid(&self.client, session, stateid).await? != Status::Ok {
                is_whole = false;
                // What it does not know it need not forget.
                let _ = free_stateid(&self.client, session, stateid).await;
            }
        }
        let is_closed = self.held().owner.is_none();
        if is_whole || is_closed { Ok(()) } else { self.open_anew(session).await }
    }

    /// Opens the file again, and locks what was locked when it is reclaimed. Otherwise nobody knows what others did in
    /// between, so that locks are lost then.
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

    /// Opens the file once more, for as long as the server wants to be asked later.
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
            // 4.0 opens by name alone, which may be another file's by now.
            Again::Anew => self.target.claim(),
        };
        let name = owner.open_name();
        let arguments = OpenArgs {
            seqid: owner.open_seqid,
            share_access: match again {
                // Who wants no delegation is not given back the one that it had.
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
            // The lease ran out meanwhile: the client id is as good as forgotten (RFC 7530 §9.6.3).
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
    /// Takes what came of opening the file again.
    fn take_back(&mut self, again: Again, result: &Result<Stateid>) {
        match result {
            Ok(stateid) => self.stateid = *stateid,
            Err(error) if decides_nothing(error) => return,
            // Whoever uses it is told where it is.
            Err(error) if error.status() == Some(crate::Status::Moved) => return,
            // It is opened anew next.
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

/// Whether the server does not know the stateid any more.
pub(crate) fn is_about_state(error: &Error) -> bool {
    let lost = [
        Status::BadStateid,
        Status::OldStateid,
        Status::StaleStateid,
        Status::Expired,
        Status::AdminRevoked,
        Status::DelegRevoked,
        Status::StaleClientid,
    ];
    error.v4_status().is_some_and(|status| lost.contains(&status))
}

/// Whether nobody knows what the server would have said: it does not answer, or the session is lost again.
pub(super) fn decides_nothing(error: &Error) -> bool {
    let no_answer = matches!(error.reason(), Reason::NoReply(_) | Reason::Connect { .. });
    no_answer || is_lost_again(error)
}

/// Whether the session, or the client id of 4.0, is gone.
pub(super) fn is_session_lost(error: &Error) -> bool {
    matches!(error.v4_status(), Some(Status::BadSession | Status::DeadSession | Status::StaleClientid))
}

/// Whether what a recovery has just been given is gone with its session already: 4.0 has a word of its own for state of before a restart
/// (RFC 7530 §9.6.2), which later versions do not use.
pub(super) fn is_lost_again(error: &Error) -> bool {
    is_session_lost(error) || error.v4_status() == Some(Status::StaleStateid)
}

/// Whether there is nothing to reclaim, as the server sees it.
fn is_no_reclaim(error: &Error) -> bool {
    matches!(error.v4_status(), Some(Status::NoGrace | Status::ReclaimBad))
}
