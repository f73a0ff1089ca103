//! Results of NFSv4 that cannot be right, in every minor version that has the operation: each is an error that says
//! what is wrong, or does no harm, at once and in bounded memory, and the client goes on. No time passes but that of
//! the runtime.

mod tables;
mod words;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use client::{Detail, File, Handle, LockKind, Mount, OpenOptions, Options, Reason, Result, Version};
use proto::nfs4::{ArgOp, CompoundArgs, OpNumber, ReadlinkOk, Res, ResOp};
use tokio::time::timeout;
use vfs::Stability;

use tables::{Told, told_when_mounting, told_when_used};

use crate::fake4;

const VERSIONS: [Version; 3] = [Version::V4_0, Version::V4_1, Version::V4_2];
/// Far longer than any call that may fail takes.
const LONG: Duration = Duration::from_secs(24 * 3600);
/// How many entries a directory may have here.
const MAX_ENTRIES: u64 = 1000;
/// What stands for the lie until the reply is sent.
const MARK: ResOp<'static> = ResOp::Readlink(Res::Ok(ReadlinkOk { target: b"in the place of the lie" }));

/// What is called, of an open file or of one by its handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    Open,
    Lock,
    TestLock,
    Readlink,
    Listxattrs,
    Names,
    Entries,
    Getattr,
    Read,
    ReadPlus,
    Write,
    LateWrite,
    Copy,
    CopyBehind,
    SeekData,
    SeekHole,
}

async fn open(mount: &Mount, name: &[u8]) -> Result<File> {
    mount.open(&mount.root().handle, name, &OpenOptions::both()).await
}

async fn call(mount: &Mount, call: Call, file: &File) -> Result<()> {
    let handle = Handle::new(b"file").unwrap();
    match call {
        Call::Open => open(mount, b"another").await.map(drop),
        Call::Lock => file.try_lock(LockKind::Exclusive, 0, 10).await,
        Call::TestLock => file.test_lock(LockKind::Exclusive, 0, 10).await,
        Call::Readlink => mount.readlink(&handle).await.map(drop),
        Call::Listxattrs => mount.listxattrs(&handle).await.map(drop),
        Call::Names => list(mount, Detail::Names).await,
        Call::Entries => list(mount, Detail::Entries).await,
        Call::Getattr => mount.getattr(&handle).await.map(drop),
        Call::Read => mount.read(&handle, 0, 4).await.map(drop),
        Call::ReadPlus => file.read_plus(0, 4).await.map(drop),
        Call::Write => mount.write(&handle, 0, b"four".to_vec().into(), Stability::File).await.map(drop),
        Call::LateWrite => {
            file.write_at(0, b"four").await?;
            file.sync().await
        }
        Call::Copy => file.copy_from(&open(mount, b"another").await?, 0, 0, 10).await.map(drop),
        Call::CopyBehind => {
            file.begin_copy(&open(mount, b"another").await?, 0, 0, 10).await?.end(|_| ()).await.map(drop)
        }
        Call::SeekData => file.seek_data(4).await.map(drop),
        Call::SeekHole => file.seek_hole(4).await.map(drop),
    }
}

async fn list(mount: &Mount, detail: Detail) -> Result<()> {
    let mut listing = mount.read_dir(&mount.root().handle, detail);
    while listing.next().await?.is_some() {}
    Ok(())
}

fn number(operation: &ArgOp<'_>) -> u32 {
    let bytes = words::of(operation);
    u32::from_be_bytes(*bytes.first_chunk().unwrap())
}

/// Puts what is told in the place of the mark, and ends the reply there when it is a refusal.
fn lie(told: &Told, compound: &CompoundArgs<'_>, results: Vec<u8>) -> Vec<u8> {
    let mark = words::of(&MARK);
    let Some(at) = results.windows(mark.len()).position(|part| part == mark) else { return results };
    let place = compound.operations.iter().position(|operation| number(operation) == told.operation as u32).unwrap();
    let lie = (told.result)(&compound.operations[place]);
    let status = lie.get(4..8).unwrap_or_default().to_vec();
    let mut reply = [&results[..at], &lie, &results[at + mark.len()..]].concat();
    if status != [0; 4] && status.len() == 4 {
        reply.truncate(at + lie.len());
        reply[..4].copy_from_slice(&status);
        reply[8..12].copy_from_slice(&(place as u32 + 1).to_be_bytes());
    }
    reply
}

