//! Drives a server by hand: calls go in as bytes and replies come out as bytes, without sockets and with a clock that
//! the test sets.

mod directory;
pub mod nfs2;
pub mod nfs3;
pub mod records;
pub mod ticketed;

use std::num::NonZero;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use buffer::{Buffer, Output};
use fs_mem::{MemFs, MemOptions};
use proto::Operation;
use rpc::{AuthSys, CallResult, Credential, Procedure, Rejection, Reply, Xid};
use server::{
    AccessRule, Answer, ClientPattern, Export, ExportOptions, HandleKey, Peer, Request, Server, Settings, Squash,
    Transport,
};
use vfs::{Context, CreateMode, FileSystem, Name, Place, SetAttributes};
use xdr::{Decode, Encode, Encoder};

pub use directory::Directory;

/// The name of the export in most tests.
pub const EXPORT: &str = "/srv/export";
/// The server's number of the start in most tests: the first write verifier.
pub const INSTANCE: u64 = 1000;
/// How many threads a test's server may be called from.
pub const WORKERS: usize = 2;

static NEXT_XID: AtomicU32 = AtomicU32::new(1);

/// What the server says to a call that it carries out or not.
#[derive(Debug)]
pub enum Said {
    /// A whole reply.
    Reply(Vec<u8>),
    /// Nothing, for the reason given.
    Nothing(Answer),
}

/// An export of `file_system` for everybody, without squashing.
pub fn export(name: &str, file_system: Arc<dyn FileSystem>) -> Export {
    let options = ExportOptions { squash: Squash::None, ..ExportOptions::default() };
    export_with(name, file_system, options)
}

/// An export of `file_system` for everybody.
pub fn export_with(name: &str, file_system: Arc<dyn FileSystem>, options: ExportOptions) -> Export {
    let rules = vec![AccessRule { clients: ClientPattern::Everyone, options }];
    Export { name: name.to_owned(), file_system, rules, fsid: None }
}

/// A file system in memory whose root everybody may change.
pub fn memory() -> Arc<MemFs> {
    Arc::new(MemFs::new(MemOptions { root_mode: 0o777, ..MemOptions::default() }))
}

/// Like [`memory`], with `count` empty files called `stable-0` and so on in the root.
pub fn memory_with_files(count: usize) -> Arc<MemFs> {
    let file_system = memory();
    for number in 0..count {
        let name = format!("stable-{number}");
        let place = Place { dir: file_system.root(), name: Name::new(name.as_bytes()).unwrap() };
        file_system.create(&Context::ROOT, place, CreateMode::Guarded, &SetAttributes::default()).unwrap();
    }
    file_system
}

pub fn settings() -> Settings {
    Settings::new(WORKERS, INSTANCE, HandleKey::new([7; 16]))
}

pub fn server(exports: Vec<Export>) -> Server {
    Server::new(settings(), exports).unwrap()
}

/// A server of one export in memory.
pub fn memory_server() -> Server {
    server(vec![export(EXPORT, memory())])
}

/// A client: where it sends from, how, and as whom.
#[derive(Clone, Copy)]
pub struct Caller<'s> {
    pub server: &'s Server,
    pub peer: Peer,
    pub credential: Credential<'static>,
    pub may_block: bool,
    pub now: Duration,
    /// Which other calls its calls came together with.
    pub batch: Option<NonZero<u64>>,
    /// Whether it has no memory left of what the server gives it.
    pub is_scarce: bool,
}

impl<'s> Caller<'s> {
    /// The superuser of a client, over TCP from a privileged port.
    pub fn root(server: &'s Server) -> Caller<'s> {
        let peer = Peer {
            address: "192.0.2.1:700".parse().unwrap(),
            local: "192.0.2.100:2049".parse().unwrap(),
            transport: Transport::Tcp,
            connection: 1,
        };
        let now = Duration::from_secs(1000);
        Caller { server, peer, credential: sys(0, 0, &[]), may_block: true, now, batch: None, is_scarce: false }
    }

    pub fn user(self, uid: u32, gid: u32, groups: &[u32]) -> Caller<'s> {
        Caller { credential: sys(uid, gid, groups), ..self }
    }

