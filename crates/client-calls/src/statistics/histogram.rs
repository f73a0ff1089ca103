//! Times in a fixed number of buckets: log-linear, eight per doubling.

use std::time::Duration;

/// Buckets per doubling, as a power of two: a bucket's width is at most an eighth of its value.
const STEPS_BITS: u32 = 3;
/// The start of the first doubling in nanoseconds, as a power of two; the first bucket has all shorter times.
const LEAST_BITS: u32 = 7;
/// The end of the last doubling: 2^42 ns are an hour and 13 minutes.
const MOST_BITS: u32 = 42;
/// The first bits of a time as a floating-point number are its exponent and the steps within its doubling, so they
/// number the buckets. This is the number of the last one whose times are all in the first bucket.
const FIRST: u64 = ((f64::MAX_EXP as u64 - 1 + LEAST_BITS as u64) << STEPS_BITS) - 1;
/// How many finer bits follow these.
const FINER_BITS: u32 = f64::MANTISSA_DIGITS - 1 - STEPS_BITS;

/// Counts times from less than 1 µs to more than an hour; longer ones count as the longest.
///
/// ```
/// use std::time::Duration;
///
/// let mut histogram = client::Histogram::default();
/// histogram.record(Duration::from_micros(80));
/// assert_eq!((histogram.count(), histogram.mean()), (1, Duration::from_micros(80)));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Histogram {
    buckets: [u64; Histogram::BUCKETS],
    sum_ns: u64,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram { buckets: [0; Self::BUCKETS], sum_ns: 0 }
    }
}

impl Histogram {
    /// The number of buckets.
    pub const BUCKETS: usize = 1 + (((MOST_BITS - LEAST_BITS) as usize) << STEPS_BITS);

    /// Counts one time.
    pub fn record(&mut self, time: Duration) {
        self.count_ns(nanoseconds(time));
        self.add_sum(time);
    }

    /// Counts one time in nanoseconds; [`Histogram::add_sum`] adds it to the sum later.
    #[inline]
    pub(super) fn count_ns(&mut self, time_ns: u64) {
        self.buckets[bucket_of(time_ns)] += 1;
    }

    /// How many times were counted.
    pub fn count(&self) -> u64 {
        self.buckets.iter().fold(0, |count, bucket| count.saturating_add(*bucket))
    }

    /// Whether no time was counted.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// The exact sum of all times.
    pub fn sum(&self) -> Duration {
        Duration::from_nanos(self.sum_ns)
    }

    /// The exact mean; zero without times.
    pub fn mean(&self) -> Duration {
        Duration::from_nanos(self.sum_ns.checked_div(self.count()).unwrap_or(0))
    }

    /// The time that a share `q` (0 to 1) of all times does not exceed, to within a sixteenth; zero without times.
    pub fn quantile(&self, q: f64) -> Duration {
        // Rounding must not lift a product over a whole number: 0.999 of 1000 is 999.
        let share = q.clamp(0.0, 1.0) * self.count() as f64 * (1.0 - 4.0 * f64::EPSILON);
        let rank = (share.ceil() as u64).max(1);
        let mut seen = 0;
        let found = self.buckets.iter().position(|count| {
            seen += count;
            seen >= rank
        });
        found.map_or(Duration::ZERO, |bucket| {
            let (from, to) = bounds_ns(bucket);
            Duration::from_nanos(from.midpoint(to))
        })
    }

    /// The buckets with times: start, end and count of each.
    pub fn buckets(&self) -> impl Iterator<Item = (Duration, Duration, u64)> {
        let filled = self.buckets.iter().enumerate().filter(|(_, count)| **count > 0);
        filled.map(|(bucket, count)| {
            let (from, to) = bounds_ns(bucket);
            (Duration::from_nanos(from), Duration::from_nanos(to), *count)
        })
    }

    /// Adds to the bucket that starts at `from`, for a histogram from another process ([`Histogram::buckets`]).
    pub fn add_bucket(&mut self, from: Duration, count: u64) {
        let bucket = &mut self.buckets[bucket_of(nanoseconds(from))];
        *bucket = bucket.saturating_add(count);
    }

    /// Adds to the sum of all times, for a histogram from another process.
    pub fn add_sum(&mut self, sum: Duration) {
        self.sum_ns = self.sum_ns.saturating_add(nanoseconds(sum));
    }

    /// Adds all times of `other`.
    pub fn merge(&mut self, other: &Histogram) {
        self.combine(other, u64::saturating_add);
    }

