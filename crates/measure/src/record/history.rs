use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Levels, Machine};

/// A run in a history of runs, such as one of each commit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PastRun {
    /// What was measured, such as a commit.
    pub label: String,
    /// When it began, in milliseconds since 1970.
    pub began_ms: u64,
    /// The version of Wharf, with its commit where that is known.
    pub version: String,
    /// The experiment's name.
    pub experiment: String,
    /// The settings of the experiment by name.
    pub settings: BTreeMap<String, String>,
    /// Where.
    pub machine: Machine,
    /// Its figures.
    pub figures: Vec<PastFigure>,
}

/// A figure at one combination of levels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PastFigure {
    /// The levels.
    pub levels: Levels,
    /// The figure's name.
    pub figure: String,
    /// Its unit.
    pub unit: String,
    /// How many starts of the server have it.
    pub starts: usize,
    /// The median of starts.
    pub median: f64,
    /// The 95 % interval of the median, where there are enough starts.
    pub interval: Option<[f64; 2]>,
}
