//! Rank statistics, which assume no distribution.

use std::sync::OnceLock;

use statrs::statistics::{Data, OrderStatistics, RankTieBreaker};
use statrs::stats_tests::Alternative;
use statrs::stats_tests::mannwhitneyu::{MannWhitneyUMethod, mannwhitneyu};

use crate::student::upper_tail;

/// The maximum number of figures in both series for which the exact distribution is computed.
const MAX_EXACT: usize = 100;

/// The minimum number of pairs for a correlation.
const MIN_CORRELATED: usize = 3;

/// The maximum number of pairs whose correlation is compared with those of all orders. Student's distribution, which is
/// used beyond, promises too much far from 0: to it, a perfect order is impossible by chance, of six pairs too.
const MAX_ORDERED: usize = 10;

/// The correlation of two series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Correlation {
    /// From -1 to 1.
    pub value: f64,
    /// The probability of one at least as far from 0 between independent series (two-sided).
    pub chance: f64,
}

/// The probability of such a difference in ranks between two series with the same distribution (Mann and Whitney,
/// two-sided). None if one is empty or has a figure that is not a number.
pub fn mann_whitney(one: &[f64], other: &[f64]) -> Option<f64> {
    if one.is_empty() || other.is_empty() || one.iter().chain(other).any(|value| value.is_nan()) {
        return None;
    }
    let both = [one, other].concat();
    if has_ties(&both) || both.len() > MAX_EXACT {
        let method = MannWhitneyUMethod::AsymptoticInclContinuityCorrection;
        return mannwhitneyu(one, other, method, Alternative::TwoSided).ok().map(|(_, chance)| chance);
    }
    Some(exact_chance(wins(one, other), one.len(), other.len()))
}

fn has_ties(values: &[f64]) -> bool {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.windows(2).any(|pair| pair[0] == pair[1])
}

/// In how many pairs of figures the first series has the greater one.
fn wins(one: &[f64], other: &[f64]) -> usize {
    one.iter().map(|value| other.iter().filter(|than| value > *than).count()).sum()
}

/// The share of all orders of `one` and `other` figures in which the number of wins is at least as far from its middle.
/// The exact method of `statrs` enumerates all orders, which takes hours for a few dozen figures.
fn exact_chance(wins: usize, one: usize, other: usize) -> f64 {
    let most = one * other;
    // shares[n][w]: the share of orders of n figures of one series and the current number of the other, with w wins.
    let mut shares = vec![vec![0.0; most + 1]; one + 1];
    shares.iter_mut().for_each(|of| of[0] = 1.0);
    for losers in 1..=other {
        for winners in 1..=one {
            let last_wins = winners as f64 / (winners + losers) as f64;
            for count in (0..=most).rev() {
                let with = count.checked_sub(losers).map_or(0.0, |before| shares[winners - 1][before]);
                shares[winners][count] = last_wins * with + (1.0 - last_wins) * shares[winners][count];
            }
        }
    }
    let extreme = wins.min(most - wins);
    (2.0 * shares[one][..=extreme].iter().sum::<f64>()).min(1.0)
}

/// The rank correlation of two series (Spearman). Its probability is exact up to ten pairs without ties, and that of
/// Student's distribution otherwise. None below three pairs, or if one series is constant.
pub fn rank_correlation(one: &[f64], other: &[f64]) -> Option<Correlation> {
    if one.len() != other.len() || one.len() < MIN_CORRELATED || one.iter().chain(other).any(|value| value.is_nan()) {
        return None;
    }
    let ranks = |of: &[f64]| Data::new(of.to_vec()).ranks(RankTieBreaker::Average);
    let value = correlation(&ranks(one), &ranks(other))?;
    let is_exact = one.len() <= MAX_ORDERED && !has_ties(one) && !has_ties(other);
    let chance = if is_exact { chance_among_orders(value, one.len()) } else { students_chance(value, one.len()) };
    Some(Correlation { value, chance })
}

/// The share of all orders of `count` ranks whose correlation is at least as far from 0.
fn chance_among_orders(value: f64, count: usize) -> f64 {
    static ORDERS: [OnceLock<Vec<u64>>; MAX_ORDERED + 1] = [const { OnceLock::new() }; MAX_ORDERED + 1];
    let orders = ORDERS[count].get_or_init(|| orders_by_products(count));
    // Four times the distance of the sum of products from its mean, which is count * (count + 1)² / 4.
    let distance = (value.abs() * (count.pow(3) - count) as f64 / 3.0).round() as usize;
    let is_far = |products: usize| (4 * products).abs_diff(count * (count + 1).pow(2)) >= distance;
    let far: u64 = orders.iter().enumerate().filter(|(products, _)| is_far(*products)).map(|(_, orders)| orders).sum();
    far as f64 / orders.iter().sum::<u64>() as f64
}

