use crate::{Comparison, Error, Level, Verdict};

/// The margin: alternatives with a smaller relative difference count as equal.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Margin(f64);

impl Margin {
    /// 2 %: less than the variation of a single program on most machines.
    pub const TWO_PERCENT: Margin = Margin(0.02);

    /// Checks a margin: 0.02 means ratios from 1 / 1.02 to 1.02.
    ///
    /// # Errors
    /// [`Error::Margin`] unless it is above 0 and below 1.
    pub fn new(share: f64) -> Result<Margin, Error> {
        if share > 0.0 && share < 1.0 { Ok(Margin(share)) } else { Err(Error::Margin(share)) }
    }

    /// The margin as a number.
    pub fn get(self) -> f64 {
        self.0
    }
}

/// Judges comparisons made together: at `level`, none of them is falsely called different. Each probability is
/// corrected for their number (Holm), and so are those of equality.
///
/// A failed comparison is [`Verdict::Undecided`]. A certain difference that is within the margin is [`Verdict::Equal`].
pub fn judge(family: &[Result<Comparison, Error>], margin: Margin, level: Level) -> Vec<Verdict> {
    let each = |probability: &dyn Fn(&Comparison) -> f64| {
        let found: Vec<f64> = family.iter().flatten().map(probability).collect();
        holm(&found).into_iter().map(|corrected| corrected <= level.miss()).collect::<Vec<bool>>()
    };
    let is_equal = each(&|comparison| comparison.chance_of_equality(margin));
    let differs = each(&|comparison| comparison.chance_of_difference(1.0));
    let mut sure = is_equal.into_iter().zip(differs);
    let verdict = |comparison: &Result<Comparison, Error>| {
        let Ok(comparison) = comparison else { return Verdict::Undecided };
        match sure.next() {
            Some((true, _)) => Verdict::Equal,
            Some((false, true)) if comparison.ratio.value > 1.0 => Verdict::Higher,
            Some((false, true)) => Verdict::Lower,
            _ => Verdict::Undecided,
        }
    };
    family.iter().map(verdict).collect()
}

/// Corrects probabilities for their number (Holm 1979): the k-th smallest of n is multiplied by n - k, from k = 0 on,
/// and is at least as large as those before it.
pub(crate) fn holm(probabilities: &[f64]) -> Vec<f64> {
    let mut by_size: Vec<usize> = (0..probabilities.len()).collect();
    by_size.sort_by(|one, other| probabilities[*one].total_cmp(&probabilities[*other]));
    let mut corrected = vec![0.0; probabilities.len()];
    let mut least: f64 = 0.0;
    for (place, &index) in by_size.iter().enumerate() {
        least = least.max(probabilities[index] * (probabilities.len() - place) as f64).min(1.0);
        corrected[index] = least;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten pairs with ratios around `factor`; `noise` scales their variation.
    fn comparison(factor: f64, noise: f64) -> Result<Comparison, Error> {
        let baseline = [100.0; 10];
        let wobble = |run: i32| factor * (1.0 + noise * f64::from(run * 7 % 10 - 5) / 5.0);
        let candidate: Vec<f64> = (0..10).map(|run| 100.0 * wobble(run)).collect();
        Comparison::paired(&baseline, &candidate, Level::P95)
    }

    fn alone(factor: f64, noise: f64) -> Verdict {
        judge(&[comparison(factor, noise)], Margin::TWO_PERCENT, Level::P95)[0]
    }

    #[test]
    fn four_verdicts_follow_from_where_the_ratio_is_and_how_well_it_is_known() {
        assert_eq!(alone(1.05, 0.005), Verdict::Higher);
        assert_eq!(alone(0.95, 0.005), Verdict::Lower);
        assert_eq!(alone(1.0, 0.005), Verdict::Equal);
        assert_eq!(alone(1.005, 0.0001), Verdict::Equal);
        assert_eq!(alone(1.05, 0.3), Verdict::Undecided);
        assert_eq!(alone(1.0, 0.3), Verdict::Undecided);
    }

    #[test]
    fn verdict_of_ratios_that_are_all_the_same_is_sure() {
        assert_eq!((alone(1.0, 0.0), alone(1.5, 0.0)), (Verdict::Equal, Verdict::Higher));
        assert_eq!(alone(0.5, 0.0), Verdict::Lower);
    }

    #[test]
    fn claim_that_holds_alone_does_not_among_many_that_say_nothing() {
        let found = comparison(1.05, 0.085);
        let chance = found.as_ref().unwrap().chance_of_difference(1.0);
        assert!((0.005..0.05).contains(&chance), "{chance}");
        assert_eq!(judge(std::slice::from_ref(&found), Margin::TWO_PERCENT, Level::P95), [Verdict::Higher]);
        let mut many = vec![comparison(1.0, 0.3); 20];
        many.insert(7, found);
        assert_eq!(judge(&many, Margin::TWO_PERCENT, Level::P95), [Verdict::Undecided; 21]);
    }

    #[test]
    fn comparison_that_could_not_be_made_is_undecided_and_moves_no_other_verdict() {
        let missing = || Comparison::paired(&[1.0], &[1.0], Level::P95);
        let family = [missing(), comparison(1.05, 0.005), missing(), comparison(1.0, 0.005)];
        let verdicts = judge(&family, Margin::TWO_PERCENT, Level::P95);
        assert_eq!(verdicts, [Verdict::Undecided, Verdict::Higher, Verdict::Undecided, Verdict::Equal]);
    }

    #[test]
    fn correction_is_that_of_the_published_example() {
        // statsmodels.stats.multitest.multipletests([0.01, 0.04, 0.03, 0.005], method="holm")[1]
        let corrected = holm(&[0.01, 0.04, 0.03, 0.005]);
        let expected = [0.03, 0.06, 0.06, 0.02];
        assert!(corrected.iter().zip(expected).all(|(got, expected)| (got - expected).abs() < 1e-15), "{corrected:?}");
        assert_eq!(holm(&[0.6, 0.7]), [1.0, 1.0]);
        assert_eq!(holm(&[]), [0.0; 0]);
    }

    #[test]
    fn margin_outside_its_range_is_refused() {
        assert_eq!(Margin::new(0.05).map(Margin::get), Ok(0.05));
        for share in [0.0, -0.1, 1.0] {
            assert_eq!(Margin::new(share), Err(Error::Margin(share)));
        }
    }
}
