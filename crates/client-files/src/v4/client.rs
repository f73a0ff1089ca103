use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, Weak};
use std::time::Duration;

use client_calls::core::Failure;
use client_calls::v4::{Caller, Reply, Request, Wire, resolve_owners};
use client_calls::{Connection, Principal};
use proto::nfs4::{ClientId, MinorVersion, SequenceOk, Status};
use tokio::sync::Mutex;

use super::back_slots::Callbacks;
use super::cached_files::CachedFiles;
use super::delegations::Delegations;
use super::handled_flags::Watch;
use super::identity::Identity;
use super::listening::Listening;
use super::offloads::Offloads;
use super::opens::Opens;
use super::registration::Recovery;
use super::session::{Channel, DATA_OVERHEAD_BYTES, DATA_UNIT_BYTES, FAREWELL, Session};
use super::slots::Taken;
use crate::patience::Patience;
use crate::{Error, Lie, Reason, Result};

/// How often one call is tried because the session was lost, the connection was not bound, or the server was not ready.
const MAX_ATTEMPTS: u32 = 16;
/// How long to wait when the server answers SEQUENCE with DELAY.
const SLOT_PAUSE: Duration = Duration::from_millis(20);

/// A client of an NFSv4 server: its identity, its session and its open files, and the user who makes calls. Clones
/// share the state.
///
/// From 4.1 on each request is executed exactly once, however often the connection is lost (RFC 8881 §2.10.6). When the
/// session is lost, the client makes a new one; if the server restarted, it also reclaims everything that is open.
/// Calls wait meanwhile.
///
/// ```no_run
/// # async fn example(file: client::Handle) -> client::Result<()> {
/// use client::Options;
/// use client::v4::{Client, MinorVersion, Stateid};
///
/// let address = "[::1]:2049".parse().unwrap();
/// let client = Client::connect(address, "localhost", MinorVersion::V2, &Options::default()).await?;
/// let data = client.read(&file, Stateid::ANONYMOUS, 0, 4096).await?;
/// println!("{} bytes", data.bytes.len());
/// client.close().await
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Client(pub(super) Arc<Inner>, Arc<[Connection]>);

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) server: Arc<str>,
    pub(super) minor: MinorVersion,
    /// With the client's own credentials, for calls about its identity, its session and its lease (RFC 8881 §2.10.8.3).
    pub(super) connections: Arc<[Connection]>,
    pub(super) turn: AtomicUsize,
    pub(super) identity: Identity,
    pub(super) session: RwLock<Arc<Session>>,
    /// Locked while a new session is made.
    pub(super) recovery: Mutex<Recovery>,
    pub(super) opens: Opens,
    pub(super) watch: Watch,
    pub(super) delegations: Delegations,
    pub(super) uses_delegations: bool,
    pub(super) uses_write_delegations: bool,
    pub(super) callbacks: Arc<Callbacks>,
    /// The callback port for a 4.0 server, if it may call.
    pub(super) listening: OnceLock<Listening>,
    pub(super) offloads: Offloads,
    /// Whether the client no longer waits for a grace period.
    pub(super) hurries: Arc<AtomicBool>,
    /// Whether the client has begun to close.
    pub(super) is_leaving: AtomicBool,
    /// Whether the client is closed.
    pub(super) has_left: AtomicBool,
    /// Whether the client id is being destroyed, so that no new session may be made.
    pub(super) is_gone: AtomicBool,
    /// The number of slots to request.
    pub(super) slots: u32,
    /// The lease time, once the server reported it.
    pub(super) lease: OnceLock<Duration>,
    /// The mount that caches the files' data and attributes, if any.
    pub(super) mounted: OnceLock<Weak<dyn CachedFiles>>,
}

/// Why a request was not carried out; each variant has its own recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The session, or the client id of 4.0, is lost.
    SessionLost(Status),
    /// The session's slots differ from the server's.
    SlotsBroken(Status),
    /// The connection is not bound to the session.
    NotBound(Status),
    /// The server still executes another request of this slot.
    Busy(Status),
    /// The server did not keep the reply, and the request may be repeated.
    Again(Status),
}

impl Client {
    /// The client with its own credentials.
    pub(super) fn of(inner: Arc<Inner>) -> Client {
        let connections = Arc::clone(&inner.connections);
        Client(inner, connections)
    }

