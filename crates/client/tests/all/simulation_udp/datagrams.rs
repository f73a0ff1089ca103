//! Datagrams between client and server, which are lost, doubled, late, out of order, truncated and garbled, as a seed
//! says.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use server::{Peer, Transport};
use tokio::net::UdpSocket;

use crate::simulation::world::World;
use testing::Random;

/// The longest time that a datagram is in flight, in milliseconds: several times what a client waits before it sends
/// again.
const LONGEST_WAY_MS: u64 = 10_000;
const MAX_DATAGRAM_BYTES: usize = 1 << 16;

/// How often in a thousand datagrams something goes wrong.
#[derive(Clone, Copy)]
pub struct Troubles {
    pub lost: u64,
    pub doubled: u64,
    pub late: u64,
    pub damaged: u64,
    pub restart: u64,
    pub partition: u64,
}

pub const TROUBLES: Troubles = Troubles { lost: 30, doubled: 30, late: 30, damaged: 20, restart: 4, partition: 3 };

/// How one copy of a datagram arrives.
struct Copy {
    delay: Duration,
    damage: Option<Damage>,
}

/// What can happen to a datagram that its checksum, if it has one, does not tell (RFC 768).
enum Damage {
    /// Only so many thousandths of it are left.
    CutTo(usize),
    /// It is one of another call.
    OtherXid,
    /// It says that it is of the other direction.
    OtherDirection,
    /// It is anything.
    Noise(Vec<u8>),
}

impl Damage {
    fn any(random: &mut Random) -> Damage {
        match random.below(6) {
            0 => Damage::OtherXid,
            1 => Damage::OtherDirection,
            2 => {
                let count = random.below(100) as usize;
                Damage::Noise(random.bytes(count))
            }
            _ => Damage::CutTo(random.below(1000) as usize),
        }
    }

    fn of(self, mut datagram: Vec<u8>) -> Vec<u8> {
        match self {
            Damage::CutTo(thousandths) => datagram.truncate(datagram.len() * thousandths / 1000),
            // No call that is waited for has such a number. A call with another one would be another call, which nobody
            // can tell.
            Damage::OtherXid if datagram[7] == 1 => datagram[0] ^= 0x80,
            Damage::OtherXid => datagram.clear(),
            Damage::OtherDirection => datagram[7] ^= 1,
            Damage::Noise(noise) => return noise,
        }
        datagram
    }
}

fn copies(random: &mut Random, troubles: Troubles) -> Vec<Copy> {
    let count = match () {
        () if random.chance(troubles.lost) => 0,
        () if random.chance(troubles.doubled) => 2,
        () => 1,
    };
    let mut copy = |_| {
        let longest_us = if random.chance(troubles.late) { 1000 * LONGEST_WAY_MS } else { 3000 };
        let delay = Duration::from_micros(random.below(longest_us));
        Copy { delay, damage: random.chance(troubles.damaged).then(|| Damage::any(random)) }
    };
    (0..count).map(&mut copy).collect()
}

/// A socket in the server's place.
pub struct Datagrams {
    world: Arc<World>,
    socket: UdpSocket,
    troubles: Troubles,
}

impl Datagrams {
    /// Begins to carry datagrams; gives the address to send them to.
    pub async fn start(world: &Arc<World>, troubles: Troubles) -> SocketAddr {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        let datagrams = Arc::new(Datagrams { world: Arc::clone(world), socket, troubles });
        tokio::spawn(async move {
            let mut buffer = vec![0; MAX_DATAGRAM_BYTES];
            loop {
                let (count, from) = datagrams.socket.recv_from(&mut buffer).await.unwrap();
                datagrams.send_on(&buffer[..count], |datagrams, datagram| datagrams.arrive(from, datagram));
            }
        });
        address
    }

    /// Brings a datagram to where it goes, as often and in the shape that the seed says.
    fn send_on<F>(self: &Arc<Self>, datagram: &[u8], arrive: impl Fn(Arc<Self>, Vec<u8>) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let calm = || vec![Copy { delay: Duration::ZERO, damage: None }];
        let copies = self.world.decide(|random| copies(random, self.troubles)).unwrap_or_else(calm);
        for Copy { delay, damage } in copies {
            let datagram = match damage {
                Some(damage) => damage.of(datagram.to_vec()),
                None => datagram.to_vec(),
            };
            let (arriving, boot, world) = (arrive(Arc::clone(self), datagram), self.world.boot(), self.world.clone());
            tokio::spawn(async move {
                tokio::time::sleep(delay).await;
                // What was in flight to a server that is gone is gone too.
                if world.is_present() && world.boot() == boot {
                    arriving.await;
                }
            });
        }
    }

    async fn arrive(self: Arc<Self>, from: SocketAddr, datagram: Vec<u8>) {
        let Troubles { restart, partition, .. } = self.troubles;
        let happens = |per_mille| self.world.decide(|random| random.chance(per_mille)).unwrap_or(false);
        if happens(restart) {
            return self.world.restart();
        }
        let local = self.socket.local_addr().unwrap();
        let peer = Peer { address: from, local, transport: Transport::Udp, connection: 0 };
        let reply = self.world.answer(peer, &datagram).await;
        if happens(restart) {
            return self.world.restart();
        }
        if happens(partition) {
            let absence = self.world.decide(|random| random.below(15)).unwrap_or(0);
            return self.world.part(Duration::from_secs(absence));
        }
        if let Some(reply) = reply {
            self.send_on(&reply, |datagrams, reply| async move {
                // Whoever is gone hears nothing.
                let _ = datagrams.socket.send_to(&reply, from).await;
            });
        }
    }
}
