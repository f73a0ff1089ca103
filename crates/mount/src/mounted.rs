use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, StatxFlags};
use vfs::FileSystem;

use crate::attach;
use crate::device::Device;
use crate::error::{MountError, UnmountError};
use crate::options::Options;
use crate::session::Session;
use crate::{abi, init, read_ahead};

/// How long calls in flight may take after the mount has ended, before they are abandoned.
const LAST_CALLS: Duration = Duration::from_secs(5);
/// How long a mount may be busy before that counts: even `df`, which visits all mounts, keeps it busy until its call
/// ends.
const BUSY_FOR_A_MOMENT: Duration = Duration::from_secs(2);
/// The pause between two attempts.
const BUSY_PAUSE: Duration = Duration::from_millis(50);

/// A mounted file system. Dropping this leaves it mounted for as long as the process lives.
pub struct Mounted {
    session: Arc<Session>,
    dir: PathBuf,
    /// The device number of the mount, if the system shows it.
    device: Option<(u32, u32)>,
}

/// Mounts `fs` on the directory `dir`.
///
/// ```no_run
/// use std::{path::Path, sync::Arc};
/// use fs_mem::{MemFs, MemOptions};
///
/// let fs = Arc::new(MemFs::new(MemOptions::default()));
/// let mounted = mount::mount(fs, Path::new("/mnt"), mount::Options::default())?;
/// mounted.wait();
/// # Ok::<(), mount::MountError>(())
/// ```
///
/// # Errors
/// A [`MountError`]; nothing is mounted then.
pub fn mount(fs: Arc<dyn FileSystem>, dir: &Path, options: Options) -> Result<Mounted, MountError> {
    let failed = |source| MountError::Place { dir: dir.to_owned(), source };
    let dir = fs::canonicalize(dir).map_err(failed)?;
    if !fs::metadata(&dir).map_err(failed)?.is_dir() {
        return Err(MountError::NotDirectory(dir));
    }
    let device = attach::attach(&dir, abi::kind::DIRECTORY | 0o755, &options)?;
    serve(fs, &dir, options, device).inspect_err(|_| drop(attach::detach(&dir, true)))
}

fn serve(fs: Arc<dyn FileSystem>, dir: &Path, options: Options, device: Device) -> Result<Mounted, MountError> {
    let read_ahead_bytes = options.read_ahead_bytes;
    let session = Arc::new(Session::new(fs, options, device));
    init::negotiate(&session, dir)?;
    session.start().map_err(MountError::Thread)?;
    read_ahead::set(dir, read_ahead_bytes);
    Ok(Mounted { session, dir: dir.to_owned(), device: device_of(dir) })
}

/// The device number of what is mounted on a directory, without a request to the file system.
fn device_of(dir: &Path) -> Option<(u32, u32)> {
    let flags = AtFlags::STATX_DONT_SYNC | AtFlags::NO_AUTOMOUNT;
    let shown = rustix::fs::statx(rustix::fs::CWD, dir, flags, StatxFlags::empty()).ok()?;
    Some((shown.stx_dev_major, shown.stx_dev_minor))
}

impl Mounted {
    /// The directory it is mounted on, as an absolute path.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Waits until it is unmounted, by anybody, and then briefly for calls in flight. `umount -f` ends the connection
    /// to the kernel even where it leaves a busy mount behind: that is detached here.
    pub fn wait(&self) {
        self.session.workers.wait_for_end();
        self.finish();
    }

    /// Like [`Mounted::wait`], but waits at most `time` for the unmount. Returns whether it happened.
    pub fn wait_for(&self, time: Duration) -> bool {
        let is_over = self.session.workers.ends_within(time);
        if is_over {
            self.finish();
        }
        is_over
    }

    fn finish(&self) {
        if !self.session.workers.all_end_within(LAST_CALLS) {
            tracing::warn!("dropped requests that were still in progress when {} was unmounted", self.dir.display());
        }
        if self.is_left_behind() && self.detach().is_ok() {
            tracing::warn!("{} was unmounted by force while it was busy, and is detached now", self.dir.display());
        }
    }

    /// Whether the mount is still there, without a connection. A later mount may have its directory and its number, but
    /// answers.
    fn is_left_behind(&self) -> bool {
        let is_ours = self.device.is_some() && device_of(&self.dir) == self.device;
        is_ours && fs::metadata(&self.dir).is_err_and(|error| error.kind() == ErrorKind::NotConnected)
    }

    /// Unmounts it after the kernel has written its dirty data. Retries a busy mount for two seconds, because calls
    /// in flight make it busy, too.
    ///
    /// # Errors
    /// [`UnmountError::Busy`] while files on it are open.
    pub fn unmount(&self) -> Result<(), UnmountError> {
        let end = Instant::now() + BUSY_FOR_A_MOMENT;
        loop {
            match attach::detach(&self.dir, false) {
                Err(UnmountError::Busy(_)) if Instant::now() < end => thread::sleep(BUSY_PAUSE),
                other => return other,
            }
        }
    }

    /// Detaches it from the file tree at once; open files stay usable until they are closed.
    ///
    /// # Errors
    /// The error of the system.
    pub fn detach(&self) -> Result<(), UnmountError> {
        attach::detach(&self.dir, true)
    }
}
