//! The real server, in this process, with an empty directory in memory.

pub mod files;
pub mod forger;
pub mod older;
pub mod proxy;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use client::{Mount, Options, Url, Version};
use daemon::{Daemon, export_to_this_machine};
use fs_mem::{MemFs, MemOptions};
use server::Squash;

/// For how long something is waited for that must come.
const MAX_WAIT: Duration = Duration::from_secs(30);

pub const VERSIONS: [Version; 5] = [Version::V2, Version::V3, Version::V4_0, Version::V4_1, Version::V4_2];

/// A server of one export, `/files`, that everybody may write to.
pub struct Export {
    daemon: Option<Daemon>,
    address: SocketAddr,
    files: Arc<dyn vfs::FileSystem>,
    squash: Squash,
    /// The domain of owners' names.
    domain: Option<&'static str>,
    state: Option<State>,
}

/// What outlives the server.
struct State {
    dir: PathBuf,
    lease: Duration,
}

impl Export {
    pub fn start() -> Export {
        Export::start_with(memory(0o755), None, Squash::None)
    }

    /// Of a file system that the test has made.
    pub fn of(files: Arc<dyn vfs::FileSystem>) -> Export {
        Export::start_with(files, None, Squash::None)
    }

    /// That takes the superuser for nobody. Everybody may write there.
    pub fn squashing_root() -> Export {
        Export::start_with(memory(0o777), None, Squash::Root)
    }

    /// With leases and a grace period of this length, in whole seconds, and what it needs to be restarted.
    pub fn restartable(lease: Duration) -> Export {
        Export::restartable_of(memory(0o755), lease)
    }

    /// The same of a file system that the test has made.
    pub fn restartable_of(files: Arc<dyn vfs::FileSystem>, lease: Duration) -> Export {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("wharf-client-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        Export::start_with(files, Some(State { dir, lease }), Squash::None)
    }

    /// That names owners in this domain.
    pub fn naming_owners(domain: &'static str) -> Export {
        let mut export = Export::stopped(memory(0o755), None, Squash::None);
        export.domain = Some(domain);
        export.run();
        export
    }

    fn start_with(files: Arc<dyn vfs::FileSystem>, state: Option<State>, squash: Squash) -> Export {
        let mut export = Export::stopped(files, state, squash);
        export.run();
        export
    }

    fn stopped(files: Arc<dyn vfs::FileSystem>, state: Option<State>, squash: Squash) -> Export {
        let address = "127.0.0.1:0".parse().unwrap();
        Export { daemon: None, address, files, squash, domain: None, state }
    }

    fn run(&mut self) {
        let mut options = daemon::Options { listen: vec![self.address], loops: 1, ..daemon::Options::default() };
        options.domain = self.domain.map(str::to_owned);
        if let Some(State { dir, lease }) = &self.state {
            (options.state_dir, options.lease, options.grace) = (Some(dir.clone()), *lease, *lease);
        }
        let mut export = export_to_this_machine("/files", self.files.clone());
        export.rules.iter_mut().for_each(|rule| rule.options.squash = self.squash);
        let daemon = Daemon::start(options, vec![export]).unwrap();
        self.address = daemon.addresses()[0];
        self.daemon = Some(daemon);
    }

    /// Ends the server, and starts it again at the same address.
    pub fn restart(&mut self) {
        self.restart_after(Duration::ZERO);
    }

    /// The same, with nobody at the address for this long.
    pub fn restart_after(&mut self, pause: Duration) {
        self.stop();
        std::thread::sleep(pause);
        self.run();
    }

    fn stop(&mut self) {
        if let Some(daemon) = self.daemon.take() {
            daemon.shutdown(Duration::ZERO);
            daemon.wait();
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn url(&self) -> Url {
        format!("nfs://{}/files", self.address()).parse().unwrap()
    }

    pub fn options(&self, version: Version) -> Options {
        Options { version, use_privileged_port: false, ..Options::default() }
    }

    pub async fn mount(&self, version: Version) -> Mount {
        Mount::connect(&self.url(), &self.options(version)).await.unwrap()
    }
}

fn memory(root_mode: u32) -> Arc<dyn vfs::FileSystem> {
    Arc::new(MemFs::new(MemOptions { root_mode, ..MemOptions::default() }))
}

impl Drop for Export {
    fn drop(&mut self) {
        self.stop();
        if let Some(State { dir, .. }) = &self.state {
            let _ = std::fs::remove_dir_all(dir);
        }
    }
}

/// Waits for `what`, which comes soon: until something is so.
pub async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(MAX_WAIT, waiting).await.unwrap_or_else(|_| panic!("{what} never came"));
}
