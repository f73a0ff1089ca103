//! What a run found: from its head and its passes to summaries, comparisons, verdicts and warnings.

mod agreement;
mod cells;
mod change;
mod latency;
mod passes;
mod ring;
mod rows;
mod warnings;

use crate::record::{Measurement, Run};
use crate::{Level, Margin};

pub use agreement::Agreement;
pub use cells::Cell;
pub use change::{Change, changes};
pub use latency::LatencyCurve;
pub use ring::{Ring, rings};
pub use rows::Row;
pub use warnings::Warning;

use passes::Passes;

/// What a run found.
#[derive(Debug, Clone, PartialEq)]
pub struct Results {
    /// How sure every interval and every verdict is.
    pub level: Level,
    /// Up to which difference two ways count as equal.
    pub margin: Margin,
    /// Each figure at each combination of levels, in the order of the design.
    pub cells: Vec<Cell>,
    /// The rows of each table of the design.
    pub tables: Vec<Vec<Row>>,
    /// The control against what it copies, for each figure of a table and each combination of the other factors.
    pub controls: Vec<Row>,
    /// The latency of operations at each combination of levels that has one.
    pub latencies: Vec<LatencyCurve>,
    /// What speaks against believing these figures.
    pub warnings: Vec<Warning>,
}

/// Works out what a run found. What cannot be computed says why in its own place.
///
/// Verdicts of all rows of all tables are corrected for their number together, so that at [`Results::level`] not one of them
/// falsely claims a difference. So are those of the controls, which make no claim but check the experiment.
pub fn analyse(run: &Run, measurements: &[Measurement], margin: Margin) -> Results {
    let level = run.precision.and_then(|wanted| Level::new(wanted.level).ok()).unwrap_or(Level::P95);
    let passes = Passes::new(&run.design, measurements);
    let mut results = Results {
        level,
        margin,
        cells: cells::all(&run.design, &passes),
        tables: rows::tables(run, &passes, margin, level),
        controls: rows::controls(run, &passes, margin, level),
        latencies: latency::all(&passes),
        warnings: Vec::new(),
    };
    results.warnings = warnings::all(run, &results);
    results
}

impl Results {
    /// The greatest half-width of all ratios in tables; none while one of them has no ratio, or there are none.
    pub fn widest(&self) -> Option<f64> {
        let rows = self.tables.iter().flatten();
        let widths: Option<Vec<f64>> = rows.map(|row| row.comparison.ok().map(|found| found.half_width())).collect();
        widths?.into_iter().reduce(f64::max)
    }
}
