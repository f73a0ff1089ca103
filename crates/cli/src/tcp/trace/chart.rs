use std::time::Duration;

use report::{ChartError, StackedBars};
use segments::trace::{Tally, Trace};

/// Draws all data packets over time.
pub fn draw(trace: &Trace) -> Result<String, ChartError> {
    let flows = &trace.flows;
    let interval = flows.iter().map(|flow| flow.timeline.interval()).max().unwrap_or(Duration::from_secs(1));
    let mut bars: Vec<Tally> = Vec::new();
    for flow in flows {
        // The interval of each flow is the shortest one times a power of two.
        let merged = (interval.as_nanos() / flow.timeline.interval().as_nanos().max(1)).max(1) as usize;
        for (index, tally) in flow.timeline.tallies().iter().enumerate() {
            if bars.len() <= index / merged {
                bars.resize(index / merged + 1, Tally::default());
            }
            bars[index / merged] += *tally;
        }
    }
    let parts = |tally: &Tally| [tally.single, tally.whole, tally.fractional, tally.short].map(|count| count as f64);
    StackedBars {
        title: "data packets by size".to_owned(),
        x_title: "seconds".to_owned(),
        y_title: format!("packets in {} ms", interval.as_secs_f64() * 1000.0),
        series: ["single-MSS", "super-segment, full", "super-segment, fractional", "short"].map(str::to_owned).to_vec(),
        bars: bars.iter().map(|tally| parts(tally).to_vec()).collect(),
        width: interval.as_secs_f64(),
    }
    .to_svg()
}
