//! Files that nobody can change, not even root.

use std::fs::File;
use std::path::{Path, PathBuf};

use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};

/// A file or directory that is immutable while this lives.
pub struct Immutable(PathBuf);

impl Immutable {
    /// `None`, with a word on the terminal, where that takes privileges or another file system.
    pub fn make(path: &Path) -> Option<Immutable> {
        let file = File::open(path).unwrap();
        let made = ioctl_getflags(&file).and_then(|flags| ioctl_setflags(&file, flags | IFlags::IMMUTABLE));
        if let Err(error) = made {
            println!("skipped: {} cannot be made immutable: {error}", path.display());
            return None;
        }
        Some(Immutable(path.to_owned()))
    }
}

impl Drop for Immutable {
    fn drop(&mut self) {
        let file = File::open(&self.0).unwrap();
        let flags = ioctl_getflags(&file).unwrap();
        ioctl_setflags(&file, flags - IFlags::IMMUTABLE).unwrap();
    }
}
