//! The data of files through the client as a file system, against the real server.

use std::sync::Arc;

use client::Version;
use vfs::{
    Context, CopyRange, CreateMode, Detail, Entry, Error, FileSystem, Name, OpenFile, OpenMode, Place, Seek,
    SetAttributes, SetTime, SetXattr, Stability, Timestamp, XattrMode, XattrName,
};

use crate::remote::script::list;
use crate::remote::{Remote, VERSIONS};

const CX: Context<'static> = Context::ROOT;

fn place<'n>(files: &dyn FileSystem, name: &'n str) -> Place<'n> {
    Place { dir: files.root(), name: Name::new(name.as_bytes()).unwrap() }
}

fn make(files: &dyn FileSystem, name: &str, mode: OpenMode) -> (Entry, Arc<dyn OpenFile>) {
    let set = SetAttributes { mode: Some(0o644), ..SetAttributes::default() };
    let entry = files.create(&CX, place(files, name), CreateMode::Unchecked, &set).unwrap();
    (entry, files.open(&CX, &entry.handle, mode).unwrap())
}

fn read(file: &dyn OpenFile, count: usize) -> Vec<u8> {
    let mut buffer = vec![0xff; count];
    let got = file.read_at(&CX, 0, &mut buffer).unwrap();
    buffer.truncate(got);
    buffer
}

#[test]
fn late_writes_are_in_everything_that_is_told_of_a_file() {
    for version in VERSIONS {
        let remote = Remote::start(version);
        let files = &remote.files;
        let (entry, file) = make(files, "file", OpenMode::Write);
        let sizes = |files: &dyn FileSystem| {
            let found = files.lookup(&CX, place(files, "file")).unwrap().attributes.size_bytes;
            (files.attributes(&CX, &entry.handle).unwrap().size_bytes, found)
        };
        let mut written = 0;
        for part in [100_u64, 5000, 70_000] {
            file.write_at(&CX, written, &vec![7; part as usize], Stability::Unstable).unwrap();
            written += part;
            assert_eq!(file.attributes(&CX).unwrap().size_bytes, written, "{version}");
            file.write_at(&CX, written, &[7], Stability::Unstable).unwrap();
            written += 1;
            assert_eq!(sizes(files), (written, written), "{version}");
        }
        file.sync(&CX).unwrap();
        assert_eq!(sizes(&remote.again_as(0)).1, written, "{version}: the server does not know it");
    }
}

#[test]
fn time_that_is_set_stays_although_writes_are_late() {
    for version in VERSIONS {
        let remote = Remote::start(version);
        let files = &remote.files;
        let (entry, file) = make(files, "file", OpenMode::Write);
        file.write_at(&CX, 0, &[1; 10_000], Stability::Unstable).unwrap();
        let then = Timestamp { seconds: 1_000_000_000, nanoseconds: 0 };
        let set = SetAttributes { modified: Some(SetTime::To(then)), ..SetAttributes::default() };
        files.set_attributes(&CX, &entry.handle, &set).unwrap();
        drop(file);
        let seen = remote.again_as(0).lookup(&CX, place(files, "file")).unwrap();
        assert_eq!(seen.attributes.modified, then, "{version}");
    }
}

#[test]
fn what_one_client_wrote_before_it_closed_is_read_by_another_that_opens_later() {
    for version in VERSIONS {
        let remote = Remote::start(version);
        let (mine, yours) = (&remote.files, &remote.again_as(0));
        let (entry, file) = make(mine, "file", OpenMode::Write);
        file.write_at(&CX, 0, b"one", Stability::Unstable).unwrap();
        drop(file);
        let theirs = yours.lookup(&CX, place(yours, "file")).unwrap().handle;
        let open = yours.open(&CX, &theirs, OpenMode::Read).unwrap();
        assert_eq!(read(&*open, 10), b"one", "{version}");
        let file = mine.open(&CX, &entry.handle, OpenMode::Write).unwrap();
        file.write_at(&CX, 0, b"other", Stability::Unstable).unwrap();
        drop(file);
        let again = yours.open(&CX, &theirs, OpenMode::Read).unwrap();
        assert_eq!(read(&*again, 10), b"other", "{version}");
        assert_eq!(yours.attributes(&CX, &theirs).unwrap().size_bytes, 5, "{version}");
    }
}

