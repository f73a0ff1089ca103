//! Local programs change files of an export before the power fails: a replay keeps what they had brought to storage.

use std::fs::{self, File, Permissions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use fs_host::{HandleForm, HostFs, HostOptions};
use stable::{Replayed, StableFs};
use testing::Rebooted;
use testing::disks::{DiskKind, LoopDisk};
use vfs::{
    Access, AclEntry, AclTag, Acls, Context, CreateMode, Error, FileSystem, Handle, NewNode, OpenMode, PosixAcl,
    SetAttributes, SetTime, SetXattr, Stability, Timestamp, XattrMode, XattrName,
};

use crate::support::site::{CX, Site, at, create};

const KINDS: [DiskKind; 4] = [DiskKind::EXT4, DiskKind::EXT4_FAST_COMMIT, DiskKind::XFS, DiskKind::BTRFS];
const EARLY: Timestamp = Timestamp { seconds: 1_000_000_000, nanoseconds: 0 };

/// A step of the kernel's clock for ctimes, with some room.
const LATER: Duration = Duration::from_millis(20);

/// An export on a disk, with a file that the disk has stored.
struct Machine {
    site: Site,
    disk: LoopDisk,
}

impl Machine {
    fn new(kind: DiskKind) -> Option<Machine> {
        if !rustix::process::geteuid().is_root() {
            println!("skipped: only root can change owners");
            return None;
        }
        let mut disk = LoopDisk::new(kind)?;
        fs::write(disk.dir().join("file"), [b'o'; 200]).unwrap();
        disk.remount();
        Some(Machine { site: Site::new(HandleForm::Auto), disk })
    }

    fn path(&self) -> PathBuf {
        self.disk.dir().join("file")
    }

    /// Makes changes by way of the log, which then has them alone.
    fn change(&self, changes: impl FnOnce(&StableFs, &Handle)) {
        let (fs, _, log) = self.site.open_dir(self.disk.dir(), false).unwrap();
        let file = fs.lookup(&CX, at(&fs.root(), "file")).map(|entry| entry.handle);
        changes(&fs, &file.unwrap_or_else(|_| fs.root()));
        log.close();
        thread::sleep(LATER);
    }

    fn store(&self) {
        rustix::fs::syncfs(File::open(self.disk.dir()).unwrap()).unwrap();
    }

    /// The power fails, and the machine starts again.
    fn fail_power(&mut self) {
        let left = self.disk.copy_image();
        self.site.rebooted = Some(SystemTime::now());
        self.disk.replace_image(left);
        thread::sleep(LATER);
    }

    fn replay(&self) -> Replayed {
        let (_, replayed, log) = self.site.open_dir(self.disk.dir(), false).unwrap();
        log.close();
        replayed
    }

    /// What replays have set aside.
    fn set_aside(&self) -> String {
        let kept = fs::read(self.site.base.path("state/write-log-set-aside")).unwrap_or_default();
        String::from_utf8_lossy(&kept).into_owned()
    }

    /// Puts another file in the place of one of the export, as editors do.
    fn replace_locally(&self, name: &str, content: &[u8]) {
        let (new, path) = (self.disk.dir().join("new.swp"), self.disk.dir().join(name));
        fs::write(&new, content).unwrap();
        fs::rename(new, path).unwrap();
    }

    fn acls(&self) -> Acls {
        let (fs, file) = host(self.disk.dir());
        fs.acls(&CX, &file).unwrap()
    }

    fn xattr(&self) -> Option<Vec<u8>> {
        let (fs, file) = host(self.disk.dir());
        fs.get_xattr(&CX, &file, xattr_name()).unwrap()
    }
}

fn machines() -> impl Iterator<Item = (&'static str, Machine)> {
    KINDS.into_iter().filter_map(|kind| Some((kind.name, Machine::new(kind)?)))
}

/// The directory as local programs use it.
fn host(dir: &Path) -> (HostFs, Handle) {
    let fs = HostFs::open(dir, HostOptions { sync_metadata: false, ..HostOptions::default() }).unwrap();
    let file = fs.lookup(&CX, at(&fs.root(), "file")).unwrap().handle;
    (fs, file)
}

/// A list in which this user may read.
fn readable_by(uid: u32) -> Acls {
    let entry = |tag, allowed| AclEntry { tag, allowed };
    let entries = vec![
        entry(AclTag::Owner, Access::READ),
        entry(AclTag::User(uid), Access::READ),
        entry(AclTag::OwningGroup, Access::READ),
        entry(AclTag::Mask, Access::READ),
        entry(AclTag::Other, Access::NONE),
    ];
    Acls { access: PosixAcl::new(entries).unwrap(), default: None }
}

fn xattr_name() -> XattrName<'static> {
    XattrName::new(b"color").unwrap()
}

