//! A connection to one program of a server: callers on one side, a task that moves bytes on the other.

mod ambient;
mod back_calls;
mod datagram;
mod dial;
mod outage;
mod response;
mod shared;
mod stream;
mod timer;
mod tunnel;

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use buffer::Buffer;
use bytes::Bytes;
use peer::Transport;
use proto::Operation;
use rpc::Xid;
use tokio::runtime;
use tokio::sync::{Notify, SemaphorePermit};
use xdr::{Encode, Encoder};

use crate::core::{Core, Counters, Failure, Tail};
use crate::credentials::Principal;
use crate::statistics::{Label, Statistics};
use crate::{Error, Options, Reason, Result};
pub use ambient::{now, random};
pub use back_calls::BackCalls;
use dial::Dial;
pub use response::Response;
use shared::Shared;
pub use tunnel::Tunnel;

/// What a task does. Tasks of one type are compiled once, and not for each kind of work.
type Work<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The bytes of a reply besides its data.
const REPLY_HEADER_BYTES: usize = 64 * 1024;
/// The most fragments of one reply.
const MAX_REPLY_FRAGMENTS: usize = 1024;

/// A connection to a server, and the user who calls over it. Clones share it; it is closed when the last one is
/// dropped.
///
/// Many calls may be in flight at once, from any number of tasks. Dropping the future of a call cancels the call.
///
/// ```no_run
/// # async fn example() -> client::Result<()> {
/// use client::{Connection, Options};
/// use proto::nfs3;
///
/// let connection = Connection::connect("[::1]:2049".parse().unwrap(), "localhost", &Options::default()).await?;
/// connection.call::<nfs3::Null>(&()).await?.decode()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Connection(Arc<Closer>, Arc<Principal>);

/// Closes the connection when its last handle is dropped.
#[derive(Debug)]
struct Closer {
    shared: Arc<Shared>,
    /// The runtime of the driver.
    runtime: runtime::Handle,
    address: SocketAddr,
    /// How long a call waits for a silent server; `None` for ever.
    patience: Option<Duration>,
}

impl Drop for Closer {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl Connection {
    /// Connects to `address`; errors name the server `server`. The driver runs on the current runtime.
    ///
    /// # Errors
    /// [`Reason::Connect`].
    pub async fn connect(address: SocketAddr, server: &str, options: &Options) -> Result<Connection> {
        let server: Arc<str> = server.into();
        let failed = |source| Error::new(&server, "connect", Reason::Connect { address, source });
        let use_privileged_port = options.use_privileged_port;
        let (timeout, tunnel) = (options.connect_timeout, options.tunnel.clone());
        let dial = Dial { address, use_privileged_port, timeout, tunnel };
        let config = options.core_config();
        let core = Core::new(config, random(), now());
        let shared = Arc::new(Shared::new(core, config.max_pending, Arc::clone(&server)));
        match config.transport {
            Transport::Tcp => {
                let stream = dial.stream(None).await.map_err(failed)?;
                tokio::spawn(stream::Driver::new(Arc::clone(&shared), dial, reply_limits()).run(stream));
            }
            Transport::Udp => {
                let socket = dial.datagram().await.map_err(failed)?;
                tokio::spawn(datagram::Driver::new(Arc::clone(&shared), socket).run());
            }
        }
        let runtime = runtime::Handle::current();
        let closer = Closer { shared, runtime, address, patience: options.patience() };
        Ok(Connection(Arc::new(closer), Principal::new(&options.credentials)))
    }

    /// The same connection, with calls by `principal`.
    #[doc(hidden)]
    pub fn acting_as(&self, principal: &Arc<Principal>) -> Connection {
        Connection(Arc::clone(&self.0), Arc::clone(principal))
    }

    /// Calls a procedure and waits for the reply.
    ///
    /// # Errors
    /// When there is no reply, or the server did not carry out the call. Statuses are in the reply.
    pub async fn call<O: Operation>(&self, arguments: &O::Arguments<'_>) -> Result<Response<O>> {
        self.call_with_data(arguments, None).await
    }

