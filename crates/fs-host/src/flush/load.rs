//! Whether callers that come together flush together or apart, by how long both have taken before.
//!
//! A journal such as ext4's carries callers that flush at the same time in one commit anyway. There, standing in line
//! may cost more than it saves. Calls come in epochs of one way each; a call that is alone counts for neither.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::choice::Choice;

/// How many calls an epoch measures.
const EPOCH_CALLS: u32 = 64;

/// How many calls go by before an epoch measures: some of them have met callers of the epoch before.
const SETTLING_CALLS: u32 = 32;

/// An epoch changes its way's average by this part of the difference.
const WEIGHT: f64 = 0.5;

/// How callers flush.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// In a group.
    Together,
    /// Each for itself, at once.
    Apart,
}

/// The callers that flush now, and what was learnt of those before.
#[derive(Default)]
pub(super) struct FlushLoad(Mutex<LoadState>);

/// A caller; its time is over when this is dropped.
pub(super) struct FlushCall<'c> {
    load: &'c FlushLoad,
    start: Instant,
    /// The epoch that it counts for.
    epoch: Option<u64>,
    pub(super) manner: Manner,
}

struct LoadState {
    callers: usize,
    manner: Manner,
    epoch: u64,
    /// Calls of this epoch that were not alone, and those of them that were measured.
    begun: u32,
    measured: u32,
    total: Duration,
    /// What a call took in each manner.
    manners: Choice,
}

impl Default for LoadState {
    fn default() -> LoadState {
        LoadState {
            callers: 0,
            manner: Manner::Together,
            epoch: 0,
            begun: 0,
            measured: 0,
            total: Duration::ZERO,
            manners: Choice::new(WEIGHT),
        }
    }
}

impl FlushLoad {
    /// Begins a call.
    pub(super) fn enter(&self) -> FlushCall<'_> {
        let mut state = self.lock();
        state.callers += 1;
        let is_alone = state.callers == 1;
        state.begun += u32::from(!is_alone);
        let counts = !is_alone && state.begun > SETTLING_CALLS;
        FlushCall {
            load: self,
            start: Instant::now(),
            epoch: counts.then_some(state.epoch),
            manner: if is_alone { Manner::Together } else { state.manner },
        }
    }

    fn lock(&self) -> MutexGuard<'_, LoadState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FlushCall<'_> {
    /// Ends the call without a measurement: the caller tries again.
    pub(super) fn give_up(mut self) {
        self.epoch = None;
    }
}

impl Drop for FlushCall<'_> {
    fn drop(&mut self) {
        let mut state = self.load.lock();
        state.callers -= 1;
        if self.epoch == Some(state.epoch) {
            state.note(self.start.elapsed());
        }
    }
}

impl LoadState {
    fn note(&mut self, took: Duration) {
        self.total += took;
        self.measured += 1;
        if self.measured == EPOCH_CALLS {
            self.end_epoch();
        }
    }

    fn end_epoch(&mut self) {
        self.manners.note(self.manner as usize, self.total / self.measured);
        self.manner = if self.manners.next() == Manner::Apart as usize { Manner::Apart } else { Manner::Together };
        self.epoch += 1;
        (self.begun, self.measured, self.total) = (0, 0, Duration::ZERO);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What 200 epochs choose when calls take so long.
    fn epochs(together_ms: u64, apart_ms: u64) -> Vec<Manner> {
        let mut state = LoadState::default();
        let epoch = |_| {
            let manner = state.manner;
            let took = if manner == Manner::Together { together_ms } else { apart_ms };
            (0..EPOCH_CALLS).for_each(|_| state.note(Duration::from_millis(took)));
            manner
        };
        (0..200).map(epoch).collect()
    }

    #[test]
    fn quicker_manner_is_taken_and_the_other_one_tried_now_and_then() {
        for (together, apart, slower) in [(1, 2, Manner::Apart), (2, 1, Manner::Together)] {
            let chosen = epochs(together, apart);
            let others = chosen.iter().filter(|manner| **manner == slower).count();
            assert!((2..=5).contains(&others), "{slower:?} {others}");
        }
    }

    #[test]
    fn caller_who_is_alone_counts_for_neither_manner() {
        let load = FlushLoad::default();
        for _ in 0..10 * (EPOCH_CALLS + SETTLING_CALLS) {
            assert_eq!(load.enter().manner, Manner::Together);
        }
        let state = load.lock();
        assert_eq!((state.epoch, state.measured), (0, 0));
    }

    #[test]
    fn calls_of_an_earlier_epoch_and_those_that_gave_up_are_not_measured() {
        let load = FlushLoad::default();
        let _first = load.enter();
        (0..SETTLING_CALLS).for_each(|_| drop(load.enter()));
        let late = load.enter();
        load.enter().give_up();
        assert_eq!(load.lock().measured, 0);
        (0..EPOCH_CALLS).for_each(|_| drop(load.enter()));
        assert_eq!(load.lock().manner, Manner::Apart);
        drop(late);
        let state = load.lock();
        assert_eq!((state.measured, state.callers), (0, 1));
    }
}