    /// The same client with its own credentials.
    pub(super) fn own(&self) -> Client {
        Client::of(Arc::clone(&self.0))
    }

    /// The same client, making requests as `principal`.
    pub(crate) fn acting_as(&self, principal: &Arc<Principal>) -> Client {
        let connections = self.0.connections.iter().map(|connection| connection.acting_as(principal)).collect();
        Client(Arc::clone(&self.0), connections)
    }

    /// Who makes requests.
    pub(super) fn principal(&self) -> &Arc<Principal> {
        self.1[0].principal()
    }

    /// The minor version.
    pub fn minor_version(&self) -> MinorVersion {
        self.0.minor
    }

    /// Sets the mount of this client, which writes its changes back before a delegation is returned.
    pub(crate) fn set_mounted(&self, mounted: Weak<dyn CachedFiles>) {
        // A client belongs to one mount.
        let _ = self.0.mounted.set(mounted);
    }

    pub(super) fn mounted(&self) -> Option<Arc<dyn CachedFiles>> {
        self.0.mounted.get()?.upgrade()
    }

    /// The same client, with requests over one of its connections.
    #[doc(hidden)]
    #[must_use]
    pub fn over(&self, connection: usize) -> Client {
        let connection = self.1[connection % self.1.len()].clone();
        Client(Arc::clone(&self.0), [connection].into())
    }

    /// The client id that the server assigned.
    #[doc(hidden)]
    pub fn client_id(&self) -> ClientId {
        self.session().client
    }

    /// The connections, which share the session.
    pub(crate) fn connections(&self) -> &[Connection] {
        &self.1
    }

    pub(super) fn connection(&self) -> &Connection {
        Connection::next_of(&self.1, &self.0.turn)
    }

    /// The limits for retrying a call that the server defers.
    pub(crate) fn patience(&self) -> Patience {
        let silence = self.0.connections.first().and_then(Connection::patience);
        Patience::new(silence, self.0.lease.get().copied()).unless(&self.0.hurries)
    }

