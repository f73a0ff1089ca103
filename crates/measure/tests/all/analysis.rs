//! What the analysis says of runs whose truth is known.

use measure::analysis::{Agreement, Change, Reached, Results, Row, RunPasses, Warning, analyse, changes, rings};
use measure::record::{Baseline, Bound, Goal, Measurement, Precision, Run};
use measure::{Error, Level, Margin, Verdict};

use testing::synthetic::{Server, levels, passes, run};

/// How many seeds the rates of error are counted over.
const SEEDS: u64 = 200;

fn results(run: &Run, passes: &[Measurement]) -> Results {
    analyse(run, passes, Margin::TWO_PERCENT)
}

fn of(seed: u64, rounds: u32, server: &Server) -> Results {
    let run = run(seed, rounds);
    results(&run, &passes(&run, server))
}

fn row<'a>(results: &'a Results, load: &str, block: &str, reply: &str) -> &'a Row {
    let wanted = levels(&[("load", load), ("block", block), ("reply", reply)]);
    results.tables[0].iter().find(|row| row.levels == wanted).unwrap()
}

fn claims(rows: &[Row]) -> usize {
    rows.iter().filter(|row| matches!(row.verdict, Verdict::Higher | Verdict::Lower)).count()
}

/// In how many of [`SEEDS`] runs something is so.
fn count(rounds: u32, server: &Server, is_so: impl Fn(&Results) -> bool) -> u64 {
    (0..SEEDS).filter(|seed| is_so(&of(*seed, rounds, server))).count() as u64
}

/// The greatest count that 5 % of the runs reach with a probability of 99 %: scipy.stats.binom.ppf(0.99, 200, 0.05).
const MOST_FALSE: u64 = 18;

#[test]
fn tables_have_a_row_for_each_level_but_the_baseline_and_the_control() {
    let results = of(1, 10, &Server { ratios: [1.0, 1.15, 1.3, 1.0], ..Server::default() });
    let shown = |row: &Row| {
        (
            row.candidate().to_owned(),
            row.others(&run(1, 1).design.factors).map(|(_, level)| level.to_owned()).collect::<Vec<_>>().join(" "),
        )
    };
    let rows: Vec<(String, String)> = results.tables[0].iter().map(shown).collect();
    let others = ["read 4k", "read 128k", "write 4k", "write 128k"];
    let expected: Vec<(String, String)> = others
        .iter()
        .flat_map(|other| ["gather", "zero-copy"].map(|reply| (reply.to_owned(), (*other).to_owned())))
        .collect();
    assert_eq!(rows, expected);
    // Two loads and three contenders, the control left out.
    assert_eq!(results.tables[1].len(), 6);
    assert_eq!(results.controls.len(), 4);
    assert!(results.controls.iter().all(|row| row.candidate() == "copy again" && row.comparison.is_ok()));
    // Four loads, four contenders, three figures.
    assert_eq!(results.cells.len(), 48);
    assert_eq!(results.cells[0].samples.as_ref().unwrap().count(), 30);
    assert_eq!(results.cells[3].samples.as_ref().unwrap().count(), 10);
    assert_eq!(results.latencies.len(), 16);
}

#[test]
fn row_compares_the_passes_of_its_pair_and_says_what_the_document_says() {
    let results =
        of(1, 10, &Server { ratios: [1.0, 1.15, 1.3, 1.0], noise: 0.002, round_noise: 0.3, ..Server::default() });
    let gather = row(&results, "read", "4k", "gather");
    let comparison = gather.comparison.unwrap();
    assert_eq!((comparison.pairs, gather.verdict), (10, Verdict::Higher));
    assert!(comparison.ratio.interval.contains(1.15) && comparison.half_width() < 0.005, "{comparison:?}");
    assert!((gather.means.unwrap().value - 1.15).abs() < 0.01 && gather.means.unwrap().interval.contains(1.15));
    assert!((gather.medians.unwrap().ratio() - 1.15).abs() < 0.05);
    // The noise of rounds hides the difference from ranks, but not from pairs.
    assert!(gather.rank_chance.unwrap() > 0.05, "{gather:?}");
    assert_eq!(gather.agreement, Some(Agreement::Inside));
    assert_eq!(row(&results, "read", "4k", "zero-copy").agreement, Some(Agreement::Outside));
    assert_eq!(row(&results, "write", "4k", "zero-copy").agreement, Some(Agreement::Outside));
    assert_eq!(
        (row(&results, "write", "4k", "gather").agreement, &row(&results, "write", "4k", "gather").document),
        (None, &None)
    );
}

