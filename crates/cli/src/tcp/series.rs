//! Repeats runs until their figures are precise enough, as netperf does.

use clap::Args;
use measure::{Level, Samples};
use serde::Serialize;

use crate::failure::Failure;

/// How often to repeat a run; the names are netperf's.
#[derive(Debug, Args)]
pub struct RepeatFlags {
    /// Minimum and maximum number of runs. [default: 1,1; with -I: 3,10]
    #[arg(short = 'i', long, value_name = "MIN,MAX", value_parser = parse_iterations)]
    iterations: Option<(usize, usize)>,
    /// Repeat until the confidence intervals of throughput and processor time are narrow enough: 95,10 requires
    /// intervals at the 95 % level that are 10 % wide (±5 %).
    #[arg(short = 'I', long, value_name = "LEVEL,WIDTH", value_parser = parse_confidence)]
    confidence: Option<(Level, f64)>,
    /// Seed of the order of runs and of injected faults.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,
}

/// The default number of runs with -I, and the default precision with -i.
const DEFAULT_ITERATIONS: (usize, usize) = (3, 10);
const DEFAULT_WIDTH: f64 = 0.05;

impl RepeatFlags {
    /// Returns the limits that the flags set.
    pub fn repeats(&self) -> Repeats {
        let default = if self.confidence.is_some() { DEFAULT_ITERATIONS } else { (1, 1) };
        let (min, max) = self.iterations.unwrap_or(default);
        let (level, width) = self.confidence.unwrap_or((Level::P95, DEFAULT_WIDTH));
        Repeats { min, max, level, width, seed: self.seed }
    }
}

/// How often to repeat a run, in netperf's terms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Repeats {
    /// Minimum number of runs, at least 1.
    pub min: usize,
    /// Maximum number of runs.
    pub max: usize,
    /// Level of the confidence intervals.
    pub level: Level,
    /// Maximum width of the intervals, as a share of the mean: 0.1 is ±5 %.
    pub width: f64,
    /// Seed of the order of runs.
    pub seed: u64,
}

/// A figure of a run.
pub type Figure<O> = fn(&O) -> f64;

/// Runs of the same case.
#[derive(Debug)]
pub struct Series<C, O> {
    /// What all of them have in common.
    pub case: C,
    /// The figures that must be precise enough.
    pub deciding: Vec<Figure<O>>,
    /// The result of each run.
    pub outcomes: Vec<O>,
}

/// A mean and half of its confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half of the interval, as a share of the mean; unknown after a single run.
    pub half: Option<f64>,
}

/// An estimate as JSON.
#[derive(Debug, Serialize)]
pub struct EstimateRecord {
    mean: f64,
    half_interval_share: Option<f64>,
}

impl EstimateRecord {
    /// The same figures.
    pub fn new(estimate: Estimate) -> EstimateRecord {
        EstimateRecord { mean: estimate.mean, half_interval_share: estimate.half }
    }
}

impl<C, O> Series<C, O> {
    /// A series without runs.
    pub fn new(case: C, deciding: &[Figure<O>]) -> Series<C, O> {
        Series { case, deciding: deciding.to_vec(), outcomes: Vec::new() }
    }

    /// Returns the mean of one figure over all runs.
    pub fn estimate(&self, figure: Figure<O>, level: Level) -> Estimate {
        let figures: Vec<f64> = self.outcomes.iter().map(figure).collect();
        let mean = figures.iter().sum::<f64>() / figures.len().max(1) as f64;
        let interval = Samples::new(figures).ok().and_then(|samples| samples.mean_interval(level).ok());
        Estimate { mean, half: interval.map(|interval| (interval.high - interval.low) / 2.0 / mean) }
    }

    /// Returns one figure as text.
    pub fn shown(&self, figure: Figure<O>, level: Level, scale: f64, digits: usize) -> String {
        let Estimate { mean, half } = self.estimate(figure, level);
        let half = half.filter(|half| half.is_finite()).map_or(String::new(), |half| format!(" ±{:.1}%", half * 100.0));
        format!("{:.digits$}{half}", mean * scale)
    }

    /// Whether no further run is needed.
    pub fn is_done(&self, repeats: &Repeats) -> bool {
        let runs = self.outcomes.len();
        runs >= repeats.max || (runs >= repeats.min && self.is_sure(repeats))
    }

    /// Whether every deciding figure is precise enough.
    pub fn is_sure(&self, repeats: &Repeats) -> bool {
        let half = |figure: &Figure<O>| self.estimate(*figure, repeats.level).half;
        self.deciding.iter().all(|figure| half(figure).is_some_and(|half| half <= repeats.width / 2.0))
    }
}

