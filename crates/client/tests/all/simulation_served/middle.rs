//! The server in the middle, driven by hand. Nothing goes wrong between it and its clients.

use std::io;
use std::sync::Arc;

use buffer::Output;
use client::{RemoteFs, Tunnel};
use rpc::record::last_mark;
use server::{
    AccessRule, Answer, ClientPattern, Destination, Export, ExportOptions, HandleKey, Peer, Request, Server, Settings,
    Squash, Transport,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::{Mutex, oneshot};
use tokio::time::Instant;

/// How much a stream holds that nobody has read yet, in bytes.
const STREAM_BYTES: usize = 1 << 16;

type ToClient = Arc<Mutex<WriteHalf<DuplexStream>>>;

#[derive(Clone)]
pub struct Middle(Arc<Inner>);

struct Inner {
    server: Server,
    began: Instant,
}

impl Middle {
    pub fn start(files: RemoteFs) -> Middle {
        let mut settings = Settings::new(1, 1 << 32, HandleKey::new([9; 16]));
        settings.pause = |_| {};
        let options = ExportOptions { squash: Squash::None, ..ExportOptions::default() };
        let rules = vec![AccessRule { clients: ClientPattern::Everyone, options }];
        let export = Export { name: "/files".to_owned(), file_system: Arc::new(files), rules, fsid: None };
        Middle(Arc::new(Inner { server: Server::new(settings, vec![export]).unwrap(), began: Instant::now() }))
    }

    pub fn tunnel(&self) -> Tunnel {
        let middle = self.clone();
        Tunnel::new(move |_| {
            let (here, there) = tokio::io::duplex(STREAM_BYTES);
            tokio::spawn(middle.clone().serve(there));
            std::future::ready(io::Result::Ok(here))
        })
    }

    async fn serve(self, stream: DuplexStream) {
        let (mut from, to) = tokio::io::split(stream);
        let to = Arc::new(Mutex::new(to));
        while let Some(message) = read_message(&mut from).await {
            if message[4..8] == [0, 0, 0, 1] {
                self.0.server.take_reply(&peer(), &message, self.0.began.elapsed());
            } else {
                tokio::spawn(self.clone().carry_out(message, Arc::clone(&to)));
            }
        }
    }

    /// Answers a call on a thread that may wait, and sends what the server has to say then.
    async fn carry_out(self, message: Vec<u8>, to: ToClient) {
        let (done, is_done) = oneshot::channel();
        let (middle, now) = (self.clone(), self.0.began.elapsed());
        std::thread::spawn(move || done.send(middle.answer(&message, now)));
        if let Some(reply) = is_done.await.unwrap() {
            send(&to, &reply).await;
        }
        while let Some(call) = self.0.server.next_transmit(self.0.began.elapsed()) {
            if matches!(call.destination, Destination::Connection(_)) {
                send(&to, &call.message).await;
            }
        }
    }

    fn answer(&self, message: &[u8], now: std::time::Duration) -> Option<Vec<u8>> {
        let mut output = Output::new();
        let request = Request { message, peer: peer(), worker: 0, may_block: true, now, batch: None, is_scarce: false };
        match self.0.server.answer(&request, &mut output) {
            Answer::Reply => Some(output.bytes.as_slice().to_vec()),
            Answer::Silent => None,
            Answer::WouldBlock(_) => panic!("it may wait"),
            Answer::NotACall(error) => panic!("not a call: {error}"),
        }
    }
}

async fn read_message(from: &mut ReadHalf<DuplexStream>) -> Option<Vec<u8>> {
    let length = from.read_u32().await.ok()? & 0x7fff_ffff;
    let mut message = vec![0; length as usize];
    from.read_exact(&mut message).await.ok()?;
    Some(message)
}

async fn send(to: &ToClient, message: &[u8]) {
    let record = [&last_mark(message.len()).to_be_bytes()[..], message].concat();
    // Whoever is gone hears nothing.
    let _ = to.lock().await.write_all(&record).await;
}

fn peer() -> Peer {
    let (address, local) = ("192.0.2.3:701".parse().unwrap(), "192.0.2.1:2049".parse().unwrap());
    Peer { address, local, transport: Transport::Tcp, connection: 1 }
}
