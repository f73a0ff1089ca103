//! Mounts of NFSv4 that fail: what they say, and that they leave nothing behind at the server.

use client::{Reason, SessionLimit};
use proto::nfs4::{ArgOp, Attribute, ChannelAttrs, CreateSessionArgs, CreateSessionOk, Res, ResOp, Status as Wire};

use crate::fake4;

fn session(args: &CreateSessionArgs, fore: ChannelAttrs) -> Option<ResOp<'static>> {
    let (session, sequence, flags, back) = (fake4::SESSION, args.sequence, args.flags, args.back);
    Some(ResOp::CreateSession(Res::Ok(CreateSessionOk { session, sequence, flags, fore, back })))
}

#[tokio::test]
async fn session_that_cannot_carry_the_requests_is_refused_with_what_it_offers_and_what_is_needed() {
    type Case = (SessionLimit, fn(&mut ChannelAttrs), u32, &'static str);
    let cases: [Case; 3] = [
        (SessionLimit::Operations, |fore| fore.max_operations = 7, 7, "room for 7 operations in a request, and 8"),
        (SessionLimit::RequestBytes, |fore| fore.max_request_size = 600, 600, "room for 600 bytes in a request"),
        (SessionLimit::ReplyBytes, |fore| fore.max_response_size = 5119, 5119, "5119 bytes in a reply, and 5120"),
    ];
    for (expected, change, offers, says) in cases {
        let (address, fake) = fake4::start(move |operation, _| match operation {
            ArgOp::CreateSession(args) => {
                let mut fore = args.fore;
                change(&mut fore);
                session(args, fore)
            }
            _ => None,
        })
        .await;
        let error = fake4::connect(address, "/").await.unwrap_err();
        let Reason::SessionTooSmall { limit, offered, needed } = error.reason() else { panic!("{error}") };
        assert_eq!((*limit, *offered), (expected, offers));
        assert!(needed > offered && error.to_string().contains(says), "{error}");
        let left = (fake.count("DestroySession"), fake.count("DestroyClientid"));
        assert_eq!(left, (1, 1), "{expected:?}: the server keeps nothing");
    }
}

#[tokio::test]
async fn least_session_that_is_taken_is_enough() {
    let (address, _) = fake4::start(move |operation, _| match operation {
        ArgOp::CreateSession(args) => {
            let fore = ChannelAttrs {
                max_operations: 8,
                max_request_size: 5120,
                max_response_size: 5120,
                max_requests: 1,
                ..args.fore
            };
            session(args, fore)
        }
        // It carries out whatever it is asked to, as long as there is room for it.
        ArgOp::Savefh => Some(ResOp::Savefh(Res::Ok(()))),
        _ => None,
    })
    .await;
    let mount = fake4::connect(address, "/").await.unwrap();
    assert_eq!((mount.sizes().read, mount.sizes().write), (4096, 4096));
    let root = mount.root().handle;
    // What needs the most operations is told that the server has none of the kind, and no more.
    let refused = mount.rename(&root, b"one", &root, b"two").await.unwrap_err();
    assert_eq!(refused.status(), Some(client::Status::NotSupported), "{refused}");
}

#[tokio::test]
async fn mount_that_fails_late_takes_leave() {
    type Failing = fn(&ArgOp<'_>) -> Option<ResOp<'static>>;
    let cases: [(&str, Failing); 4] = [
        ("no session", |operation| match operation {
            ArgOp::CreateSession(_) => Some(ResOp::CreateSession(Res::Fail(Wire::Access))),
            _ => None,
        }),
        ("nothing is reclaimed", |operation| match operation {
            ArgOp::ReclaimComplete(_) => Some(ResOp::ReclaimComplete(Res::Fail(Wire::ServerFault))),
            _ => None,
        }),
        ("no lease", |operation| match operation {
            ArgOp::Getattr(_) if fake4::asks_only(operation, Attribute::LeaseTime) => {
                Some(ResOp::Getattr(Res::Fail(Wire::Io)))
            }
            _ => None,
        }),
        ("the root is somebody else's", |operation| match operation {
            ArgOp::Getfh => Some(ResOp::Getfh(Res::Fail(Wire::Access))),
            _ => None,
        }),
    ];
    for (what, failing) in cases {
        let (address, fake) = fake4::start(move |operation, _| failing(operation)).await;
        let error = fake4::connect(address, "/").await.unwrap_err();
        assert!(error.status().is_some(), "{what}: {error}");
        let sessions = fake.count("CreateSession") - usize::from(what == "no session");
        let left = (fake.count("DestroySession"), fake.count("DestroyClientid"));
        assert_eq!(left, (sessions, 1), "{what}: the server keeps nothing");
    }
}
