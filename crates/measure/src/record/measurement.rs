use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Levels;
use crate::Period;

/// What one pass found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// The level of each factor.
    pub levels: Levels,
    /// Its place in the run.
    pub place: PassPlace,
    /// When it began, in milliseconds since 1970.
    pub began_ms: u64,
    /// Its duration including preparation, in seconds.
    pub seconds: f64,
    /// The figures by name; those that do not apply are missing.
    pub figures: BTreeMap<String, f64>,
    /// Why it has no figures, if it failed.
    pub failure: Option<String>,
    /// The latencies of single operations at rising percentages.
    pub latency: Vec<Percentile>,
    /// Rates and latencies over time, where the pass counts single operations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub periods: Vec<Period>,
    /// Disturbances during the pass.
    pub disturbance: Disturbance,
    /// Whether it was disturbed and repeated: it is kept, but not used for figures. The last try is used even if it was
    /// disturbed too ([`Run::is_disturbed`](super::Run::is_disturbed)).
    pub is_repeated: bool,
}

/// A quantile of the latencies.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Percentile {
    /// The share of operations, in percent.
    pub percent: f64,
    /// The quantile, in microseconds.
    pub us: f64,
}

/// The place of a pass in its run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassPlace {
    /// In which round, from 1.
    pub round: u32,
    /// The index of the pass in the run, from 0.
    pub position: u32,
    /// The contender of its pair. The first contender has a pass in each pair.
    pub pair: String,
}

/// Other activity of this machine during a pass.
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
