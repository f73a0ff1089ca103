use proto::nfs4::ChannelAttrs;
use proto::nfs4::{CbSequenceArgs, CbSequenceOk, SessionId, SlotId, Status};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// The limits of the back channel: room for a CB_SEQUENCE and an operation with a handle.
pub(super) const BACK_CHANNEL: ChannelAttrs = ChannelAttrs {
    header_pad_size: 0,
    max_request_size: 4096,
    max_response_size: 4096,
    max_response_size_cached: 4096,
    max_operations: 8,
    max_requests: BackSlots::COUNT,
    rdma_ird: None,
};

/// The state that all callbacks of a client share.
#[derive(Debug, Default)]
pub(super) struct Callbacks {
    slots: Mutex<BackSlots>,
    /// Wakes waiters for a lock when the server reports that one may be free.
    pub(super) lock_freed: Notify,
}

impl Callbacks {
    pub(super) fn slots(&self) -> MutexGuard<'_, BackSlots> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The slots of a session's back channel. Each keeps its last reply and replays it when the callback is retransmitted
/// (RFC 8881 §2.10.6.1).
#[derive(Debug, Default)]
pub(super) struct BackSlots {
    session: SessionId,
    slots: Vec<BackSlot>,
}

#[derive(Debug, Default, Clone)]
struct BackSlot {
    /// The sequence id of the last callback; 0 before the first.
    sequence: u32,
    /// The results of the last callback, without the RPC header.
    results: Vec<u8>,
}

/// Whether a CB_SEQUENCE begins a new callback or repeats one.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Sequenced {
    New(CbSequenceOk),
    /// A retransmission, with the results to replay.
    Again(Vec<u8>),
}

impl BackSlots {
    /// The number of slots offered to the server.
    pub(super) const COUNT: u32 = 8;

    /// Checks a callback's slot and sequence id in `current`, the session in use now.
    pub(super) fn place(&mut self, args: &CbSequenceArgs, current: SessionId) -> Result<Sequenced, Status> {
        if args.session != current {
            return Err(Status::BadSession);
        }
        if self.session != current {
            *self = BackSlots { session: current, slots: vec![BackSlot::default(); Self::COUNT as usize] };
        }
        let slot = self.slots.get(args.slot.0 as usize).ok_or(Status::BadSlot)?;
        if args.sequence == slot.sequence && slot.sequence != 0 {
            return Ok(Sequenced::Again(slot.results.clone()));
        }
        if args.sequence != slot.sequence.wrapping_add(1) {
            return Err(Status::SeqMisordered);
        }
        let highest = SlotId(Self::COUNT - 1);
        Ok(Sequenced::New(CbSequenceOk {
            session: current,
            sequence: args.sequence,
            slot: args.slot,
            highest_slot: highest,
            target_highest_slot: highest,
        }))
    }

    /// Keeps the results of a new callback for a retransmission.
    pub(super) fn keep(&mut self, args: &CbSequenceArgs, results: &[u8]) {
        if let Some(slot) = self.slots.get_mut(args.slot.0 as usize) {
            *slot = BackSlot { sequence: args.sequence, results: results.to_vec() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: SessionId = SessionId([7; 16]);

    fn args(slot: u32, sequence: u32) -> CbSequenceArgs {
        let slot = SlotId(slot);
        CbSequenceArgs {
            session: SESSION,
            sequence,
            slot,
            highest_slot: slot,
            cache_this: true,
            referring_calls: vec![],
        }
    }

    #[test]
    fn callback_that_comes_again_gets_the_same_results_and_is_not_carried_out() {
        let mut slots = BackSlots::default();
        assert!(matches!(slots.place(&args(2, 1), SESSION), Ok(Sequenced::New(_))));
        slots.keep(&args(2, 1), b"results");
        assert_eq!(slots.place(&args(2, 1), SESSION), Ok(Sequenced::Again(b"results".to_vec())));
        assert!(matches!(slots.place(&args(2, 2), SESSION), Ok(Sequenced::New(_))));
    }

    #[test]
    fn callback_out_of_order_or_of_another_session_is_refused() {
        let mut slots = BackSlots::default();
        assert_eq!(slots.place(&args(0, 2), SESSION), Err(Status::SeqMisordered));
        assert_eq!(slots.place(&args(0, 0), SESSION), Err(Status::SeqMisordered));
        assert_eq!(slots.place(&args(BackSlots::COUNT, 1), SESSION), Err(Status::BadSlot));
        assert_eq!(slots.place(&args(0, 1), SessionId([8; 16])), Err(Status::BadSession));
    }
}
