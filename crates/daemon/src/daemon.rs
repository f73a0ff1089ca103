use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use net::Transport;
use server::{AccessRule, ClientPattern, Export, ExportOptions, Server};
use vfs::FileSystem;

use crate::connections::OpenConnections;
use crate::copiers::Copiers;
use crate::error::{ReloadError, StartError};
use crate::grace_log::GraceLog;
use crate::make_server::make_server;
use crate::options::{BeforeRequests, Options, RpcbindMode};
use crate::portmap;
use crate::service::Programs;
use crate::sys;
use crate::upkeep::Upkeep;

/// A server that runs on its own threads until it is shut down.
pub struct Daemon {
    server: Arc<Server>,
    net: net::ServerHandle,
    upkeep: Upkeep,
    copiers: Copiers,
    addresses: Vec<SocketAddr>,
    /// The services registered with the rpcbind of this machine, to be unregistered at the end.
    registration: Option<portmap::Registration>,
}

impl Daemon {
    /// Opens the sockets and serves `exports` on them.
    ///
    /// # Errors
    /// When an address cannot be bound, exports collide, the state directory cannot be used, or rpcbind refuses. Then
    /// nothing runs.
    pub fn start(mut options: Options, exports: Vec<Export>) -> Result<Daemon, StartError> {
        let began = Instant::now();
        sys::ignore_file_size_signal();
        let mut sockets = sockets(&options);
        let first_copier = sockets.workers();
        // A start that is refused because of an address leaves files as they were.
        let bound = listen(&mut sockets, &options.listen, std::mem::take(&mut options.inherited))?;
        let server = make_server(&options, first_copier + Copiers::THREADS, exports)?;
        if let Some(remote_files) = options.remote_files {
            server.set_remote_files(remote_files);
        }
        let server = Arc::new(server);
        portmap::announce(server.registry(), &bound);
        if options.rpcbind == RpcbindMode::Builtin {
            portmap::listen(&mut sockets, server.registry(), &bound)?;
        }
        if let Some(BeforeRequests(action)) = options.before_requests {
            action().map_err(StartError::BeforeRequests)?;
        }
        let registration = match options.rpcbind {
            RpcbindMode::Register => Some(portmap::Registration::new(&bound).map_err(StartError::Register)?),
            RpcbindMode::Off | RpcbindMode::Builtin => None,
        };
        let programs = Arc::new(Programs::new(server.clone(), began));
        let net = sockets.start(programs.clone())?;
        programs.courier.connect(net.clone());
        let recalling = Arc::downgrade(&programs);
        server.on_broken_lease(Box::new(move || {
            if let Some(programs) = recalling.upgrade() {
                programs.recall_leased();
            }
        }));
        server.watch_connections(Box::new(OpenConnections { net: net.clone(), began }));
        let copiers = Copiers::start(&programs, first_copier).map_err(StartError::Thread)?;
        let grace = GraceLog::new(options.how_to_end_grace);
        let upkeep = Upkeep::start(programs, net.clone(), grace).map_err(StartError::Thread)?;
        let addresses = tcp_addresses(&bound);
        Ok(Daemon { server, net, upkeep, copiers, addresses, registration })
    }

    /// The TCP addresses that serve NFS and MOUNT; UDP uses the same ones.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The protocol programs, with their counters.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// The counters of the event loops.
    pub fn net_counters(&self) -> net::Counters {
        self.net.counters()
    }

    /// Replaces the exports. Clients of unchanged exports are not affected.
    ///
    /// # Errors
    /// When exports collide; the old ones stay in force.
    pub fn reload(&self, exports: Vec<Export>) -> Result<(), ReloadError> {
        Ok(self.server.reload(exports)?)
    }

    /// Ends the grace period. Clients that have not reclaimed lose their opens and locks. Returns whether there was a
    /// grace period.
    ///
    /// # Errors
    /// When the state directory cannot be written; the grace period goes on.
    pub fn end_grace(&self) -> Result<bool, state::RecordsError> {
        self.server.end_grace()
    }

    /// Shuts down: accepts nothing new, and completes accepted requests. After `grace` it drops what is unfinished.
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

/// An export of `file_system` under `name` to all clients on this machine, with default options.
pub fn export_to_this_machine(name: &str, file_system: Arc<dyn FileSystem>) -> Export {
    let loopback = [
        ClientPattern::Network { address: IpAddr::V4(Ipv4Addr::new(127, 0, 0, 0)), prefix_bits: 8 },
        ClientPattern::address(IpAddr::V6(Ipv6Addr::LOCALHOST)),
    ];
    let rule = |clients| AccessRule { clients, options: ExportOptions::default() };
    Export { name: name.to_owned(), file_system, rules: loopback.map(rule).to_vec(), fsid: None }
}

fn sockets(options: &Options) -> net::Server {
    net::Server::new(options.limits.clone())
        .loops(options.loops.max(1))
        .pinned(options.pin)
        .fair(options.fair)
        .busy_poll(options.busy_poll)
        .send_path(options.send_path)
}

fn listen(
    sockets: &mut net::Server,
    addresses: &[SocketAddr],
    inherited: Vec<std::os::fd::OwnedFd>,
) -> Result<Vec<net::Bound>, StartError> {
    let mut bound = Vec::new();
    for address in addresses {
        let address = sockets.listen(*address)?;
        bound.push(net::Bound { transport: Transport::Tcp, address });
        bound.push(net::Bound { transport: Transport::Udp, address });
    }
    for socket in inherited {
        bound.push(sockets.inherit(socket)?);
    }
    if bound.is_empty() { Err(StartError::NowhereToListen) } else { Ok(bound) }
}

fn tcp_addresses(bound: &[net::Bound]) -> Vec<SocketAddr> {
    let is_tcp = |bound: &&net::Bound| bound.transport == Transport::Tcp;
    bound.iter().filter(is_tcp).map(|bound| bound.address).collect()
}