/// A mount of a server that tells this instead of what is right as long as the flag is set.
async fn mount(version: Version, told: &'static Told, lies: &Arc<AtomicBool>) -> Result<Mount> {
    let lies = Arc::clone(lies);
    let options = Options { version, max_dir_entries: MAX_ENTRIES, ..fake4::options() };
    let special = move |operation: &ArgOp<'_>, current: &[u8]| {
        // The attributes of the root are those of the mount.
        let is_meant = told.operation != OpNumber::Getattr || current == b"file" || told.call.is_none();
        let is_told = lies.load(Ordering::Relaxed) && is_meant && number(operation) == told.operation as u32;
        is_told.then_some(MARK).or_else(|| fake4::newer(operation))
    };
    let alter = move |compound: &CompoundArgs<'_>, results| lie(told, compound, results);
    Ok(fake4::mount_in_memory(special, alter, options).await?.0)
}

fn judge(told: &Told, version: Version, result: &Result<()>) {
    let reason = result.as_ref().err().map(client::Error::reason);
    assert!((told.expected)(reason), "{version} {:?}, {}: {result:?}", told.operation, told.what);
}

/// A reply that nobody can read.
fn is_bad(reason: Option<&Reason>) -> bool {
    matches!(reason, Some(Reason::BadReply(_)))
}

#[tokio::test(start_paused = true)]
async fn what_an_operation_cannot_tell_is_an_error_and_the_next_call_succeeds() {
    for told in told_when_used() {
        for version in VERSIONS.into_iter().filter(|version| *version >= told.since) {
            let lies = Arc::default();
            let mount = mount(version, told, &lies).await.unwrap();
            let file = open(&mount, b"file").await.unwrap();
            lies.store(true, Ordering::Relaxed);
            let ended = timeout(LONG, call(&mount, told.call.unwrap(), &file)).await;
            judge(told, version, &ended.unwrap_or_else(|_| panic!("{version} {}: the call waits for ever", told.what)));
            lies.store(false, Ordering::Relaxed);
            timeout(LONG, mount.getattr(file.handle())).await.expect("the next call ends").unwrap();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn client_that_is_told_nonsense_of_itself_is_not_mounted() {
    for told in told_when_mounting() {
        for version in VERSIONS.into_iter().filter(|version| *version >= told.since) {
            if told.operation == OpNumber::Setclientid && version > Version::V4_0 {
                continue;
            }
            let lies = Arc::new(AtomicBool::new(true));
            let ended = timeout(LONG, mount(version, told, &lies)).await.expect("mounting ends");
            judge(told, version, &ended.map(drop));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn reply_with_more_results_than_operations_is_refused() {
    for (version, said) in VERSIONS.into_iter().flat_map(|version| [(version, 99_u32), (version, u32::MAX)]) {
        let lies = Arc::new(AtomicBool::new(false));
        let shared = Arc::clone(&lies);
        let alter = move |_: &CompoundArgs<'_>, mut results: Vec<u8>| {
            if shared.load(Ordering::Relaxed) {
                results[8..12].copy_from_slice(&said.to_be_bytes());
                results.resize(results.len() + 4096, 0);
            }
            results
        };
        let options = Options { version, ..fake4::options() };
        let (mount, _) = fake4::mount_in_memory(|_, _| None, alter, options).await.unwrap();
        lies.store(true, Ordering::Relaxed);
        let error = mount.getattr(&mount.root().handle).await.unwrap_err();
        let is_told = |lie| matches!(lie, client::Lie::ManyResults { said: told, .. } if told == said);
        assert!(matches!(error.reason(), Reason::Lie(lie) if is_told(*lie)), "{version}: {error}");
        lies.store(false, Ordering::Relaxed);
        mount.getattr(&mount.root().handle).await.unwrap();
    }
}
