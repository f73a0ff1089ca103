//! Times of NFSv2 and NFSv3: unsigned 32-bit seconds (RFC 1094 §2.3.4, RFC 1813 §2.5), from 1970 to 2106.

use proto::Operation;
use vfs::{SetAttributes, SetTime, Timestamp};

use crate::connection::Connection;
use crate::{Error, Reason, Result, Version};

/// The last second that can be set: in NFSv2, all ones mean "unchanged" (RFC 1094 §2.3.6).
fn last_second(version: Version) -> u32 {
    if version == Version::V2 { u32::MAX - 1 } else { u32::MAX }
}

/// The seconds of a time on the wire.
///
/// # Errors
/// [`Reason::TimeOutOfRange`] before 1970 and after 2106: the wire would carry another year.
pub(crate) fn wire_seconds<O: Operation>(connection: &Connection, version: Version, time: Timestamp) -> Result<u32> {
    let seconds = u32::try_from(time.seconds).ok().filter(|seconds| *seconds <= last_second(version));
    seconds.ok_or_else(|| {
        let reason = Reason::TimeOutOfRange { version, seconds: time.seconds };
        Error::new(connection.server(), O::NAME, reason)
    })
}

/// The attributes to set, with each time moved to the nearest one of the version. Linux does this for all file systems
/// with limited times.
pub fn clamped(version: Version, set: &SetAttributes) -> SetAttributes {
    let first = Timestamp { seconds: 0, nanoseconds: 0 };
    let last = Timestamp { seconds: last_second(version).into(), nanoseconds: 999_999_999 };
    let clamp = |time: Option<SetTime>| {
        time.map(|time| match time {
            SetTime::To(time) => SetTime::To(time.clamp(first, last)),
            SetTime::Now => SetTime::Now,
        })
    };
    SetAttributes { accessed: clamp(set.accessed), modified: clamp(set.modified), ..*set }
}
