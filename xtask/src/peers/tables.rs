//! What is printed: medians, ratios and marks.

use measure::{Error, Estimate, Level, Margin, Samples};
use report::{Column, Table, plain_ratio};
use serde_json::json;

use super::loads;
use super::marks::{self, Against, Mark};
use super::names::{SYSTEM_CALLS, WHARF};
use super::options::Export;
use super::results::{Key, Results, Series};
use super::sample::Sample;
use crate::Outcome;

/// All of it as Markdown.
pub fn to_markdown(results: &Results) -> Outcome<String> {
    let machine = results.machine.as_object().into_iter().flatten();
    let mut text: String = machine.map(|(name, value)| format!("- {name}: {value}\n")).collect();
    let sections = [
        ("Medians; in brackets the interval that holds the median with 95 % or more.", medians(results)?),
        (
            "Wharf divided by others, run for run: the geometric mean of the ratios, in brackets its interval of 95 % \
             (Student), its half-width, and the number of pairs. Verdicts are corrected for how many there are (Holm).",
            ratios(results),
        ),
        ("NFSv4 divided by what it is held against, on the same server and in the same rounds.", versions(results)),
        (
            "Marks: what Wharf has to reach, and whether it did. A mark is met or missed where the whole interval is on \
             one side of it; six runs are needed for an interval.",
            marks_table(results),
        ),
    ];
    for (title, table) in sections.into_iter().filter(|(_, table)| !table.is_empty()) {
        text += &format!("\n{title}\n\n{}", table.to_markdown());
    }
    text.extend(results.failures.iter().map(|failure| format!("\nFailed: {failure}\n")));
    Ok(text)
}

fn medians(results: &Results) -> Outcome<Table> {
    let titles =
        ["ops/s", "entries/s", "MB/s", "p50 µs", "p99 µs", "server µs/op", "server s/GB", "peak MiB", "foreign"];
    let heads = ["load", "with", "server"].map(Column::text).into_iter().chain(titles.map(Column::number));
    let mut table = Table::new(heads);
    let mut all: Vec<&Series> = results.series.iter().collect();
    all.sort_by_key(|series| (series.key.generator, position(results, &series.key.load)));
    for series in all {
        let Key { server, generator, load } = &series.key;
        let cells = [
            with_interval(series, 0, |sample| sample.operations_per_second)?,
            median_of(series, 0, |sample| sample.entries_per_second)?,
            with_interval(series, 0, |sample| sample.megabytes_per_second)?,
            median_of(series, 0, |sample| sample.median_us)?,
            median_of(series, 0, |sample| sample.p99_us)?,
            with_interval(series, 2, |sample| sample.server_us_per_operation)?,
            median_of(series, 3, Sample::server_seconds_per_gigabyte)?,
            median_of(series, 1, |sample| sample.server_peak_mib)?,
            median_of(series, 2, |sample| sample.foreign_processors)?,
        ];
        table.push([load, *generator, server.as_str()].map(str::to_owned).into_iter().chain(cells));
    }
    Ok(table)
}

/// Where a load comes in the list of all.
fn position(results: &Results, load: &str) -> Option<usize> {
    let in_list = loads::all().iter().position(|listed| listed.to_string() == load);
    in_list.or_else(|| results.series.iter().position(|series| series.key.load == load))
}

fn ratios(results: &Results) -> Table {
    let titles = ["ops/s", "server µs/op", "peak MiB"];
    let heads = ["load", "with", "Wharf against"].map(Column::text).into_iter().chain(titles.map(Column::number));
    let mut table = Table::new(heads);
    let is_other = |series: &&Series| ![WHARF, SYSTEM_CALLS].contains(&series.key.server.as_str());
    let mut others: Vec<&Series> = results.series.iter().filter(is_other).collect();
    others.sort_by_key(|series| (series.key.generator, position(results, &series.key.load)));
    let pairs: Vec<(&Series, &Series)> = others
        .into_iter()
        .filter_map(|other| Some((other, results.find(WHARF, other.key.generator, &other.key.load)?)))
        .collect();
    let rates: Vec<_> = pairs.iter().map(|(other, wharf)| wharf.divided_by(other, RATE)).collect();
    for ((other, wharf), rate) in pairs.into_iter().zip(report::ratios(&rates, Margin::TWO_PERCENT)) {
        let Key { server, generator, load } = &other.key;
        let plain =
            |figure: Figure| wharf.divided_by(other, figure).map_or_else(|_| String::new(), |it| plain_ratio(&it));
        let cells = [rate, plain(COST), plain(|sample| sample.server_peak_mib)];
        table.push([load, *generator, server.as_str()].map(str::to_owned).into_iter().chain(cells));
    }
    table
}