#[test]
fn resemblance_is_that_of_the_ratios_of_pairs_in_the_order_of_rounds() {
    let run = run(1, 10);
    let all = passes(&run, &Server { round_noise: 0.3, ..Server::default() });
    let found = results(&run, &all);
    let figure = |round: u32, reply: &str| {
        let wanted = levels(&[("load", "read"), ("block", "4k"), ("reply", reply)]);
        let is_it =
            |pass: &&Measurement| pass.levels == wanted && pass.place.round == round && pass.place.pair == "gather";
        all.iter().find(is_it).unwrap().figures["throughput"]
    };
    let logarithms: Vec<f64> = (1..=10).map(|round| (figure(round, "gather") / figure(round, "copy")).ln()).collect();
    let expected = measure::autocorrelation(&logarithms).unwrap();
    let resemblance = row(&found, "read", "4k", "gather").resemblance.unwrap();
    assert!((resemblance.value - expected.value).abs() < 1e-9, "{resemblance:?} is not {expected:?}");
}

#[test]
fn table_of_some_levels_has_their_rows_alone() {
    let mut run = run(1, 6);
    run.design.tables[0].only = levels(&[("load", "read")]);
    let found = results(&run, &passes(&run, &Server::default()));
    let loads: Vec<&str> = found.tables[0].iter().map(|row| row.levels["load"].as_str()).collect();
    assert_eq!(loads, ["read"; 4]);
}

#[test]
fn ratio_of_a_document_counts_once_by_the_row_that_agrees_least() {
    let mut run = run(4, 10);
    let mut all = passes(&run, &Server { ratios: [1.0, 1.15, 1.0, 1.0], noise: 0.002, ..Server::default() });
    // Reads of gather +15 %, of zero-copy 0 %, writes of zero-copy -10 %; both block sizes have each of them.
    use Agreement::{Inside, NotCompared, Outside};
    assert_eq!(results(&run, &all).agreements(), [Inside, Inside, Outside]);
    let is_meant =
        |pass: &&mut Measurement| pass.levels == levels(&[("load", "read"), ("block", "128k"), ("reply", "gather")]);
    for pass in all.iter_mut().filter(is_meant) {
        *pass.figures.get_mut("throughput").unwrap() *= 1.2;
    }
    assert_eq!(results(&run, &all).agreements(), [Outside, Inside, Outside]);
    // One that is not compared is counted as such.
    let document = &mut run.design.tables[0].document[0];
    *document = document.clone().not_compared("two hosts");
    assert_eq!(results(&run, &all).agreements(), [NotCompared, Inside, Outside]);
}

#[test]
fn computed_rows_have_neither_test_nor_agreement_and_take_no_share_of_the_correction() {
    let server = Server { ratios: [1.0, 1.03, 1.03, 1.0], ..Server::default() };
    let mut run = run(1, 10);
    let all = passes(&run, &server);
    run.design.factors[1].computed = vec!["4k".to_owned()];
    let found = results(&run, &all);
    let computed = |row: &&Row| row.levels["block"] == "4k";
    assert!(found.tables[0].iter().filter(computed).all(|row| row.verdict == Verdict::Computed));
    assert!(found.tables[0].iter().filter(computed).all(|row| row.measured().is_none() && row.ratio().is_some()));
    assert!(found.controls.iter().filter(computed).all(|row| row.verdict == Verdict::Computed));
    // The rows of 128k alone are the family.
    let measured: Vec<_> = found.tables.iter().flatten().filter(|row| !computed(row)).collect();
    let alone =
        measure::judge(&measured.iter().map(|row| row.comparison).collect::<Vec<_>>(), Margin::TWO_PERCENT, Level::P95);
    assert_eq!(measured.iter().map(|row| row.verdict).collect::<Vec<_>>(), alone);
    // A document's ratio is compared with the measured row of the two that have it.
    assert!(!found.agreements().contains(&Agreement::NotCompared), "{:?}", found.agreements());
    run.design.factors[1].computed.push("128k".to_owned());
    let found = results(&run, &all);
    assert_eq!((found.agreements(), found.widest()), (vec![Agreement::NotCompared; 3], Some(0.0)));
    assert_eq!(found.detectable(10), None);
}

