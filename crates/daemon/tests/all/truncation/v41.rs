use buffer::Buffer;
use proto::nfs4::{
    self, CallbackSec, ChannelAttrs, Component, CompoundHead, CompoundOperation, CompoundReplyHead, CreateSession,
    CreateSessionArgs, ExchangeId, ExchangeIdArgs, FileHandle, Getfh, Lookup, LookupArgs, Putfh, PutfhArgs, Putrootfh,
    Read, ReadArgs, ReclaimComplete, ReclaimCompleteArgs, Res, Sequence, SequenceArgs, SessionId, SlotId, StateProtect,
    Stateid, Status,
};
use rpc::Procedure;
use xdr::{Decode, Decoder, Encode, Encoder};

use crate::raw::Wire;
use crate::truncation::{LEFT, READ_BYTES, READS, Site, Told, check, offset_of, pattern};

const COMPOUND: Procedure = Procedure { program: nfs4::PROGRAM, version: nfs4::VERSION, number: 1 };

/// A COMPOUND of NFSv4.1 that is put together.
#[derive(Default)]
struct Compound {
    count: u32,
    operations: Buffer,
}

impl Compound {
    fn op<O: CompoundOperation>(mut self, arguments: &O::Arguments<'_>) -> Compound {
        let mut to = Encoder::new(&mut self.operations);
        to.u32(O::NUMBER.number());
        arguments.encode(&mut to);
        self.count += 1;
        self
    }
}

impl Encode for Compound {
    fn encode(&self, to: &mut Encoder<'_>) {
        CompoundHead { tag: b"", minor_version: 1, operations: self.count }.encode(to);
        to.buffer().put(self.operations.as_slice());
    }
}

fn results<'w>(wire: &'w mut Wire) -> Decoder<'w> {
    let mut from = wire.receive();
    assert_eq!(CompoundReplyHead::decode(&mut from).unwrap().status, Status::Ok);
    from
}

fn take<'w, O, T>(from: &mut Decoder<'w>) -> T
where
    O: CompoundOperation<Reply<'w> = Res<T>>,
    Res<T>: Decode<'w>,
{
    assert_eq!(from.u32(), Ok(O::NUMBER.number()));
    match Res::<T>::decode(from).unwrap() {
        Res::Ok(ok) => ok,
        Res::Fail(status) => panic!("{}: {status:?}", O::NUMBER.name()),
    }
}

struct Session {
    id: SessionId,
    slots: u32,
}

impl Session {
    fn new(wire: &mut Wire) -> Session {
        let exchange = ExchangeIdArgs {
            verifier: [1; 8],
            owner_id: b"truncation",
            flags: 0,
            state_protect: StateProtect::None,
            implementation: None,
        };
        wire.send(COMPOUND, &Compound::default().op::<ExchangeId>(&exchange));
        let (client, sequence) = {
            let known = take::<ExchangeId, _>(&mut results(wire));
            (known.client, known.sequence)
        };
        let channel = ChannelAttrs {
            max_request_size: 1 << 20,
            max_response_size: 1 << 20,
            max_response_size_cached: 4096,
            max_operations: 8,
            max_requests: READS as u32,
            ..ChannelAttrs::default()
        };
        let create = CreateSessionArgs {
            client,
            sequence,
            flags: 0,
            fore: channel,
            back: channel,
            callback_program: 0x4000_0000,
            callback_security: vec![CallbackSec::None],
        };
        wire.send(COMPOUND, &Compound::default().op::<CreateSession>(&create));
        let created = take::<CreateSession, _>(&mut results(wire));
        Session { id: created.session, slots: created.fore.max_requests }
    }

    /// A COMPOUND on a slot, whose reply nobody keeps.
    fn begin(&self, slot: u32, sequence: u32) -> Compound {
        let (slot, highest_slot) = (SlotId(slot), SlotId(self.slots - 1));
        Compound::default().op::<Sequence>(&SequenceArgs {
            session: self.id,
            sequence,
            slot,
            highest_slot,
            cache_this: false,
        })
    }
}

fn file(wire: &mut Wire, session: &Session) -> FileHandle {
    wire.send(COMPOUND, &session.begin(0, 1).op::<ReclaimComplete>(&ReclaimCompleteArgs { one_fs: false }));
    results(wire);
    let down = [b"files".as_slice(), b"file"].map(|name| LookupArgs { name: Component(name) });
    let compound = session.begin(0, 2).op::<Putrootfh>(&()).op::<Lookup>(&down[0]).op::<Lookup>(&down[1]);
    wire.send(COMPOUND, &compound.op::<Getfh>(&()));
    let mut from = results(wire);
    take::<Sequence, _>(&mut from);
    take::<Putrootfh, _>(&mut from);
    take::<Lookup, _>(&mut from);
    take::<Lookup, _>(&mut from);
    take::<Getfh, _>(&mut from)
}

/// A READ of the file at the end of a COMPOUND.
fn reading(compound: Compound, file: FileHandle, offset: usize, count: usize) -> Compound {
    let read = ReadArgs { stateid: Stateid::READ_BYPASS, offset: offset as u64, count: count as u32 };
    compound.op::<Putfh>(&PutfhArgs { object: file }).op::<Read>(&read)
}

fn with_read<T>(wire: &mut Wire, look: impl FnOnce(Told<'_>) -> T) -> T {
    let mut from = results(wire);
    take::<Sequence, _>(&mut from);
    take::<Putfh, _>(&mut from);
    let read = take::<Read, _>(&mut from);
    assert!(from.rest().is_empty(), "{} bytes behind the reply", from.rest().len());
    look(Told { data: read.data, eof: read.head.eof })
}

#[test]
fn file_cut_under_pending_replies_leaves_them_whole_and_the_session_in_step() {
    let Some(site) = Site::start("v41") else { return };
    let original = pattern();
    let mut wire = site.connect();
    let session = Session::new(&mut wire);
    let file = file(&mut wire, &session);
    let reads = READS.min(session.slots as usize);
    for number in 0..reads {
        let sequence = if number == 0 { 3 } else { 1 };
        let compound = session.begin(number as u32, sequence);
        wire.send(COMPOUND, &reading(compound, file, offset_of(number), READ_BYTES));
    }
    site.cut_when_stuck();
    for number in 0..reads {
        with_read(&mut wire, |told| check(number, &told, &original));
    }
    assert!(site.daemon.net_counters().zero_bytes > 0, "the cut overtook nothing");
    wire.send(COMPOUND, &reading(session.begin(0, 4), file, LEFT - 10, 1000));
    with_read(&mut wire, |told| {
        assert_eq!((told.data, told.eof), (&original[LEFT - 10..LEFT], true));
    });
}
