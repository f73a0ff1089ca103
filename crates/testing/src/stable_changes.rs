//! Each kind of change that a reply reports stable, and how to see that a file system has it.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use vfs::{
    Access, AclEntry, AclTag, Acls, Context, CopyRange, CreateMode, FileSystem, Handle, Name, NewNode, OpenFile,
    OpenMode, Place, PosixAcl, Result, SetAttributes, SetTime, SetXattr, Stability, Timestamp, XattrMode, XattrName,
};

const CX: Context<'static> = Context::ROOT;
const VERIFIER: CreateMode = CreateMode::Exclusive(*b"verifier");
const WRITTEN: &[u8] = b"written";
const SOURCE_BYTES: usize = 8192;
const MODIFIED: i64 = 1_000_000_000;

/// A change, and whether it is on a file system.
pub struct StableChange {
    pub name: &'static str,
    /// Makes it; [`vfs::Error::NotSupported`] where there is no such change.
    pub make: fn(&dyn FileSystem) -> Result<()>,
    /// Whether it is in the exported directory.
    pub is_there: fn(&Path) -> bool,
}

fn handle(fs: &dyn FileSystem, path: &str) -> Handle {
    path.split('/').fold(fs.root(), |dir, name| fs.lookup(&CX, at(&dir, name)).unwrap().handle)
}

fn create(fs: &dyn FileSystem, name: &str, how: CreateMode, set: &SetAttributes) -> Result<Handle> {
    Ok(fs.create(&CX, at(&fs.root(), name), how, set)?.handle)
}

fn make(fs: &dyn FileSystem, name: &str, node: NewNode<'_>, set: &SetAttributes) -> Result<()> {
    fs.make_node(&CX, at(&fs.root(), name), node, set).map(drop)
}

fn set(fs: &dyn FileSystem, name: &str, set: &SetAttributes) -> Result<()> {
    fs.set_attributes(&CX, &handle(fs, name), set).map(drop)
}

fn sized(size_bytes: u64) -> SetAttributes {
    SetAttributes { size_bytes: Some(size_bytes), ..SetAttributes::default() }
}

fn mode(mode: u32) -> SetAttributes {
    SetAttributes { mode: Some(mode), ..SetAttributes::default() }
}

fn at<'n>(dir: &Handle, name: &'n str) -> Place<'n> {
    Place { dir: *dir, name: Name::new(name.as_bytes()).unwrap() }
}

fn dated() -> SetAttributes {
    let time = Some(SetTime::To(Timestamp { seconds: MODIFIED, nanoseconds: 0 }));
    SetAttributes { accessed: time, modified: time, ..SetAttributes::default() }
}

fn is_dated(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.mtime() == MODIFIED)
}

fn owned() -> SetAttributes {
    SetAttributes { uid: Some(1000), gid: Some(1000), ..mode(0o640) }
}

fn write_stably(fs: &dyn FileSystem, file: &Handle) -> Result<()> {
    fs.open(&CX, file, OpenMode::Write)?.write_at(&CX, 0, WRITTEN, Stability::File).map(drop)
}

fn commit(fs: &dyn FileSystem, file: &Handle) -> Result<()> {
    let open = fs.open(&CX, file, OpenMode::Write)?;
    open.write_at(&CX, 0, WRITTEN, Stability::Unstable)?;
    open.sync(&CX)
}

