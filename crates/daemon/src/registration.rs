//! Calls to the rpcbind of this machine (RFC 1833 §2), over its local socket, where it knows who calls, or else over
//! loopback TCP.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use buffer::Buffer;
use net::{Bound, Transport};
use proto::Operation;
use proto::rpcbind::{PORT, Rpcb, Set, UniversalAddress, Unset, netid};
use rpc::{AuthSys, Credential, Outcome, Procedure, Reply, Xid, record};
use xdr::{Decode, Encode, Encoder};

/// Where rpcbind listens for local callers.
const LOCAL_SOCKETS: [&str; 2] = ["/run/rpcbind.sock", "/var/run/rpcbind.sock"];
/// How long rpcbind may take for one call.
const CALL_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest reply that is taken, in bytes; SET and UNSET answer with one word.
const MAX_REPLY_BYTES: usize = 4096;
/// The version of rpcbind that is spoken.
const VERSION: u32 = 4;

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

/// A connection to rpcbind.
pub(crate) struct Registrar {
    stream: Box<dyn Stream>,
    next_xid: u32,
}

impl Registrar {
    pub(crate) fn connect() -> io::Result<Registrar> {
        let stream = Self::connect_local().map_or_else(|_| Self::connect_loopback(), Ok)?;
        Ok(Registrar { stream, next_xid: std::process::id() })
    }

    fn connect_local() -> io::Result<Box<dyn Stream>> {
        let mut result = Err(io::ErrorKind::NotFound.into());
        for path in LOCAL_SOCKETS {
            result = UnixStream::connect(path);
            if result.is_ok() {
                break;
            }
        }
        let stream = result?;
        stream.set_read_timeout(Some(CALL_TIMEOUT))?;
        stream.set_write_timeout(Some(CALL_TIMEOUT))?;
        Ok(Box::new(stream))
    }

    fn connect_loopback() -> io::Result<Box<dyn Stream>> {
        let stream = TcpStream::connect_timeout(&(Ipv4Addr::LOCALHOST, PORT).into(), CALL_TIMEOUT)?;
        stream.set_read_timeout(Some(CALL_TIMEOUT))?;
        stream.set_write_timeout(Some(CALL_TIMEOUT))?;
        Ok(Box::new(stream))
    }

    /// Registers a service; `false` when rpcbind refuses.
    pub(crate) fn set(&mut self, service: &(u32, u32, Bound)) -> io::Result<bool> {
        self.call::<Set<VERSION>>(service)
    }

    /// Takes a service off; `false` when there was none.
    pub(crate) fn unset(&mut self, service: &(u32, u32, Bound)) -> io::Result<bool> {
        self.call::<Unset<VERSION>>(service)
    }

    fn call<O>(&mut self, (program, version, at): &(u32, u32, Bound)) -> io::Result<bool>
    where
        O: for<'a> Operation<Arguments<'a> = Rpcb<'a>, Reply<'a> = bool>,
    {
        let address = UniversalAddress(at.address).to_string();
        let owner = b"superuser";
        let arguments =
            Rpcb { program: *program, version: *version, netid: netid_of(at), address: address.as_bytes(), owner };
        let mut message = Buffer::new();
        message.put(&[0; 4]);
        let procedure = Procedure { program: O::PROGRAM, version: O::VERSION, number: O::PROCEDURE };
        let credential = Credential::Sys(AuthSys::new(b"localhost", 0, 0, &[]));
        let mut to = Encoder::new(&mut message);
        procedure.encode_call(Xid(self.next_xid), &credential, &mut to);
        arguments.encode(&mut to);
        self.next_xid = self.next_xid.wrapping_add(1);
        let length = message.len() - 4;
        message.as_mut_slice()[..4].copy_from_slice(&record::last_mark(length).to_be_bytes());
        self.stream.write_all(message.as_slice())?;
        read_answer(&self.read_record()?)
    }

    fn read_record(&mut self) -> io::Result<Vec<u8>> {
        let limits = record::Limits { max_bytes: MAX_REPLY_BYTES, max_fragments: 16 };
        let mut unread = Vec::new();
        loop {
            match record::scan(&mut unread, &limits).map_err(io::Error::other)? {
                record::Scan::Whole { message, .. } => return Ok(unread[message].to_vec()),
                record::Scan::Partial(needed) => {
                    let start = unread.len();
                    unread.resize(needed, 0);
                    self.stream.read_exact(&mut unread[start..])?;
                }
            }
        }
    }
}

fn read_answer(message: &[u8]) -> io::Result<bool> {
    match Reply::parse(message).map_err(io::Error::other)?.outcome {
        Outcome::Success(mut results) => bool::decode(&mut results).map_err(io::Error::other),
        Outcome::Rejected(rejection) => Err(io::Error::other(rejection)),
    }
}

fn netid_of(at: &Bound) -> &'static [u8] {
    match (at.transport, at.address.is_ipv4()) {
        (Transport::Tcp, true) => netid::TCP,
        (Transport::Tcp, false) => netid::TCP6,
        (Transport::Udp, true) => netid::UDP,
        (Transport::Udp, false) => netid::UDP6,
    }
}
