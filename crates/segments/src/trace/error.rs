use std::io;

/// Why a capture cannot be read to its end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("cannot read the capture: {0}")]
    Read(#[source] io::Error),
    /// The file is not a capture.
    #[error("this is no capture in pcap or pcapng format; tcpdump -w FILE writes one")]
    Foreign,
    /// There is nothing in it.
    #[error("the capture is empty; tcpdump writes packets out late unless it runs with -U")]
    Empty,
    /// The file ends within a packet.
    #[error(
        "the capture is truncated behind packet {packets}, and the figures are of what precedes; stop tcpdump \
         with Ctrl-C, or copy the file again"
    )]
    Truncated {
        /// How many packets precede.
        packets: u64,
    },
    /// A block is invalid.
    #[error(
        "the capture is damaged behind packet {packets}, and the figures are of what precedes; copy the file again"
    )]
    Damaged {
        /// How many packets precede.
        packets: u64,
    },
    /// A block is larger than any packet.
    #[error("the block behind packet {packets} is larger than {max_bytes} bytes; no packet is that large")]
    TooLarge {
        /// How many packets precede.
        packets: u64,
        /// The most bytes.
        max_bytes: usize,
    },
    /// No packet could be read, because this link type is unknown.
    #[error(
        "packets of link type {link_type} are not known; capture on an Ethernet, loopback or tunnel interface, or on any"
    )]
    LinkType {
        /// The number in the capture, see the list of tcpdump.org.
        link_type: i32,
    },
}
