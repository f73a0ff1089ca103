//! What is done when a session is lost, a slot is in doubt, or the server has forgotten the client.
//!
//! `client.rs` sends a request over as many sessions as it takes. What a refusal requires is a `Trouble`, and one task
//! at a time recovers from it:
//!
//! 1. It makes a session.
//! 2. It reclaims the opens and locks in `opens.rs`.
//! 3. It sends RECLAIM_COMPLETE.
//! 4. It opens again what the server did not know.
//!
//! A reclaim that is interrupted goes on in the next session, since no server has decided it. An open file's state has
//! an era. A request that was refused with the state of an earlier era is retried with the current one. The reply to a
//! LOCK of an earlier era changes nothing, not even the sequence numbers of a 4.0 owner: a server that let the lease
//! expire counts them again. In NFSv4.0, RENEW shows first whether the server lost one stateid or the whole client.
//!
//! Connections take turns, lost ones left out. A stream that replaces another one is bound to the session.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use client_calls::core::Failure;
use client_calls::v4::{Request, Wire, bind_conn_to_session, destroy_clientid, destroy_session};
use proto::nfs4::{ArgOp, ReclaimComplete, ReclaimCompleteArgs, SequenceArgs, SlotId, Status};
use tokio::runtime;

use super::callback;
use super::client::{Client, Inner, Trouble};
use super::create_session::create_session;
use super::exchange_id::exchange_id;
use super::registration::Recovery;
use super::renewal;
use super::session::{FAREWELL, Session};
use super::setclientid::setclientid;
use super::verdicts::{is_lost_again, is_session_lost};
use crate::{Reason, Result};

/// How often a step is retried while the server puts it off.
const MAX_TRIES: u32 = 20;
/// The pause between two tries.
const PAUSE: Duration = Duration::from_millis(250);
/// The poll interval of a closing client while requests are in flight.
const LEAVING_PAUSE: Duration = Duration::from_millis(20);

impl Client {
    /// Starts the background tasks, and reports that there is nothing to reclaim (RFC 8881 §18.51.3).
    pub(super) async fn begin(&self) -> Result<()> {
        if self.0.minor.has_sessions() {
            for (number, connection) in self.0.connections.iter().enumerate() {
                tokio::spawn(callback::serve(connection.back_calls(), number, Arc::downgrade(&self.0)));
            }
            self.begin_session().await?;
        }
        let (since, lease) = (self.session().since, self.lease().await?);
        self.0.delegations.renewed(since, lease);
        // Nothing else sets it.
        let _ = self.0.lease.set(lease);
        tokio::spawn(renewal::renew(Arc::downgrade(&self.0), lease));
        Ok(())
    }

    /// Starts to use the first session, or another one if the server loses it at once, as in a restart.
    async fn begin_session(&self) -> Result<()> {
        let mut losses = 0;
        loop {
            let session = self.session();
            match self.introduce(&session).await {
                Err(lost) if is_session_lost(&lost) && losses < MAX_TRIES => losses += 1,
                other => return other,
            }
            self.renew_session(&session).await?;
        }
    }

    async fn introduce(&self, session: &Arc<Session>) -> Result<()> {
        for connection in self.0.connections.iter().skip(1) {
            self.check_server(connection, session).await?;
            self.bind(connection, session).await?;
        }
        self.reclaim_complete(session).await
    }

    /// Closes the files, then destroys the session and the client id.
    ///
    /// # Errors
    /// The server's status, which can be ignored: the server drops a silent client when its lease expires.
    pub async fn close(self) -> Result<()> {
        if self.0.is_leaving.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        self.0.hurries.store(true, Ordering::Relaxed);
        let closed = self.close_all().await;
        self.0.has_left.store(true, Ordering::Release);
        closed
    }