#[test]
fn factor_that_is_not_the_contenders_is_compared_by_rounds() {
    let results = of(5, 10, &Server::default());
    let row = &results.tables[1][0];
    assert_eq!((row.candidate(), row.comparison.unwrap().pairs), ("128k", 10));
    assert!((row.comparison.unwrap().ratio.value - 5.0).abs() < 0.2);
}

#[test]
fn failed_and_repeated_passes_are_counted_and_left_out_with_their_pairs() {
    let run = run(2, 10);
    let mut all = passes(&run, &Server::default());
    let is_gather =
        |pass: &&mut Measurement| pass.levels == levels(&[("load", "read"), ("block", "4k"), ("reply", "gather")]);
    let mut gather: Vec<&mut Measurement> = all.iter_mut().filter(is_gather).collect();
    gather[0].failure = Some("the server went away".to_owned());
    gather[0].figures.clear();
    gather[1].is_repeated = true;
    gather[1].figures.insert("throughput".to_owned(), 1e9);
    gather[2].latency.clear();
    let results = results(&run, &all);
    assert_eq!(row(&results, "read", "4k", "gather").comparison.unwrap().pairs, 8);
    let cell = results.cells.iter().find(|cell| cell.failures > 0).unwrap();
    assert_eq!((cell.failures, cell.repeated, cell.samples.as_ref().unwrap().count()), (1, 1, 8));
    assert_eq!(cell.positions.len(), 8);
    // Neither of these passes counts for latencies, nor one that has none.
    let curves = || results.latencies.iter().map(|curve| curve.passes);
    assert_eq!((curves().min(), curves().filter(|passes| *passes == 10).count()), (Some(7), 11));
    assert!(results.warnings.contains(&Warning::Failed { passes: 1 }), "{:?}", results.warnings);
    assert!(results.warnings.contains(&Warning::Repeated { passes: 1 }));
}

#[test]
fn disturbed_pass_that_counts_marks_the_rows_that_have_it_and_no_other() {
    let run = run(2, 10);
    let mut all = passes(&run, &Server::default());
    let is_meant = |pass: &&mut Measurement| {
        let of_gather = levels(&[("load", "read"), ("block", "4k"), ("reply", "gather")]);
        let reference = levels(&[("load", "read"), ("block", "4k"), ("reply", "copy")]);
        (pass.levels == of_gather && pass.place.round < 3)
            || (pass.levels == reference && pass.place.round == 7 && pass.place.pair == "gather")
    };
    for pass in all.iter_mut().filter(is_meant) {
        pass.disturbance.foreign_processors = 0.2;
        pass.disturbance.stolen_processors = 0.2;
    }
    let found = results(&run, &all);
    let marked = found.tables[0].iter().filter(|row| row.disturbed > 0).count();
    assert_eq!((row(&found, "read", "4k", "gather").disturbed, marked), (3, 1));
    assert_eq!(row(&found, "read", "4k", "gather").comparison.unwrap().pairs, 10);
    assert!(found.warnings.contains(&Warning::Disturbed { passes: 3, of: 240 }), "{:?}", found.warnings);
    // The reference has another pass in the pair of the control.
    assert!(found.controls.iter().all(|row| row.disturbed == 0));
    let lenient = results(&Run { disturbed_from: None, ..run }, &all);
    assert!(lenient.tables[0].iter().all(|row| row.disturbed == 0));
}

#[test]
fn run_with_too_few_rounds_claims_nothing_and_says_why() {
    let results = of(2, 5, &Server { ratios: [1.0, 2.0, 3.0, 1.0], ..Server::default() });
    assert_eq!(claims(&results.tables[0]), 0);
    assert_eq!(results.tables[0][0].comparison, Err(Error::TooFew { got: 5, needed: 6 }));
    assert_eq!(results.widest(), None);
    let empty = self::results(&run(1, 10), &[]);
    assert!(empty.cells.is_empty() && empty.warnings.is_empty() && empty.widest().is_none());
}

