//! Mounts directories of other servers, for re-export.

use std::sync::OnceLock;
use std::time::Duration;

use client::{Follow, Mount, Options, RemoteFs, Url};
use tokio::runtime::{Builder, Runtime};
use vfs::FileKind;

use crate::failure::ExportError;

/// The threads that receive from other servers. This is little work: requests wait on the server's own threads.
const RUNTIME_THREADS: usize = 1;

/// How long a start or a reload waits for another server.
const PATIENCE: Duration = Duration::from_secs(30);

/// The runtime of the client, once it is started.
#[derive(Default)]
pub struct Remotes {
    runtime: OnceLock<Runtime>,
}

impl Remotes {
    /// Mounts the directory at `url`, whose server must answer within [`PATIENCE`]. Afterwards, unless the URL says
    /// `soft`, requests wait as long as it is unreachable, like those of any client.
    ///
    /// # Errors
    /// When the URL is wrong, its server does not answer or refuses, or there is no such directory.
    pub fn open(&self, url: &str) -> Result<RemoteFs, ExportError> {
        let url: Url = url.parse()?;
        let runtime = self.runtime()?;
        let mounting = async {
            let mount = Mount::connect(&url, &Options { is_hard: true, ..Options::default() }).await?;
            let root = mount.walk(mount.path_below(), Follow::Links).await?;
            Ok::<_, client::Error>((mount, root))
        };
        let mounted = runtime.block_on(async { tokio::time::timeout(PATIENCE, mounting).await });
        let (mount, root) = mounted.map_err(|_| ExportError::NoAnswer { seconds: PATIENCE.as_secs() })??;
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
