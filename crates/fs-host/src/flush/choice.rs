//! Which of two ways is the cheaper one, by what both have taken before.

use std::time::Duration;

/// How many choices take the cheaper way before the other one is tried again.
pub(super) const RETRY: u32 = 64;

/// Moving averages of what two ways took, 0 and 1.
#[derive(Debug)]
pub(super) struct Choice {
    averages: [Option<f64>; 2],
    /// A measurement changes an average by this part of the difference.
    weight: f64,
    /// Choices since both ways were last tried.
    made: u32,
}

impl Choice {
    pub(super) const fn new(weight: f64) -> Choice {
        Choice { averages: [None; 2], weight, made: 0 }
    }

    /// Notes what a way took.
    pub(super) fn note(&mut self, way: usize, took: Duration) {
        let (average, seconds) = (&mut self.averages[way], took.as_secs_f64());
        *average = Some(average.map_or(seconds, |average| average + (seconds - average) * self.weight));
    }

    /// The way to take: the cheaper one where both are known.
    pub(super) fn next(&mut self) -> usize {
        let [Some(first), Some(second)] = self.averages else { return usize::from(self.averages[0].is_some()) };
        let cheaper = usize::from(second < first);
        self.made = (self.made + 1) % RETRY;
        if self.made == 0 { 1 - cheaper } else { cheaper }
    }
}
