//! Every place of the reply to every operation: the reply is cut there, or a word of it is made the largest number that
//! there is. The call ends, with an error when something of its answer is missing, and the next call finds client and
//! server as they were.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use client::{
    Detail, Entry, Error, File, Handle, LockKind, Mount, OpenOptions, Options, Reason, Rights, SpecialFile, Status,
    Version,
};
use vfs::{CreateMode, FileKind, SetAttributes, Stability};

use super::alteration::{HEADER_BYTES, Sent};
use super::site::Site;

/// Longer than any call may take, however often it is tried.
const MAX_TIME: Duration = Duration::from_secs(24 * 3600);
/// Longer than a client waits between two streams, and shorter than it lets a lease go without renewing it.
const PAUSE: Duration = Duration::from_secs(6);
const SET: SetAttributes =
    SetAttributes { mode: Some(0o644), uid: None, gid: None, size_bytes: None, accessed: None, modified: None };

/// What is done to a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// It ends there.
    Cut,
    /// The word there is `u32::MAX`: a length or a count that nothing can be true of.
    Largest,
}

/// What is done to which place of the next reply, in bytes; and whether there was such a place.
#[derive(Debug, Default)]
struct Plan {
    next: Option<(Damage, usize)>,
    is_done: bool,
}

impl Plan {
    fn alter(&mut self, mut reply: Vec<u8>) -> Sent {
        if let Some((damage, at)) = self.next.take()
            && at + 4 <= reply.len()
        {
            self.is_done = true;
            match damage {
                Damage::Cut => reply.truncate(at),
                Damage::Largest => reply[at..at + 4].fill(0xff),
            }
        }
        Sent::Message(reply)
    }
}

/// What is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Lookup,
    Getattr,
    Setattr,
    Access,
    Readlink,
    Read,
    Write,
    Commit,
    Create,
    Mkdir,
    Symlink,
    Mknod,
    Remove,
    Rmdir,
    Rename,
    Link,
    Names,
    Entries,
    Fsstat,
    Fsinfo,
    Pathconf,
    Open,
    Lock,
    TestLock,
    Unlock,
    Close,
    ReadPlus,
    Seek,
    Allocate,
    Deallocate,
    CopyRange,
    CloneRange,
    Getxattr,
    Setxattr,
    Listxattrs,
    Removexattr,
}

use Operation::*;

const ALL: [Operation; 21] = [
    Lookup, Getattr, Setattr, Access, Readlink, Read, Write, Commit, Create, Mkdir, Symlink, Mknod, Remove, Rmdir,
    Rename, Link, Names, Entries, Fsstat, Fsinfo, Pathconf,
];
const V4: [Operation; 5] = [Open, Lock, TestLock, Unlock, Close];
const V4_2: [Operation; 10] =
    [ReadPlus, Seek, Allocate, Deallocate, CopyRange, CloneRange, Getxattr, Setxattr, Listxattrs, Removexattr];

impl Operation {
    /// Whether the reply goes on behind what was asked for, with attributes of what was changed (NFSv4).
    fn has_more_than_the_answer(self, version: Version) -> bool {
        let changes = [Write, Commit, Create, Mkdir, Symlink, Mknod, Remove, Rmdir, Rename, Link, Open, Close];
        version >= Version::V4_0 && changes.contains(&self)
    }

    fn of(version: Version) -> impl Iterator<Item = Operation> {
        let v4: &[Operation] = if version >= Version::V4_0 { &V4 } else { &[] };
        let v4_2: &[Operation] = if version == Version::V4_2 { &V4_2 } else { &[] };
        // Version 2 has no such calls.
        let has =
            move |operation: &Operation| version > Version::V2 || !matches!(operation, Access | Commit | Pathconf);
        ALL.into_iter().filter(has).chain(v4.iter().copied()).chain(v4_2.iter().copied())
    }
}

/// What is done around each call whose reply is damaged.
pub trait Around {
    /// Before the call.
    fn before(&mut self) {}
    /// After it; `call` says which one it was, and where its reply was damaged.
    fn after(&mut self, call: fmt::Arguments<'_>) {
        let _ = call;
    }
}

impl Around for () {}

