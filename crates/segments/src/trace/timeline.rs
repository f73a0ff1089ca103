use std::time::Duration;

use super::Tally;

/// The maximum number of intervals of a timeline; beyond it, the length of intervals doubles.
const MAX_INTERVALS: usize = 256;

/// Tallies of consecutive intervals of equal length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeline {
    interval: Duration,
    tallies: Vec<Tally>,
}

impl Timeline {
    /// No packets; `interval`, above 0, is the initial length of intervals.
    pub(super) fn new(interval: Duration) -> Timeline {
        Timeline { interval, tallies: Vec::new() }
    }

    /// The length of one interval.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// The intervals, from the time of the capture's first packet to the last data packet.
    pub fn tallies(&self) -> &[Tally] {
        &self.tallies
    }

    /// Adds a packet at a time since the capture's first packet.
    pub(super) fn add(&mut self, at: Duration, bytes: usize, mss: usize) {
        while at.as_nanos() / self.interval.as_nanos() >= MAX_INTERVALS as u128 {
            self.double();
        }
        let index = (at.as_nanos() / self.interval.as_nanos()) as usize;
        if self.tallies.len() <= index {
            self.tallies.resize(index + 1, Tally::default());
        }
        self.tallies[index].add(bytes, mss);
    }

    fn double(&mut self) {
        self.interval = self.interval.saturating_mul(2);
        let merged = self.tallies.chunks(2).map(|pair| {
            pair.iter().fold(Tally::default(), |mut sum, tally| {
                sum += *tally;
                sum
            })
        });
        self.tallies = merged.collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_get_longer_and_keep_their_packets() {
        let mut timeline = Timeline::new(Duration::from_millis(1));
        for ms in 0..1000 {
            timeline.add(Duration::from_millis(ms), 1448, 1448);
        }
        assert_eq!(timeline.interval(), Duration::from_millis(4));
        assert_eq!(timeline.tallies().len(), 250);
        assert!(timeline.tallies().iter().all(|tally| tally.single == 4));
        timeline.add(Duration::MAX, 1, 1448);
        assert!(timeline.tallies().len() <= MAX_INTERVALS);
        assert_eq!(timeline.tallies().iter().map(Tally::packets).sum::<u64>(), 1001);
    }
}
