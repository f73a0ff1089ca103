//! Directories of other servers, which are served on.

use std::sync::OnceLock;

use client::{Follow, Mount, Options, RemoteFs, Url};
use tokio::runtime::{Builder, Runtime};
use vfs::FileKind;

use crate::failure::ExportError;

/// The threads that receive from other servers, which is little work: the calls wait on the server's own threads.
const RUNTIME_THREADS: usize = 1;

/// What speaks to other servers, once there is one.
#[derive(Default)]
pub struct Remotes {
    runtime: OnceLock<Runtime>,
}

impl Remotes {
    /// Mounts the directory that `url` names. Unless the URL says `soft`, calls wait for as long as its server is away, as clients of
    /// a server that is away do.
    ///
    /// # Errors
    /// When the URL is none, its server does not answer or refuses, or there is no such directory.
    pub fn open(&self, url: &str) -> Result<RemoteFs, ExportError> {
        let url: Url = url.parse()?;
        let runtime = self.runtime()?;
        let (mount, root) = runtime.block_on(async {
            let mount = Mount::connect(&url, &Options { is_hard: true, ..Options::default() }).await?;
            let root = mount.walk(mount.path_below(), Follow::Links).await?;
            Ok::<_, client::Error>((mount, root))
        })?;
        if root.attributes.kind != FileKind::Directory {
            return Err(ExportError::NotDirectory);
        }
        Ok(RemoteFs::rooted_at(mount, &root, runtime.handle().clone()))
    }

    fn runtime(&self) -> Result<&Runtime, ExportError> {
        if let Some(runtime) = self.runtime.get() {
            return Ok(runtime);
        }
        let runtime = Builder::new_multi_thread()
            .worker_threads(RUNTIME_THREADS)
            .thread_name("wharf-remote")
            .enable_all()
            .build()
            .map_err(ExportError::Runtime)?;
        Ok(self.runtime.get_or_init(|| runtime))
    }
}
