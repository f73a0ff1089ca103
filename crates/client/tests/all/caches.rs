//! What a mount keeps in memory, against the real server: that it spares calls, and for how long others' changes stay
//! unseen.
//!
//! Calls are counted where they leave.

use std::future::Future;
use std::time::Duration;

use client::{
    Caching, Detail, Dir, Follow, Handle, HitsMisses, Mount, NameCaching, OpenOptions, Options, Rights, SpecialFile,
    Status, Version,
};
use vfs::{CreateMode, SetAttributes};

use crate::real::{Export, until};

const VERSIONS: [Version; 5] = [Version::V2, Version::V3, Version::V4_0, Version::V4_1, Version::V4_2];

fn mode(mode: u32) -> SetAttributes {
    SetAttributes { mode: Some(mode), ..SetAttributes::default() }
}

/// How many calls something takes.
async fn calls<T>(mount: &Mount, what: impl Future<Output = T>) -> (u64, T) {
    let before = mount.counters().calls;
    let done = what.await;
    (mount.counters().calls - before, done)
}

async fn mount_with(export: &Export, version: Version, caching: Caching) -> Mount {
    let options = Options { caching, ..export.options(version) };
    Mount::connect(&export.url(), &options).await.unwrap()
}

/// For tests that are over before anything is asked again.
fn patient() -> Caching {
    let day = Duration::from_secs(86_400);
    Caching { file_min: day, file_max: day, dir_min: day, dir_max: day, ..Caching::default() }
}

/// For tests that wait until it is.
fn restless() -> Caching {
    let short = Duration::from_millis(20);
    Caching { file_min: short, file_max: short, dir_min: short, dir_max: short, ..Caching::default() }
}

/// A file of that name, which this mount knows nothing of yet.
async fn file(export: &Export, version: Version, name: &[u8]) -> Handle {
    let other = export.mount(version).await;
    other.create(&other.root().handle, name, CreateMode::Unchecked, &mode(0o644)).await.unwrap().handle
}

#[tokio::test]
async fn attributes_are_asked_for_once_and_own_changes_are_known() {
    let export = Export::start();
    for version in VERSIONS {
        let mount = mount_with(&export, version, patient()).await;
        let file = file(&export, version, b"file").await;
        assert_eq!(calls(&mount, mount.attributes(&file)).await.0, 1, "{version}");
        for _ in 0..10 {
            assert_eq!(calls(&mount, mount.attributes(&file)).await.0, 0, "{version}");
        }
        mount.setattr(&file, &mode(0o600)).await.unwrap();
        let (count, attributes) = calls(&mount, mount.attributes(&file)).await;
        assert_eq!((count, attributes.unwrap().mode), (0, 0o600), "{version}");
        let data = "0123456789".into();
        mount.write(&file, 0, data, vfs::Stability::File).await.unwrap();
        let (count, attributes) = calls(&mount, mount.attributes(&file)).await;
        assert_eq!((count, attributes.unwrap().size_bytes), (0, 10), "{version}");
        assert_eq!(mount.cache_counters().attributes, HitsMisses { hits: 12, misses: 1 }, "{version}");
    }
}

#[tokio::test]
async fn attributes_come_with_the_replies_to_reads_and_commits() {
    let export = Export::start();
    for version in VERSIONS {
        let (mine, yours) = (mount_with(&export, version, patient()).await, export.mount(version).await);
        let handle = file(&export, version, format!("shared-{version}").as_bytes()).await;
        let open = mine.open_handle(&handle, &OpenOptions::read()).await.unwrap();
        let size = async || mine.attributes(&handle).await.unwrap().size_bytes;
        for bytes in [10, 20] {
            let before = size().await;
            yours.write(&handle, 0, vec![1; bytes as usize].into(), vfs::Stability::Unstable).await.unwrap();
            assert_eq!(size().await, before, "{version}: still believed");
            // No reply to READ tells in version 4, none to COMMIT in version 2.
            if version <= Version::V3 {
                open.read(0, 100).await.unwrap();
            } else {
                mine.commit(&handle, 0, 0).await.unwrap();
            }
            assert_eq!(calls(&mine, size()).await, (0, bytes), "{version}");
        }
    }
}

