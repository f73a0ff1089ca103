//! Congestion control: Reno (RFC 5681, with byte counting of RFC 3465) and CUBIC (RFC 9438).

use std::time::Duration;

/// A congestion control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// RFC 5681.
    Reno,
    /// RFC 9438.
    Cubic,
}

/// In slow start, one acknowledgment counts for at most two segments, which receivers with delayed acknowledgments
/// acknowledge at once (L of RFC 3465 §2.3).
const MAX_SEGMENTS_PER_ACK: u64 = 2;
/// The factor of the window after a loss, and the rate of growth (RFC 9438 §4.6, §5.1).
const CUBIC_BETA: f64 = 0.7;
const CUBIC_C: f64 = 0.4;

/// The state of a congestion control. Windows are in bytes.
#[derive(Debug, Clone)]
pub(super) struct Congestion {
    algorithm: Algorithm,
    mss: u64,
    window: u64,
    threshold: u64,
    /// Bytes acknowledged since the window last grew.
    counted: u64,
    cubic: Cubic,
}

/// The state of CUBIC. Windows are in segments.
#[derive(Debug, Clone, Default)]
struct Cubic {
    /// The window before the loss, `W_max`.
    highest: f64,
    /// When the window started to grow again; `None` right after a loss.
    epoch: Option<Duration>,
    /// The window then.
    epoch_window: f64,
    /// The window of Reno, `W_est`.
    reno: f64,
}

impl Congestion {
    pub fn new(algorithm: Algorithm, mss: usize, initial_segments: u32) -> Congestion {
        let mss = mss as u64;
        let window = mss * u64::from(initial_segments.max(1));
        Congestion { algorithm, mss, window, threshold: u64::MAX, counted: 0, cubic: Cubic::default() }
    }

    /// The congestion window in bytes.
    pub fn window(&self) -> u64 {
        self.window
    }

    /// The threshold of slow start.
    pub fn threshold(&self) -> u64 {
        self.threshold
    }

    /// Sets the window, in recovery without SACK.
    pub fn set_window(&mut self, window: u64) {
        self.window = window.max(self.mss);
    }

    /// `bytes` of new data were acknowledged outside of recovery, while the window limited the sender.
    pub fn on_ack(&mut self, bytes: u64, now: Duration, round_trip: Duration) {
        if self.window < self.threshold {
            self.window += bytes.min(MAX_SEGMENTS_PER_ACK * self.mss);
            return;
        }
        match self.algorithm {
            Algorithm::Reno => self.grow_by_count(bytes),
            Algorithm::Cubic => self.grow_by_time(bytes, now, round_trip),
        }
    }

    /// A segment is lost, while others arrive: reduces the window.
    pub fn on_loss(&mut self, flight: u64) {
        let floor = 2 * self.mss;
        self.threshold = match self.algorithm {
            Algorithm::Reno => flight / 2,
            Algorithm::Cubic => {
                self.remember_loss();
                (flight as f64 * CUBIC_BETA) as u64
            }
        };
        self.threshold = self.threshold.max(floor);
        self.window = self.threshold;
        self.counted = 0;
    }

    /// A timeout: continues with one segment (RFC 5681 §3.1). `is_first` on the first timeout for this data.
    pub fn on_timeout(&mut self, flight: u64, is_first: bool) {
        if is_first {
            self.on_loss(flight);
        }
        self.window = self.mss;
        self.cubic.epoch = None;
    }

    /// The connection was idle for a timeout (RFC 5681 §4.1).
    pub fn on_idle(&mut self, initial_segments: u32) {
        self.window = self.window.min(self.mss * u64::from(initial_segments.max(1)));
        self.cubic.epoch = None;
    }

    fn grow_by_count(&mut self, bytes: u64) {
        self.counted += bytes;
        if self.counted >= self.window {
            self.counted -= self.window;
            self.window += self.mss;
        }
    }

    fn remember_loss(&mut self) {
        let window = self.window as f64 / self.mss as f64;
        // Fast convergence: a smaller window than at the loss before gives way to other flows (RFC 9438 §4.7).
        self.cubic.highest = if window < self.cubic.highest { window * f64::midpoint(1.0, CUBIC_BETA) } else { window };
        self.cubic.epoch = None;
    }

