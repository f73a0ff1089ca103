//! Each kind of change of each kind of file, replayed when all of it or nothing of it was lost.

use std::fs;
use std::path::Path;

use fs_host::HandleForm;
use stable::StableFs;
use vfs::{
    Access, AclEntry, AclTag, Acls, CreateMode, Device, FileKind, FileSystem, Handle, NewNode, OpenMode, PosixAcl,
    Result, SetAttributes, SetTime, SetXattr, Stability, Timestamp, XattrMode, XattrName,
};

use crate::host::forms;
use crate::support::site::{CX, Site, at, create, read};

const DEVICE: Device = Device { major: 1, minor: 3 };

const KINDS: [(&str, Option<NewNode<'static>>); 7] = [
    ("file", None),
    ("directory", Some(NewNode::Directory)),
    ("link", Some(NewNode::Symlink(b"target"))),
    ("fifo", Some(NewNode::Fifo)),
    ("socket", Some(NewNode::Socket)),
    ("character-device", Some(NewNode::CharDevice(DEVICE))),
    ("block-device", Some(NewNode::BlockDevice(DEVICE))),
];

/// Changes the file of this handle and name.
type Make = fn(&StableFs, &Handle, &str) -> Result<()>;

const CHANGES: [(&str, Make); 13] = [
    ("nothing", |_, _, _| Ok(())),
    ("owner", |fs, file, _| {
        set(fs, file, SetAttributes { uid: Some(1000), gid: Some(1001), ..SetAttributes::default() })
    }),
    ("mode", |fs, file, _| set(fs, file, SetAttributes { mode: Some(0o4751), ..SetAttributes::default() })),
    ("owner-and-mode", |fs, file, _| {
        set(fs, file, SetAttributes { uid: Some(1000), mode: Some(0o6751), ..SetAttributes::default() })
    }),
    ("times", |fs, file, _| {
        let [accessed, modified] = [1_000_000_000, 1_100_000_000]
            .map(|seconds| Some(SetTime::To(Timestamp { seconds, nanoseconds: 123_456_789 })));
        set(fs, file, SetAttributes { accessed, modified, ..SetAttributes::default() })
    }),
    ("size", |fs, file, _| set(fs, file, SetAttributes { size_bytes: Some(12_345), ..SetAttributes::default() })),
    ("attribute", |fs, file, _| {
        fs.set_xattr(&CX, file, &SetXattr { name: note(), value: b"value", mode: XattrMode::Either })
    }),
    ("removed-attribute", |fs, file, _| {
        fs.set_xattr(&CX, file, &SetXattr { name: note(), value: b"value", mode: XattrMode::Either })?;
        fs.remove_xattr(&CX, file, note())
    }),
    ("access-list", |fs, file, _| fs.set_acls(&CX, file, &lists())),
    ("access-list-after-mode", |fs, file, _| {
        set(fs, file, SetAttributes { mode: Some(0o600), ..SetAttributes::default() })?;
        fs.set_acls(&CX, file, &lists())
    }),
    ("data", |fs, file, _| {
        let open = fs.open(&CX, file, OpenMode::Write)?;
        open.write_at(&CX, 10, b"stable", Stability::File)?;
        open.write_at(&CX, 0, b"unstable", Stability::Unstable)?;
        open.sync(&CX)
    }),
    ("second-name", |fs, file, name| fs.link(&CX, file, at(&fs.root(), &format!("{name}-too"))).map(drop)),
    ("other-name", |fs, _, name| fs.rename(&CX, at(&fs.root(), name), at(&fs.root(), &format!("{name}-moved")))),
];

fn set(fs: &StableFs, file: &Handle, set: SetAttributes) -> Result<()> {
    fs.set_attributes(&CX, file, &set).map(drop)
}

fn note() -> XattrName<'static> {
    XattrName::new(b"note").unwrap()
}

fn lists() -> Acls {
    let entry = |tag, bits| AclEntry { tag, allowed: Access::from_mode_bits(bits) };
    let entries = [
        entry(AclTag::Owner, 6),
        entry(AclTag::User(1234), 7),
        entry(AclTag::OwningGroup, 4),
        entry(AclTag::Mask, 7),
        entry(AclTag::Other, 0),
    ];
    Acls { access: PosixAcl::new(entries.to_vec()).unwrap(), default: None }
}

/// What a client sees of a file, but for times that it did not set.
#[derive(Debug, PartialEq)]
struct Seen {
    kind: FileKind,
    permissions: (u32, u32, u32),
    size_bytes: u64,
    times: Option<(Timestamp, Timestamp)>,
    target: Option<Vec<u8>>,
    data: Option<Vec<u8>>,
    attribute: Option<Vec<u8>>,
    lists: Option<Acls>,
    device: Device,
    names: Vec<String>,
}

