use std::collections::BTreeMap;

use super::passes::Passes;
use super::{Cell, Results, Row, rings};
use crate::dip::chance_of_dip;
use crate::family::holm;
use crate::record::{Levels, Precision, Run};
use crate::{Correlation, Samples, Verdict, dip, rank_correlation};

/// The minimum number of passes to judge drift and peaks.
const MIN_PASSES: usize = 6;

/// A reason to doubt a run's figures. Warnings that are found by tests are corrected for the number of tests of their
/// kind. So in a faultless run, each kind appears with the error probability of the level.
#[derive(Debug, Clone, PartialEq)]
pub enum Warning {
    /// The control differs from its original.
    Control {
        /// Which of [`Results::controls`].
        index: usize,
    },
    /// The ratios are less precise than requested.
    Imprecise {
        /// How well.
        wanted: Precision,
        /// The widest interval, if there is one.
        widest: Option<f64>,
    },
    /// A figure rises or falls during the run.
    Drift {
        /// The figure.
        figure: String,
        /// The levels; `None` for all together.
        levels: Option<Levels>,
        /// Its rank correlation with the position.
        correlation: Correlation,
    },
    /// The ratios of a row are correlated with those of the round before, so their interval is too narrow.
    Resemblance {
        /// The levels of the row.
        levels: Levels,
        /// The figure.
        figure: String,
        /// The autocorrelation at lag 1.
        correlation: Correlation,
    },
    /// A figure has several peaks: passes measure different things, and the mean represents none of them.
    Peaks {
        /// The levels.
        levels: Levels,
        /// The figure; `None` for the latency of single operations.
        figure: Option<String>,
    },
    /// Rings of ratios that must be closed are not: the ratios are not from the same passes.
    Rings {
        /// The two factors.
        factors: [String; 2],
        /// How many rings are open.
        count: usize,
        /// The largest deviation of a product from 1.
        deviation: f64,
    },
    /// Passes failed.
    Failed {
        /// How many.
        passes: usize,
    },
    /// Passes count although they were disturbed, in their last try too.
    Disturbed {
        /// How many.
        passes: usize,
        /// How many count in all.
        of: usize,
    },
    /// Passes were disturbed and repeated.
    Repeated {
        /// How many.
        passes: usize,
    },
}

/// Figures with a smaller relative difference than this are equal but for rounding.
const ROUNDING: f64 = 1e-9;

/// All warnings of a run, the most important first.
pub(super) fn all(run: &Run, passes: &Passes<'_>, results: &Results) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let of_control = results.controls.iter().enumerate();
    warnings.extend(of_control.filter(|(_, row)| differs(row.verdict)).map(|(index, _)| Warning::Control { index }));
    if let Some(wanted) = run.precision {
        let widest = results.widest();
        if !wanted.is_reached(widest) {
            warnings.push(Warning::Imprecise { wanted, widest });
        }
    }
    let judged = judged_figures(run);
    let cells: Vec<&Cell> = results.cells.iter().filter(|cell| judged.contains(&cell.figure.as_str())).collect();
    warnings.extend(open_rings(run, results));
    warnings.extend(counts(passes, results));
    warnings.extend(drifts(results, &cells, &judged));
    warnings.extend(resemblances(results));
    warnings.extend(peaks(results, &cells));
    warnings
}

fn differs(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Higher | Verdict::Lower)
}

/// The figures of tables, on which claims are based.
fn judged_figures(run: &Run) -> Vec<&str> {
    let is_judged = |name: &str| run.design.tables.iter().any(|table| table.figure == name);
    run.design.figures.iter().map(|figure| figure.name.as_str()).filter(|name| is_judged(name)).collect()
}

/// The rings that are not closed, by their factors. A factor whose levels run in pairs closes none, because each ratio
/// has a pass of the reference of its own.
fn open_rings(run: &Run, results: &Results) -> Vec<Warning> {
    let mut open: BTreeMap<[String; 2], (usize, f64)> = BTreeMap::new();
    for ring in rings(results) {
        let must_close = ring.is_of_pairs && !ring.factors.contains(&run.design.contenders);
        if must_close && ring.deviation.abs() > ROUNDING {
            let (count, most) = open.entry(ring.factors).or_default();
            *count += 1;
            *most = most.max(ring.deviation.abs());
        }
    }
    open.into_iter().map(|(factors, (count, deviation))| Warning::Rings { factors, count, deviation }).collect()
}

/// Counts failed and repeated passes. Each combination has the same number for every figure.
fn counts(passes: &Passes<'_>, results: &Results) -> Vec<Warning> {
    let by_levels: BTreeMap<&Levels, &Cell> = results.cells.iter().map(|cell| (&cell.levels, cell)).collect();
    let failed = by_levels.values().map(|cell| cell.failures).sum();
    let all =
        || passes.groups().flat_map(|(_, group)| group).filter(|pass| !pass.is_repeated && pass.failure.is_none());
    let (of, disturbed) = (all().count(), all().filter(|pass| passes.is_disturbed(pass)).count());
    let repeated = by_levels.values().map(|cell| cell.repeated).sum();
    let failed = (failed > 0).then_some(Warning::Failed { passes: failed });
    let disturbed = (disturbed > 0).then_some(Warning::Disturbed { passes: disturbed, of });
    let repeated = (repeated > 0).then_some(Warning::Repeated { passes: repeated });
    [failed, disturbed, repeated].into_iter().flatten().collect()
}