#[test]
fn figure_that_a_contender_never_has_is_no_row_and_keeps_no_run_from_being_precise() {
    let run = run(2, 10);
    let all = |lacks: fn(&Measurement) -> bool| {
        let mut all = passes(&run, &Server::default());
        for pass in all.iter_mut().filter(|pass| lacks(pass)) {
            pass.figures.remove("throughput");
        }
        results(&run, &all)
    };
    let without_candidate = all(|pass| pass.levels["reply"] == "zero-copy");
    assert_eq!((without_candidate.tables[0].len(), without_candidate.widest().is_some()), (4, true));
    let without_baseline = all(|pass| pass.levels["reply"] == "copy" && pass.levels["load"] == "read");
    assert_eq!((without_baseline.tables[0].len(), without_baseline.widest().is_some()), (4, true));
    assert_eq!(without_baseline.controls.len(), 2);
    // Ratios that more rounds may give are rows.
    let in_one_round = all(|pass| pass.levels["reply"] == "zero-copy" && pass.place.round != 3);
    assert_eq!((in_one_round.tables[0].len(), in_one_round.widest()), (8, None));
    let mut failing = passes(&run, &Server::default());
    for pass in failing.iter_mut().filter(|pass| pass.levels["reply"] == "zero-copy") {
        pass.failure = Some("the server went away".to_owned());
        pass.figures.clear();
    }
    let failing = results(&run, &failing);
    assert_eq!((failing.tables[0].len(), failing.widest()), (8, None));
}

#[test]
fn run_that_is_less_precise_than_wanted_warns() {
    let mut run = run(4, 10);
    let all = passes(&run, &Server { noise: 0.01, ..Server::default() });
    let wanted = |half_width| Some(Precision { level: 0.99, half_width });
    let is_imprecise =
        |run: &Run| results(run, &all).warnings.iter().any(|warning| matches!(warning, Warning::Imprecise { .. }));
    run.precision = wanted(0.5);
    assert!(!is_imprecise(&run));
    assert_eq!(results(&run, &all).level, Level::P99);
    run.precision = wanted(0.001);
    assert!(is_imprecise(&run));
    assert!(results(&run, &all).widest().unwrap() > 0.01);
}

#[test]
fn runs_without_a_difference_claim_one_in_at_most_five_of_a_hundred() {
    let server = Server::default();
    let falsely = count(10, &server, |results| claims(&results.tables[0]) > 0);
    assert!(falsely <= MOST_FALSE, "{falsely} of {SEEDS}");
    let control = count(10, &server, |results| claims(&results.controls) > 0);
    assert!(control <= MOST_FALSE, "{control} of {SEEDS}");
}

#[test]
fn servers_that_differ_from_start_to_start_are_claimed_to_differ_in_at_most_five_of_a_hundred_runs() {
    let server = Server { start_noise: 0.1, ..Server::default() };
    let falsely = count(10, &server, |results| claims(&results.tables[0]) > 0);
    assert!(falsely <= MOST_FALSE, "{falsely} of {SEEDS}");
}

#[test]
fn runs_without_a_fault_warn_in_at_most_five_of_a_hundred_for_each_kind() {
    let kinds: [fn(&Warning) -> bool; 3] = [
        |warning| matches!(warning, Warning::Drift { .. }),
        |warning| matches!(warning, Warning::Resemblance { .. }),
        |warning| matches!(warning, Warning::Peaks { .. }),
    ];
    // Noise that a round's passes share makes positions near one another alike; it is no fault, but no drift test
    // allows for it.
    let server = Server { round_noise: 0.0, ..Server::default() };
    let all: Vec<Vec<Warning>> = (0..SEEDS / 2).map(|seed| of(seed, 10, &server).warnings).collect();
    for (index, kind) in kinds.into_iter().enumerate() {
        let falsely = all.iter().filter(|warnings| warnings.iter().any(kind)).count();
        // scipy.stats.binom.ppf(0.99, 100, 0.05)
        assert!(falsely <= 11, "{index}: {falsely} of 100");
    }
}

#[test]
fn change_of_three_percent_is_found_as_often_as_the_theory_says() {
    // Of 14 rows, two contenders' are 3 % faster at each of four loads. One row alone: the deviation of a ratio is 2 %
    // times the square root of 2. scipy: 1 - nct.cdf(t.ppf(1 - 0.05 / 2 / 14, n - 1), n - 1, log(1.03) * sqrt(n) /
    // (0.02 * sqrt(2)))
    for (rounds, power) in [(10, 0.361), (20, 0.89)] {
        let server = Server { ratios: [1.0, 1.03, 1.0, 1.0], ..Server::default() };
        let found = count(rounds, &server, |results| row(results, "read", "4k", "gather").verdict == Verdict::Higher);
        let share = found as f64 / SEEDS as f64;
        assert!(share >= power - 0.06, "{rounds} rounds: {share}, not {power}");
    }
}

