//! Where to resume the copy of a file that ended early.
//!
//! A copy that was stopped in order leaves its file shorter than the original, with the original's time of
//! modification; then all its bytes are on stable storage. That time identifies the original, so only the end is
//! compared. A copy that ended otherwise may have gaps. It is compared from the start, which changes nothing on the
//! server, and resumes at the first difference.

use std::ops::Range;
use std::sync::Arc;

use vfs::{Attributes, FileKind, SetAttributes, SetTime, Timestamp};

use super::content::{Content, first_difference};
use super::error::CopyError;
use super::job::Job;
use super::options::Event;

/// How much of the end of a file that was stopped in order is compared, in bytes.
const TAIL_BYTES: u64 = 1 << 20;
/// Copies resume at a multiple of this, so that writes fit the server's pages.
const ALIGN_BYTES: u64 = 64 << 10;

/// Whether a copy is whole: it has its original's length, and its time of modification as far as the target's version
/// of NFS can represent it.
pub(super) fn is_whole(copy: &Attributes, original: &Attributes) -> bool {
    copy.kind == FileKind::Regular && copy.size_bytes == original.size_bytes && has_time_of(copy, original)
}

fn has_time_of(copy: &Attributes, original: &Attributes) -> bool {
    has_time(copy.modified, original.modified)
}

/// Whether a copy's time of modification is its original's, as far as the target's version of NFS can represent it.
pub fn has_time(copy: Timestamp, original: Timestamp) -> bool {
    let in_microseconds = original.nanoseconds / 1000 * 1000;
    copy.seconds == original.seconds && [original.nanoseconds, in_microseconds].contains(&copy.nanoseconds)
}

/// A file whose bytes can be read, with its attributes.
#[derive(Clone, Copy)]
pub(super) struct Readable<'f> {
    pub(super) content: &'f Content,
    pub(super) attributes: &'f Attributes,
}

/// A file and its incomplete copy.
pub(super) struct Pair<'p> {
    pub(super) original: Readable<'p>,
    pub(super) copy: Readable<'p>,
}

impl Pair<'_> {
    /// The place of the first byte within a range that differs.
    async fn first_difference(&self, job: &Arc<Job>, path: &[u8], range: Range<u64>) -> Result<Option<u64>, CopyError> {
        first_difference(job, path, self.original.content, self.copy.content, range).await
    }
}

/// How many bytes at the start of the copy are already the original's.
pub(super) async fn good_bytes(job: &Arc<Job>, path: &[u8], pair: Pair<'_>) -> Result<u64, CopyError> {
    let (original, copy) = (pair.original.attributes, pair.copy.attributes);
    let overlap = original.size_bytes.min(copy.size_bytes);
    let good = if copy.size_bytes < original.size_bytes
        && has_time_of(copy, original)
        && pair.first_difference(job, path, overlap.saturating_sub(TAIL_BYTES)..overlap).await?.is_none()
    {
        overlap
    } else if original.used_bytes < original.size_bytes {
        // Reading holes takes longer than leaving them out once more.
        0
    } else {
        pair.first_difference(job, path, 0..overlap).await?.unwrap_or(overlap)
    };
    let good = good - good % ALIGN_BYTES;
    job.resumed(good);
    Ok(good)
}

/// The attributes to set on a copy of which the first `good` bytes are on stable storage. `None` if there is nothing to
/// resume.
pub(super) fn checkpoint(original: &Attributes, good: u64) -> Option<SetAttributes> {
    // A file with the original's length and time would be taken for a whole copy.
    let good = good.min(original.size_bytes.saturating_sub(1));
    (good > 0).then_some(SetAttributes {
        size_bytes: Some(good),
        accessed: Some(SetTime::To(original.accessed)),
        modified: Some(SetTime::To(original.modified)),
        ..SetAttributes::default()
    })
}

impl Job {
    fn resumed(&self, bytes: u64) {
        self.count().resumed_bytes += bytes;
        if bytes > 0 {
            self.tell(Event::Kept(bytes));
        }
    }
}
