//! How the clock of an agent relates to this host's.

use std::time::{Duration, Instant};

/// The clock of another host, compared with this one's.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    /// A moment of this host, and the other's time then.
    here: Instant,
    there: Duration,
    /// How far that may be wrong in either direction.
    uncertainty: Duration,
}

impl Clock {
    /// Of an exchange: the other's time was read after `sent` and before `received`.
    pub(super) fn of(sent: Instant, there: Duration, received: Instant) -> Clock {
        let uncertainty = received.saturating_duration_since(sent) / 2;
        Clock { here: sent + uncertainty, there, uncertainty }
    }

    /// The more exact one of two.
    pub(super) fn better(self, other: Clock) -> Clock {
        if other.uncertainty < self.uncertainty { other } else { self }
    }

    /// How far a time of the other host may be wrong: half of the shortest round trip.
    pub fn uncertainty(&self) -> Duration {
        self.uncertainty
    }

    /// The other's time at a moment of this host that is not before the exchange.
    pub(super) fn there(&self, here: Instant) -> Duration {
        self.there + here.saturating_duration_since(self.here)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_is_known_to_half_of_the_shortest_round_trip() {
        let zero = Instant::now();
        let at = |ms| zero + Duration::from_millis(ms);
        let slow = Clock::of(at(0), Duration::from_millis(1000), at(40));
        let fast = Clock::of(at(50), Duration::from_millis(1052), at(54));
        let clock = slow.better(fast);
        assert_eq!(clock.uncertainty(), Duration::from_millis(2));
        assert_eq!(fast.better(slow).uncertainty(), Duration::from_millis(2));
        assert_eq!(clock.there(at(152)), Duration::from_millis(1152));
    }
}
