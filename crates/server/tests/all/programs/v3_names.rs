//! NFSv3 on names: everything that changes a directory.

use proto::nfs3::{
    CreateHow, DirOp, FileHandle, FileType, Lookup, LookupArgs, Mknod, MknodArgs, MknodData, Sattr, SpecData,
    StableHow, Status,
};

use testing::caller::nfs3::{at, failure, mode, size, success};
use testing::caller::{Caller, EXPORT, export, memory, memory_server, server};

#[test]
fn lookup_finds_names_and_dots_and_nothing_above_the_root() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let root = caller.mount();
    let dir = caller.make_dir(&root, "dir");
    let found = success(caller.lookup(&root, "dir"));
    assert_eq!((found.object, found.attributes), (dir, Some(caller.attributes(&dir))));
    assert_eq!(found.dir_attributes, Some(caller.attributes(&root)));
    assert_eq!(caller.handle_of(&dir, "."), dir);
    assert_eq!(caller.handle_of(&dir, ".."), root);
    assert_eq!(caller.handle_of(&root, ".."), root);
}

#[test]
fn lookup_of_what_cannot_be_there_says_why() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let root = caller.mount();
    let file = caller.make_file(&root, "file");
    assert_eq!(failure(caller.lookup(&root, "nothing")), Status::NoEnt);
    assert_eq!(failure(caller.lookup(&file, "x")), Status::NotDir);
    assert_eq!(failure(caller.lookup(&file, ".")), Status::NotDir);
    assert_eq!(failure(caller.lookup(&root, &"x".repeat(256))), Status::NameTooLong);
    assert_eq!(failure(caller.lookup(&root, "a/b")), Status::Acces);
    assert_eq!(failure(caller.lookup(&root, "")), Status::Acces);
}

#[test]
fn name_of_255_bytes_that_is_not_utf8_is_a_name_like_any_other() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let dir = caller.mount();
    let name = [0xfe; 255];
    let place = DirOp { dir, name: &name };
    let args = proto::nfs3::CreateArgs { place, how: CreateHow::Guarded(Sattr::default()) };
    let made = success(caller.call::<proto::nfs3::Create>(&args)).object;
    assert_eq!(Some(success(caller.call::<Lookup>(&LookupArgs { what: place })).object), made);
}

#[test]
fn unchecked_create_takes_a_file_that_is_there_and_sets_nothing_but_its_size() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let root = caller.mount();
    let file = caller.make_file(&root, "file");
    success(caller.write(&file, 0, StableHow::Unstable, b"0123456789"));
    let again = success(caller.create(&root, "file", CreateHow::Unchecked(mode(0o777))));
    let attributes = again.attributes.unwrap();
    assert_eq!((again.object, attributes.size, attributes.mode), (Some(file), 10, 0o644));
    success(caller.create(&root, "file", CreateHow::Unchecked(size(0))));
    assert_eq!(caller.attributes(&file).size, 0);
}

#[test]
fn unchecked_create_cuts_no_file_that_the_caller_may_not_write() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let root = caller.mount();
    let file = caller.make_file(&root, "file");
    success(caller.write(&file, 0, StableHow::Unstable, b"0123456789"));
    let user = caller.user(1000, 100, &[]);
    assert_eq!(failure(user.create(&root, "file", CreateHow::Unchecked(size(0)))), Status::Acces);
    assert_eq!(caller.attributes(&file).size, 10);
}

#[test]
fn unchecked_create_asks_for_an_owner_only_where_it_makes_the_file() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let root = caller.mount();
    caller.make_file(&root, "file");
    let user = caller.user(1000, 100, &[]);
    let gift = CreateHow::Unchecked(Sattr { uid: Some(0), ..Sattr::default() });
    success(user.create(&root, "file", gift));
    assert_eq!(failure(user.create(&root, "other", gift)), Status::Perm);
    assert_eq!(failure(caller.lookup(&root, "other")), Status::NoEnt);
}

#[test]
fn unchecked_create_over_what_is_no_file_is_refused() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let root = caller.mount();
    caller.make_dir(&root, "dir");
    assert_eq!(failure(caller.create(&root, "dir", CreateHow::Unchecked(Sattr::default()))), Status::Exist);
}

#[test]
fn guarded_create_refuses_a_name_that_is_there() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let root = caller.mount();
    caller.make_file(&root, "file");
    assert_eq!(failure(caller.create(&root, "file", CreateHow::Guarded(Sattr::default()))), Status::Exist);
    assert_eq!(failure(caller.create(&root, ".", CreateHow::Guarded(Sattr::default()))), Status::Exist);
}

#[test]
fn exclusive_create_sent_again_finds_the_file_that_it_made() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let root = caller.mount();
    let create = |verifier| caller.create(&root, "file", CreateHow::Exclusive([verifier; 8]));
    let made = success(create(1)).object;
    assert_eq!(success(create(1)).object, made);
    assert_eq!(failure(create(2)), Status::Exist);
}

