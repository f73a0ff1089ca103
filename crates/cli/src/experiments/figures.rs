//! Figures of experiments as text.

use measure::{Comparison, Level, Resampling, Samples, Verdict};

/// The median with its interval, where there are figures enough for one.
pub fn median(figures: Vec<f64>) -> String {
    let Ok(samples) = Samples::new(figures) else { return String::new() };
    match samples.median_interval(Level::P95) {
        Ok(found) => {
            let [value, low, high] = [samples.median(), found.interval.low, found.interval.high].map(short);
            format!("{value} [{low}, {high}]")
        }
        Err(_) => short(samples.median()),
    }
}

/// The ratio of two medians with its interval; the figures are of the same rounds.
pub fn ratio(base: &[f64], other: &[f64]) -> String {
    let Ok(found) = Comparison::paired(base, other, Resampling::default()) else { return String::new() };
    let estimate = found.ratio_of_medians;
    let sure = match found.verdict() {
        Verdict::Higher | Verdict::Lower => "",
        Verdict::Unclear => " (not told apart)",
    };
    format!("{:.2} [{:.2}, {:.2}]{sure}", estimate.value, estimate.interval.low, estimate.interval.high)
}

/// Three digits of a small figure, all of a large one.
pub fn short(figure: f64) -> String {
    match figure {
        ..10.0 => format!("{figure:.2}"),
        ..100.0 => format!("{figure:.1}"),
        _ => format!("{figure:.0}"),
    }
}
