//! Files for experiments to read.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// How much of a file is written at once.
const CHUNK_BYTES: usize = 1 << 20;

/// Bytes that are not all alike, for a part of a file.
pub(crate) fn chunk() -> Vec<u8> {
    (0..CHUNK_BYTES).map(|index| (index ^ (index >> 8)) as u8).collect()
}

/// Makes a file of `bytes` bytes that are not all alike.
pub(crate) fn make(path: &Path, bytes: u64) -> io::Result<File> {
    let mut file = File::create(path)?;
    let chunk = chunk();
    let mut left = bytes;
    while left > 0 {
        let part = chunk.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        file.write_all(&chunk[..part])?;
        left -= part as u64;
    }
    Ok(file)
}
