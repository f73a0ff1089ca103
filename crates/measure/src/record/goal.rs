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
    /// The contender whose figure it is divided by; without one the figure itself counts, in its unit.
    pub baseline: Option<String>,
    /// What the ratio or the figure has to be.
    pub bound: Bound,
}

/// The side of a number that is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// This much or more.
    AtLeast(f64),
    /// This much or less.
    AtMost(f64),
}
