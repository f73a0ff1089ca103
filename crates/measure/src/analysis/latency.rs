use std::collections::BTreeMap;

use super::passes::Passes;
use crate::record::{Levels, Measurement, Percentile};
use crate::{Samples, dip};

/// From this dip on, latencies count as having several peaks: at least about a tenth of them are apart from the others.
/// It is not a probability: among hundreds of thousands of latencies every small bump is significant.
const LEAST_DIP: f64 = 0.05;

/// The latencies of operations at one combination of levels.
#[derive(Debug, Clone, PartialEq)]
pub struct LatencyCurve {
    /// The levels.
    pub levels: Levels,
    /// The number of passes.
    pub passes: usize,
    /// The median over the passes at each percentage.
    pub percentiles: Vec<Percentile>,
    /// Whether these latencies have more than one peak.
    pub has_peaks: bool,
}

pub(super) fn all(passes: &Passes<'_>) -> Vec<LatencyCurve> {
    passes.groups().filter_map(|(levels, group)| curve(levels, group)).collect()
}

fn curve(levels: &Levels, group: &[&Measurement]) -> Option<LatencyCurve> {
    let is_counted = |pass: &&&Measurement| !pass.is_repeated && pass.failure.is_none() && !pass.latency.is_empty();
    let counted: Vec<&&Measurement> = group.iter().filter(is_counted).collect();
    let mut at: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for percentile in counted.iter().flat_map(|pass| &pass.latency) {
        // The bit patterns of positive numbers have the order of the numbers.
        at.entry(percentile.percent.max(0.0).to_bits()).or_default().push(percentile.us);
    }
    let median = |(bits, values): (u64, Vec<f64>)| {
        Samples::new(values).ok().map(|samples| Percentile { percent: f64::from_bits(bits), us: samples.median() })
    };
    let percentiles: Vec<Percentile> = at.into_iter().filter_map(median).collect();
    (!percentiles.is_empty()).then(|| LatencyCurve {
        levels: levels.clone(),
        passes: counted.len(),
        has_peaks: has_peaks(&percentiles),
        percentiles,
    })
}

/// Whether latencies have several peaks on a logarithmic scale.
fn has_peaks(latency: &[Percentile]) -> bool {
    let evenly: Option<Vec<f64>> = (1..100).map(|percent| Some(at(latency, f64::from(percent))?.ln())).collect();
    evenly.and_then(|latencies| Samples::new(latencies).ok()).is_some_and(|samples| dip(&samples) >= LEAST_DIP)
}

/// Interpolates the latency at a percentage.
fn at(latency: &[Percentile], percent: f64) -> Option<f64> {
    let known = latency.windows(2).find(|pair| (pair[0].percent..=pair[1].percent).contains(&percent))?;
    let share = (percent - known[0].percent) / (known[1].percent - known[0].percent);
    (known[0].us > 0.0).then(|| known[0].us * (known[1].us / known[0].us).powf(share))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latency(points: &[(f64, f64)]) -> Vec<Percentile> {
        points.iter().map(|&(percent, us)| Percentile { percent, us }).collect()
    }

    #[test]
    fn latency_between_two_percentages_is_interpolated_on_a_logarithmic_scale() {
        let latency = latency(&[(10.0, 100.0), (20.0, 400.0), (60.0, 800.0)]);
        let found = |percent| at(&latency, percent).unwrap();
        for (percent, us) in [(10.0, 100.0), (15.0, 200.0), (20.0, 400.0), (30.0, 475.682_846), (60.0, 800.0)] {
            assert!((found(percent) / us - 1.0).abs() < 1e-9, "{percent}: {}", found(percent));
        }
        assert_eq!((at(&latency, 9.9), at(&latency, 60.1)), (None, None));
    }

    #[test]
    fn latency_of_nothing_has_no_logarithm() {
        assert_eq!(at(&latency(&[(10.0, 0.0), (20.0, 5.0)]), 15.0), None);
    }
}
