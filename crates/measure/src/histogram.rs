use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::Spread;

/// Each doubling of the value has 2 to the power of this many buckets. A bucket is at most 1/128 of its value wide.
const STEPS_BITS: u32 = 7;
const STEPS: u64 = 1 << STEPS_BITS;

/// The bits of a value: 2^50 ns are thirteen days.
const VALUE_BITS: u32 = 50;

/// Values below two times [`STEPS`] have a bucket each; every further bit adds [`STEPS`] buckets.
const BUCKETS: usize = ((VALUE_BITS - STEPS_BITS + 1) as usize) << STEPS_BITS;

/// Counts values in buckets whose width grows with the value: about 90 KB for any number of values.
///
/// Count, minimum, maximum, mean and standard deviation are exact. A quantile is the mean of the values in its bucket:
/// exact where they are the same, and within 0.8 % elsewhere.
///
/// The crate `hdrhistogram` computes mean and deviation from the middles of its buckets, and its maximum is the end of
/// a bucket. The client has another, coarse histogram of 2 KB, because it keeps three for each procedure under the lock
/// of a connection, and subtracts earlier ones. A minimum and a maximum cannot be subtracted.
#[derive(Clone, PartialEq, Eq)]
pub struct Histogram {
    buckets: Vec<Bucket>,
    spread: Spread,
}

/// The values that share a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Bucket {
    count: u64,
    /// The sum of how far each is above the least value of the bucket.
    above: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram { buckets: vec![Bucket::default(); BUCKETS], spread: Spread::default() }
    }
}

impl Histogram {
    /// The largest value; larger ones are counted as this one.
    pub const MAX_VALUE: u64 = (1 << VALUE_BITS) - 1;

    /// A histogram of nothing.
    pub fn new() -> Histogram {
        Histogram::default()
    }

    /// Counts one value, such as a latency in nanoseconds.
    pub fn record(&mut self, value: u64) {
        let value = value.min(Self::MAX_VALUE);
        let index = bucket_of(value);
        let bucket = &mut self.buckets[index];
        bucket.count += 1;
        bucket.above = bucket.above.saturating_add(value - least_of(index));
        self.spread.record(value);
    }

    /// Adds all values of `other`.
    pub fn merge(&mut self, other: &Histogram) {
        for (mine, others) in self.buckets.iter_mut().zip(&other.buckets) {
            mine.count = mine.count.saturating_add(others.count);
            mine.above = mine.above.saturating_add(others.above);
        }
        self.spread.merge(&other.spread);
    }

    /// How many values there are.
    pub fn count(&self) -> u64 {
        self.spread.count()
    }

    /// Count, minimum, maximum, mean and standard deviation.
    pub fn spread(&self) -> &Spread {
        &self.spread
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// The minimum, 0 without values.
    pub fn min(&self) -> u64 {
        self.spread.min()
    }

    /// The maximum, 0 without values.
    pub fn max(&self) -> u64 {
        self.spread.max()
    }

    /// The mean, 0 without values.
    pub fn mean(&self) -> f64 {
        self.spread.mean()
    }

    /// The standard deviation of the sample (with n − 1), 0 for fewer than two values.
    pub fn stdev(&self) -> f64 {
        self.spread.stdev()
    }

    /// The value that the share `q` (0 to 1) of all values does not exceed, 0 without values.
    pub fn quantile(&self, q: f64) -> u64 {
        let rank = rank(q, self.count());
        let mut seen = 0;
        let found = self.buckets.iter().position(|bucket| {
            seen = u64::saturating_add(seen, bucket.count);
            seen >= rank
        });
        let mean_above = |bucket: Bucket| bucket.above / bucket.count.max(1);
        let mean_of = |index: usize| least_of(index).saturating_add(mean_above(self.buckets[index]));
        // The extremes are exact, though their buckets have other values too.
        match found {
            Some(_) if rank == self.count() => self.max(),
            Some(_) if rank == 1 => self.min(),
            found => found.map_or(0, mean_of),
        }
    }
}

/// A histogram as it is sent: the buckets that are not empty, each with its number.
#[derive(Serialize, Deserialize)]
struct Sparse {
    buckets: Vec<(usize, u64, u64)>,
    spread: Spread,
}

impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let numbered = self.buckets.iter().enumerate().filter(|(_, bucket)| bucket.count > 0);
        let buckets = numbered.map(|(index, bucket)| (index, bucket.count, bucket.above)).collect();
        Sparse { buckets, spread: self.spread.clone() }.serialize(to)
    }
}

/// Refuses buckets that do not exist. Sums saturate, so that counts of another host, however large, do no harm.
impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Histogram, D::Error> {
        let Sparse { buckets, spread } = Sparse::deserialize(from)?;
        let mut histogram = Histogram { spread, ..Histogram::default() };
        for (index, count, above) in buckets {
            let bucket = histogram.buckets.get_mut(index);
            *bucket.ok_or_else(|| de::Error::custom("a histogram has no such bucket"))? = Bucket { count, above };
        }
        Ok(histogram)
    }
}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Histogram")
            .field("count", &self.count())
            .field("min", &self.min())
            .field("mean", &self.mean())
            .field("max", &self.max())
            .finish_non_exhaustive()
    }
}

