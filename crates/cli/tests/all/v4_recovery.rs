//! The client of NFSv4 over a server that is killed and comes back.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use client::{File, LockKind, Mount, OpenOptions, Options, Reason, Status, Version};
use rustix::process::Signal;
use vfs::{CreateMode, SetAttributes, Stability};

use testing::program::Server;
use testing::program::deaf::Deaf;
use testing::{Scratch, wait_until};

/// How long a lease lasts here: short, so that a server which waits for lost clients does not wait long.
const LEASE: &str = "2s";
const VERSIONS: [Version; 3] = [Version::V4_0, Version::V4_1, Version::V4_2];

struct Site {
    scratch: Scratch,
    export: String,
    server: Option<Server>,
    port: u16,
}

impl Site {
    fn new() -> Site {
        let scratch = Scratch::new();
        let export = scratch.dir("export").to_str().unwrap().to_owned();
        let mut site = Site { scratch, export, server: None, port: 0 };
        site.start(&[]);
        site
    }

    fn start(&mut self, faults: &[&str]) {
        let (listen, state) = (format!("127.0.0.1:{}", self.port), self.scratch.path("state"));
        let options = [
            "--listen",
            &listen,
            "--no-root-squash",
            "--lease",
            LEASE,
            "--grace",
            LEASE,
            "--state-dir",
            state.to_str().unwrap(),
        ];
        let server = Server::with_addresses(1, &[&options, faults, &[self.export.as_str()]].concat());
        self.port = server.port();
        self.server = Some(server);
    }

    fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    fn kill_and_restart(&mut self) {
        self.restart_with(&[]);
    }

    /// Kills the server and starts it with `faults`.
    fn restart_with(&mut self, faults: &[&str]) {
        let mut server = self.server.take().unwrap();
        server.signal(Signal::KILL);
        server.wait();
        drop(server);
        self.start(faults);
    }

    async fn mount(&self, version: Version) -> Mount {
        self.mount_at(self.port, version).await
    }

    async fn mount_at(&self, port: u16, version: Version) -> Mount {
        let url = format!("nfs://127.0.0.1:{port}{}", Path::new(&self.export).display());
        let options = Options { version, is_hard: true, ..Options::default() };
        Mount::connect(&url.parse().unwrap(), &options).await.unwrap()
    }
}

async fn open(mount: &Mount, options: OpenOptions) -> File {
    let set = SetAttributes { mode: Some(0o644), ..SetAttributes::default() };
    mount.open(&mount.root().handle, b"file", &options.creating(CreateMode::Unchecked, set)).await.unwrap()
}

#[tokio::test]
async fn opens_and_locks_are_held_over_a_killed_server() {
    for version in VERSIONS {
        let mut site = Site::new();
        let mount = site.mount(version).await;
        let alone = OpenOptions { denies_writes: true, ..OpenOptions::both() };
        let file = open(&mount, alone).await;
        file.lock(LockKind::Exclusive, 0, 100).await.unwrap();
        file.lock(LockKind::Shared, 200, 100).await.unwrap();
        file.write(0, "before".into(), Stability::File).await.unwrap();

        site.kill_and_restart();
        assert_eq!(file.read(0, 100).await.unwrap().bytes.as_ref(), b"before", "{version}");
        file.write(6, " and after".into(), Stability::File).await.unwrap();

        let other = site.mount(version).await;
        let refused = other.open(&other.root().handle, b"file", &OpenOptions::write()).await.unwrap_err();
        assert_eq!(refused.status(), Some(Status::ShareDenied), "{version}");
        let reader = other.open(&other.root().handle, b"file", &OpenOptions::read()).await.unwrap();
        let refused = reader.try_lock(LockKind::Shared, 50, 1).await.unwrap_err();
        assert!(matches!(refused.reason(), Reason::Locked { offset: 0, length: 100, .. }), "{version}: {refused}");
        reader.try_lock(LockKind::Shared, 250, 1).await.unwrap();
        file.unlock(0, 100).await.unwrap();
        reader.try_lock(LockKind::Shared, 50, 1).await.unwrap();
        file.close().await.unwrap();
        reader.close().await.unwrap();
    }
}

