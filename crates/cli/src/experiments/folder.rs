use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process;

use crate::failure::Failure;

/// The directory of an experiment; it is removed at the end.
pub struct Folder(PathBuf);

impl Folder {
    /// Makes one below `parent`.
    ///
    /// # Errors
    /// When that cannot be done, or it is there already.
    pub fn new(parent: &Path, experiment: &str) -> Result<Folder, Failure> {
        let path = parent.join(format!("wharf-{experiment}-{}", process::id()));
        let made = DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|source| Failure::Local { path: path.clone(), source })?;
        Ok(Folder(path))
    }

    /// Where it is.
    pub fn path(&self) -> PathBuf {
        self.0.clone()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            eprintln!("wharf: {} is left behind: {error}", self.0.display());
        }
    }
}
