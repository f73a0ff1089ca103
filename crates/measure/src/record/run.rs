use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Design, Disturbance};

/// The head of a record: what all its measurements have in common.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The question, factors and figures.
    pub design: Design,
    /// Where.
    pub machine: Machine,
    /// The settings of the experiment by name, such as sizes and durations.
    pub settings: BTreeMap<String, String>,
    /// The requested number of rounds.
    pub rounds: u32,
    /// The precision of ratios that ends the run; without it, `rounds` decides.
    #[serde(default)]
    pub precision: Option<Precision>,
    /// The number of processors that others use from which a pass counts as disturbed; none if no pass does.
    #[serde(default = "usual_bound")]
    pub disturbed_from: Option<f64>,
    /// The seed of every order and every random choice.
    pub seed: u64,
    /// The version of Wharf, with its commit where that is known.
    pub version: String,
    /// When it began, in milliseconds since 1970.
    pub began_ms: u64,
}

/// The bound of records that have none.
fn usual_bound() -> Option<f64> {
    Some(0.3)
}

impl Run {
    /// Whether other programs and other virtual machines used too much of the processors.
    pub fn is_disturbed(&self, disturbance: &Disturbance) -> bool {
        let used = disturbance.foreign_processors + disturbance.stolen_processors;
        self.disturbed_from.is_some_and(|bound| used > bound)
    }
}

/// The required precision of the ratios of all tables.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Precision {
    /// The confidence level of the intervals, between 0 and 1.
    pub level: f64,
    /// The maximum half-width of an interval, as a share of its ratio.
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
