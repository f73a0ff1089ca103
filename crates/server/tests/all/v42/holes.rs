//! READ_PLUS, SEEK, ALLOCATE and DEALLOCATE (RFC 7862 §15.1, §15.4, §15.10, §15.11).

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use fs_fault::{FaultFs, FaultPlan, Rules};
use proto::nfs4::{
    AllocateArgs, ArgOp, Bitmap, DataContent, DeallocateArgs, IoAdviseArgs, OpNumber, ReadPlusArgs, Res, ResOp,
    SeekArgs, SeekOk, StableHow, Stateid, Status, WriteArgs,
};
use server::{ReadPlusMode, Server};
use vfs::{Context, FileSystem, Handle, OpenFile, OpenMode, Result, Seek, Stability};

use crate::v42::client::{Client, bytes_of, kinds};
use crate::v42::place::Volume;
use testing::caller::{Caller, EXPORT, export, server, settings};

const PAGE: u64 = 4096;
const FILE: &str = "/srv/export/file";

fn seek(client: &Client<'_>, offset: u64, what: DataContent) -> std::result::Result<SeekOk, Status> {
    match client.on(FILE, ArgOp::Seek(SeekArgs { stateid: Stateid::ANONYMOUS, offset, what })).1 {
        ResOp::Seek(Res::Ok(ok)) => Ok(ok),
        ResOp::Seek(Res::Fail(status)) => Err(status),
        other => panic!("{other:?}"),
    }
}

/// A server in one of the modes of READ_PLUS.
fn server_in(mode: ReadPlusMode, fs: Arc<dyn FileSystem>) -> Server {
    let mut settings = settings();
    settings.read_plus = mode;
    Server::new(settings, vec![export(EXPORT, fs)]).unwrap()
}

/// Two pages of data in the middle of twelve, and five bytes behind them all.
fn sparse(volume: &Volume) -> Arc<dyn OpenFile> {
    volume.file("file", 12 * PAGE + 5, &[(4 * PAGE, &[7; 2 * PAGE as usize]), (12 * PAGE, b"12345")])
}

#[test]
fn read_plus_tells_data_and_holes_and_the_end() {
    for volume in Volume::both() {
        sparse(&volume);
        let server = server_in(ReadPlusMode::Extents, volume.fs.clone());
        let client = Client::new(Caller::root(&server), 2);
        let reply = client.read_plus(FILE, 0, 1 << 20);
        assert_eq!((kinds(&reply).as_str(), reply.eof), ("HDHD", true));
        assert_eq!(bytes_of(&reply, 0), volume.bytes("file"));
        let middle = client.read_plus(FILE, 5 * PAGE - 3, 2 * PAGE as u32);
        assert_eq!((kinds(&middle).as_str(), middle.eof), ("DH", false));
        assert_eq!(bytes_of(&middle, 5 * PAGE - 3), volume.bytes("file")[5 * 4096 - 3..7 * 4096 - 3]);
        for behind in [12 * PAGE + 5, 1 << 40, u64::MAX] {
            let reply = client.read_plus(FILE, behind, 4096);
            assert_eq!((reply.eof, reply.segments.len()), (true, 0), "{behind}");
        }
    }
}

#[test]
fn read_plus_tells_what_its_mode_says() {
    let volume = Volume::memory();
    // A page of zeros that takes space, between two of data, between large holes.
    let page = [7; PAGE as usize];
    volume.file("file", 40 * PAGE, &[(16 * PAGE, &page), (17 * PAGE, &[0; PAGE as usize]), (18 * PAGE, &page)]);
    let modes = [(ReadPlusMode::Data, "D"), (ReadPlusMode::Extents, "HDH"), (ReadPlusMode::Zeros, "HDHDH")];
    for (mode, expected) in modes {
        let server = server_in(mode, volume.fs.clone());
        let reply = Client::new(Caller::root(&server), 2).read_plus(FILE, 0, 1 << 20);
        assert_eq!((kinds(&reply).as_str(), reply.eof), (expected, true), "{mode:?}");
        assert_eq!(bytes_of(&reply, 0), volume.bytes("file"), "{mode:?}");
    }
    let server = server_in(ReadPlusMode::None, volume.fs.clone());
    let args = ReadPlusArgs { stateid: Stateid::ANONYMOUS, offset: 0, count: 1 };
    assert_eq!(Client::new(Caller::root(&server), 2).on(FILE, ArgOp::ReadPlus(args)).0, Status::NotSupp);
}

