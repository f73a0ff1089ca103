//! Futures that are dropped wherever they wait: nothing is left behind at the server, nothing false in memory, and what
//! comes after works.

use client::{Caching, Detail, Dir, LockKind, Mount, OpenOptions, Options};

use crate::dropped::{at_every_wait, dropped_after, is_at_server, is_there, making, mount, open};
use crate::real::{Export, VERSIONS, until};

#[tokio::test]
async fn open_that_is_dropped_leaves_nothing_open() {
    let export = Export::start();
    for version in VERSIONS {
        let (mine, yours) = (mount(&export, version).await, export.mount(version).await);
        let name = format!("file-{version}");
        at_every_wait("open", async |waits| {
            let alone = OpenOptions { denies_reads: true, denies_writes: true, ..making() };
            let opened = dropped_after(waits, mine.root_dir().open(&name, &alone)).await;
            let is_over = opened.is_some();
            drop(opened);
            until("an open that nobody has", async || match yours.root_dir().open(&name, &making()).await {
                Ok(file) => file.close().await.is_ok(),
                Err(_) => false,
            })
            .await;
            is_over
        })
        .await;
        is_there(&mine.root_dir(), &name).await;
    }
}

/// Which of two names are there, in the end of what is still in flight: the server, the memory of names and the listing
/// agree.
async fn agreed(root: &Dir, names: [&str; 2]) -> [bool; 2] {
    let mut now = [false; 2];
    until("an agreement of server and memory", async || {
        now = [is_at_server(root, names[0]).await, is_at_server(root, names[1]).await];
        let mut known = [false; 2];
        for (known, name) in known.iter_mut().zip(names) {
            *known = root.symlink_metadata(name).await.is_ok();
        }
        let (mut entries, mut listed) = (root.read_dir(Detail::Names), [false; 2]);
        while let Some(entry) = entries.next().await.unwrap() {
            listed.iter_mut().zip(names).for_each(|(listed, name)| *listed |= *entry.name == *name.as_bytes());
        }
        let still = [is_at_server(root, names[0]).await, is_at_server(root, names[1]).await];
        [known, listed, still] == [now; 3]
    })
    .await;
    now
}

#[tokio::test]
async fn changes_of_names_that_are_dropped_leave_nothing_false_behind() {
    let export = Export::start();
    for version in VERSIONS {
        let mount = mount(&export, version).await;
        let root = mount.root_dir();
        for what in ["make", "move", "remove"] {
            at_every_wait(what, async |waits| {
                let (name, other) = (format!("{what}-{waits}-{version}"), format!("{what}-{waits}-{version}-other"));
                if what != "make" {
                    root.create_dir(&name, 0o755).await.unwrap();
                }
                assert_eq!((is_there(&root, &name).await, is_there(&root, &other).await), (what != "make", false));
                let done = match what {
                    "make" => dropped_after(waits, root.create_dir(&name, 0o755)).await.is_some(),
                    "move" => dropped_after(waits, root.rename(&name, &root, &other)).await.is_some(),
                    _ => dropped_after(waits, root.remove_dir(&name)).await.is_some(),
                };
                let now = agreed(&root, [&name, &other]).await;
                match what {
                    "move" => assert_ne!(now[0], now[1], "{version}: it has one name"),
                    _ => assert!(!now[1], "{version}"),
                }
                done
            })
            .await;
        }
    }
}

#[tokio::test]
async fn reads_and_writes_that_are_dropped_lose_nothing_that_was_taken() {
    let export = Export::start();
    for version in VERSIONS {
        for is_direct in [false, true] {
            let caching = Caching { is_direct, block_bytes: 4096, max_dirty_bytes: 16_384, ..Caching::default() };
            let options = Options { caching, write_bytes: Some(4096), ..export.options(version) };
            let mount = Mount::connect(&export.url(), &options).await.unwrap();
            let file = open(&mount.root_dir(), &format!("file-{is_direct}-{version}")).await;
            // More than may wait to be written, so that it has to wait.
            let size = 65_536;
            let (mut old, mut buffer) = (1, vec![0; size]);
            file.write_at(0, &vec![old; size]).await.unwrap();
            at_every_wait("write", async |waits| {
                let new = old + 1;
                let is_over = dropped_after(waits, file.write_at(0, &vec![new; size])).await.is_some();
                file.sync().await.unwrap();
                assert_eq!(file.read_at(0, &mut buffer).await.unwrap(), size);
                let told = mount.open_handle(file.handle(), &OpenOptions::read()).await.unwrap();
                let mut at_server = vec![0; size];
                for place in (0..size).step_by(4096) {
                    let piece = told.read_into(place as u64, &mut at_server[place..][..4096]).await.unwrap();
                    assert_eq!(piece.count, 4096, "{version}");
                }
                assert!(at_server == buffer, "{version}: memory and server differ");
                assert!(buffer.iter().all(|byte| *byte == new || (*byte == old && !is_over)), "{version}");
                file.write_at(0, &vec![new; size]).await.unwrap();
                old = new % 100;
                file.write_at(0, &vec![old; size]).await.unwrap();
                is_over
            })
            .await;
            file.sync().await.unwrap();
            at_every_wait("read", async |waits| {
                let again = Mount::connect(&export.url(), &options).await.unwrap();
                let reader = again.open_handle(file.handle(), &OpenOptions::read()).await.unwrap();
                let is_over = dropped_after(waits, reader.read_at(0, &mut buffer)).await.is_some();
                buffer.fill(0);
                assert_eq!(reader.read_at(0, &mut buffer).await.unwrap(), size, "{version}");
                assert!(buffer.iter().all(|byte| *byte == old), "{version}");
                is_over
            })
            .await;
        }
    }
}

