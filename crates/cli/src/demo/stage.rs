use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, process, thread};

use crate::failure::Failure;

/// A temporary directory for the demonstration, removed at its end.
pub struct Stage(PathBuf);

/// How often the removal is tried: interrupted tasks may still create files.
const REMOVE_ATTEMPTS: usize = 20;
const REMOVE_PAUSE: Duration = Duration::from_millis(50);

impl Stage {
    /// Creates the directory.
    ///
    /// # Errors
    /// When it cannot be created, or exists.
    pub fn new() -> Result<Stage, Failure> {
        let path = env::temp_dir().join(format!("wharf-demo-{}", process::id()));
        let made = fs::DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|source| Failure::Local { path: path.clone(), source })?;
        Ok(Stage(path))
    }

    /// A path in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Removes it.
    ///
    /// # Errors
    /// When some of it cannot be removed.
    pub fn clean_up(self) -> Result<(), Failure> {
        remove(&self.0).map_err(|source| Failure::Local { path: self.0.clone(), source })
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Err(error) = remove(&self.0) {
            eprintln!("wharf: {} is left behind: {error}", self.0.display());
        }
    }
}

fn remove(path: &Path) -> io::Result<()> {
    let mut result = Ok(());
    for _ in 0..REMOVE_ATTEMPTS {
        result = fs::remove_dir_all(path);
        match &result {
            Ok(()) => break,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(_) => thread::sleep(REMOVE_PAUSE),
        }
    }
    result
}