#[test]
fn read_plus_of_many_small_holes_is_whole_with_a_bounded_number_of_segments_and_seeks() {
    let plan = FaultPlan::default();
    let volume = Volume::memory();
    let file = volume.file("file", 256 * PAGE, &[]);
    for page in (0..256).step_by(2) {
        file.write_at(&Context::ROOT, page * PAGE, &[page as u8 | 1; PAGE as usize], Stability::Unstable).unwrap();
    }
    let fs = Arc::new(FaultFs::new(volume.fs.clone(), plan.clone()));
    let server = server(vec![export(EXPORT, fs)]);
    let reply = Client::new(Caller::root(&server), 2).read_plus(FILE, 0, 1 << 20);
    assert_eq!(bytes_of(&reply, 0), volume.bytes("file"));
    assert!(reply.eof && (250..=256).contains(&reply.segments.len()), "{}", reply.segments.len());
    // Three seeks to see that holes are small, and one read of all.
    let calls = [fs_fault::Operation::Seek, fs_fault::Operation::Read].map(|operation| plan.calls(operation));
    assert!(calls[0] <= 3 && calls[1] == 1, "{calls:?}");
}

#[test]
fn zeros_with_space_among_small_holes_are_holes_until_another_client_writes_there() {
    for volume in Volume::both() {
        let page = [7; PAGE as usize];
        let file = volume.file("file", 12 * PAGE, &[(2 * PAGE, &page), (6 * PAGE, &page)]);
        // Unwritten extents, and zeros that were written.
        file.allocate(&Context::ROOT, 3 * PAGE..4 * PAGE).unwrap();
        file.write_at(&Context::ROOT, 7 * PAGE, &[0; PAGE as usize], Stability::Unstable).unwrap();
        let server = server(vec![export(EXPORT, volume.fs.clone())]);
        let [reader, writer] = [(); 2].map(|()| Client::new(Caller::root(&server), 2));
        let read = || reader.read_plus(FILE, 0, 12 * PAGE as u32);
        let before = read();
        assert_eq!((kinds(&before).as_str(), bytes_of(&before, 0)), ("HDHDH", volume.bytes("file")));
        for (start, expected) in [(3, "HDHDH"), (7, "HDHDH"), (9, "HDHDHDH")] {
            let args = WriteArgs {
                stateid: Stateid::ANONYMOUS,
                offset: start * PAGE,
                stable: StableHow::Unstable,
                data: &page,
            };
            assert_eq!(writer.on(FILE, ArgOp::Write(args)).0, Status::Ok);
            let after = read();
            assert_eq!((kinds(&after).as_str(), bytes_of(&after, 0)), (expected, volume.bytes("file")), "page {start}");
        }
    }
}

#[test]
fn read_plus_of_a_file_system_that_knows_no_holes_is_one_segment_of_data() {
    let plan = FaultPlan::default();
    let volume = Volume::memory();
    sparse(&volume);
    let server = server(vec![export(EXPORT, Arc::new(FaultFs::new(volume.fs.clone(), plan.clone())))]);
    let client = Client::new(Caller::root(&server), 2);
    plan.replace("seek:error=notsupported".parse::<Rules>().unwrap());
    assert_eq!(kinds(&client.read_plus(FILE, 0, 1 << 20)), "D");
    assert_eq!(seek(&client, 0, DataContent::Data), Err(Status::NotSupp));
}

/// What somebody else does to a file.
type Change = Arc<dyn Fn(&dyn OpenFile) + Send + Sync>;

/// A file system whose file changes while it is read: `change` runs once, after that many seeks.
struct Restless {
    inner: Arc<dyn FileSystem>,
    change: Change,
    after_seeks: u32,
}

struct RestlessFile {
    inner: Arc<dyn OpenFile>,
    writable: Arc<dyn OpenFile>,
    change: Change,
    after_seeks: u32,
    seeks: AtomicU32,
}

