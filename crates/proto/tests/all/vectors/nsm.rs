//! The status monitor, version 1.

use proto::nsm::*;

use crate::vectors::vector::{arguments, arguments_too_long, both_ways, identity, reply, reply_bad, wire};

/// The caller `me`, whose procedure is 16 of version 4 of the lock manager.
const CALLER: &str = "00000002 'me' 0000 000186b5 00000004 00000010";
const CALLER_VALUE: MyId<'static> = MyId { name: b"me", program: 100_021, version: 4, procedure: 16 };
const PRIVATE: &str = "000102030405060708090a0b0c0d0e0f";
const PRIVATE_VALUE: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

#[test]
fn procedures_have_the_numbers_of_the_standard() {
    let all = [
        identity::<Null>(),
        identity::<Stat>(),
        identity::<Mon>(),
        identity::<Unmon>(),
        identity::<UnmonAll>(),
        identity::<SimuCrash>(),
        identity::<Notify>(),
    ];
    for ((number, found), name) in (0..).zip(all).zip(PROCEDURES) {
        assert_eq!(found, (100_024, 1, number, name));
    }
    assert_eq!(all.len(), PROCEDURES.len());
}

#[test]
fn null_and_simu_crash_are_empty() {
    arguments::<Null>(b"", ());
    reply::<Null>(b"", ());
    arguments::<SimuCrash>(b"", ());
    reply::<SimuCrash>(b"", ());
}

#[test]
fn hosts_are_watched() {
    arguments::<Stat>(&wire(&["00000004 'host'"]), StatArgs { name: b"host" });
    let id = MonId { name: b"host", caller: CALLER_VALUE };
    arguments::<Mon>(&wire(&["00000004 'host'", CALLER, PRIVATE]), MonArgs { id, private: PRIVATE_VALUE });
    for (word, outcome) in [("00000000", MonResult::Success), ("00000001", MonResult::Failure)] {
        let bytes = wire(&[word, "00000007"]);
        reply::<Stat>(&bytes, StatOk { outcome, state: 7 });
        reply::<Mon>(&bytes, StatOk { outcome, state: 7 });
    }
    reply_bad::<Stat>(&wire(&["00000002 00000007"]));
}

#[test]
fn watches_end() {
    let id = MonId { name: b"host", caller: CALLER_VALUE };
    arguments::<Unmon>(&wire(&["00000004 'host'", CALLER]), id);
    reply::<Unmon>(&wire(&["00000007"]), StateNumber(7));
    arguments::<UnmonAll>(&wire(&[CALLER]), CALLER_VALUE);
    reply::<UnmonAll>(&wire(&["ffffffff"]), StateNumber(-1));
}

#[test]
fn restarts_are_told() {
    arguments::<Notify>(&wire(&["00000004 'host' 00000009"]), NotifyArgs { name: b"host", state: 9 });
    reply::<Notify>(b"", ());
    let status = HostStatus { name: b"host", state: 9, private: PRIVATE_VALUE };
    both_ways("status", &wire(&["00000004 'host' 00000009", PRIVATE]), status);
}

#[test]
fn names_over_the_limit_are_refused() {
    arguments_too_long::<Stat>(&wire(&["00000401"]), MAX_NAME_BYTES);
    arguments_too_long::<Notify>(&wire(&["00000401"]), MAX_NAME_BYTES);
    arguments_too_long::<Mon>(&wire(&["00000401"]), MAX_NAME_BYTES);
    arguments_too_long::<UnmonAll>(&wire(&["00000401"]), MAX_NAME_BYTES);
}
