//! Leases: what breaks them, who waits, and who gets none.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};
use vfs::{
    Context, CreateMode, Error, FileLease, FileLock, FileSystem, Handle, LockOutcome, Name, OpenMode, Place,
    SetAttributes,
};
use wharf_fs_host::{HandleForm, HostFs};

use testing::host_export::Export;

/// How long anything may take before the test fails.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long nothing happens that must not happen.
const QUIET: Duration = Duration::from_millis(100);

/// The standard library truncates no file that is opened for reading alone.
const TRUNCATE: i32 = rustix::fs::OFlags::TRUNC.bits().cast_signed();

/// An export with one file, which was made through it.
struct Leasing {
    export: Export,
    fs: HostFs,
    file: Handle,
}

/// A lease and the report that it is broken.
struct Leased {
    lease: Box<dyn FileLease>,
    broken: Receiver<()>,
}

impl Leasing {
    fn new() -> Leasing {
        let export = Export::on_disk();
        let fs = export.open(HandleForm::Auto);
        let place = Place { dir: fs.root(), name: Name::new(b"file").unwrap() };
        let file = fs.create(&Context::ROOT, place, CreateMode::Guarded, &SetAttributes::default()).unwrap().handle;
        Leasing { export, fs, file }
    }

    fn path(&self) -> PathBuf {
        self.export.path().join("file")
    }

    /// A child that another test forks has this process's descriptors until its exec, and with them what was open for
    /// writing.
    fn lease(&self) -> Leased {
        loop {
            match self.try_lease() {
                Err(Error::WouldBlock) => thread::sleep(Duration::from_millis(5)),
                leased => return leased.unwrap(),
            }
        }
    }

    fn try_lease(&self) -> vfs::Result<Leased> {
        let (to, broken) = channel();
        let on_break = Box::new(move || to.send(()).unwrap_or_default());
        let lease = self.fs.lease(&Context::ROOT, &self.file, on_break)?;
        Ok(Leased { lease, broken })
    }
}

fn open_to_write(path: &Path) -> File {
    OpenOptions::new().write(true).open(path).unwrap()
}

/// Truncates by path, as far as something here can.
fn truncate(path: &Path) {
    let script = "import os, sys; os.truncate(sys.argv[1], 0)";
    match Command::new("python3").args(["-c", script]).arg(path).status() {
        Ok(status) => assert!(status.success()),
        Err(_) => println!("skipped: there is no python3"),
    }
}

#[test]
fn local_writer_waits_until_the_lease_ends() {
    let by_opening: fn(&Path) = |path| drop(open_to_write(path));
    let by_truncating: fn(&Path) = truncate;
    for write in [by_opening, by_truncating] {
        let leasing = Leasing::new();
        let Leased { lease, broken } = leasing.lease();
        let (done, is_done) = channel();
        let path = leasing.path();
        let writer = thread::spawn(move || {
            write(&path);
            done.send(()).unwrap();
        });
        broken.recv_timeout(PATIENCE).unwrap();
        assert!(is_done.recv_timeout(QUIET).is_err(), "the writer waits");
        drop(lease);
        is_done.recv_timeout(PATIENCE).unwrap();
        writer.join().unwrap();
    }
}

#[test]
fn local_reader_breaks_nothing() {
    let leasing = Leasing::new();
    let leased = leasing.lease();
    fs::read(leasing.path()).unwrap();
    leasing.fs.open(&Context::ROOT, &leasing.file, OpenMode::Read).unwrap();
    assert!(leased.broken.recv_timeout(QUIET).is_err());
}