    /// Subtracts all times that `earlier` had already.
    pub fn subtract(&mut self, earlier: &Histogram) {
        self.combine(earlier, u64::saturating_sub);
    }

    fn combine(&mut self, other: &Histogram, how: impl Fn(u64, u64) -> u64) {
        for (mine, others) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine = how(*mine, *others);
        }
        self.sum_ns = how(self.sum_ns, other.sum_ns);
    }
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Histogram").field("count", &self.count()).field("mean", &self.mean()).finish_non_exhaustive()
    }
}

/// A time in nanoseconds; a u64 holds 584 years.
pub(crate) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The bucket of a time.
#[inline]
fn bucket_of(time_ns: u64) -> usize {
    // A signed number converts in one step. More than 292 years become negative, whose sign makes it the longest time.
    let bits = (time_ns.cast_signed() as f64).to_bits();
    ((bits >> FINER_BITS).saturating_sub(FIRST) as usize).min(Histogram::BUCKETS - 1)
}

/// The start of a bucket and of the next one, in nanoseconds.
fn bounds_ns(bucket: usize) -> (u64, u64) {
    let begin = |bucket: usize| f64::from_bits((bucket as u64 + FIRST) << FINER_BITS) as u64;
    (if bucket == 0 { 0 } else { begin(bucket) }, begin(bucket + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn of(times: impl IntoIterator<Item = Duration>) -> Histogram {
        let mut histogram = Histogram::default();
        times.into_iter().for_each(|time| histogram.record(time));
        histogram
    }

    #[test]
    fn every_time_is_in_a_bucket_an_eighth_of_it_wide_at_most() {
        let mut time = 1000;
        while time < 2 * nanoseconds(HOUR) / 2 {
            let (from, to) = bounds_ns(bucket_of(time));
            assert!(from <= time && time < to, "{time} ns is not between {from} and {to}");
            assert!((to - from) as f64 <= from as f64 / 8.0 + 128.0, "{from} to {to} is too wide");
            time += time / 7;
        }
        assert!(bucket_of(nanoseconds(HOUR)) < Histogram::BUCKETS);
        assert_eq!(bucket_of(u64::MAX), Histogram::BUCKETS - 1);
    }

    #[test]
    fn buckets_follow_each_other_without_a_gap() {
        for bucket in 1..Histogram::BUCKETS {
            assert_eq!(bounds_ns(bucket - 1).1, bounds_ns(bucket).0);
            assert_eq!(bucket_of(bounds_ns(bucket).0), bucket);
        }
    }

    #[test]
    fn mean_is_exact_and_quantiles_are_within_a_sixteenth() {
        let histogram = of((1..=10_000).map(Duration::from_micros));
        assert_eq!(histogram.mean(), Duration::from_nanos(5_000_500));
        for q in [0.01, 0.5, 0.9, 0.99] {
            let (got, expected) = (histogram.quantile(q).as_secs_f64(), q * 0.01);
            assert!((got - expected).abs() <= expected / 16.0, "{q}: {got}");
        }
    }

    #[test]
    fn percentile_of_a_round_number_of_times_has_the_rank_that_it_says() {
        let mut histogram = of([Duration::from_micros(1); 999]);
        histogram.record(HOUR);
        assert!(histogram.quantile(99.9 / 100.0) < Duration::from_micros(2), "{histogram:?}");
    }

    #[test]
    fn what_is_left_after_subtraction_is_what_came_since() {
        let (early, late) = ([3, 70, 9000].map(Duration::from_micros), [70, 4_000_000].map(Duration::from_micros));
        let mut whole = of(early.into_iter().chain(late));
        whole.subtract(&of(early));
        assert_eq!(whole, of(late));
        whole.merge(&of(early));
        assert_eq!(whole, of(early.into_iter().chain(late)));
    }

    #[test]
    fn histogram_is_made_again_from_its_buckets_and_its_sum() {
        let histogram = of([1, 50, 50, 7_000_000, 1 << 50].map(Duration::from_micros));
        let mut again = Histogram::default();
        again.add_sum(histogram.sum());
        histogram.buckets().for_each(|(from, _, count)| again.add_bucket(from, count));
        assert_eq!(again, histogram);
    }

    #[test]
    fn histogram_of_nothing_answers_zero() {
        let histogram = Histogram::default();
        assert_eq!((histogram.count(), histogram.mean(), histogram.quantile(0.5)), (0, Duration::ZERO, Duration::ZERO));
        assert_eq!(histogram.buckets().count(), 0);
    }
}
