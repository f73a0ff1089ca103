//! Limits as JUnit's XML, which CI systems show.

use measure::analysis::Gated;
use measure::record::Design;
use measure::{Outcome, Side};

use super::words;
use crate::html::escaped;

/// A test case for each ratio with a limit: it fails beyond the limit, and is skipped where neither is sure.
pub fn junit(design: &Design, all: &[Gated]) -> String {
    let count = |wanted| all.iter().filter(|gated| gated.outcome == wanted).count();
    let head = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" \
         errors=\"0\" skipped=\"{}\">\n",
        escaped(&design.name),
        all.len(),
        count(Outcome::Fails),
        count(Outcome::Undecided)
    );
    let cases: String = all.iter().map(|gated| case(design, gated)).collect();
    format!("{head}{cases}</testsuite>\n</testsuites>\n")
}

fn case(design: &Design, gated: &Gated) -> String {
    let place = words::levels(design, &gated.levels, "");
    let (class, name) = (escaped(&design.name), escaped(&format!("{} at {place}", limit_words(gated))));
    let found = escaped(&found_words(gated));
    let body = match gated.outcome {
        Outcome::Fails => format!("<failure message=\"{found}\"/>"),
        Outcome::Undecided => format!("<skipped message=\"undecided: {found}\"/>"),
        Outcome::Holds => format!("<system-out>{found}</system-out>"),
    };
    format!("<testcase classname=\"{class}\" name=\"{name}\">{body}</testcase>\n")
}

/// A line for each ratio with a limit: what it is, and what was found.
pub fn gate_lines(design: &Design, all: &[Gated]) -> Vec<String> {
    let line = |gated: &Gated| {
        let place = words::levels(design, &gated.levels, "");
        format!("{}: {} at {place}: {}", gated.outcome, limit_words(gated), found_words(gated))
    };
    all.iter().map(line).collect()
}

fn limit_words(gated: &Gated) -> String {
    let side = if gated.limit.limit.side == Side::Below { '<' } else { '>' };
    format!("{} {side} {} %", gated.limit.figure, words::percent(gated.limit.limit.ratio))
}

fn found_words(gated: &Gated) -> String {
    match &gated.comparison {
        Ok(found) => format!("{} %", words::percent_estimate(found.ratio)),
        Err(error) => error.to_string(),
    }
}
