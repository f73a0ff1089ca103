//! Extended attributes (RFC 8276).

use proto::nfs4::{
    ACCESS_READ, ACCESS_XALIST, ACCESS_XAREAD, ACCESS_XAWRITE, AccessArgs, AccessOk, ArgOp, Attribute, AttributeValue,
    Component, GetattrArgs, GetxattrArgs, ListxattrsArgs, ListxattrsOk, RemovexattrArgs, Res, ResOp, SetxattrArgs,
    SetxattrOption, Status,
};
use server::{ExportOptions, Squash};
use vfs::{Context, Name, NewNode, Place, SetAttributes};

use crate::v42::client::Client;
use crate::v42::place::Volume;
use testing::caller::{Caller, EXPORT, export, export_with, server};

const FILE: &str = "/srv/export/file";

fn set(client: &Client<'_>, (name, value): (&[u8], &[u8]), option: SetxattrOption) -> Status {
    client.on(FILE, ArgOp::Setxattr(SetxattrArgs { option, name: Component(name), value })).0
}

fn get(client: &Client<'_>, name: &[u8]) -> Result<Vec<u8>, Status> {
    match client.on(FILE, ArgOp::Getxattr(GetxattrArgs { name: Component(name) })).1 {
        ResOp::Getxattr(Res::Ok(ok)) => Ok(ok.value.to_vec()),
        ResOp::Getxattr(Res::Fail(status)) => Err(status),
        other => panic!("{other:?}"),
    }
}

