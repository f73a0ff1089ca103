//! Every reply of NFSv3 to a change carries the attributes before and after it, or those after a read, be it carried
//! out or not (RFC 1813 §2.6).

use proto::nfs3::{
    CreateHow, Fattr, Fsstat, Link, LinkArgs, Mknod, MknodArgs, MknodData, Readdir, ReaddirArgs, Readdirplus,
    ReaddirplusArgs, Readlink, ReadlinkArgs, Res, Sattr, Setattr, SetattrArgs, StableHow, Time, WccData,
};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use proto::nfs2::{
    FileHandle as FileHandle2, Link as Link2, LinkArgs as LinkArgs2, Rename as Rename2, RenameArgs as RenameArgs2,
    Symlink as Symlink2, SymlinkArgs as SymlinkArgs2,
};
use proto::nfs3::FileHandle;
use proto::nfs4::{
    Allocate, AllocateArgs, Attribute, Component, CompoundOperation, Fattr as Fattr4, Remove as Remove4,
    RemoveArgs as Remove4Args, Setattr as Setattr4, SetattrArgs as Setattr4Args, StableHow as StableHow4, Stateid,
    Write as Write4, WriteArgs as Write4Args,
};
use server::Server;
use vfs::{Attributes, Context, CreateMode, Entry, FileSystem, Handle, Place, SetAttributes};

use testing::caller::nfs2::{self, Caller2};
use testing::caller::nfs3::{at, mode, success};
use testing::caller::{Caller, EXPORT, export, memory, memory_server};
use testing::session::Session;

/// Asserts that `wcc` frames one change of `object` from `before`, the attributes that a client has cached.
#[track_caller]
fn frames(wcc: &WccData, before: &Fattr, caller: &Caller<'_>, object: &FileHandle) {
    let told = wcc.before.expect("attributes before");
    assert_eq!((told.size, told.modified, told.changed), (before.size, before.modified, before.changed));
    assert_eq!(wcc.after, Some(caller.attributes(object)), "attributes after");
}

/// The wcc data of either outcome, where both carry nothing else.
fn data<T>(result: Res<T, WccData>, of: impl FnOnce(T) -> WccData) -> (bool, WccData) {
    match result {
        Res::Ok(ok) => (true, of(ok)),
        Res::Fail(_, wcc) => (false, wcc),
    }
}

fn start(server: &Server) -> (Caller<'_>, FileHandle, FileHandle) {
    let caller = Caller::root(server);
    let root = caller.mount();
    let file = caller.make_file(&root, "file");
    (caller, root, file)
}

#[test]
fn changes_of_a_directory_are_framed_when_carried_out_and_when_refused() {
    let server = memory_server();
    let (caller, root, _) = start(&server);
    type Change<'c> = (&'c str, bool, &'c dyn Fn() -> (bool, WccData));
    let guarded = || data(caller.create(&root, "a", CreateHow::Guarded(Sattr::default())), |ok| ok.dir_wcc);
    let fifo = MknodArgs { place: at(&root, "fifo"), what: MknodData::Fifo(Sattr::default()) };
    let changes: [Change<'_>; 12] = [
        ("CREATE", true, &guarded),
        ("CREATE again", false, &guarded),
        ("MKDIR", true, &|| data(caller.mkdir(&root, "dir"), |ok| ok.dir_wcc)),
        ("MKDIR again", false, &|| data(caller.mkdir(&root, "dir"), |ok| ok.dir_wcc)),
        ("SYMLINK", true, &|| data(caller.symlink(&root, "link", b"x"), |ok| ok.dir_wcc)),
        ("SYMLINK again", false, &|| data(caller.symlink(&root, "link", b"x"), |ok| ok.dir_wcc)),
        ("MKNOD", true, &|| data(caller.call::<Mknod>(&fifo), |ok| ok.dir_wcc)),
        ("MKNOD again", false, &|| data(caller.call::<Mknod>(&fifo), |ok| ok.dir_wcc)),
        ("REMOVE", true, &|| data(caller.remove(&root, "a"), |ok| ok)),
        ("REMOVE again", false, &|| data(caller.remove(&root, "a"), |ok| ok)),
        ("RMDIR", true, &|| data(caller.rmdir(&root, "dir"), |ok| ok)),
        ("RMDIR again", false, &|| data(caller.rmdir(&root, "dir"), |ok| ok)),
    ];
    for (name, is_success, change) in changes {
        let before = caller.attributes(&root);
        let (succeeded, wcc) = change();
        assert_eq!(succeeded, is_success, "{name}");
        frames(&wcc, &before, &caller, &root);
    }
}

