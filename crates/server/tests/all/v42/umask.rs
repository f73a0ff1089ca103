//! The umask of a client, which goes with the mode of what it makes (RFC 8275).

use proto::nfs4::{
    ArgOp, Attribute, AttributeValue, ClientId, Component, CreateHow, Fattr, GetattrArgs, ModeUmask, OpenArgs,
    OpenClaim, OpenHow, Res, ResOp, SHARE_ACCESS_READ, SHARE_DENY_NONE, StateOwner, Status,
};
use vfs::Context;

use crate::v42::client::Client;
use crate::v42::place::Volume;
use testing::caller::{Caller, EXPORT, export, memory_server, server};

const ASKED: AttributeValue<'static> = AttributeValue::ModeUmask(ModeUmask { mode: 0o666, umask: 0o027 });

/// Opens `name` with an exclusive create of 4.1 that carries the mode and the umask.
fn open_exclusively(client: &Client<'_>, name: &str) -> ResOp<'static> {
    let mut buffer = buffer::Buffer::new();
    let how = CreateHow::Exclusive41 { verifier: [5; 8], attributes: Fattr::collect(&[ASKED], &mut buffer) };
    let open = OpenArgs {
        seqid: 0,
        share_access: SHARE_ACCESS_READ,
        share_deny: SHARE_DENY_NONE,
        owner: StateOwner { client: ClientId(0), owner: b"owner" },
        how: OpenHow::Create(how),
        claim: OpenClaim::Null(Component(name.as_bytes())),
    };
    client.on(EXPORT, ArgOp::Open(open)).1
}

#[test]
fn umask_counts_in_an_exclusive_create() {
    for volume in Volume::both() {
        let server = server(vec![export(EXPORT, volume.fs.clone())]);
        let client = Client::new(Caller::root(&server), 2);
        let ResOp::Open(Res::Ok(opened)) = open_exclusively(&client, "new") else { panic!("it cannot be made") };
        assert!(opened.attributes_set.contains(Attribute::ModeUmask.number()));
        let made = volume.fs.attributes(&Context::ROOT, &volume.handle("new")).unwrap();
        assert_eq!(made.mode, 0o640);
    }
}

#[test]
fn umask_can_be_given_to_an_exclusive_create_from_4_2_on() {
    let server = memory_server();
    let request = Attribute::set(&[Attribute::SuppAttrExclCreat]);
    for (minor, has_umask) in [(1, false), (2, true)] {
        let client = Client::new(Caller::root(&server), minor);
        let ResOp::Getattr(Res::Ok(told)) = client.on(EXPORT, ArgOp::Getattr(GetattrArgs { request })).1 else {
            panic!("no attributes")
        };
        let Some(Ok(AttributeValue::SuppAttrExclCreat(settable))) = told.values().next() else { panic!("{told:?}") };
        assert_eq!(settable.contains(Attribute::ModeUmask.number()), has_umask, "4.{minor}");
    }
    let client = Client::new(Caller::root(&server), 1);
    let refused = open_exclusively(&client, "new");
    assert!(matches!(refused, ResOp::Open(Res::Fail(Status::Inval | Status::AttrNotSupp))), "{refused:?}");
}
