//! Storage of a log: a fixed number of bytes, written in blocks.

mod aligned;
mod file;
mod holder;
mod memory;

use std::io;
use std::path::Path;

pub use aligned::AlignedBuffer;
pub use file::FileDevice;
pub use memory::MemoryDevice;

/// The alignment of memory for direct I/O, in bytes.
pub const PAGE_BYTES: usize = 4096;

/// A fixed number of bytes on stable storage.
///
/// Offsets and lengths are multiples of [`block_bytes`](Device::block_bytes). Memory belongs to an [`AlignedBuffer`]
/// and begins at a multiple of a page. Several threads may read and write at the same time.
pub trait Device: Send + Sync {
    /// The name in messages.
    fn path(&self) -> &Path;

    /// How many bytes it has.
    fn size_bytes(&self) -> u64;

    /// The size of a block: the unit of reads and writes.
    fn block_bytes(&self) -> usize;

    /// Reads into `into` from `offset_bytes` on.
    ///
    /// # Errors
    /// Those of the system; `into` may then hold anything.
    fn read_at(&self, offset_bytes: u64, into: &mut [u8]) -> io::Result<()>;

    /// Writes `from`, which is durable when this returns.
    ///
    /// # Errors
    /// Those of the system. Any part of `from` may then be stored.
    fn write_at(&self, offset_bytes: u64, from: &[u8]) -> io::Result<()>;
}
