use std::sync::atomic::{AtomicBool, Ordering};

/// Whether calls are made as another user than root, by an option or by a URL's parameter.
static ACTS_FOR_ANOTHER: AtomicBool = AtomicBool::new(false);

/// Whether all calls are made as root.
pub fn acts_as_root() -> bool {
    rustix::process::geteuid().is_root() && !ACTS_FOR_ANOTHER.load(Ordering::Relaxed)
}

/// Notes as which user calls are made, if a user is named.
pub(super) fn note(uid: Option<u32>) {
    if uid.is_some_and(|uid| uid != 0) {
        ACTS_FOR_ANOTHER.store(true, Ordering::Relaxed);
    }
}
