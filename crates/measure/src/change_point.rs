use fastrand::Rng;

use crate::Level;

/// The fewest figures on each side of a change: a single one may be an outlier.
const MIN_SIDE: usize = 2;
/// How many of all random orders may differ as much where a change is claimed: enough to estimate their share.
const MOST_ORDERS_AS_GREAT: f64 = 50.0;
/// The most random orders. Beyond 50 000 series at 95 % they can show no change.
const MAX_ORDERS: usize = 1_000_000;
/// How much of a statistic may be a rounding error of another order of the same sums.
const ROUNDING: f64 = 1e-9;

/// A place from which figures differ from those before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePoint {
    /// The index of the first figure after the change.
    pub index: usize,
    /// The probability of such a difference in figures without a change.
    pub chance: f64,
}

/// The places at which figures change their level for good, in their order.
///
/// Figures are divided where the means of both sides differ most, if a random order of them differs as much with a
/// probability of less than the level leaves for each of `family` series. Both parts are then divided likewise. So all
/// series together have a false change with at most the probability that the level leaves, where none of them has a
/// change and each order of their figures is as probable. Nothing else is assumed of their distribution.
pub fn change_points(figures: &[f64], family: usize, level: Level, seed: u64) -> Vec<ChangePoint> {
    let mut search = Search { miss: level.miss() / family.max(1) as f64, random: Rng::with_seed(seed) };
    let mut found = Vec::new();
    search.divide(figures, 0, &mut found);
    found
}

/// The fewest figures of a series in which a change can be shown beside so many series: all before it must be on one
/// side of all after it, and random orders are so in two of all ways to take half of the figures.
pub fn fewest_for_change(family: usize, level: Level) -> usize {
    let miss = level.miss() / family.max(1) as f64;
    let (mut count, mut ways) = (2 * MIN_SIDE, 6.0);
    while 2.0 / ways > miss {
        count += 1;
        ways *= count as f64 / (count - count / 2) as f64;
    }
    count
}

struct Search {
    /// The probability of a false change that is allowed.
    miss: f64,
    random: Rng,
}

impl Search {
    /// Divides figures that begin at `start` of the series.
    fn divide(&mut self, figures: &[f64], start: usize, found: &mut Vec<ChangePoint>) {
        let Some(split) = widest_split(figures) else { return };
        let Some(chance) = self.chance(figures, split.statistic) else { return };
        let (before, after) = figures.split_at(split.index);
        self.divide(before, start, found);
        found.push(ChangePoint { index: start + split.index, chance });
        self.divide(after, start + split.index, found);
    }

    /// The share of random orders with a statistic as great, the found one included; none if it is too great for a
    /// claim. Ends as soon as that is certain, which changes no outcome.
    fn chance(&mut self, figures: &[f64], statistic: f64) -> Option<f64> {
        let orders = ((MOST_ORDERS_AS_GREAT / self.miss) as usize).min(MAX_ORDERS);
        let most = (self.miss * orders as f64 * (1.0 + ROUNDING)) as usize;
        let (mut order, mut as_great) = (figures.to_vec(), 1);
        for _ in 1..orders {
            if as_great > most {
                return None;
            }
            self.random.shuffle(&mut order);
            let other = widest_split(&order).map_or(0.0, |split| split.statistic);
            as_great += usize::from(other >= statistic * (1.0 - ROUNDING));
        }
        (as_great <= most).then(|| as_great as f64 / orders as f64)
    }
}

/// Where a series is divided.
struct Split {
    index: usize,
    /// The squared difference of the sides' means, weighted by how many figures each has.
    statistic: f64,
}

