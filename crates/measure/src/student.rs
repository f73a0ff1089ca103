//! Student's t distribution.

use crate::special::incomplete_beta;

/// How often the interval around a quantile is halved: enough to use up the digits of an `f64`.
const MAX_HALVINGS: u32 = 200;

/// The largest quantile that is looked for, as a power of two.
const MAX_DOUBLINGS: u32 = 100;

/// The value that a t-distributed variable with `degrees` of freedom (above 0) stays below with `probability`, which is
/// between 0 and 1.
pub fn t_quantile(probability: f64, degrees: f64) -> f64 {
    if probability < 0.5 {
        return -t_quantile(1.0 - probability, degrees);
    }
    let tail = 1.0 - probability;
    let mut high = 1.0;
    for _ in 0..MAX_DOUBLINGS {
        if upper_tail(high, degrees) < tail {
            break;
        }
        high *= 2.0;
    }
    let mut low = 0.0;
    for _ in 0..MAX_HALVINGS {
        let middle = f64::midpoint(low, high);
        if upper_tail(middle, degrees) > tail { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// The probability of a value above `t`, which is not below 0.
fn upper_tail(t: f64, degrees: f64) -> f64 {
    incomplete_beta(degrees / (degrees + t * t), degrees / 2.0, 0.5) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_published_tables() {
        let table = [
            (1.0, [3.077_68, 6.313_75, 12.706_20, 63.656_74]),
            (2.0, [1.885_62, 2.919_99, 4.302_65, 9.924_84]),
            (5.0, [1.475_88, 2.015_05, 2.570_58, 4.032_14]),
            (10.0, [1.372_18, 1.812_46, 2.228_14, 3.169_27]),
            (30.0, [1.310_42, 1.697_26, 2.042_27, 2.750_00]),
            (120.0, [1.288_65, 1.657_65, 1.979_93, 2.617_42]),
        ];
        for (degrees, row) in table {
            for (probability, expected) in [0.90, 0.95, 0.975, 0.995].into_iter().zip(row) {
                let got = t_quantile(probability, degrees);
                assert!((got - expected).abs() < 6e-6, "{probability} with {degrees}: {got}");
            }
        }
    }

    #[test]
    fn many_degrees_of_freedom_come_to_the_normal_distribution() {
        assert!((t_quantile(0.975, 1e6) - 1.959_966).abs() < 1e-5);
        assert!((t_quantile(0.5, 7.0)).abs() < 1e-12);
        assert_eq!(t_quantile(0.025, 7.0), -t_quantile(0.975, 7.0));
    }
}
