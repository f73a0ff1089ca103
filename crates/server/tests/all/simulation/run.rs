//! One run: clients, a wire, a server and the model.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use buffer::Output;
use fs_fault::{Fault, FaultFs, FaultPlan, Operation as FsOperation, Rule, Rules, When};
use proto::nfs3::{FileHandle, Readdir, ReaddirArgs, Res, Status};
use proto::{nfs2, nfs3};
use server::{Answer, Peer, Request, Server, Transport};

use crate::simulation::client::{Client, Pending, WINDOW, invent};
use crate::simulation::model::{Effect, Kind, Model, NodeId, ROOT};
use crate::simulation::operation::{Operation, TARGET};
use crate::simulation::wire::{Event, Wire};
use testing::caller::nfs3::success;
use testing::caller::{Caller, EXPORT, export, memory, results, server};

const CLIENTS: usize = 3;
const OPERATIONS_PER_CLIENT: usize = 40;
const FIRST_TIMEOUT_MS: u64 = 100;
const MAX_TIMEOUT_MS: u64 = 3000;
/// More events than any run needs that ends.
const MAX_EVENTS: u64 = 1_000_000;

/// A call as the simulation knows it.
struct Call {
    operation: Operation,
    version: u32,
    /// The first reply, once there is one.
    reply: Option<Vec<u8>>,
}

/// What happened in a run.
pub struct Counts {
    pub replayed: u64,
    pub deferred: u64,
    pub lost: u64,
}

pub struct Simulation {
    server: Server,
    model: Model,
    wire: Wire,
    clients: Vec<Client>,
    calls: HashMap<(usize, u32), Call>,
}

impl Simulation {
    pub fn new(seed: u64) -> Simulation {
        let mut wire = Wire::new(seed);
        let chance = When::Chance(wire.random.of(&[0.0, 0.05, 0.3]));
        let put_off = |operation| Rule::new(operation, Fault::WouldBlock).when(chance);
        let list = FsOperation::ALL.map(|(operation, _)| put_off(operation)).to_vec();
        let file_system = FaultFs::new(memory(), FaultPlan::new(Rules { seed, list }));
        let server = server(vec![export(EXPORT, Arc::new(file_system))]);
        let model = Model::new(Caller::root(&server).mount().as_bytes());
        let client =
            |index| Client { version: 2 + index as u32 % 2, left: OPERATIONS_PER_CLIENT, pending: HashMap::new() };
        Simulation { server, model, wire, clients: (0..CLIENTS).map(client).collect(), calls: HashMap::new() }
    }

    /// Runs until all is answered and the wire is empty, and compares the trees.
    pub fn run(mut self) -> Counts {
        for _ in 0..WINDOW {
            (0..CLIENTS).for_each(|client| self.begin_operation(client));
        }
        let mut events = 0;
        while let Some(event) = self.wire.next() {
            events += 1;
            assert!(events < MAX_EVENTS, "the simulation does not end");
            match event {
                Event::ToServer { client, message } => self.serve(client, message, false),
                Event::FromPool { client, message } => self.serve(client, message, true),
                Event::ToClient { client, message } => self.hear(client, &message),
                Event::Timeout { client, xid } => self.send_again(client, xid),
            }
        }
        assert!(self.clients.iter().all(|client| client.left == 0 && client.pending.is_empty()));
        assert!(self.calls.values().all(|call| call.reply.is_some()));
        self.compare_trees();
        let counters = self.server.counters();
        Counts { replayed: counters.replayed(), deferred: counters.deferred(), lost: self.wire.lost }
    }