#[tokio::test]
async fn change_by_somebody_else_is_seen_when_the_time_is_up_and_at_once_by_whoever_opens() {
    let export = Export::start();
    for version in VERSIONS {
        let (mine, yours) = (mount_with(&export, version, patient()).await, export.mount(version).await);
        let restless = mount_with(&export, version, restless()).await;
        let file = file(&export, version, b"shared").await;
        for mount in [&mine, &restless] {
            mount.setattr(&file, &mode(0o644)).await.unwrap();
        }
        yours.setattr(&file, &mode(0o640)).await.unwrap();
        assert_eq!(mine.attributes(&file).await.unwrap().mode, 0o644, "{version}: still believed");
        assert_eq!(mine.attributes_at_open(&file).await.unwrap().mode, 0o640, "{version}");
        until("the new mode", async || restless.attributes(&file).await.unwrap().mode == 0o640).await;
    }
}

#[tokio::test]
async fn without_times_every_look_asks_and_without_close_to_open_opening_does_not() {
    let export = Export::start();
    let file = file(&export, Version::V3, b"file").await;
    let mount = mount_with(&export, Version::V3, Caching::without_attributes()).await;
    for _ in 0..3 {
        assert_eq!(calls(&mount, mount.attributes(&file)).await.0, 1);
    }
    let mount = mount_with(&export, Version::V3, Caching { close_to_open: false, ..Caching::default() }).await;
    mount.attributes(&file).await.unwrap();
    assert_eq!(calls(&mount, mount.attributes_at_open(&file)).await.0, 0);
}

#[tokio::test]
async fn name_is_looked_up_once_whether_it_is_there_or_not() {
    let export = Export::start();
    for version in VERSIONS {
        file(&export, version, b"here").await;
        let mount = mount_with(&export, version, patient()).await;
        let root = mount.root_dir();
        for name in ["here", "gone"] {
            let (count, first) = calls(&mount, root.metadata(name)).await;
            let (again, second) = calls(&mount, root.metadata(name)).await;
            assert_eq!((count, again), (1, 0), "{version} {name}");
            let found = [first, second].map(|result| result.map_err(|error| error.status()));
            assert_eq!(found[0], found[1], "{version} {name}");
        }
        assert_eq!(mount.cache_counters().names, HitsMisses { hits: 2, misses: 2 }, "{version}");
    }
}

#[tokio::test]
async fn absent_name_is_asked_for_again_where_absence_is_not_believed() {
    let export = Export::start();
    for version in VERSIONS {
        let mount = mount_with(&export, version, Caching { names: NameCaching::Positive, ..patient() }).await;
        let root = mount.root_dir();
        for _ in 0..3 {
            assert_eq!(calls(&mount, root.metadata("gone")).await.0, 1, "{version}");
        }
    }
}

#[tokio::test]
async fn name_that_somebody_else_made_or_removed_is_seen_when_the_directory_was_asked_for() {
    let export = Export::start();
    for version in VERSIONS {
        let (mine, yours) = (mount_with(&export, version, restless()).await, export.mount(version).await);
        let (here, there) = (mine.root_dir(), yours.root_dir());
        assert!(here.metadata("shared").await.is_err(), "{version}");
        there.create_dir("shared", 0o755).await.unwrap();
        until("the name", async || here.metadata("shared").await.is_ok()).await;
        there.remove_dir("shared").await.unwrap();
        until("the end of the name", async || here.metadata("shared").await.is_err()).await;
    }
}

