use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, Weak};
use std::time::Duration;

use proto::nfs4::{MinorVersion, SequenceOk, Status};
use tokio::sync::Mutex;

use super::callback::Callbacks;
use super::callback_listener::{CallbackListener, Listening};
use super::delegations::Delegations;
use super::departure;
use super::identity::Identity;
use super::offloads::Offloads;
use super::opens::Opens;
use super::recovery::Recovery;
use super::reply::Reply;
use super::request::Request;
use super::session::{Channel, Session};
use super::slots::Taken;
use super::unused::Unused;
use super::watch::Watch;
use super::wire::Wire;
use crate::connection::Connection;
use crate::core::{Failure, Transport};
use crate::credentials::Principal;
use crate::mount::Mounted;
use crate::patience::Patience;
use crate::{Error, Lie, Options, Reason, Result, Version};

/// How often one call is sent anew because the session was lost, the connection not bound, or the server not ready.
const MAX_ATTEMPTS: u32 = 16;
/// How long a server may take when a client goes that nobody waits for.
pub(super) const FAREWELL: Duration = Duration::from_secs(5);
/// How long a server that is not ready for a slot is left alone.
const SLOT_PAUSE: Duration = Duration::from_millis(20);

/// A client of an NFSv4 server: its name there, its session, and what it has open; and who makes calls. Clones share it.
///
/// From 4.1 on every request is carried out exactly once, however often the connection is lost (RFC 8881 §2.10.6). When the
/// server restarts, or forgets the session, a new one is made and everything that is open is reclaimed, while calls wait.
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
    /// As the client itself uses them, for what is about its name, its session and its lease (RFC 8881 §2.10.8.3).
    pub(super) connections: Arc<[Connection]>,
    turn: AtomicUsize,
    pub(super) identity: Identity,
    session: RwLock<Arc<Session>>,
    /// Held by whoever makes a new session.
    pub(super) recovery: Mutex<Recovery>,
    pub(super) opens: Opens,
    pub(super) watch: Watch,
    pub(super) delegations: Delegations,
    pub(super) uses_delegations: bool,
    pub(super) uses_write_delegations: bool,
    pub(super) callbacks: Arc<Callbacks>,
    /// The port at which a server of 4.0 calls, if it may.
    listening: OnceLock<Listening>,
    pub(super) offloads: Offloads,
    /// Whether somebody takes leave of the server already.
    pub(super) is_leaving: AtomicBool,
    /// Whether that has come to its end.
    pub(super) has_left: AtomicBool,
    /// Whether the server is told to forget the client, so that it must not come back.
    pub(super) is_gone: AtomicBool,
    /// How many slots are asked for.
    pub(super) slots: u32,
    /// How long a lease lasts, once the server has told.
    pub(super) lease: OnceLock<Duration>,
    /// What keeps the files' data and attributes, if anything does.
    mounted: OnceLock<Weak<Mounted>>,
}

/// Why a request was not carried out, and what helps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The session, or the client id of 4.0, is gone.
    SessionLost(Status),
    /// The session's slots are not as the server has them.
    SlotsBroken(Status),
    /// The connection is not bound to the session.
    NotBound(Status),
    /// The server has another request of this slot under way.
    Busy(Status),
    /// The reply was lost, and the request may be carried out again.
    Again(Status),
}

