//! A wire between client and server that loses replies and brings calls of its own.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, Weak};

use proto::Operation;
use proto::nfs4::{ArgOp, Compound, CompoundArgs, SessionId};
use rpc::Xid;
use rpc::record::last_mark;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex as AsyncMutex, Notify, mpsc};
use xdr::{Decode, Decoder};

/// The xid of the calls that a test makes in the server's place.
pub const XID: Xid = Xid(0x7e57_7e57);

/// What the proxy does besides carrying messages.
#[derive(Default)]
struct Plan {
    /// The number of the operation whose next reply is lost, with its connection.
    lost: Option<u32>,
    /// What ends each connection that there was.
    cuts: Vec<Arc<Notify>>,
    /// How many calls of NFS came over each.
    calls: Vec<usize>,
    /// How many sessions were asked for.
    sessions: usize,
    /// How often each operation of NFSv4 came.
    operations: HashMap<u32, usize>,
    /// Whether nobody gets through.
    is_blocked: bool,
    /// Whether the server's own calls are lost.
    loses_callbacks: bool,
    /// The session of the latest request.
    session: SessionId,
    /// How often a message with the operation that is watched came.
    seen: usize,
    /// Whether nobody gets through any more when it is lost.
    blocks_when_lost: bool,
    to_client: Weak<AsyncMutex<OwnedWriteHalf>>,
}

pub struct Proxy {
    pub address: SocketAddr,
    plan: Arc<Mutex<Plan>>,
    replies: AsyncMutex<mpsc::UnboundedReceiver<Vec<u8>>>,
}

impl Proxy {
    /// Stands in front of a server.
    pub async fn start(server: SocketAddr) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let plan: Arc<Mutex<Plan>> = Arc::default();
        let (replies_in, replies) = mpsc::unbounded_channel();
        let shared = Arc::clone(&plan);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                // A server that restarts is not there for a while.
                let Ok(server) = TcpStream::connect(server).await else { continue };
                if shared.lock().unwrap().is_blocked {
                    continue;
                }
                let (number, cut) = {
                    let mut plan = shared.lock().unwrap();
                    plan.cuts.push(Arc::default());
                    plan.calls.push(0);
                    (plan.calls.len() - 1, plan.cuts.last().cloned().unwrap())
                };
                let carried = carry((client, server), number, Arc::clone(&shared), replies_in.clone());
                tokio::spawn(async move {
                    tokio::select! {
                        () = carried => {}
                        () = cut.notified() => {}
                    }
                });
            }
        });
        Proxy { address, plan, replies: AsyncMutex::new(replies) }
    }

    /// Loses the reply to the next request with this operation in it, and the connection too.
    pub fn lose_reply_to(&self, operation: u32) {
        let mut plan = self.plan.lock().unwrap();
        (plan.lost, plan.seen) = (Some(operation), 0);
    }

    /// Lets nothing through any more once the next request with this operation was carried out: its reply is lost, too.
    pub fn block_from_reply_to(&self, operation: u32) {
        self.lose_reply_to(operation);
        self.plan.lock().unwrap().blocks_when_lost = true;
    }

    /// How many requests with that operation came since.
    pub fn seen(&self) -> usize {
        self.plan.lock().unwrap().seen
    }

    pub fn connections(&self) -> usize {
        self.plan.lock().unwrap().cuts.len()
    }

    /// Keeps the client from the server, or lets it through again.
    pub fn block(&self, is_blocked: bool) {
        let mut plan = self.plan.lock().unwrap();
        plan.is_blocked = is_blocked;
        plan.cuts.iter().for_each(|cut| cut.notify_one());
    }

    /// Loses what the server asks the client from now on.
    pub fn lose_callbacks(&self) {
        self.plan.lock().unwrap().loses_callbacks = true;
    }

    /// Ends the connection of this number, counted from 0 in the order in which they were made.
    pub fn cut(&self, number: usize) {
        self.plan.lock().unwrap().cuts[number].notify_one();
    }

    /// How many calls of NFS came over each connection so far.
    pub fn calls(&self) -> Vec<usize> {
        self.plan.lock().unwrap().calls.clone()
    }

    /// How often an operation of NFSv4 came so far.
    pub fn count(&self, operation: u32) -> usize {
        self.plan.lock().unwrap().operations.get(&operation).copied().unwrap_or_default()
    }

    /// How many sessions were asked for.
    pub fn sessions(&self) -> usize {
        self.plan.lock().unwrap().sessions
    }

    pub fn session(&self) -> SessionId {
        self.plan.lock().unwrap().session
    }

    /// Calls the client, and gives its reply: whole messages.
    pub async fn call_client(&self, message: &[u8]) -> Vec<u8> {
        let to_client = self.plan.lock().unwrap().to_client.upgrade().unwrap();
        write_message(&mut *to_client.lock().await, message).await;
        self.replies.lock().await.recv().await.unwrap()
    }
}