#[deny(clippy::missing_trait_methods)]
impl FileSystem for Restless {
    vfs::forward!(FileSystem for self.inner:
        root, storage, origin, set_borders, blocking, changes_wait, properties, is_read_only, attributes, access,
        set_attributes, lookup, find, parent, read_link, hold, has_local_locks, open_for_locks, lease_break_time, lease,
        read_dir, create, make_node, link, remove, remove_seen, remove_dir, rename, get_xattr, set_xattr, list_xattrs,
        remove_xattr, acls, set_acls, maintain, sync_all, memory, space, losses, log_marks, set_log_mark);

    fn open(&self, cx: &Context<'_>, node: &Handle, mode: OpenMode) -> Result<Arc<dyn OpenFile>> {
        Ok(Arc::new(RestlessFile {
            inner: self.inner.open(cx, node, mode)?,
            writable: self.inner.open(cx, node, OpenMode::Write)?,
            change: self.change.clone(),
            after_seeks: self.after_seeks,
            seeks: AtomicU32::new(0),
        }))
    }
}

#[deny(clippy::missing_trait_methods)]
impl OpenFile for RestlessFile {
    vfs::forward!(OpenFile for self.inner:
        read_at, read_lent, write_at, write_parts_at, sync, check_written, allocate, deallocate, copy_range, clone_range, lock,
        test_lock, unlock, attributes, host_file, is_resident, evict);

    fn seek(&self, cx: &Context<'_>, offset_bytes: u64, what: Seek) -> Result<Option<u64>> {
        let found = self.inner.seek(cx, offset_bytes, what);
        if self.seeks.fetch_add(1, Ordering::Relaxed) + 1 == self.after_seeks {
            (self.change)(&*self.writable);
        }
        found
    }
}

/// Large holes, which are sought, around two pages of data and small holes, which are found among the bytes that were
/// read.
fn with_large_holes(volume: &Volume) -> Arc<dyn OpenFile> {
    let page = [7; PAGE as usize];
    volume.file("file", 60 * PAGE, &[(16 * PAGE, &page), (32 * PAGE, &page), (34 * PAGE, &page)])
}

/// Reads a whole file, which changes after each number of seeks in turn. The reply shows it as it was or as it is.
fn while_changing(make: fn(&Volume) -> Arc<dyn OpenFile>, change: impl Fn(&dyn OpenFile) + Send + Sync + 'static) {
    let change: Change = Arc::new(change);
    let before = {
        let volume = Volume::memory();
        make(&volume);
        volume.bytes("file")
    };
    let mut shown_before = false;
    for after_seeks in 1.. {
        let volume = Volume::memory();
        make(&volume);
        let plan = FaultPlan::default();
        let counted = Arc::new(FaultFs::new(volume.fs.clone(), plan.clone()));
        let fs = Arc::new(Restless { inner: counted, change: change.clone(), after_seeks });
        let server = server(vec![export(EXPORT, fs)]);
        let reply = Client::new(Caller::root(&server), 2).read_plus(FILE, 0, 1 << 20);
        let (bytes, after) = (bytes_of(&reply, 0), volume.bytes("file"));
        if plan.calls(fs_fault::Operation::Seek) < u64::from(after_seeks) {
            break;
        }
        // A change before the last read is in the reply, and so is each change behind one that is.
        shown_before |= bytes == before;
        assert!(bytes == if shown_before { &before } else { &after }[..], "after {after_seeks} seeks");
        assert!(after_seeks > 1 || !shown_before);
        assert!(reply.eof);
    }
}

#[test]
fn read_plus_never_tells_a_hole_that_was_filled_meanwhile() {
    while_changing(sparse, |file| {
        file.write_at(&Context::ROOT, 0, &[9; 100], Stability::Unstable).unwrap();
        file.write_at(&Context::ROOT, 8 * PAGE, &[8; PAGE as usize], Stability::Unstable).unwrap();
        file.write_at(&Context::ROOT, 12 * PAGE, b"54321", Stability::Unstable).unwrap();
    });
    while_changing(with_large_holes, |file| {
        for page in [4, 24, 32, 33, 50] {
            file.write_at(&Context::ROOT, page * PAGE + 1, &[9; 100], Stability::Unstable).unwrap();
        }
    });
}

