use std::time::Duration;

use measure::analysis::Detectable;
use measure::record::Measurement;

/// What an observer of a run hears.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Passes of an earlier run in the same folder are taken over.
    Resumed {
        /// How many.
        passes: usize,
    },
    /// Servers and files are made again, and warmed up.
    RoundBegins {
        /// Which round.
        round: u32,
    },
    /// A pass has ended.
    Passed {
        /// What it found.
        measurement: &'a Measurement,
        /// How many passes of the run have ended.
        done: u32,
        /// How many there are in all.
        total: u32,
        /// How long the rest takes.
        left: Duration,
    },
    /// What the whole run will be able to find, from how much the pairs of the first rounds differ.
    Detectable {
        /// After which round.
        round: u32,
        /// The smallest differences.
        found: Detectable,
    },
    /// The figures are as precise as was wanted, or not yet.
    Precision {
        /// After which round.
        round: u32,
        /// The widest half-width of a compared ratio; nothing while there are too few pairs.
        widest: Option<f64>,
    },
}

/// How a run has ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Ending {
    /// All rounds are done.
    Complete,
    /// The ratios are as precise as was wanted after this many rounds.
    Precise {
        /// How many rounds.
        rounds: u32,
    },
    /// All rounds are done, and the ratios are not as precise as was wanted.
    Imprecise {
        /// The widest half-width of a ratio, as a share of it.
        widest: Option<f64>,
    },
    /// It was stopped; it can be resumed.
    Stopped,
}
