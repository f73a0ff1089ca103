//! An experiment whose truth is known and whose time is virtual: passes take none, and figures follow from the seed.

use std::collections::BTreeMap;
use std::f64::consts::TAU;

use fastrand::Rng;
use lab::engine::{Error, Experiment, Figures, Needs, PassError};
use measure::record::{Better, Design, Factor, FigureKind, Levels, PassPlace, TableKind};

pub const SERVER: &str = "server";
pub const OLD: &str = "old";
pub const NEW: &str = "new";
pub const RATE: &str = "rate";

/// Two servers whose rates differ by a known ratio.
pub struct Simulated {
    /// The rate of the new server divided by that of the old one.
    pub ratio: f64,
    /// The deviation of a pass, as a share of its rate.
    pub pass_noise: f64,
    /// The deviation of a start: what all passes of a server's process have in common.
    pub start_noise: f64,
    random: Rng,
    /// The rate of each server that runs.
    running: BTreeMap<&'static str, f64>,
}

impl Simulated {
    pub fn new(seed: u64, ratio: f64, start_noise: f64) -> Simulated {
        Simulated { ratio, pass_noise: 0.01, start_noise, random: Rng::with_seed(seed), running: BTreeMap::new() }
    }

    /// A number of the standard normal distribution (Box and Muller).
    fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.random.f64()).ln()).sqrt() * (TAU * self.random.f64()).cos()
    }
}

impl Experiment for Simulated {
    fn design(&self) -> Design {
        Design {
            name: "simulated".to_owned(),
            question: "Which server is faster?".to_owned(),
            source: None,
            factors: vec![Factor::new(SERVER, [OLD, NEW].map(str::to_owned).to_vec())],
            contenders: SERVER.to_owned(),
            control: None,
            figures: vec![FigureKind::new(RATE, "1/s", Better::Higher)],
            tables: vec![TableKind::new("Rate", RATE, SERVER, OLD)],
            curves: Vec::new(),
            goals: Vec::new(),
            differences: Vec::new(),
            skipped: Vec::new(),
        }
    }

    fn settings(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    fn needs(&self) -> Needs {
        Needs { pass_seconds: 0.0, round_seconds: 0.0, space_bytes: 0, root: None }
    }

    fn refuses_servers(&self) -> Option<&'static str> {
        None
    }

    fn begin_round(&mut self, _seed: u64) -> Result<(), Error> {
        for (server, rate) in [(OLD, 1000.0), (NEW, 1000.0 * self.ratio)] {
            let start = self.start_noise * self.normal();
            self.running.insert(server, rate * start.exp());
        }
        Ok(())
    }

    fn pass(&mut self, levels: &Levels, _place: &PassPlace, _seed: u64) -> Result<Figures, PassError> {
        let noise = (self.pass_noise * self.normal()).exp();
        let mut figures = Figures::default();
        figures.set(RATE, self.running[levels[SERVER].as_str()] * noise);
        Ok(figures)
    }
}
