use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Levels;

/// What one pass found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// The level of each factor.
    pub levels: Levels,
    /// Where it stands in the run.
    pub place: Place,
    /// When it began, in milliseconds since 1970.
    pub began_ms: u64,
    /// How long it took with its preparation, in seconds.
    pub seconds: f64,
    /// The figures by name; those that do not apply are missing.
    pub figures: BTreeMap<String, f64>,
    /// Why it has no figures, if it failed.
    pub failure: Option<String>,
    /// The latency of single operations at rising percentages.
    pub latency: Vec<Percentile>,
    /// What else went on meanwhile.
    pub disturbance: Disturbance,
    /// Whether it was disturbed too much and done again: it is kept, and no figure is computed from it.
    pub is_repeated: bool,
}

/// The latency that a share of operations stayed within.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Percentile {
    /// The share of operations, in percent.
    pub percent: f64,
    /// Their longest latency, in microseconds.
    pub us: f64,
}

/// Where a pass stands in its run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// In which round, from 1.
    pub round: u32,
    /// The how many-th pass of the run, from 0.
    pub position: u32,
    /// The level of the contenders' factor whose pair it belongs to. The first level has a pass in each pair.
    pub pair: String,
}

/// What else this machine did during a pass.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Disturbance {
    /// Processors that other programs used: 1 is one whole processor.
    pub foreign_processors: f64,
    /// Processors that the hypervisor gave to others.
    pub stolen_processors: f64,
    /// The mean frequency of the processors in MHz, where the system tells it.
    pub frequency_mhz: Option<f64>,
    /// The highest temperature in degrees Celsius, where the system tells it.
    pub temperature_c: Option<f64>,
}