#[test]
fn changes_of_a_file_are_framed_when_carried_out_and_when_refused() {
    let server = memory_server();
    let (caller, _, file) = start(&server);
    let guard = Some(Time { seconds: 1, nanoseconds: 1 });
    let guarded = SetattrArgs { object: file, attributes: mode(0o600), guard };
    let far = u64::MAX;
    type Change<'c> = (&'c str, bool, &'c dyn Fn() -> (bool, WccData));
    let changes: [Change<'_>; 5] = [
        ("SETATTR", true, &|| data(caller.setattr(&file, mode(0o640)), |ok| ok)),
        ("SETATTR with a wrong guard", false, &|| data(caller.call::<Setattr>(&guarded), |ok| ok)),
        ("WRITE", true, &|| data(caller.write(&file, 0, StableHow::Unstable, b"abc"), |ok| ok.file_wcc)),
        ("WRITE too far", false, &|| data(caller.write(&file, far, StableHow::Unstable, b"abc"), |ok| ok.file_wcc)),
        ("COMMIT", true, &|| data(caller.commit(&file), |ok| ok.file_wcc)),
    ];
    for (name, is_success, change) in changes {
        let before = caller.attributes(&file);
        let (succeeded, wcc) = change();
        assert_eq!(succeeded, is_success, "{name}");
        frames(&wcc, &before, &caller, &file);
    }
}

#[test]
fn rename_frames_both_directories_and_one_directory_twice() {
    let server = memory_server();
    let (caller, root, _) = start(&server);
    let dir = caller.make_dir(&root, "dir");
    for (from, to, is_success) in [
        (at(&root, "file"), at(&dir, "moved"), true),
        (at(&root, "file"), at(&dir, "moved"), false),
        (at(&dir, "moved"), at(&dir, "again"), true),
        (at(&dir, "moved"), at(&dir, "again"), false),
    ] {
        let before = (caller.attributes(&from.dir), caller.attributes(&to.dir));
        let wcc = match caller.rename(from, to) {
            Res::Ok(wcc) if is_success => wcc,
            Res::Fail(_, wcc) if !is_success => wcc,
            other => panic!("{other:?}"),
        };
        frames(&wcc.from_dir, &before.0, &caller, &from.dir);
        frames(&wcc.to_dir, &before.1, &caller, &to.dir);
    }
}

#[test]
fn link_tells_the_file_and_frames_the_directory() {
    let server = memory_server();
    let (caller, root, file) = start(&server);
    for is_success in [true, false] {
        let before = caller.attributes(&root);
        let told = match caller.call::<Link>(&LinkArgs { file, link: at(&root, "again") }) {
            Res::Ok(told) if is_success => told,
            Res::Fail(_, told) if !is_success => told,
            other => panic!("{other:?}"),
        };
        frames(&told.dir_wcc, &before, &caller, &root);
        assert_eq!(told.file, Some(caller.attributes(&file)));
    }
}

