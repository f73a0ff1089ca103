//! What runs find where the truth is known: from the engine to the reports and the exit status, with the design of
//! every experiment. `simulated.rs` draws the figures.

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::slice;

use clap::Parser;
use fastrand::Rng;
use lab::Parent;
use lab::contender::Build;
use lab::engine::{Bound, Experiment, RunFolder, Schedule, Settings, head, read_run, run};
use lab::experiments::{ALL, Conditions, Kind, Scale, find, restricted, with_builds};
use measure::Level;
use measure::record::Levels;
use serde::Deserialize;
use testing::Scratch;

use super::gate::GateFlags;
use super::show::{FoundPasses, check_changes, write_reports};
use super::simulated::{Effect, PAIR_NOISE, Simulated};
use crate::failure::Failure;

const ROUNDS: u32 = Settings::QUICK_ROUNDS;

/// How many runs of each experiment there are, and of all.
const RUNS_OF_EACH: u64 = 9;
const RUNS_OF_ALL: usize = RUNS_OF_EACH as usize * ALL.len();
/// The greatest count that 5 % of these runs reach with a probability of 99.9 %, as
/// scipy.stats.binom.ppf(0.999, 108, 0.05) has it.
const MOST_OF_ALL: usize = 14;
/// The least count that 72 % of them reach with that probability: scipy.stats.binom.ppf(0.001, 108, 0.72). `detectable`
/// is up to 7 % less than what 80 % of runs find, and 72 % find that.
const LEAST_OF_ALL: usize = 63;

/// How many runs of one experiment there are, and the greatest count that 5 % of them reach in the same way.
const RUNS: u64 = 100;
const MOST: usize = 13;

/// A ratio of `results.json`.
#[derive(Debug, Clone, Deserialize)]
struct Row {
    levels: Levels,
    figure: String,
    factor: String,
    baseline: String,
    verdict: String,
}

#[derive(Deserialize)]
struct Table {
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct ResultsFile {
    tables: Vec<Table>,
}

/// A command line with limits only.
#[derive(Parser)]
struct Line {
    #[command(flatten)]
    gate: GateFlags,
}

/// What a whole run leaves.
struct Whole {
    rows: Vec<Row>,
    status: ExitCode,
}

impl Row {
    fn is_claim(&self) -> bool {
        self.verdict == "higher" || self.verdict == "lower"
    }

