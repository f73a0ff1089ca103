//! A server that is driven by hand, whose replies are altered.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use buffer::Output;
use client::Tunnel;
use fs_mem::{MemFs, MemOptions};
use server::{
    AccessRule, Answer, ClientPattern, Export, ExportOptions, HandleKey, Peer, Request, Server, Settings, Squash,
    Transport,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use super::alteration::Sent;

/// Decides what is sent in the place of a reply.
type Alter = dyn FnMut(Vec<u8>) -> Sent + Send;

pub struct Site {
    server: Server,
    alter: Mutex<Box<Alter>>,
}

impl Site {
    pub fn new(alter: impl FnMut(Vec<u8>) -> Sent + Send + 'static) -> Arc<Site> {
        let memory = MemFs::new(MemOptions { root_mode: 0o777, ..MemOptions::default() });
        let mut settings = Settings::new(1, 1 << 32, HandleKey::new([7; 16]));
        settings.pause = |_| {};
        // No client is known from before.
        settings.grace = Duration::ZERO;
        let options = ExportOptions { squash: Squash::None, ..ExportOptions::default() };
        let rules = vec![AccessRule { clients: ClientPattern::Everyone, options }];
        let export = Export { name: "/files".to_owned(), file_system: Arc::new(memory), rules, fsid: None };
        let server = Server::new(settings, vec![export]).expect("one export");
        Arc::new(Site { server, alter: Mutex::new(Box::new(alter)) })
    }

    pub fn tunnel(self: &Arc<Site>) -> Tunnel {
        let site = Arc::clone(self);
        Tunnel::new(move |_| {
            let (here, there) = tokio::io::duplex(1 << 16);
            tokio::spawn(Arc::clone(&site).serve(there));
            std::future::ready(Ok(here))
        })
    }

    /// Answers calls until the stream ends, or an alteration ends it.
    async fn serve(self: Arc<Site>, mut stream: DuplexStream) {
        while let Ok(message) = read_message(&mut stream).await {
            let Some(reply) = self.answer(&message) else { continue };
            let sent = (self.alter.lock().unwrap_or_else(PoisonError::into_inner))(reply.clone());
            let written = match sent {
                Sent::Message(message) => stream.write_all(&record(&message)).await,
                Sent::Bytes(bytes) => stream.write_all(&bytes).await,
                Sent::Nothing => Ok(()),
                Sent::Times(times) => stream.write_all(&record(&reply).repeat(times.into())).await,
                Sent::Cut(count) => {
                    let record = record(&reply);
                    let _ = stream.write_all(&record[..count.min(record.len())]).await;
                    return;
                }
            };
            if written.is_err() {
                return;
            }
        }
    }

    fn answer(&self, message: &[u8]) -> Option<Vec<u8>> {
        let (address, local) = ("192.0.2.2:700".parse().ok()?, "192.0.2.1:2049".parse().ok()?);
        let peer = Peer { address, local, transport: Transport::Tcp, connection: 1 };
        let now = Duration::from_secs(1);
        let request = Request { message, peer, worker: 0, may_block: true, now, batch: None, is_scarce: false };
        let mut output = Output::new();
        let answer = self.server.answer(&request, &mut output);
        (answer == Answer::Reply).then(|| output.bytes.as_slice().to_vec())
    }
}

async fn read_message(stream: &mut DuplexStream) -> io::Result<Vec<u8>> {
    let length = stream.read_u32().await? & 0x7fff_ffff;
    let mut message = vec![0; length as usize];
    stream.read_exact(&mut message).await?;
    Ok(message)
}

fn record(message: &[u8]) -> Vec<u8> {
    [&rpc::record::last_mark(message.len()).to_be_bytes()[..], message].concat()
}
