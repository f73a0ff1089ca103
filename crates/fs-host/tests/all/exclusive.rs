//! Exclusive creates on a server that is killed at any moment: a retransmission knows its own file by the verifier.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::fs::{Mode, OFlags, XattrFlags};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use vfs::{Context, CreateMode, Entry, Error, FileSystem, Handle, Result, SetAttributes};
use wharf_fs_host::{HandleForm, HostFs, HostOptions};

use testing::host_export;
use testing::host_export::*;

const ALICE: u32 = 41_001;
const BOB: u32 = 41_002;
const STAFF: u32 = 42_001;
const PROJECT: u32 = 42_002;

const VERIFIER: [u8; 8] = *b"verifier";
const DEFAULT_ACL: &CStr = c"system.posix_acl_default";

/// Creates `name` in `dir` with [`VERIFIER`].
fn create(fs: &HostFs, cx: &Context<'_>, (dir, name): (&Handle, &str), set: &SetAttributes) -> Result<Entry> {
    fs.create(cx, at(dir, name), CreateMode::Exclusive(VERIFIER), set)
}

/// Whether the file system of `dir` makes files without a name.
fn has_unnamed_files(dir: &Path) -> bool {
    rustix::fs::open(dir, OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, Mode::RUSR).is_ok()
}

/// What happens to the names of `dir` while `change` runs.
fn events_of(dir: &Path, change: impl FnOnce()) -> Vec<ReadFlags> {
    let watch = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).unwrap();
    inotify::add_watch(&watch, dir, WatchFlags::CREATE | WatchFlags::ATTRIB | WatchFlags::MODIFY).unwrap();
    change();
    let mut room = [MaybeUninit::uninit(); 4096];
    let mut reader = inotify::Reader::new(&watch, &mut room);
    std::iter::from_fn(|| reader.next().ok().map(|event| event.events())).collect()
}

/// A server that is killed between two changes of a file with a name leaves a file that is not what was asked for, and
/// that the retransmission takes for somebody else's.
#[test]
fn file_changes_no_more_once_it_has_its_name() {
    for export in [Export::on_disk(), Export::in_memory()] {
        if !has_unnamed_files(&export.path()) {
            eprintln!("skipped: no files without a name below {}", export.path().display());
            continue;
        }
        for form in forms() {
            let fs = export.open(form);
            let me = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
            let (uid, gid) = if is_root() { (ALICE, STAFF) } else { me };
            let all = SetAttributes { size_bytes: Some(5), uid: Some(uid), gid: Some(gid), ..mode(0o2640) };
            for (number, set) in [SetAttributes::default(), mode(0o600), all].into_iter().enumerate() {
                let name = format!("{form:?}-{number}");
                let events = events_of(&export.path(), || {
                    let made = create(&fs, &CX, (&fs.root(), &name), &set).unwrap();
                    assert_eq!((made.attributes.links, made.attributes.size_bytes), (1, set.size_bytes.unwrap_or(0)));
                    assert_eq!(made.attributes.mode, set.mode.unwrap_or(0o644));
                });
                assert_eq!(events.last(), Some(&ReadFlags::CREATE), "{name}: {events:?}");
            }
        }
    }
}

/// RFC 8881 §18.16.3: EXCLUSIVE4_1 may give the new file a size.
#[test]
fn retransmission_finds_a_file_that_was_made_with_a_size() {
    for form in forms() {
        let export = Export::on_disk();
        let set = SetAttributes { size_bytes: Some(4096), ..mode(0o600) };
        let create = |set| {
            let fs = export.open(form);
            create(&fs, &CX, (&fs.root(), "f"), &set)
        };
        let made = create(set).unwrap();
        let again = create(set).unwrap();
        assert_eq!((again.handle, again.attributes.size_bytes), (made.handle, 4096));
        let other = SetAttributes { size_bytes: Some(1), ..set };
        assert!(matches!(create(other), Err(Error::Exists)), "it has another size by now");
    }
}

#[test]
fn what_has_the_name_already_is_told_whatever_else_is_wrong() {
    let export = Export::on_disk();
    let fs = export.open(HandleForm::Auto);
    touch(&fs, "f");
    let impossible = SetAttributes { uid: Some(u32::MAX), ..SetAttributes::default() };
    assert!(matches!(create(&fs, &CX, (&fs.root(), "f"), &impossible), Err(Error::Exists)));
    assert!(matches!(create(&fs, &CX, (&fs.root(), "g"), &impossible), Err(Error::Invalid)));
    assert_eq!(list_all(&fs, &fs.root()).len(), 1);
}

/// Runs `test` on an export in memory that holds three files beside its root.
fn with_few_files(test: impl FnOnce(&Export)) {
    let export = Export::in_memory();
    let options = c"nr_inodes=4,mode=0777";
    if let Err(error) = mount("tmpfs", export.path(), "tmpfs", MountFlags::empty(), Some(options)) {
        eprintln!("skipped: cannot mount a file system of its own here: {error}");
        return;
    }
    test(&export);
    unmount(export.path(), UnmountFlags::DETACH).unwrap();
}

