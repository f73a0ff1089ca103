//! Which call a blocking thread takes next.
//!
//! Calls are told apart by what they wait for, their [`Lane`]: calls to a slow file system must not keep the threads
//! from those to others. Lanes take turns, and within a lane so do the callers. The last threads are kept for lanes
//! that have none: however long the calls of one lane take, the first call of another finds a thread at once.
//!
//! Nothing here knows threads or the clock.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use crate::Lane;

/// The calls that no thread has taken yet, and how many of each lane threads are busy with.
#[derive(Debug)]
pub(crate) struct Lanes<C, J> {
    lanes: HashMap<Lane, LaneQueue<C, J>>,
    /// Lanes with calls that wait, each once; the first one is next.
    ring: VecDeque<Lane>,
    queued: usize,
    running: usize,
    threads: usize,
    spare: usize,
}

#[derive(Debug)]
struct LaneQueue<C, J> {
    running: usize,
    /// Callers with calls that wait, each once; the first one is next.
    ring: VecDeque<C>,
    calls: HashMap<C, VecDeque<J>>,
}

impl<C: Copy + Eq + Hash, J> Lanes<C, J> {
    /// No calls, for `threads` threads, of which the last `spare` are kept for lanes that have none.
    pub(crate) fn new(threads: usize, spare: usize) -> Lanes<C, J> {
        Lanes { lanes: HashMap::new(), ring: VecDeque::new(), queued: 0, running: 0, threads, spare }
    }

    /// How many calls no thread has taken yet.
    pub(crate) fn len(&self) -> usize {
        self.queued
    }

    /// Forgets the calls that no thread has taken yet.
    pub(crate) fn clear(&mut self) {
        self.ring.clear();
        self.lanes.retain(|_, waiting| {
            waiting.ring.clear();
            waiting.calls.clear();
            waiting.running > 0
        });
        self.queued = 0;
    }

    /// Adds a call.
    pub(crate) fn push(&mut self, lane: Lane, caller: C, call: J) {
        let waiting = self.lanes.entry(lane).or_insert_with(LaneQueue::new);
        if waiting.ring.is_empty() {
            self.ring.push_back(lane);
        }
        waiting.push(caller, call);
        self.queued += 1;
    }

    /// Whether a thread that is free may take a call.
    pub(crate) fn has_next(&self) -> bool {
        self.ring.iter().any(|lane| self.may_run(*lane))
    }

    /// Takes the next call that a free thread may work on, which counts as running until [`Lanes::done`].
    pub(crate) fn take(&mut self) -> Option<(Lane, J)> {
        let place = self.ring.iter().position(|lane| self.may_run(*lane))?;
        let lane = self.ring.remove(place)?;
        let waiting = self.lanes.get_mut(&lane)?;
        let call = waiting.pop()?;
        waiting.running += 1;
        if !waiting.ring.is_empty() {
            self.ring.push_back(lane);
        }
        self.running += 1;
        self.queued -= 1;
        Some((lane, call))
    }

    /// Takes note that a thread has finished a call of `lane`.
    pub(crate) fn done(&mut self, lane: Lane) {
        self.running -= 1;
        let Some(waiting) = self.lanes.get_mut(&lane) else { return };
        waiting.running -= 1;
        if waiting.running == 0 && waiting.ring.is_empty() {
            self.lanes.remove(&lane);
        }
    }

    fn may_run(&self, lane: Lane) -> bool {
        let free = self.threads.saturating_sub(self.running);
        let is_first = self.lanes.get(&lane).is_none_or(|waiting| waiting.running == 0);
        free > if is_first { 0 } else { self.spare }
    }
}

impl<C: Copy + Eq + Hash, J> LaneQueue<C, J> {
    fn new() -> LaneQueue<C, J> {
        LaneQueue { running: 0, ring: VecDeque::new(), calls: HashMap::new() }
    }

    fn push(&mut self, caller: C, call: J) {
        let calls = self.calls.entry(caller).or_default();
        if calls.is_empty() {
            self.ring.push_back(caller);
        }
        calls.push_back(call);
    }

    fn pop(&mut self) -> Option<J> {
        let caller = self.ring.pop_front()?;
        let calls = self.calls.get_mut(&caller)?;
        let call = calls.pop_front();
        if calls.is_empty() {
            self.calls.remove(&caller);
        } else {
            self.ring.push_back(caller);
        }
        call
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW: Lane = Lane(1);
    const FAST: Lane = Lane(2);

    #[test]
    fn lane_that_fills_the_threads_leaves_the_spare_ones_to_others() {
        let mut lanes = Lanes::new(8, 2);
        for number in 0..100 {
            lanes.push(SLOW, 'a', number);
        }
        let taken = std::iter::from_fn(|| lanes.take()).count();
        assert_eq!((taken, lanes.has_next(), lanes.len()), (6, false, 94));
        lanes.push(FAST, 'b', 100);
        lanes.push(FAST, 'b', 101);
        assert_eq!(lanes.take(), Some((FAST, 100)));
        assert_eq!(lanes.take(), None, "a second call of a lane takes no spare thread");
        lanes.done(FAST);
        assert_eq!(lanes.take(), Some((FAST, 101)));
    }

    #[test]
    fn lanes_take_turns_and_so_do_callers_within_a_lane() {
        let mut lanes = Lanes::new(8, 0);
        for call in ["slow a1", "slow a2", "slow a3"] {
            lanes.push(SLOW, 'a', call);
        }
        lanes.push(SLOW, 'b', "slow b1");
        lanes.push(FAST, 'a', "fast a1");
        let order: Vec<&str> = std::iter::from_fn(|| lanes.take()).map(|(_, call)| call).collect();
        assert_eq!(order, ["slow a1", "fast a1", "slow b1", "slow a2", "slow a3"]);
    }

    #[test]
    fn lane_without_calls_is_forgotten_and_a_finished_one_makes_room() {
        let mut lanes = Lanes::new(2, 1);
        lanes.push(SLOW, 'a', 1);
        lanes.push(SLOW, 'a', 2);
        assert!(lanes.take().is_some() && !lanes.has_next());
        lanes.done(SLOW);
        assert_eq!(lanes.take(), Some((SLOW, 2)));
        lanes.done(SLOW);
        assert!(lanes.lanes.is_empty() && lanes.ring.is_empty());
    }

    #[test]
    fn forgotten_calls_leave_those_that_run_counted() {
        let mut lanes = Lanes::new(4, 0);
        lanes.push(SLOW, 'a', 1);
        lanes.push(SLOW, 'a', 2);
        lanes.take();
        lanes.clear();
        assert_eq!((lanes.len(), lanes.take()), (0, None));
        lanes.done(SLOW);
        assert!(lanes.lanes.is_empty());
    }
}
