//! Everything that a client does, once. What fails may fail, as long as it ends.

use client::{Access, Detail, Entry, Follow, LockKind, Mount, OpenOptions, Rights};
use vfs::{CreateMode, SetAttributes, Stability};

const SET: SetAttributes =
    SetAttributes { mode: Some(0o644), uid: None, gid: None, size_bytes: None, accessed: None, modified: None };
/// More pages than the script's directories have.
const MAX_PAGES: usize = 200;

pub async fn run(mount: &Mount) {
    let root = *mount.root();
    ask(mount, &root).await;
    files(mount, &root).await;
    names(mount, &root).await;
    attributes_beside(mount, &root).await;
}

async fn ask(mount: &Mount, root: &Entry) {
    let _ = mount.null().await;
    let _ = mount.getattr(&root.handle).await;
    let _ = mount.access(&root.handle, Rights::READ).await;
    let _ = mount.fsstat(&root.handle).await;
    let _ = mount.fsinfo(&root.handle).await;
    let _ = mount.pathconf(&root.handle).await;
}

async fn files(mount: &Mount, root: &Entry) {
    let options = OpenOptions::both().creating(CreateMode::Unchecked, SET);
    if let Ok(file) = mount.open(&root.handle, b"file", &options).await {
        let _ = file.write_at(0, &[7; 5000]).await;
        let _ = file.sync().await;
        let _ = file.write(9000, vec![1; 100].into(), Stability::Unstable).await;
        let _ = file.commit(0, 0).await;
        let _ = file.read(0, 4096).await;
        let _ = file.read_at(0, &mut [0; 10_000]).await;
        let _ = file.seek_hole(0).await;
        let _ = file.set_len(6000).await;
        let _ = file.try_lock(LockKind::Exclusive, 0, 100).await;
        let _ = file.test_lock(LockKind::Shared, 0, 100).await;
        let _ = file.unlock(0, 100).await;
        let _ = file.allocate(0, 8192).await;
        let _ = file.deallocate(0, 4096).await;
        let _ = file.close().await;
    }
    let _ = Access::Read;
}

async fn names(mount: &Mount, root: &Entry) {
    let dir = mount.mkdir(&root.handle, b"dir", &SET).await;
    let _ = mount.symlink(&root.handle, b"link", b"dir/file", &SET).await;
    let _ = mount.create(&root.handle, b"other", CreateMode::Exclusive([3; 8]), &SET).await;
    let _ = mount.walk(b"link", Follow::Links).await;
    if let Ok(link) = mount.lookup(&root.handle, b"link").await {
        let _ = mount.readlink(&link.handle).await;
    }
    for detail in [Detail::Names, Detail::Entries] {
        let mut listing = mount.read_dir(&root.handle, detail);
        for _ in 0..MAX_PAGES {
            if !matches!(listing.next_page().await, Ok(Some(_))) {
                break;
            }
        }
    }
    if let Ok(file) = mount.lookup(&root.handle, b"file").await {
        let _ = mount.setattr(&file.handle, &SetAttributes { mode: Some(0o600), ..SET }).await;
        let _ = mount.link(&file.handle, &root.handle, b"more").await;
    }
    let _ = mount.rename(&root.handle, b"file", &root.handle, b"moved").await;
    let _ = mount.remove(&root.handle, b"more").await;
    if dir.is_ok() {
        let _ = mount.rmdir(&root.handle, b"dir").await;
    }
}

async fn attributes_beside(mount: &Mount, root: &Entry) {
    let _ = mount.setxattr(&root.handle, b"user.one", b"value", client::XattrMode::Either).await;
    let _ = mount.getxattr(&root.handle, b"user.one").await;
    let _ = mount.listxattrs(&root.handle).await;
    let _ = mount.removexattr(&root.handle, b"user.one").await;
}