/// Runs each series until it is precise enough, in random order, so that a disturbance affects all of them. `run`
/// returns nothing after an interruption.
///
/// # Errors
/// Those of `run`.
pub fn repeat<C, O>(
    repeats: &Repeats,
    all: &mut [Series<C, O>],
    mut run: impl FnMut(&C) -> Result<Option<O>, Failure>,
) -> Result<(), Failure> {
    for round in 0..repeats.max {
        for place in measure::shuffled(repeats.seed, round as u64, all.len()) {
            let series = &mut all[place];
            if !series.is_done(repeats) {
                let outcome = run(&series.case)?;
                series.outcomes.extend(outcome);
            }
        }
    }
    Ok(())
}

/// Returns a warning if some figures are less precise than requested.
pub fn unsure<C, O>(repeats: &Repeats, all: &[Series<C, O>]) -> Option<String> {
    let unsure = all.iter().filter(|series| repeats.max > 1 && !series.is_sure(repeats)).count();
    let (level, width) = (repeats.level.get() * 100.0, repeats.width * 50.0);
    let count = all.len();
    (unsure > 0).then(|| {
        format!(
            "{unsure} of {count} rows have intervals wider than +/-{width}% at {level}%: allow more runs with -i, or \
             send for longer"
        )
    })
}

/// Reads two numbers in either order; netperf has the larger one first.
fn parse_iterations(text: &str) -> Result<(usize, usize), String> {
    let wrong = || "two numbers from 1 to 1000 are needed, such as 3,10".to_owned();
    let (first, second) = text.split_once(',').ok_or_else(wrong)?;
    let number = |text: &str| text.parse().ok().filter(|count| (1..=1000).contains(count)).ok_or_else(wrong);
    let (first, second): (usize, usize) = (number(first)?, number(second)?);
    Ok((first.min(second), first.max(second)))
}

fn parse_confidence(text: &str) -> Result<(Level, f64), String> {
    let wrong = || "a level and a width in percent are needed, such as 95,10".to_owned();
    let (level, width) = text.split_once(',').ok_or_else(wrong)?;
    let percent = |text: &str| text.parse::<f64>().map(|percent| percent / 100.0).map_err(|_| wrong());
    let level = Level::new(percent(level)?).map_err(|_| wrong())?;
    let width = percent(width)?;
    if width > 0.0 && width.is_finite() { Ok((level, width)) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPEATS: Repeats = Repeats { min: 3, max: 10, level: Level::P95, width: 0.1, seed: 1 };
    const FIGURE: Figure<u32> = |outcome| f64::from(*outcome);

    fn series(outcomes: &[u32]) -> Series<(), u32> {
        Series { case: (), deciding: vec![FIGURE], outcomes: outcomes.to_vec() }
    }

    #[test]
    fn series_ends_when_it_is_sure_or_long_enough() {
        assert!(!series(&[100, 100]).is_done(&REPEATS));
        assert!(series(&[100, 101, 100]).is_done(&REPEATS));
        assert!(!series(&[100, 150, 50]).is_done(&REPEATS));
        assert!(series(&[100, 150, 50, 100, 150, 50, 100, 150, 50, 1]).is_done(&REPEATS));
        assert!(series(&[100]).is_done(&Repeats { min: 1, max: 1, ..REPEATS }));
    }

    #[test]
    fn interval_is_students_and_one_run_has_none() {
        let estimate = series(&[90, 100, 110]).estimate(FIGURE, Level::P95);
        // t of 2 degrees is 4.303, the deviation 10, its share of the mean 0.1.
        assert!((estimate.half.unwrap() - 4.302_65 * 0.1 / 3.0_f64.sqrt()).abs() < 1e-4);
        assert_eq!(series(&[90]).estimate(FIGURE, Level::P95).half, None);
        assert_eq!(series(&[90, 110]).shown(FIGURE, Level::P95, 0.1, 1), "10.0 ±127.1%");
    }

    #[test]
    fn runs_end_when_the_user_wants_no_more() {
        let mut all = [series(&[]), series(&[])];
        let mut left = 5;
        repeat(&REPEATS, &mut all, |()| {
            left -= 1;
            Ok((left >= 0).then_some(left as u32))
        })
        .unwrap();
        assert_eq!(all.iter().map(|series| series.outcomes.len()).sum::<usize>(), 5);
    }
}
