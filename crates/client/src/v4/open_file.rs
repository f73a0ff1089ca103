use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use proto::nfs4::{
    ArgOp, DelegationType, Open, OpenArgs, OpenClaim, OpenHow, Putfh, SHARE_ACCESS_BOTH, SHARE_ACCESS_READ,
    SHARE_ACCESS_WRITE, SHARE_DENY_BOTH, SHARE_DENY_NONE, SHARE_DENY_READ, SHARE_DENY_WRITE, StateOwner, Stateid,
    Status,
};

use super::client::Client;
use super::close::close;
use super::free_stateid::free_stateid;
use super::held_locks::HeldLocks;
use super::lock::relock;
use super::open::{access, opened, settle};
use super::owner::Owner;
use super::putfh;
use super::request::Request;
use super::session::Session;
use super::test_stateid::test_stateid;
use crate::{Error, Handle, Reason, Result};

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
    share: Share,
    number: u64,
    held: Mutex<Held>,
    /// Held by whoever changes the state, which happens one change after the other.
    pub(super) order: tokio::sync::Mutex<()>,
}

/// What the server has given.
#[derive(Debug)]
pub(super) struct Held {
    /// `None` when it is closed.
    pub(super) owner: Option<Owner>,
    pub(super) stateid: Stateid,
    /// The locks and their stateid, when there are any.
    pub(super) locks: Option<(Stateid, HeldLocks)>,
    /// How often all of it was given anew.
    era: u32,
    /// Whether it was lost for good.
    is_lost: bool,
}

