use statrs::statistics::Statistics;

use crate::Error;

/// Figures of repeated runs: at least one, all finite, in the order of measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct Samples {
    measured: Vec<f64>,
    sorted: Vec<f64>,
}

impl Samples {
    /// Takes figures in the order of measurement.
    ///
    /// # Errors
    /// [`Error::TooFew`] without figures, [`Error::NotFinite`].
    pub fn new(measured: Vec<f64>) -> Result<Samples, Error> {
        if measured.is_empty() {
            return Err(Error::TooFew { got: 0, needed: 1 });
        }
        if let Some((index, &value)) = measured.iter().enumerate().find(|(_, value)| !value.is_finite()) {
            return Err(Error::NotFinite { index, value });
        }
        let mut sorted = measured.clone();
        sorted.sort_by(f64::total_cmp);
        Ok(Samples { measured, sorted })
    }

    /// The figures in the order of measurement.
    pub fn measured(&self) -> &[f64] {
        &self.measured
    }

    /// The figures in ascending order.
    pub fn sorted(&self) -> &[f64] {
        &self.sorted
    }

    /// The number of figures: at least 1.
    pub fn count(&self) -> usize {
        self.sorted.len()
    }

    /// The least.
    pub fn min(&self) -> f64 {
        self.sorted[0]
    }

    /// The greatest.
    pub fn max(&self) -> f64 {
        self.sorted[self.count() - 1]
    }

    /// The mean.
    pub fn mean(&self) -> f64 {
        self.measured.as_slice().mean()
    }

    /// The middle one, or the mean of the two in the middle.
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// The standard deviation of the sample (with n − 1), 0 for a single figure.
    pub fn stdev(&self) -> f64 {
        if self.count() < 2 {
            return 0.0;
        }
        self.measured.as_slice().std_dev()
    }

    /// The quantile `q` (0 to 1), interpolated between the two nearest figures (type 7 of Hyndman and Fan, the default
    /// of R, NumPy and spreadsheets).
    pub fn quantile(&self, q: f64) -> f64 {
        let position = q.clamp(0.0, 1.0) * (self.count() - 1) as f64;
        let below = position.floor() as usize;
        let above = (below + 1).min(self.count() - 1);
        let share = position - below as f64;
        self.sorted[below] + (self.sorted[above] - self.sorted[below]) * share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_of_an_even_number_is_between_the_two_in_the_middle() {
        let samples = Samples::new(vec![4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!(samples.median(), 2.5);
        assert_eq!(samples.measured(), [4.0, 1.0, 3.0, 2.0]);
    }

    #[test]
    fn least_and_greatest_are_found_in_any_order() {
        let samples = Samples::new(vec![4.0, -7.5, 3.0, 42.0, 2.0]).unwrap();
        assert_eq!((samples.min(), samples.max()), (-7.5, 42.0));
    }

    #[test]
    fn quantiles_are_those_of_numpy() {
        let samples = Samples::new(vec![1.0, 2.0, 4.0, 8.0, 16.0]).unwrap();
        assert_eq!(samples.quantile(0.25), 2.0);
        assert!((samples.quantile(0.9) - 12.8).abs() < 1e-12);
        assert_eq!((samples.quantile(0.0), samples.quantile(1.0)), (1.0, 16.0));
    }

    #[test]
    fn deviation_is_that_of_a_sample() {
        let samples = Samples::new(vec![2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert_eq!(samples.mean(), 5.0);
        assert!((samples.stdev() - 2.138_089_935).abs() < 1e-9);
        assert_eq!(Samples::new(vec![3.0]).unwrap().stdev(), 0.0);
    }

    #[test]
    fn figures_that_are_none_are_refused() {
        assert_eq!(Samples::new(vec![]), Err(Error::TooFew { got: 0, needed: 1 }));
        assert!(matches!(Samples::new(vec![1.0, f64::NAN]), Err(Error::NotFinite { index: 1, .. })));
    }
}
