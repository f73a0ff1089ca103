//! Finds the process that holds a file's lock.

use std::fs;
use std::path::Path;

use rustix::fs::{major, minor, stat};

/// Returns the process that holds the lock (flock(2)) of a file, if `/proc/locks` shows it.
pub(crate) fn holder(path: &Path) -> Option<u32> {
    let stat = stat(path).ok()?;
    let file = format!("{:02x}:{:02x}:{}", major(stat.st_dev), minor(stat.st_dev), stat.st_ino);
    find(&fs::read_to_string("/proc/locks").ok()?, &file)
}

/// A line is `1: FLOCK  ADVISORY  WRITE 708 fd:00:1234 0 EOF`; a waiting process has `->` behind the number.
fn find(locks: &str, file: &str) -> Option<u32> {
    let lines = locks.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let mut holders = lines.filter_map(|words| match words[..] {
        [_, "FLOCK", _, _, process, locked, ..] if locked == file => process.parse().ok(),
        _ => None,
    });
    holders.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holder_is_who_has_the_lock_and_not_who_waits_for_it() {
        let locks = "1: POSIX  ADVISORY  WRITE 11 fd:00:7 0 EOF\n\
                     2: FLOCK  ADVISORY  WRITE 12 fd:00:8 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 13 fd:00:8 0 EOF\n\
                     3: FLOCK  ADVISORY  WRITE 14 fd:00:7 0 EOF\n";
        assert_eq!(find(locks, "fd:00:7"), Some(14));
        assert_eq!(find(locks, "fd:00:8"), Some(12));
        assert_eq!(find(locks, "fd:00:9"), None);
    }
}
