//! The calls of a connection that a blocking thread answers.

use std::collections::VecDeque;
use std::time::Instant;

use buffer::Buffer;

use crate::spare::SpareBuffers;
use crate::{Lane, Limits};

/// How many messages are answered together at most.
pub(crate) const MAX_RUN: usize = 64;

/// How much memory a call that a blocking thread was given counts for besides its message: that of a small reply.
const GIVEN_BYTES: usize = 16 << 10;

/// The calls of a connection that have to wait: those that no blocking thread was given yet, and how many were.
#[derive(Default)]
pub(crate) struct CallsInFlight {
    waiting: VecDeque<WaitingCall>,
    given: usize,
    /// How many of them were given, by lane; none that has none.
    given_by_lane: Vec<(Lane, usize)>,
    bytes: usize,
    /// How much memory their messages take.
    memory: usize,
}

/// Calls that one blocking thread is given, each of which continues the one before; never none.
pub(crate) struct WaitingCalls {
    pub(crate) messages: Vec<Buffer>,
    pub(crate) lane: Lane,
    /// When the oldest was received.
    pub(crate) received: Instant,
}

/// A call that no blocking thread was given yet.
struct WaitingCall {
    message: Buffer,
    lane: Lane,
    received: Instant,
}

impl CallsInFlight {
    /// Whether one more may be added.
    pub(crate) fn have_room(&self, limits: &Limits) -> bool {
        self.waiting.len() + self.given < limits.max_in_flight && self.bytes < limits.max_in_flight_bytes
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.given == 0
    }

    /// Whether some were given to no blocking thread yet.
    pub(crate) fn are_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// How much memory they take.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.memory + self.given * GIVEN_BYTES
    }

    /// How many were given to blocking threads and are not back.
    pub(crate) fn given(&self) -> usize {
        self.given
    }

    /// Adds a copy of `message`, which waits for `lane`.
    pub(crate) fn add(&mut self, message: &[u8], lane: Lane, received: Instant, spare: &mut SpareBuffers) {
        let mut copy = spare.take(message.len());
        copy.put(message);
        self.bytes += message.len();
        self.memory += copy.capacity();
        self.waiting.push_back(WaitingCall { message: copy, lane, received });
    }

    /// Takes the oldest, and those behind it that `continues` says so of, to give them to a blocking thread: of a lane
    /// of which fewer than `max_given` threads have some already.
    pub(crate) fn give(&mut self, max_given: usize, continues: impl Fn(&[u8], &[u8]) -> bool) -> Option<WaitingCalls> {
        let place = self.waiting.iter().position(|call| self.given_of(call.lane) < max_given)?;
        let WaitingCall { message, lane, received } = self.waiting.remove(place)?;
        let mut messages = vec![message];
        while let Some(next) = self.waiting.get(place)
            && next.lane == lane
            && messages.len() < MAX_RUN
            && messages.last().is_some_and(|last| continues(last.as_slice(), next.message.as_slice()))
        {
            messages.extend(self.waiting.remove(place).map(|call| call.message));
        }
        self.given += 1;
        match self.given_by_lane.iter_mut().find(|(other, _)| *other == lane) {
            Some((_, given)) => *given += 1,
            None => self.given_by_lane.push((lane, 1)),
        }
        Some(WaitingCalls { messages, lane, received })
    }

    fn given_of(&self, lane: Lane) -> usize {
        self.given_by_lane.iter().find(|(other, _)| *other == lane).map_or(0, |(_, given)| *given)
    }

    /// Takes note that calls of `lane` that one thread was given have come back.
    pub(crate) fn came_back(&mut self, messages: &[Buffer], lane: Lane) {
        self.given -= 1;
        self.bytes -= messages.iter().map(Buffer::len).sum::<usize>();
        self.memory -= messages.iter().map(Buffer::capacity).sum::<usize>();
        if let Some((_, given)) = self.given_by_lane.iter_mut().find(|(other, _)| *other == lane) {
            *given -= 1;
        }
        self.given_by_lane.retain(|(_, given)| *given > 0);
    }

    /// Forgets those that no blocking thread was given.
    pub(crate) fn forget_waiting(&mut self) {
        while let Some(call) = self.waiting.pop_front() {
            self.bytes -= call.message.len();
            self.memory -= call.message.capacity();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_calls_that_continue_one_another_are_given_together() {
        let mut spare = SpareBuffers::default();
        let mut calls = CallsInFlight::default();
        for message in [b"a1", b"a2", b"b1", b"b2"] {
            calls.add(message, Lane(1), Instant::now(), &mut spare);
        }
        let same_letter = |one: &[u8], other: &[u8]| one[0] == other[0];
        let WaitingCalls { messages, .. } = calls.give(2, same_letter).unwrap();
        assert_eq!(messages.iter().map(Buffer::as_slice).collect::<Vec<_>>(), [b"a1", b"a2"]);
        assert_eq!((calls.given(), calls.waiting.len()), (1, 2));
        calls.came_back(&messages, Lane(1));
        assert_eq!((calls.given(), calls.bytes), (0, 4));
    }

    #[test]
    fn calls_have_room_until_their_number_or_their_bytes_reach_the_limit() {
        let mut spare = SpareBuffers::default();
        let limits = Limits { max_in_flight: 2, max_in_flight_bytes: 100, ..Limits::default() };
        let mut calls = CallsInFlight::default();
        calls.add(&[0; 10], Lane(1), Instant::now(), &mut spare);
        assert!(calls.have_room(&limits));
        calls.add(&[0; 10], Lane(1), Instant::now(), &mut spare);
        assert!(!calls.have_room(&limits));
        let never = |_: &[u8], _: &[u8]| false;
        let given = calls.give(1, never).unwrap();
        assert!(calls.give(1, never).is_none());
        calls.came_back(&given.messages, Lane(1));
        assert!(calls.have_room(&limits));
        calls.forget_waiting();
        assert_eq!((calls.is_empty(), calls.memory_bytes()), (true, 0));
        calls.add(&[0; 100], Lane(1), Instant::now(), &mut spare);
        assert!(!calls.have_room(&limits));
    }

    #[test]
    fn calls_of_one_lane_do_not_hold_up_those_of_another() {
        let mut spare = SpareBuffers::default();
        let mut calls = CallsInFlight::default();
        for (body, lane) in [(b"s1", 1), (b"f1", 2), (b"s2", 1)] {
            calls.add(body, Lane(lane), Instant::now(), &mut spare);
        }
        let always = |_: &[u8], _: &[u8]| true;
        let (slow, fast) = (calls.give(1, always).unwrap().messages, calls.give(1, always).unwrap().messages);
        assert_eq!([slow[0].as_slice(), fast[0].as_slice()], [b"s1", b"f1"]);
        assert!(calls.give(1, always).is_none());
        calls.came_back(&slow, Lane(1));
        assert!(calls.give(1, always).is_some_and(|given| given.messages[0].as_slice() == b"s2"));
    }
}
