//! A directory that may be read and not searched has names, and no more.

use std::sync::Arc;

use proto::nfs3::{FileHandle, Readdir as Readdir3, ReaddirArgs as ReaddirArgs3, Readdirplus, ReaddirplusArgs};
use proto::nfs4::{Attribute, AttributeValue, Bitmap, Readdir, ReaddirArgs, ReaddirOk, Res, Status};
use server::Server;
use vfs::{
    Access, Context, EachEntry, Entry, Error, FileSystem, Handle, Listing, Place, ReadDir, Result, SetAttributes,
};

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
    files.set_attributes(&Context::ROOT, &files.root(), &set).unwrap();
    server(vec![export(EXPORT, files)])
}

fn plus(caller: Caller<'_>, dir: FileHandle) -> Vec<(bool, bool)> {
    let args = ReaddirplusArgs { dir, cookie: 0, verifier: [0; 8], dir_count: 4096, max_count: 8192 };
    let listed = success(caller.call::<Readdirplus>(&args));
    listed.entries.iter().map(|plus| (plus.handle.is_some(), plus.attributes.is_some())).collect()
}

fn list4(caller: Caller<'_>, request: Bitmap) -> Res<ReaddirOk<'static>> {
    list4_in(caller, EXPORT, request)
}

fn list4_in(caller: Caller<'_>, path: &str, request: Bitmap) -> Res<ReaddirOk<'static>> {
    let args = ReaddirArgs { cookie: 0, verifier: [0; 8], dir_count: 4096, max_count: 8192, request };
    caller.compound(&Compound::new(0).path(path).op::<Readdir>(&args)).skip_path(path).take::<Readdir>()
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
        let values: Vec<_> = entry.attributes.values().map(std::result::Result::unwrap).collect();
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

/// A file system that asks another server as the caller: a listing has only names and file numbers, and the parent
/// requires search permission, too.
struct AsksAsCaller {
    inner: Arc<dyn FileSystem>,
}

impl AsksAsCaller {
    fn require_searchable(&self, cx: &Context<'_>, dir: &Handle) -> Result<()> {
        let attributes = self.inner.attributes(cx, dir)?;
        match self.inner.access(cx, dir, &attributes, Access::EXECUTE)? {
            Access::EXECUTE => Ok(()),
            _ => Err(Error::AccessDenied),
        }
    }
}

#[deny(clippy::missing_trait_methods)]
impl FileSystem for AsksAsCaller {
    vfs::forward!(FileSystem for self.inner:
        root, storage, origin, set_borders, blocking, changes_wait, properties, is_read_only, attributes, access,
        set_attributes, find, read_link, open, hold, has_local_locks, open_for_locks, lease_break_time, lease, create,
        make_node, link, remove, remove_seen, remove_dir, rename, get_xattr, set_xattr, list_xattrs, remove_xattr, acls,
        set_acls, maintain, sync_all, memory, space, losses, log_marks, set_log_mark);

    fn lookup(&self, cx: &Context<'_>, place: Place<'_>) -> Result<Entry> {
        self.require_searchable(cx, &place.dir)?;
        self.inner.lookup(cx, place)
    }

    fn parent(&self, cx: &Context<'_>, dir: &Handle) -> Result<Entry> {
        self.require_searchable(cx, dir)?;
        self.inner.parent(cx, dir)
    }

    fn read_dir(&self, cx: &Context<'_>, list: ReadDir<'_>, each: EachEntry<'_>) -> Result<Listing> {
        self.inner.read_dir(cx, list, &mut |entry| each(vfs::DirEntry { kind: None, entry: None, ..entry }))
    }
}

#[test]
fn names_of_a_directory_on_another_server_need_no_search_permission() {
    let server = server(vec![export(EXPORT, Arc::new(AsksAsCaller { inner: memory_with_files(0) }))]);
    let (root, bob) = (Caller::root(&server), bob(&server));
    let dir = root.make_dir(&root.mount(), "dir");
    for number in 0..FILES {
        root.make_file(&dir, &number.to_string());
    }
    success(root.setattr(&dir, mode(READABLE)));
    let args = ReaddirArgs3 { dir, cookie: 0, verifier: [0; 8], count: 4096 };
    assert_eq!(success(bob.call::<Readdir3>(&args)).entries.len(), FILES + 2);
    assert_eq!(plus(bob, dir), [(false, false); FILES + 2]);
    let path = format!("{EXPORT}/dir");
    let (number, kind) = (Attribute::set(&[Attribute::MountedOnFileId]), Attribute::set(&[Attribute::Type]));
    for request in [Bitmap::EMPTY, number, number.union(Attribute::set(&[Attribute::RdattrError]))] {
        let listed = compound::success(list4_in(bob, &path, request));
        assert_eq!(listed.entries.len(), FILES);
        assert!(listed.entries.iter().all(|entry| entry.attributes.mask == request));
    }
    // The other server does not show the caller what the names are.
    assert_eq!(compound::failure(list4_in(bob, &path, kind)), Status::Access);
    compound::success(list4_in(root, &path, kind));
}
