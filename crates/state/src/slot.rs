//! One slot of a fore channel: executes each request once (RFC 8881 §2.10.6.1).

use crate::StateError;

/// One slot: the last sequence number and its reply.
#[derive(Debug, Default)]
pub(crate) struct SessionSlot {
    sequence: u32,
    busy: bool,
    digest: u64,
    cached: bool,
    reply: Vec<u8>,
}

/// The kind of a request on a slot.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Arrival<'a> {
    New,
    Retry(&'a [u8]),
}

impl SessionSlot {
    /// Begins a request. End a new one by [`SessionSlot::finish`] or [`SessionSlot::abandon`].
    pub(crate) fn arrive(&mut self, sequence: u32, digest: u64) -> Result<Arrival<'_>, StateError> {
        if sequence == self.sequence.wrapping_add(1) && !self.busy {
            self.sequence = sequence;
            self.digest = digest;
            self.busy = true;
            self.cached = false;
            return Ok(Arrival::New);
        }
        // An unused slot has nothing to replay: its first sequence number is 1.
        let used = self.busy || self.cached || self.digest != 0 || self.sequence != 0;
        match sequence == self.sequence && used {
            true => self.retry(digest),
            false => Err(StateError::SeqMisordered),
        }
    }

    fn retry(&self, digest: u64) -> Result<Arrival<'_>, StateError> {
        match self {
            _ if digest != self.digest => Err(StateError::SeqFalseRetry),
            SessionSlot { busy: true, .. } => Err(StateError::Delay),
            SessionSlot { cached: false, .. } => Err(StateError::RetryUncachedRep),
            SessionSlot { reply, .. } => Ok(Arrival::Retry(reply)),
        }
    }

    /// Ends a request, and caches its reply if there is one.
    pub(crate) fn finish(&mut self, reply: Option<&[u8]>) {
        self.busy = false;
        self.reply.clear();
        self.cached = reply.is_some();
        self.reply.extend_from_slice(reply.unwrap_or_default());
    }

    /// Reverts a request, as if it had not arrived.
    pub(crate) fn abandon(&mut self) {
        self.sequence = self.sequence.wrapping_sub(1);
        self.digest = 0;
        self.busy = false;
        self.cached = false;
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.busy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(reply: Option<&[u8]>) -> SessionSlot {
        let mut slot = SessionSlot::default();
        assert_eq!(slot.arrive(1, 42), Ok(Arrival::New));
        slot.finish(reply);
        slot
    }

    #[test]
    fn repeated_request_gets_the_cached_reply() {
        let mut slot = served(Some(b"reply"));
        assert_eq!(slot.arrive(1, 42), Ok(Arrival::Retry(b"reply")));
        assert_eq!(slot.arrive(2, 43), Ok(Arrival::New));
    }

    #[test]
    fn repeated_request_without_a_cached_reply_says_so() {
        assert_eq!(served(None).arrive(1, 42), Err(StateError::RetryUncachedRep));
    }

    #[test]
    fn other_request_under_the_same_number_is_a_false_retry() {
        assert_eq!(served(Some(b"reply")).arrive(1, 7), Err(StateError::SeqFalseRetry));
    }

    #[test]
    fn first_request_of_a_slot_is_number_one() {
        assert_eq!(SessionSlot::default().arrive(0, 42), Err(StateError::SeqMisordered));
        assert_eq!(SessionSlot::default().arrive(2, 42), Err(StateError::SeqMisordered));
    }

    #[test]
    fn request_in_progress_is_not_executed_again() {
        let mut slot = SessionSlot::default();
        assert_eq!(slot.arrive(1, 42), Ok(Arrival::New));
        assert_eq!(slot.arrive(1, 42), Err(StateError::Delay));
        assert_eq!(slot.arrive(2, 43), Err(StateError::SeqMisordered));
    }

    #[test]
    fn numbers_wrap_to_zero() {
        let mut slot = SessionSlot { sequence: u32::MAX, digest: 1, ..SessionSlot::default() };
        assert_eq!(slot.arrive(0, 42), Ok(Arrival::New));
        slot.finish(Some(b"zero"));
        assert_eq!(slot.arrive(0, 42), Ok(Arrival::Retry(b"zero")));
    }

    #[test]
    fn abandoned_request_can_come_again() {
        let mut slot = served(Some(b"one"));
        assert_eq!(slot.arrive(2, 5), Ok(Arrival::New));
        slot.abandon();
        assert_eq!(slot.arrive(2, 6), Ok(Arrival::New));
    }
}
