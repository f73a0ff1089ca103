//! A wire between client and server on which replies to READ_PLUS are forged.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use buffer::Buffer;
use proto::Operation;
use proto::nfs4::{
    ArgOp, Compound, CompoundArgs, CompoundReplyHead, OpNumber, ReadPlusArgs, ReadPlusOk, Res, SequenceOk, Status,
};
use rpc::{CallResult, Reply};
use tokio::net::{TcpListener, TcpStream};
use xdr::{Decode, Decoder, Encode, Encoder};

use super::proxy::{read_message, write_message};

/// What is said in the place of the server's reply, if anything. The number counts the READ_PLUS from 0 on.
pub type Forge = dyn Fn(usize, &ReadPlusArgs) -> Option<Res<ReadPlusOk<'static>>> + Send + Sync;

pub struct Forger {
    pub address: SocketAddr,
    asked: Arc<Mutex<Vec<ReadPlusArgs>>>,
}

impl Forger {
    pub async fn start(server: SocketAddr, forge: Box<Forge>) -> Forger {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (asked, forge): (Arc<Mutex<Vec<ReadPlusArgs>>>, Arc<Forge>) = (Arc::default(), forge.into());
        let log = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                // At the end of a test the server may be gone before its clients.
                let Ok(server) = TcpStream::connect(server).await else { break };
                tokio::spawn(carry(client, server, Arc::clone(&forge), Arc::clone(&log)));
            }
        });
        Forger { address, asked }
    }

    /// Every READ_PLUS that came.
    pub fn asked(&self) -> Vec<ReadPlusArgs> {
        self.asked.lock().unwrap().clone()
    }
}

async fn carry(client: TcpStream, server: TcpStream, forge: Arc<Forge>, log: Arc<Mutex<Vec<ReadPlusArgs>>>) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let forged: Arc<Mutex<HashMap<[u8; 4], Res<ReadPlusOk<'static>>>>> = Arc::default();
    let plans = Arc::clone(&forged);
    tokio::spawn(async move {
        while let Some(message) = read_message(&mut from_client).await {
            if let Some(arguments) = read_plus(&message) {
                let number = {
                    let mut log = log.lock().unwrap();
                    log.push(arguments);
                    log.len() - 1
                };
                if let Some(result) = forge(number, &arguments) {
                    plans.lock().unwrap().insert(*message.first_chunk().unwrap(), result);
                }
            }
            write_message(&mut to_server, &message).await;
        }
    });
    while let Some(message) = read_message(&mut from_server).await {
        let result = forged.lock().unwrap().remove(message.first_chunk().unwrap());
        let message = result.map_or(message.clone(), |result| replace(&message, &result));
        write_message(&mut to_client, &message).await;
    }
}

/// The READ_PLUS of a request, if there is one in it.
fn read_plus(message: &[u8]) -> Option<ReadPlusArgs> {
    let call = rpc::Call::parse(message).unwrap();
    if call.procedure.number != Compound::PROCEDURE {
        return None;
    }
    let compound = CompoundArgs::decode(&mut Decoder::new(call.arguments.rest())).unwrap();
    compound.operations.iter().find_map(|operation| match operation {
        ArgOp::ReadPlus(arguments) => Some(*arguments),
        _ => None,
    })
}

/// A reply to SEQUENCE, PUTFH and READ_PLUS with another end.
fn replace(message: &[u8], result: &Res<ReadPlusOk<'_>>) -> Vec<u8> {
    let reply = Reply::parse(message).unwrap();
    let CallResult::Success(mut from) = reply.outcome else { panic!("the call was refused") };
    let body = from.rest();
    let head_at = message.len() - body.len();
    let mut head = CompoundReplyHead::decode(&mut from).unwrap();
    let kept_at = message.len() - from.rest().len();
    assert_eq!(from.u32().unwrap(), OpNumber::Sequence as u32);
    assert!(matches!(Res::<SequenceOk>::decode(&mut from).unwrap(), Res::Ok(_)));
    assert_eq!(from.u32().unwrap(), OpNumber::Putfh as u32);
    assert_eq!(from.u32().unwrap(), Status::Ok as u32);
    let kept = &message[kept_at..message.len() - from.rest().len()];
    head.status = match result {
        Res::Ok(_) => Status::Ok,
        Res::Fail(status) => *status,
    };
    let mut buffer = Buffer::new();
    let mut to = Encoder::new(&mut buffer);
    to.fixed(&message[..head_at]);
    head.encode(&mut to);
    to.fixed(kept);
    to.u32(OpNumber::ReadPlus as u32);
    result.encode(&mut to);
    buffer.as_slice().to_vec()
}
