//! Single figures, as fio and people write them.

use std::time::Duration;

/// The most characters of a scaled number, its decimal point included.
const MAX_DIGITS: usize = 4;

/// The most decimals: with a digit before the point there is no room for more.
const MAX_DECIMALS: usize = MAX_DIGITS - 2;

const DECIMAL: &[&str] = &["", "k", "M", "G", "T", "P", "E"];
const BINARY: &[&str] = &["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// A count in four characters and a letter: `999`, `9999`, `12.3k`, `129k`, `1235k`, `12.3M`.
pub fn count(value: f64) -> String {
    scaled(value, 1000.0, DECIMAL)
}

/// Bytes in powers of 1024: `512B`, `4096B`, `98.4MiB`, `5042MiB`.
pub fn binary_bytes(bytes: f64) -> String {
    scaled(bytes, 1024.0, BINARY) + "B"
}

/// Bytes in powers of 1000: `512B`, `103MB`.
pub fn decimal_bytes(bytes: f64) -> String {
    scaled(bytes, 1000.0, DECIMAL) + "B"
}

/// A rate both ways, as fio writes it: `504MiB/s (529MB/s)`.
pub fn bandwidth(bytes_per_second: f64) -> String {
    format!("{}/s ({}/s)", binary_bytes(bytes_per_second), decimal_bytes(bytes_per_second))
}

/// A time in the largest unit in which it is at least 1, with four digits: `850ns`, `61.21us`, `1.500ms`, `90.00s`.
pub fn duration(duration: Duration) -> String {
    let ns = duration.as_nanos() as f64;
    let (value, unit) = match ns {
        ..1e3 => return format!("{ns:.0}ns"),
        ..1e6 => (ns / 1e3, "us"),
        ..1e9 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    let decimals = match value {
        ..10.0 => 3,
        ..100.0 => 2,
        ..1000.0 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}{unit}")
}

/// The unit in which the latencies of one table are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LatencyUnit {
    /// Nanoseconds.
    Nanoseconds,
    /// Microseconds.
    Microseconds,
    /// Milliseconds.
    Milliseconds,
}

impl LatencyUnit {
    /// The largest unit in which the least of some latencies has four digits still and the greatest has six, which is
    /// how fio chooses.
    pub fn for_range(min_ns: u64, max_ns: u64) -> LatencyUnit {
        let loses_nothing_in = |unit_ns: u64| min_ns / (unit_ns / 1000) > 2000 && max_ns / (unit_ns / 1000) > 99_999;
        if !loses_nothing_in(1000) {
            LatencyUnit::Nanoseconds
        } else if !loses_nothing_in(1_000_000) {
            LatencyUnit::Microseconds
        } else {
            LatencyUnit::Milliseconds
        }
    }

    /// fio's name of it.
    pub fn name(self) -> &'static str {
        match self {
            LatencyUnit::Nanoseconds => "nsec",
            LatencyUnit::Microseconds => "usec",
            LatencyUnit::Milliseconds => "msec",
        }
    }

    /// How many nanoseconds it is.
    pub fn ns(self) -> u64 {
        match self {
            LatencyUnit::Nanoseconds => 1,
            LatencyUnit::Microseconds => 1000,
            LatencyUnit::Milliseconds => 1_000_000,
        }
    }
}

/// Divides `value` by `step` until it takes no more than [`MAX_DIGITS`] digits, and fills up with decimals. A number
/// that was not divided is shown without decimals, as what is counted comes whole.
fn scaled(value: f64, step: f64, prefixes: &[&str]) -> String {
    let fits = |value: f64| value.round() < 10_f64.powi(MAX_DIGITS as i32);
    let mut value = value.max(0.0);
    let mut prefix = 0;
    while !fits(value) && prefix + 1 < prefixes.len() {
        value /= step;
        prefix += 1;
    }
    let most_decimals = if prefix == 0 { 0 } else { MAX_DECIMALS };
    let with = |decimals: usize| format!("{value:.decimals$}");
    let number = (1..=most_decimals).rev().map(with).find(|number| number.len() <= MAX_DIGITS);
    number.unwrap_or_else(|| with(0)) + prefixes[prefix]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_four_characters_and_a_letter() {
        let cases = [
            (0.0, "0"),
            (956.4, "956"),
            (9999.0, "9999"),
            (12_345.0, "12.3k"),
            (129_012.0, "129k"),
            (1_234_567.0, "1235k"),
            (12_345_678.0, "12.3M"),
            (9_999.7, "10.0k"),
            (-1.0, "0"),
        ];
        for (value, expected) in cases {
            assert_eq!(count(value), expected);
        }
    }

    #[test]
    fn bandwidth_is_shown_in_both_systems() {
        assert_eq!(bandwidth(529.0 * 1e6), "504MiB/s (529MB/s)");
        assert_eq!(bandwidth(103_179_878.4), "98.4MiB/s (103MB/s)");
        assert_eq!(bandwidth(6136.0 * 1048576.0), "6136MiB/s (6434MB/s)");
        assert_eq!(bandwidth(0.0), "0B/s (0B/s)");
        assert_eq!(binary_bytes(4096.0), "4096B");
        assert_eq!(binary_bytes((5_u64 << 30) as f64), "5120MiB");
        assert_eq!(decimal_bytes(1e30), "1000000000000EB");
    }

    #[test]
    fn durations_have_four_digits_in_the_unit_that_suits() {
        let cases = [
            (0, "0ns"),
            (850, "850ns"),
            (61_210, "61.21us"),
            (999_900, "999.9us"),
            (1_500_000, "1.500ms"),
            (90_000_000_000, "90.00s"),
            (5_400_000_000_000, "5400s"),
        ];
        for (ns, expected) in cases {
            assert_eq!(duration(Duration::from_nanos(ns)), expected);
        }
    }

    #[test]
    fn latencies_are_scaled_only_when_the_least_of_them_keeps_its_digits() {
        assert_eq!(LatencyUnit::for_range(1_500, 900_000_000), LatencyUnit::Nanoseconds);
        assert_eq!(LatencyUnit::for_range(2_001, 99_999), LatencyUnit::Nanoseconds);
        assert_eq!(LatencyUnit::for_range(2_001, 100_000), LatencyUnit::Microseconds);
        assert_eq!(LatencyUnit::for_range(2_001_000, 100_000_000), LatencyUnit::Milliseconds);
    }
}