/// Ends a task with whoever started it.
struct Ends(tokio::task::JoinHandle<()>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn carry(
    (client, server): (TcpStream, TcpStream),
    connection: usize,
    plan: Arc<Mutex<Plan>>,
    replies: mpsc::UnboundedSender<Vec<u8>>,
) {
    let (mut from_client, to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let to_client = Arc::new(AsyncMutex::new(to_client));
    plan.lock().unwrap().to_client = Arc::downgrade(&to_client);
    // The xid whose reply is lost.
    let losing: Arc<Mutex<Option<[u8; 4]>>> = Arc::default();
    let (watched, noted, lossy) = (Arc::clone(&plan), Arc::clone(&losing), Arc::clone(&plan));
    let mut upwards = Ends(tokio::spawn(async move {
        while let Some(message) = read_message(&mut from_client).await {
            if message[4..8] == [0, 0, 0, 1] {
                match message[..4] == XID.0.to_be_bytes() {
                    true => replies.send(message).unwrap(),
                    // The server called on its own.
                    false => write_message(&mut to_server, &message).await,
                }
                continue;
            }
            look(&message, connection, &watched, &noted);
            write_message(&mut to_server, &message).await;
        }
    }));
    while let Some(message) = read_message(&mut from_server).await {
        if *losing.lock().unwrap() == message.first_chunk().copied() {
            let mut plan = lossy.lock().unwrap();
            plan.is_blocked |= std::mem::take(&mut plan.blocks_when_lost);
            break;
        }
        if message[4..8] == [0; 4] && lossy.lock().unwrap().loses_callbacks {
            continue;
        }
        write_message(&mut *to_client.lock().await, &message).await;
    }
    upwards.0.abort();
    // The task above holds the other half; both go with it.
    let _ = (&mut upwards.0).await;
}

/// Notes the session of a request, and whether its reply is to be lost.
fn look(message: &[u8], connection: usize, plan: &Mutex<Plan>, losing: &Mutex<Option<[u8; 4]>>) {
    let call = rpc::Call::parse(message).unwrap();
    if call.procedure.program != Compound::PROGRAM {
        return;
    }
    plan.lock().unwrap().calls[connection] += 1;
    if (call.procedure.version, call.procedure.number) != (Compound::VERSION, Compound::PROCEDURE) {
        return;
    }
    let compound = CompoundArgs::decode(&mut Decoder::new(call.arguments.rest())).unwrap();
    let mut plan = plan.lock().unwrap();
    for operation in &compound.operations {
        if let ArgOp::Sequence(sequence) = operation {
            plan.session = sequence.session;
        }
        plan.sessions += usize::from(matches!(operation, ArgOp::CreateSession(_)));
        let number = number(operation);
        *plan.operations.entry(number).or_default() += 1;
        if plan.lost == Some(number) {
            plan.seen += 1;
            if plan.seen == 1 {
                *losing.lock().unwrap() = message.first_chunk().copied();
            }
        }
    }
}

fn number(operation: &ArgOp<'_>) -> u32 {
    let mut buffer = buffer::Buffer::new();
    xdr::Encode::encode(operation, &mut xdr::Encoder::new(&mut buffer));
    u32::from_be_bytes(*buffer.as_slice().first_chunk().unwrap())
}

pub async fn read_message(from: &mut OwnedReadHalf) -> Option<Vec<u8>> {
    let length = from.read_u32().await.ok()? & 0x7fff_ffff;
    let mut message = vec![0; length as usize];
    from.read_exact(&mut message).await.ok()?;
    Some(message)
}

pub async fn write_message(to: &mut OwnedWriteHalf, message: &[u8]) {
    let record = [&last_mark(message.len()).to_be_bytes()[..], message].concat();
    // Whoever is gone hears nothing.
    let _ = to.write_all(&record).await;
}
