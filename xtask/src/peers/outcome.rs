//! All samples of a comparison, and what may be said of them.

use std::fs;
use std::path::Path;

use measure::{Comparison, Estimate, Level, Resampling, Samples, Verdict};
use report::{Column, Table};
use serde_json::{Value, json};

use super::load::Sample;
use super::workloads::WORKLOADS;
use crate::{Failure, Outcome};

/// Which server, which generator, which workload.
pub type Key = (&'static str, &'static str, &'static str);

/// Samples in the order in which they were taken.
pub struct Results {
    machine: Value,
    series: Vec<(Key, Vec<Sample>)>,
}

impl Results {
    pub fn new(machine: Value) -> Results {
        Results { machine, series: Vec::new() }
    }

    pub fn add(&mut self, key: Key, sample: Sample) {
        match self.series.iter_mut().find(|series| series.0 == key) {
            Some((_, samples)) => samples.push(sample),
            None => self.series.push((key, vec![sample])),
        }
    }

    /// The medians of each server, and the ratios of two.
    pub fn to_markdown(&self) -> Outcome<String> {
        let machine = self.machine.as_object().into_iter().flatten();
        let mut text: String = machine.map(|(name, value)| format!("- {name}: {value}\n")).collect();
        text += "\nMedians; in brackets the interval that holds the median with 95 % or more.\n\n";
        text += &self.medians()?.to_markdown();
        let ratios = self.ratios()?;
        if !ratios.is_empty() {
            text += "\nWharf divided by NFS-Ganesha, run for run; in brackets the interval of 95 % of the ratio of the \
                     medians. A difference is claimed only where it is clear of 1 by two ways to find it.\n\n";
            text += &ratios.to_markdown();
        }
        let versions = self.versions()?;
        if !versions.is_empty() {
            text += "\nNFSv4 divided by what it is held against, on the same server and in the same rounds.\n\n";
            text += &versions.to_markdown();
        }
        Ok(text)
    }

    fn medians(&self) -> Outcome<Table> {
        let titles = ["ops/s", "MB/s", "p99 µs", "server µs/op", "server MiB", "foreign"];
        let heads = ["load", "with", "server"].map(Column::text).into_iter().chain(titles.map(Column::number));
        let mut table = Table::new(heads);
        let mut series: Vec<_> = self.series.iter().collect();
        series.sort_by_key(|(key, _)| (key.1, self.position(key.2)));
        for ((server, generator, workload), samples) in series {
            let cells = [
                with_interval(samples, 0, |sample| sample.operations_per_second)?,
                with_interval(samples, 0, |sample| sample.megabytes_per_second)?,
                median_of(samples, 0, |sample| sample.p99_us)?,
                with_interval(samples, 2, |sample| sample.server_us_per_operation)?,
                median_of(samples, 1, |sample| sample.server_resident_mib)?,
                median_of(samples, 2, |sample| sample.foreign_processors)?,
            ];
            table.push([*workload, generator, server].map(str::to_owned).into_iter().chain(cells));
        }
        Ok(table)
    }

    /// Where a workload came first.
    fn position(&self, workload: &str) -> Option<usize> {
        self.series.iter().position(|(key, _)| key.2 == workload)
    }

    fn ratios(&self) -> Outcome<Table> {
        let titles = ["ops/s", "server µs/op", "server MiB"];
        let heads = ["load", "with"].map(Column::text).into_iter().chain(titles.map(Column::number));
        let mut table = Table::new(heads.chain([Column::text("ops/s are")]));
        let baselines = self.series.iter().filter(|(key, _)| key.0 == "NFS-Ganesha");
        for ((_, generator, workload), baseline) in baselines {
            let key = ("Wharf", *generator, *workload);
            let Some((_, candidate)) = self.series.iter().find(|series| series.0 == key) else { continue };
            let pair = Pair { baseline, candidate };
            let rate = pair.compare(|sample| sample.operations_per_second)?;
            let cost = pair.compare(|sample| sample.server_us_per_operation)?;
            let memory = pair.compare(|sample| sample.server_resident_mib)?;
            let cells = [rate, cost, memory].map(|comparison| show(comparison.ratio_of_medians));
            let names = [*workload, *generator].map(str::to_owned).into_iter();
            table.push(names.chain(cells).chain([claim(rate.verdict()).to_owned()]));
        }
        Ok(table)
    }

    /// The ratios of loads to those on the same server that they are held against.
    fn versions(&self) -> Outcome<Table> {
        let heads = ["load", "held against", "with", "server"].map(Column::text);
        let mut table = Table::new(heads.into_iter().chain([Column::number("ops/s"), Column::number("server µs/op")]));
        for workload in &WORKLOADS {
            let Some(baseline_name) = workload.baseline else { continue };
            for ((server, generator, _), candidate) in self.series.iter().filter(|(key, _)| key.2 == workload.name) {
                let key = (*server, *generator, baseline_name);
                let Some((_, baseline)) = self.series.iter().find(|series| series.0 == key) else { continue };
                let pair = Pair { baseline, candidate };
                let rate = pair.compare(|sample| sample.operations_per_second)?;
                let cost = pair.compare(|sample| sample.server_us_per_operation)?;
                let names = [workload.name, baseline_name, *generator, *server].map(str::to_owned).into_iter();
                table.push(names.chain([rate, cost].map(|comparison| show(comparison.ratio_of_medians))));
            }
        }
        Ok(table)
    }

    /// Writes every sample with what the machine is.
    pub fn write_samples(&self, path: &Path) -> Outcome {
        let series = self.series.iter().map(|((server, generator, workload), samples)| {
            let samples: Vec<Value> = samples.iter().map(|sample| sample.to_json()).collect();
            json!({"server": server, "generator": generator, "workload": workload, "samples": samples})
        });
        let all = json!({"machine": self.machine, "series": series.collect::<Vec<Value>>()});
        let text = serde_json::to_string_pretty(&all)? + "\n";
        fs::write(path, text).map_err(|source| Failure::File { path: path.to_owned(), source })
    }
}

/// Two series that were taken in turns.
struct Pair<'a> {
    baseline: &'a [Sample],
    candidate: &'a [Sample],
}

