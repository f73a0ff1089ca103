//! Copies that the server makes of one open file into another.

use vfs::{CopyRange, Stability};

use crate::{Copied, File, Result, Status};

/// How often a range is copied anew because the server lost it before it was safe.
const MAX_RESENDS: u32 = 4;

/// Lets the server copy a range, or as much of it as it likes, and says how much; nothing is copied where the source has ended. `None`
/// when the server lost the copy again and again.
pub(super) async fn copy(source: &File, to: &File, range: CopyRange) -> Result<Option<u64>> {
    for _ in 0..=MAX_RESENDS {
        let Some(copied) = copy_within(source, to, range).await? else { return Ok(Some(0)) };
        // Another verifier is that of a server that was restarted in between (RFC 7862 §4.1.2 and RFC 8881 §18.3.3).
        if copied.stability != Stability::Unstable || to.commit(0, 0).await? == copied.verifier {
            return Ok(Some(copied.count));
        }
    }
    Ok(None)
}

/// Copies what of the range is before the source's end. A server must refuse a range that reaches beyond it (RFC 7862 §15.2.3), and
/// that end is looked for only then.
async fn copy_within(source: &File, to: &File, range: CopyRange) -> Result<Option<Copied>> {
    let copied = to.copy_from(source, range.from_bytes, range.to_bytes, range.length_bytes).await;
    let Err(refused) = copied else { return copied.map(Some) };
    if refused.status() != Some(Status::Invalid) {
        return Err(refused);
    }
    let available = source.getattr().await?.size_bytes.saturating_sub(range.from_bytes);
    match available {
        0 => Ok(None),
        available if available >= range.length_bytes => Err(refused),
        available => to.copy_from(source, range.from_bytes, range.to_bytes, available).await.map(Some),
    }
}
