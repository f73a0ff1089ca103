//! Student's t distribution.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The value that a t-distributed variable with `degrees` of freedom (at least 1) is below with `probability`.
pub(crate) fn quantile(probability: f64, degrees: usize) -> f64 {
    with_degrees(degrees).map_or(f64::NAN, |student| student.inverse_cdf(probability))
}

/// The probability that a t-distributed variable with `degrees` of freedom (at least 1) is above `t`.
pub(crate) fn upper_tail(t: f64, degrees: usize) -> f64 {
    with_degrees(degrees).map_or(f64::NAN, |student| student.sf(t))
}

fn with_degrees(degrees: usize) -> Option<StudentsT> {
    StudentsT::new(0.0, 1.0, degrees as f64).ok()
}
