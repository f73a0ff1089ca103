//! One mount that several users have: each call is its user's.

use std::sync::atomic::Ordering;
use std::time::Duration;

use client::{Credentials, Detail, Follow, Mount, OpenOptions, Options, RemoteFs, Status, Version};
use proto::nfs4::SEQ_STATUS_RESTART_RECLAIM_NEEDED;
use vfs::{
    Caller, Context, CreateMode, Error, FileSystem, Handle, Name, NewNode, OpenMode, Place, SetAttributes, Stability,
};

use crate::fake4;
use crate::real::Export;
use crate::remote::VERSIONS;

const ALICE: u32 = 1000;
const BOB: u32 = 1001;
/// A group that some are in.
const STAFF: u32 = 50;
/// Whom servers take the superuser for.
const NOBODY: u32 = 65534;
/// How long something is waited for that comes soon.
const PATIENCE: Duration = Duration::from_secs(20);

fn user(uid: u32, groups: &[u32]) -> Credentials {
    Credentials::Sys { uid, gid: uid, groups: groups.to_vec() }
}

/// The superuser's mount of an export that takes the superuser for nobody.
async fn mount(export: &Export, version: Version) -> Mount {
    let options = Options { credentials: user(0, &[]), ..export.options(version) };
    Mount::connect(&export.url(), &options).await.unwrap()
}

fn mode(mode: u32) -> SetAttributes {
    SetAttributes { mode: Some(mode), ..SetAttributes::default() }
}

async fn names(mount: &Mount, dir: &str) -> client::Result<usize> {
    let dir = mount.open_dir(dir).await?;
    let (mut entries, mut count) = (dir.read_dir(Detail::Entries), 0);
    while entries.next().await?.is_some() {
        count += 1;
    }
    Ok(count)
}

#[tokio::test]
async fn what_is_made_belongs_to_who_made_it_and_memory_tells_others_no_more_than_the_server() {
    for version in VERSIONS {
        let export = Export::squashing_root();
        let root = mount(&export, version).await;
        let (alice, bob) = (root.acting_as(&user(ALICE, &[])), root.acting_as(&user(BOB, &[])));
        let dir = alice.root_dir().create_dir("private", 0o700).await.unwrap();
        let file = dir.open("file", &OpenOptions::both().making(0o600)).await.unwrap();
        file.write_at(0, b"mine").await.unwrap();
        let found = alice.root_dir().metadata("private/file").await.unwrap();
        assert_eq!((found.uid, found.gid), (ALICE, ALICE), "{version}");
        assert_eq!(names(&alice, "private").await.unwrap(), 1, "{version}");
        // What alice has seen is in memory, and her file is open.
        for other in [&bob, &root] {
            let denied = Some(Status::AccessDenied);
            let refused = other.root_dir().lookup("private/file", Follow::Links).await.unwrap_err();
            assert_eq!(refused.status(), denied, "{version}");
            assert_eq!(names(other, "private").await.unwrap_err().status(), denied, "{version}");
            let opened = other.open_handle(file.handle(), &OpenOptions::read()).await;
            assert_eq!(opened.unwrap_err().status(), denied, "{version}");
        }
        file.close().await.unwrap();
        root.root_dir().create_dir("anonymous", 0o755).await.unwrap();
        assert_eq!(root.root_dir().metadata("anonymous").await.unwrap().uid, NOBODY, "{version}");
    }
}

#[tokio::test]
async fn group_lets_its_members_in() {
    for version in VERSIONS {
        let export = Export::squashing_root();
        let root = mount(&export, version).await;
        let alice = root.acting_as(&user(ALICE, &[STAFF]));
        let file = alice.root_dir().open("file", &OpenOptions::write().making(0o600)).await.unwrap();
        file.write_at(0, b"shared").await.unwrap();
        file.setattr(&SetAttributes { gid: Some(STAFF), mode: Some(0o640), ..SetAttributes::default() }).await.unwrap();
        file.close().await.unwrap();
        let member = root.acting_as(&user(BOB, &[7, STAFF]));
        let file = member.root_dir().open("file", &OpenOptions::read()).await.unwrap();
        let mut buffer = [0; 10];
        assert_eq!(file.read_at(0, &mut buffer).await.unwrap(), 6, "{version}");
        let stranger = root.acting_as(&user(BOB, &[7]));
        let refused = stranger.root_dir().open("file", &OpenOptions::read()).await.unwrap_err();
        assert_eq!(refused.status(), Some(Status::AccessDenied), "{version}");
    }
}

