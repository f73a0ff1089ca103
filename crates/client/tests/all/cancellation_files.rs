//! Changes of files and listings that are dropped wherever they wait: what is kept in memory is what the server has,
//! and what comes after works.

use std::sync::atomic::{AtomicUsize, Ordering};

use client::{Caching, Detail, Dir, File, Mount, OpenOptions, Options, Status, Version};
use proto::nfs4::{ArgOp, Res, ResOp};
use vfs::{CreateMode, SetAttributes};

use crate::dropped::{at_every_wait, dropped_after, is_there, is_there_in_the_end, making, mount, open};
use crate::fake4;
use crate::real::{Export, VERSIONS, until};

/// What the server has of a file, as another client reads it.
async fn at_server(direct: &Mount, file: &File) -> Vec<u8> {
    let file = direct.open_handle(file.handle(), &OpenOptions::read()).await.unwrap();
    let bytes = contents(&file).await;
    file.close().await.unwrap();
    bytes
}

async fn contents(file: &File) -> Vec<u8> {
    let mut bytes = vec![0; 1 << 18];
    let count = file.read_at(0, &mut bytes).await.unwrap();
    bytes.truncate(count);
    bytes
}

async fn direct(export: &Export, version: Version) -> Mount {
    let caching = Caching { is_direct: true, ..Caching::without_attributes() };
    Mount::connect(&export.url(), &Options { caching, ..export.options(version) }).await.unwrap()
}

async fn make(dir: &Dir, name: &str) {
    let new = OpenOptions::both().creating(CreateMode::Guarded, SetAttributes::default());
    dir.open(name, &new).await.unwrap().close().await.unwrap();
}

async fn listed(dir: &Dir) -> Vec<Box<[u8]>> {
    let (mut entries, mut names) = (dir.read_dir(Detail::Names), Vec::new());
    while let Some(entry) = entries.next().await.unwrap() {
        names.push(entry.name);
    }
    names
}

#[tokio::test]
async fn files_that_are_made_moved_linked_and_removed_are_what_the_server_says() {
    let export = Export::start();
    for version in VERSIONS {
        let mount = mount(&export, version).await;
        let root = mount.root_dir();
        let whats: &[&str] = match version {
            // Version 2 makes links without telling of them, and a wait later asks for them.
            Version::V2 => &["make", "move", "replace", "remove", "link"],
            _ => &["make", "move", "replace", "remove", "link", "symlink"],
        };
        for what in whats {
            at_every_wait(what, async |waits| {
                let (name, other) = (format!("{what}-{waits}-{version}"), format!("{what}-{waits}-{version}-other"));
                if !matches!(*what, "make" | "symlink") {
                    make(&root, &name).await;
                }
                if *what == "replace" {
                    make(&root, &other).await;
                }
                let before = (is_there(&root, &name).await, is_there(&root, &other).await);
                let new = OpenOptions::both().creating(CreateMode::Guarded, SetAttributes::default());
                let done = match *what {
                    "make" => dropped_after(waits, root.open(&name, &new)).await.map(|made| made.map(drop).unwrap()),
                    "move" | "replace" => {
                        dropped_after(waits, root.rename(&name, &root, &other)).await.map(Result::unwrap)
                    }
                    "link" => dropped_after(waits, root.hard_link(&name, &root, &other)).await.map(Result::unwrap),
                    "symlink" => {
                        dropped_after(waits, root.symlink("somewhere", &name)).await.map(|made| made.map(drop).unwrap())
                    }
                    _ => dropped_after(waits, root.remove_file(&name)).await.map(Result::unwrap),
                };
                let mut now = before;
                until("an agreement of names and listing", async || {
                    now = (is_there_in_the_end(&root, &name).await, is_there_in_the_end(&root, &other).await);
                    let listed = listed(&root).await;
                    let is_listed = |name: &str| listed.iter().any(|entry| **entry == *name.as_bytes());
                    (is_listed(&name), is_listed(&other)) == now
                })
                .await;
                let after = match *what {
                    "make" | "symlink" => (true, false),
                    "move" | "replace" => (false, true),
                    "link" => (true, true),
                    _ => (false, false),
                };
                assert!(now == after || (now == before && done.is_none()), "{version} {what}: {before:?} to {now:?}");
                done.is_some()
            })
            .await;
        }
    }
}

