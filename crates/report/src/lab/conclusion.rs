//! What a run found, in sentences.

use measure::Verdict;
use measure::analysis::{Cell, Results, Row};
use measure::record::{Better, Design, Run, TableKind};

use super::words;

/// The most figures that a sentence lists.
const MAX_LISTED: usize = 8;

/// A sentence for each table and each candidate in it.
pub(super) fn sentences(run: &Run, results: &Results) -> Vec<String> {
    let tables = run.design.tables.iter().zip(&results.tables);
    tables.flat_map(|(table, rows)| of_table(run, results, table, rows)).collect()
}

fn of_table(run: &Run, results: &Results, table: &TableKind, rows: &[Row]) -> Vec<String> {
    let mut candidates: Vec<(&str, Vec<&Row>)> = Vec::new();
    for row in rows {
        match candidates.iter_mut().find(|(name, _)| *name == row.candidate()) {
            Some((_, rows)) => rows.push(row),
            None => candidates.push((row.candidate(), vec![row])),
        }
    }
    if candidates.is_empty() {
        return alone(run, results, table).into_iter().collect();
    }
    let factors = words::varying_factors(&run.design, &table.factor, rows);
    let sentence = |(candidate, rows): (&str, Vec<&Row>)| {
        let found = match *rows {
            [row] => one(&run.design, row, results),
            _ => several(&run.design, &rows, &factors, results),
        };
        format!("{}: {} of “{candidate}” against “{}” is {found}.", table.title, table.figure, table.baseline)
    };
    candidates.into_iter().map(sentence).collect()
}

fn one(design: &Design, row: &Row, results: &Results) -> String {
    let judged = verdict(design, row, results);
    row.measured().map_or(judged.clone(), |found| format!("{judged}, {} %", words::percent_estimate(found.ratio)))
}

/// The verdicts of rows, how often each was found, and its ratios. A verdict of one row names its levels.
fn several(design: &Design, rows: &[&Row], factors: &[&str], results: &Results) -> String {
    let mut verdicts: Vec<(String, Vec<&Row>)> = Vec::new();
    for row in rows {
        let judged = verdict(design, row, results);
        match verdicts.iter_mut().find(|(one, _)| *one == judged) {
            Some((_, rows)) => rows.push(row),
            None => verdicts.push((judged, vec![row])),
        }
    }
    let part = |(judged, found): (String, Vec<&Row>)| {
        let place = match *found {
            [row] => format!("at {}", words::named_levels(&row.levels, factors)),
            _ => format!("in {} of {} rows", found.len(), rows.len()),
        };
        format!("{judged} {place}{}", ratios(&found))
    };
    verdicts.into_iter().map(part).collect::<Vec<String>>().join(", ")
}

/// The least and the greatest ratio, in brackets.
fn ratios(rows: &[&Row]) -> String {
    let all = || rows.iter().filter_map(|row| row.ratio());
    let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    match all().count() {
        0 => String::new(),
        1 => format!(" ({} %)", words::percent(low)),
        _ => format!(" ({} … {} %)", words::percent(low), words::percent(high)),
    }
}

/// A verdict, and whether that is better.
fn verdict(design: &Design, row: &Row, results: &Results) -> String {
    let judged = words::verdict(row, results.margin);
    let better = words::kind(design, &row.figure).map(|kind| kind.better);
    match (row.verdict, better) {
        (Verdict::Higher, Some(Better::Higher)) | (Verdict::Lower, Some(Better::Lower)) => judged + " (better)",
        (Verdict::Higher, Some(Better::Lower)) | (Verdict::Lower, Some(Better::Higher)) => judged + " (worse)",
        _ => judged,
    }
}

/// The figures of a table whose baseline had nobody to be compared with.
fn alone(run: &Run, results: &Results, table: &TableKind) -> Option<String> {
    let is_of_table = |cell: &&Cell| {
        let is_in = table.only.iter().all(|(factor, level)| cell.levels.get(factor) == Some(level));
        cell.figure == table.figure && is_in && cell.levels.get(&table.factor) == Some(&table.baseline)
    };
    let others: Vec<&str> = run.design.factors.iter().map(|factor| factor.name.as_str()).collect();
    let others: Vec<&str> = others.into_iter().filter(|name| *name != table.factor).collect();
    let cells = results.cells.iter().filter(is_of_table);
    let shown = |cell: &Cell| {
        let median = words::figure(cell.samples.as_ref().ok()?.median());
        Some(format!("{median} at {}", words::named_levels(&cell.levels, &others)))
    };
    let all: Vec<String> = cells.filter_map(shown).collect();
    let more = match all.len().saturating_sub(MAX_LISTED) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    (!all.is_empty()).then(|| {
        let figure = words::with_unit(&run.design, &table.figure);
        let listed = all.iter().take(MAX_LISTED).cloned().collect::<Vec<String>>().join(", ");
        format!("{}: nothing ran beside “{}”, whose median of {figure} is {listed}{more}.", table.title, table.baseline)
    })
}