#[tokio::test]
async fn close_that_is_dropped_closes_and_loses_nothing() {
    let export = Export::start();
    for version in VERSIONS {
        let (mine, yours) = (mount(&export, version).await, export.mount(version).await);
        let name = format!("file-{version}");
        at_every_wait("close", async |waits| {
            let alone = OpenOptions { denies_reads: true, denies_writes: true, ..making() };
            let file = mine.root_dir().open(&name, &alone).await.unwrap();
            let text = format!("written {waits} {version}");
            file.set_len(0).await.unwrap();
            file.write_at(0, text.as_bytes()).await.unwrap();
            let is_over = dropped_after(waits, file.close()).await.is_some();
            until("a closed file", async || {
                let Ok(file) = yours.root_dir().open(&name, &OpenOptions::read()).await else { return false };
                let is_whole = file.read(0, 1000).await.unwrap().bytes == text.as_bytes();
                file.close().await.unwrap();
                is_whole
            })
            .await;
            is_over
        })
        .await;
    }
}

#[tokio::test]
async fn lock_that_is_dropped_is_given_back() {
    let export = Export::start();
    for version in VERSIONS {
        let (mine, yours) = (mount(&export, version).await, export.mount(version).await);
        let name = format!("file-{version}");
        let (here, there) = (open(&mine.root_dir(), &name).await, open(&yours.root_dir(), &name).await);
        for waits_for_others in [true, false] {
            at_every_wait("lock", async |waits| {
                let locked = match waits_for_others {
                    true => dropped_after(waits, here.lock(LockKind::Exclusive, 0, 10)).await,
                    false => dropped_after(waits, here.try_lock(LockKind::Exclusive, 0, 10)).await,
                };
                if locked.is_none() {
                    until("a free lock", async || there.try_lock(LockKind::Exclusive, 0, 10).await.is_ok()).await;
                    there.unlock(0, 10).await.unwrap();
                }
                here.lock(LockKind::Exclusive, 0, 10).await.unwrap();
                assert!(there.try_lock(LockKind::Shared, 0, 10).await.is_err(), "{version}");
                here.unlock(0, 10).await.unwrap();
                locked.is_some()
            })
            .await;
        }
        at_every_wait("unlock", async |waits| {
            here.lock(LockKind::Exclusive, 0, 10).await.unwrap();
            let is_over = dropped_after(waits, here.unlock(0, 10)).await.is_some();
            here.unlock(0, 10).await.unwrap();
            there.try_lock(LockKind::Exclusive, 0, 10).await.unwrap();
            there.unlock(0, 10).await.unwrap();
            is_over
        })
        .await;
    }
}

#[tokio::test]
async fn lock_that_is_dropped_while_it_waits_for_another_is_not_taken_later() {
    let export = Export::start();
    for version in VERSIONS {
        let (mine, yours) = (mount(&export, version).await, export.mount(version).await);
        let name = format!("file-{version}");
        let (here, there) = (open(&mine.root_dir(), &name).await, open(&yours.root_dir(), &name).await);
        for waits in 0..10 {
            there.try_lock(LockKind::Exclusive, 0, 10).await.unwrap();
            assert!(dropped_after(waits, here.lock(LockKind::Exclusive, 0, 10)).await.is_none(), "{version}");
            there.unlock(0, 10).await.unwrap();
            until("a free lock", async || there.try_lock(LockKind::Exclusive, 0, 10).await.is_ok()).await;
            there.unlock(0, 10).await.unwrap();
        }
        here.lock(LockKind::Exclusive, 0, 10).await.unwrap();
        here.close().await.unwrap();
        until("a free lock", async || there.try_lock(LockKind::Exclusive, 0, 10).await.is_ok()).await;
    }
}

#[tokio::test]
async fn lock_that_is_dropped_leaves_a_shared_one_in_its_place() {
    let export = Export::start();
    for version in VERSIONS {
        let (mine, yours) = (mount(&export, version).await, export.mount(version).await);
        let name = format!("file-{version}");
        let (here, there) = (open(&mine.root_dir(), &name).await, open(&yours.root_dir(), &name).await);
        at_every_wait("lock", async |waits| {
            here.lock(LockKind::Shared, 0, 10).await.unwrap();
            let locked = dropped_after(waits, here.try_lock(LockKind::Exclusive, 0, 10)).await;
            if locked.is_none() {
                until("a shared lock", async || there.try_lock(LockKind::Shared, 0, 10).await.is_ok()).await;
                there.unlock(0, 10).await.unwrap();
            }
            assert!(there.try_lock(LockKind::Exclusive, 0, 10).await.is_err(), "{version}: it is still shared");
            here.unlock(0, 10).await.unwrap();
            locked.is_some()
        })
        .await;
    }
}
