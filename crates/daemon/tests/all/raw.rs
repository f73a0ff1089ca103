//! Calls and replies on a socket, read no sooner than the test wants.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use buffer::Buffer;
use rpc::{AuthSys, CallResult, Credential, Procedure, Reply, Xid};
use xdr::{Decoder, Encode, Encoder};

/// How long anything may take before the test fails.
pub const PATIENCE: Duration = Duration::from_secs(20);

pub struct Wire {
    stream: TcpStream,
    xid: u32,
    /// The number of the call whose reply is next, and the record of the last one.
    answered: u32,
    record: Vec<u8>,
}

impl Wire {
    pub fn connect(address: SocketAddr) -> Wire {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Wire { stream, xid: 0, answered: 0, record: Vec::new() }
    }

    /// Sends a call, and returns its number.
    pub fn send(&mut self, procedure: Procedure, arguments: &impl Encode) -> u32 {
        self.xid += 1;
        let mut message = Buffer::new();
        let mut to = Encoder::new(&mut message);
        to.u32(0);
        procedure.encode_call(Xid(self.xid), &Credential::Sys(AuthSys::new(b"test", 0, 0, &[])), &mut to);
        arguments.encode(&mut to);
        let mark = rpc::record::last_mark(message.len() - 4);
        message.as_mut_slice()[..4].copy_from_slice(&mark.to_be_bytes());
        self.stream.write_all(message.as_slice()).unwrap();
        self.xid
    }

    /// The results of the next reply, which must be that of the call whose turn it is: a connection that is out of step
    /// has a mark and a number there that make no sense.
    pub fn receive(&mut self) -> Decoder<'_> {
        let expected = self.answered + 1;
        let (number, from) = self.receive_any();
        assert_eq!(number, expected, "replies of calls that never wait keep their order");
        from
    }

    /// The number of the call that is answered next, from 1 on, and its results.
    pub fn receive_any(&mut self) -> (u32, Decoder<'_>) {
        let mut mark = [0; 4];
        self.stream.read_exact(&mut mark).unwrap();
        let mark = u32::from_be_bytes(mark);
        assert!(mark >> 31 == 1 && mark << 1 >> 1 < 2 << 20, "{mark:#x} is no mark of a reply");
        self.record.resize((mark << 1 >> 1) as usize, 0);
        self.stream.read_exact(&mut self.record).unwrap();
        self.answered += 1;
        let reply = Reply::parse(&self.record).unwrap();
        let CallResult::Success(from) = reply.outcome else { panic!("rejected") };
        (reply.xid.0, from)
    }
}
