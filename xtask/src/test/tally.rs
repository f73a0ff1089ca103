//! Counts tests by what their programs print.

use std::fmt;
use std::ops::AddAssign;

/// How many tests there were, and what those that failed printed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counts {
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
    /// The lines that say what failed, which the end of a long run repeats.
    pub failures: Vec<String>,
}

impl Counts {
    /// Prints and counts a failure.
    pub fn fail(&mut self, why: String) {
        println!("{why}");
        self.failed += 1;
        self.failures.push(why);
    }

    /// One failure and nothing else.
    pub fn failure(why: String) -> Counts {
        let mut counts = Counts::default();
        counts.fail(why);
        counts
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.failures.extend(other.failures);
    }
}

/// The line that a run of the tests ends with.
impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

/// Reads what Rust's test harness prints, with `--show-output`.
///
/// A test that prints a line beginning with `skipped:` or `SKIPPED` counts as skipped and not as passed. One that was
/// skipped in part (`skipped in part`, `skipped for …`, `partly skipped`) passed, and what it left out counts besides.
#[derive(Debug, Default)]
pub struct LibTest {
    counts: Counts,
    section: Section,
    /// Whether the test whose output is being read has said that it was skipped.
    is_skipped: bool,
    /// How many tests of the current program passed only because they did nothing.
    skipped: u64,
}

/// Which part of a test program's output a line belongs to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Section {
    /// Results, and what the program itself prints.
    #[default]
    Results,
    /// What tests that passed printed, and their names.
    Passed,
    /// What tests that failed printed, and their names.
    Failed,
}

impl LibTest {
    /// Reads a line, and says whether a person wants to see it.
    pub fn take(&mut self, line: &str) -> bool {
        match line {
            "successes:" => self.section = Section::Passed,
            "failures:" => self.section = Section::Failed,
            _ if line.starts_with("test result: ") => self.finish(line),
            _ if self.section == Section::Failed => self.counts.failures.push(line.to_owned()),
            _ if line.starts_with("---- ") => self.is_skipped = false,
            _ if self.section == Section::Passed => self.take_output(line),
            _ => {}
        }
        // The harness repeats the names of all tests that passed.
        let is_repetition = line.is_empty() || line == "successes:" || line.starts_with("    ");
        self.section != Section::Passed || !is_repetition
    }

    /// What was counted.
    pub fn into_counts(self) -> Counts {
        self.counts
    }

    fn finish(&mut self, line: &str) {
        self.section = Section::Results;
        let skipped = std::mem::take(&mut self.skipped);
        self.counts.passed += number_before(line, " passed").saturating_sub(skipped);
        self.counts.failed += number_before(line, " failed");
        self.counts.skipped += number_before(line, " ignored") + skipped;
    }

    fn take_output(&mut self, line: &str) {
        let line = line.to_ascii_lowercase();
        let begins_with_one_of = |starts: &[&str]| starts.iter().any(|start| line.starts_with(start));
        if begins_with_one_of(&["partly skipped", "skipped in part", "skipped for "]) {
            self.counts.skipped += 1;
        } else if begins_with_one_of(&["skipped:", "skipped "]) && !self.is_skipped {
            self.is_skipped = true;
            self.skipped += 1;
        }
    }
}

/// The number right before `word`, or 0.
fn number_before(line: &str, word: &str) -> u64 {
    let before = line.find(word).map_or("", |at| &line[..at]);
    let digits = before.rsplit(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    digits.parse().unwrap_or(0)
}

/// Reads what the scripts of `tests/kernel` and `tests/mount` print: one line per check, which begins with `ok`, `FAIL`
/// or `skipped`.
#[derive(Debug, Default)]
pub struct ScriptChecks(Counts);

impl ScriptChecks {
    /// Reads a line.
    pub fn take(&mut self, line: &str) {
        match line.split(' ').next() {
            Some("ok") => self.0.passed += 1,
            Some("FAIL") => {
                self.0.failed += 1;
                self.0.failures.push(line.to_owned());
            }
            Some("skipped") => self.0.skipped += 1,
            _ => {}
        }
    }

    /// What was counted.
    pub fn into_counts(self) -> Counts {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
running 4 tests
test a ... ok
test b ... ok
test c ... ok
test d ... ignored, takes a day

successes:

---- a stdout ----
skipped: a needs root
skipped: a needs root

---- b stdout ----
Skipped in part: no second disk
skippers are no skips

successes:
    a
    b
    c

test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s
";

    fn read(output: &str) -> (Counts, Vec<&str>) {
        let mut reader = LibTest::default();
        let shown = output.lines().filter(|line| reader.take(line)).collect();
        (reader.into_counts(), shown)
    }

    #[test]
    fn test_that_says_it_was_skipped_does_not_count_as_passed() {
        let (counts, _) = read(OUTPUT);
        assert_eq!(counts, Counts { passed: 2, skipped: 3, ..Counts::default() });
        assert_eq!(counts.to_string(), "2 passed, 0 failed, 3 skipped");
    }

    #[test]
    fn reasons_are_shown_and_repeated_names_are_not() {
        let (_, shown) = read(OUTPUT);
        assert!(shown.contains(&"skipped: a needs root") && shown.contains(&"---- b stdout ----"));
        assert!(!shown.contains(&"    c"));
    }

    #[test]
    fn results_of_several_programs_add_up_and_failures_count() {
        let failed =
            "failures:\n\n---- x stdout ----\nskipped: nothing\n\ntest result: FAILED. 7 passed; 2 failed; 0 ignored\n";
        let (counts, _) = read(&format!("{OUTPUT}{failed}"));
        let failures = ["", "---- x stdout ----", "skipped: nothing", ""].map(str::to_owned).to_vec();
        assert_eq!(counts, Counts { passed: 9, failed: 2, skipped: 3, failures });
    }

    #[test]
    fn kernel_checks_are_counted_by_the_first_word() {
        let mut checks = ScriptChecks::default();
        let lines =
            ["ok mmap v3 tcp", "FAIL statfs v2 udp", "  detail", "okay", "skipped large v2: files end at 2 GiB"];
        lines.iter().for_each(|line| checks.take(line));
        let failures = vec!["FAIL statfs v2 udp".to_owned()];
        assert_eq!(checks.into_counts(), Counts { passed: 1, failed: 1, skipped: 1, failures });
    }
}
