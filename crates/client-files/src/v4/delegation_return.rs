//! How delegations are returned: on recall, when unused, and when the client closes.

use std::sync::Arc;

use client_calls::v4::{delegreturn, free_stateid, test_stateid};
use proto::nfs4::{CbRecallAnyArgs, RECALL_ANY_READ_DELEGATION, RECALL_ANY_WRITE_DELEGATION, Stateid, Status};

use super::client::Client;
use super::delegations::{Delegation, Kind};
use super::session::Session;
use super::setclientid::setclientid;
use super::verdicts::is_session_lost;
use crate::cache::Promise;
use crate::{Handle, Result};

/// A write delegation: while it is held, nobody else reads or writes the file.
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

/// How often the return of one delegation is tried while sessions are lost.
const MAX_TRIES: u32 = 4;

impl Client {
    /// The kind of delegation held for `file`, while the lease lasts.
    pub fn has_delegation(&self, file: &Handle) -> Option<Kind> {
        self.0.delegations.held(file).map(|delegation| delegation.kind)
    }

    /// The promise of a write delegation, if one is held and the lease lasts.
    pub(crate) fn promise(&self, file: &Handle) -> Option<Arc<dyn Promise>> {
        let delegation = self.0.delegations.held(file).filter(|delegation| delegation.kind == Kind::Write)?;
        Some(Arc::new(Exclusive { client: self.clone(), delegation }))
    }

    /// Handles a recall (RFC 8881 §20.2) and returns the delegation in the background. `false` if there is none.
    pub(super) fn recall(&self, file: &Handle, stateid: Stateid) -> bool {
        let taken = self.0.delegations.take(file, stateid);
        let is_known = taken.is_some();
        self.give_back_soon(taken);
        is_known
    }

    /// Handles CB_RECALL_ANY (RFC 8881 §20.6): returns the least recently used delegations beyond the number to keep.
    pub(super) fn recall_any(&self, args: &CbRecallAnyArgs) {
        let types = [(RECALL_ANY_READ_DELEGATION, Kind::Read), (RECALL_ANY_WRITE_DELEGATION, Kind::Write)];
        let wanted = types.into_iter().filter(|(number, _)| args.types.contains(*number));
        let kinds: Vec<Kind> = wanted.map(|(_, kind)| kind).collect();
        let keep = usize::try_from(args.objects_to_keep).unwrap_or(usize::MAX);
        self.give_back_soon(self.0.delegations.take_excess(keep, &kinds));
    }

    /// Returns delegations in the background; nobody may rely on them any more.
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

    /// Returns delegations that were not used lately and that no open file needs.
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

    /// Returns all delegations because a 4.0 server cannot call this client (RFC 7530 §10.2.1). It then repeats
    /// SETCLIENTID, so that the server tries the callback path again (§16.33).
    pub(super) async fn restore_callback_path(&self, session: &Arc<Session>) -> Result<()> {
        if self.0.identity.called_at.is_none() {
            // There is no callback port.
            return Ok(());
        }
        tracing::warn!(server = %self.0.server, "the server cannot call this client: delegations go back");
        self.give_back_soon(self.0.delegations.take_all());
        let recovery = self.0.recovery.lock().await;
        if Arc::ptr_eq(session, &self.session()) {
            let own = self.own();
            // If the server takes this for a new client, it has forgotten the old one and says so to the next request.
            setclientid(&own.wire(own.connection()), &self.0.identity).await?;
        }
        drop(recovery);
        Ok(())
    }

    /// Returns all delegations and ignores errors.
    pub(super) async fn give_back_all(&self) {
        for delegation in self.0.delegations.take_all() {
            let _ = self.give_back(&delegation).await;
        }
    }

    /// Writes back changes made under the delegation, opens its files at the server, and returns it (RFC 8881 §10.4.4).
    async fn give_back(&self, delegation: &Delegation) -> Result<()> {
        if delegation.kind == Kind::Write
            && let Some(mounted) = self.mounted()
        {
            mounted.write_back(&delegation.handle).await;
        }
        for _ in 1..MAX_TRIES {
            let session = self.session();
            match self.give_back_in(&session, delegation).await {
                // A new session comes with recovery: the files are open or reclaimed.
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
            match delegreturn(&holder.in_session(Some(session)), &delegation.handle, delegation.stateid).await {
                Err(error) if patience.allows(&error) => patience.wait().await,
                // A delegation that the server does not know is returned already.
                Err(error) if error.status().is_some() && !is_session_lost(&error) => return Ok(()),
                other => return other,
            }
        }
    }

    /// Drops the delegations that the server revoked. The caller holds the recovery lock.
    pub(super) async fn check_delegations(&self, session: &Arc<Session>) -> Result<()> {
        for delegation in self.0.delegations.all() {
            if test_stateid(&self.in_session(Some(session)), delegation.stateid).await? == Status::Ok {
                continue;
            }
            self.lose_delegation(session, &delegation.handle, delegation.stateid).await;
        }
        Ok(())
    }

    /// Drops a revoked delegation, and frees its stateid at the server.
    pub(super) async fn lose_delegation(&self, session: &Arc<Session>, file: &Handle, stateid: Stateid) {
        self.0.delegations.take(file, stateid);
        // The server need not free a stateid that it does not know.
        let _ = free_stateid(&self.in_session(Some(session)), stateid).await;
    }
}
