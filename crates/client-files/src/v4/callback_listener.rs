//! The port on which a 4.0 server calls the client (RFC 7530 §16.33), over a connection that the server opens.
//!
//! Only the server's address and a number known to both sides authenticate a call. A forged recall does little harm: it
//! returns a delegation early.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Weak;
use std::time::Duration;

use bytes::BufMut;
use client_calls::core::Incoming;
use client_calls::random;
use rpc::record;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

use super::callback;
use super::client::{Client, Inner};
use super::identity::CalledAt;
use super::listening::Listening;

/// The most connections of the server. A new one closes the oldest, because a restarted server does not know its old
/// ones.
const MAX_CONNECTIONS: usize = 4;
/// The limits of a CB_COMPOUND: a few operations, each with a handle.
const LIMITS: record::Limits = record::Limits { max_bytes: 16 * 1024, max_fragments: 16 };
/// How long to wait after a failed accept, as when the system is out of sockets.
const PAUSE: Duration = Duration::from_secs(1);

/// A port that listens for the server's calls.
#[derive(Debug)]
pub(super) struct CallbackListener {
    listener: TcpListener,
    /// The only address that may connect.
    server: IpAddr,
    called_at: CalledAt,
}

impl CallbackListener {
    /// Listens at `wanted` for calls of `server`. An unspecified address stands for the one from which the server is
    /// reached.
    pub(super) async fn bind(wanted: SocketAddr, server: SocketAddr) -> io::Result<CallbackListener> {
        let ip = if wanted.ip().is_unspecified() { own_address(server)? } else { wanted.ip() };
        let listener = TcpListener::bind((ip, wanted.port())).await?;
        let bound = listener.local_addr()?;
        let address = SocketAddr::new(bound.ip().to_canonical(), bound.port());
        let called_at = CalledAt { address, ident: random() };
        Ok(CallbackListener { listener, server: server.ip().to_canonical(), called_at })
    }

    /// The address and the number to send in SETCLIENTID.
    pub(super) fn called_at(&self) -> CalledAt {
        self.called_at
    }

    /// Answers the server's calls in the background while the client lives.
    pub(super) fn serve(self, client: Weak<Inner>) -> Listening {
        Listening(tokio::spawn(self.accept(client)).abort_handle())
    }

    async fn accept(self, client: Weak<Inner>) {
        let (mut connections, mut newest_last) = (JoinSet::new(), VecDeque::new());
        loop {
            let (stream, from) = match self.listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(address = %self.called_at.address, %error, "cannot accept a server's connection");
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            };
            if from.ip().to_canonical() != self.server {
                tracing::warn!(%from, server = %self.server, "somebody else than the server connects for callbacks");
                continue;
            }
            while connections.try_join_next().is_some() {}
            newest_last.retain(|connection: &AbortHandle| !connection.is_finished());
            if newest_last.len() == MAX_CONNECTIONS {
                newest_last.pop_front().iter().for_each(AbortHandle::abort);
            }
            newest_last.push_back(connections.spawn(converse(stream, client.clone())));
        }
    }
}

/// Answers the calls of one connection.
async fn converse(mut stream: TcpStream, client: Weak<Inner>) {
    if let Err(error) = answer_all(&mut stream, &client).await {
        tracing::debug!(%error, "a server's connection for callbacks ended");
    }
}

async fn answer_all(stream: &mut TcpStream, client: &Weak<Inner>) -> io::Result<()> {
    let mut incoming = Incoming::new(LIMITS);
    loop {
        while let Some(message) = incoming.next_message().map_err(io::Error::other)? {
            let Some(client) = client.upgrade().map(Client::of) else { return Ok(()) };
            let reply = callback::answer(&message, &client).await;
            drop(client);
            if let Some(reply) = reply {
                let mark = record::last_mark(reply.len()).to_be_bytes();
                stream.write_all(&[&mark, &reply[..]].concat()).await?;
            }
        }
        let (memory, room) = incoming.room();
        if stream.read_buf(&mut memory.limit(room)).await? == 0 {
            return Ok(());
        }
    }
}

/// The address of this machine from which `server` is reached. Connecting a UDP socket finds the route and sends no
/// datagram.
fn own_address(server: SocketAddr) -> io::Result<IpAddr> {
    let any = match server {
        SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(server)?;
    Ok(socket.local_addr()?.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn called_at(wanted: &str, server: &str) -> CalledAt {
        CallbackListener::bind(wanted.parse().unwrap(), server.parse().unwrap()).await.unwrap().called_at()
    }

    #[tokio::test]
    async fn address_that_is_not_named_is_the_one_from_which_the_server_is_reached() {
        for (wanted, server, own) in [
            ("0.0.0.0:0", "127.0.0.1:2049", "127.0.0.1"),
            ("0.0.0.0:0", "[::1]:2049", "::1"),
            ("[::]:0", "[::ffff:127.0.0.1]:2049", "127.0.0.1"),
            ("127.0.0.2:0", "127.0.0.1:2049", "127.0.0.2"),
        ] {
            let called_at = called_at(wanted, server).await;
            assert_eq!(called_at.address.ip(), own.parse::<IpAddr>().unwrap(), "{wanted} for {server}");
            assert_ne!(called_at.address.port(), 0);
        }
    }

    #[tokio::test]
    async fn two_clients_are_called_by_different_numbers() {
        let (one, other) = (called_at("0.0.0.0:0", "127.0.0.1:1").await, called_at("0.0.0.0:0", "127.0.0.1:1").await);
        assert_ne!(one, other);
    }
}
