//! What a history says of runs whose truth is known.

use measure::Level;
use measure::analysis::{PastSeries, RunPasses, history, machine_difference, past_run};
use measure::record::{Machine, PastFigure, PastRun};
use testing::synthetic::{REPLIES, Server, passes, run};

/// How many histories there are.
const HISTORIES: u64 = 100;
/// The greatest count that 5 % of them reach with a probability of 99 %: scipy.stats.binom.ppf(0.99, 100, 0.05).
const MOST_FALSE: usize = 11;
const ROUNDS: u32 = 6;
const RUNS: u64 = 20;
const CHANGED: usize = 12;

/// A run of a commit, on a server with starts that differ by 3 %.
fn commit(number: u64, ratios: [f64; 4]) -> PastRun {
    let run = run(number, ROUNDS);
    let passes = passes(&run, &Server { ratios, start_noise: 0.03, ..Server::default() });
    past_run(RunPasses { run: &run, passes: &passes }, &format!("commit {number}"))
}

fn throughput(figure: &PastFigure) -> bool {
    figure.figure == "throughput"
}

/// A history of commits; from one on, `gather` is faster by a ratio.
fn changed(seed: u64, ratio: f64) -> Vec<PastSeries> {
    let ratios = |number: usize| [1.0, if number < CHANGED { 1.0 } else { ratio }, 1.0, 1.0];
    let runs: Vec<PastRun> = (0..RUNS).map(|number| commit(seed * RUNS + number, ratios(number as usize))).collect();
    history(&runs, throughput, Level::P95)
}

#[test]
fn history_without_a_change_shows_one_in_at_most_five_of_a_hundred() {
    let has_any = |seed: &u64| changed(*seed, 1.0).iter().any(|series| !series.changes.is_empty());
    let falsely = (0..HISTORIES).filter(has_any).count();
    assert!(falsely <= MOST_FALSE, "{falsely} of {HISTORIES}");
}

#[test]
fn step_of_a_figure_is_found_at_its_commit_and_only_where_it_is() {
    let mut right = 0;
    for seed in 0..10 {
        for series in changed(seed, 1.15) {
            let is_changed = series.key.levels["reply"] == "gather";
            let found: Vec<usize> = series.changes.iter().map(|change| change.run).collect();
            assert!(is_changed || found.is_empty(), "{:?}: {found:?}", series.key);
            if found == [CHANGED] {
                let change = series.changes[0];
                assert_eq!(change.earlier_run, CHANGED - 1);
                assert!((change.after / change.before - 1.15).abs() < 0.04, "{change:?}");
                right += 1;
            }
        }
    }
    // Four loads in each of ten histories.
    assert!(right >= 36, "{right} of 40");
}

#[test]
fn run_of_a_history_has_starts_with_their_interval_and_no_control() {
    let run = commit(1, [1.0; 4]);
    assert!(!run.figures.is_empty() && run.figures.iter().all(|figure| figure.levels["reply"] != REPLIES[3]));
    for figure in &run.figures {
        let [low, high] = figure.interval.unwrap();
        assert!(figure.starts == 6 && low <= figure.median && figure.median <= high, "{figure:?}");
    }
}

#[test]
fn runs_with_other_settings_are_other_series() {
    let mut runs: Vec<PastRun> = (0..RUNS).map(|number| commit(number, [1.0; 4])).collect();
    let alike = history(&runs, throughput, Level::P95).len();
    for run in &mut runs[CHANGED..] {
        run.settings.insert("size".to_owned(), "other".to_owned());
        run.figures.iter_mut().for_each(|figure| figure.median *= 2.0);
    }
    let found = history(&runs, throughput, Level::P95);
    assert_eq!(found.len(), 2 * alike);
    assert!(found.iter().all(|series| series.changes.is_empty()));
}

#[test]
fn machines_differ_by_processor_count_and_kernel_but_not_by_memory() {
    let one = Machine { processor: "A".into(), processors: 2, kernel: "6.1".into(), ..Machine::default() };
    assert_eq!(machine_difference(&one, &Machine { memory_bytes: 1, ..one.clone() }), None);
    let others = [
        Machine { processor: "B".into(), ..one.clone() },
        Machine { processors: 4, ..one.clone() },
        Machine { kernel: "6.2".into(), ..one.clone() },
    ];
    let found: Vec<&str> = others.iter().map(|other| machine_difference(&one, other).unwrap().0).collect();
    assert_eq!(found, ["processor", "number of processors", "kernel"]);
}