/// The number of orders of the ranks from 1 to `count`, by the sum of the products of each rank and its place.
fn orders_by_products(count: usize) -> Vec<u64> {
    let most = (1..=count).map(|rank| rank * rank).sum::<usize>();
    // orders[p][s]: the orders of the first ranks, in the places that are the bits of p, with the sum s.
    let mut orders = vec![vec![0; most + 1]; 1 << count];
    orders[0][0] = 1;
    for places in 1_usize..1 << count {
        let (before, with) = orders.split_at_mut(places);
        for place in (0..count).filter(|place| places & 1 << place != 0) {
            let product = places.count_ones() as usize * (place + 1);
            let sums = with[0][product..].iter_mut().zip(&before[places ^ 1 << place]);
            sums.for_each(|(with, before)| *with += before);
        }
    }
    orders.pop().unwrap_or_default()
}

fn students_chance(value: f64, count: usize) -> f64 {
    let degrees = count - 2;
    // Infinite for a perfect correlation.
    let t = value.abs() * (degrees as f64 / ((1.0 - value) * (1.0 + value))).sqrt();
    2.0 * upper_tail(t, degrees as f64)
}

fn correlation(one: &[f64], other: &[f64]) -> Option<f64> {
    let centred = |of: &[f64]| {
        let mean = of.iter().sum::<f64>() / of.len() as f64;
        of.iter().map(|value| value - mean).collect::<Vec<f64>>()
    };
    let (one, other) = (centred(one), centred(other));
    let product = |left: &[f64], right: &[f64]| left.iter().zip(right).map(|(left, right)| left * right).sum::<f64>();
    let scale = (product(&one, &one) * product(&other, &other)).sqrt();
    (scale > 0.0).then(|| (product(&one, &other) / scale).clamp(-1.0, 1.0))
}

