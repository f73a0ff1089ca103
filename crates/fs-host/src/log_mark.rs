//! The mark of a write log: an attribute of the exported directory that clients neither see nor change.
//!
//! Users can write `user.` attributes of their directories. So a server that may keeps its mark under `trusted.`, and
//! counts one under `user.` only on a directory that nobody but the server or root can write to.

use std::ffi::{CStr, OsStr};
use std::fs::read_link;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Mode, OFlags, XattrFlags};
use rustix::io::Errno;
use vfs::{Error, LogMark, Origin, Result, StoredMark};

use crate::attributes::{self, raw_stat_fd};
use crate::failure::failed;
use crate::host::HostFs;
use crate::proc_path::proc_path;
use crate::sys::{self, LockExtent, LockKind};
use crate::volume;
use crate::whereabouts::is_inside;
use crate::xattr;

const USERS: &CStr = c"user.wharf.write-log";
const TRUSTED: &CStr = c"trusted.wharf.write-log";

/// An attribute that no directory has: only who may write trusted ones is told so.
const PROBE: &CStr = c"trusted.wharf.probe";

/// The permissions of others than the owner to write, and of an access list.
const OTHERS_MAY_WRITE: u16 = 0o022;

/// What a server with a write log locks of the exported directory, before it marks it. Directories cannot be opened for
/// writing, so that no lock of another program is ever in the way of this one.
const IN_USE: LockExtent = LockExtent { start_bytes: 0x0077_6861_7266, length_bytes: 1 };

/// What is locked while another process than the server changes the mark. Both take their own lock first and look for
/// the other's then, so that at least one of them sees the other.
const CLAIMED: LockExtent = LockExtent { start_bytes: IN_USE.start_bytes + 1, length_bytes: 1 };

/// How long a server that starts waits for the end of a claim, which takes some flushes. Everybody who may read the
/// directory can lock it, and must not stop servers.
const CLAIM_PATIENCE: Duration = Duration::from_secs(10);
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

const TO_LOOK: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

impl HostFs {
    pub(crate) fn read_log_marks(&self, others: &[PathBuf]) -> Result<Vec<LogMark>> {
        self.identity.own()?;
        let root = self.volume.root();
        let own = LogMark { is_own: true, ..mark_of(root)? };
        let mut marks = vec![own];
        let mut at = rustix::io::fcntl_dupfd_cloexec(root, 0).map_err(failed)?;
        // The directories above on the same storage. The root of all is its own parent.
        while let Ok(above) = rustix::fs::openat(&at, c"..", TO_LOOK | OFlags::NOFOLLOW, Mode::empty()) {
            let mark = mark_of(above.as_fd())?;
            if mark.origin.device != self.volume.device || marks.iter().any(|known| known.origin == mark.origin) {
                break;
            }
            marks.push(mark);
            at = above;
        }
        let path = PathBuf::from(OsStr::from_bytes(proc_path(root).to_bytes()));
        let overlaps =
            |other: &Path| matches!(is_inside(other, &path), Ok(true)) || matches!(is_inside(&path, other), Ok(true));
        for other in others.iter().filter(|other| overlaps(other)) {
            let Ok(dir) = rustix::fs::openat(CWD, other, TO_LOOK, Mode::empty()) else { continue };
            let mark = LogMark { dir: other.clone(), ..mark_of(dir.as_fd())? };
            if !marks.iter().any(|known| known.origin == mark.origin) {
                marks.push(mark);
            }
        }
        Ok(marks)
    }

