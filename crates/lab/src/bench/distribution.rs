//! How often each block of a random workload is used, as fio's `random_distribution` says it.

use std::f64::consts::TAU;
use std::fmt;
use std::str::FromStr;

use fastrand::Rng;

/// How popular the blocks are. Which ones are popular follows from the seed, and all connections use the same.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Distribution {
    /// Each is used once before one is repeated.
    #[default]
    Random,
    /// The block of rank r has a share of r to the power of −θ.
    Zipf {
        /// θ, above 0.
        theta: f64,
    },
    /// A share of 1 − h of all operations uses a share of h of all blocks, and so on within that share.
    Pareto {
        /// h, above 0 and below 1; below 0.5 the first ranks are the popular ones.
        power: f64,
    },
    /// Ranks have a normal distribution around the middle one.
    Normal {
        /// The standard deviation in percent of all blocks, above 0 and up to 100.
        deviation_percent: f64,
    },
}

/// A text is no distribution.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is no distribution of blocks: there are random, zipf:THETA (above 0 up to 100), pareto:POWER (above 0 and \
     below 1) and normal:PERCENT (above 0 up to 100)"
)]
pub struct DistributionError(String);

const MAX_THETA: f64 = 100.0;

impl FromStr for Distribution {
    type Err = DistributionError;

    fn from_str(text: &str) -> Result<Distribution, DistributionError> {
        let error = || DistributionError(text.to_owned());
        let Some((name, number)) = text.split_once(':') else {
            return if text == "random" { Ok(Distribution::Random) } else { Err(error()) };
        };
        let number = number.parse().ok().filter(|number: &f64| *number > 0.0).ok_or_else(error)?;
        match name {
            "zipf" if number <= MAX_THETA => Ok(Distribution::Zipf { theta: number }),
            "pareto" if number < 1.0 => Ok(Distribution::Pareto { power: number }),
            "normal" if number <= 100.0 => Ok(Distribution::Normal { deviation_percent: number }),
            _ => Err(error()),
        }
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Distribution::Random => f.write_str("random"),
            Distribution::Zipf { theta } => write!(f, "zipf:{theta}"),
            Distribution::Pareto { power } => write!(f, "pareto:{power}"),
            Distribution::Normal { deviation_percent } => write!(f, "normal:{deviation_percent}"),
        }
    }
}

impl Distribution {
    /// The rank of the block of the next operation, below `count`; nothing when all are used equally often.
    pub(super) fn rank(self, count: u64, random: &mut Rng) -> Option<u64> {
        let rank = match self {
            Distribution::Random => return None,
            Distribution::Zipf { theta } => Zipf { theta }.draw(count as f64, random) - 1.0,
            Distribution::Pareto { power } => {
                (count as f64 * random.f64().powf(power.ln() / (1.0 - power).ln())).floor()
            }
            Distribution::Normal { deviation_percent } => loop_until_below(count as f64, || {
                count as f64 * (0.5 + deviation_percent / 100.0 * standard_normal(random))
            }),
        };
        Some((rank as u64).min(count - 1))
    }
}

/// How often a value outside of the range is drawn again.
const MAX_DRAWS: usize = 100;

/// Draws until a value is from 0 to below `end`. The wide end of a distribution could need too many: then any is taken.
fn loop_until_below(end: f64, mut draw: impl FnMut() -> f64) -> f64 {
    let inside = std::iter::repeat_with(&mut draw).take(MAX_DRAWS).find(|value| (0.0..end).contains(value));
    inside.unwrap_or(end / 2.0).floor()
}

/// A number of the standard normal distribution, by the transform of Box and Muller.
fn standard_normal(random: &mut Rng) -> f64 {
    // 1 − u is above 0.
    (-2.0 * (1.0 - random.f64()).ln()).sqrt() * (TAU * random.f64()).cos()
}

/// Zipf's distribution by rejection and inversion (Hörmann and Derflinger 1996): exact, without a sum over all ranks.
#[derive(Debug, Clone, Copy)]
struct Zipf {
    theta: f64,
}

