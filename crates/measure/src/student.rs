//! Student's t distribution.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The value that a t-distributed variable with `degrees` of freedom (above 0) is below with `probability`.
pub(crate) fn quantile(probability: f64, degrees: f64) -> f64 {
    with_degrees(degrees).map_or(f64::NAN, |student| student.inverse_cdf(probability))
}

/// The probability that a t-distributed variable with `degrees` of freedom (above 0) is above `t`.
pub(crate) fn upper_tail(t: f64, degrees: f64) -> f64 {
    with_degrees(degrees).map_or(f64::NAN, |student| student.sf(t))
}

fn with_degrees(degrees: f64) -> Option<StudentsT> {
    StudentsT::new(0.0, 1.0, degrees).ok()
}
