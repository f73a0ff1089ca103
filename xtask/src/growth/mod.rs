//! `cargo xtask growth`: what calls cost the server while it has much of something, and bounds for how much they grow.
//! Counts of instructions and system calls need no quiet machine, so growth shows in any run of the tests.

mod bounds;
mod count;
mod lines;
mod table;

use std::path::Path;

use crate::callgrind::Cost;
use crate::test::Counts;
use crate::{Failure, Outcome};
use bounds::{Bounds, Growth, Verdict};
use count::Counted;
use lines::{DIMENSIONS, Dimension, Extent, Subject};

const USAGE: &str = "growth takes --only DIMENSION, --check or --full, --record, and nothing else; dimensions are";

/// What the command line says.
#[derive(Debug, PartialEq)]
struct Options {
    only: Option<String>,
    extent: Extent,
    records: bool,
}

/// Which comparisons are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    All,
    /// Those that are not as recorded: the table has the others.
    Remarkable,
}

/// Counts, prints the table and compares; with `--record` the growth becomes the bound.
pub fn run(root: &Path, options: &[String]) -> Outcome {
    let options = Options::parse(options)?;
    let dimensions: Vec<&Dimension> = DIMENSIONS.iter().filter(|dimension| options.includes(dimension)).collect();
    let mut bounds = Bounds::load(root)?;
    let mut all = Vec::new();
    table::print_legend();
    count::each(root, &dimensions, options.extent, |rows| {
        if options.records {
            record(&rows, &mut bounds);
        }
        table::print(&rows, &bounds);
        all.extend(rows);
    })?;
    if options.records {
        bounds.store(root)?;
    }
    println!();
    match compare(&all, &bounds, Shown::Remarkable).failed {
        0 => Ok(()),
        failed => Err(Failure::Broken { count: failed as usize, what: "calls grow too much" }),
    }
}

/// The same as a part of the tests: one for each row, at two sizes.
pub fn check(root: &Path) -> Counts {
    let dimensions: Vec<&Dimension> = DIMENSIONS.iter().collect();
    let compared = Bounds::load(root).and_then(|bounds| {
        let mut counts = Counts::default();
        count::each(root, &dimensions, Extent::Check, |rows| counts += compare(&rows, &bounds, Shown::All))?;
        Ok(counts)
    });
    compared.unwrap_or_else(|failure| Counts::failure(format!("FAILED: growth: {failure}")))
}

impl Options {
    fn parse(words: &[String]) -> Outcome<Options> {
        let mut options = Options { only: None, extent: Extent::Table, records: false };
        let mut words = words.iter().map(String::as_str);
        while let Some(word) = words.next() {
            match word {
                "--check" => options.extent = Extent::Check,
                "--full" => options.extent = Extent::Full,
                "--record" => options.records = true,
                "--only" => options.only = Some(known(words.next().ok_or_else(usage)?)?),
                _ => return Err(usage()),
            }
        }
        Ok(options)
    }

    fn includes(&self, dimension: &Dimension) -> bool {
        self.only.as_ref().is_none_or(|only| only == dimension.word)
    }
}

/// The word of a dimension.
fn known(word: &str) -> Outcome<String> {
    let is_known = DIMENSIONS.iter().any(|dimension| dimension.word == word);
    if is_known { Ok(word.to_owned()) } else { Err(usage()) }
}

fn usage() -> Failure {
    let words: Vec<&str> = DIMENSIONS.iter().map(|dimension| dimension.word).collect();
    Failure::Usage(format!("{USAGE} {}", words.join(", ")))
}

fn record(rows: &[(Subject, Counted)], bounds: &mut Bounds) {
    for (subject, counted) in rows {
        let Ok([(_, smallest), rest @ ..]) = counted.as_deref() else { continue };
        rest.iter().for_each(|(size, cost)| bounds.record(subject, *size, &Growth::between(smallest, cost)));
    }
}

