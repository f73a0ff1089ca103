use std::ops::{Add, Sub};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The use of processors: of a process since its start, or the difference of two readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CpuUse {
    /// Time in program and kernel together, in nanoseconds.
    pub total: Duration,
    /// Time in the program, in the system's ticks (10 ms).
    pub user: Duration,
    /// Time in the kernel for it, in ticks too.
    pub system: Duration,
    /// The number of context switches, voluntary or not.
    pub context_switches: u64,
    /// The number of pages read from storage.
    pub major_faults: u64,
    /// The number of page faults without I/O.
    pub minor_faults: u64,
}

impl CpuUse {
    /// Time in the program as a share of `elapsed`, in percent: more than 100 with several threads.
    pub fn user_percent(&self, elapsed: Duration) -> f64 {
        percent(self.user, elapsed)
    }

    /// Time in the kernel as a share of `elapsed`, in percent.
    pub fn system_percent(&self, elapsed: Duration) -> f64 {
        percent(self.system, elapsed)
    }

    /// Time per operation, in nanoseconds; `None` without operations.
    pub fn ns_per_operation(&self, operations: u64) -> Option<f64> {
        (operations > 0).then(|| self.total.as_nanos() as f64 / operations as f64)
    }
}

/// Two processes together.
impl Add for CpuUse {
    type Output = CpuUse;
    fn add(self, other: CpuUse) -> CpuUse {
        CpuUse {
            total: self.total + other.total,
            user: self.user + other.user,
            system: self.system + other.system,
            context_switches: self.context_switches + other.context_switches,
            major_faults: self.major_faults + other.major_faults,
            minor_faults: self.minor_faults + other.minor_faults,
        }
    }
}

/// The use between an earlier reading and this one; zero where the earlier one is higher.
impl Sub for CpuUse {
    type Output = CpuUse;
    fn sub(self, earlier: CpuUse) -> CpuUse {
        CpuUse {
            total: self.total.saturating_sub(earlier.total),
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
            context_switches: self.context_switches.saturating_sub(earlier.context_switches),
            major_faults: self.major_faults.saturating_sub(earlier.major_faults),
            minor_faults: self.minor_faults.saturating_sub(earlier.minor_faults),
        }
    }
}

fn percent(part: Duration, whole: Duration) -> f64 {
    if whole.is_zero() { 0.0 } else { part.as_secs_f64() / whole.as_secs_f64() * 100.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_of_an_operation_is_what_was_spent_between_two_readings() {
        let reading = |ms: u64| CpuUse {
            total: Duration::from_micros(4000 * ms + 1),
            user: Duration::from_millis(ms),
            system: Duration::from_millis(3 * ms),
            context_switches: 2 * ms,
            major_faults: 3 * ms,
            minor_faults: 5 * ms,
        };
        let spent = reading(150) - reading(50);
        assert_eq!(spent, CpuUse { total: Duration::from_millis(400), ..reading(100) });
        assert_eq!(spent.ns_per_operation(100_000), Some(4000.0));
        assert_eq!(spent.ns_per_operation(0), None);
        assert_eq!(spent.user_percent(Duration::from_secs(1)), 10.0);
        assert!((spent.system_percent(Duration::from_millis(200)) - 150.0).abs() < 1e-9);
        assert_eq!(reading(1) + reading(2), CpuUse { total: Duration::from_micros(12_002), ..reading(3) });
        assert_eq!(spent.system_percent(Duration::ZERO), 0.0);
        assert_eq!(reading(1) - reading(2), CpuUse::default());
    }
}
