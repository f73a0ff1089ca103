//! Times as touch(1) reads them, in UTC unless they have an offset.

use std::time::SystemTime;

use vfs::Timestamp;

use crate::remote::{date_of, days_before};

const SECONDS_PER_DAY: i64 = 86_400;
const NANOSECOND_DIGITS: usize = 9;

/// Reads a date, a date and a time, or `@` and seconds.
///
/// # Errors
/// A message for the user.
pub fn parse(text: &str) -> Result<Timestamp, String> {
    let parsed = match text.strip_prefix('@') {
        Some(seconds) => parse_seconds(seconds),
        None => parse_date_and_time(text),
    };
    parsed.ok_or_else(|| {
        "write a time such as '2026-11-27 14:00:00', 2026-11-27T14:00:00.5+01:00 or @1234567890".to_owned()
    })
}

/// Reads `[[CC]YY]MMDDhhmm[.ss]`.
///
/// # Errors
/// A message for the user.
pub fn parse_stamp(text: &str) -> Result<Timestamp, String> {
    stamp(text).ok_or_else(|| "write [[CC]YY]MMDDhhmm[.ss], such as 202611271400".to_owned())
}

fn parse_seconds(text: &str) -> Option<Timestamp> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    Some(Timestamp { seconds: whole.parse().ok()?, nanoseconds: fraction_of(fraction)? })
}

fn parse_date_and_time(text: &str) -> Option<Timestamp> {
    let (date, time) = text.split_once(['T', ' ']).unwrap_or((text, "00:00"));
    let mut parts = date.splitn(3, '-');
    let date = (number(parts.next()?, 4)?, number(parts.next()?, 2)?, number(parts.next()?, 2)?);
    let (time, offset_seconds) = split_offset(time)?;
    let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
    let mut parts = time.splitn(3, ':');
    let (hour, minute) = (number(parts.next()?, 2)?, number(parts.next()?, 2)?);
    let second = parts.next().map_or(Some(0), |second| number(second, 2))?;
    let seconds = seconds_of(date, (hour, minute, second))? - offset_seconds;
    Some(Timestamp { seconds, nanoseconds: fraction_of(fraction)? })
}

/// Splits `Z` or `+hh:mm` off a time. Returns the offset in seconds.
fn split_offset(time: &str) -> Option<(&str, i64)> {
    if let Some(time) = time.strip_suffix('Z') {
        return Some((time, 0));
    }
    let Some(at) = time.find(['+', '-']) else { return Some((time, 0)) };
    let (hours, minutes) = time[at + 1..].split_once(':')?;
    let offset = number(hours, 2)? * 3600 + number(minutes, 2)? * 60;
    Some((&time[..at], if time.as_bytes()[at] == b'-' { -offset } else { offset }))
}

fn stamp(text: &str) -> Option<Timestamp> {
    let (digits, seconds) =
        text.split_once('.').map_or((text, Some(0)), |(digits, seconds)| (digits, number(seconds, 2)));
    let at = digits.len().checked_sub(8).filter(|_| digits.is_ascii())?;
    let (year, rest) = digits.split_at(at);
    let year = match year.len() {
        0 => date_of(Timestamp::from(SystemTime::now()).seconds.div_euclid(SECONDS_PER_DAY)).0,
        // 69 to 99 are of the last century (touch(1)).
        2 => number(year, 2).map(|year| if year >= 69 { 1900 + year } else { 2000 + year })?,
        _ => number(year, 4)?,
    };
    let part = |at: usize| number(&rest[at..at + 2], 2);
    let seconds = seconds_of((year, part(0)?, part(2)?), (part(4)?, part(6)?, seconds?))?;
    Some(Timestamp { seconds, nanoseconds: 0 })
}

fn number(text: &str, digits: usize) -> Option<i64> {
    let is_one = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_one)
}

/// The nanoseconds of digits behind a point; more than nine are dropped.
fn fraction_of(digits: &str) -> Option<u32> {
    let is_valid = digits.bytes().all(|byte| byte.is_ascii_digit());
    let digits = &digits.get(..digits.len().min(NANOSECOND_DIGITS)).filter(|_| is_valid)?;
    format!("{digits:0<NANOSECOND_DIGITS$}").parse().ok()
}

fn seconds_of((year, month, day): (i64, i64, i64), (hour, minute, second): (i64, i64, i64)) -> Option<i64> {
    let days = days_before(year, month, day);
    // A day such as 30 February would be one of the next month.
    let is_valid = date_of(days) == (year, month, day) && hour < 24 && minute < 60 && second <= 60;
    is_valid.then_some(days * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_touch_in_utc() {
        for (text, seconds, nanoseconds) in [
            ("@1234567890", 1_234_567_890, 0),
            ("@-1.5", -1, 500_000_000),
            ("1970-01-01", 0, 0),
            ("2000-02-29 00:00", 951_782_400, 0),
            ("2009-02-13T23:31:30Z", 1_234_567_890, 0),
            ("2009-02-14 00:31:30.25+01:00", 1_234_567_890, 250_000_000),
            ("2009-02-13 22:01:30-01:30", 1_234_567_890, 0),
        ] {
            assert_eq!(parse(text), Ok(Timestamp { seconds, nanoseconds }), "{text}");
        }
        for text in ["", "2026-02-30", "2026-13-01", "2026-11-27 24:00", "tomorrow", "@x", "2026-11-27 1:2", "1é.2"] {
            assert!(parse(text).is_err(), "{text}");
        }
        for (text, seconds) in [("200902132331.30", 1_234_567_890), ("0902132331.30", 1_234_567_890), ("7001010000", 0)]
        {
            assert_eq!(parse_stamp(text), Ok(Timestamp { seconds, nanoseconds: 0 }), "{text}");
        }
        assert!(parse_stamp("02132331").unwrap().seconds > 1_700_000_000);
        for text in ["", "1", "021323310", "02302331", "ééééééééé"] {
            assert!(parse_stamp(text).is_err(), "{text}");
        }
    }
}
