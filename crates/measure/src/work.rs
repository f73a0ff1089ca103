use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Work {
    /// How many operations.
    pub operations: u64,
    /// How many bytes they moved.
    pub bytes: u64,
}

impl Work {
    /// Operations per second, 0 if no time has passed.
    pub fn operations_per_second(&self, elapsed: Duration) -> f64 {
        per_second(self.operations, elapsed)
    }

    /// Bytes per second, 0 if no time has passed.
    pub fn bytes_per_second(&self, elapsed: Duration) -> f64 {
        per_second(self.bytes, elapsed)
    }
}

impl Add for Work {
    type Output = Work;
    fn add(self, other: Work) -> Work {
        Work {
            operations: self.operations.saturating_add(other.operations),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }
}

/// The work since an earlier count; zero where that one is higher.
impl Sub for Work {
    type Output = Work;
    fn sub(self, earlier: Work) -> Work {
        Work {
            operations: self.operations.saturating_sub(earlier.operations),
            bytes: self.bytes.saturating_sub(earlier.bytes),
        }
    }
}

impl AddAssign for Work {
    fn add_assign(&mut self, other: Work) {
        *self = *self + other;
    }
}

fn per_second(amount: u64, elapsed: Duration) -> f64 {
    if elapsed.is_zero() { 0.0 } else { amount as f64 / elapsed.as_secs_f64() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_per_second_and_none_without_time() {
        let work = Work { operations: 500, bytes: 500 * 4096 } + Work { operations: 500, bytes: 0 };
        assert_eq!(work.operations_per_second(Duration::from_millis(500)), 2000.0);
        assert_eq!(work.bytes_per_second(Duration::from_millis(500)), 4_096_000.0);
        assert_eq!(work.operations_per_second(Duration::ZERO), 0.0);
        let mut sum = work;
        sum += Work { operations: 1, bytes: 2 };
        assert_eq!(sum, work + Work { operations: 1, bytes: 2 });
        assert_eq!(sum, Work { operations: 1001, bytes: 500 * 4096 + 2 });
        let earlier = Work { operations: 400, bytes: 96 };
        assert_eq!(work - earlier, Work { operations: 600, bytes: 500 * 4096 - 96 });
        assert_eq!(earlier - work, Work::default());
    }
}
