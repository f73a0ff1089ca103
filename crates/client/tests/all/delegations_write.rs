//! Files that the server delegates to the client for writing: opened, read and written without asking, and what was
//! changed is at the server before anybody else sees the file.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use client::{File, LockKind, Mount, OpenOptions, Options, Status, Version};
use proto::nfs4::{
    ACE_ALLOW, Ace, ArgOp, Delegation, OpNumber, Principal, Res, ResOp, SpaceLimit, StableHow, Stateid, Status as Wire,
    WriteDelegation, WriteOk,
};

use crate::fake4;
use crate::real::Export;
use crate::real::proxy::Proxy;

const VERSIONS: [Version; 2] = [Version::V4_1, Version::V4_2];
/// How long something is waited for that comes soon.
const PATIENCE: Duration = Duration::from_secs(20);

async fn open(mount: &Mount, options: OpenOptions) -> File {
    mount.open(&mount.root().handle, b"file", &options).await.unwrap()
}

/// A file that is delegated to this mount for writing, and holds "first".
async fn delegated(mount: &Mount) -> File {
    let file = open(mount, OpenOptions::both().making(0o644)).await;
    file.write_at(0, b"first").await.unwrap();
    file.sync().await.unwrap();
    file.flush().await.unwrap();
    file
}

async fn text(file: &File) -> String {
    let mut buffer = [0; 100];
    let count = file.read_at(0, &mut buffer).await.unwrap();
    String::from_utf8(buffer[..count].to_vec()).unwrap()
}

/// How many calls `work` makes.
async fn calls<T>(mount: &Mount, work: impl Future<Output = T>) -> (T, u64) {
    let before = mount.counters().calls;
    let done = work.await;
    (done, mount.counters().calls - before)
}

async fn in_time<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, work).await.expect("it never came")
}

fn options(export: &Export, version: Version) -> Options {
    Options { uses_write_delegations: true, ..export.options(version) }
}

/// A mount whose calls are counted, and another one.
async fn two(export: &Export, version: Version) -> (Mount, Proxy, Mount) {
    let proxy = Proxy::start(export.address()).await;
    let url = format!("nfs://{}/files", proxy.address).parse().unwrap();
    let mine = Mount::connect(&url, &options(export, version)).await.unwrap();
    (mine, proxy, export.mount(version).await)
}

#[tokio::test]
async fn file_is_opened_for_reading_and_writing_and_closed_without_asking() {
    let export = Export::start();
    for version in VERSIONS {
        let mount = Mount::connect(&export.url(), &options(&export, version)).await.unwrap();
        let file = delegated(&mount).await;
        for options in [OpenOptions::both(), OpenOptions::read(), OpenOptions::write()] {
            let (again, asked) = calls(&mount, open(&mount, options)).await;
            assert_eq!(asked, 0, "{version}: {options:?}");
            let ((), asked) = calls(&mount, async { again.close().await.unwrap() }).await;
            assert_eq!(asked, 0, "{version}: the server knows of no open");
        }
        let denying = OpenOptions { denies_writes: true, ..OpenOptions::read() };
        file.close().await.unwrap();
        let (again, asked) = calls(&mount, open(&mount, denying)).await;
        assert_eq!(asked, 1, "{version}: only the server keeps others away");
        again.close().await.unwrap();
        let local = open(&mount, OpenOptions::both()).await;
        local.write_at(0, b"again").await.unwrap();
        local.close().await.unwrap();
        let yours = export.mount(Version::V3).await;
        assert_eq!(text(&open(&yours, OpenOptions::read()).await).await, "again", "{version}");
        mount.remove(&mount.root().handle, b"file").await.unwrap();
        mount.unmount().await.unwrap();
    }
}

#[tokio::test]
async fn opens_that_keep_others_out_keep_out_those_of_the_same_client() {
    let export = Export::start();
    let mount = Mount::connect(&export.url(), &options(&export, Version::V4_2)).await.unwrap();
    delegated(&mount).await.close().await.unwrap();
    let denying = OpenOptions { denies_writes: true, ..OpenOptions::read() };
    let root = mount.root().handle;
    let (local, asked) = calls(&mount, open(&mount, OpenOptions::both())).await;
    assert_eq!(asked, 0);
    let refused = mount.open(&root, b"file", &denying).await.unwrap_err();
    assert_eq!(refused.status(), Some(Status::ShareDenied));
    local.close().await.unwrap();
    let alone = open(&mount, denying).await;
    let refused = mount.open(&root, b"file", &OpenOptions::write()).await.unwrap_err();
    assert_eq!(refused.status(), Some(Status::ShareDenied));
    alone.close().await.unwrap();
    let (_local, asked) = calls(&mount, open(&mount, OpenOptions::both())).await;
    assert_eq!(asked, 0, "it is delegated still");
}

