//! The lock of a request, in the form of the state manager.

use proto::nlm::{NetObj, Range, Status, Version};
use state::{ByteRange, FileKey, NlmLock};

use super::HostKey;
use super::refusal::Refusal;
use super::waits::{WaitId, Waiter};
use crate::node::CallContext;
use crate::server::Server;

/// The bytes before an owner's handle: the width of its offsets and its process number.
const OWNER_HEAD_BYTES: usize = 1 + 4;

/// The lock of a request.
#[derive(Debug)]
pub(super) struct NlmLockRequest {
    pub(super) host: HostKey,
    pub(super) owner: Vec<u8>,
    file: FileKey,
    pub(super) range: ByteRange,
    exclusive: bool,
}

impl NlmLockRequest {
    /// The lock that `range` describes, in `file`.
    pub(super) fn new<V: Version>(
        cx: &CallContext<'_>,
        range: &Range<'_, V::Offset>,
        file: FileKey,
        exclusive: bool,
    ) -> Result<NlmLockRequest, Refusal> {
        let too_far = |_| Refusal::Status(Status::FBig);
        Ok(NlmLockRequest {
            host: host(cx, range.caller_name)?,
            owner: owner::<V>(range.svid, range.owner),
            file,
            range: ByteRange::nlm(range.offset.into(), range.length.into()).map_err(too_far)?,
            exclusive,
        })
    }

    pub(super) fn lock(&self) -> NlmLock<'_> {
        NlmLock {
            host: self.host.as_bytes(),
            origin: self.host.origin(),
            owner: &self.owner,
            file: self.file,
            range: self.range,
            exclusive: self.exclusive,
        }
    }

    /// Ends the waits of the owner in the range except `kept`; true if there were any.
    pub(super) fn end_waits(&self, server: &Server, kept: Option<WaitId>) -> bool {
        let waiter = Waiter { host: &self.host, owner: &self.owner, file: &self.file };
        server.waits.end_overlapping(waiter, self.range, kept)
    }
}

/// The host of the caller.
pub(super) fn host(cx: &CallContext<'_>, name: &[u8]) -> Result<HostKey, Refusal> {
    HostKey::new(&cx.request.peer, name).ok_or(Refusal::Status(Status::DeniedNoLocks))
}

/// The bytes of an owner: the width of its offsets, its process number, and its handle. Shares belong to no process.
///
/// The width separates NFSv2 mounts (versions 1 and 3) from NFSv3 mounts (version 4). Linux numbers the processes of
/// each separately, so that equal numbers may mean different processes.
pub(super) fn owner<V: Version>(svid: i32, handle: NetObj<'_>) -> Vec<u8> {
    let width = size_of::<V::Offset>() as u8;
    [&[width][..], &svid.to_be_bytes(), handle.0].concat()
}

/// The process number and the handle in an owner's bytes.
pub(super) fn owner_parts(owner: &[u8]) -> (i32, &[u8]) {
    match owner.split_first_chunk::<OWNER_HEAD_BYTES>() {
        Some((&[_, svid @ ..], handle)) => (i32::from_be_bytes(svid), handle),
        None => (0, owner),
    }
}

/// A range in the version's numbers; those too large for versions 1 and 3 become their largest.
pub(super) fn offset_and_length<V: Version>(range: ByteRange) -> (V::Offset, V::Offset) {
    let (first, last) = (range.first(), range.last());
    let length = if last == u64::MAX { 0 } else { last - first + 1 };
    (clamped::<V>(first), clamped::<V>(length))
}

fn clamped<V: Version>(number: u64) -> V::Offset {
    let largest = || V::Offset::try_from(u64::from(u32::MAX)).ok();
    V::Offset::try_from(number).ok().or_else(largest).expect("32 bits fit into every version's numbers")
}
