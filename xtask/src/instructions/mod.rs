//! `cargo xtask instructions`: how many instructions and system calls server and client need for one call, compared
//! with bounds that are kept in the repository. A count needs no quiet machine and no clock, so a slow-down shows in
//! any run of the tests.

mod bounds;
mod count;

use std::path::Path;

use crate::test::Counts;
use crate::{Failure, Outcome};
use bounds::{Bounds, Verdict};
use count::{Counted, Subject};

/// Counts, prints and compares; with `--record` what was counted becomes the bounds.
pub fn run(root: &Path, options: &[String]) -> Outcome {
    let records = match options {
        [] => false,
        [option] if option == "--record" => true,
        _ => return Err(Failure::Usage("instructions takes --record and nothing else".to_owned())),
    };
    let counted = count::all(root)?;
    let mut bounds = Bounds::load(root)?;
    if records {
        counted.iter().for_each(|(subject, counted)| bounds.record(subject, counted));
        return bounds.store(root);
    }
    match compare(&counted, &bounds).failed {
        0 => Ok(()),
        failed => Err(Failure::Broken { count: failed as usize, what: "operations cost too much" }),
    }
}

/// The same as a part of the tests: one for each operation of the client, and of the server with each form of handles.
pub fn check(root: &Path) -> Counts {
    let compared = count::all(root).and_then(|counted| Ok(compare(&counted, &Bounds::load(root)?)));
    compared.unwrap_or_else(|failure| Counts::failure(format!("FAILED: instructions: {failure}")))
}

/// Prints every count beside its bound.
fn compare(counted: &[(Subject, Counted)], bounds: &Bounds) -> Counts {
    let mut counts = Counts::default();
    for (subject, counted) in counted {
        let cost = match counted {
            Counted::Cost(cost) => cost,
            Counted::Skipped(why) => {
                println!("skipped: instructions of {subject}: {why}");
                counts.skipped += 1;
                continue;
            }
        };
        match bounds.judge(subject, cost) {
            Verdict::Within => println!("instructions of {subject}: {cost}: as recorded"),
            Verdict::Better(recorded) => {
                println!(
                    "instructions of {subject}: {cost}, which is less than {recorded}: `cargo xtask instructions --record` keeps it so"
                );
            }
            Verdict::Worse(recorded) => {
                counts.fail(format!("FAILED: instructions of {subject}: {cost}, and recorded are {recorded}"));
                continue;
            }
            Verdict::Unknown => {
                counts.fail(format!("FAILED: instructions of {subject}: {cost}, and nothing is recorded"));
                continue;
            }
        }
        counts.passed += 1;
    }
    counts
}