fn look(fs: &StableFs, file: &Handle, name: &str) -> Seen {
    let seen = fs.attributes(&CX, file).unwrap();
    let is_regular = seen.kind == FileKind::Regular;
    let names = ["", "-too", "-moved"].map(|end| format!("{name}{end}"));
    let is_it = |name: &String| fs.lookup(&CX, at(&fs.root(), name)).is_ok_and(|found| found.handle == *file);
    Seen {
        kind: seen.kind,
        permissions: (seen.mode, seen.uid, seen.gid),
        size_bytes: if seen.kind == FileKind::Directory { 0 } else { seen.size_bytes },
        times: name.ends_with("-times").then_some((seen.accessed, seen.modified)),
        target: fs.read_link(&CX, file).ok(),
        data: is_regular.then(|| read(fs, file)),
        attribute: fs.get_xattr(&CX, file, note()).ok().flatten(),
        lists: fs.acls(&CX, file).ok(),
        device: seen.device,
        names: names.into_iter().filter(is_it).collect(),
    }
}

/// Makes each change of a file of its own, of each kind, as far as the file system allows it.
fn change_all(fs: &StableFs) -> Vec<(String, Handle, Seen)> {
    let root = fs.root();
    let mut changed = Vec::new();
    for (kind, node) in KINDS {
        for (change, make) in CHANGES {
            let name = format!("{kind}-{change}");
            let made = match node {
                None => Ok(create(fs, &root, &name)),
                Some(node) => {
                    let made = fs.make_node(&CX, at(&root, &name), node, &SetAttributes::default());
                    made.map(|entry| entry.handle)
                }
            };
            // Devices require privileges, and not every change is of every kind of file.
            if let Ok(file) = made {
                let _ = make(fs, &file, &name);
                let seen = look(fs, &file, &name);
                changed.push((name, file, seen));
            }
        }
    }
    changed
}

/// Removes everything in a directory.
fn lose(dir: &Path) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() { fs::remove_dir(path) } else { fs::remove_file(path) }.unwrap();
    }
}

#[test]
fn every_kind_of_change_of_every_kind_of_file_is_replayed() {
    for form in forms() {
        for is_lost in [false, true] {
            let site = Site::new(form);
            let changed = site.change(change_all);
            if is_lost {
                lose(&site.path(""));
            }
            let (fs, replayed, log) = site.open(true).unwrap();
            assert_eq!(replayed.set_aside, 0, "{form:?}, lost: {is_lost}");
            for (name, file, before) in changed {
                assert_eq!(look(&fs, &file, &name), before, "{form:?}, lost: {is_lost}, {name}");
            }
            log.close();
        }
    }
}

#[test]
fn file_that_was_made_with_a_size_is_replayed_with_it_and_with_what_followed() {
    for mode in [CreateMode::Guarded, CreateMode::Unchecked, CreateMode::Exclusive([7; 8])] {
        let site = Site::new(HandleForm::Auto);
        let files = site.change(|fs| {
            let set = SetAttributes { size_bytes: Some(12_345), ..SetAttributes::default() };
            let make = |name| fs.create(&CX, at(&fs.root(), name), mode, &set).unwrap().handle;
            let files = ["lost", "short", "changed"].map(make);
            set_size(fs, &files[2], 100);
            files
        });
        fs::remove_file(site.path("lost")).unwrap();
        fs::write(site.path("short"), "").unwrap();
        let (fs, _, log) = site.open(true).unwrap();
        let sizes = files.map(|file| fs.attributes(&CX, &file).unwrap().size_bytes);
        assert_eq!(sizes, [12_345, 12_345, 100], "{mode:?}");
        log.close();
    }
}

fn set_size(fs: &StableFs, file: &Handle, size_bytes: u64) {
    set(fs, file, SetAttributes { size_bytes: Some(size_bytes), ..SetAttributes::default() }).unwrap();
}

#[test]
fn every_kind_of_file_and_change_is_removed_for_good() {
    for form in forms() {
        let site = Site::new(form);
        site.change(|fs| {
            for (name, _, seen) in change_all(fs) {
                let root = fs.root();
                for name in seen.names {
                    match seen.kind {
                        FileKind::Directory => fs.remove_dir(&CX, at(&root, &name)).unwrap(),
                        _ => fs.remove(&CX, at(&root, &name)).unwrap(),
                    }
                }
                assert!(!site.path(&name).exists());
            }
        });
        let (_fs, replayed, log) = site.open(true).unwrap();
        assert_eq!((replayed.set_aside, replayed.made), (0, 0), "{form:?}");
        log.close();
    }
}