/// Copies or clones the file `source` to a file, and commits it.
fn copy(
    fs: &dyn FileSystem,
    name: &str,
    copy: fn(&dyn OpenFile, &dyn OpenFile, CopyRange) -> Result<()>,
) -> Result<()> {
    let open = |name, mode| fs.open(&CX, &handle(fs, name), mode);
    let (from, to) = (open("source", OpenMode::Read)?, open(name, OpenMode::Write)?);
    copy(&*from, &*to, CopyRange { from_bytes: 0, to_bytes: 0, length_bytes: SOURCE_BYTES as u64 })?;
    to.sync(&CX)
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

pub const CHANGES: &[StableChange] = &[
    StableChange {
        name: "CREATE",
        make: |fs| create(fs, "plain", CreateMode::Guarded, &SetAttributes::default()).map(drop),
        is_there: |dir| dir.join("plain").is_file(),
    },
    StableChange {
        name: "CREATE with attributes",
        make: |fs| create(fs, "owned", CreateMode::Unchecked, &owned()).map(drop),
        is_there: |dir| is_owned(&dir.join("owned")),
    },
    StableChange {
        name: "exclusive CREATE",
        make: |fs| create(fs, "exclusive", VERIFIER, &SetAttributes::default()).map(drop),
        is_there: |dir| dir.join("exclusive").is_file(),
    },
    StableChange {
        name: "exclusive CREATE with a stable WRITE",
        make: |fs| write_stably(fs, &create(fs, "exclusive-written", VERIFIER, &mode(0o600))?),
        is_there: |dir| has(&dir.join("exclusive-written"), WRITTEN),
    },
    StableChange {
        name: "CREATE with COMMIT",
        make: |fs| commit(fs, &create(fs, "committed", CreateMode::Guarded, &mode(0o600))?),
        is_there: |dir| has(&dir.join("committed"), WRITTEN),
    },
    StableChange {
        name: "MKDIR",
        make: |fs| make(fs, "made", NewNode::Directory, &SetAttributes::default()),
        is_there: |dir| dir.join("made").is_dir(),
    },
    StableChange {
        name: "MKDIR with attributes",
        make: |fs| make(fs, "made-owned", NewNode::Directory, &owned()),
        is_there: |dir| is_owned(&dir.join("made-owned")),
    },
    StableChange {
        name: "SYMLINK",
        make: |fs| make(fs, "symlink", NewNode::Symlink(b"target"), &SetAttributes::default()),
        is_there: |dir| std::fs::read_link(dir.join("symlink")).is_ok_and(|target| target == Path::new("target")),
    },
    StableChange {
        name: "SYMLINK with a long target",
        make: |fs| make(fs, "symlink-long", NewNode::Symlink(&[b'x'; 300]), &SetAttributes::default()),
        is_there: |dir| {
            std::fs::read_link(dir.join("symlink-long")).is_ok_and(|target| target.as_os_str().len() == 300)
        },
    },
    StableChange {
        name: "MKNOD",
        make: |fs| make(fs, "socket", NewNode::Socket, &SetAttributes::default()),
        is_there: |dir| dir.join("socket").symlink_metadata().is_ok_and(|metadata| metadata.file_type().is_socket()),
    },
    StableChange {
        name: "MKNOD with attributes",
        make: |fs| make(fs, "fifo", NewNode::Fifo, &owned()),
        is_there: |dir| {
            let metadata = dir.join("fifo").symlink_metadata();
            metadata.is_ok_and(|metadata| metadata.file_type().is_fifo() && metadata.uid() == 1000)
        },
    },
    StableChange {
        name: "LINK",
        make: |fs| fs.link(&CX, &handle(fs, "linked"), at(&handle(fs, "dir"), "link")).map(drop),
        is_there: |dir| has(&dir.join("dir/link"), b"linked"),
    },
    StableChange {
        name: "RENAME",
        make: |fs| fs.rename(&CX, at(&fs.root(), "from"), at(&fs.root(), "over")),
        is_there: |dir| has(&dir.join("over"), b"from") && is_missing(&dir.join("from")),
    },
    StableChange {
        name: "RENAME to another directory",
        make: |fs| fs.rename(&CX, at(&fs.root(), "away"), at(&handle(fs, "dir"), "away")),
        is_there: |dir| has(&dir.join("dir/away"), b"away") && is_missing(&dir.join("away")),
    },
    StableChange {
        name: "RENAME of a directory to another one",
        make: |fs| fs.rename(&CX, at(&fs.root(), "moved"), at(&handle(fs, "dir"), "moved")),
        is_there: |dir| has(&dir.join("dir/moved/inside"), b"inside") && is_missing(&dir.join("moved")),
    },
    StableChange {
        name: "REMOVE",
        make: |fs| fs.remove(&CX, at(&fs.root(), "gone")),
        is_there: |dir| is_missing(&dir.join("gone")),
    },
    StableChange {
        name: "RMDIR",
        make: |fs| fs.remove_dir(&CX, at(&fs.root(), "gone-dir")),
        is_there: |dir| is_missing(&dir.join("gone-dir")),
    },
    StableChange { name: "SETATTR", make: |fs| set(fs, "set", &owned()), is_there: |dir| is_owned(&dir.join("set")) },
    StableChange {
        name: "SETATTR of a size",
        make: |fs| set(fs, "cut", &sized(2)),
        is_there: |dir| has(&dir.join("cut"), b"cu"),
    },
    StableChange {
        name: "SETATTR of a symbolic link",
        make: |fs| set(fs, "pointer", &SetAttributes { uid: Some(1000), ..SetAttributes::default() }),
        is_there: |dir| is_owned(&dir.join("pointer")),
    },
    StableChange {
        name: "SETXATTR",
        make: |fs| {
            let name = XattrName::new(b"key").unwrap();
            fs.set_xattr(&CX, &handle(fs, "tagged"), &SetXattr { name, value: b"value", mode: XattrMode::Either })
        },
        is_there: |dir| {
            let mut value = [0; 5];
            rustix::fs::getxattr(dir.join("tagged"), c"user.key", &mut value).is_ok() && &value == b"value"
        },
    },
    StableChange {
        name: "WRITE",
        make: |fs| write_stably(fs, &handle(fs, "rewritten")),
        is_there: |dir| has(&dir.join("rewritten"), WRITTEN),
    },
    StableChange {
        name: "CREATE with a size",
        make: |fs| {
            create(fs, "sized", CreateMode::Unchecked, &SetAttributes { mode: Some(0o600), ..sized(12_345) }).map(drop)
        },
        is_there: |dir| has(&dir.join("sized"), &[0; 12_345]),
    },
    StableChange {
        name: "CREATE with times",
        make: |fs| create(fs, "dated", CreateMode::Guarded, &SetAttributes { mode: Some(0o600), ..dated() }).map(drop),
        is_there: |dir| is_dated(&dir.join("dated")),
    },
    StableChange {
        name: "SETATTR of a larger size",
        make: |fs| set(fs, "grown", &sized(5000)),
        is_there: |dir| dir.join("grown").metadata().is_ok_and(|metadata| metadata.len() == 5000),
    },
    StableChange {
        name: "SETATTR of times",
        make: |fs| set(fs, "redated", &dated()),
        is_there: |dir| is_dated(&dir.join("redated")),
    },
    StableChange {
        name: "SETATTR of a mode",
        make: |fs| set(fs, "moded", &mode(0o4711)),
        is_there: |dir| dir.join("moded").metadata().is_ok_and(|metadata| metadata.mode() & 0o7777 == 0o4711),
    },
    StableChange {
        name: "REMOVE of one of two names",
        make: |fs| fs.remove(&CX, at(&fs.root(), "second-name")),
        is_there: |dir| is_missing(&dir.join("second-name")) && has(&dir.join("first-name"), b"first-name"),
    },
    StableChange {
        name: "REMOVEXATTR",
        make: |fs| fs.remove_xattr(&CX, &handle(fs, "untagged"), XattrName::new(b"key").unwrap()),
        is_there: |dir| rustix::fs::getxattr(dir.join("untagged"), c"user.key", &mut [0; 5][..]).is_err(),
    },
    StableChange {
        name: "SETACL",
        make: |fs| {
            let entry = |tag, allowed| AclEntry { tag, allowed };
            let access = PosixAcl::new(vec![
                entry(AclTag::Owner, Access::READ),
                entry(AclTag::User(1000), Access::READ),
                entry(AclTag::OwningGroup, Access::READ),
                entry(AclTag::Mask, Access::READ),
                entry(AclTag::Other, Access::NONE),
            ]);
            fs.set_acls(&CX, &handle(fs, "listed"), &Acls { access: access.unwrap(), default: None })
        },
        is_there: |dir| rustix::fs::getxattr(dir.join("listed"), c"system.posix_acl_access", &mut [0; 64][..]).is_ok(),
    },
    StableChange {
        name: "ALLOCATE",
        make: |fs| {
            let open = fs.open(&CX, &handle(fs, "allocated"), OpenMode::Write)?;
            open.allocate(&CX, 0..8192)?;
            open.sync(&CX)
        },
        is_there: |dir| dir.join("allocated").metadata().is_ok_and(|metadata| metadata.len() == 8192),
    },
    StableChange {
        name: "DEALLOCATE",
        make: |fs| {
            let open = fs.open(&CX, &handle(fs, "deallocated"), OpenMode::Write)?;
            open.deallocate(&CX, 0..SOURCE_BYTES as u64)?;
            open.sync(&CX)
        },
        is_there: |dir| has(&dir.join("deallocated"), &[0; SOURCE_BYTES]),
    },
    StableChange {
        name: "COPY",
        make: |fs| copy(fs, "copied", |from, to, range| to.copy_range(&CX, from, range).map(drop)),
        is_there: |dir| has(&dir.join("copied"), &[b's'; SOURCE_BYTES]),
    },
    StableChange {
        name: "CLONE",
        make: |fs| copy(fs, "cloned", |from, to, range| to.clone_range(&CX, from, range)),
        is_there: |dir| has(&dir.join("cloned"), &[b's'; SOURCE_BYTES]),
    },
];

/// How many inodes are between that of the directory and those of new files: one block of inodes has at most 32.
const INODES_BETWEEN: u32 = 64;

/// What the changes find.
pub fn prepare(dir: &Path) {
    (0..INODES_BETWEEN).for_each(|number| std::fs::write(dir.join(format!("filler-{number}")), "").unwrap());
    for name in ["linked", "from", "over", "away", "gone", "set", "cut", "tagged", "listed"] {
        std::fs::write(dir.join(name), name).unwrap();
    }
    for name in ["grown", "redated", "moded", "first-name", "untagged"] {
        std::fs::write(dir.join(name), name).unwrap();
    }
    for name in ["rewritten", "allocated", "copied", "cloned"] {
        std::fs::write(dir.join(name), "").unwrap();
    }
    for name in ["source", "deallocated"] {
        std::fs::write(dir.join(name), [b's'; SOURCE_BYTES]).unwrap();
    }
    std::fs::hard_link(dir.join("first-name"), dir.join("second-name")).unwrap();
    rustix::fs::setxattr(dir.join("untagged"), c"user.key", b"value", rustix::fs::XattrFlags::empty()).unwrap();
    for name in ["dir", "moved", "gone-dir"] {
        std::fs::create_dir(dir.join(name)).unwrap();
    }
    std::fs::write(dir.join("moved/inside"), "inside").unwrap();
    std::os::unix::fs::symlink("nowhere", dir.join("pointer")).unwrap();
}
