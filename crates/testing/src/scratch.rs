//! Directories that are gone after their test.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// A temporary directory.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new() -> Scratch {
        Scratch::below(&std::env::temp_dir())
    }

    /// On a disk, where /tmp may be in memory.
    pub fn on_disk() -> Scratch {
        Scratch::below(Path::new("/var/tmp"))
    }

    fn below(parent: &Path) -> Scratch {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("wharf-test-{}-{number}", std::process::id()));
        make(&path, 0o755);
        Scratch(path)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn dir(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        make(&path, 0o755);
        path
    }

    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path
    }
}

/// Makes a directory that others may neither read nor change, as servers want it for their state. The umask of the
/// process does not count: another test may have emptied it.
pub fn private_dir(path: &Path) {
    make(path, 0o700);
}

fn make(path: &Path, mode: u32) {
    DirBuilder::new().recursive(true).mode(mode).create(path).unwrap();
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let removed = fs::remove_dir_all(&self.0);
        assert!(removed.is_ok() || thread::panicking(), "{removed:?}");
    }
}
