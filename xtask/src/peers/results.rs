//! All samples of a comparison.

use std::fs;
use std::path::Path;

use measure::{Comparison, Error, Level};
use serde_json::{Value, json};

use super::names::{WHARF, WHARF_AGAIN};
use super::sample::Sample;
use crate::{Failure, Outcome};

/// Whose samples, of what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    pub server: String,
    pub generator: &'static str,
    pub load: String,
}

/// When a sample was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub round: u32,
    /// The how many-th run of the comparison it was, from 0.
    pub position: u32,
    /// Beside a run of the first server, or as one, which contender's pair it belongs to.
    pub pair: String,
}

impl Place {
    fn is_beside(&self, other: &Place) -> bool {
        (self.round, &self.pair) == (other.round, &other.pair)
    }
}

/// The samples of one key, in the order in which they were taken.
#[derive(Debug)]
pub struct Series {
    pub key: Key,
    samples: Vec<(Place, Sample)>,
}

/// Samples, and runs that gave none.
#[derive(Debug)]
pub struct Results {
    pub machine: Value,
    /// The loads that were to be measured.
    pub wanted: Vec<String>,
    pub series: Vec<Series>,
    pub failures: Vec<String>,
}

impl Series {
    /// One figure of every run.
    pub fn figures(&self, figure: impl Fn(&Sample) -> f64) -> Vec<f64> {
        self.samples.iter().map(|(_, sample)| figure(sample)).collect()
    }

    /// This divided by the other, of the pairs that both have; an error where those are too few, or a figure is missing. Of the
    /// first server under two loads, one pair of a round is taken: the others of it are no independent ones.
    pub fn divided_by(&self, baseline: &Series, figure: impl Fn(&Sample) -> f64) -> Result<Comparison, Error> {
        let is_first_alone = self.key.server == WHARF && baseline.key.server == WHARF;
        let pairs = self.samples.iter().filter(|(place, _)| !is_first_alone || place.pair == WHARF_AGAIN);
        let pairs = pairs.filter_map(|(place, mine)| {
            let (_, theirs) = baseline.samples.iter().find(|(other, _)| other.is_beside(place))?;
            Some((figure(theirs), figure(mine)))
        });
        let (theirs, mine): (Vec<f64>, Vec<f64>) = pairs.unzip();
        Comparison::paired(&theirs, &mine, Level::P95)
    }
}

impl Results {
    pub fn new(machine: Value) -> Results {
        Results { machine, wanted: Vec::new(), series: Vec::new(), failures: Vec::new() }
    }

    /// Keeps what a run gave, and shows it to who waits.
    pub fn record(&mut self, key: Key, place: Place, outcome: Outcome<Sample>) {
        let name = format!("round {}, {}, {}, {}", place.round, key.server, key.generator, key.load);
        match outcome {
            Ok(sample) => {
                eprintln!("{name}: {sample}");
                self.add(key, place, sample);
            }
            Err(failure) => {
                eprintln!("{name}: {failure}");
                self.failures.push(format!("{name}: {failure}"));
            }
        }
    }

    pub fn add(&mut self, key: Key, place: Place, sample: Sample) {
        match self.series.iter_mut().find(|series| series.key == key) {
            Some(series) => series.samples.push((place, sample)),
            None => self.series.push(Series { key, samples: vec![(place, sample)] }),
        }
    }

    /// Whether a load was to be measured, or was.
    pub fn is_wanted(&self, load: &str) -> bool {
        self.wanted.iter().any(|wanted| wanted == load) || self.series.iter().any(|series| series.key.load == load)
    }

    pub fn find(&self, server: &str, generator: &str, load: &str) -> Option<&Series> {
        let is_it = |key: &Key| key.server == server && key.generator == generator && key.load == load;
        self.series.iter().find(|series| is_it(&series.key))
    }

    /// Writes every sample with what the machine is.
    pub fn write_samples(&self, path: &Path) -> Outcome {
        let series = self.series.iter().map(|Series { key, samples }| {
            let with_round = |(place, sample): &(Place, Sample)| {
                let mut json = sample.to_json();
                json["round"] = json!(place.round);
                json["position"] = json!(place.position);
                json["pair"] = json!(place.pair);
                json
            };
            let samples: Vec<Value> = samples.iter().map(with_round).collect();
            json!({"server": key.server, "generator": key.generator, "workload": key.load, "samples": samples})
        });
        let all = json!({
            "machine": self.machine,
            "series": series.collect::<Vec<Value>>(),
            "failures": self.failures,
        });
        let text = serde_json::to_string_pretty(&all)? + "\n";
        fs::write(path, text).map_err(|source| Failure::File { path: path.to_owned(), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(server: &str) -> Key {
        Key { server: server.to_owned(), generator: "g", load: "l".to_owned() }
    }

    fn rate(operations_per_second: f64) -> Sample {
        Sample { operations_per_second, ..Sample::default() }
    }

    fn beside(round: u32, pair: &str) -> Place {
        Place { round, position: 0, pair: pair.to_owned() }
    }

    #[test]
    fn only_runs_beside_each_other_are_compared() {
        let mut results = Results::new(json!({}));
        for round in 1..=7 {
            results.add(key("a"), beside(round, "b"), rate(100.0));
            results.add(key("a"), beside(round, "c"), rate(1e9));
            // The second one's first run failed; its later ones are not held against the runs before them.
            if round > 1 {
                results.add(key("b"), beside(round, "b"), rate(f64::from(round) * 100.0));
            }
        }
        let find = |server| results.find(server, "g", "l").unwrap();
        let figure = |sample: &Sample| sample.operations_per_second;
        let comparison = find("b").divided_by(find("a"), figure).unwrap();
        let mean = (2..=7).map(|round| f64::from(round).ln()).sum::<f64>() / 6.0;
        assert!((comparison.ratio.value - mean.exp()).abs() < 1e-9 && comparison.pairs == 6, "{comparison:?}");
        let missing = find("b").divided_by(find("a"), |sample| sample.p99_us);
        assert_eq!(missing, Err(Error::NotPositive { index: 0, value: 0.0 }));
    }
}