#[test]
fn read_plus_tells_a_hole_that_was_punched_meanwhile_as_zeros() {
    while_changing(sparse, |file| file.deallocate(&Context::ROOT, 4 * PAGE..6 * PAGE).unwrap());
}

#[test]
fn large_holes_are_not_read_and_small_ones_cost_no_seek() {
    let plan = FaultPlan::default();
    let volume = Volume::memory();
    with_large_holes(&volume);
    let server = server(vec![export(EXPORT, Arc::new(FaultFs::new(volume.fs.clone(), plan.clone())))]);
    let reply = Client::new(Caller::root(&server), 2).read_plus(FILE, 0, 1 << 20);
    assert_eq!((kinds(&reply).as_str(), reply.eof), ("HDHDHDH", true));
    assert_eq!(bytes_of(&reply, 0), volume.bytes("file"));
    // The page at 16, and what begins at page 32.
    assert_eq!(plan.calls(fs_fault::Operation::Read), 2);
    // Data and hole of the two first extents, the small hole at page 33, and the two large holes again.
    assert_eq!(plan.calls(fs_fault::Operation::Seek), 7);
}

#[test]
fn read_plus_at_odd_offsets_has_the_bytes_of_the_file_and_no_more_than_requested() {
    for volume in Volume::both() {
        let file = volume.file("file", 40 * PAGE + 77, &[]);
        for start in [3, 4 * PAGE + 511, 9 * PAGE - 1, 13 * PAGE + 512, 30 * PAGE, 40 * PAGE + 70] {
            file.write_at(&Context::ROOT, start, &[start as u8 | 1; 7], Stability::Unstable).unwrap();
            file.write_at(&Context::ROOT, start + 9, &[0; 1000], Stability::Unstable).unwrap();
        }
        let bytes = volume.bytes("file");
        for mode in [ReadPlusMode::Extents, ReadPlusMode::Zeros] {
            let server = server_in(mode, volume.fs.clone());
            let client = Client::new(Caller::root(&server), 2);
            for (offset, count) in [(0, 511), (1, 513), (4 * PAGE + 1, 9001), (5 * PAGE - 3, 70_001), (77, 1 << 20)] {
                let reply = client.read_plus(FILE, offset, count);
                let end = bytes.len().min(offset as usize + count as usize);
                assert_eq!(bytes_of(&reply, offset), bytes[offset as usize..end], "{mode:?} {offset} {count}");
            }
        }
    }
}

#[test]
fn seek_finds_data_holes_and_the_hole_behind_the_end() {
    for volume in Volume::both() {
        sparse(&volume);
        let server = server(vec![export(EXPORT, volume.fs.clone())]);
        let client = Client::new(Caller::root(&server), 2);
        let found = |eof, offset| Ok(SeekOk { eof, offset });
        let end = 12 * PAGE + 5;
        assert_eq!(seek(&client, 0, DataContent::Data), found(false, 4 * PAGE));
        assert_eq!(seek(&client, 1, DataContent::Hole), found(false, 1));
        assert_eq!(seek(&client, 5 * PAGE, DataContent::Hole), found(false, 6 * PAGE));
        assert_eq!(seek(&client, 12 * PAGE, DataContent::Hole), found(true, end));
        assert_eq!(seek(&client, end, DataContent::Hole), Err(Status::NxIo));
        assert_eq!(seek(&client, u64::MAX, DataContent::Data), Err(Status::NxIo));
        volume.file("hole", PAGE, &[]);
        let args = SeekArgs { stateid: Stateid::ANONYMOUS, offset: 0, what: DataContent::Data };
        let expected = ResOp::Seek(Res::Ok(SeekOk { eof: true, offset: PAGE }));
        assert_eq!(client.on("/srv/export/hole", ArgOp::Seek(args)).1, expected);
    }
}

