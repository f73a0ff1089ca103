//! Tests figures for several peaks.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use fastrand::Rng;

use crate::Samples;

/// The number of simulated series with a single peak: so many that the least probability, of a dip greater than all of
/// theirs, is significant among a thousand others.
const SIMULATIONS: usize = 20_000;
/// The seed of the simulation: the same figures always have the same probability.
const SEED: u64 = 1985;

/// The dip of figures (Hartigan and Hartigan 1985): the minimum distance of their distribution from one with a single
/// peak, from 1 / 2n to 1/4.
///
/// The nearest distribution with a single peak is convex up to an interval, linear in it, and concave from there on.
/// Each turn makes that interval smaller, as long as the two lines at its ends are farther apart than all that was
/// found outside of it.
pub fn dip(samples: &Samples) -> f64 {
    let all = steps(samples.sorted());
    let (mut steps, mut distance) = (&all[..], 0.0_f64);
    loop {
        let minorant = Hull::below(steps.iter().map(|step| (step.at, step.below)));
        // Turned over, as the greatest lower line is the only one that a hull has.
        let majorant = Hull::below(steps.iter().map(|step| (step.at, -step.up_to)));
        let gap = |&(x, _): &(f64, f64)| (-majorant.height(x) - minorant.height(x), x);
        let gaps = minorant.corners.iter().chain(&majorant.corners).map(gap);
        let Some((widest, x)) = gaps.max_by(|one, other| one.0.total_cmp(&other.0)) else { return 0.0 };
        if widest <= distance {
            return distance / 2.0;
        }
        let (low, high) = (minorant.last_corner_up_to(x), majorant.first_corner_from(x));
        let left = steps.iter().filter(|step| step.at < low).map(|step| step.up_to - minorant.height(step.at));
        let right = steps.iter().filter(|step| step.at > high).map(|step| -majorant.height(step.at) - step.below);
        distance = left.chain(right).fold(distance, f64::max);
        let inside = steps.partition_point(|step| step.at < low)..steps.partition_point(|step| step.at <= high);
        if inside.len() == steps.len() {
            return distance / 2.0;
        }
        steps = &steps[inside];
    }
}

/// The probability of at least this dip among `count` figures with a single peak: uniformly distributed ones, which
/// have the greatest dips.
pub(crate) fn chance_of_dip(dip: f64, count: usize) -> f64 {
    // Simulated once for each number of figures, because it takes longer than the rest of an analysis.
    static DRAWN: Mutex<BTreeMap<usize, Arc<[f64]>>> = Mutex::new(BTreeMap::new());
    let mut drawn = DRAWN.lock().unwrap_or_else(PoisonError::into_inner);
    let dips = Arc::clone(drawn.entry(count).or_insert_with(|| even_dips(count)));
    drop(drawn);
    let larger = dips.iter().filter(|drawn| **drawn >= dip).count();
    (larger + 1) as f64 / (dips.len() + 1) as f64
}

fn even_dips(count: usize) -> Arc<[f64]> {
    let mut random = Rng::with_seed(SEED);
    let draw = |_| Samples::new((0..count.max(1)).map(|_| random.f64()).collect()).ok();
    (0..SIMULATIONS).filter_map(draw).map(|samples| dip(&samples)).collect()
}

/// A figure, and the shares of figures below it and up to it.
#[derive(Clone, Copy)]
struct Step {
    at: f64,
    below: f64,
    up_to: f64,
}

fn steps(sorted: &[f64]) -> Vec<Step> {
    let count = sorted.len() as f64;
    let mut below = 0;
    sorted
        .chunk_by(|one, other| one == other)
        .map(|same| {
            let step = Step { at: same[0], below: below as f64 / count, up_to: (below + same.len()) as f64 / count };
            below += same.len();
            step
        })
        .collect()
}

/// The greatest convex line below some points.
struct Hull {
    /// Where it bends, and its ends, from left to right.
    corners: Vec<(f64, f64)>,
}

