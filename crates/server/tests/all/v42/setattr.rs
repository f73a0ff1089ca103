//! SETATTR of several attributes at once: all of them or none (RFC 8881 §18.30).

use std::sync::Arc;

use fs_fault::{FaultFs, FaultPlan, Rules};
use proto::nfs4::{
    ACE_ALLOW, ACE_READ_DATA, Ace, Acl, ArgOp, Attribute, AttributeValue, Bitmap, Fattr, Principal, ResOp, SetattrArgs,
    Stateid, Status,
};
use vfs::{Acls, Attributes, Context, NewNode, Place, SetAttributes};

use crate::v42::client::Client;
use crate::v42::place::Volume;
use testing::caller::{Caller, EXPORT, export, server};

const FILE: &str = "/srv/export/file";

fn set(client: &Client<'_>, path: &str, values: &[AttributeValue<'_>]) -> (Status, Bitmap) {
    let mut buffer = buffer::Buffer::new();
    let attributes = Fattr::collect(values, &mut buffer);
    match client.on(path, ArgOp::Setattr(SetattrArgs { stateid: Stateid::ANONYMOUS, attributes })) {
        (status, ResOp::Setattr(result)) => (status, result.attributes_set),
        (_, other) => panic!("{other:?}"),
    }
}

/// An access list that lets a user read.
fn list() -> AttributeValue<'static> {
    let ace = Ace { ace_type: ACE_ALLOW, flags: 0, access_mask: ACE_READ_DATA, who: Principal(b"1000") };
    AttributeValue::Acl(Acl { aces: vec![ace] })
}

fn state(volume: &Volume) -> (Attributes, Acls) {
    let file = volume.handle("file");
    let attributes = volume.fs.attributes(&Context::ROOT, &file).unwrap();
    let times = Attributes { changed: attributes.modified, change: 0, accessed: attributes.modified, ..attributes };
    (times, volume.fs.acls(&Context::ROOT, &file).unwrap())
}

#[test]
fn size_mode_and_list_are_set_together_or_not_at_all() {
    for volume in Volume::both() {
        volume.file("file", 0, &[(0, b"some bytes")]);
        let faults = FaultPlan::default();
        let fs = Arc::new(FaultFs::new(volume.fs.clone(), faults.clone()));
        let server = server(vec![export(EXPORT, fs)]);
        let client = Client::new(Caller::root(&server), 2);
        if !volume.fs.properties().acls {
            println!("skipped: no access lists here");
            continue;
        }
        let all = [AttributeValue::Size(0), list(), AttributeValue::Mode(0o1755)];
        let before = state(&volume);
        for (fault, status) in [("set_acls:error=nospace@1", Status::NoSpc), ("set_attributes:error=io@1", Status::Io)]
        {
            faults.replace(fault.parse::<Rules>().unwrap());
            assert_eq!(set(&client, FILE, &all), (status, Bitmap::EMPTY));
            assert_eq!(state(&volume), before, "after {fault}");
        }
        faults.replace(Rules::default());
        let asked = Attribute::set(&[Attribute::Size, Attribute::Acl, Attribute::Mode]);
        assert_eq!(set(&client, FILE, &all), (Status::Ok, asked));
        let (attributes, acls) = state(&volume);
        assert_eq!((attributes.size_bytes, attributes.mode & 0o7000), (0, 0o1000));
        assert_eq!(acls.access.mode(), attributes.mode & 0o777);
        assert_ne!(attributes.mode & 0o777, 0o755, "the list decides the nine bits");
    }
}

#[test]
fn mode_of_a_symbolic_link_is_ignored_and_the_rest_is_set() {
    for volume in Volume::both() {
        let place = Place { dir: volume.fs.root(), name: vfs::Name::new(b"link").unwrap() };
        volume.fs.make_node(&Context::ROOT, place, NewNode::Symlink(b"x"), &SetAttributes::default()).unwrap();
        let server = server(vec![export(EXPORT, volume.fs.clone())]);
        let client = Client::new(Caller::root(&server), 1);
        let mode = || volume.fs.attributes(&Context::ROOT, &volume.handle("link")).unwrap().mode;
        let before = mode();
        let link = "/srv/export/link";
        assert_eq!(set(&client, link, &[AttributeValue::Mode(0o600)]), (Status::Ok, Bitmap::EMPTY));
        let old = AttributeValue::TimeModifySet(proto::nfs4::SetTime::ServerTime);
        let asked = [AttributeValue::Mode(0o600), old];
        assert_eq!(set(&client, link, &asked), (Status::Ok, Attribute::set(&[Attribute::TimeModifySet])));
        assert_eq!(mode(), before);
        let other = Client::new(Caller::root(&server).user(4321, 4321, &[]), 1);
        assert_eq!(set(&other, link, &[AttributeValue::Mode(0o600)]), (Status::Perm, Bitmap::EMPTY));
    }
}
