//! Finds the supplementary groups of callers: the kernel sends only user and group, but servers need all.

use std::collections::HashMap;
use std::fs;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use vfs::Caller;

use crate::arguments::Request;
use crate::sync::hold;

/// How long the groups of a process are cached: a process changes its own before it starts to work.
const BELIEVED: Duration = Duration::from_secs(1);
/// The most processes whose groups are cached.
const MAX_PROCESSES: usize = 1024;
/// SIGKILL in a set of signals, as `/proc` shows it.
const KILL_BIT: u64 = 1 << (9 - 1);
/// The kernel's flag of a thread that ends (`PF_EXITING`).
const ENDING: u64 = 0x4;
/// The part of an exit status that is the signal (wait(2)).
const SIGNAL_MASK: u64 = 0x7f;

/// A user with all groups.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    uid: u32,
    gid: u32,
    groups: Arc<[u32]>,
}

impl Identity {
    /// The identity in the file system's form.
    pub(crate) fn caller(&self) -> Caller<'_> {
        Caller { uid: self.uid, gid: self.gid, groups: &self.groups }
    }
}

type Known = HashMap<(u32, u32, u32), (Instant, Arc<[u32]>)>;

/// The groups of recent callers.
#[derive(Debug, Default)]
pub(crate) struct Callers(Mutex<Known>);

impl Callers {
    /// The identity of a request's sender.
    pub(crate) fn identity(&self, request: &Request<'_>) -> Identity {
        let Request { uid, gid, pid, .. } = *request;
        // Groups give the superuser no further rights, and those of a process in another name space are unknown.
        let groups = if uid == 0 || pid == 0 { Arc::default() } else { self.groups(pid, uid, gid) };
        Identity { uid, gid, groups }
    }

    fn groups(&self, pid: u32, uid: u32, gid: u32) -> Arc<[u32]> {
        let now = Instant::now();
        let key = (pid, uid, gid);
        if let Some((_, groups)) = hold(&self.0).get(&key).filter(|(since, _)| now - *since < BELIEVED) {
            return Arc::clone(groups);
        }
        let groups: Arc<[u32]> = status(pid).map(|status| parse_groups(&status)).unwrap_or_default().into();
        let mut known = hold(&self.0);
        if known.len() >= MAX_PROCESSES {
            known.clear();
        }
        known.insert(key, (now, Arc::clone(&groups)));
        groups
    }
}

/// Whether a thread was killed and only waits for its system call to end. A thread that cannot be seen counts as
/// killed, because nobody misses its reply.
pub(crate) fn is_killed(pid: u32) -> bool {
    pid == 0 || status(pid).is_none_or(|status| is_kill_pending(&status))
}

/// Whether a thread was killed and only waits for the kernel to close its files. A thread that cannot be seen does not
/// count: it may be one that lives in another namespace.
pub(crate) fn ends_by_signal(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| ends_killed(&stat))
}

fn status(pid: u32) -> Option<String> {
    fs::read_to_string(format!("/proc/{pid}/status")).ok()
}

fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(name))
}

fn parse_groups(status: &str) -> Vec<u32> {
    let words = field(status, "Groups:").unwrap_or_default().split_ascii_whitespace();
    words.filter_map(|word| word.parse().ok()).collect()
}

/// Any fatal signal becomes a SIGKILL for each thread of its process.
fn is_kill_pending(status: &str) -> bool {
    let pending = field(status, "SigPnd:").map(str::trim).and_then(|set| u64::from_str_radix(set, 16).ok());
    pending.is_some_and(|set| set & KILL_BIT != 0)
}

/// Whether a thread ends because of a signal (proc(5), `stat`). One that exits by itself waits for its files to be
/// closed, because its parent may read them next.
fn ends_killed(stat: &str) -> bool {
    // The name in front may have spaces and parentheses.
    let Some((_, fields)) = stat.rsplit_once(") ") else { return false };
    let field = |number: usize| fields.split_ascii_whitespace().nth(number - 3)?.parse::<u64>().ok();
    let ends = field(9).is_some_and(|flags| flags & ENDING != 0);
    ends && field(52).is_some_and(|status| status & SIGNAL_MASK != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = "Name:\tx\nGroups:\t4 20 1000 \nSigPnd:\t0000000000000100\nShdPnd:\t0000000000000002\n";

    #[test]
    fn groups_and_death_are_read_from_what_the_kernel_shows() {
        assert_eq!(parse_groups(STATUS), [4, 20, 1000]);
        assert!(is_kill_pending(STATUS));
        assert!(!is_kill_pending("SigPnd:\t0000000000002000\n"));
    }

    #[test]
    fn thread_that_ends_by_a_signal_is_told_from_one_that_exits_or_lives() {
        let stat =
            |flags: u64, status: u32| format!("7 (a) b) D 1 7 7 0 -1 {flags} {}{status}\n", "0 ".repeat(52 - 10));
        assert!(ends_killed(&stat(0x40_0104, 15)) && ends_killed(&stat(0x4, 0x89)));
        assert!(!ends_killed(&stat(0x4, 0)) && !ends_killed(&stat(0x4, 1 << 8)), "it exits by itself");
        assert!(!ends_killed(&stat(0x40_0100, 9)) && !ends_killed("7 (a)"));
        assert!(!ends_killed(&fs::read_to_string("/proc/self/stat").unwrap()));
    }

    #[test]
    fn living_process_is_not_killed_and_one_that_is_gone_is() {
        assert!(!is_killed(std::process::id()));
        assert!(is_killed(u32::MAX));
    }
}