    fn grow_by_time(&mut self, bytes: u64, now: Duration, round_trip: Duration) {
        let mss = self.mss as f64;
        let window = self.window as f64 / mss;
        let cubic = &mut self.cubic;
        let epoch = *cubic.epoch.get_or_insert_with(|| {
            cubic.epoch_window = window;
            cubic.highest = cubic.highest.max(window);
            cubic.reno = window;
            now
        });
        let elapsed = now.saturating_sub(epoch).as_secs_f64();
        let inflection = ((cubic.highest - cubic.epoch_window) / CUBIC_C).cbrt();
        let target = CUBIC_C * (elapsed + round_trip.as_secs_f64() - inflection).powi(3) + cubic.highest;
        let target = target.clamp(window, 1.5 * window);
        let reno_alpha = 3.0 * (1.0 - CUBIC_BETA) / (1.0 + CUBIC_BETA);
        let alpha = if cubic.reno < cubic.highest { reno_alpha } else { 1.0 };
        let acknowledged = bytes as f64 / mss;
        cubic.reno += alpha * acknowledged / window;
        let cubic_now = CUBIC_C * (elapsed - inflection).powi(3) + cubic.highest;
        let grown = if cubic_now < cubic.reno {
            cubic.reno.max(window)
        } else {
            window + (target - window) / window * acknowledged
        };
        self.window = (grown * mss) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);
    const MSS: u64 = 1000;

    fn congestion(algorithm: Algorithm) -> Congestion {
        Congestion::new(algorithm, MSS as usize, 10)
    }

    /// Acknowledges everything for one round trip, two segments at a time.
    fn round(congestion: &mut Congestion, now: Duration) {
        let window = congestion.window();
        (0..window.div_ceil(2 * MSS)).for_each(|_| congestion.on_ack(2 * MSS, now, RTT));
    }

    #[test]
    fn slow_start_doubles_the_window_in_a_round_trip_and_counts_two_segments_an_ack_at_most() {
        for algorithm in [Algorithm::Reno, Algorithm::Cubic] {
            let mut congestion = congestion(algorithm);
            round(&mut congestion, RTT);
            assert_eq!(congestion.window(), 20 * MSS);
            congestion.on_ack(50 * MSS, RTT, RTT);
            assert_eq!(congestion.window(), 22 * MSS);
        }
    }

    #[test]
    fn reno_halves_and_then_grows_by_a_segment_in_a_round_trip() {
        let mut congestion = congestion(Algorithm::Reno);
        congestion.on_loss(40 * MSS);
        assert_eq!((congestion.window(), congestion.threshold()), (20 * MSS, 20 * MSS));
        for segments in 21..25 {
            round(&mut congestion, RTT);
            assert_eq!(congestion.window(), segments * MSS);
        }
    }

    #[test]
    fn cubic_is_back_at_its_old_window_when_the_cube_says_so() {
        let mut congestion = congestion(Algorithm::Cubic);
        congestion.set_window(1000 * MSS);
        congestion.on_loss(1000 * MSS);
        assert_eq!(congestion.window(), 700 * MSS);
        // K of RFC 9438 §4.2 is the cube root of 300 / 0.4: 9.09 seconds.
        let at = |round: u32| RTT * round;
        (1..=45).for_each(|number| round(&mut congestion, at(number)));
        assert!((900 * MSS..985 * MSS).contains(&congestion.window()), "{}", congestion.window());
        (46..=91).for_each(|number| round(&mut congestion, at(number)));
        assert!((985 * MSS..1015 * MSS).contains(&congestion.window()), "{}", congestion.window());
        (92..=180).for_each(|number| round(&mut congestion, at(number)));
        assert!(congestion.window() > 1200 * MSS, "{}", congestion.window());
    }

    #[test]
    fn cubic_is_never_slower_than_reno_with_small_windows() {
        let mut cubic = congestion(Algorithm::Cubic);
        cubic.on_loss(20 * MSS);
        let after_loss = cubic.window();
        (1..=20).for_each(|number| round(&mut cubic, Duration::from_millis(number)));
        assert!(cubic.window() >= after_loss + 9 * MSS, "{} {after_loss}", cubic.window());
    }

    #[test]
    fn timeout_leaves_one_segment_and_lowers_the_threshold_once() {
        let mut congestion = congestion(Algorithm::Reno);
        congestion.on_timeout(10 * MSS, true);
        assert_eq!((congestion.window(), congestion.threshold()), (MSS, 5 * MSS));
        congestion.on_timeout(MSS, false);
        assert_eq!((congestion.window(), congestion.threshold()), (MSS, 5 * MSS));
        congestion.on_loss(0);
        assert_eq!(congestion.threshold(), 2 * MSS);
        congestion.set_window(500 * MSS);
        congestion.on_idle(10);
        assert_eq!(congestion.window(), 10 * MSS);
    }
}
