//! Copies of trees that keep extended attributes, on every way.

use std::path::{Path, PathBuf};

use client::copy::{CopyError, CopyOptions, between, download, upload};
use client::{Dir, Version, XattrMode};

use crate::real::Export;

/// Names and values of the attributes of a file.
type Attributes = &'static [(&'static str, &'static [u8])];

/// What is copied, and the attributes that it has.
const TREE: [(&str, Attributes); 4] = [
    ("tree", &[("of", b"the top")]),
    ("tree/below", &[("of", b"a directory"), ("empty", b"")]),
    ("tree/below/file", &[("bytes", b"\0\xff\n"), ("long", &[b'x'; 3000])]),
    ("tree/plain", &[]),
];

fn keeping() -> CopyOptions {
    CopyOptions { keep_xattrs: true, ..CopyOptions::default() }
}

async fn make_tree(root: &Dir) {
    root.create_dir("tree", 0o755).await.unwrap();
    root.create_dir("tree/below", 0o755).await.unwrap();
    root.write("tree/below/file", b"content").await.unwrap();
    root.write("tree/plain", b"more").await.unwrap();
    root.symlink("plain", "tree/link").await.unwrap();
    for (path, attributes) in TREE {
        for (name, value) in attributes {
            root.set_xattr(path, name, value, XattrMode::Create).await.unwrap();
        }
    }
    // Its owner may not write it any more, and its attributes as little.
    let set = client::SetAttributes { mode: Some(0o444), ..Default::default() };
    root.set_attributes("tree/below/file", &set).await.unwrap();
}

/// Checks that the copy `top` has the attributes of the tree and no others.
async fn assert_has_attributes(root: &Dir, top: &str) {
    for (path, attributes) in TREE {
        let path = path.replacen("tree", top, 1);
        let mut names = root.list_xattrs(&path).await.unwrap();
        names.sort();
        let mut expected: Vec<_> = attributes.iter().map(|(name, _)| name.as_bytes().to_vec()).collect();
        expected.sort();
        assert_eq!(names, expected, "{path}");
        for (name, value) in attributes {
            assert_eq!(root.get_xattr(&path, name).await.unwrap().as_deref(), Some(*value), "{path} {name}");
        }
    }
}

/// A folder of this machine, where its file system keeps such attributes.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Option<Folder> {
        let path = std::env::temp_dir().join(format!("wharf-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        let folder = Folder(path);
        match rustix::fs::setxattr(&folder.0, "user.probe", b"1", rustix::fs::XattrFlags::empty()) {
            Ok(()) => Some(folder),
            Err(error) => {
                println!("skipped: {} keeps no extended attributes ({error})", folder.0.display());
                None
            }
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn set_here(path: &Path, name: &str, value: &[u8]) {
    rustix::fs::setxattr(path, name, value, rustix::fs::XattrFlags::empty()).unwrap();
}

fn is_here(path: &Path, name: &str) -> bool {
    rustix::fs::getxattr(path, name, &mut [0; 64]).is_ok()
}

#[tokio::test]
async fn copies_between_servers_have_the_attributes_of_their_originals() {
    let (export, other) = (Export::start(), Export::start());
    let (mount, others) = (export.mount(Version::V4_2).await, other.mount(Version::V4_2).await);
    make_tree(&mount.root_dir()).await;
    // By the server itself, and through here.
    between(&mount, b"tree", &mount, b"there", &keeping()).await.unwrap();
    assert_has_attributes(&mount.root_dir(), "there").await;
    between(&mount, b"tree", &others, b"here", &keeping()).await.unwrap();
    assert_has_attributes(&others.root_dir(), "here").await;
    // Without the option there are none.
    between(&mount, b"tree", &others, b"bare", &CopyOptions::default()).await.unwrap();
    assert!(others.root_dir().list_xattrs("bare/below/file").await.unwrap().is_empty());
}

#[tokio::test]
async fn tree_that_went_to_this_machine_and_back_has_its_attributes() {
    let Some(folder) = Folder::new("xattrs-around") else { return };
    let export = Export::start();
    let mount = export.mount(Version::V4_2).await;
    make_tree(&mount.root_dir()).await;
    let local = folder.0.join("tree");
    download(&mount, b"tree", &local, &keeping()).await.unwrap();
    assert!(is_here(&local.join("below/file"), "user.long") || is_here(&local.join("below/file"), "user.bytes"));
    upload(&mount, &local, b"back", &keeping()).await.unwrap();
    assert_has_attributes(&mount.root_dir(), "back").await;
}

#[tokio::test]
async fn copy_over_what_is_there_has_no_attribute_that_its_original_has_not() {
    let export = Export::start();
    let mount = export.mount(Version::V4_2).await;
    let root = mount.root_dir();
    make_tree(&root).await;
    between(&mount, b"tree", &mount, b"copy", &keeping()).await.unwrap();
    for path in ["copy", "copy/below", "copy/plain", "copy/below/file"] {
        root.set_xattr(path, "stale", "1", XattrMode::Create).await.unwrap();
    }
    root.remove_xattr("copy/below/file", "long").await.unwrap();
    root.set_xattr("copy", "of", "something else", XattrMode::Replace).await.unwrap();
    let over = CopyOptions { overwrite: true, ..keeping() };
    between(&mount, b"tree", &mount, b"copy", &over).await.unwrap();
    assert_has_attributes(&root, "copy").await;

    let Some(folder) = Folder::new("xattrs-over") else { return };
    let local = folder.0.join("tree");
    std::fs::create_dir(&local).unwrap();
    std::fs::write(local.join("plain"), b"old").unwrap();
    set_here(&local, "user.stale", b"1");
    set_here(&local.join("plain"), "user.stale", b"1");
    download(&mount, b"tree", &local, &over).await.unwrap();
    assert!(!is_here(&local, "user.stale") && !is_here(&local.join("plain"), "user.stale"));
    assert!(is_here(&local, "user.of"));
}

#[tokio::test]
async fn server_that_keeps_no_attributes_is_refused_before_anything_is_copied() {
    let export = Export::start();
    let mount = export.mount(Version::V4_2).await;
    make_tree(&mount.root_dir()).await;
    for version in [Version::V3, Version::V4_1] {
        let older = export.mount(version).await;
        let copy = format!("copy-{version}");
        let target = std::env::temp_dir().join(format!("wharf-never-{}-{version}", std::process::id()));
        let refusals = [
            between(&mount, b"tree", &older, copy.as_bytes(), &keeping()).await.unwrap_err(),
            between(&older, b"tree", &mount, copy.as_bytes(), &keeping()).await.unwrap_err(),
            download(&older, b"tree", &target, &keeping()).await.unwrap_err(),
            upload(&older, Path::new("/dev/null"), copy.as_bytes(), &keeping()).await.unwrap_err(),
        ];
        for refusal in refusals {
            let said = refusal.to_string();
            assert!(matches!(refusal, CopyError::Xattrs { name: None, .. }), "{said}");
            assert!(said.contains("cannot keep extended attributes") && said.contains("NFS version"), "{said}");
        }
        assert!(!mount.root_dir().try_exists(&copy).await.unwrap() && !target.exists(), "{version}");
    }
}