#[tokio::test]
async fn names_are_changed_once_over_a_killed_server() {
    let mut site = Site::new();
    let mount = site.mount(Version::V4_1).await;
    let root = mount.root().handle;
    mount.mkdir(&root, b"before", &SetAttributes::default()).await.unwrap();
    site.kill_and_restart();
    mount.rename(&root, b"before", &root, b"after").await.unwrap();
    assert_eq!(mount.lookup(&root, b"before").await.unwrap_err().status(), Some(Status::NoEntry));
    mount.rmdir(&root, b"after").await.unwrap();
    mount.unmount().await.unwrap();
}

/// The operations that fail when they are carried out twice, each on names that begin with `prefix`. All succeed.
async fn change_names(mount: &Mount, prefix: &str) -> Result<(), client::Error> {
    let (root, set) = (mount.root().handle, SetAttributes::default());
    let name = |name: &str| format!("{prefix}-{name}").into_bytes();
    let (file, link, directory, moved) = (name("file"), name("link"), name("directory"), name("moved"));
    let made = mount.create(&root, &file, CreateMode::Guarded, &set).await?;
    mount.link(&made.handle, &root, &link).await?;
    mount.mkdir(&root, &directory, &set).await?;
    mount.symlink(&root, &name("symlink"), b"target", &set).await?;
    mount.rename(&root, &directory, &root, &moved).await?;
    mount.remove(&root, &name("symlink")).await?;
    mount.remove(&root, &file).await?;
    mount.remove(&root, &link).await?;
    mount.rmdir(&root, &moved).await
}

/// Requests on several slots are answered, and the replies are lost with the server.
#[tokio::test(flavor = "multi_thread")]
async fn names_are_changed_once_when_the_replies_are_lost_with_the_server() {
    for version in [Version::V3, Version::V4_1, Version::V4_2] {
        let mut site = Site::new();
        let wire = Deaf::start(site.address());
        let mount = Arc::new(site.mount_at(wire.address.port(), version).await);
        let (root, set) = (mount.root().handle, SetAttributes::default());
        for name in [&b"removed"[..], b"moved"] {
            mount.mkdir(&root, name, &set).await.unwrap();
        }
        let linked = mount.create(&root, b"linked", CreateMode::Guarded, &set).await.unwrap().handle;
        wire.set(true);
        let mounts = [(); 5].map(|()| Arc::clone(&mount));
        let [making, removing, moving, linking, creating] = mounts;
        let attempts = [
            tokio::spawn(async move { making.mkdir(&root, b"made", &set).await.map(drop) }),
            tokio::spawn(async move { removing.rmdir(&root, b"removed").await }),
            tokio::spawn(async move { moving.rename(&root, b"moved", &root, b"there").await }),
            tokio::spawn(async move { linking.link(&linked, &root, b"link").await }),
            tokio::spawn(async move { creating.create(&root, b"file", CreateMode::Guarded, &set).await.map(drop) }),
        ];
        tokio::task::block_in_place(|| wait_until("all calls are lost", || wire.lost() >= attempts.len()));
        wire.set(false);
        site.kill_and_restart();
        for (number, attempt) in attempts.into_iter().enumerate() {
            attempt.await.unwrap().unwrap_or_else(|error| panic!("{version}, {number}: {error}"));
        }
        let mut names: Vec<_> =
            std::fs::read_dir(&site.export).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["file", "link", "linked", "made", "there"], "{version}");
    }
}

