//! Calls the rpcbind of this machine (RFC 1833 §2) over its local socket, which identifies the caller, or else over
//! loopback TCP.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use buffer::Buffer;
use net::{Bound, Transport};
use proto::Operation;
use proto::rpcbind::{Dump, DumpReply, PORT, Rpcb, Set, UniversalAddress, Unset, netid};
use rpc::{AuthSys, CallResult, Credential, Procedure, Reply, Xid, record};
use xdr::{Decode, Decoder, Encode, Encoder};

/// Where rpcbind listens for local callers.
const LOCAL_SOCKETS: [&str; 2] = ["/run/rpcbind.sock", "/var/run/rpcbind.sock"];
/// The time limit of one call.
const CALL_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest accepted reply in bytes; DUMP lists all services.
const MAX_REPLY_BYTES: usize = 256 << 10;
/// The version of rpcbind that is used.
const VERSION: u32 = 4;

trait ReadWrite: Read + Write {}
impl<T: Read + Write> ReadWrite for T {}

/// A connection to rpcbind.
pub(crate) struct Registrar {
    stream: Box<dyn ReadWrite>,
    next_xid: u32,
}

/// A service registered with rpcbind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Registered {
    pub(crate) program: u32,
    pub(crate) version: u32,
    netid: Box<[u8]>,
    pub(crate) port: u16,
}

/// A program of this server, and where it answers.
#[derive(Debug)]
pub(crate) struct Offered {
    pub(crate) program: u32,
    pub(crate) version: u32,
    pub(crate) at: Bound,
}

impl Registered {
    fn read(service: &Rpcb<'_>) -> Option<Registered> {
        let port = UniversalAddress::parse(service.address).ok()?.0.port();
        Some(Registered { program: service.program, version: service.version, netid: service.netid.into(), port })
    }

    /// Whether it has the transport and address family of `at`.
    pub(crate) fn is_over(&self, at: &Bound) -> bool {
        *self.netid == *netid_of(at)
    }
}

impl Registrar {
    pub(crate) fn connect() -> io::Result<Registrar> {
        let stream = Self::connect_local().map_or_else(|_| Self::connect_loopback(), Ok)?;
        Ok(Registrar { stream, next_xid: std::process::id() })
    }

    fn connect_local() -> io::Result<Box<dyn ReadWrite>> {
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

    fn connect_loopback() -> io::Result<Box<dyn ReadWrite>> {
        let stream = TcpStream::connect_timeout(&(Ipv4Addr::LOCALHOST, PORT).into(), CALL_TIMEOUT)?;
        stream.set_read_timeout(Some(CALL_TIMEOUT))?;
        stream.set_write_timeout(Some(CALL_TIMEOUT))?;
        Ok(Box::new(stream))
    }

    /// Registers a service; `false` when rpcbind refuses.
    pub(crate) fn set(&mut self, service: &Offered) -> io::Result<bool> {
        let reply = self.change::<Set<VERSION>>(service)?;
        read_answer(&reply, read_flag)
    }

    /// Unregisters a service, if it is registered.
    pub(crate) fn unset(&mut self, service: &Offered) -> io::Result<()> {
        // The rpcbind of Linux always returns true.
        self.change::<Unset<VERSION>>(service).map(drop)
    }

    /// Returns the registered services with IPv4 or IPv6 addresses.
    pub(crate) fn registered(&mut self) -> io::Result<Vec<Registered>> {
        let reply = self.call::<Dump<VERSION>>(&())?;
        read_answer(&reply, |from| {
            let services = DumpReply::decode(from)?.services;
            Ok(services.iter().filter_map(Registered::read).collect())
        })
    }

    fn change<O>(&mut self, Offered { program, version, at }: &Offered) -> io::Result<Vec<u8>>
    where
        O: for<'a> Operation<Arguments<'a> = Rpcb<'a>>,
    {
        let address = UniversalAddress(at.address).to_string();
        let owner = b"superuser";
        self.call::<O>(&Rpcb {
            program: *program,
            version: *version,
            netid: netid_of(at),
            address: address.as_bytes(),
            owner,
        })
    }

    /// Sends a call and returns its reply.
    fn call<O: Operation>(&mut self, arguments: &O::Arguments<'_>) -> io::Result<Vec<u8>> {
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
        self.read_record()
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

fn read_answer<T>(message: &[u8], read: impl FnOnce(&mut Decoder<'_>) -> xdr::Result<T>) -> io::Result<T> {
    match Reply::parse(message).map_err(io::Error::other)?.outcome {
        CallResult::Success(mut results) => read(&mut results).map_err(io::Error::other),
        CallResult::Rejected(rejection) => Err(io::Error::other(rejection)),
    }
}

fn read_flag(from: &mut Decoder<'_>) -> xdr::Result<bool> {
    bool::decode(from)
}

fn netid_of(at: &Bound) -> &'static [u8] {
    match (at.transport, at.address.is_ipv4()) {
        (Transport::Tcp, true) => netid::TCP,
        (Transport::Tcp, false) => netid::TCP6,
        (Transport::Udp, true) => netid::UDP,
        (Transport::Udp, false) => netid::UDP6,
    }
}