#[tokio::test]
async fn own_changes_of_names_are_known_at_once() {
    let export = Export::start();
    for version in VERSIONS {
        let mount = mount_with(&export, version, patient()).await;
        let root = mount.root_dir();
        let is_there = async |name: &str| match root.lookup(name, Follow::Nothing).await {
            Ok(entry) => Some(entry.handle),
            Err(error) => {
                assert_eq!(error.status(), Some(Status::NoEntry), "{version} {name}");
                None
            }
        };
        for name in ["dir", "file", "link", "hard", "moved", "pipe"] {
            assert_eq!(is_there(name).await, None, "{version}");
        }
        let dir = root.create_dir("dir", 0o755).await.unwrap();
        assert_eq!(is_there("dir").await, Some(*dir.handle()), "{version}");
        root.open("file", &OpenOptions::write().making(0o644)).await.unwrap().close().await.unwrap();
        let file = is_there("file").await;
        assert!(file.is_some(), "{version}");
        let link = root.symlink("dir", "link").await.unwrap();
        assert_eq!(is_there("link").await, Some(link.handle), "{version}");
        root.create_special("pipe", SpecialFile::Fifo, 0o600).await.unwrap();
        assert!(is_there("pipe").await.is_some(), "{version}");
        root.hard_link("file", &root, "hard").await.unwrap();
        assert_eq!(is_there("hard").await, file, "{version}");
        assert_eq!(root.metadata("file").await.unwrap().links, 2, "{version}");
        root.open("moved", &OpenOptions::write().making(0o644)).await.unwrap().close().await.unwrap();
        assert_ne!(is_there("moved").await, file, "{version}");
        root.rename("file", &root, "moved").await.unwrap();
        assert_eq!((is_there("file").await, is_there("moved").await), (None, file), "{version}");
        root.rename("moved", &dir, "inside").await.unwrap();
        assert_eq!((is_there("moved").await, is_there("dir/inside").await), (None, file), "{version}");
        assert_eq!(is_there("hard").await, file, "{version}");
        root.remove_file("hard").await.unwrap();
        assert_eq!(is_there("hard").await, None, "{version}");
        assert_eq!(dir.metadata("inside").await.unwrap().links, 1, "{version}");
        dir.remove_file("inside").await.unwrap();
        root.remove_dir("dir").await.unwrap();
        root.remove_file("link").await.unwrap();
        root.remove_file("pipe").await.unwrap();
        assert_eq!((is_there("dir").await, is_there("link").await, is_there("pipe").await), (None, None, None));
    }
}

#[tokio::test]
async fn own_changes_leave_what_is_known_of_other_names() {
    let export = Export::start();
    for name in [&b"one"[..], b"two"] {
        file(&export, Version::V3, name).await;
    }
    for version in VERSIONS {
        let mount = mount_with(&export, version, patient()).await;
        let root = mount.root_dir();
        root.metadata("two").await.unwrap();
        root.create_dir("dir", 0o755).await.unwrap();
        root.open("made", &OpenOptions::write().making(0o644)).await.unwrap();
        root.rename("made", &root, "moved").await.unwrap();
        root.hard_link("one", &root, "three").await.unwrap();
        root.remove_dir("dir").await.unwrap();
        root.remove_file("moved").await.unwrap();
        root.remove_file("three").await.unwrap();
        if version == Version::V2 {
            // No reply tells of a directory that was changed, nor whether a name that was moved led to the same file as
            // the other.
            assert_eq!(calls(&mount, root.metadata("")).await.0, 1);
            assert_eq!(calls(&mount, root.metadata("made")).await.0, 1);
        }
        for (name, is_there) in [("two", true), ("dir", false), ("made", false), ("moved", false), ("three", false)] {
            let (count, found) = calls(&mount, root.lookup(name, Follow::Nothing)).await;
            assert_eq!((count, found.is_ok()), (0, is_there), "{version} {name}");
        }
    }
}

