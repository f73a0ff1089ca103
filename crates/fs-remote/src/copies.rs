//! Copies that the server makes from one open file to another.

use client_files::{Copied, File, Result, Status};
use vfs::{CopyRange, Stability};

/// How often a range is copied again because the server lost it before it was stable.
const MAX_RESENDS: u32 = 4;

/// The outcome of a copy.
pub(super) enum CopyResult {
    /// How many bytes of the range were copied; 0 only at the source's end.
    Copied(u64),
    /// The server accepts the range, but copies nothing of it.
    Declined,
    /// The server lost the copied data repeatedly.
    Lost,
}

/// Has the server copy a range, or a part of it.
pub(super) async fn copy(source: &File, to: &File, range: CopyRange) -> Result<CopyResult> {
    for _ in 0..=MAX_RESENDS {
        let Some(copied) = copy_within(source, to, range).await? else { return Ok(CopyResult::Copied(0)) };
        if copied.count == 0 {
            return without_a_byte(source, range).await;
        }
        // A different verifier means that the server restarted in between (RFC 7862 §4.1.2 and RFC 8881 §18.3.3).
        if copied.stability != Stability::Unstable || to.commit(0, 0).await? == copied.verifier {
            return Ok(CopyResult::Copied(copied.count));
        }
    }
    Ok(CopyResult::Lost)
}

/// The outcome when nothing was copied. A server may copy less than requested (RFC 7862 §15.2.3), so that need not be
/// the source's end.
async fn without_a_byte(source: &File, range: CopyRange) -> Result<CopyResult> {
    Ok(match bytes_behind(source, range.from_bytes).await? {
        0 => CopyResult::Copied(0),
        _ => CopyResult::Declined,
    })
}

async fn bytes_behind(source: &File, offset: u64) -> Result<u64> {
    Ok(source.getattr().await?.size_bytes.saturating_sub(offset))
}

/// Copies the part of the range before the source's end. A server must refuse a range beyond it (RFC 7862 §15.2.3);
/// only then the length is fetched.
async fn copy_within(source: &File, to: &File, range: CopyRange) -> Result<Option<Copied>> {
    let copied = to.copy_from(source, range.from_bytes, range.to_bytes, range.length_bytes).await;
    let Err(refused) = copied else { return copied.map(Some) };
    if refused.status() != Some(Status::Invalid) {
        return Err(refused);
    }
    match bytes_behind(source, range.from_bytes).await? {
        0 => Ok(None),
        available if available >= range.length_bytes => Err(refused),
        available => to.copy_from(source, range.from_bytes, range.to_bytes, available).await.map(Some),
    }
}
