//! The lease is renewed before it ends (RFC 7530 §9.5, RFC 8881 §8.3).

use std::sync::{Arc, Weak};
use std::time::Duration;

use client_calls::now;
use client_calls::v4::Request;

use super::client::{Client, Inner};
use super::session::Session;
use proto::nfs4::{ArgOp, Attribute, AttributeValue, GetattrArgs, Putrootfh, Renew, RenewArgs, Status};

use crate::{Lie, Reason, Result};

/// Renewals per lease, so that two may get lost.
const RENEWALS_PER_LEASE: u32 = 3;
/// The shortest pause between two renewals.
const MIN_PAUSE: Duration = Duration::from_millis(300);

/// Renews the lease while the client lives, unless its calls already do.
///
/// A lost connection may mean that the server restarts and waits for the client to reclaim its state.
pub(super) async fn renew(client: Weak<Inner>, lease: Duration) {
    let pause = (lease / RENEWALS_PER_LEASE).max(MIN_PAUSE);
    let losses = client.upgrade().map(|client| client.connections[0].losses()).unwrap_or_default();
    let mut due = tokio::time::Instant::now() + pause;
    loop {
        let is_lost = tokio::time::timeout_at(due, losses.notified()).await.is_ok();
        let Some(client) = client.upgrade().map(Client::of) else { return };
        if is_lost && !client.holds_anything() {
            continue;
        }
        due = tokio::time::Instant::now() + pause;
        client.give_back_unused();
        let now = now();
        if !is_lost && client.session().take_renewed() {
            // Some call since the last check renewed the lease: count from that check.
            client.0.delegations.renewed(now.checked_sub(pause).unwrap_or(now), lease);
            continue;
        }
        match client.renew_once().await {
            Ok(()) => client.0.delegations.renewed(now, lease),
            Err(error) => tracing::debug!(server = %client.0.server, %error, "cannot renew the lease"),
        }
    }
}

impl Client {
    fn holds_anything(&self) -> bool {
        !self.0.opens.files().is_empty() || !self.0.delegations.all().is_empty()
    }

    /// Renews the lease, from 4.1 on with a SEQUENCE alone.
    async fn renew_once(&self) -> Result<()> {
        if let Err(error) = self.finish_recovery().await {
            // If the session is lost again, the request below finds that out.
            tracing::debug!(server = %self.0.server, %error, "cannot reclaim yet");
        }
        if self.0.minor.has_sessions() {
            return self.call(&Request::reading("SEQUENCE", &[])).await.map(drop);
        }
        // A restarted server issues another client id; the first reply shows that.
        let session = self.session();
        let operations = [ArgOp::Renew(RenewArgs { client: session.client })];
        match self.attempt(&session, &Request::reading("RENEW", &operations)).await? {
            // The lease expired: treat the client id as lost (RFC 7530 §9.6.3).
            Ok(reply) if reply.status() == Status::Expired => self.renew_session(&session).await,
            // The lease is renewed all the same (RFC 7530 §16.28).
            Ok(reply) if reply.status() == Status::CbPathDown => self.restore_callback_path(&session).await,
            Ok(reply) => reply.results().ok::<Renew, _>(),
            Err(trouble) => self.mend(&session, trouble).await,
        }
    }

    /// Checks that a 4.0 server knows the client. If not, everything open must be recovered, not one stateid.
    ///
    /// # Errors
    /// STALE_CLIENTID if the server does not know it.
    pub(super) async fn check_known(&self, session: &Arc<Session>) -> Result<()> {
        let operations = [ArgOp::Renew(RenewArgs { client: session.client })];
        let reply = self.own().call_in(session, &Request::reading("RENEW", &operations)).await?;
        match reply.status() {
            // The lease expired: treat the client id as lost (RFC 7530 §9.6.3).
            Status::Expired => Err(reply.refusal(Status::StaleClientid)),
            Status::CbPathDown => Ok(()),
            _ => reply.results().ok::<Renew, _>(),
        }
    }

    /// The lease time. The server has only one, which its root reports.
    pub(super) async fn lease(&self) -> Result<Duration> {
        let request = Attribute::set(&[Attribute::LeaseTime]);
        let operations = [ArgOp::Putrootfh, ArgOp::Getattr(GetattrArgs { request })];
        let reply = self.call(&Request::reading("GETATTR", &operations)).await?;
        let mut results = reply.results();
        results.ok::<Putrootfh, _>()?;
        let found = results.ok::<proto::nfs4::Getattr, _>()?;
        match found.values().next() {
            Some(Ok(AttributeValue::LeaseTime(0))) => Err(reply.error(Reason::Lie(Lie::Lease(0)))),
            Some(Ok(AttributeValue::LeaseTime(seconds))) => Ok(Duration::from_secs(seconds.into())),
            _ => Err(reply.error(Reason::Lie(Lie::NoAttribute("lease_time")))),
        }
    }
}
