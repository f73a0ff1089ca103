//! Tests figures for several peaks.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use fastrand::Rng;

use crate::Samples;

/// The number of simulated series with a single peak.
const SIMULATIONS: usize = 2000;
/// The seed of the simulation: the same figures always have the same probability.
const SEED: u64 = 1985;

/// The dip of figures (Hartigan and Hartigan 1985): the minimum distance of their distribution from one with a single
/// peak, from 1 / 2n to 1/4.
pub fn dip(samples: &Samples) -> f64 {
    let steps = steps(samples.sorted());
    (0..steps.len()).map(|peak| left_of(&steps, peak).max(right_of(&steps, peak))).fold(f64::INFINITY, f64::min) / 2.0
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

/// The maximum distance of the distribution above its greatest convex minorant, up to the peak.
fn left_of(steps: &[Step], peak: usize) -> f64 {
    let corners: Vec<(f64, f64)> = steps[..=peak].iter().map(|step| (step.at, step.below)).collect();
    distance(&corners, steps[..peak].iter().map(|step| (step.at, step.up_to)))
}

/// The maximum distance below its least concave majorant, from the peak on: the same, rotated by half a turn.
fn right_of(steps: &[Step], peak: usize) -> f64 {
    let corners: Vec<(f64, f64)> = steps[peak..].iter().rev().map(|step| (-step.at, 1.0 - step.up_to)).collect();
    distance(&corners, steps[peak + 1..].iter().rev().map(|step| (-step.at, 1.0 - step.below)))
}

/// The maximum height of `points` over the lower hull of `corners`, both from left to right.
fn distance(corners: &[(f64, f64)], points: impl Iterator<Item = (f64, f64)>) -> f64 {
    let hull = lower_hull(corners);
    let mut side = 0;
    let height = |(x, y): (f64, f64)| {
        while side + 2 < hull.len() && hull[side + 1].0 <= x {
            side += 1;
        }
        let ((x0, y0), (x1, y1)) = (hull[side], hull[side + 1]);
        y - (y0 + (y1 - y0) * (x - x0) / (x1 - x0))
    };
    points.map(height).fold(0.0, f64::max)
}

fn lower_hull(corners: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut hull: Vec<(f64, f64)> = Vec::new();
    for &(x, y) in corners {
        while let [.., (x0, y0), (x1, y1)] = hull[..] {
            if (y1 - y0) * (x - x1) < (y - y1) * (x1 - x0) {
                break;
            }
            hull.pop();
        }
        hull.push((x, y));
    }
    hull
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(figures: &[f64]) -> f64 {
        dip(&Samples::new(figures.to_vec()).unwrap())
    }

    #[test]
    fn dip_is_that_of_the_reference_implementation() {
        // diptest.dipstat(x) of the package diptest 0.12
        let known: [(&[f64], f64); 3] = [
            (&[1.0, 1.1, 1.2, 5.0, 5.1, 5.2], 0.2375),
            (&[0.0, 0.1, 0.3, 0.35, 2.0, 2.2, 2.3, 2.9, 3.0, 7.0], 0.155_660_377_358_490_56),
            (&[3.1, 4.5, 2.2, 8.0, 6.1, 7.7, 5.0], 0.109_375),
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
            assert!((0.035..0.065).contains(&chance), "{count}: {chance}");
        }
        assert_eq!(chance_of_dip(0.25, 10), 1.0 / 2001.0);
    }
}