impl Pair<'_> {
    fn compare(&self, figure: impl Fn(&Sample) -> f64) -> Outcome<Comparison> {
        let all = |samples: &[Sample]| samples.iter().map(&figure).collect::<Vec<f64>>();
        Ok(Comparison::paired(&all(self.baseline), &all(self.candidate), Resampling::default())?)
    }
}

fn samples_of(samples: &[Sample], figure: impl Fn(&Sample) -> f64) -> Outcome<Samples> {
    Ok(Samples::new(samples.iter().map(figure).collect())?)
}

fn median_of(samples: &[Sample], decimals: usize, figure: impl Fn(&Sample) -> f64) -> Outcome<String> {
    Ok(format!("{:.decimals$}", samples_of(samples, figure)?.median()))
}

/// The median and its interval; too few samples have none.
fn with_interval(samples: &[Sample], decimals: usize, figure: impl Fn(&Sample) -> f64) -> Outcome<String> {
    let samples = samples_of(samples, figure)?;
    let median = samples.median();
    Ok(match samples.median_interval(Level::P95) {
        Ok(found) => {
            let (low, high) = (found.interval.low, found.interval.high);
            format!("{median:.decimals$} [{low:.decimals$}, {high:.decimals$}]")
        }
        Err(_) => format!("{median:.decimals$}"),
    })
}

fn show(estimate: Estimate) -> String {
    format!("{:.2} [{:.2}, {:.2}]", estimate.value, estimate.interval.low, estimate.interval.high)
}

fn claim(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Higher => "higher",
        Verdict::Lower => "lower",
        Verdict::Unclear => "not told apart",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(operations_per_second: f64) -> Sample {
        Sample {
            operations_per_second,
            megabytes_per_second: 1.0,
            median_us: 1.0,
            p99_us: 1.0,
            server_us_per_operation: 2.5,
            server_resident_mib: 10.0,
            server_peak_mib: 11.0,
            foreign_processors: 0.1,
        }
    }

    #[test]
    fn ratio_is_wharfs_to_ganeshas_and_only_clear_ones_are_claimed() {
        let mut results = Results::new(json!({"kernel": "x"}));
        for run in 0..6 {
            results.add(("NFS-Ganesha", "wharf bench", "load"), sample(100.0 + f64::from(run)));
            results.add(("Wharf", "wharf bench", "load"), sample(300.0 + f64::from(run)));
        }
        let text = results.to_markdown().unwrap();
        assert!(text.contains("302 [300, 305]") && text.contains("2.95"), "{text}");
        assert!(text.contains("higher") && text.contains("kernel"), "{text}");
    }

    #[test]
    fn newer_version_is_held_against_the_older_one_on_the_same_server() {
        let mut results = Results::new(json!({}));
        let new = WORKLOADS.iter().find(|workload| workload.baseline.is_some()).unwrap();
        for run in 0..6 {
            results.add(("Wharf", "wharf bench", new.baseline.unwrap()), sample(100.0 + f64::from(run)));
            results.add(("Wharf", "wharf bench", new.name), sample(90.0 + f64::from(run)));
        }
        let text = results.to_markdown().unwrap();
        assert!(text.contains("held against") && text.contains("0.90 ["), "{text}");
    }

    #[test]
    fn server_without_a_peer_has_medians_and_no_ratio() {
        let mut results = Results::new(json!({}));
        results.add(("Wharf", "wharf bench", "load"), sample(300.0));
        let text = results.to_markdown().unwrap();
        assert!(text.contains("300") && !text.contains("divided"), "{text}");
    }
}
