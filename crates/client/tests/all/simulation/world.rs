//! A server that is driven by hand, and the streams to it, on which everything goes wrong that a seed says. Time is the
//! runtime's, which passes only when nobody has anything to do.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use buffer::Output;
use client::Tunnel;
use fs_fault::{FaultFs, FaultPlan};
use fs_mem::{MemFs, MemOptions};
use rpc::record::last_mark;
use server::{
    AccessRule, Answer, ClientPattern, Destination, Export, ExportOptions, HandleKey, Peer, Request, Server, Settings,
    Squash, Transport,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::Mutex as AsyncMutex;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;

use crate::simulation::store::{Records, Replies};
use testing::Random;

pub const LEASE: Duration = Duration::from_secs(60);
/// Longer than a client is ever away, so that it can always reclaim.
pub const GRACE: Duration = Duration::from_secs(150);
/// For how long a server that just began may restart at once.
const UNSTEADY: Duration = Duration::from_secs(3);
/// How much a stream holds that nobody has read yet, in bytes.
const STREAM_BYTES: usize = 1 << 16;

/// None once nothing more may follow.
type ToClient = Arc<AsyncMutex<Option<WriteHalf<DuplexStream>>>>;

/// How often in a thousand messages something goes wrong.
#[derive(Clone, Copy, Default)]
pub struct Troubles {
    pub cut: u64,
    pub swallowed: u64,
    pub doubled: u64,
    pub late: u64,
    pub restart: u64,
    pub partition: u64,
    /// Between its first seconds and this age a server does not restart: where nobody can end the grace period early,
    /// it would never end.
    pub steady_until: Duration,
    /// The longest time without a server, in seconds.
    pub longest_absence: u64,
    /// That one client is kept from the server while the others go on.
    pub isolation: u64,
    /// For how long that is at most, in seconds.
    pub longest_isolation: u64,
}

pub struct World {
    pub files: Arc<FaultFs<MemFs>>,
    inner: Mutex<Inner>,
}

struct Inner {
    server: Arc<Server>,
    /// When this server began.
    began: Instant,
    boot: u64,
    random: Random,
    /// None when everything goes well.
    troubles: Option<Troubles>,
    /// Before this nobody can connect.
    absent_until: Instant,
    streams: HashMap<u64, Stream>,
    /// Before this such a client cannot connect.
    isolated_until: HashMap<u64, Instant>,
    next_stream: u64,
    records: Records,
    replies: Arc<Replies>,
    pub lost_writes: usize,
}

/// A stream that is there.
struct Stream {
    client: u64,
    task: AbortHandle,
    to: ToClient,
}

/// What happens to one message.
struct Fate {
    delay: Duration,
    copies: u32,
    restarts_before: bool,
    restarts_after: bool,
    reply: ReplyFate,
}

enum ReplyFate {
    Arrives,
    NeverLeaves,
    CutAfter(usize),
    PartsBothFor(Duration),
    IsolatesFor(Duration),
}

impl World {
    pub fn new(seed: u64, troubles: Troubles) -> Arc<World> {
        let memory = MemFs::new(MemOptions { root_mode: 0o777, ..MemOptions::default() });
        let files = Arc::new(FaultFs::losing(Arc::new(memory), FaultPlan::default()));
        let (records, replies) = (Records::default(), Arc::default());
        let began = Instant::now();
        let inner = Inner {
            server: Arc::new(start(&files, 1, &records, &replies)),
            began,
            boot: 1,
            random: Random(seed),
            troubles: Some(troubles),
            absent_until: began,
            streams: HashMap::new(),
            isolated_until: HashMap::new(),
            next_stream: 1,
            records,
            replies,
            lost_writes: 0,
        };
        Arc::new(World { files, inner: Mutex::new(inner) })
    }

    /// The way of a client to the server.
    pub fn tunnel(self: &Arc<World>, client: u64) -> Tunnel {
        let world = Arc::clone(self);
        Tunnel::new(move |_| std::future::ready(world.open(client)))
    }

    fn open(self: &Arc<World>, client: u64) -> io::Result<DuplexStream> {
        let is_isolated = self.lock().isolated_until.get(&client).is_some_and(|until| Instant::now() < *until);
        if is_isolated || !self.is_present() {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        let (here, there) = tokio::io::duplex(STREAM_BYTES);
        let (from, to) = tokio::io::split(there);
        let to = Arc::new(AsyncMutex::new(Some(to)));
        let mut inner = self.lock();
        let number = inner.next_stream;
        inner.next_stream += 1;
        let task = tokio::spawn(serve(Arc::clone(self), number, from, Arc::clone(&to)));
        inner.streams.insert(number, Stream { client, task: task.abort_handle(), to });
        Ok(here)
    }

    /// Lets nothing go wrong any more.
    pub fn calm(&self) {
        let mut inner = self.lock();
        inner.troubles = None;
        inner.isolated_until.clear();
    }

    /// How often the server was started.
    pub fn boot(&self) -> u64 {
        self.lock().boot
    }

    /// What the server lost that was written and not synced.
    pub fn lost_writes(&self) -> usize {
        self.lock().lost_writes
    }

    /// Does what a server does by itself, about every second.
    pub async fn tick(self: Arc<World>) {
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let server = self.server();
            server.tick(self.now());
            self.send_calls(&server).await;
        }
    }

    fn now(&self) -> Duration {
        self.lock().began.elapsed()
    }

    fn server(&self) -> Arc<Server> {
        Arc::clone(&self.lock().server)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap()
    }

    fn cut(&self, stream: u64) {
        let gone = self.lock().streams.remove(&stream);
        if let Some(Stream { task, .. }) = gone {
            task.abort();
            self.server().disconnected(&peer(stream), false, self.now());
        }
    }

    /// Ends all streams; nobody can connect for `absence`.
    pub fn part(&self, absence: Duration) {
        self.lock().absent_until = Instant::now() + absence;
        let streams: Vec<u64> = self.lock().streams.keys().copied().collect();
        streams.into_iter().for_each(|stream| self.cut(stream));
    }

    /// Ends all streams of the client of this one, who cannot connect for `absence`.
    fn isolate(&self, stream: u64, absence: Duration) {
        let streams: Vec<u64> = {
            let inner = &mut *self.lock();
            let Some(client) = inner.streams.get(&stream).map(|stream| stream.client) else { return };
            inner.isolated_until.insert(client, Instant::now() + absence);
            inner.streams.iter().filter(|(_, stream)| stream.client == client).map(|(number, _)| *number).collect()
        };
        streams.into_iter().for_each(|stream| self.cut(stream));
    }

    /// Ends the server, loses what was not synced, and starts it again after a while.
    pub fn restart(&self) {
        let absence = self.lock().random.below(10_000);
        self.part(Duration::from_millis(absence));
        let lost = self.files.crash();
        let mut inner = self.lock();
        inner.lost_writes += lost;
        inner.boot += 1;
        inner.began = Instant::now();
        inner.server = Arc::new(start(&self.files, inner.boot, &inner.records, &inner.replies));
    }

    /// Whether anybody is there.
    pub fn is_present(&self) -> bool {
        Instant::now() >= self.lock().absent_until
    }

    /// What the seed decides, as long as things go wrong.
    pub fn decide<T>(&self, decision: impl FnOnce(&mut Random) -> T) -> Option<T> {
        let inner = &mut *self.lock();
        inner.troubles.is_some().then(|| decision(&mut inner.random))
    }

    fn fate(&self) -> Fate {
        let inner = &mut *self.lock();
        let random = &mut inner.random;
        let mut fate = Fate {
            delay: Duration::from_micros(random.below(3000)),
            copies: 1,
            restarts_before: false,
            restarts_after: false,
            reply: ReplyFate::Arrives,
        };
        let Some(troubles) = inner.troubles else { return fate };
        if random.chance(troubles.late) {
            fate.delay = Duration::from_millis(random.below(1000 * troubles.longest_absence));
        }
        fate.copies += u32::from(random.chance(troubles.doubled));
        let age = inner.began.elapsed();
        let may_restart = age < UNSTEADY || age > troubles.steady_until;
        fate.restarts_before = may_restart && random.chance(troubles.restart);
        fate.restarts_after = may_restart && random.chance(troubles.restart);
        if random.chance(troubles.cut) {
            fate.reply = ReplyFate::CutAfter(random.below(200) as usize);
        } else if random.chance(troubles.swallowed) {
            fate.reply = ReplyFate::NeverLeaves;
        } else if random.chance(troubles.partition) {
            fate.reply = ReplyFate::PartsBothFor(Duration::from_secs(random.below(troubles.longest_absence)));
        } else if troubles.isolation > 0 && random.chance(troubles.isolation) {
            fate.reply = ReplyFate::IsolatesFor(Duration::from_secs(random.below(troubles.longest_isolation)));
        }
        fate
    }

    /// Carries out one call as its fate says.
    async fn handle(self: Arc<World>, stream: u64, message: Vec<u8>, to: ToClient) {
        let fate = self.fate();
        tokio::time::sleep(fate.delay).await;
        if fate.restarts_before {
            return self.restart();
        }
        let mut reply = Vec::new();
        for _ in 0..fate.copies {
            if let Some(message) = self.answer(peer(stream), &message).await {
                reply.extend(record(&message));
            }
        }
        if fate.restarts_after {
            return self.restart();
        }
        match fate.reply {
            ReplyFate::NeverLeaves => return,
            ReplyFate::Arrives => send(&to, &reply, true).await,
            ReplyFate::CutAfter(count) => {
                send(&to, &reply[..count.min(reply.len())], false).await;
                self.cut(stream);
            }
            ReplyFate::PartsBothFor(absence) => self.part(absence),
            ReplyFate::IsolatesFor(absence) => self.isolate(stream, absence),
        }
        self.send_calls(&self.server()).await;
    }

    pub async fn answer(&self, peer: Peer, message: &[u8]) -> Option<Vec<u8>> {
        loop {
            let mut output = Output::new();
            let request =
                Request { message, peer, worker: 0, may_block: true, now: self.now(), batch: None, is_scarce: false };
            match self.server().answer(&request, &mut output) {
                Answer::Reply => return Some(output.bytes.as_slice().to_vec()),
                Answer::Silent => return None,
                Answer::WouldBlock(_) => tokio::time::sleep(Duration::from_millis(10)).await,
                // Whoever damages messages does so on purpose.
                Answer::NotACall(error) if peer.transport == Transport::Tcp => panic!("not a call: {error}"),
                Answer::NotACall(_) => return None,
            }
        }
    }

    /// Sends what the server wants to say by itself.
    async fn send_calls(&self, server: &Server) {
        while let Some(call) = server.next_transmit(self.now()) {
            let Destination::Connection(number) = call.destination else { continue };
            let to = self.lock().streams.get(&number).map(|stream| Arc::clone(&stream.to));
            if let Some(to) = to {
                send(&to, &record(&call.message), true).await;
            }
        }
    }
}

async fn serve(world: Arc<World>, number: u64, mut from: ReadHalf<DuplexStream>, to: ToClient) {
    // What is in flight ends with the stream.
    let mut calls = JoinSet::new();
    while let Some(message) = read_message(&mut from).await {
        if message[4..8] == [0, 0, 0, 1] {
            world.server().take_reply(&peer(number), &message, world.now());
            continue;
        }
        calls.spawn(Arc::clone(&world).handle(number, message, Arc::clone(&to)));
        while calls.try_join_next().is_some() {}
    }
    world.cut(number);
}

async fn read_message(from: &mut ReadHalf<DuplexStream>) -> Option<Vec<u8>> {
    let length = from.read_u32().await.ok()? & 0x7fff_ffff;
    let mut message = vec![0; length as usize];
    from.read_exact(&mut message).await.ok()?;
    Some(message)
}

/// Sends whole records, or the last bytes of a stream: nobody else's follow on half a reply.
async fn send(to: &ToClient, bytes: &[u8], more_follows: bool) {
    let mut to = to.lock().await;
    let Some(mut half) = to.take() else { return };
    // Whoever is gone hears nothing.
    if half.write_all(bytes).await.is_ok() && more_follows {
        *to = Some(half);
    }
}

fn record(message: &[u8]) -> Vec<u8> {
    [&last_mark(message.len()).to_be_bytes()[..], message].concat()
}

/// The client, which keeps its port through all streams.
fn peer(connection: u64) -> Peer {
    let (address, local) = ("192.0.2.2:700".parse().unwrap(), "192.0.2.1:2049".parse().unwrap());
    Peer { address, local, transport: Transport::Tcp, connection }
}

fn start(files: &Arc<FaultFs<MemFs>>, boot: u64, records: &Records, replies: &Arc<Replies>) -> Server {
    let mut settings = Settings::new(1, boot << 32, HandleKey::new([7; 16]));
    (settings.lease, settings.grace, settings.pause) = (LEASE, GRACE, |_| {});
    let options = ExportOptions { squash: Squash::None, ..ExportOptions::default() };
    let rules = vec![AccessRule { clients: ClientPattern::Everyone, options }];
    let export = Export { name: "/files".to_owned(), file_system: files.clone(), rules, fsid: None };
    let mut server = Server::new(settings, vec![export]).unwrap();
    server.keep_clients(Box::new(records.clone())).unwrap();
    server.keep_replies(replies.clone(), &replies.all(), &[]);
    server
}

/// When an operation began.
#[derive(Clone, Copy)]
pub struct Began {
    boot: u64,
    at: Instant,
}

impl Began {
    pub fn new(world: &World) -> Began {
        Began { boot: world.boot(), at: Instant::now() }
    }

    /// Whether a server may have forgotten that it carried the operation out: a restart loses the session and its
    /// replies (RFC 8881 §8.4.2.1), and a server may destroy them when the lease has expired (§8.3, §8.4.3).
    pub fn may_be_forgotten(self, world: &World) -> bool {
        self.boot != world.boot() || self.at.elapsed() > LEASE
    }
}