impl OpenFile {
    pub(super) fn new(client: Client, handle: Handle, share: Share, held: (Owner, Stateid)) -> Arc<OpenFile> {
        let (owner, stateid) = held;
        let number = owner.number();
        let held = Held { owner: Some(owner), stateid, locks: None, era: 0, is_lost: false };
        let order = tokio::sync::Mutex::new(());
        let file = Arc::new(OpenFile { client, handle, share, number, held: Mutex::new(held), order });
        file.client.0.opens.insert(number, &file);
        file
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(super) fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The stateid to read and write with, and the era that it is of: it stands for the newest locks, or the open where there
    /// are none.
    pub(crate) fn stateid(&self) -> Result<(Stateid, u32)> {
        let held = self.held();
        if held.is_lost {
            return Err(self.client.error("OPEN", Reason::StateLost));
        }
        let newest = held.locks.as_ref().map_or(held.stateid, |(stateid, _)| *stateid);
        Ok((self.newest(newest), held.era))
    }

    /// A stateid as it stands in a request: from 4.1 on without its sequence number, which changes that are under way would
    /// make old (RFC 8881 §8.2.2).
    pub(super) fn newest(&self, stateid: Stateid) -> Stateid {
        if self.client.minor_version().has_sessions() { Stateid { seqid: 0, ..stateid } } else { stateid }
    }

    /// Gets the state of `era` anew after `error`, unless somebody did already.
    pub(crate) async fn repair(&self, era: u32, error: Error) -> Result<()> {
        if !self.client.minor_version().has_sessions() {
            return self.repair_v4_0(era, error).await;
        }
        let _recovery = self.client.0.recovery.lock().await;
        if self.held().era != era {
            return Ok(());
        }
        let session = self.client.session();
        self.open_again(&session, OpenClaim::Fh).await
    }

    /// In 4.0 there is no session that tells of a restart: a stateid of before it does (RFC 7530 §9.6.2).
    async fn repair_v4_0(&self, era: u32, error: Error) -> Result<()> {
        let session = self.client.session();
        let is_restart = [Status::StaleStateid, Status::StaleClientid, Status::Expired]
            .iter()
            .any(|status| error.v4_status() == Some(*status));
        match self.era() == era {
            true if is_restart => self.client.renew_session(&session).await,
            true => Err(error),
            false => Ok(()),
        }
    }

    pub(super) fn era(&self) -> u32 {
        self.held().era
    }

    /// Closes the file. What was closed already stays so.
    pub(crate) async fn close(self: &Arc<OpenFile>) -> Result<()> {
        let file = Arc::clone(self);
        self.client.to_the_end("CLOSE", async move { close(&file).await }).await
    }

    /// Takes what is needed to close it; from then on it is closed.
    pub(super) fn take_owner(&self) -> Option<(Owner, Stateid)> {
        let mut held = self.held();
        let owner = held.owner.take()?;
        self.client.0.opens.remove(self.number);
        Some((owner, self.newest(held.stateid)))
    }

    /// Reclaims the file and its locks after the server restarted; opens it anew where the server has forgotten it.
    pub(super) async fn reclaim(&self, client: &Client, session: &Arc<Session>) {
        let previous = OpenClaim::Previous { delegation: DelegationType::None };
        let result = match self.open_again(session, previous).await {
            Err(error) if is_no_reclaim(&error) => self.open_again(session, OpenClaim::Fh).await,
            other => other,
        };
        if let Err(error) = result {
            tracing::warn!(server = %client.0.server, %error, "cannot have back what was open");
        }
    }

    /// Looks whether the server took the file away, and opens it anew then.
    pub(super) async fn check(&self, client: &Client, session: &Arc<Session>) {
        let stateid = self.held().stateid;
        match test_stateid(client, session, stateid).await {
            Ok(Status::Ok) | Err(_) => {}
            Ok(_) => {
                let _ = free_stateid(client, session, stateid).await;
                if let Err(error) = self.open_again(session, OpenClaim::Fh).await {
                    tracing::warn!(server = %client.0.server, %error, "cannot have back what was open");
                }
            }
        }
    }

    /// Opens the file by its handle and locks what was locked. Without a reclaim nobody knows what others did in
    /// between, so that locks are lost then.
    async fn open_again(&self, session: &Arc<Session>, claim: OpenClaim<'_>) -> Result<()> {
        let is_reclaim = matches!(claim, OpenClaim::Previous { .. });
        let Some(mut owner) = self.held().owner.take() else { return Ok(()) };
        let result = self.open_by_handle(session, claim, &mut owner).await;
        let stateid = {
            let mut held = self.held();
            held.owner = Some(owner);
            let had_locks = held.locks.is_some() && !is_reclaim;
            held.is_lost = held.is_lost || had_locks || result.as_ref().is_err_and(|error| !is_no_reclaim(error));
            held.era = held.era.wrapping_add(1);
            let stateid = result?;
            held.stateid = stateid;
            stateid
        };
        if is_reclaim { relock(self, session, stateid).await } else { Ok(()) }
    }

    async fn open_by_handle(&self, session: &Arc<Session>, claim: OpenClaim<'_>, owner: &mut Owner) -> Result<Stateid> {
        let client = &self.client;
        if claim == OpenClaim::Fh && !client.minor_version().has_sessions() {
            return Err(client.error("OPEN", Reason::StateLost));
        }
        let name = owner.open_name();
        let arguments = OpenArgs {
            seqid: owner.open_seqid,
            share_access: access(self.share, client.minor_version()),
            share_deny: self.share.deny,
            owner: StateOwner { client: session.client, owner: name.as_bytes() },
            how: OpenHow::NoCreate,
            claim,
        };
        let operations = [putfh(&self.handle), ArgOp::Open(arguments)];
        let reply = client.call_in(session, &Request::changing("OPEN", &operations)).await?;
        let mut results = reply.results();
        results.ok::<Putfh, _>()?;
        let ok = opened(results.next::<Open>()?, owner, &reply)?;
        settle(client, Some(session), (&self.handle, &ok), owner).await
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        let Some((owner, stateid)) = self.take_owner() else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (client, handle) = (self.client.clone(), self.handle);
        runtime.spawn(async move { super::close::close_stateid(&client, &handle, owner, stateid).await });
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
        Status::StaleClientid,
    ];
    error.v4_status().is_some_and(|status| lost.contains(&status))
}

/// Whether there is nothing to reclaim, as the server sees it.
fn is_no_reclaim(error: &Error) -> bool {
    matches!(error.v4_status(), Some(Status::NoGrace | Status::ReclaimBad))
}