fn drifting() -> Server {
    Server { drift: 0.1, round_noise: 0.0, ..Server::default() }
}

#[test]
fn drift_of_the_whole_run_is_one_warning() {
    for seed in 0..30 {
        let warnings = of(seed, 10, &drifting()).warnings;
        let drifts: Vec<&Warning> =
            warnings.iter().filter(|warning| matches!(warning, Warning::Drift { .. })).collect();
        let is_rise =
            matches!(drifts[..], [Warning::Drift { levels: None, correlation, .. }] if correlation.value > 0.0);
        assert!(is_rise, "{seed}: {warnings:?}");
    }
}

#[test]
fn figure_that_is_always_zero_hides_no_drift_of_the_others() {
    let run = run(1, 10);
    let mut all = passes(&run, &drifting());
    for pass in all.iter_mut().filter(|pass| pass.levels["load"] == "write") {
        pass.figures.insert("throughput".to_owned(), 0.0);
    }
    let warnings = results(&run, &all).warnings;
    assert!(warnings.iter().any(|warning| matches!(warning, Warning::Drift { levels: None, .. })), "{warnings:?}");
}

#[test]
fn drift_makes_a_false_claim_in_at_most_five_of_a_hundred_runs() {
    let falsely = count(10, &drifting(), |results| claims(&results.tables[0]) > 0);
    assert!(falsely <= MOST_FALSE, "{falsely} of {SEEDS}");
}

#[test]
fn ratio_that_changes_in_the_course_of_a_run_is_flagged() {
    let run = run(1, 20);
    let mut all = passes(&run, &Server { noise: 0.005, ..Server::default() });
    for pass in all.iter_mut().filter(|pass| pass.levels["reply"] == "gather" && pass.place.round > 10) {
        *pass.figures.get_mut("throughput").unwrap() *= 1.2;
    }
    let warnings = results(&run, &all).warnings;
    assert!(warnings.iter().any(|warning| matches!(warning, Warning::Resemblance { .. })), "{warnings:?}");
}

#[test]
fn passes_in_two_states_and_operations_of_two_kinds_are_flagged() {
    let flagged = |server: &Server, is_of_passes: bool| {
        let is_so =
            |warning: &Warning| matches!(warning, Warning::Peaks { figure, .. } if figure.is_some() == is_of_passes);
        of(1, 20, server).warnings.iter().filter(|warning| is_so(warning)).count()
    };
    let server = Server { round_noise: 0.0, ..Server::default() };
    assert!(flagged(&Server { states: 0.5, ..server.clone() }, true) > 0);
    assert_eq!(flagged(&Server { slow: 0.3, ..server.clone() }, false), 16);
    assert_eq!(flagged(&server, false), 0);
}

#[test]
fn control_that_differs_is_the_first_warning() {
    let results = of(1, 10, &Server { ratios: [1.0, 1.0, 1.0, 1.1], drift: 0.3, ..Server::default() });
    assert!(matches!(results.warnings[0], Warning::Control { index: 0 }), "{:?}", results.warnings);
}

#[test]
fn run_without_noise_has_no_warning() {
    let server = Server { noise: 0.0, round_noise: 0.0, ..Server::default() };
    assert_eq!(of(1, 10, &server).warnings, []);
}

#[test]
fn states_that_only_rounding_distinguishes_are_no_peaks() {
    let server = Server { noise: 0.0, round_noise: 0.0, states: 1e-12, ..Server::default() };
    assert_eq!(of(1, 10, &server).warnings, []);
}

fn is_claim(change: &Change) -> bool {
    matches!(change.verdict, Verdict::Higher | Verdict::Lower)
}

/// The changes from a random half of a run's twelve rounds to the other half: there is none in truth.
fn halves(seed: u64, server: &Server) -> Vec<Change> {
    let run = run(seed, 12);
    let order = measure::shuffled(seed, 7, 12);
    let is_first = |pass: &Measurement| order[..6].contains(&(pass.place.round as usize - 1));
    let (one, other): (Vec<Measurement>, Vec<Measurement>) = passes(&run, server).into_iter().partition(is_first);
    let half = |passes| RunPasses { run: &run, passes };
    changes(half(&one), half(&other), Margin::TWO_PERCENT, Level::P95)
}

