//! Repeats runs until their figures are precise enough, as netperf does.

use clap::Args;
use measure::record::Precision;
pub use measure::{FigureOf as Figure, Repeats, Series, repeat};
use measure::{Level, SeriesMean};
use serde::Serialize;

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
        let half_width = self.confidence.map_or(DEFAULT_WIDTH, |(_, width)| width) / 2.0;
        let wanted = Precision { level: self.level().get(), half_width };
        Repeats { min, max, wanted, seed: self.seed }
    }

    /// Returns the level of confidence intervals.
    pub fn level(&self) -> Level {
        self.confidence.map_or(Level::P95, |(level, _)| level)
    }
}

/// A mean as JSON.
#[derive(Debug, Serialize)]
pub struct EstimateRecord {
    mean: f64,
    half_interval_share: Option<f64>,
}

impl EstimateRecord {
    /// The mean of one figure of a series.
    pub fn new<C, O>(series: &Series<C, O>, figure: Figure<O>, level: Level) -> EstimateRecord {
        let SeriesMean { value, half_width } = series.mean(figure, level);
        EstimateRecord { mean: value, half_interval_share: half_width }
    }
}

/// Returns the mean of one figure as text.
pub fn shown<C, O>(series: &Series<C, O>, figure: Figure<O>, level: Level, scale: f64, digits: usize) -> String {
    let SeriesMean { value, half_width } = series.mean(figure, level);
    let half = half_width.filter(|half| half.is_finite());
    let half = half.map_or(String::new(), |half| format!(" ±{:.1}%", half * 100.0));
    format!("{:.digits$}{half}", value * scale)
}

/// Returns a warning if some figures are less precise than requested.
pub fn unsure<C, O>(repeats: &Repeats, all: &[Series<C, O>]) -> Option<String> {
    let unsure = all.iter().filter(|series| repeats.max > 1 && !series.is_precise(&repeats.wanted)).count();
    let (level, width) = (repeats.wanted.level * 100.0, repeats.wanted.half_width * 100.0);
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

    #[test]
    fn mean_is_shown_with_its_interval() {
        let figure: Figure<u32> = |outcome| f64::from(*outcome);
        let series = Series { case: (), deciding: vec![figure], outcomes: vec![90, 110] };
        assert_eq!(shown(&series, figure, Level::P95, 0.1, 1), "10.0 ±127.1%");
    }
}