/// Damages the replies to everything that a client of `version` calls at all `places` that they have, in bytes; how
/// often that was.
///
/// # Panics
/// When a call does not end, succeeds without its answer, or leaves something behind that keeps the next from
/// succeeding.
pub fn damage_replies(
    version: Version,
    damage: Damage,
    places: impl Iterator<Item = usize> + Clone,
    around: &mut impl Around,
) -> usize {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.expect("a runtime").block_on(async {
        let plan: Arc<Mutex<Plan>> = Arc::default();
        let mount = connect(version, &plan).await;
        let scene = Scene::new(&mount).await.expect("files");
        let mut damaged = 0;
        for operation in Operation::of(version) {
            let mut is_whole = false;
            for at in places.clone() {
                // A client waits longer each time before it connects to a server that ends streams at once.
                tokio::time::sleep(PAUSE).await;
                let file = scene.prepare(operation).await;
                let file = file.unwrap_or_else(|error| panic!("{operation:?}, before {at} bytes: {error}"));
                *lock(&plan) = Plan { next: Some((damage, at)), is_done: false };
                around.before();
                let ended = tokio::time::timeout(MAX_TIME, scene.call(operation, &file)).await;
                let ended = ended.unwrap_or_else(|_| panic!("{operation:?}, {at} bytes: the call waits for ever"));
                around.after(format_args!("{version} {operation:?}, {at} bytes"));
                if !std::mem::take(&mut *lock(&plan)).is_done {
                    break;
                }
                damaged += 1;
                if damage == Damage::Cut && at >= HEADER_BYTES {
                    is_whole |= !is_refused(operation, at, ended.err().as_ref(), is_whole);
                    assert!(!is_whole || operation.has_more_than_the_answer(version), "{operation:?} {at}: no error");
                }
                // What the server knows of the file may be lost.
                if let Some(file) = file {
                    let _ = file.close().await;
                }
            }
        }
        damaged
    })
}

async fn connect(version: Version, plan: &Arc<Mutex<Plan>>) -> Mount {
    let plan = Arc::clone(plan);
    let site = Site::new(move |reply| lock(&plan).alter(reply));
    let options = Options {
        version,
        tunnel: Some(site.tunnel()),
        timeout: Some(Duration::from_secs(1)),
        retransmissions: Some(1),
        use_privileged_port: false,
        uses_delegations: false,
        ..Options::default()
    };
    let url = "nfs://192.0.2.1:2049/files".parse().expect("a URL");
    Mount::connect(&url, &options).await.expect("a mount")
}

/// Whether a call failed for a reason that names the reply; it must not when a shorter one was enough.
fn is_refused(operation: Operation, at: usize, error: Option<&Error>, shorter_was_enough: bool) -> bool {
    let Some(error) = error else { return false };
    let is_bad = matches!(error.reason(), Reason::BadReply(_) | Reason::NotAReply(_) | Reason::Lie(_));
    assert!(is_bad && !shorter_was_enough, "{operation:?} cut to {at} bytes: {error}");
    true
}

fn lock(plan: &Mutex<Plan>) -> MutexGuard<'_, Plan> {
    plan.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the calls are about.
struct Scene<'m> {
    mount: &'m Mount,
    root: Entry,
    file: Handle,
    link: Entry,
}