#[tokio::test]
async fn rename_between_names_of_one_file_leaves_both() {
    let export = Export::start();
    for version in VERSIONS {
        let mount = mount_with(&export, version, patient()).await;
        let root = mount.root_dir();
        let (one, other) = (format!("one-{version}"), format!("other-{version}"));
        root.open(&one, &OpenOptions::write().making(0o644)).await.unwrap();
        root.hard_link(&one, &root, &other).await.unwrap();
        root.rename(&one, &root, &other).await.unwrap();
        for name in [one, other] {
            assert_eq!(root.metadata(&name).await.unwrap().links, 2, "{version} {name}");
        }
    }
}

#[tokio::test]
async fn rights_and_targets_of_links_are_asked_for_once() {
    let export = Export::start();
    for version in VERSIONS {
        let mount = mount_with(&export, version, patient()).await;
        let root = mount.root_dir();
        root.symlink("some/where", "link").await.unwrap();
        root.read_link("link").await.unwrap();
        let (count, target) = calls(&mount, root.read_link("link")).await;
        assert_eq!((count, &target.unwrap()[..]), (0, &b"some/where"[..]), "{version}");
        assert_eq!(mount.cache_counters().symlinks, HitsMisses { hits: 1, misses: 1 }, "{version}");

        root.access("", Rights::READ).await.unwrap();
        let (count, rights) = calls(&mount, root.access("", Rights::LOOKUP | Rights::MODIFY)).await;
        assert_eq!((count, rights.unwrap()), (0, Rights::LOOKUP | Rights::MODIFY), "{version}");
        root.set_attributes("", &mode(0o755)).await.unwrap();
        assert_ne!(calls(&mount, root.access("", Rights::READ)).await.0, 0, "{version}: it may be another one now");
        assert_eq!(mount.cache_counters().access, HitsMisses { hits: 1, misses: 2 }, "{version}");
        root.remove_file("link").await.unwrap();
    }
}

#[tokio::test]
async fn bounded_caches_forget_and_ask_again() {
    let export = Export::start();
    let root = export.mount(Version::V3).await.root_dir();
    for number in 0..30 {
        root.create_dir(number.to_string(), 0o755).await.unwrap();
    }
    let few = mount_with(&export, Version::V3, Caching { max_entries: 10, ..patient() }).await;
    for _ in 0..2 {
        for number in 0..30 {
            few.root_dir().metadata(number.to_string()).await.unwrap();
        }
    }
    assert_eq!(few.cache_counters().names, HitsMisses { hits: 0, misses: 60 });
}

/// The names in a directory, sorted.
async fn names(dir: &Dir, detail: Detail) -> Vec<String> {
    let (mut entries, mut names) = (dir.read_dir(detail), Vec::new());
    while let Some(entry) = entries.next().await.unwrap() {
        assert!(detail == Detail::Names || entry.entry.is_some());
        names.push(String::from_utf8(entry.name.into()).unwrap());
    }
    names.sort();
    names
}

/// Mounts an export whose listings come in several pages.
async fn mount_of_small_pages(export: &Export, version: Version) -> Mount {
    let options = Options { caching: patient(), readdir_bytes: 1024, ..export.options(version) };
    Mount::connect(&export.url(), &options).await.unwrap()
}

