use crate::random::Random;
use crate::{Error, Interval, Level, Samples};

/// The fewest pairs that say anything.
const MIN_PAIRS: usize = 3;

/// How intervals are found by drawing the pairs again (the bootstrap).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Resampling {
    /// How sure the intervals are.
    pub level: Level,
    /// How often all pairs are drawn; at least 1.
    pub draws: u32,
    /// What the draws follow from, so that a report can be made again.
    pub seed: u64,
}

impl Default for Resampling {
    fn default() -> Self {
        Resampling { level: Level::P95, draws: 10_000, seed: 1 }
    }
}

/// A figure and where its true value may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The figure.
    pub value: f64,
    /// Where the true one may be.
    pub interval: Interval,
}

/// What may be said of two ways to do something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The candidate's figures are higher.
    Higher,
    /// The candidate's figures are lower.
    Lower,
    /// Nothing: an interval holds 1.
    Unclear,
}

/// Candidate divided by baseline, from runs that were made in pairs, one right after the other, so that what slows both
/// of a pair falls out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// The median of the candidate divided by that of the baseline; the interval is from the bootstrap.
    pub ratio_of_medians: Estimate,
    /// The geometric mean of the pairs' ratios, which turned round is that of the reverse comparison; the interval is
    /// Student's, of the ratios' logarithms.
    pub mean_ratio: Estimate,
}

impl Comparison {
    /// Compares figures that were measured in pairs.
    ///
    /// # Errors
    /// [`Error::Unpaired`], [`Error::TooFew`] below three pairs, [`Error::NotFinite`], [`Error::NotPositive`].
    pub fn paired(baseline: &[f64], candidate: &[f64], resampling: Resampling) -> Result<Comparison, Error> {
        if baseline.len() != candidate.len() {
            return Err(Error::Unpaired { baseline: baseline.len(), candidate: candidate.len() });
        }
        if baseline.len() < MIN_PAIRS {
            return Err(Error::TooFew { got: baseline.len(), needed: MIN_PAIRS });
        }
        check_positive(baseline)?;
        check_positive(candidate)?;
        let pairs: Vec<Pair> = baseline.iter().copied().zip(candidate.iter().copied()).collect();
        Ok(Comparison {
            ratio_of_medians: estimate_ratio_of_medians(&pairs, resampling)?,
            mean_ratio: estimate_mean_ratio(&pairs, resampling.level)?,
        })
    }

    /// What may be claimed: a difference only when both intervals clear 1 on the same side.
    pub fn verdict(&self) -> Verdict {
        let intervals = [self.ratio_of_medians.interval, self.mean_ratio.interval];
        if intervals.iter().all(|interval| interval.low > 1.0) {
            Verdict::Higher
        } else if intervals.iter().all(|interval| interval.high < 1.0) {
            Verdict::Lower
        } else {
            Verdict::Unclear
        }
    }
}

/// Baseline and candidate.
type Pair = (f64, f64);

fn check_positive(values: &[f64]) -> Result<(), Error> {
    for (index, &value) in values.iter().enumerate() {
        if !value.is_finite() {
            return Err(Error::NotFinite { index, value });
        }
        if value <= 0.0 {
            return Err(Error::NotPositive { index, value });
        }
    }
    Ok(())
}

fn estimate_mean_ratio(pairs: &[Pair], level: Level) -> Result<Estimate, Error> {
    let logarithms = Samples::new(pairs.iter().map(|(baseline, candidate)| (candidate / baseline).ln()).collect())?;
    let Interval { low, high } = logarithms.mean_interval(level)?;
    Ok(Estimate { value: logarithms.mean().exp(), interval: Interval { low: low.exp(), high: high.exp() } })
}