impl Scene<'_> {
    async fn new(mount: &Mount) -> client::Result<Scene<'_>> {
        let root = *mount.root();
        let file = mount.create(&root.handle, b"file", CreateMode::Unchecked, &SET).await?.handle;
        mount.write(&file, 0, vec![7; 100].into(), Stability::File).await?;
        let link = mount.symlink(&root.handle, b"link", b"dir/file", &SET).await?;
        Ok(Scene { mount, root, file, link })
    }

    /// Makes everything that the operation needs and that the one before, whose reply was damaged, may have left
    /// otherwise; and opens the file where the operation is about an open one. Whatever is called here must succeed.
    async fn prepare(&self, operation: Operation) -> client::Result<Option<File>> {
        let (mount, root) = (self.mount, &self.root.handle);
        mount.getattr(&self.file).await?;
        match operation {
            Create | Mkdir | Symlink | Mknod => self.clear(b"made").await?,
            Remove | Rename => {
                mount.create(root, b"old", CreateMode::Unchecked, &SET).await?;
                self.clear(b"moved").await?;
            }
            Rmdir => {
                self.clear(b"dir").await?;
                mount.mkdir(root, b"dir", &SET).await?;
            }
            Link => self.clear(b"more").await?,
            Getxattr | Setxattr | Listxattrs | Removexattr => {
                mount.setxattr(root, b"one", b"value", client::XattrMode::Either).await?;
            }
            _ if V4.contains(&operation) || V4_2.contains(&operation) => {
                return mount.open(root, b"file", &OpenOptions::both()).await.map(Some);
            }
            _ => {}
        }
        Ok(None)
    }

    /// Sees to it that there is no such name.
    async fn clear(&self, name: &[u8]) -> client::Result<()> {
        let (mount, root) = (self.mount, &self.root.handle);
        match mount.lookup(root, name).await {
            Ok(found) if found.attributes.kind == FileKind::Directory => mount.rmdir(root, name).await,
            Ok(_) => mount.remove(root, name).await,
            Err(error) if error.status() == Some(Status::NoEntry) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn call(&self, operation: Operation, file: &Option<File>) -> client::Result<()> {
        match (operation, file) {
            (_, Some(file)) if V4.contains(&operation) => self.call_state(operation, file).await,
            (_, Some(file)) => call_of_file(operation, file).await,
            (Create | Mkdir | Symlink | Mknod | Remove | Rmdir | Rename | Link, _) => self.call_names(operation).await,
            (Getxattr | Setxattr | Listxattrs | Removexattr, _) => self.call_xattrs(operation).await,
            _ => self.call_plain(operation).await,
        }
    }

    async fn call_plain(&self, operation: Operation) -> client::Result<()> {
        let (mount, root, file) = (self.mount, &self.root.handle, &self.file);
        match operation {
            Lookup => mount.lookup(root, b"file").await.map(drop),
            Getattr => mount.getattr(file).await.map(drop),
            Setattr => mount.setattr(file, &SET).await.map(drop),
            Access => mount.access(file, Rights::READ).await.map(drop),
            Readlink => mount.readlink(&self.link.handle).await.map(drop),
            Read => mount.read(file, 0, 100).await.map(drop),
            Write => mount.write(file, 0, vec![7; 100].into(), Stability::Unstable).await.map(drop),
            Commit => mount.commit(file, 0, 0).await.map(drop),
            Names => mount.read_dir(root, Detail::Names).next_page().await.map(drop),
            Entries => mount.read_dir(root, Detail::Entries).next_page().await.map(drop),
            Fsstat => mount.fsstat(root).await.map(drop),
            Fsinfo => mount.fsinfo(root).await.map(drop),
            _ => mount.pathconf(root).await.map(drop),
        }
    }

    async fn call_names(&self, operation: Operation) -> client::Result<()> {
        let (mount, root) = (self.mount, &self.root.handle);
        match operation {
            Create => mount.create(root, b"made", CreateMode::Unchecked, &SET).await.map(drop),
            Mkdir => mount.mkdir(root, b"made", &SET).await.map(drop),
            Symlink => mount.symlink(root, b"made", b"target", &SET).await.map(drop),
            Mknod => mount.mknod(root, b"made", SpecialFile::Fifo, &SET).await.map(drop),
            Remove => mount.remove(root, b"old").await,
            Rmdir => mount.rmdir(root, b"dir").await,
            Rename => mount.rename(root, b"old", root, b"moved").await,
            _ => mount.link(&self.file, root, b"more").await,
        }
    }

    async fn call_xattrs(&self, operation: Operation) -> client::Result<()> {
        let (mount, root) = (self.mount, &self.root.handle);
        match operation {
            Getxattr => mount.getxattr(root, b"one").await.map(drop),
            Setxattr => mount.setxattr(root, b"two", b"value", client::XattrMode::Either).await,
            Listxattrs => mount.listxattrs(root).await.map(drop),
            _ => mount.removexattr(root, b"one").await,
        }
    }

    async fn call_state(&self, operation: Operation, file: &File) -> client::Result<()> {
        match operation {
            Open => self.open().await.map(drop),
            Lock => file.try_lock(LockKind::Exclusive, 0, 10).await,
            TestLock => file.test_lock(LockKind::Shared, 0, 10).await,
            Unlock => file.unlock(0, 10).await,
            _ => self.open().await?.close().await,
        }
    }

    async fn open(&self) -> client::Result<File> {
        self.mount.open(&self.root.handle, b"file", &OpenOptions::read()).await
    }
}

async fn call_of_file(operation: Operation, file: &File) -> client::Result<()> {
    match operation {
        ReadPlus => file.read_plus(0, 100).await.map(drop),
        Seek => file.seek(0, client::Extent::Hole).await.map(drop),
        Allocate => file.allocate(0, 100).await,
        Deallocate => file.deallocate(0, 100).await,
        CopyRange => file.copy_from(file, 0, 4096, 100).await.map(drop),
        _ => file.clone_from(file, 0, 4096, 100).await,
    }
}
