//! A log device that fails.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use stable::{Device, MemoryDevice};

/// A device that takes no writes while it is broken.
pub struct Breaking {
    inner: MemoryDevice,
    is_broken: AtomicBool,
}

impl Breaking {
    pub fn new(size_bytes: usize) -> Arc<Breaking> {
        Arc::new(Breaking { inner: MemoryDevice::new(size_bytes), is_broken: AtomicBool::new(false) })
    }

    pub fn set_broken(&self, is_broken: bool) {
        self.is_broken.store(is_broken, Ordering::Relaxed);
    }

    pub fn contents(&self) -> Vec<u8> {
        let mut contents = vec![0; self.inner.size_bytes() as usize];
        self.inner.read_at(0, &mut contents).unwrap();
        contents
    }
}

impl Device for Breaking {
    fn path(&self) -> &Path {
        Path::new("breaking")
    }

    fn size_bytes(&self) -> u64 {
        self.inner.size_bytes()
    }

    fn block_bytes(&self) -> usize {
        self.inner.block_bytes()
    }

    fn read_at(&self, offset_bytes: u64, into: &mut [u8]) -> io::Result<()> {
        self.inner.read_at(offset_bytes, into)
    }

    fn write_at(&self, offset_bytes: u64, from: &[u8]) -> io::Result<()> {
        if self.is_broken.load(Ordering::Relaxed) {
            return Err(io::Error::other("the device is broken"));
        }
        self.inner.write_at(offset_bytes, from)
    }
}
