//! How delegations go back to the server: when it recalls them, when nobody uses them, and at the end.

use std::sync::Arc;

use proto::nfs4::{CbRecallAnyArgs, RECALL_ANY_READ_DELEGATION, RECALL_ANY_WRITE_DELEGATION, Stateid, Status};

use super::client::Client;
use super::delegations::{Delegation, Kind};
use super::delegreturn::delegreturn;
use super::free_stateid::free_stateid;
use super::open_file::is_session_lost;
use super::session::Session;
use super::setclientid::setclientid;
use super::test_stateid::test_stateid;
use crate::cache::Promise;
use crate::{Handle, Result};

/// A delegation for writing: while it is held nobody else reads or writes the file.
#[derive(Debug)]
struct Exclusive {
    client: Client,
    delegation: Arc<Delegation>,
}

impl Promise for Exclusive {
    fn holds(&self) -> bool {
        let held = self.client.0.delegations.held(&self.delegation.handle);
        held.is_some_and(|held| Arc::ptr_eq(&held, &self.delegation))
    }
}

/// How often one delegation is returned because the session was lost meanwhile.
const MAX_TRIES: u32 = 4;

impl Client {
    /// What the server has promised of a file, if it did and the lease lasts.
    pub fn has_delegation(&self, file: &Handle) -> Option<Kind> {
        self.0.delegations.held(file).map(|delegation| delegation.kind)
    }

    /// What a delegation for writing promises of a file, if there is one and the lease lasts.
    pub(crate) fn promise(&self, file: &Handle) -> Option<Arc<dyn Promise>> {
        let delegation = self.0.delegations.held(file).filter(|delegation| delegation.kind == Kind::Write)?;
        Some(Arc::new(Exclusive { client: self.clone(), delegation }))
    }

    /// Takes a recall (RFC 8881 §20.2), and says whether there is such a delegation. It is returned in the background.
    pub(super) fn recall(&self, file: &Handle, stateid: Stateid) -> bool {
        let taken = self.0.delegations.take(file, stateid);
        let is_known = taken.is_some();
        self.give_back_soon(taken);
        is_known
    }

    /// Returns what the server wants back of what was used longest ago (RFC 8881 §20.6).
    pub(super) fn recall_any(&self, args: &CbRecallAnyArgs) {
        let types = [(RECALL_ANY_READ_DELEGATION, Kind::Read), (RECALL_ANY_WRITE_DELEGATION, Kind::Write)];
        let wanted = types.into_iter().filter(|(number, _)| args.types.contains(*number));
        let kinds: Vec<Kind> = wanted.map(|(_, kind)| kind).collect();
        let keep = usize::try_from(args.objects_to_keep).unwrap_or(usize::MAX);
        self.give_back_soon(self.0.delegations.take_excess(keep, &kinds));
    }

    /// Returns delegations in the background, that nobody relies on any more.
    pub(super) fn give_back_soon(&self, taken: impl IntoIterator<Item = Arc<Delegation>>) {
        let taken: Vec<_> = taken.into_iter().collect();
        if taken.is_empty() {
            return;
        }
        let client = self.clone();
        tokio::spawn(async move {
            for delegation in taken {
                if let Err(error) = client.give_back(&delegation).await {
                    tracing::warn!(server = %client.0.server, %error, "cannot return a delegation");
                }
            }
        });
    }

    /// Returns those that nobody used for a while and no open file needs.
    pub(super) fn give_back_unused(&self) {
        let unused = self.0.delegations.unused();
        if unused.is_empty() {
            return;
        }
        let files = self.0.opens.files();
        let is_needed = |one: &Delegation| files.iter().any(|file| file.handle == one.handle);
        let idle = unused.into_iter().filter(|one| !is_needed(one));
        self.give_back_soon(idle.filter_map(|one| self.0.delegations.take(&one.handle, one.stateid)));
    }

    /// Returns all of them because a server of 4.0 cannot call for them (RFC 7530 §10.2.1), and has it try the way once more: it does
    /// when it is told of it (§16.33).
    pub(super) async fn restore_callback_path(&self, session: &Arc<Session>) -> Result<()> {
        if self.0.identity.called_at.is_none() {
            // Nobody wants to be called.
            return Ok(());
        }
        tracing::warn!(server = %self.0.server, "the server cannot call this client: delegations go back");
        self.give_back_soon(self.0.delegations.take_all());
        let recovery = self.0.recovery.lock().await;
        if Arc::ptr_eq(session, &self.session()) {
            let own = self.own();
            // A server that takes it for another client has forgotten this one, and says so to the next request.
            setclientid(&own.wire(own.connection()), &self.0.identity).await?;
        }
        drop(recovery);
        Ok(())
    }

    /// Returns all of them. What the server says does not matter any more.
    pub(super) async fn give_back_all(&self) {
        for delegation in self.0.delegations.take_all() {
            let _ = self.give_back(&delegation).await;
        }
    }

    /// Writes what was changed under a delegation, opens at the server what was opened under it, and returns it (RFC 8881 §10.4.4).
    async fn give_back(&self, delegation: &Delegation) -> Result<()> {
        if delegation.kind == Kind::Write
            && let Some(mounted) = self.mounted()
        {
            mounted.write_back(&delegation.handle).await;
        }
        for _ in 1..MAX_TRIES {
            let session = self.session();
            match self.give_back_in(&session, delegation).await {
                // With the next session comes what helps: the files are open, or reclaimed.
                Err(error) if is_session_lost(&error) => self.renew_session(&session).await?,
                other => return other,
            }
        }
        self.give_back_in(&self.session(), delegation).await
    }

    async fn give_back_in(&self, session: &Arc<Session>, delegation: &Delegation) -> Result<()> {
        let recovery = self.0.recovery.lock().await;
        for file in self.0.opens.files().into_iter().filter(|file| file.handle == delegation.handle) {
            file.claim(session, delegation.stateid).await?;
        }
        drop(recovery);
        let (mut patience, holder) = (self.patience(), self.acting_as(&delegation.user));
        loop {
            match delegreturn(&holder, Some(session), &delegation.handle, delegation.stateid).await {
                Err(error) if patience.allows(&error) => patience.wait().await,
                // What the server does not know it has back already.
                Err(error) if error.status().is_some() && !is_session_lost(&error) => return Ok(()),
                other => return other,
            }
        }
    }

    /// Forgets the delegations that the server took away; whoever calls this holds the lock of the recovery.
    pub(super) async fn check_delegations(&self, session: &Arc<Session>) -> Result<()> {
        for delegation in self.0.delegations.all() {
            if test_stateid(self, session, delegation.stateid).await? == Status::Ok {
                continue;
            }
            self.lose_delegation(session, &delegation.handle, delegation.stateid).await;
        }
        Ok(())
    }

    /// Forgets a delegation that the server took away, and lets the server forget it.
    pub(super) async fn lose_delegation(&self, session: &Arc<Session>, file: &Handle, stateid: Stateid) {
        self.0.delegations.take(file, stateid);
        // What it does not know it need not forget.
        let _ = free_stateid(self, session, stateid).await;
    }
}