    /// The user that the tests run as, so that they need no privileges.
    pub fn myself(self) -> Caller<'s> {
        let me = std::fs::metadata("/proc/self").unwrap();
        self.user(me.uid(), me.gid(), &[])
    }

    pub fn nobody(self) -> Caller<'s> {
        Caller { credential: Credential::None, ..self }
    }

    pub fn from(self, address: &str) -> Caller<'s> {
        Caller { peer: Peer { address: address.parse().unwrap(), ..self.peer }, ..self }
    }

    /// The same caller, over the connection of this number.
    pub fn over(self, connection: u64) -> Caller<'s> {
        Caller { peer: Peer { connection, ..self.peer }, ..self }
    }

    /// The same caller, whose messages come to the address `local`.
    pub fn to(self, local: &str) -> Caller<'s> {
        Caller { peer: Peer { local: local.parse().unwrap(), ..self.peer }, ..self }
    }

    pub fn over_udp(self) -> Caller<'s> {
        Caller { peer: Peer { transport: Transport::Udp, ..self.peer }, ..self }
    }

    pub fn on_event_loop(self) -> Caller<'s> {
        Caller { may_block: false, ..self }
    }

    /// The same caller, with no memory left of what the server gives it.
    pub fn without_memory(self) -> Caller<'s> {
        Caller { is_scarce: true, ..self }
    }

    /// The same caller, whose calls come together under this number.
    pub fn in_batch(self, number: u64) -> Caller<'s> {
        Caller { batch: NonZero::new(number), ..self }
    }

    /// The same caller, `seconds` later.
    pub fn later(self, seconds: u64) -> Caller<'s> {
        Caller { now: self.now + Duration::from_secs(seconds), ..self }
    }

    /// The bytes of a call.
    pub fn message<O: Operation>(&self, arguments: &O::Arguments<'_>) -> Vec<u8> {
        self.message_of(procedure::<O>(), arguments)
    }

    pub fn message_of(&self, procedure: Procedure, arguments: &impl Encode) -> Vec<u8> {
        let mut buffer = Buffer::new();
        let mut to = Encoder::new(&mut buffer);
        procedure.encode_call(Xid(NEXT_XID.fetch_add(1, Ordering::Relaxed)), &self.credential, &mut to);
        arguments.encode(&mut to);
        buffer.as_slice().to_vec()
    }

    /// Sends bytes. Whatever was in the output before must still be there.
    pub fn send(&self, message: &[u8]) -> Said {
        let mut output = Output::new();
        output.bytes.put(b"before");
        let request = Request {
            message,
            peer: self.peer,
            worker: usize::from(self.may_block),
            may_block: self.may_block,
            now: self.now,
            batch: self.batch,
            is_scarce: self.is_scarce,
        };
        let answer = self.server.answer(&request, &mut output);
        let rest = output.bytes.as_slice().strip_prefix(b"before").expect("the output keeps what was in it");
        match answer {
            Answer::Reply => Said::Reply(rest.to_vec()),
            answer => {
                assert!(rest.is_empty(), "{answer:?} comes with {} bytes", rest.len());
                Said::Nothing(answer)
            }
        }
    }

    /// Sends bytes that must be answered.
    pub fn reply_to(&self, message: &[u8]) -> Vec<u8> {
        match self.send(message) {
            Said::Reply(reply) => reply,
            Said::Nothing(answer) => panic!("no reply but {answer:?}"),
        }
    }

    /// Makes a call that must be carried out, and returns its results. They borrow from the reply, which lives as long
    /// as the test program.
    pub fn call<O: Operation>(&self, arguments: &O::Arguments<'_>) -> O::Reply<'static> {
        results::<O>(self.reply_to(&self.message::<O>(arguments)).leak())
    }

    /// Makes a call that must be rejected.
    pub fn rejected<O: Operation>(&self, arguments: &O::Arguments<'_>) -> Rejection {
        rejection(&self.reply_to(&self.message::<O>(arguments)))
    }
}

fn sys(uid: u32, gid: u32, groups: &[u32]) -> Credential<'static> {
    Credential::Sys(AuthSys::new(b"client", uid, gid, groups))
}

pub fn procedure<O: Operation>() -> Procedure {
    Procedure { program: O::PROGRAM, version: O::VERSION, number: O::PROCEDURE }
}

/// The results in a reply to a call that was carried out; nothing may be left behind them.
pub fn results<O: Operation>(reply: &[u8]) -> O::Reply<'_> {
    match Reply::parse(reply).unwrap().outcome {
        CallResult::Success(mut from) => {
            let results = O::Reply::decode(&mut from).unwrap();
            assert!(from.rest().is_empty(), "{} bytes behind the results of {}", from.rest().len(), O::NAME);
            results
        }
        CallResult::Rejected(rejection) => panic!("{} was rejected: {rejection}", O::NAME),
    }
}

pub fn rejection(reply: &[u8]) -> Rejection {
    match Reply::parse(reply).unwrap().outcome {
        CallResult::Rejected(rejection) => rejection,
        CallResult::Success(_) => panic!("the call was carried out"),
    }
}
