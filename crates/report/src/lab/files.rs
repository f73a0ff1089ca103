//! Results for programs: CSV and JSON.

use measure::analysis::{Agreement, Aim, Results, Row};
use measure::record::{BeforeAfter, DocumentRatio, Goal, Levels, Percentile, Run};
use measure::{Correlation, Estimate};
use serde::Serialize;

use super::words;
use crate::table::{Column, Table};

/// All ratios as CSV: one line each, controls at the end; figures with all their digits, empty where there are none.
pub fn results_csv(run: &Run, results: &Results) -> String {
    let factors = run.design.factors.iter().map(|factor| Column::text(&factor.name));
    let heads = [
        "table",
        "figure",
        "unit",
        "factor",
        "baseline",
        "baseline median",
        "median",
        "ratio",
        "low",
        "high",
        "n",
        "disturbed",
        "verdict",
        "ratio of means",
        "bootstrap low",
        "bootstrap high",
        "p of ranks",
        "document ratio",
        "agreement",
        "error",
    ];
    let mut csv = Table::new(factors.chain(heads.map(Column::text)));
    let titles = run.design.tables.iter().map(|table| table.title.as_str());
    for (title, rows) in titles.zip(&results.tables).chain([("control", &results.controls)]) {
        for row in rows {
            let level = |name: &String| row.levels.get(name).cloned().unwrap_or_default();
            let levels = run.design.factors.iter().map(|factor| level(&factor.name));
            csv.push(levels.chain(csv_cells(run, title, row)));
        }
    }
    csv.to_csv()
}

fn csv_cells(run: &Run, title: &str, row: &Row) -> [String; 20] {
    let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    let (found, means) = (row.measured(), row.means);
    let unit = words::kind(&run.design, &row.figure).map_or(String::new(), |kind| kind.unit.clone());
    [
        title.to_owned(),
        row.figure.clone(),
        unit,
        row.factor.clone(),
        row.baseline.clone(),
        number(row.medians.map(|medians| medians.before)),
        number(row.medians.map(|medians| medians.after)),
        number(row.ratio()),
        number(found.map(|found| found.ratio.interval.low)),
        number(found.map(|found| found.ratio.interval.high)),
        found.map_or(String::new(), |found| found.pairs.to_string()),
        row.disturbed.to_string(),
        row.verdict.to_string(),
        number(means.map(|means| means.value)),
        number(means.map(|means| means.interval.low)),
        number(means.map(|means| means.interval.high)),
        number(row.rank_chance),
        number(row.document.as_ref().map(DocumentRatio::ratio)),
        row.agreement.map_or("", name).to_owned(),
        row.comparison.as_ref().err().map_or(String::new(), ToString::to_string),
    ]
}

/// What programs know an agreement by.
fn name(agreement: Agreement) -> &'static str {
    match agreement {
        Agreement::Inside => "inside",
        Agreement::Outside => "outside",
        Agreement::TooWide => "too wide",
        Agreement::NotCompared => "not compared",
    }
}

/// All results as JSON, with the head of the run.
///
/// # Errors
/// None but those of [`serde_json`].
pub fn results_json(run: &Run, results: &Results) -> serde_json::Result<String> {
    let rows = |rows: &[Row]| rows.iter().map(row_fields).collect();
    let tables = run.design.tables.iter().zip(&results.tables);
    let cells = results.cells.iter().map(|cell| {
        let samples = cell.samples.as_ref().ok();
        let interval = samples.and_then(|samples| samples.median_interval(results.level).ok());
        CellFields {
            levels: cell.levels.clone(),
            figure: cell.figure.clone(),
            n: samples.map_or(0, measure::Samples::count),
            median: samples.map(measure::Samples::median),
            median_interval: interval.map(|found| [found.interval.low, found.interval.high]),
            mean: samples.map(measure::Samples::mean),
            outlier_positions: samples.map_or(Vec::new(), |samples| {
                samples.outliers().iter().map(|outlier| cell.positions[outlier.index]).collect()
            }),
            failures: cell.failures,
            repeated: cell.repeated,
            disturbed: cell.disturbed,
        }
    });
    let latency = results.latencies.iter().map(|curve| LatencyFields {
        levels: curve.levels.clone(),
        passes: curve.passes,
        percentiles: curve.percentiles.clone(),
        has_peaks: curve.has_peaks,
    });
    crate::to_json(&ResultFields {
        run,
        level: results.level.get(),
        margin: results.margin.get(),
        tables: tables.map(|(table, found)| TableFields { title: table.title.clone(), rows: rows(found) }).collect(),
        controls: rows(&results.controls),
        goals: results.goals.iter().map(goal_fields).collect(),
        cells: cells.collect(),
        latency: latency.collect(),
        warnings: results.warnings.iter().map(|warning| words::warning(run, results, warning)).collect(),
    })
}