fn set_xattr(fs: &dyn FileSystem, file: &Handle, value: &[u8]) {
    fs.set_xattr(&CX, file, &SetXattr { name: xattr_name(), value, mode: XattrMode::Either }).unwrap();
}

fn write(fs: &StableFs, file: &Handle, (offset_bytes, data): (u64, &[u8])) {
    fs.open(&CX, file, OpenMode::Write).unwrap().write_at(&CX, offset_bytes, data, Stability::File).unwrap();
}

fn append(path: &Path, data: &[u8]) {
    let mut file = File::options().append(true).open(path).unwrap();
    file.write_all(data).unwrap();
}

fn of_client() -> SetAttributes {
    let modified = Some(SetTime::To(EARLY));
    SetAttributes { mode: Some(0o600), uid: Some(1001), gid: Some(1001), modified, ..SetAttributes::default() }
}

fn set_as_client(fs: &StableFs, file: &Handle) {
    fs.set_attributes(&CX, file, &of_client()).unwrap();
    set_xattr(fs, file, b"red");
    fs.set_acls(&CX, file, &readable_by(2001)).unwrap();
}

fn set_locally(machine: &Machine) {
    chown(machine.path(), Some(1002), Some(1002)).unwrap();
    let (fs, file) = host(machine.disk.dir());
    set_xattr(&fs, &file, b"blue");
    fs.set_acls(&CX, &file, &readable_by(2002)).unwrap();
    append(&machine.path(), b"local");
}

/// Whose attributes the file has.
fn owner(machine: &Machine) -> &'static str {
    let (is, acls, xattr) = (machine.path().metadata().unwrap(), machine.acls(), machine.xattr());
    let is_of = |uid: u32, acl: u32, color: &[u8]| {
        (is.uid(), is.gid()) == (uid, uid) && acls == readable_by(acl) && xattr.as_deref() == Some(color)
    };
    match is.mtime() {
        _ if is_of(1001, 2001, b"red") => "client",
        EARLY_S => "mixed",
        _ if is_of(1002, 2002, b"blue") => "local",
        _ => "mixed",
    }
}

const EARLY_S: i64 = EARLY.seconds;

#[test]
fn attributes_that_a_program_has_set_and_stored_stay() {
    for (kind, mut machine) in machines() {
        machine.change(set_as_client);
        set_locally(&machine);
        machine.store();
        machine.fail_power();
        machine.replay();
        assert_eq!(owner(&machine), "local", "{kind}");
        assert_eq!(fs::read(machine.path()).unwrap().len(), 205, "{kind}");
    }
}

#[test]
fn lost_attributes_are_those_of_the_client_and_not_of_the_program() {
    for (kind, mut machine) in machines() {
        machine.change(set_as_client);
        set_locally(&machine);
        machine.fail_power();
        machine.replay();
        assert_eq!(owner(&machine), "client", "{kind}");
        assert_eq!(machine.path().metadata().unwrap().mtime(), EARLY_S, "{kind}");
    }
}

#[test]
fn change_from_after_the_power_failure_does_not_hide_that_attributes_were_lost() {
    for (kind, mut machine) in machines() {
        machine.change(set_as_client);
        machine.fail_power();
        fs::set_permissions(machine.path(), Permissions::from_mode(0o604)).unwrap();
        machine.replay();
        assert_eq!(owner(&machine), "client", "{kind}");
    }
}

#[test]
fn client_that_sets_attributes_after_a_program_has_them_back() {
    for (kind, mut machine) in machines() {
        machine.change(|fs, file| {
            set_as_client(fs, file);
            thread::sleep(LATER);
            set_locally(&machine);
            machine.store();
            thread::sleep(LATER);
            set_as_client(fs, file);
        });
        machine.fail_power();
        machine.replay();
        assert_eq!(owner(&machine), "client", "{kind}");
    }
}

#[test]
fn bytes_that_a_program_has_appended_to_a_cut_file_stay_and_those_from_before_do_not_return() {
    for (kind, mut machine) in machines() {
        machine.change(|fs, file| {
            write(fs, file, (0, &[b'w'; 150]));
            fs.set_attributes(&CX, file, &SetAttributes { size_bytes: Some(50), ..SetAttributes::default() }).unwrap();
        });
        append(&machine.path(), b"local");
        machine.store();
        machine.fail_power();
        machine.replay();
        let expected = [&[b'w'; 50][..], b"local"].concat();
        assert!(fs::read(machine.path()).unwrap() == expected, "{kind}: {:?}", fs::read(machine.path()));
    }
}

