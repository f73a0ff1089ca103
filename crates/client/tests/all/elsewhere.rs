//! File systems that are at another server: the client says where, and does not follow.

use client::{Error, Reason, Status};
use proto::nfs4::{
    ArgOp, Attribute, AttributeValue, Component, FsLocation, FsLocations, Pathname, Res, ResOp, ServerName,
    Status as Wire,
};

use crate::fake4;

/// What a server says of the file `away`: nothing but where it is.
fn away(operation: &ArgOp<'_>, current: &[u8]) -> Option<ResOp<'static>> {
    if current != b"away" {
        return None;
    }
    match operation {
        ArgOp::Getfh => Some(ResOp::Getfh(Res::Fail(Wire::Moved))),
        ArgOp::Getattr(_) if fake4::asks_only(operation, Attribute::FsLocations) => {
            let servers = vec![ServerName(b"files2"), ServerName(b"192.0.2.7")];
            let root = Pathname { components: vec![Component(b"new"), Component(b"home")] };
            let locations = vec![FsLocation { servers, root }];
            let told = FsLocations { root: Pathname::default(), locations };
            Some(ResOp::Getattr(Res::Ok(fake4::fattr(&[AttributeValue::FsLocations(told)]))))
        }
        ArgOp::Getattr(_) => Some(ResOp::Getattr(Res::Fail(Wire::Moved))),
        ArgOp::Read(_) => Some(ResOp::Read(Res::Fail(Wire::Moved))),
        _ => None,
    }
}

fn assert_names_both(error: &Error) {
    let Reason::Moved { locations } = error.reason() else { panic!("{error}") };
    assert_eq!(locations.len(), 2, "{error}");
    let advice =
        "the file system is at another server; mount nfs://files2/new/home or nfs://192.0.2.7/new/home instead";
    assert!(error.to_string().contains(advice), "{error}");
    assert_eq!(error.status(), Some(Status::Moved));
}

#[tokio::test]
async fn referral_is_refused_when_it_is_mounted_and_names_what_to_mount() {
    let (address, _) = fake4::start(away).await;
    let refused = fake4::connect(address, "/away/below").await.unwrap_err();
    assert_names_both(&refused);
    assert_eq!(refused.file(), Some(&b"/away/below"[..]));
}

#[tokio::test]
async fn referral_is_refused_when_it_is_looked_up() {
    let (address, _) = fake4::start(away).await;
    let mount = fake4::connect(address, "/").await.unwrap();
    let root = mount.root().handle;
    assert_names_both(&mount.lookup(&root, b"away").await.unwrap_err());
    mount.lookup(&root, b"here").await.unwrap();
}

#[tokio::test]
async fn file_that_moved_while_it_was_used_says_where_it_is() {
    let (address, _) = fake4::start(away).await;
    let mount = fake4::connect(address, "/").await.unwrap();
    let handle = client::Handle::new(b"away").unwrap();
    assert_names_both(&mount.getattr(&handle).await.unwrap_err());
    assert_names_both(&mount.read(&handle, 0, 10).await.unwrap_err());
}

#[tokio::test]
async fn server_that_does_not_say_where_is_asked_once_and_believed() {
    let (address, fake) = fake4::start(|operation, current| match operation {
        ArgOp::Getattr(_) if current == b"away" => Some(ResOp::Getattr(Res::Fail(Wire::Moved))),
        ArgOp::Getfh if current == b"away" => Some(ResOp::Getfh(Res::Fail(Wire::Moved))),
        _ => None,
    })
    .await;
    let mount = fake4::connect(address, "/").await.unwrap();
    let before = fake.count("Lookup");
    let refused = mount.lookup(&mount.root().handle, b"away").await.unwrap_err();
    assert!(matches!(refused.reason(), Reason::Moved { locations } if locations.is_empty()), "{refused}");
    assert_eq!(fake.count("Lookup"), before + 2);
}

#[tokio::test]
async fn client_says_nothing_of_itself_that_linux_takes_for_a_broken_request() {
    let (address, fake) = fake4::start(|operation, _| match operation {
        ArgOp::ExchangeId(args) if args.implementation.is_some_and(|id| id.domain.is_empty()) => {
            Some(ResOp::ExchangeId(Res::Fail(Wire::BadXdr)))
        }
        _ => None,
    })
    .await;
    fake4::connect(address, "/").await.unwrap();
    assert_eq!(fake.count("ExchangeId"), 1);
}
