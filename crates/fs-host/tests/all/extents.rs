//! Holes, copies and extended attributes.

use std::sync::Arc;

use vfs::{
    Context, CopyRange, Error, FileSystem, Handle, OpenFile, OpenMode, Seek, SetAttributes, SetXattr, Stability,
    XattrMode, XattrName,
};
use wharf_fs_host::{HandleForm, HostFs};

use testing::host_export::*;

const BLOCK: u64 = 4096;
const LOOP: Context<'static> = Context { may_block: false, ..Context::ROOT };

/// A file of eight blocks with data in the third.
fn sparse(fs: &HostFs, name: &str) -> (Handle, Arc<dyn OpenFile>) {
    let handle = touch(fs, name).handle;
    let set = SetAttributes { size_bytes: Some(8 * BLOCK), ..SetAttributes::default() };
    fs.set_attributes(&CX, &handle, &set).unwrap();
    let file = fs.open(&CX, &handle, OpenMode::Write).unwrap();
    file.write_at(&CX, 2 * BLOCK, &[5; BLOCK as usize], Stability::Unstable).unwrap();
    (handle, file)
}

#[test]
fn seeks_find_data_holes_and_the_hole_behind_the_end() {
    for export in [Export::on_disk(), Export::in_memory()] {
        let fs = export.open(HandleForm::Auto);
        let (_, file) = sparse(&fs, "f");
        assert_eq!(file.seek(&CX, 0, Seek::Data).unwrap(), Some(2 * BLOCK));
        assert_eq!(file.seek(&CX, 2 * BLOCK, Seek::Hole).unwrap(), Some(3 * BLOCK));
        assert_eq!(file.seek(&CX, 3 * BLOCK, Seek::Data).unwrap(), None);
        file.write_at(&CX, 8 * BLOCK - 1, b"x", Stability::Unstable).unwrap();
        assert_eq!(file.seek(&CX, 8 * BLOCK - 1, Seek::Hole).unwrap(), Some(8 * BLOCK));
        assert_eq!(file.seek(&CX, 9 * BLOCK, Seek::Hole).unwrap(), None);
    }
}

#[test]
fn punched_range_is_a_hole_and_allocated_range_extends_the_file() {
    for export in [Export::on_disk(), Export::in_memory()] {
        let fs = export.open(HandleForm::Auto);
        let (_, file) = sparse(&fs, "f");
        file.deallocate(&CX, 2 * BLOCK..3 * BLOCK).unwrap();
        assert_eq!(file.seek(&CX, 0, Seek::Data).unwrap(), None);
        assert_eq!(file.attributes(&CX).unwrap().size_bytes, 8 * BLOCK);
        file.allocate(&CX, 7 * BLOCK..10 * BLOCK).unwrap();
        let attributes = file.attributes(&CX).unwrap();
        assert_eq!(attributes.size_bytes, 10 * BLOCK);
        assert!(attributes.used_bytes >= 3 * BLOCK);
        assert!(matches!(file.allocate(&CX, 0..u64::MAX), Err(Error::FileTooBig)));
    }
}

#[test]
fn kernel_copies_between_files_and_clones_or_says_that_it_cannot() {
    let export = Export::on_disk();
    let fs = export.open(HandleForm::Auto);
    let ((_, from), (_, to)) = (sparse(&fs, "from"), sparse(&fs, "to"));
    let range = CopyRange { from_bytes: 2 * BLOCK, to_bytes: 0, length_bytes: BLOCK };
    assert_eq!(to.copy_range(&CX, &*from, range).unwrap(), BLOCK);
    let mut bytes = [0; 1];
    to.read_at(&CX, BLOCK - 1, &mut bytes).unwrap();
    assert_eq!(bytes, [5]);
    match to.clone_range(&CX, &*from, CopyRange { to_bytes: 4 * BLOCK, ..range }) {
        Ok(()) => assert_eq!(to.seek(&CX, 3 * BLOCK, Seek::Data).unwrap(), Some(4 * BLOCK)),
        Err(error) => assert!(matches!(error, Error::NotSupported), "{error}"),
    }
}

#[test]
fn nothing_of_it_is_done_on_a_thread_that_may_not_wait() {
    let export = Export::on_disk();
    let fs = export.open(HandleForm::Auto);
    let (_, file) = sparse(&fs, "f");
    let range = CopyRange { from_bytes: 0, to_bytes: 4 * BLOCK, length_bytes: BLOCK };
    assert!(matches!(file.seek(&LOOP, 0, Seek::Data), Err(Error::WouldBlock)));
    assert!(matches!(file.allocate(&LOOP, 0..1), Err(Error::WouldBlock)));
    assert!(matches!(file.deallocate(&LOOP, 0..1), Err(Error::WouldBlock)));
    assert!(matches!(file.copy_range(&LOOP, &*file, range), Err(Error::WouldBlock)));
    assert!(matches!(file.clone_range(&LOOP, &*file, range), Err(Error::WouldBlock)));
}

#[test]
fn extended_attributes_are_the_users_alone() {
    let export = Export::on_disk();
    let fs = export.open(HandleForm::Auto);
    if !fs.properties().xattrs {
        println!("skipped: {} has no extended attributes", export.path().display());
        return;
    }
    let (handle, _) = sparse(&fs, "f");
    let name = |bytes| XattrName::new(bytes).unwrap();
    let set = |bytes, value, mode| fs.set_xattr(&CX, &handle, &SetXattr { name: name(bytes), value, mode });
    assert!(fs.get_xattr(&CX, &handle, name(b"a")).unwrap().is_none());
    assert!(matches!(set(b"a", b"1", XattrMode::Replace), Err(Error::NoEntry)));
    set(b"b", b"2", XattrMode::Create).unwrap();
    set(b"a", b"1", XattrMode::Either).unwrap();
    assert!(matches!(set(b"a", b"1", XattrMode::Create), Err(Error::Exists)));
    assert_eq!(fs.get_xattr(&CX, &handle, name(b"a")).unwrap().unwrap(), b"1");
    assert_eq!(fs.list_xattrs(&CX, &handle).unwrap(), [Box::from(&b"a"[..]), Box::from(&b"b"[..])]);
    let path = export.path().join("f");
    assert_eq!(rustix::fs::getxattr(&path, "user.b", &mut [0_u8; 8]), Ok(1));
    assert!(matches!(set(b"huge", &[0; 70_000], XattrMode::Either), Err(Error::FileTooBig | Error::NoSpace)));
    fs.remove_xattr(&CX, &handle, name(b"a")).unwrap();
    assert!(matches!(fs.remove_xattr(&CX, &handle, name(b"a")), Err(Error::NoEntry)));
}
