//! The standard normal distribution.

use statrs::distribution::{ContinuousCDF, Normal};

/// The probability of a value below `z`.
pub(crate) fn lower_tail(z: f64) -> f64 {
    Normal::standard().cdf(z)
}

/// The probability of a value above `z`.
pub(crate) fn upper_tail(z: f64) -> f64 {
    Normal::standard().sf(z)
}

/// The value that a variable is below with `probability`.
pub(crate) fn quantile(probability: f64) -> f64 {
    Normal::standard().inverse_cdf(probability)
}