#[test]
fn random_halves_of_a_run_show_a_change_in_at_most_five_of_a_hundred_however_starts_differ() {
    // Starts that deviate as much as passes: their intraclass correlation is 0.5.
    for start_noise in [0.0, 0.02] {
        let server = Server { noise: 0.02, start_noise, round_noise: 0.0, ..Server::default() };
        let all: Vec<Vec<Change>> = (0..100).map(|seed| halves(seed, &server)).collect();
        let falsely = all.iter().filter(|changes| changes.iter().any(is_claim)).count();
        // scipy.stats.binom.ppf(0.99, 100, 0.05)
        assert!(falsely <= 11, "{start_noise}: {falsely} of 100");
        // Each ratio by itself misses 1 in 5 of 100: the reference has three passes of each start.
        let of_reference = all.iter().flatten().filter(|change| change.levels["reply"] == "copy");
        let missed = of_reference.clone().filter(|change| !change.comparison.unwrap().ratio.interval.contains(1.0));
        let share = missed.count() as f64 / of_reference.count() as f64;
        assert!(share < 0.08, "{start_noise}: {share}");
    }
}

#[test]
fn start_counts_once_however_many_passes_it_has() {
    for change in halves(1, &Server::default()) {
        assert_eq!((change.old.len(), change.new.len()), (6, 6), "{change:?}");
    }
}

#[test]
fn runs_with_too_few_starts_claim_no_change_and_say_why() {
    let (old, new) = (run(1, 5), run(2, 10));
    let server = Server::default();
    let (before, after) = (passes(&old, &server), passes(&new, &Server { ratios: [2.0; 4], ..server }));
    let (old, new) = (RunPasses { run: &old, passes: &before }, RunPasses { run: &new, passes: &after });
    for change in changes(old, new, Margin::TWO_PERCENT, Level::P95) {
        assert_eq!((change.comparison, change.verdict), (Err(Error::TooFew { got: 5, needed: 6 }), Verdict::Undecided));
    }
}

/// The changes from a run of a server to a run of one with these ratios.
fn compared(seed: u64, ratios: [f64; 4]) -> Vec<Change> {
    let server = Server { round_noise: 0.0, ..Server::default() };
    let (old, new) = (run(seed, 10), run(seed + 1000, 10));
    let before = passes(&old, &server);
    let after = passes(&new, &Server { ratios, ..server });
    let (old, new) = (RunPasses { run: &old, passes: &before }, RunPasses { run: &new, passes: &after });
    changes(old, new, Margin::TWO_PERCENT, Level::P95)
}

#[test]
fn two_runs_of_the_same_server_show_a_change_in_at_most_five_of_a_hundred() {
    let falsely = (0..100).filter(|seed| compared(*seed, [1.0; 4]).iter().any(is_claim)).count();
    // scipy.stats.binom.ppf(0.99, 100, 0.05)
    assert!(falsely <= 11, "{falsely} of 100");
}

#[test]
fn two_runs_of_different_servers_show_what_has_changed() {
    let found = compared(1, [1.0, 1.2, 1.0, 1.0]);
    // Four loads, four contenders, and two figures that are better one way.
    assert_eq!(found.len(), 32);
    for change in &found {
        assert_eq!(is_claim(change), change.levels["reply"] == "gather", "{change:?}");
        let ratio = if change.levels["reply"] == "gather" { 1.2 } else { 1.0 };
        let expected = if change.figure == "throughput" { ratio } else { 1.0 / ratio };
        assert!((change.comparison.unwrap().ratio.value / expected - 1.0).abs() < 0.05, "{change:?}");
    }
}

#[test]
fn ratios_of_two_factors_close_their_rings_until_a_pass_of_one_pair_is_another() {
    let server = Server { ratios: [1.0, 1.15, 1.3, 1.0], noise: 0.0, ..Server::default() };
    let run = run(1, 8);
    let mut passes = passes(&run, &server);
    let widest = |passes: &[Measurement]| {
        let rings = rings(&results(&run, passes));
        // Two loads, two contenders that are compared, and one block size.
        assert_eq!(rings.len(), 4);
        assert!(rings.iter().all(|ring| ring.factors == ["reply", "block"] && ring.levels["block"] == "128k"));
        rings.iter().map(|ring| ring.deviation.abs()).fold(0.0, f64::max)
    };
    assert!(widest(&passes) < 1e-9);
    let is_meant = |pass: &&mut Measurement| {
        pass.levels == levels(&[("load", "read"), ("block", "128k"), ("reply", "copy")]) && pass.place.pair == "gather"
    };
    for pass in passes.iter_mut().filter(is_meant) {
        *pass.figures.get_mut("throughput").unwrap() *= 2.0;
    }
    assert!(widest(&passes) > 0.1);
}

