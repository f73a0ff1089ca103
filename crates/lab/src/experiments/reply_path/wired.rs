//! Servers that get a part of a processor, over a wire of the source's speed: the server limits what a client reads.
//! Random operations of 128 KiB have two READs in flight, their halves.
//!
//! Packets are nearly as large as a reply: the source's card cut them, and here the sender would.

use segments::link::{self, LinkOptions, Wire};

use crate::contender::{Contender, Named, Server};
use crate::engine::{Error, PassError};
use crate::quota::{Quota, Share};
use crate::servers::{NoServer, Servers};

/// A fifth of a processor. The kernel looks at its ticks, of up to 4 ms: a shorter period makes no shorter breaks.
pub(super) const SHARE: Share = Share { quota_us: 1000, period_us: 5000 };
pub(super) const LINK: LinkOptions = LinkOptions { bits_per_second: 10_000_000_000, mtu: 65_000 };
/// The port on the wire of the first server; the others' follow.
const FIRST_PORT: u16 = 20_490;

/// What runs, in the order in which it ends.
pub(super) struct Wired {
    servers: Vec<Server>,
    quotas: Vec<Quota>,
    wire: Wire,
}

impl Wired {
    /// Why there can be none here.
    pub(super) fn missing() -> Option<String> {
        if !link::is_permitted() {
            return Some("networks of one's own need root".to_owned());
        }
        Quota::missing()
    }

    /// Makes the wire, without servers.
    pub(super) fn new() -> Result<Wired, Error> {
        Ok(Wired { servers: Vec::new(), quotas: Vec::new(), wire: Wire::new(LINK)? })
    }

    /// Ends the servers and starts them again, each with a quota of its own.
    pub(super) fn restart(&mut self, all: &mut Servers, ways: &[Named]) -> Result<(), Error> {
        self.servers.clear();
        self.quotas.clear();
        for (way, port) in ways.iter().zip(FIRST_PORT..) {
            let contender = at_port(&way.contender, port);
            let mut server = self.wire.there(|| all.start_another(&server_name(&way.name), &contender))??;
            server.move_to(&link::THERE.to_string(), port);
            let quota = Quota::new("reply-path", SHARE)?;
            server.pid().map_or(Ok(()), |pid| quota.limit(pid))?;
            self.servers.push(server);
            self.quotas.push(quota);
        }
        Ok(())
    }

    pub(super) fn get(&self, way: &str) -> Result<&Server, NoServer> {
        let name = server_name(way);
        self.servers.iter().find(|server| server.name() == name).ok_or(NoServer(name))
    }

    /// Does something at the client's end of the wire.
    pub(super) fn here<T>(&self, work: impl FnOnce() -> T) -> Result<T, PassError> {
        Ok(self.wire.here(work)?)
    }

    pub(super) fn pids(&self) -> impl Iterator<Item = u32> {
        self.servers.iter().filter_map(Server::pid)
    }
}

/// The server of a way has a state of its own, beside that of the server without a limit.
fn server_name(way: &str) -> String {
    format!("{way}, limited")
}

/// The same server that also listens on the wire.
fn at_port(contender: &Contender, port: u16) -> Contender {
    let Contender::Wharf(arguments) = contender else { return contender.clone() };
    let listen = format!("{}:{port}", link::THERE);
    let network = format!("{}/{}", link::THERE, link::PREFIX);
    let further = ["--listen", &listen, "--client", "127.0.0.1", "--client", &network].map(str::to_owned);
    Contender::Wharf(arguments.iter().cloned().chain(further).collect())
}