fn estimate_ratio_of_medians(pairs: &[Pair], resampling: Resampling) -> Result<Estimate, Error> {
    let mut random = Random::new(resampling.seed);
    let mut drawn = vec![(0.0, 0.0); pairs.len()];
    let mut ratios = Vec::with_capacity(resampling.draws.max(1) as usize);
    for _ in 0..resampling.draws.max(1) {
        drawn.fill_with(|| pairs[random.below(pairs.len())]);
        ratios.push(ratio_of_medians(&drawn)?);
    }
    let ratios = Samples::new(ratios)?;
    let tail = resampling.level.tail();
    let interval = Interval { low: ratios.quantile(tail), high: ratios.quantile(1.0 - tail) };
    Ok(Estimate { value: ratio_of_medians(pairs)?, interval })
}

fn ratio_of_medians(pairs: &[Pair]) -> Result<f64, Error> {
    let baseline = Samples::new(pairs.iter().map(|pair| pair.0).collect())?;
    let candidate = Samples::new(pairs.iter().map(|pair| pair.1).collect())?;
    Ok(candidate.median() / baseline.median())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(baseline: &[f64], candidate: &[f64]) -> Comparison {
        Comparison::paired(baseline, candidate, Resampling::default()).unwrap()
    }

    /// Pairs whose two runs share a disturbance that is much larger than the difference between them.
    fn disturbed(factor: f64) -> (Vec<f64>, Vec<f64>) {
        let baseline: Vec<f64> = (0..20).map(|run| 100.0 + f64::from(run * 37 % 50)).collect();
        let wobble = |run: usize| 1.0 + (run * 13 % 7) as f64 / 1000.0 - 0.003;
        let candidate = baseline.iter().enumerate().map(|(run, value)| value * factor * wobble(run)).collect();
        (baseline, candidate)
    }

    #[test]
    fn difference_shows_through_a_disturbance_that_both_runs_of_a_pair_share() {
        let (baseline, candidate) = disturbed(1.05);
        let comparison = compare(&baseline, &candidate);
        assert!((comparison.mean_ratio.value - 1.05).abs() < 0.002);
        assert!(comparison.mean_ratio.interval.contains(1.05) && !comparison.mean_ratio.interval.contains(1.04));
        assert_eq!(compare(&baseline, &disturbed(1.3).1).verdict(), Verdict::Higher);
        assert_eq!(compare(&baseline, &disturbed(0.7).1).verdict(), Verdict::Lower);
    }

    #[test]
    fn no_difference_is_claimed_where_there_is_none() {
        let (baseline, candidate) = disturbed(1.0);
        assert_eq!(compare(&baseline, &candidate).verdict(), Verdict::Unclear);
        assert_eq!(compare(&baseline, &baseline).verdict(), Verdict::Unclear);
    }

    #[test]
    fn turning_the_comparison_round_turns_its_ratios_round() {
        let (baseline, candidate) = disturbed(1.2);
        let (there, back) = (compare(&baseline, &candidate), compare(&candidate, &baseline));
        assert!((there.mean_ratio.value * back.mean_ratio.value - 1.0).abs() < 1e-12);
        assert!((there.ratio_of_medians.value * back.ratio_of_medians.value - 1.0).abs() < 1e-12);
    }

    #[test]
    fn same_seed_gives_the_same_interval() {
        let (baseline, candidate) = disturbed(1.1);
        assert_eq!(compare(&baseline, &candidate), compare(&baseline, &candidate));
    }

    #[test]
    fn figures_that_have_no_ratio_are_refused() {
        let paired = |baseline: &[f64], candidate: &[f64]| {
            Comparison::paired(baseline, candidate, Resampling::default()).unwrap_err()
        };
        assert_eq!(paired(&[1.0; 3], &[1.0; 4]), Error::Unpaired { baseline: 3, candidate: 4 });
        assert_eq!(paired(&[1.0; 2], &[1.0; 2]), Error::TooFew { got: 2, needed: 3 });
        assert_eq!(paired(&[1.0; 3], &[1.0, 0.0, 1.0]), Error::NotPositive { index: 1, value: 0.0 });
    }
}
