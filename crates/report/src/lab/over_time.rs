//! Rate and latency in the course of a pass.

use std::collections::BTreeMap;

use measure::record::{Measurement, Run};
use measure::{Period, Samples};

use super::chart::{Chart, Head};
use super::plots::{Axes, entry, lines_of_contenders, plot};
use super::words;
use crate::chart::ChartError;

/// Fewer periods than this show no course.
const LEAST_PERIODS: usize = 4;
/// The most combinations that are drawn: each takes three charts.
const MAX_PLACES: usize = 24;

/// A figure of a period.
struct Kind {
    title: &'static str,
    unit: &'static str,
    is_log: bool,
    of: fn(&Period) -> f64,
    text: fn(f64) -> String,
}

const KINDS: [Kind; 3] = [
    Kind {
        title: "Rate over time",
        unit: "operations, 1/s",
        is_log: false,
        of: |period| period.operations as f64 / period.seconds,
        text: |rate| format!("{} operations/s", words::figure(rate)),
    },
    Kind {
        title: "Median latency over time",
        unit: "latency",
        is_log: true,
        of: |period| period.p50_us,
        text: words::latency,
    },
    Kind {
        title: "99th percentile over time",
        unit: "latency",
        is_log: true,
        of: |period| period.p99_us,
        text: words::latency,
    },
];

/// The charts of each combination of levels but for the contenders.
pub(super) fn charts(run: &Run, passes: &[Measurement]) -> Result<Vec<(String, Vec<Chart>)>, ChartError> {
    let is_shown = |pass: &&Measurement| !pass.is_repeated && pass.periods.len() >= LEAST_PERIODS;
    let mut places: Vec<(String, Vec<&Measurement>)> = Vec::new();
    for pass in passes.iter().filter(is_shown) {
        entry(&mut places, words::levels(&run.design, &pass.levels, &run.design.contenders)).push(pass);
    }
    places.truncate(MAX_PLACES);
    let drawn = |(number, (place, passes)): (usize, (String, Vec<&Measurement>))| {
        let chart =
            |(kind_number, kind)| chart(run, &passes, kind, (&place, format!("time-{}-{kind_number}", number + 1)));
        let charts: Result<Vec<Option<Chart>>, ChartError> = (1..).zip(&KINDS).map(chart).collect();
        Ok((place.clone(), charts?.into_iter().flatten().collect()))
    };
    places.into_iter().enumerate().map(drawn).collect()
}

fn chart(
    run: &Run,
    passes: &[&Measurement],
    kind: &Kind,
    (place, id): (&str, String),
) -> Result<Option<Chart>, ChartError> {
    let mut lines: Vec<(String, Vec<&Period>)> = Vec::new();
    for pass in passes {
        let contender = pass.levels.get(&run.design.contenders).cloned().unwrap_or_default();
        entry(&mut lines, contender).extend(&pass.periods);
    }
    let lines = lines.into_iter().map(|(name, periods)| (name, medians(&periods, kind))).collect();
    let head = Head {
        id,
        title: format!("{}: {place}", kind.title),
        description: format!("{}, in periods of a pass, at {place}: medians over all passes.", kind.title),
    };
    let axes = Axes {
        x: "seconds from the start of a pass",
        y: kind.unit,
        is_log: kind.is_log,
        x_from: Some(0.0),
        is_joined: true,
        x_text: &|x| words::figure_short(*x),
        y_text: &|y| if kind.is_log { words::latency(*y) } else { words::figure_short(*y) },
        said: &|x, y| format!("after {} s: {}", words::shortest(x), (kind.text)(y)),
    };
    plot(head, &lines_of_contenders(&run.design, lines), &axes)
}

/// The medians of periods that begin at the same time. Those without operations have no latency.
fn medians(periods: &[&Period], kind: &Kind) -> Vec<(f64, f64)> {
    let mut at: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for period in periods.iter().filter(|period| period.operations > 0 || !kind.is_log) {
        // Numbers from 0 on are in the order of their bits.
        at.entry(period.at_s.to_bits()).or_default().push((kind.of)(period));
    }
    let median = |(bits, values)| Some((f64::from_bits(bits), Samples::new(values).ok()?.median()));
    at.into_iter().filter_map(median).collect()
}
