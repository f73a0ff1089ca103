use proto::nfs4::{CbSequenceArgs, CbSequenceOk, SessionId, SlotId, Status};

/// The slots of a session's back channel, each with the last reply, so that a callback that comes again is answered again
/// (RFC 8881 §2.10.6.1).
#[derive(Debug, Default)]
pub(super) struct BackSlots {
    session: SessionId,
    slots: Vec<BackSlot>,
}

#[derive(Debug, Default, Clone)]
struct BackSlot {
    /// The sequence id of the last callback; none came yet when it is 0.
    sequence: u32,
    /// The results of the last callback, without the header of RPC.
    results: Vec<u8>,
}

/// What a CB_SEQUENCE means.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A callback that did not come before.
    New(CbSequenceOk),
    /// One that came before, and its results.
    Again(Vec<u8>),
}

impl BackSlots {
    /// How many slots there are.
    pub(super) const COUNT: u32 = 8;

    /// Finds the place of a callback in `current`, the session that there is now.
    pub(super) fn place(&mut self, args: &CbSequenceArgs, current: SessionId) -> Result<Place, Status> {
        if args.session != current {
            return Err(Status::BadSession);
        }
        if self.session != current {
            *self = BackSlots { session: current, slots: vec![BackSlot::default(); Self::COUNT as usize] };
        }
        let slot = self.slots.get(args.slot.0 as usize).ok_or(Status::BadSlot)?;
        if args.sequence == slot.sequence && slot.sequence != 0 {
            return Ok(Place::Again(slot.results.clone()));
        }
        if args.sequence != slot.sequence.wrapping_add(1) {
            return Err(Status::SeqMisordered);
        }
        let highest = SlotId(Self::COUNT - 1);
        Ok(Place::New(CbSequenceOk {
            session: current,
            sequence: args.sequence,
            slot: args.slot,
            highest_slot: highest,
            target_highest_slot: highest,
        }))
    }

    /// Keeps the results of a callback that was new.
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
        assert!(matches!(slots.place(&args(2, 1), SESSION), Ok(Place::New(_))));
        slots.keep(&args(2, 1), b"results");
        assert_eq!(slots.place(&args(2, 1), SESSION), Ok(Place::Again(b"results".to_vec())));
        assert!(matches!(slots.place(&args(2, 2), SESSION), Ok(Place::New(_))));
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
