//! A directory of this machine to serve.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use fs_host::{HandleForm, HostFs, HostOptions};

use super::WORKERS;

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A directory that is removed at the end, and beside it one for the handles.
pub struct Directory(PathBuf);

impl Directory {
    pub fn new() -> Directory {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let base = std::env::temp_dir().join(format!("wharf-server-{}-{number}", std::process::id()));
        std::fs::create_dir_all(base.join("export")).unwrap();
        Directory(base)
    }

    pub fn export(&self) -> PathBuf {
        self.0.join("export")
    }

    /// A place beside the exported directory.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The file system, with handles that need no privileges; what it syncs is not what these tests are about.
    pub fn open(&self) -> Arc<HostFs> {
        let options = HostOptions {
            handle_form: HandleForm::Store,
            state_dir: Some(self.beside("state")),
            workers: WORKERS,
            sync_metadata: false,
            ..HostOptions::default()
        };
        Arc::new(HostFs::open(&self.export(), options).unwrap())
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
