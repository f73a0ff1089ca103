//! A server that lacks versions of its programs: in front of the real one, which speaks them all.

use std::net::SocketAddr;
use std::sync::Arc;

use buffer::Buffer;
use client::Version;
use proto::nfs4::{Compound, CompoundArgs, CompoundReplyHead, Status};
use proto::{Operation, nfs4};
use rpc::{Call, Rejection, Reply};
use tokio::net::tcp::OwnedWriteHalf;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;
use xdr::{Decode, Decoder, Encode, Encoder};

use super::proxy::{read_message, write_message};

/// What is said in the place of the server's reply to a call.
type Refuse = dyn Fn(&[u8]) -> Option<Vec<u8>> + Send + Sync;

/// Stands in front of a server, and refuses what is newer than `newest`; gives its address.
pub async fn start(server: SocketAddr, newest: Version) -> SocketAddr {
    refusing(server, Arc::new(move |message| refusal(message, newest))).await
}

/// Stands in front of a server, and has no such version of a program.
pub async fn lacking(server: SocketAddr, program: u32, version: u32) -> SocketAddr {
    refusing(server, Arc::new(move |message| refusal_of(message, (program, version)))).await
}

async fn refusing(server: SocketAddr, refuse: Arc<Refuse>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(carry(client, server, Arc::clone(&refuse)));
        }
    });
    address
}

async fn carry(client: TcpStream, server: SocketAddr, refuse: Arc<Refuse>) {
    let server = TcpStream::connect(server).await.unwrap();
    let (mut from_client, to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let to_client: &'static Mutex<OwnedWriteHalf> = Box::leak(Box::new(Mutex::new(to_client)));
    let downwards = tokio::spawn(async move {
        while let Some(message) = read_message(&mut from_server).await {
            write_message(&mut *to_client.lock().await, &message).await;
        }
    });
    while let Some(message) = read_message(&mut from_client).await {
        match refuse(&message) {
            Some(reply) => write_message(&mut *to_client.lock().await, &reply).await,
            None => write_message(&mut to_server, &message).await,
        }
    }
    downwards.abort();
}

/// The reply to a call of a version that there is not.
fn refusal_of(message: &[u8], (program, version): (u32, u32)) -> Option<Vec<u8>> {
    let call = Call::parse(message).unwrap();
    if (call.procedure.program, call.procedure.version) != (program, version) {
        return None;
    }
    let mut buffer = Buffer::new();
    let (low, high) = (1, version.saturating_sub(1));
    Reply::encode_rejection(call.xid, Rejection::ProgramMismatch { low, high }, &mut Encoder::new(&mut buffer));
    Some(buffer.as_slice().to_vec())
}

/// The reply to a call of a version that is too new.
fn refusal(message: &[u8], newest: Version) -> Option<Vec<u8>> {
    let call = Call::parse(message).unwrap();
    let (xid, procedure) = (call.xid, call.procedure);
    let mut buffer = Buffer::new();
    let mut to = Encoder::new(&mut buffer);
    let (mount_of_v3, highest) = (procedure.program == proto::mount::PROGRAM, newest.number());
    let high = if mount_of_v3 { highest.min(3) } else { highest };
    if procedure.program != nfs4::PROGRAM && !mount_of_v3 {
        return None;
    }
    if procedure.version > high {
        let (low, high) = if mount_of_v3 { (1, 1) } else { (2, high) };
        Reply::encode_rejection(xid, Rejection::ProgramMismatch { low, high }, &mut to);
        return Some(buffer.as_slice().to_vec());
    }
    if (procedure.version, procedure.number) != (nfs4::VERSION, Compound::PROCEDURE) {
        return None;
    }
    let compound = CompoundArgs::decode(&mut Decoder::new(call.arguments.rest())).unwrap();
    let is_spoken = matches!(newest, Version::V4(minor) if compound.minor_version <= minor.number());
    if is_spoken {
        return None;
    }
    Reply::encode_success(xid, &mut to);
    CompoundReplyHead { status: Status::MinorVersMismatch, tag: b"", results: 0 }.encode(&mut to);
    Some(buffer.as_slice().to_vec())
}
