//! The newest version of NFS that the server speaks is taken, where there is a choice.

use std::net::SocketAddr;

use client::{Mount, Options, Reason, Result, Status, Transport, Version};
use rpc::Rejection;

use crate::fake;
use crate::real::{Export, older};

const ALL: [Version; 5] = [Version::V2, Version::V3, Version::V4_0, Version::V4_1, Version::V4_2];

async fn connect(address: SocketAddr, parameters: &str, options: Options) -> Result<Mount> {
    let url = format!("nfs://{address}/files{parameters}").parse().unwrap();
    Mount::connect(&url, &Options { use_privileged_port: false, ..options }).await
}

#[tokio::test]
async fn newest_version_of_the_server_is_found_from_the_top_down() {
    let export = Export::start();
    for newest in ALL {
        let address = older::start(export.address(), newest).await;
        let mount = connect(address, "", Options::negotiating()).await.unwrap();
        assert_eq!(mount.version(), newest);
        mount.lookup(&mount.root().handle, b"nothing").await.unwrap_err();
    }
}

#[tokio::test]
async fn version_4_of_a_url_means_the_newest_minor_one_and_no_other_version() {
    let export = Export::start();
    for newest in [Version::V4_0, Version::V4_1, Version::V4_2] {
        let address = older::start(export.address(), newest).await;
        assert_eq!(connect(address, "?version=4", Options::default()).await.unwrap().version(), newest);
    }
    let address = older::start(export.address(), Version::V3).await;
    let refused = connect(address, "?version=4", Options::negotiating()).await.unwrap_err();
    assert!(matches!(refused.reason(), Reason::Rejected(Rejection::ProgramMismatch { .. })), "{refused}");
}

#[tokio::test]
async fn version_that_is_named_is_spoken_or_nothing() {
    let export = Export::start();
    let address = older::start(export.address(), Version::V4_1).await;
    let refused = connect(address, "?version=4.2", Options::negotiating()).await.unwrap_err();
    assert_eq!(refused.status(), Some(Status::OtherMinor));
    let down_to_v4 = Options { lowest_version: Some(Version::V4_0), ..Options::negotiating() };
    let address = older::start(export.address(), Version::V3).await;
    assert!(connect(address, "", down_to_v4).await.is_err());
}

#[tokio::test]
async fn datagrams_are_negotiated_among_the_versions_that_have_them() {
    let export = Export::start();
    let options = Options { transport: Transport::Udp, ..Options::negotiating() };
    assert_eq!(connect(export.address(), "", options).await.unwrap().version(), Version::V3);
}

#[tokio::test]
async fn server_without_nfsv4_is_mounted_in_version_3() {
    let address = fake::serve(|question| match (question.program, question.version) {
        (proto::nfs3::PROGRAM, 4) => fake::Answer::Reject(Rejection::ProgramMismatch { low: 3, high: 3 }),
        _ => fake::basics(question),
    });
    let url = format!("nfs://{}/export", address.await).parse().unwrap();
    let mount = Mount::connect(&url, &Options { use_privileged_port: false, ..Options::negotiating() }).await.unwrap();
    assert_eq!(mount.version(), Version::V3);
}

#[tokio::test]
async fn port_where_nobody_listens_is_tried_once() {
    let (listener, address) = fake::listen().await;
    drop(listener);
    let refused = connect(address, "", Options::negotiating()).await.unwrap_err();
    assert!(matches!(refused.reason(), Reason::Connect { .. }), "{refused}");
}
