use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use server::{AccessRule, ClientPattern, Export, ExportOptions, Server, Settings};
use vfs::FileSystem;

use crate::copiers::Copiers;
use crate::error::{ReloadError, StartError};
use crate::names::MachineNames;
use crate::options::{Options, RpcbindMode};
use crate::portmap;
use crate::records::StoredRecords;
use crate::reply_log::FileReplyLog;
use crate::service::Programs;
use crate::state_dir::{self, StateError};
use crate::upkeep::Upkeep;

/// A server that runs on threads of its own until it is shut down.
pub struct Daemon {
    server: Arc<Server>,
    net: net::Handle,
    upkeep: Upkeep,
    copiers: Copiers,
    addresses: Vec<SocketAddr>,
    /// What was registered with the rpcbind of this machine, to be taken off again.
    registration: Option<portmap::Registration>,
}

impl Daemon {
    /// Opens the sockets and serves `exports` on them.
    ///
    /// # Errors
    /// When an address cannot be had, the exports cannot be told apart, the state directory is of no use, or rpcbind
    /// refuses; nothing runs then.
    pub fn start(options: Options, exports: Vec<Export>) -> Result<Daemon, StartError> {
        let began = Instant::now();
        let mut sockets = net::Server::new(options.limits.clone())
            .loops(options.loops.max(1))
            .pinned(options.pin)
            .fair(options.fair)
            .busy_poll(options.busy_poll)
            .send_path(options.send_path);
        let first_copier = sockets.workers();
        let key = state_dir::handle_key(options.state_dir.as_deref())?;
        let records = client_records(options.state_dir.as_deref(), options.lease)?;
        let mut settings = Settings::new(sockets.workers() + Copiers::THREADS, instance(records.as_ref()), key);
        settings.lease = options.lease;
        // Clients count by the lease that they were told (RFC 8881 §8.4.2.1).
        settings.grace =
            options.grace.max(records.as_ref().map_or(Duration::ZERO, |records| records.start().earlier_lease));
        settings.max_transfer_bytes = options.max_transfer_bytes.clamp(MIN_TRANSFER_BYTES, 1 << 20);
        settings.read_plus = options.read_plus;
        settings.sendfile_bytes = options.sendfile_bytes;
        settings.gather_writes = options.gather_writes;
        settings.open_files_per_worker = options.open_files_per_worker;
        settings.open_file_idle = options.open_file_idle;
        settings.replay_entries = options.replay_entries;
        let replay_age = settings.replay_age;
        let mut server = Server::new(settings, exports)?;
        if let Some(domain) = options.domain {
            server.name_owners(domain, Box::new(MachineNames));
        }
        if let Some(records) = records {
            server.keep_clients(Box::new(records))?;
        }
        if let Some(dir) = &options.state_dir {
            let (log, records) =
                FileReplyLog::open(dir, replay_age).map_err(StateError::in_dir("read the replies in", dir))?;
            server.keep_replies(Arc::new(log), &records);
        }
        if let Some(remote_files) = options.remote_files {
            server.set_remote_files(remote_files);
        }
        let server = Arc::new(server);
        let bound = listen(&mut sockets, &options.listen, options.inherited)?;
        portmap::announce(server.registry(), &bound);
        if options.rpcbind == RpcbindMode::Builtin {
            portmap::listen(&mut sockets, server.registry(), &bound)?;
        }
        let registration = match options.rpcbind {
            RpcbindMode::Register => Some(portmap::Registration::new(&bound).map_err(StartError::Register)?),
            RpcbindMode::Off | RpcbindMode::Builtin => None,
        };
        let programs = Arc::new(Programs::new(server.clone(), began));
        let net = sockets.start(programs.clone())?;
        programs.courier.connect(net.clone());
        let copiers = Copiers::start(&programs, first_copier).map_err(StartError::Thread)?;
        let upkeep = Upkeep::start(programs).map_err(StartError::Thread)?;
        let addresses = tcp_addresses(&bound);
        Ok(Daemon { server, net, upkeep, copiers, addresses, registration })
    }

    /// The addresses that NFS and MOUNT are served on over TCP; UDP is served on the same ones.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The protocol programs, with their counters.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// What the event loops have counted.
    pub fn net_counters(&self) -> net::Counters {
        self.net.counters()
    }

    /// Puts other exports in force; clients of exports that stay the same notice nothing.
    ///
    /// # Errors
    /// When the exports cannot be told apart; the old ones stay in force.
    pub fn reload(&self, exports: Vec<Export>) -> Result<(), ReloadError> {
        Ok(self.server.reload(exports)?)
    }

    /// Asks the server to end: nothing new is accepted, what was accepted is finished. What is not finished after `grace` is
    /// dropped.
    pub fn shutdown(&self, grace: Duration) {
        if let Some(registration) = &self.registration {
            registration.withdraw();
        }
        self.net.shutdown(grace);
    }

    /// Waits until the server has ended.
    pub fn wait(&self) {
        self.net.join();
        self.copiers.stop();
        self.upkeep.stop();
    }
}

/// The smallest transfer size that can be set, in bytes: that of NFSv2.
const MIN_TRANSFER_BYTES: u32 = 8192;

/// An export of `file_system` under `name` to every client on this machine, with default options.
pub fn export_to_this_machine(name: &str, file_system: Arc<dyn FileSystem>) -> Export {
    let loopback = [
        ClientPattern::Network { address: IpAddr::V4(Ipv4Addr::new(127, 0, 0, 0)), prefix_bits: 8 },
        ClientPattern::address(IpAddr::V6(Ipv6Addr::LOCALHOST)),
    ];
    let rule = |clients| AccessRule { clients, options: ExportOptions::default() };
    Export { name: name.to_owned(), file_system, rules: loopback.map(rule).to_vec(), fsid: None }
}

/// A number that is another one each time a server starts: the number of the start, or the time without records.
fn instance(records: Option<&StoredRecords>) -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let boot = records.map_or(since.as_secs() as u32, |records| records.start().boot);
    u64::from(boot) << 32 | u64::from(since.subsec_nanos())
}

fn client_records(dir: Option<&Path>, lease: Duration) -> Result<Option<StoredRecords>, StateError> {
    let Some(dir) = dir else { return Ok(None) };
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(Some(StoredRecords::open(dir, since.as_secs() as u32, lease)?))
}

fn listen(
    sockets: &mut net::Server,
    addresses: &[SocketAddr],
    inherited: Vec<std::os::fd::OwnedFd>,
) -> Result<Vec<net::Bound>, StartError> {
    let mut bound = Vec::new();
    for address in addresses {
        let address = sockets.listen(*address)?;
        bound.push(net::Bound { transport: net::Transport::Tcp, address });
        bound.push(net::Bound { transport: net::Transport::Udp, address });
    }
    for socket in inherited {
        bound.push(sockets.inherit(socket)?);
    }
    if bound.is_empty() { Err(StartError::NowhereToListen) } else { Ok(bound) }
}

fn tcp_addresses(bound: &[net::Bound]) -> Vec<SocketAddr> {
    let is_tcp = |bound: &&net::Bound| bound.transport == net::Transport::Tcp;
    bound.iter().filter(is_tcp).map(|bound| bound.address).collect()
}