#[test]
fn file_that_is_cut_by_its_handle_is_cut_for_those_who_have_it_open() {
    for version in VERSIONS {
        let remote = Remote::start(version);
        let files = &remote.files;
        let (entry, file) = make(files, "file", OpenMode::Write);
        file.write_at(&CX, 0, &[5; 9000], Stability::Unstable).unwrap();
        let cut = |size| SetAttributes { size_bytes: Some(size), ..SetAttributes::default() };
        assert_eq!(files.set_attributes(&CX, &entry.handle, &cut(4)).unwrap().size_bytes, 4);
        assert_eq!(read(&*file, 100), [5; 4], "{version}");
        assert_eq!(files.set_attributes(&CX, &entry.handle, &cut(6)).unwrap().size_bytes, 6);
        assert_eq!(read(&*file, 100), [5, 5, 5, 5, 0, 0], "{version}");
    }
}

#[test]
fn names_of_extended_attributes_come_in_order_and_values_as_they_went() {
    let remote = Remote::start(Version::V4_2);
    let files = &remote.files;
    let (entry, _file) = make(files, "file", OpenMode::Read);
    let name = |text: &'static str| XattrName::new(text.as_bytes()).unwrap();
    let set = |text, value, mode| files.set_xattr(&CX, &entry.handle, &SetXattr { name: name(text), value, mode });
    set("b", b"2", XattrMode::Create).unwrap();
    set("a", b"1", XattrMode::Either).unwrap();
    assert!(matches!(set("a", b"3", XattrMode::Create), Err(Error::Exists)));
    assert!(matches!(set("c", b"3", XattrMode::Replace), Err(Error::NoEntry)));
    let names = files.list_xattrs(&CX, &entry.handle).unwrap();
    assert_eq!(names, [b"a".to_vec().into_boxed_slice(), b"b".to_vec().into_boxed_slice()]);
    assert_eq!(files.get_xattr(&CX, &entry.handle, name("a")).unwrap(), Some(b"1".to_vec()));
    assert_eq!(files.get_xattr(&CX, &entry.handle, name("c")).unwrap(), None);
    files.remove_xattr(&CX, &entry.handle, name("a")).unwrap();
    assert!(matches!(files.remove_xattr(&CX, &entry.handle, name("a")), Err(Error::NoEntry)));
}

#[test]
fn version_without_extended_attributes_says_so() {
    let remote = Remote::start(Version::V3);
    let root = remote.files.root();
    assert!(!remote.files.properties().xattrs);
    assert!(matches!(remote.files.list_xattrs(&CX, &root), Err(Error::NotSupported)));
}

#[test]
fn server_copies_what_was_written_late_and_the_copy_is_read_at_once() {
    let remote = Remote::start(Version::V4_2);
    let files = &remote.files;
    let (_, from) = make(files, "from", OpenMode::Write);
    let (_, to) = make(files, "to", OpenMode::Write);
    from.write_at(&CX, 0, b"to be copied", Stability::Unstable).unwrap();
    to.write_at(&CX, 0, b"overwritten!", Stability::Unstable).unwrap();
    assert_eq!(read(&*to, 12), b"overwritten!");
    let range = CopyRange { from_bytes: 6, to_bytes: 2, length_bytes: 6 };
    let copied = to.copy_range(&CX, &*from, range).unwrap();
    assert_eq!(copied, 6);
    assert_eq!(read(&*to, 12), b"ovcopiedten!"[..12].to_vec());
}

