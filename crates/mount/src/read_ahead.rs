//! How far the kernel reads ahead on this mount: 128 KiB when it is not told, which is little for a server at a distance.

use std::fs;
use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD, StatxFlags, access, statx};

/// Where the kernel is told.
const FOLDER: &str = "/sys/class/bdi";

/// Whether the kernel can be told how far to read ahead: then [`Options::read_ahead_bytes`](crate::Options::read_ahead_bytes) counts.
/// It takes the superuser, and not in a container that must not write below `/sys`.
pub fn can_read_ahead() -> bool {
    rustix::process::geteuid().is_root() && access(FOLDER, Access::WRITE_OK).is_ok()
}

/// Tells the kernel. Where it may not be told, its own choice stays.
pub(crate) fn set(dir: &Path, bytes: u64) {
    // The mount's own server would answer a question for attributes, and this must not wait for one.
    let Ok(found) = statx(CWD, dir, AtFlags::STATX_DONT_SYNC | AtFlags::NO_AUTOMOUNT, StatxFlags::empty()) else {
        return;
    };
    let file = format!("{FOLDER}/{}:{}/read_ahead_kb", found.stx_dev_major, found.stx_dev_minor);
    if let Err(error) = fs::write(&file, (bytes / 1024).to_string()) {
        tracing::debug!(%error, file, "the kernel reads ahead as far as it likes");
    }
}
