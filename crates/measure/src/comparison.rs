use std::fmt;

use crate::student::{quantile, upper_tail};
use crate::{Error, Interval, Level, Margin, Samples};

/// The minimum number of pairs: with fewer, one odd run decides.
pub(crate) const MIN_PAIRS: usize = 6;

/// A figure and its confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The figure.
    pub value: f64,
    /// The interval for the true value.
    pub interval: Interval,
}

/// The verdict on two alternatives, from [`judge`](crate::judge).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The candidate's figures are higher.
    Higher,
    /// The candidate's figures are lower.
    Lower,
    /// They differ by less than the margin.
    Equal,
    /// Neither a difference nor equality is certain enough.
    Undecided,
    /// A model computed the figures: there is nothing to test.
    Computed,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Higher => "higher",
            Verdict::Lower => "lower",
            Verdict::Equal => "equal",
            Verdict::Undecided => "undecided",
            Verdict::Computed => "computed",
        })
    }
}

/// Candidate divided by baseline, from runs in pairs, one right after the other, so that a disturbance of both cancels
/// out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// The number of pairs: at least 6. Of figures without pairs, the smaller number of the two sides.
    pub pairs: usize,
    /// The geometric mean of the pairs' ratios, so that the reverse comparison gives the reciprocal. The interval is
    /// Student's, of the logarithms.
    pub ratio: Estimate,
    /// The mean of the ratios' logarithms, and its standard error.
    log_mean: f64,
    log_error: f64,
    /// Student's degrees of freedom.
    degrees: f64,
}

impl Comparison {
    /// Compares figures that were measured in pairs.
    ///
    /// # Errors
    /// [`Error::Unpaired`], [`Error::TooFew`] below six pairs, [`Error::NotFinite`], [`Error::NotPositive`].
    pub fn paired(baseline: &[f64], candidate: &[f64], level: Level) -> Result<Comparison, Error> {
        check_pairs(baseline, candidate)?;
        let logarithm = |(baseline, candidate): (&f64, &f64)| (candidate / baseline).ln();
        let logarithms = Samples::new(baseline.iter().zip(candidate).map(logarithm).collect())?;
        let pairs = logarithms.count();
        let log_error = logarithms.stdev() / (pairs as f64).sqrt();
        Ok(Comparison::of(pairs, [logarithms.mean(), log_error], (pairs - 1) as f64, level))
    }

    /// Compares independent figures that were not measured in pairs, whose variations may differ (Welch's test of the
    /// logarithms).
    ///
    /// # Errors
    /// [`Error::TooFew`] below six figures on a side, [`Error::NotFinite`], [`Error::NotPositive`].
    pub fn unpaired(baseline: &[f64], candidate: &[f64], level: Level) -> Result<Comparison, Error> {
        check_enough(baseline)?;
        check_enough(candidate)?;
        let logarithms = |figures: &[f64]| Samples::new(figures.iter().map(|figure| figure.ln()).collect());
        let (before, after) = (logarithms(baseline)?, logarithms(candidate)?);
        let error = |samples: &Samples| samples.stdev().powi(2) / samples.count() as f64;
        let [one, other] = [error(&before), error(&after)];
        let share = |error: f64, samples: &Samples| error.powi(2) / (samples.count() - 1) as f64;
        let degrees = (one + other).powi(2) / (share(one, &before) + share(other, &after));
        // Without any variation there are as many degrees as figures allow.
        let degrees = if degrees.is_finite() { degrees } else { (before.count() + after.count() - 2) as f64 };
        let log_mean = after.mean() - before.mean();
        let count = before.count().min(after.count());
        Ok(Comparison::of(count, [log_mean, (one + other).sqrt()], degrees, level))
    }

    /// From the mean of the logarithms and its standard error.
    fn of(pairs: usize, [log_mean, log_error]: [f64; 2], degrees: f64, level: Level) -> Comparison {
        let half = quantile(1.0 - level.tail(), degrees) * log_error;
        let interval = Interval { low: (log_mean - half).exp(), high: (log_mean + half).exp() };
        Comparison { pairs, ratio: Estimate { value: log_mean.exp(), interval }, log_mean, log_error, degrees }
    }

