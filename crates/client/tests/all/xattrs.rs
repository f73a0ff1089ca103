//! Extended attributes, of open files and by paths, against the real server.

use std::time::Duration;

use client::{Caching, Mount, OpenOptions, Options, Reason, Status, Version, XattrMode};

use crate::real::Export;

#[tokio::test]
async fn open_files_and_paths_have_the_same_attributes() {
    let export = Export::start();
    let mount = export.mount(Version::V4_2).await;
    let root = mount.root_dir();
    root.create_dir("dir", 0o755).await.unwrap();
    let file = root.open("dir/file", &OpenOptions::write().making(0o644)).await.unwrap();
    root.symlink("dir/file", "link").await.unwrap();

    file.set_xattr("colour", "red", XattrMode::Create).await.unwrap();
    let taken = root.set_xattr("dir/file", "colour", "blue", XattrMode::Create).await.unwrap_err();
    assert_eq!((taken.status(), taken.file()), (Some(Status::Exists), Some(&b"dir/file"[..])));
    let missing = file.set_xattr("size", "1", XattrMode::Replace).await.unwrap_err();
    assert_eq!(missing.status(), Some(Status::NoXattr));
    root.set_xattr("link", "size", b"\0\xff", XattrMode::Either).await.unwrap();
    assert_eq!(file.get_xattr("size").await.unwrap().as_deref(), Some(&b"\0\xff"[..]), "the link leads to the file");
    assert_eq!(root.get_xattr("dir/file", "colour").await.unwrap().as_deref(), Some(&b"red"[..]));
    let mut names = file.list_xattrs().await.unwrap();
    names.sort();
    assert_eq!(names, [b"colour".to_vec(), b"size".to_vec()]);
    file.remove_xattr("colour").await.unwrap();
    assert_eq!(root.get_xattr("dir/file", "colour").await.unwrap(), None);
    assert_eq!(file.remove_xattr("colour").await.unwrap_err().status(), Some(Status::NoXattr));
    root.remove_xattr("link", "size").await.unwrap();
    assert_eq!(root.list_xattrs("dir/file").await.unwrap(), Vec::<Vec<u8>>::new());

    let dir = root.open_dir("dir").await.unwrap();
    dir.set_xattr("", "of", "the directory", XattrMode::Either).await.unwrap();
    assert_eq!(root.list_xattrs("dir").await.unwrap(), [b"of".to_vec()]);
    let refused = root.get_xattr("nowhere", "of").await.unwrap_err();
    assert_eq!((refused.status(), refused.file()), (Some(Status::NoEntry), Some(&b"nowhere"[..])));
}

#[tokio::test]
async fn versions_without_extended_attributes_say_so_before_anything_is_asked() {
    let export = Export::start();
    for version in [Version::V2, Version::V3, Version::V4_0, Version::V4_1] {
        let mount = export.mount(version).await;
        let root = mount.root_dir();
        let file = root.open("file", &OpenOptions::both().making(0o644)).await.unwrap();
        let before = mount.counters().calls;
        let refusals = [
            file.get_xattr("colour").await.map(drop).unwrap_err(),
            file.set_xattr("colour", "red", XattrMode::Either).await.unwrap_err(),
            file.list_xattrs().await.map(drop).unwrap_err(),
            file.remove_xattr("colour").await.unwrap_err(),
        ];
        assert_eq!(mount.counters().calls, before, "{version}");
        for refusal in refusals {
            assert!(
                matches!(refusal.reason(), Reason::NotInVersion(found) if *found == version),
                "{version}: {refusal}"
            );
        }
    }
}

#[tokio::test]
async fn time_of_change_is_that_of_the_last_attribute_that_was_set_or_removed() {
    let export = Export::start();
    let day = Duration::from_secs(86_400);
    let caching = Caching { file_min: day, file_max: day, ..Caching::default() };
    let options = Options { caching, ..export.options(Version::V4_2) };
    let mount = Mount::connect(&export.url(), &options).await.unwrap();
    let root = mount.root_dir();
    root.write("file", b"text").await.unwrap();
    let made = root.metadata("file").await.unwrap().changed;
    root.set_xattr("file", "colour", "red", XattrMode::Create).await.unwrap();
    let set = root.metadata("file").await.unwrap().changed;
    root.remove_xattr("file", "colour").await.unwrap();
    let removed = root.metadata("file").await.unwrap().changed;
    assert!(made < set && set < removed, "{made:?} {set:?} {removed:?}");
}
