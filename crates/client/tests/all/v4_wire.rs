//! What NFSv4's client does when replies are lost and when the server calls it.

use std::net::SocketAddr;
use std::time::Duration;

use buffer::Buffer;
use client::{Mount, Options, Status, Version};
use proto::Operation;
use proto::nfs4::{
    CallbackArgOp, CallbackResOp, CbCompound, CbCompoundArgs, CbCompoundReply, CbNull, CbRecallArgs, CbSequenceArgs,
    FileHandle, OpNumber, Res, SessionId, SlotId, Stateid, Status as Wire,
};
use rpc::{CallResult, Credential, Procedure, Reply};
use vfs::SetAttributes;
use xdr::{Decode, Encode, Encoder};

use crate::real::Export;
use crate::real::proxy::{Proxy, XID};

async fn mount(address: SocketAddr, version: Version) -> Mount {
    let url = format!("nfs://{address}/files").parse().unwrap();
    let options = Options { version, use_privileged_port: false, ..Options::default() };
    Mount::connect(&url, &options).await.unwrap()
}

#[tokio::test]
async fn request_whose_reply_is_lost_is_carried_out_once() {
    let export = Export::start();
    for version in [Version::V4_1, Version::V4_2] {
        let proxy = Proxy::start(export.address()).await;
        let mount = mount(proxy.address, version).await;
        let root = mount.root().handle;
        mount.mkdir(&root, b"from", &SetAttributes::default()).await.unwrap();

        proxy.lose_reply_to(OpNumber::Rename as u32);
        mount.rename(&root, b"from", &root, b"to").await.unwrap();
        assert_eq!((proxy.seen(), proxy.connections()), (2, 2), "{version}: sent again over another connection");
        proxy.lose_reply_to(OpNumber::Remove as u32);
        mount.rmdir(&root, b"to").await.unwrap();
        assert_eq!(mount.lookup(&root, b"to").await.unwrap_err().status(), Some(Status::NoEntry));
    }
}

#[tokio::test]
async fn file_is_open_once_though_the_reply_to_its_open_was_lost() {
    let export = Export::start();
    for version in [Version::V4_0, Version::V4_1] {
        let proxy = Proxy::start(export.address()).await;
        let (mine, yours) = (mount(proxy.address, version).await, mount(export.address(), version).await);
        let root = mine.root().handle;
        let create = (vfs::CreateMode::Unchecked, SetAttributes::default());
        let alone = client::OpenOptions { denies_reads: true, create: Some(create), ..client::OpenOptions::write() };
        proxy.lose_reply_to(OpNumber::Open as u32);
        let file = mine.open(&root, b"file", &alone).await.unwrap();
        proxy.lose_reply_to(OpNumber::Close as u32);
        file.close().await.unwrap();
        yours.open(&root, b"file", &client::OpenOptions::read()).await.unwrap().close().await.unwrap();
        yours.remove(&root, b"file").await.unwrap();
    }
}

fn call<O: Operation>(arguments: &impl Encode) -> Vec<u8> {
    let mut buffer = Buffer::new();
    let mut to = Encoder::new(&mut buffer);
    let procedure = Procedure { program: O::PROGRAM, version: O::VERSION, number: O::PROCEDURE };
    procedure.encode_call(XID, &Credential::None, &mut to);
    arguments.encode(&mut to);
    buffer.as_slice().to_vec()
}

fn sequence(session: SessionId, sequence: u32) -> CallbackArgOp<'static> {
    let (slot, highest_slot) = (SlotId(0), SlotId(0));
    let referring_calls = Vec::new();
    CallbackArgOp::CbSequence(CbSequenceArgs {
        session,
        sequence,
        slot,
        highest_slot,
        cache_this: false,
        referring_calls,
    })
}

async fn compound(proxy: &Proxy, operations: Vec<CallbackArgOp<'static>>) -> (Wire, usize) {
    let arguments = CbCompoundArgs { tag: b"tag", minor_version: 1, callback_ident: 0, operations };
    let message = proxy.call_client(&call::<CbCompound>(&arguments)).await;
    let CallResult::Success(mut from) = Reply::parse(&message).unwrap().outcome else { panic!("{message:?}") };
    let reply = CbCompoundReply::decode(&mut from).unwrap();
    assert_eq!(reply.tag, b"tag");
    if reply.results.len() == 1 {
        assert!(matches!(reply.results[0], CallbackResOp::CbSequence(Res::Ok(_) | Res::Fail(_))));
    }
    (reply.status, reply.results.len())
}

#[tokio::test]
async fn callbacks_are_answered_over_the_clients_own_connection() {
    let export = Export::start();
    let proxy = Proxy::start(export.address()).await;
    let mount = mount(proxy.address, Version::V4_1).await;
    let message = proxy.call_client(&call::<CbNull>(&())).await;
    assert!(matches!(Reply::parse(&message).unwrap().outcome, CallResult::Success(_)));

    let session = proxy.session();
    assert_eq!(compound(&proxy, vec![sequence(session, 1)]).await, (Wire::Ok, 1));
    let recall = CbRecallArgs {
        stateid: Stateid { seqid: 1, other: *b"no stateid!!" },
        truncate: false,
        file: FileHandle::new(b"handle").unwrap(),
    };
    let recalled = vec![sequence(session, 2), CallbackArgOp::CbRecall(recall)];
    assert_eq!(compound(&proxy, recalled.clone()).await, (Wire::BadStateid, 2));
    assert_eq!(compound(&proxy, recalled).await, (Wire::BadStateid, 2), "the same again");
    assert_eq!(compound(&proxy, vec![sequence(session, 9)]).await, (Wire::SeqMisordered, 1));
    assert_eq!(compound(&proxy, vec![sequence(SessionId([9; 16]), 3)]).await, (Wire::BadSession, 1));
    assert_eq!(compound(&proxy, vec![CallbackArgOp::CbRecall(recall)]).await, (Wire::OpNotInSession, 0));
    mount.null().await.unwrap();
}

#[tokio::test]
async fn call_of_the_server_in_an_older_version_is_not_answered() {
    let export = Export::start();
    let proxy = Proxy::start(export.address()).await;
    let mount = mount(proxy.address, Version::V4_0).await;
    let answer = tokio::time::timeout(Duration::from_millis(100), proxy.call_client(&call::<CbNull>(&()))).await;
    assert!(answer.is_err());
    assert_eq!(mount.counters().invalid, 1);
    mount.null().await.unwrap();
}
