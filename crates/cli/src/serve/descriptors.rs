//! How many files and sockets the process may have open, and who gets how many of them.

use daemon::Options;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::memory;

/// What the files of the server's own get at the most before connections get the rest.
const MAX_FOR_FILES: u64 = 7168;

/// Which part of the memory files may take that stay open, and how many bytes the kernel keeps in memory for one of them at
/// the most: the inode, its name, the open file.
const MEMORY_SHARE: usize = 32;
const OPEN_FILE_BYTES: usize = 2048;

/// Below this many the server says that it is short of them.
const ENOUGH: u64 = 1024;

/// What a limit of file descriptors allows. A part that is named nowhere is left for what each call opens for a moment,
/// for files with locks and for the server's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    limit: u64,
    /// The most connections.
    connections: usize,
    /// Files that stay open for the next READ or WRITE, a quarter, or fewer where there is little memory.
    open_files: usize,
    /// Files whose place is kept at hand, an eighth: a directory takes two descriptors.
    files_at_hand: usize,
}

/// Raises the soft limit of file descriptors to the hard one, and says what it allows. The soft limit is low for the
/// sake of programs that use select(2), which cannot have more than 1024; each connection takes a descriptor, and so
/// does each cached file.
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
        Budget {
            limit,
            connections: part(limit - (limit / 4 * 3).min(MAX_FOR_FILES)),
            open_files: part(limit / 4).min(in_memory),
            files_at_hand: part(limit / 8),
        }
    }

    /// How many files each of `exports` directories keeps at hand.
    pub fn files_at_hand(&self, exports: usize) -> usize {
        (self.files_at_hand / exports.max(1)).max(1)
    }

    /// Keeps the server within the budget, and says what that allows.
    pub fn apply(&self, options: &mut Options) {
        let wanted = options.limits.max_connections;
        options.limits.max_connections = wanted.min(self.connections);
        options.max_open_files = options.max_open_files.min(self.open_files);
        let (connections, cached) = (options.limits.max_connections, self.open_files);
        let allowed = format!("{} file descriptors: {connections} connections, {cached} cached open files", self.limit);
        if self.limit < ENOUGH {
            tracing::warn!("{allowed}, {} files at hand; {REMEDY}", self.files_at_hand);
        } else if connections < wanted {
            tracing::info!("{allowed}, {} files at hand; for {wanted} connections, {REMEDY}", self.files_at_hand);
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
        assert_eq!((budget.connections, budget.open_files, budget.files_at_hand(1)), (64, 64, 32));
        assert_eq!(budget.files_at_hand(4), 8);
        assert_eq!(budget.files_at_hand(1000), 1);
    }

    #[test]
    fn large_limit_allows_all_connections() {
        let mut options = Options::default();
        let connections = options.limits.max_connections;
        Budget::of(65_536, None).apply(&mut options);
        assert_eq!((options.limits.max_connections, options.max_open_files), (connections, 16_384));
        Budget::of(u64::MAX, None).apply(&mut options);
        Budget::of(1, None).apply(&mut options);
        assert_eq!((options.limits.max_connections, options.max_open_files), (1, 1));
    }

    #[test]
    fn little_memory_allows_fewer_open_files() {
        let budget = Budget::of(1 << 20, Some(64 << 20));
        assert_eq!((budget.open_files, budget.files_at_hand(1)), (1024, 131_072));
    }
}
