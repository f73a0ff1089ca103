//! The memory available to this process.

use std::fs;

use rustix::process::{Resource, getrlimit};

/// The memory of this machine, or a lower limit of the process (`ulimit -v`) or its container, in bytes. `None` if
/// unknown.
pub fn available() -> Option<usize> {
    let of_process = getrlimit(Resource::As).current;
    let of_group = fs::read_to_string("/proc/self/cgroup").ok().and_then(|groups| group_limit(&groups));
    let of_machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| total(&text));
    let least = [of_process, of_group, of_machine].into_iter().flatten().min()?;
    Some(usize::try_from(least).unwrap_or(usize::MAX))
}

/// The limit of the control group of a service or container, in bytes: its line begins with `0::` (cgroups(7)). The
/// word `max` means no limit.
fn group_limit(groups: &str) -> Option<u64> {
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let limit = fs::read_to_string(format!("/sys/fs/cgroup{}/memory.max", group.trim_end_matches('/'))).ok()?;
    limit.trim().parse().ok()
}

/// Reads the machine's memory from `/proc/meminfo`, in bytes.
fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib.saturating_mul(1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_the_machine_is_read() {
        assert_eq!(total("MemTotal:        8000000 kB\nMemFree: 1 kB\n"), Some(8_192_000_000));
        assert_eq!(total("MemFree: 1 kB\n"), None);
    }
}
