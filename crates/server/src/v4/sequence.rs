//! SEQUENCE (RFC 8881 §18.46): assigns the request to a session slot, or replays the earlier reply.

use buffer::Output;
use proto::nfs4::{SequenceArgs, SequenceOk, SlotId, Status};
use state::{Sequenced, StateError};
use twox_hash::XxHash3_64;
use xdr::{Decode, Decoder, Encode, Encoder};

use super::compound::Compound;
use super::failure::{Failure, OpResult};
use crate::replay::OldSessionReply;

pub(super) fn run(compound: &mut Compound<'_>, from: &mut Decoder<'_>, output: &mut Output) -> OpResult<()> {
    let args = SequenceArgs::decode(from).map_err(|_| Status::BadXdr)?;
    let digest = digest(compound.cx.request.message, from.rest());
    let ok = sequence(compound, &args, digest)?;
    ok.encode(&mut Encoder::new(&mut output.bytes));
    Ok(())
}

fn sequence(compound: &mut Compound<'_>, args: &SequenceArgs, digest: u64) -> OpResult<SequenceOk> {
    let request = compound.cx.request;
    let wanted = state::SequenceArgs {
        session: state::SessionId(args.session.0),
        slot: args.slot.0,
        sequence: args.sequence,
        highest_slot: args.highest_slot.0,
        cache_this: args.cache_this,
        connection: request.peer.connection,
        digest,
    };
    let sequenced = match compound.cx.server.state.sequence(request.now, &wanted) {
        Err(StateError::BadSession) => return Err(lost(compound, &wanted)),
        sequenced => sequenced?,
    };
    match sequenced {
        Sequenced::Replay(reply) => Err(Failure::Replay(reply)),
        // A session belongs to the minor version that it was created in.
        Sequenced::Execute(turn, _) if turn.session().minor_version() != compound.progress.minor as u32 => {
            Err(Status::BadSession.into())
        }
        Sequenced::Execute(turn, reply) => {
            let fore = *turn.session().fore();
            compound.progress.turn = Some(turn);
            compound.check_request(&fore)?;
            Ok(SequenceOk {
                session: args.session,
                sequence: args.sequence,
                slot: args.slot,
                highest_slot: SlotId(reply.highest_slot),
                target_highest_slot: SlotId(reply.target_highest_slot),
                status_flags: reply.flags.0,
            })
        }
    }
}

/// Answers a request in a session that this process did not create; it may have ended with the previous process (RFC
/// 8881 §2.10.6.5).
fn lost(compound: &Compound<'_>, wanted: &state::SequenceArgs) -> Failure {
    match compound.cx.server.replay.lost(&wanted.request(), compound.cx.request.now) {
        OldSessionReply::Unknown => Status::BadSession.into(),
        OldSessionReply::Answered(reply) => Failure::Replay(reply.into()),
        OldSessionReply::Uncached => Status::RetryUncachedRep.into(),
        OldSessionReply::FalseRetry => Status::SeqFalseRetry.into(),
        OldSessionReply::Dead => Status::DeadSession.into(),
    }
}

impl Compound<'_> {
    /// Fails if the request exceeds the limits of the session's fore channel.
    fn check_request(&self, fore: &state::ChannelAttributes) -> OpResult<()> {
        if self.cx.request.message.len() > fore.max_request_bytes as usize {
            return Err(Status::ReqTooBig.into());
        }
        if self.progress.count > fore.max_operations {
            return Err(Status::TooManyOps.into());
        }
        Ok(())
    }
}

/// Distinguishes requests with equal session, slot and sequence number: a hash of the message, where `behind` follows
/// SEQUENCE. What precedes the credential is excluded, since the XID changes when a request is retransmitted over
/// another connection (RFC 8881 §2.10.6.1.3.1) and the rest is the same in all requests. So are the stamp and the
/// machine name of the credential, which may change too, and the arguments of SEQUENCE: Linux updates the highest slot
/// in use.
fn digest(message: &[u8], behind: &[u8]) -> u64 {
    /// The XID, the kind of message, and the versions and numbers of RPC, program and procedure (RFC 5531 §9).
    const BEFORE_CREDENTIAL_BYTES: usize = 24;
    const ARGUMENTS_BYTES: usize = 32;
    /// More than the longest credential has (RFC 5531 §8.2): no other user may get the reply.
    const MAX_HEAD_BYTES: usize = 512;
    /// Writes are long, and their beginning is distinctive enough.
    const MAX_BEHIND_BYTES: usize = 240;
    let [head, of_caller] = rpc::identifying_parts(message);
    let flavor = head.get(BEFORE_CREDENTIAL_BYTES..).unwrap_or_default();
    let of_caller = &of_caller[..of_caller.len().saturating_sub(behind.len() + ARGUMENTS_BYTES).min(MAX_HEAD_BYTES)];
    let of_flavor = flavor.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    let of_head = XxHash3_64::oneshot_with_seed(of_flavor, of_caller);
    XxHash3_64::oneshot_with_seed(of_head ^ behind.len() as u64, &behind[..behind.len().min(MAX_BEHIND_BYTES)])
}