impl Hull {
    fn below(points: impl Iterator<Item = (f64, f64)>) -> Hull {
        let mut corners: Vec<(f64, f64)> = Vec::new();
        for (x, y) in points {
            while let [.., (x0, y0), (x1, y1)] = corners[..] {
                if (y1 - y0) * (x - x1) < (y - y1) * (x1 - x0) {
                    break;
                }
                corners.pop();
            }
            corners.push((x, y));
        }
        Hull { corners }
    }

    /// Its height at a place between its ends.
    fn height(&self, x: f64) -> f64 {
        let right = self.corners.partition_point(|corner| corner.0 < x);
        let (x1, y1) = self.corners[right];
        if x == x1 {
            return y1;
        }
        let (x0, y0) = self.corners[right - 1];
        y0 + (y1 - y0) * (x - x0) / (x1 - x0)
    }

    fn last_corner_up_to(&self, x: f64) -> f64 {
        self.corners[self.corners.partition_point(|corner| corner.0 <= x) - 1].0
    }

    fn first_corner_from(&self, x: f64) -> f64 {
        self.corners[self.corners.partition_point(|corner| corner.0 < x)].0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Level;
    use crate::family::holm;

    fn of(figures: &[f64]) -> f64 {
        dip(&Samples::new(figures.to_vec()).unwrap())
    }

    #[test]
    fn dip_is_that_of_the_reference_implementation() {
        // diptest.dipstat(x) of the package diptest 0.12
        let known: [(&[f64], f64); 6] = [
            (&[1.0, 1.1, 1.2, 5.0, 5.1, 5.2], 0.2375),
            (&[0.0, 0.1, 0.3, 0.35, 2.0, 2.2, 2.3, 2.9, 3.0, 7.0], 0.155_660_377_358_490_56),
            (&[3.1, 4.5, 2.2, 8.0, 6.1, 7.7, 5.0], 0.109_375),
            (&[-0.8, -1.32, -0.25, 0.42, 1.14, 0.11, 2.45, 2.22, 3.75, 4.63, 3.27, 1.77], 0.069_170_771_756_978_65),
            (
                &[
                    -0.96, 1.6, 0.2, -1.73, -0.08, -1.16, -0.63, -0.49, -0.71, 0.55, -0.06, -0.59, 0.41, 0.83, -1.64,
                    2.74, 2.02, 2.83, 1.71, 3.02, 2.96, 2.7, 1.95, 2.6, 1.91, 1.64, 3.22, 1.89, 4.17, 3.72,
                ],
                0.059_420_289_855_072_445,
            ),
            (
                &[
                    0.68, 0.83, 0.84, 1.75, 0.16, 0.63, 0.1, 1.15, 3.13, 0.26, 0.8, 0.79, 0.24, 1.59, 0.52, 1.03, 0.85,
                    2.04, 0.03, 0.0, 0.27, 0.46, 5.46, 1.49, 0.87,
                ],
                0.064_810_126_582_278_48,
            ),
        ];
        for (figures, expected) in known {
            let got = of(figures);
            assert!((got - expected).abs() < 1e-12, "{figures:?}: {got} is not {expected}");
        }
    }

    #[test]
    fn even_figures_have_the_least_dip_and_equal_ones_none() {
        assert!((of(&[1.0, 2.0, 3.0, 4.0, 5.0]) - 0.1).abs() < 1e-12);
        assert_eq!((of(&[3.0; 4]), of(&[1.0])), (0.0, 0.0));
    }

    #[test]
    fn chances_are_those_of_the_published_table() {
        // The 95 % quantiles in package diptest 0.12 (those of R's diptest), from a million series each.
        for (count, critical) in [(10, 0.13961), (20, 0.10513)] {
            let chance = chance_of_dip(critical, count);
            assert!((0.045..0.055).contains(&chance), "{count}: {chance}");
        }
    }

    #[test]
    fn two_states_are_significant_among_a_thousand_series() {
        let two_states = [[1.0, 1.1, 1.2, 1.3, 1.4], [5.0, 5.1, 5.2, 5.3, 5.4]].concat();
        let chance = chance_of_dip(of(&two_states), two_states.len());
        assert!(holm(&vec![chance; 1000])[0] <= Level::P95.miss(), "{chance}");
    }
}
