//! Several connections of one session all lead to one server, whatever stands at its address.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use client::{Mount, Options, Reason, Tunnel};
use proto::nfs4::{ArgOp, ExchangeIdOk, Res, ResOp, ServerOwner};
use tokio::net::TcpStream;

use crate::fake4;

/// What a server calls itself: its scope, and its owner's major and minor id.
type Name = (&'static [u8], &'static [u8], u64);

const NAME: Name = (b"scope", b"major", 1);

/// A server of that name, which takes any session for one of its own.
async fn server((scope, major_id, minor_id): Name) -> (SocketAddr, Arc<fake4::Fake>) {
    fake4::start(move |operation, _| match operation {
        ArgOp::ExchangeId(_) => {
            let server_owner = ServerOwner { minor_id, major_id };
            Some(ResOp::ExchangeId(Res::Ok(ExchangeIdOk { server_owner, ..fake4::exchanged(scope) })))
        }
        _ => None,
    })
    .await
}

/// Mounts an address at which the first connection meets one server and all others another one.
async fn mount(first: SocketAddr, others: SocketAddr, connections: usize) -> client::Result<Mount> {
    let count = AtomicUsize::new(0);
    let tunnel = Tunnel::new(move |_| {
        let is_first = count.fetch_add(1, Ordering::Relaxed) == 0;
        TcpStream::connect(if is_first { first } else { others })
    });
    let options = Options { tunnel: Some(tunnel), connections, ..fake4::options() };
    Mount::connect(&"nfs://192.0.2.1:2049/".parse().unwrap(), &options).await
}

#[tokio::test]
async fn connection_that_leads_to_another_server_is_refused_before_it_is_used() {
    let (first, _) = server(NAME).await;
    let others: [Name; 3] = [(b"other", b"major", 1), (b"scope", b"other", 1), (b"scope", b"major", 2)];
    for name in others {
        let (other, fake) = server(name).await;
        let error = mount(first, other, 2).await.unwrap_err();
        assert!(matches!(error.reason(), Reason::OtherServer { .. }), "{name:?}: {error}");
        assert!(error.to_string().contains("mount with nconnect=1"), "{error}");
        assert_eq!((fake.count("BindConnToSession"), fake.count("Sequence")), (0, 0), "{name:?}");
        mount(first, other, 1).await.unwrap();
    }
}

#[tokio::test]
async fn connections_to_two_addresses_of_one_server_share_a_session() {
    let ((first, one), (second, another)) = (server(NAME).await, server(NAME).await);
    let mount = mount(first, second, 3).await.unwrap();
    for _ in 0..6 {
        mount.getattr(&mount.root().handle).await.unwrap();
    }
    assert_eq!((one.count("CreateSession"), another.count("CreateSession")), (1, 0));
    assert_eq!(another.count("BindConnToSession"), 2);
    assert!(one.count("Getattr") > 0 && another.count("Getattr") > 0);
}