/// Wherever in an operation the server is killed. `WHARF_KILLS=100` sets how often.
#[tokio::test(flavor = "multi_thread")]
async fn names_are_changed_once_wherever_the_server_is_killed() {
    let kills = std::env::var("WHARF_KILLS").map_or(5, |text| text.parse().unwrap());
    for version in [Version::V3, Version::V4_1, Version::V4_2] {
        let mut site = Site::new();
        let mount = Arc::new(site.mount(version).await);
        let is_over = Arc::new(AtomicBool::new(false));
        let work = |worker: usize| {
            let (mount, is_over) = (Arc::clone(&mount), Arc::clone(&is_over));
            tokio::spawn(async move {
                for round in 0.. {
                    if is_over.load(Ordering::Relaxed) {
                        return round;
                    }
                    let done = change_names(&mount, &format!("{worker}-{round}")).await;
                    done.unwrap_or_else(|error| panic!("{version}, worker {worker}, round {round}: {error}"));
                }
                0
            })
        };
        let workers: Vec<_> = (0..4).map(work).collect();
        for kill in 0..kills {
            tokio::time::sleep(Duration::from_micros(40_000 + 7_919 * (kill % 13))).await;
            tokio::task::block_in_place(|| site.kill_and_restart());
        }
        is_over.store(true, Ordering::Relaxed);
        let mut rounds = 0;
        for worker in workers {
            rounds += worker.await.unwrap();
        }
        println!("{version}: {rounds} rounds of 9 changes over {kills} kills");
        assert!(std::fs::read_dir(&site.export).unwrap().next().is_none(), "{version}: names are left");
    }
}

#[tokio::test]
async fn lease_is_renewed_while_nothing_is_called() {
    for version in VERSIONS {
        let site = Site::new();
        let (mine, yours) = (site.mount(version).await, site.mount(version).await);
        let held = open(&mine, OpenOptions::both()).await;
        held.lock(LockKind::Exclusive, 0, 10).await.unwrap();
        tokio::time::sleep(Duration::from_secs(5)).await;
        let other = open(&yours, OpenOptions::both()).await;
        let refused = other.try_lock(LockKind::Exclusive, 0, 10).await.unwrap_err();
        assert!(matches!(refused.reason(), Reason::Locked { .. }), "{version}: {refused}");
    }
}

/// How many of several clients made the directory, while the server was killed and started again.
async fn winners(site: &mut Site, mounts: &[Arc<Mount>], (name, kill_after): (String, Duration)) -> usize {
    let attempts: Vec<_> = mounts
        .iter()
        .map(|mount| {
            let (mount, name) = (mount.clone(), name.clone());
            tokio::spawn(async move {
                let root = mount.root().handle;
                mount.mkdir(&root, name.as_bytes(), &SetAttributes::default()).await.map(drop)
            })
        })
        .collect();
    std::thread::sleep(kill_after);
    site.kill_and_restart();
    let mut winners = 0;
    for attempt in attempts {
        match attempt.await.unwrap() {
            Ok(()) => winners += 1,
            Err(error) => assert_eq!(error.status(), Some(Status::Exists), "{name}: {error}"),
        }
    }
    winners
}

#[tokio::test(flavor = "multi_thread")]
async fn lock_directory_has_one_holder_when_the_server_is_killed_meanwhile() {
    for version in [Version::V3, Version::V4_0, Version::V4_1] {
        let mut site = Site::new();
        let mounts = [site.mount(version).await, site.mount(version).await, site.mount(version).await].map(Arc::new);
        for round in 0..8 {
            let kill_after = Duration::from_micros(round * 300);
            let winners = winners(&mut site, &mounts, (format!("lock-{round}"), kill_after)).await;
            assert!(winners <= 1, "{version}, round {round}: {winners} holders");
            println!("{version}, round {round}: {winners}");
        }
    }
}

/// The server is killed after it noted the first client's call, and before it made the directory.
#[tokio::test(flavor = "multi_thread")]
async fn lock_directory_has_one_holder_when_the_server_is_killed_before_it_is_made() {
    for version in [Version::V2, Version::V3, Version::V4_0, Version::V4_1] {
        let mut site = Site::new();
        site.restart_with(&["--fault", "make_node:delay=600s"]);
        let mounts = [site.mount(version).await, site.mount(version).await, site.mount(version).await].map(Arc::new);
        // Long enough for the calls to arrive; if they do not, they are new calls after the restart.
        let kill_after = Duration::from_millis(300);
        assert_eq!(winners(&mut site, &mounts, ("lock".to_owned(), kill_after)).await, 1, "{version}");
    }
}
