//! NFSv3 on files: attributes, bytes and what the server says of itself.

use proto::nfs3::{
    ACCESS_DELETE, ACCESS_EXECUTE, ACCESS_EXTEND, ACCESS_LOOKUP, ACCESS_MODIFY, ACCESS_READ, Commit, CommitArgs,
    FSF_CANSETTIME, FSF_HOMOGENEOUS, FSF_LINK, FSF_SYMLINK, FileHandle, FileType, FsArgs, Fsinfo, Fsstat, Null,
    Pathconf, Readlink, ReadlinkArgs, Sattr, SetTime, Setattr, SetattrArgs, StableHow, Status, Time, Write, WriteArgs,
};
use server::Server;

use testing::caller::nfs3::{failure, mode, size, success};
use testing::caller::{Caller, INSTANCE, memory_server};

const EVERYTHING: u32 = 0x3f;
const GIB: u64 = 1 << 30;

/// A file of ten bytes in the root.
fn ten_bytes(server: &Server) -> (Caller<'_>, FileHandle) {
    let caller = Caller::root(server);
    let file = caller.make_file(&caller.mount(), "file");
    success(caller.write(&file, 0, StableHow::FileSync, b"0123456789"));
    (caller, file)
}

#[test]
fn null_answers_everybody_even_with_a_flavor_that_nobody_knows() {
    let server = memory_server();
    let caller = Caller::root(&server);
    caller.call::<Null>(&());
    let mut message = caller.message::<Null>(&());
    message[27] = 99;
    assert_eq!(caller.reply_to(&message).len(), 24);
}

#[test]
fn new_file_has_the_attributes_that_it_was_made_with() {
    let server = memory_server();
    let caller = Caller::root(&server).user(1000, 100, &[]);
    let root = caller.mount();
    let attributes = caller.attributes(&caller.make_file(&root, "file"));
    assert_eq!((attributes.file_type, attributes.mode, attributes.links), (FileType::Regular, 0o644, 1));
    assert_eq!((attributes.uid, attributes.gid, attributes.size), (1000, 100, 0));
    assert_eq!(attributes.fsid, caller.attributes(&root).fsid);
}

#[test]
fn setattr_sets_all_that_it_names_and_nothing_else() {
    let server = memory_server();
    let (caller, file) = ten_bytes(&server);
    let before = caller.attributes(&file);
    let time = Time { seconds: 1_000_000, nanoseconds: 5 };
    let sattr = Sattr { mode: Some(0o4711), uid: Some(5), modified: SetTime::ClientTime(time), ..Sattr::default() };
    let wcc = success(caller.setattr(&file, sattr));
    let after = caller.attributes(&file);
    assert_eq!((after.mode, after.uid, after.modified), (0o4711, 5, time));
    assert_eq!((after.gid, after.size, after.accessed), (before.gid, before.size, before.accessed));
    assert_eq!(wcc.after, Some(after));
    assert_eq!(wcc.before.unwrap().modified, before.modified);
}

#[test]
fn size_cuts_a_file_and_extends_it_with_zeros() {
    let server = memory_server();
    let (caller, file) = ten_bytes(&server);
    success(caller.setattr(&file, size(4)));
    success(caller.setattr(&file, size(6)));
    assert_eq!(success(caller.read(&file, 0, 100)).data, b"0123\0\0");
    assert_eq!(failure(caller.setattr(&file, size(u64::MAX))), Status::FBig);
    assert_eq!(failure(caller.setattr(&caller.mount(), size(0))), Status::IsDir);
}

#[test]
fn guard_lets_only_the_file_that_it_names_be_changed() {
    let server = memory_server();
    let (caller, file) = ten_bytes(&server);
    let changed = caller.attributes(&file).changed;
    let other = Time { seconds: changed.seconds, nanoseconds: changed.nanoseconds ^ 1 };
    let set = |guard| caller.call::<Setattr>(&SetattrArgs { object: file, attributes: mode(0o600), guard });
    assert_eq!(failure(set(Some(other))), Status::NotSync);
    assert_eq!(caller.attributes(&file).mode, 0o644);
    success(set(Some(changed)));
    assert_eq!(caller.attributes(&file).mode, 0o600);
}

#[test]
fn access_grants_what_applies_to_the_kind_of_file() {
    let server = memory_server();
    let (caller, file) = ten_bytes(&server);
    let change = ACCESS_MODIFY | ACCESS_EXTEND;
    assert_eq!(caller.access(&caller.mount(), EVERYTHING), ACCESS_READ | ACCESS_LOOKUP | change | ACCESS_DELETE);
    assert_eq!(caller.access(&file, EVERYTHING), ACCESS_READ | change);
    let user = caller.user(1000, 100, &[]);
    assert_eq!(user.access(&file, EVERYTHING), ACCESS_READ);
    assert_eq!(user.access(&file, ACCESS_MODIFY), 0);
    success(caller.setattr(&file, mode(0o755)));
    assert_eq!(user.access(&file, EVERYTHING), ACCESS_READ | ACCESS_EXECUTE);
}

#[test]
fn readlink_tells_the_target_byte_for_byte() {
    let server = memory_server();
    let (caller, file) = ten_bytes(&server);
    let target = b"/not/utf-8/\xff/../x";
    let link = success(caller.symlink(&caller.mount(), "link", target)).object.unwrap();
    let read = success(caller.call::<Readlink>(&ReadlinkArgs { symlink: link }));
    assert_eq!((read.target, read.attributes.unwrap().file_type), (&target[..], FileType::Symlink));
    assert_eq!(failure(caller.call::<Readlink>(&ReadlinkArgs { symlink: file })), Status::Inval);
}

