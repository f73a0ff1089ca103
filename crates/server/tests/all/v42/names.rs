//! Owners by name and by number (RFC 8881 §5.9).

use std::io;

use proto::nfs4::*;
use server::{IdKind, NameService};

use crate::v42::client::Client;
use crate::v42::place::Volume;
use testing::caller::{Caller, EXPORT, export, server};

const FILE: &str = "/srv/export/file";

/// Knows alice, who is user 1000, and staff, which is group 50.
struct Known;

impl NameService for Known {
    fn name(&self, principal: IdKind, id: u32) -> io::Result<Option<String>> {
        Ok(match (principal, id) {
            (IdKind::User, 1000) => Some("alice".to_owned()),
            (IdKind::Group, 50) => Some("staff".to_owned()),
            _ => None,
        })
    }

    fn id(&self, principal: IdKind, name: &str) -> io::Result<Option<u32>> {
        Ok(match (principal, name) {
            (IdKind::User, "alice") => Some(1000),
            (IdKind::Group, "staff") => Some(50),
            _ => None,
        })
    }
}

/// Runs `test` with the superuser as the client of a server with a domain, if there is one.
fn with(domain: Option<&str>, test: impl Fn(&Client<'_>)) {
    let volume = Volume::memory();
    volume.file("file", 0, &[]);
    let mut server = server(vec![export(EXPORT, volume.fs.clone())]);
    if let Some(domain) = domain {
        server.name_owners(domain.to_owned(), Box::new(Known));
    }
    test(&Client::new(Caller::root(&server), 2));
}

fn set(client: &Client<'_>, value: AttributeValue<'_>) -> Status {
    let mut buffer = buffer::Buffer::new();
    let attributes = Fattr::collect(&[value], &mut buffer);
    client.on(FILE, ArgOp::Setattr(SetattrArgs { stateid: Stateid::ANONYMOUS, attributes })).0
}

fn owner(text: &str) -> AttributeValue<'_> {
    AttributeValue::Owner(Principal(text.as_bytes()))
}

fn group(text: &str) -> AttributeValue<'_> {
    AttributeValue::OwnerGroup(Principal(text.as_bytes()))
}

/// The names of the owner, of the group and in the list of the file.
fn names(client: &Client<'_>) -> Vec<String> {
    let request = Attribute::set(&[Attribute::Acl, Attribute::Owner, Attribute::OwnerGroup]);
    let ResOp::Getattr(Res::Ok(fattr)) = client.on(FILE, ArgOp::Getattr(GetattrArgs { request })).1 else {
        panic!("no attributes")
    };
    let of_value = |value: AttributeValue<'_>| match value {
        AttributeValue::Owner(name) | AttributeValue::OwnerGroup(name) => vec![name.0.to_vec()],
        AttributeValue::Acl(acl) => acl.aces.iter().map(|ace| ace.who.0.to_vec()).collect(),
        other => panic!("{other:?}"),
    };
    let names = fattr.values().flat_map(|value| of_value(value.unwrap()));
    names.map(|name| String::from_utf8(name).unwrap()).collect()
}

#[test]
fn owner_has_a_name_where_there_is_a_domain_and_a_number_else() {
    with(Some("example.org"), |client| {
        assert_eq!(set(client, owner("alice@EXAMPLE.org")), Status::Ok);
        assert_eq!(set(client, group("50")), Status::Ok);
        let told = names(client);
        assert!(told.contains(&"alice@example.org".to_owned()) && told.contains(&"staff@example.org".to_owned()));
        assert_eq!(set(client, owner("1001")), Status::Ok);
        assert!(names(client).contains(&"1001".to_owned()));
    });
    with(None, |client| {
        assert_eq!(set(client, owner("1000")), Status::Ok);
        assert_eq!(set(client, group("50@anything")), Status::Ok);
        let told = names(client);
        assert!(told.contains(&"1000".to_owned()) && told.contains(&"50".to_owned()));
    });
}

#[test]
fn name_that_cannot_be_translated_is_a_bad_owner() {
    for (domain, bad) in [
        (Some("example.org"), &["alice", "bob@example.org", "alice@example.com", "007", "+7", "4294967296"][..]),
        (None, &["alice", "alice@example.org", "007", "-1", "4294967296"][..]),
    ] {
        with(domain, |client| {
            for text in bad {
                assert_eq!(set(client, owner(text)), Status::BadOwner, "{text}");
                assert_eq!(set(client, group(text)), Status::BadOwner, "{text}");
            }
            for text in ["", "@example.org"] {
                assert_eq!(set(client, owner(text)), Status::Inval, "{text:?}");
            }
            let before = names(client);
            assert_eq!(set(client, group("staff@example.org")) == Status::Ok, domain.is_some());
            assert_eq!(names(client) == before, domain.is_none());
        });
    }
}

#[test]
fn access_list_has_names_as_owners_have() {
    with(Some("example.org"), |client| {
        let ace = |who: &'static str, flags| Ace {
            ace_type: ACE_ALLOW,
            flags,
            access_mask: ACE_READ_DATA,
            who: Principal(who.as_bytes()),
        };
        let list = vec![ace("alice@example.org", 0), ace("staff@example.org", ACE_FLAG_IDENTIFIER_GROUP)];
        assert_eq!(set(client, AttributeValue::Acl(Acl { aces: list })), Status::Ok);
        let told = names(client);
        assert!(told.contains(&"alice@example.org".to_owned()) && told.contains(&"staff@example.org".to_owned()));
        let nobody = AttributeValue::Acl(Acl { aces: vec![ace("staff@example.org", 0)] });
        assert_eq!(set(client, nobody), Status::BadOwner, "a group is no user");
        assert_eq!(names(client), told);
    });
}