impl Client {
    /// Connects to `address`, makes the client known and opens a session with it; `server` is the name that errors call the
    /// server by. The tasks that renew the lease and answer callbacks run on the current runtime.
    ///
    /// # Errors
    /// [`Reason::Connect`]; what the server says, MINOR_VERS_MISMATCH when it does not speak `minor`.
    pub async fn connect(address: SocketAddr, server: &str, minor: MinorVersion, options: &Options) -> Result<Client> {
        let server: Arc<str> = server.into();
        if options.transport != Transport::Stream {
            return Err(Error::new(&server, "connect", Reason::NeedsStream(Version::V4(minor))));
        }
        let count = options.connections.clamp(1, Options::MAX_CONNECTIONS);
        let mut connections = Vec::with_capacity(count);
        for _ in 0..count {
            connections.push(Connection::connect(address, &server, options).await?);
        }
        let slots = u32::try_from(options.max_pending.saturating_mul(count)).unwrap_or(u32::MAX);
        let listener = listen(address, &server, minor, options).await?;
        let identity = Identity::new(listener.as_ref().map(CallbackListener::called_at));
        let wire = Wire { connection: &connections[0], minor };
        let (session, recovery) = Recovery::start(&wire, &identity, slots).await?;
        let inner = Inner {
            server,
            minor,
            connections: connections.into(),
            turn: AtomicUsize::new(0),
            identity,
            session: RwLock::new(Arc::new(session)),
            recovery: Mutex::new(recovery),
            opens: Opens::default(),
            watch: Watch::default(),
            delegations: Delegations::default(),
            uses_delegations: options.uses_delegations,
            uses_write_delegations: options.uses_write_delegations,
            callbacks: Arc::default(),
            listening: OnceLock::new(),
            offloads: Offloads::default(),
            is_leaving: AtomicBool::new(false),
            has_left: AtomicBool::new(false),
            is_gone: AtomicBool::new(false),
            slots,
            lease: OnceLock::new(),
            mounted: OnceLock::new(),
        };
        let client = Client::of(Arc::new(inner));
        departure::enter(Arc::downgrade(&client.0));
        if let Some(listener) = listener {
            // Nobody else sets it.
            let _ = client.0.listening.set(listener.serve(Arc::downgrade(&client.0)));
        }
        let unused = Unused::new(client);
        match unused.client().begin().await {
            Ok(()) => Ok(unused.keep()),
            Err(error) => Err(unused.leave_after(error).await),
        }
    }

    /// The client, on which nobody else acts.
    pub(super) fn of(inner: Arc<Inner>) -> Client {
        let connections = Arc::clone(&inner.connections);
        Client(inner, connections)
    }

    /// The same client, on which nobody else acts.
    pub(super) fn own(&self) -> Client {
        Client::of(Arc::clone(&self.0))
    }

    /// The same client, on which requests are made as somebody else.
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

    /// Notes what is mounted by this client: what it has changed is written before a delegation goes.
    pub(crate) fn set_mounted(&self, mounted: &Arc<Mounted>) {
        // A client is of one mount.
        let _ = self.0.mounted.set(Arc::downgrade(mounted));
    }

    pub(super) fn mounted(&self) -> Option<Arc<Mounted>> {
        self.0.mounted.get()?.upgrade()
    }

    /// The connections, which share the session.
    pub(crate) fn connections(&self) -> &[Connection] {
        &self.1
    }

    pub(super) fn connection(&self) -> &Connection {
        Connection::next_of(&self.1, &self.0.turn)
    }

    /// For a call to a server that says "not now".
    pub(crate) fn patience(&self) -> Patience {
        let silence = self.0.connections.first().and_then(Connection::patience);
        Patience::new(silence, self.0.lease.get().copied())
    }

