//! Creating, exclusive creating, and everything that is not a regular file.

use vfs::{Context, CreateMode, Error, FileKind, FileSystem, NewNode, OpenMode, SetAttributes, Stability};
use wharf_fs_host::{HandleForm, HostOptions};

use testing::host_export::*;

const VERIFIERS: [[u8; 8]; 4] = [[0; 8], [0xff; 8], [0x80, 0, 0, 1, 0x7f, 0xff, 0xff, 0xff], *b"verifier"];

#[test]
fn exclusive_create_that_is_repeated_after_a_restart_finds_its_file() {
    for export in [Export::on_disk(), Export::in_memory()] {
        for form in forms() {
            for (number, verifier) in VERIFIERS.into_iter().enumerate() {
                let name = format!("{form:?}-{number}");
                let create = |verifier| {
                    let fs = export.open(form);
                    fs.create(&CX, at(&fs.root(), &name), CreateMode::Exclusive(verifier), &SetAttributes::default())
                };
                let made = create(verifier).unwrap();
                assert_eq!(create(verifier).unwrap().handle, made.handle, "{verifier:?}");
                for bit in 0..64 {
                    let mut other = verifier;
                    other[bit / 8] ^= 1 << (bit % 8);
                    assert!(matches!(create(other), Err(Error::Exists)), "{verifier:?} bit {bit}");
                }
            }
        }
    }
}

#[test]
fn guarded_create_refuses_and_unchecked_cuts_what_is_there() {
    for form in forms() {
        let export = Export::on_disk();
        let fs = export.open(form);
        let file = touch(&fs, "f");
        write(&fs, &file.handle, b"some bytes");
        let create = |mode, size_bytes| {
            let set = SetAttributes { size_bytes, ..SetAttributes::default() };
            fs.create(&CX, at(&fs.root(), "f"), mode, &set)
        };
        assert!(matches!(create(CreateMode::Guarded, None), Err(Error::Exists)));
        assert_eq!(create(CreateMode::Unchecked, None).unwrap().attributes.size_bytes, 10);
        let cut = create(CreateMode::Unchecked, Some(4)).unwrap();
        assert_eq!((cut.handle, cut.attributes.size_bytes), (file.handle, 4));
        assert_eq!(read(&fs, &file.handle), b"some");
    }
}

#[test]
fn new_file_has_what_was_asked_for_on_disk_and_in_memory() {
    for export in [Export::on_disk(), Export::in_memory()] {
        for form in forms() {
            let fs = export.open(form);
            let create = |name: &str, set: SetAttributes| {
                fs.create(&CX, at(&fs.root(), &format!("{name}-{form:?}")), CreateMode::Guarded, &set)
            };
            let plain = create("plain", mode(0o640)).unwrap();
            assert_eq!((plain.attributes.mode, plain.attributes.kind), (0o640, FileKind::Regular));
            assert_eq!(fs.lookup(&CX, at(&fs.root(), &format!("plain-{form:?}"))).unwrap().handle, plain.handle);
            let sized = create("sized", SetAttributes { size_bytes: Some(5), ..mode(0o400) }).unwrap();
            assert_eq!((sized.attributes.mode, sized.attributes.size_bytes), (0o400, 5));
            assert!(matches!(create("plain", mode(0o600)), Err(Error::Exists)));
            std::os::unix::fs::symlink("nowhere", export.path().join(format!("link-{form:?}"))).unwrap();
            assert!(matches!(create("link", mode(0o600)), Err(Error::Exists)));
        }
    }
}

#[test]
fn owner_that_no_file_can_have_is_refused_and_nothing_is_left_behind() {
    let export = Export::on_disk();
    let fs = export.open(HandleForm::Auto);
    let set = SetAttributes { uid: Some(u32::MAX), ..SetAttributes::default() };
    let file = fs.create(&CX, at(&fs.root(), "f"), CreateMode::Guarded, &set);
    let dir = fs.make_node(&CX, at(&fs.root(), "d"), NewNode::Directory, &set);
    assert!(matches!((file, dir), (Err(Error::Invalid), Err(Error::Invalid))));
    assert!(list_all(&fs, &fs.root()).is_empty());
    let file = touch(&fs, "g").handle;
    assert!(matches!(fs.set_attributes(&CX, &file, &set), Err(Error::Invalid)));
}

