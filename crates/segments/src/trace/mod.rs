//! Analyses packet captures of a sender: how many packets carry one segment, several, or fractions.
//!
//! [`read`] takes pcap and pcapng files, also from Linux's interface `any`, with truncated packets. Lengths come from
//! the headers, so that a capture of headers (`tcpdump -s 128`) is enough. Packets are counted as captured: with
//! offload, the sender's capture has super-segments, and the receiver's has packets that the card has merged again.
//!
//! [`each_packet`] passes segments on with their data, to whoever reads the streams.

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
pub use packet::{Packet, Part, Segment};
pub use tally::Tally;
pub use timeline::Timeline;

/// How to read a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// The MSS without options, at least 1, instead of that in the handshake.
    pub mss: Option<usize>,
    /// The length of intervals, above 0; long captures use this times a power of two.
    pub interval: Duration,
}

/// What a capture says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// Directions of connections, by time of their first packet.
    pub flows: Vec<Flow>,
    /// All TCP packets.
    pub tcp_packets: u64,
    /// Packets of other protocols, and fragments.
    pub other_packets: u64,
    /// TCP packets whose header was not captured completely.
    pub short_packets: u64,
    /// TCP packets of connections beyond the limit.
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
    /// The MSS in bytes, without options; at least 1.
    pub mss: usize,
    /// How that is known.
    pub mss_source: MssSource,
    /// All its packets, including those without data.
    pub packets: u64,
    /// Its data packets.
    pub tally: Tally,
    /// Single-MSS packets followed at once by more new data, although the other end had not allowed more since the data
    /// packet before. Both could have been one super-segment. Valid for captures at the sender.
    pub early: u64,
    /// Its data packets over time.
    pub timeline: Timeline,
}

/// The source of a connection's MSS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MssSource {
    /// The user.
    Given,
    /// The options of both ends, or of one: the smaller one, minus the options of each packet.
    Handshake,
    /// Ethernet's, minus the options of each packet, because the capture begins later.
    Assumed,
}

/// Reads a capture. Returns its analysis, and why it could not be read to its end; then the analysis covers the part
/// before.
///
/// # Errors
/// Every [`Error`].
pub fn read(capture: impl Read + Send, options: Options) -> (Trace, Result<(), Error>) {
    let mut flows = Flows::new(options);
    let ended = each_packet(capture, |at, packet| flows.add(at, packet));
    (flows.into_trace(), ended)
}

/// Passes each packet of a capture to `each`, with its time since 1970.
///
/// # Errors
/// Every [`Error`]; `each` got what precedes.
pub fn each_packet(capture: impl Read + Send, mut each: impl FnMut(Duration, &Packet<'_>)) -> Result<(), Error> {
    let (mut unknown_link, mut has_ip) = (None, false);
    capture::read(capture, |frame| {
        let packet = packet::parse(frame);
        match packet {
            Packet::Tcp(_) | Packet::Udp(_) | Packet::Short => has_ip = true,
            Packet::Unknown(link_type) => unknown_link = Some(link_type),
            Packet::Other => {}
        }
        each(frame.at, &packet);
    })?;
    unknown_link.filter(|_| !has_ip).map_or(Ok(()), |link_type| Err(Error::LinkType { link_type }))
}