    async fn close_all(&self) -> Result<()> {
        // If the server does not answer, there is nothing to wait for.
        let _ = tokio::time::timeout(FAREWELL, self.close_opens()).await;
        self.give_back_all().await;
        let session = self.session();
        let own = self.own();
        let wire = own.wire(own.connection());
        self.0.is_gone.store(true, Ordering::Relaxed);
        let Some(channel) = &session.channel else { return self.forget_client_of_40(&wire).await };
        let mut is_session_over = false;
        for _ in 0..MAX_TRIES {
            let ended = match is_session_over {
                false => destroy_session(&wire, channel.session).await,
                true => destroy_clientid(&wire, session.client).await,
            };
            match ended {
                Ok(()) if is_session_over => return Ok(()),
                Ok(()) => is_session_over = true,
                // Requests that nobody waits for any more are still in flight at the server.
                Err(error) if matches!(error.v4_status(), Some(Status::Delay | Status::ClientidBusy)) => {
                    tokio::time::sleep(LEAVING_PAUSE).await;
                }
                Err(error) => return Err(error),
            }
        }
        self.replace_client(&wire).await
    }

    /// Has the server drop state of which this client does not know, such as that of an OPEN whose reply was lost: a
    /// client that restarted holds nothing (RFC 8881 §18.35.4). Otherwise the server waits for it after a restart.
    async fn replace_client(&self, wire: &Wire<'_>) -> Result<()> {
        let known = exchange_id(wire, &self.0.identity.restarted()).await?;
        let session = create_session(wire, &known, 1).await?;
        if let Some(channel) = &session.channel {
            destroy_session(wire, channel.session).await?;
        }
        destroy_clientid(wire, known.client).await
    }

    /// Closes all files, including those of OPENs in flight that nobody waits for any more.
    async fn close_opens(&self) {
        while self.0.opens.are_under_way() {
            tokio::time::sleep(LEAVING_PAUSE).await;
        }
        self.0.opens.close_all().await;
        self.0.opens.closed().await;
    }

    /// 4.0 cannot destroy a client id. A client that restarted holds nothing, so the server drops its earlier state at
    /// once (RFC 7530 §16.34.5).
    async fn forget_client_of_40(&self, wire: &Wire<'_>) -> Result<()> {
        if !self.0.opens.were_used() {
            return Ok(());
        }
        setclientid(wire, &self.0.identity.restarted()).await.map(drop)
    }

    /// Recovers from `trouble`, unless somebody else already did.
    pub(super) async fn mend(&self, session: &Arc<Session>, trouble: Trouble) -> Result<()> {
        match trouble {
            Trouble::Busy(_) | Trouble::Again(_) => {
                tokio::time::sleep(trouble.pause()).await;
                Ok(())
            }
            Trouble::NotBound(_) => match self.bind_all(session).await {
                Err(error) if is_session_lost(&error) => self.renew_session(session).await,
                other => other,
            },
            Trouble::SessionLost(_) | Trouble::SlotsBroken(_) => self.renew_session(session).await,
        }
    }

    /// Binds all connections except lost ones, which are bound when they are replaced.
    pub(super) async fn bind_all(&self, session: &Arc<Session>) -> Result<()> {
        let is_one = self.0.connections.len() == 1;
        for connection in self.0.connections.iter().filter(|connection| connection.is_up()) {
            if !is_one {
                self.check_server(connection, session).await?;
            }
            self.bind(connection, session).await?;
        }
        Ok(())
    }

    /// Refuses a connection to another server than the session's, as where several servers share an address: there the
    /// session id is somebody else's (RFC 8881 §2.10.5).
    async fn check_server(&self, connection: &crate::Connection, session: &Arc<Session>) -> Result<()> {
        let Some(channel) = &session.channel else { return Ok(()) };
        let found = exchange_id(&self.wire(connection), &self.0.identity).await?.server;
        if found == channel.server {
            return Ok(());
        }
        let (expected, found) = (channel.server.to_string(), found.to_string());
        tracing::warn!(server = %self.0.server, expected, found, "a connection leads to another server");
        Err(self.error("EXCHANGE_ID", Reason::OtherServer { expected, found }))
    }

    async fn bind(&self, connection: &crate::Connection, session: &Arc<Session>) -> Result<()> {
        let Some(channel) = &session.channel else { return Ok(()) };
        bind_conn_to_session(&self.wire(connection), channel.session).await
    }