    pub(crate) fn write_log_mark(&self, mark: &[u8]) -> Result<()> {
        self.identity.own()?;
        let root = self.volume.root();
        // Without such locks, only the state directory and the log tell that a server runs.
        let _ = sys::set_lock(root, LockKind::Shared, IN_USE);
        self.wait_for_claim();
        match rustix::fs::fsetxattr(root, TRUSTED, mark, XattrFlags::empty()) {
            // From now on this one counts.
            Ok(()) => match rustix::fs::fremovexattr(root, USERS) {
                Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP) => {}
                Err(errno) => return Err(failed(errno)),
            },
            Err(Errno::PERM | Errno::OPNOTSUPP) => {
                rustix::fs::fsetxattr(root, USERS, mark, XattrFlags::empty()).map_err(failed)?;
            }
            Err(errno) => return Err(failed(errno)),
        }
        rustix::fs::fsync(root).map_err(failed)
    }

    /// Keeps servers from marking the directory as long as this is open, so that its mark can be changed without one.
    /// `false` if a server with a write log uses the directory, or another process has claimed the mark.
    ///
    /// # Errors
    /// When this thread cannot act as the server.
    pub fn claim_log_mark(&self) -> Result<bool> {
        self.identity.own()?;
        let root = self.volume.root();
        // Without such locks, only the state directory and the log tell that a server runs.
        let _ = sys::set_lock(root, LockKind::Shared, CLAIMED);
        Ok(!is_locked(root, IN_USE) && !is_locked(root, CLAIMED))
    }

    fn wait_for_claim(&self) {
        let (root, began) = (self.volume.root(), Instant::now());
        while is_locked(root, CLAIMED) {
            if began.elapsed() >= CLAIM_PATIENCE {
                tracing::warn!(
                    dir = %shown(&proc_path(root)).display(), waited = ?CLAIM_PATIENCE,
                    "another process keeps a lock of the exported directory, as `wharf log` does while it changes which \
                     write log the directory depends on: if lslocks shows one, end it, and start the server again"
                );
                return;
            }
            thread::sleep(BETWEEN_LOOKS);
        }
    }
}

impl Drop for HostFs {
    /// Unlocks the directory at once: a process that is being started may have a copy of the descriptor.
    fn drop(&mut self) {
        for extent in [IN_USE, CLAIMED] {
            let _ = sys::set_lock(self.volume.root(), LockKind::None, extent);
        }
    }
}

/// Whether another descriptor than this one has locked this of the directory.
fn is_locked(dir: BorrowedFd<'_>, extent: LockExtent) -> bool {
    matches!(sys::find_lock(dir, LockKind::Exclusive, extent), Ok(Some(_)))
}

/// Where a directory is.
fn shown(proc_path: &CStr) -> PathBuf {
    read_link(OsStr::from_bytes(proc_path.to_bytes())).unwrap_or_default()
}

fn mark_of(dir: BorrowedFd<'_>) -> Result<LogMark> {
    let stat = raw_stat_fd(dir).map_err(failed)?;
    let origin = Origin { device: attributes::device(&stat), fileid: stat.stx_ino, birth: volume::birth(dir, &stat) };
    let is_ours = stat.stx_uid == 0 || stat.stx_uid == rustix::process::geteuid().as_raw();
    let is_safe = is_ours && stat.stx_mode & OTHERS_MAY_WRITE == 0;
    let path = proc_path(dir);
    Ok(LogMark { dir: shown(&path), origin, is_own: false, stored: stored(&path, is_safe)? })
}

/// A mark under `user.` is newer than a trusted one, whose server would have removed it.
fn stored(dir: &CStr, is_safe: bool) -> Result<Option<StoredMark>> {
    let users = read(dir, USERS)?;
    if let Some(text) = users.as_ref().filter(|_| is_safe) {
        return Ok(Some(StoredMark { text: text.clone(), attribute: "user.wharf.write-log", is_safe }));
    }
    if let Some(text) = read(dir, TRUSTED)? {
        return Ok(Some(StoredMark { text, attribute: "trusted.wharf.write-log", is_safe: true }));
    }
    let may_trust = || matches!(rustix::fs::removexattr(dir, PROBE), Err(Errno::NODATA));
    let unsafe_mark = |text| StoredMark { text, attribute: "user.wharf.write-log", is_safe };
    Ok(users.filter(|_| !may_trust()).map(unsafe_mark))
}

fn read(dir: &CStr, name: &CStr) -> Result<Option<Vec<u8>>> {
    match xattr::read(dir, name) {
        Err(Error::NotSupported | Error::AccessDenied | Error::NotPermitted) => Ok(None),
        read => read,
    }
}