    pub(super) fn wire<'a>(&self, connection: &'a Connection) -> Wire<'a> {
        Wire { connection, minor: self.0.minor }
    }

    pub(super) fn session(&self) -> Arc<Session> {
        Arc::clone(&self.0.session.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces a lost session; callers that wait for its slots go on with the new one.
    pub(super) fn replace_session(&self, session: Session) -> Arc<Session> {
        let session = Arc::new(session);
        let old = std::mem::replace(
            &mut *self.0.session.write().unwrap_or_else(PoisonError::into_inner),
            Arc::clone(&session),
        );
        old.close();
        session
    }

    /// The most data of a READ and of a WRITE that the session has room for, in bytes.
    pub(crate) fn most_data(&self) -> (u32, u32) {
        let limits = self.session().channel.as_ref().map(|channel| channel.attributes);
        let room = |bytes: u32| bytes.saturating_sub(DATA_OVERHEAD_BYTES) / DATA_UNIT_BYTES * DATA_UNIT_BYTES;
        let most = proto::nfs4::MAX_DATA_BYTES as u32;
        limits.map_or((most, most), |limits| {
            (room(limits.max_response_size).min(most), room(limits.max_request_size).min(most))
        })
    }

    pub(super) fn error(&self, operation: &'static str, reason: Reason) -> Error {
        Error::new(&self.0.server, operation, reason)
    }

    /// Closes the client in the background, unless somebody does already. It stops after `FAREWELL` or with the
    /// runtime.
    pub(crate) fn close_soon(&self) {
        if self.0.is_leaving.load(Ordering::Relaxed) {
            return;
        }
        self.connection().spawn(self.own().leave());
    }

    /// Closes the client, as far as `FAREWELL` allows.
    pub(super) async fn leave(self) {
        let (server, inner) = (Arc::clone(&self.0.server), Arc::clone(&self.0));
        match tokio::time::timeout(FAREWELL, self.close()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%server, %error, "cannot leave the server"),
            Err(_) => {
                inner.has_left.store(true, Ordering::Release);
                tracing::debug!(%server, "the server does not answer a client that leaves");
            }
        }
    }

    /// Sends a request, and recovers the session and retries as needed.
    pub(crate) async fn call(&self, request: &Request<'_>) -> Result<Reply> {
        let (mut attempts, mut may_be_second) = (Attempts::default(), false);
        loop {
            let session = self.session();
            match self.attempt(&session, request).await? {
                Ok(reply) => return Ok(reply.after_loss(may_be_second)),
                Err(trouble) => {
                    may_be_second |= matches!(trouble, Trouble::SessionLost(_));
                    attempts.mend(self, &session, trouble).await?;
                }
            }
        }
    }

    /// Sends a request in this session only.
    pub(super) async fn call_in(&self, session: &Arc<Session>, request: &Request<'_>) -> Result<Reply> {
        let mut attempts = Attempts::default();
        loop {
            match self.attempt(session, request).await? {
                Ok(reply) => return Ok(reply),
                Err(trouble) => attempts.mend_in(self, session, trouble).await?,
            }
        }
    }

    /// Sends a request in `session` only; without one, as [`Client::call`].
    pub(super) async fn call_or_attempt(&self, session: Option<&Arc<Session>>, request: &Request<'_>) -> Result<Reply> {
        match session {
            Some(session) => self.call_in(session, request).await,
            None => self.call(request).await,
        }
    }

    /// The client, with requests in `session` only; without one, the client itself.
    pub(super) fn in_session<'a>(&'a self, session: Option<&'a Arc<Session>>) -> InSession<'a> {
        InSession { client: self, session }
    }

    /// Sends a request once, in this session. If the file system has moved, fetches its new locations.
    pub(super) async fn attempt(
        &self,
        session: &Arc<Session>,
        request: &Request<'_>,
    ) -> Result<std::result::Result<Reply, Trouble>> {
        match self.attempt_once(session, request).await? {
            // Boxed, as all that is rare here: every operation's future has room for it otherwise.
            Ok(reply) if reply.status() == Status::Moved => Err(Box::pin(self.moved(session, request, &reply)).await),
            Ok(reply) => {
                // The request's slot is free by now.
                resolve_owners(request, &reply).await;
                Ok(Ok(reply))
            }
            trouble => Ok(trouble),
        }
    }

    pub(super) async fn attempt_once(
        &self,
        session: &Arc<Session>,
        request: &Request<'_>,
    ) -> Result<std::result::Result<Reply, Trouble>> {
        let connection = self.connection();
        let Some(channel) = &session.channel else {
            // In 4.0 most requests do not renew the lease (RFC 7530 §9.5).
            let reply = self.wire(connection).send(request, None, None).await?;
            return Ok(match reply.status() {
                status @ Status::StaleClientid => Err(Trouble::SessionLost(status)),
                _ => Ok(reply),
            });
        };
        let patience = connection.patience();
        let taken = channel.slots.take(patience).await.map_err(|_| {
            let waited = patience.unwrap_or_default();
            self.error(request.name, Reason::NoReply(Failure::TimedOut { sends: 0, waited }))
        })?;
        let Some(taken) = taken else { return Ok(Err(Trouble::SessionLost(Status::BadSession))) };
        let (sequence, asked) = (channel.sequence(&taken, request.is_kept), taken.asked);
        let guard = SlotGuard { client: self, session, taken: Some(taken) };
        let mut reply = self.wire(connection).send(request, Some(sequence), asked).await?;
        match reply.take_sequence()? {
            // The reply belongs to another request, so the outcome of this one is unknown.
            Ok(ok) if (ok.session, ok.slot, ok.sequence) != (sequence.session, sequence.slot, sequence.sequence) => {
                Err(reply.error(Reason::Lie(Lie::WrongSlot)))
            }
            Ok(ok) => {
                guard.complete(channel);
                self.note(session, channel, &ok);
                // The server may report a missing reply behind a replayed SEQUENCE (RFC 8881 §2.10.6.1.3).
                Ok(match reply.status() {
                    status @ Status::RetryUncachedRep if !request.is_kept => Err(Trouble::Again(status)),
                    _ => Ok(reply),
                })
            }
            Err(status) => match Trouble::of(status) {
                Some(trouble) => {
                    guard.after(channel, trouble);
                    Ok(Err(trouble))
                }
                None => {
                    guard.after(channel, Trouble::Busy(status));
                    Err(reply.refusal(status))
                }
            },
        }
    }

    /// Handles what the SEQUENCE result reports: a renewed lease, the slot target and the status flags.
    fn note(&self, session: &Arc<Session>, channel: &Channel, ok: &SequenceOk) {
        session.renewed();
        channel.slots.aim(ok.target_highest_slot);
        self.look_after(session, ok.status_flags);
    }
}