/// Prints a line for each row and counts it as a test.
fn compare(rows: &[(Subject, Counted)], bounds: &Bounds, shown: Shown) -> Counts {
    let mut counts = Counts::default();
    for (subject, counted) in rows {
        match counted {
            Err(why) => {
                println!("skipped: growth of {subject}: {why}");
                counts.skipped += 1;
            }
            Ok(costs) if is_within(subject, costs, bounds, shown) => counts.passed += 1,
            Ok(_) => counts.fail(format!("FAILED: growth of {subject}: its line says how")),
        }
    }
    counts
}

/// Whether a row stays within its bounds; prints why not, or how much it grew.
fn is_within(subject: &Subject, costs: &[(usize, Cost)], bounds: &Bounds, shown: Shown) -> bool {
    let [(from, smallest), rest @ ..] = costs else { return true };
    let mut verdict = Verdict::Within;
    for (size, cost) in rest {
        let growth = Growth::between(smallest, cost);
        let counts = format!("growth of {subject}: {} at {from}, {} at {size}: {growth}", text(smallest), text(cost));
        let at_size = bounds.judge(subject, *size, &growth);
        let recorded = bounds.recorded(subject, *size);
        if shown == Shown::All || at_size != Verdict::Within {
            println!("{}", message(&counts, at_size, recorded));
        }
        verdict = verdict.and(at_size);
    }
    matches!(verdict, Verdict::Within | Verdict::Better)
}

fn text(cost: &Cost) -> String {
    format!("{:.0} instructions and {:.2} system calls", cost.instructions, cost.system_calls)
}

fn message(counts: &str, verdict: Verdict, recorded: Option<Growth>) -> String {
    let recorded = recorded.map_or("nothing".to_owned(), |recorded| recorded.to_string());
    match verdict {
        Verdict::Within => format!("{counts}: as recorded"),
        Verdict::Better => {
            format!("{counts}, which is less than {recorded}: `cargo xtask growth --record` keeps it so")
        }
        Verdict::Worse => format!(
            "FAILED: {counts}, and recorded is {recorded}. Find what the call visits one by one (docs/measuring.md), \
             or run `cargo xtask growth --record` and give the reason as \"why\" in xtask/growth.json"
        ),
        Verdict::Unknown => {
            format!("FAILED: {counts}, and nothing is recorded: run `cargo xtask growth --record`, with --full for all")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Outcome<Options> {
        Options::parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn one_dimension_may_be_chosen_by_its_word() {
        let options = parsed(&["--only", "exports", "--full"]).unwrap();
        let included: Vec<&str> =
            DIMENSIONS.iter().filter(|dimension| options.includes(dimension)).map(|dimension| dimension.word).collect();
        assert_eq!((included, options.extent), (vec!["exports"], Extent::Full));
        assert!(matches!(parsed(&["--only", "planets"]), Err(Failure::Usage(text)) if text.contains("connections")));
        assert!(matches!(parsed(&["--only"]), Err(Failure::Usage(_))));
    }

    #[test]
    fn failure_names_the_dimension_the_call_and_both_counts() {
        let subject =
            DIMENSIONS.iter().flat_map(Dimension::subjects).find(|row| row.line.name == "mnt@export").unwrap();
        let mut bounds = Bounds::empty();
        bounds.record(&subject, 1_000, &Growth { ratio: 1.0, more_system_calls: 0.0 });
        let cost = |instructions| Cost { instructions, system_calls: 1.0 };
        assert!(is_within(&subject, &[(1, cost(500.0)), (1_000, cost(520.0))], &bounds, Shown::All));
        assert!(!is_within(&subject, &[(1, cost(500.0)), (1_000, cost(5_000.0))], &bounds, Shown::All));
        assert!(
            !is_within(&subject, &[(1, cost(500.0)), (10, cost(500.0))], &bounds, Shown::All),
            "nothing is recorded"
        );
    }
}
