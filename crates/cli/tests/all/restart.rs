//! Whom a server that was killed waits for when it is back, and what it does in a state directory that is full.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use client::{LockKind, Mount, OpenOptions, Options, Version};
use rustix::process::Signal;
use tokio::runtime::{Builder, Runtime};
use vfs::{CreateMode, SetAttributes};

use testing::program::{Server, interrupt, wharf_fails, wharf_ok};
use testing::{Scratch, wait_until};

const VERSIONS: [&str; 4] = ["3", "4.0", "4.1", "4.2"];
/// What the log says while new opens wait for somebody.
const WAITS: &str = "new opens and locks wait up to";

struct Site {
    // First, so that it ends before its directories go.
    server: Option<Server>,
    port: u16,
    options: Vec<String>,
    export: PathBuf,
    state: PathBuf,
    scratch: Scratch,
}

impl Site {
    fn new(options: &[&str]) -> Site {
        let scratch = Scratch::new();
        let (export, state) = (scratch.dir("export"), scratch.path("state"));
        let options = options.iter().map(|option| option.to_string()).collect();
        let mut site = Site { server: None, port: 0, options, export, state, scratch };
        site.start();
        site
    }

    fn start(&mut self) {
        let listen = format!("127.0.0.1:{}", self.port);
        let mut arguments = vec!["--listen", &listen, "--no-root-squash", "--state-dir", self.state.to_str().unwrap()];
        arguments.extend(self.options.iter().map(String::as_str));
        arguments.push(self.export.to_str().unwrap());
        let server = Server::with_addresses(1, &arguments);
        self.port = server.port();
        self.server = Some(server);
    }

    fn kill_and_restart(&mut self) {
        let mut server = self.server.take().unwrap();
        server.signal(Signal::KILL);
        server.wait();
        drop(server);
        self.start();
    }

    fn stop_and_restart(&mut self) {
        let mut server = self.server.take().unwrap();
        server.signal(Signal::TERM);
        server.wait();
        drop(server);
        self.start();
    }

    fn server(&self) -> &Server {
        self.server.as_ref().unwrap()
    }

    fn url(&self, name: &str, version: &str) -> String {
        format!("nfs://127.0.0.1:{}{}/{name}?version={version}", self.port, self.export.display())
    }

    /// Holds a lock of a file, twice for a moment, as a client of a version that ends.
    fn lock_and_unlock(&self, version: Version) {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let options = Options { version, lock_port: Some(self.port), ..Options::default() };
            let url = self.url("", "4.2");
            let mount = Mount::connect(&url.split_once('?').unwrap().0.parse().unwrap(), &options).await.unwrap();
            let creating = OpenOptions::both().creating(CreateMode::Unchecked, SetAttributes::default());
            let file = mount.open(&mount.root().handle, b"locked", &creating).await.unwrap();
            for _ in 0..2 {
                file.try_lock(LockKind::Exclusive, 0, u64::MAX).await.unwrap();
                file.unlock(0, u64::MAX).await.unwrap();
            }
            file.close().await.unwrap();
            mount.unmount().await.unwrap();
        });
    }

    /// A file that a client has open, in a runtime that ends without a word to the server.
    fn leave_open(&self, version: Version) -> Runtime {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let url = self.url("", "4.2");
        runtime.block_on(async {
            let options = Options { version, ..Options::default() };
            let url = url.split_once('?').unwrap().0.parse().unwrap();
            let mount = Mount::connect(&url, &options).await.unwrap();
            let creating = OpenOptions::both().creating(CreateMode::Unchecked, SetAttributes::default());
            let file = mount.open(&mount.root().handle, b"held", &creating).await.unwrap();
            // The mount is there for as long as its runtime.
            tokio::spawn(async move {
                std::future::pending::<()>().await;
                drop((file, mount));
            });
        });
        runtime
    }
}

#[test]
fn commands_that_have_ended_delay_no_restart() {
    let mut site = Site::new(&[]);
    let local = site.scratch.file("local", "some text");
    for version in VERSIONS {
        let url = site.url(version, version);
        wharf_ok(&["cp", local.to_str().unwrap(), &url]);
        assert_eq!(wharf_ok(&["cat", &url]), "some text");
        wharf_fails(1, &["cat", &url, &site.url("missing", version)]);
        wharf_fails(1, &["cp", local.to_str().unwrap(), &site.url("missing/file", version)]);
    }
    site.kill_and_restart();
    wharf_ok(&["cp", local.to_str().unwrap(), &site.url("new", "4.2")]);
    assert!(!site.server().log().contains(WAITS), "{}", site.server().log());
}

