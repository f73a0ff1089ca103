//! Every reply of NFSv3 to a change carries the attributes before and after it, or those after a read, be it carried
//! out or not (RFC 1813 §2.6).

use proto::nfs3::{
    CreateHow, Fattr, Fsstat, Link, LinkArgs, Mknod, MknodArgs, MknodData, Readdir, ReaddirArgs, Readdirplus,
    ReaddirplusArgs, Readlink, ReadlinkArgs, Res, Sattr, Setattr, SetattrArgs, StableHow, Time, WccData,
};
use server::Server;

use proto::nfs3::FileHandle;

use testing::caller::nfs3::{at, mode};
use testing::caller::{Caller, memory_server};

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
