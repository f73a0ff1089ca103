//! Comparisons as cells of a table.

use measure::{Comparison, Error, Level, Margin, Verdict, judge};

/// The ratios of comparisons that are claimed together, each with its interval of 95 %, the interval's half-width, the
/// number of pairs, and what may be said of it beside the others (Holm). One that could not be made says why.
pub fn ratios(family: &[Result<Comparison, Error>], margin: Margin) -> Vec<String> {
    let verdicts = judge(family, margin, Level::P95);
    family.iter().zip(verdicts).map(|(found, verdict)| ratio(found, verdict, margin)).collect()
}

fn ratio(found: &Result<Comparison, Error>, verdict: Verdict, margin: Margin) -> String {
    let comparison = match found {
        Ok(comparison) => comparison,
        Err(error) => return format!("{verdict}: {error}"),
    };
    let claim = match verdict {
        Verdict::Equal => format!("{verdict} within ±{} %", margin.get() * 100.0),
        Verdict::Higher | Verdict::Lower | Verdict::Undecided | Verdict::Computed => verdict.to_string(),
    };
    format!("{}, {claim}", plain_ratio(comparison))
}

/// A ratio with its interval, the interval's half-width and the number of pairs, without a verdict.
pub fn plain_ratio(comparison: &Comparison) -> String {
    let (ratio, half_width) = (comparison.ratio, comparison.half_width() * 100.0);
    let (value, low, high, pairs) = (ratio.value, ratio.interval.low, ratio.interval.high, comparison.pairs);
    format!("{value:.2} [{low:.2}, {high:.2}] ±{half_width:.1} %, n {pairs}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cell_tells_ratio_interval_half_width_number_and_verdict_or_why_there_is_none() {
        let base = [100.0, 101.0, 99.0, 100.0, 102.0, 98.0];
        let compare = |factor: f64| {
            let wobble = [1.001, 0.999, 1.0, 1.002, 0.998, 1.0];
            let other: Vec<f64> = base.iter().zip(wobble).map(|(base, wobble)| base * factor * wobble).collect();
            Comparison::paired(&base, &other, Level::P95)
        };
        let few = Comparison::paired(&base[..3], &base[..3], Level::P95);
        let cells = ratios(&[compare(1.5), compare(0.5), compare(1.0), few], Margin::TWO_PERCENT);
        assert_eq!(
            cells,
            [
                "1.50 [1.50, 1.50] ±0.1 %, n 6, higher",
                "0.50 [0.50, 0.50] ±0.1 %, n 6, lower",
                "1.00 [1.00, 1.00] ±0.1 %, n 6, equal within ±2 %",
                "undecided: 3 of 6 samples that are needed",
            ]
        );
    }
}
