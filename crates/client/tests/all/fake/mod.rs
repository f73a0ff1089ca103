//! A server made by hand: it answers each call as a test says, over TCP and UDP on one port of the loopback.

use std::net::SocketAddr;
use std::sync::Arc;

use buffer::Buffer;
use client::{Connection, Mount, Options};
use proto::nfs3::{Fattr, FileHandle, FileType, Time};
use proto::{Operation, mount, nfs3};
use rpc::{Call, Credential, Procedure, Rejection, Reply, Xid};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use xdr::{Decode, Decoder, Encode, Encoder};

/// What to do with a call.
pub enum Answer {
    /// Reply with these results.
    Results(Vec<u8>),
    /// Refuse.
    Reject(Rejection),
    /// Say nothing.
    Silence,
}

/// A call as tests look at it.
pub struct Question {
    pub xid: Xid,
    pub program: u32,
    pub version: u32,
    pub procedure: u32,
    /// The number of the user who calls by AUTH_SYS.
    pub uid: Option<u32>,
    pub arguments: Vec<u8>,
}

impl Question {
    /// Whether it is a call of this operation.
    pub fn is<O: Operation>(&self) -> bool {
        (self.program, self.procedure) == (O::PROGRAM, O::PROCEDURE)
    }

    /// Its arguments.
    pub fn arguments<'a, O: Operation>(&'a self) -> O::Arguments<'a> {
        O::Arguments::decode(&mut Decoder::new(&self.arguments)).unwrap()
    }
}

pub fn results(value: impl Encode) -> Answer {
    let mut buffer = Buffer::new();
    value.encode(&mut Encoder::new(&mut buffer));
    Answer::Results(buffer.as_slice().to_vec())
}

pub fn read_question(message: &[u8]) -> Question {
    let call = Call::parse(message).unwrap();
    let (xid, procedure) = (call.xid, call.procedure);
    let arguments = call.arguments.rest().to_vec();
    let uid = match Credential::parse(&call.credential) {
        Some(Ok(Credential::Sys(user))) => Some(user.uid),
        _ => None,
    };
    let Procedure { program, version, number } = procedure;
    Question { xid, program, version, procedure: number, uid, arguments }
}

pub fn reply_message(xid: Xid, answer: &Answer) -> Option<Vec<u8>> {
    let mut buffer = Buffer::new();
    let mut to = Encoder::new(&mut buffer);
    match answer {
        Answer::Results(bytes) => {
            Reply::encode_success(xid, &mut to);
            to.fixed(bytes);
        }
        Answer::Reject(rejection) => Reply::encode_rejection(xid, *rejection, &mut to),
        Answer::Silence => return None,
    }
    Some(buffer.as_slice().to_vec())
}

pub fn record(message: &[u8]) -> Vec<u8> {
    [&rpc::record::last_mark(message.len()).to_be_bytes()[..], message].concat()
}

/// Reads one call from a stream, or `None` at its end.
pub async fn read_call(stream: &mut TcpStream) -> Option<Question> {
    let mark = stream.read_u32().await.ok()?;
    let mut message = vec![0; (mark & 0x7fff_ffff) as usize];
    stream.read_exact(&mut message).await.ok()?;
    Some(read_question(&message))
}

pub async fn send_reply(stream: &mut TcpStream, xid: Xid, answer: &Answer) {
    if let Some(message) = reply_message(xid, answer) {
        let _ = stream.write_all(&record(&message)).await;
    }
}

/// Listens for connections that a test serves itself.
pub async fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// Answers every call on one port by `answer`, until the runtime ends.
pub async fn serve(answer: impl Fn(&Question) -> Answer + Send + Sync + 'static) -> SocketAddr {
    let (listener, address) = listen().await;
    let answer = Arc::new(answer);
    let socket = UdpSocket::bind(address).await.unwrap();
    let for_datagrams = Arc::clone(&answer);
    tokio::spawn(async move {
        let mut datagram = vec![0; 1 << 16];
        while let Ok((length, from)) = socket.recv_from(&mut datagram).await {
            let question = read_question(&datagram[..length]);
            if let Some(reply) = reply_message(question.xid, &for_datagrams(&question)) {
                let _ = socket.send_to(&reply, from).await;
            }
        }
    });
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let answer = Arc::clone(&answer);
            tokio::spawn(async move {
                while let Some(question) = read_call(&mut stream).await {
                    send_reply(&mut stream, question.xid, &answer(&question)).await;
                }
            });
        }
    });
    address
}

pub fn options() -> Options {
    Options { use_privileged_port: false, ..Options::default() }
}

pub async fn connect(address: SocketAddr, options: &Options) -> Connection {
    Connection::connect(address, "fake", options).await.unwrap()
}

pub const ROOT: &[u8] = b"root";
pub const FILE: &[u8] = b"file";

pub fn handle(bytes: &[u8]) -> FileHandle {
    FileHandle::new(bytes).unwrap()
}

pub fn fattr(file_type: FileType, size: u64) -> Fattr {
    let time = Time { seconds: 1, nanoseconds: 2 };
    Fattr {
        file_type,
        mode: 0o755,
        links: 1,
        uid: 0,
        gid: 0,
        size,
        used: size,
        device: nfs3::SpecData::default(),
        fsid: 1,
        fileid: 1,
        accessed: time,
        modified: time,
        changed: time,
    }
}

pub fn fsinfo() -> nfs3::FsinfoOk {
    nfs3::FsinfoOk {
        attributes: None,
        read_max: 65_536,
        read_preferred: 65_536,
        read_multiple: 1,
        write_max: 4096,
        write_preferred: 4096,
        write_multiple: 1,
        readdir_preferred: 4096,
        max_file_bytes: 1 << 40,
        time_delta: Time { seconds: 0, nanoseconds: 1 },
        properties: nfs3::FSF_LINK | nfs3::FSF_SYMLINK | nfs3::FSF_CANSETTIME,
    }
}

/// What every mount needs: the export `/export`, its handle, its attributes and sizes. Everything else is refused.
pub fn basics(question: &Question) -> Answer {
    if question.is::<mount::Null<3>>() && question.program == mount::PROGRAM {
        return Answer::Results(Vec::new());
    }
    if question.is::<mount::Export<3>>() {
        let directory = &b"/export"[..];
        return results(mount::ExportReply { exports: vec![mount::ExportNode { directory, groups: Vec::new() }] });
    }
    if question.is::<mount::Mnt3>() {
        return match question.arguments::<mount::Mnt3>().path {
            b"/export" => results(mount::Mnt3Reply::Ok(mount::Mnt3Ok { handle: handle(ROOT), flavors: vec![1] })),
            _ => results(mount::Mnt3Reply::Fail(mount::Status::NoEnt)),
        };
    }
    if question.is::<nfs3::Fsinfo>() {
        return results(nfs3::Res::<_, nfs3::PostOpAttr>::Ok(fsinfo()));
    }
    if question.is::<nfs3::Getattr>() {
        let attributes = fattr(FileType::Directory, 4096);
        return results(nfs3::Res::<_, ()>::Ok(nfs3::GetattrOk { attributes }));
    }
    Answer::Reject(Rejection::ProcedureUnavailable)
}

/// Mounts a fake server that answers `special` first and [`basics`] where that says nothing.
pub async fn mount(special: impl Fn(&Question) -> Option<Answer> + Send + Sync + 'static) -> Mount {
    let address = serve(move |question| special(question).unwrap_or_else(|| basics(question))).await;
    let url = format!("nfs://{address}/export").parse().unwrap();
    Mount::connect(&url, &options()).await.unwrap()
}