    /// Replaces the session `lost`, and reclaims everything if the server forgot the client too. It starts over if the
    /// new session is lost meanwhile.
    pub(super) async fn renew_session(&self, lost: &Arc<Session>) -> Result<()> {
        let mut recovery = self.0.recovery.lock().await;
        if self.0.is_gone.load(Ordering::Relaxed) {
            // A request still in flight must not bring a closed client back.
            return Err(self.error("CREATE_SESSION", Reason::NoReply(Failure::Closed)));
        }
        if !Arc::ptr_eq(lost, &self.session()) {
            return Ok(());
        }
        for attempt in 0.. {
            let session = self.next_session(&mut recovery).await?;
            let result = if recovery.must_reclaim { self.reclaim(&mut recovery, &session).await } else { Ok(()) };
            match result {
                Err(error) if is_lost_again(&error) && attempt < MAX_TRIES => {}
                Err(error) => return Err(error),
                Ok(()) => break,
            }
        }
        if self.0.connections.len() > 1 {
            self.bind_again(&self.session());
        }
        Ok(())
    }

    /// Replaces a session that the server cannot continue. Requests in flight end first, so that none is executed twice
    /// (RFC 8881 §18.46.3).
    pub(super) async fn leave_session(&self, left: &Arc<Session>) -> Result<()> {
        let mut recovery = self.0.recovery.lock().await;
        if !Arc::ptr_eq(left, &self.session()) {
            return Ok(());
        }
        left.close();
        for _ in 0..MAX_TRIES {
            if left.channel.as_ref().is_none_or(|channel| channel.slots.is_idle()) {
                break;
            }
            tokio::time::sleep(PAUSE).await;
        }
        self.next_session(&mut recovery).await?;
        drop(recovery);
        self.finish_recovery().await
    }

    /// Replaces the current session, with one of the same client if the server still knows it.
    async fn next_session(&self, recovery: &mut Recovery) -> Result<Arc<Session>> {
        let (own, lost) = (self.own(), self.session());
        let wire = own.wire(own.connection());
        if let Some(channel) = &lost.channel {
            // The server may have lost it already.
            let _ = destroy_session(&wire, channel.session).await;
        }
        if let Some(session) = recovery.new_session(&wire, self.0.slots).await? {
            return Ok(self.replace_session(session));
        }
        let session = recovery.new_client(&wire, &self.0.identity, self.0.slots).await?;
        recovery.must_reclaim = true;
        Ok(self.replace_session(session))
    }

    /// Reclaims what was open, reports that this is all, and reopens what the server did not know. Reopening waits for
    /// the end of the grace period, which may itself wait for this client (RFC 8881 §8.4.2.1).
    pub(super) async fn reclaim(&self, recovery: &mut Recovery, session: &Arc<Session>) -> Result<()> {
        self.0.opens.forget_idle();
        // A delegation without an open file cannot be reclaimed, and is lost.
        recovery.claims.extend(self.0.delegations.take_all().into_iter().map(|one| (one.handle, one.kind)));
        let mut forgotten = Vec::new();
        for file in self.0.opens.files() {
            let delegation = recovery.claims.get(&file.handle).copied();
            let delegation = delegation.filter(|_| self.has_delegation(&file.handle).is_none());
            let is_had_back = recovery.is_same_server && file.reclaim(session, delegation).await?;
            if !is_had_back {
                file.forget();
                forgotten.push(file);
            }
        }
        self.reclaim_complete(session).await?;
        recovery.must_reclaim = false;
        if !self.0.minor.has_sessions() {
            self.show_that_all_is_reclaimed(session).await;
        }
        recovery.claims.clear();
        for file in forgotten {
            file.open_anew(session).await?;
        }
        Ok(())
    }

    /// Continues an unfinished reclaim.
    pub(super) async fn finish_recovery(&self) -> Result<()> {
        let mut recovery = self.0.recovery.lock().await;
        if !recovery.must_reclaim {
            return Ok(());
        }
        let session = self.session();
        self.reclaim(&mut recovery, &session).await
    }