#[test]
fn refused_reads_carry_the_attributes_of_what_was_not_read() {
    let server = memory_server();
    let (caller, root, file) = start(&server);
    let told = [
        fail(caller.read(&root, 0, 1)),
        fail(caller.lookup(&root, "nothing")),
        fail(caller.call::<Readdir>(&ReaddirArgs { dir: root, cookie: 0, verifier: [0; 8], count: 10 })),
        fail(caller.call::<Readdirplus>(&ReaddirplusArgs {
            dir: root,
            cookie: 0,
            verifier: [0; 8],
            dir_count: 10,
            max_count: 10,
        })),
    ];
    assert_eq!(told, [Some(caller.attributes(&root)); 4]);
    let told = [
        fail(caller.call::<Readlink>(&ReadlinkArgs { symlink: file })),
        fail(caller.lookup(&file, "x")),
        fail(caller.call::<Readdir>(&ReaddirArgs { dir: file, cookie: 0, verifier: [0; 8], count: 1000 })),
    ];
    assert_eq!(told, [Some(caller.attributes(&file)); 3]);
    let Res::Ok(space) = caller.call::<Fsstat>(&proto::nfs3::FsArgs { object: file }) else { panic!("no space") };
    assert_eq!(space.attributes, Some(caller.attributes(&file)));
}

#[track_caller]
fn fail<T: std::fmt::Debug, F>(result: Res<T, F>) -> F {
    match result {
        Res::Fail(_, fail) => fail,
        Res::Ok(ok) => panic!("carried out: {ok:?}"),
    }
}

/// What another client does.
type Meddling = Box<dyn FnOnce(&Server) + Send>;

/// A file system during whose next change another client makes a change too.
struct Meddled {
    inner: Arc<dyn FileSystem>,
    server: OnceLock<Weak<Server>>,
    next: Mutex<Option<Meddling>>,
}

impl Meddled {
    fn serve() -> (Arc<Meddled>, Arc<Server>) {
        let meddled = Arc::new(Meddled { inner: memory(), server: OnceLock::new(), next: Mutex::new(None) });
        let server = Arc::new(testing::caller::server(vec![export(EXPORT, meddled.clone())]));
        meddled.server.set(Arc::downgrade(&server)).unwrap();
        (meddled, server)
    }

    fn meddle(&self) {
        let next = self.next.lock().unwrap().take();
        if let Some(meddle) = next {
            meddle(&self.server.get().unwrap().upgrade().unwrap());
        }
    }
}

#[deny(clippy::missing_trait_methods)]
impl FileSystem for Meddled {
    vfs::forward!(FileSystem for self.inner:
        root, storage, origin, set_borders, blocking, changes_wait, properties, is_read_only, attributes, access,
        lookup, find, parent, read_link, open, hold, has_local_locks, open_for_locks, lease_break_time, lease, read_dir,
        make_node, link, remove, remove_seen, remove_dir, rename, get_xattr, set_xattr, list_xattrs, remove_xattr, acls,
        set_acls, maintain, sync_all, memory, space, losses, log_marks, set_log_mark);

    fn create(&self, cx: &Context<'_>, place: Place<'_>, mode: CreateMode, set: &SetAttributes) -> vfs::Result<Entry> {
        self.meddle();
        self.inner.create(cx, place, mode, set)
    }

    fn set_attributes(&self, cx: &Context<'_>, node: &Handle, set: &SetAttributes) -> vfs::Result<Attributes> {
        self.meddle();
        self.inner.set_attributes(cx, node, set)
    }
}

fn other(server: &Server) -> Caller<'_> {
    Caller::root(server).from("192.0.2.2:700").over(2)
}