#[test]
fn client_writes_behind_a_program_are_made_again() {
    for (kind, mut machine) in machines() {
        machine.change(|fs, file| {
            fs.set_attributes(&CX, file, &SetAttributes { size_bytes: Some(50), ..SetAttributes::default() }).unwrap();
            thread::sleep(LATER);
            append(&machine.path(), b"local");
            machine.store();
            write(fs, file, (60, b"client"));
        });
        machine.fail_power();
        machine.replay();
        let expected = [&[b'o'; 50][..], b"local", &[0; 5], b"client"].concat();
        assert!(fs::read(machine.path()).unwrap() == expected, "{kind}: {:?}", fs::read(machine.path()));
    }
}

#[test]
fn new_file_of_a_client_keeps_what_a_program_has_done_to_it() {
    for (kind, mut machine) in machines() {
        let path = machine.disk.dir().join("new");
        machine.change(|fs, _| {
            let set = SetAttributes { size_bytes: Some(100), ..of_client() };
            let new = fs.create(&CX, at(&fs.root(), "new"), CreateMode::Guarded, &set).unwrap().handle;
            write(fs, &new, (0, b"content"));
        });
        chown(&path, Some(1002), Some(1002)).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o4711)).unwrap();
        File::options().write(true).open(&path).unwrap().set_len(7).unwrap();
        machine.store();
        machine.fail_power();
        machine.replay();
        let is = path.metadata().unwrap();
        assert_eq!((is.uid(), is.gid(), is.mode() & 0o7777, is.len()), (1002, 1002, 0o4711, 7), "{kind}");
        assert_eq!(fs::read(&path).unwrap(), b"content", "{kind}");
    }
}

/// Storage fails when a replay is about to end.
struct FailsLate {
    inner: Rebooted,
    flushes: AtomicU64,
}

#[deny(clippy::missing_trait_methods)]
impl FileSystem for FailsLate {
    vfs::forward!(FileSystem for self.inner:
        root, storage, origin, set_borders, blocking, changes_wait, properties, is_read_only, attributes, access,
        set_attributes, lookup, find, parent, read_link, open, hold, has_local_locks, open_for_locks, lease_break_time,
        lease, read_dir, create, make_node, link, remove, remove_seen, remove_dir, rename, get_xattr, set_xattr,
        list_xattrs, remove_xattr, acls, set_acls, maintain, memory, space, losses, log_marks, set_log_mark);

    fn sync_all(&self, cx: &Context<'_>) -> vfs::Result<()> {
        let is_first = self.flushes.fetch_add(1, Ordering::Relaxed) == 0;
        if is_first { self.inner.sync_all(cx) } else { Err(Error::Io(io::Error::other("fails"))) }
    }
}

#[test]
fn replay_after_an_interrupted_one_trusts_no_ctimes() {
    for (kind, mut machine) in machines() {
        machine.change(set_as_client);
        machine.fail_power();
        let failed = machine.site.attach(machine.disk.dir(), false, |inner| {
            let inner = Rebooted { inner, at: SystemTime::now() };
            Arc::new(FailsLate { inner, flushes: AtomicU64::new(0) })
        });
        assert!(failed.is_err());
        // What of it got to storage has a later ctime.
        chown(machine.path(), Some(0), Some(0)).unwrap();
        machine.store();
        machine.fail_power();
        machine.replay();
        assert_eq!(owner(&machine), "client", "{kind}");
    }
}

#[test]
fn bytes_of_a_program_between_those_of_a_client_stay() {
    for (kind, mut machine) in machines() {
        machine.change(|fs, file| write(fs, file, (0, b"client")));
        let mut file = File::options().write(true).open(machine.path()).unwrap();
        file.seek(SeekFrom::Start(100)).unwrap();
        file.write_all(b"local").unwrap();
        drop(file);
        machine.store();
        machine.fail_power();
        machine.replay();
        let content = fs::read(machine.path()).unwrap();
        assert_eq!((&content[..7], &content[99..106]), (&b"cliento"[..], &b"olocalo"[..]), "{kind}");
    }
}

