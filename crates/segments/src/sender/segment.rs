/// A TCP header, without the ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Segment {
    /// Number of the first byte of data, or of the SYN.
    pub sequence: u32,
    /// Number of the next byte that is expected, if `flags.ack`.
    pub acknowledgment: u32,
    /// What the segment is for.
    pub flags: Flags,
    /// The receive window as it is in the header, in units of the window scale.
    pub window: u16,
    /// The options.
    pub options: SegmentOptions,
}

/// What a segment is for (RFC 9293 §3.1).
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
    /// The receiver's application should have what has come.
    pub psh: bool,
}

/// Options of RFC 9293, 2018 and 7323.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SegmentOptions {
    /// The most data that the sender of this takes in one packet, in bytes.
    pub mss: Option<u16>,
    /// How far windows are shifted.
    pub window_scale: Option<u8>,
    /// Whether blocks of received data may be told.
    pub sack_permitted: bool,
    /// The clock of the sender of this, and the latest one of ours that it saw.
    pub timestamp: Option<(u32, u32)>,
    /// Blocks that were received, each from its first byte to behind its last.
    pub sack: [Option<(u32, u32)>; MAX_SACK_BLOCKS],
}

/// The most blocks that fit into the options of one segment.
pub const MAX_SACK_BLOCKS: usize = 4;

/// Bytes that a timestamp takes, with two fillers.
pub const TIMESTAMP_BYTES: usize = 12;
