//! Counts each call at each size. Callgrind counts within one function of a program that is called by hand. A program
//! with sockets and threads runs twice, and the runs differ in the number of counted calls.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::lines::{Dimension, Extent, Program, Subject};
use crate::callgrind::{self, Cost, Folder, Part, Run};
use crate::{Failure, Outcome, command};

/// How an example is run.
struct Runs {
    example: &'static str,
    /// How many counted calls the shorter run makes, if there is one, and how many the longer one.
    calls: (Option<u64>, u64),
    /// The part that counts.
    counted: Part,
}

const BY_HAND: Runs = Runs {
    example: "growth",
    calls: (None, 200),
    counted: Part::Within("growth::step::all_counted", "growth::step::counted*"),
};
/// Threads differ from run to run, hence more calls.
const SOCKETS: Runs = Runs { example: "in_turns", calls: (Some(100), 2100), counted: Part::Everything };

impl Program {
    fn runs(self) -> Runs {
        match self {
            Program::ByHand => BY_HAND,
            Program::Sockets => SOCKETS,
        }
    }
}

/// The costs of a call at each size, or the reason why nothing can be counted here.
pub type Counted = Result<Vec<(usize, Cost)>, &'static str>;

/// Counts the rows of some dimensions, and hands over those of each as soon as they are counted.
pub fn each(
    root: &Path,
    dimensions: &[&'static Dimension],
    extent: Extent,
    mut take: impl FnMut(Vec<(Subject, Counted)>),
) -> Outcome {
    if let Some(why) = callgrind::missing() {
        dimensions.iter().for_each(|dimension| take(dimension.subjects().map(|row| (row, Err(why))).collect()));
        return Ok(());
    }
    let driver = Driver { examples: callgrind::build_examples(root)?, folder: Folder::new("growth")? };
    dimensions.iter().try_for_each(|dimension| driver.count(dimension, extent).map(&mut take))
}

/// Where the programs are, and where they may make files.
struct Driver {
    examples: PathBuf,
    folder: Folder,
}

/// A run of the program.
struct Case<'a> {
    subject: &'a Subject,
    size: usize,
    files: &'a Path,
}

impl Driver {
    /// Counts the rows of a dimension, size by size, since files of one size serve all rows.
    fn count(&self, dimension: &'static Dimension, extent: Extent) -> Outcome<Vec<(Subject, Counted)>> {
        let mut rows: Vec<(Subject, Counted)> = dimension.subjects().map(|subject| (subject, Ok(Vec::new()))).collect();
        for size in dimension.sizes_within(extent) {
            let files = self.files(if dimension.has_files { size } else { 1 })?;
            for (subject, counted) in &mut rows {
                let case = Case { subject, size, files: &files };
                // Only a process that may open files by the kernel's handles can serve with them.
                if subject.form == "kernel" && !self.serves(&case)? {
                    *counted = Err("this process may not open files by the kernel's handles");
                }
                if let Ok(costs) = counted {
                    costs.push((size, self.cost(&case)?));
                }
            }
        }
        Ok(rows)
    }

    /// A folder of `count` files.
    fn files(&self, count: usize) -> Outcome<PathBuf> {
        let folder = self.folder.emptied("files")?;
        let mut make = Command::new(self.examples.join(BY_HAND.example));
        make.args(["files", &count.to_string()]).arg(&folder);
        command::output(make)?;
        Ok(folder)
    }

    fn serves(&self, case: &Case<'_>) -> Outcome<bool> {
        let mut run = self.command(&Case { size: 1, ..*case }, 0)?;
        run.stdout(Stdio::null()).stderr(Stdio::null());
        Ok(run.status().map_err(|source| command::spawn_failure(&run, source))?.success())
    }

    fn cost(&self, case: &Case<'_>) -> Outcome<Cost> {
        let Runs { calls, counted, .. } = case.subject.line.program.runs();
        let run = |times| callgrind::count(&self.command(case, times)?, counted, &self.folder);
        let short = calls.0.map(run).transpose()?;
        cost(short.as_ref(), &run(calls.1)?)
            .ok_or_else(|| Failure::Command(format!("{} printed no number", case.subject.key())))
    }

    /// The program for one case.
    fn command(&self, case: &Case<'_>, times: u64) -> Outcome<Command> {
        let line = case.subject.line;
        let Runs { example, calls, .. } = line.program.runs();
        let mut run = Command::new(self.examples.join(example));
        let [size, times, most] = [case.size as u64, times, calls.1].map(|number| number.to_string());
        match line.program {
            Program::ByHand => {
                run.args([case.subject.form, line.name, &size, &times, &most]);
                // Its state begins with nothing.
                run.arg(case.files).arg(self.folder.emptied("state")?);
            }
            Program::Sockets => drop(run.args([line.name, &size, &times])),
        }
        Ok(run)
    }
}

/// The cost of each unit of a run, or of those by which it is longer than another one.
fn cost(short: Option<&Run>, long: &Run) -> Option<Cost> {
    let units = |run: &Run| std::str::from_utf8(&run.output).ok()?.trim().parse::<f64>().ok();
    let more_units = units(long)? - short.map_or(Some(0.0), units)?;
    let per_unit = |of: fn(&Run) -> u64| (of(long) as f64 - short.map_or(0.0, |run| of(run) as f64)) / more_units;
    Some(Cost {
        instructions: per_unit(|run| run.total.instructions),
        system_calls: per_unit(|run| run.total.system_calls),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::callgrind::Total;

    fn run(instructions: u64, system_calls: u64, output: &str) -> Run {
        Run { total: Total { instructions, system_calls }, output: output.as_bytes().to_vec() }
    }

    #[test]
    fn cost_is_per_unit_of_the_difference() {
        let between = cost(Some(&run(1_000, 130, "100\n")), &run(3_000, 330, "300\n"));
        assert_eq!(between, Some(Cost { instructions: 10.0, system_calls: 1.0 }));
        // Each call lists forty names.
        let all = cost(None, &run(800_000, 16_000, "8000\n"));
        assert_eq!(all, Some(Cost { instructions: 100.0, system_calls: 2.0 }));
    }

    #[test]
    fn output_without_a_number_is_no_cost() {
        assert_eq!(cost(Some(&run(1, 1, "")), &run(2, 2, "300\n")), None);
        assert_eq!(cost(None, &run(2, 2, "")), None);
    }
}
