//! A mount of a file system on a directory of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use mount::{Mounted, Options};
use vfs::FileSystem;

/// Long enough for a machine that is busy with other things.
pub const LONG: Duration = Duration::from_secs(60);

/// A mount that goes when it is dropped.
pub struct Site {
    pub mounted: Mounted,
    dir: PathBuf,
}

impl Site {
    /// Mounts, or says that this cannot be done here and gives `None`.
    pub fn new(fs: Arc<dyn FileSystem>, options: Options) -> Option<Site> {
        static LAST: AtomicU32 = AtomicU32::new(0);
        if !is_root() || fs::OpenOptions::new().read(true).write(true).open("/dev/fuse").is_err() {
            println!("skipped: this is not root with a /dev/fuse that can be opened");
            return None;
        }
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("wharf-mount-{}-{number}", std::process::id()));
        fs::create_dir(&dir).unwrap();
        match mount::mount(fs, &dir, options) {
            Ok(mounted) => Some(Site { mounted, dir }),
            Err(error) => {
                fs::remove_dir(&dir).unwrap();
                println!("skipped: {error}");
                None
            }
        }
    }

    /// A path on the mount.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Where it is mounted.
    pub fn dir(&self) -> &Path {
        &self.dir
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = self.mounted.detach();
        let _ = fs::remove_dir(&self.dir);
    }
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0)
}
