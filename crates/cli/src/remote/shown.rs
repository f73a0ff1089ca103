//! The presentation of files in `ls` and `stat`.

use client::Entry;
use serde::Serialize;
use vfs::{Attributes, FileKind, Timestamp};

/// A file in `--json`. A name that is not UTF-8 has replacement characters, and is repeated in hexadecimal. IDs of file
/// systems and files are strings, because many readers of JSON cannot represent 64-bit numbers.
#[derive(Debug, Serialize)]
pub struct FileRecord {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_hex: Option<String>,
    /// Missing if the file may not be looked up.
    #[serde(flatten)]
    attributes: Option<AttributesRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    handle: Option<String>,
}

#[derive(Debug, Serialize)]
struct AttributesRecord {
    kind: &'static str,
    mode: u32,
    permissions: String,
    links: u32,
    uid: u32,
    gid: u32,
    size_bytes: u64,
    used_bytes: u64,
    device_major: u32,
    device_minor: u32,
    fsid: String,
    fileid: String,
    accessed: String,
    modified: String,
    changed: String,
}

impl FileRecord {
    /// The record of the file at `path`; `target` is that of a symbolic link.
    pub fn new(path: &[u8], entry: Option<&Entry>, target: Option<&[u8]>) -> FileRecord {
        FileRecord {
            path: String::from_utf8_lossy(path).into_owned(),
            path_hex: str::from_utf8(path).is_err().then(|| hex(path)),
            attributes: entry.map(|entry| AttributesRecord::new(&entry.attributes)),
            target: target.map(|target| String::from_utf8_lossy(target).into_owned()),
            handle: entry.map(|entry| hex(entry.handle.as_bytes())),
        }
    }
}

