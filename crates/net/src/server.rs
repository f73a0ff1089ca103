//! Setting a server up.

use std::io;
use std::net::SocketAddr;
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::bind::{self, Bound, DatagramSocket, Inherited, Listener};
use crate::blocking;
use crate::epoll::{self, Sockets};
use crate::hub::{Engine, Hub, Policy};
use crate::{Limits, NetError, SendPath, ServerHandle, Service, Transport};

/// A server that is being set up: its sockets are open, and nothing is answered before [`Server::start`].
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use buffer::Output;
/// use net::{Call, Frame, FrameError, Limits, Server, Service, Verdict};
///
/// /// Sends every byte back.
/// struct Echo;
///
/// impl Service for Echo {
///     fn frame(&self, unread: &mut [u8]) -> Result<Frame, FrameError> {
///         Ok(Frame::Message { body: 0..unread.len(), consumed: unread.len() })
///     }
///     fn call(&self, call: &Call<'_>, output: &mut Output) -> Verdict {
///         output.bytes.put(call.message);
///         Verdict::Answered
///     }
/// }
///
/// let mut server = Server::new(Limits::default()).loops(1);
/// let address = server.listen("127.0.0.1:0".parse()?)?;
/// let handle = server.start(Arc::new(Echo))?;
///
/// use std::io::{Read, Write};
/// let mut stream = std::net::TcpStream::connect(address)?;
/// stream.write_all(b"hello")?;
/// let mut answer = [0; 5];
/// stream.read_exact(&mut answer)?;
/// assert_eq!(&answer, b"hello");
///
/// handle.shutdown(Duration::from_secs(1));
/// handle.join();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Server {
    limits: Limits,
    policy: Policy,
    loops: usize,
    pinned: bool,
    listeners: Vec<Listener>,
    datagrams: Vec<DatagramSocket>,
}

impl Server {
    /// Makes a server without sockets, with one loop per processor that this process may use.
    pub fn new(limits: Limits) -> Server {
        let loops = thread::available_parallelism().map_or(1, NonZero::get);
        Server {
            limits: limits.sane(),
            policy: Policy { send_path: SendPath::default(), is_fair: true, busy_poll: Duration::ZERO },
            loops,
            pinned: false,
            listeners: Vec::new(),
            datagrams: Vec::new(),
        }
    }

    /// Sets the number of loops; at least one.
    #[must_use]
    pub fn loops(mut self, loops: usize) -> Server {
        self.loops = loops.max(1);
        self
    }

    /// Sets whether each loop stays on a processor of its own.
    #[must_use]
    pub fn pinned(mut self, pinned: bool) -> Server {
        self.pinned = pinned;
        self
    }

    /// Sets how answers leave over TCP.
    #[must_use]
    pub fn send_path(mut self, send_path: SendPath) -> Server {
        self.policy.send_path = send_path;
        self
    }

    /// Sets whether connections that ask for little at a time go before those that ask for much, and clients take
    /// turns; they do unless it is said otherwise.
    #[must_use]
    pub fn fair(mut self, fair: bool) -> Server {
        self.policy.is_fair = fair;
        self
    }

    /// Sets for how long a loop looks for events before it sleeps, while they follow one another more closely than
    /// that; it sleeps at once unless it is said otherwise.
    #[must_use]
    pub fn busy_poll(mut self, window: Duration) -> Server {
        self.policy.busy_poll = window;
        self
    }

    /// How many workers call the service at most: [`Call::worker`](crate::Call::worker) is below this.
    pub fn workers(&self) -> usize {
        self.loops + self.limits.blocking_workers()
    }

    /// Listens on `address` over TCP and UDP, on one port for both. Returns the address with this port.
    ///
    /// IPv6 sockets take IPv6 only, so that `0.0.0.0` and `::` can be served on the same port.
    ///
    /// # Errors
    /// When the address cannot be bound.
    pub fn listen(&mut self, address: SocketAddr) -> Result<SocketAddr, NetError> {
        let (listener, datagrams) = bind::bind_both(address)?;
        let local = listener.local;
        self.listeners.push(listener);
        self.datagrams.push(datagrams);
        Ok(local)
    }

    /// Listens on `address` over TCP only. Returns the address with its port.
    ///
    /// # Errors
    /// When the address cannot be bound.
    pub fn listen_tcp(&mut self, address: SocketAddr) -> Result<SocketAddr, NetError> {
        let listener = bind::bind_tcp(address)?;
        let local = listener.local;
        self.listeners.push(listener);
        Ok(local)
    }

