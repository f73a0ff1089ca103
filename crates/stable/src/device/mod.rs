//! Where a log is stored: a fixed number of bytes that are written in blocks.

mod aligned;
mod file;
mod holder;
mod memory;

use std::io;
use std::path::Path;

pub use aligned::AlignedBuffer;
pub use file::FileDevice;
pub use memory::MemoryDevice;

/// The memory of direct reads and writes begins at a multiple of this many bytes.
pub const PAGE_BYTES: usize = 4096;

/// A fixed number of bytes on stable storage.
///
/// Offsets and lengths are multiples of [`block_bytes`](Device::block_bytes), and memory is that of an
/// [`AlignedBuffer`], from a multiple of a page on. Reads and writes of several threads may run side by side.
pub trait Device: Send + Sync {
    /// What users call it in messages.
    fn path(&self) -> &Path;

    /// How many bytes it has.
    fn size_bytes(&self) -> u64;

    /// What it reads and writes at least.
    fn block_bytes(&self) -> usize;

    /// Fills `into` with what is stored from `offset_bytes` on.
    ///
    /// # Errors
    /// What the system says; `into` may then hold anything.
    fn read_at(&self, offset_bytes: u64, into: &mut [u8]) -> io::Result<()>;

    /// Stores `from`, which is durable when this returns.
    ///
    /// # Errors
    /// What the system says. Any part of `from` may be stored then.
    fn write_at(&self, offset_bytes: u64, from: &[u8]) -> io::Result<()>;
}