#[tokio::test]
async fn directory_is_listed_from_memory_until_it_changes() {
    let export = Export::start();
    let mut expected: Vec<_> = (0..60).map(|number| format!("file-{number}")).collect();
    let root = export.mount(Version::V3).await.root_dir();
    for name in &expected {
        root.open(name, &OpenOptions::write().making(0o644)).await.unwrap();
    }
    expected.sort();
    for version in VERSIONS {
        for detail in [Detail::Names, Detail::Entries] {
            let mount = mount_of_small_pages(&export, version).await;
            let root = mount.root_dir();
            assert_eq!(names(&root, detail).await, expected, "{version}");
            let pages = mount.cache_counters().directory_blocks;
            assert!(pages.hits == 0 && pages.misses > 1, "{version}: {pages:?}");
            let (count, again) = calls(&mount, names(&root, detail)).await;
            assert_eq!((count, &again), (0, &expected), "{version}");
            let counted = mount.cache_counters();
            assert_eq!(counted.directory_blocks, HitsMisses { hits: pages.misses, ..pages }, "{version}");
            assert_eq!(counted.directory_entries, HitsMisses { hits: 1, misses: 1 }, "{version}");
            if detail == Detail::Entries {
                assert_eq!(calls(&mount, root.metadata("file-7")).await.0, 0, "{version}: the listing told it");
            }
            root.create_dir("new", 0o755).await.unwrap();
            assert!(names(&root, detail).await.contains(&"new".to_owned()), "{version}");
            root.remove_dir("new").await.unwrap();
            assert_eq!(names(&root, detail).await, expected, "{version}");
        }
    }
}

#[tokio::test]
async fn listing_with_attributes_needs_them_to_be_believed() {
    let export = Export::start();
    let root = export.mount(Version::V3).await.root_dir();
    root.create_dir("dir", 0o755).await.unwrap();
    root.symlink("target", "link").await.unwrap();
    let caching = Caching { file_min: Duration::ZERO, file_max: Duration::ZERO, ..patient() };
    let mount = mount_with(&export, Version::V3, caching).await;
    let root = mount.root_dir();
    for _ in 0..3 {
        assert_eq!(calls(&mount, names(&root, Detail::Entries)).await.0, 1);
    }
    assert_eq!(calls(&mount, names(&root, Detail::Names)).await.0, 0);
}

#[tokio::test]
async fn listing_that_is_read_while_the_directory_changes_gives_what_stays() {
    let export = Export::start();
    for version in VERSIONS {
        let mount = mount_of_small_pages(&export, version).await;
        let dir = mount.root_dir().create_dir(format!("busy-{version}"), 0o755).await.unwrap();
        for number in 0..40 {
            dir.create_dir(format!("stays-{number}"), 0o755).await.unwrap();
        }
        let (mut entries, mut stay) = (dir.read_dir(Detail::Names), std::collections::HashSet::new());
        let mut number = 0;
        while let Some(entry) = entries.next().await.unwrap() {
            number += 1;
            dir.create_dir(format!("{number}"), 0o755).await.unwrap();
            dir.remove_dir(format!("{number}")).await.unwrap();
            if entry.name.starts_with(b"stays-") {
                assert!(stay.insert(entry.name), "{version}: given twice");
            }
        }
        assert_eq!(stay.len(), 40, "{version}");
    }
}

#[tokio::test]
async fn what_somebody_wrote_before_closing_is_seen_by_whoever_opens_after() {
    let export = Export::start();
    for version in VERSIONS {
        let (mine, yours) = (mount_with(&export, version, patient()).await, export.mount(version).await);
        let (here, there) = (mine.root_dir(), yours.root_dir());
        for text in ["first", "the second one", "third"] {
            let file = there.open("shared", &OpenOptions::write().making(0o644)).await.unwrap();
            file.set_len(0).await.unwrap();
            file.write_at(0, text.as_bytes()).await.unwrap();
            file.close().await.unwrap();
            let file = here.open("shared", &OpenOptions::read()).await.unwrap();
            let mut buffer = [0; 100];
            let count = file.read_at(0, &mut buffer).await.unwrap();
            assert_eq!(std::str::from_utf8(&buffer[..count]), Ok(text), "{version}");
            assert_eq!(here.metadata("shared").await.unwrap().size_bytes, text.len() as u64, "{version}");
            file.close().await.unwrap();
        }
    }
}