#[tokio::test]
async fn what_was_changed_is_written_before_another_client_may_open_the_file() {
    let export = Export::start();
    for version in VERSIONS {
        let (mine, proxy, yours) = two(&export, version).await;
        let first = delegated(&mine).await;
        let local = open(&mine, OpenOptions::both()).await;
        local.write_at(5, b" and more").await.unwrap();
        assert_eq!(proxy.count(OpNumber::Delegreturn as u32), 0);
        let reader = in_time(open(&yours, OpenOptions::both())).await;
        assert_eq!(text(&reader).await, "first and more", "{version}");
        assert_eq!(proxy.count(OpNumber::Delegreturn as u32), 1);
        // What was open by the delegation alone is open at the server now.
        local.write_at(0, b"other").await.unwrap();
        local.close().await.unwrap();
        reader.close().await.unwrap();
        assert_eq!(text(&open(&yours, OpenOptions::read()).await).await, "other and more", "{version}");
        first.close().await.unwrap();
        yours.remove(&yours.root().handle, b"file").await.unwrap();
        mine.unmount().await.unwrap();
    }
}

#[tokio::test]
async fn others_are_told_how_long_the_file_is_and_that_it_changed_without_a_recall() {
    let export = Export::start();
    for version in VERSIONS {
        let (mine, proxy, yours) = two(&export, version).await;
        let file = delegated(&mine).await;
        let before = in_time(yours.getattr(file.handle())).await.unwrap();
        assert_eq!(before.size_bytes, 5, "{version}");
        file.write_at(5, &[b'x'; 1000]).await.unwrap();
        let told = async {
            loop {
                // The server remembers for a short while what it was told.
                let now = yours.getattr(file.handle()).await.unwrap();
                if now.size_bytes != before.size_bytes {
                    return now;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let now = in_time(told).await;
        assert_eq!(now.size_bytes, 1005, "{version}");
        assert_ne!(now.change, before.change, "{version}");
        assert_eq!(proxy.count(OpNumber::Delegreturn as u32), 0, "{version}");
        file.close().await.unwrap();
        mine.remove(&mine.root().handle, b"file").await.unwrap();
        mine.unmount().await.unwrap();
    }
}

#[tokio::test]
async fn writes_under_a_delegation_ask_for_no_attributes_and_the_commit_behind_them_does() {
    let export = Export::start();
    for (version, is_delegated) in VERSIONS.into_iter().flat_map(|version| [(version, true), (version, false)]) {
        let proxy = Proxy::start(export.address()).await;
        let url = format!("nfs://{}/files", proxy.address).parse().unwrap();
        let options = Options { uses_write_delegations: is_delegated, ..export.options(version) };
        let mount = Mount::connect(&url, &options).await.unwrap();
        let file = delegated(&mount).await;
        let counts =
            || [OpNumber::Write, OpNumber::Commit, OpNumber::Getattr].map(|operation| proxy.count(operation as u32));
        let before = counts();
        let bytes = vec![7; 5 << 20];
        file.write_at(0, &bytes).await.unwrap();
        file.sync().await.unwrap();
        let [writes, commits, getattrs] = counts();
        let (writes, commits, getattrs) = (writes - before[0], commits - before[1], getattrs - before[2]);
        assert!(writes > 1 && commits > 0, "{version}: {writes} WRITEs, {commits} COMMITs");
        let around_writes = if is_delegated { 0 } else { 2 * writes };
        assert_eq!(getattrs, around_writes + commits, "{version}: delegated: {is_delegated}");
        let (now, asked) = calls(&mount, mount.attributes(file.handle())).await;
        assert_eq!((now.unwrap().size_bytes, asked), (5 << 20, 0), "{version}: the COMMIT has told");
        let mut first = [0; 10];
        let (_, asked) = calls(&mount, file.read_at(0, &mut first)).await;
        assert_eq!((first, asked), ([7; 10], 0), "{version}: what was written is known");
        file.close().await.unwrap();
        mount.remove(&mount.root().handle, b"file").await.unwrap();
        mount.unmount().await.unwrap();
    }
}

#[tokio::test]
async fn lock_of_a_file_that_is_open_for_writing_by_its_delegation_alone_is_the_servers() {
    let export = Export::start();
    let (mine, _proxy, yours) = two(&export, Version::V4_2).await;
    let _first = delegated(&mine).await;
    let local = open(&mine, OpenOptions::both()).await;
    local.lock(LockKind::Exclusive, 0, 10).await.unwrap();
    let other = in_time(open(&yours, OpenOptions::both())).await;
    assert!(other.try_lock(LockKind::Exclusive, 5, 1).await.is_err());
    local.write_at(0, b"other").await.unwrap();
    local.unlock(0, 10).await.unwrap();
    other.try_lock(LockKind::Exclusive, 5, 1).await.unwrap();
}

#[tokio::test]
async fn delegation_and_unwritten_changes_outlive_a_restart_of_the_server() {
    for version in VERSIONS {
        let mut export = Export::restartable(Duration::from_secs(1));
        let options = Options { is_hard: true, ..options(&export, version) };
        let mount = Mount::connect(&export.url(), &options).await.unwrap();
        let first = delegated(&mount).await;
        let local = open(&mount, OpenOptions::both()).await;
        local.write_at(0, b"later").await.unwrap();
        export.restart();
        local.flush().await.unwrap();
        let (again, asked) = calls(&mount, mount.open_handle(first.handle(), &OpenOptions::both())).await;
        let again = again.unwrap();
        assert_eq!(asked, 0, "{version}: it is delegated still");
        again.write_at(5, b" too").await.unwrap();
        let yours = Mount::connect(&export.url(), &options).await.unwrap();
        let reader = in_time(open(&yours, OpenOptions::read())).await;
        assert_eq!(text(&reader).await, "later too", "{version}");
    }
}

#[tokio::test]
async fn delegations_for_writing_are_returned_when_the_mount_ends() {
    let export = Export::start();
    let (mine, proxy, _yours) = two(&export, Version::V4_1).await;
    let file = delegated(&mine).await;
    file.write_at(0, b"again").await.unwrap();
    file.close().await.unwrap();
    mine.unmount().await.unwrap();
    assert_eq!(proxy.count(OpNumber::Delegreturn as u32), 1);
}

const DELEGATED: Stateid = Stateid { seqid: 1, other: *b"delegated!!!" };

#[tokio::test]
async fn what_was_written_under_a_delegation_that_the_server_took_away_is_written_by_a_new_open() {
    let permissions = Ace { ace_type: ACE_ALLOW, flags: 0, access_mask: 0, who: Principal(b"EVERYONE@") };
    let space_limit = SpaceLimit::Size { size_bytes: 0 };
    let delegation = WriteDelegation { stateid: DELEGATED, recall: false, space_limit, permissions };
    let is_revoked = Arc::new(AtomicBool::new(false));
    let revoked = Arc::clone(&is_revoked);
    let (address, fake) = fake4::start(move |operation, _| match operation {
        ArgOp::Open(_) => {
            let is_gone = revoked.load(Ordering::Relaxed);
            let given = if is_gone { Delegation::None } else { Delegation::Write(delegation) };
            Some(ResOp::Open(Res::Ok(fake4::opened(given))))
        }
        ArgOp::Write(args) => Some(ResOp::Write(match args.stateid.other == DELEGATED.other {
            true => {
                revoked.store(true, Ordering::Relaxed);
                Res::Fail(Wire::DelegRevoked)
            }
            false => {
                Res::Ok(WriteOk { count: args.data.len() as u32, committed: StableHow::FileSync, verifier: [1; 8] })
            }
        })),
        _ => None,
    })
    .await;
    let options = Options { uses_write_delegations: true, ..fake4::options() };
    let mount = Mount::connect(&format!("nfs://{address}/").parse().unwrap(), &options).await.unwrap();
    let _first = open(&mount, OpenOptions::both()).await;
    let local = open(&mount, OpenOptions::both()).await;
    assert_eq!(fake.count("Open"), 1);
    local.write_at(0, b"bytes").await.unwrap();
    local.flush().await.unwrap();
    assert!(is_revoked.load(Ordering::Relaxed), "it was written by the delegation first");
    assert_eq!((fake.count("Open"), fake.count("FreeStateid")), (2, 1));
    assert!(mount.open(&mount.root().handle, b"file", &OpenOptions::both()).await.is_ok());
    assert_eq!(fake.count("Open"), 3, "the delegation is not believed any more");
}
