//! Has a connection read many times, 4 KiB each, from a server in this program's memory that answers every call alike:
//! what `cargo xtask instructions` counts of the client.
//!
//! `many_reads TIMES`: some calls fill what is filled once, and then TIMES calls are made inside of [`counted`].
//! Nothing outside of it counts.

#![allow(clippy::unwrap_used, reason = "a failure ends the program, and is shown by whoever runs it")]

use std::cell::Cell;
use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::{BufMut, BytesMut};
use client::{Connection, Options, Tunnel};
use proto::nfs3::{FileHandle, Read, ReadArgs, Res};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::runtime::{Builder, Runtime};

/// How much each READ gives.
const READ_BYTES: u32 = 4096;
/// How many calls are in flight together.
const DEPTH: u32 = 64;
/// After how many calls every place in the table of calls was used, and has its memory.
const WARM_UP: u32 = 4096;
/// A record mark (RFC 5531 §11), all of whose bits but the first are the length; the xid is the first word behind it.
const MARK_BYTES: usize = 4;
const LENGTH_BITS: u32 = u32::MAX >> 1;
const WORD_BYTES: usize = 4;

fn main() {
    let times = std::env::args().nth(1).expect("usage: many_reads TIMES").parse().unwrap();
    let server = || Server { calls: BytesMut::new(), due: VecDeque::new(), reply: reply() };
    let tunnel = Tunnel::new(move |_| std::future::ready(Ok(server())));
    let options = Options { tunnel: Some(tunnel), ..Options::default() };
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let connection = runtime.block_on(async {
        let address = "127.0.0.1:2049".parse().unwrap();
        let connection = Connection::connect(address, "memory", &options).await.unwrap();
        read(&connection, WARM_UP).await;
        connection
    });
    counted(&runtime, &connection, times);
}

/// Makes the calls that count. Callgrind finds the function by its name.
#[inline(never)]
fn counted(runtime: &Runtime, connection: &Connection, times: u32) {
    runtime.block_on(read(connection, times));
}

/// Makes so many calls, `DEPTH` at a time.
async fn read(connection: &Connection, times: u32) {
    let (tasks, left) = (tokio::task::LocalSet::new(), Rc::new(Cell::new(times)));
    for _ in 0..DEPTH {
        let (connection, left) = (connection.clone(), Rc::clone(&left));
        tasks.spawn_local(async move {
            let file = FileHandle::new(b"a file handle of some length").unwrap();
            while let Some(next) = left.get().checked_sub(1) {
                left.set(next);
                let offset = u64::from(next) * u64::from(READ_BYTES);
                let reply = connection.call::<Read>(&ReadArgs { file, offset, count: READ_BYTES }).await.unwrap();
                let Res::Ok(read) = reply.decode().unwrap() else { panic!("the server answers otherwise") };
                assert_eq!(read.data.len(), READ_BYTES as usize);
            }
        });
    }
    tasks.await;
}

/// A stream with a server behind it that answers each record with the same data, under its xid.
struct Server {
    /// What came and was not answered.
    calls: BytesMut,
    /// The xids of the replies to give.
    due: VecDeque<[u8; WORD_BYTES]>,
    reply: Vec<u8>,
}

impl AsyncWrite for Server {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.calls.put_slice(bytes);
        while let Some(mark) = self.calls.first_chunk() {
            let length = MARK_BYTES + (u32::from_be_bytes(*mark) & LENGTH_BITS) as usize;
            if self.calls.len() < length {
                break;
            }
            let call = self.calls.split_to(length);
            self.due.extend(call[MARK_BYTES..].first_chunk());
        }
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Server {
    /// Gives as many whole replies as there is room for. Nobody need be woken for later ones: the client reads after
    /// each write.
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let Server { due, reply, .. } = self.get_mut();
        if due.is_empty() {
            return Poll::Pending;
        }
        while into.remaining() >= reply.len()
            && let Some(xid) = due.pop_front()
        {
            reply[MARK_BYTES..MARK_BYTES + WORD_BYTES].copy_from_slice(&xid);
            into.put_slice(reply);
        }
        Poll::Ready(Ok(()))
    }
}

/// A reply to READ with its record mark: accepted, with an empty verifier, carried out, no attributes, and the data.
fn reply() -> Vec<u8> {
    let head = [0, 1, 0, 0, 0, 0, 0, 0, READ_BYTES, 0, READ_BYTES];
    let length = head.len() * WORD_BYTES + READ_BYTES as usize;
    let mut reply = rpc::record::last_mark(length).to_be_bytes().to_vec();
    reply.extend(head.iter().flat_map(|word| word.to_be_bytes()));
    reply.resize(MARK_BYTES + length, 7);
    reply
}