#[test]
fn rings_of_few_rounds_are_of_medians_and_tables_of_different_figures_have_none() {
    let server = Server { ratios: [1.0, 1.15, 1.3, 1.0], noise: 0.0, round_noise: 0.0, ..Server::default() };
    let mut run = run(1, 5);
    let passes = passes(&run, &server);
    let found = rings(&results(&run, &passes));
    assert!(found.len() == 4 && found.iter().all(|ring| ring.deviation.abs() < 1e-9 && !ring.is_of_pairs), "{found:?}");
    run.design.tables[1].figure = "latency".to_owned();
    assert_eq!(rings(&results(&run, &passes)), []);
}

#[test]
fn ring_that_must_close_and_does_not_is_flagged() {
    let mut run = run(1, 8);
    let by_load = measure::record::TableKind::new("Throughput by load", "throughput", "load", "read");
    run.design.tables.push(by_load);
    let mut passes = passes(&run, &Server { round_noise: 0.2, ..Server::default() });
    let open = |passes: &[Measurement]| {
        let warnings = results(&run, passes).warnings;
        warnings.into_iter().find(|warning| matches!(warning, Warning::Rings { .. }))
    };
    assert_eq!(open(&passes), None);
    let of_writes = |pass: &Measurement| pass.levels["load"] == "write" && pass.levels["block"] == "128k";
    passes.retain(|pass| !(of_writes(pass) && pass.levels["reply"] == "gather" && pass.place.round == 3));
    let found = open(&passes);
    let Some(Warning::Rings { factors, count: 1, deviation }) = &found else { panic!("{found:?}") };
    assert!(factors.contains(&"load".to_owned()) && factors.contains(&"block".to_owned()), "{factors:?}");
    assert!(*deviation > 1e-6, "{deviation}");
}

/// What is found of a goal of reads of 4 KiB, where zero-copy is 1.3 times as fast as copies.
fn reached(rounds: u32, goal: (&str, Option<&str>, Bound)) -> Reached {
    let run = run(3, rounds);
    let passes = passes(&run, &Server { ratios: [1.0, 1.15, 1.3, 1.0], ..Server::default() });
    reached_by(run, &passes, goal)
}

fn reached_by(mut run: Run, passes: &[Measurement], goal: (&str, Option<&str>, Bound)) -> Reached {
    let (reply, baseline, bound) = goal;
    let levels = levels(&[("load", "read"), ("block", "4k"), ("reply", reply)]);
    let baseline = baseline.map(Into::into);
    run.design.goals = vec![Goal { levels, figure: "throughput".to_owned(), baseline, bound }];
    results(&run, passes).goals[0].reached
}

#[test]
fn goals_are_judged_by_the_interval_of_the_pairs_in_either_direction() {
    let zero_copy = |bound| reached(10, ("zero-copy", Some("copy"), bound));
    assert_eq!(zero_copy(Bound::AtLeast(1.2)), Reached::Met);
    assert_eq!(zero_copy(Bound::AtLeast(1.3)), Reached::Undecided);
    assert_eq!(zero_copy(Bound::AtMost(1.2)), Reached::Missed);
    // The reference against one of its contenders.
    assert_eq!(reached(10, ("copy", Some("gather"), Bound::AtMost(0.95))), Reached::Met);
    // The figure itself: 400 bytes in a microsecond.
    assert_eq!(reached(10, ("copy", None, Bound::AtMost(450.0))), Reached::Met);
    assert_eq!(reached(10, ("copy", None, Bound::AtLeast(450.0))), Reached::Missed);
}

