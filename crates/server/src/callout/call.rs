//! One call that the server makes.

use std::net::SocketAddr;
use std::time::Duration;

use buffer::Buffer;
use peer::{Peer, Transport};
use rpc::{Credential, Flavor, OpaqueAuth, Procedure, Rejection, Xid};
use state::Origin;
use xdr::{Encode, Encoder};

/// The destination of a call that the server makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Destination {
    /// The open connection of this number, a [`Peer::connection`].
    Connection(u64),
    /// A connection to this address, opened when there is none.
    Tcp(SocketAddr),
    /// A datagram.
    Udp {
        /// The server's address that it is sent from, a [`Peer::local`].
        local: SocketAddr,
        /// The address that it is sent to.
        to: SocketAddr,
    },
}

/// A message to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transmit {
    /// Its destination.
    pub destination: Destination,
    /// The RPC message, without a record mark.
    pub message: Vec<u8>,
}

/// The timeouts of a call that the server makes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timeouts {
    /// The longest wait for the reply.
    pub(crate) timeout: Duration,
    /// The interval of retransmission; only for datagrams, since TCP retransmits by itself.
    pub(crate) resend: Option<Duration>,
}

/// A call that the server makes.
#[derive(Debug)]
pub(crate) struct Callout {
    pub(crate) destination: Destination,
    /// The address of the client that the call is made for.
    pub(crate) origin: Origin,
    pub(crate) procedure: Procedure,
    pub(crate) credential: OwnCredential,
    /// The encoded arguments.
    pub(crate) arguments: Vec<u8>,
    pub(crate) timeouts: Timeouts,
}

/// The credential of the server's own calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OwnCredential {
    /// AUTH_NONE.
    None,
    /// AUTH_SYS: the encoded `authsys_parms` (RFC 5531 §A).
    Sys(Box<[u8]>),
}

/// The reason why a call of the server has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CalloutError {
    /// Too many calls wait for replies, in total or for this client.
    #[error("too many calls wait for their replies")]
    TooMany,
    /// The connection is closed or could not be opened.
    #[error("the path is gone")]
    Unreachable,
    /// No reply arrived before the deadline.
    #[error("there was no reply in time")]
    TimedOut,
    /// The peer rejected the call.
    #[error("the call was rejected: {0}")]
    Rejected(Rejection),
}

/// The encoded results of a call, or the reason why there are none.
pub(crate) type CalloutResult<'a> = Result<&'a [u8], CalloutError>;

impl Callout {
    pub(super) fn message(&self, xid: Xid) -> Vec<u8> {
        let mut bytes = Buffer::new();
        let mut to = Encoder::new(&mut bytes);
        self.procedure.encode_call(xid, &self.credential.parsed(), &mut to);
        bytes.put(&self.arguments);
        bytes.as_slice().to_vec()
    }
}

impl OwnCredential {
    /// The superuser (uid 0) of the machine `machine_name`.
    pub(crate) fn superuser(machine_name: &str) -> OwnCredential {
        let name = machine_name.as_bytes();
        let mut bytes = Buffer::new();
        let name = &name[..name.len().min(rpc::AuthSys::MAX_MACHINE_NAME)];
        rpc::AuthSys::new(name, 0, 0, &[]).encode(&mut Encoder::new(&mut bytes));
        OwnCredential::Sys(bytes.as_slice().into())
    }

    fn parsed(&self) -> Credential<'_> {
        let OwnCredential::Sys(body) = self else { return Credential::None };
        match Credential::parse(&OpaqueAuth { flavor: Flavor::SYS, body }) {
            Some(Ok(credential)) => credential,
            _ => Credential::None,
        }
    }
}

impl Destination {
    /// Whether a message from `peer` may answer one that went here.
    pub(super) fn is(&self, peer: &Peer) -> bool {
        match *self {
            Destination::Connection(connection) => peer.connection == connection,
            Destination::Tcp(address) => peer.transport == Transport::Tcp && peer.address == address,
            Destination::Udp { to, .. } => peer.transport == Transport::Udp && peer.address == to,
        }
    }
}