#[test]
fn special_files_and_links_are_made_and_never_opened() {
    for form in forms() {
        let export = Export::on_disk();
        let fs = export.open(form);
        let longest = [b'x'; 4095];
        let nodes = [
            ("dir", NewNode::Directory, FileKind::Directory),
            ("fifo", NewNode::Fifo, FileKind::Fifo),
            ("socket", NewNode::Socket, FileKind::Socket),
            ("link", NewNode::Symlink(&longest), FileKind::Symlink),
        ];
        for (name, node, kind) in nodes {
            let made = fs.make_node(&CX, at(&fs.root(), name), node, &SetAttributes::default()).unwrap();
            assert_eq!(made.attributes.kind, kind);
            assert_eq!(fs.lookup(&CX, at(&fs.root(), name)).unwrap(), made);
            assert!(matches!(fs.open(&CX, &made.handle, OpenMode::Write), Err(Error::WrongKind | Error::IsDirectory)));
            let again = fs.make_node(&CX, at(&fs.root(), name), node, &SetAttributes::default());
            assert!(matches!(again, Err(Error::Exists)));
        }
        let link = fs.lookup(&CX, at(&fs.root(), "link")).unwrap().handle;
        assert_eq!(fs.read_link(&CX, &link).unwrap(), longest);
        let fifo = fs.lookup(&CX, at(&fs.root(), "fifo")).unwrap().handle;
        assert!(matches!(fs.read_link(&CX, &fifo), Err(Error::WrongKind)));
        let times = SetAttributes { modified: Some(vfs::SetTime::Now), ..mode(0o600) };
        assert_eq!(fs.set_attributes(&CX, &fifo, &times).unwrap().mode, 0o600);
        assert_eq!(fs.link(&CX, &link, at(&fs.root(), "second")).unwrap().links, 2);
    }
}

#[test]
fn removing_and_renaming_keep_to_the_kinds() {
    for form in forms() {
        let export = Export::on_disk();
        let fs = export.open(form);
        let root = fs.root();
        touch(&fs, "file");
        let dir = fs.make_node(&CX, at(&root, "dir"), NewNode::Directory, &SetAttributes::default()).unwrap().handle;
        fs.create(&CX, at(&dir, "in"), CreateMode::Guarded, &SetAttributes::default()).unwrap();
        assert!(matches!(fs.remove(&CX, at(&root, "dir")), Err(Error::IsDirectory)));
        assert!(matches!(fs.remove_dir(&CX, at(&root, "file")), Err(Error::NotDirectory)));
        assert!(matches!(fs.remove_dir(&CX, at(&root, "dir")), Err(Error::NotEmpty)));
        assert!(matches!(fs.remove(&CX, at(&root, "none")), Err(Error::NoEntry)));
        assert!(matches!(fs.rename(&CX, at(&root, "dir"), at(&dir, "in-itself")), Err(Error::Invalid)));
        assert!(matches!(fs.rename(&CX, at(&root, "file"), at(&root, "dir")), Err(Error::IsDirectory)));
        assert!(matches!(fs.link(&CX, &dir, at(&root, "second")), Err(Error::IsDirectory)));
        fs.remove(&CX, at(&dir, "in")).unwrap();
        fs.remove_dir(&CX, at(&root, "dir")).unwrap();
        assert!(matches!(fs.attributes(&CX, &dir), Err(Error::Stale)));
    }
}

#[test]
fn thread_that_may_not_block_changes_nothing_that_needs_a_sync() {
    let export = Export::on_disk();
    let fs = export.open(HandleForm::Auto);
    let file = touch(&fs, "f").handle;
    let cx = Context { may_block: false, ..CX };
    let (root, set) = (fs.root(), SetAttributes::default());
    assert!(matches!(fs.create(&cx, at(&root, "g"), CreateMode::Guarded, &set), Err(Error::WouldBlock)));
    assert!(matches!(fs.make_node(&cx, at(&root, "d"), NewNode::Directory, &set), Err(Error::WouldBlock)));
    assert!(matches!(fs.remove(&cx, at(&root, "f")), Err(Error::WouldBlock)));
    assert!(matches!(fs.rename(&cx, at(&root, "f"), at(&root, "g")), Err(Error::WouldBlock)));
    assert!(matches!(fs.link(&cx, &file, at(&root, "g")), Err(Error::WouldBlock)));
    assert!(matches!(fs.set_attributes(&cx, &file, &mode(0)), Err(Error::WouldBlock)));
    assert_eq!(list_all(&fs, &root).len(), 1);
}