/// The split with the greatest statistic; none below two figures on each side.
fn widest_split(figures: &[f64]) -> Option<Split> {
    let (count, mean) = (figures.len(), figures.iter().sum::<f64>() / figures.len() as f64);
    let mut above = 0.0;
    let splits = figures.iter().enumerate().map(|(at, figure)| {
        above += figure - mean;
        let (before, after) = ((at + 1) as f64, (count - at - 1) as f64);
        Split { index: at + 1, statistic: above * above * count as f64 / (before * after) }
    });
    let has_sides = |split: &Split| split.index >= MIN_SIDE && count - split.index >= MIN_SIDE;
    splits.filter(has_sides).max_by(|one, other| one.statistic.total_cmp(&other.statistic))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUNS: u64 = 200;
    /// The greatest count that 5 % of these runs reach with a probability of 99 %, as
    /// scipy.stats.binom.ppf(0.99, 200, 0.05) has it.
    const MOST_FALSE: usize = 18;

    /// Figures around 1000 that deviate by some 3 %, with a level of their own from an index on.
    fn figures(seed: u64, count: usize, step: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut random = Rng::with_seed(seed);
        // The sum of twelve uniform numbers is nearly normal, with a variance of 1.
        let mut normal = || (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
        (0..count).map(|index| 1000.0 * step(index) * (1.0 + 0.03 * normal())).collect()
    }

    fn indices(figures: &[f64], family: usize) -> Vec<usize> {
        change_points(figures, family, Level::P95, 1).iter().map(|point| point.index).collect()
    }

    #[test]
    fn noise_has_a_change_in_at_most_five_of_a_hundred_series() {
        let has_any = |seed: &u64| !indices(&figures(*seed, 30, |_| 1.0), 1).is_empty();
        let falsely = (0..RUNS).filter(has_any).count();
        assert!(falsely <= MOST_FALSE && falsely > 0, "{falsely} of {RUNS}");
    }

    #[test]
    fn family_of_series_has_a_change_in_at_most_five_of_a_hundred_families() {
        const FAMILY: usize = 10;
        let of = |family: u64| (0..FAMILY as u64).map(move |one| figures(family * 100 + one, 20, |_| 1.0));
        let has_any = |family: &u64| of(*family).any(|series| !indices(&series, FAMILY).is_empty());
        let falsely = (0..RUNS / 2).filter(has_any).count();
        assert!(falsely <= 11, "{falsely} of {}", RUNS / 2);
    }

    #[test]
    fn step_of_five_deviations_is_found_at_its_index() {
        let has_step =
            |seed: &u64| indices(&figures(*seed, 30, |index| if index < 18 { 1.0 } else { 0.85 }), 1) == [18];
        let found = (0..RUNS).filter(has_step).count();
        assert!(found * 10 >= RUNS as usize * 8, "{found} of {RUNS}");
    }

    #[test]
    fn several_steps_are_found_in_their_order() {
        let level = |index: usize| [1.0, 0.7, 1.2][index / 12];
        assert_eq!(indices(&figures(4, 36, level), 1), [12, 24]);
    }

    #[test]
    fn one_odd_figure_constant_ones_and_few_ones_have_no_change() {
        let odd = figures(5, 20, |index| if index == 10 { 3.0 } else { 1.0 });
        assert_eq!(indices(&odd, 1), []);
        assert_eq!(indices(&[5.0; 20], 1), []);
        for few in [&[][..], &[1.0], &[1.0, 2.0, 3.0], &[1.0, 1.0, 9.0, 9.0]] {
            assert_eq!(indices(few, 1), []);
        }
    }

    #[test]
    fn fewest_figures_are_those_whose_halves_are_apart_rarely_enough() {
        // 4 of 8 figures can be taken in 70 ways, 3 of 7 in 35; 7 of 14 in 3432, 6 of 13 in 1716.
        assert_eq!([1, 20, 50].map(|family| fewest_for_change(family, Level::P95)), [8, 12, 14]);
        let halves = |count: usize| -> Vec<f64> { (0..count).map(|index| (index / (count / 2)) as f64).collect() };
        assert_eq!((indices(&halves(8), 1), indices(&halves(6), 1)), (vec![4], vec![]));
    }

    #[test]
    fn chance_is_that_of_all_orders_of_two_sides() {
        // Of the 12870 ways to take 8 of 16 figures, two have the sides apart.
        let apart: Vec<f64> = (0..16).map(|index| if index < 8 { 1.0 } else { 2.0 } + f64::from(index) / 1e3).collect();
        let found = change_points(&apart, 20, Level::P95, 1);
        assert_eq!(found.iter().map(|point| point.index).collect::<Vec<_>>(), [8]);
        assert!(found[0].chance <= 0.0025, "{found:?}");
    }
}
