//! Calls of the server's own: callbacks to clients of NFSv4, and what the lock and status protocols tell other hosts.
//!
//! A call waits in [`Callouts`] until whoever has the sockets fetches it ([`Server::next_transmit`]); its reply comes back by
//! [`Server::take_reply`], and what is to be done then goes with the call, as a closure. Each call ends exactly once: by its reply,
//! by the end of its path, or by its deadline.

mod table;

use std::net::SocketAddr;
use std::time::Duration;

use buffer::Buffer;
use rpc::{Credential, Flavor, OpaqueAuth, Procedure, Rejection, Reply, Xid};
use state::Origin;
use xdr::{Encode, Encoder};

pub(crate) use table::Callouts;

use crate::request::Peer;
use crate::server::Server;

/// Where a call of the server's own goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Destination {
    /// Over the connection of this number, a [`Peer::connection`].
    Connection(u64),
    /// Over a connection to this address, which is opened when there is none.
    Tcp(SocketAddr),
    /// As a datagram.
    Udp {
        /// The address of ours that it comes from, a [`Peer::local`].
        local: SocketAddr,
        /// Whom it goes to.
        to: SocketAddr,
    },
}

/// A message to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transmit {
    /// Where it goes.
    pub destination: Destination,
    /// The RPC message, without a record mark.
    pub message: Vec<u8>,
}

/// How long a call of the server's own is worth waiting for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// How long the reply may take.
    pub(crate) timeout: Duration,
    /// After how long the call is sent again, and again; only for datagrams, since a stream loses nothing.
    pub(crate) resend: Option<Duration>,
}

/// A call of the server's own.
#[derive(Debug)]
pub(crate) struct Callout {
    pub(crate) destination: Destination,
    /// Whose call it is: the address of the client that it is for.
    pub(crate) origin: Origin,
    pub(crate) procedure: Procedure,
    pub(crate) credential: OwnCredential,
    /// The encoded arguments.
    pub(crate) arguments: Vec<u8>,
    pub(crate) patience: Patience,
}

/// How the server identifies itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OwnCredential {
    /// Not at all.
    None,
    /// As a user of a system: the encoded `authsys_parms` (RFC 5531 §A).
    Sys(Box<[u8]>),
}

/// Why a call of the server's own came to nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CalloutError {
    /// Too many calls wait for their replies already, from all clients or from this one.
    #[error("too many calls wait for their replies")]
    TooMany,
    /// The connection is gone or did not come about.
    #[error("the path is gone")]
    Unreachable,
    /// No reply came in time.
    #[error("there was no reply in time")]
    TimedOut,
    /// The call was not carried out.
    #[error("the call was rejected: {0}")]
    Rejected(Rejection),
}

/// What came of a call: the encoded results, or why there are none.
pub(crate) type CalloutResult<'a> = Result<&'a [u8], CalloutError>;

/// What is to be done when a call has ended, at the time that it is told. It must not wait.
pub(crate) type Then = Box<dyn FnOnce(&Server, CalloutResult<'_>, Duration) + Send>;

impl Callout {
    fn message(&self, xid: Xid) -> Vec<u8> {
        let mut bytes = Buffer::new();
        let mut to = Encoder::new(&mut bytes);
        self.procedure.encode_call(xid, &self.credential.parsed(), &mut to);
        bytes.put(&self.arguments);
        bytes.as_slice().to_vec()
    }
}

impl OwnCredential {
    /// As the superuser of the machine `machine_name`.
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

impl Server {
    /// The next message that the server sends on its own account, if any. To be asked after each message that was answered or
    /// taken, and after each tick. When there is nothing it costs a look at two shared numbers.
    pub fn next_transmit(&self, now: Duration) -> Option<Transmit> {
        self.send_events(now);
        self.callouts.next_transmit()
    }

    /// Takes a message that answers one of the server's own, if it does.
    pub fn take_reply(&self, peer: &Peer, message: &[u8], now: Duration) {
        let Ok(reply) = Reply::parse(message) else { return };
        let Some(then) = self.callouts.take(reply.xid, peer) else {
            tracing::debug!(peer = %peer.address, xid = %reply.xid, "a reply that nobody waits for");
            return;
        };
        match reply.outcome {
            rpc::Outcome::Success(results) => then(self, Ok(results.rest()), now),
            rpc::Outcome::Rejected(why) => then(self, Err(CalloutError::Rejected(why)), now),
        }
    }

    /// Hears that nothing can be sent to `destination`: calls that wait for replies from there have failed.
    pub fn unreachable(&self, destination: &Destination, now: Duration) {
        for then in self.callouts.fail(destination) {
            then(self, Err(CalloutError::Unreachable), now);
        }
    }

    /// Calls somebody; `then` hears what came of it, unless this fails.
    pub(crate) fn call_out(&self, callout: Callout, now: Duration, then: Then) -> Result<(), CalloutError> {
        self.callouts.add(callout, now, then)
    }

    /// Sends again what is due, and gives up what is overdue.
    pub(crate) fn tick_callouts(&self, now: Duration) {
        for then in self.callouts.tick(now) {
            then(self, Err(CalloutError::TimedOut), now);
        }
    }
}
