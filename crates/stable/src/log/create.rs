use std::io;
use std::sync::Arc;

use super::header::Header;
use super::kept::KeptBatches;
use super::ring::{BLOCK_BYTES, Ring};
use super::{Log, LogError, LogId, MAX_OWNER_BYTES};
use crate::device::{AlignedBuffer, Device};

/// How much of a device is checked for other data before a log is created: the first blocks of every file system are in
/// it.
const LOOKED_AT_BYTES: u64 = 128 << 10;

impl Log {
    /// Creates a log in a device of zeros. `owner` describes its user.
    ///
    /// # Errors
    /// When the device has other data, is too small or fails, or `owner` is longer than [`MAX_OWNER_BYTES`].
    pub fn create(device: Arc<dyn Device>, owner: &[u8]) -> Result<Log, LogError> {
        check_owner(owner)?;
        let size_bytes = device.size_bytes();
        let ring = blank_ring(device)?;
        let id = LogId(random_bytes(&ring)?);
        let owner = owner.to_vec();
        let mut header = Header { id, generation: 0, size_bytes, tail: 0, first_position: 0, first_number: 0, owner };
        ring.write_header(header.offset_bytes(), &header.block())?;
        header.generation = 1;
        ring.write_header(header.offset_bytes(), &header.block())?;
        Ok(Log::new(ring, header, KeptBatches::new(0, 0, 0)))
    }

    /// Opens the log in a device; `None` if [`Log::create`] would create one.
    ///
    /// # Errors
    /// As of [`Log::create`] and [`Log::open`].
    pub(crate) fn open_unless_blank(device: Arc<dyn Device>) -> Result<Option<Log>, LogError> {
        match blank_ring(Arc::clone(&device)) {
            Ok(_) => Ok(None),
            Err(LogError::NotBlank { .. }) => Log::open(device).map(Some),
            Err(error) => Err(error),
        }
    }
}

/// Refuses a device in which no log can be created.
fn blank_ring(device: Arc<dyn Device>) -> Result<Ring, LogError> {
    let size_bytes = device.size_bytes();
    let ring = Ring::new(device, size_bytes)?;
    check_blank(&ring, size_bytes)?;
    Ok(ring)
}

pub(crate) fn check_owner(owner: &[u8]) -> Result<(), LogError> {
    if owner.len() > MAX_OWNER_BYTES { Err(LogError::OwnerTooLarge { bytes: owner.len() }) } else { Ok(()) }
}

fn check_blank(ring: &Ring, size_bytes: u64) -> Result<(), LogError> {
    let mut start = AlignedBuffer::new(size_bytes.min(LOOKED_AT_BYTES) as usize / BLOCK_BYTES * BLOCK_BYTES);
    ring.read_start(&mut start)?;
    if start.iter().all(|&byte| byte == 0) { Ok(()) } else { Err(LogError::NotBlank { path: ring.path() }) }
}

fn random_bytes(ring: &Ring) -> Result<[u8; 16], LogError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        let source = Arc::new(io::Error::other(error.to_string()));
        LogError::Device { path: ring.path(), action: "draw random bytes for it", source }
    })?;
    Ok(bytes)
}
