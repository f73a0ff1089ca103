use std::collections::BTreeMap;

use measure::record::{Design, Levels, Machine, PassPlace, Percentile};
use measure::{Histogram, Period};

use super::{Error, PassError};

/// What one experiment is: a declaration, and a way to do one pass.
pub trait Experiment {
    /// What it asks, varies and measures.
    fn design(&self) -> Design;

    /// Its settings by name, such as sizes. A run resumes only with the same ones.
    fn settings(&self) -> BTreeMap<String, String>;

    /// What it takes.
    fn needs(&self) -> Needs;

    /// Whether this combination of levels exists; the design says why others are left out.
    fn has(&self, _levels: &Levels) -> bool {
        true
    }

    /// Whether all contenders share one pass of the reference in each block, instead of one each. That saves time where
    /// passes are long; what disturbs the one pass is in all ratios of the block.
    fn shares_reference(&self) -> bool {
        false
    }

    /// Leaves out servers and files that only other levels need. Factors that are not named have all of their levels.
    fn leave_in(&mut self, _levels: &BTreeMap<String, Vec<String>>) {}

    /// Why no further servers can take part; nothing if they can.
    fn refuses_servers(&self) -> Option<&'static str>;

    /// Why builds of Wharf cannot be compared under its loads; nothing if they can.
    fn refuses_builds(&self) -> Option<&'static str> {
        None
    }

    /// The rate that loads of this round are shares of, if it has measured one: builds that are compared get the first
    /// one's.
    fn reference_rate(&self) -> Option<f64> {
        None
    }

    /// Has loads of this round be shares of a rate.
    fn set_reference_rate(&mut self, _rate: f64) {}

    /// Adds the file systems and programs that take part to the description of the machine.
    fn describe(&self, _machine: &mut Machine) {}

    /// Starts or restarts what a round needs: files and servers. Random choices of the round, such as the layout of
    /// files, follow from `seed`.
    ///
    /// # Errors
    /// What ends the run: a server does not start, or there is no space.
    fn begin_round(&mut self, seed: u64) -> Result<(), Error>;

    /// Does one pass. `seed` is the same for both passes of a pair.
    ///
    /// # Errors
    /// Why this pass has no figures; the run goes on.
    fn pass(&mut self, levels: &Levels, place: &PassPlace, seed: u64) -> Result<Figures, PassError>;

    /// The processes of its servers on this machine: their processor time does not disturb a pass.
    fn processes(&self) -> Vec<u32> {
        Vec::new()
    }
}

/// What an experiment takes, before it is run.
#[derive(Debug, Clone, PartialEq)]
pub struct Needs {
    /// About how long one pass takes with its preparation, in seconds.
    pub pass_seconds: f64,
    /// About how long servers and files of a round take until they are ready, in seconds.
    pub round_seconds: f64,
    /// Space in its directories, in bytes.
    pub space_bytes: u64,
    /// What it needs root for; what is left out without it.
    pub root: Option<&'static str>,
}

/// What one pass found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Figures {
    /// The figures of the design, by name; those that do not apply are missing.
    pub values: BTreeMap<String, f64>,
    /// Latencies of single operations.
    pub latency: Vec<Percentile>,
    /// Rates and latencies over time.
    pub periods: Vec<Period>,
}

/// The percentages at which latencies are kept.
const PERCENTAGES: [f64; 11] = [1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99];

impl Figures {
    /// Adds a figure.
    pub fn set(&mut self, name: &str, value: f64) {
        self.values.insert(name.to_owned(), value);
    }

    /// Keeps the latencies of operations that were recorded in nanoseconds.
    pub fn set_latency(&mut self, latency_ns: &Histogram) {
        let at = |percent| Percentile { percent, us: latency_ns.quantile(percent / 100.0) as f64 / 1e3 };
        self.latency = if latency_ns.is_empty() { Vec::new() } else { PERCENTAGES.map(at).to_vec() };
    }
}