#[test]
fn goal_may_be_relative_to_other_levels_of_any_factors() {
    // 128 KiB have five times the throughput of 4 KiB, and zero-copy 1.3 times that of copies.
    let mut run = run(3, 10);
    let passes = passes(&run, &Server { ratios: [1.0, 1.15, 1.3, 1.0], ..Server::default() });
    let goal = |baseline: &[(&str, &str)], bound| Goal {
        levels: levels(&[("load", "read"), ("block", "128k"), ("reply", "zero-copy")]),
        figure: "throughput".to_owned(),
        baseline: Some(Baseline::Levels(levels(baseline))),
        bound,
    };
    let mut reached_by = |goal| {
        run.design.goals = vec![goal];
        results(&run, &passes).goals[0].reached
    };
    let by_block = [("block", "4k")];
    assert_eq!(reached_by(goal(&by_block, Bound::AtLeast(4.8))), Reached::Met);
    assert_eq!(reached_by(goal(&by_block, Bound::AtLeast(5.2))), Reached::Missed);
    let by_both = [("block", "4k"), ("reply", "copy")];
    assert_eq!(reached_by(goal(&by_both, Bound::AtLeast(6.2))), Reached::Met);
    assert_eq!(reached_by(goal(&[("block", "none")], Bound::AtLeast(0.1))), Reached::NotMeasured);
}

#[test]
fn drift_of_one_contender_is_not_that_of_the_whole_run() {
    for seed in 0..30 {
        let mut run = run(seed, 10);
        run.design.tables.truncate(1);
        let mut all = passes(&run, &Server { round_noise: 0.0, ..Server::default() });
        all.retain(|pass| pass.levels["load"] == "read" && pass.levels["block"] == "4k");
        for pass in all.iter_mut().filter(|pass| pass.levels["reply"] == "gather") {
            *pass.figures.get_mut("throughput").unwrap() *= 1.0 + f64::from(pass.place.round);
        }
        let warnings = results(&run, &all).warnings;
        let of_whole = |warning: &&Warning| matches!(warning, Warning::Drift { levels: None, .. });
        let of_part = |warning: &Warning| match warning {
            Warning::Drift { levels, .. } => levels.as_ref().is_some_and(|levels| levels["reply"] == "gather"),
            _ => false,
        };
        assert_eq!(warnings.iter().find(of_whole), None, "{seed}");
        assert!(warnings.iter().any(of_part), "{seed}: {warnings:?}");
    }
}

#[test]
fn wanted_warning_of_drift_is_met_by_the_contender_that_drifts_alone() {
    let run = run(1, 10);
    let mut all = passes(&run, &Server { round_noise: 0.0, ..Server::default() });
    for pass in all.iter_mut().filter(|pass| pass.levels["reply"] == "gather") {
        *pass.figures.get_mut("throughput").unwrap() *= 1.0 + f64::from(pass.place.round) / 10.0;
    }
    let of = |reply| reached_by(run.clone(), &all, (reply, None, Bound::Drifts));
    assert_eq!([of("gather"), of("copy"), of("absent")], [Reached::Met, Reached::Missed, Reached::NotMeasured]);
    let other_figure: Vec<Measurement> = all
        .iter()
        .cloned()
        .map(|mut pass| {
            pass.figures.insert("throughput".to_owned(), 1.0);
            pass
        })
        .collect();
    assert_eq!(reached_by(run.clone(), &other_figure, ("gather", None, Bound::Drifts)), Reached::Missed);
    all.retain(|pass| pass.place.round < 6);
    assert_eq!(reached_by(run.clone(), &all, ("gather", None, Bound::Drifts)), Reached::Undecided);
}

#[test]
fn wanted_warning_of_peaks_is_met_by_the_contender_whose_operations_are_of_two_kinds() {
    let run = run(1, 10);
    let mut all = passes(&run, &Server::default());
    for pass in all.iter_mut().filter(|pass| pass.levels["reply"] == "gather") {
        pass.latency.iter_mut().filter(|at| at.percent > 70.0).for_each(|at| at.us *= 10.0);
    }
    let of = |reply| reached_by(run.clone(), &all, (reply, None, Bound::HasPeaks));
    assert_eq!([of("gather"), of("copy"), of("absent")], [Reached::Met, Reached::Missed, Reached::NotMeasured]);
}

#[test]
fn goal_with_less_than_six_pairs_is_undecided_and_one_without_any_is_not_measured() {
    let easy = Bound::AtLeast(0.01);
    assert_eq!(reached(5, ("zero-copy", Some("copy"), easy)), Reached::Undecided);
    assert_eq!(reached(5, ("copy", None, easy)), Reached::Undecided);
    assert_eq!(reached(6, ("zero-copy", Some("copy"), easy)), Reached::Met);
    assert_eq!(reached(10, ("zero-copy", Some("a server that is not here"), easy)), Reached::NotMeasured);
    assert_eq!(reached(10, ("a way that is not here", None, easy)), Reached::NotMeasured);
}
