//! How many files and sockets the process may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit of file descriptors to the hard one. The soft limit is low for the sake of programs that use
/// select(2), which cannot have more than 1024; each connection takes a descriptor, and so does each cached file.
pub fn raise_limit() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current == maximum {
        return;
    }
    match setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        Ok(()) => tracing::debug!(before = ?current, now = ?maximum, "raised the limit of file descriptors"),
        Err(error) => tracing::warn!(?current, ?maximum, %error, "cannot raise the limit of file descriptors"),
    }
}