#[test]
fn change_that_does_not_wait_is_reported() {
    type Change = (&'static str, fn(&Path));
    let changes: [Change; 8] = [
        ("mode", |path| fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap()),
        ("owner", |path| chown(path, Some(fs::metadata(path).unwrap().uid()), None).unwrap()),
        ("times", |path| drop(File::open(path).unwrap().set_modified(std::time::UNIX_EPOCH))),
        ("a new name", |path| fs::hard_link(path, path.with_extension("link")).unwrap()),
        ("another name", |path| fs::rename(path, path.with_extension("moved")).unwrap()),
        ("another file of the name", |path| {
            fs::write(path.with_extension("new"), "").unwrap();
            fs::rename(path.with_extension("new"), path).unwrap();
        }),
        ("no name", |path| fs::remove_file(path).unwrap()),
        ("truncated by a reader", |path| {
            OpenOptions::new().read(true).custom_flags(TRUNCATE).open(path).map(drop).unwrap();
        }),
    ];
    for (change, make) in changes {
        let leasing = Leasing::new();
        fs::write(leasing.path(), "data").unwrap();
        let leased = leasing.lease();
        make(&leasing.path());
        assert!(leased.broken.recv_timeout(PATIENCE).is_ok(), "{change}");
    }
}

#[test]
fn file_that_is_open_for_writing_gets_no_lease() {
    let leasing = Leasing::new();
    let writer = open_to_write(&leasing.path());
    assert!(matches!(leasing.try_lease(), Err(Error::WouldBlock)));
    drop(writer);
    leasing.lease();
}

#[test]
fn write_of_the_server_itself_does_not_wait_for_the_lease() {
    let leasing = Leasing::new();
    let leased = leasing.lease();
    let write = || leasing.fs.open(&Context::ROOT, &leasing.file, OpenMode::Write).map(drop);
    assert!(matches!(write(), Err(Error::TryLater(_))));
    let size = SetAttributes { size_bytes: Some(1), ..SetAttributes::default() };
    assert!(matches!(leasing.fs.set_attributes(&Context::ROOT, &leasing.file, &size), Err(Error::TryLater(_))));
    leased.broken.recv_timeout(PATIENCE).unwrap();
    drop(leased.lease);
    write().unwrap();
}

#[test]
fn lock_that_a_lease_kept_shared_is_exclusive_once_the_lease_has_ended() {
    let leasing = Leasing::new();
    let leased = leasing.lease();
    let lock = |exclusive| FileLock { first_bytes: 0, last_bytes: 9, exclusive };
    let open = || leasing.fs.open_for_locks(&Context::ROOT, &leasing.file).unwrap();
    let mut server = open();
    assert_eq!(server.take(lock(false)).unwrap(), LockOutcome::Free);
    drop(leased.lease);
    let local = open();
    assert_eq!(local.test(lock(false)).unwrap(), LockOutcome::Free);
    assert_eq!(server.take(lock(true)).unwrap(), LockOutcome::Free);
    assert_eq!(local.test(lock(false)).unwrap(), LockOutcome::Taken(lock(true)));
}

#[test]
fn lease_is_told_broken_once_and_the_next_one_is_whole() {
    let leasing = Leasing::new();
    let leased = leasing.lease();
    for mode in [0o600, 0o644, 0o600] {
        fs::set_permissions(leasing.path(), fs::Permissions::from_mode(mode)).unwrap();
    }
    leased.broken.recv_timeout(PATIENCE).unwrap();
    assert!(leased.broken.recv_timeout(QUIET).is_err());
    drop(leased);
    let next = leasing.lease();
    assert!(next.broken.recv_timeout(QUIET).is_err());
    fs::set_permissions(leasing.path(), fs::Permissions::from_mode(0o644)).unwrap();
    next.broken.recv_timeout(PATIENCE).unwrap();
}

#[test]
fn every_lease_of_a_file_is_told() {
    let leasing = Leasing::new();
    let (first, second) = (leasing.lease(), leasing.lease());
    fs::set_permissions(leasing.path(), fs::Permissions::from_mode(0o600)).unwrap();
    first.broken.recv_timeout(PATIENCE).unwrap();
    second.broken.recv_timeout(PATIENCE).unwrap();
    let third = leasing.lease();
    drop((first, second));
    fs::set_permissions(leasing.path(), fs::Permissions::from_mode(0o644)).unwrap();
    third.broken.recv_timeout(PATIENCE).unwrap();
}

#[test]
fn process_without_the_right_gets_no_lease_on_a_file_of_another_user() {
    if !rustix::process::geteuid().is_root() {
        return println!("skipped: only root can give files away");
    }
    let leasing = Leasing::new();
    chown(leasing.path(), Some(1), Some(1)).unwrap();
    drop(leasing.lease());
    // Capabilities are a thread's own.
    let refused = thread::scope(|scope| {
        let without = scope.spawn(|| {
            let all = capabilities(None).unwrap();
            let effective = all.effective - CapabilitySet::LEASE;
            set_capabilities(None, CapabilitySets { effective, ..all }).unwrap();
            leasing.try_lease().map(drop)
        });
        without.join().unwrap()
    });
    assert!(matches!(refused, Err(Error::AccessDenied)), "{refused:?}");
}

#[test]
fn only_local_file_systems_offer_leases() {
    assert!(Leasing::new().fs.lease_break_time().is_some(), "the kernel's own default is 45 s");
    let proc = HostFs::open(Path::new("/proc/self/fdinfo"), Export::on_disk().options(HandleForm::Store));
    assert_eq!(proc.unwrap().lease_break_time(), None);
}