    /// The half-width of the interval as a share of the ratio: 0.02 if its ends are the ratio times 1.02 and divided by
    /// 1.02.
    pub fn half_width(&self) -> f64 {
        self.ratio.interval.high / self.ratio.value - 1.0
    }

    /// The probability of a ratio at least as far from `expected` if `expected` were the true one (two-sided).
    pub fn chance_of_difference(&self, expected: f64) -> f64 {
        2.0 * self.tail((self.log_mean - expected.ln()).abs())
    }

    /// The probability of a ratio at least as far below `bound` if the true one were at `bound` or above (one-sided).
    pub fn chance_of_below(&self, bound: f64) -> f64 {
        self.tail(bound.ln() - self.log_mean)
    }

    /// The probability of a ratio at least as far above `bound` if the true one were at `bound` or below (one-sided).
    pub fn chance_of_above(&self, bound: f64) -> f64 {
        self.tail(self.log_mean - bound.ln())
    }

    /// The probability of a ratio this near to 1 if the true one were at the margin or beyond (two one-sided tests).
    /// Each test has half of the error probability, so that equality means that the printed interval lies within the
    /// margin.
    pub fn chance_of_equality(&self, margin: Margin) -> f64 {
        (2.0 * self.tail(margin.get().ln_1p() - self.log_mean.abs())).min(1.0)
    }

    /// The probability of a logarithm this far above the true one.
    fn tail(&self, distance: f64) -> f64 {
        if distance == 0.0 {
            return 0.5;
        }
        // Without any error this is infinite, with the sign of the distance.
        upper_tail(distance / self.log_error, self.degrees)
    }
}

/// Checks that figures form enough pairs with ratios.
pub(crate) fn check_pairs(baseline: &[f64], candidate: &[f64]) -> Result<(), Error> {
    if baseline.len() != candidate.len() {
        return Err(Error::Unpaired { baseline: baseline.len(), candidate: candidate.len() });
    }
    check_enough(baseline)?;
    check_positive(candidate)
}

