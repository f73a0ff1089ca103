//! The figures of runs in one file, a line for each run, and what changed over them.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use measure::Level;
use measure::analysis::{history, machine_difference};
use measure::record::{Machine, PastRun};
use report::lab::{history_json, history_text};

use crate::failure::{BenchError, Failure};
use crate::output::Output;

/// Show what changed over the runs of a history.
///
/// Each figure at each combination of levels is a series over runs. A change is where its level before and after differ
/// more than random orders of the runs do. Of 100 histories without a change at most 5 show one.
#[derive(Debug, Args)]
pub struct Flags {
    /// File of `wharf lab run --history`.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Show this figure only, such as bandwidth; the fewer there are, the smaller the changes that are found. May be
    /// repeated.
    #[arg(long = "figure", value_name = "NAME")]
    figures: Vec<String>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// How a history is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Table for a terminal.
    Text,
    /// JSON, with the medians of all runs.
    Json,
}

/// Shows what changed.
pub fn run(flags: &Flags) -> Result<(), Failure> {
    let text = shown(flags)?;
    let mut output = Output::new();
    write!(output, "{text}")?;
    Ok(output.finish()?)
}

fn shown(flags: &Flags) -> Result<String, Failure> {
    let runs = read(&flags.file)?;
    check_machines(&flags.file, &runs)?;
    let runs = last_of_each(runs);
    let is_wanted = |name: &str| flags.figures.is_empty() || flags.figures.iter().any(|figure| figure == name);
    let found = history(&runs, |figure| is_wanted(&figure.figure), Level::P95);
    if found.is_empty() {
        let wanted = if flags.figures.is_empty() { "figures".to_owned() } else { flags.figures.join(" or ") };
        return Err(BenchError::HistoryEmpty { path: flags.file.clone(), wanted }.into());
    }
    match flags.format {
        Format::Text => Ok(history_text(&runs, &found)),
        Format::Json => Ok(history_json(&runs, &found).map_err(BenchError::Json)? + "\n"),
    }
}

/// A file that a run is appended to.
pub(super) struct History {
    path: PathBuf,
    file: File,
}

impl History {
    /// Opens it before anything is measured, so that a run is not for nothing.
    ///
    /// # Errors
    /// When it cannot be written, is no history, or is of another machine.
    pub(super) fn open(path: &Path, machine: &Machine) -> Result<History, Failure> {
        let local = |source| Failure::Local { path: path.to_owned(), source };
        let file = OpenOptions::new().append(true).create(true).open(path).map_err(local)?;
        let runs = read(path)?;
        if let Some((last, (what, was, is))) =
            runs.iter().enumerate().find_map(|(at, run)| Some((at, machine_difference(&run.machine, machine)?)))
        {
            let (path, line) = (path.to_owned(), last + 1);
            return Err(BenchError::HistoryMachine { path, line, what, was, is, place: "here" }.into());
        }
        Ok(History { path: path.to_owned(), file })
    }

    /// Appends a run, in one write: several programs may append.
    ///
    /// # Errors
    /// Those of the system.
    pub(super) fn append(&mut self, run: &PastRun) -> Result<(), Failure> {
        let mut line = serde_json::to_vec(run).map_err(BenchError::Json)?;
        line.push(b'\n');
        self.file.write_all(&line).map_err(|source| Failure::Local { path: self.path.clone(), source })
    }
}

fn read(path: &Path) -> Result<Vec<PastRun>, Failure> {
    let bytes = fs::read(path).map_err(|source| Failure::Local { path: path.to_owned(), source })?;
    let run = |(at, line): (usize, &[u8])| {
        let wrong = |source| BenchError::HistoryLine { path: path.to_owned(), line: at + 1, source }.into();
        serde_json::from_slice(line).map_err(wrong)
    };
    bytes.split_inclusive(|byte| *byte == b'\n').enumerate().map(run).collect()
}

/// Leaves out what was appended before a run was resumed.
fn last_of_each(runs: Vec<PastRun>) -> Vec<PastRun> {
    let key = |run: &PastRun| (run.began_ms, run.experiment.clone());
    let last: BTreeMap<_, usize> = runs.iter().enumerate().map(|(at, run)| (key(run), at)).collect();
    let is_last = |(at, run): &(usize, PastRun)| last[&key(run)] == *at;
    runs.into_iter().enumerate().filter(is_last).map(|(_, run)| run).collect()
}