    fn caller(&self, client: usize) -> Caller<'_> {
        Caller::root(&self.server).over_udp().from(&format!("192.0.2.{}:700", client + 1))
    }

    fn begin_operation(&mut self, client: usize) {
        if self.clients[client].left == 0 {
            return;
        }
        self.clients[client].left -= 1;
        let version = self.clients[client].version;
        let operation = invent(&mut self.wire.random, &self.model, version);
        let caller = self.caller(client);
        let mut message = match version {
            2 => operation.message2(&caller, &self.model),
            _ => operation.message3(&caller, &self.model),
        };
        // All clients count from the same number: what tells their calls apart is where they come from.
        let xid = (OPERATIONS_PER_CLIENT - self.clients[client].left) as u32;
        message[..4].copy_from_slice(&xid.to_be_bytes());
        self.calls.insert((client, xid), Call { operation, version, reply: None });
        self.clients[client].pending.insert(xid, Pending { message, timeout_ms: FIRST_TIMEOUT_MS });
        self.transmit(client, xid);
    }

    fn transmit(&mut self, client: usize, xid: u32) {
        let Pending { message, timeout_ms } = &self.clients[client].pending[&xid];
        self.wire.send(|| Event::ToServer { client, message: message.clone() });
        self.wire.schedule(*timeout_ms, Event::Timeout { client, xid });
    }

    fn send_again(&mut self, client: usize, xid: u32) {
        if let Some(pending) = self.clients[client].pending.get_mut(&xid) {
            pending.timeout_ms = (2 * pending.timeout_ms).min(MAX_TIMEOUT_MS);
            self.transmit(client, xid);
        }
    }

    fn hear(&mut self, client: usize, message: &[u8]) {
        let xid = xid_of(message);
        if self.clients[client].pending.remove(&xid).is_some() {
            self.begin_operation(client);
        }
    }

    fn serve(&mut self, client: usize, message: Vec<u8>, may_block: bool) {
        let mut output = Output::new();
        let peer = Peer { transport: Transport::Udp, ..self.caller(client).peer };
        let now = Duration::from_millis(self.wire.now_ms);
        let request = Request {
            message: &message,
            peer,
            worker: usize::from(may_block),
            may_block,
            now,
            batch: None,
            is_scarce: false,
        };
        match self.server.answer(&request, &mut output) {
            Answer::Reply => {
                let reply = output.bytes.as_slice().to_vec();
                self.check(client, xid_of(&message), &reply);
                self.wire.send(|| Event::ToClient { client, message: reply.clone() });
            }
            Answer::WouldBlock(_) => {
                assert!(!may_block && output.is_empty());
                let delay_ms = self.wire.random.below(200);
                self.wire.schedule(delay_ms, Event::FromPool { client, message });
            }
            answer => panic!("{answer:?} to an honest call, and no other is under way"),
        }
    }

    /// Holds a reply against the model and against the first reply to the same call.
    fn check(&mut self, client: usize, xid: u32, reply: &[u8]) {
        let call = self.calls.get_mut(&(client, xid)).expect("a call that was made");
        if call.operation.happens_once()
            && let Some(first) = &call.reply
        {
            assert_eq!(first, reply, "client {client} gets another reply to {:?}", call.operation);
            return;
        }
        call.reply = Some(reply.to_vec());
        let expected = self.model.apply(&call.operation);
        let status = u32::from_be_bytes(reply[24..28].try_into().unwrap());
        let expected_status = expected.as_ref().map_or_else(|status| *status as u32, |_| Status::Ok as u32);
        assert_eq!(status, expected_status, "client {client}, call {xid}: {:?}", call.operation);
        if let Ok(effect) = expected {
            check_effect(&mut self.model, call, &effect, reply);
        }
    }

    /// Walks the server's tree and the model's side by side.
    fn compare_trees(&self) {
        let caller = Caller::root(&self.server);
        let mut rest = vec![(ROOT, caller.mount())];
        while let Some((node, handle)) = rest.pop() {
            match self.model.kind(node) {
                Kind::File(bytes) => assert_eq!(success(caller.read(&handle, 0, 4096)).data, bytes),
                Kind::Symlink => {
                    let link = caller.call::<nfs3::Readlink>(&nfs3::ReadlinkArgs { symlink: handle });
                    assert_eq!(success(link).target, TARGET);
                }
                Kind::Dir(entries) => {
                    assert_eq!(names_in(&caller, &handle), entries.keys().copied().collect::<Vec<_>>());
                    rest.extend(entries.iter().map(|(name, child)| (*child, caller.handle_of(&handle, name))));
                }
            }
        }
    }
}

fn xid_of(message: &[u8]) -> u32 {
    u32::from_be_bytes(message[..4].try_into().unwrap())
}

/// Holds the file or the bytes that a reply tells of against the model's.
fn check_effect(model: &mut Model, call: &Call, effect: &Effect, reply: &[u8]) {
    if let Some(node) = effect.told {
        learn(model, node, call, reply);
    }
    if let Some(expected) = &effect.read {
        let read = match call.version {
            2 => match results::<nfs2::Read>(reply) {
                nfs2::Res::Ok(ok) => ok.data,
                nfs2::Res::Fail(status) => panic!("{status:?}"),
            },
            _ => success(results::<nfs3::Read>(reply)).data,
        };
        assert_eq!(read, expected);
    }
}

fn learn(model: &mut Model, node: NodeId, call: &Call, reply: &[u8]) {
    match (call.version, &call.operation) {
        // CREATE, MKDIR and LOOKUP of version 2 have one form of reply.
        (2, _) => match results::<nfs2::Lookup>(reply) {
            nfs2::Res::Ok(ok) => model.learn_handle(node, &ok.file.0),
            nfs2::Res::Fail(status) => panic!("{status:?}"),
        },
        (_, Operation::Lookup(_)) => {
            model.learn_handle(node, success(results::<nfs3::Lookup>(reply)).object.as_bytes());
        }
        _ => model.learn_handle(node, success(results::<nfs3::Create>(reply)).object.unwrap().as_bytes()),
    }
}

fn names_in(caller: &Caller<'_>, dir: &FileHandle) -> Vec<String> {
    let args = ReaddirArgs { dir: *dir, cookie: 0, verifier: [0; 8], count: 65_536 };
    let Res::Ok(listed) = caller.call::<Readdir>(&args) else { panic!("not listed") };
    assert!(listed.eof);
    let mut names: Vec<_> =
        listed.entries.iter().map(|entry| String::from_utf8_lossy(entry.name).into_owned()).collect();
    names.retain(|name| name != "." && name != "..");
    names.sort();
    names
}