    /// Calls a procedure whose arguments end with opaque data.
    pub(crate) async fn call_with_data<O: Operation>(
        &self,
        arguments: &impl Encode,
        data: Option<Bytes>,
    ) -> Result<Response<O>> {
        let write = |head: &mut Buffer| {
            arguments.encode(&mut Encoder::new(head));
            const { Label::of::<O>() }
        };
        let tail = data.map(|data| Tail { data, behind: &[] });
        self.call_labelled(None, tail, write).await
    }

    /// Calls a procedure. `write` appends the arguments and returns the label in the statistics. `asked` is when the
    /// caller began to wait for a session slot, if it waited.
    pub(crate) async fn call_labelled<O: Operation>(
        &self,
        asked: Option<Instant>,
        tail: Option<Tail>,
        write: impl FnOnce(&mut Buffer) -> Label,
    ) -> Result<Response<O>> {
        let shared = &*self.0.shared;
        let began = now();
        let (_permit, has_waited) = self.permit().await.map_err(|failure| self.no_reply::<O>(failure))?;
        let now = if has_waited { now() } else { began };
        let xid = self
            .submit::<O>(asked.unwrap_or(began), now, tail, write)
            .map_err(|failure| self.no_reply::<O>(failure))?;
        match (Reply { shared, xid, is_over: false }).await {
            Ok(message) => Response::parse(message, &shared.server),
            Err(failure) => Err(self.no_reply::<O>(failure)),
        }
    }

    /// Waits until there is room for a call, but fails if no reply arrives for as long as a call may take. Returns
    /// whether it waited.
    async fn permit(&self) -> std::result::Result<(SemaphorePermit<'_>, bool), Failure> {
        let permits = &self.0.shared.permits;
        if let Ok(permit) = permits.try_acquire() {
            return Ok((permit, false));
        }
        let patience = self.0.patience.unwrap_or(Duration::MAX);
        loop {
            let replies = self.counters().replies;
            match tokio::time::timeout(patience, permits.acquire()).await {
                Ok(permit) => return permit.map(|permit| (permit, true)).map_err(|_| Failure::Closed),
                Err(_) if self.counters().replies != replies => {}
                Err(_) => return Err(Failure::TimedOut { sends: 0, waited: patience }),
            }
        }
    }

    /// The server's calls on this connection, from now on. They do not keep the connection open.
    #[doc(hidden)]
    pub fn back_calls(&self) -> BackCalls {
        BackCalls::new(Arc::clone(&self.0.shared))
    }

    /// How long a call waits for a silent server before it fails; `None` for ever.
    #[doc(hidden)]
    pub fn patience(&self) -> Option<Duration> {
        self.0.patience
    }

    /// Finishes the work of something dropped in the background, from any thread.
    #[doc(hidden)]
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let work: Work<()> = Box::pin(work);
        self.0.runtime.spawn(work);
    }

