use std::time::Duration;

/// Why a text is not a time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// It is neither a time nor `never`.
    #[error("{0:?} is not a time; write a whole number of seconds, or one with us, ms, s, m, h or d, or `never`")]
    Timeout(String),
    /// It is not a time that ends.
    #[error("{0:?} is not a time; write a whole number of seconds, or one with us, ms, s, m, h or d")]
    Time(String),
    /// It is not a whole number of seconds.
    #[error("{0:?} is not a lease time; write a whole number of seconds of at least 1, or one with s, m, h or d")]
    Lease(String),
    /// It is neither a busy-poll time nor `off`.
    #[error("{0:?} is not a busy-poll time; write a time up to 10ms, such as 100us, or `off`")]
    BusyPoll(String),
}

/// The longest busy-poll time: beyond it, the cost of waking up is negligible.
const MAX_BUSY_POLL: Duration = Duration::from_millis(10);

/// Reads a time such as `90`, `90s`, `500ms`, `20us`, `15m`, `2h` or `1d`; `never` and `off` are `None`.
///
/// # Errors
/// When it is not such a time.
pub fn parse_timeout(text: &str) -> Result<Option<Duration>, DurationError> {
    if matches!(text, "never" | "off") {
        return Ok(None);
    }
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let malformed = || DurationError::Timeout(text.to_owned());
    let unit_us: u64 = match unit {
        "us" | "µs" => 1,
        "ms" => 1000,
        "" | "s" => 1_000_000,
        "m" | "min" => 60 * 1_000_000,
        "h" => 3600 * 1_000_000,
        "d" => 24 * 3600 * 1_000_000,
        _ => return Err(malformed()),
    };
    let number: u64 = number.parse().map_err(|_| malformed())?;
    number.checked_mul(unit_us).map(|us| Some(Duration::from_micros(us))).ok_or_else(malformed)
}

/// Reads a time that ends.
///
/// # Errors
/// When it is not such a time.
pub fn parse_time(text: &str) -> Result<Duration, DurationError> {
    parse_timeout(text).ok().flatten().ok_or_else(|| DurationError::Time(text.to_owned()))
}

/// Reads a lease or grace time: whole seconds, at least one, as in NFSv4.
///
/// # Errors
/// When it is not such a time.
pub fn parse_lease(text: &str) -> Result<Duration, DurationError> {
    let whole = parse_timeout(text).ok().flatten().filter(|time| time.subsec_nanos() == 0);
    let seconds = whole.map_or(0, |time| time.as_secs());
    match u32::try_from(seconds) {
        Ok(1..) => Ok(Duration::from_secs(seconds)),
        _ => Err(DurationError::Lease(text.to_owned())),
    }
}

/// Reads a busy-poll time, or `off`.
///
/// # Errors
/// When it is neither.
pub fn parse_busy_poll(text: &str) -> Result<Option<Duration>, DurationError> {
    let window = parse_timeout(text).ok().filter(|window| window.is_none_or(|window| window <= MAX_BUSY_POLL));
    window.ok_or_else(|| DurationError::BusyPoll(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_unit_is_understood() {
        for (text, ms) in [("90", 90_000), ("500ms", 500), ("3s", 3000), ("15m", 900_000), ("2h", 7_200_000)] {
            assert_eq!(parse_timeout(text), Ok(Some(Duration::from_millis(ms))), "{text}");
        }
        assert_eq!(parse_timeout("20us"), Ok(Some(Duration::from_micros(20))));
        assert_eq!(parse_timeout("1d"), Ok(Some(Duration::from_secs(86_400))));
        assert_eq!(parse_timeout("never"), Ok(None));
        assert!(parse_time("never").is_err());
    }

    #[test]
    fn lease_is_a_whole_number_of_seconds_and_has_an_end() {
        assert_eq!(parse_lease("2000ms"), Ok(Duration::from_secs(2)));
        assert_eq!(parse_lease("2m"), Ok(Duration::from_secs(120)));
        for text in ["never", "0", "999ms", "1500ms", "100000d"] {
            assert!(parse_lease(text).is_err(), "{text}");
        }
    }

    #[test]
    fn loops_stay_awake_for_a_short_time_only() {
        assert_eq!(parse_busy_poll("100us"), Ok(Some(Duration::from_micros(100))));
        assert_eq!(parse_busy_poll("10ms"), Ok(Some(MAX_BUSY_POLL)));
        assert_eq!(parse_busy_poll("off"), Ok(None));
        for text in ["11ms", "1", "soon"] {
            assert!(parse_busy_poll(text).is_err(), "{text}");
        }
    }

    #[test]
    fn nonsense_is_no_time() {
        for text in ["", "s", "1y", "-1s", "1.5s", "99999999999999999999s", "18446744073709551615d"] {
            assert!(parse_timeout(text).is_err(), "{text}");
        }
    }
}
