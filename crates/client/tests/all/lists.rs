//! What a server exports, who mounted it, and where its programs are.

use client::rpcbind::Query;
use client::{Reason, Transport, mountd, rpcbind};
use proto::mount::{self, Export, ExportNode, ExportReply, Group};
use proto::rpcbind::portmap::{self, Mapping};
use rpc::Rejection;

use crate::fake::{Answer, connect, options, results, serve};

#[tokio::test]
async fn exports_come_with_their_clients() {
    let address = serve(|question| {
        assert!(question.is::<Export<3>>());
        let groups = vec![Group { name: b"10.0.0.0/8" }, Group { name: b"host" }];
        let open = ExportNode { directory: b"/open", groups: Vec::new() };
        results(ExportReply { exports: vec![open, ExportNode { directory: b"/some", groups }] })
    })
    .await;
    let exports = mountd::exports(&connect(address, &options()).await).await.unwrap();
    assert_eq!(exports[0].clients.len(), 0);
    assert_eq!((&exports[1].directory[..], &exports[1].clients[1][..]), (&b"/some"[..], &b"host"[..]));
}

#[tokio::test]
async fn server_with_mount_version_1_only_is_asked_in_version_1() {
    let turn = std::sync::atomic::AtomicU32::new(0);
    let address = serve(move |_| match turn.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
        0 => Answer::Reject(Rejection::ProgramMismatch { low: 1, high: 1 }),
        _ => results(mount::DumpReply { mounts: vec![mount::Mount { host_name: b"me", directory: b"/d" }] }),
    })
    .await;
    let mounts = mountd::dump(&connect(address, &options()).await).await.unwrap();
    assert_eq!((&mounts[0].host[..], &mounts[0].directory[..]), (&b"me"[..], &b"/d"[..]));
}

fn nfs_over_tcp() -> Query {
    Query { program: proto::nfs3::PROGRAM, version: 3, transport: Transport::Tcp }
}

#[tokio::test]
async fn port_mapper_tells_the_port_and_that_there_is_none() {
    let address = serve(|question| {
        let mapping = question.arguments::<portmap::Getport>();
        results(if mapping.protocol == Mapping::TCP { 2049u32 } else { 0 })
    })
    .await;
    let connection = connect(address, &options()).await;
    assert_eq!(rpcbind::getport(&connection, nfs_over_tcp()).await.unwrap(), 2049);
    let datagram = Query { transport: Transport::Udp, ..nfs_over_tcp() };
    let error = rpcbind::getport(&connection, datagram).await.unwrap_err();
    assert!(matches!(error.reason(), Reason::NotRegistered { program: 100_003, version: 3 }), "{error}");
}

#[tokio::test]
async fn port_over_65535_is_no_port() {
    let address = serve(|_| results(70_000u32)).await;
    let error = rpcbind::getport(&connect(address, &options()).await, nfs_over_tcp()).await.unwrap_err();
    assert!(matches!(error.reason(), Reason::NotRegistered { .. }), "{error}");
}

#[tokio::test]
async fn old_port_mapper_is_dumped_in_version_2() {
    let address = serve(|question| {
        if question.version > 2 {
            return Answer::Reject(Rejection::ProgramMismatch { low: 2, high: 2 });
        }
        let mapping = Mapping { program: 100_003, version: 3, protocol: Mapping::UDP, port: 2049 };
        results(portmap::DumpReply { mappings: vec![mapping] })
    })
    .await;
    let services = rpcbind::dump(&connect(address, &options()).await).await.unwrap();
    let found = &services[0];
    assert_eq!((found.netid.as_str(), found.address.as_str(), found.port), ("udp", "0.0.0.0.8.1", Some(2049)));
}