    /// Whether passes at these levels are on one of its sides.
    fn touches(&self, levels: &Levels) -> bool {
        let mut baseline = self.levels.clone();
        baseline.insert(self.factor.clone(), self.baseline.clone());
        self.levels == *levels || baseline == *levels
    }
}

fn gate(limits: &[String]) -> GateFlags {
    let flags = limits.iter().flat_map(|limit| ["--fail-if", limit]);
    Line::parse_from(["wharf"].into_iter().chain(flags)).gate
}

fn status(result: Result<(), Failure>) -> ExitCode {
    result.map_or_else(|failure| failure.report(), |()| ExitCode::SUCCESS)
}

fn conditions() -> Conditions {
    let parent = |path: &str| Parent { path: path.into(), flag: "--dir" };
    Conditions {
        program: "/bin/true".into(),
        server_program: "/bin/true".into(),
        scale: Scale::Quick,
        memory: parent("/dev/shm"),
        disk: parent("/var/tmp"),
        servers: Vec::new(),
    }
}

/// Experiments that compare nothing but a server with itself, unless there are builds.
const OF_BUILDS: [&str; 2] = ["mix", "andrew"];

/// An experiment, which is never done for real.
fn made(kind: &Kind) -> Box<dyn Experiment> {
    let builds = if OF_BUILDS.contains(&kind.name) { vec![build("old"), build("new")] } else { Vec::new() };
    with_builds(&builds, &conditions(), kind.make).unwrap()
}

fn build(name: &str) -> Build {
    Build { name: name.to_owned(), program: "/bin/true".into() }
}

/// A part of an experiment.
fn part(name: &str, only: &[&str]) -> Box<dyn Experiment> {
    restricted(made(find(name).unwrap()), only.iter().map(|only| only.parse().unwrap()).collect()).unwrap()
}

/// A run that is recorded in a folder and read from it. No pass is done again, whatever else this machine does.
fn recorded(path: &Path, inner: Box<dyn Experiment>, effects: &[Effect], rounds: u32, seed: u64) -> FoundPasses {
    let mut experiment = Simulated::new(inner, effects.to_vec(), seed);
    let bound = Bound { processors: f64::INFINITY, max_repeats: 0 };
    let settings = Settings { rounds, bound, seed, ..Settings::default() };
    let mut folder = RunFolder::open(path, head(&experiment, &settings, "1")).unwrap();
    run(&mut experiment, &settings, &mut folder, &mut |_| {}).unwrap();
    drop(folder);
    read_run(path).unwrap()
}

/// The same without reports.
fn passes(inner: Box<dyn Experiment>, effects: &[Effect], rounds: u32, seed: u64) -> FoundPasses {
    recorded(&Scratch::new().path("run"), inner, effects, rounds, seed)
}

/// A run of an experiment, what its reports say, and its exit status.
fn whole(kind: &Kind, effects: &[Effect], seed: u64, limits: &[String]) -> Whole {
    let scratch = Scratch::new();
    let path = scratch.path("run");
    let (run, passes) = recorded(&path, made(kind), effects, ROUNDS, seed);
    write_reports(&path, &run, &passes).unwrap();
    let file: ResultsFile = serde_json::from_slice(&fs::read(path.join("results.json")).unwrap()).unwrap();
    let status = status(gate(limits).check_run(&run, &passes));
    Whole { rows: file.tables.into_iter().flat_map(|table| table.rows).collect(), status }
}

/// The smallest difference that the whole family of this experiment's ratios lets be found.
fn detectable(experiment: &dyn Experiment) -> f64 {
    let ratios = Schedule::new(experiment, 1).unwrap().ratios(&experiment.design());
    measure::detectable(ROUNDS as usize, PAIR_NOISE, ratios, Level::P95).unwrap()
}

#[test]
fn runs_of_all_experiments_without_a_difference_claim_one_in_at_most_five_of_a_hundred() {
    let is_claim = |whole: &Whole| whole.rows.iter().any(Row::is_claim);
    let runs = ALL.iter().flat_map(|kind| (0..RUNS_OF_EACH).map(|seed| whole(kind, &[], seed, &[])));
    let falsely = runs.filter(is_claim).count();
    assert!(falsely <= MOST_OF_ALL, "{falsely} of {RUNS_OF_ALL}");
}

/// What was found of a difference of the detectable size and of one of twice that size, in one run each.
#[derive(Debug, Default)]
struct Counts {
    detectable: usize,
    twice: usize,
    /// Runs that ended with exit status 1 for the larger one.
    failed: usize,
    /// Runs that claimed a difference where there is none.
    falsely: usize,
}

impl Counts {
    /// Does a run with a difference at two of these rows, upwards or downwards.
    fn add_run(&mut self, kind: &Kind, rows: &[&Row], seed: u64) {
        let mut random = Rng::with_seed(seed);
        let size = detectable(made(kind).as_ref());
        let (is_up, smaller) = (random.bool(), rows[random.usize(..rows.len())]);
        let others: Vec<&&Row> = rows.iter().filter(|row| row.levels != smaller.levels).collect();
        let larger = if others.is_empty() { smaller } else { others[random.usize(..others.len())] };
        let effect = |row: &Row, size: f64| {
            let ratio = if is_up { size } else { 1.0 / size };
            Effect { levels: row.levels.clone(), ratio }
        };
        let effects = [effect(smaller, size), effect(larger, size * size)];
        let limit = format!("{}{}0 %", larger.figure, if is_up { '>' } else { '<' });
        let found = whole(kind, &effects, seed, &[limit]);
        let verdict = if is_up { "higher" } else { "lower" };
        let has = |wanted: &Row| {
            let is_same = |row: &&Row| row.levels == wanted.levels && row.figure == wanted.figure;
            found.rows.iter().filter(is_same).any(|row| row.factor == wanted.factor && row.verdict == verdict)
        };
        let is_false = |row: &Row| row.is_claim() && !effects.iter().any(|effect| row.touches(&effect.levels));
        self.detectable += usize::from(has(smaller));
        self.twice += usize::from(has(larger));
        self.failed += usize::from(found.status == ExitCode::FAILURE);
        self.falsely += usize::from(found.rows.iter().any(is_false));
    }
}

#[test]
fn difference_of_the_detectable_size_is_found_by_all_experiments_in_about_eighty_of_a_hundred_runs() {
    let mut counts = Counts::default();
    for kind in &ALL {
        let contenders = made(kind).design().contenders;
        let all = whole(kind, &[], 0, &[]).rows;
        let is_measured = |row: &&Row| row.factor == contenders && row.verdict != "computed";
        let rows: Vec<&Row> = all.iter().filter(is_measured).collect();
        assert!(!rows.is_empty(), "{}", kind.name);
        (0..RUNS_OF_EACH).for_each(|seed| counts.add_run(kind, &rows, seed));
    }
    assert!(counts.detectable >= LEAST_OF_ALL, "{counts:?} of {RUNS_OF_ALL}");
    assert!(counts.twice * 100 >= RUNS_OF_ALL * 80, "{counts:?} of {RUNS_OF_ALL}");
    assert!(counts.failed * 100 >= RUNS_OF_ALL * 80, "{counts:?} of {RUNS_OF_ALL}");
    assert!(counts.falsely <= MOST_OF_ALL, "{counts:?} of {RUNS_OF_ALL}");
}

const LIMIT: &str = "operations < -3 %";

/// How many of the runs end with exit status 1 by this limit, where the new build has this share of operations.
fn failing(ratio: f64) -> usize {
    let new = Effect { levels: Levels::from([("build".to_owned(), "new".to_owned())]), ratio };
    let fails = |seed: &u64| {
        let (run, passes) = passes(part("mix", &["load=50 %"]), slice::from_ref(&new), ROUNDS, *seed);
        status(gate(&[LIMIT.to_owned()]).check_run(&run, &passes)) == ExitCode::FAILURE
    };
    (0..RUNS).filter(fails).count()
}

#[test]
fn exit_status_is_1_in_at_most_five_of_a_hundred_runs_at_the_limit_and_in_most_beyond() {
    let at_limit = failing(0.97);
    assert!(at_limit <= MOST, "{at_limit} of {RUNS}");
    let beyond = failing(0.97 / detectable(part("mix", &["load=50 %"]).as_ref()).powi(2));
    assert!(beyond * 100 >= RUNS as usize * 80, "{beyond} of {RUNS}");
}

/// A part of an experiment whose reference has several passes with one start.
fn several_passes_of_a_start() -> Box<dyn Experiment> {
    part("reply-path", &["load=read", "size=128k"])
}

/// Whether `wharf lab compare` claims anything.
fn is_claimed(runs: &[FoundPasses]) -> bool {
    let csv = report::lab::compare(runs).unwrap().to_csv();
    ["higher", "lower"].iter().any(|verdict| csv.contains(verdict))
}

#[test]
fn comparison_of_a_run_with_itself_claims_a_difference_in_at_most_five_of_a_hundred_splits() {
    let (mut claimed, mut failed) = (0, 0);
    for seed in 0..RUNS {
        let (run, passes) = passes(several_passes_of_a_start(), &[], 2 * ROUNDS, seed);
        let mut rounds: Vec<u32> = (1..=2 * ROUNDS).collect();
        Rng::with_seed(seed).shuffle(&mut rounds);
        let half = |rounds: &[u32]| {
            let passes = passes.iter().filter(|pass| rounds.contains(&pass.place.round));
            (run.clone(), passes.cloned().collect())
        };
        let (one, other) = rounds.split_at(ROUNDS as usize);
        let halves = [half(one), half(other)];
        claimed += usize::from(is_claimed(&halves));
        let limits = ["bandwidth < 0 %".to_owned(), "bandwidth > 0 %".to_owned()];
        failed += usize::from(status(check_changes(&halves, &gate(&limits))) == ExitCode::FAILURE);
    }
    assert!(claimed <= MOST && failed <= MOST, "{claimed} claimed, {failed} failed of {RUNS}");
}

#[test]
fn comparison_of_two_runs_finds_twice_the_detectable_size_in_more_than_eighty_of_a_hundred() {
    let limits = ["bandwidth < 0 %".to_owned()];
    let ratio = detectable(several_passes_of_a_start().as_ref()).powi(-2);
    let everywhere = Effect { levels: Levels::new(), ratio };
    let fails = |seed: &u64| {
        let old = passes(several_passes_of_a_start(), &[], ROUNDS, *seed);
        let new = passes(several_passes_of_a_start(), slice::from_ref(&everywhere), ROUNDS, *seed + RUNS);
        let runs = [old, new];
        is_claimed(&runs) && status(check_changes(&runs, &gate(&limits))) == ExitCode::FAILURE
    };
    let found = (0..RUNS).filter(fails).count();
    assert!(found * 100 >= RUNS as usize * 80, "{found} of {RUNS}");
}
