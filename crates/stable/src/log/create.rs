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
        let log = Log::begin(device, owner)?;
        log.set_owner(owner)?;
        Ok(log)
    }

    /// Opens the log in a device, or prepares one in a device of zeros, which stays as it is until
    /// [`Log::set_owner`].
    ///
    /// # Errors
    /// As of [`Log::create`] and [`Log::open`].
    pub(crate) fn open_or_begin(device: Arc<dyn Device>, owner: &[u8]) -> Result<Log, LogError> {
        match Log::begin(Arc::clone(&device), owner) {
            Err(LogError::NotBlank { .. }) => Log::open(device),
            begun => begun,
        }
    }

    fn begin(device: Arc<dyn Device>, owner: &[u8]) -> Result<Log, LogError> {
        check_owner(owner)?;
        let size_bytes = device.size_bytes();
        let ring = Ring::new(device, size_bytes)?;
        check_blank(&ring, size_bytes)?;
        let id = LogId(random_bytes(&ring)?);
        let owner = owner.to_vec();
        // This header is never written. The next one goes to the first block.
        let header = Header { id, generation: 1, size_bytes, tail: 0, first_position: 0, first_number: 0, owner };
        Ok(Log::new(ring, header, KeptBatches::new(0, 0, 0)))
    }
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
