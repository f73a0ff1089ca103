//! `--fail-if`: what a comparison must not find, for CI.

use std::fs;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use measure::analysis::{FigureLimit, Gated, analyse};
use measure::record::{Design, Measurement, Run};
use measure::{Limit, Margin, Outcome, Side};
use report::lab::{gate_lines, junit};

use crate::failure::{BenchError, Failure};

/// What must not be found.
#[derive(Debug, Default, Args)]
pub struct GateFlags {
    /// End with exit status 1 if a ratio is certainly beyond this limit: 'bandwidth < -3 %' or 'p99 > 10 %'. May be
    /// repeated.
    #[arg(long, value_name = "FIGURE<PERCENT")]
    fail_if: Vec<FailIf>,
    /// Write the outcome of each ratio with a limit as JUnit XML.
    #[arg(long, value_name = "FILE", requires = "fail_if")]
    junit: Option<PathBuf>,
}

/// `FIGURE < PERCENT` or `FIGURE > PERCENT`.
#[derive(Debug, Clone, PartialEq)]
struct FailIf(FigureLimit);

/// A text is no limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}': 'FIGURE < PERCENT' or 'FIGURE > PERCENT' is wanted, such as 'bandwidth < -3 %'")]
struct FailIfError(String);

impl FromStr for FailIf {
    type Err = FailIfError;

    fn from_str(text: &str) -> Result<FailIf, FailIfError> {
        let wrong = || FailIfError(text.to_owned());
        let at = text.rfind(['<', '>']).ok_or_else(wrong)?;
        let (figure, number) = (text[..at].trim(), text[at + 1..].trim().trim_end_matches('%').trim());
        let percent: f64 = number.parse().map_err(|_| wrong())?;
        if figure.is_empty() || !percent.is_finite() || percent <= -100.0 {
            return Err(wrong());
        }
        let side = if text[at..].starts_with('<') { Side::Below } else { Side::Above };
        let limit = Limit { side, ratio: 1.0 + percent / 100.0 };
        Ok(FailIf(FigureLimit { figure: figure.to_owned(), limit }))
    }
}

impl GateFlags {
    /// Whether there are limits.
    pub fn is_given(&self) -> bool {
        !self.fail_if.is_empty()
    }

    /// The limits.
    pub fn limits(&self) -> Vec<FigureLimit> {
        self.fail_if.iter().map(|one| one.0.clone()).collect()
    }

    /// Refuses a limit of a figure that the experiment does not have, before anything is measured.
    pub fn check(&self, design: &Design) -> Result<(), BenchError> {
        let names = || design.figures.iter().map(|kind| kind.name.as_str());
        match self.fail_if.iter().find(|one| !names().any(|name| name == one.0.figure)) {
            None => Ok(()),
            Some(one) => Err(BenchError::NoFigure {
                figure: one.0.figure.clone(),
                experiment: design.name.clone(),
                known: names().collect::<Vec<_>>().join(", "),
            }),
        }
    }

    /// Fails if a ratio of a run is certainly beyond its limit.
    pub fn check_run(&self, run: &Run, passes: &[Measurement]) -> Result<(), Failure> {
        if !self.is_given() {
            return Ok(());
        }
        let results = analyse(run, passes, Margin::TWO_PERCENT);
        self.report(&run.design, &results.gated(&run.design.contenders, &self.limits()))
    }

    /// Reports the outcomes, and fails if a ratio does, or if no ratio has a limit.
    pub fn report(&self, design: &Design, all: &[Gated]) -> Result<(), Failure> {
        if let Some(path) = &self.junit {
            fs::write(path, junit(design, all)).map_err(|source| Failure::Local { path: path.clone(), source })?;
        }
        gate_lines(design, all).iter().for_each(|line| eprintln!("wharf: --fail-if: {line}"));
        let count = |wanted| all.iter().filter(|gated| gated.outcome == wanted).count();
        let (failed, undecided) = (count(Outcome::Fails), count(Outcome::Undecided));
        match (all.len(), failed) {
            (0, _) => Err(BenchError::NoRatio { experiment: design.name.clone() }.into()),
            (of, 1..) => Err(BenchError::Gate { experiment: design.name.clone(), failed, of }.into()),
            (of, 0) => {
                eprintln!("wharf: --fail-if: none of {of} ratios fails, {undecided} are undecided");
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_is_a_figure_a_side_and_a_percentage() {
        let limit = |text: &str| text.parse::<FailIf>().map(|one| (one.0.figure, one.0.limit));
        let below = |ratio| Limit { side: Side::Below, ratio };
        assert_eq!(limit("bandwidth < -3 %"), Ok(("bandwidth".to_owned(), below(0.97))));
        assert_eq!(limit("server cost>10"), Ok(("server cost".to_owned(), Limit { side: Side::Above, ratio: 1.1 })));
        for wrong in ["", "bandwidth", "< -3 %", "bandwidth < x", "bandwidth < -100 %", "bandwidth = 3 %"] {
            assert_eq!(limit(wrong), Err(FailIfError(wrong.to_owned())));
        }
    }
}