#[test]
fn client_that_released_its_lock_delays_no_restart_after_a_clean_stop() {
    for version in [Version::V3, Version::V4_0, Version::V4_2] {
        let mut site = Site::new(&[]);
        site.lock_and_unlock(version);
        site.stop_and_restart();
        // The log says whom the server waits for before it serves anybody.
        let local = site.scratch.file("local", "some text");
        wharf_ok(&["cp", local.to_str().unwrap(), &site.url("new", "3")]);
        assert!(!site.server().log().contains(WAITS), "{version}: {}", site.server().log());
    }
}

#[test]
fn command_that_is_interrupted_delays_no_restart() {
    for version in ["4.0", "4.2"] {
        let mut site = Site::new(&["--fault", "write:delay=200ms"]);
        let large = site.scratch.path("large");
        fs::File::create(&large).unwrap().set_len(64 << 20).unwrap();
        fs::write(&large, vec![b'x'; 8 << 20]).unwrap();
        let is_copying = || fs::read_dir(&site.export).unwrap().next().is_some();
        interrupt(&["cp", large.to_str().unwrap(), &site.url("large", version)], is_copying);
        site.kill_and_restart();
        let local = site.scratch.file("local", "some text");
        wharf_ok(&["cp", local.to_str().unwrap(), &site.url("new", "4.2")]);
        assert!(!site.server().log().contains(WAITS), "{version}: {}", site.server().log());
    }
}

#[test]
fn client_that_is_gone_is_named_and_the_wait_for_it_can_be_ended() {
    let mut site = Site::new(&[]);
    site.leave_open(Version::V4_1).shutdown_background();
    site.kill_and_restart();
    let server = site.server();
    server.wait_for_log(WAITS);
    assert!(server.log().contains("NFSv4.1 or 4.2 client \"wharf/"), "{}", server.log());
    assert!(server.log().contains(&format!("kill -USR2 {}", server.pid().as_raw_nonzero())), "{}", server.log());
    server.signal(Signal::USR2);
    server.wait_for_log("the grace period was ended");
    let local = site.scratch.file("local", "some text");
    wharf_ok(&["cp", local.to_str().unwrap(), &site.url("new", "4.2")]);
}

#[test]
fn command_that_waits_for_a_grace_period_says_so_once_and_can_be_interrupted() {
    for interrupted in [&["cat"][..], &["cp", "--overwrite"]] {
        let mut site = Site::new(&[]);
        let local = site.scratch.file("local", "some text");
        let (local, url) = (local.to_str().unwrap(), site.url("file", "4.2"));
        wharf_ok(&["cp", local, &url]);
        site.leave_open(Version::V4_1).shutdown_background();
        site.kill_and_restart();
        let said = site.scratch.path("said");
        let mut command = Command::new(testing::program::executable());
        command.args(interrupted).args([local].iter().filter(|_| interrupted[0] == "cp")).arg(&url);
        let mut waiting = command.stderr(fs::File::create(&said).unwrap()).spawn().unwrap();
        let text = || fs::read_to_string(&said).unwrap();
        wait_until("the command says why it waits", || text().contains("server is in its grace period"));
        // Enough for some more retries.
        site.server().wait_for_calls(8);
        rustix::process::kill_process(rustix::process::Pid::from_child(&waiting), Signal::INT).unwrap();
        assert_eq!(waiting.wait().unwrap().signal(), Some(Signal::INT.as_raw()), "{}", text());
        assert_eq!(text().matches("grace period").count(), 1, "{}", text());
    }
}

#[test]
fn idle_client_with_an_open_file_reclaims_it_as_soon_as_the_server_is_back() {
    for version in [Version::V4_0, Version::V4_2] {
        let mut site = Site::new(&[]);
        let holder = site.leave_open(version);
        site.kill_and_restart();
        let local = site.scratch.file("local", "some text");
        // Less than the time after which it would renew its lease.
        wharf_ok(&["cp", local.to_str().unwrap(), &site.url("new", "4.2")]);
        site.server().wait_for_log("the grace period is over: new opens and locks are granted");
        assert!(!site.server().log().contains("up to 7"), "{version}: {}", site.server().log());
        holder.shutdown_background();
    }
}

