//! Makes calls over many connections by turns, one at a time: `cargo xtask growth` counts what each costs, server and
//! client together.
//!
//! `in_turns connections|loops SIZE TIMES`: SIZE connections to one loop, or some connections to SIZE loops. A first
//! round uses each connection once. The program prints TIMES. Two runs that differ in TIMES differ in nothing else.

#![allow(clippy::unwrap_used, reason = "a failure ends the program, and is shown by whoever runs it")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use buffer::Output;
use net::{Call, Frame, FrameError, Limits, Server, Service, Verdict};

/// A call and its reply, with the length in front.
const MESSAGE: [u8; 128] = {
    let mut message = [7; 128];
    [message[0], message[1], message[2], message[3]] = 124_u32.to_be_bytes();
    message
};

/// How many connections there are where the loops count.
const CONNECTIONS: usize = 64;

/// Returns each message.
struct Echo;

impl Service for Echo {
    fn frame(&self, unread: &mut [u8]) -> Result<Frame, FrameError> {
        let end = MESSAGE.len();
        Ok(if unread.len() < end { Frame::Partial(end) } else { Frame::Message { body: 4..end, consumed: end } })
    }

    fn call(&self, _: &Call<'_>, output: &mut Output) -> Verdict {
        output.bytes.put(&MESSAGE);
        Verdict::Answered
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [of, size, times] = &arguments[..] else { panic!("usage: in_turns connections|loops SIZE TIMES") };
    let size: usize = size.parse().unwrap();
    let (connections, loops) = match of.as_str() {
        "connections" => (size, 1),
        "loops" => (CONNECTIONS, size),
        other => panic!("{other} are not counted"),
    };
    let mut server = Server::new(Limits::default()).loops(loops);
    let address = server.listen_tcp("127.0.0.1:0".parse().unwrap()).unwrap();
    let handle = server.start(Arc::new(Echo)).unwrap();
    let mut streams: Vec<TcpStream> = (0..connections).map(|_| TcpStream::connect(address).unwrap()).collect();
    streams.iter_mut().for_each(call);
    for turn in 0..times.parse().unwrap() {
        call(&mut streams[turn % connections]);
    }
    println!("{times}");
    handle.shutdown(Duration::from_secs(1));
    handle.join();
}

fn call(stream: &mut TcpStream) {
    stream.write_all(&MESSAGE).unwrap();
    let mut reply = [0; MESSAGE.len()];
    stream.read_exact(&mut reply).unwrap();
}
