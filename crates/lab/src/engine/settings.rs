use super::Precision;
use crate::bench::Stop;

/// How a run is done, whatever the experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// How many rounds there are; [`Settings::precision`] may end the run before.
    pub rounds: u32,
    /// When the run has been long enough, if that is not a matter of rounds.
    pub precision: Option<Precision>,
    /// What all orders and random choices follow from.
    pub seed: u64,
    /// From which disturbance on a pass is done again.
    pub bound: Bound,
    /// What ends the run after the current pass.
    pub stop: Stop,
}

/// Which disturbance of a pass is too much.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// The most processors that other programs and other virtual machines may use together. If it is infinite, no pass
    /// counts as disturbed, and disturbance is not measured.
    pub processors: f64,
    /// How often a pass is done again at the most.
    pub max_repeats: u32,
}

impl Settings {
    /// How many rounds there are when nobody says.
    pub const ROUNDS: u32 = 10;
    /// The rounds of a quick run: the fewest that give an interval.
    pub const QUICK_ROUNDS: u32 = 6;
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            rounds: Self::ROUNDS,
            precision: None,
            seed: 1,
            bound: Bound { processors: 0.3, max_repeats: 2 },
            stop: Stop::default(),
        }
    }
}