#[tokio::test]
async fn late_write_is_sent_as_who_wrote_also_when_somebody_else_writes_the_same_file() {
    let export = Export::squashing_root();
    let root = mount(&export, Version::V3).await;
    let (alice, bob) = (root.acting_as(&user(ALICE, &[])), root.acting_as(&user(BOB, &[])));
    let hers = alice.root_dir().open("file", &OpenOptions::both().making(0o666)).await.unwrap();
    let his = bob.root_dir().open("file", &OpenOptions::both()).await.unwrap();
    his.write_at(0, b"his ").await.unwrap();
    // Each WRITE of version 3 is judged by itself, and what he has written was not sent yet.
    alice.setattr(hers.handle(), &mode(0o600)).await.unwrap();
    hers.write_at(4, b"hers").await.unwrap();
    assert_eq!(his.sync().await.unwrap_err().status(), Some(Status::AccessDenied), "who wrote is told");
    his.sync().await.unwrap();
    drop(his);
    hers.close().await.unwrap();
    let other = mount(&export, Version::V3).await.acting_as(&user(ALICE, &[]));
    let file = other.root_dir().open("file", &OpenOptions::read()).await.unwrap();
    let mut buffer = [1; 10];
    assert_eq!(file.read_at(0, &mut buffer).await.unwrap(), 8);
    assert_eq!(&buffer[..8], b"\0\0\0\0hers");
}

#[tokio::test]
async fn what_is_written_late_reaches_the_server_when_the_mount_ends() {
    for version in VERSIONS {
        let export = Export::squashing_root();
        let root = mount(&export, version).await;
        let alice = root.acting_as(&user(ALICE, &[]));
        let file = alice.root_dir().open("file", &OpenOptions::write().making(0o600)).await.unwrap();
        file.write_at(0, b"late").await.unwrap();
        drop((file, alice));
        root.unmount().await.unwrap();
        let again = mount(&export, version).await.acting_as(&user(ALICE, &[]));
        assert_eq!(again.root_dir().metadata("file").await.unwrap().size_bytes, 4, "{version}");
    }
}

#[tokio::test]
async fn opens_are_reclaimed_as_who_opened_and_sessions_are_the_mounts_own() {
    let (address, fake) = fake4::start(|_, _| None).await;
    let options = Options { credentials: user(0, &[]), ..fake4::options() };
    let root = Mount::connect(&format!("nfs://{address}/").parse().unwrap(), &options).await.unwrap();
    let alice = root.acting_as(&user(ALICE, &[]));
    let file = alice.open(&root.root().handle, b"file", &OpenOptions::read()).await.unwrap();
    fake.flags.store(SEQ_STATUS_RESTART_RECLAIM_NEEDED, Ordering::Relaxed);
    alice.getattr(file.handle()).await.unwrap();
    let reclaimed = async {
        while fake.count("ReclaimComplete") < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, reclaimed).await.expect("nothing is reclaimed");
    fake.flags.store(0, Ordering::Relaxed);
    file.close().await.unwrap();
    assert_eq!(fake.users_of("Open"), [Some(ALICE); 2]);
    assert_eq!(fake.users_of("Close"), [Some(ALICE)]);
    for own in ["ExchangeId", "CreateSession", "ReclaimComplete"] {
        assert!(fake.users_of(own).iter().all(|uid| *uid == Some(0)), "{own}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn file_stays_open_for_who_opened_it_when_the_server_restarts() {
    for version in [Version::V4_0, Version::V4_1, Version::V4_2] {
        let mut export = Export::restartable(Duration::from_secs(1));
        let options = Options { credentials: user(0, &[]), is_hard: true, ..export.options(version) };
        let root = Mount::connect(&export.url(), &options).await.unwrap();
        root.root_dir().set_attributes("", &mode(0o777)).await.unwrap();
        let alice = root.acting_as(&user(ALICE, &[]));
        let file = alice.root_dir().open("file", &OpenOptions::both().making(0o600)).await.unwrap();
        file.write_at(0, b"before").await.unwrap();
        export.restart();
        file.write_at(6, b" and after").await.unwrap();
        file.close().await.unwrap();
        let found = root.root_dir().metadata("file").await.unwrap();
        assert_eq!((found.size_bytes, found.uid), (16, ALICE), "{version}");
    }
}

/// A file system of the superuser's mount, whose callers the server knows.
struct Files {
    files: RemoteFs,
    _export: Export,
    _runtime: tokio::runtime::Runtime,
}

impl Files {
    fn start(version: Version) -> Files {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let export = Export::squashing_root();
        let mount = runtime.block_on(mount(&export, version));
        let files = RemoteFs::new(mount, runtime.handle().clone());
        Files { files, _export: export, _runtime: runtime }
    }
}

fn caller(uid: u32, groups: &[u32]) -> Context<'_> {
    Context { caller: Caller { uid, gid: uid, groups }, ..Context::ROOT }
}

fn place(dir: Handle, name: &str) -> Place<'_> {
    Place { dir, name: Name::new(name.as_bytes()).unwrap() }
}

