//! Open loop: operations begin when they are due, however long earlier ones take.

use std::fmt;
use std::io;
use std::str::FromStr;
use std::time::{Duration, Instant};

use fastrand::Rng;

use super::Stop;
use super::timer::Timer;

/// How often operations begin, as text `N` or `N,poisson`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// How many begin in a second on all connections together; above 0.
    pub per_second: f64,
    /// How far they are apart.
    pub spacing: Spacing,
}

/// How far the starts of operations are apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spacing {
    /// Always the same.
    Fixed,
    /// At random and independent of each other: a Poisson process.
    Poisson,
}

/// A text is no rate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no rate: N or N,poisson is wanted, with N operations a second above 0, such as 500 or 2e4,poisson")]
pub struct RateError(String);

impl FromStr for Rate {
    type Err = RateError;

    fn from_str(text: &str) -> Result<Rate, RateError> {
        let (number, spacing) = match text.split_once(',') {
            None => (text, Some(Spacing::Fixed)),
            Some((number, "poisson")) => (number, Some(Spacing::Poisson)),
            Some((number, _)) => (number, None),
        };
        let per_second = number.parse().ok().filter(|rate: &f64| rate.is_finite() && *rate > 0.0);
        let rate = per_second.zip(spacing).map(|(per_second, spacing)| Rate { per_second, spacing });
        rate.ok_or_else(|| RateError(text.to_owned()))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.per_second, if self.spacing == Spacing::Poisson { ",poisson" } else { "" })
    }
}

/// When the operations of one connection are due, in seconds from the start.
#[derive(Debug)]
struct Times {
    next_s: f64,
    gap_s: f64,
    /// What random gaps are drawn from.
    random: Option<Rng>,
}

impl Times {
    /// The share of the connection with this number, from 0, of so many.
    fn new(rate: Rate, number: u32, connections: u32, seed: u64) -> Times {
        let gap_s = f64::from(connections) / rate.per_second;
        let mut times = Times { next_s: f64::from(number) / rate.per_second, gap_s, random: None };
        if rate.spacing == Spacing::Poisson {
            times.random = Some(Rng::with_seed(seed ^ u64::from(number) << u32::BITS));
            times.next_s = times.gap();
        }
        times
    }

    fn gap(&mut self) -> f64 {
        match &mut self.random {
            // Gaps of a Poisson process are exponential; 1 − u is above 0.
            Some(random) => -(1.0 - random.f64()).ln() * self.gap_s,
            None => self.gap_s,
        }
    }
}

impl Iterator for Times {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let now_s = self.next_s;
        self.next_s += self.gap();
        Duration::try_from_secs_f64(now_s).ok()
    }
}

/// Lets operations of one connection begin when they are due.
#[derive(Debug)]
pub(super) struct Arrivals {
    times: Times,
    timer: Timer,
}

impl Arrivals {
    /// Those of the connection with this number, from 0, of so many. It is called inside of a runtime.
    pub(super) fn new(rate: Rate, number: u32, connections: u32, seed: u64) -> io::Result<Arrivals> {
        Ok(Arrivals { times: Times::new(rate, number, connections, seed), timer: Timer::new()? })
    }

    /// Waits until the next operation is due, and tells when that is: earlier than now when it had to wait for others.
    /// Nothing when the job has ended before.
    pub(super) async fn next(&mut self, start: Instant, deadline: Option<Instant>, stop: &Stop) -> Option<Instant> {
        let due = start + self.times.next()?;
        self.timer.wait_until(due, deadline, stop).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(text: &str, number: u32, connections: u32) -> Vec<f64> {
        Times::new(text.parse().unwrap(), number, connections, 7).take(20_000).map(|time| time.as_secs_f64()).collect()
    }

    #[test]
    fn rate_is_a_number_with_or_without_poisson() {
        assert_eq!("2e3".parse(), Ok(Rate { per_second: 2000.0, spacing: Spacing::Fixed }));
        for text in ["500", "0.5,poisson"] {
            assert_eq!(text.parse::<Rate>().unwrap().to_string(), text);
        }
        for wrong in ["", "0", "-1", "x", "inf", "NaN", "5,uniform", ",poisson"] {
            assert!(wrong.parse::<Rate>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn connections_with_a_fixed_rate_take_turns_at_equal_distances() {
        let (one, two) = (times("100", 0, 2), times("100", 1, 2));
        let mut both = [&one[..50], &two[..50]].concat();
        both.sort_by(f64::total_cmp);
        assert!(both.iter().enumerate().all(|(index, time)| (time - index as f64 / 100.0).abs() < 1e-6), "{both:?}");
    }

    #[test]
    fn gaps_of_a_poisson_process_have_the_mean_and_the_deviation_of_an_exponential_distribution() {
        let found = times("1000,poisson", 0, 1);
        let gaps: Vec<f64> = found.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean - 1e-3).abs() < 3e-5 && (variance.sqrt() - 1e-3).abs() < 5e-5, "{mean} {variance}");
        assert_ne!(found, times("1000,poisson", 1, 2));
    }
}
