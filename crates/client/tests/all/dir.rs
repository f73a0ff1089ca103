//! Directories as applications use them, against the real server.

use client::{Follow, OpenOptions, PathError, Reason, Status, Version};
use vfs::{CreateMode, FileKind, SetAttributes};

use crate::real::Export;

const VERSIONS: [Version; 5] = [Version::V2, Version::V3, Version::V4_0, Version::V4_1, Version::V4_2];

#[tokio::test]
async fn paths_lead_through_directories_and_links_and_up_again() {
    let export = Export::start();
    for version in VERSIONS {
        let mount = export.mount(version).await;
        let root = mount.root_dir();
        let top = format!("top-{version}");
        root.create_dir(&top, 0o755).await.unwrap();
        let inner = root.create_dir(format!("{top}/inner"), 0o755).await.unwrap();
        let file = inner.open("file", &OpenOptions::write().making(0o640)).await.unwrap();
        let handle = *file.handle();
        file.close().await.unwrap();
        inner.symlink("../inner/file", "around").await.unwrap();
        root.symlink(format!("/files/{top}"), format!("{top}-absolute")).await.unwrap();
        let deep = mount.open_dir(format!("/{top}/./inner/")).await.unwrap();
        let absolute = format!("../../{top}-absolute/inner/around");
        for path in ["file", "around", "../inner/file", "../../../../files", &absolute] {
            match deep.lookup(path, Follow::Links).await {
                Ok(found) => assert_eq!(found.handle, handle, "{version} {path}"),
                // What is mounted has nothing above it, and no file of that name.
                Err(error) => assert!(path.ends_with("/files") && error.status() == Some(Status::NoEntry), "{error}"),
            }
        }
        assert_eq!(deep.metadata("around").await.unwrap().mode, 0o640, "{version}");
        assert_eq!(deep.symlink_metadata("around").await.unwrap().kind, FileKind::Symlink, "{version}");
        assert_eq!(deep.open("around", &OpenOptions::read()).await.unwrap().handle(), &handle, "{version}");
        let made = deep.open(&absolute, &OpenOptions::both().making(0o600)).await.unwrap();
        assert_eq!(made.handle(), &handle, "{version}: the link's file is there already");
        made.close().await.unwrap();
    }
}

#[tokio::test]
async fn link_to_nothing_is_made_into_a_file_by_whoever_opens_it_so() {
    let export = Export::start();
    for version in VERSIONS {
        let mount = export.mount(version).await;
        let root = mount.root_dir();
        let (link, target) = (format!("link-{version}"), format!("target-{version}"));
        root.symlink(&target, &link).await.unwrap();
        let missing = root.open(&link, &OpenOptions::read()).await.unwrap_err();
        assert_eq!(missing.status(), Some(Status::NoEntry), "{version}");
        let new = OpenOptions::write().creating(CreateMode::Guarded, SetAttributes::default());
        assert_eq!(root.open(&link, &new).await.unwrap_err().status(), Some(Status::Exists), "{version}");
        root.open(&link, &OpenOptions::write().making(0o644)).await.unwrap().close().await.unwrap();
        assert_eq!(root.symlink_metadata(&target).await.unwrap().kind, FileKind::Regular, "{version}");
    }
}

#[tokio::test]
async fn error_names_the_path_and_says_what_is_wrong() {
    let export = Export::start();
    for version in VERSIONS {
        let mount = export.mount(version).await;
        let root = mount.root_dir();
        root.open("file", &OpenOptions::write().making(0o644)).await.unwrap().close().await.unwrap();
        let error = root.metadata("no/such").await.unwrap_err();
        assert_eq!((error.status(), error.file()), (Some(Status::NoEntry), Some(&b"no/such"[..])), "{version}");
        assert_eq!(root.open_dir("file").await.unwrap_err().status(), Some(Status::NotDirectory), "{version}");
        assert_eq!(root.metadata("file/x").await.unwrap_err().status(), Some(Status::NotDirectory), "{version}");
        assert_eq!(root.read_link("file").await.unwrap_err().status(), Some(Status::Invalid), "{version}");
        assert_eq!(root.create_dir("file", 0o755).await.unwrap_err().status(), Some(Status::Exists), "{version}");
        assert!(matches!(root.remove_file("").await.unwrap_err().reason(), Reason::Name(_)), "{version}");
        root.create_dir("dir", 0o755).await.ok();
        let refused = root.open("dir", &OpenOptions::read()).await.unwrap_err();
        assert_eq!(refused.status(), Some(Status::IsDirectory), "{version}");
        root.symlink("loop", "loop").await.ok();
        let error = root.metadata("loop").await.unwrap_err();
        assert!(matches!(error.reason(), Reason::Path(PathError::TooManyLinks(_))), "{version}: {error}");
        let error = root.open("loop", &OpenOptions::write().making(0o644)).await.unwrap_err();
        assert!(matches!(error.reason(), Reason::Path(PathError::TooManyLinks(_))), "{version}: {error}");
    }
}

