//! What whole runs of the engine find where the truth is known.

use std::path::PathBuf;

use lab::engine::{Bound, Experiment, RunFolder, Settings, head, run};
use measure::analysis::{Results, Row, analyse};
use measure::{Level, Margin, Verdict};

use crate::simulated::Simulated;

/// How many runs the rates of error are counted over.
const RUNS: u64 = 100;
/// The greatest count that 5 % of these runs reach with a probability of 99 %: scipy.stats.binom.ppf(0.99, 100, 0.05).
const MOST_MISSED: usize = 11;

/// The folder of a run, removed at its end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A whole run. No pass is done again, whatever else this machine does.
fn results(experiment: &mut dyn Experiment, rounds: u32, seed: u64) -> Results {
    let name = format!("wharf-lab-truth-{}-{}", std::process::id(), fastrand::u64(..));
    let folder = Folder(std::env::temp_dir().join(name));
    let bound = Bound { processors: f64::INFINITY, max_repeats: 0 };
    let settings = Settings { rounds, bound, seed, ..Settings::default() };
    let mut record = RunFolder::open(&folder.0, head(experiment, &settings, "1")).unwrap();
    run(experiment, &settings, &mut record, &mut |_| {}).unwrap();
    analyse(record.run(), record.passes(), Margin::TWO_PERCENT)
}

/// The only row of a run with six rounds: the new server divided by the old one.
fn simulated(seed: u64, ratio: f64, start_noise: f64) -> Row {
    results(&mut Simulated::new(seed, ratio, start_noise), 6, seed).tables[0][0].clone()
}

#[test]
fn servers_that_differ_only_from_start_to_start_are_claimed_to_differ_in_at_most_five_of_a_hundred_runs() {
    let is_claim = |row: &Row| matches!(row.verdict, Verdict::Higher | Verdict::Lower);
    let falsely = (0..RUNS).filter(|seed| is_claim(&simulated(*seed, 1.0, 0.05))).count();
    assert!(falsely <= MOST_MISSED, "{falsely} of {RUNS}");
}

#[test]
fn difference_of_the_detectable_size_is_found_in_about_eighty_of_a_hundred_runs() {
    // A pair's ratio has two starts and two passes, of 1 % each.
    let ratio = measure::detectable(6, 0.02, 1, Level::P95).unwrap();
    let found = (0..RUNS).filter(|seed| simulated(*seed, ratio, 0.01).verdict == Verdict::Higher).count();
    // scipy.stats.binom.interval(0.99, 100, measure::POWER)
    assert!((69..=90).contains(&found), "{found} of {RUNS}");
}

#[test]
fn interval_has_the_true_ratio_in_ninety_five_of_a_hundred_runs() {
    let is_missed = |row: &Row| !row.comparison.unwrap().ratio.interval.contains(1.03);
    let missed = (0..RUNS).filter(|seed| is_missed(&simulated(*seed, 1.03, 0.01))).count();
    assert!(missed <= MOST_MISSED, "{missed} of {RUNS}");
}
