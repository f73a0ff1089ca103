//! What changed over a history of runs.

use measure::analysis::{PastChange, PastSeries};
use measure::record::{Levels, PastRun};
use measure::{Level, fewest_for_change};
use serde::Serialize;

use super::words;
use crate::table::{Column, Table};

/// The changes of all series, in the order of runs, for a terminal.
pub fn history_text(runs: &[PastRun], all: &[PastSeries]) -> String {
    let mut changes: Vec<(&PastSeries, &PastChange)> =
        all.iter().flat_map(|series| series.changes.iter().map(move |change| (series, change))).collect();
    changes.sort_by_key(|(_, change)| change.run);
    let longest = all.iter().map(|series| series.medians.len()).max().unwrap_or(0);
    let of = format!("{} of {}", words::count(all.len(), "series", "series"), words::count(runs.len(), "run", "runs"));
    if changes.is_empty() {
        let fewest = fewest_for_change(all.len(), Level::P95);
        let hint =
            format!("; the longest has {longest}, and at least {fewest} can show one: choose figures, or run more");
        return format!("no change in {of}{}\n", if longest < fewest { &hint } else { "" });
    }
    let heads = ["run", "earlier run", "began", "experiment", "levels", "figure"].map(Column::text);
    let mut table = Table::new(heads.into_iter().chain(["before", "after", "change %", "p"].map(Column::number)));
    for (series, change) in &changes {
        let place = [&runs[change.run].label, &runs[change.earlier_run].label].map(|label| super::printable(label));
        let texts = [
            words::moment(runs[change.run].began_ms),
            super::printable(&series.key.experiment),
            super::printable(&named(&series.key.levels)),
            super::printable(&series.key.figure),
            words::figure(change.before),
            words::figure(change.after),
            words::percent(change.after / change.before),
            words::chance(change.chance),
        ];
        table.push(place.into_iter().chain(texts));
    }
    format!("{} in {of}\n{}", words::count(changes.len(), "change", "changes"), table.to_text())
}

/// The same for programs.
///
/// # Errors
/// None but those of [`serde_json`].
pub fn history_json(runs: &[PastRun], all: &[PastSeries]) -> serde_json::Result<String> {
    let change = |change: &PastChange| ChangeFields {
        label: runs[change.run].label.clone(),
        earlier_label: runs[change.earlier_run].label.clone(),
        run: change.run,
        before: change.before,
        after: change.after,
        p: change.chance,
    };
    let series = all.iter().map(|series| SeriesFields {
        experiment: series.key.experiment.clone(),
        levels: series.key.levels.clone(),
        figure: series.key.figure.clone(),
        unit: series.key.unit.clone(),
        runs: series.medians.iter().map(|(run, _)| *run).collect(),
        medians: series.medians.iter().map(|(_, median)| *median).collect(),
        changes: series.changes.iter().map(change).collect(),
    });
    crate::to_json(&HistoryFields {
        labels: runs.iter().map(|run| run.label.clone()).collect(),
        series: series.collect(),
    })
}

#[derive(Serialize)]
struct HistoryFields {
    labels: Vec<String>,
    series: Vec<SeriesFields>,
}

#[derive(Serialize)]
struct SeriesFields {
    experiment: String,
    levels: Levels,
    figure: String,
    unit: String,
    runs: Vec<usize>,
    medians: Vec<f64>,
    changes: Vec<ChangeFields>,
}

#[derive(Serialize)]
struct ChangeFields {
    label: String,
    earlier_label: String,
    run: usize,
    before: f64,
    after: f64,
    p: f64,
}

fn named(levels: &Levels) -> String {
    levels.values().cloned().collect::<Vec<_>>().join(words::BETWEEN_LEVELS)
}
