//! A device in memory, for experiments and tests.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Device, PAGE_BYTES};

/// A device that is lost with the process.
pub struct MemoryDevice {
    bytes: Mutex<Vec<u8>>,
}

impl MemoryDevice {
    /// Creates a device of `size_bytes` zeros.
    pub fn new(size_bytes: usize) -> MemoryDevice {
        MemoryDevice { bytes: Mutex::new(vec![0; size_bytes]) }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Device for MemoryDevice {
    fn path(&self) -> &Path {
        Path::new("memory")
    }

    fn size_bytes(&self) -> u64 {
        self.lock().len() as u64
    }

    fn block_bytes(&self) -> usize {
        PAGE_BYTES
    }

    fn read_at(&self, offset_bytes: u64, into: &mut [u8]) -> io::Result<()> {
        let bytes = self.lock();
        let from = bytes.get(offset_bytes as usize..).and_then(|rest| rest.get(..into.len()));
        into.copy_from_slice(from.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_at(&self, offset_bytes: u64, from: &[u8]) -> io::Result<()> {
        let mut bytes = self.lock();
        let into = bytes.get_mut(offset_bytes as usize..).and_then(|rest| rest.get_mut(..from.len()));
        into.ok_or(io::ErrorKind::WriteZero)?.copy_from_slice(from);
        Ok(())
    }
}

impl fmt::Debug for MemoryDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryDevice").field("size_bytes", &self.size_bytes()).finish()
    }
}
