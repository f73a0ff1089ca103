use measure::analysis::{Change, RunPasses, changes};
use measure::record::{Measurement, Run};
use measure::{Level, Margin, Samples, Verdict};

use super::chart::{Chart, Head, Series};
use super::forest::{self, Group, Point};
use super::{Block, Report, Section, words};
use crate::chart::ChartError;
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
    report: Report,
    tables: Vec<Table>,
}

/// Compares the first of several runs with each of the others: all figures of which more or less is better. Verdicts
/// are corrected for the number of figures of the two runs.
///
/// # Errors
/// When a chart cannot be drawn.
pub fn compare(runs: &[(Run, Vec<Measurement>)]) -> Result<Compared, ChartError> {
    let (first, later) = runs.split_first().map_or((None, runs), |(first, later)| (Some(first), later));
    let name = first.map_or(String::new(), |(run, _)| run.design.name.clone());
    let report = Report { title: format!("{name}: changes"), lead: Vec::new(), sections: Vec::new() };
    let mut compared = Compared { report, tables: Vec::new() };
    for (number, new) in later.iter().enumerate() {
        let Some(old) = first else { continue };
        compared.add(number + 1, old, new)?;
    }
    Ok(compared)
}

impl Compared {
    fn add(
        &mut self,
        number: usize,
        (old, old_passes): &(Run, Vec<Measurement>),
        (new, new_passes): &(Run, Vec<Measurement>),
    ) -> Result<(), ChartError> {
        let (old_moment, new_moment) = (words::moment(old.began_ms), words::moment(new.began_ms));
        let title = format!("{} of {new_moment} against {} of {old_moment}", new.design.name, old.design.name);
        let found = changes(
            RunPasses { run: old, passes: old_passes },
            RunPasses { run: new, passes: new_passes },
            MARGIN,
            LEVEL,
        );
        let mut remarks = differences(old, new);
        remarks.push(NOT_INTERLEAVED.to_owned());
        let table = table(old, &found);
        self.tables.push(table.clone());
        let mut blocks = vec![Block::List(conclusion(&found)), Block::Warnings(remarks)];
        blocks.extend(chart(old, &found, format!("changes-{number}"))?.map(Block::Chart));
        blocks.push(Block::Table("All figures of which more or less is better".to_owned(), table));
        self.report.sections.push(Section { id: format!("run-{number}"), title, blocks });
        Ok(())
    }

    /// Shows it for a terminal.
    pub fn to_text(&self) -> String {
        self.report.to_text()
    }

    /// Shows it in Markdown, without charts.
    pub fn to_markdown(&self) -> String {
        let mut report = self.report.clone();
        let is_text = |block: &Block| !matches!(block, Block::Chart(_));
        report.sections.iter_mut().for_each(|section| section.blocks.retain(is_text));
        report.to_markdown()
    }

    /// Shows it as one page that needs no network.
    pub fn to_html(&self) -> String {
        self.report.to_html()
    }

    /// Shows it as comma-separated values, one table after the other.
    pub fn to_csv(&self) -> String {
        self.tables.iter().map(Table::to_csv).collect()
    }
}

/// How many figures changed, and which ones for sure.
fn conclusion(found: &[Change]) -> Vec<String> {
    let is_sure = |change: &&Change| matches!(change.verdict, Verdict::Higher | Verdict::Lower);
    let of = words::count(found.len(), "figure", "figures");
    let mut lines = vec![format!("{} of {of} changed for sure.", found.iter().filter(is_sure).count())];
    lines.extend(found.iter().filter(is_sure).filter_map(|change| {
        let ratio = change.comparison.as_ref().ok()?.ratio;
        let place = change.levels.values().cloned().collect::<Vec<_>>().join(words::BETWEEN_LEVELS);
        Some(format!("{} at {place} is {}, {} %.", change.figure, change.verdict, words::percent_estimate(ratio)))
    }));
    lines
}

/// The ratios of all figures to the earlier run.
fn chart(run: &Run, found: &[Change], id: String) -> Result<Option<Chart>, ChartError> {
    let group = |change: &Change| {
        let ratio = change.comparison.as_ref().ok()?.ratio;
        let name = format!("{} · {}", change.figure, words::levels(&run.design, &change.levels, ""));
        let basis = format!("{} + {} starts", change.old.len(), change.new.len());
        let series = Series { name: "new to old".to_owned(), sign: 0 };
        Some(Group { name, points: vec![Point { series, ratio, pairs: Vec::new(), basis, document: None }] })
    };
    let groups: Vec<Group> = found.iter().filter_map(group).collect();
    if groups.is_empty() {
        return Ok(None);
    }
    let level = words::shortest(LEVEL.get() * 100.0);
    let description = format!("Ratios of the later run's figures to the earlier one's, with intervals of {level} %.");
    forest::chart(Head { id, title: "Ratios to the earlier run".to_owned(), description }, &groups).map(Some)
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