    /// Listens on `address` over UDP only. Returns the address with its port.
    ///
    /// # Errors
    /// When the address cannot be bound.
    pub fn listen_udp(&mut self, address: SocketAddr) -> Result<SocketAddr, NetError> {
        let datagrams = bind::bind_udp(address)?;
        let local = datagrams.local;
        self.datagrams.push(datagrams);
        Ok(local)
    }

    /// Serves a socket that someone else has opened: a listening TCP socket or a bound UDP socket. See
    /// [`inherited_sockets`](crate::inherited_sockets).
    ///
    /// # Errors
    /// When it is neither.
    pub fn inherit(&mut self, socket: OwnedFd) -> Result<Bound, NetError> {
        match bind::inherit(socket)? {
            Inherited::Listener(listener) => {
                let address = listener.local;
                self.listeners.push(listener);
                Ok(Bound { transport: Transport::Tcp, address })
            }
            Inherited::Datagrams(datagrams) => {
                let address = datagrams.local;
                self.datagrams.push(datagrams);
                Ok(Bound { transport: Transport::Udp, address })
            }
        }
    }

    /// The addresses that are served, those of TCP first.
    pub fn bound(&self) -> Vec<Bound> {
        let tcp = self.listeners.iter().map(|socket| Bound { transport: Transport::Tcp, address: socket.local });
        let udp = self.datagrams.iter().map(|socket| Bound { transport: Transport::Udp, address: socket.local });
        tcp.chain(udp).collect()
    }

    /// Starts the loops. They run until the handle says otherwise, even if it is dropped.
    ///
    /// # Errors
    /// When there is no socket, or a loop cannot be started for lack of file descriptors, memory or threads.
    pub fn start<S: Service + ?Sized>(self, service: Arc<S>) -> Result<ServerHandle, NetError> {
        if self.listeners.is_empty() && self.datagrams.is_empty() {
            return Err(NetError::NoSockets);
        }
        let hub = Hub::new(self.limits.clone(), self.policy, self.bound(), self.loops);
        let hub = Arc::new(hub.map_err(NetError::Start)?);
        let handle = ServerHandle::new(Arc::clone(&hub));
        let engine = Arc::new(Engine { hub, service });
        blocking::start_first(&engine).map_err(NetError::Start)?;
        let cpus = if self.pinned { usable_cpus() } else { Vec::new() };
        let sockets = Sockets { listeners: self.listeners.into(), datagrams: self.datagrams.into() };
        for index in 0..self.loops {
            let cpu = cpus.get(index % cpus.len().max(1)).copied();
            if let Err(error) = start_loop(&engine, index, sockets.clone(), cpu) {
                handle.abandon_start(index);
                return Err(NetError::Start(error));
            }
        }
        Ok(handle)
    }
}

fn start_loop<S: Service + ?Sized>(
    engine: &Arc<Engine<S>>,
    index: usize,
    sockets: Sockets,
    cpu: Option<usize>,
) -> io::Result<()> {
    let prepared = epoll::prepare(engine, index, &sockets)?;
    let engine = Arc::clone(engine);
    let hub = Arc::clone(&engine.hub);
    let thread = thread::Builder::new().name(format!("loop-{index}")).spawn(move || {
        if let Some(cpu) = cpu {
            pin_this_thread(cpu);
        }
        let ended = EndOfLoop(Arc::clone(&engine.hub));
        epoll::run(engine, index, sockets, prepared);
        drop(ended);
    })?;
    hub.loop_threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
    Ok(())
}

/// Says that a loop has ended, whether it returned or panicked.
struct EndOfLoop(Arc<Hub>);

impl Drop for EndOfLoop {
    fn drop(&mut self) {
        self.0.loop_ended();
    }
}

fn usable_cpus() -> Vec<usize> {
    match sched_getaffinity(None) {
        Ok(set) => (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect(),
        Err(error) => {
            tracing::warn!(%error, "cannot tell which processors may be used: the loops are not pinned");
            Vec::new()
        }
    }
}

fn pin_this_thread(cpu: usize) {
    let mut set = CpuSet::new();
    set.set(cpu);
    if let Err(error) = sched_setaffinity(None, &set) {
        tracing::warn!(cpu, %error, "cannot pin a loop to a processor");
    }
}
