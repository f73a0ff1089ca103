use measure::analysis::{Change, RunPasses, changes};
use measure::record::{Measurement, Run};
use measure::{Level, Margin, Samples};

use super::{printable, words};
use crate::table::{Column, Table};

/// Differences up to this margin count as equal.
const MARGIN: Margin = Margin::TWO_PERCENT;
const LEVEL: Level = Level::P95;
/// What no test can rule out.
const NOT_INTERLEAVED: &str = "the runs did not take turns: whatever else changed on the machine between them is in every \
                               difference";

/// What changed between runs: old, new, difference, interval and verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    parts: Vec<(String, Vec<String>, Table)>,
}

/// Compares the first of several runs with each of the others: all figures of which more or less is better. Verdicts
/// are corrected for the number of figures of the two runs.
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
        let found = changes(
            RunPasses { run: old, passes: old_passes },
            RunPasses { run: new, passes: new_passes },
            MARGIN,
            LEVEL,
        );
        let mut remarks = differences(old, new);
        remarks.push(NOT_INTERLEAVED.to_owned());
        (title, remarks, table(old, &found))
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
    let heads = ["old", "new", "change %", "interval", "± %"].map(Column::number);
    let ends = [Column::text("verdict"), Column::text("starts")];
    let mut table = Table::new(factors.chain([Column::text("figure")]).chain(heads).chain(ends));
    for change in changes {
        let level = |name: &str| change.levels.get(name).cloned().unwrap_or_default();
        let mut cells: Vec<String> = run.design.factors.iter().map(|factor| level(&factor.name)).collect();
        let found = change.comparison.as_ref().ok();
        let or_none = |text: Option<String>| text.unwrap_or_else(|| words::NONE.to_owned());
        cells.push(words::with_unit(&run.design, &change.figure));
        cells.extend([&change.old, &change.new].map(|figures| median(figures)));
        cells.push(or_none(found.map(|found| words::percent(found.ratio.value))));
        cells.push(or_none(found.map(|found| words::percent_interval(found.ratio.interval))));
        cells.push(or_none(found.map(|found| format!("{:.1}", found.half_width() * 100.0))));
        cells.push(words::judged(&change.comparison, change.verdict, MARGIN));
        cells.push(format!("{} + {}", change.old.len(), change.new.len()));
        table.push(cells);
    }
    table
}

fn median(figures: &[f64]) -> String {
    Samples::new(figures.to_vec()).map_or(words::NONE.to_owned(), |samples| words::figure(samples.median()))
}
