//! What a COMPOUND is, whatever its operations do (RFC 7530 §15.2, RFC 8881 §16.2).

use proto::nfs4::{
    Bitmap, Fattr, Getfh, OP_ILLEGAL, OpNumber, Putrootfh, Sequence, SequenceArgs, SessionId, Setattr, SetattrArgs,
    SlotId, Stateid, Status,
};
use rpc::Rejection;

use testing::caller::{Caller, memory_server, rejection};
use testing::compound::{COMPOUND, Compound, failure, success};
use testing::session::Session;

#[test]
fn minor_version_that_does_not_exist_is_refused_with_the_tag_and_no_results() {
    let server = memory_server();
    let results = Caller::root(&server).compound(&Compound::new(3).tagged(b"mine").op::<Putrootfh>(&()));
    assert_eq!((results.status, results.tag, results.count), (Status::MinorVersMismatch, &b"mine"[..], 0));
    results.end();
}

#[test]
fn compound_without_operations_succeeds() {
    let server = memory_server();
    for minor in 0..=2 {
        let results = Caller::root(&server).compound(&Compound::new(minor));
        assert_eq!((results.status, results.tag, results.count), (Status::Ok, &b"a tag"[..], 0));
    }
}

#[test]
fn tag_that_is_no_utf8_is_invalid() {
    let server = memory_server();
    let results = Caller::root(&server).compound(&Compound::new(0).tagged(b"\xff\xfe").op::<Putrootfh>(&()));
    assert_eq!((results.status, results.count), (Status::Inval, 0));
}

#[test]
fn number_of_no_operation_is_illegal_and_nothing_behind_it_is_carried_out() {
    let server = memory_server();
    for number in [0, 2, 76, OP_ILLEGAL, u32::MAX] {
        let compound = Compound::new(0).op::<Putrootfh>(&()).number(number).op::<Getfh>(&());
        let mut results = Caller::root(&server).compound(&compound);
        assert_eq!((results.status, results.count), (Status::OpIllegal, 2), "{number}");
        success(results.take::<Putrootfh>());
        assert_eq!(results.bare(), (OP_ILLEGAL, Status::OpIllegal));
        results.end();
    }
}

#[test]
fn operation_of_a_later_minor_version_is_illegal_and_one_of_an_earlier_is_not_supported() {
    let server = memory_server();
    let mut later = Caller::root(&server).compound(&Compound::new(0).number(OpNumber::Sequence.number()));
    assert_eq!(later.bare(), (OP_ILLEGAL, Status::OpIllegal));
    let mut earlier = Caller::root(&server).compound(&Compound::new(1).number(OpNumber::Setclientid.number()));
    assert_eq!(earlier.bare(), (OpNumber::Setclientid.number(), Status::NotSupp));
}

#[test]
fn more_operations_than_the_server_takes_are_refused_before_the_first() {
    let server = memory_server();
    for (minor, status) in [(0, Status::Resource), (1, Status::TooManyOps), (2, Status::TooManyOps)] {
        let results = Caller::root(&server).compound(&Compound::new(minor).op::<Putrootfh>(&()).claiming(1_000_000));
        assert_eq!((results.status, results.count), (status, 0));
    }
}

#[test]
fn operation_without_its_arguments_is_bad_xdr() {
    let server = memory_server();
    let compound = Compound::new(0).op::<Putrootfh>(&()).number(OpNumber::Lookup.number());
    let mut results = Caller::root(&server).compound(&compound);
    success(results.take::<Putrootfh>());
    assert_eq!(results.bare(), (OpNumber::Lookup.number(), Status::BadXdr));
    results.end();
}

#[test]
fn fewer_operations_than_the_head_says_are_bad_xdr() {
    let server = memory_server();
    let results = Caller::root(&server).compound(&Compound::new(0).op::<Putrootfh>(&()).claiming(2));
    assert_eq!((results.status, results.count), (Status::BadXdr, 2));
}

#[test]
fn operation_that_needs_a_file_has_none_at_first() {
    let server = memory_server();
    let mut results = Caller::root(&server).compound(&Compound::new(0).op::<Getfh>(&()));
    assert_eq!(failure(results.take::<Getfh>()), Status::NoFileHandle);
}

#[test]
fn operation_before_sequence_is_not_in_a_session_and_sequence_comes_first() {
    let server = memory_server();
    let mut without = Caller::root(&server).compound(&Compound::new(1).op::<Putrootfh>(&()));
    assert_eq!(failure(without.take::<Putrootfh>()), Status::OpNotInSession);

    let Session { id, .. } = Session::new(Caller::root(&server), 1);
    let sequence =
        |sequence| SequenceArgs { session: id, sequence, slot: SlotId(0), highest_slot: SlotId(0), cache_this: false };
    let twice = Compound::new(1).op::<Sequence>(&sequence(2)).op::<Sequence>(&sequence(3));
    let mut twice = Caller::root(&server).compound(&twice);
    success(twice.take::<Sequence>());
    assert_eq!(failure(twice.take::<Sequence>()), Status::SequencePos);
}

#[test]
fn sequence_in_a_session_that_does_not_exist_is_a_bad_session() {
    let server = memory_server();
    let arguments = SequenceArgs {
        session: SessionId([7; 16]),
        sequence: 1,
        slot: SlotId(0),
        highest_slot: SlotId(0),
        cache_this: false,
    };
    let mut results = Caller::root(&server).compound(&Compound::new(2).op::<Sequence>(&arguments));
    assert_eq!(failure(results.take::<Sequence>()), Status::BadSession);
}

#[test]
fn version_4_is_not_spoken_over_udp() {
    let server = memory_server();
    let caller = Caller::root(&server).over_udp();
    let reply = caller.reply_to(&caller.message_of(COMPOUND, &Compound::new(0)));
    assert_eq!(rejection(&reply), Rejection::ProgramMismatch { low: 2, high: 3 });
}

#[test]
fn failed_setattr_says_that_nothing_was_set() {
    let server = memory_server();
    let setattr = SetattrArgs { stateid: Stateid::ANONYMOUS, attributes: Fattr::EMPTY };
    let mut results = Caller::root(&server).compound(&Compound::new(0).op::<Setattr>(&setattr));
    let reply = results.take::<Setattr>();
    assert_eq!((reply.status, reply.attributes_set), (Status::NoFileHandle, Bitmap::EMPTY));
    results.end();
}