/// Refuses runs of several machines.
fn check_machines(path: &Path, runs: &[PastRun]) -> Result<(), BenchError> {
    let Some(first) = runs.first() else { return Ok(()) };
    let difference = |(at, run): (usize, &PastRun)| Some((at, machine_difference(&run.machine, &first.machine)?));
    match runs.iter().enumerate().find_map(difference) {
        None => Ok(()),
        Some((at, (what, was, is))) => {
            let (path, line) = (path.to_owned(), at + 1);
            Err(BenchError::HistoryMachine { path, line, what, was, is, place: "in line 1" })
        }
    }
}

#[cfg(test)]
mod tests {
    use measure::record::{Levels, PastFigure};
    use serde_json::Value;
    use testing::Scratch;

    use super::*;

    const CHANGED: usize = 9;

    /// A run whose bandwidth is 100 or 120 MB/s, and a little more.
    fn past(number: usize, kernel: &str) -> PastRun {
        let median = if number < CHANGED { 100.0 } else { 120.0 } + (number * 7 % 5) as f64 / 10.0;
        let figure = PastFigure {
            levels: Levels::from([("server".to_owned(), "Wharf".to_owned())]),
            figure: "bandwidth".to_owned(),
            unit: "MB/s".to_owned(),
            starts: 6,
            median,
            interval: Some([median - 1.0, median + 1.0]),
        };
        PastRun {
            label: format!("commit-{number}"),
            began_ms: 1_700_000_000_000 + number as u64,
            version: "1".to_owned(),
            experiment: "mix".to_owned(),
            settings: [("size".to_owned(), "1".to_owned())].into(),
            machine: machine(kernel),
            figures: vec![figure],
        }
    }

    fn machine(kernel: &str) -> Machine {
        Machine { processor: "A".to_owned(), processors: 2, kernel: kernel.to_owned(), ..Machine::default() }
    }

    fn flags(file: &Path, format: Format) -> Flags {
        Flags { file: file.to_owned(), figures: Vec::new(), format }
    }

    #[test]
    fn appended_runs_show_the_commit_from_which_a_figure_differs() {
        let scratch = Scratch::new();
        let path = scratch.path("history");
        for number in 0..16 {
            History::open(&path, &machine("6.1")).unwrap().append(&past(number, "6.1")).unwrap();
        }
        // Another run of the last command resumes the run, whose figures are appended again.
        History::open(&path, &machine("6.1")).unwrap().append(&past(15, "6.1")).unwrap();
        let all: Vec<PastRun> = (0..16).map(|number| past(number, "6.1")).collect();
        assert_eq!(last_of_each(read(&path).unwrap()), all);
        let text = shown(&flags(&path, Format::Text)).unwrap();
        assert!(
            text.starts_with("1 change in 1 series of 16 runs") && text.contains("commit-9") && text.contains("+20."),
            "{text}"
        );
        let json: Value = serde_json::from_str(&shown(&flags(&path, Format::Json)).unwrap()).unwrap();
        let change = &json["series"][0]["changes"][0];
        assert_eq!((&change["label"], &change["earlier_label"]), (&"commit-9".into(), &"commit-8".into()));
        assert_eq!(json["series"][0]["medians"].as_array().unwrap().len(), 16);
        let other = Flags { figures: vec!["latency".to_owned()], ..flags(&path, Format::Text) };
        assert!(shown(&other).unwrap_err().to_string().contains("latency"));
    }

    #[test]
    fn runs_of_other_machines_are_neither_appended_nor_shown() {
        let scratch = Scratch::new();
        let path = scratch.path("history");
        let mut history = History::open(&path, &machine("6.1")).unwrap();
        history.append(&past(0, "6.1")).unwrap();
        let refused = History::open(&path, &machine("6.2")).err().unwrap().to_string();
        assert!(
            refused.contains("line 1") && refused.contains("kernel 6.1") && refused.contains("6.2 here"),
            "{refused}"
        );
        history.append(&past(1, "6.2")).unwrap();
        let refused = shown(&flags(&path, Format::Text)).unwrap_err().to_string();
        assert!(refused.contains("line 2") && refused.contains("kernel 6.2"), "{refused}");
    }

    #[test]
    fn line_that_is_no_run_is_named() {
        let scratch = Scratch::new();
        let path = scratch.file("history", &(serde_json::to_string(&past(0, "6.1")).unwrap() + "\n{\"label\""));
        let refused = History::open(&path, &machine("6.1")).err().unwrap().to_string();
        assert!(refused.contains("line 2"), "{refused}");
    }
}
