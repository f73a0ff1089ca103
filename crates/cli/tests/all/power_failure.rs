//! A server with a write log whose machine loses what was only in memory, kept replies among it: requests that clients
//! send again happen once.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use client::{Mount, Options, Version};
use rustix::process::Signal;
use vfs::{CreateMode, SetAttributes};

use testing::program::Server;
use testing::program::deaf::Deaf;
use testing::{Scratch, wait_until};

/// Runs a command; its output, if it succeeds.
fn run(command: &[&str]) -> Option<String> {
    let output = Command::new(command[0]).args(&command[1..]).output().ok()?;
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap().trim().to_owned())
}

/// A disk in a file.
struct Disk {
    image: PathBuf,
    dir: PathBuf,
    /// Loop devices that the disk must not get again.
    used: Vec<String>,
}

impl Disk {
    /// Makes and mounts the disk, if that is allowed.
    fn new(scratch: &Scratch) -> Option<Disk> {
        let disk = Disk { image: scratch.path("image"), dir: scratch.dir("disk"), used: Vec::new() };
        fs::File::create(&disk.image).unwrap().set_len(64 << 20).unwrap();
        run(&["mkfs.ext4", "-q", "-F", disk.image.to_str().unwrap()])?;
        disk.mount()?;
        fs::create_dir(disk.dir.join("export")).unwrap();
        Some(disk)
    }

    fn mount(&self) -> Option<String> {
        run(&["mount", "-o", "loop", self.image.to_str().unwrap(), self.dir.to_str().unwrap()])
    }

    /// Mounts the disk as another device: nothing tells the server that the memory has kept what it had.
    fn change_device(&mut self, scratch: &Scratch) {
        let device = |disk: &Disk| fs::metadata(&disk.dir).unwrap().dev();
        let before = device(self);
        run(&["umount", self.dir.to_str().unwrap()]).unwrap();
        loop {
            let other = scratch.file(&format!("other-{}", self.used.len()), &"x".repeat(1 << 16));
            self.used.push(run(&["losetup", "-f", "--show", other.to_str().unwrap()]).unwrap());
            self.mount().unwrap();
            if device(self) != before {
                return;
            }
            // Another process freed a loop device, which was taken in the place of the disk's.
            run(&["umount", self.dir.to_str().unwrap()]).unwrap();
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        run(&["umount", self.dir.to_str().unwrap()]);
        self.used.iter().for_each(|device| drop(run(&["losetup", "-d", device])));
    }
}

struct Site {
    // First, so that it ends before the disk goes.
    server: Option<Server>,
    disk: Disk,
    port: u16,
    scratch: Scratch,
}

impl Site {
    fn new() -> Option<Site> {
        let scratch = Scratch::on_disk();
        let disk = Disk::new(&scratch)?;
        let mut site = Site { server: None, disk, port: 0, scratch };
        site.start();
        Some(site)
    }

    fn export(&self) -> PathBuf {
        self.disk.dir.join("export")
    }

    fn start(&mut self) {
        let (listen, state) = (format!("127.0.0.1:{}", self.port), self.scratch.path("state"));
        let (log, export) = (self.scratch.path("log"), self.export());
        let options = ["--listen", &listen, "--no-root-squash", "--lease", "2s", "--grace", "2s", "--state-dir"];
        let paths = [state.to_str().unwrap(), "--write-log-size", "4M", "--write-log", log.to_str().unwrap()];
        let server = Server::with_addresses(1, &[&options[..], &paths, &[export.to_str().unwrap()]].concat());
        self.port = server.port();
        self.server = Some(server);
    }

    fn fail_and_restart(&mut self) {
        let mut server = self.server.take().unwrap();
        server.signal(Signal::KILL);
        server.wait();
        drop(server);
        self.disk.change_device(&self.scratch);
        for name in ["replies-0", "replies-1"] {
            let _ = fs::remove_file(self.scratch.path("state").join(name));
        }
        self.start();
    }

    async fn mount_at(&self, port: u16, version: Version) -> Mount {
        let url = format!("nfs://127.0.0.1:{port}{}", self.export().display());
        let options = Options { version, is_hard: true, ..Options::default() };
        Mount::connect(&url.parse().unwrap(), &options).await.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn names_are_changed_once_when_the_replies_are_lost_with_the_power() {
    for version in [Version::V3, Version::V4_1, Version::V4_2] {
        let Some(mut site) = Site::new() else { return println!("skipped: no disk can be mounted here") };
        let wire = Deaf::start(SocketAddr::from(([127, 0, 0, 1], site.port)));
        let mount = Arc::new(site.mount_at(wire.address.port(), version).await);
        let (root, set) = (mount.root().handle, SetAttributes::default());
        for name in [&b"removed"[..], b"moved"] {
            mount.mkdir(&root, name, &set).await.unwrap();
        }
        let linked = mount.create(&root, b"linked", CreateMode::Guarded, &set).await.unwrap().handle;
        wire.set(true);
        let [making, removing, moving, linking] = [(); 4].map(|()| Arc::clone(&mount));
        let attempts = [
            tokio::spawn(async move { making.mkdir(&root, b"made", &set).await.map(drop) }),
            tokio::spawn(async move { removing.rmdir(&root, b"removed").await }),
            tokio::spawn(async move { moving.rename(&root, b"moved", &root, b"there").await }),
            tokio::spawn(async move { linking.link(&linked, &root, b"link").await }),
        ];
        tokio::task::block_in_place(|| wait_until("all calls are lost", || wire.lost() >= attempts.len()));
        wire.set(false);
        tokio::task::block_in_place(|| site.fail_and_restart());
        site.server.as_ref().unwrap().wait_for_log("replayed the write log");
        for (number, attempt) in attempts.into_iter().enumerate() {
            attempt.await.unwrap().unwrap_or_else(|error| panic!("{version}, {number}: {error}"));
        }
        let mut names: Vec<_> = fs::read_dir(site.export()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["link", "linked", "made", "there"], "{version}");
    }
}
