//! A remote file system of the real server's export, and what is done with it beside a model in memory.

pub mod script;

use std::sync::Arc;

use client::{CallerRuntime, Credentials, Mount, Options, RemoteFs, Version};

pub use crate::real::VERSIONS;

use crate::real::Export;

/// An export in memory, mounted as a file system by the superuser.
pub struct Remote {
    pub files: RemoteFs,
    pub export: Export,
    pub runtime: Arc<CallerRuntime>,
}

impl Remote {
    pub fn start(version: Version) -> Remote {
        Remote::of(version, Export::start())
    }

    pub fn of(version: Version, export: Export) -> Remote {
        let runtime = Arc::new(CallerRuntime::start().unwrap());
        let files = mount(&export, &runtime, (version, 0));
        Remote { files, export, runtime }
    }

    /// The same export once more, as another client has it.
    pub fn again_as(&self, uid: u32) -> RemoteFs {
        mount(&self.export, &self.runtime, (self.files.mount().version(), uid))
    }
}

fn mount(export: &Export, runtime: &Arc<CallerRuntime>, (version, uid): (Version, u32)) -> RemoteFs {
    let credentials = Credentials::Sys { uid, gid: uid, groups: Vec::new() };
    // Directories take several replies.
    let options = Options { credentials, readdir_bytes: 2048, ..export.options(version) };
    let mount = runtime.block_on(Mount::connect(&export.url(), &options)).unwrap();
    let root = *mount.root();
    RemoteFs::run_by_callers(mount, &root, Arc::clone(runtime))
}
