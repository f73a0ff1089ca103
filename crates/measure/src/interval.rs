use statrs::distribution::{Binomial, DiscreteCDF};

use crate::student::quantile;
use crate::{Error, Samples};

/// A confidence level, between 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Level(f64);

impl Level {
    /// 95 %, the usual one.
    pub const P95: Level = Level(0.95);
    /// 99 %.
    pub const P99: Level = Level(0.99);

    /// Checks a level.
    ///
    /// # Errors
    /// [`Error::Level`].
    pub fn new(level: f64) -> Result<Level, Error> {
        if level > 0.0 && level < 1.0 { Ok(Level(level)) } else { Err(Error::Level(level)) }
    }

    /// The level as a number.
    pub fn get(self) -> f64 {
        self.0
    }

    /// What may be missed.
    pub(crate) fn miss(self) -> f64 {
        1.0 - self.0
    }

    /// The error probability on either side.
    pub(crate) fn tail(self) -> f64 {
        self.miss() / 2.0
    }
}

/// A range of values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// Whether `value` is in it, ends included.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// An interval between two measured figures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MedianInterval {
    /// The two figures.
    pub interval: Interval,
    /// The actual level, at least the requested one: few figures allow only some levels.
    pub coverage: f64,
}

impl Samples {
    /// The interval of the mean for normally distributed figures (Student's t).
    ///
    /// # Errors
    /// [`Error::TooFew`] below two figures.
    pub fn mean_interval(&self, level: Level) -> Result<Interval, Error> {
        let count = self.count();
        if count < 2 {
            return Err(Error::TooFew { got: count, needed: 2 });
        }
        let t = quantile(1.0 - level.tail(), (count - 1) as f64);
        let half = t * self.stdev() / (count as f64).sqrt();
        Ok(Interval { low: self.mean() - half, high: self.mean() + half })
    }

    /// The interval of the median for any distribution: from the r-th smallest to the r-th largest figure, with the
    /// largest r that reaches the level.
    ///
    /// # Errors
    /// [`Error::TooFew`] when even the minimum and maximum do not reach the level (below six figures for 95 %).
    pub fn median_interval(&self, level: Level) -> Result<MedianInterval, Error> {
        let count = self.count();
        let missed_below = |rank: usize| half_binomial(count, rank);
        let is_sure = |rank: &usize| missed_below(*rank) <= level.tail();
        let rank = (0..count).take_while(is_sure).last();
        let rank = rank.ok_or_else(|| Error::TooFew { got: count, needed: needed_for_median(level) })?;
        let interval = Interval { low: self.sorted()[rank], high: self.sorted()[count - 1 - rank] };
        Ok(MedianInterval { interval, coverage: 1.0 - 2.0 * missed_below(rank) })
    }
}

/// The smallest number of figures whose minimum and maximum contain the median at this level: all n of them are above
/// it with probability 2^-n, and below it with the same.
fn needed_for_median(level: Level) -> usize {
    -level.tail().log2().floor() as usize
}

/// The probability of at most `heads` heads in `count` coin tosses.
fn half_binomial(count: usize, heads: usize) -> f64 {
    // Half is a valid probability, so this always succeeds.
    Binomial::new(0.5, count as u64).map_or(f64::NAN, |tosses| tosses.cdf(heads as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(count: u32) -> Samples {
        Samples::new((1..=count).map(f64::from).collect()).unwrap()
    }

    #[test]
    fn interval_of_a_mean_is_the_one_worked_out_by_hand() {
        let samples = first(10);
        let interval = samples.mean_interval(Level::P95).unwrap();
        let half = 2.262_157 * 3.027_650 / 10.0_f64.sqrt();
        assert!((interval.low - (5.5 - half)).abs() < 1e-5 && (interval.high - (5.5 + half)).abs() < 1e-5);
        // Of two figures half is 12.7062 times their deviation of 0.7071 by the square root of 2.
        let of_two = first(2).mean_interval(Level::P95).unwrap();
        assert!((of_two.high - 1.5 - 6.353_1).abs() < 1e-4, "{of_two:?}");
        assert_eq!(first(1).mean_interval(Level::P95), Err(Error::TooFew { got: 1, needed: 2 }));
    }

    #[test]
    fn interval_of_a_median_is_that_of_the_published_tables() {
        let table = [
            (6, 1, 6, 0.968_75),
            (10, 2, 9, 0.978_52),
            (20, 6, 15, 0.958_61),
            (25, 8, 18, 0.956_71),
            (100, 40, 61, 0.964_80),
        ];
        for (count, low, high, coverage) in table {
            let found = first(count).median_interval(Level::P95).unwrap();
            let expected = Interval { low: f64::from(low), high: f64::from(high) };
            assert_eq!(found.interval, expected, "{count}");
            assert!((found.coverage - coverage).abs() < 1e-5, "{count}: {}", found.coverage);
        }
    }

    #[test]
    fn too_few_figures_for_a_median_say_how_many_it_takes() {
        assert_eq!(first(5).median_interval(Level::P95), Err(Error::TooFew { got: 5, needed: 6 }));
        assert_eq!(first(7).median_interval(Level::P99), Err(Error::TooFew { got: 7, needed: 8 }));
        assert!(first(8).median_interval(Level::P99).is_ok());
    }

    #[test]
    fn level_outside_its_range_is_refused() {
        assert_eq!(Level::new(0.9).map(Level::get), Ok(0.9));
        assert!([0.0, 1.0, 95.0, f64::NAN].into_iter().all(|level| Level::new(level).is_err()));
    }
}
