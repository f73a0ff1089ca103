use serde::{Deserialize, Serialize};

/// Count, minimum, maximum, mean and standard deviation of values, all exact, in a few bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread {
    count: u64,
    min: u64,
    max: u64,
    sum: u128,
    sum_of_squares: u128,
}

impl Default for Spread {
    fn default() -> Self {
        Spread { count: 0, min: u64::MAX, max: 0, sum: 0, sum_of_squares: 0 }
    }
}

impl Spread {
    /// Counts one value.
    pub fn record(&mut self, value: u64) {
        self.count += 1;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.sum += u128::from(value);
        self.sum_of_squares = self.sum_of_squares.saturating_add(u128::from(value) * u128::from(value));
    }

    /// Adds all values of `other`.
    pub fn merge(&mut self, other: &Spread) {
        self.count = self.count.saturating_add(other.count);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum = self.sum.saturating_add(other.sum);
        self.sum_of_squares = self.sum_of_squares.saturating_add(other.sum_of_squares);
    }

    /// How many values there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The minimum, 0 without values.
    pub fn min(&self) -> u64 {
        if self.count == 0 { 0 } else { self.min }
    }

    /// The maximum, 0 without values.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// The mean, 0 without values.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }

    /// The standard deviation of the sample (with n − 1), 0 for fewer than two values.
    pub fn stdev(&self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        // Sums the squares of the distances from the rounded mean, so that nothing cancels, and then corrects for the
        // rounding.
        let count = u128::from(self.count);
        let (whole, rest) = (self.sum / count, self.sum % count);
        let squares = self.sum_of_squares.saturating_sub(whole.saturating_mul(self.sum.saturating_add(rest)));
        let correction = rest as f64 * rest as f64 / self.count as f64;
        ((squares as f64 - correction).max(0.0) / (self.count - 1) as f64).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_together_spread_as_the_whole_does() {
        let spread = |values: &[u64]| {
            let mut spread = Spread::default();
            values.iter().for_each(|value| spread.record(*value));
            spread
        };
        let mut both = spread(&[4792]);
        both.merge(&spread(&[5478]));
        assert_eq!(both, spread(&[5478, 4792]));
        assert_eq!((both.count(), both.min(), both.max(), both.mean()), (2, 4792, 5478, 5135.0));
        assert!((both.stdev() - 485.075_252).abs() < 1e-6, "{}", both.stdev());
        let none = Spread::default();
        assert_eq!((none.count(), none.min(), none.max(), none.mean(), none.stdev()), (0, 0, 0, 0.0, 0.0));
        assert_eq!(spread(&[7]).stdev(), 0.0);
    }

    #[test]
    fn deviation_is_right_where_the_mean_is_no_whole_number() {
        let stdev = |values: [u64; 3]| {
            let mut spread = Spread::default();
            values.into_iter().for_each(|value| spread.record(value));
            spread.stdev()
        };
        // The means are 7/3 and 8/3; the squares of the distances add up to 14/3 and 2/3.
        assert!((stdev([1, 2, 4]) - (7.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        assert!((stdev([2, 3, 3]) - (1.0_f64 / 3.0).sqrt()).abs() < 1e-12);
    }
}