#[derive(Serialize)]
struct ResultFields<'a> {
    run: &'a Run,
    level: f64,
    margin: f64,
    tables: Vec<TableFields>,
    controls: Vec<RowFields>,
    goals: Vec<GoalFields>,
    cells: Vec<CellFields>,
    latency: Vec<LatencyFields>,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct TableFields {
    title: String,
    rows: Vec<RowFields>,
}

#[derive(Serialize)]
struct GoalFields {
    #[serde(flatten)]
    goal: Goal,
    found: Option<EstimateFields>,
    n: Option<usize>,
    disturbed: usize,
    reached: String,
    error: Option<String>,
}

#[derive(Serialize)]
struct RowFields {
    levels: Levels,
    figure: String,
    factor: String,
    baseline: String,
    medians: Option<BeforeAfter>,
    ratio: Option<EstimateFields>,
    half_width: Option<f64>,
    n: Option<usize>,
    disturbed: usize,
    verdict: String,
    error: Option<String>,
    ratio_of_means: Option<EstimateFields>,
    p_of_ranks: Option<f64>,
    autocorrelation: Option<f64>,
    document: Option<DocumentRatio>,
    agreement: Option<&'static str>,
}

#[derive(Serialize)]
struct EstimateFields {
    value: f64,
    low: f64,
    high: f64,
}

#[derive(Serialize)]
struct CellFields {
    levels: Levels,
    figure: String,
    n: usize,
    median: Option<f64>,
    median_interval: Option<[f64; 2]>,
    mean: Option<f64>,
    outlier_positions: Vec<u32>,
    failures: usize,
    repeated: usize,
    disturbed: usize,
}

#[derive(Serialize)]
struct LatencyFields {
    levels: Levels,
    passes: usize,
    percentiles: Vec<Percentile>,
    has_peaks: bool,
}

fn estimate(of: Estimate) -> EstimateFields {
    EstimateFields { value: of.value, low: of.interval.low, high: of.interval.high }
}

fn goal_fields(aim: &Aim) -> GoalFields {
    let found = aim.comparison.as_ref().ok();
    GoalFields {
        goal: aim.goal.clone(),
        found: found.map(|found| estimate(found.ratio)),
        n: found.map(|found| found.pairs),
        disturbed: aim.disturbed,
        reached: aim.reached.to_string(),
        error: aim.comparison.as_ref().err().map(ToString::to_string),
    }
}

fn row_fields(row: &Row) -> RowFields {
    let found = row.measured();
    RowFields {
        levels: row.levels.clone(),
        figure: row.figure.clone(),
        factor: row.factor.clone(),
        baseline: row.baseline.clone(),
        medians: row.medians,
        ratio: found.map(|found| estimate(found.ratio)),
        half_width: found.map(|found| found.half_width()),
        n: found.map(|found| found.pairs),
        disturbed: row.disturbed,
        verdict: row.verdict.to_string(),
        error: row.comparison.as_ref().err().map(ToString::to_string),
        ratio_of_means: row.means.map(estimate),
        p_of_ranks: row.rank_chance,
        autocorrelation: row.resemblance.map(|Correlation { value, .. }| value),
        document: row.document.clone(),
        agreement: row.agreement.map(name),
    }
}
