use measure::{Level, Samples};
use segments::Rule;
use segments::trace::Tally;
use segments::user::Outcome;

/// How often a stream is repeated, in netperf's terms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Repeats {
    /// The fewest runs, at least 1.
    pub min: usize,
    /// The most runs.
    pub max: usize,
    /// How sure the intervals are.
    pub level: Level,
    /// How wide they may be, as a share of the mean: 0.1 is 5 % to either side.
    pub width: f64,
}

/// Runs of the same stream.
#[derive(Debug)]
pub struct Series {
    /// The rule.
    pub rule: Rule,
    /// Send and receive buffer in bytes, if they were chosen from the document's pairs.
    pub buffers: Option<(usize, u64)>,
    /// What came of each run.
    pub outcomes: Vec<Outcome>,
}

/// A mean with half of its interval, as a share of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// How far the true one may be off, as a share of the mean; unknown after a single run.
    pub half: Option<f64>,
}

impl Series {
    /// Bits per second, and processor time in µs per KiB at the sender and at the receiver.
    pub const FIGURES: [fn(&Outcome) -> f64; 3] = [
        |outcome| outcome.received_bytes as f64 * 8.0 / outcome.elapsed.as_secs_f64().max(f64::MIN_POSITIVE),
        |outcome| outcome.sender_time.as_secs_f64() * 1e6 / kib(outcome),
        |outcome| outcome.receiver_time.as_secs_f64() * 1e6 / kib(outcome),
    ];

    /// One of the figures over all runs.
    pub fn estimate(&self, figure: fn(&Outcome) -> f64, level: Level) -> Estimate {
        let figures: Vec<f64> = self.outcomes.iter().map(figure).collect();
        let mean = figures.iter().sum::<f64>() / figures.len().max(1) as f64;
        let interval = Samples::new(figures).ok().and_then(|samples| samples.mean_interval(level).ok());
        Estimate { mean, half: interval.map(|interval| (interval.high - interval.low) / 2.0 / mean) }
    }

    /// Whether no further run is needed.
    pub fn is_done(&self, repeats: &Repeats) -> bool {
        let runs = self.outcomes.len();
        runs >= repeats.max || (runs >= repeats.min && self.is_sure(repeats))
    }

    /// Whether every figure is known as well as was asked for.
    pub fn is_sure(&self, repeats: &Repeats) -> bool {
        let halves = Series::FIGURES.map(|figure| self.estimate(figure, repeats.level).half);
        halves.into_iter().all(|half| half.is_some_and(|half| half <= repeats.width / 2.0))
    }

    /// Packets of all runs.
    pub fn tally(&self) -> Tally {
        self.outcomes.iter().fold(Tally::default(), |mut sum, outcome| {
            sum += outcome.tally;
            sum
        })
    }
}

/// What was received, as a divisor.
fn kib(outcome: &Outcome) -> f64 {
    (outcome.received_bytes as f64 / 1024.0).max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const REPEATS: Repeats = Repeats { min: 3, max: 10, level: Level::P95, width: 0.1 };

    /// Runs of a second each that received so many MiB.
    fn series(mebibytes: &[u64]) -> Series {
        let outcome = |mebibytes: &u64| Outcome {
            tally: Tally { single: 1, ..Tally::default() },
            statistics: segments::sender::Statistics::default(),
            mss: 1448,
            elapsed: Duration::from_secs(1),
            received_bytes: mebibytes << 20,
            wrong_bytes: 0,
            sender_time: Duration::from_millis(*mebibytes),
            receiver_time: Duration::from_millis(2 * mebibytes),
        };
        Series { rule: Rule::Today, buffers: None, outcomes: mebibytes.iter().map(outcome).collect() }
    }

    #[test]
    fn figures_are_those_of_netperf() {
        let [speed, sender, receiver] = Series::FIGURES.map(|figure| figure(&series(&[100]).outcomes[0]));
        assert_eq!(speed, 100.0 * 8.0 * 1_048_576.0);
        assert!((sender - 1000.0 / 1024.0).abs() < 1e-9 && (receiver - 2000.0 / 1024.0).abs() < 1e-9);
    }

    #[test]
    fn series_ends_when_it_is_sure_or_long_enough() {
        assert!(!series(&[100, 100]).is_done(&REPEATS));
        assert!(series(&[100, 101, 100]).is_done(&REPEATS));
        assert!(!series(&[100, 150, 50]).is_done(&REPEATS));
        assert!(series(&[100, 150, 50, 100, 150, 50, 100, 150, 50, 1]).is_done(&REPEATS));
        assert!(series(&[100]).is_done(&Repeats { min: 1, max: 1, ..REPEATS }));
        assert_eq!(series(&[1, 2, 3]).tally().single, 3);
    }

    #[test]
    fn interval_is_students_and_one_run_has_none() {
        let estimate = series(&[90, 100, 110]).estimate(Series::FIGURES[0], Level::P95);
        // t of 2 degrees is 4.303, the deviation 10, its share of the mean 0.1.
        assert!((estimate.half.unwrap() - 4.302_65 * 0.1 / 3.0_f64.sqrt()).abs() < 1e-4);
        assert_eq!(series(&[90]).estimate(Series::FIGURES[0], Level::P95).half, None);
    }
}
