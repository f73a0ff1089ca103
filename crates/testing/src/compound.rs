//! COMPOUNDs to send, and their replies.

use buffer::Buffer;
use proto::nfs4::{
    self, Component, CompoundHead, CompoundOperation, CompoundReplyHead, FileHandle, Getfh, Lookup, LookupArgs,
    Putrootfh, Res, Status,
};
use rpc::Procedure;
use xdr::{Decode, Decoder, Encode, Encoder};

use crate::caller::{Caller, EXPORT};

/// The procedure that carries all operations.
pub const COMPOUND: Procedure = Procedure { program: nfs4::PROGRAM, version: nfs4::VERSION, number: 1 };

/// A COMPOUND that is put together.
#[derive(Debug)]
pub struct Compound {
    minor: u32,
    tag: &'static [u8],
    count: u32,
    operations: Buffer,
}

impl Compound {
    pub fn new(minor: u32) -> Compound {
        Compound { minor, tag: b"a tag", count: 0, operations: Buffer::new() }
    }

    pub fn tagged(self, tag: &'static [u8]) -> Compound {
        Compound { tag, ..self }
    }

    /// Says that there are `count` operations, however many there are.
    pub fn claiming(self, count: u32) -> Compound {
        Compound { count, ..self }
    }

    /// Adds an operation.
    pub fn op<O: CompoundOperation>(self, arguments: &O::Arguments<'_>) -> Compound {
        let mut with = self.number(O::NUMBER.number());
        arguments.encode(&mut Encoder::new(&mut with.operations));
        with
    }

    /// Adds the number of an operation without arguments.
    pub fn number(mut self, number: u32) -> Compound {
        Encoder::new(&mut self.operations).u32(number);
        self.count += 1;
        self
    }

    /// Adds a word of arguments.
    pub fn word(mut self, word: u32) -> Compound {
        Encoder::new(&mut self.operations).u32(word);
        self
    }

    /// Goes to the root of the export of most tests.
    pub fn root(self) -> Compound {
        self.path(EXPORT)
    }

    /// Goes down `path` from the top of everything.
    pub fn path(self, path: &str) -> Compound {
        let top = self.op::<Putrootfh>(&());
        path.split('/').filter(|name| !name.is_empty()).fold(top, |compound, name| compound.lookup(name))
    }

    pub fn lookup(self, name: &str) -> Compound {
        self.op::<Lookup>(&LookupArgs { name: Component(name.as_bytes()) })
    }
}

impl Encode for Compound {
    fn encode(&self, to: &mut Encoder<'_>) {
        CompoundHead { tag: self.tag, minor_version: self.minor, operations: self.count }.encode(to);
        to.buffer().put(self.operations.as_slice());
    }
}

/// The reply to a COMPOUND. It borrows from bytes that live as long as the test program.
#[derive(Debug)]
pub struct Results {
    pub status: Status,
    pub tag: &'static [u8],
    pub count: u32,
    from: Decoder<'static>,
}

impl Results {
    pub fn parse(reply: &[u8]) -> Results {
        let reply: &'static [u8] = reply.to_vec().leak();
        match rpc::Reply::parse(reply).unwrap().outcome {
            rpc::CallResult::Success(mut from) => {
                let head = CompoundReplyHead::decode(&mut from).unwrap();
                Results { status: head.status, tag: head.tag, count: head.results, from }
            }
            rpc::CallResult::Rejected(rejection) => panic!("rejected: {rejection}"),
        }
    }

    /// The next result, which must be that of operation `O`.
    #[track_caller]
    pub fn take<O: CompoundOperation>(&mut self) -> O::Reply<'static> {
        assert_eq!(self.from.u32(), Ok(O::NUMBER.number()), "{}", O::NUMBER.name());
        O::Reply::decode(&mut self.from).unwrap()
    }

    /// The number and the status of the next result, which has nothing behind them.
    pub fn bare(&mut self) -> (u32, Status) {
        (self.from.u32().unwrap(), Status::decode(&mut self.from).unwrap())
    }

    /// Passes by what [`Compound::path`] asked for.
    #[track_caller]
    pub fn skip_path(&mut self, path: &str) -> &mut Results {
        success(self.take::<Putrootfh>());
        path.split('/').filter(|name| !name.is_empty()).for_each(|_| success(self.take::<Lookup>()));
        self
    }

    #[track_caller]
    pub fn skip_root(&mut self) -> &mut Results {
        self.skip_path(EXPORT)
    }

    /// The handle that GETFH tells next.
    #[track_caller]
    pub fn handle(&mut self) -> FileHandle {
        success(self.take::<Getfh>())
    }

    /// Asserts that nothing is left.
    #[track_caller]
    pub fn end(&self) {
        assert!(self.from.rest().is_empty(), "{} bytes are left", self.from.rest().len());
    }
}

/// The results of a success.
#[track_caller]
pub fn success<T>(result: Res<T>) -> T {
    match result {
        Res::Ok(ok) => ok,
        Res::Fail(status) => panic!("{status:?}"),
    }
}

/// The status of a failure.
#[track_caller]
pub fn failure<T: std::fmt::Debug>(result: Res<T>) -> Status {
    match result {
        Res::Fail(status) => status,
        Res::Ok(ok) => panic!("carried out: {ok:?}"),
    }
}

impl Caller<'_> {
    pub fn compound(&self, compound: &Compound) -> Results {
        Results::parse(&self.reply_to(&self.message_of(COMPOUND, compound)))
    }
}