#[test]
fn copy_beyond_the_end_of_its_source_ends_there() {
    let remote = Remote::start(Version::V4_2);
    let (_, from) = make(&remote.files, "from", OpenMode::Write);
    let (_, to) = make(&remote.files, "to", OpenMode::Write);
    from.write_at(&CX, 0, b"content", Stability::Unstable).unwrap();
    let copy =
        |from_bytes, length_bytes| to.copy_range(&CX, &*from, CopyRange { from_bytes, to_bytes: 0, length_bytes });
    assert_eq!(copy(0, u64::MAX / 4).unwrap(), 7);
    assert_eq!(read(&*to, 100), b"content");
    assert_eq!(copy(5, 3).unwrap(), 2);
    assert_eq!(read(&*to, 100), b"ntntent");
    assert_eq!(copy(7, 1).unwrap(), 0);
    assert_eq!(copy(9, 1).unwrap(), 0);
    let within = CopyRange { from_bytes: 0, to_bytes: 1, length_bytes: 3 };
    assert!(matches!(to.copy_range(&CX, &*to, within), Err(Error::Invalid)), "it would overlap");
}

#[test]
fn file_of_another_file_system_is_not_copied_by_the_server() {
    let remote = Remote::start(Version::V4_2);
    let (_, mine) = make(&remote.files, "mine", OpenMode::Write);
    let memory = fs_mem::MemFs::new(fs_mem::MemOptions::default());
    let (_, other) = make(&memory, "other", OpenMode::Read);
    let range = CopyRange { from_bytes: 0, to_bytes: 0, length_bytes: 1 };
    assert!(matches!(mine.copy_range(&CX, &*other, range), Err(Error::NotSupported)));
}

#[test]
fn holes_are_found_where_the_version_tells_and_all_is_data_elsewhere() {
    for version in VERSIONS {
        let remote = Remote::start(version);
        let (_, file) = make(&remote.files, "file", OpenMode::Write);
        file.write_at(&CX, 1 << 20, b"data", Stability::Unstable).unwrap();
        let end = (1 << 20) + 4;
        let first = if version == Version::V4_2 { 1 << 20 } else { 0 };
        assert_eq!(file.seek(&CX, 0, Seek::Data).unwrap(), Some(first), "{version}");
        assert_eq!(file.seek(&CX, 1 << 20, Seek::Hole).unwrap(), Some(end), "{version}");
        assert_eq!(file.seek(&CX, end, Seek::Data).unwrap(), None, "{version}");
        assert_eq!(file.seek(&CX, end + 1, Seek::Hole).unwrap(), None, "{version}");
    }
}

#[test]
fn directory_of_many_names_is_listed_whole_a_few_at_a_time() {
    for version in VERSIONS {
        let remote = Remote::start(version);
        let files = &remote.files;
        for number in 0..120 {
            make(files, &format!("name-{number:04}"), OpenMode::Read);
        }
        for detail in [Detail::Names, Detail::Entries] {
            let names = list(files, &files.root(), detail).unwrap();
            assert_eq!(names.len(), 120, "{version}");
            assert_eq!(names[119], b"name-0119", "{version}");
        }
    }
}

#[test]
fn handle_of_a_file_is_the_same_for_every_client() {
    for version in VERSIONS {
        let remote = Remote::start(version);
        let (entry, _file) = make(&remote.files, "file", OpenMode::Read);
        let other = remote.again_as(0);
        // It is not known before it was met.
        assert!(matches!(other.attributes(&CX, &entry.handle), Err(Error::Stale)));
        assert_eq!(other.lookup(&CX, place(&other, "file")).unwrap().handle, entry.handle, "{version}");
        assert!(other.attributes(&CX, &entry.handle).is_ok());
    }
}

#[test]
fn everything_that_was_written_is_at_the_server_when_all_of_it_was_synced() {
    for version in VERSIONS {
        let remote = Remote::start(version);
        let files = &remote.files;
        let open = ["one", "two", "three"].map(|name| (name, make(files, name, OpenMode::Write).1));
        for (name, file) in &open {
            file.write_at(&CX, 0, name.as_bytes(), Stability::Unstable).unwrap();
        }
        files.sync_all(&CX).unwrap();
        let again = remote.again_as(0);
        for (name, _) in &open {
            let found = again.lookup(&CX, place(&again, name)).unwrap();
            assert_eq!(found.attributes.size_bytes, name.len() as u64, "{version}: {name}");
        }
    }
}
