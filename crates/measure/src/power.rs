use crate::Level;
use crate::comparison::MIN_PAIRS;
use crate::student::quantile;

/// The share of runs that find a difference of the size that [`detectable`] computes.
pub const POWER: f64 = 0.8;

/// The smallest ratio above 1 that is claimed in [`POWER`] of all runs: of `pairs` pairs whose ratios' logarithms have
/// this deviation, beside as many other ratios as make a family of `family`. None below six pairs, which
/// have no interval.
///
/// It is Student's quantile of the corrected level (Holm's first step) and that of the power, in standard errors: at
/// most 7 % less than the noncentral distribution has.
pub fn detectable(pairs: usize, deviation: f64, family: usize, level: Level) -> Option<f64> {
    let degrees = (pairs >= MIN_PAIRS).then_some((pairs - 1) as f64)?;
    let claimed = quantile(1.0 - level.tail() / family.max(1) as f64, degrees);
    let errors = claimed + quantile(POWER, degrees);
    Some((errors * deviation / (pairs as f64).sqrt()).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs, ratios, and scipy's noncentrality with 1 - nct.cdf(t.ppf(1 - 0.025 / ratios, n - 1), n - 1, ncp) = 0.8.
    const NONCENTRAL: [(usize, usize, f64); 5] =
        [(6, 1, 3.513_904), (6, 20, 6.993_422), (10, 1, 3.149_636), (10, 14, 4.934_024), (30, 50, 4.560_398)];

    #[test]
    fn detectable_ratio_has_about_the_power_of_the_noncentral_distribution() {
        for (pairs, family, ncp) in NONCENTRAL {
            let found = detectable(pairs, 0.03, family, Level::P95).unwrap().ln();
            let exact = ncp * 0.03 / (pairs as f64).sqrt();
            assert!((found / exact - 1.0).abs() < 0.07, "{pairs} {family}: {found} is not {exact}");
        }
        assert_eq!(detectable(5, 0.03, 1, Level::P95), None);
    }
}
