//! Calls to programs on other hosts, whose ports their rpcbind tells: lock managers and status monitors.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use peer::{Peer, Transport};
use proto::Operation;
use proto::rpcbind::portmap::{Getport, Mapping};
use proto::rpcbind::{Getaddr, PORT, Rpcb, UniversalAddress, netid};
use rpc::Procedure;
use state::Origin;
use xdr::{Decode, Decoder, Encode, Encoder};

use crate::callout::{Callout, CalloutError, CalloutResult, Destination, OwnCredential, Timeouts};

/// The timeouts of one query or call.
const TIMEOUTS: Timeouts = Timeouts { timeout: Duration::from_secs(8), resend: Some(Duration::from_secs(2)) };

/// The rpcbind version to query when the port mapper's protocol does not suffice.
const RPCBIND_VERSION: u32 = 4;

/// A remote host and the addresses to call it by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Remote {
    /// Its address.
    pub(crate) address: IpAddr,
    /// The server address that it knows.
    pub(crate) local: SocketAddr,
    /// The transport to use.
    pub(crate) transport: Transport,
}

/// A call to a program on a remote host.
#[derive(Debug)]
pub(crate) struct RemoteCallout {
    pub(crate) remote: Remote,
    pub(crate) procedure: Procedure,
    /// The encoded arguments.
    pub(crate) arguments: Vec<u8>,
}

impl Remote {
    /// The host that sent something.
    pub(crate) fn of(peer: &Peer) -> Remote {
        Remote { address: peer.address.ip().to_canonical(), local: peer.local, transport: peer.transport }
    }

    fn port(&self, port: u16) -> Destination {
        let to = SocketAddr::new(self.address, port);
        match self.transport {
            Transport::Tcp => Destination::Tcp(to),
            Transport::Udp => Destination::Udp { local: self.local, to },
        }
    }
}

impl RemoteCallout {
    /// A call of `O`.
    pub(crate) fn new<O: Operation>(remote: Remote, arguments: &O::Arguments<'_>) -> RemoteCallout {
        RemoteCallout { remote, procedure: procedure::<O>(), arguments: encoded(arguments) }
    }

    /// The query for the program's port; the port mapper's protocol only knows IPv4.
    pub(crate) fn question(&self) -> Callout {
        let (program, version) = (self.procedure.program, self.procedure.version);
        let (procedure, arguments) = if self.remote.address.is_ipv4() {
            let protocol = if self.remote.transport == Transport::Tcp { Mapping::TCP } else { Mapping::UDP };
            (procedure::<Getport>(), encoded(&Mapping { program, version, protocol, port: 0 }))
        } else {
            let netid = if self.remote.transport == Transport::Tcp { netid::TCP6 } else { netid::UDP6 };
            let wanted = Rpcb { program, version, netid, address: b"", owner: b"" };
            (procedure::<Getaddr<RPCBIND_VERSION>>(), encoded(&wanted))
        };
        self.callout(PORT, procedure, arguments)
    }

    /// The call of a procedure at `port` of the host.
    pub(crate) fn callout(&self, port: u16, procedure: Procedure, arguments: Vec<u8>) -> Callout {
        let destination = self.remote.port(port);
        let resend = TIMEOUTS.resend.filter(|_| self.remote.transport == Transport::Udp);
        let timeouts = Timeouts { resend, ..TIMEOUTS };
        let origin = Origin::of(self.remote.address);
        Callout { destination, origin, procedure, credential: OwnCredential::None, arguments, timeouts }
    }

    /// The port in the answer to [`RemoteCallout::question`].
    pub(crate) fn answered_port(&self, answer: CalloutResult<'_>) -> Result<u16, CalloutError> {
        let from = &mut Decoder::new(answer?);
        let port = if self.remote.address.is_ipv4() {
            u32::decode(from).ok().and_then(|port| u16::try_from(port).ok())
        } else {
            proto::rpcbind::Uaddr::decode(from)
                .ok()
                .and_then(|text| UniversalAddress::parse(text.text).ok())
                .map(|address| address.0.port())
        };
        port.filter(|port| *port != 0).ok_or(CalloutError::Unreachable)
    }
}

fn procedure<O: Operation>() -> Procedure {
    Procedure { program: O::PROGRAM, version: O::VERSION, number: O::PROCEDURE }
}

fn encoded(arguments: &impl Encode) -> Vec<u8> {
    let mut bytes = buffer::Buffer::new();
    arguments.encode(&mut Encoder::new(&mut bytes));
    bytes.as_slice().to_vec()
}
