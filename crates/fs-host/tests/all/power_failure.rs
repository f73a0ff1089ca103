//! What a reply has reported is there after a power failure right behind it: each change, on each file system.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use testing::disks::{DiskKind, LoopDisk};
use testing::host_export::{CX, at, mode, write};
use vfs::{
    CreateMode, FileSystem, Handle, NewNode, OpenMode, SetAttributes, SetXattr, Stability, XattrMode, XattrName,
};
use wharf_fs_host::{HostFs, HostOptions};

const EXT_MKFS: &str = "nodiscard,lazy_itable_init=0";

const EXT4_WITHOUT_JOURNAL: DiskKind = DiskKind {
    mkfs: &["-q", "-F", "-E", EXT_MKFS, "-O", "^has_journal"],
    mount: "",
    needs_check: true,
    ..DiskKind::EXT4
};
const EXT4_FAST_COMMIT: DiskKind =
    DiskKind { mkfs: &["-q", "-F", "-E", EXT_MKFS, "-O", "fast_commit"], ..DiskKind::EXT4 };
const EXT2: DiskKind =
    DiskKind { name: "ext2", mkfs: &["-q", "-F", "-E", EXT_MKFS], mount: "", needs_check: true, ..DiskKind::EXT4 };
const EXT3: DiskKind = DiskKind { name: "ext3", mkfs: &["-q", "-F", "-E", EXT_MKFS], ..DiskKind::EXT4 };

const VERIFIER: CreateMode = CreateMode::Exclusive(*b"verifier");
const WRITTEN: &[u8] = b"written";

/// A change, and whether it is on a file system.
struct Change {
    name: &'static str,
    make: fn(&HostFs),
    is_there: fn(&Path) -> bool,
}

fn handle(fs: &HostFs, path: &str) -> Handle {
    path.split('/').fold(fs.root(), |dir, name| fs.lookup(&CX, at(&dir, name)).unwrap().handle)
}

fn create(fs: &HostFs, name: &str, how: CreateMode, set: &SetAttributes) -> Handle {
    fs.create(&CX, at(&fs.root(), name), how, set).unwrap().handle
}

fn make(fs: &HostFs, name: &str, node: NewNode<'_>, set: &SetAttributes) {
    fs.make_node(&CX, at(&fs.root(), name), node, set).unwrap();
}

fn owned() -> SetAttributes {
    SetAttributes { uid: Some(1000), gid: Some(1000), ..mode(0o640) }
}

fn write_stably(fs: &HostFs, file: &Handle) {
    let open = fs.open(&CX, file, OpenMode::Write).unwrap();
    open.write_at(&CX, 0, WRITTEN, Stability::File).unwrap();
}

fn commit(fs: &HostFs, file: &Handle) {
    write(fs, file, WRITTEN);
    fs.open(&CX, file, OpenMode::Write).unwrap().sync(&CX).unwrap();
}

fn is_owned(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| metadata.uid() == 1000)
}

fn has(path: &Path, bytes: &[u8]) -> bool {
    std::fs::read(path).is_ok_and(|found| found == bytes)
}

fn is_missing(path: &Path) -> bool {
    path.symlink_metadata().is_err()
}

