//! Calls that the server makes: NFSv4 callbacks, and notifications of the lock and status protocols to other hosts.
//!
//! A call waits in [`Callouts`] until the owner of the sockets fetches it ([`Server::next_transmit`]). Its reply
//! returns by [`Server::take_reply`] and runs the closure that was queued with the call. Each call ends exactly once:
//! by its reply, by the end of its path, or by its deadline.

mod table;

use std::net::SocketAddr;
use std::time::Duration;

use buffer::Buffer;
use peer::Peer;
use rpc::{Credential, Flavor, OpaqueAuth, Procedure, Rejection, Reply, Xid};
use state::Origin;
use xdr::{Encode, Encoder};

pub(crate) use table::Callouts;

use crate::server::Server;

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

/// Runs when a call has ended, with the time of its end. It must not block.
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

impl Server {
    /// The next message that the server sends by itself, if any. Callers ask after each message that they answered or
    /// took, and after each tick. When there is nothing to send, it only reads two shared numbers.
    pub fn next_transmit(&self, now: Duration) -> Option<Transmit> {
        self.send_events(now);
        self.callouts.next_transmit()
    }

    /// Takes a reply to one of the server's calls; ignores any other message.
    pub fn take_reply(&self, peer: &Peer, message: &[u8], now: Duration) {
        let Ok(reply) = Reply::parse(message) else { return };
        let Some(then) = self.callouts.take(reply.xid, peer) else {
            tracing::debug!(peer = %peer.address, xid = %reply.xid, "a reply that nobody waits for");
            return;
        };
        match reply.outcome {
            rpc::CallResult::Success(results) => then(self, Ok(results.rest()), now),
            rpc::CallResult::Rejected(why) => then(self, Err(CalloutError::Rejected(why)), now),
        }
    }

    /// Fails the calls that wait for replies from `destination`, since nothing can be sent there.
    pub fn unreachable(&self, destination: &Destination, now: Duration) {
        for then in self.callouts.fail(destination) {
            then(self, Err(CalloutError::Unreachable), now);
        }
    }

    /// Queues a call; `then` runs with its result unless this returns an error.
    pub(crate) fn call_out(&self, callout: Callout, now: Duration, then: Then) -> Result<(), CalloutError> {
        self.callouts.add(callout, now, then)
    }

    /// Retransmits calls that are due, and ends those that timed out.
    pub(crate) fn tick_callouts(&self, now: Duration) {
        for then in self.callouts.tick(now) {
            then(self, Err(CalloutError::TimedOut), now);
        }
    }
}
