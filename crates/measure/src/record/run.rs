use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Design;

/// The head of a record: everything that its measurements have in common.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// What was asked, varied and measured.
    pub design: Design,
    /// Where.
    pub machine: Machine,
    /// The settings of the experiment by name, such as sizes and durations.
    pub settings: BTreeMap<String, String>,
    /// How many rounds were wanted.
    pub rounds: u32,
    /// How well the ratios had to be known for the run to end; without it, `rounds` alone decided.
    #[serde(default)]
    pub precision: Option<Precision>,
    /// What every order and every random choice follows from.
    pub seed: u64,
    /// The version of Wharf, with its commit where that is known.
    pub version: String,
    /// When it began, in milliseconds since 1970.
    pub began_ms: u64,
}

/// How well the ratios of all tables have to be known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Precision {
    /// How sure the intervals are to hold the true ratio, between 0 and 1.
    pub level: f64,
    /// How far the ends of an interval may be from its ratio, as a share of it.
    pub half_width: f64,
}

/// The machine of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Machine {
    /// The model of its processors.
    pub processor: String,
    /// How many processors this program may use.
    pub processors: usize,
    /// Its memory, in bytes.
    pub memory_bytes: u64,
    /// The kernel's release.
    pub kernel: String,
    /// The file systems that were used, by directory.
    pub file_systems: BTreeMap<String, String>,
    /// The versions of the programs that took part, by name.
    pub programs: BTreeMap<String, String>,
}
