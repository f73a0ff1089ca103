//! A directory that may be read and not searched has names, and no more.

use proto::nfs3::{FileHandle, Readdirplus, ReaddirplusArgs};
use proto::nfs4::{Attribute, AttributeValue, Bitmap, Readdir, ReaddirArgs, ReaddirOk, Res, Status};
use server::Server;
use vfs::{FileSystem, SetAttributes};

use testing::caller::nfs3::{mode, success};
use testing::caller::{Caller, EXPORT, export, memory_server, memory_with_files, server};
use testing::compound::{self, Compound};

const READABLE: u32 = 0o744;
const FILES: usize = 3;

fn bob(server: &Server) -> Caller<'_> {
    Caller::root(server).user(2000, 200, &[])
}

/// A server whose export has files, and a mode.
fn with_mode(bits: u32) -> Server {
    let files = memory_with_files(FILES);
    let set = SetAttributes { mode: Some(bits), ..SetAttributes::default() };
    files.set_attributes(&vfs::Context::ROOT, &files.root(), &set).unwrap();
    server(vec![export(EXPORT, files)])
}

fn plus(caller: Caller<'_>, dir: FileHandle) -> Vec<(bool, bool)> {
    let args = ReaddirplusArgs { dir, cookie: 0, verifier: [0; 8], dir_count: 4096, max_count: 8192 };
    let listed = success(caller.call::<Readdirplus>(&args));
    listed.entries.iter().map(|plus| (plus.handle.is_some(), plus.attributes.is_some())).collect()
}

fn list4(caller: Caller<'_>, request: Bitmap) -> Res<ReaddirOk<'static>> {
    let args = ReaddirArgs { cookie: 0, verifier: [0; 8], dir_count: 4096, max_count: 8192, request };
    caller.compound(&Compound::new(0).root().op::<Readdir>(&args)).skip_root().take::<Readdir>()
}

#[test]
fn readdirplus_gives_handles_and_attributes_only_to_those_who_may_look_the_names_up() {
    let server = memory_server();
    let (root, bob) = (Caller::root(&server), bob(&server));
    let dir = root.make_dir(&root.mount(), "dir");
    root.make_file(&dir, "file");
    success(root.setattr(&dir, mode(READABLE)));
    assert_eq!(plus(bob, dir), [(false, false); 3]);
    assert_eq!(plus(root, dir), [(true, true); 3]);
    success(root.setattr(&dir, mode(0o755)));
    assert_eq!(plus(bob, dir), [(true, true); 3]);
}

#[test]
fn readdir_with_attributes_fails_for_those_who_may_not_look_the_names_up() {
    let server = with_mode(READABLE);
    for wanted in [Attribute::FileHandle, Attribute::Mode, Attribute::Size] {
        assert_eq!(compound::failure(list4(bob(&server), Attribute::set(&[wanted]))), Status::Access);
    }
    compound::success(list4(Caller::root(&server), Attribute::set(&[Attribute::FileHandle])));
}

#[test]
fn readdir_reports_access_for_each_name_if_the_client_asks_for_errors() {
    let server = with_mode(READABLE);
    let request = Attribute::set(&[Attribute::RdattrError, Attribute::FileHandle, Attribute::Mode]);
    let listed = compound::success(list4(bob(&server), request));
    assert_eq!(listed.entries.len(), FILES);
    for entry in listed.entries {
        let values: Vec<_> = entry.attributes.values().map(Result::unwrap).collect();
        assert_eq!(values, [AttributeValue::RdattrError(Status::Access)]);
    }
}

#[test]
fn names_and_what_a_directory_has_with_them_need_no_search_permission() {
    let server = with_mode(READABLE);
    let of_listing = Attribute::set(&[Attribute::Type, Attribute::RdattrError, Attribute::MountedOnFileId]);
    for request in [Bitmap::EMPTY, of_listing] {
        let listed = compound::success(list4(bob(&server), request));
        assert_eq!(listed.entries.len(), FILES);
        assert!(listed.entries.iter().all(|entry| entry.attributes.mask == request));
    }
    let unreadable = with_mode(0o711);
    assert_eq!(compound::failure(list4(bob(&unreadable), Bitmap::EMPTY)), Status::Access);
}