/// A successful call of version 2 by another client, which gets the root.
fn by_v2<T>(call: impl FnOnce(Caller2<'_>, FileHandle2) -> proto::nfs2::Res<T> + Send + 'static) -> Meddling {
    Box::new(move |server| {
        let caller = Caller2(other(server));
        let root = caller.mount();
        nfs2::success(call(caller, root));
    })
}

/// A successful operation of version 4.2 by another client on the current file of `path`.
fn by_v4<O: CompoundOperation>(path: &'static str, arguments: O::Arguments<'static>) -> Meddling
where
    O::Arguments<'static>: Send + 'static,
{
    Box::new(move |server| {
        let session = Session::new(other(server), 2);
        let results = session.call(&session.begin().path(path).op::<O>(&arguments));
        assert_eq!(results.status, proto::nfs4::Status::Ok, "{}", O::NUMBER.name());
    })
}

#[test]
fn change_of_a_directory_that_another_version_changes_meanwhile_tells_nothing_from_before() {
    let meddlings: [(&str, Meddling); 7] = [
        ("CREATE", by_v2(|caller, root| caller.create(&root, "new", nfs2::mode(0o644)))),
        ("MKDIR", by_v2(|caller, root| caller.mkdir(&root, "new"))),
        ("REMOVE", by_v2(|caller, root| caller.remove(&root, "file"))),
        (
            "SYMLINK",
            by_v2(|Caller2(caller), root| {
                let attributes = proto::nfs2::Sattr::default();
                caller.call::<Symlink2>(&SymlinkArgs2 { place: nfs2::at(&root, "new"), target: b"x", attributes })
            }),
        ),
        (
            "LINK",
            by_v2(|Caller2(caller), root| {
                let file = nfs2::success(Caller2(caller).lookup(&root, "file")).file;
                caller.call::<Link2>(&LinkArgs2 { file, link: nfs2::at(&root, "new") })
            }),
        ),
        (
            "RENAME",
            by_v2(|Caller2(caller), root| {
                let names = RenameArgs2 { from: nfs2::at(&root, "file"), to: nfs2::at(&root, "new") };
                caller.call::<Rename2>(&names)
            }),
        ),
        ("REMOVE of version 4", by_v4::<Remove4>(EXPORT, Remove4Args { target: Component(b"file") })),
    ];
    for (name, meddling) in meddlings {
        let (meddled, server) = Meddled::serve();
        let (caller, root, _) = start(&server);
        *meddled.next.lock().unwrap() = Some(meddling);
        let made = success(caller.create(&root, "own", CreateHow::Guarded(Sattr::default())));
        assert_eq!(made.dir_wcc.before, None, "{name}");
        let made = success(caller.create(&root, "another", CreateHow::Guarded(Sattr::default())));
        assert!(made.dir_wcc.before.is_some(), "nobody does anything now");
    }
}

#[test]
fn change_of_a_file_that_another_version_changes_meanwhile_tells_nothing_from_before() {
    const FILE: &str = "/srv/export/file";
    let (stateid, data) = (Stateid::ANONYMOUS, b"abc".as_slice());
    let meddlings: [(&str, Meddling); 6] = [
        ("WRITE", by_v2(|caller, root| caller.write(&nfs2::success(caller.lookup(&root, "file")).file, 0, b"abc"))),
        (
            "SETATTR",
            by_v2(|caller, root| caller.setattr(&nfs2::success(caller.lookup(&root, "file")).file, nfs2::mode(0o600))),
        ),
        (
            "CREATE that truncates",
            by_v2(|caller, root| {
                let empty = proto::nfs2::Sattr { size: Some(0), ..proto::nfs2::Sattr::default() };
                caller.create(&root, "file", empty)
            }),
        ),
        ("WRITE of version 4", {
            let write = Write4Args { stateid, offset: 0, stable: StableHow4::Unstable, data };
            by_v4::<Write4>(FILE, write)
        }),
        ("SETATTR of version 4", {
            let attributes = Fattr4 { mask: Attribute::set(&[Attribute::Size]), values: &[0; 8] };
            by_v4::<Setattr4>(FILE, Setattr4Args { stateid, attributes })
        }),
        ("ALLOCATE", by_v4::<Allocate>(FILE, AllocateArgs { stateid, offset: 0, length: 10 })),
    ];
    for (name, meddling) in meddlings {
        let (meddled, server) = Meddled::serve();
        let (caller, _, file) = start(&server);
        *meddled.next.lock().unwrap() = Some(meddling);
        assert_eq!(success(caller.setattr(&file, mode(0o640))).before, None, "{name}");
        assert!(success(caller.setattr(&file, mode(0o600))).before.is_some(), "nobody does anything now");
    }
}
