//! The same mount for the calls of several users.

use std::sync::Arc;

use client_calls::Principal;

use super::{Mount, Mounted};
use crate::Credentials;

impl Mount {
    /// The mount with its own user.
    pub(crate) fn of(mounted: Arc<Mounted>) -> Mount {
        let own = Arc::clone(&mounted.users.own);
        Mount(mounted, own)
    }

    /// The same mount and caches for calls with other credentials. Files opened through it stay that user's: for reads,
    /// writes (also late ones), and reclaim after a restart of the server. The server decides whether to accept the
    /// credentials, as always with AUTH_SYS; usually it does if the mount is the superuser's.
    ///
    /// This is cheap enough to call for each operation.
    ///
    /// ```
    /// # use std::{sync::Arc, time::Duration};
    /// # use daemon::{Daemon, export_to_this_machine};
    /// # let options = fs_mem::MemOptions { root_mode: 0o777, ..fs_mem::MemOptions::default() };
    /// # let files = Arc::new(fs_mem::MemFs::new(options));
    /// # let listen = vec!["127.0.0.1:0".parse()?];
    /// # let export = export_to_this_machine("/files", files);
    /// # let server = Daemon::start(daemon::Options { listen, loops: 1, ..daemon::Options::default() }, vec![export])?;
    /// # let address = server.addresses()[0];
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// use client::{Credentials, Mount, Options, Status};
    ///
    /// // A server in this process exports `/files`; `address` is its own.
    /// let url = format!("nfs://{address}/files").parse()?;
    /// let mount = Mount::connect(&url, &Options { use_privileged_port: false, ..Options::default() }).await?;
    ///
    /// let alice = mount.acting_as(&Credentials::Sys { uid: 1000, gid: 1000, groups: vec![50] });
    /// alice.root_dir().create_dir("private", 0o700).await?;
    /// assert_eq!(mount.root_dir().metadata("private").await?.uid, 1000);
    ///
    /// let bob = mount.acting_as(&Credentials::Sys { uid: 1001, gid: 1001, groups: vec![] });
    /// let refused = bob.root_dir().create_dir("private/more", 0o755).await.unwrap_err();
    /// assert_eq!(refused.status(), Some(Status::AccessDenied));
    /// # mount.unmount().await?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # server.shutdown(Duration::from_secs(1));
    /// # server.wait();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn acting_as(&self, credentials: &Credentials) -> Mount {
        let user = match credentials {
            Credentials::Process => self.0.users.get(&credentials.resolve()),
            known => self.0.users.get(known),
        };
        Mount(Arc::clone(&self.0), user)
    }

    /// The credentials of calls; never [`Credentials::Process`].
    pub fn credentials(&self) -> &Credentials {
        self.principal().credentials()
    }

    #[doc(hidden)]
    pub fn principal(&self) -> &Arc<Principal> {
        self.1.principal()
    }
}
