//! A power failure, after which the log is not where it was or not what it was: no start loses or undoes a change, and
//! with the log back all changes are there. Two exports of one file system share the log.

use std::fs;
use std::path::PathBuf;

use client::{Mount, Options, RemoteFs, Version};
use rustix::process::Signal;
use vfs::{Context, CreateMode, Error, FileSystem, Name, OpenMode, Place, SetAttributes, Stability};

use testing::disks::{DiskKind, LoopDisk};
use testing::program::{Server, commands_in, paste, wharf_fails, wharf_ok};
use testing::stable_changes::{CHANGES, StableChange, prepare};

const EXPORTS: [(&str, Version); 2] = [("one", Version::V3), ("two", Version::V4_2)];
const LOG_SIZE: &str = "1M";
/// Several times as much as the log has room for.
const FILLING_WRITES: u64 = 512;
const FILLING_BYTES: usize = 8192;

struct Site {
    disk: LoopDisk,
    /// Which changes were acknowledged, by their export.
    made: Vec<(&'static str, &'static StableChange)>,
}

impl Site {
    /// A disk with two exports, the log and the state directory, or `None` where there cannot be one.
    fn new(kind: DiskKind) -> Option<Site> {
        let mut disk = LoopDisk::new(kind)?;
        for (name, _) in EXPORTS {
            fs::create_dir(disk.dir().join(name)).unwrap();
            prepare(&disk.dir().join(name));
        }
        disk.remount();
        Some(Site { disk, made: Vec::new() })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.disk.dir().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    fn arguments(&self, log: &str) -> Vec<String> {
        let options = ["--no-root-squash", "--write-log-size", LOG_SIZE, "--write-log-max-age", "60s"];
        let mut arguments: Vec<String> = options.map(str::to_owned).to_vec();
        arguments.extend(["--write-log".to_owned(), self.text(log), "--state-dir".to_owned(), self.text("state")]);
        arguments.extend(EXPORTS.map(|(name, _)| self.text(name)));
        arguments
    }

    fn serve(&self, log: &str) -> Server {
        let arguments = self.arguments(log);
        Server::start(EXPORTS.len(), &arguments.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Why a server does not start.
    fn refusal(&self, log: &str) -> String {
        let start = ["serve", "--listen", "127.0.0.1:0"].map(str::to_owned);
        wharf_fails(1, &[&start[..], &self.arguments(log)].concat())
    }

    fn replay(&self, log: &str) {
        wharf_ok(&["log", "replay", &self.text(log), "--state-dir", &self.text("state")]);
    }

    /// Has clients make each change in both exports, fails the power, and starts the machine again.
    fn change_and_fail(&mut self, before: impl FnOnce(&RemoteFs)) {
        let mut server = self.serve("log");
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let connect = |(name, version)| {
            let url = server.url(self.path(name)).parse().unwrap();
            let options = Options { version, ..Options::default() };
            let mount = runtime.block_on(Mount::connect(&url, &options)).unwrap();
            RemoteFs::new(mount, runtime.handle().clone())
        };
        let mounts = EXPORTS.map(connect);
        before(&mounts[0]);
        for ((name, _), fs) in EXPORTS.iter().zip(&mounts) {
            for change in CHANGES {
                match (change.make)(fs) {
                    Err(Error::NotSupported | Error::Invalid) => {}
                    made => {
                        made.unwrap_or_else(|error| panic!("{} in {name}: {error}", change.name));
                        self.made.push((name, change));
                    }
                }
            }
        }
        drop(mounts);
        let left = self.disk.copy_image();
        server.signal(Signal::KILL);
        server.wait();
        drop(server);
        self.disk.replace_image(left);
    }

    fn assert_all_there(&self, what: &str) {
        let lost: Vec<_> = self.made.iter().filter(|(name, change)| !(change.is_there)(&self.path(name))).collect();
        let lost: Vec<_> = lost.iter().map(|(name, change)| format!("{} in {name}", change.name)).collect();
        let (changes, failures) = (self.made.len(), lost.len());
        println!("explored log_{what} cuts=1 changes={changes} replays={} failures={failures}", EXPORTS.len());
        assert!(changes > CHANGES.len() && lost.is_empty(), "lost: {lost:?}");
    }
}

#[test]
fn log_that_is_missing_is_asked_for_and_all_changes_are_there_when_it_is_back() {
    let Some(mut site) = Site::new(DiskKind::EXT4) else { return };
    site.change_and_fail(|_| {});
    fs::rename(site.path("log"), site.path("kept")).unwrap();
    let said = site.refusal("log");
    assert!(said.contains("is missing") && !site.path("log").exists(), "{said}");
    fs::rename(site.path("kept"), site.path("log")).unwrap();
    site.replay("log");
    site.assert_all_there("missing");
    drop(site.serve("log"));
}

#[test]
fn log_that_was_moved_is_used_where_it_is_now() {
    let Some(mut site) = Site::new(DiskKind::EXT4) else { return };
    site.change_and_fail(|_| {});
    fs::rename(site.path("log"), site.path("moved")).unwrap();
    assert!(site.refusal("log").contains("is missing"));
    site.replay("moved");
    site.assert_all_there("moved");
    drop(site.serve("moved"));
    site.assert_all_there("moved_and_served");
}

#[test]
fn old_copy_of_a_log_is_refused_and_nothing_is_undone() {
    let Some(mut site) = Site::new(DiskKind::EXT4) else { return };
    drop(site.serve("log"));
    let old = fs::read(site.path("log")).unwrap();
    site.change_and_fail(fill);
    fs::rename(site.path("log"), site.path("kept")).unwrap();
    fs::write(site.path("log"), old).unwrap();
    let said = site.refusal("log");
    // The copy is empty: there is nothing to adopt.
    assert!(said.contains("wharf log drain --discard") && !said.contains("wharf log adopt"), "{said}");
    fs::rename(site.path("kept"), site.path("log")).unwrap();
    site.replay("log");
    site.assert_all_there("old");
}

/// The export names the log, and nothing says that a trim has followed since the copy was made.
#[test]
fn old_copy_of_a_log_is_refused_without_the_generation_and_no_removed_file_comes_back() {
    let Some(site) = Site::new(DiskKind::EXT4) else { return };
    let (mut server, source) = (site.serve("log"), site.path("source"));
    fs::write(&source, "acknowledged").unwrap();
    let file = format!("{}/file", server.url(site.path("one")));
    wharf_ok(&["cp", source.to_str().unwrap(), &file]);
    let old = fs::read(site.path("log")).unwrap();
    wharf_ok(&["rm", &file]);
    server.signal(Signal::KILL);
    server.wait();
    drop(server);
    fs::remove_file(site.path("state/write-log-generation")).unwrap();
    fs::write(site.path("log"), old).unwrap();
    let said = site.refusal("log");
    for part in [site.text("state/write-log-generation"), format!("{} may be an old copy", site.text("log"))] {
        assert!(said.contains(&part), "{said}");
    }
    assert!(!site.path("one/file").exists(), "{said}");
}

#[test]
fn log_of_another_host_is_refused_and_left_as_it_is() {
    let (Some(mut other), Some(mut site)) = (Site::new(DiskKind::EXT4), Site::new(DiskKind::EXT4)) else { return };
    other.change_and_fail(|_| {});
    site.change_and_fail(|_| {});
    let (foreign, own) = (fs::read(other.path("log")).unwrap(), fs::read(site.path("log")).unwrap());
    fs::write(site.path("log"), &foreign).unwrap();
    let said = site.refusal("log");
    assert!(said.contains("wharf log drain --discard"), "{said}");
    assert!(fs::read(site.path("log")).unwrap() == foreign, "the log of another host was changed");
    fs::write(site.path("log"), own).unwrap();
    site.replay("log");
    site.assert_all_there("of_another_host");
}

#[test]
fn log_whose_state_directory_is_lost_is_replayed_when_it_is_adopted() {
    let Some(mut site) = Site::new(DiskKind::EXT4) else { return };
    site.change_and_fail(|_| {});
    fs::remove_dir_all(site.path("state")).unwrap();
    let [adopt] = &commands_in(&site.refusal("log"))[..] else { panic!("one command") };
    paste(adopt);
    drop(site.serve("log"));
    site.assert_all_there("without_state");
}

#[test]
fn changes_that_found_the_log_full_are_there() {
    let Some(mut site) = Site::new(DiskKind::EXT4) else { return };
    site.change_and_fail(fill);
    site.replay("log");
    site.assert_all_there("full");
    let filling = fs::read(site.path("one").join("filling")).unwrap();
    let expected = (0..FILLING_WRITES).flat_map(|number| [number as u8; FILLING_BYTES]);
    assert!(filling.iter().copied().eq(expected), "{} bytes", filling.len());
}

#[test]
fn server_that_was_killed_goes_on_and_the_power_fails_then() {
    for kind in [DiskKind::EXT4, DiskKind::XFS, DiskKind::BTRFS] {
        let Some(mut site) = Site::new(kind) else { continue };
        site.change_and_fail(|_| {});
        site.replay("log");
        site.assert_all_there("killed");
    }
}

/// Stable writes of a file, more than the log has room for.
fn fill(fs: &RemoteFs) {
    let (cx, root) = (Context::ROOT, fs.root());
    let place = Place { dir: root, name: Name::new(b"filling").unwrap() };
    let made = fs.create(&cx, place, CreateMode::Guarded, &SetAttributes::default()).unwrap();
    let open = fs.open(&cx, &made.handle, OpenMode::Write).unwrap();
    for number in 0..FILLING_WRITES {
        let data = [number as u8; FILLING_BYTES];
        open.write_at(&cx, number * FILLING_BYTES as u64, &data, Stability::File).unwrap();
    }
}