impl Zipf {
    /// A rank from 1 to `count`. Fewer than one in five draws are rejected.
    fn draw(self, count: f64, random: &mut Rng) -> f64 {
        let (low, high) = (self.area_below(1.5) - 1.0, self.area_below(count + 0.5));
        for _ in 0..MAX_DRAWS {
            let area = high + random.f64() * (low - high);
            let rank = self.rank_at(area).round().clamp(1.0, count);
            if area >= self.area_below(rank + 0.5) - rank.powf(-self.theta) {
                return rank;
            }
        }
        1.0
    }

    /// The integral of x to the power of −θ from 1 to `x`.
    fn area_below(self, x: f64) -> f64 {
        let exponent = 1.0 - self.theta;
        // Near θ = 1 the difference of two powers has no digits left; their limit is the logarithm.
        if exponent.abs() < 1e-9 { x.ln() } else { (exponent * x.ln()).exp_m1() / exponent }
    }

    /// The end of the interval with this integral.
    fn rank_at(self, area: f64) -> f64 {
        let exponent = 1.0 - self.theta;
        if exponent.abs() < 1e-9 { area.exp() } else { ((area * exponent).ln_1p() / exponent).exp() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNT: u64 = 1000;
    const DRAWS: usize = 200_000;

    /// The share of operations on each rank.
    fn shares(text: &str) -> Vec<f64> {
        let (distribution, mut random) = (text.parse::<Distribution>().unwrap(), Rng::with_seed(11));
        let mut counts = vec![0.0; COUNT as usize];
        for _ in 0..DRAWS {
            counts[distribution.rank(COUNT, &mut random).unwrap() as usize] += 1.0 / DRAWS as f64;
        }
        counts
    }

    fn is_near(found: f64, expected: f64) -> bool {
        // Four standard errors of a share.
        (found - expected).abs() < 4.0 * (expected * (1.0 - expected) / DRAWS as f64).sqrt() + 1e-9
    }

    #[test]
    fn zipf_gives_each_rank_its_share_also_where_theta_is_one() {
        for theta in [0.2, 0.8, 1.0, 1.2, 3.0] {
            let found = shares(&format!("zipf:{theta}"));
            let all: f64 = (1..=COUNT).map(|rank| (rank as f64).powf(-theta)).sum();
            for rank in [1, 2, 3, 10, 500, 1000] {
                let expected = f64::from(rank).powf(-theta) / all;
                assert!(is_near(found[rank as usize - 1], expected), "{theta}, {rank}: {expected}");
            }
        }
    }

    #[test]
    fn pareto_with_a_fifth_has_four_fifths_of_the_operations_on_a_fifth_of_the_blocks() {
        let found = shares("pareto:0.2");
        let of_first = |count: usize| found[..count].iter().sum::<f64>();
        assert!(is_near(of_first(200), 0.8) && is_near(of_first(40), 0.64), "{} {}", of_first(200), of_first(40));
    }

    #[test]
    fn normal_has_two_thirds_within_its_deviation_of_the_middle() {
        let found = shares("normal:10");
        let within = found[400..600].iter().sum::<f64>();
        assert!(is_near(within, 0.682_69), "{within}");
        assert!(shares("normal:100").iter().all(|share| *share > 0.0));
    }

    #[test]
    fn distribution_is_a_name_with_a_number_in_its_range() {
        for text in ["random", "zipf:1.2", "pareto:0.3", "normal:12.5"] {
            assert_eq!(text.parse::<Distribution>().unwrap().to_string(), text);
        }
        let wrong =
            ["zipf", "zipf:0", "zipf:-1", "zipf:NaN", "zipf:inf", "pareto:1", "normal:101", "random:1", "zoned:5"];
        for text in wrong {
            assert!(text.parse::<Distribution>().unwrap_err().to_string().contains(text), "{text}");
        }
        let mut random = Rng::with_seed(1);
        assert_eq!(Distribution::Random.rank(10, &mut random), None);
        for text in ["zipf:1", "pareto:0.9", "normal:50"] {
            assert_eq!(text.parse::<Distribution>().unwrap().rank(1, &mut random), Some(0), "{text}");
        }
    }
}