/// Lets other tasks have their turn that often.
async fn turns(count: u32) {
    for _ in 0..count {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn change_that_nobody_waits_for_leaves_nothing_false_behind() {
    let export = Export::start();
    for version in VERSIONS {
        let mount = mount_with(&export, version, patient()).await;
        let root = mount.root_dir();
        for number in 0..20 {
            let name = format!("dir-{version}-{number}");
            assert!(root.metadata(&name).await.is_err());
            // Nobody waits for it any more before it is sent, or while it is in flight.
            tokio::select! {
                biased;
                _ = root.create_dir(&name, 0o755) => {}
                () = turns(number / 5) => {}
            }
            // It is carried out all the same, and may be when it is looked for already.
            let what = format!("{name} is there, and found to be");
            until(&what, async || {
                mount.lookup(mount.root_dir().handle(), name.as_bytes()).await.is_ok()
                    && root.metadata(&name).await.is_ok()
            })
            .await;
        }
    }
}

/// How many calls it takes when a hundred tasks do the same at once.
async fn calls_of_a_hundred<F>(mount: &Mount, mut what: impl FnMut(Dir) -> F) -> u64
where
    F: Future<Output = ()> + Send + 'static,
{
    let tasks: tokio::task::JoinSet<()> = (0..100).map(|_| what(mount.root_dir())).collect();
    calls(mount, tasks.join_all()).await.0
}

#[tokio::test]
async fn hundred_who_ask_the_same_at_once_cost_one_call() {
    let export = Export::start();
    let root = export.mount(Version::V3).await.root_dir();
    root.create_dir("dir", 0o755).await.unwrap();
    root.symlink("target", "link").await.unwrap();
    for version in VERSIONS {
        let mount = mount_with(&export, version, patient()).await;
        let stat = |dir: Dir| async move { assert!(dir.metadata("dir").await.is_ok()) };
        assert_eq!(calls_of_a_hundred(&mount, stat).await, 1, "{version}: LOOKUP");
        let absent = |dir: Dir| async move { assert!(dir.metadata("absent").await.is_err()) };
        assert_eq!(calls_of_a_hundred(&mount, absent).await, 1, "{version}: LOOKUP");
        let link = |dir: Dir| async move { assert_eq!(dir.read_link("link").await.unwrap(), b"target") };
        assert_eq!(calls_of_a_hundred(&mount, link).await, 2, "{version}: LOOKUP, READLINK");
        let list = |dir: Dir| async move { assert_eq!(names(&dir, Detail::Names).await.len(), 2) };
        assert_eq!(calls_of_a_hundred(&mount, list).await, 1, "{version}: READDIR");
        // Version 2 has no ACCESS: the attributes say it, and a listing and a look-up show what the server allows.
        let access = |dir: Dir| async move { dir.access("dir", Rights::READ).await.map(drop).unwrap() };
        let asked = if version == Version::V2 { 3 } else { 1 };
        assert_eq!(calls_of_a_hundred(&mount, access).await, asked, "{version}: ACCESS, or GETATTR, READDIR, LOOKUP");
    }
}

#[tokio::test]
async fn hundred_who_look_at_one_file_cost_one_getattr() {
    let export = Export::start();
    for version in VERSIONS {
        let file = file(&export, version, b"file").await;
        let mount = mount_with(&export, version, patient()).await;
        let look = |dir: Dir| async move { dir.mount().attributes(&file).await.map(drop).unwrap() };
        assert_eq!(calls_of_a_hundred(&mount, look).await, 1, "{version}");
    }
}

#[tokio::test]
async fn one_who_goes_away_leaves_nobody_without_an_answer() {
    let export = Export::start();
    for version in VERSIONS {
        let file = file(&export, version, b"file").await;
        let mount = mount_with(&export, version, patient()).await;
        let asking: Vec<_> = (0..100)
            .map(|_| {
                let mount = mount.clone();
                tokio::spawn(async move { mount.attributes(&file).await.map(drop) })
            })
            .collect();
        turns(3).await;
        for (number, asker) in asking.into_iter().enumerate() {
            if number < 50 {
                asker.abort();
            } else {
                asker.await.unwrap().unwrap();
            }
        }
    }
}
