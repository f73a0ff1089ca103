//! Mounts of NFSv4 that are dropped: the server need not wait for the end of their leases.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use client::{File, Mount, OpenOptions, Version};
use proto::nfs4::{ArgOp, OpNumber, Res, ResOp, Status};
use vfs::{CreateMode, SetAttributes, Stability};

use crate::fake4;
use crate::real::proxy::Proxy;
use crate::real::{Export, until};

const PATIENCE: Duration = Duration::from_secs(20);

async fn mount(export: &Export, proxy: &Proxy, version: Version) -> Mount {
    let url = format!("nfs://{}/files", proxy.address).parse().unwrap();
    Mount::connect(&url, &export.options(version)).await.unwrap()
}

/// A file that is open, and delegated to its mount.
async fn delegated(mount: &Mount, name: &[u8]) -> File {
    let root = mount.root().handle;
    let create = OpenOptions::write().creating(CreateMode::Unchecked, SetAttributes::default());
    let file = mount.open(&root, name, &create).await.unwrap();
    file.write(0, "first".into(), Stability::File).await.unwrap();
    file.close().await.unwrap();
    mount.open(&root, name, &OpenOptions::read()).await.unwrap()
}

#[tokio::test]
async fn mount_that_is_dropped_gives_back_what_it_holds_when_its_last_file_is_dropped() {
    let export = Export::start();
    for version in [Version::V4_1, Version::V4_2] {
        let proxy = Proxy::start(export.address()).await;
        let mine = mount(&export, &proxy, version).await;
        let (file, other) = (delegated(&mine, b"file").await, delegated(&mine, b"other").await);
        drop((mine, other));
        assert_eq!(file.read(0, 5).await.unwrap().bytes.as_ref(), b"first");
        assert_eq!(proxy.count(OpNumber::DestroySession as u32), 0, "{version}: a file uses it");
        drop(file);
        until("the end of the client id", async || proxy.count(OpNumber::DestroyClientid as u32) == 1).await;
        assert_eq!(proxy.count(OpNumber::Delegreturn as u32), 2, "{version}");
        let yours = export.mount(version).await;
        let before = yours.counters().calls;
        yours.open(&yours.root().handle, b"file", &OpenOptions::write()).await.unwrap();
        assert_eq!(yours.counters().calls - before, 1, "{version}: nobody is in the way");
        assert_eq!(proxy.sessions(), 1, "{version}: what was under way brought the client not back");
    }
}

#[tokio::test]
async fn leave_is_taken_once() {
    let export = Export::start();
    let proxy = Proxy::start(export.address()).await;
    let mount = mount(&export, &proxy, Version::V4_2).await;
    let file = delegated(&mount, b"file").await;
    let still = file.handle().to_owned();
    mount.unmount().await.unwrap();
    drop(file);
    let later = export.mount(Version::V4_2).await;
    for _ in 0..20 {
        later.getattr(&still).await.unwrap();
    }
    assert_eq!(proxy.count(OpNumber::DestroyClientid as u32), 1);
    assert_eq!(proxy.sessions(), 1);
}

/// As where the reply to an OPEN was lost, or a file could not be closed because it is gone.
#[tokio::test]
async fn server_that_keeps_state_of_a_client_is_told_at_unmount_that_the_client_holds_none() {
    let verifiers = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&verifiers);
    let (address, fake) = fake4::start(move |operation, _| {
        let mut seen = seen.lock().unwrap();
        match operation {
            ArgOp::ExchangeId(args) => {
                seen.push(args.verifier);
                None
            }
            // It drops the state of a client with another verifier.
            ArgOp::DestroyClientid(_) if seen.len() == 1 => {
                Some(ResOp::DestroyClientid(Res::Fail(Status::ClientidBusy)))
            }
            _ => None,
        }
    })
    .await;
    fake4::connect(address, "/").await.unwrap().unmount().await.unwrap();
    let verifiers = verifiers.lock().unwrap();
    assert!(verifiers.len() == 2 && verifiers[0] != verifiers[1], "{verifiers:?}");
    assert_eq!((fake.count("CreateSession"), fake.count("DestroySession")), (2, 2));
}

#[test]
fn server_that_is_gone_holds_up_nobody_who_drops_its_mount() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let export = Export::start();
        let proxy = Proxy::start(export.address()).await;
        let url = format!("nfs://{}/files", proxy.address).parse().unwrap();
        let options = client::Options { is_hard: true, ..export.options(Version::V4_1) };
        let mount = Mount::connect(&url, &options).await.unwrap();
        let file = delegated(&mount, b"file").await;
        proxy.block(true);
        proxy.cut(0);
        drop((mount, file));
        tokio::task::yield_now().await;
    });
    let (told, is_over) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        drop(runtime);
        told.send(()).unwrap();
    });
    is_over.recv_timeout(PATIENCE).expect("the runtime does not end");
}
