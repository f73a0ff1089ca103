//! Access lists (RFC 8881 §6), over the lists of POSIX that file systems keep.

use proto::nfs4::*;
use vfs::{AclTag, Acls, Context};

use crate::v42::client::Client;
use crate::v42::place::Volume;
use testing::caller::{Caller, EXPORT, export, server};

const ROOT: &str = "/srv/export";
const FILE: &str = "/srv/export/file";

/// Runs `test` on every file system that has access lists, with the superuser as its client, and says which has none.
fn on_each(test: impl Fn(&Volume, &Client<'_>)) {
    for volume in Volume::both() {
        if !volume.fs.properties().acls {
            println!("skipped: the directory for temporary files has no access lists");
            continue;
        }
        volume.file("file", 0, &[]);
        let server = server(vec![export(EXPORT, volume.fs.clone())]);
        test(&volume, &Client::new(Caller::root(&server), 2));
    }
}

fn allow(who: &str, access_mask: u32, flags: u32) -> Ace<'_> {
    Ace { ace_type: ACE_ALLOW, flags, access_mask, who: Principal(who.as_bytes()) }
}

fn set(client: &Client<'_>, path: &str, values: &[AttributeValue<'_>]) -> Status {
    let mut buffer = buffer::Buffer::new();
    let attributes = Fattr::collect(values, &mut buffer);
    client.on(path, ArgOp::Setattr(SetattrArgs { stateid: Stateid::ANONYMOUS, attributes })).0
}

fn set_acl(client: &Client<'_>, path: &str, aces: &[Ace<'_>]) -> Status {
    set(client, path, &[AttributeValue::Acl(Acl { aces: aces.to_vec() })])
}

fn get(client: &Client<'_>, path: &str, attribute: Attribute) -> AttributeValue<'static> {
    let request = Attribute::set(&[attribute]);
    match client.on(path, ArgOp::Getattr(GetattrArgs { request })).1 {
        ResOp::Getattr(Res::Ok(fattr)) => fattr.values().next().unwrap().unwrap(),
        other => panic!("{other:?}"),
    }
}

/// The ways that a user has to use a file, by number, out of reading, writing and running it.
fn granted(client: &Client<'_>, uid: u32, path: &str) -> u32 {
    let user = Client::new(client.caller.user(uid, uid, &[]), 2);
    let all = ACCESS_READ | ACCESS_MODIFY | ACCESS_EXECUTE;
    match user.on(path, ArgOp::Access(AccessArgs { access: all })).1 {
        ResOp::Access(Res::Ok(ok)) => ok.access,
        other => panic!("{other:?}"),
    }
}

const WRITE: u32 = ACE_WRITE_DATA | ACE_APPEND_DATA;

/// The owner reads and writes, and user 1000 reads.
fn with_a_reader() -> [Ace<'static>; 2] {
    [allow("OWNER@", ACE_READ_DATA | WRITE, 0), allow("1000", ACE_READ_DATA, 0)]
}

#[test]
fn list_that_is_set_decides_and_sets_the_mode() {
    on_each(|_, client| {
        assert_eq!(granted(client, 1000, FILE), ACCESS_READ);
        let change = get(client, FILE, Attribute::Change);
        assert_eq!(set_acl(client, FILE, &with_a_reader()), Status::Ok);
        assert_eq!(granted(client, 1000, FILE), ACCESS_READ);
        assert_eq!(granted(client, 1001, FILE), 0);
        assert_eq!(get(client, FILE, Attribute::Mode), AttributeValue::Mode(0o640));
        assert_ne!(get(client, FILE, Attribute::Change), change);
    });
}

#[test]
fn mode_that_is_set_bounds_the_list() {
    on_each(|_, client| {
        assert_eq!(set_acl(client, FILE, &with_a_reader()), Status::Ok);
        assert_eq!(set(client, FILE, &[AttributeValue::Mode(0o604)]), Status::Ok);
        assert_eq!(granted(client, 1000, FILE), 0);
        assert_eq!(granted(client, 1001, FILE), ACCESS_READ);
        let both = [AttributeValue::Acl(Acl { aces: with_a_reader().to_vec() }), AttributeValue::Mode(0o2777)];
        assert_eq!(set(client, FILE, &both), Status::Ok);
        assert_eq!(get(client, FILE, Attribute::Mode), AttributeValue::Mode(0o2640), "the mode comes first");
    });
}

#[test]
fn told_list_can_be_set_again_and_is_the_same_to_verify() {
    on_each(|_, client| {
        assert_eq!(set_acl(client, FILE, &with_a_reader()), Status::Ok);
        let told = get(client, FILE, Attribute::Acl);
        let AttributeValue::Acl(acl) = &told else { panic!("{told:?}") };
        assert!(acl.aces.iter().any(|ace| ace.who.0 == b"1000" && ace.ace_type == ACE_ALLOW));
        assert_eq!(get(client, FILE, Attribute::Dacl), AttributeValue::Dacl(Acl41 { flags: 0, acl: acl.clone() }));
        assert_eq!(set(client, FILE, std::slice::from_ref(&told)), Status::Ok);
        assert_eq!(get(client, FILE, Attribute::Acl), told);
        let mut buffer = buffer::Buffer::new();
        let attributes = Fattr::collect(std::slice::from_ref(&told), &mut buffer);
        assert_eq!(client.on(FILE, ArgOp::Verify(VerifyArgs { attributes })).0, Status::Ok);
        assert_eq!(client.on(ROOT, ArgOp::Verify(VerifyArgs { attributes })).0, Status::NotSame);
    });
}

#[test]
fn list_is_set_by_the_owner_alone_and_refused_where_it_cannot_be_kept() {
    on_each(|_, client| {
        let before = get(client, FILE, Attribute::Acl);
        let user = Client::new(client.caller.user(1000, 1000, &[]), 2);
        assert_eq!(set_acl(&user, FILE, &with_a_reader()), Status::Perm);
        let audit = Ace { ace_type: ACE_AUDIT, ..allow("1000", ACE_READ_DATA, 0) };
        assert_eq!(set_acl(client, FILE, &[audit]), Status::AttrNotSupp);
        assert_eq!(set_acl(client, FILE, &[allow("NETWORK@", ACE_READ_DATA, 0)]), Status::AttrNotSupp);
        assert_eq!(set_acl(client, FILE, &[allow("nobody-here", ACE_READ_DATA, 0)]), Status::BadOwner);
        let flags = ACE_FLAG_FILE_INHERIT | ACE_FLAG_DIRECTORY_INHERIT;
        assert_eq!(set_acl(client, FILE, &[allow("1000", ACE_READ_DATA, flags)]), Status::AttrNotSupp);
        let protected = Acl41 { flags: ACL_PROTECTED, acl: Acl::default() };
        assert_eq!(set(client, FILE, &[AttributeValue::Dacl(protected)]), Status::AttrNotSupp);
        assert_eq!(get(client, FILE, Attribute::Acl), before);
    });
}

fn make_directory(client: &Client<'_>, values: &[AttributeValue<'_>]) -> Bitmap {
    let mut buffer = buffer::Buffer::new();
    let attributes = Fattr::collect(values, &mut buffer);
    let args = CreateArgs { kind: CreateType::Directory, name: Component(b"made"), attributes };
    match client.on(ROOT, ArgOp::Create(args)).1 {
        ResOp::Create(Res::Ok(made)) => made.attributes_set,
        other => panic!("{other:?}"),
    }
}