#[test]
fn file_that_a_program_put_in_the_place_of_a_new_one_stays_though_a_client_has_changed_it() {
    for (kind, mut machine) in machines() {
        machine.change(|fs, _| {
            let new = create(fs, &fs.root(), "app.conf");
            write(fs, &new, (0, b"port=1"));
            machine.replace_locally("app.conf", b"port=2");
            let other = fs.lookup(&CX, at(&fs.root(), "app.conf")).unwrap().handle;
            fs.set_attributes(&CX, &other, &SetAttributes { mode: Some(0o640), ..SetAttributes::default() }).unwrap();
        });
        machine.store();
        machine.fail_power();
        assert_eq!(machine.replay().set_aside, 1, "{kind}");
        let path = machine.disk.dir().join("app.conf");
        assert_eq!(fs::read(&path).unwrap(), b"port=2", "{kind}");
        assert_eq!(path.metadata().unwrap().mode() & 0o7777, 0o640, "{kind}");
        let kept = kept_aside(machine.disk.dir());
        assert_eq!(kept.map(|path| fs::read(path).unwrap()), Some(b"port=1".to_vec()), "{kind}");
    }
}

#[test]
fn file_that_a_program_has_moved_keeps_its_new_name_when_a_client_changed_its_successor() {
    for (kind, mut machine) in machines() {
        machine.change(|fs, _| {
            let old = create(fs, &fs.root(), "log");
            write(fs, &old, (0, b"log1"));
            fs::rename(machine.disk.dir().join("log"), machine.disk.dir().join("log.1")).unwrap();
            fs::write(machine.disk.dir().join("log"), b"").unwrap();
            let new = fs.lookup(&CX, at(&fs.root(), "log")).unwrap().handle;
            write(fs, &new, (0, b"log2"));
        });
        machine.store();
        machine.fail_power();
        machine.replay();
        let content = |name: &str| fs::read(machine.disk.dir().join(name)).unwrap();
        assert_eq!((content("log"), content("log.1")), (b"log2".to_vec(), b"log1".to_vec()), "{kind}");
    }
}

#[test]
fn directory_that_a_program_put_in_the_place_of_a_new_one_stays_with_what_a_client_made_in_it() {
    for (kind, mut machine) in machines() {
        let dir = machine.disk.dir().join("dir");
        machine.change(|fs, _| {
            let root = fs.root();
            let old = fs.make_node(&CX, at(&root, "dir"), NewNode::Directory, &SetAttributes::default()).unwrap();
            write(fs, &create(fs, &old.handle, "file"), (0, b"old"));
            fs::remove_dir_all(&dir).unwrap();
            fs::create_dir(machine.disk.dir().join("other")).unwrap();
            fs::rename(machine.disk.dir().join("other"), &dir).unwrap();
            let new = fs.lookup(&CX, at(&root, "dir")).unwrap().handle;
            write(fs, &create(fs, &new, "file"), (0, b"new"));
        });
        machine.store();
        machine.fail_power();
        machine.replay();
        assert_eq!(fs::read(dir.join("file")).unwrap(), b"new", "{kind}");
    }
}

#[test]
fn data_of_a_file_that_a_program_had_made_and_not_stored_are_set_aside() {
    for (kind, mut machine) in machines() {
        machine.change(|fs, _| {
            fs::write(machine.disk.dir().join("local"), b"local").unwrap();
            let file = fs.lookup(&CX, at(&fs.root(), "local")).unwrap().handle;
            write(fs, &file, (0, b"of a client"));
        });
        machine.fail_power();
        if machine.disk.dir().join("local").exists() {
            println!("skipped on {kind}: the disk had stored the file");
            continue;
        }
        assert_eq!(machine.replay().set_aside, 1, "{kind}");
        let kept = machine.set_aside();
        assert!(
            kept.contains("change: write 11 bytes at offset 0\n") && kept.contains(&hex(b"of a client")),
            "{kind}: {kept}"
        );
    }
}

#[test]
fn bytes_that_a_program_has_written_over_those_of_a_client_are_set_aside() {
    for (kind, mut machine) in machines() {
        machine.change(|fs, file| {
            write(fs, file, (0, b"early"));
            write(fs, file, (0, b"client"));
        });
        let local = File::options().write(true).open(machine.path()).unwrap();
        local.write_all_at(b"lo", 2).unwrap();
        drop(local);
        machine.store();
        machine.fail_power();
        assert_eq!(machine.replay().set_aside, 1, "{kind}");
        assert_eq!(&fs::read(machine.path()).unwrap()[..7], b"cliento", "{kind}");
        let kept = machine.set_aside();
        assert!(
            kept.contains("change: keep 6 bytes at offset 0\n") && kept.contains(&hex(b"cllont")),
            "{kind}: {kept}"
        );
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The file that a replay has kept under another name.
fn kept_aside(dir: &Path) -> Option<PathBuf> {
    let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    names.into_iter().find(|path| path.file_name().unwrap().as_bytes().starts_with(b".wharf-set-aside-"))
}
