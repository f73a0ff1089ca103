//! The largest file that there can be, of 2⁶³ − 1 bytes, in every version that can name its last byte.

use std::sync::{Arc, Mutex};

use proto::nfs3::{StableHow as StableHow3, Status as Status3};
use proto::nfs4::{
    AllocateArgs, ArgOp, CloneArgs, CommitArgs, DataContent, DeallocateArgs, ReadArgs, ReadPlusSegment, Res, ResOp,
    SeekArgs, SeekOk, StableHow, Stateid, Status, WriteArgs,
};
use vfs::{Context, CopyRange, FileSystem, Handle, OpenFile, OpenMode, Result};

use crate::v42::client::{Client, bytes_of};
use crate::v42::place::Volume;
use testing::caller::nfs3::{failure, success};
use testing::caller::{Caller, EXPORT, export, server};

/// The size of the file.
const LIMIT: u64 = i64::MAX as u64;
const FILE: &str = "/srv/export/file";
const LAST: &[u8] = b"the end";
const AT: u64 = LIMIT - LAST.len() as u64;
const STATEID: Stateid = Stateid::ANONYMOUS;

/// A file that has bytes at its very end only.
fn largest() -> Volume {
    let volume = Volume::memory();
    volume.file("file", LIMIT, &[(AT, LAST)]);
    volume
}

#[test]
fn read_across_the_largest_offset_returns_the_bytes_before_it() {
    let volume = largest();
    let server = server(vec![export(EXPORT, volume.fs.clone())]);
    let caller = Caller::root(&server);
    let file = caller.handle_of(&caller.mount(), "file");
    for count in [7, 8, 4096] {
        let read = success(caller.read(&file, AT, count));
        assert_eq!((read.data, read.head.eof), (LAST, true), "version 3, {count} bytes");
    }
    for minor in [1, 2] {
        let client = Client::new(caller, minor);
        for (offset, count, expected) in [(AT, 4096, LAST), (LIMIT, 1, b""), (LIMIT + 1, 1, b""), (u64::MAX, 9, b"")] {
            let args = ReadArgs { stateid: STATEID, offset, count };
            let ResOp::Read(Res::Ok(read)) = client.on(FILE, ArgOp::Read(args)).1 else { panic!("not read") };
            assert_eq!((read.data, read.head.eof), (expected, true), "4.{minor} at {offset}");
        }
    }
}

#[test]
fn read_plus_and_seek_find_the_last_bytes() {
    let volume = largest();
    let server = server(vec![export(EXPORT, volume.fs.clone())]);
    let client = Client::new(Caller::root(&server), 2);
    let reply = client.read_plus(FILE, AT, 1 << 20);
    assert_eq!((bytes_of(&reply, AT), reply.eof), (LAST.to_vec(), true));
    let page = client.read_plus(FILE, LIMIT - 8191, 8192);
    assert!(page.eof && matches!(page.segments[..], [ReadPlusSegment::Hole { .. }, ReadPlusSegment::Data { .. }]));
    let seek = |what| client.on(FILE, ArgOp::Seek(SeekArgs { stateid: STATEID, offset: AT, what })).1;
    assert_eq!(seek(DataContent::Data), ResOp::Seek(Res::Ok(SeekOk { eof: false, offset: AT })));
    assert_eq!(seek(DataContent::Hole), ResOp::Seek(Res::Ok(SeekOk { eof: true, offset: LIMIT })));
}

