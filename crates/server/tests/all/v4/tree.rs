//! The tree above the exports (RFC 7530 §7, RFC 8881 §7).

use proto::nfs4::{
    Attribute, AttributeValue, Fsid, Getattr, GetattrArgs, Getfh, Lookup, Lookupp, Readdir, ReaddirArgs, Status,
};

use testing::caller::{Caller, export, memory_with_files, server};
use testing::compound::{Compound, Results, failure, success};

const NO_COOKIE: [u8; 8] = [0; 8];

fn names(results: &mut Results) -> Vec<String> {
    let listed = success(results.take::<Readdir>());
    assert!(listed.eof);
    let mut names: Vec<_> = listed.entries.iter().map(|e| String::from_utf8_lossy(e.name.0).into_owned()).collect();
    names.sort();
    names
}

fn list(compound: Compound) -> Compound {
    let request = Attribute::set(&[Attribute::FileId, Attribute::Type]);
    compound.op::<Readdir>(&ReaddirArgs { cookie: 0, verifier: NO_COOKIE, dir_count: 4096, max_count: 65536, request })
}

fn several() -> server::Server {
    let exports = ["/srv/a", "/srv/b/deep", "/home"];
    server(exports.map(|name| export(name, memory_with_files(1))).into())
}

#[test]
fn walk_from_the_top_shows_the_exports_and_what_leads_to_them() {
    let server = several();
    let caller = Caller::root(&server);
    let at = |path: &str| names(caller.compound(&list(Compound::new(0).path(path))).skip_path(path));
    assert_eq!(at("/"), ["home", "srv"]);
    assert_eq!(at("/srv"), ["a", "b"]);
    assert_eq!(at("/srv/b"), ["deep"]);
    for export in ["/srv/a", "/srv/b/deep", "/home"] {
        assert_eq!(at(export), ["stable-0"]);
    }
}

/// The numbers of a directory in its own file system and in the one above.
fn numbers(caller: Caller<'_>, path: &str) -> (u64, u64) {
    let request = GetattrArgs { request: Attribute::set(&[Attribute::FileId, Attribute::MountedOnFileId]) };
    let mut results = caller.compound(&Compound::new(0).path(path).op::<Getattr>(&request));
    let fattr = success(results.skip_path(path).take::<Getattr>());
    let values: Vec<AttributeValue<'_>> = fattr.values().map(Result::unwrap).collect();
    match values[..] {
        [AttributeValue::FileId(own), AttributeValue::MountedOnFileId(covered)] => (own, covered),
        _ => panic!("{values:?}"),
    }
}

#[test]
fn root_of_an_export_has_the_number_of_the_directory_that_it_covers_too() {
    let server = several();
    let caller = Caller::root(&server);
    let [a, home, srv] = ["/srv/a", "/home", "/srv"].map(|path| numbers(caller, path));
    assert_eq!(a.0, home.0, "the roots of file systems in memory have the same number");
    assert!(a.1 != home.1 && a.1 != srv.1 && home.1 != srv.1, "{a:?} {home:?} {srv:?}");
    assert_eq!(srv.0, srv.1, "nothing is mounted there");
    let inside = numbers(caller, "/srv/a/stable-0");
    assert_eq!(inside.0, inside.1);
}

#[test]
fn every_export_has_its_own_fsid_and_the_tree_above_another() {
    let server = several();
    let fsid = |path: &str| -> Fsid {
        let request = GetattrArgs { request: Attribute::set(&[Attribute::Fsid]) };
        let mut results = Caller::root(&server).compound(&Compound::new(0).path(path).op::<Getattr>(&request));
        let fattr = success(results.skip_path(path).take::<Getattr>());
        match fattr.values().next() {
            Some(Ok(AttributeValue::Fsid(fsid))) => fsid,
            other => panic!("{other:?}"),
        }
    };
    let [a, deep, home, srv] = ["/srv/a", "/srv/b/deep", "/home", "/srv"].map(fsid);
    assert!(a != deep && a != home && deep != home, "{a:?} {deep:?} {home:?}");
    assert!(![a, deep, home].contains(&srv), "{srv:?}");
    assert_eq!(srv, fsid("/"));
}

#[test]
fn parent_of_an_exports_root_is_in_the_tree_above_and_the_top_has_none() {
    let server = several();
    let caller = Caller::root(&server);
    let up = Compound::new(0).path("/srv/b/deep").op::<Lookupp>(&()).op::<Getfh>(&());
    let mut results = caller.compound(&up);
    success(results.skip_path("/srv/b/deep").take::<Lookupp>());
    let parent = results.handle();
    let mut straight = caller.compound(&Compound::new(0).path("/srv/b").op::<Getfh>(&()));
    assert_eq!(parent, straight.skip_path("/srv/b").handle());

    let mut top = caller.compound(&Compound::new(0).path("/").op::<Lookupp>(&()));
    assert_eq!(failure(top.skip_path("/").take::<Lookupp>()), Status::NoEnt);
}

#[test]
fn name_that_leads_to_no_export_does_not_exist() {
    let server = several();
    let mut results = Caller::root(&server).compound(&Compound::new(0).path("/srv").lookup("c"));
    assert_eq!(failure(results.skip_path("/srv").take::<Lookup>()), Status::NoEnt);
}