fn drifts(results: &Results, cells: &[&Cell], figures: &[&str]) -> Vec<Warning> {
    let parts: Vec<(&Cell, Option<Correlation>)> =
        cells.iter().map(|cell| (*cell, trend(&course(cell).collect::<Vec<_>>()))).collect();
    let strength = |part: &(&Cell, Option<Correlation>)| part.1.map_or(0.0, |correlation| correlation.value.abs());
    let whole = figures.iter().filter_map(|figure| {
        let mut of_figure: Vec<_> = parts.iter().filter(|(cell, _)| cell.figure == *figure).copied().collect();
        of_figure.sort_by(|one, other| strength(one).total_cmp(&strength(other)));
        // One part that drifts by itself is no drift of the whole run.
        of_figure.pop();
        let points: Vec<(f64, f64)> = of_figure.into_iter().flat_map(|(cell, _)| course(cell)).collect();
        Some(((*figure).to_owned(), None, trend(&points)?))
    });
    let alone = parts
        .iter()
        .filter_map(|(cell, correlation)| Some((cell.figure.clone(), Some(cell.levels.clone()), (*correlation)?)));
    let found: Vec<(String, Option<Levels>, Correlation)> = whole.chain(alone).collect();
    let is_sure = significant(results, found.iter().map(|(_, _, correlation)| correlation.chance).collect());
    let sure: Vec<_> = found.into_iter().zip(is_sure).filter(|(_, is_sure)| *is_sure).map(|(found, _)| found).collect();
    // A drift of the whole run is one warning, not one for each part.
    let is_whole = |name: &str| sure.iter().any(|(figure, levels, _)| figure == name && levels.is_none());
    let told = sure.iter().filter(|(figure, levels, _)| levels.is_none() || !is_whole(figure)).cloned();
    told.map(|(figure, levels, correlation)| Warning::Drift { figure, levels, correlation }).collect()
}

/// The position and the figure of each pass as standardized distances from the cell's mean, so that cells can be
/// combined.
fn course(cell: &Cell) -> impl Iterator<Item = (f64, f64)> {
    varying(cell).into_iter().flat_map(|samples| {
        let (mean, deviation) = (samples.mean(), samples.stdev());
        let figures = samples.measured().iter().map(move |figure| (figure - mean) / deviation);
        cell.positions.iter().map(|position| f64::from(*position)).zip(figures)
    })
}

/// The figures of a cell, if they differ by more than rounding.
fn varying(cell: &Cell) -> Option<&Samples> {
    cell.samples.as_ref().ok().filter(|samples| samples.stdev() > ROUNDING * samples.mean().abs())
}

fn trend(points: &[(f64, f64)]) -> Option<Correlation> {
    let (positions, figures): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
    (points.len() >= MIN_PASSES).then(|| rank_correlation(&positions, &figures)).flatten()
}

fn resemblances(results: &Results) -> Vec<Warning> {
    let varies = |row: &&Row| row.measured().is_some_and(|found| found.half_width() > ROUNDING);
    let rows = || results.tables.iter().flatten().filter(varies).filter_map(|row| Some((row, row.resemblance?)));
    let is_sure = significant(results, rows().map(|(_, correlation)| correlation.chance).collect());
    let sure = rows().zip(is_sure).filter(|(_, is_sure)| *is_sure);
    sure.map(|((row, correlation), _)| Warning::Resemblance {
        levels: row.levels.clone(),
        figure: row.figure.clone(),
        correlation,
    })
    .collect()
}

fn peaks(results: &Results, cells: &[&Cell]) -> Vec<Warning> {
    let judged: Vec<(&Cell, &Samples)> = cells
        .iter()
        .filter_map(|cell| Some((*cell, varying(cell)?)))
        .filter(|(_, samples)| samples.count() >= MIN_PASSES)
        .collect();
    let found = judged.iter().map(|(_, samples)| chance_of_dip(dip(samples), samples.count())).collect();
    let sure = judged.iter().zip(significant(results, found)).filter(|(_, is_sure)| *is_sure);
    let of_passes =
        sure.map(|((cell, _), _)| Warning::Peaks { levels: cell.levels.clone(), figure: Some(cell.figure.clone()) });
    let with_peaks = results.latencies.iter().filter(|curve| curve.has_peaks);
    let of_latencies = with_peaks.map(|curve| Warning::Peaks { levels: curve.levels.clone(), figure: None });
    of_passes.chain(of_latencies).collect()
}

/// Whether each probability is small enough, corrected for their number.
fn significant(results: &Results, chances: Vec<f64>) -> impl Iterator<Item = bool> {
    let miss = results.level.miss();
    holm(&chances).into_iter().map(move |chance| chance <= miss)
}