#[tokio::test]
async fn whole_files_are_read_and_written_at_once() {
    let export = Export::start();
    for version in VERSIONS {
        let root = export.mount(version).await.root_dir();
        let name = format!("whole-{version}");
        assert!(!root.try_exists(&name).await.unwrap(), "{version}");
        assert_eq!(root.read(&name).await.unwrap_err().status(), Some(Status::NoEntry), "{version}");
        for length in [0, 1, 4095, 1 << 20, (1 << 20) + 1, 3_000_000, 7] {
            let data: Vec<u8> = (0..length).map(|byte: u32| (byte % 251) as u8).collect();
            root.write(&name, &data).await.unwrap();
            assert!(root.read(&name).await.unwrap() == data, "{version}, {length} bytes");
            let other = export.mount(version).await;
            assert!(other.root_dir().read(&name).await.unwrap() == data, "{version}, {length} bytes");
            // A delegation that nobody gives back would keep the file as it is.
            other.unmount().await.unwrap();
        }
        assert_eq!(root.metadata(&name).await.unwrap().mode, 0o644, "{version}");
        root.symlink("nowhere", format!("{name}-link")).await.unwrap();
        assert!(root.try_exists(&name).await.unwrap() && !root.try_exists(format!("{name}-link")).await.unwrap());
        let error = root.try_exists(format!("{name}/below")).await.unwrap_err();
        assert_eq!(error.status(), Some(Status::NotDirectory), "{version}");
        assert!(root.space().await.unwrap().total_bytes > 0, "{version}");
        let error = root.write("", b"data").await.unwrap_err();
        assert!(matches!(error.reason(), Reason::Path(_) | Reason::Name(_) | Reason::Status(_)), "{error}");
    }
}

#[tokio::test]
async fn file_has_one_name_less_when_another_one_of_its_names_is_removed_or_moved_over() {
    let export = Export::start();
    for version in VERSIONS {
        let (mine, others) = (export.mount(version).await, export.mount(version).await);
        let name = |what: &str| format!("{what}-{version}");
        let others = others.root_dir();
        others.open(name("first"), &OpenOptions::write().making(0o644)).await.unwrap().close().await.unwrap();
        others.hard_link(name("first"), &others, name("second")).await.unwrap();
        others.hard_link(name("first"), &others, name("third")).await.unwrap();
        others.symlink("anything", name("other")).await.unwrap();
        // This mount has not seen the other names, and does not know whose they are.
        let mine = mine.root_dir();
        assert_eq!(mine.metadata(name("first")).await.unwrap().links, 3, "{version}");
        mine.remove_file(name("second")).await.unwrap();
        assert_eq!(mine.metadata(name("first")).await.unwrap().links, 2, "{version}");
        mine.rename(name("other"), &mine, name("third")).await.unwrap();
        assert_eq!(mine.metadata(name("first")).await.unwrap().links, 1, "{version}");
    }
}

#[tokio::test]
async fn file_is_made_new_or_replaced_as_its_options_say() {
    let export = Export::start();
    for version in VERSIONS {
        let mount = export.mount(version).await;
        let (root, name) = (mount.root_dir(), format!("new-{version}"));
        let file = root.open(&name, &OpenOptions::write().making_new(0o640)).await.unwrap();
        assert_eq!(file.attributes().mode, 0o640, "{version}");
        file.write_at(0, b"something").await.unwrap();
        // What was written here is in the attributes, and they are asked for once.
        assert_eq!(file.metadata().await.unwrap().size_bytes, 9, "{version}");
        let before = mount.counters().calls;
        assert_eq!(file.metadata().await.unwrap().size_bytes, 9, "{version}");
        assert_eq!(mount.counters().calls, before, "{version}");
        file.close().await.unwrap();
        let there = root.open(&name, &OpenOptions::write().making_new(0o640)).await.unwrap_err();
        assert_eq!(there.status(), Some(Status::Exists), "{version}");
        assert_eq!(root.metadata(&name).await.unwrap().size_bytes, 9, "{version}");
        root.open(&name, &OpenOptions::write().replacing(0o600)).await.unwrap().close().await.unwrap();
        assert_eq!(root.metadata(&name).await.unwrap().size_bytes, 0, "{version}");
    }
}

#[tokio::test]
async fn what_only_nfsv4_2_has_is_refused_by_older_versions_before_anything_is_asked() {
    let export = Export::start();
    for version in [Version::V2, Version::V3, Version::V4_0, Version::V4_1] {
        let mount = export.mount(version).await;
        let file = mount.root_dir().open("file", &OpenOptions::both().making(0o644)).await.unwrap();
        let before = mount.counters().calls;
        let refusals = [
            file.read_plus(0, 10).await.map(drop).unwrap_err(),
            file.seek(0, client::Extent::Data).await.map(drop).unwrap_err(),
            file.allocate(0, 10).await.unwrap_err(),
            file.deallocate(0, 10).await.unwrap_err(),
            file.copy_from(&file, 0, 10, 5).await.map(drop).unwrap_err(),
            file.begin_copy(&file, 0, 10, 5).await.map(drop).unwrap_err(),
            file.clone_from(&file, 0, 10, 5).await.unwrap_err(),
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
