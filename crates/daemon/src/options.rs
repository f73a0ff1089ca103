use std::error::Error;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use net::{Limits, SendPath};
use server::{MadeBefore, ReadPlusMode, RemoteFiles, Settings};

use crate::copiers::Copiers;

/// How clients learn the ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum RpcbindMode {
    /// Clients must know them.
    #[default]
    Off,
    /// The server itself answers on port 111 of its addresses.
    Builtin,
    /// The server registers with the rpcbind of this machine, and unregisters at the end.
    Register,
}

/// The options of a [`Daemon`](crate::Daemon).
#[derive(Debug)]
pub struct Options {
    /// The addresses to listen on, over TCP and UDP. Default: 127.0.0.1, port 2049.
    pub listen: Vec<SocketAddr>,
    /// Further sockets, opened by another program such as systemd.
    pub inherited: Vec<OwnedFd>,
    /// How clients learn the ports. Default: they must know them.
    pub rpcbind: RpcbindMode,
    /// The number of event loops. Default: one per processor.
    pub loops: usize,
    /// Whether each loop is pinned to its own processor. Default: no.
    pub pin: bool,
    /// Whether connections with few, small requests go before busy ones, and clients take turns. Default: yes.
    pub fair: bool,
    /// How long a loop polls before it sleeps, while requests arrive at shorter intervals. Default: 100 µs; zero turns
    /// it off.
    pub busy_poll: Duration,
    /// Limits on what clients take.
    pub limits: Limits,
    /// The directory for the key of file handles, the records of NFSv4 clients and so on, for this server alone.
    /// Without it, file handles do not survive a restart, and clients cannot reclaim their locks.
    pub state_dir: Option<PathBuf>,
    /// The maximum size of a READ or WRITE. Default: 1 MiB, the largest value.
    pub max_transfer_bytes: u32,
    /// How READ_PLUS of NFSv4.2 reports holes. Default: as the file system does.
    pub read_plus: ReadPlusMode,
    /// Access to other servers for COPY between servers (NFSv4.2). Default: none.
    pub remote_files: Option<Box<dyn RemoteFiles>>,
    /// How replies are sent over TCP.
    pub send_path: SendPath,
    /// The smallest READ whose data is sent with sendfile if it is in memory (NFSv3, 4.1 and 4.2 over TCP); `None`
    /// never uses it. For the first of several replies sent together a third of it is enough. Default: 24 KiB.
    pub sendfile_bytes: Option<u32>,
    /// Whether adjacent NFSv3 WRITEs that arrive together become one write. Default: yes.
    pub gather_writes: bool,
    /// The number of open files that each thread caches. Default: 1024; 0 opens and closes a file for each request.
    pub open_files_per_worker: usize,
    /// The number of open files that all threads cache together. Default: limited per thread only.
    pub max_open_files: usize,
    /// The number of open files beyond `max_open_files` while there is no connection. Each connection makes this less
    /// by 2. Default: 0.
    pub open_files_beside_connections: usize,
    /// The most files that stay open for their next lock, for about a second. Default: 16.
    pub max_unlocked_files: usize,
    /// The most files with locks that local processes see, each with a file descriptor.
    pub max_locked_files: usize,
    /// The most delegations of files that local processes may change, each with a file descriptor.
    pub max_leases: usize,
    /// The most files with clients' state that stay reachable after their last name is removed, each with a file
    /// descriptor. Default: 65 536.
    pub max_held_files: usize,
    /// How long an unused file stays open, at most twice as long. Default: 10 s.
    pub open_file_idle: Duration,
    /// The NFSv4 lease time, in whole seconds: a client silent for longer may lose its opens and locks. Default: 90 s.
    pub lease: Duration,
    /// The grace period: how long clients may reclaim after a restart. It is never shorter than the previous lease
    /// time. Default: 90 s.
    pub grace: Duration,
    /// The maximum memory for the state of clients, in bytes: client IDs, sessions, opens, locks and so on. Default: as
    /// their limits require, at most 6.5 GiB.
    pub state_bytes: usize,
    /// How an administrator ends the grace period early, for the log; it should call
    /// [`Daemon::end_grace`](crate::Daemon::end_grace). Default: none.
    pub how_to_end_grace: Option<String>,
    /// The ID-mapping domain of NFSv4. Default: none, owners are numbers.
    pub domain: Option<String>,
    /// The number of replies kept for retransmitted requests that must not be executed twice. Default: 16 384.
    pub replay_entries: usize,
    /// The name changes that requests made before a power failure, from a write log, oldest first. Default: none.
    pub made_before: Vec<MadeBefore>,
    /// Called before the first request is answered, when [`Options::made_before`] is among the kept replies and in
    /// storage. Default: nothing.
    pub before_requests: Option<BeforeRequests>,
}

/// An action before the first request is answered; if it fails, the server does not start.
pub struct BeforeRequests(pub(crate) Box<Action>);

type Action = dyn FnOnce() -> Result<(), Box<dyn Error + Send + Sync>> + Send;

impl BeforeRequests {
    /// Makes one from a function.
    pub fn new(action: impl FnOnce() -> Result<(), Box<dyn Error + Send + Sync>> + Send + 'static) -> BeforeRequests {
        BeforeRequests(Box::new(action))
    }
}

impl fmt::Debug for BeforeRequests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BeforeRequests")
    }
}

impl Options {
    /// The default busy-poll time: longer than a client on the same machine takes between requests.
    pub const BUSY_POLL: Duration = Duration::from_micros(100);
}

impl Default for Options {
    fn default() -> Options {
        Options {
            listen: vec![SocketAddr::from((Ipv4Addr::LOCALHOST, Options::NFS_PORT))],
            inherited: Vec::new(),
            rpcbind: RpcbindMode::Off,
            loops: thread::available_parallelism().map_or(1, usize::from),
            pin: false,
            fair: true,
            busy_poll: Options::BUSY_POLL,
            limits: Limits::default(),
            state_dir: None,
            max_transfer_bytes: 1 << 20,
            read_plus: ReadPlusMode::default(),
            remote_files: None,
            send_path: SendPath::default(),
            sendfile_bytes: Some(Settings::SENDFILE_BYTES),
            gather_writes: true,
            open_files_per_worker: 1024,
            max_open_files: usize::MAX,
            open_files_beside_connections: 0,
            max_unlocked_files: 16,
            max_locked_files: 4096,
            max_leases: 4096,
            max_held_files: 65_536,
            open_file_idle: Duration::from_secs(10),
            lease: Duration::from_secs(90),
            grace: Duration::from_secs(90),
            state_bytes: usize::MAX,
            how_to_end_grace: None,
            domain: None,
            replay_entries: 16_384,
            made_before: Vec::new(),
            before_requests: None,
        }
    }
}

impl Options {
    /// The port of NFS (RFC 1813 §1.6).
    pub const NFS_PORT: u16 = 2049;

    /// The number of workers that call the file systems; their [`vfs::Context::worker`] is below it.
    pub fn workers(&self) -> usize {
        self.loops.max(1) + self.limits.blocking_workers() + Copiers::THREADS
    }
}
