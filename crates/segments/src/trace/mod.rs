//! What a packet capture says of a sender: how many packets carry one segment, several, or parts of them.
//!
//! [`read`] takes pcap and pcapng files, also of Linux's interface `any`, with packets that were captured in part.
//! Lengths come from the headers, so that a capture of headers alone (`tcpdump -s 128`) is enough. Packets are counted
//! as they were captured: where a network card cuts, the sender's capture has super-segments, and the receiver's what
//! is left of them when the card has put packets together again.

mod capture;
mod early;
mod error;
mod flows;
mod packet;
mod tally;
mod timeline;

use std::io::Read;
use std::net::SocketAddr;
use std::time::Duration;

pub use error::Error;
use flows::Flows;
pub use tally::Tally;
pub use timeline::Timeline;

/// How a capture is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Most data of one packet in bytes, at least 1, in place of what the handshake says.
    pub mss: Option<usize>,
    /// Length of an interval, above 0; those of long captures are this times a power of two.
    pub interval: Duration,
}

/// What a capture says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// Directions of connections, by the time of their first packet.
    pub flows: Vec<Flow>,
    /// All TCP packets.
    pub tcp_packets: u64,
    /// Packets of other protocols, and fragments.
    pub other_packets: u64,
    /// TCP packets of which too little was captured to read their header.
    pub short_packets: u64,
    /// TCP packets of connections beyond the most that are told apart.
    pub untold_packets: u64,
    /// Time from the first to the last packet.
    pub duration: Duration,
}

/// One direction of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    /// The sender.
    pub from: SocketAddr,
    /// The receiver.
    pub to: SocketAddr,
    /// Most data of one packet in bytes, without options; 1 at least.
    pub mss: usize,
    /// How that is known.
    pub mss_source: MssSource,
    /// All its packets, with those without data.
    pub packets: u64,
    /// Its data packets.
    pub tally: Tally,
    /// Single-MSS packets behind which more new data left at once, though the other end had said nothing since the data
    /// packet before that would have allowed more: both could have been one super-segment. This is right for captures at
    /// the sender.
    pub early: u64,
    /// Its data packets over time.
    pub timeline: Timeline,
}

/// How the MSS of a connection is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MssSource {
    /// The user has said so.
    Given,
    /// Both ends' options are in the capture, or one end's: the smaller one, less the options of each packet.
    Handshake,
    /// It is that of Ethernet, less the options of each packet, since the capture begins later.
    Assumed,
}

/// Reads a capture: what it says, and why it could not be read to its end, in which case what precedes is counted.
///
/// # Errors
/// Every [`Error`].
pub fn read(capture: impl Read + Send, options: Options) -> (Trace, Result<(), Error>) {
    let mut flows = Flows::new(options);
    let ended = capture::read(capture, |frame| flows.add(frame));
    let unknown = flows.only_unknown_link();
    let ended = ended.and(unknown.map_or(Ok(()), |link_type| Err(Error::LinkType { link_type })));
    (flows.into_trace(), ended)
}
