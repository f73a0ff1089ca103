//! What changed over a history of runs.

use std::collections::BTreeMap;

use super::RunPasses;
use super::change::{Starts, starts};
use crate::record::{Levels, Machine, PastFigure, PastRun};
use crate::{Level, Samples, change_points};

/// What all figures of a series have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SeriesKey {
    /// The experiment.
    pub experiment: String,
    /// Its settings.
    pub settings: BTreeMap<String, String>,
    /// The levels.
    pub levels: Levels,
    /// The figure's name.
    pub figure: String,
    /// The figure's unit.
    pub unit: String,
}

/// The medians of a figure over runs, and where they change.
#[derive(Debug, Clone, PartialEq)]
pub struct PastSeries {
    /// Of what.
    pub key: SeriesKey,
    /// The runs that have it, as indices of the history, each with the median.
    pub medians: Vec<(usize, f64)>,
    /// Where it changes.
    pub changes: Vec<PastChange>,
}

/// A change of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PastChange {
    /// The first run with the new level, as an index of the history.
    pub run: usize,
    /// The run before it that has the figure.
    pub earlier_run: usize,
    /// The median of the runs since the change before.
    pub before: f64,
    /// The median of the runs up to the next change.
    pub after: f64,
    /// The probability of such a difference without a change.
    pub chance: f64,
}

/// A run as a history has it: all measured figures that have a better direction, but those of the control.
pub fn past_run(passes: RunPasses<'_>, label: &str) -> PastRun {
    let run = passes.run;
    let is_control = |levels: &Levels| {
        run.design.control.is_some() && levels.get(&run.design.contenders) == run.design.control.as_ref()
    };
    let unit = |name: &str| run.design.figures.iter().find(|kind| kind.name == name).map(|kind| kind.unit.clone());
    let figure = |Starts { levels, figure, figures }: Starts| {
        let samples = Samples::new(figures).ok().filter(|_| !is_control(&levels))?;
        let interval = samples.median_interval(Level::P95).ok().map(|found| found.interval);
        Some(PastFigure {
            levels,
            unit: unit(&figure).unwrap_or_default(),
            figure,
            starts: samples.count(),
            median: samples.median(),
            interval: interval.map(|interval| [interval.low, interval.high]),
        })
    };
    PastRun {
        label: label.to_owned(),
        began_ms: run.began_ms,
        version: run.version.clone(),
        experiment: run.design.name.clone(),
        settings: run.settings.clone(),
        machine: run.machine.clone(),
        figures: starts(passes).into_iter().filter_map(figure).collect(),
    }
}

/// What differs between two machines, so that figures of one say nothing about those of the other: what it is, and both
/// values.
pub fn machine_difference(one: &Machine, other: &Machine) -> Option<(&'static str, String, String)> {
    let facts = |machine: &Machine| {
        [
            ("processor", machine.processor.clone()),
            ("number of processors", machine.processors.to_string()),
            ("kernel", machine.kernel.clone()),
        ]
    };
    let pairs = facts(one).into_iter().zip(facts(other));
    pairs.map(|((what, one), (_, other))| (what, one, other)).find(|(_, one, other)| one != other)
}

/// The series of a history in the order of their keys, with their changes. All of them together have a false change
/// with at most the probability that the level leaves.
pub fn history(runs: &[PastRun], is_wanted: impl Fn(&PastFigure) -> bool, level: Level) -> Vec<PastSeries> {
    let mut by_key: BTreeMap<SeriesKey, Vec<(usize, f64)>> = BTreeMap::new();
    for (index, run) in runs.iter().enumerate() {
        for figure in run.figures.iter().filter(|figure| is_wanted(figure)) {
            by_key.entry(key(run, figure)).or_default().push((index, figure.median));
        }
    }
    let family = by_key.len();
    let series = |(key, medians): (SeriesKey, Vec<(usize, f64)>)| {
        let changes = changes_of(&medians, family, level);
        PastSeries { key, medians, changes }
    };
    by_key.into_iter().map(series).collect()
}

fn key(run: &PastRun, figure: &PastFigure) -> SeriesKey {
    SeriesKey {
        experiment: run.experiment.clone(),
        settings: run.settings.clone(),
        levels: figure.levels.clone(),
        figure: figure.figure.clone(),
        unit: figure.unit.clone(),
    }
}

/// The seed of random orders: the same history has the same changes.
const SEED: u64 = 1;

fn changes_of(medians: &[(usize, f64)], family: usize, level: Level) -> Vec<PastChange> {
    let values: Vec<f64> = medians.iter().map(|(_, median)| *median).collect();
    let points = change_points(&values, family, level, SEED);
    let ends: Vec<usize> = points.iter().map(|point| point.index).chain([values.len()]).collect();
    let median = |values: &[f64]| Samples::new(values.to_vec()).map_or(f64::NAN, |samples| samples.median());
    let mut begin = 0;
    let change = |(at, point): (usize, &crate::ChangePoint)| {
        let change = PastChange {
            run: medians[point.index].0,
            earlier_run: medians[point.index - 1].0,
            before: median(&values[begin..point.index]),
            after: median(&values[point.index..ends[at + 1]]),
            chance: point.chance,
        };
        begin = point.index;
        change
    };
    points.iter().enumerate().map(change).collect()
}