#[test]
fn retransmission_finds_its_file_on_a_file_system_that_is_full() {
    with_few_files(|export| {
        let fs = export.open(HandleForm::Auto);
        for cx in [CX, cx_of(ALICE, STAFF, &[])] {
            let made = create(&fs, &cx, (&fs.root(), "made"), &mode(0o600)).unwrap();
            ["second", "third"].iter().for_each(|name| assert_eq!(touch(&fs, name).attributes.links, 1));
            assert_eq!(create(&fs, &cx, (&fs.root(), "made"), &mode(0o600)).unwrap().handle, made.handle);
            assert!(matches!(create(&fs, &cx, (&fs.root(), "none"), &mode(0o600)), Err(Error::NoSpace)));
            ["made", "second", "third"].iter().for_each(|name| fs.remove(&CX, at(&fs.root(), name)).unwrap());
            assert!(list_all(&fs, &fs.root()).is_empty());
        }
    });
}

/// A default list that names one more user: `user::rwx user:BOB:rw- group::r-x mask::rw- other::---`.
fn set_default_acl(dir: &Path) {
    let entries = [(1_u16, 7_u16, u32::MAX), (2, 6, BOB), (4, 5, u32::MAX), (16, 6, u32::MAX), (32, 0, u32::MAX)];
    let mut bytes = 2_u32.to_le_bytes().to_vec();
    for (tag, allowed, id) in entries {
        bytes.extend([tag.to_le_bytes(), allowed.to_le_bytes()].concat());
        bytes.extend(id.to_le_bytes());
    }
    rustix::fs::setxattr(dir, DEFAULT_ACL, &bytes, XattrFlags::empty()).unwrap();
}

/// Owner, group, mode, links and access list of a file.
fn look(path: &Path) -> (u32, u32, u32, u64, Vec<u8>) {
    let stat = std::fs::metadata(path).unwrap();
    let mut acl = vec![0; 4096];
    let length = rustix::fs::getxattr(path, c"system.posix_acl_access", &mut acl).unwrap_or(0);
    acl.truncate(length);
    (stat.uid(), stat.gid(), stat.mode() & 0o7777, stat.nlink(), acl)
}

/// A directory of Bob's and of a group that the callers are not in.
fn make_shared(path: &Path, (bits, has_acl): (u32, bool)) {
    wharf_fs_host::act_as_server().unwrap();
    std::fs::create_dir(path).unwrap();
    chown(path, Some(BOB), Some(PROJECT)).unwrap();
    std::fs::set_permissions(path, PermissionsExt::from_mode(bits)).unwrap();
    if has_acl {
        set_default_acl(path);
    }
}

/// What a directory hands down reaches a file that gets its name last too: the group, and the access list.
#[test]
fn file_inherits_from_its_directory_as_any_other_file_does() {
    if !is_root() {
        eprintln!("skipped: acting as other users needs root");
        return;
    }
    for export in [Export::on_disk(), Export::in_memory()] {
        let fs = export.open(HandleForm::Auto);
        for shared in [(0o777, false), (0o2777, false), (0o777, true), (0o2777, true)] {
            let path = export.path().join(format!("{shared:?}"));
            make_shared(&path, shared);
            let dir = fs.lookup(&CX, at(&fs.root(), &format!("{shared:?}"))).unwrap().handle;
            for bits in [0o666, 0o640, 0o2775, 0o4711] {
                for cx in [CX, cx_of(ALICE, STAFF, &[])] {
                    let made = |mode| {
                        fs.create(&cx, at(&dir, "f"), mode, &host_export::mode(bits)).unwrap();
                        let seen = look(&path.join("f"));
                        fs.remove(&cx, at(&dir, "f")).unwrap();
                        seen
                    };
                    let (guarded, exclusive) = (made(CreateMode::Guarded), made(CreateMode::Exclusive(VERIFIER)));
                    assert_eq!(exclusive, guarded, "{bits:o} in {}", path.display());
                }
            }
        }
    }
}

#[test]
fn caller_who_may_not_add_names_makes_no_file() {
    if !is_root() {
        eprintln!("skipped: acting as other users needs root");
        return;
    }
    let export = Export::on_disk();
    let fs = export.open(HandleForm::Auto);
    std::fs::set_permissions(export.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let alice = cx_of(ALICE, STAFF, &[]);
    assert!(matches!(create(&fs, &alice, (&fs.root(), "f"), &mode(0o600)), Err(Error::AccessDenied)));
    touch(&fs, "there");
    assert!(matches!(create(&fs, &alice, (&fs.root(), "there"), &mode(0o600)), Err(Error::Exists)));
}

/// Two clients race: one makes the file, the other one is told that it is there.
#[test]
fn one_of_two_clients_makes_the_file() {
    let export = Export::on_disk();
    let options = HostOptions { sync_metadata: false, ..export.options(HandleForm::Auto) };
    let fs = HostFs::open(&export.path(), options).unwrap();
    for round in 0..200 {
        let (fs, name) = (&fs, &format!("f-{round}"));
        let made: Vec<bool> = std::thread::scope(|scope| {
            let race = |client: u8| {
                let mode = CreateMode::Exclusive([client; 8]);
                let cx = Context { worker: client.into(), ..CX };
                scope.spawn(move || fs.create(&cx, at(&fs.root(), name), mode, &SetAttributes::default()).is_ok())
            };
            [race(0), race(1)].map(|thread| thread.join().unwrap()).into()
        });
        assert!(made[0] != made[1], "{made:?} in round {round}");
    }
}
