//! An experiment whose design is that of another one, and whose figures are drawn: its truth is known, and passes take
//! no time.

use std::collections::BTreeMap;
use std::f64::consts::TAU;

use fastrand::Rng;
use lab::engine::{Error, Experiment, Figures, Needs, PassError};
use measure::record::{Design, Levels, PassPlace};

/// The deviation of a start: what all passes of one server's process have in common, as a share of a figure.
const START_NOISE: f64 = 0.02;
/// The deviation of a pass.
const PASS_NOISE: f64 = 0.02;
/// The deviation of the ratios of pairs: of two starts and two passes.
pub const PAIR_NOISE: f64 = 0.04;
/// How fast the machine drifts from pass to pass, and how much of a drift is left in the next pass.
const DRIFT: f64 = 0.002;
const DRIFT_LEFT: f64 = 0.98;

/// What multiplies the figures of the passes that have these levels.
#[derive(Debug, Clone)]
pub struct Effect {
    pub levels: Levels,
    pub ratio: f64,
}

/// The experiment.
pub struct Simulated {
    inner: Box<dyn Experiment>,
    design: Design,
    effects: Vec<Effect>,
    random: Rng,
    /// The logarithm of what the machine does to all figures now.
    machine: f64,
    /// The same of each contender's process.
    starts: BTreeMap<String, f64>,
}

impl Simulated {
    pub fn new(inner: Box<dyn Experiment>, effects: Vec<Effect>, seed: u64) -> Simulated {
        let (design, random) = (inner.design(), Rng::with_seed(seed));
        Simulated { inner, design, effects, random, machine: 0.0, starts: BTreeMap::new() }
    }

    /// A number of the standard normal distribution (Box and Muller).
    fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.random.f64()).ln()).sqrt() * (TAU * self.random.f64()).cos()
    }
}

impl Experiment for Simulated {
    fn design(&self) -> Design {
        self.design.clone()
    }

    fn settings(&self) -> BTreeMap<String, String> {
        self.inner.settings()
    }

    fn needs(&self) -> Needs {
        self.inner.needs()
    }

    fn has(&self, levels: &Levels) -> bool {
        self.inner.has(levels)
    }

    fn shares_reference(&self) -> bool {
        self.inner.shares_reference()
    }

    fn refuses_servers(&self) -> Option<&'static str> {
        self.inner.refuses_servers()
    }

    fn begin_round(&mut self, _seed: u64) -> Result<(), Error> {
        let Design { factors, contenders, .. } = self.design();
        for level in factors.into_iter().filter(|factor| factor.name == contenders).flat_map(|factor| factor.levels) {
            let start = START_NOISE * self.normal();
            self.starts.insert(level, start);
        }
        Ok(())
    }

    fn pass(&mut self, levels: &Levels, _place: &PassPlace, _seed: u64) -> Result<Figures, PassError> {
        self.machine = DRIFT_LEFT * self.machine + DRIFT * self.normal();
        let is_of = |effect: &&Effect| effect.levels.iter().all(|(factor, level)| levels.get(factor) == Some(level));
        let effect: f64 = self.effects.iter().filter(is_of).map(|effect| effect.ratio.ln()).sum();
        let common = self.machine + self.starts[&levels[&self.design.contenders]] + effect;
        let names: Vec<String> = self.design.figures.iter().map(|kind| kind.name.clone()).collect();
        let values = names.into_iter().map(|name| (name, 1000.0 * (common + PASS_NOISE * self.normal()).exp()));
        Ok(Figures { values: values.collect(), ..Figures::default() })
    }
}
