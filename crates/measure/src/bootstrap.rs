use fastrand::Rng;

use crate::comparison::{Estimate, check_pairs};
use crate::{Error, Interval, Level, Samples, normal};

/// The number of resamples.
const DRAWS: usize = 2000;

/// The ratio of the means of candidate and baseline, with a bootstrap interval over pairs (bias-corrected and
/// accelerated; Efron 1987). It assumes no distribution, but requires more pairs than Student's interval to reach its
/// level. It is a second opinion; no verdict is based on it.
///
/// # Errors
/// Those of [`Comparison::paired`](crate::Comparison::paired).
pub fn ratio_of_means(baseline: &[f64], candidate: &[f64], level: Level, seed: u64) -> Result<Estimate, Error> {
    check_pairs(baseline, candidate)?;
    let ratio = |places: &mut dyn Iterator<Item = usize>| {
        let (below, above) = places.fold((0.0, 0.0), |(b, c), place| (b + baseline[place], c + candidate[place]));
        above / below
    };
    let count = baseline.len();
    let value = ratio(&mut (0..count));
    let mut random = Rng::with_seed(seed);
    let draws = (0..DRAWS).map(|_| ratio(&mut (0..count).map(|_| random.usize(..count))));
    let drawn = Samples::new(draws.collect())?;
    let without = |left: usize| ratio(&mut (0..count).filter(|place| *place != left));
    let shape = Shape { bias: bias(&drawn, value), acceleration: acceleration((0..count).map(without).collect())? };
    let end = |tail: f64| drawn.quantile(shape.corrected(tail));
    let interval = match drawn.min() == drawn.max() {
        true => Interval { low: value, high: value },
        false => Interval { low: end(level.tail()), high: end(1.0 - level.tail()) },
    };
    Ok(Estimate { value, interval })
}

/// The distribution of the resampled ratios around the true one.
struct Shape {
    bias: f64,
    acceleration: f64,
}

impl Shape {
    /// The corrected share of resampled ratios below the end that leaves `tail`.
    fn corrected(&self, tail: f64) -> f64 {
        let z = self.bias + normal::quantile(tail);
        normal::lower_tail(self.bias + z / (1.0 - self.acceleration * z))
    }
}

/// The distance of the ratio from the middle of the resampled ones, in standard deviations.
fn bias(drawn: &Samples, value: f64) -> f64 {
    let below = drawn.sorted().partition_point(|ratio| *ratio < value);
    let up_to = drawn.sorted().partition_point(|ratio| *ratio <= value);
    normal::quantile((below + up_to) as f64 / (2 * drawn.count()) as f64)
}

/// The change of the deviation with the ratio, estimated by leaving out each pair once.
fn acceleration(without: Vec<f64>) -> Result<f64, Error> {
    let without = Samples::new(without)?;
    let distance =
        |power: i32| without.measured().iter().map(|ratio| (without.mean() - ratio).powi(power)).sum::<f64>();
    let squares = distance(2);
    Ok(if squares > 0.0 { distance(3) / (6.0 * squares.powf(1.5)) } else { 0.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASELINE: [f64; 10] = [10.0, 12.0, 11.0, 9.5, 10.5, 30.0, 11.5, 10.2, 9.9, 10.8];
    const CANDIDATE: [f64; 10] = [11.0, 12.9, 12.1, 10.9, 11.2, 31.0, 12.9, 11.0, 11.1, 11.5];

    #[test]
    fn interval_is_scipys_as_far_as_drawing_goes() {
        let found = ratio_of_means(&BASELINE, &CANDIDATE, Level::P95, 1).unwrap();
        assert!((found.value - 135.6 / 125.4).abs() < 1e-12);
        // scipy.stats.bootstrap((candidate, baseline), lambda c, b, axis: c.mean(axis) / b.mean(axis), paired=True,
        //                       vectorized=True, n_resamples=200000, method="BCa").confidence_interval
        let scipy = Interval { low: 1.0523, high: 1.1038 };
        assert!((found.interval.low - scipy.low).abs() < 0.004, "{found:?}");
        assert!((found.interval.high - scipy.high).abs() < 0.004, "{found:?}");
        assert_eq!(ratio_of_means(&BASELINE, &CANDIDATE, Level::P95, 1), Ok(found));
    }

    #[test]
    fn bias_is_where_the_ratio_is_among_the_drawn_ones_and_equal_ones_count_half() {
        let drawn = Samples::new(vec![4.0, 1.0, 3.0, 2.0]).unwrap();
        assert!(bias(&drawn, 2.5).abs() < 1e-12);
        // scipy.stats.norm.ppf(3 / 8)
        assert!((bias(&drawn, 2.0) + 0.318_639_363_964_375_16).abs() < 1e-9, "{}", bias(&drawn, 2.0));
    }

    #[test]
    fn ratios_that_no_pair_changes_have_no_acceleration() {
        assert_eq!(acceleration(vec![2.0; 6]), Ok(0.0));
        // Deviations from the mean of 3: 2, 1, -3; 24 / 6 / 14^1.5 with the sign of mean - ratio.
        let found = acceleration(vec![1.0, 2.0, 6.0]).unwrap();
        assert!((found + 18.0 / (6.0 * 14.0_f64.powf(1.5))).abs() < 1e-12, "{found}");
    }

    #[test]
    fn ratio_that_is_always_the_same_has_an_interval_of_no_width() {
        let twice = BASELINE.map(|figure| 2.0 * figure);
        let found = ratio_of_means(&BASELINE, &twice, Level::P95, 3).unwrap();
        assert_eq!(found, Estimate { value: 2.0, interval: Interval { low: 2.0, high: 2.0 } });
        assert_eq!(
            ratio_of_means(&BASELINE, &twice[..9], Level::P95, 3),
            Err(Error::Unpaired { baseline: 10, candidate: 9 })
        );
    }
}
