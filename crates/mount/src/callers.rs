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
    fn living_process_is_not_killed_and_one_that_is_gone_is() {
        assert!(!is_killed(std::process::id()));
        assert!(is_killed(u32::MAX));
    }
}