impl Caller for Client {
    fn call(&self, request: &Request<'_>) -> impl Future<Output = Result<Reply>> + Send {
        Client::call(self, request)
    }

    fn most_data(&self) -> (u32, u32) {
        Client::most_data(self)
    }
}

/// A client whose requests stay in one session, if there is one.
pub(super) struct InSession<'a> {
    client: &'a Client,
    session: Option<&'a Arc<Session>>,
}

impl Caller for InSession<'_> {
    fn call(&self, request: &Request<'_>) -> impl Future<Output = Result<Reply>> + Send {
        self.client.call_or_attempt(self.session, request)
    }

    fn most_data(&self) -> (u32, u32) {
        self.client.most_data()
    }
}

/// Counts the attempts of one request.
#[derive(Debug, Default)]
pub(super) struct Attempts(u32);

impl Attempts {
    /// Recovers from `trouble`, unless that was tried too often.
    pub(super) async fn mend(&mut self, client: &Client, session: &Arc<Session>, trouble: Trouble) -> Result<()> {
        self.0 += 1;
        if self.0 >= MAX_ATTEMPTS {
            return Err(client.error("SEQUENCE", Reason::Status(trouble.status().into())));
        }
        // Recovery makes calls too, hence the box. They stay in their session and end in `mend_in`.
        Box::pin(client.mend(session, trouble)).await
    }

    /// Recovers from `trouble` without a new session, which only the caller may make.
    pub(super) async fn mend_in(&mut self, client: &Client, session: &Arc<Session>, trouble: Trouble) -> Result<()> {
        self.0 += 1;
        match trouble {
            Trouble::Busy(_) | Trouble::Again(_) if self.0 < MAX_ATTEMPTS => tokio::time::sleep(trouble.pause()).await,
            Trouble::NotBound(_) if self.0 < MAX_ATTEMPTS => client.bind_all(session).await?,
            _ => return Err(client.error("SEQUENCE", Reason::Status(trouble.status().into()))),
        }
        Ok(())
    }
}

impl Trouble {
    /// The recovery that a status of SEQUENCE requires; `None` if the request itself is at fault.
    fn of(status: Status) -> Option<Trouble> {
        Some(match status {
            Status::BadSession | Status::DeadSession | Status::StaleClientid => Trouble::SessionLost(status),
            Status::SeqMisordered | Status::SeqFalseRetry | Status::BadSlot | Status::BadHighSlot => {
                Trouble::SlotsBroken(status)
            }
            Status::ConnNotBoundToSession => Trouble::NotBound(status),
            Status::Delay => Trouble::Busy(status),
            Status::RetryUncachedRep => Trouble::Again(status),
            _ => return None,
        })
    }

    /// How long to wait before a retry.
    pub(super) fn pause(self) -> Duration {
        if matches!(self, Trouble::Busy(_)) { SLOT_PAUSE } else { Duration::ZERO }
    }
}

/// The slot of a request in flight. If the caller is dropped or no reply arrives, the slot is in doubt and gets settled
/// in the background.
struct SlotGuard<'a> {
    client: &'a Client,
    session: &'a Arc<Session>,
    taken: Option<Taken<'a>>,
}

impl SlotGuard<'_> {
    /// The request was carried out.
    fn complete(mut self, channel: &Channel) {
        if let Some(taken) = self.taken.take() {
            channel.slots.complete(taken);
        }
    }

    /// The request was refused.
    fn after(mut self, channel: &Channel, trouble: Trouble) {
        match (self.taken.take(), trouble) {
            (Some(taken), Trouble::Again(_)) => channel.slots.complete(taken),
            (Some(taken), _) => channel.slots.release(taken),
            (None, _) => {}
        }
    }
}

impl Drop for SlotGuard<'_> {
    fn drop(&mut self) {
        let (Some(taken), Some(channel)) = (self.taken.take(), &self.session.channel) else { return };
        let (slot, sequence) = (taken.slot, taken.sequence);
        channel.slots.doubt(taken);
        self.client.settle(self.session, slot, sequence);
    }
}
