/// A TCP header, without the ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Segment {
    /// The sequence number of the first byte of data, or of the SYN.
    pub sequence: u32,
    /// The next expected number, if `flags.ack`.
    pub acknowledgment: u32,
    /// The flags.
    pub flags: Flags,
    /// The window field, before scaling.
    pub window: u16,
    /// The options.
    pub options: SegmentOptions,
}

/// The flags of a segment (RFC 9293 §3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags {
    /// It begins a connection.
    pub syn: bool,
    /// Its acknowledgment counts.
    pub ack: bool,
    /// Nothing follows it.
    pub fin: bool,
    /// The connection is gone.
    pub rst: bool,
    /// The receiver should pass the data to its application.
    pub psh: bool,
}

/// Options of RFC 9293, 2018 and 7323.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SegmentOptions {
    /// The MSS of the sender, in bytes.
    pub mss: Option<u16>,
    /// The window scale.
    pub window_scale: Option<u8>,
    /// Whether SACK blocks are permitted.
    pub sack_permitted: bool,
    /// The sender's timestamp, and the latest one of ours that it saw.
    pub timestamp: Option<(u32, u32)>,
    /// Received blocks, each from its first byte to behind its last.
    pub sack: [Option<(u32, u32)>; MAX_SACK_BLOCKS],
}

/// The maximum number of blocks in the options of one segment.
pub const MAX_SACK_BLOCKS: usize = 4;

/// Bytes that a timestamp takes, with two fillers.
pub const TIMESTAMP_BYTES: usize = 12;
