use measure::analysis::{Change, RunPasses, changes};
use measure::record::{Measurement, Run};
use measure::{Level, Samples};

use super::{printable, words};
use crate::table::{Column, Table};

/// What changed between runs, as `benchstat` shows it: old, new, difference and probability.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    parts: Vec<(String, Vec<String>, Table)>,
}

/// Compares the first of several runs with each of the others: all figures of which more or less is better. A
/// difference is shown only where it is sure beside all others of the two runs.
pub fn compare(runs: &[(Run, Vec<Measurement>)]) -> Compared {
    let Some(((old, old_passes), later)) = runs.split_first() else { return Compared { parts: Vec::new() } };
    let part = |(new, new_passes): &(Run, Vec<Measurement>)| {
        let title = format!(
            "{} of {} against {} of {}",
            new.design.name,
            words::moment(new.began_ms),
            old.design.name,
            words::moment(old.began_ms)
        );
        let found =
            changes(RunPasses { run: old, passes: old_passes }, RunPasses { run: new, passes: new_passes }, Level::P95);
        (title, differences(old, new), table(old, &found))
    };
    Compared { parts: later.iter().map(part).collect() }
}

impl Compared {
    /// Shows it for a terminal.
    pub fn to_text(&self) -> String {
        let part = |(title, differences, table): &(String, Vec<String>, Table)| {
            let differences: String = differences.iter().map(|line| format!("! {}\n", printable(line))).collect();
            format!("{}\n{differences}{}", printable(title), table.to_text())
        };
        self.parts.iter().map(part).collect::<Vec<String>>().join("\n")
    }

    /// Shows it in Markdown.
    pub fn to_markdown(&self) -> String {
        let part = |(title, differences, table): &(String, Vec<String>, Table)| {
            let differences: String = differences.iter().map(|line| format!("- {}\n", super::plain(line))).collect();
            format!("## {}\n\n{differences}\n{}", super::plain(title), table.to_markdown())
        };
        self.parts.iter().map(part).collect::<Vec<String>>().join("\n")
    }

    /// Shows it as comma-separated values, one table after the other.
    pub fn to_csv(&self) -> String {
        self.parts.iter().map(|(_, _, table)| table.to_csv()).collect()
    }
}

/// What the runs did not have in common: a difference of their figures may be one of these.
fn differences(old: &Run, new: &Run) -> Vec<String> {
    let mut found = Vec::new();
    let mut note = |what: &str, old: &str, new: &str| {
        if old != new {
            found.push(format!("{what} differs: {} → {}", shown(old), shown(new)));
        }
    };
    note("experiment", &old.design.name, &new.design.name);
    note("version", &old.version, &new.version);
    note("processor", &old.machine.processor, &new.machine.processor);
    note("number of processors", &old.machine.processors.to_string(), &new.machine.processors.to_string());
    note("kernel", &old.machine.kernel, &new.machine.kernel);
    let setting = |run: &Run, name: &str| run.settings.get(name).cloned().unwrap_or_default();
    let added = new.settings.keys().filter(|name| !old.settings.contains_key(*name));
    for name in old.settings.keys().chain(added) {
        note(&format!("setting {name}"), &setting(old, name), &setting(new, name));
    }
    found
}

fn shown(value: &str) -> &str {
    if value.is_empty() { "none" } else { value }
}

fn table(run: &Run, changes: &[Change]) -> Table {
    let factors = run.design.factors.iter().map(|factor| Column::text(&factor.name));
    let heads = ["old", "new", "change %", "p"].map(Column::number);
    let mut table = Table::new(factors.chain([Column::text("figure")]).chain(heads).chain([Column::text("n")]));
    for change in changes {
        let level = |name: &str| change.levels.get(name).cloned().unwrap_or_default();
        let mut cells: Vec<String> = run.design.factors.iter().map(|factor| level(&factor.name)).collect();
        let difference = match (change.is_sure, change.ratio()) {
            (false, _) => "~".to_owned(),
            (true, ratio) => ratio.map_or(words::NONE.to_owned(), words::percent),
        };
        cells.push(words::with_unit(&run.design, &change.figure));
        cells.extend([spread(&change.old), spread(&change.new), difference, words::chance(change.chance)]);
        cells.push(format!("{} + {}", change.old.count(), change.new.count()));
        table.push(cells);
    }
    table
}

/// A median, and how far the farther end of its interval is from it in percent.
fn spread(samples: &Samples) -> String {
    let median = samples.median();
    let ends = samples.median_interval(Level::P95).map(|found| found.interval);
    let farthest = ends.map(|ends| (ends.high - median).max(median - ends.low) / median.abs() * 100.0);
    match farthest {
        Ok(percent) if percent.is_finite() => format!("{} ± {percent:.0} %", words::figure(median)),
        _ => format!("{} ± ∞", words::figure(median)),
    }
}
