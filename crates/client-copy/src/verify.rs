//! Reads a copy back and compares it with its original, byte by byte.

use std::sync::Arc;

use super::content::{Content, first_difference};
use super::error::CopyError;
use super::job::Job;

/// Compares a copy with its original, which has `size` bytes.
pub(super) async fn compare(
    job: &Arc<Job>,
    path: &[u8],
    original: &Content,
    copy: &Content,
    size: u64,
) -> Result<(), CopyError> {
    // One byte more than the size shows that both files end where they should.
    match first_difference(job, path, original, copy, 0..size.saturating_add(1)).await? {
        Some(offset) => Err(CopyError::Differs { path: path.to_vec(), offset }),
        None => Ok(()),
    }
}