#[test]
fn read_says_eof_exactly_when_the_last_byte_was_read() {
    let server = memory_server();
    let (caller, file) = ten_bytes(&server);
    for (offset, count, expected, eof) in
        [(0, 10, "0123456789", true), (0, 9, "012345678", false), (9, 1, "9", true), (5, 100, "56789", true)]
    {
        let read = success(caller.read(&file, offset, count));
        assert_eq!((read.data, read.head.eof), (expected.as_bytes(), eof), "{count} bytes at {offset}");
        assert_eq!(read.head.count as usize, read.data.len());
        assert_eq!(read.head.attributes.unwrap().size, 10);
    }
}

#[test]
fn read_past_eof_returns_no_bytes_and_eof() {
    let server = memory_server();
    let (caller, file) = ten_bytes(&server);
    for offset in [10, 11, 1 << 40, u64::MAX] {
        let read = success(caller.read(&file, offset, 5));
        assert_eq!((read.data.len(), read.head.eof), (0, true), "at {offset}");
    }
    assert!(!success(caller.read(&file, 3, 0)).head.eof, "no bytes before the end are not the end");
}

#[test]
fn read_of_anything_but_a_file_is_refused() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let root = caller.mount();
    let link = success(caller.symlink(&root, "link", b"target")).object.unwrap();
    assert_eq!(failure(caller.read(&root, 0, 10)), Status::IsDir);
    assert_eq!(failure(caller.read(&link, 0, 10)), Status::Inval);
}

#[test]
fn read_gives_no_more_than_its_transport_carries() {
    let server = memory_server();
    let (caller, file) = ten_bytes(&server);
    success(caller.setattr(&file, size(4 << 20)));
    assert_eq!(success(caller.read(&file, 0, 2 << 20)).data.len(), 1 << 20);
    assert_eq!(success(caller.over_udp().read(&file, 0, 2 << 20)).data.len(), 32 << 10);
    let largest = caller.over_udp().call::<Fsinfo>(&FsArgs { object: file });
    assert_eq!(success(largest).read_max, 32 << 10);
}

#[test]
fn write_is_read_back_at_every_level_of_stability() {
    let server = memory_server();
    let (caller, file) = ten_bytes(&server);
    for (number, stable) in [StableHow::Unstable, StableHow::DataSync, StableHow::FileSync].into_iter().enumerate() {
        let data = [b'a' + number as u8; 3];
        let written = success(caller.write(&file, 100 * number as u64, stable, &data));
        assert_eq!((written.count, written.verifier), (3, INSTANCE.to_be_bytes()));
        assert!(written.committed >= stable);
        assert_eq!(success(caller.read(&file, 100 * number as u64, 3)).data, data);
    }
    assert_eq!(success(caller.commit(&file)).verifier, INSTANCE.to_be_bytes());
}

#[test]
fn sparse_file_over_4_gib_is_read_where_it_was_written() {
    let server = memory_server();
    let (caller, file) = ten_bytes(&server);
    success(caller.write(&file, 5 * GIB, StableHow::Unstable, b"end"));
    let attributes = caller.attributes(&file);
    assert_eq!(attributes.size, 5 * GIB + 3);
    assert!(attributes.used < 1 << 20, "the hole takes no space");
    assert_eq!(success(caller.read(&file, 5 * GIB - 1, 10)).data, b"\0end");
}

#[test]
fn write_that_makes_no_sense_is_refused() {
    let server = memory_server();
    let (caller, file) = ten_bytes(&server);
    assert_eq!(failure(caller.write(&file, u64::MAX, StableHow::Unstable, b"ab")), Status::FBig);
    assert_eq!(failure(caller.write(&file, i64::MAX as u64, StableHow::Unstable, b"ab")), Status::FBig);
    assert_eq!(failure(caller.write(&caller.mount(), 0, StableHow::Unstable, b"ab")), Status::IsDir);
    let args = WriteArgs { file, offset: 0, count: 3, stable: StableHow::Unstable, data: b"ab" };
    assert_eq!(failure(caller.call::<Write>(&args)), Status::Inval);
    assert_eq!(success(caller.write(&file, 0, StableHow::Unstable, b"")).count, 0);
}

#[test]
fn commit_of_any_range_is_fine_and_of_a_directory_is_not() {
    let server = memory_server();
    let (caller, file) = ten_bytes(&server);
    success(caller.call::<Commit>(&CommitArgs { file, offset: u64::MAX, count: u32::MAX }));
    assert_eq!(failure(caller.commit(&caller.mount())), Status::IsDir);
}

#[test]
fn file_system_says_how_large_it_is_and_what_it_can_do() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let object = caller.mount();
    let space = success(caller.call::<Fsstat>(&FsArgs { object }));
    assert_eq!((space.total_bytes, space.attributes), (GIB, Some(caller.attributes(&object))));
    assert!(space.available_bytes <= space.free_bytes && space.free_bytes <= space.total_bytes);
    let info = success(caller.call::<Fsinfo>(&FsArgs { object }));
    assert_eq!((info.read_max, info.write_max), (1 << 20, 1 << 20));
    assert_eq!(info.readdir_preferred, 256 << 10, "a large directory takes few calls");
    assert_eq!(info.properties, FSF_LINK | FSF_SYMLINK | FSF_HOMOGENEOUS | FSF_CANSETTIME);
    let limits = success(caller.call::<Pathconf>(&FsArgs { object }));
    assert_eq!((limits.max_name_bytes, limits.no_truncation, limits.case_insensitive), (255, true, false));
}
