use std::net::SocketAddr;
use std::num::NonZero;
use std::time::Duration;

/// How a message came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Transport {
    /// Over a stream.
    Tcp,
    /// As a datagram.
    Udp,
}

/// Who sent a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// The sender's address.
    pub address: SocketAddr,
    /// The address of ours that it was sent to.
    pub local: SocketAddr,
    /// How it came.
    pub transport: Transport,
    /// Which connection it came over: a number that is not used twice; 0 for datagrams.
    pub connection: u64,
}

/// One message to answer, and what the protocol programs need to know of the world.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The RPC message.
    pub message: &'a [u8],
    /// Who sent it.
    pub peer: Peer,
    /// Which thread asks, numbered from 0 to [`Settings::workers`](crate::Settings::workers) − 1.
    pub worker: usize,
    /// Whether this thread may wait.
    pub may_block: bool,
    /// The time since some moment before the server began; it never goes back.
    pub now: Duration,
    /// The number of its batch: requests of one worker with the same number were all received before the first of them was
    /// answered, so that what is found out for one of them is true for the others, as long as nothing of them changed it. `None` for
    /// one by itself.
    pub batch: Option<NonZero<u64>>,
    /// Whether the sender has no memory left of what the server gives it: the data and listings in its replies are short, so that
    /// each of its connections is served on and takes little.
    pub is_scarce: bool,
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The reply was appended.
    Reply,
    /// There is no reply: the call is being worked on already, or its protocol wants none.
    Silent,
    /// The reply has to wait: ask again from a thread that may. Nothing was appended and nothing has happened. The number says for
    /// whom it waits: the same for all calls to one export, 0 for none.
    WouldBlock(u64),
    /// The message was nothing that a client sends: whoever sent it on a stream cannot be understood any more.
    NotACall(rpc::CallError),
}