/// One figure of a sample.
type Figure = fn(&Sample) -> f64;
const RATE: Figure = |sample| sample.operations_per_second;
const COST: Figure = |sample| sample.server_us_per_operation;

/// The ratios of loads to those on the same server that they are held against.
fn versions(results: &Results) -> Table {
    let heads = ["load", "compared with", "with", "server"].map(Column::text);
    let mut table = Table::new(heads.into_iter().chain([Column::number("ops/s"), Column::number("server µs/op")]));
    let mut pairs = Vec::new();
    for (load, baseline) in loads::all().iter().filter_map(|load| Some((load, load.baseline()?))) {
        let (load, baseline) = (load.to_string(), baseline.to_string());
        for candidate in results.series.iter().filter(|series| series.key.load == load) {
            let Key { server, generator, .. } = &candidate.key;
            pairs.extend(results.find(server, generator, &baseline).map(|older| (candidate, older)));
        }
    }
    let rates: Vec<_> = pairs.iter().map(|(newer, older)| newer.divided_by(older, RATE)).collect();
    for ((newer, older), rate) in pairs.into_iter().zip(report::ratios(&rates, Margin::TWO_PERCENT)) {
        let Key { server, generator, load } = &newer.key;
        let cost = newer.divided_by(older, COST).map_or_else(|_| String::new(), |it| plain_ratio(&it));
        let names = [load, &older.key.load, *generator, server.as_str()].map(str::to_owned).into_iter();
        table.push(names.chain([rate, cost]));
    }
    table
}

/// The marks are those of tmpfs; on another file system they are shown beside the figures, and nothing is said of them.
fn marks_table(results: &Results) -> Table {
    let is_judged = results.machine["export"] != json!(Export::Ext4.name());
    let heads = ["load", "figure", "against", "best seen"].map(Column::text).into_iter();
    let heads = heads.chain([Column::number("mark"), Column::number("measured"), Column::text("verdict")]);
    let mut table = Table::new(heads.chain([Column::text("with")]));
    let mut generators: Vec<&str> = results.series.iter().map(|series| series.key.generator).collect();
    generators.sort_unstable();
    generators.dedup();
    for mark in marks::all().iter().filter(|mark| results.is_wanted(&mark.load)) {
        let names = [&mark.load, mark.figure.name(), mark.against.name(), mark.best_seen].map(str::to_owned);
        for (generator, found) in judgements(results, mark, &generators) {
            let (measured, verdict) = match found {
                Ok(estimate) => (show(estimate), mark.bound.judge(estimate).name().to_owned()),
                Err(why) => (String::new(), why),
            };
            let verdict = if is_judged { verdict } else { String::new() };
            let row = names.clone().into_iter().chain([mark.bound.show(), measured, verdict]);
            table.push(row.chain([generator.to_owned()]));
        }
    }
    table
}

/// What each generator measured for a mark, or why it has no figure. A mark that no generator has a figure of has one line.
fn judgements<'g>(results: &Results, mark: &Mark, generators: &[&'g str]) -> Vec<(&'g str, Result<Estimate, String>)> {
    let each = |name: &&'g str| Some((*name, estimate(results, mark, name)?));
    let found: Vec<_> = generators.iter().filter_map(each).collect();
    if found.is_empty() { vec![("", Err("not measured".to_owned()))] } else { found }
}

