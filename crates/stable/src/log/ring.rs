//! The part of the device behind the headers, used as a ring.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::LogError;
use crate::device::Device;

/// The block size of batches and headers.
pub(crate) const BLOCK_BYTES: usize = 4096;

/// Where the ring begins: behind the two headers.
pub(crate) const RING_START: u64 = 2 * BLOCK_BYTES as u64;

/// The smallest ring.
pub(crate) const MIN_RING_BYTES: u64 = 8 * BLOCK_BYTES as u64;

/// `bytes` rounded up to whole blocks.
pub(crate) const fn blocks(bytes: usize) -> usize {
    bytes.next_multiple_of(BLOCK_BYTES)
}

/// The position at which the block behind `position` begins, or `position` if a block begins there.
pub(crate) const fn next_block(position: u64) -> u64 {
    position.next_multiple_of(BLOCK_BYTES as u64)
}

/// A device whose bytes behind the headers form a ring.
pub(crate) struct Ring {
    device: Arc<dyn Device>,
    bytes: u64,
}

impl Ring {
    /// The ring in the first `size_bytes` of a device.
    pub(crate) fn new(device: Arc<dyn Device>, size_bytes: u64) -> Result<Ring, LogError> {
        let ring =
            Ring { bytes: size_bytes.saturating_sub(RING_START) / BLOCK_BYTES as u64 * BLOCK_BYTES as u64, device };
        let (device_bytes, block_bytes) = (ring.device.size_bytes(), ring.device.block_bytes());
        let least = RING_START + MIN_RING_BYTES;
        if size_bytes < least {
            let reason = format!("it has fewer than the {least} bytes of the smallest log");
            return Err(ring.misfit(format!("{reason}; restore it from a copy, or choose another path")));
        }
        if device_bytes < size_bytes {
            let reason = format!("it has {device_bytes} of its {size_bytes} bytes: its end is missing; restore it");
            return Err(ring.misfit(reason));
        }
        if block_bytes == 0 || !BLOCK_BYTES.is_multiple_of(block_bytes) {
            let reason = format!("the device writes blocks of {block_bytes} bytes, and a log those of {BLOCK_BYTES}");
            return Err(ring.misfit(format!("{reason}; choose another device")));
        }
        Ok(ring)
    }

    fn misfit(&self, reason: String) -> LogError {
        LogError::Size { path: self.path(), reason }
    }

    /// The capacity of the ring in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The name of the log in messages.
    pub(crate) fn path(&self) -> PathBuf {
        self.device.path().to_owned()
    }

    /// The offset of a position in the device.
    pub(crate) fn offset_bytes(&self, position: u64) -> u64 {
        RING_START + position % self.bytes
    }

    /// Reads what is stored from `position` on.
    pub(crate) fn read(&self, position: u64, into: &mut [u8]) -> Result<(), LogError> {
        let (first, rest) = into.split_at_mut(self.before_wrap(position, into.len()));
        self.device.read_at(self.offset_bytes(position), first).map_err(self.failed("read"))?;
        if rest.is_empty() {
            return Ok(());
        }
        self.device.read_at(RING_START, rest).map_err(self.failed("read"))
    }

    /// Stores `from` at `position`.
    pub(crate) fn write(&self, position: u64, from: &[u8]) -> Result<(), LogError> {
        let (first, rest) = from.split_at(self.before_wrap(position, from.len()));
        self.device.write_at(self.offset_bytes(position), first).map_err(self.failed("write"))?;
        if rest.is_empty() {
            return Ok(());
        }
        self.device.write_at(RING_START, rest).map_err(self.failed("write"))
    }

    /// Reads the start of the device, headers included.
    pub(crate) fn read_start(&self, into: &mut [u8]) -> Result<(), LogError> {
        self.device.read_at(0, into).map_err(self.failed("read"))
    }

    /// Stores a header block.
    pub(crate) fn write_header(&self, offset_bytes: u64, block: &[u8]) -> Result<(), LogError> {
        self.device.write_at(offset_bytes, block).map_err(self.failed("write the header"))
    }

    /// How many of `length` bytes from `position` on lie before the ring's end.
    fn before_wrap(&self, position: u64, length: usize) -> usize {
        let left = self.bytes - position % self.bytes;
        length.min(usize::try_from(left).unwrap_or(usize::MAX))
    }

    fn failed(&self, action: &'static str) -> impl Fn(io::Error) -> LogError + '_ {
        move |source| LogError::Device { path: self.path(), action, source: Arc::new(source) }
    }
}
