use serde::{Deserialize, Serialize};

use super::Levels;

/// What a figure has to reach.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Goal {
    /// The level of every factor. What is not among the levels of the design can be a goal too; it is not measured
    /// then.
    pub levels: Levels,
    /// The name of the figure.
    pub figure: String,
    /// Whose figure it is divided by; without one the figure itself counts, in its unit.
    pub baseline: Option<Baseline>,
    /// What the ratio or the figure has to be, or to do.
    pub bound: Bound,
}

/// What a goal is compared with: the same levels but for one or more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Baseline {
    /// Another contender.
    Contender(String),
    /// Other levels of these factors, such as another version or load.
    Levels(Levels),
}

impl From<&str> for Baseline {
    fn from(contender: &str) -> Baseline {
        Baseline::Contender(contender.to_owned())
    }
}

/// The side of a number that is wanted, or what a run has to warn of: an experiment whose truth is known makes sure
/// that it is found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// This much or more.
    AtLeast(f64),
    /// This much or less.
    AtMost(f64),
    /// The figure rises or falls during the run.
    Drifts,
    /// The latencies of operations at these levels have several peaks.
    HasPeaks,
}