    /// Runs work to its end, even if the caller is dropped.
    #[doc(hidden)]
    pub async fn to_the_end<T: Send + 'static>(
        &self,
        name: &'static str,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        let closed = |_| self.error(name, Reason::NoReply(Failure::Closed));
        // Boxed, since a task's future is moved several times before it is polled.
        let work: Work<Result<T>> = Box::pin(work);
        self.0.runtime.spawn(work).await.map_err(closed)?
    }

    /// The address of the server.
    pub fn address(&self) -> SocketAddr {
        self.0.address
    }

    /// The server's name in errors.
    pub(crate) fn server(&self) -> &Arc<str> {
        &self.0.shared.server
    }

    /// The user who calls.
    #[doc(hidden)]
    pub fn principal(&self) -> &Arc<Principal> {
        &self.1
    }

    /// Whether there is a connection, as far as known. Calls made without one wait for the next.
    pub fn is_up(&self) -> bool {
        self.0.shared.is_up()
    }

    /// Notifies one listener when the stream is lost. It does not keep the connection alive.
    #[doc(hidden)]
    pub fn losses(&self) -> Arc<Notify> {
        Arc::clone(&self.0.shared.lost)
    }

    /// The next of the connections that share a load. They take turns; lost ones are skipped while others are up.
    #[doc(hidden)]
    pub fn next_of<'c>(all: &'c [Connection], turn: &AtomicUsize) -> &'c Connection {
        let [first, rest @ ..] = all else { unreachable!("every mount has a connection") };
        if rest.is_empty() {
            return first;
        }
        let start = turn.fetch_add(1, Ordering::Relaxed);
        let mut in_turn = (0..all.len()).map(|step| &all[start.wrapping_add(step) % all.len()]);
        in_turn.find(|connection| connection.is_up()).unwrap_or(&all[start % all.len()])
    }

    /// An error of an operation over this connection.
    #[doc(hidden)]
    pub fn error(&self, operation: &'static str, reason: Reason) -> Error {
        Error::new(&self.0.shared.server, operation, reason)
    }

    /// The counters so far.
    pub fn counters(&self) -> Counters {
        self.0.shared.lock().core.counters()
    }

    /// The statistics of each procedure so far. A connection knows nothing of caches.
    pub fn statistics(&self) -> Statistics {
        let mut statistics = Statistics::default();
        self.observed().add_to(&mut statistics);
        statistics
    }

    /// Reads the statistics of this connection, even after it is closed.
    #[doc(hidden)]
    pub fn observed(&self) -> Observed {
        Observed(Arc::clone(&self.0.shared))
    }

    fn no_reply<O: Operation>(&self, failure: Failure) -> Error {
        Error::new(self.server(), O::NAME, Reason::NoReply(failure))
    }

    /// Encodes a call into the queue, and wakes the driver unless a caller did so since its last poll.
    fn submit<O: Operation>(
        &self,
        asked: Instant,
        now: Instant,
        tail: Option<Tail>,
        write: impl FnOnce(&mut Buffer) -> Label,
    ) -> std::result::Result<Xid, Failure> {
        let shared = &*self.0.shared;
        let (xid, driver) = {
            let mut state = shared.lock();
            if state.is_closing {
                return Err(Failure::Closed);
            }
            let write = |xid, head: &mut Buffer| {
                put_header::<O>(self.1.header(), xid, head);
                write(head)
            };
            // There are as many permits as the core has room for calls, so it is never full here.
            let xid = state.core.submit(now, tail, write).map_err(|_| Failure::Closed)?;
            state.core.expect(xid, Response::<O>::is_whole);
            if asked < now {
                state.core.note_asked(xid, asked);
            }
            (xid, state.driver.take())
        };
        if let Some(driver) = driver {
            driver.wake();
        }
        Ok(xid)
    }
}

/// Puts the call's own numbers into the header that all calls of one principal share. Xid, program, version and
/// procedure are the words 1, 4, 5 and 6 (RFC 5531 §9).
fn put_header<O: Operation>(template: &[u8], xid: Xid, head: &mut Buffer) {
    head.put(template);
    let words = head.as_mut_slice();
    words[..4].copy_from_slice(&xid.0.to_be_bytes());
    words[12..16].copy_from_slice(&O::PROGRAM.to_be_bytes());
    words[16..20].copy_from_slice(&O::VERSION.to_be_bytes());
    words[20..24].copy_from_slice(&O::PROCEDURE.to_be_bytes());
}

fn reply_limits() -> rpc::record::Limits {
    let max_bytes = proto::nfs3::MAX_DATA_BYTES + REPLY_HEADER_BYTES;
    rpc::record::Limits { max_bytes, max_fragments: MAX_REPLY_FRAGMENTS }
}

/// The statistics of a connection. They do not keep the connection open.
#[derive(Debug, Clone)]
pub struct Observed(Arc<Shared>);

impl Observed {
    /// Adds what was recorded so far to `statistics`.
    #[doc(hidden)]
    pub fn add_to(&self, statistics: &mut Statistics) {
        self.0.lock().core.add_to(statistics);
    }

    /// Whether the connection is closed.
    #[doc(hidden)]
    pub fn is_closed(&self) -> bool {
        self.0.lock().is_closing
    }
}

/// Waits for the reply to one call, and cancels the call when dropped.
struct Reply<'a> {
    shared: &'a Shared,
    xid: Xid,
    is_over: bool,
}

impl Future for Reply<'_> {
    type Output = std::result::Result<Bytes, Failure>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let reply = self.shared.lock().core.poll_reply(self.xid, cx);
        self.is_over = reply.is_ready();
        reply
    }
}

impl Drop for Reply<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.shared.lock().core.cancel(self.xid);
        }
    }
}