const CHANGES: &[Change] = &[
    Change {
        name: "CREATE",
        make: |fs| {
            let _ = create(fs, "plain", CreateMode::Guarded, &SetAttributes::default());
        },
        is_there: |dir| dir.join("plain").is_file(),
    },
    Change {
        name: "CREATE with attributes",
        make: |fs| {
            let _ = create(fs, "owned", CreateMode::Unchecked, &owned());
        },
        is_there: |dir| is_owned(&dir.join("owned")),
    },
    Change {
        name: "exclusive CREATE",
        make: |fs| {
            let _ = create(fs, "exclusive", VERIFIER, &SetAttributes::default());
        },
        is_there: |dir| dir.join("exclusive").is_file(),
    },
    Change {
        name: "exclusive CREATE with a stable WRITE",
        make: |fs| write_stably(fs, &create(fs, "exclusive-written", VERIFIER, &mode(0o600))),
        is_there: |dir| has(&dir.join("exclusive-written"), WRITTEN),
    },
    Change {
        name: "CREATE with COMMIT",
        make: |fs| commit(fs, &create(fs, "committed", CreateMode::Guarded, &mode(0o600))),
        is_there: |dir| has(&dir.join("committed"), WRITTEN),
    },
    Change {
        name: "MKDIR",
        make: |fs| make(fs, "made", NewNode::Directory, &SetAttributes::default()),
        is_there: |dir| dir.join("made").is_dir(),
    },
    Change {
        name: "MKDIR with attributes",
        make: |fs| make(fs, "made-owned", NewNode::Directory, &owned()),
        is_there: |dir| is_owned(&dir.join("made-owned")),
    },
    Change {
        name: "SYMLINK",
        make: |fs| make(fs, "symlink", NewNode::Symlink(b"target"), &SetAttributes::default()),
        is_there: |dir| std::fs::read_link(dir.join("symlink")).is_ok_and(|target| target == Path::new("target")),
    },
    Change {
        name: "SYMLINK with a long target",
        make: |fs| make(fs, "symlink-long", NewNode::Symlink(&[b'x'; 300]), &SetAttributes::default()),
        is_there: |dir| {
            std::fs::read_link(dir.join("symlink-long")).is_ok_and(|target| target.as_os_str().len() == 300)
        },
    },
    Change {
        name: "MKNOD",
        make: |fs| make(fs, "socket", NewNode::Socket, &SetAttributes::default()),
        is_there: |dir| dir.join("socket").symlink_metadata().is_ok_and(|metadata| metadata.file_type().is_socket()),
    },
    Change {
        name: "MKNOD with attributes",
        make: |fs| make(fs, "fifo", NewNode::Fifo, &owned()),
        is_there: |dir| {
            let metadata = dir.join("fifo").symlink_metadata();
            metadata.is_ok_and(|metadata| metadata.file_type().is_fifo() && metadata.uid() == 1000)
        },
    },
    Change {
        name: "LINK",
        make: |fs| {
            let _ = fs.link(&CX, &handle(fs, "linked"), at(&handle(fs, "dir"), "link")).unwrap();
        },
        is_there: |dir| has(&dir.join("dir/link"), b"linked"),
    },
    Change {
        name: "RENAME",
        make: |fs| fs.rename(&CX, at(&fs.root(), "from"), at(&fs.root(), "over")).unwrap(),
        is_there: |dir| has(&dir.join("over"), b"from") && is_missing(&dir.join("from")),
    },
    Change {
        name: "RENAME to another directory",
        make: |fs| fs.rename(&CX, at(&fs.root(), "away"), at(&handle(fs, "dir"), "away")).unwrap(),
        is_there: |dir| has(&dir.join("dir/away"), b"away") && is_missing(&dir.join("away")),
    },
    Change {
        name: "RENAME of a directory to another one",
        make: |fs| fs.rename(&CX, at(&fs.root(), "moved"), at(&handle(fs, "dir"), "moved")).unwrap(),
        is_there: |dir| has(&dir.join("dir/moved/inside"), b"inside") && is_missing(&dir.join("moved")),
    },
    Change {
        name: "REMOVE",
        make: |fs| fs.remove(&CX, at(&fs.root(), "gone")).unwrap(),
        is_there: |dir| is_missing(&dir.join("gone")),
    },
    Change {
        name: "RMDIR",
        make: |fs| fs.remove_dir(&CX, at(&fs.root(), "gone-dir")).unwrap(),
        is_there: |dir| is_missing(&dir.join("gone-dir")),
    },
    Change {
        name: "SETATTR",
        make: |fs| {
            let _ = fs.set_attributes(&CX, &handle(fs, "set"), &owned()).unwrap();
        },
        is_there: |dir| is_owned(&dir.join("set")),
    },
    Change {
        name: "SETATTR of a size",
        make: |fs| {
            let set = SetAttributes { size_bytes: Some(2), ..SetAttributes::default() };
            fs.set_attributes(&CX, &handle(fs, "cut"), &set).unwrap();
        },
        is_there: |dir| has(&dir.join("cut"), b"cu"),
    },
    Change {
        name: "SETATTR of a symbolic link",
        make: |fs| {
            let set = SetAttributes { uid: Some(1000), ..SetAttributes::default() };
            fs.set_attributes(&CX, &handle(fs, "pointer"), &set).unwrap();
        },
        is_there: |dir| is_owned(&dir.join("pointer")),
    },
    Change {
        name: "SETXATTR",
        make: |fs| {
            let name = XattrName::new(b"key").unwrap();
            fs.set_xattr(&CX, &handle(fs, "tagged"), &SetXattr { name, value: b"value", mode: XattrMode::Either })
                .unwrap();
        },
        is_there: |dir| {
            let mut value = [0; 5];
            rustix::fs::getxattr(dir.join("tagged"), c"user.key", &mut value).is_ok() && &value == b"value"
        },
    },
    Change {
        name: "WRITE",
        make: |fs| write_stably(fs, &handle(fs, "rewritten")),
        is_there: |dir| has(&dir.join("rewritten"), WRITTEN),
    },
];

