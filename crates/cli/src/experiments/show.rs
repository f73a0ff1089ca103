//! What runs found: the only place here that knows how `report` shows it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use lab::engine::{FolderError, keep_run, read_profiles, read_run};
use measure::analysis::{RunPasses, analyse, changes, gated_changes};
use measure::record::{Measurement, Run};
use measure::{Level, Margin};
use report::lab::{Report, results_csv, results_json};

use super::gate::GateFlags;
use crate::failure::{BenchError, Failure};
use crate::output::Output;

/// Which run.
#[derive(Debug, Args)]
pub struct ReportFlags {
    /// Folder of a run, or a folder that contains several.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Keep each run in a folder below this one: its report, and its samples compressed. `wharf lab report` and
    /// `wharf lab compare` read it.
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

/// Which runs.
#[derive(Debug, Args)]
pub struct CompareFlags {
    /// Folders of the runs, the oldest first.
    #[arg(value_name = "DIR", required = true, num_args = 2..)]
    folders: Vec<PathBuf>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    gate: GateFlags,
}

/// How a comparison is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Table for a terminal.
    Text,
    /// Markdown table.
    Markdown,
    /// Comma-separated values.
    Csv,
    /// A page with charts that needs no network.
    Html,
}

/// Shows what the runs in a folder found, and writes their reports again.
pub fn report(flags: &ReportFlags) -> Result<(), Failure> {
    for (folder, (run, passes)) in runs_in(&flags.folder)? {
        show(&folder, &run, &passes)?;
        if let Some(parent) = &flags.keep {
            keep(&parent.join(&run.design.name), &run, &passes)?;
        }
    }
    Ok(())
}

/// Keeps a run and its report in a folder.
fn keep(folder: &Path, run: &Run, passes: &[Measurement]) -> Result<(), Failure> {
    keep_run(folder, run, passes).map_err(BenchError::from)?;
    write_reports(folder, run, passes)?;
    eprintln!("wharf: {} has the run with its {} samples", folder.display(), passes.len());
    Ok(())
}

/// Shows what changed from the first run to the others.
pub fn compare(flags: &CompareFlags) -> Result<(), Failure> {
    let runs = flags.folders.iter().map(|folder| one_run(folder)).collect::<Result<Vec<_>, _>>()?;
    let name = |run: &FoundPasses| run.0.design.name.clone();
    if let Some(other) = runs.iter().find(|run| name(run) != name(&runs[0])) {
        return Err(BenchError::Experiments { first: name(&runs[0]), other: name(other) }.into());
    }
    let compared = report::lab::compare(&runs).map_err(BenchError::Chart)?;
    let mut output = Output::new();
    let text = match flags.format {
        Format::Text => compared.to_text(),
        Format::Markdown => compared.to_markdown(),
        Format::Csv => compared.to_csv(),
        Format::Html => compared.to_html(),
    };
    write!(output, "{text}")?;
    output.finish()?;
    check_changes(&runs, &flags.gate)
}

/// Fails if a change from the first run to another one is certainly beyond its limit.
pub(super) fn check_changes(runs: &[FoundPasses], gate: &GateFlags) -> Result<(), Failure> {
    let Some((first, later)) = runs.split_first().filter(|_| gate.is_given()) else { return Ok(()) };
    let mut all = Vec::new();
    for run in later {
        gate.check(&run.0.design)?;
        let found = changes(passes_of(first), passes_of(run), Margin::TWO_PERCENT, Level::P95);
        all.extend(gated_changes(&found, &gate.limits(), Level::P95));
    }
    gate.report(&first.0.design, &all)
}

fn passes_of((run, passes): &FoundPasses) -> RunPasses<'_> {
    RunPasses { run, passes }
}

/// A run and its passes.
pub(super) type FoundPasses = (Run, Vec<Measurement>);

/// A folder with the run in it.
type FoundRun = (PathBuf, FoundPasses);

/// The run in a folder, or in the only folder in it that has one.
fn one_run(folder: &Path) -> Result<FoundPasses, BenchError> {
    let mut found = runs_in(folder)?;
    if found.len() > 1 {
        let runs = found.into_iter().map(|(path, _)| path.display().to_string()).collect::<Vec<_>>();
        return Err(BenchError::SeveralRuns { folder: folder.to_owned(), runs: runs.join(", ") });
    }
    Ok(found.remove(0).1)
}

/// The run in a folder, or in each folder in it.
fn runs_in(folder: &Path) -> Result<Vec<FoundRun>, BenchError> {
    let missing = match read_run(folder) {
        Err(error @ FolderError::NoRun { .. }) => error,
        other => return Ok(vec![(folder.to_owned(), other?)]),
    };
    let mut inside: Vec<PathBuf> = folder
        .read_dir()
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    inside.sort();
    let runs: Vec<FoundRun> =
        inside.into_iter().filter_map(|path| read_run(&path).ok().map(|run| (path, run))).collect();
    if runs.is_empty() { Err(missing.into()) } else { Ok(runs) }
}

/// Prints what a run found, and writes it into its folder.
pub fn show(folder: &Path, run: &Run, passes: &[Measurement]) -> Result<(), Failure> {
    let text = write_reports(folder, run, passes)?;
    let mut output = Output::new();
    write!(output, "{text}")?;
    output.finish()?;
    eprintln!("wharf: the report with its charts is {}", folder.join("report.html").display());
    Ok(())
}

/// Writes what a run found into its folder: `report.html`, `report.md` with its charts, `results.csv` and
/// `results.json`. Returns the text for a terminal.
pub(super) fn write_reports(folder: &Path, run: &Run, passes: &[Measurement]) -> Result<String, Failure> {
    let results = analyse(run, passes, Margin::TWO_PERCENT);
    let mut report = Report::new(run, passes, &results).map_err(BenchError::Chart)?;
    if let Some(profiles) = read_profiles(folder).map_err(BenchError::from)? {
        report = report.with_profiles(&profiles).map_err(BenchError::FlameGraph)?;
    }
    let json = results_json(run, &results).map_err(BenchError::Json)?;
    let charts = report.charts().into_iter().map(|chart| (chart.file_name(), chart.to_svg()));
    let texts = [
        ("report.html", report.to_html()),
        ("report.md", report.to_markdown()),
        ("results.csv", results_csv(run, &results)),
        ("results.json", json),
    ];
    let graphs = report.flame_graphs();
    let graphs = graphs.iter().map(|graph| (graph.file_name(), graph.to_svg().to_owned()));
    for (name, text) in texts.map(|(name, text)| (name.to_owned(), text)).into_iter().chain(charts).chain(graphs) {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|source| Failure::Local { path, source })?;
    }
    Ok(report.to_text())
}
