//! NFSv2 on files: attributes and bytes.

use proto::nfs2::{
    FileHandle, FileType, MAX_DATA_BYTES, Null, Readlink, ReadlinkArgs, Root, Sattr, SetTime, Statfs, StatfsArgs,
    Status, Symlink, SymlinkArgs, Time, Writecache,
};
use proto::nfs3::StableHow;
use rpc::Rejection;
use server::Server;

use testing::caller::nfs2::{Caller2, at, failure, mode, success};
use testing::caller::nfs3;
use testing::caller::{Caller, memory_server, procedure, rejection};

/// A file of ten bytes in the root.
fn ten_bytes(server: &Server) -> (Caller2<'_>, FileHandle) {
    let caller = Caller2(Caller::root(server));
    let file = caller.make_file(&caller.mount(), "file");
    success(caller.write(&file, 0, b"0123456789"));
    (caller, file)
}

fn size(size: u32) -> Sattr {
    Sattr { size: Some(size), ..Sattr::default() }
}

#[test]
fn procedures_that_do_nothing_do_nothing() {
    let server = memory_server();
    let caller = Caller::root(&server);
    caller.call::<Null>(&());
    caller.call::<Root>(&());
    caller.call::<Writecache>(&());
    let beyond = rpc::Procedure { number: 18, ..procedure::<Null>() };
    let reply = caller.reply_to(&caller.message_of(beyond, &()));
    assert_eq!(rejection(&reply), Rejection::ProcedureUnavailable);
}

#[test]
fn attributes_tell_the_kind_twice_and_space_in_blocks_of_512_bytes() {
    let server = memory_server();
    let (caller, file) = ten_bytes(&server);
    let attributes = success(caller.getattr(&file));
    assert_eq!((attributes.file_type, attributes.mode), (FileType::Regular, 0o100_644));
    assert_eq!((attributes.size, attributes.links), (10, 1));
    assert!(attributes.blocks * 512 >= attributes.size && attributes.blocks * 512 <= 1 << 16);
    let root = success(caller.getattr(&caller.mount()));
    assert_eq!((root.file_type, root.mode, root.fsid), (FileType::Directory, 0o040_777, attributes.fsid));
}

#[test]
fn setattr_leaves_alone_what_is_minus_one() {
    let server = memory_server();
    let (caller, file) = ten_bytes(&server);
    let before = success(caller.getattr(&file));
    let after = success(caller.setattr(&file, mode(0o100_600)));
    assert_eq!(after.mode, 0o100_600, "bits of the kind are ignored");
    assert_eq!((after.size, after.uid, after.modified), (before.size, before.uid, before.modified));
    assert_eq!(success(caller.setattr(&file, size(3))).size, 3);
    assert_eq!(success(caller.read(&file, 0, 100)).data, b"012");
}

#[test]
fn times_are_set_to_the_microsecond_or_to_the_servers() {
    let server = memory_server();
    let (caller, file) = ten_bytes(&server);
    let time = Time { seconds: 1_000_000, microseconds: 999_999 };
    let to = |accessed, modified| Sattr { accessed, modified, ..Sattr::default() };
    let set = success(caller.setattr(&file, to(SetTime::ClientTime(time), SetTime::ClientTime(time))));
    assert_eq!((set.accessed, set.modified), (time, time));
    let now = SetTime::ServerTime { seconds: 5 };
    let set = success(caller.setattr(&file, to(SetTime::ClientTime(time), now)));
    assert!(set.accessed.seconds > 1_000_000 && set.modified.seconds > 1_000_000, "both times are the server's");
    let nonsense = SetTime::ClientTime(Time { seconds: 1, microseconds: 2_000_000 });
    assert_eq!(failure(caller.setattr(&file, to(nonsense, SetTime::DontChange))), Status::Inval);
}

#[test]
fn read_gives_8_kib_at_the_most_and_nothing_past_the_end() {
    let server = memory_server();
    let (caller, file) = ten_bytes(&server);
    assert_eq!(success(caller.read(&file, 3, 4)).data, b"3456");
    assert_eq!(success(caller.read(&file, 10, 100)).data, b"");
    assert_eq!(success(caller.read(&file, u32::MAX, 100)).data, b"");
    success(caller.setattr(&file, size(100_000)));
    assert_eq!(success(caller.read(&file, 0, u32::MAX)).data.len(), MAX_DATA_BYTES);
    assert_eq!(failure(caller.read(&caller.mount(), 0, 10)), Status::IsDir);
}

#[test]
fn file_over_4_gib_has_the_largest_size_and_is_read_as_far_as_32_bits_reach() {
    let server = memory_server();
    let (caller, file) = ten_bytes(&server);
    let v3 = caller.0;
    let file3 = v3.handle_of(&v3.mount(), "file");
    nfs3::success(v3.write(&file3, u64::from(u32::MAX) - 1, StableHow::Unstable, b"ab"));
    nfs3::success(v3.write(&file3, 5 << 30, StableHow::Unstable, b"far"));
    let read = success(caller.read(&file, u32::MAX - 1, 2));
    assert_eq!((read.data, read.head.attributes.size), (&b"ab"[..], u32::MAX));
}

#[test]
fn write_past_32_bits_is_refused() {
    let server = memory_server();
    let (caller, file) = ten_bytes(&server);
    assert_eq!(success(caller.write(&file, u32::MAX - 2, b"ab")).size, u32::MAX);
    assert_eq!(failure(caller.write(&file, u32::MAX - 1, b"ab")), Status::FBig);
    assert_eq!(failure(caller.write(&caller.mount(), 0, b"ab")), Status::IsDir);
}

#[test]
fn both_versions_see_one_tree() {
    let server = memory_server();
    let (caller, file) = ten_bytes(&server);
    let v3 = caller.0;
    let file3 = v3.handle_of(&v3.mount(), "file");
    assert_eq!(nfs3::success(v3.read(&file3, 0, 100)).data, b"0123456789");
    assert_eq!(
        &file.0[..file3.as_bytes().len()],
        file3.as_bytes(),
        "a handle of version 2 is the other with zeros behind"
    );
}

#[test]
fn readlink_tells_a_target_of_up_to_1024_bytes() {
    let server = memory_server();
    let caller = Caller2(Caller::root(&server));
    let dir = caller.mount();
    let target = [b'x'; 1024];
    let args = SymlinkArgs { place: at(&dir, "link"), target: &target, attributes: Sattr::default() };
    success(caller.0.call::<Symlink>(&args));
    let link = success(caller.lookup(&dir, "link"));
    assert_eq!((link.attributes.file_type, link.attributes.size), (FileType::Symlink, 1024));
    assert_eq!(success(caller.0.call::<Readlink>(&ReadlinkArgs { symlink: link.file })).target, target);

    let v3 = caller.0;
    nfs3::success(v3.symlink(&v3.mount(), "long", &[b'x'; 1025]));
    let long = success(caller.lookup(&dir, "long")).file;
    assert_eq!(failure(caller.0.call::<Readlink>(&ReadlinkArgs { symlink: long })), Status::NameTooLong);
}

#[test]
fn statfs_tells_space_in_blocks() {
    let server = memory_server();
    let caller = Caller2(Caller::root(&server));
    let space = success(caller.0.call::<Statfs>(&StatfsArgs { file: caller.mount() }));
    assert_eq!((space.transfer_bytes, space.block_bytes, space.total_blocks), (8192, 4096, 1 << 18));
    assert!(space.available_blocks <= space.free_blocks && space.free_blocks <= space.total_blocks);
}