    /// Reports that nothing more will be reclaimed.
    async fn reclaim_complete(&self, session: &Arc<Session>) -> Result<()> {
        if !self.0.minor.has_sessions() {
            return Ok(());
        }
        let operations = [ArgOp::ReclaimComplete(ReclaimCompleteArgs { one_fs: false })];
        let request = Request::changing("RECLAIM_COMPLETE", &operations);
        let reply = self.own().call_in(session, &request).await?;
        match reply.results().ok::<ReclaimComplete, _>() {
            Err(error) if error.v4_status() == Some(Status::CompleteAlready) => Ok(()),
            other => other,
        }
    }

    /// 4.0 has no RECLAIM_COMPLETE. Servers that see a client go on may end the grace period sooner.
    async fn show_that_all_is_reclaimed(&self, session: &Arc<Session>) {
        // A failure does no harm: the next request meets it too.
        if let Err(error) = self.check_known(session).await {
            tracing::debug!(server = %self.0.server, %error, "cannot renew the lease after a recovery");
        }
    }

    /// Settles a slot in doubt, in the background. A request with the same sequence id is answered as the lost one or
    /// as a new one, and uses the id up in both cases (RFC 8881 §2.10.6.1).
    pub(super) fn settle(&self, session: &Arc<Session>, slot: SlotId, sequence: u32) {
        let Ok(runtime) = runtime::Handle::try_current() else { return };
        let (client, session) = (Arc::downgrade(&self.0), Arc::downgrade(session));
        runtime.spawn(async move {
            // Retries while the session lives, which could run out of slots otherwise.
            for tries in 0u32.. {
                let Some((client, session)) = upgrade(&client, &session) else { return };
                let Some(channel) = &session.channel else { return };
                let probe =
                    SequenceArgs { session: channel.session, sequence, slot, highest_slot: slot, cache_this: false };
                let request = Request::reading("SEQUENCE", &[]);
                let reply = client.wire(client.connection()).send(&request, Some(probe), None).await;
                match reply.and_then(|mut reply| reply.take_sequence()) {
                    Ok(Err(Status::Delay)) | Err(_) => {
                        drop((client, session));
                        tokio::time::sleep(PAUSE * tries.clamp(1, MAX_TRIES)).await;
                    }
                    Ok(Err(Status::BadSession | Status::DeadSession)) => return,
                    Ok(_) => return channel.slots.settle(slot, sequence),
                }
            }
        });
    }

    /// Binds a new stream of a connection in the background.
    pub(super) fn bind_stream(&self, number: usize) {
        let client = Arc::downgrade(&self.0);
        tokio::spawn(async move {
            let Some(client) = client.upgrade().map(Client::of) else { return };
            let session = client.session();
            let Some(connection) = client.0.connections.get(number) else { return };
            if let Err(error) = client.bind(connection, &session).await {
                tracing::debug!(server = %client.0.server, %error, "cannot bind a connection");
            }
        });
    }

    /// Binds the connections again, in the background.
    pub(super) fn bind_again(&self, session: &Arc<Session>) {
        let (client, session) = (Arc::downgrade(&self.0), Arc::downgrade(session));
        tokio::spawn(async move {
            let Some((client, session)) = upgrade(&client, &session) else { return };
            if let Err(error) = client.bind_all(&session).await {
                tracing::debug!(server = %client.0.server, %error, "cannot bind a connection");
            }
        });
    }
}

impl Trouble {
    /// The server's status.
    pub(super) fn status(self) -> Status {
        match self {
            Trouble::SessionLost(status)
            | Trouble::SlotsBroken(status)
            | Trouble::NotBound(status)
            | Trouble::Busy(status)
            | Trouble::Again(status) => status,
        }
    }
}

pub(super) fn upgrade(client: &Weak<Inner>, session: &Weak<Session>) -> Option<(Client, Arc<Session>)> {
    Some((Client::of(client.upgrade()?), session.upgrade()?))
}