#[test]
fn new_directory_inherits_the_default_list_and_then_no_umask() {
    on_each(|volume, client| {
        let both = ACE_FLAG_FILE_INHERIT | ACE_FLAG_DIRECTORY_INHERIT;
        let list = [
            allow("OWNER@", ACE_READ_DATA | WRITE | ACE_DELETE_CHILD | ACE_EXECUTE, both),
            allow("1000", ACE_READ_DATA | WRITE | ACE_DELETE_CHILD | ACE_EXECUTE, both),
        ];
        assert_eq!(set_acl(client, ROOT, &list), Status::Ok);
        let umask = AttributeValue::ModeUmask(ModeUmask { mode: 0o777, umask: 0o077 });
        make_directory(client, &[umask]);
        let made = volume.handle("made");
        let acls = volume.fs.acls(&Context::ROOT, &made).unwrap();
        assert_eq!(acls.access.mode(), 0o770);
        assert!(acls.default.is_some_and(|default| default.get(AclTag::User(1000)).is_some()));
        assert_eq!(granted(client, 1000, "/srv/export/made") & ACCESS_READ, ACCESS_READ);
    });
}

#[test]
fn umask_counts_where_nothing_is_inherited() {
    on_each(|volume, client| {
        make_directory(client, &[AttributeValue::ModeUmask(ModeUmask { mode: 0o777, umask: 0o027 })]);
        let acls = volume.fs.acls(&Context::ROOT, &volume.handle("made")).unwrap();
        assert_eq!((acls.access.mode(), acls.default), (0o750, None));
    });
}

#[test]
fn list_given_at_birth_takes_the_place_of_what_is_inherited() {
    on_each(|volume, client| {
        let both = ACE_FLAG_FILE_INHERIT | ACE_FLAG_DIRECTORY_INHERIT;
        assert_eq!(set_acl(client, ROOT, &[allow("EVERYONE@", ACE_READ_DATA, both)]), Status::Ok);
        let list = AttributeValue::Acl(Acl { aces: with_a_reader().to_vec() });
        let set = make_directory(client, &[list, AttributeValue::Mode(0o777)]);
        assert_eq!(set, Attribute::set(&[Attribute::Acl, Attribute::Mode]));
        let Acls { access, default } = volume.fs.acls(&Context::ROOT, &volume.handle("made")).unwrap();
        assert!(default.is_none() && access.get(AclTag::User(1000)).is_some());
        assert_eq!(access.get(AclTag::Other), Some(vfs::Access::NONE));
    });
}

#[test]
fn open_makes_a_file_with_a_list() {
    on_each(|volume, client| {
        let mut buffer = buffer::Buffer::new();
        let list = AttributeValue::Acl(Acl { aces: with_a_reader().to_vec() });
        let attributes = Fattr::collect(&[list], &mut buffer);
        let args = OpenArgs {
            seqid: 0,
            share_access: SHARE_ACCESS_READ,
            share_deny: SHARE_DENY_NONE,
            owner: StateOwner { client: ClientId(0), owner: b"owner" },
            how: OpenHow::Create(CreateHow::Guarded(attributes)),
            claim: OpenClaim::Null(Component(b"made")),
        };
        match client.on(ROOT, ArgOp::Open(args)).1 {
            ResOp::Open(Res::Ok(opened)) => assert_eq!(opened.attributes_set, Attribute::set(&[Attribute::Acl])),
            other => panic!("{other:?}"),
        }
        let acls = volume.fs.acls(&Context::ROOT, &volume.handle("made")).unwrap();
        assert_eq!(acls.access.get(AclTag::User(1000)), Some(vfs::Access::READ));
        assert_eq!(granted(client, 1000, "/srv/export/made"), ACCESS_READ);
        assert_eq!(granted(client, 1001, "/srv/export/made"), 0);
    });
}