#[test]
fn caller_of_a_file_system_is_who_the_server_judges() {
    for version in VERSIONS {
        let world = Files::start(version);
        let (files, root) = (&world.files, world.files.root());
        let (alice, bob) = (caller(ALICE, &[STAFF]), caller(BOB, &[]));
        let dir = files.make_node(&alice, place(root, "dir"), NewNode::Directory, &mode(0o700)).unwrap();
        assert_eq!((dir.attributes.uid, dir.attributes.gid), (ALICE, ALICE), "{version}");
        let refused = files.create(&bob, place(dir.handle, "file"), CreateMode::Guarded, &mode(0o644));
        assert!(matches!(refused, Err(Error::AccessDenied)), "{version}: {refused:?}");
        let file = files.create(&alice, place(dir.handle, "file"), CreateMode::Guarded, &mode(0o600)).unwrap();
        let hers = files.open(&alice, &file.handle, OpenMode::Write).unwrap();
        hers.write_at(&alice, 0, b"hers", Stability::Unstable).unwrap();
        // Numbers of files outlive the right to look for them.
        for other in [bob, Context::ROOT] {
            let opened = files.open(&other, &file.handle, OpenMode::Read);
            assert!(matches!(opened, Err(Error::AccessDenied)), "{version}");
            let found = files.lookup(&other, place(dir.handle, "file"));
            assert!(matches!(found, Err(Error::AccessDenied)), "{version}: {found:?}");
            let set = files.set_attributes(&other, &file.handle, &mode(0o666));
            assert!(matches!(set, Err(Error::NotPermitted | Error::AccessDenied)), "{version}: {set:?}");
        }
        let set = SetAttributes { gid: Some(STAFF), mode: Some(0o660), ..SetAttributes::default() };
        files.set_attributes(&alice, &file.handle, &set).unwrap();
        files.set_attributes(&alice, &dir.handle, &mode(0o755)).unwrap();
        let (member, mut buffer) = (caller(BOB, &[STAFF]), [0; 8]);
        let his = files.open(&member, &file.handle, OpenMode::Write).unwrap();
        his.write_at(&member, 4, b"his!", Stability::Unstable).unwrap();
        assert_eq!(hers.read_at(&alice, 0, &mut buffer).unwrap(), 8, "{version}");
        assert_eq!(&buffer, b"hershis!", "{version}");
    }
}

#[test]
fn name_of_a_file_that_is_open_and_removed_goes_as_who_removed_it() {
    for version in VERSIONS {
        let world = Files::start(version);
        let (files, root) = (&world.files, world.files.root());
        let (alice, bob) = (caller(ALICE, &[]), caller(BOB, &[]));
        let dir = files.make_node(&alice, place(root, "dir"), NewNode::Directory, &mode(0o755)).unwrap();
        let file = files.create(&alice, place(dir.handle, "file"), CreateMode::Guarded, &mode(0o644)).unwrap();
        let open = files.open(&bob, &file.handle, OpenMode::Read).unwrap();
        files.remove(&alice, place(dir.handle, "file")).unwrap();
        assert_eq!(open.attributes(&bob).unwrap().links, 0, "{version}");
        drop(open);
        // With a hidden name in it the directory could not be removed.
        files.remove_dir(&alice, place(root, "dir")).unwrap();
    }
}

/// The second user and group of every Unix, which have names everywhere: `daemon` or `bin`.
const NAMED: u32 = 1;

#[tokio::test]
async fn owners_with_names_have_their_numbers_in_every_reply_and_unknown_ones_are_nobody() {
    for version in [Version::V4_0, Version::V4_1, Version::V4_2] {
        let export = Export::naming_owners("example.org");
        let mount = export.mount(version).await;
        let root = mount.root_dir();
        for (name, owner) in [("named", NAMED), ("unnamed", 3_999_999_999)] {
            root.create_dir(name, 0o755).await.unwrap();
            let set = SetAttributes { uid: Some(owner), gid: Some(owner), ..SetAttributes::default() };
            let set = root.set_attributes(name, &set).await.unwrap();
            assert_eq!((set.uid, set.gid), (owner, owner), "{version}");
        }
        // Another mount has cached nothing.
        let mount = export.mount(version).await;
        let mut entries = mount.root_dir().read_dir(Detail::Entries);
        let mut owners = Vec::new();
        while let Some(entry) = entries.next().await.unwrap() {
            owners.extend(entry.entry.map(|entry| (entry.attributes.uid, entry.attributes.gid)));
        }
        owners.sort_unstable();
        assert_eq!(owners, [(NAMED, NAMED), (3_999_999_999, 3_999_999_999)], "{version}");
    }
}
