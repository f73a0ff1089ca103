//! Turns settings into options of a server.

use std::io;
use std::net::{Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::{process, thread};

use config::{LimitSettings, Listen, ReadPlus, Rpcbind, ServerSettings};
use daemon::{Options, ReadPlusMode, RpcbindMode};
use rustix::net::getsockname;

use super::memory;
use super::privilege::Privilege;
use super::remote_servers::RemoteServers;
use super::reply_flags;
use crate::failure::Failure;

/// The state of clients may take a quarter of the memory, which leaves room for messages, files and other programs.
const STATE_SHARE: usize = 4;

/// The options of the server.
///
/// # Errors
/// When inherited sockets cannot be used.
pub fn options(settings: &ServerSettings, privilege: &Privilege) -> Result<Options, Failure> {
    let inherited = net::inherited_sockets()?;
    let defaults = Options::default();
    Ok(Options {
        listen: listen(settings, !inherited.is_empty()),
        inherited,
        rpcbind: rpcbind(settings.rpcbind.unwrap_or(Rpcbind::Off)),
        loops: loops(settings.loops.unwrap_or(0)),
        pin: settings.pin.unwrap_or(false),
        busy_poll: settings.busy_poll.map_or(defaults.busy_poll, Option::unwrap_or_default),
        fair: settings.fairness.unwrap_or(defaults.fair),
        limits: limits(&settings.limits, defaults.limits),
        lease: settings.lease.unwrap_or(defaults.lease),
        grace: settings.grace.unwrap_or(defaults.grace),
        state_bytes: memory::available().map_or(defaults.state_bytes, |bytes| bytes / STATE_SHARE),
        how_to_end_grace: Some(format!("kill -USR2 {}", process::id())),
        domain: settings.domain.clone(),
        read_plus: settings.read_plus.map_or(defaults.read_plus, read_plus),
        send_path: reply_flags::send_path(&settings.reply),
        sendfile_bytes: sendfile_bytes(settings, defaults.sendfile_bytes),
        gather_writes: settings.storage.gather_writes.unwrap_or(defaults.gather_writes),
        // Descriptors and memory limit all threads together (`descriptors.rs`).
        open_files_per_worker: settings.open_files.unwrap_or(usize::MAX),
        open_file_idle: settings.open_file_idle.unwrap_or(defaults.open_file_idle),
        remote_files: settings.copy_from.clone().map(|sources| Box::new(RemoteServers::new(sources)) as _),
        state_dir: privilege.state_dir(settings.state_dir.as_deref()),
        ..Options::default()
    })
}

/// All addresses that the server will listen on.
///
/// # Errors
/// When an inherited file descriptor is not a socket.
pub fn addresses(options: &Options) -> Result<Vec<SocketAddr>, Failure> {
    let inherited = options.inherited.iter().map(local_address);
    options.listen.iter().copied().map(Ok).chain(inherited).collect()
}

fn local_address(socket: &OwnedFd) -> Result<SocketAddr, Failure> {
    let failed = |source| Failure::System { action: "tell the address of an inherited socket", source };
    let address = getsockname(socket.as_fd()).map_err(|error| failed(error.into()))?;
    address.try_into().map_err(|_| failed(io::ErrorKind::AddrNotAvailable.into()))
}

/// The addresses: the configured ones, else only inherited sockets, else loopback. Where a machine has no IPv6, IPv4
/// is served alone.
fn listen(settings: &ServerSettings, is_activated: bool) -> Vec<SocketAddr> {
    let default = if is_activated { Vec::new() } else { vec![Listen::DEFAULT] };
    let has_ipv6 = UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).is_ok();
    let listen = settings.listen.clone().unwrap_or(default);
    listen.into_iter().flat_map(|listen| listen.addresses(has_ipv6)).collect()
}

fn rpcbind(setting: Rpcbind) -> RpcbindMode {
    match setting {
        Rpcbind::Off => RpcbindMode::Off,
        Rpcbind::Builtin => RpcbindMode::Builtin,
        Rpcbind::Register => RpcbindMode::Register,
    }
}

fn read_plus(setting: ReadPlus) -> ReadPlusMode {
    match setting {
        ReadPlus::None => ReadPlusMode::None,
        ReadPlus::Data => ReadPlusMode::Data,
        ReadPlus::Extents => ReadPlusMode::Extents,
        ReadPlus::Zeros => ReadPlusMode::Zeros,
    }
}

/// The minimum size of a READ for sendfile.
fn sendfile_bytes(settings: &ServerSettings, default: Option<u32>) -> Option<u32> {
    let bytes = settings.sendfile_bytes.unwrap_or(default);
    bytes.filter(|_| reply_flags::sends_from_files(&settings.reply))
}

fn loops(setting: usize) -> usize {
    if setting > 0 { setting } else { thread::available_parallelism().map_or(1, usize::from) }
}

fn limits(settings: &LimitSettings, defaults: net::Limits) -> net::Limits {
    net::Limits {
        max_connections: settings.max_connections.unwrap_or(defaults.max_connections),
        max_connections_per_client: settings.max_connections_per_client,
        memory_bytes: settings.memory.unwrap_or(defaults.memory_bytes),
        client_memory_bytes: settings.memory_per_client,
        stall_timeout: settings.stall_timeout.unwrap_or(defaults.stall_timeout),
        max_in_flight: settings.max_in_flight.unwrap_or(defaults.max_in_flight),
        max_in_flight_bytes: settings.max_in_flight_bytes.unwrap_or(defaults.max_in_flight_bytes),
        max_unsent_bytes: settings.max_unsent_bytes.unwrap_or(defaults.max_unsent_bytes),
        idle_timeout: settings.idle_timeout.unwrap_or(defaults.idle_timeout),
        blocking_threads: settings.blocking_threads.unwrap_or(defaults.blocking_threads),
        spare_blocking_threads: settings.spare_blocking_threads.unwrap_or(defaults.spare_blocking_threads),
        ..defaults
    }
}