/// How many inodes are between that of the directory and those of new files: one block of inodes has at most 32.
const INODES_BETWEEN: u32 = 64;

/// What the changes find.
fn prepare(dir: &Path) {
    (0..INODES_BETWEEN).for_each(|number| std::fs::write(dir.join(format!("filler-{number}")), "").unwrap());
    for name in ["linked", "from", "over", "away", "gone", "set", "cut", "tagged", "rewritten"] {
        std::fs::write(dir.join(name), if name == "rewritten" { "" } else { name }).unwrap();
    }
    for name in ["dir", "moved", "gone-dir"] {
        std::fs::create_dir(dir.join(name)).unwrap();
    }
    std::fs::write(dir.join("moved/inside"), "inside").unwrap();
    std::os::unix::fs::symlink("nowhere", dir.join("pointer")).unwrap();
}

/// Makes each change, and looks for it behind a power failure.
fn cut_power_after_each_change(kind: DiskKind) {
    let Some(mut disk) = LoopDisk::new(kind) else { return };
    let export = |dir: &Path| dir.join("export");
    std::fs::create_dir(export(disk.dir())).unwrap();
    prepare(&export(disk.dir()));
    disk.remount();
    let options = HostOptions { state_dir: Some(disk.beside("state")), workers: 2, ..HostOptions::default() };
    let fs = HostFs::open(&export(disk.dir()), options).unwrap();
    let is_lost = |change: &&Change| {
        (change.make)(&fs);
        !(change.is_there)(&export(disk.after_power_failure().dir()))
    };
    let lost: Vec<&str> = CHANGES.iter().filter(is_lost).map(|change| change.name).collect();
    drop(fs);
    assert!(lost.is_empty(), "lost on {kind:?}: {lost:?}");
}

#[test]
fn acknowledged_changes_survive_a_power_failure_on_ext4() {
    cut_power_after_each_change(DiskKind::EXT4);
}

#[test]
fn acknowledged_changes_survive_a_power_failure_on_ext4_without_a_journal() {
    cut_power_after_each_change(EXT4_WITHOUT_JOURNAL);
}

#[test]
fn acknowledged_changes_survive_a_power_failure_on_ext4_with_fast_commits() {
    cut_power_after_each_change(EXT4_FAST_COMMIT);
}

#[test]
fn acknowledged_changes_survive_a_power_failure_on_ext2() {
    cut_power_after_each_change(EXT2);
}

#[test]
fn acknowledged_changes_survive_a_power_failure_on_ext3() {
    cut_power_after_each_change(EXT3);
}

#[test]
fn acknowledged_changes_survive_a_power_failure_on_xfs() {
    cut_power_after_each_change(DiskKind::XFS);
}

#[test]
fn acknowledged_changes_survive_a_power_failure_on_btrfs() {
    cut_power_after_each_change(DiskKind::BTRFS);
}