impl AttributesRecord {
    fn new(attributes: &Attributes) -> AttributesRecord {
        let Attributes { kind, mode, links, uid, gid, size_bytes, used_bytes, device, fsid, fileid, .. } = *attributes;
        AttributesRecord {
            kind: kind_text(kind),
            mode,
            permissions: mode_text(attributes),
            links,
            uid,
            gid,
            size_bytes,
            used_bytes,
            device_major: device.major,
            device_minor: device.minor,
            fsid: fsid.to_string(),
            fileid: fileid.to_string(),
            accessed: time_text(attributes.accessed),
            modified: time_text(attributes.modified),
            changed: time_text(attributes.changed),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The name of a kind of file.
pub fn kind_text(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Regular => "file",
        FileKind::Directory => "directory",
        FileKind::Symlink => "symlink",
        FileKind::BlockDevice => "block device",
        FileKind::CharDevice => "character device",
        FileKind::Fifo => "fifo",
        FileKind::Socket => "socket",
    }
}

/// The ten characters at the beginning of a line of `ls -l`.
pub fn mode_text(attributes: &Attributes) -> String {
    let kind = match attributes.kind {
        FileKind::Regular => '-',
        FileKind::Directory => 'd',
        FileKind::Symlink => 'l',
        FileKind::BlockDevice => 'b',
        FileKind::CharDevice => 'c',
        FileKind::Fifo => 'p',
        FileKind::Socket => 's',
    };
    let mode = attributes.mode;
    let has = |bit: u32| mode & bit != 0;
    let letter = |bit: u32, letter: char| if has(bit) { letter } else { '-' };
    // The bits 04000, 02000 and 01000 are shown in place of the execute bits.
    let execute = |bit: u32, special: u32, letter: char| match (has(bit), has(special)) {
        (true, true) => letter,
        (false, true) => letter.to_ascii_uppercase(),
        (true, false) => 'x',
        (false, false) => '-',
    };
    let user = [letter(0o400, 'r'), letter(0o200, 'w'), execute(0o100, 0o4000, 's')];
    let group = [letter(0o040, 'r'), letter(0o020, 'w'), execute(0o010, 0o2000, 's')];
    let others = [letter(0o004, 'r'), letter(0o002, 'w'), execute(0o001, 0o1000, 't')];
    [kind].into_iter().chain(user).chain(group).chain(others).collect()
}

/// A time in UTC in the format of RFC 3339.
pub fn time_text(time: Timestamp) -> String {
    const SECONDS_PER_DAY: i64 = 86_400;
    let (year, month, day) = date_of(time.seconds.div_euclid(SECONDS_PER_DAY));
    let second = time.seconds.rem_euclid(SECONDS_PER_DAY);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:09}Z", time.nanoseconds)
}

/// The date `days` after 1970-01-01. Years begin in March here, so that the leap day is the last day.
pub fn date_of(days: i64) -> (i64, i64, i64) {
    const DAYS_PER_ERA: i64 = 146_097;
    const MARCH_OF_YEAR_0_TO_1970: i64 = 719_468;
    let days = days + MARCH_OF_YEAR_0_TO_1970;
    let era = days.div_euclid(DAYS_PER_ERA);
    let day_of_era = days.rem_euclid(DAYS_PER_ERA);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// The number of days from 1970-01-01 to a date.
pub fn days_before(year: i64, month: i64, day: i64) -> i64 {
    const DAYS_PER_ERA: i64 = 146_097;
    const MARCH_OF_YEAR_0_TO_1970: i64 = 719_468;
    let year = if month <= 2 { year - 1 } else { year };
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    year.div_euclid(400) * DAYS_PER_ERA + day_of_era - MARCH_OF_YEAR_0_TO_1970
}

/// A size with a unit, in powers of 1024 and rounded up, as `ls -h` has it.
pub fn human_bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["K", "M", "G", "T", "P", "E"];
    if bytes < 1024 {
        return bytes.to_string();
    }
    let mut unit = 1_u128 << 10;
    for name in UNITS {
        let tenths = (u128::from(bytes) * 10).div_ceil(unit);
        match (tenths, tenths.div_ceil(10)) {
            (0..100, _) => return format!("{}.{}{name}", tenths / 10, tenths % 10),
            (_, whole @ 0..1024) => return format!("{whole}{name}"),
            _ => unit <<= 10,
        }
    }
    format!("{}E", bytes >> 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_utc() {
        let text = |seconds, nanoseconds| time_text(Timestamp { seconds, nanoseconds });
        assert_eq!(text(0, 0), "1970-01-01T00:00:00.000000000Z");
        assert_eq!(text(951_782_400, 5), "2000-02-29T00:00:00.000000005Z");
        assert_eq!(text(1_709_251_199, 0), "2024-02-29T23:59:59.000000000Z");
        assert_eq!(text(-1, 0), "1969-12-31T23:59:59.000000000Z");
        assert_eq!(text(4_107_542_400, 0), "2100-03-01T00:00:00.000000000Z");
        assert!((-800_000..800_000).step_by(97).all(|days| {
            let (year, month, day) = date_of(days);
            days_before(year, month, day) == days
        }));
    }

    #[test]
    fn sizes_are_rounded_up_to_two_digits_or_whole_units() {
        for (bytes, text) in [
            (0, "0"),
            (1023, "1023"),
            (1024, "1.0K"),
            (1025, "1.1K"),
            (10 << 10, "10K"),
            (1 << 20, "1.0M"),
            ((1 << 20) - 1, "1.0M"),
            (u64::MAX, "16E"),
        ] {
            assert_eq!(human_bytes(bytes), text);
        }
    }

    #[test]
    fn mode_is_told_as_ls_does() {
        let attributes = |kind, mode| Attributes {
            kind,
            mode,
            links: 1,
            uid: 0,
            gid: 0,
            size_bytes: 0,
            used_bytes: 0,
            device: vfs::Device::default(),
            fsid: 0,
            fileid: 0,
            accessed: Timestamp::default(),
            modified: Timestamp::default(),
            changed: Timestamp::default(),
            created: None,
            change: 0,
        };
        for (kind, mode, text) in [
            (FileKind::Regular, 0o644, "-rw-r--r--"),
            (FileKind::Directory, 0o1777, "drwxrwxrwt"),
            (FileKind::Regular, 0o4755, "-rwsr-xr-x"),
            (FileKind::Regular, 0o7000, "---S--S--T"),
            (FileKind::Symlink, 0o777, "lrwxrwxrwx"),
            (FileKind::Fifo, 0o2010, "p-----s---"),
        ] {
            assert_eq!(mode_text(&attributes(kind, mode)), text);
        }
    }
}
