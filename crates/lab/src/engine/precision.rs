use measure::Margin;
use measure::analysis::analyse;
use measure::record::{self, Measurement, Run};

/// When a run has been long enough: netperf's `-i MIN,MAX -I LEVEL,WIDTH`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Precision {
    /// The fewest rounds.
    pub min_rounds: u32,
    /// How well the compared ratios have to be known.
    pub wanted: record::Precision,
}

/// The widest half-width of all compared ratios; nothing while one of them cannot be told.
pub(super) fn widest(run: &Run, passes: &[Measurement]) -> Option<f64> {
    analyse(run, passes, Margin::TWO_PERCENT).widest()
}
