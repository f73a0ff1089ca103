//! An export inside another one, and exports that are not for everybody, as clients of NFSv4 find them.

use std::sync::Arc;

use fs_host::{HandleForm, HostFs, HostOptions};
use proto::nfs4::{
    Attribute, Bitmap, Component, Getattr, GetattrArgs, Getfh, Lookup, Lookupp, Open, OpenArgs, OpenClaim, OpenHow,
    Readdir, ReaddirArgs, Res, SHARE_ACCESS_READ, SHARE_DENY_NONE, Secinfo, SecinfoArgs, StateOwner, Status,
    WANT_NO_DELEG,
};
use server::{AccessRule, Export, Server};

use testing::Scratch;
use testing::caller::{Caller, WORKERS, export, memory_with_files, server};
use testing::compound::{Compound, failure, success};
use testing::session::Session;

const FRIEND: &str = "192.0.2.7:700";

/// A directory with another one in it, both exported, the inner one to one client alone.
struct Nest {
    _base: Scratch,
    server: Server,
}

impl Nest {
    fn new() -> Nest {
        let base = Scratch::new();
        base.dir("top/a/secret/sub");
        std::fs::write(base.path("top/a/open"), "open").unwrap();
        let open = |path: &str| {
            let state_dir = Some(base.path("state"));
            let options =
                HostOptions { handle_form: HandleForm::Store, state_dir, workers: WORKERS, ..HostOptions::default() };
            Arc::new(HostFs::open(&base.path(path), options).unwrap())
        };
        let server = server(vec![export("/srv", open("top")), friends_only("/srv/a/secret", open("top/a/secret"))]);
        Nest { _base: base, server }
    }
}

fn friends_only(name: &str, file_system: Arc<dyn vfs::FileSystem>) -> Export {
    let whole = export(name, file_system);
    Export { rules: vec![AccessRule { clients: "192.0.2.7".parse().unwrap(), ..whole.rules[0].clone() }], ..whole }
}

fn readdir(request: Bitmap) -> ReaddirArgs {
    ReaddirArgs { cookie: 0, verifier: [0; 8], dir_count: 4096, max_count: 65536, request }
}

/// The names in a directory, each with whether its attributes were available.
fn listed(caller: Caller<'_>, path: &str, request: Bitmap) -> Vec<(String, bool)> {
    let mut results = caller.compound(&Compound::new(0).path(path).op::<Readdir>(&readdir(request)));
    let listed = success(results.skip_path(path).take::<Readdir>());
    let error = Attribute::set(&[Attribute::RdattrError]);
    let name = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
    let is_whole = |mask: Bitmap| mask.difference(error).iter().next().is_some();
    let mut names: Vec<_> =
        listed.entries.iter().map(|entry| (name(entry.name.0), is_whole(entry.attributes.mask))).collect();
    names.sort();
    names
}

fn entry(name: &str, is_whole: bool) -> (String, bool) {
    (name.to_owned(), is_whole)
}

#[test]
fn lookup_of_an_inner_export_keeps_to_its_rules() {
    let nest = Nest::new();
    let stranger = Caller::root(&nest.server);
    let into = Compound::new(0).path("/srv/a").lookup("secret").op::<Getfh>(&());
    assert_eq!(failure(stranger.compound(&into).skip_path("/srv/a").take::<Lookup>()), Status::Access);
    let friend = stranger.from(FRIEND);
    let mut results = friend.compound(&into);
    success(results.skip_path("/srv/a").take::<Lookup>());
    assert_eq!(results.handle().as_bytes(), friend.mount_path("/srv/a/secret").as_bytes());
    for (minor, name) in [(1, b"one"), (2, b"two")] {
        let session = Session::named(stranger, minor, name);
        let mut results = session.call(&session.begin().path("/srv/a/secret"));
        success(results.take::<proto::nfs4::Putrootfh>());
        success(results.take::<Lookup>());
        success(results.take::<Lookup>());
        assert_eq!(failure(results.take::<Lookup>()), Status::Access);
    }
}

#[test]
fn other_operations_by_name_do_not_get_into_an_inner_export_either() {
    let nest = Nest::new();
    let stranger = Caller::root(&nest.server);
    let secinfo = Compound::new(0).path("/srv/a").op::<Secinfo>(&SecinfoArgs { name: Component(b"secret") });
    assert_eq!(failure(stranger.compound(&secinfo).skip_path("/srv/a").take::<Secinfo>()), Status::Access);
    let session = Session::new(stranger, 1);
    let open = OpenArgs {
        seqid: 0,
        share_access: SHARE_ACCESS_READ | WANT_NO_DELEG,
        share_deny: SHARE_DENY_NONE,
        owner: StateOwner { client: proto::nfs4::ClientId(0), owner: b"owner" },
        how: OpenHow::NoCreate,
        claim: OpenClaim::Null(Component(b"secret")),
    };
    let mut results = session.call(&session.begin().path("/srv/a").op::<Open>(&open));
    assert!(matches!(results.skip_path("/srv/a").take::<Open>(), Res::Fail(Status::IsDir)));
}

