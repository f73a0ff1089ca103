//! Distributes file descriptors among files, connections and requests.

use daemon::Options;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::memory;

/// The maximum for the server's own files; connections get the rest.
const MAX_FOR_FILES: u64 = 7168;

/// The share of memory for cached open files, and for files at hand, and the maximum memory of the kernel for each of
/// them: inode, name and open file.
const MEMORY_SHARE: usize = 32;
const OPEN_FILE_BYTES: usize = 2048;

/// The most files that stay open for their next lock: the state's mutex is held while all are closed.
const MAX_UNLOCKED_FILES: usize = 256;

/// Below this limit the server warns.
const ENOUGH: u64 = 1024;

/// The budget for a limit of file descriptors. The remainder is for files opened during a request and for the server's
/// own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    limit: u64,
    /// The most connections.
    connections: usize,
    /// Cached open files for READ and WRITE: an eighth, or fewer if memory is small.
    open_files: usize,
    /// Cached open files beyond `open_files`, while few connections are open: at most three quarters of the descriptors
    /// of connections.
    beside_connections: usize,
    /// Files kept at hand: an eighth, because a directory takes two descriptors, or fewer if memory is small.
    files_at_hand: usize,
    /// Files with locks: an eighth. Each keeps its descriptor until it is unlocked.
    locked_files: usize,
    /// Leases under which files are delegated: a sixteenth.
    leases: usize,
    /// Files with clients' state, held for the time after their last name is removed: an eighth.
    held_files: usize,
    /// Files that stay open for their next lock: a 64th, or fewer.
    unlocked_files: usize,
    /// The most threads that wait for storage: together they use a quarter.
    blocking_threads: usize,
}

/// The descriptors that a request needs while it is carried out: the file, its directory, and what is flushed.
const PER_REQUEST: u64 = 4;

/// The share of blocking threads that stays spare for other exports when there are few.
const SPARE_SHARE: usize = 4;

/// Raises the soft limit of file descriptors to the hard one, and returns the budget. The soft limit is low because of
/// programs with select(2), which cannot use more than 1024. Each connection and each cached file takes a descriptor.
pub fn raise_limit() -> Budget {
    let limits = getrlimit(Resource::Nofile);
    let limit = if limits.current == limits.maximum { limits.current } else { raised(limits) };
    Budget::of(limit.unwrap_or(u64::MAX), memory::available())
}

/// The soft limit after an attempt to raise it.
fn raised(Rlimit { current, maximum }: Rlimit) -> Option<u64> {
    match setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        Ok(()) => {
            tracing::debug!(before = ?current, now = ?maximum, "raised the limit of file descriptors");
            maximum
        }
        Err(error) => {
            tracing::warn!(?current, ?maximum, %error, "cannot raise the limit of file descriptors");
            current
        }
    }
}

impl Budget {
    fn of(limit: u64, memory_bytes: Option<usize>) -> Budget {
        let part = |count: u64| usize::try_from(count).unwrap_or(usize::MAX).max(1);
        let in_memory = memory_bytes.map_or(usize::MAX, |bytes| (bytes / MEMORY_SHARE / OPEN_FILE_BYTES).max(1));
        let connections = part(limit - (limit / 4 * 3).min(MAX_FOR_FILES));
        let open_files = part(limit / 8).min(in_memory);
        Budget {
            limit,
            connections,
            open_files,
            beside_connections: (connections / 4 * 3).min(in_memory - open_files),
            files_at_hand: part(limit / 8).min(in_memory),
            locked_files: part(limit / 8),
            leases: part(limit / 16),
            held_files: part(limit / 8),
            unlocked_files: part(limit / 64).min(MAX_UNLOCKED_FILES),
            blocking_threads: part(limit / 4 / PER_REQUEST),
        }
    }

    /// The number of files at hand for each of `exports` directories.
    pub fn files_at_hand(&self, exports: usize) -> usize {
        (self.files_at_hand / exports.max(1)).max(1)
    }