/// Checks that there are enough figures, and that they have logarithms.
fn check_enough(figures: &[f64]) -> Result<(), Error> {
    if figures.len() < MIN_PAIRS {
        return Err(Error::TooFew { got: figures.len(), needed: MIN_PAIRS });
    }
    check_positive(figures)
}

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

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(baseline: &[f64], candidate: &[f64]) -> Comparison {
        Comparison::paired(baseline, candidate, Level::P95).unwrap()
    }

    /// Pairs whose two runs share a disturbance much larger than their difference.
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
        assert_eq!(comparison.pairs, 20);
        assert!((comparison.ratio.value - 1.05).abs() < 0.002);
        assert!(comparison.ratio.interval.contains(1.05) && !comparison.ratio.interval.contains(1.04));
    }

    #[test]
    fn figures_of_a_comparison_are_scipys() {
        // r = numpy.log([1.02, 1.05, 0.99, 1.04, 1.03, 1.01, 1.06])
        let baseline = [2.0; 7];
        let found = compare(&baseline, &[1.02, 1.05, 0.99, 1.04, 1.03, 1.01, 1.06].map(|ratio| 2.0 * ratio));
        let is = |got: f64, expected: f64| assert!((got / expected - 1.0).abs() < 1e-12, "{got} is not {expected}");
        // numpy.exp(r.mean())
        is(found.ratio.value, 1.028_328_284_105_573_2);
        // numpy.exp(scipy.stats.t.interval(0.95, 6, r.mean(), scipy.stats.sem(r)))
        is(found.ratio.interval.low, 1.006_206_461_497_494_4);
        is(found.ratio.interval.high, 1.050_936_463_196_371_1);
        // numpy.exp(scipy.stats.t.ppf(0.975, 6) * scipy.stats.sem(r)) - 1
        is(found.half_width(), 0.021_985_371_247_920_327);
        // scipy.stats.ttest_1samp(r, 0).pvalue
        is(found.chance_of_difference(1.0), 0.019_989_504_212_253_85);
        // scipy.stats.ttest_1samp(r, numpy.log(1.1)).pvalue
        is(found.chance_of_difference(1.1), 0.000_273_929_615_687_064_44);
        // 2 * scipy.stats.t.sf((numpy.log1p(0.05) - abs(r.mean())) / scipy.stats.sem(r), 6)
        is(found.chance_of_equality(Margin::new(0.05).unwrap()), 0.057_323_729_366_104_08);
    }

    #[test]
    fn comparison_without_pairs_is_welchs() {
        let before = [2.0, 2.1, 1.9, 2.05, 2.0, 1.95];
        let after = [2.2, 2.6, 2.1, 2.5, 2.3, 2.7, 2.4];
        let found = Comparison::unpaired(&before, &after, Level::P95).unwrap();
        let is = |got: f64, expected: f64| assert!((got / expected - 1.0).abs() < 1e-9, "{got} is not {expected}");
        // a, b = numpy.log(before), numpy.log(after); r = scipy.stats.ttest_ind(b, a, equal_var=False)
        is(found.chance_of_difference(1.0), 0.001_287_150_989_106_591_3);
        // numpy.exp(r.confidence_interval())
        is(found.ratio.interval.low, 1.098_368_438_552_676_9);
        is(found.ratio.interval.high, 1.303_265_458_357_384_2);
        assert_eq!(found.pairs, 6);
        let same = Comparison::unpaired(&[2.0; 6], &[3.0; 6], Level::P95).unwrap();
        is(same.ratio.value, 1.5);
        assert_eq!((same.half_width(), same.chance_of_difference(1.0)), (0.0, 0.0));
        let few = Comparison::unpaired(&before, &after[..5], Level::P95);
        assert_eq!(few, Err(Error::TooFew { got: 5, needed: 6 }));
    }

    #[test]
    fn ratio_beyond_the_margin_is_equal_by_no_chance() {
        let (baseline, candidate) = disturbed(1.5);
        assert_eq!(compare(&baseline, &candidate).chance_of_equality(Margin::TWO_PERCENT), 1.0);
    }

    #[test]
    fn turning_the_comparison_round_turns_its_ratio_round() {
        let (baseline, candidate) = disturbed(1.2);
        let (there, back) = (compare(&baseline, &candidate), compare(&candidate, &baseline));
        assert!((there.ratio.value * back.ratio.value - 1.0).abs() < 1e-12);
        assert!((there.ratio.interval.low * back.ratio.interval.high - 1.0).abs() < 1e-12);
    }

    #[test]
    fn figures_that_have_no_ratio_are_refused() {
        let paired =
            |baseline: &[f64], candidate: &[f64]| Comparison::paired(baseline, candidate, Level::P95).unwrap_err();
        assert_eq!(paired(&[1.0; 6], &[1.0; 7]), Error::Unpaired { baseline: 6, candidate: 7 });
        assert_eq!(paired(&[1.0; 5], &[1.0; 5]), Error::TooFew { got: 5, needed: 6 });
        let mut zero = [1.0; 6];
        zero[1] = 0.0;
        assert_eq!(paired(&[1.0; 6], &zero), Error::NotPositive { index: 1, value: 0.0 });
        zero[1] = f64::INFINITY;
        assert_eq!(paired(&zero, &[1.0; 6]), Error::NotFinite { index: 1, value: f64::INFINITY });
    }

    #[test]
    fn verdicts_have_names() {
        let all = [Verdict::Higher, Verdict::Lower, Verdict::Equal, Verdict::Undecided, Verdict::Computed];
        let names = ["higher", "lower", "equal", "undecided", "computed"];
        assert_eq!(all.map(|verdict| verdict.to_string()), names);
    }
}
