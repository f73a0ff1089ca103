//! Servers of NFSv4.1 that call back without end, before there is a session, and what no server may.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use buffer::Buffer;
use client::core::Failure;
use client::{Handle, Mount, Options, Reason, Tunnel};
use proto::Operation;
use proto::nfs4::{
    ArgOp, CallbackArgOp, CbCompound, CbCompoundArgs, CbRecallArgs, CbSequenceArgs, FileHandle, ResOp, SessionId,
    SlotId, Stateid,
};
use rpc::{Credential, Procedure, Xid};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf};
use tokio::time::timeout;
use xdr::{Encode, Encoder};

use crate::fake::{read_question, record, reply_message};
use crate::fake4::{self, Fake, SESSION};

/// Far longer than any call here takes, on whatever machine.
const LONG: Duration = Duration::from_secs(60);
/// How often everything is called in front of each reply.
const ROUNDS: u32 = 20;

fn call((program, number): (u32, u32), arguments: &impl Encode) -> Vec<u8> {
    let mut buffer = Buffer::new();
    let mut to = Encoder::new(&mut buffer);
    let procedure = Procedure { program, version: CbCompound::VERSION, number };
    procedure.encode_call(Xid(7), &Credential::None, &mut to);
    arguments.encode(&mut to);
    record(buffer.as_slice())
}

fn compound(operations: Vec<CallbackArgOp<'static>>) -> Vec<u8> {
    let arguments = CbCompoundArgs { tag: b"", minor_version: 1, callback_ident: 0, operations };
    call((CbCompound::PROGRAM, CbCompound::PROCEDURE), &arguments)
}

fn sequence(session: SessionId, slot: u32, sequence: u32) -> CallbackArgOp<'static> {
    let (slot, highest_slot) = (SlotId(slot), SlotId(slot));
    CallbackArgOp::CbSequence(CbSequenceArgs {
        session,
        sequence,
        slot,
        highest_slot,
        cache_this: true,
        referring_calls: Vec::new(),
    })
}

/// A call of each kind that a server may not make, or that leads nowhere.
fn one_of_each(round: u32) -> Vec<Vec<u8>> {
    let stateid = Stateid { seqid: round, other: *b"no stateid!!" };
    let recall =
        CallbackArgOp::CbRecall(CbRecallArgs { stateid, truncate: true, file: FileHandle::new(b"file").unwrap() });
    let many = [&[sequence(SESSION, 0, round + 1)][..], &vec![recall.clone(); 7]].concat();
    let procedure = (CbCompound::PROGRAM, CbCompound::PROCEDURE);
    vec![
        compound(vec![sequence(SessionId([9; 16]), 0, 1)]),
        compound(vec![sequence(SESSION, u32::MAX, 1)]),
        compound(vec![recall]),
        compound(many),
        compound(Vec::new()),
        // An empty tag, the minor version, the number, and operations without end.
        call(procedure, &[0_u32, 1, 0, u32::MAX]),
        call(procedure, &[u32::MAX, 1, 0, 0]),
        call((CbCompound::PROGRAM, 77), &[0_u32; 4]),
        call((1, 0), &[0_u32; 4]),
        record(&[0, 0, 0, 7, 0, 0, 0, 0]),
    ]
}

/// A server that calls back before each of its replies, and when `is_flooding` without end and without replies.
#[derive(Default)]
struct Caller {
    fake: Fake,
    is_flooding: AtomicBool,
    calls: AtomicUsize,
    replies: AtomicUsize,
}

async fn read_message(from: &mut ReadHalf<DuplexStream>) -> Option<Vec<u8>> {
    let mark = from.read_u32().await.ok()?;
    let mut message = vec![0; (mark & 0x7fff_ffff) as usize];
    from.read_exact(&mut message).await.ok()?;
    Some(message)
}

async fn converse(server: &Caller, mut from: ReadHalf<DuplexStream>, mut to: WriteHalf<DuplexStream>) -> Option<()> {
    let special = |_: &ArgOp<'_>, _: &[u8]| -> Option<ResOp<'static>> { None };
    let (sender, mut questions) = tokio::sync::mpsc::unbounded_channel();
    let reading = async {
        while let Some(message) = read_message(&mut from).await {
            match message[4..8] {
                [0, 0, 0, 0] => sender.send(read_question(&message)).ok()?,
                _ => drop(server.replies.fetch_add(1, Ordering::Relaxed)),
            }
        }
        Some(())
    };
    let writing = async {
        while let Some(question) = questions.recv().await {
            for message in (0..ROUNDS).flat_map(one_of_each) {
                server.calls.fetch_add(1, Ordering::Relaxed);
                to.write_all(&message).await.ok()?;
            }
            while server.is_flooding.load(Ordering::Relaxed) {
                for message in (0..ROUNDS).flat_map(one_of_each) {
                    to.write_all(&message).await.ok()?;
                }
            }
            let reply = fake4::answer(&question, &server.fake, &special);
            to.write_all(&record(&reply_message(question.xid, &reply)?)).await.ok()?;
        }
        Some(())
    };
    tokio::select! { ended = reading => ended, ended = writing => ended }
}

async fn mount(server: &Arc<Caller>, options: Options) -> Mount {
    let server = Arc::clone(server);
    let tunnel = Tunnel::new(move |_| {
        let (here, there) = tokio::io::duplex(1 << 16);
        let server = Arc::clone(&server);
        tokio::spawn(async move {
            let (from, to) = tokio::io::split(there);
            converse(&server, from, to).await
        });
        std::future::ready(Ok(here))
    });
    let options = Options { tunnel: Some(tunnel), ..options };
    Mount::connect(&"nfs://192.0.2.1:2049/".parse().unwrap(), &options).await.unwrap()
}

#[tokio::test]
async fn calls_that_no_server_may_make_hold_up_no_call_of_the_client() {
    let server: Arc<Caller> = Arc::default();
    let mount = timeout(LONG, mount(&server, fake4::options())).await.expect("it is mounted");
    for _ in 0..50 {
        timeout(LONG, mount.getattr(&Handle::new(b"file").unwrap())).await.expect("the call ends").unwrap();
    }
    let (calls, replies) = (server.calls.load(Ordering::Relaxed), server.replies.load(Ordering::Relaxed));
    assert!(replies > 0 && replies <= calls, "{replies} replies to {calls} calls");
}

#[tokio::test]
async fn soft_call_ends_in_time_while_the_server_does_nothing_but_call_back() {
    let server: Arc<Caller> = Arc::default();
    let options = Options { timeout: Some(Duration::from_millis(200)), retransmissions: Some(1), ..fake4::options() };
    let mount = timeout(LONG, mount(&server, options)).await.expect("it is mounted");
    server.is_flooding.store(true, Ordering::Relaxed);
    let began = Instant::now();
    let error = timeout(LONG, mount.getattr(&Handle::new(b"file").unwrap())).await.expect("the call ends").unwrap_err();
    assert!(matches!(error.reason(), Reason::NoReply(Failure::TimedOut { .. })), "{error} after {:?}", began.elapsed());
}
