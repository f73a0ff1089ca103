use std::fmt;

use super::pairing::Pairs;
use super::passes::Passes;
use super::{Results, Warning};
use crate::record::{Baseline, Bound, Goal, Run};
use crate::{Comparison, Error, Interval};

/// A goal, and what was found of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Aim {
    /// The goal.
    pub goal: Goal,
    /// The ratio, or the figure itself where the goal has no baseline; or why there is none.
    pub comparison: Result<Comparison, Error>,
    /// In how many pairs a pass was disturbed.
    pub disturbed: usize,
    /// What may be said.
    pub reached: Reached,
}

/// Whether a goal is reached. Each goal is judged by itself, whatever the number of goals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reached {
    /// The whole interval is on the side that is wanted, or the wanted warning is there.
    Met,
    /// None of it is, or there is no such warning.
    Missed,
    /// The interval has both sides, or there are too few pairs for one.
    Undecided,
    /// There is no pair at all.
    NotMeasured,
}

impl fmt::Display for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reached::Met => "met",
            Reached::Missed => "missed",
            Reached::Undecided => "undecided",
            Reached::NotMeasured => "not measured",
        })
    }
}

/// All goals of a run, in the order of its design. Everything else is among the results already.
pub(super) fn all(run: &Run, passes: &Passes<'_>, results: &Results) -> Vec<Aim> {
    run.design.goals.iter().map(|goal| aim(run, passes, results, goal)).collect()
}

fn aim(run: &Run, passes: &Passes<'_>, results: &Results, goal: &Goal) -> Aim {
    let own = passes.figures(&goal.levels, &goal.figure);
    let Pairs { baseline, candidate, disturbed } = match &goal.baseline {
        Some(baseline) => {
            let mut levels = goal.levels.clone();
            match baseline {
                Baseline::Contender(name) => drop(levels.insert(run.design.contenders.clone(), name.clone())),
                Baseline::Levels(others) => levels.extend(others.clone()),
            }
            Pairs::new(&passes.figures(&levels, &goal.figure), &own)
        }
        None => {
            let own = Pairs::new(&own, &own);
            Pairs { baseline: vec![1.0; own.candidate.len()], ..own }
        }
    };
    let comparison = Comparison::paired(&baseline, &candidate, results.level);
    let reached = match &comparison {
        _ if candidate.is_empty() => Reached::NotMeasured,
        Ok(found) => judge(goal, found.ratio.interval, &results.warnings),
        Err(_) => Reached::Undecided,
    };
    Aim { goal: goal.clone(), comparison, disturbed, reached }
}

fn judge(goal: &Goal, Interval { low, high }: Interval, warnings: &[Warning]) -> Reached {
    let is_warned_of = |is_wanted: &dyn Fn(&Warning) -> bool| {
        let is_there = warnings.iter().any(is_wanted);
        (is_there, !is_there)
    };
    let (is_met, is_missed) = match goal.bound {
        Bound::AtLeast(least) => (low >= least, high < least),
        Bound::AtMost(most) => (high <= most, low > most),
        Bound::Drifts => is_warned_of(&|warning| {
            matches!(warning, Warning::Drift { figure, levels: Some(levels), .. }
                if *figure == goal.figure && *levels == goal.levels)
        }),
        Bound::HasPeaks => is_warned_of(
            &|warning| matches!(warning, Warning::Peaks { figure: None, levels } if *levels == goal.levels),
        ),
    };
    match (is_met, is_missed) {
        (true, _) => Reached::Met,
        (_, true) => Reached::Missed,
        _ => Reached::Undecided,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Levels;

    #[test]
    fn goal_is_met_or_missed_only_by_the_whole_interval() {
        let goal = |bound| Goal { levels: Levels::new(), figure: "rate".to_owned(), baseline: None, bound };
        let of = |bound, low, high| judge(&goal(bound), Interval { low, high }, &[]);
        let least = Bound::AtLeast(8.0);
        assert_eq!(of(least, 8.1, 9.0), Reached::Met);
        assert_eq!(of(least, 7.0, 7.9), Reached::Missed);
        assert_eq!(of(least, 7.9, 9.0), Reached::Undecided);
        assert_eq!((of(least, 8.0, 9.0), of(least, 7.0, 8.0)), (Reached::Met, Reached::Undecided));
        let most = Bound::AtMost(0.13);
        assert_eq!(of(most, 0.13, 0.16), Reached::Undecided);
        assert_eq!(of(most, 0.10, 0.13), Reached::Met);
        assert_eq!(of(most, 0.14, 0.16), Reached::Missed);
        assert_eq!(of(most, 0.12, 0.16), Reached::Undecided);
    }

    #[test]
    fn what_may_be_said_of_a_goal_has_its_words() {
        let all = [Reached::Met, Reached::Missed, Reached::Undecided, Reached::NotMeasured];
        assert_eq!(all.map(|reached| reached.to_string()), ["met", "missed", "undecided", "not measured"]);
    }
}