#[tokio::test]
async fn file_that_is_made_after_its_maker_has_gone_away_is_known() {
    let opens = AtomicUsize::new(0);
    let (address, fake) = fake4::start(move |operation, _| match operation {
        ArgOp::Lookup(_) if opens.load(Ordering::Relaxed) < 2 => {
            Some(ResOp::Lookup(Res::Fail(proto::nfs4::Status::NoEnt)))
        }
        // The server says "not now" at first.
        ArgOp::Open(_) if opens.fetch_add(1, Ordering::Relaxed) == 0 => {
            Some(ResOp::Open(Res::Fail(proto::nfs4::Status::Delay)))
        }
        _ => None,
    })
    .await;
    let mount = fake4::connect(address, "/").await.unwrap();
    let root = mount.root_dir();
    let making = making();
    tokio::select! {
        _ = root.open("file", &making) => panic!("it is opened at once"),
        () = until("an OPEN", async || fake.count("Open") == 1) => {}
    }
    assert_eq!(root.metadata("file").await.unwrap_err().status(), Some(Status::NoEntry));
    until("the end of the OPEN", async || fake.count("Close") == 1).await;
    // The directory seems to be as it was: its version says nothing.
    until("the file", async || root.metadata("file").await.is_ok()).await;
    assert_eq!(fake.count("Open"), 2);
}

#[tokio::test]
async fn sync_that_is_dropped_loses_no_bytes_and_no_error() {
    let export = Export::start();
    for version in VERSIONS {
        let (mine, direct) = (mount(&export, version).await, direct(&export, version).await);
        let file = open(&mine.root_dir(), &format!("sync-{version}")).await;
        at_every_wait("sync", async |waits| {
            let text = format!("{waits} {version}").into_bytes();
            file.write_at(0, &text).await.unwrap();
            file.write_at(100_000, &text).await.unwrap();
            let is_over = dropped_after(waits, file.sync()).await.is_some();
            file.sync().await.unwrap();
            let there = at_server(&direct, &file).await;
            assert!(there.starts_with(&text) && there.ends_with(&text), "{version}");
            assert!(contents(&file).await == there, "{version}");
            is_over
        })
        .await;
        file.close().await.unwrap();
    }
}

#[tokio::test]
async fn cut_that_is_dropped_leaves_one_length_or_the_other_and_bytes_of_the_file() {
    const OLD: usize = 50_000;
    let export = Export::start();
    for version in VERSIONS {
        for is_direct in [false, true] {
            let caching = Caching { is_direct, ..Caching::default() };
            let options = Options { caching, ..export.options(version) };
            let mine = Mount::connect(&export.url(), &options).await.unwrap();
            let direct = direct(&export, version).await;
            let file = open(&mine.root_dir(), &format!("cut-{is_direct}-{version}")).await;
            at_every_wait("set_len", async |waits| {
                file.write_at(0, &[7; OLD]).await.unwrap();
                let new = if waits % 2 == 0 { 10_000 } else { 90_000 };
                let is_over = dropped_after(waits, file.set_len(new as u64)).await.is_some();
                // What was asked for may still be carried out.
                until("a cut file", async || {
                    file.flush().await.unwrap();
                    at_server(&direct, &file).await.len() == if is_over { new } else { contents(&file).await.len() }
                })
                .await;
                let (mine, there) = (contents(&file).await, at_server(&direct, &file).await);
                assert!(mine == there, "{version}: {} bytes and {}", mine.len(), there.len());
                assert!(mine.len() == new || (mine.len() == OLD && !is_over), "{version}: {} bytes", mine.len());
                assert!(mine.iter().take(OLD).all(|byte| *byte == 7) && mine.iter().skip(OLD).all(|byte| *byte == 0));
                file.set_len(0).await.unwrap();
                is_over
            })
            .await;
        }
    }
}

