use std::io::Write;

use clap::Args;
use indicatif::HumanDuration;
use lab::engine::{Experiment, Schedule};
use lab::experiments;
use measure::Level;
use measure::record::{Design, FigureKind};
use report::{Column, Table, units};
use std::time::Duration;

use super::ConditionFlags;
use crate::failure::{BenchError, Failure};
use crate::output::Output;

/// How much the ratios of pairs deviate on a quiet machine, and on a busy one.
const STEADY: f64 = 0.02;
const NOISY: f64 = 0.1;

/// Which experiment.
#[derive(Debug, Args)]
pub struct Flags {
    /// Experiment of `wharf lab list`, or a .toml file that describes one.
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    conditions: ConditionFlags,
}

/// Under which conditions.
#[derive(Debug, Args)]
pub struct ListFlags {
    #[command(flatten)]
    conditions: ConditionFlags,
}

/// Shows all experiments, and what they take.
pub fn list(flags: &ListFlags) -> Result<(), Failure> {
    let heads = [
        Column::text("name"),
        Column::number("time"),
        Column::number("space"),
        Column::text("--server"),
        Column::text("what it asks"),
    ];
    let mut table = Table::new(heads);
    for kind in &experiments::ALL {
        let experiment = (kind.make)(&flags.conditions.conditions()?).map_err(BenchError::from)?;
        let space = units::binary_bytes(experiment.needs().space_bytes as f64);
        let time = schedule(experiment.as_ref())?.estimate(&experiment.needs(), flags.conditions.rounds());
        let time = format!("{:#}", shown(time));
        let servers = if experiment.refuses_servers().is_none() { "yes" } else { "no" };
        table.push([kind.name, &time, &space, servers, kind.summary].map(str::to_owned));
    }
    let mut output = Output::new();
    write!(output, "{}", table.to_text())?;
    Ok(output.finish()?)
}

/// Shows what one asks, varies and takes.
pub fn explain(flags: &Flags) -> Result<(), Failure> {
    let experiment = flags.conditions.make(&flags.name)?;
    let text = text(experiment.as_ref(), flags.conditions.rounds())?;
    let mut output = Output::new();
    write!(output, "{text}")?;
    Ok(output.finish()?)
}

fn schedule(experiment: &dyn Experiment) -> Result<Schedule, Failure> {
    Ok(Schedule::new(experiment, 1).map_err(BenchError::from)?)
}

/// A time in whole seconds, rounded up.
fn shown(time: Duration) -> HumanDuration {
    HumanDuration(Duration::from_secs_f64(time.as_secs_f64().ceil()))
}

fn text(experiment: &dyn Experiment, rounds: u32) -> Result<String, Failure> {
    let (design, needs) = (experiment.design(), experiment.needs());
    let schedule = schedule(experiment)?;
    let (passes, time) = (schedule.passes_per_round(), shown(schedule.estimate(&needs, rounds)));
    let mut lines = vec![design.name.clone(), format!("  {}", design.question)];
    lines.extend(design.source.iter().map(|source| format!("  Compared with: {source}.")));
    lines.push("varies".to_owned());
    let levels = |levels: &[String]| levels.join("; ");
    lines.extend(design.factors.iter().map(|factor| format!("  {}: {}", factor.name, levels(&factor.levels))));
    lines.push("measures".to_owned());
    lines.push(format!("  {}", design.figures.iter().map(figure).collect::<Vec<_>>().join(", ")));
    lines.push("compares".to_owned());
    lines.extend(
        design.tables.iter().map(|table| format!("  {}: each {} with '{}'", table.title, table.factor, table.baseline)),
    );
    lines.extend(["finds".to_owned(), format!("  {}", sensitivity(schedule.ratios(&design), rounds))]);
    lines.push("takes".to_owned());
    lines.push(format!("  {passes} passes in each round, about {time:#} for {rounds} rounds"));
    lines.push(format!("  {} for files", units::binary_bytes(needs.space_bytes as f64)));
    lines.push(format!("  root: {}", needs.root.unwrap_or("not needed")));
    let whether = |flag: &str, why: Option<&str>| why.map_or(format!("yes, by {flag}"), |why| format!("no: {why}"));
    lines.push(format!("  other servers: {}", whether("--server", experiment.refuses_servers())));
    lines.push(format!("  builds of Wharf: {}", whether("--binary", experiment.refuses_builds())));
    lines.push("settings".to_owned());
    lines.extend(experiment.settings().iter().map(|(name, value)| format!("  {name}: {value}")));
    lines.extend(remarks(&design));
    Ok(lines.join("\n") + "\n")
}

/// What so many rounds can find, before anybody knows how much pairs differ here.
pub fn sensitivity(ratios: usize, rounds: u32) -> String {
    let from = |deviation: f64| measure::detectable(rounds as usize, deviation, ratios, Level::P95);
    let (Some(steady), Some(noisy)) = (from(STEADY), from(NOISY)) else {
        return "nothing: an interval needs 6 rounds".to_owned();
    };
    let [steady, noisy] = [steady, noisy].map(|ratio| (ratio - 1.0) * 100.0);
    format!(
        "{ratios} ratios; effects below ±{steady:.1} % are invisible where the ratios of pairs deviate by {} %, and below \
         ±{noisy:.0} % where by {} %",
        STEADY * 100.0,
        NOISY * 100.0
    )
}

fn figure(kind: &FigureKind) -> String {
    if kind.unit.is_empty() { kind.name.clone() } else { format!("{} ({})", kind.name, kind.unit) }
}

fn remarks(design: &Design) -> Vec<String> {
    let titled = |title: &str, remarks: &[String]| -> Vec<String> {
        let lines = remarks.iter().map(|remark| format!("  - {remark}"));
        let title = (!remarks.is_empty()).then(|| title.to_owned());
        title.into_iter().chain(lines).collect()
    };
    [titled("differs from its source", &design.differences), titled("leaves out", &design.skipped)].concat()
}