#[test]
fn changes_run_at_once_in_memory_and_where_they_need_no_sync() {
    let (disk, memory) = (Export::on_disk(), Export::in_memory());
    let unsynced = HostOptions { sync_metadata: false, ..disk.options(HandleForm::Auto) };
    let unsynced = wharf_fs_host::HostFs::open(&disk.path(), unsynced).unwrap();
    let cx = Context { may_block: false, ..CX };
    for fs in [unsynced, memory.open(HandleForm::Auto)] {
        let root = fs.root();
        fs.create(&cx, at(&root, "f"), CreateMode::Guarded, &SetAttributes::default()).unwrap();
        fs.rename(&cx, at(&root, "f"), at(&root, "g")).unwrap();
        fs.remove(&cx, at(&root, "g")).unwrap();
    }
}

/// How often a name is made while another thread makes and removes it too.
const ROUNDS: u32 = 300;

#[test]
fn name_that_another_thread_makes_and_removes_is_always_made_or_found() {
    for export in [Export::on_disk(), Export::in_memory()] {
        let options = HostOptions { sync_metadata: false, ..export.options(HandleForm::Auto) };
        let fs = wharf_fs_host::HostFs::open(&export.path(), options).unwrap();
        let (file, dir) = (export.path().join("f"), export.path().join("d"));
        let is_over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    let _ = (std::fs::write(&file, b""), std::fs::create_dir(&dir));
                    let _ = (std::fs::remove_file(&file), std::fs::remove_dir(&dir));
                }
            });
            let made: Vec<_> = (0..ROUNDS).map(|_| make_names(&fs)).filter(|made| !made.is_empty()).collect();
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
            assert!(made.is_empty(), "{made:?}");
        });
    }
}

/// Makes a file and a directory in each way, and says what failed though it may not.
fn make_names(fs: &wharf_fs_host::HostFs) -> Vec<Error> {
    let none = SetAttributes::default();
    let create = |mode| fs.create(&CX, at(&fs.root(), "f"), mode, &none);
    let made = [
        create(CreateMode::Unchecked),
        create(CreateMode::Guarded),
        create(CreateMode::Exclusive(*b"verifier")),
        fs.make_node(&CX, at(&fs.root(), "d"), NewNode::Directory, &none),
    ];
    let _ = fs.remove(&CX, at(&fs.root(), "f"));
    // A guarded or exclusive call may find what others have made.
    let failed = made.into_iter().enumerate().filter_map(|(way, made)| made.err().map(|error| (way, error)));
    let failed = failed.filter(|(way, error)| *way == 0 || !matches!(error, Error::Exists));
    // An exclusive call gives its file the name last, and may come too late again and again: it is deferred then.
    let failed = failed.filter(|(way, error)| *way != 2 || !matches!(error, Error::TryLater(_)));
    failed.map(|(_, error)| error).collect()
}

#[test]
fn file_that_was_just_made_is_written_until_somebody_on_the_host_removes_it() {
    for form in forms() {
        let export = Export::on_disk();
        let fs = export.open(form);
        for (name, is_removed) in [("kept", false), ("removed", true)] {
            let file = touch(&fs, name).handle;
            if is_removed {
                std::fs::remove_file(export.path().join(name)).unwrap();
            }
            let opened = fs.open(&CX, &file, OpenMode::Write);
            let written = opened.and_then(|file| file.write_at(&CX, 0, b"bytes", Stability::Unstable));
            let attributes = fs.attributes(&CX, &file);
            match is_removed {
                true => assert!(matches!((written, attributes), (Err(Error::Stale), Err(Error::Stale))), "{form:?}"),
                false => assert_eq!((written.unwrap().count, attributes.unwrap().size_bytes), (5, 5), "{form:?}"),
            }
        }
    }
}
