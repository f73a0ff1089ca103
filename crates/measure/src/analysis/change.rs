use std::collections::BTreeMap;

use super::pairing::{Found, geometric_mean};
use super::passes::Passes;
use crate::record::{Better, Levels, Measurement, Run};
use crate::{Comparison, Error, Level, Margin, Verdict, judge};

/// One figure at one combination of levels in two runs.
///
/// Servers start for each round, so that the passes of a round have a start in common and are not independent. A start
/// counts as one figure: the geometric mean of its passes.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The levels.
    pub levels: Levels,
    /// The figure's name.
    pub figure: String,
    /// The figure of each start of the earlier run.
    pub old: Vec<f64>,
    /// The figure of each start of the later run.
    pub new: Vec<f64>,
    /// The later figure divided by the earlier one, or why there is no ratio.
    pub comparison: Result<Comparison, Error>,
    /// What may be claimed, corrected for the number of changes (Holm).
    pub verdict: Verdict,
}

/// A run and its passes.
#[derive(Debug, Clone, Copy)]
pub struct RunPasses<'r> {
    /// The run.
    pub run: &'r Run,
    /// Its passes, in any order.
    pub passes: &'r [Measurement],
}

/// Compares two runs by all measured figures that both have and that have a better direction. Starts of different runs
/// are no pairs, so Welch's test compares them.
pub fn changes(old: RunPasses<'_>, new: RunPasses<'_>, margin: Margin, level: Level) -> Vec<Change> {
    let (before, after) = (starts(old), starts(new));
    let change = |one: &Starts| {
        let other = after.iter().find(|other| (&other.levels, &other.figure) == (&one.levels, &one.figure))?;
        Some(Change {
            levels: one.levels.clone(),
            figure: one.figure.clone(),
            comparison: Comparison::unpaired(&one.figures, &other.figures, level),
            old: one.figures.clone(),
            new: other.figures.clone(),
            verdict: Verdict::Undecided,
        })
    };
    let mut changes: Vec<Change> = before.iter().filter_map(change).collect();
    let family: Vec<Result<Comparison, Error>> = changes.iter().map(|change| change.comparison).collect();
    for (change, verdict) in changes.iter_mut().zip(judge(&family, margin, level)) {
        change.verdict = verdict;
    }
    changes
}

/// A figure at one combination of levels, once for each start.
pub(super) struct Starts {
    pub(super) levels: Levels,
    pub(super) figure: String,
    pub(super) figures: Vec<f64>,
}

/// The starts of all combinations that measure, in the order of the design.
pub(super) fn starts(RunPasses { run, passes }: RunPasses<'_>) -> Vec<Starts> {
    let passes = Passes::new(run, passes);
    let measured = passes.groups().filter(|(levels, _)| !run.design.is_computed(levels));
    let of_levels = |(levels, _): (&Levels, _)| -> Vec<Starts> {
        let judged = run.design.figures.iter().filter(|kind| kind.better != Better::Neither);
        let starts = judged.map(|kind| {
            let by_round = passes.figures(levels, &kind.name);
            let start =
                |of_round: &BTreeMap<&str, Found>| geometric_mean(&of_round.values().copied().collect::<Vec<Found>>());
            let figures = by_round.values().map(start).collect();
            Starts { levels: levels.clone(), figure: kind.name.clone(), figures }
        });
        starts.filter(|starts| !starts.figures.is_empty()).collect()
    };
    measured.flat_map(of_levels).collect()
}