/// A small file system, which is unmounted at the end.
struct TinyDisk(PathBuf);

impl TinyDisk {
    fn new(path: PathBuf, size: &str) -> Option<TinyDisk> {
        fs::create_dir(&path).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size},mode=700"), "tmpfs"]).arg(&path);
        match mount.status() {
            Ok(status) if status.success() => Some(TinyDisk(path)),
            _ => {
                println!("skipped: only the superuser can mount a tmpfs");
                None
            }
        }
    }

    /// Fills it to the last page.
    fn fill(&self) {
        assert!(fs::write(self.0.join("filler"), vec![0; 16 << 20]).is_err(), "it is not full");
    }

    fn make_room(&self) {
        fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for TinyDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn copies(site: &Site, name: &str) {
    let local = site.scratch.file("local", "some text");
    for version in VERSIONS {
        let url = site.url(&format!("{name}-{version}"), version);
        wharf_ok(&["cp", local.to_str().unwrap(), &url]);
        assert_eq!(wharf_ok(&["cat", &url]), "some text");
        wharf_ok(&["mkdir", &site.url(&format!("{name}-dir-{version}"), version)]);
    }
}

#[test]
fn full_state_directory_keeps_nobody_from_working_and_the_server_says_what_it_cannot_keep() {
    let mut site = Site::new(&["--lease", "2s", "--grace", "2s"]);
    let state = site.scratch.path("small");
    let Some(disk) = TinyDisk::new(state.clone(), "64k") else { return };
    site.server.take().unwrap();
    site.state = state.join("wharf");

    // It starts in a directory that is full from the beginning.
    disk.fill();
    site.start();
    let log = site.server().log();
    assert!(log.contains("handle-key") || log.contains("cannot create the state directory"), "{log}");
    assert!(log.contains("No space left on device"), "{log}");
    copies(&site, "first");

    // With space everything is kept, for a client that is gone when the server comes back to a disk that is full.
    disk.make_room();
    site.kill_and_restart();
    copies(&site, "second");
    site.leave_open(Version::V4_2).shutdown_background();
    disk.fill();
    site.kill_and_restart();
    site.server().wait_for_log(WAITS);
    site.server().wait_for_log("clients may lose opens and locks when the server restarts");
    copies(&site, "third");
    assert!(!is_on_record(&state), "a client that may not reclaim is still on record");

    // When there is space again, the store recovers by itself, and protects who holds something.
    let holder = site.leave_open(Version::V4_2);
    disk.make_room();
    wait_until("the client is on record", || is_on_record(&state));
    // Otherwise it could reclaim before the server says that it waits.
    holder.shutdown_background();
    site.kill_and_restart();
    site.server().wait_for_log(WAITS);
    drop(site.server.take());
}

#[test]
fn clients_that_open_while_the_state_directory_is_full_are_waited_for_after_a_kill() {
    let mut site = Site::new(&["--lease", "2s", "--grace", "2s"]);
    let state = site.scratch.path("small");
    let Some(disk) = TinyDisk::new(state.clone(), "10m") else { return };
    site.server.take().unwrap();
    site.state = state.join("wharf");
    site.start();
    disk.fill();
    // More clients than the last page of the file has room for.
    let clients = 100;
    (0..clients).for_each(|_| site.leave_open(Version::V4_2).shutdown_background());
    assert_eq!(on_record(&state), clients, "{}", site.server().log());
    site.kill_and_restart();
    site.server().wait_for_log(WAITS);
    drop(site.server.take());
}

/// Whether a client in this process is on record.
fn is_on_record(state: &Path) -> bool {
    on_record(state) > 0
}

/// How many clients in this process are on record; those of commands have other process ids in their names.
fn on_record(state: &Path) -> usize {
    let (records, name) = (fs::read(records_of(state)).unwrap(), format!("/{}/", std::process::id()));
    records.windows(name.len()).filter(|window| *window == name.as_bytes()).count()
}

fn records_of(state: &Path) -> PathBuf {
    state.join("wharf/client-records")
}
