//! A host of the lock protocol.

use proto::Operation;
use proto::nfs3::FileHandle;
use proto::nlm::{
    Cancel, CancelArgs, Lock, LockArgs, NetObj, Range, Res, Status, Test, TestArgs, TestReply, Unlock, UnlockArgs, V4,
    Version,
};
use proto::rpcbind::portmap::Getport;
use rpc::{Call, Reply};
use server::{Destination, Peer, Transport};
use xdr::{Decode, Encode, Encoder};

use testing::caller::{Caller, procedure};

/// A process of a client that locks ranges of one file.
#[derive(Clone, Copy)]
pub struct Process<'s> {
    pub caller: Caller<'s>,
    pub name: &'static str,
    pub svid: i32,
    pub file: FileHandle,
}

/// What a lock is asked for with, besides its range.
#[derive(Clone, Copy, Default)]
pub struct How {
    pub block: bool,
    pub shared: bool,
    pub reclaim: bool,
    pub state: i32,
}

impl<'s> Process<'s> {
    pub fn new(caller: Caller<'s>, name: &'static str, svid: i32, file: FileHandle) -> Process<'s> {
        Process { caller, name, svid, file }
    }

    pub fn range<O: TryFrom<u64>>(&self, offset: u64, length: u64) -> Range<'_, O> {
        let number = |value| O::try_from(value).ok().unwrap();
        Range {
            caller_name: self.name.as_bytes(),
            file: NetObj(self.file.as_bytes()),
            owner: NetObj(b"owner"),
            svid: self.svid,
            offset: number(offset),
            length: number(length),
        }
    }

    pub fn lock(&self, offset: u64, length: u64) -> Status {
        self.lock_as::<V4>(offset, length, How::default())
    }

    pub fn lock_as<V: Version>(&self, offset: u64, length: u64, how: How) -> Status {
        let args = self.lock_args::<V>(offset, length, how);
        status(self.caller.call::<Lock<V>>(&args))
    }

    pub fn lock_args<V: Version>(&self, offset: u64, length: u64, how: How) -> LockArgs<'_, V::Offset> {
        LockArgs {
            cookie: COOKIE,
            block: how.block,
            exclusive: !how.shared,
            lock: self.range(offset, length),
            reclaim: how.reclaim,
            state: how.state,
        }
    }

    pub fn unlock(&self, offset: u64, length: u64) -> Status {
        self.unlock_as::<V4>(offset, length)
    }

    pub fn unlock_as<V: Version>(&self, offset: u64, length: u64) -> Status {
        let args = UnlockArgs { cookie: COOKIE, lock: self.range(offset, length) };
        status(self.caller.call::<Unlock<V>>(&args))
    }

    pub fn cancel(&self, offset: u64, length: u64) -> Status {
        let args = CancelArgs { cookie: COOKIE, block: true, exclusive: true, lock: self.range(offset, length) };
        status(self.caller.call::<Cancel<V4>>(&args))
    }

    pub fn test<V: Version>(&self, offset: u64, length: u64) -> TestReply<'static, V::Offset> {
        let args = TestArgs { cookie: COOKIE, exclusive: true, lock: self.range(offset, length) };
        let ok = self.caller.call::<Test<V>>(&args);
        assert_eq!(ok.cookie, COOKIE);
        ok.reply
    }
}

pub const COOKIE: NetObj<'static> = NetObj(b"cookie");

pub fn status(res: Res<'_>) -> Status {
    assert_eq!(res.cookie, COOKIE);
    res.status
}

/// The port that a client's rpcbind tells, whatever is asked for.
pub const PORT: u16 = 40_000;

/// What the server sent on its own account, once the question for a port is answered.
pub struct Sent {
    pub to: Destination,
    pub message: Vec<u8>,
}

impl Sent {
    /// The next call to a client, after the questions that it takes.
    pub fn next(caller: &Caller<'_>) -> Option<Sent> {
        let mut transmit = caller.server.next_transmit(caller.now)?;
        loop {
            let sent = Sent { to: transmit.destination, message: transmit.message };
            let call = Call::parse(&sent.message).unwrap();
            if call.procedure.program != proto::rpcbind::PROGRAM {
                return Some(sent);
            }
            assert_eq!(call.procedure, procedure::<Getport>());
            sent.answer(caller, &u32::from(PORT));
            transmit = caller.server.next_transmit(caller.now).expect("a call follows the question");
        }
    }

    pub fn is<O: Operation>(&self) -> bool {
        Call::parse(&self.message).unwrap().procedure == procedure::<O>()
    }

    pub fn arguments<O: Operation>(&self) -> O::Arguments<'_> {
        assert!(self.is::<O>(), "the call is {:?}", Call::parse(&self.message).unwrap().procedure);
        O::Arguments::decode(&mut Call::parse(&self.message).unwrap().arguments).unwrap()
    }

    /// Answers the call from where it went to.
    pub fn answer(&self, caller: &Caller<'_>, results: &impl Encode) {
        let mut reply = buffer::Buffer::new();
        let mut to = Encoder::new(&mut reply);
        Reply::encode_success(Call::parse(&self.message).unwrap().xid, &mut to);
        results.encode(&mut to);
        let (address, transport) = match self.to {
            Destination::Tcp(address) => (address, Transport::Tcp),
            Destination::Udp { to, .. } => (to, Transport::Udp),
            Destination::Connection(_) => panic!("lock managers are not called over connections of clients"),
        };
        caller.server.take_reply(&Peer { address, transport, ..caller.peer }, reply.as_slice(), caller.now);
    }
}