/// What was measured for a mark: nothing where one of both sides has no runs, and an error where there are too few.
fn estimate(results: &Results, mark: &Mark, generator: &str) -> Option<Result<Estimate, String>> {
    let wharf = results.find(WHARF, generator, &mark.load)?;
    let figure = |sample: &Sample| mark.figure.of(sample);
    let against = |other: &Series| wharf.divided_by(other, figure).map(|comparison| comparison.ratio);
    let found = match mark.against {
        Against::Server(server) => against(results.find(server, generator, &mark.load)?),
        Against::FastestOf(servers) => {
            let all = servers.iter().filter_map(|server| results.find(server, generator, &mark.load));
            let median = |series: &&Series| Samples::new(series.figures(figure)).map_or(0.0, |found| found.median());
            against(all.max_by(|one, other| median(one).total_cmp(&median(other)))?)
        }
        Against::Itself => own_median(wharf, figure),
    };
    Some(found.map_err(|error| format!("undecided: {error}")))
}

fn own_median(series: &Series, figure: impl Fn(&Sample) -> f64) -> Result<Estimate, Error> {
    let samples = Samples::new(series.figures(figure))?;
    Ok(Estimate { value: samples.median(), interval: samples.median_interval(Level::P95)?.interval })
}

fn samples_of(series: &Series, figure: impl Fn(&Sample) -> f64) -> Outcome<Samples> {
    Ok(Samples::new(series.figures(figure))?)
}

fn median_of(series: &Series, decimals: usize, figure: impl Fn(&Sample) -> f64) -> Outcome<String> {
    Ok(format!("{:.decimals$}", samples_of(series, figure)?.median()))
}