#[test]
fn special_files_are_made_with_their_numbers() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let root = caller.mount();
    let device = SpecData { major: 300, minor: 70_000 };
    let all = [
        ("block", MknodData::BlockDevice(mode(0o600), device), FileType::BlockDevice, device),
        ("char", MknodData::CharDevice(mode(0o600), device), FileType::CharDevice, device),
        ("fifo", MknodData::Fifo(mode(0o600)), FileType::Fifo, SpecData::default()),
        ("socket", MknodData::Socket(mode(0o600)), FileType::Socket, SpecData::default()),
    ];
    for (name, what, file_type, device) in all {
        let made = success(caller.call::<Mknod>(&MknodArgs { place: at(&root, name), what }));
        let attributes = made.attributes.unwrap();
        assert_eq!((attributes.file_type, attributes.mode, attributes.device), (file_type, 0o600, device), "{name}");
    }
    for what in [MknodData::Regular, MknodData::Directory, MknodData::Symlink] {
        let refused = caller.call::<Mknod>(&MknodArgs { place: at(&root, "other"), what });
        assert_eq!(failure(refused), Status::BadType, "{what:?}");
    }
}

#[test]
fn symbolic_link_to_nowhere_is_refused() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let root = caller.mount();
    assert_eq!(failure(caller.symlink(&root, "link", b"")), Status::Inval);
    assert_eq!(failure(caller.symlink(&root, "link", b"a\0b")), Status::Inval);
    success(caller.symlink(&root, "link", b"nowhere"));
    assert_eq!(failure(caller.symlink(&root, "link", b"nowhere")), Status::Exist);
}

#[test]
fn removed_file_is_stale() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let root = caller.mount();
    let file = caller.make_file(&root, "file");
    success(caller.read(&file, 0, 1));
    success(caller.remove(&root, "file"));
    assert_eq!(failure(caller.lookup(&root, "file")), Status::NoEnt);
    assert_eq!(failure(caller.getattr(&file)), Status::Stale);
    assert_eq!(failure(caller.read(&file, 0, 1)), Status::Stale);
    assert_eq!(failure(caller.remove(&root, "file")), Status::NoEnt);
}

#[test]
fn remove_and_rmdir_keep_to_their_kinds() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let root = caller.mount();
    caller.make_file(&root, "file");
    let dir = caller.make_dir(&root, "dir");
    caller.make_file(&dir, "inside");
    assert_eq!(failure(caller.remove(&root, "dir")), Status::IsDir);
    assert_eq!(failure(caller.rmdir(&root, "file")), Status::NotDir);
    assert_eq!(failure(caller.rmdir(&root, "dir")), Status::NotEmpty);
    assert_eq!(failure(caller.rmdir(&dir, ".")), Status::Inval);
    success(caller.remove(&dir, "inside"));
    success(caller.rmdir(&root, "dir"));
    assert_eq!(failure(caller.getattr(&dir)), Status::Stale);
}

#[test]
fn rename_moves_a_name_over_another_one_and_the_handle_follows() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let root = caller.mount();
    let dir = caller.make_dir(&root, "dir");
    let (first, second) = (caller.make_file(&root, "first"), caller.make_file(&dir, "second"));
    success(caller.rename(at(&root, "first"), at(&dir, "second")));
    assert_eq!(failure(caller.lookup(&root, "first")), Status::NoEnt);
    assert_eq!(caller.handle_of(&dir, "second"), first);
    assert_eq!(failure(caller.getattr(&second)), Status::Stale);
}

#[test]
fn rename_that_would_break_the_tree_is_refused() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let root = caller.mount();
    let (outer, other) = (caller.make_dir(&root, "outer"), caller.make_dir(&root, "other"));
    let inner = caller.make_dir(&outer, "inner");
    caller.make_file(&other, "inside");
    caller.make_file(&root, "file");
    assert_eq!(failure(caller.rename(at(&root, "outer"), at(&inner, "x"))), Status::Inval);
    assert_eq!(failure(caller.rename(at(&root, "outer"), at(&root, "other"))), Status::NotEmpty);
    assert_eq!(failure(caller.rename(at(&root, "file"), at(&root, "other"))), Status::IsDir);
    assert_eq!(failure(caller.rename(at(&root, "outer"), at(&root, "file"))), Status::NotDir);
    assert_eq!(failure(caller.rename(at(&root, "nothing"), at(&root, "x"))), Status::NoEnt);
    assert_eq!(failure(caller.rename(at(&root, "."), at(&root, "x"))), Status::Inval);
    assert_eq!(failure(caller.rename(at(&root, "file"), at(&root, ".."))), Status::Inval);
    success(caller.rename(at(&root, "file"), at(&root, "file")));
}

#[test]
fn link_gives_a_file_a_second_name() {
    let server = memory_server();
    let caller = Caller::root(&server);
    let root = caller.mount();
    let file = caller.make_file(&root, "file");
    let linked = success(caller.link(&file, &root, "again"));
    assert_eq!(linked.file.unwrap().links, 2);
    assert_eq!(caller.handle_of(&root, "again"), file);
    assert_eq!(failure(caller.link(&file, &root, "again")), Status::Exist);
    let dir = caller.make_dir(&root, "dir");
    assert_eq!(failure(caller.link(&dir, &root, "circle")), Status::IsDir);
    success(caller.remove(&root, "file"));
    assert_eq!(caller.attributes(&file).links, 1);
}

#[test]
fn nothing_goes_from_one_export_to_another() {
    let server = server(vec![export(EXPORT, memory()), export("/srv/other", memory())]);
    let caller = Caller::root(&server);
    let (here, there): (FileHandle, FileHandle) = (caller.mount(), caller.mount_path("/srv/other"));
    let file = caller.make_file(&here, "file");
    assert_eq!(failure(caller.rename(at(&here, "file"), at(&there, "file"))), Status::XDev);
    assert_eq!(failure(caller.link(&file, &there, "file")), Status::XDev);
}
