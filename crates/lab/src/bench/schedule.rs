use std::time::{Duration, Instant};

use super::{End, Job};

/// When all connections start, when their measurement begins, and when it ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Schedule {
    pub(super) start: Instant,
    pub(super) measured_from: Instant,
    pub(super) deadline: Option<Instant>,
}

impl Schedule {
    pub(super) fn starting_at(start: Instant, job: &Job) -> Schedule {
        match job.end {
            End::After(time) => {
                let measured_from = start + job.warm_up;
                Schedule { start, measured_from, deadline: Some(measured_from + time) }
            }
            End::Bytes(_) => Schedule { start, measured_from: start, deadline: None },
        }
    }

    /// How long it is until the measurement begins.
    pub(super) fn time_to_measurement(&self) -> Duration {
        self.measured_from.saturating_duration_since(Instant::now())
    }

    /// How long it is until the measurement ends, where that is a matter of time.
    pub(super) fn time_to_end(&self) -> Option<Duration> {
        Some(self.deadline?.saturating_duration_since(Instant::now()))
    }

    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.deadline.is_some_and(|deadline| now >= deadline)
    }
}
