use net::NetError;
use server::ExportTableError;

use crate::state_dir::StateDirError;

/// Why a daemon did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The exports collide.
    #[error(transparent)]
    Exports(#[from] ExportTableError),
    /// An address cannot be served.
    #[error(transparent)]
    Net(#[from] NetError),
    /// The key of file handles cannot be read or created.
    #[error(transparent)]
    State(#[from] StateDirError),
    /// The records of clients cannot be read.
    #[error(transparent)]
    Clients(#[from] state::RecordsError),
    /// The action before the first request failed ([`Options::before_requests`](crate::Options::before_requests)).
    #[error(transparent)]
    BeforeRequests(Box<dyn std::error::Error + Send + Sync>),
    /// A thread cannot be started.
    #[error("cannot start a thread: {0}")]
    Thread(#[source] std::io::Error),
    /// There is no address and no inherited socket.
    #[error("there is no address to listen on; name one, such as 127.0.0.1:2049")]
    NowhereToListen,
    /// The built-in rpcbind cannot listen on its port.
    #[error(
        "the built-in rpcbind cannot listen on {address}: {source}. Port 111 requires root or CAP_NET_BIND_SERVICE, \
         and no other rpcbind may run; without rpcbind, clients must name the port"
    )]
    Rpcbind {
        /// The address.
        address: std::net::SocketAddr,
        /// What the system said.
        source: NetError,
    },
    /// The rpcbind of this machine refused the registration.
    #[error(
        "cannot register with the rpcbind of this machine: {0}. Is it running, and does this server run as root? \
         Without rpcbind, clients must name the port"
    )]
    Register(#[source] std::io::Error),
}

/// Why the exports were not replaced; the old ones stay in force.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ReloadError(#[from] pub ExportTableError);
