//! Copies at a server that is wrong about them. No time passes but that of the runtime.

#![allow(clippy::unwrap_used, reason = "what fails here is a failed test")]

mod fake;
mod fake4;

use client::{Options, RemoteFs, Version};
use proto::nfs4::{ArgOp, CopyOk, CopyRequirements, ResOp, ResOr, StableHow, WriteResponse};
use tokio::runtime::Builder;
use vfs::{Context, CopyRange, Error, FileSystem, Name, OpenMode, Place};

const CX: Context<'static> = Context::ROOT;

/// A COPY that is over, and copied `count` bytes.
fn copied(count: u64) -> ResOp<'static> {
    let response = WriteResponse { callback_id: None, count, committed: StableHow::FileSync, verifier: [0; 8] };
    let requirements = CopyRequirements { consecutive: true, synchronous: true };
    ResOp::Copy(ResOr::Ok(CopyOk { response, requirements }))
}

fn options() -> Options {
    Options { version: Version::V4_2, ..fake4::options() }
}

/// Whoever copies would take it for the end of the source: `cp` would leave a copy that is too short, and say nothing.
#[test]
fn server_that_copies_nothing_before_the_end_of_the_source_is_not_taken_for_that_end() {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let special = |operation: &ArgOp<'_>, _: &[u8]| match operation {
        ArgOp::Copy(_) => Some(copied(0)),
        _ => fake4::newer(operation),
    };
    let (mount, fake) = runtime.block_on(fake4::mount_in_memory(special, |_, results| results, options())).unwrap();
    let files = RemoteFs::new(mount, runtime.handle().clone());
    let open = |name: &str, mode| {
        let place = Place { dir: files.root(), name: Name::new(name.as_bytes()).unwrap() };
        files.open(&CX, &files.lookup(&CX, place).unwrap().handle, mode).unwrap()
    };
    let (from, to) = (open("from", OpenMode::Read), open("to", OpenMode::Write));
    let copy = |from_bytes| to.copy_range(&CX, &*from, CopyRange { from_bytes, to_bytes: 0, length_bytes: 100 });
    let refused = copy(3);
    assert!(matches!(refused, Err(Error::NotSupported)), "the caller reads and writes then: {refused:?}");
    assert_eq!(copy(5).unwrap(), 0, "the file has five bytes");
    assert_eq!(fake.count("Copy"), 2);
}