#[test]
fn allocate_extends_and_deallocate_punches_and_keeps_the_size() {
    for volume in Volume::both() {
        sparse(&volume);
        let server = server(vec![export(EXPORT, volume.fs.clone())]);
        let client = Client::new(Caller::root(&server), 2);
        let stateid = Stateid::ANONYMOUS;
        let mut expected = volume.bytes("file");
        let allocate = |offset, length| client.on(FILE, ArgOp::Allocate(AllocateArgs { stateid, offset, length })).0;
        let deallocate =
            |offset, length| client.on(FILE, ArgOp::Deallocate(DeallocateArgs { stateid, offset, length })).0;
        assert_eq!(allocate(10 * PAGE, 6 * PAGE), Status::Ok);
        expected.resize(16 * 4096, 0);
        assert_eq!(volume.bytes("file"), expected);
        assert_eq!(deallocate(5 * PAGE - 1, 20 * PAGE), Status::Ok);
        expected[5 * 4096 - 1..].fill(0);
        assert_eq!(volume.bytes("file"), expected);
        assert_eq!(seek(&client, 4 * PAGE, DataContent::Hole), Ok(SeekOk { eof: false, offset: 5 * PAGE }));
        for (offset, length) in [(0, 0), (u64::MAX, 2)] {
            assert_eq!((allocate(offset, length), deallocate(offset, length)), (Status::Inval, Status::Inval));
        }
        assert_eq!(allocate(1 << 62, 1 << 62), Status::FBig);
        let user = Client::new(Caller::root(&server).user(1000, 1000, &[]), 2);
        let args = DeallocateArgs { stateid, offset: 0, length: 1 };
        assert_eq!(user.on(FILE, ArgOp::Deallocate(args)).0, Status::Access);
    }
}

#[test]
fn stateid_that_names_nothing_is_bad_for_every_operation_on_bytes() {
    let volume = Volume::memory();
    sparse(&volume);
    let server = server(vec![export(EXPORT, volume.fs.clone())]);
    let client = Client::new(Caller::root(&server), 2);
    let stateid = Stateid { seqid: 1, other: [9; 12] };
    let (offset, length) = (0, 1);
    for operation in [
        ArgOp::ReadPlus(ReadPlusArgs { stateid, offset, count: 1 }),
        ArgOp::Seek(SeekArgs { stateid, offset, what: DataContent::Data }),
        ArgOp::Allocate(AllocateArgs { stateid, offset, length }),
        ArgOp::Deallocate(DeallocateArgs { stateid, offset, length }),
        ArgOp::IoAdvise(IoAdviseArgs { stateid, offset, count: 1, hints: Bitmap::EMPTY }),
    ] {
        let status = client.on(FILE, operation.clone()).0;
        assert!(matches!(status, Status::BadStateid | Status::StaleStateid), "{operation:?}: {status:?}");
    }
}

#[test]
fn io_advise_follows_no_hint_and_says_so() {
    let volume = Volume::memory();
    sparse(&volume);
    let server = server(vec![export(EXPORT, volume.fs.clone())]);
    let client = Client::new(Caller::root(&server), 2);
    let args = IoAdviseArgs { stateid: Stateid::ANONYMOUS, offset: 0, count: 0, hints: Bitmap::of(&[1, 4]) };
    assert_eq!(client.on(FILE, ArgOp::IoAdvise(args)).1, ResOp::IoAdvise(Res::Ok(Bitmap::EMPTY)));
}

#[test]
fn operations_of_4_2_do_not_exist_in_4_1() {
    let volume = Volume::memory();
    sparse(&volume);
    let server = server(vec![export(EXPORT, volume.fs.clone())]);
    let client = Client::new(Caller::root(&server), 1);
    let args = ReadPlusArgs { stateid: Stateid::ANONYMOUS, offset: 0, count: 1 };
    assert_eq!(client.on(FILE, ArgOp::ReadPlus(args)).0, Status::OpIllegal);
}

#[test]
fn content_that_is_neither_data_nor_a_hole_cannot_be_sought() {
    let volume = Volume::memory();
    sparse(&volume);
    let server = server(vec![export(EXPORT, volume.fs.clone())]);
    let session = testing::session::Session::new(Caller::root(&server), 2);
    // SEEK with a stateid and an offset of zeros, of content 2.
    let mut seek = session.begin().root().lookup("file").number(OpNumber::Seek.number());
    for word in [0, 0, 0, 0, 0, 0, 2] {
        seek = seek.word(word);
    }
    let reply = session.caller.reply_to(&session.caller.message_of(testing::compound::COMPOUND, &seek));
    assert_eq!(testing::compound::Results::parse(&reply).status, Status::UnionNotSupp);
}