#[test]
fn changes_reach_up_to_the_largest_offset_and_not_beyond() {
    let volume = largest();
    let server = server(vec![export(EXPORT, volume.fs.clone())]);
    let caller = Caller::root(&server);
    let client = Client::new(caller, 2);
    let file = caller.handle_of(&caller.mount(), "file");
    success(caller.write(&file, AT, StableHow3::FileSync, b"THE END"));
    assert_eq!(failure(caller.write(&file, AT, StableHow3::FileSync, b"THE END.")), Status3::FBig);
    let write = WriteArgs { stateid: STATEID, offset: AT + 1, stable: StableHow::FileSync, data: b"he end." };
    assert_eq!(client.on(FILE, ArgOp::Write(write)).0, Status::FBig);
    assert_eq!(client.on(FILE, ArgOp::Commit(CommitArgs { offset: AT, count: u32::MAX })).0, Status::Ok);
    let range = |length| {
        let allocated = AllocateArgs { stateid: STATEID, offset: AT, length };
        let deallocated = DeallocateArgs { stateid: STATEID, offset: AT, length };
        [ArgOp::Deallocate(deallocated), ArgOp::Allocate(allocated)].map(|operation| client.on(FILE, operation).0)
    };
    assert_eq!(range(8)[1], Status::FBig);
    assert_eq!(success(caller.read(&file, AT - 1, 1)).data, [0]);
    assert_eq!(range(7), [Status::Ok; 2]);
    assert_eq!(success(caller.read(&file, AT, 100)).data, [0; 7]);
}

/// A file system whose files can be cloned, and that remembers which ranges were.
struct Cloning {
    inner: Arc<dyn FileSystem>,
    cloned: Arc<Mutex<Vec<CopyRange>>>,
}

struct CloningFile {
    inner: Arc<dyn OpenFile>,
    cloned: Arc<Mutex<Vec<CopyRange>>>,
}

#[deny(clippy::missing_trait_methods)]
impl FileSystem for Cloning {
    vfs::forward!(FileSystem for self.inner:
        root, storage, origin, set_borders, blocking, changes_wait, properties, is_read_only, attributes, access,
        set_attributes, lookup, find, parent, read_link, hold, has_local_locks, open_for_locks, lease_break_time, lease,
        read_dir, create, make_node, link, remove, remove_seen, remove_dir, rename, get_xattr, set_xattr, list_xattrs,
        remove_xattr, acls, set_acls, maintain, sync_all, memory, space, losses, log_marks, set_log_mark);

    fn open(&self, cx: &Context<'_>, node: &Handle, mode: OpenMode) -> Result<Arc<dyn OpenFile>> {
        Ok(Arc::new(CloningFile { inner: self.inner.open(cx, node, mode)?, cloned: self.cloned.clone() }))
    }
}

#[deny(clippy::missing_trait_methods)]
impl OpenFile for CloningFile {
    vfs::forward!(OpenFile for self.inner:
        read_at, read_lent, write_at, write_parts_at, sync, check_written, seek, allocate, deallocate, copy_range, lock, test_lock,
        unlock, attributes, host_file, is_resident, evict);

    fn clone_range(&self, _cx: &Context<'_>, _from: &dyn OpenFile, range: CopyRange) -> Result<()> {
        self.cloned.lock().unwrap().push(range);
        Ok(())
    }
}

#[test]
fn clone_up_to_the_sources_end_leaves_it_to_the_file_system_where_that_is() {
    let volume = largest();
    volume.file("to", 0, &[]);
    volume.file("empty", 0, &[]);
    let cloned = Arc::default();
    let fs = Arc::new(Cloning { inner: volume.fs.clone(), cloned: Arc::clone(&cloned) });
    let server = server(vec![export(EXPORT, fs)]);
    let client = Client::new(Caller::root(&server), 2);
    let clone = |source: &str, (source_offset, destination_offset, count)| {
        let stateids = (STATEID, STATEID);
        let (source_stateid, destination_stateid) = stateids;
        let args = CloneArgs { source_stateid, destination_stateid, source_offset, destination_offset, count };
        client.between(source, "/srv/export/to", ArgOp::Clone(args)).0
    };
    assert_eq!(clone(FILE, (0, 0, 0)), Status::Ok);
    assert_eq!(clone(FILE, (4096, 0, 8192)), Status::Ok);
    assert_eq!(clone(FILE, (0, 4096, 0)), Status::FBig);
    assert_eq!(clone(FILE, (LIMIT + 1, 0, 0)), Status::Inval);
    assert_eq!(clone("/srv/export/empty", (0, 0, 0)), Status::Ok, "there is nothing to share");
    let range = |from_bytes, length_bytes| CopyRange { from_bytes, to_bytes: 0, length_bytes };
    assert_eq!(*cloned.lock().unwrap(), [range(0, 0), range(4096, 8192)]);
}
