//! The kernel's read-ahead for this mount: 128 KiB by default, which is little for a distant server.

use std::fs;
use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD, StatxFlags, access, statx};

/// Where the read-ahead is set.
const FOLDER: &str = "/sys/class/bdi";

/// Whether the read-ahead can be set, so that [`Options::read_ahead_bytes`](crate::Options::read_ahead_bytes) takes
/// effect. It requires the superuser, and write access below `/sys`, which containers may lack.
pub fn can_read_ahead() -> bool {
    rustix::process::geteuid().is_root() && access(FOLDER, Access::WRITE_OK).is_ok()
}

/// Sets the read-ahead. Without permission, the kernel's default stays.
pub(crate) fn set(dir: &Path, bytes: u64) {
    // The mount's own server would have to answer a request for attributes, and this must not wait for one.
    let Ok(found) = statx(CWD, dir, AtFlags::STATX_DONT_SYNC | AtFlags::NO_AUTOMOUNT, StatxFlags::empty()) else {
        return;
    };
    let file = format!("{FOLDER}/{}:{}/read_ahead_kb", found.stx_dev_major, found.stx_dev_minor);
    if let Err(error) = fs::write(&file, (bytes / 1024).to_string()) {
        tracing::debug!(%error, file, "cannot set the kernel's read-ahead");
    }
}