    pub(super) fn wire<'a>(&self, connection: &'a Connection) -> Wire<'a> {
        Wire { connection, minor: self.0.minor }
    }

    pub(super) fn session(&self) -> Arc<Session> {
        Arc::clone(&self.0.session.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts another session in the place of the one that is gone; whoever waits for that one goes on with this.
    pub(super) fn replace_session(&self, session: Session) -> Arc<Session> {
        let session = Arc::new(session);
        let old = std::mem::replace(
            &mut *self.0.session.write().unwrap_or_else(PoisonError::into_inner),
            Arc::clone(&session),
        );
        old.close();
        session
    }

    /// The largest data of a READ and of a WRITE that the session has room for, in bytes.
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

    /// Takes leave of the server in the background, if nobody has: as far as it gets within some seconds, and while the runtime lives.
    pub(crate) fn close_soon(&self) {
        if self.0.is_leaving.load(Ordering::Relaxed) {
            return;
        }
        self.connection().spawn(self.own().leave());
    }

    /// Takes leave of the server, as far as it gets within some seconds.
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

    /// Sends a request and waits until it was carried out, over as many sessions as that takes.
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

    /// Sends a request in this session only if there is one, and otherwise in whatever session there is.
    pub(super) async fn call_or_attempt(&self, session: Option<&Arc<Session>>, request: &Request<'_>) -> Result<Reply> {
        match session {
            Some(session) => self.call_in(session, request).await,
            None => self.call(request).await,
        }
    }

    /// Sends a request once, in this session. What is elsewhere is asked for its place.
    pub(super) async fn attempt(
        &self,
        session: &Arc<Session>,
        request: &Request<'_>,
    ) -> Result<std::result::Result<Reply, Trouble>> {
        match self.attempt_once(session, request).await? {
            Ok(reply) if reply.status() == Status::Moved => Err(self.moved(session, request, &reply).await),
            other => Ok(other),
        }
    }

    pub(super) async fn attempt_once(
        &self,
        session: &Arc<Session>,
        request: &Request<'_>,
    ) -> Result<std::result::Result<Reply, Trouble>> {
        let connection = self.connection();
        let Some(channel) = &session.channel else {
            // In 4.0 most requests renew no lease (RFC 7530 §9.5).
            let reply = self.wire(connection).call(request).await?;
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
            // A reply from another place is another request's: whether this one was carried out, nobody knows.
            Ok(ok) if (ok.session, ok.slot, ok.sequence) != (sequence.session, sequence.slot, sequence.sequence) => {
                Err(reply.error(Reason::Lie(Lie::WrongSlot)))
            }
            Ok(ok) => {
                guard.complete(channel);
                self.note(session, channel, &ok);
                // A reply that was not kept may be told of behind a SEQUENCE that was (RFC 8881 §2.10.6.1.3).
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

    /// Does what the server says beside the results.
    fn note(&self, session: &Arc<Session>, channel: &Channel, ok: &SequenceOk) {
        session.renewed();
        channel.slots.aim(ok.target_highest_slot);
        self.look_after(session, ok.status_flags);
    }
}

/// Opens the port at which a server of 4.0 may call, where that is wanted and there is anything to call for.
async fn listen(
    server: SocketAddr,
    name: &Arc<str>,
    minor: MinorVersion,
    options: &Options,
) -> Result<Option<CallbackListener>> {
    let is_of_use = !minor.has_sessions() && options.uses_delegations;
    let Some(address) = options.callback_address.filter(|_| is_of_use) else { return Ok(None) };
    let listener = CallbackListener::bind(address, server).await;
    listener.map(Some).map_err(|source| Error::new(name, "SETCLIENTID", Reason::Callbacks { address, source }))
}

/// What a READ's reply and a WRITE's request take besides the data, in bytes: headers, credential, SEQUENCE and PUTFH.
pub(super) const DATA_OVERHEAD_BYTES: u32 = 1024;
/// Transfers are a multiple of this, in bytes, so that they meet pages.
pub(super) const DATA_UNIT_BYTES: u32 = 4096;

/// Counts how often a request was sent anew.
#[derive(Debug, Default)]
pub(super) struct Attempts(u32);

impl Attempts {
    /// Does what helps against `trouble`, unless that was done too often.
    pub(super) async fn mend(&mut self, client: &Client, session: &Arc<Session>, trouble: Trouble) -> Result<()> {
        self.0 += 1;
        if self.0 >= MAX_ATTEMPTS {
            return Err(client.error("SEQUENCE", Reason::Status(trouble.status().into())));
        }
        // Recovery makes calls of its own, which come here only in sessions of their own.
        Box::pin(client.mend(session, trouble)).await
    }

    /// Does what helps against `trouble` without making another session, which is for whoever called.
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
    /// What a status of SEQUENCE asks for, unless it is the request's own fault.
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

    /// How long to wait before the request is sent anew.
    pub(super) fn pause(self) -> Duration {
        if matches!(self, Trouble::Busy(_)) { SLOT_PAUSE } else { Duration::ZERO }
    }
}

/// A slot whose request is on its way. When nobody waits for the reply any more, or none comes, the slot is in doubt and
/// somebody finds out.
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