    /// The descriptors that event loops and their sockets may take: a quarter.
    pub fn for_loops(&self) -> u64 {
        self.limit / 4
    }

    /// Applies the budget to the options, and says what it allows.
    pub fn apply(&self, options: &mut Options) -> Allowance {
        let wanted = options.limits.max_connections;
        options.limits.max_connections = wanted.min(self.connections);
        options.max_open_files = options.max_open_files.min(self.open_files);
        options.open_files_beside_connections = self.beside_connections;
        options.max_unlocked_files = self.unlocked_files;
        options.max_locked_files = self.locked_files;
        options.max_leases = options.max_leases.min(self.leases);
        options.max_held_files = options.max_held_files.min(self.held_files);
        if self.blocking_threads < options.limits.blocking_threads {
            options.limits.blocking_threads = self.blocking_threads;
            let spare = self.blocking_threads / SPARE_SHARE;
            options.limits.spare_blocking_threads = options.limits.spare_blocking_threads.min(spare);
        }
        let (connections, cached) = (options.limits.max_connections, self.open_files);
        let most = cached + self.beside_connections;
        let allowed =
            format!("{} file descriptors: {connections} connections, {cached} to {most} cached open files", self.limit);
        if self.limit < ENOUGH {
            let threads = options.limits.blocking_threads;
            let files = self.files_at_hand;
            Allowance::Little(format!("{allowed}, {files} files at hand, {threads} blocking threads; {REMEDY}"))
        } else if connections < wanted {
            let files = self.files_at_hand;
            Allowance::LessThanWanted(format!("{allowed}, {files} files at hand; for {wanted} connections, {REMEDY}"))
        } else {
            Allowance::Enough
        }
    }
}

/// What a limit of descriptors allows.
pub enum Allowance {
    Enough,
    LessThanWanted(String),
    Little(String),
}

impl Allowance {
    /// Logs what is less than enough.
    pub fn log(&self) {
        match self {
            Allowance::Enough => {}
            Allowance::LessThanWanted(text) => tracing::info!("{text}"),
            Allowance::Little(text) => tracing::warn!("{text}"),
        }
    }
}

const REMEDY: &str = "raise the hard limit (ulimit -Hn, or LimitNOFILE= of the systemd service)";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_limit_is_shared_out_and_a_quarter_is_left() {
        let budget = Budget::of(256, None);
        assert_eq!((budget.connections, budget.open_files, budget.files_at_hand(1)), (64, 32, 32));
        assert_eq!((budget.beside_connections, budget.locked_files), (48, 32));
        assert_eq!(budget.files_at_hand(4), 8);
        assert_eq!(budget.files_at_hand(1000), 1);
    }

    #[test]
    fn threads_that_wait_for_storage_fit_into_a_quarter() {
        let mut options = Options::default();
        let default = options.limits.blocking_threads;
        Budget::of(1024, None).apply(&mut options);
        assert_eq!(options.limits.blocking_threads, default.min(64));
        Budget::of(256, None).apply(&mut options);
        assert_eq!((options.limits.blocking_threads, options.limits.spare_blocking_threads), (16, 4));
    }

    #[test]
    fn large_limit_allows_all_connections() {
        let mut options = Options::default();
        let connections = options.limits.max_connections;
        Budget::of(65_536, None).apply(&mut options);
        assert_eq!((options.limits.max_connections, options.max_open_files), (connections, 8_192));
        Budget::of(u64::MAX, None).apply(&mut options);
        Budget::of(1, None).apply(&mut options);
        assert_eq!((options.limits.max_connections, options.max_open_files), (1, 1));
        assert_eq!((options.limits.blocking_threads, options.limits.spare_blocking_threads), (1, 0));
    }

    #[test]
    fn little_memory_allows_fewer_open_files_and_files_at_hand() {
        let budget = Budget::of(1 << 20, Some(64 << 20));
        assert_eq!((budget.open_files, budget.files_at_hand(1)), (1024, 1024));
        assert_eq!(budget.beside_connections, 0);
    }
}
