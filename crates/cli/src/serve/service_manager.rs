//! Notifies systemd of the server's state (sd_notify(3)), if it started the server and requests that.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use rustix::time::{ClockId, clock_gettime};

/// The connection to the service manager, if there is one.
pub struct ServiceManager(Option<Channel>);

struct Channel {
    socket: UnixDatagram,
    address: SocketAddr,
}

impl ServiceManager {
    /// Connects to the socket in `NOTIFY_SOCKET`.
    pub fn from_environment() -> ServiceManager {
        let Some(name) = env::var_os("NOTIFY_SOCKET") else { return ServiceManager(None) };
        match Channel::open(&name) {
            Ok(channel) => ServiceManager(Some(channel)),
            Err(error) => {
                tracing::warn!(socket = ?name, %error, "cannot reach the service manager");
                ServiceManager(None)
            }
        }
    }

    /// The server is ready for requests.
    pub fn ready(&self) {
        self.tell("READY=1");
    }

    /// The server reloads its configuration; [`ServiceManager::ready`] ends that.
    pub fn reloading(&self) {
        let now = clock_gettime(ClockId::Monotonic);
        let microseconds = now.tv_sec * 1_000_000 + now.tv_nsec / 1000;
        self.tell(&format!("RELOADING=1\nMONOTONIC_USEC={microseconds}"));
    }

    /// The server ends.
    pub fn stopping(&self) {
        self.tell("STOPPING=1");
    }

    fn tell(&self, state: &str) {
        let Some(channel) = &self.0 else { return };
        if let Err(error) = channel.socket.send_to_addr(state.as_bytes(), &channel.address) {
            tracing::warn!(state, %error, "cannot notify the service manager");
        }
    }
}

impl Channel {
    /// The name is a path, or in the abstract name space if it begins with `@`.
    fn open(name: &OsStr) -> io::Result<Channel> {
        let address = match name.as_bytes().strip_prefix(b"@") {
            Some(abstract_name) => SocketAddr::from_abstract_name(abstract_name)?,
            None => SocketAddr::from_pathname(name)?,
        };
        Ok(Channel { socket: UnixDatagram::unbound()?, address })
    }
}
