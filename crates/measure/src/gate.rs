use std::fmt;

use crate::family::holm;
use crate::{Comparison, Error, Level};

/// The side of a bound that is not wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Ratios below it.
    Below,
    /// Ratios above it.
    Above,
}

/// A ratio that must not be: less than 0.97, for a figure that must not fall by more than 3 %.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    /// Where the bound is not to be passed.
    pub side: Side,
    /// The bound, above 0.
    pub ratio: f64,
}

/// Whether a ratio passes a [`Limit`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It is certainly beyond the limit.
    Fails,
    /// It is certainly not.
    Holds,
    /// Neither is certain.
    Undecided,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Outcome::Fails => "fails",
            Outcome::Holds => "holds",
            Outcome::Undecided => "undecided",
        })
    }
}

/// Judges ratios by their limits, all together: at `level`, none fails that is within its limit, and none holds that is
/// beyond (Holm, one-sided).
pub fn gate(family: &[(Limit, Result<Comparison, Error>)], level: Level) -> Vec<Outcome> {
    let sure = |is_failure: bool| {
        let chance = |(limit, found): &(Limit, Result<Comparison, Error>)| {
            let is_below = (limit.side == Side::Below) == is_failure;
            found.map_or(1.0, |found| match is_below {
                true => found.chance_of_below(limit.ratio),
                false => found.chance_of_above(limit.ratio),
            })
        };
        let corrected = holm(&family.iter().map(chance).collect::<Vec<f64>>());
        corrected.into_iter().map(|chance| chance <= level.miss()).collect::<Vec<bool>>()
    };
    let outcome = |(fails, holds)| match (fails, holds) {
        (true, _) => Outcome::Fails,
        (false, true) => Outcome::Holds,
        (false, false) => Outcome::Undecided,
    };
    sure(true).into_iter().zip(sure(false)).map(outcome).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(ratio: f64, noise: f64) -> Result<Comparison, Error> {
        let candidate: Vec<f64> =
            (0..10).map(|run| ratio * (1.0 + noise * f64::from(run * 7 % 10 - 5) / 5.0)).collect();
        Comparison::paired(&[1.0; 10], &candidate, Level::P95)
    }

    fn alone(side: Side, ratio: f64, noise: f64) -> Outcome {
        gate(&[(Limit { side, ratio: 0.97 }, comparison(ratio, noise))], Level::P95)[0]
    }

    #[test]
    fn ratio_fails_or_holds_only_where_it_is_sure() {
        use Outcome::{Fails, Holds, Undecided};
        let below = |ratio, noise| alone(Side::Below, ratio, noise);
        assert_eq!((below(0.9, 0.01), below(0.99, 0.01), below(0.96, 0.1)), (Fails, Holds, Undecided));
        let above = |ratio, noise| alone(Side::Above, ratio, noise);
        assert_eq!((above(0.9, 0.01), above(0.99, 0.01), above(0.96, 0.1)), (Holds, Fails, Undecided));
        let few = Comparison::paired(&[1.0; 3], &[0.5; 3], Level::P95);
        assert_eq!(gate(&[(Limit { side: Side::Below, ratio: 0.97 }, few)], Level::P95), [Undecided]);
    }

    #[test]
    fn outcomes_have_words() {
        let all = [Outcome::Fails, Outcome::Holds, Outcome::Undecided];
        assert_eq!(all.map(|outcome| outcome.to_string()), ["fails", "holds", "undecided"]);
    }
}