fn list(client: &Client<'_>, cookie: u64, max_count: u32) -> Result<ListxattrsOk<'static>, Status> {
    list_of(client, FILE, cookie, max_count)
}

fn list_of(client: &Client<'_>, path: &str, cookie: u64, max_count: u32) -> Result<ListxattrsOk<'static>, Status> {
    match client.on(path, ArgOp::Listxattrs(ListxattrsArgs { cookie, max_count })).1 {
        ResOp::Listxattrs(Res::Ok(ok)) => Ok(ok),
        ResOp::Listxattrs(Res::Fail(status)) => Err(status),
        other => panic!("{other:?}"),
    }
}

/// Runs `test` on every file system that has extended attributes, and says which has none.
fn on_each(test: impl Fn(&Volume, &Client<'_>)) {
    for volume in Volume::both() {
        if !volume.fs.properties().xattrs {
            println!("skipped: the directory for temporary files has no extended attributes");
            continue;
        }
        volume.file("file", 0, &[]);
        let server = server(vec![export(EXPORT, volume.fs.clone())]);
        test(&volume, &Client::new(Caller::root(&server), 2));
    }
}

#[test]
fn attribute_is_made_replaced_and_removed_as_its_option_says() {
    on_each(|_, client| {
        assert_eq!(get(client, b"a"), Err(Status::NoXattr));
        assert_eq!(set(client, (b"a", b"1"), SetxattrOption::Replace), Status::NoXattr);
        assert_eq!(set(client, (b"a", b"1"), SetxattrOption::Create), Status::Ok);
        assert_eq!(set(client, (b"a", b"2"), SetxattrOption::Create), Status::Exist);
        assert_eq!(set(client, (b"a", b"3"), SetxattrOption::Replace), Status::Ok);
        assert_eq!(set(client, (b"a", b"four"), SetxattrOption::Either), Status::Ok);
        assert_eq!(get(client, b"a"), Ok(b"four".to_vec()));
        let remove = || client.on(FILE, ArgOp::Removexattr(RemovexattrArgs { name: Component(b"a") })).0;
        assert_eq!((remove(), remove()), (Status::Ok, Status::NoXattr));
        assert_eq!(get(client, b"a"), Err(Status::NoXattr));
        assert_eq!(set(client, (b"", b"1"), SetxattrOption::Either), Status::Inval);
        assert_eq!(set(client, (&[b'n'; 251], b"1"), SetxattrOption::Either), Status::NameTooLong);
    });
}

#[test]
fn change_attribute_moves_with_an_extended_attribute() {
    on_each(|_, client| {
        let args = SetxattrArgs { option: SetxattrOption::Either, name: Component(b"a"), value: b"1" };
        match client.on(FILE, ArgOp::Setxattr(args)).1 {
            ResOp::Setxattr(Res::Ok(change)) => assert_ne!(change.before, change.after),
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn names_are_listed_once_each_however_few_fit_into_a_reply() {
    on_each(|volume, client| {
        let names: Vec<String> = (0..20).map(|number| format!("name-{number:02}")).collect();
        for name in &names {
            assert_eq!(
                set(client, (name.as_bytes(), b"v"), SetxattrOption::Create),
                Status::Ok,
                "{}",
                volume.is_host()
            );
        }
        let (mut listed, mut cookie) = (Vec::new(), 0);
        loop {
            let part = list(client, cookie, 16 + 3 * 12).unwrap();
            assert!((1..=3).contains(&part.names.len()));
            listed.extend(part.names.iter().map(|name| String::from_utf8(name.0.to_vec()).unwrap()));
            cookie = part.cookie;
            if part.eof {
                break;
            }
        }
        assert_eq!(listed, names);
        assert_eq!(list(client, 0, 20), Err(Status::TooSmall));
        assert_eq!(list(client, 21, 4096), Err(Status::BadCookie));
    });
}

/// A client passes listxattr(2) on, and programs that copy trees call it for every file.
#[test]
fn file_that_can_have_no_attributes_has_an_empty_list() {
    on_each(|volume, client| {
        for (name, node) in [("fifo", NewNode::Fifo), ("socket", NewNode::Socket), ("link", NewNode::Symlink(b"file"))]
        {
            let place = Place { dir: volume.fs.root(), name: Name::new(name.as_bytes()).unwrap() };
            volume.fs.make_node(&Context::ROOT, place, node, &SetAttributes::default()).unwrap();
            let path = format!("{EXPORT}/{name}");
            let all = list_of(client, &path, 0, 4096).unwrap();
            assert!(all.names.is_empty() && all.eof, "{name}: {all:?}");
            let set = SetxattrArgs { option: SetxattrOption::Either, name: Component(b"a"), value: b"1" };
            assert_eq!(client.on(&path, ArgOp::Setxattr(set)).0, Status::WrongType, "{name}");
        }
    });
}

#[test]
fn who_may_only_read_reads_attributes_and_access_says_so() {
    on_each(|volume, client| {
        assert_eq!(set(client, (b"a", b"1"), SetxattrOption::Either), Status::Ok);
        let server = server(vec![export(EXPORT, volume.fs.clone())]);
        let user = Client::new(Caller::root(&server).user(1000, 1000, &[]), 2);
        assert_eq!(get(&user, b"a"), Ok(b"1".to_vec()));
        assert_eq!(set(&user, (b"a", b"2"), SetxattrOption::Either), Status::Access);
        let all = ACCESS_READ | ACCESS_XAREAD | ACCESS_XAWRITE | ACCESS_XALIST;
        let granted = AccessOk { supported: all, access: all & !ACCESS_XAWRITE };
        let asked = ArgOp::Access(AccessArgs { access: all });
        assert_eq!(user.on(FILE, asked.clone()).1, ResOp::Access(Res::Ok(granted)));
        let older = Client::new(Caller::root(&server), 1).on(FILE, asked).1;
        assert_eq!(older, ResOp::Access(Res::Ok(AccessOk { supported: ACCESS_READ, access: ACCESS_READ })));
    });
}

#[test]
fn value_above_64_kib_is_too_big() {
    on_each(|_, client| {
        for length in [(64 << 10) + 1, 200_000] {
            assert_eq!(set(client, (b"large", &vec![7; length]), SetxattrOption::Either), Status::Xattr2Big);
        }
    });
}

#[test]
fn export_that_hides_extended_attributes_has_none() {
    let volume = Volume::memory();
    volume.file("file", 0, &[]);
    let hidden = ExportOptions { offers_xattrs: false, squash: Squash::None, ..ExportOptions::default() };
    let server = server(vec![export_with(EXPORT, volume.fs.clone(), hidden)]);
    let client = Client::new(Caller::root(&server), 2);
    assert_eq!(set(&client, (b"name", b"value"), SetxattrOption::Either), Status::NotSupp);
    assert_eq!(list(&client, 0, 4096).unwrap_err(), Status::NotSupp);
    let request = Attribute::set(&[Attribute::XattrSupport]);
    let told = client.on(FILE, ArgOp::Getattr(GetattrArgs { request })).1;
    let ResOp::Getattr(Res::Ok(fattr)) = told else { panic!("{told:?}") };
    assert_eq!(fattr.values().next(), Some(Ok(AttributeValue::XattrSupport(false))));
}