#[tokio::test]
async fn copy_that_is_dropped_leaves_what_the_server_has() {
    const BYTES: usize = 100_000;
    let export = Export::start();
    let (mine, direct) = (mount(&export, Version::V4_2).await, direct(&export, Version::V4_2).await);
    let (source, target) = (open(&mine.root_dir(), "source").await, open(&mine.root_dir(), "target").await);
    source.write_at(0, &[1; BYTES]).await.unwrap();
    for goes_on in [false, true] {
        at_every_wait("copy", async |waits| {
            target.write_at(0, &[2; BYTES]).await.unwrap();
            assert!(contents(&target).await == [2; BYTES]);
            let copy = async {
                match goes_on {
                    false => target.copy_from(&source, 0, 0, BYTES as u64).await,
                    true => target.begin_copy(&source, 0, 0, BYTES as u64).await.unwrap().end(drop).await,
                }
            };
            let copied = dropped_after(waits, copy).await.map(Result::unwrap);
            mine.copies_ended().await;
            let there = at_server(&direct, &target).await;
            assert!(copied.is_none() || there == [1; BYTES]);
            // What was asked for may have been carried out meanwhile.
            until("one file", async || {
                target.getattr().await.unwrap();
                contents(&target).await == at_server(&direct, &target).await
            })
            .await;
            target.write_at(10, b"more").await.unwrap();
            target.sync().await.unwrap();
            assert_eq!(&at_server(&direct, &target).await[10..14], b"more");
            copied.is_some()
        })
        .await;
    }
}

#[tokio::test]
async fn listing_that_is_asked_again_after_it_was_dropped_leaves_nothing_out() {
    let export = Export::start();
    for version in VERSIONS {
        let writer = mount(&export, version).await;
        let dir = writer.root_dir().create_dir(format!("dir-{version}"), 0o755).await.unwrap();
        let mut names: Vec<String> = (0..60).map(|number| format!("a name of some length {number}")).collect();
        for name in &names {
            dir.create_dir(name, 0o755).await.unwrap();
        }
        names.sort();
        for detail in [Detail::Names, Detail::Entries] {
            at_every_wait("listing", async |waits| {
                // Nothing is known to it, and a page has few of the names.
                let options = Options { readdir_bytes: 1024, ..export.options(version) };
                let fresh = Mount::connect(&export.url(), &options).await.unwrap();
                let mut entries = fresh.dir(dir.handle()).read_dir(detail);
                let mut found = Vec::new();
                let is_over = loop {
                    // Each step is begun once for nothing, if it has to wait so often.
                    let step = dropped_after(waits, entries.next()).await;
                    let is_over = step.is_some();
                    let entry = match step {
                        Some(entry) => entry.unwrap(),
                        None => entries.next().await.unwrap(),
                    };
                    match entry {
                        Some(entry) => found.push(String::from_utf8(entry.name.to_vec()).unwrap()),
                        None => break is_over && waits > 0,
                    }
                };
                found.sort();
                assert_eq!(found, names, "{version}");
                is_over || waits > 20
            })
            .await;
        }
    }
}

#[tokio::test]
async fn open_that_cuts_and_is_dropped_holds_nobodys_writes_back() {
    let export = Export::start();
    for version in VERSIONS {
        let (mine, direct) = (mount(&export, version).await, direct(&export, version).await);
        let name = format!("file-{version}");
        let file = open(&mine.root_dir(), &name).await;
        at_every_wait("open", async |waits| {
            file.write_at(0, &[1; 10_000]).await.unwrap();
            let set = SetAttributes { size_bytes: Some(0), ..SetAttributes::default() };
            let cutting = OpenOptions::both().creating(CreateMode::Unchecked, set);
            let opened = dropped_after(waits, mine.root_dir().open(&name, &cutting)).await;
            let is_over = opened.is_some();
            drop(opened);
            file.write_at(0, b"after").await.unwrap();
            file.sync().await.unwrap();
            until("one file", async || {
                file.getattr().await.unwrap();
                contents(&file).await == at_server(&direct, &file).await
            })
            .await;
            assert!(contents(&file).await.starts_with(b"after"), "{version}");
            assert!(is_there(&mine.root_dir(), &name).await);
            is_over
        })
        .await;
    }
}