/// The rank of the quantile `q` of `count` values, rounded up, and at least 1. A product that is whole but for rounding
/// errors is that number: 0.999 of 1000 is 999.
fn rank(q: f64, count: u64) -> u64 {
    let share = q.clamp(0.0, 1.0) * count as f64;
    ((share * (1.0 - ROUNDING)).ceil() as u64).max(1)
}

/// The relative error of dividing a percentage by 100 and multiplying it again: two roundings and a margin.
const ROUNDING: f64 = 4.0 * f64::EPSILON;

/// The bucket that counts `value`.
fn bucket_of(value: u64) -> usize {
    let bits = u64::BITS - value.leading_zeros();
    let shift = bits.saturating_sub(STEPS_BITS + 1);
    (u64::from(shift) * STEPS + (value >> shift)) as usize
}

/// The least value of a bucket.
fn least_of(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let shift = (bucket / STEPS).saturating_sub(1);
    (bucket - shift * STEPS) << shift
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::new();
        values.into_iter().for_each(|value| histogram.record(value));
        histogram
    }

    #[test]
    fn spread_is_that_of_the_values_and_the_debug_text_shows_it() {
        let histogram = of([10, 20, 60]);
        assert_eq!((histogram.spread().count(), histogram.spread().min(), histogram.spread().max()), (3, 10, 60));
        assert_eq!(format!("{histogram:?}"), "Histogram { count: 3, min: 10, mean: 30.0, max: 60, .. }");
    }

    #[test]
    fn histogram_is_empty_until_a_value_is_recorded() {
        assert!(Histogram::new().is_empty() && !of([0]).is_empty());
    }

    #[test]
    fn every_value_is_within_its_share_of_the_least_of_its_bucket() {
        let mut value = 1;
        while value <= Histogram::MAX_VALUE {
            for value in [value - 1, value, value + value / 3] {
                let bucket = bucket_of(value.min(Histogram::MAX_VALUE));
                let distance = value.min(Histogram::MAX_VALUE).checked_sub(least_of(bucket)).unwrap();
                assert!(distance as f64 <= value as f64 / 128.0, "{value} is in bucket {bucket}");
            }
            value *= 2;
        }
        assert_eq!(bucket_of(Histogram::MAX_VALUE), BUCKETS - 1);
    }

    #[test]
    fn buckets_follow_each_other_without_a_gap() {
        let buckets: Vec<usize> = (0..100_000).map(bucket_of).collect();
        assert!(buckets.windows(2).all(|pair| pair[1] == pair[0] || pair[1] == pair[0] + 1));
    }

    #[test]
    fn quantiles_of_a_uniform_spread_are_where_they_should_be() {
        let histogram = of(1..=100_000);
        for q in [0.01, 0.25, 0.5, 0.9, 0.99, 0.9999] {
            let expected = q * 100_000.0;
            let got = histogram.quantile(q) as f64;
            assert!((got - expected).abs() <= expected * 0.004, "{q}: {got}");
        }
        assert_eq!((histogram.quantile(0.0), histogram.quantile(1.0)), (1, 100_000));
    }

    #[test]
    fn quantile_of_values_that_are_alike_is_their_value_wherever_their_bucket_ends() {
        let histogram = of([1_000, 40_369_000, 40_369_000, 40_369_000, 90_000_000]);
        assert_eq!(histogram.quantile(0.5), 40_369_000);
        let mut merged = of([40_369_000]);
        merged.merge(&of([1_000, 40_368_000, 40_370_000, 90_000_000]));
        assert_eq!(merged.quantile(0.5), 40_369_000);
    }

    #[test]
    fn percentile_of_a_round_number_of_values_has_the_rank_that_it_says() {
        for count in [1000, 10_000, 20_000, 50_000, 1_000_000] {
            for thousandths in [10_u32, 500, 900, 990, 995, 999] {
                let q = f64::from(thousandths) / 10.0 / 100.0;
                assert_eq!(rank(q, count), u64::from(thousandths) * count / 1000, "{q} of {count}");
            }
        }
        assert_eq!((rank(0.999, 1001), rank(0.5, 3), rank(0.0, 9), rank(1.0, 9)), (1000, 2, 1, 9));
    }

    #[test]
    fn mean_and_deviation_are_exact_even_for_a_small_spread_far_from_zero() {
        let far = 1_000_000_000_000;
        let histogram = of([2, 4, 4, 4, 5, 5, 7, 9].map(|value| far + value));
        assert_eq!(histogram.mean(), far as f64 + 5.0);
        assert!((histogram.stdev() - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12, "{}", histogram.stdev());
        assert_eq!((histogram.min(), histogram.max(), histogram.count()), (far + 2, far + 9, 8));
    }

    #[test]
    fn merged_histograms_are_that_of_all_values() {
        let mut left = of(0..500);
        left.merge(&of(500..1000));
        assert_eq!(left, of(0..1000));
        left.merge(&Histogram::new());
        assert_eq!(left, of(0..1000));
    }

    #[test]
    fn empty_histogram_answers_zero_and_a_huge_value_counts_as_the_largest() {
        let histogram = Histogram::new();
        assert_eq!((histogram.min(), histogram.max(), histogram.quantile(0.5)), (0, 0, 0));
        assert_eq!((histogram.mean(), histogram.stdev()), (0.0, 0.0));
        assert_eq!(of([u64::MAX]).max(), Histogram::MAX_VALUE);
        assert_eq!(of([77]).stdev(), 0.0);
    }
}
