//! The factors, and the size that all loads have in common.

pub(super) const WAY: &str = "way";
pub(super) const LOAD: &str = "load";
pub(super) const SIZE: &str = "size";

/// The load of the source's `dd`, which the client limits: reading at 60 % of the reference's bandwidth.
pub(super) const STEADY: &str = "read at 60 %";
/// Reading from a server with a part of a processor, over a wire.
pub(super) const LIMITED: [&str; 2] = ["read, server limited", "randread, server limited"];
/// Reading from a server whose instructions are counted.
pub(super) const COUNTED: &str = "read, counted";

/// The effective transfer size of the source, though its mount asked for 256 KiB.
pub(super) const TRANSFER_BYTES: u32 = 64 << 10;
