//! COMPOUND itself, statuses and the unions over all operations.

use super::*;

use crate::vectors::vector::{self, identity};

#[test]
fn procedures_have_the_numbers_of_the_rfc() {
    assert_eq!(identity::<Null>(), (100_003, 4, 0, PROCEDURES[0]));
    assert_eq!(identity::<Compound>(), (100_003, 4, 1, PROCEDURES[1]));
    assert_eq!(identity::<CbNull>(), (0x4000_0000, 1, 0, "CB_NULL"));
    assert_eq!(identity::<CbCompound>(), (0x4000_0000, 1, 1, "CB_COMPOUND"));
}

#[test]
fn null_is_empty() {
    vector::arguments::<Null>(b"", ());
    vector::reply::<Null>(b"", ());
}

/// The tag `hi`, minor version 1 and three operations: SEQUENCE, PUTFH and GETFH.
const HEAD: &str = "00000002 'hi' 0000 00000001 00000003";
const SEQUENCE: &str = "101112131415161718191a1b1c1d1e1f 00000001 00000000 00000000 00000000";

#[test]
fn compound_is_a_tag_a_minor_version_and_operations() {
    let bytes = wire(&[HEAD, "00000035", SEQUENCE, "00000016", HANDLE, "0000000a"]);
    let sequence = SequenceArgs {
        session: SESSION_VALUE,
        sequence: 1,
        slot: SlotId(0),
        highest_slot: SlotId(0),
        cache_this: false,
    };
    let operations = vec![ArgOp::Sequence(sequence), ArgOp::Putfh(PutfhArgs { object: handle() }), ArgOp::Getfh];
    vector::arguments::<Compound>(&bytes, CompoundArgs { tag: b"hi", minor_version: 1, operations });
    let mut from = Decoder::new(&bytes);
    let head = CompoundHead::decode(&mut from).unwrap();
    assert_eq!(head, CompoundHead { tag: b"hi", minor_version: 1, operations: 3 });
    assert_eq!(from.u32().map(OpNumber::from_number), Ok(Some(OpNumber::Sequence)));
    assert_eq!(SequenceArgs::decode(&mut from), Ok(sequence));
    assert_eq!(from.u32().map(OpNumber::from_number), Ok(Some(OpNumber::Putfh)));
}

#[test]
fn reply_is_a_status_a_tag_and_results() {
    let results = vec![ResOp::Putrootfh(Res::Ok(())), ResOp::Lookup(Res::Fail(Status::NoEnt))];
    let bytes = wire(&["00000002 00000002 'hi' 0000 00000002", "00000018", OK, "0000000f 00000002"]);
    vector::reply::<Compound>(&bytes, CompoundReply { status: Status::NoEnt, tag: b"hi", results });
    let head = CompoundReplyHead::decode(&mut Decoder::new(&bytes));
    assert_eq!(head, Ok(CompoundReplyHead { status: Status::NoEnt, tag: b"hi", results: 2 }));
}

#[test]
fn illegal_operation_is_answered_under_a_number_of_its_own() {
    let results = vec![ResOp::Illegal(Status::OpIllegal)];
    let bytes = wire(&["0000273c 00000000 00000001 0000273c 0000273c"]);
    vector::reply::<Compound>(&bytes, CompoundReply { status: Status::OpIllegal, tag: b"", results });
    let bytes = wire(&["00000000 00000000 00000001 0000273c"]);
    let operations = vec![ArgOp::Illegal];
    vector::arguments::<Compound>(&bytes, CompoundArgs { tag: b"", minor_version: 0, operations });
}

#[test]
fn numbers_without_an_operation_are_refused() {
    for number in ["00000000", "00000002", "0000004c"] {
        bad::<ArgOp<'_>>(&[number]);
        bad::<ResOp<'_>>(&[number]);
    }
}

#[test]
fn only_operations_on_layouts_are_missing_from_the_unions() {
    let is_missing = |info: &&OperationInfo| {
        let bytes = info.number.number().to_be_bytes();
        matches!(ArgOp::decode(&mut Decoder::new(&bytes)), Err(xdr::Error::BadValue { offset: 0, .. }))
    };
    let missing: Vec<&str> = OPERATIONS.iter().filter(is_missing).map(|info| info.name).collect();
    let expected =
        ["GETDEVICEINFO", "GETDEVICELIST", "LAYOUTCOMMIT", "LAYOUTGET", "LAYOUTRETURN", "LAYOUTERROR", "LAYOUTSTATS"];
    assert_eq!(missing, expected);
}

#[test]
fn statuses_have_the_numbers_of_the_rfcs() {
    let posix = [0, 1, 2, 5, 6, 13, 17, 18, 20, 21, 22, 27, 28, 30, 31, 63, 66, 69, 70];
    let own = (10001..=10096).filter(|number| ![10002, 10073].contains(number));
    for number in posix.into_iter().chain(own) {
        both_ways("nfsstat4", &u32::to_be_bytes(number), status(number));
    }
    for number in [3_u32, 19, 71, 10000, 10002, 10073, 10097, u32::MAX] {
        bad::<Status>(&[&format!("{number:08x}")]);
    }
    let named = [
        (Status::BadHandle, 10001),
        (Status::ServerFault, 10006),
        (Status::Denied, 10010),
        (Status::WrongSec, 10016),
        (Status::Moved, 10019),
        (Status::BadStateid, 10025),
        (Status::RestoreFh, 10030),
        (Status::BadXdr, 10036),
        (Status::OpIllegal, 10044),
        (Status::CbPathDown, 10048),
        (Status::BadSession, 10052),
        (Status::SeqMisordered, 10063),
        (Status::TooManyOps, 10070),
        (Status::ClientidBusy, 10074),
        (Status::NotOnlyOp, 10081),
        (Status::DelegRevoked, 10087),
        (Status::OffloadNoReqs, 10094),
        (Status::Xattr2Big, 10096),
    ];
    for (status, number) in named {
        assert_eq!(status as u32, number, "{status:?}");
    }
}

fn status(number: u32) -> Status {
    Status::decode(&mut Decoder::new(&number.to_be_bytes())).unwrap_or_else(|error| panic!("{number}: {error}"))
}

#[test]
fn special_stateids_have_the_bits_of_the_rfc() {
    let special = [
        (Stateid::ANONYMOUS, "00000000 000000000000000000000000"),
        (Stateid::READ_BYPASS, "ffffffff ffffffffffffffffffffffff"),
        (Stateid::CURRENT, "00000001 000000000000000000000000"),
        (Stateid::INVALID, "ffffffff 000000000000000000000000"),
    ];
    for (stateid, bytes) in special {
        both_ways("stateid4", &wire(&[bytes]), stateid);
    }
}

#[test]
fn minor_versions_are_0_to_2() {
    let found: Vec<_> = (0..4).map(|number| MinorVersion::from_number(number).map(|minor| minor.to_string())).collect();
    assert_eq!(found, [Some("4.0".to_owned()), Some("4.1".to_owned()), Some("4.2".to_owned()), None]);
    assert!(!MinorVersion::V0.has_sessions() && MinorVersion::V1.has_sessions());
}
