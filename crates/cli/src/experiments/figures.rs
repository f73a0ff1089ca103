//! Figures of experiments as text.

use measure::{Level, Samples};

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

/// Three digits of a small figure, all of a large one.
pub fn short(figure: f64) -> String {
    match figure {
        ..10.0 => format!("{figure:.2}"),
        ..100.0 => format!("{figure:.1}"),
        _ => format!("{figure:.0}"),
    }
}
