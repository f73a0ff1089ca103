//! A server of NFSv4.1 made by hand: its root is a directory in which every name is there and leads to a file whose
//! handle is the name. A test says what is done otherwise.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use buffer::Buffer;
use client::{Mount, Options, Result, Tunnel, Version};
use proto::nfs4::{
    ArgOp, Attribute, AttributeValue, Bitmap, ChangeInfo, ClientId, Compound, CompoundArgs, CompoundReply,
    CreateSessionOk, Delegation, ExchangeIdOk, Fattr, FileHandle, FileType, Fsid, OpenClaim, OpenOk, Principal, Res,
    ResOp, ResOr, SequenceOk, ServerOwner, SessionId, SetclientidOk, SpecData, StateProtected, Stateid, Status, Time,
};

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::fake::{Answer, Question, read_question, record, reply_message, results, serve};

pub const ROOT: &[u8] = b"root";
pub const SESSION: SessionId = SessionId([4; 16]);
pub const OPEN: Stateid = Stateid { seqid: 1, other: *b"the open one" };

/// What a test says of an operation on the current file, and the rest is done as ever where it says nothing.
pub type Special = dyn Fn(&ArgOp<'_>, &[u8]) -> Option<ResOp<'static>> + Send + Sync;

/// What a test sees and changes of the server.
#[derive(Default)]
pub struct Fake {
    /// The operations so far, by their names.
    pub log: Mutex<Vec<String>>,
    /// As whom each of them was asked for.
    pub users: Mutex<Vec<Option<u32>>>,
    /// What SEQUENCE says beside the result.
    pub flags: AtomicU32,
}

impl Fake {
    /// How often an operation came.
    pub fn count(&self, name: &str) -> usize {
        self.log.lock().unwrap().iter().filter(|operation| *operation == name).count()
    }

    /// As whom an operation was asked for, each time. It is right where calls follow each other.
    pub fn users_of(&self, name: &str) -> Vec<Option<u32>> {
        let (log, users) = (self.log.lock().unwrap(), self.users.lock().unwrap());
        let all = log.iter().zip(users.iter()).filter(|(operation, _)| *operation == name);
        all.map(|(_, user)| *user).collect()
    }
}

/// Starts a server.
pub async fn start(
    special: impl Fn(&ArgOp<'_>, &[u8]) -> Option<ResOp<'static>> + Send + Sync + 'static,
) -> (SocketAddr, Arc<Fake>) {
    let fake: Arc<Fake> = Arc::default();
    let shared = Arc::clone(&fake);
    let address = serve(move |question| answer(question, &shared, &special)).await;
    (address, fake)
}

/// Mounts a server whose calls go through memory alone, so that time need not pass; `alter` changes the results of a
/// COMPOUND as they are sent.
pub async fn mount_in_memory(
    special: impl Fn(&ArgOp<'_>, &[u8]) -> Option<ResOp<'static>> + Send + Sync + 'static,
    alter: impl Fn(&CompoundArgs<'_>, Vec<u8>) -> Vec<u8> + Send + Sync + 'static,
    options: Options,
) -> Result<(Mount, Arc<Fake>)> {
    let fake: Arc<Fake> = Arc::default();
    let server = Arc::new((Arc::clone(&fake), special, alter));
    let tunnel = Tunnel::new(move |_| {
        let (here, mut there) = tokio::io::duplex(1 << 16);
        let server = Arc::clone(&server);
        tokio::spawn(async move {
            while let Ok(mark) = there.read_u32().await {
                let mut message = vec![0; (mark & 0x7fff_ffff) as usize];
                there.read_exact(&mut message).await.unwrap();
                let question = read_question(&message);
                let mut reply = answer(&question, &server.0, &server.1);
                if let (Answer::Results(bytes), true) = (&mut reply, question.is::<Compound>()) {
                    *bytes = server.2(&question.arguments::<Compound>(), std::mem::take(bytes));
                }
                let message = reply_message(question.xid, &reply).unwrap();
                let _ = there.write_all(&record(&message)).await;
            }
        });
        std::future::ready(Ok(here))
    });
    let options = Options { tunnel: Some(tunnel), ..options };
    Ok((Mount::connect(&"nfs://192.0.2.1:2049/".parse().unwrap(), &options).await?, fake))
}

pub fn options() -> Options {
    Options { version: Version::V4_1, use_privileged_port: false, ..Options::default() }
}

pub async fn connect(address: SocketAddr, path: &str) -> Result<Mount> {
    Mount::connect(&format!("nfs://{address}{path}").parse().unwrap(), &options()).await
}

/// The answer to a call.
pub fn answer(question: &Question, fake: &Fake, special: &Special) -> Answer {
    if !question.is::<Compound>() {
        return Answer::Results(Vec::new());
    }
    let compound = question.arguments::<Compound>();
    let reply = carry_out(&compound, fake, special);
    let count = fake.log.lock().unwrap().len();
    fake.users.lock().unwrap().resize(count, question.uid);
    results(reply)
}

fn carry_out(compound: &CompoundArgs<'_>, fake: &Fake, special: &Special) -> CompoundReply<'static> {
    let mut current = ROOT.to_vec();
    let (mut status, mut done) = (Status::Ok, Vec::new());
    for operation in &compound.operations {
        let name = format!("{operation:?}");
        let name = name.split(|letter: char| !letter.is_alphanumeric()).next().unwrap().to_owned();
        fake.log.lock().unwrap().push(name);
        let result = special(operation, &current).unwrap_or_else(|| one(operation, &mut current, fake));
        status = status_of(&result);
        done.push(result);
        if status != Status::Ok {
            break;
        }
    }
    CompoundReply { status, tag: b"", results: done }
}

/// The status of a result, which is the word behind the number of the operation.
fn status_of(result: &ResOp<'_>) -> Status {
    let mut buffer = Buffer::new();
    xdr::Encode::encode(result, &mut xdr::Encoder::new(&mut buffer));
    xdr::Decode::decode(&mut xdr::Decoder::new(&buffer.as_slice()[4..])).unwrap()
}

fn one(operation: &ArgOp<'_>, current: &mut Vec<u8>, fake: &Fake) -> ResOp<'static> {
    match operation {
        ArgOp::ExchangeId(_) => ResOp::ExchangeId(Res::Ok(exchanged(b"scope"))),
        ArgOp::CreateSession(args) => {
            let (sequence, fore, back) = (args.sequence, args.fore, args.back);
            ResOp::CreateSession(Res::Ok(CreateSessionOk { session: SESSION, sequence, flags: args.flags, fore, back }))
        }
        ArgOp::Sequence(args) => ResOp::Sequence(Res::Ok(SequenceOk {
            session: args.session,
            sequence: args.sequence,
            slot: args.slot,
            highest_slot: args.highest_slot,
            target_highest_slot: args.highest_slot,
            status_flags: fake.flags.load(Ordering::Relaxed),
        })),
        ArgOp::Setclientid(_) => {
            ResOp::Setclientid(ResOr::Ok(SetclientidOk { client: ClientId(9), confirm: Default::default() }))
        }
        ArgOp::SetclientidConfirm(_) => ResOp::SetclientidConfirm(Res::Ok(())),
        ArgOp::Renew(_) => ResOp::Renew(Res::Ok(())),
        ArgOp::BindConnToSession(args) => {
            let (session, use_rdma) = (args.session, false);
            let direction = proto::nfs4::ServerDirection::Both;
            ResOp::BindConnToSession(Res::Ok(proto::nfs4::BindConnToSessionOk { session, direction, use_rdma }))
        }
        ArgOp::ReclaimComplete(_) => ResOp::ReclaimComplete(Res::Ok(())),
        ArgOp::DestroySession(_) => ResOp::DestroySession(Res::Ok(())),
        ArgOp::DestroyClientid(_) => ResOp::DestroyClientid(Res::Ok(())),
        ArgOp::Putrootfh => {
            *current = ROOT.to_vec();
            ResOp::Putrootfh(Res::Ok(()))
        }
        ArgOp::Putfh(args) => {
            *current = args.object.as_bytes().to_vec();
            ResOp::Putfh(Res::Ok(()))
        }
        ArgOp::Lookup(args) => {
            *current = args.name.0.to_vec();
            ResOp::Lookup(Res::Ok(()))
        }
        ArgOp::Getfh => ResOp::Getfh(Res::Ok(FileHandle::new(current).unwrap())),
        ArgOp::Getattr(args) => ResOp::Getattr(Res::Ok(attributes(current, args.request))),
        ArgOp::Open(args) => {
            if let OpenClaim::Null(name) = args.claim {
                *current = name.0.to_vec();
            }
            ResOp::Open(Res::Ok(opened(Delegation::None)))
        }
        ArgOp::Close(_) => ResOp::Close(Res::Ok(OPEN)),
        ArgOp::TestStateid(args) => {
            let statuses = vec![Status::Ok; args.stateids.len()];
            ResOp::TestStateid(Res::Ok(proto::nfs4::TestStateidOk { statuses }))
        }
        ArgOp::FreeStateid(_) => ResOp::FreeStateid(Res::Ok(())),
        ArgOp::Delegreturn(_) => ResOp::Delegreturn(Res::Ok(())),
        _ => ResOp::Illegal(Status::OpIllegal),
    }
}

/// What operations that only some tests call are answered with when nothing else is said of them.
pub fn newer(operation: &ArgOp<'_>) -> Option<ResOp<'static>> {
    Some(match operation {
        ArgOp::Savefh => ResOp::Savefh(Res::Ok(())),
        ArgOp::OffloadStatus(_) => ResOp::OffloadStatus(Res::Fail(Status::BadStateid)),
        ArgOp::OffloadCancel(_) => ResOp::OffloadCancel(Res::Fail(Status::BadStateid)),
        _ => return None,
    })
}

/// What GETATTR tells of the root.
pub fn root_attributes(operation: &ArgOp<'_>) -> ResOp<'static> {
    let ArgOp::Getattr(args) = operation else { panic!("{operation:?}") };
    ResOp::Getattr(Res::Ok(attributes(ROOT, args.request)))
}

/// What EXCHANGE_ID tells.
pub fn exchanged(server_scope: &'static [u8]) -> ExchangeIdOk<'static> {
    ExchangeIdOk {
        client: ClientId(9),
        sequence: 1,
        flags: 0,
        state_protect: StateProtected::None,
        server_owner: ServerOwner { minor_id: 0, major_id: server_scope },
        server_scope,
        implementation: None,
    }
}

/// What OPEN tells.
pub fn opened(delegation: Delegation<'static>) -> OpenOk<'static> {
    let change = ChangeInfo { atomic: true, before: 1, after: 1 };
    OpenOk { stateid: OPEN, change, flags: 0, attributes_set: Bitmap::EMPTY, delegation }
}

/// Attributes that live as long as the test.
pub fn fattr(values: &[AttributeValue<'_>]) -> Fattr<'static> {
    let buffer: &'static mut Buffer = Box::leak(Box::new(Buffer::new()));
    Fattr::collect(values, buffer)
}

fn attributes(file: &[u8], wanted: Bitmap) -> Fattr<'static> {
    let (number, size) = (file.iter().map(|byte| u64::from(*byte)).sum(), 5);
    let kind = if file == ROOT { FileType::Directory } else { FileType::Regular };
    let time = Time { seconds: 1, nanoseconds: 2 };
    let all = [
        AttributeValue::Type(kind),
        AttributeValue::Change(1),
        AttributeValue::Size(size),
        AttributeValue::Fsid(Fsid { major: 1, minor: 1 }),
        AttributeValue::LeaseTime(90),
        AttributeValue::FileId(number),
        AttributeValue::Mode(0o755),
        AttributeValue::NumLinks(1),
        AttributeValue::Owner(Principal(b"0")),
        AttributeValue::OwnerGroup(Principal(b"0")),
        AttributeValue::RawDev(SpecData { major: 0, minor: 0 }),
        AttributeValue::SpaceUsed(size),
        AttributeValue::TimeAccess(time),
        AttributeValue::TimeMetadata(time),
        AttributeValue::TimeModify(time),
    ];
    let has = |value: &&AttributeValue<'_>| wanted.contains(value.attribute().number());
    let told: Vec<_> = all.iter().filter(has).cloned().collect();
    fattr(&told)
}

/// Whether an operation asks for this attribute alone.
pub fn asks_only(operation: &ArgOp<'_>, attribute: Attribute) -> bool {
    matches!(operation, ArgOp::Getattr(args) if args.request == Attribute::set(&[attribute]))
}