/// The median and its interval; too few samples have none.
fn with_interval(series: &Series, decimals: usize, figure: impl Fn(&Sample) -> f64) -> Outcome<String> {
    let samples = samples_of(series, figure)?;
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

#[cfg(test)]
mod tests {
    use super::super::names::{CEILING_COPY, CEILING_MEMORY, CEILING_SENDFILE, GANESHA, WHARF_AGAIN};
    use super::super::results::Place;
    use super::*;

    fn sample(operations_per_second: f64) -> Sample {
        Sample {
            operations_per_second,
            megabytes_per_second: 1.0,
            server_us_per_operation: 2.5,
            server_peak_mib: 11.0,
            foreign_processors: 0.1,
            ..Sample::default()
        }
    }

    /// Six rounds of rates near these, in which the first server ran beside each other and beside itself.
    fn results(series: &[(&str, &str, f64)]) -> Results {
        let mut results = Results::new(json!({"kernel": "x"}));
        for round in 1..=6 {
            for (server, load, rate) in series {
                let key = || Key { server: (*server).to_owned(), generator: "nfsload", load: (*load).to_owned() };
                let sample = sample(rate + f64::from(round) - 1.0);
                let others: Vec<&str> = match *server {
                    WHARF => series.iter().map(|other| other.0).filter(|other| *other != WHARF).collect(),
                    _ => vec![server],
                };
                let again = (*server == WHARF).then_some(WHARF_AGAIN);
                for pair in others.into_iter().chain(again) {
                    results.add(key(), place(round, pair), sample);
                }
            }
        }
        results
    }

    fn place(round: u32, pair: &str) -> Place {
        Place { round, position: 0, pair: pair.to_owned() }
    }

    #[test]
    fn ratio_is_wharfs_to_the_others_and_only_clear_ones_are_claimed() {
        let text = to_markdown(&results(&[(GANESHA, "load", 100.0), (WHARF, "load", 300.0)])).unwrap();
        assert!(text.contains("302 [301, 304]") && text.contains("2.95 ["), "{text}");
        assert!(text.contains("n 6, higher") && text.contains("kernel"), "{text}");
        assert!(!text.contains("Marks"), "{text}");
    }

    #[test]
    fn newer_version_is_held_against_the_older_one_on_the_same_server() {
        let (old, new) = ("NFSv3: ACCESS, 4×16", "NFSv4.1: ACCESS, 4×16");
        let text = to_markdown(&results(&[(WHARF, old, 100.0), (WHARF, new, 90.0)])).unwrap();
        assert!(text.contains("compared with") && text.contains("0.90 ["), "{text}");
    }

    #[test]
    fn server_without_a_peer_has_medians_and_no_ratio() {
        let text = to_markdown(&results(&[(WHARF, "load", 300.0)])).unwrap();
        assert!(text.contains("300") && !text.contains("divided"), "{text}");
    }

    #[test]
    fn marks_say_what_was_wanted_what_was_found_and_whether_that_is_enough() {
        let (fast, slow) = ("NFSv3: ACCESS, 4×16", "NFSv3: LOOKUP, 4×16");
        let found = [(GANESHA, fast, 100.0), (WHARF, fast, 1500.0), (GANESHA, slow, 100.0), (WHARF, slow, 500.0)];
        let text = to_markdown(&results(&found)).unwrap();
        let row = |load: &str| text.lines().rfind(|line| line.contains(load)).unwrap().to_owned();
        assert!(row(fast).contains("≥ 12 |") && row(fast).contains("| met "), "{text}");
        assert!(row(slow).contains("≥ 7 |") && row(slow).contains("| missed "), "{text}");
    }

    #[test]
    fn ceiling_is_the_faster_of_those_that_read_the_file() {
        let load = "NFSv3: READ 4 KiB random, 1×64";
        let found = [
            (CEILING_COPY, load, 1000.0),
            (CEILING_SENDFILE, load, 500.0),
            (CEILING_MEMORY, load, 2000.0),
            (WHARF, load, 800.0),
        ];
        let text = to_markdown(&results(&found)).unwrap();
        let row = |against: &str| text.lines().rfind(|line| line.contains(against)).unwrap().to_owned();
        assert!(
            row("the ceiling that reads").contains("0.80 [") && row("the ceiling that reads").contains("| met "),
            "{text}"
        );
        assert!(row(CEILING_MEMORY).contains("0.40 [") && row(CEILING_MEMORY).contains("| missed "), "{text}");
    }

    #[test]
    fn mark_that_cannot_be_measured_says_so() {
        let load = "NFSv3: ACCESS, 4×16";
        let text = to_markdown(&results(&[(WHARF, load, 1500.0)])).unwrap();
        let row = text.lines().rfind(|line| line.contains(load)).unwrap();
        assert!(row.contains("≥ 12 |") && row.contains("not measured"), "{text}");
    }

    #[test]
    fn load_that_failed_altogether_keeps_its_mark() {
        let mut results = results(&[]);
        results.wanted.push("NFSv3: ACCESS, 4×16".to_owned());
        assert!(to_markdown(&results).unwrap().contains("not measured"));
    }

    #[test]
    fn single_run_meets_no_mark() {
        let load = "NFSv3: READ 128 KiB of own files, 256×1";
        let mut results = Results::new(json!({}));
        let key = || Key { server: WHARF.to_owned(), generator: "nfsload", load: load.to_owned() };
        let memory = |results: &Results| {
            let text = to_markdown(results).unwrap();
            text.lines().find(|line| line.contains("peak MiB") && line.contains("≤ 64")).unwrap().to_owned()
        };
        results.add(key(), place(1, WHARF_AGAIN), sample(100.0));
        assert!(memory(&results).contains("undecided: 1 of 6 samples that are needed"), "{}", memory(&results));
        (2..=6).for_each(|round| results.add(key(), place(round, WHARF_AGAIN), sample(100.0)));
        assert!(memory(&results).contains("| met "), "{}", memory(&results));
    }

    #[test]
    fn marks_of_tmpfs_are_not_judged_on_ext4() {
        let load = "NFSv3: ACCESS, 4×16";
        let mut results = results(&[(GANESHA, load, 100.0), (WHARF, load, 1500.0)]);
        results.machine = json!({"export": "ext4"});
        let text = to_markdown(&results).unwrap();
        assert!(text.contains("≥ 12 |") && !text.contains("| met "), "{text}");
    }

    #[test]
    fn failed_run_is_told_of() {
        let mut results = results(&[(WHARF, "load", 300.0)]);
        results.failures.push("round 1: x".to_owned());
        assert!(to_markdown(&results).unwrap().contains("Failed: round 1: x"));
    }
}
