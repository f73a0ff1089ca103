use std::time::Duration;

/// The initial timeout (RFC 6298 §2.1).
const INITIAL: Duration = Duration::from_secs(1);
/// The initial timeout after the loss of the SYN (RFC 6298 §5.7).
const INITIAL_AFTER_LOSS: Duration = Duration::from_secs(3);
/// The longest timeout (RFC 6298 §2.5).
const MAX: Duration = Duration::from_secs(60);
/// The clock's step (G of RFC 6298 §2.3).
const GRANULARITY: Duration = Duration::from_millis(1);

/// The retransmission timeout (RFC 6298).
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rto {
    min: Duration,
    smoothed: Option<Duration>,
    variation: Duration,
    backoffs: u32,
    initial: Duration,
}

impl Rto {
    pub fn new(min: Duration) -> Rto {
        Rto { min, smoothed: None, variation: Duration::ZERO, backoffs: 0, initial: INITIAL }
    }

    /// Adds the round trip of a segment that was sent once. New data is acknowledged, so the back-off ends.
    pub fn sample(&mut self, round_trip: Duration) {
        match self.smoothed {
            None => {
                self.smoothed = Some(round_trip);
                self.variation = round_trip / 2;
            }
            Some(smoothed) => {
                self.variation = self.variation * 3 / 4 + smoothed.abs_diff(round_trip) / 4;
                self.smoothed = Some(smoothed * 7 / 8 + round_trip / 8);
            }
        }
        self.backoffs = 0;
    }

    /// Doubles the timeout (RFC 6298 §5.5).
    pub fn back_off(&mut self) {
        self.backoffs = self.backoffs.saturating_add(1);
    }

    /// The handshake is complete. Its back-off does not apply to data, but the initial timeout is longer if a SYN was
    /// lost.
    pub fn begin_data(&mut self, was_syn_lost: bool) {
        self.backoffs = 0;
        if was_syn_lost {
            self.initial = INITIAL_AFTER_LOSS;
        }
    }

    /// The timeout now.
    pub fn get(&self) -> Duration {
        let base = self.smoothed.map_or(self.initial, |smoothed| smoothed + (self.variation * 4).max(GRANULARITY));
        base.max(self.min).saturating_mul(1_u32.checked_shl(self.backoffs).unwrap_or(u32::MAX)).min(MAX)
    }

    /// The smoothed round-trip time, once measured.
    pub fn smoothed(&self) -> Option<Duration> {
        self.smoothed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn timeout_follows_the_equations_of_rfc_6298() {
        let mut rto = Rto::new(MS(1));
        assert_eq!(rto.get(), MS(1000));
        rto.sample(MS(100));
        // SRTT 100, RTTVAR 50.
        assert_eq!(rto.get(), MS(300));
        rto.sample(MS(200));
        // RTTVAR 3/4 · 50 + 1/4 · 100 = 62.5; SRTT 7/8 · 100 + 1/8 · 200 = 112.5.
        assert_eq!(rto.get(), Duration::from_micros(362_500));
        assert_eq!(rto.smoothed(), Some(Duration::from_micros(112_500)));
    }

    #[test]
    fn timeout_doubles_up_to_a_minute_and_is_back_after_a_sample() {
        let mut rto = Rto::new(MS(200));
        rto.sample(MS(10));
        let timeouts = (0..10).map(|_| {
            rto.back_off();
            rto.get().as_millis()
        });
        let expected = [400, 800, 1600, 3200, 6400, 12_800, 25_600, 51_200, 60_000, 60_000];
        assert_eq!(timeouts.collect::<Vec<_>>(), expected);
        (0..100).for_each(|_| rto.back_off());
        assert_eq!(rto.get(), MS(60_000));
        rto.sample(MS(10));
        assert_eq!(rto.get(), MS(200));
    }
}
