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

/// How clients find the ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum RpcbindMode {
    /// They are told them.
    #[default]
    Off,
    /// The server answers for rpcbind itself, on port 111 of the addresses that it listens on.
    Builtin,
    /// The server registers with the rpcbind that runs on this machine, and takes itself off at the end.
    Register,
}

/// What a [`Daemon`](crate::Daemon) is started with.
#[derive(Debug)]
pub struct Options {
    /// The addresses to listen on, over TCP and UDP. Default: 127.0.0.1, port 2049.
    pub listen: Vec<SocketAddr>,
    /// Sockets that someone else has opened, such as systemd; they are served besides.
    pub inherited: Vec<OwnedFd>,
    /// How clients find the ports. Default: they are told them.
    pub rpcbind: RpcbindMode,
    /// How many event loops run. Default: one per processor.
    pub loops: usize,
    /// Whether each loop stays on a processor of its own. Default: no.
    pub pin: bool,
    /// Whether connections that ask for little at a time go before those that ask for much, and clients take turns. Default: yes.
    pub fair: bool,
    /// For how long a loop looks for calls before it sleeps, while they follow one another more closely than that. Default 100 µs; zero lets
    /// it sleep at once.
    pub busy_poll: Duration,
    /// What is taken from clients at the most.
    pub limits: Limits,
    /// Where the key of file handles, the clients of NFSv4 and the like are kept, for this server alone. Without it handles do
    /// not survive a restart, and clients cannot reclaim their locks after it.
    pub state_dir: Option<PathBuf>,
    /// The most bytes of a READ or a WRITE, up to 1 MiB, which is the default.
    pub max_transfer_bytes: u32,
    /// What READ_PLUS of NFSv4.2 tells of holes. Default: those that the file system knows.
    pub read_plus: ReadPlusMode,
    /// The way to other servers that clients of NFSv4.2 may have files copied from. Default: there is none.
    pub remote_files: Option<Box<dyn RemoteFiles>>,
    /// How answers leave over TCP.
    pub send_path: SendPath,
    /// From how many bytes on a READ is sent from the file itself, where that never waits (directories in memory; NFSv3, 4.1 and 4.2 over TCP);
    /// `None` copies always. A third of it is enough for the first of the replies that leave together. Default 24 KiB.
    pub sendfile_bytes: Option<u32>,
    /// Whether WRITEs of NFSv3 that lie one right behind the other and came together are carried out as one. Default: yes.
    pub gather_writes: bool,
    /// How many open files each thread keeps. Default 1024; 0 opens and closes a file for each call.
    pub open_files_per_worker: usize,
    /// How many open files all threads keep. Default: no bound but that of each thread.
    pub max_open_files: usize,
    /// How long an open file is kept that nobody uses, to twice that. Default 10 s.
    pub open_file_idle: Duration,
    /// How long a client of NFSv4 may be silent before it can lose what it holds, in whole seconds. Default 90 s.
    pub lease: Duration,
    /// How long clients may reclaim what they held before a restart; never shorter than the lease before it. Default 90 s.
    pub grace: Duration,
    /// How much memory the state of clients may take, in bytes: client ids, sessions, opens, locks and so on. Default: as much as
    /// their limits need, 6.5 GiB at the most.
    pub state_bytes: usize,
    /// What an administrator does to end the grace period early, for the log: it leads to [`Daemon::end_grace`](crate::Daemon::end_grace).
    /// Default: nothing is said.
    pub how_to_end_grace: Option<String>,
    /// The domain in which NFSv4 is told and takes the names of this machine's users and groups; without it, numbers. Default: none.
    pub domain: Option<String>,
    /// How many replies to calls that must not happen twice are kept. Default 16 384.
    pub replay_entries: usize,
    /// The changes of names that requests had made before a power failure, as a write log knows them, oldest first.
    /// Default: none.
    pub made_before: Vec<MadeBefore>,
    /// What is done before the first request is answered, when the changes of [`Options::made_before`] are among the kept
    /// replies and in storage. Default: nothing.
    pub before_requests: Option<BeforeRequests>,
}

/// What is done before the first request is answered; the server does not start when it fails.
pub struct BeforeRequests(pub(crate) Box<Action>);

type Action = dyn FnOnce() -> Result<(), Box<dyn Error + Send + Sync>> + Send;

impl BeforeRequests {
    /// Makes one of a function.
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
    /// For how long loops look for calls if nothing else is said: longer than a client on the same machine takes to ask again.
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

    /// How many workers call the file systems: their [`vfs::Context::worker`] is below this.
    pub fn workers(&self) -> usize {
        self.loops.max(1) + self.limits.blocking_workers() + Copiers::THREADS
    }
}