/// The autocorrelation at lag 1, with the probability of at least this value in a series without order (one-sided,
/// because only positive correlation makes intervals too narrow; Moran 1948). None below three figures, or if all are
/// equal.
pub fn autocorrelation(series: &[f64]) -> Option<Correlation> {
    let count = series.len() as f64;
    if series.len() < MIN_CORRELATED {
        return None;
    }
    let mean = series.iter().sum::<f64>() / count;
    let squares: f64 = series.iter().map(|value| (value - mean).powi(2)).sum();
    let products: f64 = series.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    if squares <= 0.0 || !squares.is_finite() {
        return None;
    }
    let value = products / squares;
    let deviation = (count - 2.0) / (count * (count - 1.0).sqrt());
    Some(Correlation { value, chance: crate::normal::upper_tail((value + 1.0 / count) / deviation) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: [f64; 7] = [3.1, 4.5, 2.2, 8.0, 6.1, 7.7, 5.0];
    const OTHER: [f64; 6] = [1.0, 2.0, 3.0, 2.5, 4.0, 0.5];

    fn is(got: f64, expected: f64) {
        near(got, expected, 1e-12);
    }

    fn near(got: f64, expected: f64, within: f64) {
        assert!((got - expected).abs() <= within * expected.abs().max(1e-3), "{got:e} is not {expected:e}");
    }

    #[test]
    fn rank_test_is_scipys() {
        // scipy.stats.mannwhitneyu(one, other, method="exact").pvalue
        is(mann_whitney(&ONE, &OTHER).unwrap(), 0.013_986_013_986_013_986);
        is(mann_whitney(&OTHER, &ONE).unwrap(), 0.013_986_013_986_013_986);
        let low: Vec<f64> = (0..10).map(f64::from).collect();
        let high: Vec<f64> = (20..30).map(f64::from).collect();
        is(mann_whitney(&low, &high).unwrap(), 1.082508822446903e-05);
        // x = [i + 0.25 * (i % 3) for i in range(50)]; y = [i + 7.6 for i in range(50)]
        // scipy.stats.mannwhitneyu(x, y, method="exact").pvalue
        let wavy: Vec<f64> = (0..50).map(|index| f64::from(index) + 0.25 * f64::from(index % 3)).collect();
        let moved: Vec<f64> = (0..50).map(|index| f64::from(index) + 7.6).collect();
        is(mann_whitney(&wavy, &moved).unwrap(), 0.016_450_137_297_189_936);
        // The normal approximation is that of statrs, whose distribution function has ten digits.
        // scipy.stats.mannwhitneyu([1, 2, 2, 3, 5], [2, 4, 6, 7], method="asymptotic").pvalue
        near(mann_whitney(&[1.0, 2.0, 2.0, 3.0, 5.0], &[2.0, 4.0, 6.0, 7.0]).unwrap(), 0.170_608_744_850_831_55, 1e-10);
        // scipy.stats.mannwhitneyu(range(60), numpy.arange(60) + 10.5, method="asymptotic").pvalue
        let many: Vec<f64> = (0..60).map(f64::from).collect();
        let shifted: Vec<f64> = many.iter().map(|value| value + 10.5).collect();
        near(mann_whitney(&many, &shifted).unwrap(), 0.002_566_887_943_524_175_4, 1e-8);
    }

    #[test]
    fn rank_test_of_nothing_or_of_equals_says_so() {
        assert_eq!(mann_whitney(&[], &ONE), None);
        assert_eq!(mann_whitney(&ONE, &[f64::NAN]), None);
        assert_eq!(mann_whitney(&[2.0; 4], &[2.0; 5]), Some(1.0));
        assert_eq!(mann_whitney(&[2.0], &[2.0]), Some(1.0));
    }

    #[test]
    fn rank_correlation_is_scipys() {
        let places: Vec<f64> = (0..7).map(f64::from).collect();
        // scipy.stats.spearmanr(range(7), one)
        let found = rank_correlation(&places, &ONE).unwrap();
        is(found.value, 0.571_428_571_428_571_5);
        // In 1008 of the 5040 orders of seven, abs(scipy.stats.spearmanr(range(7), order)[0]) is as great.
        is(found.chance, 0.2);
        // scipy.stats.spearmanr([1, 2, 2, 3, 5], [2, 4, 6, 7, 7])
        let found = rank_correlation(&[1.0, 2.0, 2.0, 3.0, 5.0], &[2.0, 4.0, 6.0, 7.0, 7.0]).unwrap();
        is(found.value, 0.947_368_421_052_631_7);
        is(found.chance, 0.014_379_533_619_930_497);
        // scipy.stats.spearmanr([1, 2, 3], [1, 3, 2])
        let found = rank_correlation(&[1.0, 2.0, 3.0], &[1.0, 3.0, 2.0]).unwrap();
        is(found.value, 0.5);
        is(found.chance, 1.0);
        // scipy.stats.spearmanr(range(11), y)
        let y = [0.3, 1.1, 0.2, 2.5, 2.4, 4.0, 3.9, 6.1, 0.9, 7.0, 6.5];
        let found = rank_correlation(&(0..11).map(f64::from).collect::<Vec<f64>>(), &y).unwrap();
        is(found.value, 0.745_454_545_454_545_6);
        is(found.chance, 0.008_454_728_885_061_56);
        let twenty: Vec<f64> = (0..20).map(f64::from).collect();
        assert_eq!(rank_correlation(&twenty, &twenty), Some(Correlation { value: 1.0, chance: 0.0 }));
        assert_eq!(rank_correlation(&places, &[1.0; 7]), None);
        assert_eq!(rank_correlation(&places[..2], &ONE[..2]), None);
        assert_eq!(rank_correlation(&places, &ONE[..6]), None);
    }

    #[test]
    fn perfect_order_of_few_pairs_may_be_chance() {
        for (count, orders) in [(3, 6.0), (6, 720.0), (10, 3_628_800.0)] {
            let rising: Vec<f64> = (0..count).map(f64::from).collect();
            let falling: Vec<f64> = rising.iter().map(|value| -value).collect();
            let found = rank_correlation(&rising, &rising).unwrap();
            is(found.value, 1.0);
            is(found.chance * orders, 2.0);
            assert_eq!(rank_correlation(&rising, &falling).unwrap(), Correlation { value: -1.0, ..found });
        }
    }

    #[test]
    fn least_significant_rank_correlations_are_the_published_ones() {
        // Zar, Significance testing of the Spearman rank correlation coefficient, 1972: two-sided, for 0.05 and 0.01.
        let published = [(6, 0.886, 1.0), (7, 0.786, 0.929), (8, 0.738, 0.881), (9, 0.700, 0.833), (10, 0.648, 0.794)];
        for (count, at_0_05, at_0_01) in published {
            let whole = count * count * count - count;
            let least = |chance| {
                let values = (0..=whole / 12).map(|step| 1.0 - f64::from(12 * step) / f64::from(whole));
                let is_rare = |value: &f64| chance_among_orders(*value, count as usize) <= chance;
                values.take_while(is_rare).last().unwrap()
            };
            near(least(0.05), at_0_05, 1e-3);
            near(least(0.01), at_0_01, 1e-3);
        }
    }

    #[test]
    fn autocorrelation_is_that_of_statsmodels_and_judged_as_published() {
        let found = autocorrelation(&ONE).unwrap();
        // c = one - one.mean(); (c[:-1] * c[1:]).sum() / (c * c).sum()
        is(found.value, -0.021_926_844_459_543_633);
        // scipy.stats.norm.sf((r + 1 / 7) / (5 / (7 * 6 ** 0.5)))
        is(found.chance, 0.339_179_105_784_942_37);
        assert_eq!(autocorrelation(&[1.0; 9]), None);
        assert_eq!(autocorrelation(&ONE[..2]), None);
        is(autocorrelation(&[1.0, 2.0, 4.0]).unwrap().value, -1.0 / 42.0);
        let rising: Vec<f64> = (0..20).map(f64::from).collect();
        assert!(autocorrelation(&rising).unwrap().chance < 1e-3);
    }
}