#[test]
fn listing_of_the_outer_export_shows_the_inner_ones_root_or_why_not() {
    let nest = Nest::new();
    let stranger = Caller::root(&nest.server);
    let fsid = Attribute::set(&[Attribute::Fsid]);
    let with_error = Attribute::set(&[Attribute::Fsid, Attribute::RdattrError]);
    let friend = stranger.from(FRIEND);
    assert_eq!(listed(friend, "/srv/a", fsid), [entry("open", true), entry("secret", true)]);
    assert_eq!(listed(stranger, "/srv/a", with_error), [entry("open", true), entry("secret", false)]);
    let mut results = stranger.compound(&Compound::new(0).path("/srv/a").op::<Readdir>(&readdir(fsid)));
    let refused = failure(results.skip_path("/srv/a").take::<Readdir>());
    assert_eq!(refused, Status::Access, "no name is left out (RFC 8881 §18.23.3)");
    let fsid_of = |caller: Caller<'_>, path: &str| {
        let args = GetattrArgs { request: fsid };
        let mut results = caller.compound(&Compound::new(0).path(path).op::<Getattr>(&args));
        format!("{:?}", success(results.skip_path(path).take::<Getattr>()))
    };
    assert_ne!(fsid_of(friend, "/srv/a/secret"), fsid_of(friend, "/srv/a"));
}

/// exports(5): clients mount `server:/` and `server:/a/secret`, and in NFSv3 the whole paths.
#[test]
fn export_with_fsid_0_is_the_root_of_nfsv4_and_those_below_it_have_the_rest_of_their_paths() {
    let base = Scratch::new();
    base.dir("top/a/secret/sub");
    std::fs::write(base.path("top/a/open"), "open").unwrap();
    let open = |path: &str| {
        let state_dir = Some(base.path("state"));
        let options =
            HostOptions { handle_form: HandleForm::Store, state_dir, workers: WORKERS, ..HostOptions::default() };
        Arc::new(HostFs::open(&base.path(path), options).unwrap())
    };
    let root = Export { fsid: Some(0), ..export("/srv", open("top")) };
    let server =
        server(vec![export("/other", memory_with_files(1)), root, export("/srv/a/secret", open("top/a/secret"))]);
    let caller = Caller::root(&server);
    let fsid = Attribute::set(&[Attribute::Fsid]);
    assert_eq!(listed(caller, "/", fsid), [entry("a", true)]);
    assert_eq!(listed(caller, "/a", fsid), [entry("open", true), entry("secret", true)]);
    assert_eq!(listed(caller, "/a/secret", fsid), [entry("sub", true)]);
    for (path, path_of_v3) in [("/", "/srv"), ("/a/secret", "/srv/a/secret")] {
        let mut results = caller.compound(&Compound::new(0).path(path).op::<Getfh>(&()));
        assert_eq!(results.skip_path(path).handle().as_bytes(), caller.mount_path(path_of_v3).as_bytes(), "{path}");
    }
}

#[test]
fn tree_above_the_exports_hides_those_that_are_not_for_the_client() {
    let server = server(vec![
        export("/open", memory_with_files(1)),
        friends_only("/private", memory_with_files(1)),
        friends_only("/deep/down/private", memory_with_files(1)),
    ]);
    let stranger = Caller::root(&server);
    let fsid = Attribute::set(&[Attribute::Fsid]);
    assert_eq!(listed(stranger, "/", fsid), [entry("open", true)]);
    let friend = stranger.from(FRIEND);
    assert_eq!(listed(friend, "/", fsid), [entry("deep", true), entry("open", true), entry("private", true)]);
    assert_eq!(listed(friend, "/deep/down", fsid), [entry("private", true)]);
    for name in ["private", "deep"] {
        let mut results = stranger.compound(&Compound::new(0).path("/").lookup(name));
        assert_eq!(failure(results.skip_path("/").take::<Lookup>()), Status::Access, "{name}");
    }
}

#[test]
fn client_of_an_inner_export_alone_gets_to_it_past_the_outer_one() {
    let server =
        server(vec![friends_only("/srv", memory_with_files(1)), export("/srv/public/data", memory_with_files(2))]);
    let stranger = Caller::root(&server);
    let fsid = Attribute::set(&[Attribute::Fsid]);
    assert_eq!(listed(stranger, "/", fsid), [entry("srv", true)]);
    assert_eq!(listed(stranger, "/srv", fsid), [entry("public", true)]);
    assert_eq!(listed(stranger, "/srv/public/data", fsid), [entry("stable-0", true), entry("stable-1", true)]);
    let up = Compound::new(0).path("/srv/public/data").op::<Lookupp>(&()).op::<Lookupp>(&()).op::<Lookupp>(&());
    let mut results = stranger.compound(&up);
    results.skip_path("/srv/public/data");
    for _ in 0..3 {
        success(results.take::<Lookupp>());
    }
    assert_eq!(listed(stranger.from(FRIEND), "/srv", fsid), [entry("stable-0", true)]);
}
