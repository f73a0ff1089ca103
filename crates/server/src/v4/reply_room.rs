//! The size of a COMPOUND's reply: an operation that changes something runs only if its result will fit.

use buffer::Output;
use proto::nfs4::{OpNumber, OperationInfo, Status};

use super::compound::Compound;
use super::failure::OpResult;
use crate::transfer;

/// The most bytes of a reply before its next operation is refused, besides the data of one READ. NFSv4.0 has no session
/// that limits replies, so the server does (RFC 7530 §13.1, NFS4ERR_RESOURCE).
const MAX_REPLY_BYTES: usize = 64 << 10;

/// The limit for a client that has used up its share of memory, data included.
const MAX_SCARCE_REPLY_BYTES: usize = 12 << 10;

/// The header of an RPC reply, which counts too (RFC 8881 §18.36.3): XID, type, status, an empty verifier, status.
const RPC_HEADER_BYTES: usize = 24;

/// The longest results of an operation that changes files, with its number and its status: OPEN with a write
/// delegation.
const MAX_CHANGE_BYTES: usize = 160;

/// The results of READ, READ_PLUS and READDIR besides their data or entries.
const DATA_HEAD_BYTES: usize = 24;

impl Compound<'_> {
    /// Fails before an operation if the reply has reached its size limit.
    pub(super) fn check_room(&self, output: &Output) -> OpResult<()> {
        let most = match (self.cx.request.is_scarce, self.progress.minor.has_sessions()) {
            (true, _) => MAX_SCARCE_REPLY_BYTES,
            (false, false) => self.cx.server.settings.max_transfer_bytes as usize + MAX_REPLY_BYTES,
            // The session limits the reply.
            (false, true) => return Ok(()),
        };
        if output.len_since(&self.reply_mark) < most { Ok(()) } else { Err(Status::Resource.into()) }
    }

    /// Fails before an operation that changes something if the reply would become too large with its results, since its
    /// change could not be reported (RFC 8881 §2.10.6.4).
    pub(super) fn check_room_for(&self, info: &OperationInfo, output: &Output) -> OpResult<()> {
        if info.is_change() { self.check_size(self.reply_bytes(output) + change_bytes(info.number)) } else { Ok(()) }
    }

    /// Fails if the reply is too large for the session's channel, or for being cached.
    pub(super) fn check_reply(&self, output: &Output) -> OpResult<()> {
        self.check_size(self.reply_bytes(output))
    }

    /// The most data or entries of the operation that has begun, in bytes: what fits into the reply. RFC 8881 §18.22.3
    /// and §18.23.3 allow less than requested.
    pub(super) fn max_data_bytes(&self, output: &Output) -> OpResult<u32> {
        let most = transfer::max_reply_bytes(self.cx);
        let Some(turn) = &self.progress.turn else { return Ok(most) };
        let reply_bytes = (self.reply_bytes(output) + DATA_HEAD_BYTES) as u32;
        match turn.session().fore().max_response_bytes.saturating_sub(reply_bytes) & !3 {
            0 => Err(Status::RepTooBig.into()),
            room => Ok(most.min(room)),
        }
    }

    /// The size of the reply so far.
    fn reply_bytes(&self, output: &Output) -> usize {
        RPC_HEADER_BYTES + output.len_since(&self.reply_mark)
    }

    fn check_size(&self, reply_bytes: usize) -> OpResult<()> {
        let Some(turn) = &self.progress.turn else { return Ok(()) };
        let fore = turn.session().fore();
        if reply_bytes > fore.max_response_bytes as usize {
            return Err(Status::RepTooBig.into());
        }
        if turn.cache_this() && reply_bytes > fore.max_response_cached_bytes as usize {
            return Err(Status::RepTooBigToCache.into());
        }
        Ok(())
    }
}

/// The most bytes that results of a change take behind their number and status, which the reply has already.
fn change_bytes(number: OpNumber) -> usize {
    use OpNumber as N;
    const STATEID: usize = 16;
    const CHANGE_INFO: usize = 20;
    const BITMAP: usize = 16;
    match number {
        N::Open => MAX_CHANGE_BYTES,
        N::Create => CHANGE_INFO + BITMAP,
        N::Link | N::Remove | N::Setxattr | N::Removexattr => CHANGE_INFO,
        N::Rename => 2 * CHANGE_INFO,
        N::Setattr => BITMAP,
        N::Write => 4 + 4 + 8,
        N::Close | N::Lock | N::Locku | N::OpenDowngrade => STATEID,
        // The stateid of a copy, the count, the stability and the verifier, and two flags.
        N::Copy => 4 + STATEID + 8 + 4 + 8 + 8,
        // The others have short results, or can be sent again.
        _ => 0,
    }
}
