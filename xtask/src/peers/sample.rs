//! What one run of a load found.

use std::fmt;

use serde_json::{Value, json};

/// The figures of one run.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sample {
    pub operations_per_second: f64,
    pub megabytes_per_second: f64,
    /// Of READDIRPLUS, and 0 otherwise or where the generator does not count them.
    pub entries_per_second: f64,
    pub median_us: f64,
    pub p99_us: f64,
    pub server_us_per_operation: f64,
    pub server_resident_mib: f64,
    /// The most that was resident during this run.
    pub server_peak_mib: f64,
    /// What others took of the processors meanwhile: 1 is one whole processor.
    pub foreign_processors: f64,
}

impl Sample {
    /// The server's processor time for a thousand million bytes of data; nothing where no data are moved.
    pub fn server_seconds_per_gigabyte(&self) -> f64 {
        let processors = self.server_us_per_operation * 1e-6 * self.operations_per_second;
        let gigabytes_per_second = self.megabytes_per_second / 1e3;
        if gigabytes_per_second > 0.0 { processors / gigabytes_per_second } else { 0.0 }
    }

    pub fn to_json(self) -> Value {
        json!({
            "ops_per_s": self.operations_per_second,
            "mb_per_s": self.megabytes_per_second,
            "entries_per_s": self.entries_per_second,
            "p50_us": self.median_us,
            "p99_us": self.p99_us,
            "server_us_per_op": self.server_us_per_operation,
            "server_rss_mib": self.server_resident_mib,
            "server_peak_mib": self.server_peak_mib,
            "foreign_processors": self.foreign_processors,
        })
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.0} ops/s, {:.0} MB/s, p99 {:.0} µs, server {:.2} µs/op and {:.0} MiB, foreign {:.2}",
            self.operations_per_second,
            self.megabytes_per_second,
            self.p99_us,
            self.server_us_per_operation,
            self.server_peak_mib,
            self.foreign_processors
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_of_a_gigabyte_follows_from_that_of_an_operation() {
        // 1000 operations of 100 µs each are a tenth of a second, for 0.5 GB.
        let sample = Sample {
            operations_per_second: 1000.0,
            megabytes_per_second: 500.0,
            server_us_per_operation: 100.0,
            ..Sample::default()
        };
        assert!((sample.server_seconds_per_gigabyte() - 0.2).abs() < 1e-9);
        assert!(Sample::default().server_seconds_per_gigabyte().abs() < 1e-9);
    }
}
