//! A directory of this machine to serve.

use std::path::PathBuf;
use std::sync::Arc;

use fs_host::{HandleForm, HostFs, HostOptions};

use super::WORKERS;
use crate::Scratch;

/// A directory that is removed at the end, and beside it one for the handles.
pub struct Directory(Scratch);

impl Directory {
    pub fn new() -> Directory {
        let base = Scratch::new();
        base.dir("export");
        Directory(base)
    }

    pub fn export(&self) -> PathBuf {
        self.0.path("export")
    }

    /// A place beside the exported directory.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.0.path(name)
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
