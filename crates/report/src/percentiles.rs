//! The percentiles that fio shows.

use measure::Histogram;

/// In percent, as fio's `percentile_list` has them by default.
pub(crate) const PERCENTILES: [f64; 17] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];

/// Every percentile and its latency in nanoseconds.
pub(crate) fn of(latency_ns: &Histogram) -> impl Iterator<Item = (f64, u64)> {
    PERCENTILES.into_iter().map(|percent| (percent, latency_ns.quantile(percent / 100.0)))
}
