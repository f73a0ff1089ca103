//! Analyses a run: computes summaries, comparisons, verdicts and warnings from its head and its passes.

mod agreement;
mod cells;
mod change;
mod gated;
mod goals;
mod history;
mod latency;
mod pairing;
mod passes;
mod ring;
mod rows;
mod warnings;

use crate::record::{Measurement, Run};
use crate::{Level, Margin, Samples, Verdict};

pub use agreement::Agreement;
pub use cells::Cell;
pub use change::{Change, RunPasses, changes};
pub use gated::{FigureLimit, Gated, gated_changes};
pub use goals::{Aim, Reached};
pub use history::{PastChange, PastSeries, SeriesKey, history, machine_difference, past_run};
pub use latency::LatencyCurve;
pub use ring::{Ring, rings};
pub use rows::{Row, ratios};
pub use warnings::Warning;

use passes::Passes;

/// What a run found.
#[derive(Debug, Clone, PartialEq)]
pub struct Results {
    /// The confidence level of every interval and verdict.
    pub level: Level,
    /// Differences up to this margin count as equal.
    pub margin: Margin,
    /// Each figure at each combination of levels, in the order of the design.
    pub cells: Vec<Cell>,
    /// The rows of each table of the design.
    pub tables: Vec<Vec<Row>>,
    /// The control compared with its original, for each figure of a table and each combination of the other factors.
    pub controls: Vec<Row>,
    /// The goals of the design, and whether they are reached.
    pub goals: Vec<Aim>,
    /// The latencies of operations at each combination of levels that has them.
    pub latencies: Vec<LatencyCurve>,
    /// Reasons to doubt these figures.
    pub warnings: Vec<Warning>,
}

/// Analyses a run. Whatever cannot be computed contains the reason.
///
/// The verdicts of all rows of all tables are corrected for their number together: at [`Results::level`], none of them
/// falsely claims a difference. So are those of the controls, which make no claim but check the experiment.
pub fn analyse(run: &Run, measurements: &[Measurement], margin: Margin) -> Results {
    let level = run.precision.and_then(|wanted| Level::new(wanted.level).ok()).unwrap_or(Level::P95);
    let passes = Passes::new(run, measurements);
    let mut results = Results {
        level,
        margin,
        cells: cells::all(&run.design, &passes),
        tables: rows::tables(run, &passes, margin, level),
        controls: rows::controls(run, &passes, margin, level),
        goals: Vec::new(),
        latencies: latency::all(&passes),
        warnings: Vec::new(),
    };
    results.warnings = warnings::all(run, &passes, &results);
    results.goals = goals::all(run, &passes, &results);
    results
}

/// The smallest differences that a run of some rounds finds, as ratios above 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Detectable {
    /// Of the row in the middle.
    pub median: f64,
    /// Of the row whose pairs differ most.
    pub most: f64,
}

impl Results {
    /// What so many rounds detect ([`detectable`](crate::detectable)) if pairs differ as they did so far; none while
    /// no row has three pairs.
    pub fn detectable(&self, rounds: usize) -> Option<Detectable> {
        let rows = || self.tables.iter().flatten().filter(|row| row.verdict != Verdict::Computed);
        let found = rows().filter_map(|row| crate::detectable(rounds, row.deviation?, rows().count(), self.level));
        let found = Samples::new(found.collect()).ok()?;
        Some(Detectable { median: found.median(), most: found.sorted()[found.count() - 1] })
    }

    /// The greatest half-width of all ratios in tables; that of computed ones is 0. None if one of them has too few
    /// pairs, or there are none.
    pub fn widest(&self) -> Option<f64> {
        let width = |row: &Row| match row.verdict {
            Verdict::Computed => Some(0.0),
            _ => row.comparison.ok().map(|found| found.half_width()),
        };
        let widths: Option<Vec<f64>> = self.tables.iter().flatten().map(width).collect();
        widths?.into_iter().reduce(f64::max)
    }
}
